"""Recall: scripts and spellings, queries that look like operators, and whose messages are found at all."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, literal, select, text

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow_from
from agent.memory.periods import TimeSpan
from agent.recall_query import RecallQuery
from store.derived_data import DERIVED, renew_some
from store.engine import Store
from store.migrations.versions.r0004_index_keeps_words import FTS5_INDEX
from store.search import index, search
from store.search.query import OF_SHARED, PARAMETERS, SearchQuery
from store.search.text import entry_terms, indexed_text, keywords
from store.search.word_matching import Fts5
from tests.contracts.steps import answered, found, texts_found
from tests.examples import examples
from tests.fakes.incoming import said
from tests.fakes.new_database import open_new

CLUB = Place(GroupAudience("club"))
TEXTS = [
    "We moved the Café's opening to Friday",
    "昨日は東京タワーに行きました",
    "我们明天去北京吃烤鸭",
    "내일 서울에서 만나요",
    "ο καφές στην Αθήνα",
    "100% of the x_y values were 'quoted'",
    "she was running the boats",
]


QUESTIONS: Final = [
    ("CAFE", 0),
    ("東京", 1),
    ("東京タワーはいつ？", 1),
    ("塔", None),
    ("京", 2),
    ("烤鸭", 2),
    ("서울", 3),
    ("Αθηνα", 4),
    ("100%", 5),
    ("x_y", 5),
    ("'quoted'", 5),
    ('"values"', 5),
    ("run boat", 6),
    ("%", None),
    ("_", None),
    ("*", None),
    ("AND", None),
    ("NEAR(boat, x)", 6),
    ("body:boats", 6),
    ("-boats", 6),
    ("boats^2", 6),
    ("boats\0", 6),
    ("boats \ud800", 6),
    ('"', None),
    ("", None),
    ("zzz", None),
]


@pytest.mark.slow
async def test_a_question_in_any_script_finds_the_message_that_it_means(either: Store) -> None:
    for number, said_ in enumerate(TEXTS):
        await either.ledger.accept(said(said_, conversation=f"thread {number}"))
    found = [(query, (await texts_found(either, query))[:1]) for query, _ in QUESTIONS]
    assert found == [(query, [] if expected is None else [TEXTS[expected]]) for query, expected in QUESTIONS]


@pytest.mark.slow
async def test_one_han_character_finds_every_message_with_it(either: Store) -> None:
    for number, said_ in enumerate(TEXTS):
        await either.ledger.accept(said(said_, conversation=f"thread {number}"))
    assert set(await texts_found(either, "京")) == {TEXTS[1], TEXTS[2]}


@pytest.mark.slow
@given(query=st.text(alphabet=st.characters(exclude_categories=()), max_size=30))
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_is_a_valid_message_and_a_valid_query_that_finds_it(either: Store, query: str) -> None:
    await either.ledger.accept(said(query))
    assert bool(await found(either, query)) == bool(keywords(query))


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("wir haben den Bootsmotor repariert", "was war mit den Motoren?"),
        ("я купила билеты на поезд", "где мой билет?"),
        ("bisikletimi istasyonda çaldılar", "hangi istasyonların önünde?"),
        ("دفعت الفاتورة أمس", "متى دفعنا الفواتير؟"),
    ],
)
async def test_a_message_is_found_by_other_forms_of_its_words_in_any_language(
    either: Store, message: str, question: str
) -> None:
    await either.ledger.accept(said("hello", conversation="a"))
    await either.ledger.accept(said(message, conversation="b"))
    assert await texts_found(either, question) == [message]


async def test_a_newcomer_finds_what_stood_in_the_thread_before(either: Store) -> None:
    club = Place(GroupAudience("club"))
    await answered(either, said("the regatta is in May", person="ben", conversation="club", place=club), "noted")
    assert await found(either, "regatta", place=club) == []
    await either.ledger.accept(said("hello", conversation="club", place=club))
    assert [h.message.person for h in await found(either, "regatta", place=club)] == ["ben"]


async def test_a_long_reply_does_not_push_away_the_persons_own_words(either: Store) -> None:
    await answered(either, said("my boat leaks", conversation="a"), "Boats leak. " * 40)
    await answered(either, said("tell me about harbours", conversation="b"), "A boat lies in a harbour. " * 40)
    assert (await texts_found(either, "boat"))[0] == "my boat leaks"


async def searched(store: Store, text: str, **narrowed: Any) -> list[str]:
    club = may_flow_from(CLUB)
    return [hit.message.text for hit in await store.memories.search(RecallQuery("ann", text, club, "", **narrowed))]


async def two_people(store: Store) -> TimeSpan:
    """Ann and Ben speak of boats in one thread, and the bot answers; later they do so again. The first time."""
    first = [said("Ann has a boat", conversation="one", place=CLUB)]
    first.append(said("Ben sold his boat", person="ben", conversation="one", place=CLUB))
    for message in first:
        await answered(store, message, f"A boat, {message.person.name}.")
    await answered(store, said("Ann sails the boat", conversation="two", place=CLUB), "Fine.")
    return TimeSpan(first[0].time, first[1].time + timedelta(milliseconds=900))


async def test_a_name_in_the_question_brings_what_that_person_wrote_to_the_front(either: Store) -> None:
    await two_people(either)
    assert (await searched(either, "What about Ben's boat?"))[0] == "Ben sold his boat"
    assert set((await searched(either, "What about Ann's boat?"))[:2]) == {"Ann has a boat", "Ann sails the boat"}


async def test_a_time_in_the_question_brings_what_was_said_then_to_the_front(either: Store) -> None:
    then = await two_people(either)
    at_first = replace(then, until=then.since + timedelta(milliseconds=100))
    assert (await searched(either, "boat", periods=(at_first,)))[0] == "Ann has a boat"


@pytest.mark.slow
async def test_what_people_say_beside_a_match_is_found_with_it(either: Store) -> None:
    await either.ledger.accept(said("Which colour has the boat?", person="ben", conversation="one", place=CLUB))
    await either.ledger.accept(said("It is blue.", conversation="one", place=CLUB))
    assert await searched(either, "boat") == ["Which colour has the boat?", "It is blue."]


async def test_a_message_without_words_is_not_found_beside_a_match(either: Store) -> None:
    await either.ledger.accept(said("Look, a boat", person="ben", conversation="one", place=CLUB))
    await either.ledger.accept(said("", conversation="one", place=CLUB))
    assert await searched(either, "boat") == ["Look, a boat"]


@pytest.mark.slow
@pytest.mark.parametrize("place", [None, 1], ids=["their own", "what is shared"])
async def test_a_search_never_reads_through_all_messages(store: Store, place: int | None) -> None:
    await answered(store, said("my boat"), "your boat")
    first, last = Fts5().entries_of(1).values()
    sought = SearchQuery((("boat",),), number=1, person="1", audiences=("1",), exclude="", people=("1",), place=place)
    shared = place is not None
    bound = {**sought.bound, "words": '["boat"]', "first": first, "last": last, "most": 9}

    def steps(connection: Connection) -> list[str]:
        near = search.SURROUNDINGS[shared].params(hits=[1], **sought.bound)
        sql = f"EXPLAIN QUERY PLAN {near.compile(connection, compile_kwargs={'render_postcompile': True})}"
        matches = text(f"EXPLAIN QUERY PLAN {Fts5.MATCHES[shared].text}")
        matches = matches.bindparams(*PARAMETERS, *(OF_SHARED if shared else ()))
        found_ = (*connection.execute(matches, bound), *connection.exec_driver_sql(sql, (None,) * sql.count("?")))
        return [row.detail for row in found_]

    plan = await store.database.read(steps)
    assert [step for step in plan if step.startswith("SEARCH")]
    scans = [step for step in plan if step.startswith("SCAN")]
    few = ("VIRTUAL TABLE", "nearest", "subquery")
    assert [step for step in scans if not any(what in step for what in few)] == []


people = st.sampled_from(["ann", "ben", "cleo"])
groups = st.sampled_from(["g1", "g2"])
rooms = st.sampled_from(
    [
        Place(GroupAudience("g1")),
        Place(GroupAudience("g2")),
        Place(TeamAudience("t1"), within_team="t1"),
        Place(TeamAudience("t2"), within_team="t2"),
        Place(TeamAudience("t2")),
    ]
)
words = st.sampled_from(["boat", "train", "plane"])
threads = st.integers(0, 3)
messages = st.lists(st.tuples(people, st.none() | rooms, threads, words), min_size=1, max_size=12)


def _thread(person: str, place: Place | None, number: int) -> tuple[str, Place]:
    """A DM is a thread of one person; a room's threads are shared; a thread may also move between rooms (number 3)."""
    if place is None:
        return f"dm {person} {number}", Place(PersonAudience(person))
    return ("wandering" if number == 3 else f"{label(place.audience)} {number}"), place


@pytest.mark.slow
@given(said_=messages, asker=people, asked_in=st.none() | rooms, readable=st.frozensets(groups), current=threads)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_someone_elses_question_never_finds_my_dm(
    empty: Callable[[], Awaitable[str]],
    said_: list[tuple[str, Place | None, int, str]],
    asker: str,
    asked_in: Place | None,
    readable: frozenset[str],
    current: int,
) -> None:
    opened = await open_new(await empty())
    try:
        wrote_in: dict[str, set[str]] = {}
        stored: list[tuple[str, str, str]] = []
        for number, (person, place, thread, word) in enumerate(said_):
            conversation, where = _thread(person, place, thread)
            wrote_in.setdefault(person, set()).add(conversation)
            message = said(f"my {word} number {number}", person=person, conversation=conversation, place=where)
            await answered(opened, message, f"your {word} number {number}")
            stored += [
                (conversation, label(where.audience), f"{whose} {word} number {number}") for whose in ("my", "your")
            ]
        conversation, target = _thread(asker, asked_in, current)
        allowed = may_flow_from(target, {f"group:{group}" for group in readable})
        hits = await opened.memories.search(RecallQuery(asker, "boat train plane", allowed, conversation, limit=99))
        shown = [hit.message for hit in hits]
        assert all(m.audience in allowed for m in shown)
        assert all(m.conversation in wrote_in.get(asker, set()) for m in shown)
        assert all(m.conversation != conversation for m in shown)
        assert not [m for m in shown if m.audience.startswith("person:") and m.audience != f"person:{asker}"]
        mine = wrote_in.get(asker, set()) - {conversation}
        assert sorted((hit.message.conversation, hit.message.text) for hit in hits) == sorted(
            (thread, text_) for thread, audience, text_ in stored if audience in allowed and thread in mine
        )
    finally:
        await opened.close()


async def test_entries_with_other_terms_are_made_anew_when_the_store_is_opened(either: Store) -> None:
    await either.ledger.accept(said("der Bootsmotor", person="ben", conversation="shared", place=CLUB))
    await either.ledger.accept(said("danke", conversation="shared", place=CLUB))
    await either.ledger.accept(said("Motoren im Hafen", conversation="mine"))

    async def found_now() -> list[list[str]]:
        return [[hit.message.text for hit in await found(either, "Motors", place=place)] for place in (CLUB, None)]

    def empty_the_index(connection: Connection) -> None:
        index.clear(connection)
        connection.execute(text("UPDATE meta SET value = :older WHERE name = 'index_terms'"), {"older": b"1"})

    def open_again(connection: Connection) -> None:
        for derived in DERIVED:
            while renew_some(connection, derived):
                pass

    before = await found_now()
    await either.database.write(empty_the_index)
    assert await found_now() == [[], []]
    await either.database.write(open_again)
    assert await found_now() == before
    assert [texts[0] for texts in before] == ["der Bootsmotor", "Motoren im Hafen"]


texts = st.lists(
    st.text("aenrstуи東京كتابات 7-", max_size=60) | st.sampled_from(["die Bootsmotoren liegen", "she was running", ""]),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(kept=texts, removed=texts)
def test_of_a_removed_entry_nothing_is_left_in_the_lists_of_sqlite(kept: list[str], removed: list[str]) -> None:
    """FTS5 keeps no text, so it takes out what it is told: less or more would stay in the lists for good."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        for table in ("message_index", "other_index"):
            connection.execute(text(FTS5_INDEX.replace("message_index", table)))
            connection.execute(text(f"CREATE VIRTUAL TABLE temp.{table}_terms USING fts5vocab(main, {table}, row)"))
        connection.execute(text("CREATE TABLE message_index_kept (entry INTEGER PRIMARY KEY, words TEXT NOT NULL)"))
        said_texts = [indexed_text(one, stemmed=False) for one in [*kept, *removed]]
        held = [(number, one) for number, one in enumerate(said_texts, 1) if one.words]
        for number, one in held:
            Fts5().add(connection, number, one, [1, 2])
            if number <= len(kept):
                bodies = [
                    {"entry": reader << 32 | number, "body": " ".join(entry_terms(one.words))} for reader in (1, 2)
                ]
                connection.execute(text("INSERT INTO other_index (rowid, body) VALUES (:entry, :body)"), bodies)
        for number, _ in held:
            for reader in (1, 2) if number > len(kept) else ():
                Fts5().remove(connection, select(literal(reader).label("number"), literal(number).label("id")))
        listed = text("SELECT term, doc FROM temp.message_index_terms ORDER BY term")
        expected = text("SELECT term, doc FROM temp.other_index_terms ORDER BY term")
        assert connection.execute(listed).all() == connection.execute(expected).all()
        Fts5().remove_all(connection, 1)
        Fts5().remove_all(connection, 2)
        assert connection.execute(listed).all() == []
        assert not Fts5().has_entries(connection, 1)
    engine.dispose()
