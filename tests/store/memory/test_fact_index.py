"""A fact is read once, when it is written; what is kept of that is what a reading would find, and is renewed."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select, update

from agent.memory.statements import READER, read_statement
from store.memory import fact_index
from store.memory.fact_index import fact_term
from store.memory_tables import fact
from store.schema import meta
from tests.fakes.facts import remember
from tests.fakes.incoming import START
from tests.fakes.new_database import open_new

DM = "person:ann"
SAMPLES = (
    "The budget of Apollo is $2,000.",
    "Actually, the meeting has moved to Thursday at 9 am",
    "It is 15% now, no longer 10 percent",
    "[Ann (Legal)]: Anna's phone is 555-1234, Ben's is 555-9876",
    "Die Frist ist am 2026-11-27",
    "私の船は青い",
    "We switched from Acme to Globex because of the price: €3k a month",
    "J'habite à Lyon, le loyer est de 720 €",
    "Встречу с заказчиком перенесли на пятницу в 9:20",
    "Não fumo mais, a consulta é na terça às 15h",
    "As of today, the project is under review",
    "Они живут в Москве и ведут проект",
    "例会从每周三改到周五下午三点了，由小李负责",
    "L'ufficio si è spostato in via Dante 8, non lavoro più il venerdì",
    "De vergadering is nu om 10 uur, ik woon niet meer in Utrecht",
    "The lead of the Oslo team is Omar",
)
READ_AS = "466a23a07362"  # What the reader of version READER says of the samples


def test_whoever_changes_the_reader_counts_its_version_up() -> None:
    said = "\n".join(fact_index.reading(read_statement(text, about="a key"))["reading"] for text in SAMPLES)
    assert (READER, sha256(said.encode()).hexdigest()[:12]) == (12, READ_AS), "count READER up, and change both here"


@given(st.text(max_size=300), st.text(max_size=40))
def test_what_is_kept_is_what_a_reading_finds(value: str, key: str) -> None:
    kept = fact_index.reading(read_statement(value, about=key))
    read = fact_index.kept_reading(value, kept["reading"], kept["reader"])
    assert read is not None
    assert read.content == read_statement(value, about=key).content
    assert read.statement == read_statement(value, about=key)
    assert fact_index.kept_reading(value, kept["reading"], READER + 1) is None


@given(st.text(max_size=3_000), st.text(max_size=80))
def test_a_fact_has_a_bounded_number_of_words_that_lead_to_it_and_at_least_one(value: str, key: str) -> None:
    assert 1 <= len(fact_index.terms(key, value, read_statement(value, about=key))) <= fact_index.MAX_TERMS + 1
    assert len(fact_index.asked_terms(value)) <= fact_index.MAX_ASKED


async def test_facts_that_an_older_reader_read_are_read_anew_at_the_next_start() -> None:
    store = await open_new()
    try:
        await remember(store.facts, "ann", "The boat is blue.", DM, START)

        def spoil(connection: Connection) -> None:
            connection.execute(update(fact).values(reading="", reader=READER - 1))
            connection.execute(fact_term.delete())
            connection.execute(update(meta).where(meta.c.name == "reader").values(value=b"0"))

        await store.database.write(spoil)
        assert (await store.facts.readable("ann", frozenset({DM})))[0].reading is None
        assert await store.database.read(fact_index.count_remaining, 0) == 1
        (renewed,) = await store.database.write(fact_index.renew, 0)
        assert await store.database.write(fact_index.renew, 0) == []
        assert await store.database.read(fact_index.count_remaining, renewed) == 0
        (kept,) = await store.facts.readable("ann", frozenset({DM}))
        assert kept.reading is not None
        assert kept.statement == read_statement("The boat is blue.")
        assert set(await store.database.read(_terms)) >= {"boat", "blu"}
    finally:
        await store.close()


def _terms(connection: Connection) -> list[str]:
    return list(connection.execute(select(fact_term.c.term)).scalars())
