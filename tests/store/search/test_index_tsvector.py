"""The full-text index on PostgreSQL: found as on SQLite, read by its GIN index, and never too large."""

import math
import random
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from string import ascii_lowercase

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import ARRAY, Connection, Engine, Integer, Text, bindparam, event, text

from agent.events import Outcome
from agent.jobs import INDEXING
from agent.memory.audience import Place, TeamAudience
from agent.recall_query import RecallQuery
from agent.turn_records import Closing
from benchmarks.search_scale import PLACE, fill, made_vocabulary, questions_of
from store.databases.postgresql import PostgresDatabase
from store.engine import Store, new_key, open_store, prepare
from store.search.query import PARAMETERS, Range, SearchQuery
from store.search.text import index_words, indexed_text, stem
from store.search.word_matching import Tsvector
from tests.contracts.steps import answered, claimed, found, texts_found
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import open_new
from tests.fakes.postgresql import PostgresServer
from tests.store.migrating import up_to

CLUB = Place(TeamAudience("club"))
VOCABULARY = (
    "boat", "boats", "boating", "harbour", "sail", "sailed", "sailing", "red", "blue", "train", "station", "ticket",
    "quiet", "marmalade", "東京", "北京", "烤鸭", "서울", "καφές", "лодка", "100", "v2",
    "лодками", "Bootsmotor", "Motoren", "Boote", "Wohnungen", "Wohnung", "sailors", "harbours", "kitaplar", "kitabın",
    "شارع", "الشوارع", "stations", "stating",
)  # fmt: skip


async def live(store: Store, seed: int) -> None:
    """Three people in six threads, some of them shared, and answers of many lengths."""
    chance = random.Random(seed)
    for n in range(90):
        words = " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 9)))
        reply = " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 60)))
        person = chance.choice(["ann", "ben"])
        await answered(store, said(words, person=person, conversation=f"{person} {n % 6}", number=10**6 + n), reply)


async def test_both_engines_find_the_same_in_the_same_order_with_the_same_score(postgres: PostgresServer) -> None:
    sqlite, postgresql = await open_new(), await open_store(await postgres.empty())
    for store in (sqlite, postgresql):
        await live(store, seed=7)
    chance = random.Random(8)
    for _ in range(40):
        asked = " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 4)))
        query = RecallQuery("ann", asked, frozenset({"person:ann"}), "ann 3", limit=30)
        several = [[(h.message.text, h.score) for h in await s.memories.search(query)] for s in (sqlite, postgresql)]
        assert several[0] == several[1], asked
    for store in (sqlite, postgresql):
        await store.close()


async def test_a_search_reads_the_index_and_the_hits_and_nothing_else(postgres: PostgresServer) -> None:
    store = await open_store(await postgres.empty())
    await live(store, seed=1)

    def plan(connection: Connection) -> str:
        connection.execute(text("SET LOCAL enable_seqscan = off"))  # so few rows would be read one after the other
        words = bindparam("words", ["('1:boat')"], ARRAY(Text))
        stretches = Tsvector().stretches(1, Range(5_000, 1, 5_000, 5_000))
        ends = (
            bindparam("stretches", list(stretches), ARRAY(Text)),
            bindparam("sizes", list(stretches.values()), ARRAY(Integer)),
        )
        explained = text(f"EXPLAIN {Tsvector.MATCHES[0].text}").bindparams(words, *ends, *PARAMETERS)
        sought = SearchQuery((("boat",),), number=1, person="", audiences=("",), exclude="")
        return "\n".join(row[0] for row in connection.execute(explained, {**sought.bound, "most": 9}))

    steps = await store.database.read(plan)
    await store.close()
    assert steps.count("Bitmap Index Scan on ix_message_index_words") == 3, steps
    assert "pk_message" in steps, steps
    assert "Seq Scan" not in steps


async def test_of_common_words_the_newest_alone_are_read_and_found_as_on_sqlite(postgres: PostgresServer) -> None:
    sqlite, postgresql = await open_new(), await open_store(await postgres.empty())
    vocabulary = made_vocabulary(1_000)
    for store in (sqlite, postgresql):
        await fill(store, 2 * Tsvector.STRETCH + 200, 1, vocabulary, random.Random(5))
    for question in await sqlite.database.read(questions_of, 0, 12, vocabulary.common, random.Random(6)):
        query = RecallQuery("p0", question, frozenset({PLACE}), "", 30)
        several = [[(h.message.id, h.score) for h in await s.memories.search(query)] for s in (sqlite, postgresql)]
        assert several[0] == several[1], question
    for store in (sqlite, postgresql):
        await store.close()


@given(
    total=st.integers(0, 10**6),
    first=st.integers(1, 2**31),
    span=st.integers(0, 2**31),
    later=st.integers(0, 10**6),
    back=st.integers(0, 10**6),
)
def test_a_stretch_has_each_of_the_newest_messages_and_few_names(
    total: int, first: int, span: int, later: int, back: int
) -> None:
    index_, last = Tsvector(), first + span
    newest = min(last + later, 2**32 - 1)
    found = index_.stretches(7, Range(total, first, last, newest))
    *some, everything = found
    assert everything == ""
    assert len(some) <= max(total // Tsvector.STRETCH, 1).bit_length()
    for end in some:
        names = re.findall(r"'(7#[0-3]+)':\*", end)
        assert 1 <= len(names) <= Tsvector.BLOCKS
        least = int(found[end] * Tsvector.STRETCH * span / max(total, 1)) if span else 0
        for id_ in {newest, max(newest - least, 0), max(newest - min(back, least), 0)}:
            assert index_.block(7, id_).startswith(tuple(names))


async def test_a_text_of_any_length_can_be_kept_and_found(postgres: PostgresServer) -> None:
    store = await open_store(await postgres.empty())
    many = " ".join(f"word{n}" for n in range(100_000))
    await store.ledger.accept(said(f"quince {'x' * 5_000}y {many}", conversation="long"))
    assert len(await texts_found(store, "quince")) == 1
    assert len(await texts_found(store, "x" * 5_000 + "y")) == 1
    await store.ledger.accept(said("东" * 3_000 + " " + "".join(map(chr, range(0x4E00, 0x9F00))), conversation="dense"))
    assert len(await found(store, "东东")) == 1
    await store.close()


@contextmanager
def gaps() -> Generator[list[float]]:
    """Seconds of the processor between the statements of each transaction; the server hears nothing meanwhile."""
    took: list[float] = []
    last: dict[Connection, float] = {}

    def rest(connection: Connection, *_: object) -> None:
        last[connection] = time.thread_time()

    def end(connection: Connection, *_: object) -> None:
        took.append(time.thread_time() - last.pop(connection, math.inf))

    events = [("begin", rest), ("before_cursor_execute", end), ("after_cursor_execute", rest), ("commit", end)]
    for name, heard in events:
        event.listen(Engine, name, heard)
    try:
        yield took
    finally:
        for name, heard in events:
            event.remove(Engine, name, heard)


async def test_a_long_text_is_read_before_its_transaction_begins(postgres: PostgresServer) -> None:
    """A server ends a transaction in which it hears nothing for seconds; and everybody's event loop waits for it."""
    store = await open_store(await postgres.empty())
    dice = random.Random(7)
    long, other = (" ".join("".join(dice.choices(ascii_lowercase, k=8)) for _ in range(25_000)) for _ in "ab")
    began = time.thread_time()
    indexed_text(long, stemmed=True)
    reading = time.thread_time() - began
    with gaps() as took:
        asked = said(long, place=CLUB)
        await store.ledger.accept(asked)
        await store.ledger.amend(asked.source, asked.channel, asked.message_id or "", other)
        claim = await claimed(store)
        await store.ledger.set_text(claim, long)
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, long), START)
        await store.forgetting.update_text(asked.source, asked.channel, asked.message_id or "", other, START)
        await store.ledger.accept(said("hello", person="bob", place=CLUB))
        job = await store.jobs.claim(frozenset({INDEXING}), "worker", START, LEASE)
        assert job is not None
        while await store.memories.index_more(job):
            pass
    assert max(took) < reading / 3
    for one in (other, long):
        hits = await found(store, one.split()[0], person="bob", place=CLUB)
        assert one in [hit.message.text for hit in hits]
    await store.close()


def test_what_does_not_fit_is_left_out_from_the_end() -> None:
    lexemes = Tsvector().lexemes((f"{n:06}" * 40 for n in range(10_000)), 7)
    assert 3_000 < len(lexemes) < 10_000
    assert lexemes[0] == "7:" + "000000" * 40
    assert sum(len(lexeme.encode()) for lexeme in lexemes) <= Tsvector.ENTRY_BYTES
    assert Tsvector().lexemes(map(stem, index_words("boats boat 東京")), 7) == [
        "7:boat",
        "7:東",
        "7:京",
        "7:東京",
    ]


async def test_the_rows_that_a_search_reads_are_short_however_many_words_the_messages_have(
    postgres: PostgresServer,
) -> None:
    """Hundreds of them share a page of 8 KiB, rather than a handful."""
    async with postgres.migrated() as url:
        store = await open_store(url)
        dice = random.Random(7)
        for _ in range(200):
            many = " ".join("".join(dice.choices(ascii_lowercase, k=7)) for _ in range(60))
            await store.ledger.accept(said(f"boat {many}"))
        size = await store.database.read(
            lambda c: c.execute(text("SELECT pg_relation_size('message_index')")).scalar_one()
        )
        assert size <= 200 * 128
        assert len(await found(store, "boat")) > 0
        await store.close()


async def test_entries_from_before_the_blocks_are_given_theirs(postgres: PostgresServer, tmp_path: Path) -> None:
    ids = (1, 1023, 1024, 70_000, 2**31 - 1)
    bare = "INSERT INTO message_index (reader, message, words) VALUES (7, :id, array_to_tsvector(ARRAY['7:boat']))"
    async with postgres.database() as url:
        older = PostgresDatabase(url)
        await older.write(prepare, older.where, new_key, up_to("r0002", tmp_path))
        await older.write(lambda c: [c.execute(text(bare), {"id": id_}) for id_ in ids])
        await older.close()
        store = await open_store(url)
        kept = text("SELECT message, tsvector_to_array(words) FROM message_index ORDER BY message")
        entries = await store.database.read(lambda c: c.execute(kept).all())
        await store.close()
    assert [(id_, sorted(words)) for id_, words in entries] == [
        (id_, sorted([Tsvector().block(7, id_), "7:boat"])) for id_ in ids
    ]
