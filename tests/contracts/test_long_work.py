"""The contract of long work: a turn beside its conversation, with its own place in the queue, which ends in it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.memory.forgetting_plans import Everything
from agent.messages import Consent, ToolCall
from agent.progress import Progress, RoundStep, encode
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, ScheduleRefused, ScheduleState, Timing
from agent.schedules.long_work import MAX_AT_WORK, asked_in, work_conversation
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said

NEW = NewSchedule(
    person="ann",
    source="test",
    channel="C",
    place=said("x").place,
    kind=ScheduleKind.WORK,
    words="Go through it all.",
    timing=Timing("UTC", at=START),
    created=START,
    conversation="thread",
    message="M",
)
DONE = Closing(Outcome.ANSWERED, "Here is the table.")
HERE = frozenset({"test"})
SEND = ToolCall("send", {"to": "Ben"})


async def kept(store: Store, words: str = NEW.words) -> Schedule:
    one = await store.schedules.add(replace(NEW, words=words))
    assert isinstance(one, Schedule)
    return one


async def begun(store: Store, words: str = NEW.words) -> Schedule:
    """Asked for in Ann's thread, and begun."""
    one = await kept(store, words)
    (due,) = await store.schedules.due(HERE, START, 9)
    await store.schedules.begin(due, said(words, conversation=work_conversation("thread", one.id)), START)
    return one


async def next_of(store: Store, *, works: bool = True, per_person: int | None = None) -> Claim | None:
    return await store.ledger.claim(Claiming("worker", START, LEASE, per_person=per_person, works=works))


async def listed(store: Store) -> list[ScheduleState]:
    return [one.state for one in await store.schedules.of_person("ann")]


async def test_it_is_due_at_once_shown_while_it_runs_and_gone_from_the_list_when_it_has_ended(store: Store) -> None:
    await answered(store, said("go through it", conversation="thread"), "I am on it.")
    await kept(store)
    assert await listed(store) == [ScheduleState.ACTIVE]
    (due,) = await store.schedules.due(HERE, START, 9)
    assert due.missed == 0
    beside = work_conversation("thread", due.schedule.id)
    await store.schedules.begin(due, said(NEW.words, conversation=beside), START)
    claim = await claimed(store)
    assert (claim.incoming.kind, claim.incoming.conversation) == (TurnKind.WORK, beside)
    assert await listed(store) == [ScheduleState.WORKING]
    assert [one.state for one in await store.schedules.all(9)] == [ScheduleState.WORKING]
    await store.ledger.finish(claim, DONE, START)
    assert await listed(store) == []


async def test_what_waits_in_it_waits_in_the_conversation_where_it_was_asked_for_too(store: Store) -> None:
    await begun(store)
    work = await claimed(store)
    assert not await store.ledger.waits_for_people("thread")
    asks = RoundStep(calls=(SEND,), results=(None,), consents=(Consent.AWAITED,), time=START)
    await store.ledger.save(work, progress=encode(Progress((asks,))))
    await store.ledger.put_aside(work, START + timedelta(days=1))
    for conversation in ("thread", work.incoming.conversation):
        assert await store.ledger.waits_for_people(conversation)
    assert not await store.ledger.waits_for_people("another thread")


@same_on_postgresql
async def test_it_runs_beside_its_conversation_and_ends_in_it(store: Store) -> None:
    await answered(store, said("go through it", conversation="thread"), "I am on it.")
    await begun(store)
    work = await claimed(store)
    await answered(store, said("and the time?", conversation="thread"), "Noon.")
    texts = [one.text for one in await store.conversations.history("thread", before_turn=10**6, limit=9)]
    assert texts == ["go through it", "I am on it.", "and the time?", "Noon."]
    await store.ledger.finish(work, DONE, START)
    texts = [one.text for one in await store.conversations.history("thread", before_turn=10**6, limit=9)]
    assert set(texts) > {NEW.words, DONE.reply}
    assert await store.conversations.history(work.incoming.conversation, before_turn=10**6, limit=9) == []
    assert await store.conversations.participants(work.incoming.conversation) is None


@same_on_postgresql
async def test_an_edit_of_the_message_that_asked_for_it_leaves_its_words_and_lets_it_go_on(store: Store) -> None:
    asked = said("go through it", conversation="thread")
    await answered(store, asked, "I am on it.")
    one = await store.schedules.add(replace(NEW, channel=asked.channel, message=asked.message_id))
    assert isinstance(one, Schedule)
    (due,) = await store.schedules.due(HERE, START, 9)
    beside = said(NEW.words, conversation=work_conversation("thread", one.id))
    await store.schedules.begin(due, replace(beside, channel=asked.channel), START)
    work = await claimed(store)
    assert await store.forgetting.text(asked.source, asked.channel, asked.message_id) == "go through it"
    assert await store.forgetting.update_text(
        asked.source, asked.channel, asked.message_id, "go through half", START, START
    )
    assert await store.forgetting.text(asked.source, asked.channel, asked.message_id) == "go through half"
    await store.ledger.finish(work, DONE, START)
    texts = [one.text for one in await store.conversations.history("thread", before_turn=10**6, limit=9)]
    assert sorted(texts) == sorted(["go through half", "I am on it.", NEW.words, DONE.reply])


async def test_it_takes_no_place_of_its_person_and_is_claimed_only_where_there_is_room_for_it(store: Store) -> None:
    await begun(store)
    await store.ledger.accept(said("one", conversation="another"))
    first = await next_of(store, works=False, per_person=1)
    assert first is not None
    assert first.incoming.text == "one"
    assert await next_of(store, works=False) is None
    work = await next_of(store, per_person=1)
    assert work is not None
    assert work.incoming.kind is TurnKind.WORK
    await store.ledger.finish(first, DONE, START)
    await store.ledger.accept(said("two", conversation="a third"))
    assert await next_of(store, per_person=1) is not None


async def test_of_one_person_so_many_go_on_at_once_and_the_same_call_means_the_same(store: Store) -> None:
    first = await begun(store, "1")
    assert await store.schedules.add(replace(NEW, words="1")) == replace(
        first, next=None, state=ScheduleState.ENDED, last=START, epoch=first.epoch + 2
    )
    for number in range(2, MAX_AT_WORK + 1):
        await begun(store, f"{number}")
    assert await store.schedules.add(replace(NEW, words="more")) is ScheduleRefused.MANY_AT_WORK
    await store.ledger.finish(await claimed(store), DONE, START)
    assert isinstance(await store.schedules.add(replace(NEW, words="more")), Schedule)


async def test_a_stop_in_the_conversation_reaches_it_and_the_button_of_another_answer_does_not(store: Store) -> None:
    await begun(store)
    work = await claimed(store)
    assert await store.ledger.stop("thread", alone=True) == []
    assert await store.ledger.stop("thre") == []
    assert await store.ledger.stop("thread") == [work.turn]
    assert await store.ledger.stopping("worker") == {work.turn}
    assert await store.ledger.stop(work.incoming.conversation, alone=True) == [work.turn]


async def test_a_stop_ends_what_has_not_begun(store: Store) -> None:
    asked = await answered(store, said("go through it", conversation="thread"), "I am on it.")
    where = asked.incoming
    one = await store.schedules.add(replace(NEW, channel=where.channel, message=where.message_id))
    assert isinstance(one, Schedule)
    assert await store.ledger.stop("thread", alone=True) == []
    assert await store.ledger.stop("thread") == [asked.turn]
    assert await store.schedules.by_id(one.id) is None
    assert await store.schedules.due(HERE, START, 9) == []


async def test_cancelling_it_stops_its_turn(store: Store) -> None:
    one = await begun(store)
    work = await claimed(store)
    assert await store.schedules.cancel("bob", one.id, START) is None
    assert await store.schedules.cancel("ann", one.id, START) is not None
    assert await store.ledger.stopping("worker") == {work.turn}
    assert await listed(store) == []


@pytest.mark.parametrize("runs", [True, False])
async def test_deleting_what_asked_for_it_takes_it_back(store: Store, *, runs: bool) -> None:
    await begun(store)
    work = await claimed(store) if runs else None
    assert await store.ledger.withdraw(NEW.source, NEW.channel, NEW.message, START + timedelta(seconds=1))
    if work is None:
        assert await next_of(store) is None
    else:
        assert await store.ledger.withdrawn("worker") == {work.turn}


async def test_it_stays_beside_a_conversation_that_was_forgotten_meanwhile(store: Store) -> None:
    await begun(store)
    work = await claimed(store)
    assert asked_in(work.incoming.conversation) == "thread"
    await store.ledger.finish(work, DONE, START)  # nobody ever wrote there
    beside = await store.conversations.history(work.incoming.conversation, before_turn=10**6, limit=9)
    assert [one.text for one in beside] == [NEW.words, DONE.reply]
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert receipt.found_again == 0
    assert await store.conversations.history(work.incoming.conversation, before_turn=10**6, limit=9) == []
