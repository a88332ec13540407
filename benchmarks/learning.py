"""What is lost when facts come by the product's own learning, with models that read worse and worse.

    python -m benchmarks.learning --data PATH [--quick] [--json]       any file in StateBench's format

The path of a turn is that of `benchmarks.facts`; the learner is answered differently from run to run:

    named        states what the data writes, and names by number what that supersedes
    unnamed      the same without numbers: supersession is left to the rules of code
    drift        a key has another wording each time ("launch date", "date of launch", "launch"), nothing is named
    missed       every second write is missed, the others are named
    drift_missed both, and nothing is named
    sentences    no model: every sentence that states something about a subject is a fact, its subject the key
    nothing      learns nothing: all that remains comes from recall of the messages
    model        the model of COGENCY_LEARNING_MODEL or COGENCY_MODEL, if the environment names one

`required_in_context_…` and `queries_with_forbidden_…`: as in `benchmarks.facts`, of all that memory shows.
`current_values_known_…`: of the last value of the data under each key, the share that is in a valid fact at the end.
`old_values_standing_…`: of the values that the data wrote before, or supersedes by name, the share that is still in a
valid fact, if only as a quotation ("no more: …"). Both see the facts alone, since recall of the messages hides much of
what learning loses. Facts of the initial state count in neither.
`model_failures`: answers of the real model that could not be read, or did not come.
"""

import asyncio
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from agent.errors import CogencyError
from agent.memory.audience import label
from agent.memory.facts import Fact
from agent.memory.statements import READ_CHARS, WORD, read_statement, sentences, stem
from agent.messages import Message
from benchmarks.facts import (
    QUICK_TIMELINES,
    Bench,
    Extractor,
    Score,
    key_of,
    live_through,
    meant,
    open_bench,
    reads_well,
    shown_in,
    stating,
)
from benchmarks.real_model import learning_model, names_model
from benchmarks.report import Options, print_report, read_options
from benchmarks.statebench import Timeline, Write, read_timelines
from bot.chat.learning_model import LearningModel

KEY_WORDS: Final = 6
_VERSION: Final = re.compile(r"_(?:v\d+|corrected)$")


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a scripted model reads. `misses`: it misses every `misses`-th write; 0: none."""

    names: bool = True
    drifts: bool = False
    misses: int = 0

    def __call__(self, timeline: Timeline, writes: Sequence[Write], prompt: Sequence[Message]) -> str:
        shown = shown_in(prompt)
        order = [event for event in timeline.events if isinstance(event, Write)]
        found: list[tuple[str, str, Sequence[int]]] = []
        for write in writes:
            number = order.index(write)
            if self.misses and number % self.misses == self.misses - 1:
                continue
            key = drifted(key_of(write), number) if self.drifts else key_of(write)
            found.append((key, write.value, meant(timeline, shown, write) if self.names else ()))
        return stating(shown, found)


def drifted(key: str, number: int) -> str:
    """Return the key that a careless model uses the `number`-th time."""
    words = key.split()
    ways = (key, " of ".join([words[-1], " ".join(words[:-1])]) if words[1:] else f"the {key}", words[0], words[-1])
    return ways[number % len(ways)] if words else key


def by_sentences(_: Timeline, __: Sequence[Write], prompt: Sequence[Message]) -> str:
    """Learns without a model, and without the data's writes."""
    shown = shown_in(prompt)
    found: list[tuple[str, str, Sequence[int]]] = []
    for sentence in sentences(shown.messages[-1]):
        statement = read_statement(sentence)
        if statement.has_subject and not sentence.endswith("?"):
            words = [word for word in WORD.findall(sentence[:READ_CHARS]) if stem(word) in statement.subject]
            found.append((" ".join(words[:KEY_WORDS]), sentence, ()))
    return stating(shown, found)


def learns_nothing(_: Timeline, __: Sequence[Write], prompt: Sequence[Message]) -> str:
    return stating(shown_in(prompt), ())


QUALITIES: Final[Mapping[str, Extractor]] = {
    "named": reads_well,
    "unnamed": partial(reads_well, names=False),
    "drift": Quality(names=False, drifts=True),
    "missed": Quality(misses=2),
    "drift_missed": Quality(names=False, drifts=True, misses=2),
    "sentences": by_sentences,
    "nothing": learns_nothing,
}


@dataclass
class Learned:
    """The result of one quality: `known` of `current` values, `standing` of `old` ones."""

    score: Score = field(default_factory=Score)
    current: int = 0
    known: int = 0
    old: int = 0
    standing: int = 0
    failures: int = 0

    def add(self, timeline: Timeline, facts: Sequence[Fact]) -> None:
        """Count at the end of a timeline, by the facts that are valid then."""
        held = [f"{fact.key}: {fact.value}".casefold() for fact in facts if fact.is_valid]
        written = [event for event in timeline.events if isinstance(event, Write)]
        ended = {write.supersedes for write in written if write.supersedes}
        values: defaultdict[bool, set[str]] = defaultdict(set)
        for number, write in enumerate(written):
            if write.given or write.layer == "environment":
                continue
            later = written[number + 1 :]
            again = any(_VERSION.sub("", other.key) == _VERSION.sub("", write.key) for other in later)
            values[again or write.id in ended or (write.key in ended)].add(write.value)
        current, old = values[False], values[True] - values[False]
        self.current += len(current)
        self.known += sum(_stands(value, held) for value in current)
        self.old += len(old)
        self.standing += sum(_stands(value, held) for value in old)

    def metrics(self, name: str) -> dict[str, float]:
        shown = self.score.metrics()
        return {
            f"required_in_context_{name}": shown["required_in_context"],
            f"queries_with_forbidden_{name}": shown["queries_with_forbidden"],
            f"current_values_known_{name}": 100 * self.known / max(self.current, 1),
            f"old_values_standing_{name}": 100 * self.standing / max(self.old, 1),
        }


def _stands(value: str, held: Sequence[str]) -> bool:
    return any(value.casefold() in one for one in held)


async def measure(
    timelines: Sequence[Timeline], qualities: Mapping[str, Extractor | LearningModel]
) -> dict[str, Learned]:
    results = {name: Learned() for name in qualities}
    async with open_bench() as bench:
        for timeline in timelines:
            for name, learns in qualities.items():
                await _live(bench, timeline, name, learns, results[name])
    return results


async def _live(
    bench: Bench, timeline: Timeline, name: str, learns: Extractor | LearningModel, result: Learned
) -> None:
    world = bench.world(timeline, name, learns)
    for query, context in await live_through(world):
        result.score.add(query, context)
    facts = await bench.store.facts.readable(world.person.id, frozenset({label(world.place.audience)}))
    result.add(timeline, facts)
    result.failures += world.failures


async def run(options: Options, timelines: Sequence[Timeline], environ: Mapping[str, str]) -> None:
    """Return the qualities; the real model only if the environment names one, as no server is probed for it."""
    qualities: dict[str, Extractor | LearningModel] = dict(QUALITIES)
    async with AsyncExitStack() as stack:
        if names_model(environ):
            model = await stack.enter_async_context(learning_model(environ))
            if model.can_learn:
                qualities["model"] = model
        results = await measure(timelines, qualities)
    baseline = results.pop("nothing").metrics("nothing")
    metrics = {key: value for name, result in results.items() for key, value in result.metrics(name).items()}
    if "model" in results:
        metrics["model_failures"] = results["model"].failures
    print_report("learning", metrics, baseline, options)


def main() -> None:
    options = read_options(__doc__ or "")
    if options.data is None:
        raise SystemExit("Say where the timelines are: --data PATH")
    timelines = read_timelines(options.data)
    try:
        some = timelines[:QUICK_TIMELINES] if options.quick else timelines
        asyncio.run(run(options, some, os.environ))  # noqa: TID251 -- as the entry point of the bot
    except CogencyError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
