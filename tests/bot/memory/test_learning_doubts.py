"""Once a day a model is asked which facts newer ones have replaced; code checks what it says."""

import json
from datetime import timedelta

from agent.memory.facts import Fact
from agent.memory.writing import NewFact
from bot.chat.jobs import JobWorker
from bot.memory.learning import DOUBTS
from tests.bot.memory.test_learning import DM, World
from tests.fakes.incoming import START

DAY = timedelta(days=1)
PRINTER = ("The printer is on the second floor.", "The printer is next to the kitchen.")


def learned(text: str) -> str:
    return json.dumps({"insights": [], "facts": [{"key": "printer", "value": text, "from": [1]}]})


def settled(*, outdated: list[int] | None = None, both: list[int] | None = None) -> str:
    return json.dumps({"outdated": outdated or [], "both": both or []})


async def facts(world: World) -> list[Fact]:
    return sorted(await world.store.facts.readable("ann", frozenset({DM.audience})), key=lambda fact: int(fact.id))


async def after_a_day(texts: tuple[str, str], answer: str) -> World:
    """Two statements are learned that may both be true, and a day passes."""
    world = World([learned(texts[0]), learned(texts[1]), answer])
    handlers = {"learning": world.learner.learn, DOUBTS: world.learner.settle}
    world.worker = JobWorker(world.store.jobs, handlers, world.clock, "worker")
    for text in texts:
        await world.hear(text)
        await world.wait()
    assert [fact.doubted_by for fact in await facts(world)] == ["2", None]
    assert len(world.provider.requests) == 2
    await world.wait(DAY)
    return world


async def test_what_the_model_calls_outdated_is_superseded() -> None:
    world = await after_a_day(PRINTER, settled(outdated=[1]))
    assert [(fact.is_valid, fact.superseded_by) for fact in await facts(world)] == [(False, "2"), (True, None)]
    (pair,) = json.loads(world.provider.requests[2][-1].text)
    assert pair["older"].endswith(PRINTER[0])
    assert pair["newer"].startswith("2026-01-")


async def test_what_both_hold_is_doubted_no_more_and_not_asked_again() -> None:
    world = await after_a_day(PRINTER, settled(both=[1]))
    assert [(fact.is_valid, fact.doubted_by) for fact in await facts(world)] == [(True, None), (True, None)]
    await world.wait(DAY)
    assert len(world.provider.requests) == 3


async def test_what_the_model_leaves_out_stays_marked() -> None:
    world = await after_a_day(PRINTER, settled())
    assert [fact.doubted_by for fact in await facts(world)] == ["2", None]


async def test_what_the_rules_exclude_the_model_cannot_replace() -> None:
    reported = (PRINTER[0], "Rita thinks the printer is next to the kitchen.")
    world = await after_a_day(reported, settled(outdated=[1]))
    assert [fact.is_valid for fact in await facts(world)] == [True, True]


async def test_without_a_model_the_mark_stays_and_nothing_fails() -> None:
    world = World([], can_learn=False)
    for number, text in enumerate(PRINTER):
        at = START + timedelta(minutes=number)
        await world.store.facts.write(NewFact("", "printer", text, "user", at, DM.audience, "ann"))
    await world.store.jobs.schedule(DOUBTS, DM.key, "", START, person="ann")
    world.worker = JobWorker(world.store.jobs, {DOUBTS: world.learner.settle}, world.clock, "worker")
    await world.wait(DAY)
    assert [fact.doubted_by for fact in await facts(world)] == ["2", None]
