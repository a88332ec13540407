"""The agent in a program on every database: several on one, what waits for what, and what a process that died left."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

from agent import Agent
from agent.errors import LeaseLost
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.messages import Message
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, TokensArrived
from agent.turn_records import Claiming
from store.engine import Store
from tests.contracts.steps import in_memory_too
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.patience import PATIENCE_S


class Waiting:
    """Answers each question with its words, once it is told to go on."""

    name = "waiting"
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.read: list[Sequence[Message]] = []

    async def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: ARG002, B008 -- the port's
    ) -> AsyncGenerator[ProviderEvent, None]:
        self.read.append(messages)
        self.begun.set()
        await self.go_on.wait()
        yield TokensArrived(f"You asked: {messages[-1].text.splitlines()[-1]}")


async def until_waiting(store: Store, turns: int) -> None:
    """Until so many questions wait behind the one that runs."""
    while (await store.ledger.load()).waiting < turns:  # noqa: ASYNC110 -- another task's write has no event
        await asyncio.sleep(0)


async def pass_time(store: Store, clock: FakeClock, seconds: float = 1.0) -> None:
    """Time goes on, and whoever it wakes gets to the database."""
    await clock.advance(seconds)
    for _ in range(4):
        await store.ledger.load()


@in_memory_too
async def test_agents_on_one_database_answer_a_conversation_one_after_the_other(store: Store) -> None:
    """However long they wait for each other: nobody takes another's question for one that was left behind."""
    clock, models = FakeClock(auto=False), [Waiting() for _ in range(4)]
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        agents = [await stack.enter_async_context(Agent(model, store=store, clock=clock)) for model in models]
        asking = [asyncio.ensure_future(_text(agents[0], 0))]
        await models[0].begun.wait()
        for number in (1, 2, 3):
            asking.append(asyncio.ensure_future(_text(agents[number], number)))
            await until_waiting(store, number)
        for _ in range(200):  # more than two leases
            await pass_time(store, clock)
        for model in models:
            model.go_on.set()
        while not all(one.done() for one in asking):
            await pass_time(store, clock)
        assert [one.result() for one in asking] == [f"You asked: question {n}" for n in range(4)]
    history = await store.conversations.history("python:you:c", before_turn=99, limit=99)
    assert [one.text for one in history] == [
        text for n in range(4) for text in (f"question {n}", f"You asked: question {n}")
    ]


async def _text(agent: Agent, number: int) -> str:
    return await agent(f"question {number}", conversation="c")


async def test_what_a_process_that_is_gone_left_is_ended_and_the_next_question_answered(store: Store) -> None:
    clock = FakeClock(auto=False)
    model = Waiting()
    model.go_on.set()
    async with asyncio.timeout(PATIENCE_S), Agent(model, store=store, clock=clock) as agent:
        for number in (0, 1):
            await _left(store, clock, number)
        asking = asyncio.ensure_future(_text(agent, 2))
        await until_waiting(store, 2)
        for _ in range(59):
            await pass_time(store, clock)
        assert not asking.done(), "somebody may wait for them still"
        while not asking.done():
            await pass_time(store, clock)
        assert asking.result() == "You asked: question 2"
    history = await store.conversations.history("python:you:c", before_turn=99, limit=99)
    assert [one.text for one in history] == ["question 0", "question 1", "question 2", "You asked: question 2"]


async def _left(store: Store, clock: FakeClock, number: int) -> None:
    """Asks, and dies while it is answered, or while it waits."""
    source = f"python:gone-{number}"
    claiming = Claiming(source, clock.now(), timedelta(seconds=60), sources=frozenset({source}), waits=True)
    me = Person("python:you", "you")
    asked = said(f"question {number}", conversation="python:you:c", place=Place(PersonAudience(me.id)))
    await store.ledger.accept(replace(asked, source=source, person=me, time=clock.now()), None, claiming)


async def test_whoever_stops_waiting_is_in_nobodys_way(store: Store) -> None:
    clock, models = FakeClock(auto=False), [Waiting() for _ in range(3)]
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        agents = [await stack.enter_async_context(Agent(model, store=store, clock=clock)) for model in models]
        first = asyncio.ensure_future(_text(agents[0], 0))
        await models[0].begun.wait()
        second = asyncio.ensure_future(_text(agents[1], 1))
        await until_waiting(store, 1)
        second.cancel()
        await asyncio.wait({second})
        third = asyncio.ensure_future(_text(agents[2], 2))
        await until_waiting(store, 2)
        for model in models:
            model.go_on.set()
        # In small steps, so that a busy machine does not let the lease of thirty seconds run out while it works.
        began = clock.monotonic()
        while not (first.done() and third.done()):
            await pass_time(store, clock, 0.02)
        assert clock.monotonic() - began < 30
        assert (first.result(), third.result()) == ("You asked: question 0", "You asked: question 2")
    assert models[1].read == []


async def test_a_question_that_is_forgotten_while_it_waits_is_an_error_and_not_for_ever(store: Store) -> None:
    clock, models = FakeClock(auto=False), [Waiting() for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        agents = [await stack.enter_async_context(Agent(model, store=store, clock=clock)) for model in models]
        first = asyncio.ensure_future(_text(agents[0], 0))
        await models[0].begun.wait()
        second = asyncio.ensure_future(_text(agents[1], 1))
        await until_waiting(store, 1)
        await store.forgetting.forget(Everything("python:you"), clock.now())
        while not second.done():
            await pass_time(store, clock)
        assert isinstance(second.exception(), LeaseLost)
        first.cancel()
        await asyncio.wait({first})
