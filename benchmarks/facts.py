"""What stands in a context when facts have changed: phrases that must be there, and phrases that must not.

    python -m benchmarks.facts --data PATH [--quick] [--json]       any file in StateBench's format

A timeline is one person, who talked with the bot in one direct message: its turns are a past thread, taken in by the
ledger of an in-memory store. Each query is asked in a new thread; the context is what the product makes of it:
`recollect` (search, then the thread found), `write` for what the data writes as state, `memory_context` for the four
layers. No model is called. What the format says in its own way:
  "[RESTRICTED: …]" before a fact is its audience: a place that the person who asks cannot read.
  "[SCOPE: name]" before an item is its scope: a session of that name, not the one of the query.
  A write came of the person's nearest turn, if that is at most two minutes away.
  What the initial state gives is loaded as it is; everything later goes through `write`, authority checked.
Phrases count outside of a visible "superseded" mark; those inside one are counted apart. Baselines in the same run:
the transcript replayed (turns only), and all facts with the latest value of each key.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from agent.authority import Authority
from agent.events import Outcome
from agent.memory.audience import PersonAudience, Place, label
from agent.memory.composing import memory_context
from agent.memory.earlier import Said
from agent.memory.facts import Fact, Scope, memory_type_of
from agent.memory.layers import Environment, IdentityRole, Layers, Reader, Signal, WorkingItem
from agent.memory.marking import MARKED
from agent.memory.writing import NewFact, WriteRefused, write
from agent.recollection import query_about, recollect
from agent.records import Claiming, Closing, Incoming, Person
from agent.tokens import estimate_tokens
from benchmarks.report import Options, print_report, read_options
from benchmarks.statebench import Query, Timeline, Turn, Write, matches, read_timelines
from store.engine import Store, open_store

AUTHORITIES = {"peer": Authority.EMPLOYEE, "manager": Authority.MANAGER}
"""Every other word of the format (executive, policy, system, …) stands for more."""
ELSEWHERE = "group:elsewhere"
LABEL = re.compile(r"^\[(RESTRICTED|SCOPE): ([^\]]*)\]\s*")
QUICK_TIMELINES = 60
SAME_MOMENT = timedelta(minutes=2)
LEASE = timedelta(minutes=1)


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
class World:
    """One timeline as it goes on: what the product knows, and what the baselines saw."""

    timeline: Timeline
    facts: tuple[Fact, ...] = ()
    working_set: list[WorkingItem] = field(default_factory=list[WorkingItem])
    signals: list[Signal] = field(default_factory=list[Signal])
    transcript: list[str] = field(default_factory=list[str])
    latest: dict[str, str] = field(default_factory=dict[str, str])
    refused: int = 0

    @property
    def person(self) -> str:
        return f"bench:{self.timeline.id}"

    @property
    def place(self) -> Place:
        return Place(PersonAudience(self.person))

    def take(self, written: Write) -> None:
        """One fact, working item or signal."""
        labelled = LABEL.match(written.value)
        value = written.value[labelled.end() :] if labelled else written.value
        restricted = labelled is not None and labelled[1] == "RESTRICTED"
        session = labelled[2] if labelled is not None and labelled[1] == "SCOPE" else None
        if written.layer == "environment":
            self.signals.append(Signal(written.key, value, written.time))
        elif written.layer == "working_set" and session is None:
            self.working_set.append(WorkingItem(written.key, value, written.time))
        else:
            audience = ELSEWHERE if restricted else label(self.place.audience)
            self._write(written, value, written.time, audience, session)
        self.latest[written.key] = written.value

    def _write(self, written: Write, value: str, time: datetime, audience: str, session: str | None) -> None:
        new = NewFact(
            id=self._free_id(written.id or written.key),
            key=written.key,
            value=value,
            source=written.source,
            timestamp=time,
            audience=audience,
            person=self.person,
            authority=AUTHORITIES.get(written.authority, Authority.ADMIN),
            supersedes=(written.supersedes,) if written.supersedes else (),
            scope=Scope.SESSION if session else Scope(written.scope),
            scope_id=session,
            depends_on=written.depends_on,
            is_constraint=written.is_constraint,
        )
        if written.given:
            self.facts = (*self.facts, _as_given(new))
            return
        self.facts, changes = write(self.facts, new)
        self.refused += any(isinstance(change, WriteRefused) for change in changes)

    def _free_id(self, wanted: str) -> str:
        """The format calls several writes of one timeline "W-AUTO"."""
        return wanted if all(fact.id != wanted for fact in self.facts) else f"{wanted}-{len(self.facts)}"

    def context(self, query: Query, earlier: Sequence[Said]) -> str:
        timeline = self.timeline
        identity = IdentityRole(
            timeline.user, self.person, department=timeline.department, organization=timeline.organization
        )
        environment = Environment(query.time, signals=tuple(self.signals))
        facts = [replace(fact, source_message=_source(fact, earlier)) for fact in self.facts]
        layers = Layers(identity, environment, facts, tuple(self.working_set), earlier)
        return memory_context(layers, Reader(frozenset({label(self.place.audience)}), query.question)).text


def _source(fact: Fact, earlier: Sequence[Said]) -> int | None:
    turns = [(abs(said.time - fact.timestamp), said.id) for said in earlier if said.mine]
    near, source = min(turns, key=lambda turn: turn[0], default=(SAME_MOMENT, None))
    return source if near <= SAME_MOMENT else None


def _as_given(new: NewFact) -> Fact:
    return Fact(
        id=new.id,
        key=new.key,
        value=new.value,
        source=new.source,
        timestamp=new.timestamp,
        audience=new.audience,
        person=new.person,
        authority=new.authority,
        memory_type=memory_type_of(new.source),
        scope=new.scope,
        scope_id=new.scope_id,
        is_constraint=new.is_constraint,
    )


@dataclass
class Results:
    ours: Score = field(default_factory=Score)
    transcript: Score = field(default_factory=Score)
    latest: Score = field(default_factory=Score)
    refused: int = 0


async def replay(store: Store, timeline: Timeline, tracks: Iterable[Results]) -> None:
    """Live through one timeline; each query is answered with what is known by then."""
    world = World(timeline)
    for number, event in enumerate(timeline.events):
        match event:
            case Turn():
                world.transcript.append(f"{event.speaker}: {event.text}")
                await _say(store, world, event, number)
            case Write():
                world.take(event)
            case Query():
                context = await _context(store, world, event)
                for results in tracks:
                    results.ours.add(event, context)
                    results.transcript.add(event, "\n".join(world.transcript))
                    results.latest.add(event, "\n".join(f"{key}: {value}" for key, value in world.latest.items()))
    for results in tracks:
        results.refused += world.refused


async def _say(store: Store, world: World, turn: Turn, number: int) -> None:
    """What the person writes begins a turn; what the assistant says ends it."""
    now = turn.time
    if turn.speaker == "assistant":
        claim = await store.ledger.claim(Claiming("benchmark", now, LEASE))
        if claim is not None:
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, turn.text), now)
        return
    await _close_open_turn(store, now)
    name = world.timeline.user
    await store.ledger.accept(
        Incoming(
            source="bench",
            event_id=f"{world.person}/{number}",
            channel=world.person,
            message_id=str(number),
            conversation=f"{world.person}/past",
            person=Person(world.person, name),
            place=world.place,
            text=turn.text,
            time=now,
        )
    )


async def _close_open_turn(store: Store, now: datetime) -> None:
    claim = await store.ledger.claim(Claiming("benchmark", now, LEASE))
    if claim is not None:
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, ""), now)


async def _context(store: Store, world: World, query: Query) -> str:
    await _close_open_turn(store, query.time)
    who, here = Person(world.person, world.timeline.user), frozenset({label(world.place.audience)})
    asked = query_about(query.question, who, here, f"{world.person}/now", query.time)
    return world.context(query, await recollect(store.memories, store.conversations, asked))


async def measure(timelines: Sequence[Timeline]) -> dict[str, Results]:
    """Results by track, and of all ("")."""
    tracks: defaultdict[str, Results] = defaultdict(Results)
    store = await open_store("sqlite://")
    try:
        for timeline in timelines:
            await replay(store, timeline, (tracks[""], tracks[timeline.track]))
    finally:
        await store.close()
    return dict(tracks)


def run(options: Options, path: Path) -> None:
    timelines = read_timelines(path)
    tracks = asyncio.run(measure(timelines[:QUICK_TIMELINES] if options.quick else timelines))
    every = tracks[""]
    baseline = {f"transcript_{name}": value for name, value in every.transcript.metrics().items()}
    baseline |= {f"latest_wins_{name}": value for name, value in every.latest.metrics().items()}
    print_report("facts", every.ours.metrics(), baseline, options, _notes(tracks))


def _notes(tracks: dict[str, Results]) -> str:
    lines = ["by track: required in context %, queries with a forbidden phrase %, tokens; the same by transcript"]
    for track, results in sorted(tracks.items()):
        numbers = [*results.ours.metrics().values(), *results.transcript.metrics().values()]
        lines.append(f"  {track or 'all':<26}" + "".join(f"{number:8.1f}" for number in numbers))
    every = tracks[""]
    apart = Counter({"required": every.ours.found_marked, "queries with forbidden": every.ours.forbidden_marked})
    lines.append(f"inside a superseded mark only, or also: {dict(apart)}; writes refused: {every.refused}")
    return "\n".join(lines)


def main() -> None:
    options = read_options(__doc__ or "")
    if options.data is None:
        raise SystemExit("Say where the timelines are: --data PATH")
    run(options, options.data)


if __name__ == "__main__":
    main()
