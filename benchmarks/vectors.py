"""How exact a search by vectors is among a million of them on PostgreSQL, for audiences of any size.

python -m benchmarks.vectors [--quick] [--json]

vector_recall_at_10   of the ten messages whose vectors are truly nearest among those that the search may see, the share
                  that it finds: the mean over small audiences (`_0.1pc` and `_1pc` of all rows, and `_inside`: a tenth
                  of a percent among the many rows of the heavy one)
vector_p95_ms     one search for these, warm, without making the vector of its question
heavy_recall_at_10, heavy_p50_ms, heavy_p95_ms   for a person who may find a tenth of all rows
index_s           to create the index while the database is in use; index_mb: its size
filled_s          to write all rows

Baseline: the same searches without the index, which compare the signs of all visible rows; and by_index_…, which use
the index for a small audience, too. The product does not do that, as it takes longer.

Vectors are as in `benchmarks.meaning`: topics, those of a thread and of a message, mixed to 256 numbers, with noise.
The heavy person wrote in a tenth of all threads. `--quick`: 30,000 vectors.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, insert, text

from agent.embeddings import Meaning
from agent.stored_messages import Author
from benchmarks.meaning import MIXED, SIZE, TOPICS
from benchmarks.report import Options, print_report, read_options
from benchmarks.search_scale import spread, vacuum
from store.databases.database import Database
from store.engine import open_store
from store.message_tables import conversation, embedding, message, participant, person
from store.search import hnsw
from store.search.query import SearchQuery
from store.search.vectors import nearness_of, pack_vector, sign_bits, visible_to
from store.turn_tables import turn
from tests.fakes.postgresql import running_postgres

Figures: TypeAlias = dict[str, float]
Matrix: TypeAlias = NDArray[np.float32]

WHOLE: Final = (1_000_000, 100)  # Vectors, searches of each kind
QUICK: Final = (30_000, 20)
THREAD: Final = 20
BATCH: Final = 200  # Threads that are written at once
EXACT: Final = 10
OPEN, CLOSED = "team:vectors", "group:vectors"
CLOSED_SHARE: Final = 1_000  # One in this many threads is a narrow audience's
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
SERVER: Final = ("shared_buffers=1GB", "max_wal_size=8GB", "maintenance_work_mem=4GB")


@dataclass(frozen=True, slots=True)
class Reader:
    """A person who may find one in `share` threads; if `closed`, only those of them with the narrow audience alone."""

    name: str
    person: str
    share: int
    closed: bool = False

    @property
    def step(self) -> int:
        """One in this many threads is found."""
        return max(self.share, CLOSED_SHARE) if self.closed else self.share

    @property
    def sought(self) -> SearchQuery:
        return SearchQuery((), 0, self.person, (CLOSED,) if self.closed else (CLOSED, OPEN), "")


NARROW: Final = (
    Reader("0.1pc", "seldom", 1_000),
    Reader("1pc", "often", 100),
    Reader("inside", "heavy", 10, closed=True),
)
HEAVY: Final = Reader("heavy", "heavy", 10)
PEOPLE: Final = {reader.person: reader.share for reader in NARROW}


def write_people(connection: Connection) -> None:
    rows = [{"number": n, "id": name, "name": name, "time_zone": "UTC"} for n, name in enumerate(PEOPLE, 1)]
    connection.execute(insert(person), rows)


def write_threads(connection: Connection, threads: range, vectors: Matrix) -> None:
    """Write these threads with their messages, whose ids start at 1, and their `vectors`."""
    audiences = {n: CLOSED if n % CLOSED_SHARE == 0 else OPEN for n in threads}
    rows = [{"id": f"t{n}", "audience": audience, "summary": "{}"} for n, audience in audiences.items()]
    connection.execute(insert(conversation), rows)
    wrote = [
        {"conversation": f"t{n}", "person": who} for who, share in PEOPLE.items() for n in threads if n % share == 0
    ]
    if wrote:
        connection.execute(insert(participant), wrote)
    about = [{"id": n + 1, "conversation": f"t{n}", "event_id": f"{n}", "message_id": f"{n}"} for n in threads]
    same = {"state": "done", "source": "vectors", "channel": "c", "person": "heavy"}
    connection.execute(insert(turn), [one | same for one in about])
    messages = [
        {
            "id": n * THREAD + at,
            "conversation": f"t{n}",
            "turn": n + 1,
            "author": Author.PERSON,
            "person": "heavy",
            "text": "x",
            "length": 1,
            "time": START,
            "audience": audience,
            "channel": "c",
        }
        for n, audience in audiences.items()
        for at in range(1, THREAD + 1)
    ]
    connection.execute(insert(message), messages)
    kept = [
        {"message": one["id"], "model": MIXED, "signs": sign_bits(vector), "vector": pack_vector(vector)}
        for one, vector in zip(messages, vectors.tolist(), strict=True)
    ]
    connection.execute(insert(embedding), kept)


class Topics:
    """Generates vectors as models make them, always the same."""

    def __init__(self) -> None:
        self.dice = np.random.default_rng(7)
        self.mixing = self.dice.standard_normal((TOPICS, SIZE), np.float32)

    def threads(self, count: int) -> tuple[Matrix, Matrix]:
        """Return the topics of threads, and the vectors of their messages, thread by thread."""
        about = self.dice.standard_normal((count, TOPICS), np.float32)
        return about, self.near(about.repeat(THREAD, axis=0), noise=1.0)

    def near(self, about: Matrix, noise: float = 0.0) -> Matrix:
        vectors = (about + self.dice.standard_normal(about.shape, np.float32)) @ self.mixing
        vectors += np.float32(noise) * self.dice.standard_normal(vectors.shape, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class Question:
    meaning: Meaning
    nearest: frozenset[int]
    """Return the ids of the messages that are truly nearest."""


def questions(reader: Reader, about: Matrix, vectors: Matrix, topics: Topics, count: int) -> list[Question]:
    threads = np.arange(0, len(about), reader.step)
    ids = (threads[:, None] * THREAD + np.arange(1, THREAD + 1)).ravel()
    theirs = vectors[ids - 1]
    asked = topics.near(about[topics.dice.choice(threads, count)])
    found = list[Question]()
    for vector in asked:
        nearest = ids[(-(theirs @ vector)).argsort()[:EXACT]]
        found.append(Question(Meaning(MIXED, tuple(vector.tolist())), frozenset(nearest.tolist())))
    return found


Search: TypeAlias = Callable[[Connection, Meaning], Sequence[int]]


def by_product(reader: Reader, total: int) -> Search:
    def search(connection: Connection, meaning: Meaning) -> list[int]:
        nearness = nearness_of(connection, meaning, reader.sought, (), total // reader.share)
        return sorted(nearness, key=lambda id_: nearness[id_], reverse=True)

    return search


def by_index(reader: Reader, total: int) -> Search:
    """Make all messages count as the reader's, so that the index is used in any case."""

    def search(connection: Connection, meaning: Meaning) -> list[int]:
        visible = visible_to(reader.sought)
        return hnsw.nearest(connection, reader.person, meaning, visible, total, EXACT) or []

    return search


async def ask(database: Database, asked: Sequence[Question], search: Search) -> tuple[float, list[float]]:
    """Return the share of the truly nearest that is found, and the milliseconds of each search; the first round warms
    up.
    """
    shares, took = list[float](), list[float]()
    for round_ in range(2):
        for question in asked:
            began = time.perf_counter()
            found = await database.read(search, question.meaning)
            if round_:
                took.append(1000 * (time.perf_counter() - began))
                shares.append(len(question.nearest.intersection(found[:EXACT])) / len(question.nearest))
    return fmean(shares), took


def index_bytes(connection: Connection) -> int:
    size = text("SELECT pg_total_relation_size(to_regclass(:name))")
    return connection.execute(size, {"name": hnsw.TABLE}).scalar_one()


async def measure(count: int, searches: int) -> tuple[Figures, Figures]:
    """Return the metrics, and those of the baseline."""
    topics, mine, baseline = Topics(), Figures(), Figures()
    with running_postgres(*SERVER) as server:
        await server.execute("CREATE EXTENSION vector", database="template1", user="postgres")
        async with server.database() as url:
            store = await open_store(url)
            database = store.database
            try:
                began = time.perf_counter()
                about, vectors = await fill(database, count // THREAD, topics)
                await vacuum(url)
                mine["filled_s"] = time.perf_counter() - began
                asked = {one: questions(one, about, vectors, topics, searches) for one in (*NARROW, HEAVY)}
                baseline |= await all_figures(database, asked, count)
                began = time.perf_counter()
                if not await hnsw.make_index(database, MIXED):
                    raise SystemExit("This PostgreSQL makes no index of vectors: is pgvector there?")
                mine["index_s"] = time.perf_counter() - began
                mine["index_mb"] = await database.read(index_bytes) / 1e6
                await vacuum(url)
                mine = await all_figures(database, asked, count) | mine
                for reader in NARROW:
                    share, took = await ask(database, asked[reader], by_index(reader, count))
                    baseline[f"by_index_recall_at_10_{reader.name}"] = share
                    baseline |= spread(took, f"by_index_{reader.name}_")
            finally:
                await store.close()
    return mine, baseline


async def fill(database: Database, threads: int, topics: Topics) -> tuple[Matrix, Matrix]:
    """Return the topics of threads, and the vectors of all messages, in the order of their ids."""
    abouts, vectors = list[Matrix](), list[Matrix]()
    await database.write(write_people)
    for first in range(0, threads, BATCH):
        some = range(first, min(first + BATCH, threads))
        about, said = topics.threads(len(some))
        await database.write(write_threads, some, said)
        abouts.append(about)
        vectors.append(said)
    return np.concatenate(abouts), np.concatenate(vectors)


async def all_figures(database: Database, asked: dict[Reader, list[Question]], count: int) -> Figures:
    narrow, figures, slow = dict[str, float](), Figures(), list[float]()
    for reader in NARROW:
        narrow[reader.name], took = await ask(database, asked[reader], by_product(reader, count))
        slow += took
        figures[f"vector_p95_ms_{reader.name}"] = spread(took)["p95_ms"]
    heavy, took = await ask(database, asked[HEAVY], by_product(HEAVY, count))
    shares = {f"vector_recall_at_10_{name}": share for name, share in narrow.items()}
    all_narrow = {"vector_recall_at_10": fmean(narrow.values()), "vector_p95_ms": spread(slow)["p95_ms"]}
    return all_narrow | shares | figures | {"heavy_recall_at_10": heavy, **spread(took, "heavy_")}


def run(options: Options) -> None:
    count, searches = QUICK if options.quick else WHOLE
    metrics, baseline = asyncio.run(measure(count, searches))
    print_report("vectors", metrics, baseline, options, f"{count:,} vectors of {SIZE} numbers")


if __name__ == "__main__":
    run(read_options("How near to exact a search by vectors is, and how fast, for audiences of any width."))
