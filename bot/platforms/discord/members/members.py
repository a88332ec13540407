"""Who somebody is: in a server of the bot's as Discord says with what they wrote, elsewhere as those servers say.

Rules. Of who writes in a DM, a group message or a server that the bot is not in Discord says nothing: the operator's
servers are asked, a few at most, and what they say is remembered for a minute. Whoever is not found there is a
stranger. The operator's roles count everywhere. Where it is read is another question: this says nothing of it.
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Final

import discord

from agent.authority import Authority
from agent.ports import Clock
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.ranks import ranked
from bot.platforms.discord.members.servers import Servers
from bot.platforms.discord.reading.inbound import STRANGER, Author, Standing
from bot.platforms.discord.reading.reading import standing_of
from bot.platforms.discord.settings import Ranks

MAX_SERVERS: Final = 5
"""One request each, while somebody waits."""
PATIENCE_S: Final = 2.0
"""For all of them: Discord takes the answer to a command for three seconds."""
MAX_AGE_S: Final = 60.0
"""Authority is resolved at the time of use; a minute is the most that a change may take to count."""
MAX_KNOWN: Final = 2_000
"""As many people as write to one bot within a minute."""


@dataclass(slots=True)
class Members:
    servers: Servers
    clock: Clock
    ranks: Ranks = field(default_factory=Ranks)
    _known: dict[int, tuple[float, Standing]] = field(default_factory=dict[int, "tuple[float, Standing]"])

    async def known(self, author: Author) -> Author:
        """The author with the standing that counts; whom Discord calls a stranger there may be a member elsewhere."""
        here = author.standing
        if here.authority is Authority.STRANGER and (found := await self._standing(author.id)) != STRANGER:
            return replace(author, standing=ranked(found, self.ranks))
        return self.here(author)

    def here(self, author: Author) -> Author:
        """The author with what they are where they write, whatever they are elsewhere."""
        return replace(author, standing=ranked(author.standing, self.ranks))

    async def _standing(self, person: int) -> Standing:
        """Their highest in these servers, by Discord's word alone. Never raises: a failure is a stranger, and not
        remembered.
        """
        now = self.clock.monotonic()
        if person in self._known and now - self._known[person][0] <= MAX_AGE_S:
            return self._known[person][1]
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self._look_for(person)
        except UNREADABLE:
            return STRANGER
        self._known.pop(person, None)
        self._known[person] = (now, found)
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return found

    async def _look_for(self, person: int) -> Standing:
        best = STRANGER
        for server in self.servers.home()[:MAX_SERVERS]:
            try:
                found = standing_of(await server.fetch_member(person))
            except discord.NotFound:
                continue
            best = max(best, found, key=lambda standing: ranked(standing, self.ranks).authority)
        return best
