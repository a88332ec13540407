"""What operators read on their page. Headings stand in its templates. Pure."""

from collections.abc import Mapping
from typing import Final

VIEWS = {
    "/": "Now",
    "/failures": "Failures",
    "/tools": "Tools and policy",
    "/requests": "Webhooks and API",
    "/audit": "Audit",
    "/settings": "Settings",
}
# Why a request from another program was not accepted, and what to do.
REQUEST_ENDS = {
    "unsigned": (
        "Wrong or missing signature or token",
        (
            "Copy the secret or token again, and check that the sender uses the signature format that you configured. "
            "If a token has expired or was revoked, create a new one."
        ),
    ),
    "expired": (
        "Signed more than five minutes ago, or in the future",
        "Synchronize the clocks of both machines.",
    ),
    "forbidden": ("Not allowed", "The token or its owner cannot do this, or the request has the wrong host or origin."),
    "invalid": ("Not understood", "The sender uses a format that this endpoint does not accept."),
    "too_large": ("Too large", "Configure the sender to send less data."),
    "too_slow": ("Too slow", "The sender or a proxy did not send the whole request in time."),
    "limited": ("Over a limit", "Too many requests, or a budget is used up."),
    "unavailable": ("Not stored or answered", "The database or a model was unavailable. Most senders try again."),
}
FAILURES = {
    "ProviderUnavailable": (
        "A model was down, overloaded, or unreachable",
        "Check the vendor's status page. With COGENCY_FALLBACK_MODELS, another model answers in the meantime.",
    ),
    "ProviderSilent": (
        "A model did not start answering in time",
        "A local model may still be loading. COGENCY_FIRST_TOKEN_TIMEOUT_S sets how long the bot waits.",
    ),
    "ProviderRefused": (
        "A model refused the request",
        (
            "Usually, the API key or the model's name is wrong, or the account has no credit. Run cogency doctor to "
            "see which."
        ),
    ),
    "StreamBroken": (
        "A model's answer was cut off",
        "The person can press Continue. If this happens often, look for a proxy that closes long connections.",
    ),
    "model": ("A model could not be called", "The log shows the reason. Run cogency doctor to test the model."),
    "refused": (
        "A question was not answered",
        (
            "The person saw the reason, for example a model's failure, an unreadable file, or a hook's refusal. The "
            "log shows the turn."
        ),
    ),
    "cut": (
        "An answer ended early",
        "The model reached its length limit, stopped early, or lost its connection. The person can press Continue.",
    ),
    "exhausted": (
        "An answer reached a limit",
        (
            "It used all model calls that COGENCY_MAX_ITERATIONS allows, repeated the same tool call, used up a "
            "budget, or reached the time limit of a long task. A better model may need fewer calls."
        ),
    ),
    "failed": ("A turn failed because of a bug", "The log has the traceback. Please report it."),
    "put off": (
        "A turn had to wait for the database or the platform",
        "The bot retries automatically. If this continues, check that the bot can reach both.",
    ),
    "lost": (
        "A turn was taken over or started again",
        (
            "Its process was silent for longer than COGENCY_LEASE_S, or a message that the turn used was forgotten. If "
            "this continues, check for a paused or overloaded machine."
        ),
    ),
    "write": (
        "The platform rejected a message",
        (
            "A permission may be missing, or the channel may have been deleted. Run cogency doctor to check. The log "
            "has the details."
        ),
    ),
    "limited": (
        "The platform limited the bot's requests",
        "The bot slows down automatically. Processes with the same token share one limit.",
    ),
    "tool": (
        "Tool calls failed",
        (
            "Calls with invalid arguments also count. If every call fails, run cogency doctor, which connects to each "
            "server."
        ),
    ),
    "job": ("A background job failed", "The bot retries it automatically. The log shows the reason."),
    "job given up": ("A background job was abandoned", "It failed too many times. The log shows the reason."),
}
ROW_OF_FILE = "file"
TOOL_EFFECTS = {"irreversible": "cannot be undone"}
RUNS, ASKS = "runs", "needs approval"
DOORS: Final[Mapping[str | None, str]] = {"webhook": "Webhooks", "API": "API", "MCP": "MCP server"}
PLACES = {"person": "direct message", "group": "private", "team": "public"}
OPERATORS_ACT, POLICY_CHANGE, OWNERS_TOKEN, FEEDBACK_STATE = "operator", "policy", "token", "feedback"
NO_END_YET = "not finished yet"
ORIGINS = {
    "default": "default",
    "environment": "environment",
    ".env": ".env",
    "file": "file from {name}_FILE",
    "keychain": "system keychain",
}
SECRET_SET, NOT_SET = "set", "not set"
DASH = "–"
NOBODY, THIS_ONE = "nobody", "(this one)"
TURNS_A_MINUTE = "Answers a minute"
TURNS_SAY = "over the last 5 minutes; {hour:,} in the last hour"
FIRST_TEXT = "Time to first word"
FIRST_TEXT_SAYS = "median in the last hour; 95% of replies started within {most}"
NONE_YET = "no replies in the last hour"
FAILED_TURNS = "Failed"
FAILED_SAY = "{share:.0%} of answers in the last hour"
BACKLOG = "Waiting"
RUNNING = "{answers} running"
LOOP_LATE = "Event loop lag"
LOOP_LATE_SAYS = "maximum in the last 5 minutes"
MINUTES_SAY = "At most {most:,} per minute, {all:,} in the last hour."
PAGE_TOO_FAST = "Too many requests. Please wait a few seconds."
PAGE_OTHER_HOST = (
    "This host name is not configured. Open the page at 127.0.0.1 or localhost, or at the name in "
    "COGENCY_OPERATOR_ADDRESS."
)
PAGE_METHOD = "This page does not support that request method."
PAGE_OTHER_SITE = (
    "This request came from another site or from an outdated page. Go back, reload the page, and try again."
)
PAGE_NO_FORM = "This form does not exist."
PAGE_NOT_THERE = ("Page not found", "The navigation lists all pages.")
PAGE_STORE_AWAY = (
    "The database is not available",
    "This page needs the database. The log shows the reason, and cogency doctor checks the database.",
)
PAGE_LINK_OVER = (
    "This link no longer works",
    "A link works once, for ten minutes. Run cogency operator to get a new one.",
)
PAGE_SIGNED_OUT = ("You are signed out", "Use a new link to sign in again.")


# What the store holds.

VIEW_SPENDING = "Spending and tokens"
VIEW_SLOW = "Slow answers"
VIEW_SCHEDULES = "Schedules"
VIEW_PLACES = "Knowledge"
VIEW_EVALS = "Evals"
VIEW_MODELS = "Models"
NO_SUCH_EVAL = ("Not found", "There is no such run. Only the last 100 runs are stored.")
EVAL_STOPPED = {"budget": "Stopped by its budget", "interrupted": "Interrupted"}
NO_PRICE = "no list price"
VIEW_FEEDBACK = "Feedback"
VIEW_HANDOFFS = "Requests for a human"
NOT_SHOWN, NOBODY_YET = "not shown", "nobody yet"
ANY_REASON = "Any reason"
GOOD, BAD, GOOD_SHARE = "Good", "Bad", "{share:.0%} of all ratings"
FEEDBACK_QUESTION, FEEDBACK_ANSWER = "Question", "Answer"
FEEDBACK_COMMENT, FEEDBACK_CORRECTION = "What was wrong", "What it should have been"
DAYS = "{days} days"
MEASURES = ("Spending", "Tokens")
BY_WORKSPACE = ("By workspace", "Workspace")
BY_MODEL, BY_PERSON, BY_CHANNEL = ("By model", "Model"), ("By person", "Person"), ("By channel", "Channel")
OTHERS = "others"
FORGOTTEN = "(none, or forgotten)"
SPENT, SPENT_SAYS = "Spent", "{each} per day"
MODEL_CALLS, UNPRICED = "Model calls", "{count:,} without a list price"
TOKENS_IN, CACHED = "Input tokens", "{share:.0%} from vendors' caches"
TOKENS_OUT, REASONED = "Output tokens", "{count:,} for reasoning"
CHARTS = ("Spending per day, by model", "Tokens per day, by model")
CHART_SAYS = "One bar per day from {first} to {last}, split by model: {models}. The tables below have the numbers."

SLOW_PERIODS = {1: "24 hours", 7: "7 days"}
TURNS, TURNS_SAYS = "Answers", "excluding answers that waited for approval"
HALF, HALF_SAYS = "Median", "from receiving the question to the end of the answer"
MOST, MOST_SAYS = "95th percentile", "5% took longer"
SLOWEST, SLOWEST_SAYS = "Slowest", "its steps are below"
TIME_CHART = "How long answers took"
TIME_CHART_SAYS = "One bar per period, from the median to the 95th percentile."
TURN_PARTS = {2: "waiting to start", 0: "model writing", 1: "tools running", 4: "preparing, showing, storing"}
TURN_NOT_THERE = ("Answer not found", "It was forgotten, is still running, or never existed.")
TURN_FACTS = ("Asked by", "In", "Received", "Duration", "Result", "Cost", "Started")
MODEL_STEP = "{read:,} input tokens ({cached:,} cached), {written:,} output tokens; first output after {first}"
TOOL_STEP = "{decision}, {effect}; {outcome}"
WAITED = ("Waiting", "for a free worker and for earlier questions in the conversation")
WAITED_AND_PREPARED = ("Waiting and preparing", "the start time was not recorded")
PREPARED = ("Preparing", "reading history, memory, and files")
SHOWED = ("Showing and storing", "until the platform and the database stored the whole reply")

IN_DIRECT = "direct messages"
DOCUMENTS, DOCUMENTS_SAY = "Documents", "that people added to a place"
PASSAGES, PASSAGES_SAY = "Passages", "that searches can find"
OWN_DOCUMENT = "(a person's own)"
READERS = {"person": "only this person", "group": "members of the channel", "team": "full members of the team"}


# What each metric counts, by its name without "cogency_" before it and "_total" behind it.
METRICS: Final[Mapping[str, str]] = {
    "build_info": "Always 1. The version label shows the running version.",
    "turns": "Turns that this process claimed, by outcome, such as answered, refused, lost, or put_off.",
    "turns_running": "Turns running in this process.",
    "turn_seconds": "Duration of turns, without the wait before this process claims them.",
    "turn_wait_seconds": "Time from a message until a process claims its turn, by the platform's clock.",
    "first_text_seconds": "Time from a message to the first visible text of its answer, by the platform's clock.",
    "reply_writes": (
        "Requests to find, create, edit, or delete replies. The outcomes limited and queued mean that a write waited "
        "for the platform's limits."
    ),
    "rate_limited": "Rate-limit responses from platforms (429).",
    "http_requests": "Requests from other programs to COGENCY_HTTP, by endpoint and outcome.",
    "model_calls": "Model calls in turns, by outcome: ok, or the kind of failure.",
    "model_call_seconds": "Duration of model calls in turns.",
    "tokens": "Tokens charged to budgets, by kind of token and kind of work, such as a turn or learning.",
    "spent_dollars": "US dollars charged, at list prices.",
    "unpriced_calls": "Charged model calls without a list price.",
    "tool_calls": "Tool calls recorded in the audit log, by effect and decision, such as allowed or refused.",
    "tool_call_seconds": "Duration of tool calls.",
    "hook_calls": "Calls to hook functions (COGENCY_HOOKS), by outcome: passed, changed, refused, or failed.",
    "hook_call_seconds": "Duration of calls to hook functions (COGENCY_HOOKS).",
    "recall_seconds": "Duration of searches in past threads.",
    "backlog": "Turns waiting, across all processes on this database.",
    "jobs": "Background jobs that ran, such as learning.",
    "job_seconds": "Duration of background jobs.",
    "job_lag_seconds": "How long the oldest due job of each kind has waited.",
    "leases_lost": (
        "Turns and jobs whose lease this process lost, usually because it was paused and another process took over."
    ),
    "budget_events": (
        "Budget events, by kind: near (a warning), waits (an answer waits for a decision), extended, or declined."
    ),
    "webhooks_sent": (
        "Attempts to deliver outgoing webhooks, by outcome: delivered, failed (the bot tries again), given_up, or "
        "disabled."
    ),
    "sockets_opened": "Connections opened to a platform.",
    "shards_taken": (
        "Discord connections that this process claimed: free ones (free), and those of a stopped process (takeover)."
    ),
    "shard_held": "1 for each Discord connection that this process holds. The sum is the number across all processes.",
    "loop_lag_seconds": "Delay of the event loop, measured every second.",
    "sockets": "Open connections to a platform.",
    "socket_silence_seconds": "Time since a connected platform last sent anything.",
    "socket_age_seconds": "Age of the oldest open connection to a platform.",
    "loop_silence_seconds": "Time since the event loop's last check. The loop checks itself every second.",
}


VERDICTS = "**Feedback**, last {days} days: {good:,} good, {bad:,} bad."

NO_OPERATOR = "Only operators can use this command. COGENCY_OPERATORS lists them."
NO_OPERATOR_PAGE = (
    "This process does not serve the operators' page. To turn the page on, set COGENCY_OPERATOR_PAGE for `cogency "
    "run`. Then `cogency operator` prints a sign-in link."
)
NO_OPERATOR_REPORT = "The report is available only in Slack or Discord, while `cogency run` is running."
OPERATOR_PAGE = "[Open the operators' page]({link}). The link works once, for {minutes} minutes. Do not share it."


HOME_OPERATORS = "For operators"
OPEN_OPERATOR_PAGE = "Open the operators' page"
