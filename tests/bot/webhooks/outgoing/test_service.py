"""Events are delivered at least once and in order for each key, whatever the receiver does and whoever is killed."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import Place, TeamAudience
from agent.memory.forgetting_plans import Everything
from agent.outgoing import TRIED_FOR, OutgoingEvent, job_kind
from agent.turn_records import Closing
from bot.chat.access.place_rules import WEBHOOKS, name_at, place_owner
from bot.chat.jobs import JobWorker
from bot.chat.network.guard import Target, parse_target
from bot.chat.telemetry import TelemetryEvent, WebhookEnd, WebhookSent
from bot.webhooks.outgoing import texts
from bot.webhooks.outgoing.rows import OutgoingRow
from bot.webhooks.outgoing.sending import NoLongerWanted, NotReceived, Received, SendResult
from bot.webhooks.outgoing.service import MAX_WORDS_CHARS, DeliveryService
from bot.webhooks.outgoing.signing import parse_secret
from tests.contracts.steps import claimed
from tests.examples import examples
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.webhook_receiver import SECRET, ReceivedWebhook
from tests.patience import PATIENCE_S

NOT = NotReceived("no answer")
TEAM = Place(TeamAudience("test"), within_team="test")


class Killed(BaseException):
    """The process is gone."""


@dataclass
class FakeReceiver:
    """Implements `Sender`. `answer`: what it does with the request of this number. `got`: what it received."""

    answer: Callable[[int], SendResult | BaseException]
    receives_failed: bool = False
    """Whether it has received also what the bot takes for failed."""
    requests: list[ReceivedWebhook] = field(default_factory=list[ReceivedWebhook])
    got: list[ReceivedWebhook] = field(default_factory=list[ReceivedWebhook])

    async def send(self, _target: Target, headers: Mapping[str, str], body: bytes, _now: datetime) -> SendResult:
        request = ReceivedWebhook(dict(headers), body, "/")
        answer = self.answer(len(self.requests))
        self.requests.append(request)
        if isinstance(answer, Received) or self.receives_failed:
            self.got.append(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass
class Bench:
    """One row, the worker of its jobs, and a receiver."""

    receiver: FakeReceiver
    row: OutgoingRow
    store: StoreInMemory
    clock: FakeClock
    told: list[TelemetryEvent] = field(default_factory=list[TelemetryEvent])

    def record(self, event: TelemetryEvent, /) -> None:
        self.told.append(event)

    @property
    def service(self) -> DeliveryService:
        return DeliveryService(
            row=self.row,
            outbox=self.store.outbox,
            preferences=self.store.preferences,
            jobs=self.store.jobs,
            sender=self.receiver,
            clock=self.clock,
            random=lambda: 0.5,
            telemetry=self,
        )

    @property
    def worker(self) -> JobWorker:
        return JobWorker(self.store.jobs, {job_kind(self.row.name): self.service.deliver}, self.clock, "worker")

    async def finish(self, incoming: Incoming, reply: str = "here") -> int:
        """A turn ends; returns its number."""
        await self.store.ledger.accept(incoming)
        claim = await claimed(self.store, now=self.clock.now())
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, reply), self.clock.now())
        return claim.turn

    async def work_for(self, time: timedelta) -> None:
        """Run what is due, with a new process after each kill."""
        until = self.clock.now() + time
        while self.clock.now() < until:
            try:
                while await self.worker.work():
                    pass
            except Killed:
                pass
            await self.clock.advance(600)

    @property
    def ends(self) -> list[WebhookEnd]:
        return [event.end for event in self.told if isinstance(event, WebhookSent)]


async def bench(
    answer: Callable[[int], SendResult | BaseException], *, words: bool = False, receives_failed: bool = False
) -> Bench:
    target = parse_target("https://crm.example/")
    places = frozenset({"test"}) if words else frozenset[str]()
    row = OutgoingRow("crm", target, frozenset(OutgoingEvent), (parse_secret(SECRET),), places, words)
    made = Bench(FakeReceiver(answer, receives_failed), row, store_in_memory(), FakeClock(auto=False))
    await made.store.outbox.subscribe([row.subscription], made.clock.now())
    return made


def turns(requests: list[ReceivedWebhook], conversation: str) -> list[int]:
    """The turns of a conversation, as they were first received."""
    data: list[dict[str, Any]] = [request.event["data"] for request in requests]
    return [*dict.fromkeys(each["turn"] for each in data if each["conversation"] == conversation)]


ANSWERS = st.lists(st.sampled_from([Received(), Received(), NOT, Killed()]), max_size=30)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), ANSWERS, st.booleans())
def test_every_event_arrives_at_least_once_and_in_the_order_of_its_key(
    keys: list[str], answers: list[SendResult | BaseException], receives_failed: bool
) -> None:
    async def run() -> None:
        made = await bench(
            lambda number: answers[number] if number < len(answers) else Received(), receives_failed=receives_failed
        )
        ended = [(key, await made.finish(said("where?", conversation=key))) for key in keys]
        await made.work_for(timedelta(hours=20))
        for key in set(keys):
            assert turns(made.receiver.got, key) == [turn for of, turn in ended if of == key]
        assert len(made.receiver.requests) <= len(keys) + len(answers)
        assert await made.store.outbox.failed(9) == []
        ids = {request.id: request.body for request in made.receiver.requests}
        assert len(ids) == len(keys)
        assert all(ids[request.id] == request.body for request in made.receiver.requests)

    asyncio.run(run())


async def test_an_event_leaves_as_soon_as_it_is_stored() -> None:
    at = await bench(lambda _: Received())
    async with at.worker.serving(), asyncio.timeout(PATIENCE_S):  # on a clock that does not move
        for number in range(3):
            await at.finish(said("where?", conversation=f"{number}"))
            while len(at.receiver.got) <= number:  # noqa: ASYNC110 -- no event reports that it has come
                await asyncio.sleep(0)


async def test_one_that_never_arrives_is_given_up_after_a_day_and_those_behind_it_follow() -> None:
    made = await bench(lambda _: NOT if made.clock.now() < began + TRIED_FOR else Received())
    began = made.clock.now()
    for text in ("one", "two"):
        await made.finish(said(text, conversation="a"))
    await made.work_for(timedelta(hours=23))
    first = {request.event["data"]["turn"] for request in made.receiver.requests}
    assert len(first) == 1
    assert 20 < len(made.receiver.requests) < 60
    await made.work_for(timedelta(hours=4))
    (failed,) = await made.store.outbox.failed(9)
    assert failed.reason == "no answer"
    assert len(made.receiver.got) == 1
    assert made.receiver.got[0].event["data"]["turn"] not in first
    assert (made.ends.count(WebhookEnd.GIVEN_UP), made.ends[-1]) == (1, WebhookEnd.DELIVERED)


async def test_a_receiver_that_is_gone_is_asked_no_more(caplog: pytest.LogCaptureFixture) -> None:
    made = await bench(lambda _: NoLongerWanted())
    with caplog.at_level(logging.WARNING):
        for conversation in "ab":
            await made.finish(said("one", conversation=conversation))
        await made.work_for(timedelta(hours=1))
        await made.finish(said("two", conversation="a"))
        await made.work_for(timedelta(hours=1))
    assert len(made.receiver.requests) == 1
    assert caplog.messages == [texts.DISABLED % ("crm", "crm")]
    assert {failed.reason for failed in await made.store.outbox.failed(9)} == {texts.GONE}
    assert made.ends == [WebhookEnd.DISABLED]


async def test_one_key_that_fails_delays_no_other_and_a_pause_that_is_asked_for_is_kept() -> None:
    made = await bench(lambda number: NotReceived("later", timedelta(hours=2)) if number == 0 else Received())
    first = await made.finish(said("one", conversation="a"))
    second = await made.finish(said("two", conversation="b"))
    await made.work_for(timedelta(hours=1))
    assert [request.event["data"]["turn"] for request in made.receiver.got] == [second]
    await made.work_for(timedelta(hours=2))
    assert [request.event["data"]["turn"] for request in made.receiver.got] == [second, first]


async def test_an_event_is_signed_typed_and_of_its_time_and_has_no_words() -> None:
    made = await bench(lambda _: Received())
    await made.finish(said("where is the quetzal?", place=TEAM), "the quetzal is here")
    ended = made.clock.now()
    await made.work_for(timedelta(seconds=1))
    (request,) = made.receiver.got
    assert (request.event["type"], request.event["timestamp"]) == ("turn.finished", ended.isoformat())
    assert request.headers["webhook-timestamp"] == str(int(ended.timestamp()))
    request.verify(tolerance_s=10**10)
    assert b"quetzal" not in request.body


async def allow_words(made: Bench, value: str | None) -> None:
    """Store what the channel's managers chose."""
    rules = None if value is None else json.dumps({WEBHOOKS: value})
    await made.store.preferences.set(place_owner("channel"), name_at("test"), rules)


async def test_words_of_a_public_channel_leave_if_its_managers_and_the_row_say_so_and_nobody_else_s() -> None:
    made = await bench(lambda _: Received(), words=True)
    await allow_words(made, "on")
    await made.finish(said("where is the quetzal?", place=TEAM), "here" * MAX_WORDS_CHARS)
    await made.finish(said("and mine?", conversation="direct"), "there")
    await made.work_for(timedelta(seconds=1))
    public, direct = (request.event["data"] for request in made.receiver.got)
    assert public["question"] == "where is the quetzal?"
    assert (len(public["answer"]), public["is_cut"]) == (MAX_WORDS_CHARS, True)
    assert "question" not in direct
    assert "answer" not in direct


@pytest.mark.parametrize("chosen", [None, "off", "yes"])
async def test_no_words_leave_a_channel_whose_managers_do_not_allow_it_any_more(chosen: str | None) -> None:
    made = await bench(lambda _: Received(), words=True)
    await allow_words(made, "on")
    await made.finish(said("where is the quetzal?", place=TEAM), "here")
    await allow_words(made, chosen)
    await made.work_for(timedelta(seconds=1))
    (request,) = made.receiver.got
    assert request.event["data"]["outcome"] == "answered"
    assert b"quetzal" not in request.body


async def test_what_is_forgotten_before_its_next_attempt_leaves_no_more() -> None:
    made = await bench(lambda number: NOT if number == 0 else Received())
    turn = await made.finish(said("one"))
    assert await made.worker.work()
    await made.store.forgetting.forget(Everything("ann"), made.clock.now())
    await made.work_for(timedelta(hours=1))
    assert len(made.receiver.requests) == 2
    (request,) = made.receiver.got
    assert (request.event["type"], request.event["data"]["turns"]) == ("forgotten", [turn])


async def test_behind_one_that_was_given_up_old_events_have_one_attempt_each() -> None:
    made = await bench(lambda _: NOT)
    for _ in range(5):
        await made.finish(said("one", conversation="a"))
    await made.work_for(timedelta(hours=26))
    assert len(await made.store.outbox.failed(9)) == 5
    of_turn = [request.event["data"]["turn"] for request in made.receiver.requests]
    assert [of_turn.count(turn) for turn in dict.fromkeys(of_turn)][2:] == [1, 1, 1]


async def test_failures_are_logged_once_a_minute_without_words_of_the_receiver(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = await bench(lambda _: NOT)
    worker = made.worker
    for conversation in ("a", "b", "c"):
        await made.finish(said("one", conversation=conversation))
    for _ in range(2):
        while await worker.work():
            pass
        await made.clock.advance(60)
    first, second = caplog.messages
    assert first == texts.TRIED_AGAIN % ("crm", "no answer", "")
    assert second == texts.TRIED_AGAIN % ("crm", "no answer", " (and 2 more since the last such line)")
