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

ANSWERED_OFFERS: Final = frozenset({Offer.GOOD, Offer.BAD, Offer.REGENERATE, Offer.DELETE})


def shown(closing: Closing) -> str:
    """The whole text that a reader sees at the end: the answer, and the lines that are not stored with it."""
    stopped = wording.STOPPED if closing.outcome is Outcome.STOPPED else ""
    return joined([closing.reply, stopped, closing.footer])


def offered(closing: Closing) -> frozenset[Offer]:
    """What a reader may do about the reply that has ended so."""
    if closing.outcome in UNFINISHED:
        return frozenset({Offer.CONTINUE})
    return ANSWERED_OFFERS if closing.outcome is Outcome.ANSWERED else frozenset()
