"""How a reply ends: what stands below the answer, and which buttons stay. Pure.

Above: `bot.turns.answering`. Below: `bot.surface`, `bot.wording`, `agent.reply_text`.
"""

from typing import Final

from agent.events import Outcome
from agent.records import Closing
from agent.reply_text import joined
from bot import wording
from bot.surface import Offer

UNFINISHED: Final = frozenset({Outcome.CUT, Outcome.EXHAUSTED})
"""Ends after which the model can go on."""

AGAIN: Final = frozenset({Offer.REGENERATE, Offer.DELETE})
JUDGED: Final = frozenset({Offer.GOOD, Offer.BAD})
"""What stands below an answer; an end without one is nobody's opinion."""


def shown(closing: Closing) -> str:
    """The whole text that a reader sees at the end: the answer, and the lines that are not stored with it."""
    stopped = wording.STOPPED if closing.outcome is Outcome.STOPPED else ""
    return joined([closing.reply, stopped, closing.kept, closing.footer])


def offered(closing: Closing) -> frozenset[Offer]:
    """What a reader may do about the reply that has ended so."""
    undo = frozenset({Offer.UNDO}) if closing.kept else frozenset[Offer]()
    if closing.outcome in UNFINISHED:
        return undo | {Offer.CONTINUE}
    return undo | (AGAIN | JUDGED if closing.outcome is Outcome.ANSWERED else AGAIN)
