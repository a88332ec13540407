"""Who somebody is: in a server of the bot's as Discord says with what they wrote, elsewhere as those servers say.

Rules. Of who writes in a DM, a group message or a server that the bot is not in Discord says nothing: the operator's
servers are asked, a few at most, and what they say is remembered for a minute. Whoever is not found there is a
stranger; while a server does not answer, and no other knows them, nothing is known of them. The operator's roles count
everywhere. Where it is read is another question: this says nothing of it.
"""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Final

import discord

from agent.authority import Authority
from agent.errors import CogencyError
from agent.ports import Clock
from bot.backoff import Backoff, OncePerMinute
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.ranks import ranked
from bot.platforms.discord.members.servers import Servers
from bot.platforms.discord.reading.inbound import STRANGER, Author, Standing
from bot.platforms.discord.reading.reading import standing_of
from bot.platforms.discord.settings import Ranks

log = logging.getLogger(__name__)

MAX_SERVERS: Final = 5
"""One request each, while somebody waits."""
PATIENCE_S: Final = 2.0
"""For all of them: Discord takes the answer to a command for three seconds."""
MAX_AGE_S: Final = 60.0
"""Authority is resolved at the time of use; a minute is the most that a change may take to count."""
COMMAND_PATIENCE_S: Final = 120.0
"""A command says "is thinking" meanwhile; nobody looks at that for longer."""
MAX_KNOWN: Final = 2_000
"""As many people as write to one bot within a minute."""


class MemberUnknown(CogencyError):
    """Discord does not say who somebody is, which may pass: unknown is not no, so what they ask waits."""

    def __init__(self) -> None:
        super().__init__("Discord did not tell me who you are, so I could not do that: please try again soon.")


@dataclass(slots=True)
class Members:
    servers: Servers
    clock: Clock
    ranks: Ranks = field(default_factory=Ranks)
    _logged: OncePerMinute = field(default_factory=OncePerMinute)
    _known: dict[int, tuple[float, Standing]] = field(default_factory=dict[int, "tuple[float, Standing]"])

    async def known(self, author: Author) -> Author:
        """The author with the standing that counts; whom Discord calls a stranger there may be a member elsewhere.

        Raises MemberUnknown.
        """
        here = author.standing
        if here.authority is Authority.STRANGER and (found := await self._standing(author.id)) != STRANGER:
            return replace(author, standing=ranked(found, self.ranks))
        return self.here(author)

    async def known_at_last(self, author: Author) -> Author:
        """The same for a command or a button, which is delivered once: asked again while somebody waits."""
        backoff, until = Backoff(), self.clock.monotonic() + COMMAND_PATIENCE_S
        while True:
            try:
                return await self.known(author)
            except MemberUnknown:
                pause = backoff.failed()
                if self.clock.monotonic() + pause > until:
                    raise
                await self.clock.sleep(pause)

    def here(self, author: Author) -> Author:
        """The author with what they are where they write, whatever they are elsewhere."""
        return replace(author, standing=ranked(author.standing, self.ranks))

    async def _standing(self, person: int) -> Standing:
        """Their highest in these servers, by Discord's word alone. Raises MemberUnknown."""
        now = self.clock.monotonic()
        if person in self._known and now - self._known[person][0] <= MAX_AGE_S:
            return self._known[person][1]
        found, asked_all = await self._look_for(person)
        if asked_all:
            self._known.pop(person, None)
            self._known[person] = (now, found)
            while len(self._known) > MAX_KNOWN:
                del self._known[next(iter(self._known))]
        elif found == STRANGER:
            raise MemberUnknown
        return found

    async def _look_for(self, person: int) -> tuple[Standing, bool]:
        """Their highest, and whether every server has said what they are there."""
        best, asked_all = STRANGER, True
        try:
            async with asyncio.timeout(PATIENCE_S):
                for server in self.servers.home()[:MAX_SERVERS]:
                    try:
                        found = standing_of(await server.fetch_member(person))
                    except discord.NotFound:
                        continue
                    except UNREADABLE as error:
                        self._log(server, error)
                        asked_all = False
                        continue
                    best = max(best, found, key=lambda standing: ranked(standing, self.ranks).authority)
        except TimeoutError:
            asked_all = False
        return best, asked_all

    def _log(self, server: discord.Guild, error: Exception) -> None:
        cause = f"{server.id} {type(error).__name__}"
        if (more := self._logged.due(cause, self.clock.monotonic())) is not None:
            log.warning("Discord does not say who is a member of %r, so questions wait: %s%s", server.name, error, more)
