"""How well recall finds a message by a question in other forms and words, in ten languages.

python -m benchmarks.languages [--quick] [--json]

recall_at_K_LANG   share of the questions whose message is among the first K hits, in percent; recall_at_K: the mean of
                   the languages

The messages and questions are in `benchmarks/data/languages`, one file for each language: a line that begins with "? "
is the question that the line before it answers, all others are chat messages. A question never repeats its message: it
uses other inflections and derivations, splits or joins compounds, and has some synonyms. They were written before any
stemmer was tried on them. Every message is in its own thread, so that no neighbour helps; two people write them in
turn. `…_unseen`: forty more in each of six languages, to which nobody may tune the search
(`benchmarks/data/languages_unseen/README.md`). Everything goes through the product, as in `benchmarks.recall`;
`--quick` takes three languages.

Baseline, in the same run: FTS5 on the same messages with the tokenizer "porter unicode61", any word of the question,
bm25().
"""

import asyncio
import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Final

from agent.memory.audience import may_flow_from
from agent.recall_query import RecallQuery
from benchmarks.recall import Stored, store_talk
from benchmarks.report import Options, print_report, read_options
from benchmarks.talks import Line, Question, Talk
from store.engine import Store, open_store

DATA: Final = Path(__file__).parent / "data" / "languages"
LANGUAGES: Final = ("en", "de", "fr", "es", "ru", "tr", "ja", "zh", "ko", "ar")
UNSEEN_DATA: Final = DATA.with_name("languages_unseen")
UNSEEN: Final = ("de", "es", "fr", "it", "ja", "zh")
QUICK: Final = ("de", "ru", "zh")
PLACES: Final = (1, 5, 10)
ASKER: Final = "Ada"
BEGIN: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
ASKS: Final = "? "


def talk_of_lines(written: Sequence[str]) -> Talk:
    """Return the talk of a file's lines. A message's key is the number of its line."""
    said: list[str] = []
    asked: list[Question] = []
    for line in written:
        if line.startswith(ASKS):
            asked.append(Question(line.removeprefix(ASKS), frozenset({str(len(said) - 1)}), 1))
        else:
            said.append(line)
    lines = (
        Line(str(at), at, ASKER if at % 2 == 0 else "Ben", text, BEGIN + timedelta(hours=at))
        for at, text in enumerate(said)
    )
    return Talk(ASKER, tuple(lines), tuple(asked))


def read_language(language: str, folder: Path = DATA) -> Talk:
    return talk_of_lines((folder / f"{language}.txt").read_text(encoding="utf-8").splitlines())


async def product_hits(store: Store, stored: Stored, question: Question) -> list[int]:
    asked = RecallQuery(stored.asker.id, question.text, may_flow_from(stored.place), "a new thread", max(PLACES))
    return [hit.message.id for hit in await store.memories.search(asked)]


class PlainIndex:
    """The baseline: FTS5's own tokenizer and its English stemmer."""

    def __init__(self, stored: Stored) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
        rows = [(stored.ids[line.key], line.text) for line in stored.talk.lines]
        self._database.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)

    def hits(self, question: Question) -> list[int]:
        wanted = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        found = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
        return [row[0] for row in self._database.execute(found, (wanted, max(PLACES)))]


def found_at(stored: Stored, question: Question, hits: Sequence[int], places: int) -> float:
    return 100 * float(any(stored.ids[key] in hits[:places] for key in question.evidence))


async def measure(languages: Sequence[str], data: Path = DATA) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics, and those of the baseline."""
    metrics: dict[str, float] = {}
    baseline: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'languages.db'}")
        try:
            for number, language in enumerate(languages):
                stored = await store_talk(store, read_language(language, data), number)
                plain = PlainIndex(stored)
                ours = [(question, await product_hits(store, stored, question)) for question in stored.talk.questions]
                theirs = [(question, plain.hits(question)) for question in stored.talk.questions]
                for found, into in ((ours, metrics), (theirs, baseline)):
                    for k in PLACES:
                        into[f"recall_at_{k}_{language}"] = fmean(found_at(stored, one, hits, k) for one, hits in found)
        finally:
            await store.close()
    for into in (metrics, baseline):
        into |= {f"recall_at_{k}": fmean(into[f"recall_at_{k}_{language}"] for language in languages) for k in PLACES}
    return metrics, baseline


def table(languages: Sequence[str], metrics: Mapping[str, float], baseline: Mapping[str, float]) -> str:
    """Format the metrics in Markdown, as in docs/recall.md."""
    rows = [
        (f"{name}, R@{k}", [f"{found[f'recall_at_{k}_{language}']:.0f}" for language in languages])
        for name, found in (("Cogency", metrics), ("plain FTS5", baseline))
        for k in PLACES
    ]
    lines = [("", languages), ("---", ["---"] * len(languages)), *rows]
    return "\n".join(f"| {' | '.join([first, *cells])} |" for first, cells in lines)


def run(options: Options) -> None:
    languages = QUICK if options.quick else LANGUAGES
    metrics, baseline = asyncio.run(measure(languages))
    shown = table(languages, metrics, baseline)
    if not options.quick:
        unseen, plain = asyncio.run(measure(UNSEEN, UNSEEN_DATA))
        metrics |= {f"{name}_unseen": share for name, share in unseen.items()}
        baseline |= {f"{name}_unseen": share for name, share in plain.items()}
        shown = f"{shown}\n\nUnseen\n\n{table(UNSEEN, unseen, plain)}"
    print_report("languages", metrics, baseline, options, shown)


if __name__ == "__main__":
    run(read_options("How well recall finds a message by other forms and words, in ten languages."))
