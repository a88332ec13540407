"""The connections to Discord's gateway, among which the bot's servers are divided: which is up, and which is behind.

Above: `client` says what happens to each. Below: `missed`; `bot.turns.missed`.

Rules. Everything has come in only when it has on every connection. One that was lost is caught up by itself: the
others have missed nothing.
"""

from collections.abc import Callable

from bot.platforms.discord.missed import Missed
from bot.turns.missed import Listening


class Shards:
    """`missed_on` makes the record of one connection, by its number; `count` says how many there are."""

    def __init__(self, missed_on: Callable[[int], Missed], listening: Listening, count: Callable[[], int]) -> None:
        self._missed_on = missed_on
        self._listening = listening
        self._count = count
        self._of: dict[int, Missed] = {}

    def of(self, shard: int) -> Missed:
        if shard not in self._of:
            self._of[shard] = self._missed_on(shard)
        return self._of[shard]

    def began(self, shard: int) -> None:
        """A new session."""
        self.of(shard).began()
        self._sum_up()

    async def ready(self, shard: int) -> None:
        """It has told of its servers: what was said before it is read from their history."""
        await self.of(shard).catch_up()
        self._sum_up()
        await self._listening.note()

    async def resumed(self, shard: int) -> None:
        self.of(shard).connected = True
        self._sum_up()
        await self._listening.note()

    def lost(self, shard: int) -> None:
        self.of(shard).connected = False
        self._sum_up()

    def _sum_up(self) -> None:
        known = self._of.values()
        self._listening.connected = len(known) >= self._count() and all(one.connected for one in known)
        self._listening.behind = any(one.behind for one in known)
