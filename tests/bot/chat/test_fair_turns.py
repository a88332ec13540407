"""People take turns with slow work."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from bot.chat.fair_turns import FairTurns
from tests.patience import PATIENCE_S


async def test_one_persons_work_does_not_delay_others() -> None:
    turns, order = FairTurns(2), list[str]()
    gate = {name: asyncio.Event() for name in ("a1", "a2", "a3", "b1", "c1", "b2")}

    async def read(name: str) -> None:
        async with turns.turn(name[0]):
            order.append(name)
            await gate[name].wait()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for name in gate:
            group.create_task(read(name))
        await _settled()
        assert order == ["a1", "b1"]  # of a, one at a time
        for done, begun in (("a1", "c1"), ("b1", "a2"), ("c1", "b2"), ("a2", "a3")):
            gate[done].set()
            await _settled()
            assert order[-1] == begun
        for event in gate.values():
            event.set()


async def test_a_cancelled_turn_goes_to_the_next_person() -> None:
    turns = FairTurns(1)
    async with asyncio.timeout(PATIENCE_S):
        async with turns.turn("a"):
            waiting = [asyncio.ensure_future(_take(turns, person)) for person in ("b", "c", "b")]
            await _settled()
            waiting[0].cancel()
        await asyncio.gather(*waiting[1:])
        async with turns.turn("d"):
            pass


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12), st.integers(1, 3))
def test_every_turn_comes_whatever_is_cancelled(asked: list[tuple[str, bool]], at_once: int) -> None:
    async def run() -> None:
        turns = FairTurns(at_once)
        async with asyncio.timeout(PATIENCE_S):
            tasks = [(asyncio.ensure_future(_take(turns, person)), gives_up) for person, gives_up in asked]
            await asyncio.sleep(0)
            for task, gives_up in tasks:
                if gives_up:
                    task.cancel()
            await asyncio.gather(*[task for task, _ in tasks], return_exceptions=True)
            for person in "abc":
                async with turns.turn(person):
                    pass

    asyncio.run(run())


async def _take(turns: FairTurns, person: str) -> None:
    async with turns.turn(person):
        await asyncio.sleep(0)


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
