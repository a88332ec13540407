"""What `/feedback` is asked for, from the words after it; the same on every platform. Pure."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.feedback import MAX_COMMENT, MAX_CORRECTION, FeedbackDetails, FeedbackFilter, FeedbackReason, FeedbackState
from bot.chat.panels import Filled, page_of
from bot.feedback import texts

NUMBER_DIGITS: Final = 18  # Of an integer that every database accepts
OPEN: Final = frozenset({FeedbackState.NEW, FeedbackState.IN_WORK})
OPEN_ONES: Final = FeedbackFilter(states=OPEN)
FILTERS: Final = {
    "open": OPEN,
    **{state.value: frozenset({state}) for state in FeedbackState},
    "all": frozenset[FeedbackState](),
}
STATE_WORDS: Final = {
    "take": FeedbackState.IN_WORK,
    "fixed": FeedbackState.FIXED,
    "reopen": FeedbackState.NEW,
}
LIST, CANCEL, ON, SHARE = "list", "cancel", "on", "share"


@dataclass(frozen=True, slots=True)
class ShowFeedback:
    """How to rate, and for which answer: of the turn, or the person's last one here."""

    turn: int | None = None


@dataclass(frozen=True, slots=True)
class RateGood:
    """Of the person's last answer here."""


@dataclass(frozen=True, slots=True)
class KeepRating:
    """The person does not say more."""


@dataclass(frozen=True, slots=True)
class Explain:
    """`turn`: None for the person's last answer here."""

    details: FeedbackDetails
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class ListFeedback:
    """`words`: those of the filter, for the buttons of the list."""

    chosen: FeedbackFilter = OPEN_ONES
    page: int = 1
    words: str = "open"


@dataclass(frozen=True, slots=True)
class ChangeState:
    id: int
    state: FeedbackState


@dataclass(frozen=True, slots=True)
class Unclear:
    sentence: str


FeedbackOrder: TypeAlias = ShowFeedback | RateGood | KeepRating | Explain | ListFeedback | ChangeState | Unclear

_ON: Final = re.compile(rf"{ON} ([0-9]{{1,{NUMBER_DIGITS}}})(?: |\Z)")


def how() -> str:
    """Return how a rating is typed."""
    return texts.HOW.format(reasons=", ".join(f"`{reason}`" for reason in FeedbackReason))


def read_order(words: str, *, share: bool = False) -> FeedbackOrder:
    """`share`: the box of the form, or the option of the command, is ticked."""
    words, turn = words.strip(), None
    if (named := _ON.match(words)) is not None:
        turn, words = int(named[1]), words[named.end() :].strip()
    first, _, rest = words.partition(" ")
    match first.casefold():
        case "":
            return ShowFeedback(turn)
        case "good" if not rest and turn is None:
            return RateGood()
        case "cancel" if not rest:
            return KeepRating()
        case "list" if turn is None:
            return _list(rest)
        case order if order in STATE_WORDS and turn is None and (id_ := _number(rest)) is not None:
            return ChangeState(id_, STATE_WORDS[order])
        case _:
            return _explanation(words, turn, share=share)


def _number(words: str) -> int | None:
    word = words.strip().removeprefix("#")
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= NUMBER_DIGITS else None


def _list(words: str) -> FeedbackOrder:
    """Filters are a state, a reason, or both, in any order; then a page."""
    before, has_page, after = words.casefold().partition("page ")
    page = page_of(f"page {after}") if has_page else 1
    states, reason = OPEN, None
    for word in before.replace("in progress", FeedbackState.IN_WORK).split():
        if word in FILTERS:
            states = FILTERS[word]
        elif word in {*FeedbackReason}:
            reason = FeedbackReason(word)
        else:
            return Unclear(texts.LIST_USAGE)
    if page is None:
        return Unclear(texts.LIST_USAGE)
    return ListFeedback(FeedbackFilter(states, reason), page, " ".join(before.split()) or "open")


def _explanation(words: str, turn: int | None, *, share: bool) -> FeedbackOrder:
    """`share` before a colon is the flag; a text that begins with this word shares nothing."""
    name, rest = [*re.split(r"[\s:]", words, maxsplit=1), ""][:2]
    reason = next((one for one in FeedbackReason if one == name.casefold()), None)
    if reason is None:
        return Unclear(texts.UNCLEAR.format(how=how()))
    if words[len(name) : len(name) + 1] != ":":
        flag, colon, text = rest.partition(":")
        if flag.strip().casefold() == SHARE:
            share, rest = True, text
        elif colon and not flag.strip():
            rest = text
    comment, _, correction = (part.strip() for part in rest.partition("|"))
    if len(comment) > MAX_COMMENT or len(correction) > MAX_CORRECTION:
        return Unclear(texts.TOO_LONG.format(most=MAX_COMMENT if len(comment) > MAX_COMMENT else MAX_CORRECTION))
    return Explain(FeedbackDetails(reason, comment, correction, share), turn)


def form_words(filled: Filled) -> str:
    """Return the words of a filled-in window: the colon ends what is read as flags."""
    comment, correction = filled["comment"].replace("|", "/").strip(), filled["correction"].strip()
    return f"{filled['reason']}: {comment} | {correction}"
