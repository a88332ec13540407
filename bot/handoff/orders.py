"""What `/human` is asked for, from the words after it; the same on every platform. Pure."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.handoffs import MAX_NOTE
from bot.handoff import texts

DIGITS: Final = 9  # Of a number that every database accepts
WORD: Final = "handoff"  # Before the words of the buttons below what people are written
ON, SEND, SHARE, TAKE, BACK, CANCEL, KEEP, LIST = "on", "send", "share", "take", "back", "cancel", "keep", "list"
_ORDER: Final = re.compile(rf"(?P<verb>{TAKE}|{BACK}|{CANCEL}) #?(?P<number>[0-9]{{1,{DIGITS}}})", re.ASCII)
_ON: Final = re.compile(rf"(?:{BACK} )?{ON} (?P<turn>[0-9]{{1,{DIGITS}}})", re.ASCII)
_SEND: Final = re.compile(
    rf"(?P<verb>{SEND}|{SHARE}) (?P<turn>[0-9]{{1,{DIGITS}}}) (?P<digest>[0-9a-f]{{16}})(?: (?P<note>.*))?",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Prepare:
    """Show who would be asked, and what they would get, before anything is sent. `turn`: of the answer; None for the
    newest one here.
    """

    turn: int | None = None


@dataclass(frozen=True, slots=True)
class AskNow:
    """The person has written to the people themselves: `note`. Nothing else is shared."""

    note: str


@dataclass(frozen=True, slots=True)
class Send:
    """Ask people, as it was shown. `digest`: of what was shown; `shares`: they may read it, although they cannot read
    the conversation.
    """

    turn: int
    digest: str
    note: str = ""
    shares: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    number: int


@dataclass(frozen=True, slots=True)
class HandBack:
    """`number`: None for the request of this conversation, or of the notice's turn."""

    number: int | None = None
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Withdraw:
    number: int | None = None


@dataclass(frozen=True, slots=True)
class KeepBot:
    """Ask nobody after all."""


@dataclass(frozen=True, slots=True)
class ListRequests:
    pass


@dataclass(frozen=True, slots=True)
class Unclear:
    sentence: str


HumanOrder: TypeAlias = Prepare | AskNow | Send | Take | HandBack | Withdraw | KeepBot | ListRequests | Unclear


def take_words(number: int) -> str:
    """Return the words of the button by which the message about a request is found."""
    return f"{WORD} {TAKE} {number}"


def read_order(words: str, *, share: bool = False) -> HumanOrder:
    """`share`: the box of the form is ticked. Words that are no order are a message for the people."""
    words = words.strip()
    words = words.removeprefix(f"{WORD} ").strip()
    if (found := _SEND.fullmatch(words)) is not None:
        note = (found["note"] or "").strip()
        if len(note) > MAX_NOTE:
            return Unclear(texts.TOO_LONG.format(most=MAX_NOTE))
        return Send(int(found["turn"]), found["digest"], note, shares=share or found["verb"] == SHARE)
    plain = words.casefold().rstrip(".!")
    if (found := _ON.fullmatch(plain)) is not None:
        turn = int(found["turn"])
        return HandBack(turn=turn) if plain.startswith(BACK) else Prepare(turn)
    if (found := _ORDER.fullmatch(plain)) is not None:
        number = int(found["number"])
        return {TAKE: Take, BACK: HandBack, CANCEL: Withdraw}[found["verb"]](number)
    match plain:
        case "":
            return Prepare()
        case "back" | "hand back":
            return HandBack()
        case "cancel":
            return Withdraw()
        case "keep":
            return KeepBot()
        case "list":
            return ListRequests()
        case _ if len(words) > MAX_NOTE:
            return Unclear(texts.TOO_LONG.format(most=MAX_NOTE))
        case _:
            return AskNow(words)
