"""What people read while they are answered: notices, refusals, failures, threads, models. Pure."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from agent.admission_terms import Authority, Whose
from agent.citations import Cited
from agent.errors import CogencyError, ProviderError, StoreUnavailable
from agent.messages import Reference, ResultStatus
from agent.protocol.render import excerpt
from agent.spending import PRICES_AS_OF
from agent.stored_messages import Author, StoredMessage, Thread
from bot.texts.formatting import literal, shortened

# While an answer is made, and below it

# The end of a reply that somebody stopped.
STOPPED = "*Stopped.*"
# What whoever stops by a command is told: how far its answers had come is known where they are made.
STOPPING = f"{STOPPED} An answer that was complete by then may still appear."
NOTHING_RUNNING = "Nothing is running here."
# What somebody asks who presses "Continue".
GO_ON = "Please go on."
OFTEN_ENOUGH = "I have answered this as often as I can: please ask it as a new question."
# Of a question that is to be asked once more.
MORE_PUBLIC = "More people read this channel than when you asked: please ask again, if they may read it."
NOT_YOURS = "Only the person who asked can do this."


def use_command(name: str, *, direct: bool) -> str:
    """Somebody wrote a command's words as a message. `direct`: where nobody else would see its answer anyway."""
    why = "" if direct else ", so that only you see its answer"
    return f"Nothing is done yet: please use the command `/{name}`{why}."


NOT_SHOWN = "I may not show my answer where you asked. {why}"
SHOWN_ELSEWHERE = "I may not show my answer where you asked, so it is in your direct messages with me. {why}"
TEXT_REFUSED = "The text of my answer was not accepted: ask again in other words."
EDITED_MEANWHILE = (
    "*You edited your question after I had begun. This answers the earlier words; press Regenerate for the new ones.*"
)
REPLY_DELETED = "My answer was deleted while I was writing it, so I stopped. Ask again if you still need it."
GIVEN_UP = "I could not finish this answer after {attempts} attempts (turn {turn}). Please ask again in other words."
SCHEDULE_ENDED = "What you had scheduled (“{words}”) has ended, and is not done any more. {why}"
SCHEDULE_OVER_BUDGET = "Not asked today, as you had scheduled it (“{words}”): {why} I tell you this once a day."
WORK_OVER_BUDGET = "I ended my work here, with what I have so far. {why}"
WORK_TOO_LONG = "I ended my work here, with what I have so far: {minutes} minutes is as long as I go on at a stretch."
WORK_TOO_MUCH = "I ended my work here, with what I have so far: I can keep no more of what I read in mind."
WORK_FORBIDDEN = "I ended my work here. {why}"
WORK_TAKEN_AWAY = "I have ended what I was at work on for you (“{words}”). {why}"
# Without a word of it: what calls somebody outlives their thread.
WORK_DONE = "I am done: the result of my work stands above."
WORK_ENDED = "I have ended my work; what there is of it stands above."
STEPS_BEFORE = "{count} before"
NO_CHECKS = "What it looks at first cannot be looked at here."
ANSWERED_ELSEWHERE = "Another process has answered this question; the reply stands in its thread."
NO_ANSWER_FROM_FIRST = "it could not answer."
BROKEN = "Something went wrong on my side (turn {turn}). Please ask again; the operator finds the reason in the log."
THINKING = "Thinking…"
OPENING = "Opening the memory…"
WAITS_FOR_CONSENT = "*I wait to be allowed to use {tools}: whoever asked me can allow or refuse it, for a day.*"
WAITS_FOR_ANSWER = "`{tool}` asks whoever asked me something; I wait for their answer, nine minutes at most."
ASKING_STATUS = "Waiting for an answer to {tool}…"
STATUS_LINES = {
    "background": "Beginning the work…",
    "recall": "Searching past threads…",
    "remember": "Making a note…",
    "share_file": "Preparing a file…",
    "read_channel": "Reading messages…",
    "search_slack": "Searching Slack…",
    "tools": "Looking for the right tool…",
    "web_fetch": "Reading a page…",
    "web_search": "Searching the web…",
}
USING_TOOL = "Using {tool}…"
PROGRESS = "{doing} {percent:.0f} %"
COUNTED = "{doing} {done:,.0f} of about {total:,.0f} {unit}"
OUTPUTS: Mapping[ResultStatus, str] = {
    ResultStatus.SUCCESS: "Done.",
    ResultStatus.FAILURE: "That did not work.",
    ResultStatus.UNKNOWN: "Whether that worked is not known.",
}
UNFINISHED = "Not finished."
DONE_BY_TOOL: Mapping[str, str] = {
    "background": "began the work",
    "recall": "searched past threads",
    "remember": "made a note",
    "share_file": "prepared a file",
    "read_channel": "read messages",
    "search_slack": "searched Slack",
    "tools": "looked for a tool",
    "web_fetch": "read a page",
    "web_search": "searched the web",
}
SOURCES = "**Sources**"
SOURCES_READ = "**Read for this answer**"
SUGGESTIONS_TITLE = "You may want to ask"
THINKING_LINES = (THINKING, "Reading what was said…", "Weighing it up…", "Finding the words…")
MORE_THAN_FITS = "(There is more of this than fits here.)"

# When the store, a model or a tool fails

# While an answer waits for the store.
CONTINUING = "Continuing my answer…"
WAITS_TO_POST = "Waiting to post the answer…"
ANSWER_WAITS = "Slack does not take my answer at the moment. It is not lost: I will post it as soon as I can."
UNSTORED = "I cannot store anything at the moment; I will go on as soon as I can."
KEPT_WAITING = "I cannot store anything at the moment. Your message is not lost: I will answer it as soon as I can."
# What is wrong with the database, and where it lies, is for whoever runs the bot: it stands in the log.
UNAVAILABLE = "I cannot store or look up anything at the moment; please try again in a few minutes."


def failure(error: CogencyError) -> str:
    """What somebody who asked for something is told when it did not work."""
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return literal(error.reason.to_person if isinstance(error, ProviderError) else str(error))


TOO_MUCH_AT_ONCE = "Too much is asked at the same moment; please ask again."

# Threads

# A thread's title in a list: it stays on one or two lines of a phone.
TITLE_CHARS = 60


def threads_text(threads: Sequence[Thread], now: datetime, current: str | None = None) -> str:
    """The threads as a numbered list, in the order given; dates in the time zone of `now`."""
    if not threads:
        return "There are no threads yet."
    lines = [
        f"{number}. {literal(shortened(thread.title, TITLE_CHARS))} ({_last(thread, now)}"
        f"{', this one' if thread.conversation == current else ''})"
        for number, thread in enumerate(threads, start=1)
    ]
    return "\n".join(["Your threads, the latest first:", "", *lines])


def going_on(question: str, conversation: str, threads: Sequence[Thread]) -> str:
    """Which question is answered now that was interrupted, and in which of the threads, as `/threads` counts them."""
    words = literal(shortened(question.strip().partition("\n")[0], TITLE_CHARS))
    for number, thread in enumerate(threads, start=1):
        if thread.conversation == conversation:
            title = literal(shortened(thread.title, TITLE_CHARS))
            return f"Going on with “{words}” (thread {number} of `/threads`, “{title}”):"
    return f"Going on with “{words}”:"


def thread_opened(thread: Thread, said: Sequence[StoredMessage] = ()) -> str:
    """`said`: its last messages, which are shown again."""
    back = f"Back in “{literal(shortened(thread.title, TITLE_CHARS))}”."
    shown = [
        one.text if one.author is Author.BOT else "\n".join(f"> {literal(line)}" for line in one.text.splitlines())
        for one in said
    ]
    return "\n\n".join([back, *shown])


def _last(thread: Thread, now: datetime) -> str:
    """The day of the last message; for today also the time, as several threads may share the day."""
    last = thread.last.astimezone(now.tzinfo)
    return f"today {last:%H:%M}" if last.date() == now.date() else last.date().isoformat()


# Models

# What somebody writes as a model's name to go back to the usual one.
USUAL = "usual"


def model_text(current: str, why: str, allowed: Sequence[str], command: str) -> str:
    """Which model answers somebody, why, and what they may write after `command` to choose another."""
    answers = model_in_use(current, why)
    if not allowed:
        return f"{answers} There is no other to choose."
    names = ", ".join(f"`{name}`" for name in allowed)
    return f"{answers}\nYou may choose with `{command}`: {names}; `{USUAL}` goes back to the usual one."


def model_in_use(current: str, why: str) -> str:
    """Which model answers somebody, and why."""
    return f"`{current}` answers you here: {literal(why).rstrip('.')}."


def chosen_model(words: str) -> str:
    """The name that somebody wrote, for `ModelChoices.choose`; "" is the usual one."""
    return "" if words.strip().casefold() == USUAL else words.strip()


MODEL_CHOSEN = "you chose it"
MODEL_AS_USUAL = "it is the usual one"
MODEL_FOR_PERSON = "chosen for you by my operator"
MODEL_FOR_CHANNEL = "chosen for this channel by my operator"
MODEL_FOR_PLACE = "chosen for this channel by who manages it"


def model_not_allowed(allowed: Collection[str]) -> str:
    """`allowed`: what may be chosen instead."""
    others = f"choose one of {', '.join(allowed)}" if allowed else "there is only one here"
    return f"That model cannot be chosen: {others}."


MODEL_NOT_OPEN = "That model is not open to you: choose one of {names}."

# Who may ask, and how much

CLOSED_TO = {
    Authority.GUEST: "I am not open to guests here; please ask my operator to let you in.",
    Authority.STRANGER: (
        "I talk to members only, and could not find you among them; please ask my operator to let you in."
    ),
}
NOT_ALLOWED: Mapping[str, str] = {
    "channel": ("I may not answer in this place; please ask me in another channel, or ask my operator to add it."),
    "team": "I may not answer in this workspace or server; please ask my operator to add it.",
    "role": "Your role may not use me; please ask my operator to let you in.",
    "person": "I may not answer you; please ask my operator to let you in.",
}
NO_ANSWER_THERE = "I cannot answer that message where it stands."
CLOSED_HERE = "Who manages this channel has chosen who may ask me here; please ask me in another one, or them."
PLACE_UNREADABLE = (
    "What was chosen for this channel cannot be read: an operator has to take out its preference “{name}”."
)
IT_IS_TIME = "**It is time:**"
AT_IT = "**I am at it now.** Ctrl-C stops it; if this window is closed, it goes on with your next chat."
# Why something that somebody had me do at a time is not done any more.
SCHEDULE_PERSON_GONE = "Your account is no longer active there."
SCHEDULE_LEFT = "You are no longer in that channel, or cannot read it any more."
SCHEDULE_LEFT_SERVER = "You are no longer a member of that server."
SCHEDULE_ARCHIVED = "That channel or thread is archived."
SCHEDULE_PLACE_GONE = "That channel is gone, or I am no longer in it."
SCHEDULE_WITHOUT_ME = "I am no longer in that channel: invite me, and set this up anew."
SCHEDULE_WIDER = (
    "More people can read that channel than when you set this up: if all of them may read it, set it up there anew."
)

BACKLOG_FULL = "I have {questions} to answer already, so I could not take yours; please ask again in a few minutes."
CLOSED = "I take no questions at the moment; please ask again later."


TOO_MANY = "I take {messages} {within} {whose}, so I did not read this one; please ask again after {moment}."
WITHIN_MINUTE = "a minute"
WITHIN_HOUR = "an hour"
WHOSE_RATE = {
    Whose.PERSON: "from one person",
    Whose.CHANNEL: "in one channel",
    Whose.WORKSPACE: "in one workspace",
    Whose.EVERYONE: "in all",
}


# Budgets and spending

BUDGET_USED = "{who} used today's budget of {limit}; it starts again at {moment}."
WHO_USED = {
    Whose.PERSON: "You have",
    Whose.CHANNEL: "This channel has",
    Whose.WORKSPACE: "This workspace has",
    Whose.EVERYONE: "Everybody together has",
}
ONLY_OPERATORS = "Only operators (COGENCY_OPERATORS) may see or change budgets other than their own."
OPERATOR = "You are an operator: no budget holds for you."
BUDGET_USAGE = (
    "Write whose budget you mean: `channel`, `workspace`, `everyone`, a person, or nothing for your own. To change it, "
    "add `5,000,000 tokens`, `$20`, `exempt` or `reset`."
)
NO_SUCH_LIMIT = "There is no such limit; {setting} sets one."
APPS_SETTING = "{setting} (or {key} of its app in the file of COGENCY_SLACK_APPS)"
ONLY_RAISED = "The usual budget is {usually}: here it can only be raised; {setting} changes it."


BUDGET = "{whose}, today (UTC): {tokens} ({tokens_limit}), {money} ({money_limit})."
NO_LIMIT = "no limit"
LIMIT = "of {limit}"
YOU = "You"
EVERYONE = "Everyone"
LIST_PRICES = f"Days are of UTC; money is at list prices of {PRICES_AS_OF}."
ESTIMATED = "~ in part estimated: the model did not report it"
NOTHING_SPENT = "You have asked nothing this month."
TODAY = "Today"
THIS_MONTH = "This month"
SPENT = "This is what your questions took."

# Files and voice messages

CANNOT_LISTEN = (
    "I cannot listen to voice messages yet: please write to me instead. (My operator can switch it on with "
    "COGENCY_TRANSCRIPTION.)"
)
CANNOT_LISTEN_NOW = "I could not listen to your voice message: {reason}. Please try again, or write to me."
# What stands above files in the person's direct messages, where there is no answer.
FILES_BELOW = "The files of my answer:"

# When a platform refuses

# By Discord's code of a refusal, what somebody can do about it.
DISCORD_REMEDIES = {
    50001: "Let my role see that channel (View Channel), or ask me elsewhere.",
    50007: "They take no direct messages from me; in a server's privacy settings they can allow them.",
    50013: "Give my role the right to send messages there (in threads: Send Messages in Threads), or ask me elsewhere.",
    160002: "Give my role the right to read that channel's history (Read Message History).",
    160005: "The thread is locked: somebody who manages threads can unlock it.",
    50035: "That is an error of mine: please report it with the lines around this one.",
    40001: "DISCORD_TOKEN is no longer accepted: copy it again from the developer portal, and restart me.",
    0: "",
}
DISCORD_ANSWERED = "Discord answered {status} (error {code}). {remedy}"
DISCORD_LIMITED = "Discord asks to wait {seconds:.0f} s"
DISCORD_UNREACHED = "Discord could not be reached ({kind})"
THREAD_LOCKED = "I cannot answer in the thread “{name}”: it is locked."
ROLE_LACKS = (
    "I cannot answer in #{channel}: my role lacks {missing} there. Someone who manages the server can grant that."
)
SERVER_NOT_SERVED = (
    "I am not set up for this server; please ask my operator to add it (its id is {guild}, the setting "
    "COGENCY_DISCORD_SERVERS)."
)
DISCORD_WHO = "Discord did not tell me who you are, so I could not do that: please try again soon."
DISCORD_WHERE = "Discord did not tell me where this is, so I could not do that: please try again soon."
TOO_LONG_HERE = (
    "This answer is longer than I may show here, and I cannot write to you directly: open a direct message with me, or "
    "have me added to this server, and ask again."
)
DISCORD_KEPT_WAITING = (
    "Discord does not answer me at the moment. Your message is not lost: I will answer it as soon as I can."
)
INSTALL_AGAIN = "Install the app again, and set SLACK_BOT_TOKEN to its new token."
SLACK_REMEDIES = {
    "is_archived": "That channel is archived: ask in another one, or have it restored.",
    "channel_not_found": "I cannot see that channel: ask me elsewhere, or invite me there.",
    "not_in_channel": "I am not in that channel: invite me there, and ask again.",
    "cannot_reply_to_message": "That message takes no replies: ask me again in the channel.",
    "ekm_access_denied": "Your organization's administrators have suspended messages there: ask me elsewhere.",
    "restricted_action": "A setting of the workspace keeps me from writing there: ask me elsewhere, or an admin.",
    "messages_tab_disabled": "Direct messages to me are switched off in the app's settings: ask my operator.",
}
SLACK_REMEDY = "Please ask me in another place; my operator finds the reason in the log."
SLACK_LIMITED = "Slack asks to wait {seconds:g} s before {method}."
SLACK_REFUSED = "Slack refused {method}: {code}."
SLACK_UNREACHABLE = "Slack cannot be reached ({method}: {why})."
SLACK_FAILED = "Slack failed ({method}: {why})."
SLACK_WHO = "Slack did not tell me who you are, so I could not do that: please try again soon. ({why})"
SLACK_GUESTS_UNKNOWN = "Slack has not told for a while who is a guest."
SLACK_READERS_UNKNOWN = "Slack does not tell in time who reads a channel."
SLACK_TOO_MANY_PEOPLE = "The workspace has more people than are read."
SLACK_GROUPS_UNREAD = "Some of the user groups could not be read."
SLACK_KEPT_WAITING = (
    "Slack does not tell me at the moment who you are. Your message is not lost: I will answer it as soon as I know."
)

# The terminal

# A terminal has no buttons.
WRITE_CONTINUE = "*Write “continue” to go on.*"
WRITE_UNDO = "*Write `/memory {words}` to undo that.*"
PLAIN_TERMINAL = "Answers appear as a whole and plain here, because TERM says that this terminal can do no more."
HOW_TO_LEAVE = "Press Ctrl-D, or write /quit, to leave."
AGREE = "Write `yes` to forget; anything else keeps everything."
EXPORT_TO_FILE = "That is too much for a screen: write `/memory export` and the name of a new file."
AGREE_WIDER = "Write `yes` to forget, or `all` to forget those, too; anything else keeps everything."
KEPT_EVERYTHING = "Kept everything."
NO_QUESTION = "There is no question: write it after `cogency ask`, or to its standard input."
COMMAND_IN_CHAT = "That is a command of the chat: write it in `cogency chat`, or `echo {line} | cogency chat`."
QUESTION_TOO_LONG = "The question is too long: at most {limit:,} characters are read."
FILE_EXISTS = "{name} exists already, so nothing was written."
FILE_UNWRITABLE = "{name} could not be written: name a file in a folder that exists."
FILE_WRITTEN = "Written to {name}."
NEW_THREAD = "A new thread."

# The page to try it

PLAY_WORKSPACE = "Try-out"
PLAY_UNREADABLE = "The page asked for something that I do not understand: please reload it."
PLAY_FAILED = "That could not be done; the log of `cogency play` says why. Please try again."
PLAY_TOO_LONG = "That is too long: {chars:,} characters, of at most {limit:,}."
PLAY_EMPTY = "There is nothing to send."
PLAY_NOT_THERE = "There is no such place or message for you."
PLAY_NOT_YOURS = "Only its author can change a message."
PLAY_NO_CHANNEL = "There is no such channel that the asker reads."
PLAY_POSTED = "Posted in #{channel} (message {message})."
PLAY_POSTED_FOR = "posted for {name}"
# What a place is, above its messages: who reads it, and where what is said in it may be used.
PLAY_PUBLIC = "**Everybody** in this workspace reads this. What is said here may be used everywhere in it."
PLAY_PRIVATE = (
    "**{readers} alone** reads this channel. What is said here is used here, and in {readers}'s direct messages."
)
PLAY_DIRECT = "**{person} alone** reads this. Nothing that is said here reaches {others}, in any place."

# After a button below a reply

NOTED = "Thank you, I have noted that. The other button changes it."
NO_SUCH_REPLY = "I do not know this reply any more."
ONLY_THIS_PAGE = "Forgotten. I can take away only this page of it: please dismiss the others yourself."
ASKED_ALREADY = "I have been asked this already; the answer stands below, or is on its way."

# For operators

VERSION = "**Version**: {version}. {models}"
STORE = "**Store**: {where}."
VERDICTS = "**Verdicts**, {days} days: {good:,} good, {bad:,} bad."
BY_PERSON = "By person"
BY_MODEL = "By model"

NO_OPERATOR = "This is for those who run the bot: COGENCY_OPERATORS names them."
NO_OPERATOR_PAGE = (
    "The operators' page is not served here: COGENCY_OPERATOR_PAGE switches it on for `cogency run`, and at the shell "
    "`cogency operator` gives a link to it."
)
OPERATOR_PAGE = (
    "[Open the operators' page]({link}): the link works for {minutes} minutes and signs one browser in, after a press. "
    "Do not pass it on."
)


def sources_text(cited: Cited) -> str:
    """What stands below an answer, "" for nothing: each source with its number, its title and its address."""
    head = SOURCES if cited.is_cited else SOURCES_READ
    return "\n".join([head, *map(_source, cited.sources)]) if cited.sources else ""


SOURCE_TITLE_CHARS = 120  # One line on a usual screen, two on a phone


def _source(one: Reference) -> str:
    title = literal(excerpt(one.title, SOURCE_TITLE_CHARS))
    return f"- [{one.number}] {f'[{title}]({one.address})' if title else one.address}"
