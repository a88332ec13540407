"""What operators read on their page. Headings stand in its templates. Pure."""

from collections.abc import Mapping
from typing import Final

VIEWS = {
    "/": "Now",
    "/failures": "Failures",
    "/tools": "Tools and policy",
    "/audit": "Audit",
    "/settings": "Settings",
}
FAILURES = {
    "ProviderUnavailable": (
        "A model was down, overloaded or out of reach",
        "Look at the vendor's status page; COGENCY_FALLBACK_MODELS lets another one answer meanwhile.",
    ),
    "ProviderSilent": (
        "A model said nothing in time",
        "A local one may be loading; COGENCY_FIRST_TOKEN_TIMEOUT_S says how long to wait for it.",
    ),
    "ProviderRefused": (
        "A model refused the request",
        "The key, the credit or the model's name is wrong: run cogency doctor, which asks it and says why.",
    ),
    "StreamBroken": (
        "An answer of a model broke off",
        "It goes on by itself. If it happens often, look for a proxy that cuts long connections.",
    ),
    "model": ("A model could not be asked", "The log has the reason; cogency doctor tries it."),
    "refused": (
        "No answer came about: the person read one sentence",
        "The failures of models above or below say why; the log names the turn.",
    ),
    "cut": ("An answer ended before its end", "The model's connection broke off, and nothing could go on with it."),
    "exhausted": (
        "An answer took all its rounds",
        "COGENCY_MAX_ITERATIONS is how many model calls one answer may take; a better model needs fewer.",
    ),
    "failed": ("A turn failed by a fault of the program", "The log has the traceback: please report it."),
    "put off": (
        "A turn had to wait for the database or the platform",
        "It is tried again by itself. If it goes on, look whether both can be reached.",
    ),
    "lost": (
        "A process lost a turn to another one",
        "It had said nothing for COGENCY_LEASE_S seconds: look for a machine that is paused or overloaded.",
    ),
    "write": (
        "The platform did not take a message",
        "A right may be missing, or the channel gone: cogency doctor looks at the rights, the log has the answer.",
    ),
    "limited": (
        "The platform was asked too often",
        "The bot slows down by itself. More processes with one token share one allowance.",
    ),
    "tool": (
        "Calls of a tool failed",
        "Calls fail for bad arguments, too. If all of them do, run cogency doctor: it connects to each server.",
    ),
    "job": ("Work behind the answers failed", "It is tried again by itself; the log has the reason."),
    "job given up": ("Work behind the answers was given up", "It failed too often; the log has the reason."),
}
ROW_OF_FILE = "file"
TOOL_EFFECTS = {"irreversible": "cannot be taken back"}
RUNS, ASKS = "runs", "asks first"
PLACES = {"person": "direct message", "group": "private", "team": "public"}
OPERATORS_ACT, POLICY_CHANGE = "operator", "policy"
NO_END_YET = "no end known"
ORIGINS = {
    "default": "default",
    "environment": "environment",
    ".env": ".env",
    "file": "file named by {name}_FILE",
    "keychain": "the system's keychain",
}
SECRET_SET, NOT_SET = "set", "not set"
DASH = "–"
NOBODY, THIS_ONE = "nobody", "(this one)"
TURNS_A_MINUTE = "Answers a minute"
TURNS_SAY = "in the last 5 minutes; {hour:,} in the last hour"
FIRST_TEXT = "Time to the first word"
FIRST_TEXT_SAYS = "for half of the replies; {most} for all but one in twenty, in the last hour"
NONE_YET = "no reply in the last hour"
FAILED_TURNS = "Failed"
FAILED_SAY = "of the answers in the last hour: {share:.0%}"
BACKLOG = "Waiting"
RUNNING = "{answers} now"
LOOP_LATE = "Event loop, late by"
LOOP_LATE_SAYS = "at most, in the last 5 minutes"
MINUTES_SAY = "At most {most:,} in a minute, {all:,} in the hour."
PAGE_TOO_FAST = "Too many requests: please wait a few seconds."
PAGE_OTHER_HOST = (
    "This name is not known here. Open the page by 127.0.0.1 or localhost, or by the name in COGENCY_OPERATOR_ADDRESS."
)
PAGE_METHOD = "This is not how the page is asked."
PAGE_OTHER_SITE = "This came from another site, or from a page that is too old: go back, load it again, and repeat it."
PAGE_NO_FORM = "This is no form of this page."
PAGE_NOT_THERE = ("There is no such page", "The pages that there are stand in the navigation.")
PAGE_STORE_AWAY = (
    "The database does not answer",
    "Nothing can be shown before it does. The log says why; cogency doctor looks at it.",
)
PAGE_LINK_OVER = (
    "This link does not work any more",
    "It was used, is more than ten minutes old, or was tried too often. Ask for another one by cogency operator.",
)
PAGE_SIGNED_OUT = ("You are signed out", "Another link lets you in again.")


# What the store holds.

VIEW_SPENDING = "Money and tokens"
VIEW_SLOW = "Slow answers"
VIEW_SCHEDULES = "Schedules"
VIEW_PLACES = "Knowledge"
DAYS = "{days} days"
MEASURES = ("Money", "Tokens")
BY_WORKSPACE = ("By workspace", "Workspace")
BY_MODEL, BY_PERSON, BY_CHANNEL = ("By model", "Model"), ("By person", "Person"), ("By channel", "Channel")
OTHERS = "others"
FORGOTTEN = "(none, or forgotten)"
SPENT, SPENT_SAYS = "Spent", "{each} a day"
MODEL_CALLS, UNPRICED = "Calls of models", "{count:,} of them without a price"
TOKENS_IN, CACHED = "Tokens in", "{share:.0%} read from the vendors' caches"
TOKENS_OUT, REASONED = "Tokens out", "{count:,} of them reasoning"
CHARTS = ("Money on each day, by model", "Tokens on each day, by model")
CHART_SAYS = (
    "A bar for each day from {first} to {last}, with a part for each of: {models}. The table below has the numbers."
)

SLOW_PERIODS = {1: "24 hours", 7: "7 days"}
TURNS, TURNS_SAYS = "Answers", "without those that waited for a person's consent"
HALF, HALF_SAYS = "Half of them within", "from being taken in until their end"
MOST, MOST_SAYS = "95 of 100 within", "what people remember"
SLOWEST, SLOWEST_SAYS = "The slowest", "its steps stand below"
TIME_CHART = "How long answers took"
TIME_CHART_SAYS = "A bar for each stretch of time: from what half of the answers took to what 95 of 100 stayed within."
TURN_PARTS = {2: "waiting for a free place", 0: "a model writes", 1: "tools run", 4: "preparing, showing, storing"}
TURN_NOT_THERE = ("This answer is not there", "It was forgotten, is not over yet, or never was.")
TURN_FACTS = ("Asked by", "In", "Taken in", "Took", "Ended", "Cost", "Begun")
MODEL_STEP = "{read:,} tokens in ({cached:,} cached), {written:,} out; its first piece after {first}"
TOOL_STEP = "{decision}, {effect}; {outcome}"
WAITED = ("Waiting", "until a worker was free, and earlier questions of the conversation were answered")
WAITED_AND_PREPARED = ("Waiting and preparing", "when it began was not kept")
PREPARED = ("Preparing", "reading history, memory and files")
SHOWED = ("Showing and storing", "until the platform had the whole reply, and the database")

IN_DIRECT = "direct messages"
DOCUMENTS, DOCUMENTS_SAY = "Documents", "that places were told to know"
PASSAGES, PASSAGES_SAY = "Passages", "that a search finds"
OWN_DOCUMENT = "(of a person's own)"
READERS = {"person": "this person alone", "group": "who reads the channel", "team": "the whole team"}


# What each metric counts, by its name without "cogency_" before it and "_total" behind it.
METRICS: Final[Mapping[str, str]] = {
    "build_info": "Always 1, with the version that runs.",
    "turns": "Claimed turns that are over here, by how.",
    "turns_running": "Turns that run in this process now.",
    "turn_seconds": "From claiming a turn to its end here.",
    "turn_wait_seconds": "From writing a message to claiming its turn.",
    "first_text_seconds": "From writing a message to the first visible text of its answer.",
    "reply_writes": "Writes of replies to platforms.",
    "rate_limited": "Answers of platforms that they were asked too often (429).",
    "model_calls": "Model calls of turns, by how they ended.",
    "model_call_seconds": "How long model calls of turns take.",
    "tokens": "Tokens that were charged.",
    "spent_dollars": "US dollars that were charged, at list prices.",
    "unpriced_calls": "Charged model calls without a list price.",
    "tool_calls": "Calls of tools in the audit.",
    "tool_call_seconds": "How long calls of tools take.",
    "recall_seconds": "How long searches of past threads take.",
    "backlog": "Turns that wait, of all processes on this database.",
    "jobs": "Work outside of turns that was tried, such as learning.",
    "job_seconds": "How long work outside of turns takes.",
    "job_lag_seconds": "How long the first due job of a kind waits, such as learning.",
    "leases_lost": "Turns and jobs that another process has taken over.",
    "sockets_opened": "Connections to a platform that were opened.",
    "shards_taken": "Connections to Discord that this process took, free or from a process that was gone.",
    "shard_held": "1 for each connection to Discord that is this process's.",
    "loop_lag_seconds": "How much later than due the event loop wakes, each second.",
    "sockets": "Connections to a platform that are open.",
    "socket_silence_seconds": "How long a connected platform has been silent.",
    "socket_age_seconds": "How long the oldest open connection to a platform stands.",
    "loop_silence_seconds": "How long ago the event loop beat last; it does each second.",
}


VERDICTS = "**Verdicts**, {days} days: {good:,} good, {bad:,} bad."

NO_OPERATOR = "This is for those who run the bot: COGENCY_OPERATORS names them."
NO_OPERATOR_PAGE = (
    "The operators' page is not served here: COGENCY_OPERATOR_PAGE switches it on for `cogency run`, and at the shell "
    "`cogency operator` gives a link to it."
)
NO_OPERATOR_REPORT = "The report is shown only where `cogency run` serves Slack or Discord."
OPERATOR_PAGE = (
    "[Open the operators' page]({link}): the link works for {minutes} minutes and signs one browser in, after a press. "
    "Do not pass it on."
)


HEALTH_PORT = "COGENCY_HEALTH names {host}:{port}, where nothing can listen now: choose another port."
HOME_OPERATORS = "For operators"
OPEN_OPERATOR_PAGE = "Open the operators' page"
