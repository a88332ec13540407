"""Processes that share a database count orders and context messages together."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from agent.admission_terms import Authority, Rate, Whose
from agent.errors import Refused
from bot.channels.effects import ChannelEffects
from bot.chat.access.admission import MINUTE, AdmissionControl, AdmissionRules, RateLimits
from bot.chat.askers import Requester
from bot.chat.ports import NO_BUDGETS
from bot.chat.replicas import ALONE_S, LOOK_S, PRESENCE, Replicas
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.new_database import open_new
from tests.fakes.shared_rates import WatchedRates
from tests.patience import PATIENCE_S, until

TWO_A_MINUTE = AdmissionRules(surges=RateLimits((Rate(Whose.PERSON, 2, MINUTE),)))


@dataclass
class Process:
    name: str
    store: Store
    clock: FakeClock

    def __post_init__(self) -> None:
        self.rates = WatchedRates(self.store.shared_rates)
        self.replicas = Replicas(self.store.shard_leases, self.rates, self.name, self.clock, patience_s=10.0)
        self.gate = AdmissionControl(
            TWO_A_MINUTE, ChannelEffects(self.store.preferences), NO_BUDGETS, self.clock, self.replicas
        )

    async def obeys(self, person: str = "ann") -> bool:
        try:
            await self.gate.admit_order(Requester(person, "C1"), Authority.EMPLOYEE)
        except Refused as refused:
            return "2 messages a minute" not in str(refused)
        return True


@dataclass
class Fleet:
    store: Store
    clock: FakeClock

    async def process(self, name: str) -> Process:
        process = Process(name, self.store, self.clock)
        await process.replicas.look()
        return process

    async def two(self) -> tuple[Process, Process]:
        one, two = await self.process("one"), await self.process("two")
        await one.replicas.look()
        return one, two


@pytest.fixture
async def fleet() -> AsyncGenerator[Fleet]:
    store = await open_new("sqlite://")
    yield Fleet(store, FakeClock(auto=False))
    await store.close()


@pytest.mark.slow
async def test_two_processes_together_accept_no_more_orders_than_one(fleet: Fleet) -> None:
    one, two = await fleet.two()
    assert [await process.obeys() for process in (one, two, one, two)] == [True, True, False, False]
    assert await two.obeys("ben")
    await fleet.clock.advance(61)
    assert [await process.obeys() for process in (two, two, one)] == [True, True, False]


@pytest.mark.slow
async def test_two_processes_together_store_no_more_context_messages_than_one(fleet: Fleet) -> None:
    stored = [await process.gate.admit_context(said("talk", person="ann")) for process in (await fleet.two()) * 2]
    assert stored == [True, True, False, False]


async def test_a_single_process_does_not_ask_the_database(fleet: Fleet) -> None:
    one = await fleet.process("one")
    assert [await one.obeys() for _ in range(3)] == [True, True, False]
    assert await one.gate.admit_context(said("talk", person="ann"))
    assert one.rates.asked == 0


async def test_a_process_counts_alone_again_when_the_other_is_gone(fleet: Fleet) -> None:
    one, _ = await fleet.two()
    await fleet.clock.advance(PRESENCE.total_seconds() + 1)
    await one.replicas.look()
    assert await one.obeys()
    assert one.rates.asked == 0


async def test_this_process_counts_when_the_database_does_not(fleet: Fleet) -> None:
    one, _ = await fleet.two()
    one.rates.is_down = True
    assert [await one.obeys() for _ in range(3)] == [True, True, False]
    assert one.rates.asked == 1, "nobody waits for it again so soon"
    one.rates.is_down = False
    await fleet.clock.advance(ALONE_S)
    assert await one.obeys("ben")
    assert one.rates.asked == 2


async def test_no_caller_waits_for_a_database_that_does_not_answer(fleet: Fleet) -> None:
    one, _ = await fleet.two()
    one.replicas.patience_s = 0.02
    one.rates.answers.clear()
    async with asyncio.timeout(PATIENCE_S):
        assert [await one.obeys() for _ in range(3)] == [True, True, False]
    one.rates.answers.set()


async def test_processes_learn_of_each_other_while_they_serve(fleet: Fleet) -> None:
    one, two = Process("one", fleet.store, fleet.clock), Process("two", fleet.store, fleet.clock)
    async with one.replicas.serving():
        assert one.replicas.is_alone
        async with two.replicas.serving():
            assert not two.replicas.is_alone
            await fleet.clock.advance(LOOK_S)
            await until(lambda: not one.replicas.is_alone)
