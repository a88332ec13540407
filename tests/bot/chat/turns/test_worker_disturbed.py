"""Turns that are stopped, taken back, asked twice or claimed again at the worst moments."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta

import pytest

from agent.errors import LeaseLost, StoreError, StoreUnavailable
from agent.events import Outcome
from agent.messages import ModelCall
from agent.providers.scripted import ScriptedProvider, ScriptPause, Until
from agent.turn_records import Claim, Claiming, Closing
from bot.chat.reply.surface import (
    Limits,
    PageContent,
    PageKey,
    PageLimited,
    PageQueued,
    PageRef,
    PageRefused,
    PageUnsent,
    ReplyEnd,
)
from bot.chat.turns.worker import TurnWorkerLimits
from store.databases.database import Database
from store.erased_ids import ErasedIds
from tests.bot.chat.turns.test_worker import World
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import WatchedLedger, store_in_memory
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S, until


@pytest.mark.parametrize("error", [StoreError("Another program is writing to the database."), KeyError("unexpected")])
async def test_a_store_that_cannot_be_asked_for_turns_is_asked_again(error: Exception) -> None:
    world = World(["Hello."])
    world.store.ledger.fail_next_claim = error
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED


async def test_a_stop_while_the_last_frame_waits_for_its_pace_changes_nothing() -> None:
    clock = FakeClock(auto=False)
    world = World([["One. ", Until(_ticks), "Two."]], clock=clock)
    world.surfaces["thread"] = FakeSurface(clock, Limits(page_chars=2_000, edit_interval_s=2.0))
    async with world.serving() as turns:
        asking = asyncio.create_task(turns.ask(said("Hello?")))
        await clock.advance(0.5)
        await until(lambda: world.shown() and world.store.turns[0].progress.find("Two.") >= 0)
        asking.cancel()
        await clock.advance(5)
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert world.shown() == ["One. Two."]
    assert world.stored() == ["Hello?", "One. Two."]
    assert len(world.model.requests) == 1


async def test_a_turn_stopped_as_soon_as_it_is_claimed_ends_as_stopped_and_frees_its_place() -> None:
    world = World(["Hello."], limits=TurnWorkerLimits(sweep_s=0.01, max_running=1))
    turns = world.turns()
    world.store.ledger.on_claim = lambda turn: (
        asyncio.get_running_loop().call_soon(turns.stop, turn) if turn == 1 else None
    )
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        assert await turns.ask(said("stop me")) is Outcome.STOPPED
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED


async def test_a_service_that_ends_as_a_turn_is_claimed_parks_the_turn() -> None:
    world = World(["Hello."])
    turns = world.turns()
    ending = asyncio.Event()
    world.store.ledger.on_claim = lambda _: ending.set()
    asking = asyncio.create_task(turns.ask(said("Hello?")))
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await ending.wait()
    assert await asking is None
    assert world.store.turns[0].state == "waiting"


@pytest.mark.slow
async def test_a_turn_whose_lease_ran_out_in_a_sleeping_machine_is_answered_once() -> None:
    world = World([["Hel", Until(lambda: world.clock.advance(120)), ScriptPause(1), "lost"], "Hello."])
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED
        await turns.idle()
    assert world.store.turns[0].state == "done"
    assert world.stored()[1:] in (["Hello."], ["Hellost"])
    assert len(world.shown()) == 1


class StoppedLedger(WatchedLedger):
    """Receives no calls of the process "stopped" until it has woken."""

    awake = False

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        if claim.owner == "stopped" and not self.awake:
            raise StoreError("not heard")
        await super().renew(claim, now, lease)


class RenewedAsItEnds(WatchedLedger):
    """Says that a turn has ended only when a renewal of its lease has already been refused for that."""

    refused = False

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        try:
            await super().renew(claim, now, lease)
        except LeaseLost:
            self.refused = True
            raise

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        others_wait = await super().finish(claim, closing, now)
        await until(lambda: self.refused)
        return others_wait


async def test_a_lease_that_is_renewed_just_as_its_turn_ends_does_not_lose_the_turn() -> None:
    world = World(["Hello."], store=store_in_memory(RenewedAsItEnds))
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED
    assert world.surfaces["thread"].endings == [ReplyEnd.DONE]


class ArrivalAsItEnds(WatchedLedger):
    """Lets a question arrive once a turn has looked whether others wait, and the worker look for a free slot then."""

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database, erased_ids)
        self.arriving: list[Callable[[], Awaitable[object]]] = []
        self.looked = asyncio.Event()

    async def stopping(self, owner: str) -> frozenset[int]:
        self.looked.set()
        return await super().stopping(owner)

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        others_wait = await super().finish(claim, closing, now)
        while self.arriving:
            self.looked.clear()
            await self.arriving.pop()()
            await self.looked.wait()
        return others_wait


async def test_a_question_that_finds_no_free_slot_has_the_one_of_the_turn_that_was_just_ending() -> None:
    limits = TurnWorkerLimits(sweep_s=10 * PATIENCE_S, max_running=1)
    store = store_in_memory(ArrivalAsItEnds)
    world = World(["One.", "Two."], store=store, limits=limits)
    async with world.serving() as turns:
        assert isinstance(store.ledger, ArrivalAsItEnds)
        store.ledger.arriving.append(lambda: turns.submit(said("Two?", conversation="another")))
        assert await turns.ask(said("One?")) is Outcome.ANSWERED
        await turns.idle()
    assert world.shown("another") == ["Two."]


class SlowSurface(FakeSurface):
    """The first post takes until `arrives`, and its answer may be lost. The first page that is to be deleted has to
    wait. No page can be found by its key alone.
    """

    def __init__(self, clock: FakeClock, *, answer_lost: bool) -> None:
        super().__init__(clock)
        self.arrives = asyncio.Event()
        self.answer_lost = answer_lost
        self.posts = 0
        self.waits = [PageQueued(1.0), PageLimited(1.0), PageUnsent("the network is gone")]

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- the port's shape
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        self.posts += 1
        number = self.posts
        if number == 1:
            await self.arrives.wait()
        page = await super().post(PageKey(key.turn, number), look)
        if number == 1 and self.answer_lost:
            raise PageUnsent("the answer was lost")
        return page

    async def delete(self, page: PageRef) -> None:
        if self.waits:
            raise self.waits.pop()
        await super().delete(page)

    async def find_surplus(self, key: PageKey, pages: Collection[PageRef]) -> PageRef | None:
        assert key == PageKey(1, 0)
        return next((PageRef(page) for page in self.wall if PageRef(page) not in pages), None)


@pytest.mark.parametrize("answer_lost", [False, True])
@pytest.mark.parametrize("still_running", [False, True])
async def test_a_page_that_arrives_after_its_turn_was_taken_over_is_taken_away_in_the_end(
    still_running: bool, answer_lost: bool
) -> None:
    clock = FakeClock(auto=False)
    goes_on = asyncio.Event()
    store = store_in_memory(StoppedLedger)
    ledger = store.ledger
    assert isinstance(ledger, StoppedLedger)
    hangs = Until(asyncio.Event().wait)
    world = World([["Hel", hangs], ["Hel", Until(goes_on.wait), "lo."]], store=store, clock=clock)
    surface = world.surfaces["thread"] = SlowSurface(clock, answer_lost=answer_lost)
    asleep = TurnWorkerLimits(
        sweep_s=PATIENCE_S
    )  # otherwise it might find its own turn first, and wait for its own post
    stopped, another = world.turns("stopped", asleep), world.turns("another")
    async with asyncio.timeout(PATIENCE_S), stopped.serving():
        await stopped.submit(said("Hello?"))
        await until(lambda: surface.posts == 1)
        await clock.advance(31)
        async with another.serving():
            await until(lambda: surface.wall)
            ledger.awake = True
            if still_running:
                surface.arrives.set()
                await until(lambda: len(surface.wall) == 2)
                await clock.advance(11)
            goes_on.set()
            while store.turns[0].state != "done":
                await clock.advance(1)
            surface.arrives.set()
            await until(lambda: "post 1-1" in surface.calls)
            while len(surface.wall) == 2:
                await clock.advance(1)
    assert surface.wall == {"page-1-2": "Hello."}


class OverloadedLedger(StoppedLedger):
    """The process "stopped" cannot save anything either, until it has woken."""

    async def save(
        self,
        claim: Claim,
        *,
        progress: str | None = None,
        reply_ref: str | None = None,
        calls: Sequence[ModelCall] = (),
    ) -> None:
        if claim.owner == "stopped" and not self.awake:
            raise StoreUnavailable("overloaded")
        await super().save(claim, progress=progress, reply_ref=reply_ref, calls=calls)


@pytest.mark.parametrize("answer_lost", [False, True])
async def test_a_page_that_arrives_as_its_turn_is_put_off_is_taken_away_if_another_process_has_ended_it(
    answer_lost: bool,
) -> None:
    clock, goes_on = FakeClock(auto=False), asyncio.Event()
    store = store_in_memory(OverloadedLedger)
    world = World([["Hel", Until(goes_on.wait), "lo."], "Hello."], store=store, clock=clock)
    surface = world.surfaces["thread"] = SlowSurface(clock, answer_lost=answer_lost)
    stopped, another = world.turns("stopped", TurnWorkerLimits(sweep_s=PATIENCE_S)), world.turns("another")
    async with asyncio.timeout(PATIENCE_S), stopped.serving():
        await stopped.submit(said("Hello?"))
        await until(lambda: surface.posts == 1)
        await clock.advance(31)
        async with another.serving():
            while store.turns[0].state != "done":
                await clock.advance(1)
            goes_on.set()
            await until(lambda: len(world.model.requests) == 2)
            surface.arrives.set()
            await until(lambda: "post 1-1" in surface.calls)
            while len(surface.wall) == 2:
                await clock.advance(1)
    assert surface.wall == {"page-1-2": "Hello."}


class StubbornSurface(FakeSurface):
    """Its first post takes until `ends`."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.ends = asyncio.Event()
        self.posting = False

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        if not self.posting:
            self.posting = True
            await self.ends.wait()
        return await super().post(key, look)


async def test_a_turn_that_is_claimed_for_the_third_time_waits_until_its_first_run_has_ended() -> None:
    """Its platform does not answer the first run, and its lease runs out twice, because it cannot be renewed."""
    clock = FakeClock(auto=False)
    world = World(
        ["Hello.", "Hello."], clock=clock, store=store_in_memory(StoppedLedger), limits=TurnWorkerLimits(sweep_s=0.01)
    )
    surface = world.surfaces["thread"] = StubbornSurface(clock)
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    turns = world.turns("stopped")
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        asking = asyncio.create_task(turns.ask(said("Hello?")))
        await until(lambda: surface.posting)
        while world.store.turns[0].epoch < 3:  # no further: the third lease must hold until the reply is complete
            await clock.advance(1)
        await _ticks()
        assert surface.wall == {}
        surface.ends.set()
        assert await asking is Outcome.ANSWERED
        await turns.idle()
    assert surface.shown == ["Hello."]
    assert failures == []


async def test_forgetting_ends_a_running_answer_and_takes_its_page_away() -> None:
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    world = World([["private words\n\n", Until(_ticks), Until(hang)]])
    async with world.serving() as turns:
        asking = asyncio.create_task(turns.ask(said("Hello?")))
        await reached.wait()
        await until(world.shown)
        await turns.take_back("ann", None)
        assert await asking is Outcome.STOPPED
    assert world.shown() == []
    assert world.stored() == ["Hello?"]


async def test_forgetting_lets_other_peoples_answers_run() -> None:
    gate = asyncio.Event()
    world = World([["Hello.", Until(gate.wait)]])
    async with world.serving() as turns:
        asking = asyncio.create_task(turns.ask(said("Hello?", person="bob")))
        await until(lambda: world.model.requests)
        await turns.take_back("ann", None)
        await turns.take_back("bob", "another thread")
        gate.set()
        assert await asking is Outcome.ANSWERED


async def test_the_same_event_asked_twice_at_once_is_answered_once_and_neither_hangs() -> None:
    world = World(["Hello."])
    async with world.serving() as turns:
        message = said("Hello?")
        outcomes = await asyncio.gather(turns.ask(message), turns.ask(message))
    assert sorted(outcomes, key=str) == [None, Outcome.ANSWERED]


async def test_an_ask_that_still_waits_when_the_service_ends_is_told_so() -> None:
    gate = asyncio.Event()
    world = World([["One.", Until(gate.wait)]])
    async with world.serving() as turns:
        first = asyncio.create_task(turns.ask(said("first?")))
        second = asyncio.create_task(turns.ask(said("second?")))
        await until(lambda: world.model.requests)
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(first, second) == [None, None]


@pytest.mark.parametrize("ticks", range(12))
async def test_an_ask_cancelled_at_any_moment_leaves_no_turn_running(ticks: int) -> None:
    world = World([["Hel", Until(asyncio.Event().wait)]])
    async with world.serving() as turns:
        asking = asyncio.create_task(turns.ask(said("Hello?")))
        for _ in range(ticks):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking}, timeout=5)
        assert asking.cancelled()
        await turns.idle()
    assert [turn.state for turn in world.store.turns] in ([], ["done"])


async def test_a_stopped_turn_that_is_interrupted_while_it_is_shown_stays_stopped() -> None:
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    clock = FakeClock(auto=False)
    world = World([["Half.", Until(hang)], "Again."], clock=clock)
    world.surfaces["thread"] = FakeSurface(clock, Limits(page_chars=2_000, edit_interval_s=60.0))
    first = world.turns()
    accepted = await first.submit(said("Hello?"))
    async with asyncio.timeout(PATIENCE_S), first.serving():
        await reached.wait()
        first.stop(accepted.turn)
        await until(lambda: "stopped" in world.store.turns[0].progress)
    await world.store.ledger.release_all()
    world.surfaces["thread"].limits = Limits(page_chars=2_000, edit_interval_s=0.0)
    second = world.turns()
    async with asyncio.timeout(PATIENCE_S), second.serving():
        await second.idle()
    assert len(world.model.requests) == 1
    assert world.stored() == ["Hello?", "Half."]


async def test_a_deleted_reply_still_costs_what_it_cost() -> None:
    world = World([])

    async def delete() -> None:
        world.surfaces["thread"].wall.clear()

    world.model = ScriptedProvider([["One.\n\n", Until(_ticks), Until(delete), "Two.\n\n", Until(_ticks), "Three."]])
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.STOPPED
    assert world.store.ledger.closings[1].reply == ""


async def _ticks() -> None:
    """Long enough for a page to be posted."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_answer_that_the_platform_refuses_is_told_to_its_asker_alone_and_to_the_log_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(["Hello."])
    surface = world.surfaces["thread"] = FakeSurface(world.clock)
    surface.fail_next.extend([PageRefused("Slack refused chat.postMessage: is_archived.", "Ask elsewhere.")] * 2)
    async with world.serving() as turns:
        for number in (1, 2):
            assert await turns.ask(said("Hello?", number=number)) is Outcome.STOPPED
    assert surface.asides == ["I cannot post my answer where you asked. Ask elsewhere."] * 2
    assert surface.endings == [ReplyEnd.FAILED] * 2
    lines = [line for line in caplog.messages if "could not be shown" in line]
    assert len(lines) == 1
    assert "is_archived. Ask elsewhere." in lines[0]
    assert "deleted the reply" not in caplog.text


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_turn_whose_claim_is_known_to_be_lost_shows_nothing_more(is_lost: bool) -> None:
    goes_on = asyncio.Event()
    world = World([["Hel", Until(goes_on.wait), "lo."]])
    async with world.serving() as turns:
        asking = asyncio.create_task(turns.ask(said("Hello?")))
        await until(lambda: world.shown() == ["Hel"])
        if is_lost:
            later = world.clock.now() + timedelta(hours=1)
            assert await world.store.ledger.claim(Claiming("another", later, timedelta(hours=1))) is not None
        await turns.end_lost()
        goes_on.set()
        if is_lost:
            await until(lambda: world.surfaces["thread"].endings)
        else:
            assert await asking is Outcome.ANSWERED
        assert world.shown() == ["Hel" if is_lost else "Hello."]
        asking.cancel()
