"""Pauses of learning: messages written during one are never learned from."""

from dataclasses import replace
from datetime import datetime

import pytest

from agent.incoming import Incoming
from agent.memory.audience import Place, TeamAudience, label
from agent.memory.profile import Partition
from bot.memory.pauses import LearningPauses
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import dm, said
from tests.fakes.store import store_in_memory
from tests.fakes.told_turns import ToldTurns

PUBLIC = Place(TeamAudience("T"), within_team="T")


def asked(time: datetime, person: str = "ann", channel: str = "C1") -> Incoming:
    return replace(said("Hello", person=person), channel=channel, time=time)


def pauses_on(clock: FakeClock) -> LearningPauses:
    store = store_in_memory()
    return LearningPauses(store.preferences, store.profiles, clock)


async def test_a_person_pauses_everywhere_and_others_do_not() -> None:
    clock = FakeClock()
    pauses = pauses_on(clock)
    await pauses.set("ann", None, on=True)
    assert await pauses.is_paused("ann")
    assert not await pauses.may_learn(asked(clock.now(), channel="C2"))
    assert await pauses.may_learn(asked(clock.now(), person="ben"))


async def test_a_person_pauses_in_one_channel() -> None:
    clock = FakeClock()
    pauses = pauses_on(clock)
    await pauses.set("ann", "C1", on=True)
    assert not await pauses.may_learn(asked(clock.now()))
    assert await pauses.may_learn(asked(clock.now(), channel="C2"))
    assert await pauses.may_learn(asked(clock.now(), person="ben"))


async def test_a_channel_is_paused_for_everybody() -> None:
    clock = FakeClock()
    pauses = pauses_on(clock)
    await pauses.set_for_all("test", "C1", on=True)
    assert not await pauses.may_learn(asked(clock.now(), person="ben"))
    assert await pauses.may_learn(asked(clock.now(), person="ben", channel="C2"))


async def test_a_pause_for_everybody_and_its_end_count_in_the_workspace_whose_managers_chose_them() -> None:
    clock = FakeClock()
    pauses = pauses_on(clock)
    here, there = (replace(asked(clock.now()), source=source) for source in ("chat:T1", "chat:T2"))
    await pauses.set_for_all("chat:T2", "C1", on=True)
    assert [await pauses.may_learn(one) for one in (here, there)] == [True, False]
    await pauses.set_for_all("chat:T1", "C1", on=False)
    assert [await pauses.may_learn(one) for one in (here, there)] == [True, False]


@pytest.mark.parametrize("channel", [None, "C1"])
async def test_what_was_said_during_a_pause_is_never_learned_later(channel: str | None) -> None:
    clock = FakeClock()
    pauses = pauses_on(clock)
    before = asked(clock.now())
    await clock.advance(1)
    await pauses.set("ann", channel, on=True)
    await clock.advance(1)
    meanwhile = asked(clock.now())
    await clock.advance(1)
    await pauses.set("ann", channel, on=False)
    await clock.advance(1)
    learned = [await pauses.may_learn(one) for one in (before, meanwhile, asked(clock.now()))]
    assert learned == [False, False, True]


async def test_resuming_without_a_pause_changes_nothing() -> None:
    clock = FakeClock()
    pauses = pauses_on(clock)
    earlier = asked(clock.now())
    await clock.advance(1)
    await pauses.set("ann", None, on=False)
    assert await pauses.may_learn(earlier)


async def test_turns_leave_nothing_to_be_learned_while_it_is_paused_and_what_waited_is_passed_over() -> None:
    store, clock = store_in_memory(), FakeClock()
    told, mine = ToldTurns(store, clock), Partition("ann", label(dm("ann").audience))
    await told.ask(said("I row", conversation="a"))
    assert len(await store.profiles.unlearned(mine, 10)) == 1
    await told.pauses.set("ann", None, on=True)
    await told.ask(said("I sail", conversation="b"), said("I dive", person="ben", conversation="c"))
    assert await store.profiles.unlearned(mine, 10) == []
    assert len(await store.profiles.unlearned(Partition("ben", label(dm("ben").audience)), 10)) == 1
    await clock.advance(1)
    await told.pauses.set("ann", None, on=False)
    await clock.advance(1)
    await told.ask(said("I swim", conversation="d"))
    assert [one.text for one in await store.profiles.unlearned(mine, 10)] == ["I swim"]


async def test_a_channel_that_is_paused_passes_over_what_waits_there_only() -> None:
    store, clock = store_in_memory(), FakeClock()
    told = ToldTurns(store, clock)
    await told.ask(replace(said("I row", conversation="a", place=PUBLIC), channel="C1"))
    await told.ask(replace(said("I sail", conversation="b", place=PUBLIC), channel="C2"))
    await told.pauses.set_for_all("test", "C1", on=True)
    assert store.to_learn == ["I sail"]
