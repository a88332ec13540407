"""What recall by meaning adds to recall by words, its cost, and how exact the search by vectors is.

python -m benchmarks.meaning --data FILE [--quick] [--json]     FILE: conversations, as for benchmarks.recall

recall_at_K, …       as in benchmarks.recall, by words and by the static model (the `meaning` extra); baseline: by words
                     alone, in the same run
vector_recall_at_10  share of the ten messages that are truly nearest in meaning among the ten that the search finds
vectors_ms           processor time of the search by vectors alone, mean
question_ms, message_ms   the same for making the vector of a question, and of a message
vector_bytes         of a message in the database, without its index

Everything goes through the product: its embedder and its port make the vectors, and MeaningfulMemories searches.
`measure_vectors` is for benchmarks.search_scale, whose words have no meaning: its vectors are topics, those of a thread
and of a message, mixed at random.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select

from agent.embeddings import Meaning
from agent.machine import CLOCK
from agent.memory.audience import may_flow_from
from agent.providers.static_embeddings import StaticEmbedder
from benchmarks.recall import QUICK, Scores, Stored, judge, store_talk, stored_wordings
from benchmarks.report import Options, print_report, read_options
from benchmarks.talks import Talk, read_talks
from bot.memory.meanings import MeaningfulMemories, MeaningLimits
from store.engine import Store, open_store
from store.message_tables import embedding, message, participant
from store.search.query import SearchQuery
from store.search.vectors import nearness_of, pack_vector, sign_bits

BATCH: Final = 64
EXACT: Final = 10
SIZE: Final = 256
# The number of topics of which vectors of SIZE numbers are mixed, besides noise: about that of real models.
TOPICS: Final = 48
MIXED: Final = "topics:256"  # Their model

Matrix = NDArray[np.float64]


async def measure(talks: Sequence[Talk]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics with meaning, and those of words alone."""
    embedder = StaticEmbedder()
    await embedder.embed(["warm"])
    by_words, by_meaning = Scores(), Scores()
    with TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'meaning.db'}")
        try:
            stored = [await store_talk(store, talk, number) for number, talk in enumerate(talks)]
            message_ms = await _embed(store, embedder)
            asking = MeaningfulMemories(store.memories, store.embeddings, embedder, store.spending, CLOCK)
            wordings = stored_wordings()
            for one in stored:
                await judge(store, one, by_words, wordings)
                await judge(replace(store, memories=asking), one, by_meaning, wordings)
            vectors = await _vectors_alone(store, embedder, stored)
            size = await store.database.read(_bytes_of_one)
        finally:
            await store.close()
            await embedder.aclose()
    return {**by_meaning.metrics(), **vectors, "message_ms": message_ms, "vector_bytes": size}, by_words.metrics()


async def _embed(store: Store, embedder: StaticEmbedder) -> float:
    """Make the vectors of all messages, and return the time of one."""
    count, chars = 0, MeaningLimits().message_chars
    began = time.process_time()
    while missing := await store.embeddings.missing(embedder.name, BATCH):
        embedded = await embedder.embed([one.text[:chars] for one in missing])
        await store.embeddings.keep(embedder.name, missing, embedded.vectors)
        count += len(missing)
    return 1000 * (time.process_time() - began) / max(count, 1)


async def _vectors_alone(store: Store, embedder: StaticEmbedder, stored: Sequence[Stored]) -> dict[str, float]:
    shares, took = list[float](), list[float]()
    questions, seconds = 0, 0.0
    for one in stored:
        began = time.process_time()
        asked = [await store.embeddings.without_names(one.asker.id, question.text) for question in one.talk.questions]
        meant = [Meaning(embedder.name, (await embedder.embed([text])).vectors[0]) for text in asked]
        questions, seconds = questions + len(meant), seconds + time.process_time() - began
        compared = await store.database.read(_compare, meant, one.asker.id, may_flow_from(one.place))
        shares += compared[::2]
        took += compared[1::2]
    question_ms = 1000 * seconds / max(questions, 1)
    return {"vector_recall_at_10": fmean(shares), "vectors_ms": fmean(took), "question_ms": question_ms}


def _compare(connection: Connection, meant: Sequence[Meaning], who: str, labels: frozenset[str]) -> list[float]:
    """Return for each meaning the share of the truly nearest messages that the search finds, and its milliseconds."""
    sought = SearchQuery((), 0, who, tuple(sorted(labels)), "")
    ids, vectors = _all_vectors(connection, meant[0].model, who, labels) if meant else ([], np.zeros((0, 0)))
    compared = list[float]()
    for meaning in meant:
        began = time.process_time()
        nearness = nearness_of(connection, meaning, sought, (), len(ids))
        took = 1000 * (time.process_time() - began)
        given = sorted(nearness, key=lambda id_: nearness[id_], reverse=True)[:EXACT]
        exact = (-(vectors @ np.asarray(meaning.vector))).argsort()[:EXACT].tolist()
        compared += [len({ids[int(at)] for at in exact} & set(given)) / max(len(exact), 1), took]
    return compared


def _all_vectors(connection: Connection, model: str, who: str, labels: frozenset[str]) -> tuple[list[int], Matrix]:
    """Return the nearest of all messages that the person may find by these labels."""
    visible = (
        select(embedding.c.message, embedding.c.vector)
        .join(message, message.c.id == embedding.c.message)
        .join(participant, participant.c.conversation == message.c.conversation)
        .where(participant.c.person == who, embedding.c.model == model, message.c.audience.in_(labels))
    )
    rows = connection.execute(visible).all()
    packed = np.frombuffer(b"".join(vector for _, vector in rows), np.float32).astype(np.float64)
    return [id_ for id_, _ in rows], packed.reshape(len(rows), -1)


def _bytes_of_one(connection: Connection) -> float:
    sizes = func.length(embedding.c.vector) + func.length(embedding.c.signs)
    return float(connection.execute(select(func.avg(sizes))).scalar_one())


def measure_vectors(connection: Connection, who: str, labels: frozenset[str], searches: int) -> list[float]:
    """Give a vector to all messages that the person may find, and search. Return for each search the share of the truly
    nearest ten that is found, and its processor time in milliseconds.
    """
    dice = np.random.default_rng(7)
    found = (
        select(message.c.id, message.c.conversation)
        .join(participant, participant.c.conversation == message.c.conversation)
        .where(participant.c.person == who)
    )
    mixing = dice.standard_normal((TOPICS, SIZE))
    threads = dict[str, Matrix]()
    for some in connection.execute(found).partitions(BATCH):
        rows = list[dict[str, object]]()
        for id_, thread in some:
            about = threads.setdefault(thread, dice.standard_normal(TOPICS))
            vector = ((about + dice.standard_normal(TOPICS)) @ mixing + dice.standard_normal(SIZE)).tolist()
            rows.append({"message": id_, "model": MIXED, "signs": sign_bits(vector), "vector": pack_vector(vector)})
        connection.execute(insert(embedding), rows)
    topics = list(threads.values())
    about = [topics[dice.integers(len(topics))] + dice.standard_normal(TOPICS) for _ in range(searches)]
    return _compare(connection, [Meaning(MIXED, tuple((one @ mixing).tolist())) for one in about], who, labels)


def run(options: Options) -> None:
    if options.data is None:
        raise SystemExit("Say where the conversations are: --data FILE, as for benchmarks.recall.")
    talks = read_talks(options.data)[: QUICK if options.quick else None]
    if sum(len(talk.questions) for talk in talks) < 2:
        raise SystemExit(f"{options.data} holds no questions with evidence.")
    metrics, baseline = asyncio.run(measure(talks))
    notes = f"{len(talks)} talks, {sum(len(talk.lines) for talk in talks)} messages; shares of recall in percent"
    print_report("meaning", metrics, baseline, options, notes)


if __name__ == "__main__":
    run(read_options("What recall by meaning adds, what it costs, and how exact it is."))
