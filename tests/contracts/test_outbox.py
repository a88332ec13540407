"""The contract of the port Outbox: events are stored with what happened, and fall with what is forgotten."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, event, update

from agent.admission_terms import Whose
from agent.budget_days import BudgetRef
from agent.consents import CONSENT_TIME
from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.memory.forgetting_plans import Deleted, Everything, OneReply
from agent.messages import Consent, ModelCall, ToolCall, Usage
from agent.outgoing import CLEANUP, FAILED_KEPT, Delivery, NearBudget, OutgoingEvent, Subscription, job_kind
from agent.ports.tool_audit import AuditedCall, CallEnd
from agent.progress import Progress, RoundStep, encode
from agent.shown_replies import ReplyVerdict
from agent.turn_records import Claim, Claiming, Closing
from store.data_subjects import PersonSubject
from store.engine import Store
from store.outbox import webhook
from store.subject_access import data_subjects_in
from tests.contracts.steps import claimed, proved, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said

ALL = frozenset(OutgoingEvent)
NOW = START + timedelta(hours=1)
TEAM = Place(TeamAudience("slack:T1"), within_team="slack:T1")
WORKER = "worker"
SEND, BOOK = ToolCall("send", {"text": "Hello."}), ToolCall("book", {"seats": 2})
UNTIL = NOW + timedelta(days=1)


async def subscribed(
    store: Store, *names: str, events: frozenset[OutgoingEvent] = ALL, places: Collection[str] = ()
) -> None:
    rows = [Subscription(name, events, frozenset(places), "address") for name in names]
    assert await store.outbox.subscribe(rows, NOW) == {}


async def finished(store: Store, incoming: Incoming, *pages: str, reply: str = "in the harbour") -> Claim:
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, reply, pages, calls=(ModelCall("m", Usage(input_uncached=7, output=3)),))
    await store.ledger.finish(claim, closing, NOW)
    return claim


async def waiting(store: Store, row: str = "crm", key: str = "thread") -> list[Delivery]:
    """All that waits, in order; delivered by that."""
    found = list[Delivery]()
    while (delivery := await store.outbox.next(row, key)) is not None:
        found.append(delivery)
        await store.outbox.delivered(delivery.id)
    return found


async def jobs(store: Store, row: str = "crm") -> list[str]:
    """The keys of the row's due jobs, which are done by that."""
    found = list[str]()
    while (
        job := await store.jobs.claim(frozenset({job_kind(row)}), WORKER, NOW + timedelta(days=2), LEASE)
    ) is not None:
        found.append(job.key)
        await store.jobs.finish(job)
    return found


def asks(*calls: ToolCall) -> Progress:
    """Of a turn that waits for decisions about these calls."""
    awaited = (Consent.AWAITED,) * len(calls)
    return Progress((RoundStep(calls=calls, results=(None,) * len(calls), consents=awaited, time=NOW),))


@same_on_postgresql
async def test_a_finished_turn_waits_for_each_row_with_ids_and_counts_and_no_words(store: Store) -> None:
    await subscribed(store, "crm", "bill")
    asked = said("where is the quetzal?", place=TEAM)
    claim = await finished(store, asked, "page 1", "@ephemeral", reply="the quetzal is here")
    (delivery,) = await waiting(store)
    assert delivery.event == OutgoingEvent.TURN_FINISHED
    assert (delivery.turn, delivery.time, delivery.attempts) == (claim.turn, NOW, 0)
    assert delivery.data == {
        "turn": claim.turn,
        "source": "test",
        "channel": "channel",
        "conversation": "thread",
        "person": "ann",
        "audience": "team",
        "kind": "question",
        "schedule": None,
        "outcome": "answered",
        "message": asked.message_id,
        "replies": ["page 1"],
        "also_answers": [],
        "asked": asked.time.isoformat(),
        "finished": NOW.isoformat(),
        "model_calls": 1,
        "input_tokens": 7,
        "output_tokens": 3,
        "tool_calls": 0,
    }
    assert len(await waiting(store, "bill")) == 1
    assert (await jobs(store), await jobs(store, "bill")) == (["thread"], ["thread"])


@same_on_postgresql
async def test_whoever_delivers_hears_of_an_event_once_it_is_stored_and_of_none_that_is_not(store: Store) -> None:
    await subscribed(store, "crm")
    heard = list[str]()
    ends = [store.jobs.on_due(job_kind(row), lambda row=row: heard.append(row)) for row in ("crm", "bill")]
    claim = await finished(store, said("one"))
    assert heard == ["crm"]
    with pytest.raises(LeaseLost):
        await store.ledger.finish(replace(claim, epoch=claim.epoch + 1), Closing(Outcome.ANSWERED, "!"), NOW)
    await finished(store, said("two"))
    assert heard == ["crm"], "a job of this conversation waits already"
    assert await jobs(store) == ["thread"]
    await finished(store, said("three"))
    assert heard == ["crm", "crm"]
    for end in ends:
        end()
    await jobs(store)
    await finished(store, said("four"))
    assert len(heard) == 2


@same_on_postgresql
async def test_without_a_row_or_in_another_place_or_for_another_event_nothing_is_stored(store: Store) -> None:
    await finished(store, said("one"))
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.FORGOTTEN}))
    await finished(store, said("two"))
    await subscribed(store, "crm", places=["test:elsewhere", "slack:T2"])
    await finished(store, said("three", place=TEAM))
    assert (await waiting(store), await jobs(store)) == ([], [])


@same_on_postgresql
@pytest.mark.parametrize("place", ["test", "test:channel", "slack:T1"])
async def test_a_row_names_a_place_by_its_source_its_channel_or_its_team(store: Store, place: str) -> None:
    await subscribed(store, "crm", places=[place])
    await finished(store, said("one", place=TEAM))
    assert len(await waiting(store)) == 1


@same_on_postgresql
async def test_a_turn_that_was_lost_or_did_not_end_stores_no_event(store: Store) -> None:
    await subscribed(store, "crm")
    await store.ledger.accept(said("one"))
    claim = await claimed(store)
    assert await waiting(store) == []
    taken_over = await store.ledger.claim(Claiming("other", NOW, LEASE))
    assert taken_over is not None
    with pytest.raises(LeaseLost):
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "one"), NOW)
    assert await waiting(store) == []
    await store.ledger.finish(taken_over, Closing(Outcome.ANSWERED, "one"), NOW)
    assert len(await waiting(store)) == 1


@same_on_postgresql
async def test_a_verdict_is_an_event_when_it_changes_and_not_when_it_is_repeated(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.FEEDBACK_GIVEN}))
    claim = await finished(store, said("one"), "page 1")
    for verdict in (ReplyVerdict.GOOD, ReplyVerdict.GOOD, ReplyVerdict.BAD, None, None):
        await store.replies.judge(claim.turn, "bob", verdict, NOW)
    given = await waiting(store)
    assert [each.data["verdict"] for each in given] == ["good", "bad", None]
    assert {(each.data["turn"], each.data["person"], each.turn) for each in given} == {(claim.turn, "bob", claim.turn)}


async def test_what_is_forgotten_takes_its_events_along_and_its_turns_are_named(store: Store) -> None:
    await subscribed(store, "crm")
    first = await finished(store, said("one"), "page 1")
    second = await finished(store, said("two", person="bob", conversation="other"), "page 2")
    await store.replies.judge(second.turn, "ann", ReplyVerdict.GOOD, NOW)
    receipt = await store.forgetting.forget(Everything("ann"), NOW)
    assert proved(receipt)
    assert await waiting(store) == []
    (kept,) = await waiting(store, key="other")
    assert (kept.event, kept.data["person"]) == (OutgoingEvent.TURN_FINISHED, "bob")
    (told,) = await waiting(store, key="forgotten")
    assert told.data == {"scope": "person", "turns": [first.turn], "erased": {"messages": 2}}
    assert "ann" not in str(told)


async def test_a_row_of_some_places_hears_of_what_was_forgotten_there_alone(store: Store) -> None:
    await subscribed(store, "crm", places=["test:here"])
    here = await finished(store, replace(said("one"), channel="here"), "page 1")
    await finished(store, replace(said("two"), channel="there"), "page 2")
    await waiting(store)
    await store.forgetting.forget(Everything("ann"), NOW)
    (told,) = await waiting(store, key="forgotten")
    assert told.data == {"scope": "person", "turns": [here.turn]}


async def test_an_erased_reply_and_deleted_messages_are_told_with_their_scopes(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.FORGOTTEN}))
    first = await finished(store, said("one"), "page 1")
    asked = said("two")
    second = await finished(store, asked, "page 2")
    await store.forgetting.forget(OneReply(first.turn), NOW)
    await store.forgetting.forget(Deleted("test", asked.channel, frozenset({asked.message_id})), NOW)
    await store.forgetting.forget(Everything("nobody"), NOW)
    told = await waiting(store, key="forgotten")
    assert [(each.data["scope"], each.data["turns"]) for each in told] == [
        ("reply", [first.turn]),
        ("messages", [second.turn]),
    ]


async def test_what_cannot_be_delivered_is_listed_retried_and_deleted_after_a_week(store: Store) -> None:
    await subscribed(store, "crm")
    await finished(store, said("one"))
    delivery = await store.outbox.next("crm", "thread")
    assert delivery is not None
    await store.outbox.attempted(delivery.id, "no answer")
    again = await store.outbox.next("crm", "thread")
    assert again == replace(delivery, attempts=1)
    await store.outbox.give_up(delivery.id, "status 500", NOW)
    (failed,) = await store.outbox.failed(10)
    assert (failed.id, failed.row, failed.attempts, failed.reason) == (delivery.id, "crm", 2, "status 500")
    assert await store.outbox.next("crm", "thread") is None
    assert await jobs(store) == ["thread"]
    assert await store.outbox.retry("crm", delivery.id + 1, NOW) == 0
    assert await store.outbox.retry("crm", delivery.id, NOW + timedelta(days=1)) == 1
    assert await jobs(store) == ["thread"]
    retried = await store.outbox.next("crm", "thread")
    assert retried == replace(delivery, until=NOW + timedelta(days=2))
    await store.outbox.give_up(delivery.id, "status 500", NOW)
    cleaning = await store.jobs.claim(frozenset({CLEANUP}), WORKER, NOW + FAILED_KEPT, LEASE)
    assert cleaning is not None
    await store.outbox.delete_old(NOW + FAILED_KEPT - timedelta(seconds=1))
    assert len(await store.outbox.failed(10)) == 1
    await store.jobs.finish(cleaning)
    assert await store.jobs.claim(frozenset({CLEANUP}), WORKER, NOW + FAILED_KEPT, LEASE) is not None
    await store.outbox.delete_old(NOW + FAILED_KEPT)
    assert await store.outbox.failed(10) == []


async def test_a_disabled_row_stores_nothing_until_it_is_enabled_or_gets_another_address(store: Store) -> None:
    await subscribed(store, "crm", "bill")
    await finished(store, said("one"))
    await store.outbox.disable("crm", "gone", NOW)
    await finished(store, said("two"))
    assert await waiting(store) == []
    assert len(await waiting(store, "bill")) == 2
    assert [failed.reason for failed in await store.outbox.failed(10)] == ["gone"]
    row = Subscription("crm", ALL, frozenset(), "address")
    assert set(await store.outbox.subscribe([row], NOW)) == {"crm"}
    assert await store.outbox.disabled() == {"crm": NOW}
    assert await store.outbox.retry("crm", None, NOW) == 1
    assert await store.outbox.disabled() == {}
    assert len(await waiting(store)) == 1
    await store.outbox.disable("crm", "gone", NOW)
    assert not await store.outbox.subscribe([replace(row, address="another")], NOW)
    await finished(store, said("three"))
    assert len(await waiting(store)) == 1


async def test_without_rows_neither_a_turn_nor_a_call_reads_them_in_a_statement_of_its_own(store: Store) -> None:
    reads = list[str]()

    def noted(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT outgoing_webhook"):
            reads.append(statement)

    event.listen(Engine, "before_cursor_execute", noted)
    try:
        for number in range(2):
            await store.ledger.accept(said("one", conversation=f"{number}"))
            claim = await claimed(store)
            await store.audit.end(await store.audit.add(CALL, claim), 1, 1, "success")
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "!"), NOW)
            assert bool(reads) is (number == 1)
            await subscribed(store, "crm")
            reads.clear()
    finally:
        event.remove(Engine, "before_cursor_execute", noted)


async def test_a_row_that_left_the_file_takes_its_events_along_and_others_get_their_jobs_again(
    store: Store,
) -> None:
    await subscribed(store, "crm", "bill")
    await finished(store, said("one"))
    assert (await jobs(store), await jobs(store, "bill")) == (["thread"], ["thread"])
    await subscribed(store, "crm")
    assert await jobs(store) == ["thread"]
    assert await waiting(store, "bill") == []
    assert len(await waiting(store)) == 1


@same_on_postgresql
async def test_a_job_that_waits_for_its_next_attempt_is_not_hurried_by_a_new_event(store: Store) -> None:
    await subscribed(store, "crm")
    later = NOW + timedelta(hours=1)
    await store.jobs.schedule(job_kind("crm"), "thread", "", later)
    await finished(store, said("one"))
    assert await store.jobs.claim(frozenset({job_kind("crm")}), WORKER, NOW, LEASE) is None
    assert await store.jobs.claim(frozenset({job_kind("crm")}), WORKER, later, LEASE) is not None


async def test_words_are_those_of_a_public_channel_as_they_are_now(store: Store) -> None:
    asked = said("where is the quetzal?", place=TEAM)
    public = await finished(store, asked, "page 1", reply="here")
    private = await finished(store, said("and the heron?", place=Place(GroupAudience("slack:T1:C1"))), reply="there")
    alone = await finished(store, said("and mine?"), reply="there")
    words = await store.outbox.words(public.turn)
    assert words is not None
    assert (words.question, words.answer) == ("where is the quetzal?", "here")
    assert (await store.outbox.words(private.turn), await store.outbox.words(alone.turn)) == (None, None)
    await store.forgetting.forget(OneReply(public.turn), NOW)
    kept = await store.outbox.words(public.turn)
    assert kept is not None
    assert (kept.question, kept.answer) == ("where is the quetzal?", "")
    await store.forgetting.forget(Everything("ann"), NOW)
    assert await store.outbox.words(public.turn) is None


async def test_an_answer_from_narrower_sources_keeps_its_words(store: Store) -> None:
    await store.ledger.accept(said("and my salary?", place=TEAM))
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "4711", drawn_from="person:ann"), NOW)
    assert await store.outbox.words(claim.turn) is None


async def test_what_waits_about_a_person_is_in_their_export(store: Store) -> None:
    await subscribed(store, "crm")
    claim = await finished(store, said("one"))
    subjects = await data_subjects_in(store)
    assert await subjects.is_known("ann")
    assert (await subjects.counts(PersonSubject("ann")))["webhooks"] == 1
    (exported,) = (await subjects.page(PersonSubject("ann"), "webhooks")).rows
    assert exported["event"] == "turn.finished"
    assert isinstance(exported["data"], dict)
    assert exported["data"]["turn"] == claim.turn


@same_on_postgresql
async def test_a_job_of_a_killed_process_is_given_to_the_next_at_once_if_it_is_alone(store: Store) -> None:
    await subscribed(store, "crm")
    await finished(store, said("one"))
    kinds = frozenset({job_kind("crm")})
    assert await store.jobs.claim(kinds, "killed", NOW, LEASE) is not None
    await subscribed(store, "crm")
    again = await store.jobs.claim(kinds, WORKER, NOW, LEASE)
    assert (again is None) is store.database.is_shared
    assert (await store.jobs.claim(kinds, WORKER, NOW + LEASE, LEASE)) is not None


CALL = AuditedCall(NOW, "ann", "channel", "team:slack:T1", "mail.send", '{"to": "quetzal"}', "acts", "asked", "asker")


async def test_a_tool_call_is_an_event_once_it_has_ended_or_was_refused_without_its_arguments(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.TOOL_CALLED}))
    await store.ledger.accept(said("send it", place=TEAM))
    claim = await claimed(store)
    id_ = await store.audit.add(CALL, claim)
    assert await waiting(store) == []
    await store.audit.end(id_, 1_500, 70, "success")
    for _ in range(2):
        await store.audit.add(replace(CALL, outcome=CallEnd.NOT_RUN, decision="refused", call="2.1"), claim)
    ran, refused = await waiting(store)
    assert ran.time == NOW + timedelta(seconds=1.5)
    assert ran.data == {
        "turn": claim.turn,
        "source": "test",
        "channel": "channel",
        "conversation": "thread",
        "person": "ann",
        "call": id_,
        "tool": "mail.send",
        "effect": "acts",
        "decision": "asked",
        "decided_by": "asker",
        "outcome": "success",
        "ms": 1_500,
        "size": 70,
    }
    assert (refused.data["decision"], refused.data["outcome"], refused.data["ms"]) == ("refused", "not run", None)
    unended = await store.audit.add(CALL, claim)
    await store.forgetting.forget(Everything("ann"), NOW)
    await store.audit.end(unended, 1, 1, "success")
    assert await waiting(store) == []


async def test_a_hook_a_change_of_the_policy_and_a_call_elsewhere_are_no_events(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.TOOL_CALLED}), places=["slack:T2"])
    await store.ledger.accept(said("send it", place=TEAM))
    claim = await claimed(store)
    await store.audit.end(await store.audit.add(CALL, claim), 1, 1, "success")
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.TOOL_CALLED}))
    await store.audit.add(replace(CALL, tool="before_call", decided_by="hook", outcome="success", ms=1), claim)
    await store.audit.add(replace(CALL, tool="", outcome=CallEnd.NOT_RUN))
    assert await waiting(store) == []


@same_on_postgresql
async def test_a_turn_that_waits_for_its_asker_is_an_event_with_the_tools_and_until_when(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.CONSENT_ASKED}))
    asked = said("send it")
    await store.ledger.accept(asked)
    claim = await claimed(store)
    await store.ledger.save(claim, progress=encode(asks(SEND, BOOK)))
    await store.ledger.put_aside(claim, UNTIL)
    (delivery,) = await waiting(store)
    assert delivery.time == UNTIL - CONSENT_TIME
    assert delivery.data["tools"] == sorted([SEND.name, BOOK.name])
    assert (delivery.data["turn"], delivery.data["person"]) == (claim.turn, "ann")
    assert delivery.data["until"] == UNTIL.isoformat()


@same_on_postgresql
async def test_a_turn_whose_calls_were_decided_meanwhile_asks_for_nothing(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.CONSENT_ASKED}))
    await store.ledger.accept(said("send it"))
    claim = await claimed(store)
    progress = asks(SEND)
    await store.ledger.save(claim, progress=encode(progress))
    (key,) = progress.awaited
    await store.consents.decide(claim.turn, key, "ann", Consent.GIVEN, NOW)
    await store.ledger.put_aside(claim, UNTIL)
    assert await waiting(store) == []


def near(whose: Whose, owner: str, id_: str, source: str = "") -> NearBudget:
    resets = NOW + timedelta(hours=14)
    return NearBudget(
        whose=whose,
        owner=owner,
        id=id_,
        source=source,
        percent=85,
        tokens=850,
        token_limit=1_000,
        dollars=0.5,
        dollar_limit=None,
        resets=resets,
    )


async def noticed(store: Store, told: NearBudget, now: datetime) -> None:
    budget = BudgetRef(now.date(), f"{told.owner} {told.source}", told.whose, told.id, told.source)
    await store.budget_days.near(budget, told, 0, now)


@same_on_postgresql
async def test_a_budget_that_is_nearly_spent_is_an_event_once_a_day(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.BUDGET_NEAR}))
    of_ann = near(Whose.PERSON, "slack:T1:U1", "slack:T1:U1", "slack:T1")
    for now in (NOW, NOW, NOW + timedelta(days=1)):
        await noticed(store, of_ann, now)
    for source in ("slack:T1", "slack:T2"):
        await noticed(store, near(Whose.CHANNEL, "channel:C1", "C1", source), NOW)
    first, second, *of_channel = await waiting(store, key="budget")
    assert first.data == {
        "whose": "person",
        "id": "slack:T1:U1",
        "source": "slack:T1",
        "percent": 85,
        "tokens": 850,
        "token_limit": 1_000,
        "dollars": 0.5,
        "dollar_limit": None,
        "resets": of_ann.resets.isoformat(),
    }
    assert second.time - first.time == timedelta(days=1)
    assert [each.data["source"] for each in of_channel] == ["slack:T1", "slack:T2"]
    await noticed(store, of_ann, NOW + timedelta(days=2))
    await store.forgetting.forget(Everything("slack:T1:U1"), NOW)
    assert await waiting(store, key="budget") == []


@same_on_postgresql
@pytest.mark.parametrize(("place", "count"), [("slack:T1", 3), ("slack:T1:C1", 1), ("slack:T2", 0)])
async def test_a_row_of_some_places_hears_of_their_budgets_alone(store: Store, place: str, count: int) -> None:
    await subscribed(store, "crm", places=[place])
    await noticed(store, near(Whose.PERSON, "slack:T1:U1", "slack:T1:U1", "slack:T1"), NOW)
    await noticed(store, near(Whose.CHANNEL, "channel:C1", "C1", "slack:T1"), NOW)
    await noticed(store, near(Whose.WORKSPACE, "workspace:slack:T1", "slack:T1"), NOW)
    await noticed(store, near(Whose.EVERYONE, "everyone", ""), NOW)
    assert len(await waiting(store, key="budget")) == count


async def test_processes_that_start_end_turns_and_deliver_at_one_moment_lose_no_event_and_keep_the_order(
    store: Store,
) -> None:
    row = Subscription("crm", ALL, frozenset(), "address")
    await store.outbox.subscribe([row], NOW)
    claims = list[Claim]()
    for number in range(12):
        await store.ledger.accept(said("one", conversation=f"thread {number % 3}", person=f"person {number}"))
    ended = dict[str, list[int]]()

    async def end_all() -> None:
        while (claim := await store.ledger.claim(Claiming("worker", NOW, LEASE))) is not None:
            claims.append(claim)
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "two"), NOW)
            ended.setdefault(claim.incoming.conversation, []).append(claim.turn)

    async def postpone(key: str) -> None:
        for second in range(4):
            await store.jobs.schedule(job_kind("crm"), key, "", NOW + timedelta(seconds=second))

    starts = [store.outbox.subscribe([row], NOW) for _ in range(3)]
    postponed = [postpone(f"thread {number}") for number in range(3)]
    await asyncio.gather(*(end_all() for _ in range(3)), *postponed, *starts)
    while len(claims) < 12:
        await end_all()
    for key, turns in ended.items():
        assert [delivery.turn for delivery in await waiting(store, key=key)] == sorted(turns)
    assert sum(map(len, ended.values())) == 12


async def test_an_event_of_a_later_version_disturbs_no_turn_of_this_one(store: Store) -> None:
    await subscribed(store, "crm")

    def add_later_event(connection: Connection) -> None:
        connection.execute(update(webhook).values(events="later.event turn.finished"))

    await store.database.write(add_later_event)
    await finished(store, said("one"))
    assert [each.event for each in await waiting(store)] == ["turn.finished"]
