"""Acts: their counts by person, place and day, and the posts that are stored. On both engines."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from agent.events import Outcome
from agent.incoming import Quoted
from agent.memory.audience import NOWHERE, Place, TeamAudience
from agent.memory.forgetting_plans import Deleted, Everything
from agent.ports.acts import ActLimit, ActLimits, Poll
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Closing
from store.data_subjects import PersonSubject
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.contracts.steps import claimed
from tests.fakes.incoming import START, said

LIMITS = ActLimits(person=2, place=3)
DAY = timedelta(days=1)
LATER = (1 << 31) - 1


async def test_acts_count_for_a_person_and_a_place_by_day_and_outlive_forgetting(either: Store) -> None:
    acts = either.acts
    assert [await acts.charge("ann", "s:C1", LIMITS, START) for _ in range(3)] == [None, None, ActLimit.PERSON]
    assert await acts.charge("ben", "s:C1", LIMITS, START) is None
    assert await acts.charge("ben", "s:C1", LIMITS, START) is ActLimit.PLACE, "what a limit refuses is not counted"
    assert await acts.charge("ben", "s:C2", LIMITS, START) is None
    await either.forgetting.forget(Everything("ann"), START)
    assert await acts.charge("ann", "s:C2", LIMITS, START) is ActLimit.PERSON
    assert await acts.charge("ann", "s:C2", LIMITS, START + DAY) is None
    subjects = await data_subjects_in(either)
    rows = (await subjects.page(PersonSubject("ann"), "acts")).rows
    assert rows == [{"day": "2026-01-05", "count": 2}, {"day": "2026-01-06", "count": 1}]


async def test_a_post_is_a_reply_to_its_person_stored_once_and_gone_for_good_when_it_is_forgotten(
    either: Store,
) -> None:
    posted = replace(
        said("Post this here."), event_id="act:1:1.1", message_id="act:1:1.1", kind=TurnKind.ACT, own=False
    )
    for _ in range(2):
        await either.acts.record(posted, "Lunch is at twelve.", ["C1/7", "C1/8"], START)
    reply = await either.replies.by_page(posted.source, "C1/8", posted.channel)
    assert reply is not None
    assert (reply.kind, reply.person, reply.pages) == (TurnKind.ACT, posted.person.id, ("C1/7", "C1/8"))
    told = await either.conversations.history(posted.conversation, LATER, 10)
    assert [(one.text, one.relayed) for one in told] == [("Post this here.", True), ("Lunch is at twelve.", True)]
    plan = Deleted(posted.source, posted.channel, frozenset({posted.message_id}))
    await either.forgetting.forget(plan, START, replies=False)
    assert await either.replies.by_page(posted.source, "C1/8", posted.channel) is None
    assert await either.conversations.history(posted.conversation, LATER, 10) == []
    await either.acts.record(posted, "Lunch is at twelve.", ["C1/7"], START)
    assert await either.conversations.history(posted.conversation, LATER, 10) == []


async def test_a_text_is_drawn_from_restricted_replies_of_its_channel_and_from_those_that_are_quoted(
    either: Store,
) -> None:
    place = Place(TeamAudience("team"), within_team="team")
    question = partial(said, place=place)
    for conversation, reply, page in (("c1", "the boat is a catamaran", "7"), ("c2", "the berth is 4711", "8")):
        await either.ledger.accept(question("what is it?", conversation=conversation))
        claim = await claimed(either)
        closing = Closing(Outcome.ANSWERED, reply, (page,), drawn_from="person:ann")
        await either.ledger.finish(claim, closing, START)
    quoted = (Quoted("linked message", "bot", "the berth is 4711", ("8",), by_bot=True),)
    asked, nothing = dict[str, Claim](), tuple[Quoted, ...]()
    for name, quotes in (("plain", nothing), ("quoting", quoted)):
        await either.ledger.accept(replace(question("post it", conversation=f"c{name}"), quoted=quotes))
        asked[name] = await claimed(either)
    sources = either.acts.sources
    assert await sources(asked["plain"].turn, "Lunch is at noon.", ()) == set()
    assert await sources(asked["plain"].turn, "A catamaran!", ()) == {"person:ann"}
    assert await sources(asked["quoting"].turn, "Lunch is at noon.", ()) == {"person:ann"}
    given = [id_ for id_, text in await stored(either) if "catamaran" in text]
    assert await sources(asked["plain"].turn, "Lunch is at noon.", given) == {"person:ann"}
    assert await sources(1_000_000, "Lunch is at noon.", ()) == {NOWHERE}


async def stored(store: Store) -> list[tuple[int, str]]:
    told = [one for conversation in ("c1", "c2") for one in await store.conversations.history(conversation, LATER, 10)]
    return [(one.id, one.text) for one in told]


async def test_a_poll_has_one_vote_for_each_person_until_it_is_closed_and_falls_with_its_post(either: Store) -> None:
    acts, asked = either.acts, Poll("Lunch?", ("Pizza", "Pasta"))
    posted = replace(said("Post this here."), event_id="act:1:1.1", message_id="act:1:1.1", kind=TurnKind.ACT)
    where = posted.source, posted.channel, "C1/7"
    assert await acts.vote(*where, "ann", 0) is None
    await acts.record(posted, "Lunch?", ["C1/7"], START, asked)
    for person, choice in (("ann", 0), ("ben", 0), ("ann", 1), ("ann", 1), ("carol", 2), ("carol", -1)):
        await acts.vote(*where, person, choice)
    assert await acts.poll(*where) == replace(asked, counts=(1, 1))
    subjects = await data_subjects_in(either)
    assert (await subjects.page(PersonSubject("ann"), "votes")).rows == [{"choice": 2}]
    await either.forgetting.forget(Everything("ben"), START)
    assert await acts.close_poll(*where) == replace(asked, counts=(0, 1), closed=True)
    assert await acts.vote(*where, "ben", 0) == replace(asked, counts=(0, 1), closed=True)
    plan = Deleted(posted.source, posted.channel, frozenset({posted.message_id}))
    await either.forgetting.forget(plan, START, replies=False)
    assert await acts.poll(*where) is None
    assert await acts.close_poll(*where) is None
