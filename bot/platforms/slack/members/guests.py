"""Whether a guest reads a public channel: there not everybody is a full member, so it is a group of its own.

Above: `place` asks, `run` keeps it going. Below: `api`, `inbound`, `people`, `payload`, the clock of `agent.ports`.

Rules
- The workspace's guests are listed in the background, so that a workspace without any costs a question nothing. Where
  there are some, the members of the channel are asked for.
- Unknown fails closed: without a list that is recent enough, without an answer in time, or behind too many pages a
  guest may read along, so the channel is a group of its own.
- Slack does not tell this app of guests that come, so a new one counts after the next listing.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from agent.messages import JsonObject
from agent.ports import Clock
from bot.platforms.slack.api import Method, SlackApi, SlackDown, SlackError, SlackLimited
from bot.platforms.slack.members.people import is_guest
from bot.platforms.slack.payload import items, text, texts
from bot.platforms.slack.reading.inbound import Me

log = logging.getLogger(__name__)

EVERY_S: Final = 180.0
"""How often guests are listed: so long may a new one count as a full member, and it costs a few requests."""
AGAIN_S: Final = 30.0
"""After a listing that failed."""
MAX_AGE_S: Final = 600.0
"""What was listed longer ago is not known any more. A listing with all its pages takes half of it."""
PAGE: Final = 200
"""Of the workspace's people: as many as Slack recommends."""
MAX_PAGES: Final = 100
"""Twenty thousand people, which take five minutes at the pace that Slack allows; of more the guests are not known."""
PAGE_PAUSE_S: Final = 3.0
"""Twenty requests a minute are what Slack promises for listing people."""
MEMBERS_PAGE: Final = 1_000
"""Slack's own limit: somebody waits."""
MAX_MEMBERS_PAGES: Final = 5
"""In a channel with more than five thousand members a guest may well be."""
PATIENCE_S: Final = 1.5
"""For the first listing, or for the members of a channel: Slack wants its acknowledgement within three seconds."""


class Guests:
    """Listed while `keep` runs."""

    def __init__(self, api: SlackApi, me: Me, clock: Clock) -> None:
        self._api = api
        self._me = me
        self._clock = clock
        self._listed = asyncio.Event()
        self._guests: frozenset[str] = frozenset()
        self._as_of = float("-inf")

    async def keep(self) -> None:
        """List the guests now and then, until cancelled."""
        while True:
            began = self._clock.monotonic()
            try:
                self._guests = await self._list()
            except SlackError as error:
                log.info("the workspace's guests are not known: %s", error)
                pause = max(AGAIN_S, error.retry_after_s if isinstance(error, SlackLimited) else 0.0)
            else:
                self._as_of, pause = began, EVERY_S
                self._listed.set()
            await self._clock.sleep(pause)

    async def read(self, channel: str) -> bool:
        """Whether a guest may be a member of this public channel. Raises SlackError for unknown."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._listed.wait()
                if self._clock.monotonic() - self._as_of > MAX_AGE_S:
                    raise SlackDown("Slack has not told for a while who is a guest.")
                return bool(self._guests) and await self._any_in(channel)
        except TimeoutError as error:
            raise SlackDown("Slack does not tell in time who reads a channel.") from error

    async def _any_in(self, channel: str) -> bool:
        async with aclosing(self._members(channel)) as pages:
            async for members in pages:
                if members & self._guests:
                    return True
        return False

    async def _members(self, channel: str) -> AsyncGenerator[frozenset[str], None]:
        """Page by page; of too many the last page holds every guest. Raises SlackError."""
        cursor = ""
        for _ in range(MAX_MEMBERS_PAGES):
            page = await self._api.call(Method.MEMBERS, channel=channel, limit=MEMBERS_PAGE, cursor=cursor or None)
            yield frozenset(texts(page, "members"))
            cursor = _next(page)
            if not cursor:
                return
        yield self._guests

    async def _list(self) -> frozenset[str]:
        """Raises SlackError, also when there is no end to the people."""
        found: set[str] = set()
        cursor = ""
        for _ in range(MAX_PAGES):
            page = await self._api.call(Method.USERS, limit=PAGE, cursor=cursor or None)
            found |= {text(one, "id") for one in items(page, "members") if is_guest(self._me, one)}
            cursor = _next(page)
            if not cursor:
                return frozenset(found)
            await self._clock.sleep(PAGE_PAUSE_S)
        raise SlackDown("The workspace has more people than are read.")


def _next(page: JsonObject) -> str:
    return text(page, "response_metadata", "next_cursor")
