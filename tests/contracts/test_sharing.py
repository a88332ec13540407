"""The contract of what is told in public and serves others there: only what full members say in channels where that is
switched on, only as long as it is, and only until its writer takes it out.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from agent.admission_terms import Authority
from agent.embeddings import Meaning
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow_from
from agent.memory.documents import ON, SHARING
from agent.memory.forgetting_plans import AMBIENT_STATE, PAUSED, PLACE_RULES, Deleted, Everything, Gone
from agent.memory.periods import TimeSpan
from agent.messages import Provenance
from agent.recall_query import Hit, RecallQuery
from agent.stored_messages import Author
from agent.turn_records import Claim, Closing
from store.databases.database import is_postgresql
from store.engine import Store
from store.message_tables import message
from store.search import index
from store.search.text import indexed_text
from store.search.word_matching import ENGINES
from tests.contracts.steps import answered, claimed, proved
from tests.contracts.test_documents import all_rows
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database, open_new

PUBLIC = Place(TeamAudience("team"), within_team="team")
OTHERS = Place(TeamAudience("others"), within_team="others")
CLUB = Place(GroupAudience("club"), whole_channel=True)
CELLAR = Place(GroupAudience("cellar"), within_team="team", whole_channel=True)
BOB = Place(PersonAudience("bob"), within_team="team")
TOLD = "the printer on the second floor is called Gutenberg"


async def switch(store: Store, channel: str = "channel", *, on: bool = True) -> None:
    await store.preferences.set(f"channel:{channel}", SHARING, ON if on else None)


def told(text: str = TOLD, person: str = "ann", thread: str = "thread", **more: Any) -> Incoming:
    given = {"place": PUBLIC, "authority": Authority.EMPLOYEE} | more
    return replace(said(text, person=person, conversation=thread), **given)


async def tell(store: Store, incoming: Incoming, reply: str = "Noted.", *, words: Provenance = Provenance.OWN) -> Claim:
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, reply, words=words)
    await store.ledger.finish(claim, closing, incoming.time + timedelta(milliseconds=500))
    return claim


async def hits(
    store: Store, question: str = "printer", *, person: str = "bob", place: Place = PUBLIC, **more: Any
) -> list[Hit]:
    query = RecallQuery(person, question, may_flow_from(place), "a new thread", shared=True)
    return await store.memories.search(replace(query, **more))


async def texts(
    store: Store, question: str = "printer", *, person: str = "bob", place: Place = PUBLIC, **more: Any
) -> list[str]:
    return [hit.message.text for hit in await hits(store, question, person=person, place=place, **more)]


async def test_what_was_told_in_public_is_found_by_others_of_the_team_with_its_writer_and_its_link(
    store: Store,
) -> None:
    await switch(store)
    await tell(store, told(permalink="https://example.test/printer"))
    (hit,) = await hits(store)
    assert (hit.message.text, hit.message.name, hit.shared) == (TOLD, "Ann", True)
    assert hit.message.permalink == "https://example.test/printer"
    assert await texts(store, place=BOB) == [TOLD]
    assert await texts(store, place=CELLAR) == [TOLD]
    assert await texts(store, shared=False) == []


async def test_the_writer_finds_it_as_their_own(store: Store) -> None:
    await switch(store)
    await tell(store, told())
    assert [(hit.message.text, hit.shared) for hit in await hits(store, person="ann")] == [(TOLD, False)]


@pytest.mark.parametrize("place", [CLUB, OTHERS, Place(PersonAudience("bob"))])
async def test_it_is_found_nowhere_that_the_teams_words_may_not_flow(store: Store, place: Place) -> None:
    await switch(store)
    await tell(store, told())
    assert await texts(store, place=place) == []


@pytest.mark.parametrize(
    "other",
    [
        {"authority": Authority.GUEST},
        {"channel": "elsewhere"},
        {"place": CLUB},
        {"place": Place(PersonAudience("ann"), within_team="team")},
    ],
    ids=["a guest's", "another channel's", "a private channel's", "a direct message"],
)
async def test_nothing_else_is_shared(store: Store, other: dict[str, Any]) -> None:
    await switch(store)
    await tell(store, told(**other))
    for place in (PUBLIC, BOB, CLUB):
        assert await texts(store, place=place) == []


async def test_only_what_is_said_from_then_on_is_shared_and_nothing_once_it_is_off(store: Store) -> None:
    await tell(store, told("the old printer was red"))
    await switch(store)
    await tell(store, told("the new printer is blue"))
    assert await texts(store) == ["the new printer is blue"]
    await switch(store, on=False)
    assert await texts(store) == []
    await tell(store, told("the third printer is grey"))
    await switch(store)
    assert await texts(store) == ["the new printer is blue"]


async def test_who_takes_theirs_out_is_found_no_more_at_once_and_what_they_say_meanwhile_never(store: Store) -> None:
    await switch(store)
    await tell(store, told("ann's printer"))
    await tell(store, told("cleo's printer", "cleo", "cleos"))
    await store.preferences.set("ann", SHARING, PAUSED)
    assert await texts(store) == ["cleo's printer"]
    await tell(store, told("a secret printer"))
    await store.preferences.set("ann", SHARING, None)
    assert sorted(await texts(store)) == ["ann's printer", "cleo's printer"]


async def test_a_channel_that_becomes_private_keeps_what_was_shared_and_is_switched_off(store: Store) -> None:
    await switch(store)
    await tell(store, told())
    await store.ledger.restrict_place("test", "channel", CLUB, START)
    for place in (PUBLIC, BOB, CLUB):
        assert await texts(store, place=place) == []
    assert await store.preferences.all_of("channel:channel") == {}
    await tell(store, told("open again, with a new printer", thread="new"))
    assert await texts(store) == []


async def test_what_stands_beside_it_is_seen_only_if_it_is_shared_itself(store: Store) -> None:
    """A neighbour is a hit of its own where it helps: here none may be."""
    await tell(store, told("where is the printer?"))
    await switch(store)
    await tell(store, told("the printer is upstairs"), "")
    await tell(store, told("no, in the attic", "cleo"), "")
    await tell(store, told("by the stairs", "gil", authority=Authority.GUEST), "")
    await store.preferences.set("cleo", SHARING, PAUSED)
    assert await texts(store) == ["the printer is upstairs"]
    await store.preferences.set("cleo", SHARING, None)
    assert await texts(store) == ["the printer is upstairs", "no, in the attic"]


async def test_a_reply_is_shared_with_its_question_unless_it_may_tell_what_others_wrote(store: Store) -> None:
    await switch(store)
    await tell(store, told("what is it called?"), "The printer is called Gutenberg.")
    assert await texts(store) == ["The printer is called Gutenberg.", "what is it called?"]
    await tell(store, told("and what else is there?"), "Ben said that his printer jams.", words=Provenance.RELAYED)
    assert "Ben said that his printer jams." not in await texts(store)
    await tell(store, told("whose?", "gil", "gils", authority=Authority.GUEST), "It is the printer of the guests.")
    assert "It is the printer of the guests." not in await texts(store)


async def test_a_reply_that_was_drawn_from_more_private_things_is_not_shared(store: Store) -> None:
    await switch(store)
    await store.ledger.accept(told("what is my password for it?"))
    closing = Closing(Outcome.ANSWERED, "The printer takes 1234.", drawn_from="person:ann", words=Provenance.OWN)
    await store.ledger.finish(await claimed(store), closing, START)
    assert "The printer takes 1234." not in await texts(store)


async def test_what_is_asked_for_by_writer_time_or_author_is_found_among_what_is_shared(store: Store) -> None:
    await switch(store)
    await tell(store, told())
    await tell(store, told("the printer of cleo", "cleo", "cleos"))
    assert await texts(store, by="cleo") == ["the printer of cleo"]
    day = TimeSpan(START - timedelta(days=1), START + timedelta(days=1))
    assert sorted(await texts(store, "", within=day, author=Author.PERSON)) == sorted([TOLD, "the printer of cleo"])
    assert await texts(store, within=TimeSpan(START - timedelta(days=2), START - timedelta(days=1))) == []


async def test_own_and_shared_messages_are_ranked_together(store: Store) -> None:
    await switch(store)
    await tell(store, told("the printer Gutenberg jams when it is hot"))
    await tell(store, told("I saw a printer once", "bob", "bobs"))
    found = await hits(store, "Gutenberg printer jams")
    assert [(hit.message.text, hit.shared) for hit in found if hit.message.text != "Noted."] == [
        ("the printer Gutenberg jams when it is hot", True),
        ("I saw a printer once", False),
    ]


async def test_what_is_shared_is_found_by_its_meaning_as_far_as_it_is(store: Store) -> None:
    await switch(store)
    first, second = await tell(store, told("Gutenberg")), await tell(store, told("Caxton", "cleo", "cleos"))
    missing = {one.id: one for one in await store.embeddings.missing("m", 10)}
    some = [missing[first.message], missing[second.message]]
    await store.embeddings.keep("m", some, [(1.0, 0.0), (1.0, 0.1)])
    meaning = Meaning("m", (1.0, 0.0), 1.0)
    assert await texts(store, "something else", meaning=meaning) == ["Gutenberg", "Caxton"]
    await store.preferences.set("cleo", SHARING, PAUSED)
    assert await texts(store, "something else", meaning=meaning) == ["Gutenberg"]


async def test_an_edited_message_is_shared_in_its_new_words(store: Store) -> None:
    await switch(store)
    asked = told()
    await tell(store, asked)
    await store.forgetting.update_text(
        asked.source, asked.channel, asked.message_id, "the scanner is called Aldus", START
    )
    assert await texts(store) == []
    assert await texts(store, "scanner") == ["the scanner is called Aldus"]


async def test_what_is_forgotten_is_gone_for_everybody_and_from_the_index(store: Store) -> None:
    await switch(store)
    asked = told()
    await tell(store, asked)
    await tell(store, told("the printer of cleo", "cleo", "cleos"))
    gone = Deleted(asked.source, asked.channel, frozenset({asked.message_id}))
    assert proved(await store.forgetting.forget(gone, START))
    assert await texts(store) == ["the printer of cleo"]
    assert "gutenberg" not in (await all_rows(store)).lower()
    assert proved(await store.forgetting.forget(Everything("cleo"), START))
    assert await texts(store) == []
    assert "printer" not in await all_rows(store)


@pytest.mark.parametrize("gone", [Gone(channels=frozenset({"channel"})), Gone(sources=frozenset({"test"}))])
async def test_a_channel_that_the_bot_comes_back_to_is_switched_off(store: Store, gone: Gone) -> None:
    await switch(store)
    await switch(store, "elsewhere")
    for name in (PLACE_RULES, f"{PLACE_RULES} test", AMBIENT_STATE):
        await store.preferences.set("channel:channel", name, "{}")
    await tell(store, told())
    assert proved(await store.forgetting.forget(gone, START))
    assert await store.preferences.all_of("channel:channel") == {}
    assert await store.preferences.all_of("channel:elsewhere") == {SHARING: ON}


async def test_a_workspace_that_goes_leaves_what_another_one_chose_for_a_channel_that_both_read(store: Store) -> None:
    await store.preferences.set("channel:channel", f"{PLACE_RULES} other:T1", "{}")
    await tell(store, told())
    assert proved(await store.forgetting.forget(Gone(sources=frozenset({"test"})), START))
    assert await store.preferences.all_of("channel:channel") == {f"{PLACE_RULES} other:T1": "{}"}


async def test_the_search_for_proof_finds_a_shared_entry_that_was_left(store: Store) -> None:
    await switch(store)
    claim = await tell(store, told())

    def left_there(connection: Connection) -> None:
        place = connection.execute(select(message.c.place).where(message.c.id == claim.message)).scalar_one()
        words = indexed_text(TOLD, stemmed=is_postgresql(connection))
        ENGINES[is_postgresql(connection)].add(connection, claim.message + 100, words, [index.PLACES + place])

    await store.database.write(left_there)
    assert not proved(await store.forgetting.forget(Everything("ann"), START))


async def test_an_opt_out_outlives_the_forgetting_of_everything(store: Store) -> None:
    await store.preferences.set("ann", SHARING, PAUSED)
    await tell(store, told())
    await store.forgetting.forget(Everything("ann"), START)
    await switch(store)
    await tell(store, told(thread="new"))
    assert await texts(store) == []


async def test_the_words_of_a_forgotten_message_are_in_no_file(tmp_path: Path) -> None:
    store = await open_new(await new_database(tmp_path / "store.db"))
    try:
        await switch(store)
        await tell(store, told())
        receipt = await store.forgetting.forget(Everything("ann"), START)
        assert receipt.bytes_gone
    finally:
        await store.close()
    assert not any(b"utenberg" in one.read_bytes() for one in tmp_path.iterdir())  # noqa: ASYNC240 -- a test may wait


async def test_an_index_that_is_made_anew_has_what_is_shared(store: Store) -> None:
    await switch(store)
    await tell(store, told())
    await store.database.write(lambda connection: index.renew(connection, 0))
    assert await texts(store) == [TOLD]
    assert await texts(store, person="ann") == [TOLD]


async def known_shared(store: Store, audiences: Sequence[str]) -> bool:
    asked = said("And now?", person="bob", conversation="new")
    known = await store.knowledge.for_turn(asked, frozenset(audiences), before_turn=10**6, messages=9, actions=3)
    return known.something_shared


async def test_a_turn_knows_whether_anything_is_shared_where_it_is_asked(store: Store) -> None:
    assert not await known_shared(store, [label(PUBLIC.audience)])
    await switch(store)
    await answered(store, told(), "Noted.")
    assert await known_shared(store, [label(PUBLIC.audience), "person:bob"])
    assert not await known_shared(store, ["person:bob", label(OTHERS.audience)])
