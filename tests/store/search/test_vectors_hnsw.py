"""The index of vectors on a PostgreSQL with pgvector: what leads to the nearest, and to nothing else."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select, text, update

from agent.embeddings import Meaning, Unembedded
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.forgetting_plans import Everything
from store.database_state import look_at
from store.engine import Store, open_store
from store.message_tables import embedding, message
from store.search.hnsw import VectorSupport, index_name, make_index, nearest, pays, support
from store.search.query import SearchQuery
from store.search.vectors import NEAREST, cosine, nearness_of, pack_vector, visible_to
from tests.contracts.steps import answered
from tests.fakes.incoming import START, dm, said
from tests.fakes.postgresql import PostgresServer
from tests.store.search.test_vectors_kept import MODEL, SIZE, spoke_much

COUNT = 400
OWN = SearchQuery((), 0, "ann", (label(dm("ann").audience),), "")
CLUB = label(Place(GroupAudience("club")).audience)


@pytest.fixture
async def url(postgres: PostgresServer) -> AsyncIterator[str]:
    """A new database at the newest version, in which an administrator has created the extension."""
    async with postgres.migrated() as made:
        name = made.partition("@/")[2].partition("?")[0]
        await postgres.execute("CREATE EXTENSION vector", database=name, user="postgres")
        yield made


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """Ann wrote one message, and the bot answered."""
    opened = await open_store(url)
    await answered(opened, said("a message", conversation="a"), "Oh.")
    yield opened
    await opened.close()


def meant(dice: random.Random) -> Meaning:
    return Meaning(MODEL, tuple(dice.gauss(0, 1) for _ in range(SIZE)))


def exact(vectors: dict[int, bytes], wanted: Meaning, count: int) -> list[int]:
    packed = pack_vector(wanted.vector)
    return sorted(vectors, key=lambda id_: cosine(packed, vectors[id_]), reverse=True)[:count]


def led_to(
    connection: Connection, wanted: Meaning, *, person: str | None = "ann", sought: SearchQuery = OWN, count: int = 10
) -> list[int] | None:
    return nearest(connection, person, wanted, visible_to(sought), 10 * COUNT, count)


def indexed(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT message FROM embedding_hnsw ORDER BY message")).scalars())


def index_names(connection: Connection) -> list[str]:
    names = text("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'ix_embedding_hnsw_%'")
    return list(connection.execute(names).scalars())


async def keep(store: Store, meant: Meaning) -> list[int]:
    """Keep a vector for the message and its answer."""
    read = select(message.c.id, message.c.person, message.c.text).order_by(message.c.id).limit(2)
    some = [Unembedded(*row) for row in await store.database.read(lambda c: c.execute(read).all())]
    await store.embeddings.keep(meant.model, some, [meant.vector] * 2)
    return [one.id for one in some]


async def test_the_index_leads_to_what_is_nearest_also_of_what_came_after_it(store: Store) -> None:
    dice = random.Random(1)
    vectors = await store.database.write(spoke_much, COUNT, dice)
    assert await store.database.read(led_to, meant(dice)) is None
    assert await make_index(store.database, MODEL, least=COUNT)
    late = meant(dice)
    vectors |= dict.fromkeys(await keep(store, late), pack_vector(late.vector))
    assert await store.database.read(indexed) == sorted(vectors)
    for wanted in [late, *(meant(dice) for _ in range(4))]:
        found = await store.database.read(led_to, wanted)
        assert found is not None
        assert len(set(found) & set(exact(vectors, wanted, 10))) >= 9


async def test_what_may_not_be_seen_is_not_led_to_and_what_comes_short_is_no_answer(store: Store) -> None:
    dice = random.Random(2)
    vectors = await store.database.write(spoke_much, COUNT, dice)
    assert await make_index(store.database, MODEL, least=COUNT)
    closed = sorted(vectors)[:30]
    narrow = update(message).where(message.c.id.in_(closed)).values(audience=CLUB)
    await store.database.write(lambda c: c.execute(narrow))
    inside = SearchQuery((), 0, "ann", (CLUB,), "")
    for wanted in (meant(dice) for _ in range(3)):
        found = await store.database.read(led_to, wanted, count=COUNT - 30)
        assert found is not None
        assert not {*found} & {*closed}
        few = await store.database.read(led_to, wanted, sought=inside, count=10)
        assert few is not None
        assert set(few) <= set(closed)
        assert few[0] == exact({id_: vectors[id_] for id_ in closed}, wanted, 1)[0]
        assert await store.database.read(led_to, wanted, sought=inside, count=31) is None
        assert await store.database.read(led_to, wanted, person="ben") is None
        all_there = await store.database.read(nearness_of, wanted, inside, (), 100 * COUNT)
        assert set(all_there) == set(closed)


async def test_what_is_forgotten_leaves_the_index_with_its_message(store: Store) -> None:
    await store.database.write(spoke_much, COUNT, random.Random(3))
    assert await make_index(store.database, MODEL, least=COUNT)
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.database.read(indexed) == []


async def test_another_model_gets_an_index_in_place_of_the_one_before(store: Store) -> None:
    dice = random.Random(4)
    await store.database.write(spoke_much, COUNT, dice)
    assert await make_index(store.database, MODEL, least=COUNT)
    assert await make_index(store.database, MODEL, least=COUNT)
    other = update(embedding).values(model="it's:another")
    await store.database.write(lambda c: c.execute(other))
    assert not await make_index(store.database, MODEL, least=1)
    assert await make_index(store.database, "it's:another", least=1)
    assert await store.database.read(index_names) == [index_name("it's:another", SIZE)]
    found = await store.database.read(led_to, replace(meant(dice), model="it's:another"))
    assert found is not None
    assert len(found) == 10


async def test_an_index_that_was_left_half_made_is_made_anew(store: Store, postgres: PostgresServer, url: str) -> None:
    dice = random.Random(5)
    await store.database.write(spoke_much, COUNT, dice)
    assert await make_index(store.database, MODEL, least=COUNT)
    half = f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{index_name(MODEL, SIZE)}'::regclass"  # noqa: S608 -- our own
    name = url.partition("@/")[2].partition("?")[0]
    await postgres.execute(half, database=name, user="postgres")
    assert await store.database.read(led_to, meant(dice)) is None
    assert await make_index(store.database, MODEL, least=COUNT)
    assert await store.database.read(led_to, meant(dice)) is not None


async def test_one_process_of_the_server_makes_the_index_where_several_may_not(
    store: Store, postgres: PostgresServer, url: str
) -> None:
    """A container gives them too little memory to share."""
    name = url.partition("@/")[2].partition("?")[0]
    for statement in (
        """
        CREATE FUNCTION alone() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
          IF current_setting('max_parallel_maintenance_workers') <> '0' THEN
            RAISE 'could not resize shared memory segment' USING ERRCODE = 'disk_full';
          END IF;
        END $$
        """,
        "CREATE EVENT TRIGGER alone ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION alone()",
    ):
        await postgres.execute(statement, database=name, user="postgres")
    dice = random.Random(8)
    await store.database.write(spoke_much, COUNT, dice)
    assert await make_index(store.database, MODEL, least=COUNT)
    assert await store.database.read(led_to, meant(dice)) is not None


async def test_without_the_extension_all_is_compared_and_a_remark_says_so(postgres: PostgresServer) -> None:
    url = await postgres.empty()
    store = await open_store(url)
    try:
        await answered(store, said("a message", conversation="a"), "Oh.")
        assert (await look_at(url)).remarks == ()
        wanted = meant(random.Random(6))
        await store.database.write(spoke_much, COUNT, random.Random(6))
        assert await store.database.read(support) is VectorSupport.FORBIDDEN
        assert not await store.embeddings.make_index(MODEL)
        assert not await make_index(store.database, MODEL, least=1)
        assert len(await store.database.read(nearness_of, wanted, OWN, (), 100 * COUNT)) == NEAREST
    finally:
        await store.close()
    assert [one for one in (await look_at(url)).remarks if "CREATE EXTENSION vector" in one]


async def test_the_database_reads_the_numbers_of_a_vector_as_they_were_kept(store: Store) -> None:
    await store.database.write(spoke_much, 1, random.Random(7))
    assert await make_index(store.database, MODEL, least=1)
    vector = (0.0, -0.0, 1.0, -2.5, 0.1, -0.001, 3e-5, 1e-40)
    packed = pack_vector(vector)
    read = text("SELECT cogency_numbers(:packed)").bindparams(packed=packed)
    numbers = await store.database.read(lambda c: c.execute(read).scalar_one())
    assert numbers == pytest.approx(list(memoryview(packed).cast("f")), abs=1e-30)


def test_an_index_pays_for_who_has_much_and_not_for_who_has_little_of_all() -> None:
    assert pays(100_000, 1_000_000, NEAREST)
    assert not pays(1_000, 1_000_000, NEAREST)
    assert not pays(5_000, 10_000_000, NEAREST)
