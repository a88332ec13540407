"""What a context contains when facts have changed: phrases that must be there, and phrases that must not.

    python -m benchmarks.facts --data PATH [--quick] [--json]       any file in StateBench's format
    python -m benchmarks.facts --pairs FILE [--json]                pairs of statements (`benchmarks.fact_pairs`)

The path of a turn is measured with the functions that the bot itself calls. A timeline is one person who talked with
the bot in one direct message: each message is accepted by the ledger and claimed, its context is made, its answer is
stored, and it is then learned from as in the background. A query is a message in a new thread; the score is of what
memory puts into its context (`ContextComposer`). The store is in memory, and no model is called: where the learner asks
one, the data's own writes stand for the answer of a model that reads well.
  Each write is made as of the turn nearest to it, under the data's key without the number of its version. What it
  supersedes is named by the number under which the learner's prompt shows it; what is not shown cannot be named.
  `required_in_context_unnamed` and `queries_with_forbidden_unnamed` are the same with no number ever named.
  Facts of the initial state on the word of the person were learned before; those on the word of a manager or a higher
  rank were set with `/policy`, in a public channel.
  "[RESTRICTED: …]" before a fact: it was set in a channel that the person who asks cannot read. "[SCOPE: name]": it was
  kept in a session of that name, not in that of the query.
  The person's rank, department and organisation are left out, and so are signals of other systems: no platform gives
  them to the bot.
Phrases count outside of a visible "superseded" mark; those inside one are counted apart. Baselines in the same run:
the transcript replayed (turns only), and all facts with the latest value of each key.

`supersession_precision`, `supersession_recall`: of pairs of statements, one of which may contradict the other, decided
by the function that every write goes through (`agent.memory.writing.write`), without keys and without a model. The
pairs (`benchmarks/data/supersession_pairs.tsv`: language, kind, whether they contradict) were written by hand before
the rules that decide them, half of them harmless, in five languages: names, numbers, identifiers, times, negation,
"no longer", "I switched to". The rules were made with the half "a" in view; `…_unseen` are those of the half "b".
`changes_…`: the same of 224 pairs in eight languages in colloquial wording, with a word of change ("cued") or without
(`benchmarks/data/natural_changes.tsv`, written before any rule for French, Portuguese and Russian).
"""

import asyncio
import csv
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeAlias

from agent.admission_terms import Authority
from agent.context import Context
from agent.context_composer import ContextComposer, ContextConfig
from agent.errors import ProviderError
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.jobs import Job
from agent.memory.audience import Audience, GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.memory.facts import Fact, Scope
from agent.memory.marking import MARKED
from agent.memory.profile import LEARNING, Partition
from agent.memory.synthesizer import KNOWN_FACTS
from agent.memory.writing import NewFact, write
from agent.messages import Message, estimate_tokens
from agent.ports.model import Capabilities
from agent.ports.tools import Asker
from agent.providers.scripted import ScriptedProvider
from agent.toolbox.registry import Toolbox
from agent.tools.recall import RecallTool, recollect
from agent.tools.remember import RememberTool
from agent.turn_records import Claim, Claiming, Closing
from agent.turn_setup import asker_of
from benchmarks.fact_pairs import measure_pairs, read_statement_pairs
from benchmarks.real_model import learning_model, names_model
from benchmarks.report import Options, print_report, read_options
from benchmarks.statebench import Query, Timeline, Turn, Write, matches, read_timelines
from bot.chat.foreground import ForegroundPriority
from bot.chat.learning_model import LearningModel
from bot.memory.learning import Learner, LearningLimits
from bot.memory.policies import PolicyService
from store.engine import Store, open_store
from tests.fakes.fixed_config import with_persona

PAIRS = Path(__file__).parent / "data" / "supersession_pairs.tsv"
NATURAL_CHANGES = PAIRS.with_name("natural_changes.tsv")
# Every other value of the format (executive, policy, system, …) is a higher rank.
RANKS = {"peer": Authority.EMPLOYEE, "subordinate": Authority.EMPLOYEE, "manager": Authority.MANAGER}
TEAM = "bench"
ELSEWHERE = GroupAudience("elsewhere")
LABEL = re.compile(r"^\[(RESTRICTED|SCOPE): ([^\]]*)\]\s*")
QUICK_TIMELINES = 60
LEASE = timedelta(minutes=1)
MEANT_CHARS = 100
EPOCH = datetime(2026, 1, 5, tzinfo=UTC)


@dataclass
class Score:
    required: int = 0
    found: int = 0
    queries: int = 0
    forbidden: int = 0
    found_marked: int = 0
    forbidden_marked: int = 0
    tokens: int = 0

    def add(self, query: Query, context: str) -> None:
        plain = MARKED.sub(" ", context)
        marks = "\n".join(MARKED.findall(context))
        self.queries += 1
        self.required += len(query.required)
        self.found += sum(matches(phrase, plain) for phrase in query.required)
        self.found_marked += sum(matches(phrase, marks) and not matches(phrase, plain) for phrase in query.required)
        self.forbidden += any(matches(phrase, plain) for phrase in query.forbidden)
        self.forbidden_marked += any(matches(phrase, marks) for phrase in query.forbidden)
        self.tokens += estimate_tokens(context)

    def metrics(self) -> dict[str, float]:
        return {
            "required_in_context": 100 * self.found / max(self.required, 1),
            "queries_with_forbidden": 100 * self.forbidden / max(self.queries, 1),
            "context_tokens_mean": self.tokens / max(self.queries, 1),
        }


@dataclass
class TimelineClock:
    """A clock that shows the time of the timeline."""

    time: datetime = EPOCH

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        """Does not wait."""


# Answers the learner's prompt, from the data's writes in that turn.
Extractor: TypeAlias = Callable[[Timeline, Sequence[Write], Sequence[Message]], str]


@dataclass(frozen=True, slots=True)
class Bench:
    """The parts that all timelines share."""

    store: Store
    composer: ContextComposer
    tools: Toolbox
    clock: TimelineClock

    def world(self, timeline: Timeline, name: str, learns: "Extractor | LearningModel") -> "World":
        """Start a timeline with a person of its own. `learns`: the model of learning, by `name`."""
        return World(self.store, timeline, name, self.composer, self.tools, learns, self.clock)


@asynccontextmanager
async def open_bench() -> AsyncGenerator[Bench]:
    store = await open_store("sqlite://")
    try:
        recollects = partial(recollect, store.memories, store.conversations)
        composer = ContextComposer(ContextConfig(lambda: "harbour", recollect=recollects), store.knowledge)
        tools = Toolbox([RecallTool(store.memories), RememberTool(store.facts)])
        yield Bench(store, composer, tools, TimelineClock())
    finally:
        await store.close()


@dataclass
class World:
    """One timeline in progress."""

    store: Store
    timeline: Timeline
    name: str
    composer: ContextComposer
    tools: Toolbox
    learns: Extractor | LearningModel
    clock: TimelineClock
    count: int = 0
    failures: int = 0
    """How often the answer of a real model could not be read."""
    writes: Sequence[Write] = ()

    @property
    def person(self) -> Person:
        return Person(f"{self.team}:ann", self.timeline.user)

    @property
    def team(self) -> str:
        return f"{TEAM}:{self.timeline.id}-{self.name}"

    @property
    def place(self) -> Place:
        return Place(PersonAudience(self.person.id), within_team=self.team)

    async def give(self, written: Write) -> None:
        """Write the facts that are known before the timeline starts."""
        labelled = LABEL.match(written.value)
        value = written.value[labelled.end() :] if labelled else written.value
        self.clock.time = written.time
        rank = RANKS.get(written.authority, Authority.ADMIN)
        if labelled is not None and labelled[1] == "RESTRICTED":
            await self._decree(written.key, value, rank, ELSEWHERE)
        elif labelled is not None:
            await self._learn(written, value, Scope.SESSION, labelled[2])
        elif rank >= Authority.MANAGER:
            await self._decree(written.key, value, rank, TeamAudience(self.team))
        else:
            await self._learn(written, value, Scope.GLOBAL, None)

    async def _decree(self, key: str, value: str, rank: Authority, audience: Audience) -> None:
        asker = Asker(Person("bench:manager", "Manager"), Place(audience), authority=rank)
        await PolicyService(self.store.facts, self.clock).answer(asker, f"set {key.replace('_', ' ')}: {value}")

    async def _learn(self, written: Write, value: str, scope: Scope, scope_id: str | None) -> None:
        await self.store.facts.write(
            NewFact(
                id="",
                key=_spoken(written.key),
                value=value,
                source="user",
                timestamp=written.time,
                audience=label(self.place.audience),
                person=self.person.id,
                scope=scope,
                scope_id=scope_id,
            )
        )

    async def say(self, turn: Turn, reply: str, writes: Sequence[Write]) -> None:
        """Run one turn: the message, its answer, and learning from it in the background."""
        claim, _ = await self._begin(turn.text, turn.time, "past")
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, reply, learn_at=turn.time), turn.time)
        self.writes = writes
        partition = Partition(self.person.id, label(self.place.audience))
        job = Job(0, 0, "", LEARNING, partition.audience, str(int(Authority.EMPLOYEE)), turn.time, self.person.id)
        for attempt in range(LearningLimits().tries + 1):
            try:
                await self._learner().learn(replace(job, attempts=attempt))
            except ProviderError:
                self.failures += 1
            else:
                break

    def _learner(self) -> Learner:
        learns = self.learns
        model = learns if isinstance(learns, LearningModel) else LearningModel(ScriptedProvider(self._answer))
        store = self.store
        return Learner(
            store.profiles, store.facts, store.jobs, store.spending, lambda: model, self.clock, ForegroundPriority()
        )

    def _answer(self, prompt: Sequence[Message]) -> str:
        if isinstance(self.learns, LearningModel):
            raise TypeError("a real model answers by itself")
        return self.learns(self.timeline, self.writes, prompt)

    async def ask(self, query: Query) -> str:
        """Return what memory gives to the model for this question, in a new thread."""
        claim, context = await self._begin(query.question, query.time, f"query {self.count}")
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, ""), query.time)
        return context.memory

    async def _begin(self, text: str, now: datetime, thread: str) -> tuple[Claim, Context]:
        self.count += 1
        self.clock.time = now
        channel = f"{self.person.id}/{thread}"
        await self.store.ledger.accept(
            Incoming(
                source="bench",
                event_id=f"{self.person.id}/{self.count}",
                channel=channel,
                message_id=str(self.count),
                conversation=channel,
                person=self.person,
                place=self.place,
                text=text,
                time=now,
            )
        )
        claim = await self.store.ledger.claim(Claiming("benchmark", now, LEASE))
        if claim is None:
            raise RuntimeError("the ledger gives no turn")
        registry = self.tools.registry(asker_of(claim.incoming))
        persona = await with_persona()(claim.incoming)
        context, _ = await self.composer.compose(claim, persona, registry, frozenset(), Capabilities())
        return claim, context


@dataclass(frozen=True, slots=True)
class Shown:
    """The content of the learner's prompt: the known facts by number, and the messages."""

    known: Mapping[str, str]
    messages: tuple[str, ...]


def shown_in(prompt: Sequence[Message]) -> Shown:
    known = prompt[0].text.partition(KNOWN_FACTS)[2]
    messages: list[dict[str, str]] = json.loads(prompt[1].text)
    return Shown(json.loads(known) if known else {}, tuple(message["text"] for message in messages))


def reads_well(timeline: Timeline, writes: Sequence[Write], prompt: Sequence[Message], *, names: bool = True) -> str:
    """Return the answer of a model that reads well: the data's writes, and the numbers of the facts that they supersede
    (`names`), if the prompt shows them.
    """
    shown = shown_in(prompt)
    return stating(
        shown, [(key_of(write), write.value, meant(timeline, shown, write) if names else []) for write in writes]
    )


def stating(shown: Shown, facts: Iterable[tuple[str, str, Sequence[int]]]) -> str:
    """Return an answer that states facts of the last message: key, value, and the numbers that it supersedes."""
    listed = [
        {"key": key, "value": value, "from": [len(shown.messages)], "supersedes": [*gone]} for key, value, gone in facts
    ]
    return json.dumps({"insights": [], "facts": listed})


def meant(timeline: Timeline, shown: Shown, new: Write) -> list[int]:
    """Return the numbers of the shown facts that the data means: it names a fact by its key, or by the id of the write
    of that key.
    """
    if new.supersedes is None:
        return []
    writes = [event for event in timeline.events if isinstance(event, Write)]
    values = [
        write.value[:MEANT_CHARS] for write in writes if new.supersedes in (write.key, write.id) and write is not new
    ]
    return [int(number) for number, text in shown.known.items() if any(value in text for value in values)]


def key_of(written: Write) -> str:
    """Return the key under which a model would store it."""
    return _spoken(written.key) or " ".join(written.value.split()[:4])


def _spoken(key: str) -> str:
    """Return a key of the data as a model would write it: without the number of a version. A mere counter is no key."""
    plain = re.sub(r"_(?:v\d+|corrected)$", "", key)
    return "" if re.search(r"_\d+$", plain) else plain.replace("_", " ")


@dataclass
class Results:
    ours: Score = field(default_factory=Score)
    unnamed: Score = field(default_factory=Score)
    transcript: Score = field(default_factory=Score)
    latest: Score = field(default_factory=Score)


async def live_through(world: World) -> list[tuple[Query, str]]:
    """Return each query with the content of its context."""
    answered: list[tuple[Query, str]] = []
    turns = [event for event in world.timeline.events if isinstance(event, Turn) and event.speaker != "assistant"]
    calls = _calls(world.timeline, turns)
    for one in world.timeline.events:
        if isinstance(one, Write) and one.given and one.layer != "environment":
            await world.give(one)
    events = [one for one in world.timeline.events if not isinstance(one, Write)]
    for at, event in enumerate(events):
        match event:
            case Turn() if event.speaker != "assistant":
                after = events[at + 1] if at + 1 < len(events) else None
                reply = after.text if isinstance(after, Turn) and after.speaker == "assistant" else ""
                await world.say(event, reply, calls[turns.index(event)])
            case Query():
                answered.append((event, await world.ask(event)))
            case _:
                pass
    return answered


def _calls(timeline: Timeline, turns: Sequence[Turn]) -> defaultdict[int, list[Write]]:
    """Return the writes of each turn: every write belongs to the nearest turn."""
    calls: defaultdict[int, list[Write]] = defaultdict(list)
    for one in timeline.events:
        if isinstance(one, Write) and not one.given and one.layer != "environment" and turns:
            nearest = min(range(len(turns)), key=lambda at, one=one: (abs(turns[at].time - one.time), at))
            calls[nearest].append(one)
    return calls


def baselines(timeline: Timeline, tracks: Iterable[Results]) -> None:
    """Return the transcript, and the latest value of each key."""
    said: list[str] = []
    latest: dict[str, str] = {}
    for event in timeline.events:
        match event:
            case Turn():
                said.append(f"{event.speaker}: {event.text}")
            case Write():
                latest[event.key] = event.value
            case Query():
                for results in tracks:
                    results.transcript.add(event, "\n".join(said))
                    results.latest.add(event, "\n".join(f"{key}: {value}" for key, value in latest.items()))


async def measure(timelines: Sequence[Timeline]) -> dict[str, Results]:
    """Return the results by track, and of all under ""."""
    tracks: defaultdict[str, Results] = defaultdict(Results)
    async with open_bench() as bench:
        for timeline in timelines:
            both = (tracks[""], tracks[timeline.track])
            baselines(timeline, both)
            for names in (True, False):
                learns = partial(reads_well, names=names)
                world = bench.world(timeline, "named" if names else "unnamed", learns)
                for query, context in await live_through(world):
                    for results in both:
                        (results.ours if names else results.unnamed).add(query, context)
    return dict(tracks)


@dataclass(frozen=True, slots=True)
class Pair:
    half: str
    language: str
    kind: str
    contradicts: bool
    older: str
    newer: str


def read_pairs(path: Path = PAIRS) -> list[Pair]:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Pair(row["half"], row["language"], row["kind"], row["contradicts"] == "yes", row["older"], row["newer"])
            for row in rows
        ]


def supersedes(pair: Pair) -> bool:
    """Whether the newer statement supersedes the older one, as a write without a key and without a number."""
    facts: tuple[Fact, ...] = ()
    for number, value in enumerate((pair.older, pair.newer)):
        time = EPOCH + timedelta(minutes=number)
        new = NewFact(str(number), "", value, "user", time, "person:ann", "ann")
        facts, _ = write(facts, new)
    return any(not fact.is_valid for fact in facts)


def supersession(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the precision and the recall of supersession."""
    decided = Counter((pair.contradicts, supersedes(pair)) for pair in pairs)
    right = decided[True, True]
    return {
        "precision": 100 * right / max(right + decided[False, True], 1),
        "recall": 100 * right / max(right + decided[True, False], 1),
    }


def run(options: Options, path: Path) -> None:
    timelines = read_timelines(path)
    tracks = asyncio.run(measure(timelines[:QUICK_TIMELINES] if options.quick else timelines))
    every = tracks[""]
    pairs = read_pairs()
    metrics = every.ours.metrics()
    metrics |= {f"{name}_unnamed": value for name, value in every.unnamed.metrics().items() if "tokens" not in name}
    metrics |= {f"supersession_{name}": value for name, value in supersession(pairs).items()}
    natural = read_pairs(NATURAL_CHANGES)
    metrics |= {f"supersession_{name}_unseen": value for name, value in supersession(_unseen(pairs)).items()}
    metrics |= {f"changes_{name}": value for name, value in supersession(natural).items()}
    metrics |= {f"changes_{name}_unseen": value for name, value in supersession(_unseen(natural)).items()}
    baseline = {f"transcript_{name}": value for name, value in every.transcript.metrics().items()}
    baseline |= {f"latest_wins_{name}": value for name, value in every.latest.metrics().items()}
    print_report("facts", metrics, baseline, options, _notes(tracks, pairs, natural))


def _unseen(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.half == "b"]


def _notes(tracks: dict[str, Results], pairs: Sequence[Pair], natural: Sequence[Pair]) -> str:
    lines = ["by track: required in context %, queries with a forbidden phrase %, tokens; unnamed; by transcript"]
    for track, results in sorted(tracks.items()):
        scores = (results.ours, results.unnamed, results.transcript)
        numbers = [number for score in scores for number in score.metrics().values()]
        lines.append(f"  {track or 'all':<26}" + "".join(f"{number:8.1f}" for number in numbers))
    every = tracks[""]
    apart = Counter({"required": every.ours.found_marked, "queries with forbidden": every.ours.forbidden_marked})
    lines.append(f"inside a superseded mark only, or also: {dict(apart)}")
    for title, some in (("pairs of statements", pairs), ("natural changes", natural)):
        lines.append(f"{len(some)} {title}: precision %, recall %")
        for half in ("a", "b"):
            of_half = [pair for pair in some if pair.half == half]
            groups = {
                language: [pair for pair in of_half if pair.language == language] for language in _languages(some)
            }
            groups |= {kind: [pair for pair in of_half if pair.kind == kind] for kind in ("cued", "plain")}
            for name, group in groups.items():
                if group:
                    numbers = "".join(f"{number:8.1f}" for number in supersession(group).values())
                    lines.append(f"  half {half}, {name:<17}{numbers}")
    return "\n".join(lines)


def _languages(pairs: Iterable[Pair]) -> list[str]:
    return sorted({pair.language for pair in pairs})


def run_pairs(options: Options, path: Path) -> None:
    pairs = read_statement_pairs(path)
    environ = os.environ  # noqa: TID251 -- as the entry point of the bot
    metrics, wrong = measure_pairs(pairs, partial(learning_model, environ) if names_model(environ) else None)
    must = sum(pair.must_supersede for pair in pairs)
    notes = [f"{len(pairs)} pairs, {must} of which must supersede; decided wrongly:", *wrong]
    print_report("facts", metrics, {}, options, "\n  ".join(notes))


def main() -> None:
    options = read_options(__doc__ or "", pairs="JSON lines of pairs of statements (see benchmarks.fact_pairs)")
    if options.pairs is not None:
        run_pairs(options, options.pairs)
    if options.data is not None:
        run(options, options.data)
    elif options.pairs is None:
        raise SystemExit("Choose what to measure: --data PATH, --pairs FILE, or both.")


if __name__ == "__main__":
    main()
