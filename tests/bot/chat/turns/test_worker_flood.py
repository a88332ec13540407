"""During one person's flood, another person's question waits less than twice as long as on an idle bot."""

import asyncio
from dataclasses import dataclass, field

import pytest

from agent.incoming import Incoming
from agent.providers.scripted import ScriptedProvider, ScriptPause
from bot.chat.reply.surface import Surface
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from store.databases.database import LocalNotifier
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ANSWER_S = 10.0
FLOOD = 250  # In order of arrival, they would take over a hundred seconds on 16 slots, as an answer takes ten


@dataclass
class Bot:
    """Answers each question in ten seconds of its clock."""

    limits: TurnWorkerLimits
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        model = ScriptedProvider(lambda _: [ScriptPause(ANSWER_S), "Done."], sleep=self.clock.sleep)
        runner = runner_on(self.store, model, self.clock)
        self.turns = TurnWorker(
            self.store.ledger, runner, self._surface, LocalNotifier(), self.clock, "worker", self.limits
        )

    def _surface(self, _: Incoming) -> Surface:
        return FakeSurface(self.clock)

    async def latency(self) -> float:
        """Return the seconds of the clock until a question of Ann's is answered."""
        asked = self.clock.monotonic()
        await self.turns.ask(said("Hello?", person="ann", conversation="ann"))
        return self.clock.monotonic() - asked

    async def until_running(self, number: int) -> None:
        while (await self.store.ledger.load()).running < number:  # noqa: ASYNC110 -- the store sends no notification
            await asyncio.sleep(0)


@pytest.mark.parametrize("conversations", [1, FLOOD], ids=["in one thread", "each in a thread of its own"])
@pytest.mark.parametrize("max_running", [1, 4, 16])
async def test_a_flood_of_one_person_does_not_double_the_time_that_another_waits(
    max_running: int, conversations: int
) -> None:
    limits = TurnWorkerLimits(max_running=max_running, sweep_s=0.01)
    idle, flooded = Bot(limits), Bot(limits)
    async with asyncio.timeout(PATIENCE_S), idle.turns.serving():
        usual = await idle.latency()
    for number in range(FLOOD):
        await flooded.turns.submit(said("Hello?", person="flo", conversation=f"flo {number % conversations}"))
    async with asyncio.timeout(PATIENCE_S), flooded.turns.serving():
        await flooded.until_running(1)
        await flooded.clock.sleep(1)
        assert await flooded.latency() < 2 * usual


async def test_a_flood_takes_no_more_places_than_one_person_may() -> None:
    bot = Bot(TurnWorkerLimits(max_running=16, per_person=4, sweep_s=0.01))
    for number in range(50):
        await bot.turns.submit(said("Hello?", person="flo", conversation=f"flo {number}"))
    async with asyncio.timeout(PATIENCE_S), bot.turns.serving():
        await bot.until_running(4)
        await bot.clock.sleep(1)
        assert (await bot.store.ledger.load()).running == 4
