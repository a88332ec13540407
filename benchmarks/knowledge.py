"""How well, and how fast, a question finds passages in the documents of a place.

python -m benchmarks.knowledge --data FILE [--engine postgresql] [--quick] [--json]

FILE is in the format of SQuAD: documents, with questions whose answers are at known positions in them. Measured with
COVID-QA of deepset (Apache-2.0, 98 articles of CORD-19 that are CC BY; data/question-answering/200423_covidQA.json in
github.com/deepset-ai/COVID-QA): whole articles, which our own code divides into passages, and 1,380 questions. XQuAD
(CC BY-SA 4.0, github.com/google-deepmind/xquad) is read, too: each paragraph of an article then counts as a page. No
set is part of this repository.

A question counts as answered by the first K passages if the position of an answer is in one of them. The baseline is
SQLite's FTS5 on the same passages with their headings, searched for any of the question's words and ranked by `bm25()`.
The time of a search is measured among 100,000 passages of one place, made of the words of FILE.
"""

import asyncio
import json
import random
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from agent.memory.audience import TeamAudience, label
from agent.memory.documents import DocumentPage, DocumentQuery, NewDocument, Passage, passages_of
from benchmarks.report import Options, print_report, read_options
from store.engine import Store, open_store
from tests.fakes.postgresql import running_postgres

AUDIENCE: Final = label(TeamAudience("team"))
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
FIRST: Final = (1, 5, 10)
QUICK: Final = (150, 5_000, 40)
WHOLE: Final = (10_000, 100_000, 300)  # Questions, passages for the timing, and timed searches
A_DOCUMENT: Final = 1_000  # Passages of a generated document
PASSAGE_WORDS: Final = (60, 220)
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Asked:
    """`answers`: (document, passage from 1) of each passage in which an answer starts."""

    question: str
    answers: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Told:
    documents: dict[str, list[Passage]]
    asked: list[Asked]


def read_told(path: Path, questions: int) -> Told:
    """Return the documents of a file in SQuAD's format, as passages, and its questions."""
    documents: dict[str, list[Passage]] = {}
    asked: list[Asked] = []
    for at, article in enumerate(json.loads(path.read_text())["data"]):
        name = str(article.get("title") or f"document {at + 1}").replace("_", " ")
        pages = [DocumentPage(part["context"], number) for number, part in enumerate(article["paragraphs"], 1)]
        passages = passages_of(pages)
        documents[name] = passages
        for part, page in zip(article["paragraphs"], pages, strict=True):
            for qa in part["qas"]:
                where = {(name, at_) for answer in qa["answers"] for at_ in _holding(passages, page, answer)}
                if where:
                    asked.append(Asked(qa["question"], frozenset(where)))
    random.Random(7).shuffle(asked)
    return Told(documents, asked[:questions])


def _holding(passages: Sequence[Passage], page: DocumentPage, answer: dict[str, Any]) -> list[int]:
    """Return the passages in which an answer starts: those with its first words and the text before them."""
    begin = int(answer["answer_start"])
    around = _plain(page.text[max(begin - 40, 0) : begin + 40])
    text = _plain(answer["text"][:40])
    near = [n for n, one in enumerate(passages, 1) if around and around in _plain(one.text)]
    same = [n for n, one in enumerate(passages, 1) if one.page in (None, page.number) and text in _plain(one.text)]
    return near or same


def _plain(text: str) -> str:
    return " ".join(text.split())


class Fts5Baseline:
    """Plain full-text search, as a simple program with SQLite would use it."""

    def __init__(self, told: Told) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE held USING fts5(name UNINDEXED, number UNINDEXED, heading, body, tokenize='porter')"
        )
        rows = (
            (name, n, f"{name} {passage.heading}", passage.text)
            for name, some in told.documents.items()
            for n, passage in enumerate(some, 1)
        )
        self._db.executemany("INSERT INTO held VALUES (?, ?, ?, ?)", rows)

    def find(self, question: str, limit: int) -> list[tuple[str, int]]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        found = self._db.execute(
            "SELECT name, number FROM held WHERE held MATCH ? ORDER BY rank LIMIT ?", (words, limit)
        )
        return [(name, number) for name, number in found]


async def keep(store: Store, name: str, passages: Sequence[Passage]) -> None:
    await store.documents.keep(NewDocument(name, AUDIENCE, "slack:T1", "C1", "slack:T1:U1", START, tuple(passages)))


async def found_by_us(store: Store, question: str, limit: int = FIRST[-1]) -> list[tuple[str, int]]:
    query = DocumentQuery(question, frozenset({AUDIENCE}), limit=limit)
    return [(one.document.name, one.number) for one in await store.documents.search(query)]


def recall_at(found: Sequence[Sequence[tuple[str, int]]], asked: Sequence[Asked]) -> dict[str, float]:
    """Return shares of the questions in percent."""
    return {
        f"recall_at_{k}": 100
        * fmean(bool(one.answers.intersection(hits[:k])) for hits, one in zip(found, asked, strict=True))
        for k in FIRST
    }


def made_passages(told: Told, count: int) -> list[Passage]:
    """Generate passages with the words of the documents in their frequencies, in random order."""
    dice = random.Random(3)
    words = [word for some in told.documents.values() for passage in some for word in passage.text.split()]
    headings = [" ".join(dice.sample(words, 3)) for _ in range(200)]
    return [
        Passage(" ".join(dice.choices(words, k=dice.randint(*PASSAGE_WORDS))), dice.choice(headings), at)
        for at in range(count)
    ]


async def measure_found(store: Store, told: Told) -> list[list[tuple[str, int]]]:
    for name, passages in told.documents.items():
        await keep(store, name, passages)
    return [await found_by_us(store, question.question) for question in told.asked]


async def measure_time(store: Store, told: Told, passages: int, searches: int) -> dict[str, float]:
    begin = time.process_time()
    generated = made_passages(told, passages)
    for at in range(0, passages, A_DOCUMENT):
        await keep(store, f"made {at}", generated[at : at + A_DOCUMENT])
    spent = time.process_time() - begin
    times, cpu = list[float](), list[float]()
    for round_ in range(2):  # the first search warms up
        for question in told.asked[:searches]:
            begin, cpu_start = time.perf_counter(), time.process_time()
            await found_by_us(store, question.question)
            if round_:
                times.append(1000 * (time.perf_counter() - begin))
                cpu.append(1000 * (time.process_time() - cpu_start))
    cuts = quantiles(times, n=20)
    return {
        "p50_ms": cuts[9],
        "p95_ms": cuts[18],
        "cpu_p95_ms": quantiles(cpu, n=20)[18],
        "passages": passages,
        "learned_ms_per_passage": 1000 * spent / passages,
    }


async def measure(url: str, other: str, told: Told, size: tuple[int, int]) -> dict[str, float]:
    store = await open_store(url)
    try:
        found = await measure_found(store, told)
    finally:
        await store.close()
    store = await open_store(other)
    try:
        timed = await measure_time(store, told, *size)
    finally:
        await store.close()
    return recall_at(found, told.asked) | timed | {"questions": len(told.asked)}


def run(options: Options) -> None:
    if options.data is None:
        raise SystemExit("--data FILE is needed: see the docstring for the set and its licence")
    questions, *size = QUICK if options.quick else WHOLE
    told = read_told(options.data, questions)
    plain = Fts5Baseline(told)
    baseline = recall_at([plain.find(one.question, FIRST[-1]) for one in told.asked], told.asked)
    sizes = (size[0], size[1])
    if options.engine == "postgresql":
        with running_postgres("shared_buffers=128MB") as server:
            for name in ("told", "made"):
                asyncio.run(server.execute(f"CREATE DATABASE {name}"))
            metrics = asyncio.run(measure(server.url("told"), server.url("made"), told, sizes))
    else:
        with TemporaryDirectory() as folder:
            urls = [f"sqlite:///{Path(folder) / name}.db" for name in ("told", "made")]
            metrics = asyncio.run(measure(urls[0], urls[1], told, sizes))
    print_report("knowledge", metrics, baseline, options, f"{options.engine or 'sqlite'}; {options.data.name}")


if __name__ == "__main__":
    run(read_options("How well a question finds what a place knows.", engines=("sqlite", "postgresql")))
