"""The contract of `Knowledge.for_turn` about the last actions (seed 002): they stand in for a summary nobody wrote."""

from sqlalchemy import select

from agent.events import Outcome
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.documents import NewDocument
from agent.memory.forgetting_plans import OneReply
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.state import ActionRecord, LastActions
from agent.turn_records import Closing
from store.engine import Store
from store.turn_tables import action_record
from tests.contracts.steps import AFTER_ALL, answered, claimed, known, same_on_postgresql
from tests.contracts.test_documents import do_jobs, handed
from tests.fakes.incoming import START, dm, said
from tests.fakes.plans import one_thread

CLUB = Place(GroupAudience("club"))
DM = frozenset({"person:ann"})


def record(thought: str, number: int = 1) -> ActionRecord:
    call = ToolCall("recall", {"query": thought, "few": [1, None]})
    return ActionRecord(number, START, thought, (call,), (ToolResult("recall", ResultStatus.FAILURE, f"no {thought}"),))


async def acted(
    store: Store,
    *records: ActionRecord,
    person: str = "ann",
    conversation: str = "thread",
    place: Place | None = None,
    sources: tuple[int, ...] = (),
    documents: tuple[int, ...] = (),
) -> int:
    """Answer somebody in that many steps; the id of the turn."""
    await store.ledger.accept(said("go on", person=person, conversation=conversation, place=place))
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, "done", actions=records, context_messages=sources, given_documents=documents)
    await store.ledger.finish(claim, closing, START)
    return claim.turn


async def thoughts(store: Store, place: Place, *, person: str = "ann", before_turn: int = AFTER_ALL) -> list[str]:
    audiences = frozenset({label(place.audience)})
    found = await known(store, "thread", audiences, person=person, before_turn=before_turn)
    return [one.thinking for one in found.actions.records]


@same_on_postgresql
async def test_the_last_ones_of_earlier_turns_come_back_as_they_were_in_order(store: Store) -> None:
    await acted(store, record("a"), record("b", 2))
    second = await acted(store, record("c"), record("d", 2))
    found = (await known(store, "thread", DM)).actions
    assert found == LastActions((record("b", 2), record("c"), record("d", 2)))
    assert await thoughts(store, dm("ann"), before_turn=second) == ["a", "b"]


async def test_steps_without_a_thought_or_a_call_are_none(store: Store) -> None:
    await acted(store, record("a"))
    for _ in range(3):
        await acted(store, ActionRecord(1, START, "", (), ()))
    assert await thoughts(store, dm("ann")) == ["a"]


async def test_those_of_other_conversations_people_and_audiences_do_not(store: Store) -> None:
    await acted(store, record("elsewhere"), conversation="another")
    await acted(store, record("in the club"), place=CLUB)
    await acted(store, record("Ben's"), person="ben", place=CLUB)
    assert await thoughts(store, CLUB) == ["in the club"]
    assert await thoughts(store, CLUB, person="ben") == ["Ben's"]
    assert await thoughts(store, dm("ann")) == []


@same_on_postgresql
async def test_the_messages_that_they_came_from_are_told_and_take_them_along(store: Store) -> None:
    await store.ledger.accept(said("my boat", conversation="boats"))
    boat = await claimed(store)
    await store.ledger.finish(boat, Closing(Outcome.ANSWERED, "ok"), START)
    await acted(store, record("boat"), sources=(boat.message,))
    found = (await known(store, "thread", DM)).actions
    assert found.sources == (boat.message,)
    await store.forgetting.forget(one_thread("ann", "boats"), START)
    assert await thoughts(store, dm("ann")) == []


async def test_those_behind_a_reply_that_is_deleted_go_with_it(store: Store) -> None:
    deleted = await acted(store, record("a file of its own"))
    await acted(store, record("b"))
    await store.forgetting.forget(OneReply(deleted), START)
    assert await thoughts(store, dm("ann")) == ["b"]


async def test_what_was_drawn_from_a_place_that_may_not_be_used_now_is_not_among_them(store: Store) -> None:
    heard = await answered(store, said("in the club", conversation="elsewhere", place=CLUB), "yes")
    await acted(store, record("a"), sources=(heard.message,))
    await acted(store, record("b"))
    assert await thoughts(store, dm("ann")) == ["b"]
    found = (await known(store, "thread", DM | {"group:club"})).actions
    assert [one.thinking for one in found.records] == ["a", "b"]
    assert found.sources == (heard.message,)


async def test_what_was_drawn_from_a_document_is_among_them_only_where_the_document_may_be_used(store: Store) -> None:
    handbook = await kept(store, handed(audience=label(CLUB.audience)))
    await acted(store, record("leave"), documents=(handbook,))
    await acted(store, record("b"))
    assert await thoughts(store, dm("ann")) == ["b"]
    found = (await known(store, "thread", DM | {"group:club"})).actions
    assert [one.thinking for one in found.records] == ["leave", "b"]


async def test_what_was_drawn_from_a_document_goes_with_it(store: Store) -> None:
    handbook = await kept(store, handed(audience="person:ann"))
    other = await kept(store, handed("Boats are blue.", "boats.md", audience="person:ann"))
    await acted(store, record("leave"), documents=(handbook, other))
    await acted(store, record("boats"), documents=(other,))
    assert await thoughts(store, dm("ann")) == ["leave", "boats"]
    await store.documents.remove(handbook)
    assert await thoughts(store, dm("ann")) == ["boats"]
    await do_jobs(store)
    rows = await store.database.read(lambda c: c.execute(select(action_record.c.thinking)).scalars().all())
    assert list(rows) == ["boats"]


async def kept(store: Store, new: NewDocument) -> int:
    await store.documents.keep(new)
    await do_jobs(store)
    return next(one.id for one in await store.documents.listed(frozenset({new.audience})) if one.name == new.name)


async def test_what_was_drawn_from_a_document_that_goes_meanwhile_is_not_stored(store: Store) -> None:
    handbook = await kept(store, handed(audience="person:ann"))
    await store.ledger.accept(said("go on"))
    claim = await claimed(store)
    await store.documents.remove(handbook)
    await do_jobs(store)
    closing = Closing(Outcome.ANSWERED, "done", actions=(record("leave"),), given_documents=(handbook,))
    await store.ledger.finish(claim, closing, START)
    rows = await store.database.read(lambda c: c.execute(select(action_record.c.thinking)).scalars().all())
    assert list(rows) == []
