"""Slack's second attempts: an envelope without an acknowledgement is sent again, over any open connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

from tests.fakes.slack import FakeSlack

LOOK_S = 0.2


@dataclass
class Redelivery:
    """`after_s`: Slack waits for a minute; a test that kills processes has less time."""

    slack: FakeSlack
    after_s: float
    chance: Random
    attempts: dict[str, int] = field(default_factory=dict[str, int])
    _sent: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def repeated(self) -> int:
        """Return how many envelopes were sent again so far, each time counted."""
        return sum(self.attempts.values())

    async def look(self) -> None:
        """Send again the envelopes that have waited too long for an acknowledgement."""
        now = self.slack.clock.monotonic()
        for envelope in [*(self.slack.delivered - self.slack.acks.keys())]:
            sockets = self.slack.sockets_for(self.slack.sent[envelope])
            if now - self._sent.setdefault(envelope, now) >= self.after_s and sockets:
                self._sent[envelope] = now
                self.attempts[envelope] = self.attempts.get(envelope, 0) + 1
                socket = self.chance.randrange(len(sockets))
                await self.slack.deliver(self.slack.sent[envelope], socket, self.attempts[envelope])


@asynccontextmanager
async def redelivering(slack: FakeSlack, after_s: float, chance: Random) -> AsyncGenerator[Redelivery]:
    """Redeliver until the block ends."""
    redelivery = Redelivery(slack, after_s, chance)

    async def look_on() -> None:
        while True:
            await redelivery.look()
            await asyncio.sleep(LOOK_S)

    looking = asyncio.create_task(look_on())
    try:
        yield redelivery
    finally:
        looking.cancel()
        await asyncio.wait({looking})
