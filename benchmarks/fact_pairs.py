"""Pairs of statements, of which the newer one supersedes the older one or not: what each road makes of them.

    python -m benchmarks.facts --pairs FILE [--json]

FILE holds one JSON object a line: {"older", "newer", "must_supersede", "lang", "key_older", "key_newer", "bare_older",
"bare_newer"}. `older` and `newer` are what a person says in two messages, the keys and the bare values what a model
would make of them. `benchmarks/data/statement_pairs*.jsonl` hold 4,380 pairs in ten languages. They were written before
the rules that decide them, or without knowledge of the rules, and most of the rules were then mended with them in view:

    statement_pairs, …_later, …_at_first_sight     1,245 pairs, mostly look-alikes with a word of change
    …_everyday, …_everyday_later, …_ordinary       931, what people tell each other in passing
    …_workplace, …_halves, …_small_changes         548, most of them from workplaces
    …_look_alikes                                  128 with one key each, which must all stand
    …_blind                                        280 by an author who did not know the rules
    …_careless_keys                                1,008 by five such authors, in whose look-alikes two of three have
                                                   one key, as careless models give
    …_unseen                                       240 by a sixth; no rule was mended for it

What they have taught: rules on words do not reach on unseen pairs what they reach on seen ones. Rules that replaced
nothing wrongly in the first five rows replaced 135 of the first 528 of the sixth with a key, 25 of them wrongly (81 %
precision, where 98 is the goal). So since then a word of change is not enough, and something else has to show that it
is about the value (`agent.memory.attributes`); the rest is marked. That was done in two steps, and at first sight 2 of
28 replaced pairs were wrong after the first, 4 of 41 after the second, in the next sets of 240, and none of 28 in the
last one, on every road. With a key, 12 to 85 % of what changed is replaced by rules, by file, and 23 % of the last.

The others are decided by a model that is asked about the two statements alone, and first about pairs whose answers are
known (`agent.memory.doubts`). A large model answered the prompts of the last three rows as this benchmark builds them,
ten pairs in each: of 539 marked look-alikes it called none outdated, and of 581 changes all but 12. So with its
verdicts, precision is 100 % and recall with a key 91.7 % on the last row, 78.8, 90.0, 83.8, 85.8 and 95.0 % on the sets
of the one before, and 88.6 % on the blind one: more than 75 at 98, which rules alone do not reach. The rest has two
keys without a common word, or is taken for two things.

A small model decides nothing of this well: of one of these sets Qwen2.5-Coder-1.5B-Instruct (Q4_K_M) called 40 of 41
marked pairs outdated if it was asked about one at a time, and about two thirds of either kind with ten in a call. It
was wrong about a known pair in each of 46 calls, so nothing that it said counted.

A road is a way into memory, taken with the product's own parts and a store in memory:

    sentence            `remember` with the sentence alone
    key                 `remember` with a key
    key_named           the same, and the model names the older fact where the newer one replaces it
    key_wrong_named     the same, and the model names the older fact always, also where both must stand
    learned_bare        learning, whose model answers with key and bare value
    learned_wrong_named the same, and the model names the older fact always
    judged              `key`, and then a model that is always right is asked about what is marked
    judged_always       `key`, and then a model that is right about the known pairs, and calls all that is marked
                        outdated: what remains is what code checks
    sentence_judged, sentence_judged_always  the same after `sentence`
    judged_model        `key`, and then the model of COGENCY_MODEL is asked about what is marked, one pair in each call,
                        as after a message; only if the environment names a model
    judged_model_many   the same with ten pairs in each call

`pairs_precision_…`: of the superseded older statements, those that had to be. `pairs_recall_…`: of those that had to
be, the superseded ones. `pairs_marked_sentence`: of those that had to be, the share that the model is shown as possibly
outdated, or not shown any more; `pairs_marked_key`: the same on the road `key`. `pairs_marked_harmless`: of the others,
the share that is shown so on the road `sentence`.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, cast

from agent.admission_terms import Authority
from agent.errors import ToolError
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.jobs import Job
from agent.loop import as_data, complete
from agent.memory.audience import PersonAudience, Place, label
from agent.memory.doubts import KNOWN_PAIRS, NOTHING_SETTLED, doubts_prompt, read_doubts
from agent.memory.facts import Fact
from agent.memory.layers import MAY_BE_OUTDATED, ContextReader, Environment, IdentityRole, Layers, memory_context
from agent.memory.profile import Partition, learned
from agent.memory.synthesizer import ImpressionSynthesizer
from agent.messages import JsonObject, Message, ModelCall
from agent.ports.tools import ToolContext
from agent.providers.scripted import ScriptedProvider
from agent.tools.remember import RememberTool
from agent.turn_records import Claiming, Closing
from bot.chat.foreground import ForegroundPriority
from bot.chat.learning_model import LearningModel
from bot.memory.learning import DOUBTS, OPTIONS, Learner
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

STATEMENT_PAIRS: Final = Path(__file__).parent / "data" / "statement_pairs.jsonl"
EPOCH: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
BETWEEN: Final = timedelta(days=9)  # The two messages are from different days
LEASE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class StatementPair:
    older: str
    newer: str
    must_supersede: bool
    lang: str
    key_older: str
    key_newer: str
    bare_older: str
    bare_newer: str

    @classmethod
    def of(cls, line: str) -> "StatementPair":
        """Raises KeyError for a missing field and ValueError for what is no JSON."""
        row = cast("dict[str, str]", json.loads(line))
        texts = {name: str(row[name]) for name in cls.__slots__ if name != "must_supersede"}
        return cls(must_supersede=bool(row["must_supersede"]), **texts)


def read_statement_pairs(path: Path) -> list[StatementPair]:
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        return [StatementPair.of(line) for line in lines if line.strip()]
    except (KeyError, ValueError) as wrong:
        raise SystemExit(f"{path} does not hold pairs of statements (see benchmarks.fact_pairs): {wrong!r}") from wrong


@dataclass(frozen=True, slots=True)
class Stated:
    """One of the two messages, and what a model makes of it."""

    text: str
    key: str
    bare: str
    time: datetime

    @classmethod
    def both(cls, pair: StatementPair) -> tuple["Stated", "Stated"]:
        return (
            cls(pair.older, pair.key_older, pair.bare_older, EPOCH),
            cls(pair.newer, pair.key_newer, pair.bare_newer, EPOCH + BETWEEN),
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """One person, who talks with the bot in direct messages."""

    store: Store
    person: Person

    @property
    def place(self) -> Place:
        return Place(PersonAudience(self.person.id))

    async def say(self, stated: Stated) -> int:
        """Store a message as an answered turn, and return its id."""
        channel, number = self.person.id, stated.time.isoformat()
        incoming = Incoming(
            source="bench",
            event_id=f"{channel}/{number}",
            channel=channel,
            message_id=number,
            conversation=f"{channel}/{number}",
            person=self.person,
            place=self.place,
            text=stated.text,
            time=stated.time,
        )
        await self.store.ledger.accept(incoming)
        claim = await self.store.ledger.claim(Claiming("benchmark", stated.time, LEASE))
        if claim is None:
            raise RuntimeError("the ledger gives no turn")
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, "OK", learn_at=stated.time), stated.time)
        return claim.message

    async def remember(self, stated: Stated, key: str, supersedes: Sequence[str]) -> None:
        message = await self.say(stated)
        context = ToolContext(
            person=self.person,
            place=self.place,
            conversation="pairs",
            message=message,
            now=stated.time,
            asker_texts=(stated.text,),
        )
        arguments: JsonObject = {"text": stated.text, "key": key, "supersedes": [*map(int, supersedes)]}
        with suppress(ToolError):  # what is not kept supersedes nothing
            await RememberTool(self.store.facts).run(arguments, context)

    async def learn(self, stated: Stated, supersedes: Sequence[str]) -> None:
        await self.say(stated)
        audience = label(self.place.audience)
        partition = Partition(self.person.id, audience)
        messages = await self.store.profiles.unlearned(partition, 1)
        known = await self.store.facts.latest(self.person.id, audience, 10)
        numbers = [number for number, fact in enumerate(known, 1) if fact.id in supersedes]
        item = {"key": stated.key, "value": stated.bare, "from": [1], "supersedes": numbers}
        answer = json.dumps({"insights": [], "facts": [item]})
        found = ImpressionSynthesizer().read_facts(answer, messages, known)
        facts = [fact.to_new_fact(partition, Authority.EMPLOYEE) for fact in found]
        profile = learned(await self.store.profiles.get(partition), audience, (), len(messages), stated.time)
        await self.store.profiles.save(partition, profile, messages, facts)

    async def doubts(self) -> list[tuple[Fact, Fact]]:
        return list(await self.store.facts.doubts(self.person.id, label(self.place.audience), 9, 9))

    async def settle(self, older: Fact, newer: Fact, *, replaced: bool | None) -> None:
        audience = label(self.place.audience)
        await self.store.facts.settle(self.person.id, audience, older.id, newer.id, replaced=replaced)

    async def settle_all(self) -> None:
        """Have the marked facts judged by a model that knows the known pairs, and calls all others outdated."""

        def answer(prompt: Sequence[Message]) -> str:
            numbers = range(1, len(json.loads(prompt[-1].text)) + 1)
            both = [number for number, known in zip(numbers, KNOWN_PAIRS, strict=False) if not known.is_outdated]
            return json.dumps({"outdated": [number for number in numbers if number not in both], "both": both})

        store, clock = self.store, FakeClock(EPOCH + 2 * BETWEEN, auto=False)
        model = LearningModel(ScriptedProvider(answer))
        learner = Learner(
            store.profiles, store.facts, store.jobs, store.spending, lambda: model, clock, ForegroundPriority()
        )
        partition = Partition(self.person.id, label(self.place.audience))
        await learner.settle(Job(0, 0, "", DOUBTS, partition.key, "", clock.now(), self.person.id))

    async def facts(self) -> list[Fact]:
        return list(await self.store.facts.readable(self.person.id, frozenset({label(self.place.audience)})))


async def _known(scene: Scene, *, named: bool) -> list[str]:
    """Return the numbers of the facts that the model names."""
    return [fact.id for fact in await scene.facts()] if named else []


async def _sentence(scene: Scene, pair: StatementPair) -> None:
    for stated in Stated.both(pair):
        await scene.remember(stated, "", ())


def _with_key(names: Callable[[StatementPair], bool]) -> "Road":
    async def road(scene: Scene, pair: StatementPair) -> None:
        older, newer = Stated.both(pair)
        await scene.remember(older, older.key, ())
        await scene.remember(newer, newer.key, await _known(scene, named=names(pair)))

    return road


def _learned(names: Callable[[StatementPair], bool]) -> "Road":
    async def road(scene: Scene, pair: StatementPair) -> None:
        older, newer = Stated.both(pair)
        await scene.learn(older, ())
        await scene.learn(newer, await _known(scene, named=names(pair)))

    return road


OpenModel = Callable[[], AbstractAsyncContextManager[LearningModel]]
Road = Callable[[Scene, StatementPair], Awaitable[None]]
ROADS: Final[Mapping[str, Road]] = {
    "sentence": _sentence,
    "key": _with_key(lambda _: False),
    "key_named": _with_key(lambda pair: pair.must_supersede),
    "key_wrong_named": _with_key(lambda _: True),
    "learned_bare": _learned(lambda _: False),
    "learned_wrong_named": _learned(lambda _: True),
}


MANY: Final = 10  # Pairs in one call


@dataclass(slots=True)
class Judging:
    """What a real model made of the marked pairs. `calls`: how often it was asked; `unreadable`: answers of those;
    `untrusted`: readable ones in which code let nothing count; `verdicts`: what it said of each pair, by whether the
    pair must be superseded, before code checks it (None: nothing).
    """

    calls: int = 0
    unreadable: int = 0
    untrusted: int = 0
    verdicts: Counter[tuple[bool, bool | None]] = field(default_factory=Counter[tuple[bool, bool | None]])

    async def judge(
        self, model: LearningModel, scenes: Mapping[Scene, StatementPair], size: int, show: Callable[[str], None]
    ) -> None:
        """Ask the model about all that is marked, `size` pairs in each call."""
        marked = [(scene, *doubt) for scene in scenes for doubt in await scene.doubts()]
        for start in range(0, len(marked), size):
            some = marked[start : start + size]
            prompt = doubts_prompt([(older, newer) for _, older, newer in some])
            answer = await complete(model.provider, as_data(prompt), _ignore, OPTIONS)
            settled = read_doubts(answer, len(some))
            self.calls += 1
            self.unreadable += settled is None
            self.untrusted += settled is not None and settled == NOTHING_SETTLED
            show(f"{self.calls}: {len(some)} of {len(marked)} pairs: {' '.join(answer.split())}")
            settled = settled or NOTHING_SETTLED
            for number, (scene, older, newer) in enumerate(some):
                replaced = True if number in settled.outdated else False if number in settled.both else None
                self.verdicts[scenes[scene].must_supersede, replaced] += 1
                await scene.settle(older, newer, replaced=replaced)

    def metrics(self, name: str) -> dict[str, float]:
        said = {"outdated": True, "both": False, "open": None}
        counts = {
            f"{word}_{'changed' if must else 'standing'}_{name}": float(self.verdicts[must, verdict])
            for must in (True, False)
            for word, verdict in said.items()
        }
        how = {"calls": self.calls, "unreadable": self.unreadable, "untrusted": self.untrusted}
        return counts | {f"judge_{what}_{name}": float(count) for what, count in how.items()}


async def _ignore(_: ModelCall) -> None:
    """What the calls cost is not measured."""


JUDGED: Final[Mapping[str, str]] = {"key": "judged", "sentence": "sentence_judged"}  # The roads after them


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a pair. `kept`: how many of the two were stored; `marked`: the older one is shown as outdated."""

    pair: StatementPair
    kept: int
    superseded: bool
    marked: bool


async def _take(scene: Scene, name: str, road: Road, pair: StatementPair) -> dict[str, Taken]:
    """Return what becomes of a pair on a road, and on those after it (`JUDGED`)."""
    await road(scene, pair)
    taken = {name: await _outcome(scene, pair)}
    if (judged := JUDGED.get(name)) is not None:
        await scene.settle_all()
        always = taken[f"{judged}_always"] = await _outcome(scene, pair)
        # One that is always right says the same of those that must be superseded, and of the others that both hold.
        taken[judged] = always if pair.must_supersede else taken[name]
    return taken


async def _outcome(scene: Scene, pair: StatementPair) -> Taken:
    facts = sorted(await scene.facts(), key=lambda fact: fact.timestamp)
    superseded = any(not fact.is_valid for fact in facts)
    reader = ContextReader(frozenset({label(scene.place.audience)}), "")
    environment = Environment(EPOCH + 2 * BETWEEN, "UTC")
    shown = memory_context(Layers(IdentityRole("Ann"), environment, facts), reader)
    marks = [MAY_BE_OUTDATED.format(newer=fact.id) for fact in facts]
    return Taken(pair, len(facts), superseded, any(mark in shown.text for mark in marks))


async def take_model_roads(
    pairs: Sequence[StatementPair], model: LearningModel, show: Callable[[str], None]
) -> tuple[dict[str, list[Taken]], dict[str, float]]:
    """Return what becomes of the pairs with a key if this model judges what is marked, and how it judged."""
    taken: dict[str, list[Taken]] = {}
    metrics: dict[str, float] = {}
    store = store_in_memory()
    try:
        for name, size in (("judged_model", 1), ("judged_model_many", MANY)):
            scenes = {Scene(store, Person(f"{name}-{number}", "Ann")): pair for number, pair in enumerate(pairs)}
            for scene, pair in scenes.items():
                await ROADS["key"](scene, pair)
            judging = Judging()
            await judging.judge(model, scenes, size, show)
            taken[name] = [await _outcome(scene, pair) for scene, pair in scenes.items()]
            metrics |= judging.metrics(name)
    finally:
        await store.close()
    return taken, metrics


async def take_roads(pairs: Sequence[StatementPair]) -> dict[str, list[Taken]]:
    """Return what becomes of each pair on each road, in the order of the pairs.

    A pair takes all roads before the next one does, so that what was analyzed of its sentences is still cached.
    """
    taken: dict[str, list[Taken]] = {}
    store = store_in_memory()
    try:
        for number, pair in enumerate(pairs):
            for name, road in ROADS.items():
                scene = Scene(store, Person(f"{name}-{number}", "Ann"))
                for result, outcome in (await _take(scene, name, road, pair)).items():
                    taken.setdefault(result, []).append(outcome)
    finally:
        await store.close()
    return taken


def rates(taken: Mapping[str, Sequence[Taken]]) -> dict[str, float]:
    """Return precision and recall of each road, in percent."""
    metrics: dict[str, float] = {}
    for name, results in taken.items():
        counts = Counter((one.pair.must_supersede, one.superseded) for one in results)
        right = counts[True, True]
        metrics[f"pairs_precision_{name}"] = 100 * right / max(right + counts[False, True], 1)
        metrics[f"pairs_recall_{name}"] = 100 * right / max(right + counts[True, False], 1)
    return metrics


def measured(taken: Mapping[str, Sequence[Taken]]) -> dict[str, float]:
    """Return precision and recall of each road, and what is marked, in percent."""
    metrics = rates(taken)
    for name, road, must in (("sentence", "sentence", True), ("key", "key", True), ("harmless", "sentence", False)):
        some = [one for one in taken[road] if one.pair.must_supersede is must]
        metrics[f"pairs_marked_{name}"] = 100 * sum(one.superseded or one.marked for one in some) / max(len(some), 1)
    return metrics


def wrong_pairs(taken: Mapping[str, Sequence[Taken]]) -> list[str]:
    """Return a line for each pair that a road decides wrongly."""
    return [
        f"{name}: {'kept' if one.pair.must_supersede else 'LOST'} ({one.pair.lang}, {one.kept} stored)"
        f" {one.pair.older} / {one.pair.newer}"
        for name, results in taken.items()
        for one in results
        if one.superseded is not one.pair.must_supersede
    ]


def measure_pairs(
    pairs: Sequence[StatementPair], open_model: OpenModel | None = None
) -> tuple[dict[str, float], list[str]]:
    """Return the metrics, and a line for each pair that a road decides wrongly. `open_model`: opens a real model that
    judges, too.
    """
    return asyncio.run(_measure_pairs(pairs, open_model))


async def _measure_pairs(
    pairs: Sequence[StatementPair], open_model: OpenModel | None
) -> tuple[dict[str, float], list[str]]:
    taken = await take_roads(pairs)
    metrics = measured(taken)
    if open_model is not None:
        async with open_model() as model:
            judged, more = await take_model_roads(pairs, model, partial(print, flush=True))
        metrics |= rates(judged) | more
        taken |= judged
    return metrics, wrong_pairs(taken)
