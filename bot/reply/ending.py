"""How a reply ends: what stands below the answer, and which buttons stay.

Above: `bot.turns.worker`. Below: `bot.surface`, `bot.wording`, `agent.reply_text`.
"""

from contextlib import suppress
from typing import Final

from agent.events import Outcome
from agent.ports import Clock
from agent.records import Closing
from agent.reply_text import joined
from bot import wording
from bot.surface import Offer, PageLimited, PageRef, Surface, SurfaceError

UNFINISHED: Final = frozenset({Outcome.CUT, Outcome.EXHAUSTED})
"""Ends after which the model can go on."""

OFFER_TRIES: Final = 3
"""Buttons wait behind the platform's limits like any edit, but not for ever: the answer is complete without them."""
MAX_WAIT_S: Final = 10.0


def shown(closing: Closing) -> str:
    """The whole text that a reader sees at the end: the answer, and the lines that are not stored with it."""
    stopped = wording.STOPPED if closing.outcome is Outcome.STOPPED else ""
    return joined([closing.reply, stopped, closing.footer])


async def leave_offers(surface: Surface, clock: Clock, closing: Closing) -> None:
    """Take the buttons off the pages of a reply that has ended, but for what the last one offers. Never raises."""
    *earlier, last = closing.pages or ("",)
    for page in filter(None, earlier):
        await _leave(surface, clock, page, frozenset())
    if last:
        await _leave(surface, clock, last, frozenset({Offer.CONTINUE} if closing.outcome in UNFINISHED else ()))


async def _leave(surface: Surface, clock: Clock, page: str, offers: frozenset[Offer]) -> None:
    with suppress(SurfaceError):
        for _ in range(OFFER_TRIES):
            try:
                await surface.offer(PageRef(page), offers)
            except PageLimited as limited:
                await clock.sleep(min(limited.retry_after_s, MAX_WAIT_S))
            else:
                return
