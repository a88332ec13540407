"""Waiting for the end of a turn, whichever process answers, and however long the ledger is unavailable."""

import asyncio
import logging
from datetime import datetime, timedelta

import pytest

from agent.admission_terms import Terms
from agent.errors import StoreError, StoreUnavailable
from agent.events import Outcome
from agent.incoming import Incoming
from agent.providers.scripted import Until
from agent.turn_records import Accepted, Claim, Claiming, Closing
from bot.chat.reply.surface import ReplyEnd
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.worker import AnsweredElsewhere, TurnWorkerLimits
from tests.bot.chat.turns.test_worker import World
from tests.bot.chat.turns.test_worker_stopping import HALF, asking, hang
from tests.fakes.incoming import LEASE, said
from tests.fakes.store import WatchedLedger, store_in_memory
from tests.patience import PATIENCE_S, until


async def test_what_another_process_answers_ends_the_waiting() -> None:
    """As after a machine was asleep for longer than the lease."""
    world = World([[HALF, Until(hang)]])
    async with world.serving() as turns:
        running = await asking(world, turns, "Hello?")
        claim = await world.store.ledger.claim(Claiming("other", world.clock.now() + timedelta(days=1), LEASE))
        assert claim is not None
        await world.store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Hi."), world.clock.now())
        with pytest.raises(AnsweredElsewhere, match="The reply is in its thread"):
            await running


async def test_what_ends_here_while_the_ledger_is_asked_about_it_was_not_answered_elsewhere() -> None:
    """A waiting question may be claimed together with another person's, and end, within one read of the ledger."""
    first_may_end, looked, ended, told = (asyncio.Event() for _ in range(4))

    class Slow(WatchedLedger):
        async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
            if any(turn.id in turns and turn.incoming.text == "And?" for turn in world.store.turns):
                looked.set()
                await ended.wait()
                told.set()
            return await super().ended(turns)

        async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
            kept = await super().finish(claim, closing, now)
            if claim.incoming.text == "And?":
                ended.set()
                await told.wait()
            return kept

    world = World([["Hi.", Until(first_may_end.wait)], "Well.", "Hello."], store=store_in_memory(Slow))
    async with world.serving() as turns:
        first = asyncio.create_task(turns.ask(said("Hello?")))
        await until(lambda: world.store.turns)
        waiting = asyncio.create_task(turns.ask(said("And?", person="eve")))
        await looked.wait()
        first_may_end.set()
        assert await first is Outcome.ANSWERED
        other = asyncio.create_task(turns.ask(said("Hello?", conversation="another", person="ben")))
        assert await waiting is Outcome.ANSWERED
        assert await other is Outcome.ANSWERED


async def test_a_question_whose_number_a_late_message_took_is_not_taken_for_answered_with_it() -> None:
    first_may_end, looked = asyncio.Event(), asyncio.Event()
    late, question = said("Late.", person="ben"), said("And?", person="eve")

    class Looking(WatchedLedger):
        looks = 0

        async def stopping(self, owner: str) -> frozenset[int]:
            if [turn for turn in world.store.turns if turn.incoming.text == late.text and turn.outcome]:
                self.looks += 1
            if self.looks > 2:
                looked.set()
            return await super().stopping(owner)

    world = World(
        [["Hi.", Until(first_may_end.wait)], "Well.", ["Yes.", Until(looked.wait)]], store=store_in_memory(Looking)
    )
    async with world.serving() as turns:
        first = asyncio.create_task(turns.ask(said("Hello?", number=0)))
        await until(lambda: world.store.turns)
        waiting = asyncio.create_task(turns.ask(question))
        await until(lambda: len(world.store.turns) == 2)
        belated = asyncio.create_task(turns.ask(late))
        await until(lambda: len(world.store.turns) == 3)
        first_may_end.set()
        assert [await one for one in (first, belated, waiting)] == [Outcome.ANSWERED] * 3


async def test_what_another_process_took_is_still_let_go_of_when_it_is_cancelled() -> None:
    world = World([], limits=TurnWorkerLimits(sweep_s=0.01, end_s=0.05))
    other = world.turns("other")
    running = asyncio.create_task(other.ask(said("Hello?")))  # it does not serve, so it never claims
    await until(lambda: world.store.turns)
    running.cancel()
    async with world.serving():
        with pytest.raises(asyncio.CancelledError):
            await running
    assert world.store.turns[0].stopping


async def test_whoever_stops_a_question_does_not_wait_for_a_ledger_that_hangs() -> None:
    world = World([[HALF, Until(hang)]], limits=TurnWorkerLimits(sweep_s=0.01, end_s=0.05))
    back = asyncio.Event()

    class Hanging(WatchedLedger):
        async def accept(
            self,
            incoming: Incoming,
            terms: Terms | None = None,
            claiming: Claiming | None = None,
            *,
            state: str = "waiting",
        ) -> Accepted:
            await back.wait()
            return await super().accept(incoming, terms, claiming, state=state)

    world.store = store_in_memory(Hanging)
    async with world.serving() as turns:
        running = asyncio.create_task(turns.ask(said("Hello?")))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        back.set()
        await until(lambda: world.store.turns)
        await turns.idle()
    assert world.store.turns[0].outcome is Outcome.STOPPED


async def test_an_answer_goes_on_as_soon_as_the_ledger_can_be_asked_again_and_its_person_is_told_so_long() -> None:
    world = World(["Hello.", "Hello."])
    world.store.ledger.fail_next_save = StoreUnavailable("The disk is full.")
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED
    assert world.clock.monotonic() < LEASE.total_seconds()
    assert reply_texts.UNSTORED in world.surfaces["thread"].statuses
    assert world.surfaces["thread"].statuses[-1] == ""
    surface = world.surfaces["thread"]
    assert (surface.begun, surface.endings) == ([False, True], [ReplyEnd.CONTINUES, ReplyEnd.DONE])
    assert world.shown() == ["Hello."]


@pytest.mark.parametrize(("error", "lines"), [(StoreUnavailable("It is away."), 0), (StoreError("It is odd."), 1)])
async def test_that_the_store_is_away_is_not_said_again_by_those_who_meet_it(
    caplog: pytest.LogCaptureFixture, error: StoreError, lines: int
) -> None:
    world = World(["Hello."])
    world.store.ledger.fail_next_claim = error
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == lines


async def test_a_deleted_question_takes_its_growing_answer_along_whatever_process_gives_it() -> None:
    for stopping in ("here", "there"):
        world = World([[HALF, Until(hang)]])
        asked = said("Hello?")
        async with world.serving() as turns:
            running = asyncio.create_task(turns.ask(asked))
            await until(lambda: "thread" in world.surfaces and world.shown())  # noqa: B023 -- awaited at once
            where = turns if stopping == "here" else world.turns("other")
            assert await where.withdraw(asked.source, asked.channel, asked.message_id)
            assert await running is Outcome.STOPPED
        assert world.shown() == []
        assert world.surfaces["thread"].endings == [ReplyEnd.TAKEN_BACK]
        assert world.stored() == [""]


async def test_what_a_process_that_is_gone_had_begun_to_take_back_is_taken_back_by_the_next() -> None:
    world = World([[HALF, Until(hang)]])
    asked = said("Hello?")
    async with world.serving() as turns:
        await turns.submit(asked)
        await until(lambda: "thread" in world.surfaces and world.shown())
    assert await world.store.ledger.withdraw(asked.source, asked.channel, asked.message_id, world.clock.now())
    assert world.shown() == [HALF]
    async with world.serving() as turns:
        await turns.idle()
    assert world.shown() == []
    surface = world.surfaces["thread"]
    assert (surface.begun, surface.endings) == ([False], [ReplyEnd.CONTINUES, ReplyEnd.TAKEN_BACK])
    assert len(world.model.requests) == 1


async def test_the_next_process_of_a_kind_goes_on_with_what_one_that_is_gone_has_left() -> None:
    world = World(["Hello."])
    await world.store.ledger.accept(said("Hello?"))
    await world.clock.advance(3600)
    turns = world.turns()
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await turns.take_over_turns("ann", "test", "test:2")
        await turns.idle()
    assert world.store.turns[0].incoming.source == "test:2"
    assert world.shown() == ["Hello."]
