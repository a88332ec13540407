"""What the bot itself says, in polite exact Markdown, for every platform. Pure.

Rules: short British English; dates as 2026-11-21; what people wrote is shown literally, so that a "*" in a fact stays
a "*"; nothing is claimed that a receipt does not prove.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from agent.errors import CogencyError, ProviderError, StoreUnavailable
from agent.records import Author, Receipt, StoredMessage, Thread
from agent.spending import NANO, Money

# --------------------------------------------------------------------------------------------------
# Counts and money in words. Pure.


def counted(count: int, one: str, more: str) -> str:
    """ "1 thread", "1,200 threads"."""
    return f"{count:,} {one if count == 1 else more}"


def money(cost: Money) -> str:
    """In dollars, with the digits that matter for a sum of this size; what is not nothing is never shown as nothing."""
    if cost == 0:
        return "$0"
    if cost < NANO // 10_000:
        return "under $0.0001"
    digits = 2 if cost >= NANO else 4
    return f"${cost / NANO:,.{digits}f}"


TITLE_CHARS = 60
"""A thread's title in a list: it stays on one or two lines of a phone."""

STOPPED = "*Stopped.*"
"""The end of a reply that somebody stopped."""
STOPPING = f"{STOPPED} An answer that was complete by then may still appear."
"""What whoever stops by a command is told: how far its answers had come is known where they are made."""
NOTHING_RUNNING = "Nothing is running here."
GO_ON = "Please go on."
"""What somebody asks who presses "Continue"."""

REMEMBERED = "*Remembered: "
"""How the line below an answer begins that says what was kept."""
UNDONE = "*Undone: I no longer remember this.*"
"""What stands in its place once that is taken back."""

UNSTORED = "I cannot store anything at the moment; I go on as soon as I can."
"""While an answer waits for the store."""
KEPT_WAITING = "I cannot store anything at the moment. Your message is not lost: I answer it as soon as I can."
UNAVAILABLE = "I cannot store or look up anything at the moment; please try again in a few minutes."
"""What is wrong with the database, and where it lies, is for whoever runs the bot: it stands in the log."""

OFTEN_ENOUGH = "I have answered this as often as I can: please ask it as a new question."
MORE_PUBLIC = "More people read this channel than when you asked: please ask again, if they may read it."
"""Of a question that is to be asked once more."""

NOT_YOURS = "Only the person who asked can decide this."
USUAL = "usual"
"""What somebody writes as a model's name to go back to the usual one."""

_MARKDOWN = re.compile(r"[\\`*\[\]<>~|&]|(?<![^\W_])_|_(?![^\W_])|^[#+-]|^(?:\d+)[.)]|^=+$")

_KINDS = {
    "messages": ("message", "messages"),
    "facts": ("fact", "facts"),
    "profile": ("profile entry", "profile entries"),
    "summaries": ("summary", "summaries"),
}
"""What a person knows by name, in the order of a receipt, in singular and plural."""
THREADS: Final = "conversations"
"""As previews and receipts count those in which something falls."""


def literal(text: str) -> str:
    """`text` on one line, as Markdown that shows exactly these characters."""
    line = " ".join(text.split())
    return _MARKDOWN.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


def failure(error: CogencyError) -> str:
    """What somebody who asked for something is told when it did not work."""
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return literal(error.reason.to_person if isinstance(error, ProviderError) else str(error))


def shortened(text: str, chars: int) -> str:
    """`text` on one line, cut at `chars` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[: chars - 1].rstrip()}…"


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


def use_command(name: str, *, direct: bool) -> str:
    """Somebody wrote a command's words as a message. `direct`: where nobody else would see its answer anyway."""
    why = "" if direct else ", so that only you see its answer"
    return f"Nothing is done yet: please use the command `/{name}`{why}."


def forget_which() -> str:
    return "What shall I forget? Write `thread`, `everything`, `2 hours`, `since Monday`, or `about` and a word."


def forget_declined() -> str:
    return "Nothing was forgotten."


def amounts(counts: Mapping[str, int]) -> str:
    """How much of each kind, as a person knows them, and where: "2 messages, 1 fact, in 1 thread"; "nothing"."""
    known = [counted(counts[kind], *words) for kind, words in _KINDS.items() if counts.get(kind)]
    if records := sum(count for kind, count in counts.items() if kind not in {*_KINDS, THREADS}):
        known.append(counted(records, "internal record", "internal records"))
    if threads := counts.get(THREADS, 0):
        known.append(f"in {counted(threads, 'thread', 'threads')}")
    return ", ".join(known) or "nothing"


FOUND_NOTHING: Final = "A search afterwards finds none of these texts where they stood"
"""As much as the search for proof shows: what somebody says elsewhere in words of their own is another text."""


def receipt_text(receipt: Receipt) -> str:
    """What was erased, and what the search for proof says. It claims no more than the receipt does."""
    if not any(receipt.erased.values()) and not receipt.found_again:
        return "There was nothing to forget."
    done = f"Forgotten: {amounts(receipt.erased)}. {_proof(receipt)}"
    if receipt.related:
        stays = counted(receipt.related, "message", "messages")
        done = f"{done} {stays} elsewhere may say the same in other words: not forgotten."
    if receipt.replies:
        pages = counted(receipt.replies, "message", "messages")
        return f"{done} I am also deleting {pages} of mine where you see them; that may take a while."
    return done


def _proof(receipt: Receipt) -> str:
    if receipt.found_again:
        again = counted(receipt.found_again, "entry", "entries")
        return f"**A search afterwards still finds {again}.** Please tell whoever runs this bot."
    if receipt.bytes_gone:
        return f"{FOUND_NOTHING}, and their bytes are gone from the database files."
    if receipt.kept_by_server:
        return (
            f"{FOUND_NOTHING}. The database server's files and backups are kept by whoever runs it: "
            "old bytes stay there until its next vacuum, and until the backups run out."
        )
    return f"{FOUND_NOTHING}; old bytes may stay in the database files until the next clean-up."


def withheld_text(count: int) -> str:
    """What is told to the asker alone about what a search found for them elsewhere."""
    more = counted(count, "more result", "more results")
    verb = "is" if count == 1 else "are"
    return f"{more} from your direct messages or private channels {verb} not shown here: ask me in a direct message."


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


def help_text(commands: Mapping[str, str]) -> str:
    """The commands of one platform, as written there, each with what it does."""
    return "\n".join(f"- `{command}`: {what}" for command, what in commands.items())


def _last(thread: Thread, now: datetime) -> str:
    """The day of the last message; for today also the time, as several threads may share the day."""
    last = thread.last.astimezone(now.tzinfo)
    return f"today {last:%H:%M}" if last.date() == now.date() else last.date().isoformat()


def undone(text: str) -> str:
    """A reply whose last "Remembered …" is said to be taken back; its words stand there no more."""
    lines = text.split("\n")
    for at in reversed(range(len(lines))):
        if lines[at].startswith(REMEMBERED) and lines[at].endswith("*"):
            return "\n".join([*lines[:at], UNDONE, *lines[at + 1 :]])
    return text


# --------------------------------------------------------------------------------------------------
# A moment of the next hours, as a person reads it on their own clock. Pure.


def local_moment(moment: datetime, zone: str) -> str:
    """ "19:00 (America/New_York)": rounded up to a whole minute, so that it has passed by then.

    `zone`: a name of the time zone database; anything else is read as UTC.
    """
    there = moment.astimezone(zone_of(zone))
    if there.second or there.microsecond:
        there = there.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return f"{there:%H:%M} ({there.tzinfo})"


def zone_of(name: str) -> tzinfo:
    """The zone of that name in the time zone database, else UTC."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC
