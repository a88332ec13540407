"""What people read while they are answered: notices, refusals, failures, threads, models. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from agent.admission_terms import Authority, Whose
from agent.errors import CogencyError, ProviderError, StoreUnavailable
from agent.messages import ResultStatus
from agent.records import Author, StoredMessage, Thread
from agent.spending import PRICES_AS_OF
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
GIVEN_UP = "I could not finish this answer after {attempts} attempts (turn {turn}). Please ask again in other words."
ANSWERED_ELSEWHERE = "Another process has answered this question; the reply stands in its thread."
NO_ANSWER_FROM_FIRST = "it could not answer."
BROKEN = "Something went wrong on my side (turn {turn}). Please ask again; the operator finds the reason in the log."
THINKING = "Thinking…"
STATUS_LINES = {
    "recall": "Searching past threads…",
    "remember": "Making a note…",
    "share_file": "Preparing a file…",
}
USING_TOOL = "Using {tool}…"
OUTPUTS: Mapping[ResultStatus, str] = {
    ResultStatus.SUCCESS: "Done.",
    ResultStatus.FAILURE: "That did not work.",
    ResultStatus.UNKNOWN: "Whether that worked is not known.",
}
UNFINISHED = "Not finished."
DONE_BY_TOOL: Mapping[str, str] = {
    "recall": "searched past threads",
    "remember": "made a note",
    "share_file": "prepared a file",
}

# When the store, a model or a tool fails

# While an answer waits for the store.
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
    """The name that somebody wrote, for `Host.choose_model`; "" is the usual one."""
    return "" if words.strip().casefold() == USUAL else words.strip()


MODEL_CHOSEN = "you chose it"
MODEL_FOR_PERSON = "chosen for you by my operator"
MODEL_FOR_CHANNEL = "chosen for this channel by my operator"
MODEL_NOT_ALLOWED = "That model cannot be chosen: {others}."
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
BACKLOG_FULL = "I have {questions} to answer already, so I could not take yours; please ask again in a few minutes."
CLOSED = "I take no questions at the moment; please ask again later."


TOO_MANY = "I take {messages} {within} {whose}, so I did not read this one; please ask again after {moment}."
WITHIN_MINUTE = "a minute"
WITHIN_HOUR = "an hour"
WHOSE_RATE = {Whose.PERSON: "from one person", Whose.CHANNEL: "in one channel", Whose.EVERYONE: "in all"}


# Budgets and spending

BUDGET_USED = "{who} used today's budget of {limit}; it starts again at {moment}."
WHO_USED = {
    Whose.PERSON: "You have",
    Whose.CHANNEL: "This channel has",
    Whose.EVERYONE: "Everybody together has",
}
ONLY_OPERATORS = "Only operators (COGENCY_OPERATORS) may see or change budgets other than their own."
OPERATOR = "You are an operator: no budget holds for you."
BUDGET_USAGE = (
    "Write whose budget you mean: `channel`, `everyone`, a person, or nothing for your own. To change it, add "
    "`5,000,000 tokens`, `$20`, `exempt` or `reset`."
)
NO_SUCH_LIMIT = "There is no such limit; {setting} sets one."
ONLY_RAISED = "The usual budget is {usually}: here it can only be raised; {setting} changes it."


BUDGET = "{whose}, today (UTC): {tokens} ({tokens_limit}), {money} ({money_limit})."
NO_LIMIT = "no limit"
LIMIT = "of {limit}"
YOU = "You"
EVERYONE = "Everyone"


LIST_PRICES = f"Days are of UTC; money is at list prices of {PRICES_AS_OF}."
ESTIMATED = "~ in part estimated: the model did not report it"
NOTHING_SPENT = "You have asked nothing this month."
SPENT = "This is what your questions took."

# Files and voice messages

CANNOT_LISTEN = (
    "I cannot listen to voice messages yet: please write to me instead. (My operator can switch it on with "
    "COGENCY_TRANSCRIPTION.)"
)
CANNOT_LISTEN_NOW = "I could not listen to your voice message: {reason}. Please try again, or write to me."
