"""Of many facts a question is given what it may need, a write meets what it may contradict, and old ones make room."""

import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import cast

import pytest
from sqlalchemy import Connection, func, insert, select, update

from agent.admission_terms import Authority
from agent.memory.facts import FACTS_KEPT, FACTS_MADE_ROOM, Fact
from agent.memory.statements import read_statement
from agent.memory.writing import NewFact, Refusal, WriteRefused, Written
from store.engine import Store
from store.memory import fact_index, fact_store
from store.memory.fact_index import fact_term
from store.memory_tables import fact
from tests.fakes.incoming import START
from tests.fakes.new_database import open_new

pytestmark = pytest.mark.slow

DM = "person:ann"
HERE = frozenset({DM, "group:club", "team:t"})


@pytest.fixture
async def store() -> AsyncGenerator[Store]:
    opened = await open_new()
    yield opened
    await opened.close()


def new(key: str, value: str, *, minutes: int = 0, audience: str = DM, **others: object) -> NewFact:
    made = NewFact("", key, value, "user", START + timedelta(minutes=minutes), audience, "ann")
    return replace(made, **others)  # pyright: ignore[reportArgumentType] -- the tests name fields


async def kept(store: Store, one: NewFact) -> Fact:
    outcome = await store.facts.write(one)
    assert isinstance(outcome, Written), outcome
    return outcome.fact


@cache
def boat(number: int) -> tuple[dict[str, object], tuple[str, ...]]:
    """What is stored of a fact about a boat, and the terms that lead to it. To read its sentence is what takes long."""
    key, value = f"boat {number}", f"Boat {number} lies at the pier."
    said = read_statement(value, about=key)
    row: dict[str, object] = {
        "key": key,
        "value": value,
        "time": START + timedelta(seconds=number),
        **fact_index.reading(said),
    }
    return row, tuple(fact_index.terms(key, value, said))


def fill(connection: Connection, many: int, audience: str, *, is_valid: bool = True, binds: bool = False) -> None:
    """Facts about boats, a second apart."""
    shared = {
        "source": "user",
        "audience": audience,
        "person": "ann",
        "authority": 3,
        "is_valid": is_valid,
        "memory_type": "user",
        "scope": "global",
        "needs_review": False,
        "is_constraint": binds,
        "everywhere": False,
    }
    for row, terms in map(boat, range(many)):
        key_of = connection.execute(insert(fact), {**shared, **row}).inserted_primary_key
        fact_index.add(connection, key_of[0] if key_of else 0, "ann", terms)


async def given(store: Store, question: str, audiences: frozenset[str] = HERE) -> list[Fact]:
    return await store.database.read(fact_store.relevant, "ann", audiences, question, "thread", ())


async def values(store: Store, question: str, audiences: frozenset[str] = HERE) -> set[str]:
    return {one.value for one in await given(store, question, audiences)}


async def count(store: Store, table: str = "fact") -> int:
    counted = select(func.count()).select_from(fact if table == "fact" else fact_term)
    return await store.database.read(lambda connection: connection.execute(counted).scalar_one())


async def test_a_question_is_given_what_its_words_lead_to_however_many_facts_there_are(store: Store) -> None:
    await kept(store, new("cat", "The cat is called Minka."))
    await store.database.write(fill, 600, "group:club")
    asked = await given(store, "What is my cat called?")
    assert "The cat is called Minka." in {one.value for one in asked}
    assert len(asked) <= fact_store.CHOSEN
    assert "Boat 599 lies at the pier." in {one.value for one in asked}, "and the newest"
    assert "Boat 7 lies at the pier." in await values(store, "Where does boat 7 lie?")


async def test_a_question_is_given_nothing_of_another_place_or_another_person(store: Store) -> None:
    await kept(store, new("cat", "The cat is called Minka.", audience="group:board"))
    await kept(store, new("cat", "Bens cat is called Tom.", person="ben"))
    await store.database.write(fill, 300, "group:club")
    assert not any("cat" in value for value in await values(store, "What is the cat called?"))


async def test_what_binds_is_given_whatever_the_question_is(store: Store) -> None:
    limit = new("budget", "at most 100 EUR", is_constraint=True, authority=Authority.MANAGER)
    await kept(store, limit)
    await kept(store, replace(limit, key="hours", value="at most 8 hours", person=""))
    await store.database.write(fill, 300, DM)
    assert {"at most 100 EUR", "at most 8 hours"} <= await values(store, "Hello?")


async def test_a_question_reads_its_facts_in_few_statements_that_stop_early(store: Store) -> None:
    """Somebody waits, and a statement costs more than what it finds; a list that is read through costs most."""
    await store.database.write(fill, 300, DM)

    def steps_of(connection: Connection) -> tuple[list[str], int]:
        asked, steps = list[str](), 0

        def stepped() -> int:
            nonlocal steps
            steps += 1
            return 0

        driver = cast("sqlite3.Connection", connection.connection.driver_connection)
        driver.set_trace_callback(asked.append)
        driver.set_progress_handler(stepped, 100)
        fact_store.relevant(connection, "ann", HERE, "Where does boat 7 lie?", "thread", ())
        driver.set_trace_callback(None)
        driver.set_progress_handler(None, 0)
        return asked, steps

    asked, few = await store.database.read(steps_of)
    assert len(asked) <= 5, asked
    await store.database.write(fill, 1_500, DM)
    _, many = await store.database.read(steps_of)
    assert many <= 1.5 * few, (few, many)


async def test_a_narrower_fact_under_the_key_of_a_given_one_is_given_too(store: Store) -> None:
    await kept(store, new("cat", "Minka", audience=DM))
    await store.database.write(fill, 300, "group:club")
    await kept(store, new("cat", "Tom", audience="team:t"))
    assert {"Minka", "Tom"} <= await values(store, "Hello?")


async def test_a_write_supersedes_what_stands_under_its_key_among_very_many(store: Store) -> None:
    old = await kept(store, new("deadline of Apollo", "Friday"))
    await store.database.write(fill, 400, DM)
    outcome = await store.facts.write(new("the Apollo deadline", "Monday", minutes=60))
    assert isinstance(outcome, Written)
    assert [one.id for one in outcome.superseded] == [old.id]


async def test_a_write_supersedes_what_it_contradicts_or_names_among_very_many(store: Store) -> None:
    meeting = await kept(store, new("", "The meeting is on Tuesday."))
    tea = await kept(store, new("drink", "Ann drinks tea"))
    await store.database.write(fill, 400, DM)
    moved = await store.facts.write(new("", "The meeting is on Thursday.", minutes=60))
    named = await store.facts.write(new("", "Ann now drinks coffee", minutes=61, supersedes=(tea.id,)))
    assert isinstance(moved, Written)
    assert isinstance(named, Written)
    assert [one.id for one in moved.superseded] == [meeting.id]
    assert [one.id for one in named.superseded] == [tea.id]


async def test_a_key_that_nobody_said_leads_to_what_it_marks_among_very_many(store: Store) -> None:
    older = await kept(store, new("ticket home", "It leaves at 8:10."))
    await store.database.write(fill, 300, DM)
    newer = new("", "Sorry, 9:40 is right.", minutes=500, hint="ticket home", said="Sorry, 9:40 is right.")
    outcome = await store.facts.write(newer)
    assert isinstance(outcome, Written)
    assert [fact.id for fact in outcome.doubted] == [older.id]


async def test_what_rests_on_a_superseded_fact_asks_for_review_among_very_many(store: Store) -> None:
    await kept(store, new("budget", "100 EUR"))
    await kept(store, new("trip", "two days", depends_on=("budget",)))
    await store.database.write(fill, 400, DM)
    await kept(store, new("budget", "50 EUR", minutes=60))
    assert [one.key for one in await store.facts.readable("ann", HERE) if one.needs_review] == ["trip"]


async def test_a_superseded_value_that_the_question_is_about_is_marked_however_many_others_there_are(
    store: Store,
) -> None:
    await kept(store, new("deadline of Apollo", "Friday"))
    await kept(store, new("deadline of Apollo", "Monday", minutes=60))
    await store.database.write(fill, 200, DM, is_valid=False)
    asked = await given(store, "When is the deadline of Apollo?")
    assert [one.value for one in asked if not one.is_valid and "Apollo" in one.key] == ["Friday"]
    assert sum(not one.is_valid for one in asked) <= 2 * fact_store.PAST


async def test_the_same_again_changes_nothing_among_very_many(store: Store) -> None:
    await kept(store, new("", "👍"))
    await kept(store, new("", "The meeting is on Tuesday."))
    await store.database.write(fill, 400, DM)
    await kept(store, new("", "👍", minutes=60))
    await kept(store, new("", "The meeting is on Tuesday.", minutes=60))
    assert await count(store) == 402


async def test_when_a_place_is_full_superseded_ones_make_room_first_and_the_person_is_told(store: Store) -> None:
    await store.database.write(fill, 150, DM, is_valid=False)
    await store.database.write(fill, FACTS_KEPT - 150, DM)
    before = await count(store)
    outcome = await store.facts.write(new("cat", "Minka", minutes=600))
    assert isinstance(outcome, Written)
    assert outcome.dropped == FACTS_MADE_ROOM
    assert await count(store) == before - FACTS_MADE_ROOM + 1
    left = await store.facts.readable("ann", HERE)
    assert sum(not one.is_valid for one in left) == 150 - FACTS_MADE_ROOM
    assert sum(one.is_valid for one in left) == FACTS_KEPT - 150 + 1


async def test_then_those_that_stood_in_no_context_for_longest_and_nothing_that_binds(store: Store) -> None:
    await store.database.write(fill, 10, DM, binds=True)
    await store.database.write(fill, FACTS_KEPT - 10, DM)
    ids = [one.id for one in await store.facts.readable("ann", HERE) if not one.is_constraint]
    used = set(ids[:5])
    await store.database.write(fact_store.mark_used, used, START + timedelta(days=1))
    await kept(store, new("cat", "Minka", minutes=600))
    left = {one.id for one in await store.facts.readable("ann", HERE)}
    assert used <= left
    assert left.isdisjoint(ids[5 : 5 + FACTS_MADE_ROOM])
    assert sum(one.is_constraint for one in await store.facts.readable("ann", HERE)) == 10


async def test_where_everything_binds_nothing_makes_room(store: Store) -> None:
    await store.database.write(fill, FACTS_KEPT, DM, binds=True)
    assert await store.facts.write(new("cat", "Minka")) == WriteRefused(Refusal.FULL)
    assert await count(store) == FACTS_KEPT


async def test_the_words_of_a_fact_go_with_it(store: Store) -> None:
    cat = await kept(store, new("cat", "Minka"))
    assert await count(store, "fact_term") > 0
    await store.database.write(fact_store.remove, "ann", [cat.id])
    assert await count(store, "fact_term") == 0


async def test_other_places_and_people_are_not_counted(store: Store) -> None:
    await store.database.write(fill, FACTS_KEPT, "group:club")
    await store.database.write(lambda connection: connection.execute(update(fact).values(person="ben")))
    outcome = await store.facts.write(new("cat", "Minka"))
    assert isinstance(outcome, Written)
    assert outcome.dropped == 0
