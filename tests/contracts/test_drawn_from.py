"""The contract of replies that were made of what a tool brought: elsewhere they are used for whoever may read both."""

from dataclasses import replace

import pytest

from agent.embeddings import Meaning, Unembedded
from agent.events import Outcome
from agent.incoming import Incoming, Quoted
from agent.memory.audience import (
    HERE,
    NOWHERE,
    GroupAudience,
    PersonAudience,
    Place,
    TeamAudience,
    may_flow_from,
)
from agent.memory.periods import TimeSpan
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.recall_query import RecallQuery
from agent.state import ActionRecord, SituationSummary
from agent.tools.recall import recollect
from agent.turn_records import Claim, Closing
from store.engine import Store
from store.turns.drawn_from import MAX_REPLIES
from tests.contracts.steps import AFTER_ALL, claimed, known
from tests.fakes.incoming import START, said

PUBLIC = Place(TeamAudience("team"), within_team="team")
CLUB = Place(GroupAudience("club"), whole_channel=True)
ANN, BEN = (Place(PersonAudience(person), within_team="team") for person in ("ann", "ben"))
ANNS = "person:ann"
PLAN = "the plan is a catamaran"
OTHER = "somewhere else"
MODEL = "a model"


async def told(store: Store, incoming: Incoming, reply: str, drawn_from: str, *actions: ActionRecord) -> Claim:
    """Take a message in and answer it from what a tool brought."""
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, reply, drawn_from=drawn_from, actions=actions)
    await store.ledger.finish(claim, closing, incoming.time)
    return claim


async def told_in_public(store: Store, drawn_from: str) -> None:
    """Ann asks in a thread that Ben wrote in, too; both have another thread."""
    for person in ("ann", "ben"):
        await told(store, said("hello", person=person, conversation=OTHER, place=PUBLIC), "ahoy", "")
    await told(store, said("good morning", person="ben", place=PUBLIC), "ahoy", "")
    await told(store, said("where do I sail", place=PUBLIC), PLAN, drawn_from)


def asking(person: str, place: Place, conversation: str = OTHER) -> RecallQuery:
    return RecallQuery(person, "catamaran plan", may_flow_from(place), conversation, visible_from=AFTER_ALL)


async def finds(store: Store, query: RecallQuery) -> bool:
    """Whether the plan is found, by its words, by its time, beside others' words, by its meaning, or in its thread."""
    span = TimeSpan(START.replace(year=2020), START.replace(year=2030))
    meant = Meaning(MODEL, (1.0, 0.0))
    queries = [
        query,
        replace(query, text="sail"),
        replace(query, text="zzz", within=span),
        replace(query, text="zzz", meaning=meant),
    ]
    hits = [hit.message.text for one in queries for hit in await store.memories.search(one)]
    past = [message.text for message in await recollect(store.memories, store.conversations, query)]
    return PLAN in [*hits, *past]


async def embedded(store: Store) -> list[str]:
    """Give whatever has none a vector; the texts."""
    missing: list[Unembedded] = await store.embeddings.missing(MODEL, 100)
    await store.embeddings.keep(MODEL, missing, [(1.0, 0.0)] * len(missing))
    return [one.text for one in missing]


@pytest.mark.parametrize(
    ("drawn_from", "found_for"),
    [
        ("", {"in public": True, "ben": True, "ann": True, "here": True}),
        (ANNS, {"in public": False, "ben": False, "ann": True, "here": True}),
        ("group:club", {"in public": False, "ben": False, "ann": False, "here": True}),
        (HERE, {"in public": False, "ben": False, "ann": False, "here": True}),
        (NOWHERE, {"in public": False, "ben": False, "ann": False, "here": False}),
    ],
)
async def test_a_reply_is_found_elsewhere_by_whoever_may_read_what_it_was_drawn_from(
    store: Store, drawn_from: str, found_for: dict[str, bool]
) -> None:
    await told_in_public(store, drawn_from)
    assert (PLAN in await embedded(store)) is (drawn_from != NOWHERE)
    assert {
        "in public": await finds(store, asking("ann", PUBLIC)) or await finds(store, asking("ben", PUBLIC)),
        "ben": await finds(store, asking("ben", BEN)),
        "ann": await finds(store, asking("ann", ANN)),
        "here": await finds(store, asking("ben", PUBLIC, "thread")),
    } == found_for
    above = [message.text for message in await store.conversations.history("thread", before_turn=AFTER_ALL, limit=9)]
    assert PLAN in above


async def test_both_audiences_have_to_flow(store: Store) -> None:
    await told(store, said("where do I sail", place=CLUB), PLAN, ANNS)
    readable = may_flow_from(Place(PersonAudience("ann")), frozenset({"group:club"}))
    assert await finds(store, replace(asking("ann", ANN), audiences=readable))
    assert not await finds(store, asking("ann", ANN))


async def test_whoever_joins_its_thread_later_finds_it_there_unless_it_may_not_be_kept(store: Store) -> None:
    await told(store, said("where do I sail", place=PUBLIC), PLAN, ANNS)
    await told(store, said("and back", conversation="second", place=PUBLIC), PLAN, NOWHERE)
    for thread in ("thread", "second"):
        await told(store, said("hello", person="ben", conversation=thread, place=PUBLIC), "ahoy", "")
    assert await finds(store, asking("ben", PUBLIC, "thread"))
    assert not await finds(store, asking("ben", PUBLIC, "second"))


async def test_a_channel_that_is_closed_and_opened_again_widens_nothing(store: Store) -> None:
    await told_in_public(store, ANNS)
    await store.ledger.restrict_place("test", "channel", CLUB, START)
    readable = may_flow_from(Place(PersonAudience("ann")), frozenset({"group:club"}))
    assert await finds(store, replace(asking("ann", ANN), audiences=readable))
    assert not await finds(store, asking("ann", ANN))
    bens = may_flow_from(Place(PersonAudience("ben")), frozenset({"group:club"}))
    assert not await finds(store, replace(asking("ben", BEN), audiences=bens))
    assert not await finds(store, asking("ann", CLUB))
    await told(store, said("hello", conversation="opened", place=PUBLIC), "ahoy", "")
    assert not await finds(store, asking("ann", PUBLIC, "opened"))


@pytest.mark.parametrize(
    ("drawn_from", "exported"), [("", True), (ANNS, True), ("group:club", False), (NOWHERE, False)]
)
async def test_an_export_holds_what_its_person_may_read_there(store: Store, drawn_from: str, *, exported: bool) -> None:
    await told_in_public(store, drawn_from)
    held = await store.conversations.messages_of("ann", may_flow_from(ANN), before=None, limit=99)
    assert (PLAN in [message.text for message in held]) is exported


@pytest.mark.parametrize(("drawn_from", "shown"), [("", True), (ANNS, False), (NOWHERE, False)])
async def test_what_was_done_with_what_fewer_may_read_does_not_stand_in_for_a_summary(
    store: Store, drawn_from: str, *, shown: bool
) -> None:
    record = ActionRecord(1, START, PLAN, (ToolCall("look", {}),), (ToolResult("look", ResultStatus.SUCCESS, PLAN),))
    await told(store, said("where do I sail", place=PUBLIC), "there", drawn_from, record)
    actions = (await known(store, "thread", may_flow_from(PUBLIC))).actions
    assert bool(actions.records) is shown


async def drawn_in(store: Store, conversation: str) -> dict[str, str]:
    above = await store.conversations.history(conversation, before_turn=AFTER_ALL, limit=99)
    return {message.text: message.drawn_from for message in above}


@pytest.mark.parametrize("drawn_from", [ANNS, NOWHERE])
async def test_a_reply_that_tells_again_what_stands_above_it_is_drawn_from_the_same(
    store: Store, drawn_from: str
) -> None:
    await told_in_public(store, drawn_from)
    asked = said("what did you tell her", person="ben", place=PUBLIC)
    await told(store, asked, "She sails on a catamaran.", "")
    await told(store, said("thanks", person="ben", place=PUBLIC), "You are welcome.", "")
    drawn = await drawn_in(store, "thread")
    assert drawn["She sails on a catamaran."] == drawn_from
    assert drawn["You are welcome."] == ""


async def test_what_a_person_said_there_tells_nothing(store: Store) -> None:
    await told_in_public(store, ANNS)
    await told(store, said("I want a catamaran, too", person="ben", place=PUBLIC), "A catamaran has two.", "")
    assert (await drawn_in(store, "thread"))["A catamaran has two."] == ""


async def test_what_another_thread_was_told_is_not_asked(store: Store) -> None:
    await told_in_public(store, ANNS)
    await told(store, said("hello", conversation=OTHER, place=PUBLIC), "A catamaran has two.", "")
    assert (await drawn_in(store, OTHER))["A catamaran has two."] == ""


async def test_two_that_fewer_may_read_leave_a_reply_in_its_thread(store: Store) -> None:
    await told_in_public(store, ANNS)
    await told(store, said("and mine", person="ben", place=PUBLIC), "A catamaran, and a kayak.", "person:ben")
    assert (await drawn_in(store, "thread"))["A catamaran, and a kayak."] == HERE


def page(number: int) -> tuple[str, ...]:
    return (f"page {number}",)


@pytest.mark.parametrize("drawn_from", [ANNS, NOWHERE, "group:club"])
async def test_one_that_a_tool_found_again_hands_on_what_it_was_drawn_from(store: Store, drawn_from: str) -> None:
    await told_in_public(store, drawn_from)
    above = await store.conversations.history("thread", before_turn=AFTER_ALL, limit=99)
    given = tuple(message.id for message in above if message.text == PLAN)
    await store.ledger.accept(said("what was it", person="ben", place=PUBLIC))
    told_again = Closing(Outcome.ANSWERED, "Deux coques.", context_messages=given, given_messages=given)
    await store.ledger.finish(await claimed(store), told_again, START)
    assert (await drawn_in(store, "thread"))["Deux coques."] == drawn_from


@pytest.mark.parametrize("drawn_from", [ANNS, NOWHERE, ""])
async def test_one_that_somebody_points_at_elsewhere_hands_on_what_it_was_drawn_from(
    store: Store, drawn_from: str
) -> None:
    await store.ledger.accept(said("where do I sail", place=PUBLIC))
    closing = Closing(Outcome.ANSWERED, PLAN, pages=page(1), drawn_from=drawn_from)
    await store.ledger.finish(await claimed(store), closing, START)
    quoted = (Quoted("linked message", "bot", PLAN, page(1)), Quoted("linked message", "ben", "Hello!", page(7)))
    asked = replace(said("what is that", person="ben", conversation=OTHER, place=PUBLIC), quoted=quoted)
    await told(store, asked, "Two hulls.", "")
    assert (await drawn_in(store, OTHER))["Two hulls."] == drawn_from
    at_home = replace(said("and this", person="ben", conversation="home", place=BEN), quoted=quoted)
    await told(store, at_home, "Two hulls, Ben.", "")
    assert (await drawn_in(store, "home"))["Two hulls, Ben."] == drawn_from


async def test_where_more_stand_above_than_are_read_a_word_of_its_own_was_drawn_from_one_of_them(store: Store) -> None:
    for number in range(MAX_REPLIES + 1):
        await told(store, said("and now", place=PUBLIC), PLAN if number == 0 else f"berth {number}", ANNS)
    await told(store, said("the first one", person="ben", place=PUBLIC), "A catamaran.", "")
    await told(store, said("thanks", person="ben", place=PUBLIC), "Yes.", "")
    drawn = await drawn_in(store, "thread")
    assert drawn["A catamaran."] == ANNS
    assert drawn["Yes."] == ""


@pytest.mark.parametrize(("drawn_from", "kept"), [(ANNS, True), (NOWHERE, False)])
async def test_a_later_summary_holds_no_word_of_what_may_not_be_kept(
    store: Store, drawn_from: str, *, kept: bool
) -> None:
    await told_in_public(store, drawn_from)
    await store.ledger.accept(said("go on", person="ben", place=PUBLIC))
    summary = SituationSummary(goal="sail the catamaran")
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "Well.", summary=summary), START)
    assert ("catamaran" in (await known(store, "thread", may_flow_from(PUBLIC))).summary.goal) is kept
    uncovered = await store.summaries.uncovered("thread", AFTER_ALL)
    assert uncovered is not None
    assert (PLAN in [message.text for message in uncovered.messages]) is kept
