"""What people read while they are answered: notices, refusals, failures, threads, models. Pure."""

from collections.abc import Sequence
from datetime import datetime

from agent.errors import CogencyError, ProviderError, StoreUnavailable
from agent.records import Author, StoredMessage, Thread
from bot.texts.formatting import literal, shortened

# --------------------------------------------------------------------------------------------------
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
NOT_YOURS = "Only the person who asked can decide this."


def use_command(name: str, *, direct: bool) -> str:
    """Somebody wrote a command's words as a message. `direct`: where nobody else would see its answer anyway."""
    why = "" if direct else ", so that only you see its answer"
    return f"Nothing is done yet: please use the command `/{name}`{why}."


# --------------------------------------------------------------------------------------------------
# When the store, a model or a tool fails

# While an answer waits for the store.
UNSTORED = "I cannot store anything at the moment; I go on as soon as I can."
KEPT_WAITING = "I cannot store anything at the moment. Your message is not lost: I answer it as soon as I can."
# What is wrong with the database, and where it lies, is for whoever runs the bot: it stands in the log.
UNAVAILABLE = "I cannot store or look up anything at the moment; please try again in a few minutes."


def failure(error: CogencyError) -> str:
    """What somebody who asked for something is told when it did not work."""
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return literal(error.reason.to_person if isinstance(error, ProviderError) else str(error))


# --------------------------------------------------------------------------------------------------
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


# --------------------------------------------------------------------------------------------------
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
