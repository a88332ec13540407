"""How much of the evidence for a question recall finds in past threads, and how fast.

python -m benchmarks.recall --data FILE [--quick] [--json]     FILE: a format that benchmarks.talks reads, or a folder

recall_at_K           share of a question's evidence messages among the first K hits, mean over the questions
mrr                   1 / rank of the first evidence message, mean
thread_recall_at_5    share of the evidence's threads among the first 5 different threads of the hits
recall_at_10_cN       the questions of category N
shown_to_model        share of the evidence in what the recall tool shows the model, in shown_tokens_mean tokens
*_wordings            the same of the questions for which other wordings are stored, searched with all of them at once,
                      worded_questions of them
*_unworded            of these very questions without their wordings
p50_ms, p95_ms        one search through the port Memories, for as many hits as the tool requests

Shares are in percent. `benchmarks.talks` says how data are mapped. Everything goes through the product: the ledger's
own functions accept the messages and store the replies, all talks in one store on a new SQLite file (a talk in one
transaction). In a talk of two people both write in threads of a place that both can read; in a talk with a bot they are
the person's DMs. The question is asked in a new thread of the same place, a day after the last message, in UTC. A
message of the bot that follows no question answers an empty one; a person who writes nothing in a session joins it with
an empty message. `--quick` takes the first two talks.

Wordings are in benchmarks/data/wordings.json, under the first 16 digits of the question's SHA-256, so that no text of
the sets is copied: 3 to 5 for each of a sample of LoCoMo's, REALTALK's and BEAM's questions. They were written from the
questions alone, without knowledge of the messages or the answers.

Baselines, in the same run: plain FTS5 (Porter stems, no stop words, any word, bm25()) under the same names, and SQL
LIKE of the whole question, newest first, under like_*.
"""

import asyncio
import json
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from statistics import fmean, quantiles
from tempfile import TemporaryDirectory
from typing import Final

from sqlalchemy import Connection

from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, may_flow_from
from agent.memory.periods import periods_in
from agent.messages import JsonObject, estimate_tokens
from agent.ports.tools import ToolContext, ToolOutput
from agent.recall_query import RecallQuery
from agent.tools.recall import MAX_HITS, RecallTool
from agent.turn_records import Claiming, Closing
from benchmarks.report import Options, print_report, read_options
from benchmarks.talks import Line, Question, Talk, is_bot, read_talks
from store.engine import Store, open_store
from store.erased_ids import ErasedIds
from store.search.text import indexed_text, keywords
from store.turns import ledger, turn_queue

QUICK: Final = 2
WORDINGS: Final = Path(__file__).parent / "data" / "wordings.json"
DEEP: Final = 200  # Hits in the ranked list that count: enough for five different threads
LEASE: Final = timedelta(minutes=1)
IDS: Final = ErasedIds(b"benchmark")


@dataclass(frozen=True, slots=True)
class Stored:
    """A talk in the store. `ids`: the row of each message, by its key; `threads`: the session of each row."""

    talk: Talk
    asker: Person
    place: Place
    ids: dict[str, int]
    threads: dict[int, int]
    now: datetime


@dataclass(slots=True)
class Scores:
    """The results of a retriever, one number for each question; `seconds`: of each search."""

    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: list[float] = field(default_factory=list[float])

    def add(self, question: Question, evidence: set[int], hits: Sequence[int], threads: dict[int, int]) -> None:
        for k in (1, 5, 10):
            self.values[f"recall_at_{k}"].append(_share(evidence, hits[:k]))
        first = next((place for place, hit in enumerate(hits, 1) if hit in evidence), None)
        self.values["mrr"].append(1 / first if first else 0.0)
        found = list(dict.fromkeys(threads[hit] for hit in hits))[:5]
        self.values["thread_recall_at_5"].append(_share({threads[one] for one in evidence}, found))
        self.values[f"recall_at_10_c{question.category}"].append(_share(evidence, hits[:10]))

    def add_shown(self, evidence: set[int], hits: Sequence[int], shown: ToolOutput, asked: str = "") -> None:
        """Add the results of one way of asking (`asked`: the metrics' suffix), and the part shown to the model."""
        if asked:
            self.values[f"recall_at_10{asked}"].append(_share(evidence, hits[:10]))
        self.values[f"shown_to_model{asked}"].append(_share(evidence, shown.sources))
        self.values[f"shown_tokens_mean{asked}"].append(estimate_tokens(shown.text))

    def metrics(self) -> dict[str, float]:
        found = {name: _mean(name, values) for name, values in sorted(self.values.items())}
        if worded := self.values.get("recall_at_10_wordings"):
            found["worded_questions"] = len(worded)
        cuts = quantiles(self.seconds, n=20)
        return {**found, "p50_ms": 1000 * cuts[9], "p95_ms": 1000 * cuts[18]}


def _mean(name: str, values: list[float]) -> float:
    """Return shares in percent, as in the published tables."""
    return fmean(values) if name == "mrr" or name.startswith("shown_tokens") else 100 * fmean(values)


def _share(wanted: set[int], found: Iterable[int]) -> float:
    return len(wanted & set(found)) / len(wanted)


async def store_talk(store: Store, talk: Talk, number: int) -> Stored:
    """Store a talk: the threads of its people, or of its person and the bot."""
    alone = any(line.by_bot for line in talk.lines)
    asker = _person(talk.asker, number)
    place = Place(PersonAudience(asker.id) if alone else GroupAudience(f"talk {number}"))
    ids, threads = await store.database.write(_take_in, talk, number, place)
    last = max((line.time for line in talk.lines), default=datetime(2000, 1, 1, tzinfo=UTC))
    return Stored(talk, asker, place, ids, threads, last + timedelta(days=1))


def _take_in(connection: Connection, talk: Talk, number: int, place: Place) -> tuple[dict[str, int], dict[int, int]]:
    ids: dict[str, int] = {}
    threads: dict[int, int] = {}
    for index, line in enumerate(talk.lines):
        before = talk.lines[index - 1] if index else None
        after = talk.lines[index + 1] if index + 1 < len(talk.lines) else None
        if not line.by_bot:
            asked = _incoming(line, line.text, number, place)
            answered = after is not None and after.by_bot and after.session == line.session
            ids[line.key] = _ask(connection, asked) if answered else _overhear(connection, asked)
        else:
            if before is None or before.by_bot or before.session != line.session:
                _ask(connection, _incoming(line, "", number, place, talk.asker))
            ids[line.key] = _answer(connection, line)
        threads[ids[line.key]] = line.session
    heard = {line.session for line in talk.lines if line.speaker == talk.asker}
    for line in {line.session: line for line in talk.lines if line.session not in heard}.values():
        _overhear(connection, _incoming(replace(line, key=f"{line.key}, joined"), "", number, place, talk.asker))
    return ids, threads


def _incoming(line: Line, text: str, number: int, place: Place, speaker: str = "") -> Incoming:
    key = f"{number}:{line.key}"
    thread = f"talk {number}, session {line.session}"
    who = _person(speaker or line.speaker, number)
    return Incoming("benchmark", key, thread, key, thread, who, place, text, line.time, f"https://example.test/{key}")


def _person(name: str, number: int) -> Person:
    return Person(f"{number}:{name}", name)


def _ask(connection: Connection, asked: Incoming) -> int:
    ledger.accept(connection, asked, indexed_text(asked.text, stemmed=False), IDS)
    return _newest(connection)


def _overhear(connection: Connection, said: Incoming) -> int:
    ledger.accept(connection, said, indexed_text(said.text, stemmed=False), IDS, state="done")
    return _newest(connection)


def _answer(connection: Connection, line: Line) -> int:
    claim = turn_queue.claim_turn(connection, Claiming("benchmark", line.time, LEASE))
    if claim is None:
        raise SystemExit(f"{line.key} answers nothing.")
    ledger.finish(
        connection, claim, Closing(Outcome.ANSWERED, line.text), indexed_text(line.text, stemmed=False), line.time
    )
    return _newest(connection)


def _newest(connection: Connection) -> int:
    return connection.exec_driver_sql("SELECT max(id) FROM message").scalar_one()


async def judge(store: Store, stored: Stored, scores: Scores, wordings: Mapping[str, Sequence[str]]) -> None:
    """Ask the questions of a talk, each as it is, and also with its other wordings, if any."""
    for question in stored.talk.questions:
        evidence = {stored.ids[key] for key in question.evidence}
        begin = time.perf_counter()
        await store.memories.search(_query(stored, question, MAX_HITS))
        scores.seconds.append(time.perf_counter() - begin)
        hits, shown = await _asked(store, stored, question)
        scores.add(question, evidence, hits, stored.threads)
        scores.add_shown(evidence, hits, shown)
        if others := wordings.get(key_of(question)):
            scores.add_shown(evidence, hits, shown, "_unworded")
            scores.add_shown(evidence, *await _asked(store, stored, question, others), asked="_wordings")


async def _asked(
    store: Store, stored: Stored, question: Question, wordings: Sequence[str] = ()
) -> tuple[list[int], ToolOutput]:
    """Return the hits, the best first, and those that the tool shows."""
    query = replace(_query(stored, question, DEEP), wordings=tuple(wordings))
    found = [hit.message.id for hit in await store.memories.search(query)]
    args: JsonObject = {"query": question.text, "wordings": list(wordings)}
    context = ToolContext(stored.asker, stored.place, "a new thread", 0, stored.now)
    return found, await RecallTool(store.memories).run(args, context)


def key_of(question: Question) -> str:
    return sha256(question.text.encode()).hexdigest()[:16]


def stored_wordings() -> dict[str, list[str]]:
    return json.loads(WORDINGS.read_text(encoding="utf-8"))


def _query(stored: Stored, question: Question, limit: int) -> RecallQuery:
    periods = periods_in(question.text, stored.now, stored.asker.time_zone)
    return RecallQuery(stored.asker.id, question.text, may_flow_from(stored.place), "a new thread", limit, periods)


class Plain:
    """The baselines: a table and its plain full-text index."""

    def __init__(self, talks: Sequence[Stored]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, talk INTEGER, text TEXT)")
        self._database.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
        for number, stored in enumerate(talks):
            rows = [(stored.ids[line.key], number, line.text) for line in stored.talk.lines]
            self._database.executemany("INSERT INTO said VALUES (?, ?, ?)", rows)
            self._database.executemany("INSERT INTO words (rowid, text) VALUES (?1, ?3)", rows)

    def full_text(self, number: int, question: str) -> list[int]:
        wanted = " OR ".join(f'"{word}"' for word in keywords(question))
        return self._ids(
            "SELECT said.id FROM words JOIN said ON said.id = words.rowid"
            " WHERE words MATCH ?1 AND said.talk = ?2 ORDER BY bm25(words) LIMIT ?3",
            (wanted or '""', number, DEEP),
        )

    def like(self, number: int, question: str) -> list[int]:
        escaped = re.sub(r"([%_\\])", r"\\\1", question)
        return self._ids(
            r"SELECT id FROM said WHERE text LIKE ?1 ESCAPE '\' AND talk = ?2 ORDER BY id DESC LIMIT ?3",
            (f"%{escaped}%", number, DEEP),
        )

    def judged(self, talks: Sequence[Stored]) -> dict[str, float]:
        full_text, like = Scores(), Scores()
        for number, stored in enumerate(talks):
            for question in stored.talk.questions:
                evidence = {stored.ids[key] for key in question.evidence}
                for search, scores in ((self.full_text, full_text), (self.like, like)):
                    begin = time.perf_counter()
                    hits = search(number, question.text)
                    scores.seconds.append(time.perf_counter() - begin)
                    scores.add(question, evidence, hits, stored.threads)
        return {**full_text.metrics(), **{f"like_{name}": value for name, value in like.metrics().items()}}

    def _ids(self, sql: str, bound: tuple[str, int, int]) -> list[int]:
        return [row[0] for row in self._database.execute(sql, bound)]


async def measure(
    talks: Sequence[Talk], wordings: Mapping[str, Sequence[str]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics, and those of the baselines. `wordings`: by the questions' keys (`key_of`)."""
    with TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'recall.db'}")
        try:
            stored = [await store_talk(store, talk, number) for number, talk in enumerate(talks)]
            scores = Scores()
            for one in stored:
                await judge(store, one, scores, wordings)
        finally:
            await store.close()
    return scores.metrics(), Plain(stored).judged(stored)


def run(options: Options) -> None:
    if options.data is None:
        raise SystemExit("Say where the conversations are: --data FILE or FOLDER (docs/recall.md names some).")
    talks = read_talks(options.data)[: QUICK if options.quick else None]
    messages, questions = sum(len(talk.lines) for talk in talks), sum(len(talk.questions) for talk in talks)
    if questions < 2:
        raise SystemExit(f"{options.data} holds no questions with evidence.")
    metrics, baseline = asyncio.run(measure(talks, stored_wordings()))
    bots = sum(is_bot(line.speaker) for talk in talks for line in talk.lines)
    notes = f"{len(talks)} talks, {messages} messages ({bots} of a bot), {questions} questions; shares in percent"
    print_report("recall", metrics, baseline, options, notes)


if __name__ == "__main__":
    run(read_options("How much of the evidence recall finds, and how fast."))
