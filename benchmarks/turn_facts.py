"""What many facts of a person cost their question, and other questions meanwhile; a part of `benchmarks.turns`.

facts_ms_0, …_100, …_1000, …_5000   from a claimed question to the model's context, at the median: all known facts that
                                    may be used are read and composed, of a person with that many facts
loop_lag_p99_ms                     how late the event loop wakes up while ten people with 5,000 facts each ask at once,
                                    with searches of past threads

The facts are in five places, all of which may flow into the question's; a fifth of them is superseded.

Baseline, in the same run: a plain SELECT of all 5,000 facts, and the lag of the same loop while ten people without any
facts ask.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial

from sqlalchemy import Connection, insert, select

from agent.context import Context
from agent.context_composer import ContextComposer, ContextConfig
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place, label
from agent.memory.statements import Statement, read_statement
from agent.ports.model import Capabilities
from agent.toolbox.registry import Toolbox
from agent.tools.recall import RecallTool, recollect
from agent.tools.remember import RememberTool
from agent.turn_records import Claim, Claiming, Closing
from agent.turn_setup import asker_of
from store.engine import Store
from store.memory import fact_index
from store.memory.fact_index import fact_term
from store.memory_tables import fact
from tests.fakes.fixed_config import with_persona

Ticking = Callable[[Callable[[], Awaitable[object]]], Awaitable[float]]
LEASE = timedelta(hours=1)
EACH = 5  # Questions of each person, one after the other
GROUPS = ("alpha", "beta", "gamma", "delta")  # Private places, all of which the person reads
PAST = 5  # One in this many facts is superseded by the next one
ROUNDS = 21
AT_ONCE = 10
SUBJECTS = ("deadline", "budget", "owner", "room", "status", "supplier", "price", "address")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
QUESTION = "What is the deadline of project 17, and who is its owner now?"


@cache
def statement(number: int) -> tuple[str, str, Statement]:
    """Key, value and statement; the same for all people, so they are generated once."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    project = f"project {number // len(SUBJECTS)}"
    value = DAYS[number % 5] if subject == "deadline" else f"{subject.title()} number {number} of {project}, as agreed"
    key = f"{subject} of {project}"
    return key, value, read_statement(value, about=key)


def fill(connection: Connection, person: str, many: int, now: datetime) -> None:
    """Write facts as `store.memory.fact_store` stores them."""
    places = [label(PersonAudience(person)), *(f"group:{group}" for group in GROUPS)]
    last = connection.execute(select(fact.c.id).order_by(fact.c.id.desc()).limit(1)).scalar() or 0
    rows, words = list[dict[str, object]](), list[dict[str, object]]()
    for number in range(many):
        key, value, said = statement(number)
        id_ = last + 1 + number
        rows.append(
            {
                "id": id_,
                "key": key,
                "value": value,
                "source": "user",
                "time": now + timedelta(seconds=number),
                "audience": places[number % len(places)],
                "person": person,
                "authority": 2,
                "is_valid": number % PAST != 0,
                "superseded_by": None if number % PAST else id_ + 1,
                "supersedes": None,
                "memory_type": "user",
                "scope": "global",
                "scope_id": None,
                "needs_review": False,
                "is_constraint": False,
                "constraint_type": None,
                "source_message": None,
                "everywhere": False,
                **fact_index.reading(said),
            }
        )
        leading = dict.fromkeys(fact_index.terms(key, value, said))
        words += [{"person": person, "term": term, "fact": id_} for term in leading]
    if rows:
        connection.execute(insert(fact), rows)
        connection.execute(insert(fact_term), words)


def asked(person: str, number: int, now: datetime) -> Incoming:
    return Incoming(
        source="bench",
        event_id=f"{person}-{number}",
        channel=person,
        message_id=f"{person}-{number}",
        conversation=f"{person}-{number}",
        person=Person(person, "Ann"),
        place=Place(PersonAudience(person)),
        text="The deadline of project 17 is on Friday, I think." if number < 0 else QUESTION,
        time=now,
    )


class Asking:
    """Questions of people with many facts, whose contexts are read and composed as in a turn."""

    def __init__(self, store: Store, now: datetime) -> None:
        self._store = store
        self._now = now
        self._count = 0
        self._composing = asyncio.Semaphore(1)
        self._tools = Toolbox([RecallTool(store.memories), RememberTool(store.facts)])
        self._persona = with_persona()
        self._plain = ContextConfig(lambda: "kestrel")
        self._recollecting = replace(self._plain, recollect=partial(recollect, store.memories, store.conversations))

    async def people(self, name: str, many_people: int, facts: int) -> list[str]:
        people = [f"{name}{number}" for number in range(many_people)]
        for person in people:
            await self._answered(await self._claimed(person, -1))
            await self._store.database.write(fill, person, facts, self._now)
        return people

    async def context_ms(self, person: str) -> float:
        """Return the time of making the context of one question."""
        self._count += 1
        claim = await self._claimed(person, self._count)
        begun = time.perf_counter()
        context = await self._context(self._plain, claim)
        took = 1000 * (time.perf_counter() - begun)
        await self._answered(claim, context.fact_ids)
        return took

    async def _context(self, config: ContextConfig, claim: Claim) -> Context:
        composer = ContextComposer(config, self._store.knowledge, self._composing)
        registry = self._tools.registry(asker_of(claim.incoming))
        persona = await self._persona(claim.incoming)
        context, _ = await composer.compose(claim, persona, registry, frozenset(GROUPS), Capabilities())
        return context

    async def _claimed(self, person: str, number: int) -> Claim:
        asked_ = asked(person, number, self._now)
        accepted = await self._store.ledger.accept(asked_)
        claim = await self._store.ledger.claim(Claiming("bench", self._now, LEASE))
        if claim is None or claim.turn != accepted.turn:
            raise AssertionError("another turn was claimed")
        return claim

    async def _answered(self, claim: Claim, facts: tuple[str, ...] = ()) -> None:
        closing = Closing(Outcome.ANSWERED, "Noted.", context_facts=facts)
        await self._store.ledger.finish(claim, closing, self._now)

    async def contexts(self, people: Sequence[str]) -> None:
        """Make the contexts of all people at once, repeatedly. Their questions are claimed before."""
        claims = list[Claim]()
        for person in people:
            for _ in range(EACH):
                self._count += 1
                claims.append(await self._claimed(person, self._count))

        async def one(of: Sequence[Claim]) -> None:
            for claim in of:
                await self._context(self._recollecting, claim)

        await asyncio.gather(*(one(claims[n * EACH : (n + 1) * EACH]) for n in range(len(people))))
        for claim in claims:
            await self._answered(claim)


async def measured(store: Store, ticking: Ticking) -> tuple[dict[str, float], dict[str, float]]:
    """Return the metrics and the baseline. `ticking` does some work, and returns how late the ticks meanwhile came."""
    now = datetime(2026, 1, 5, 12, tzinfo=UTC)
    asking, metrics = Asking(store, now), dict[str, float]()
    for facts in (0, 100, 1_000, 5_000):
        (person,) = await asking.people(f"with{facts}-", 1, facts)
        took = [await asking.context_ms(person) for _ in range(ROUNDS)]
        metrics[f"facts_ms_{facts}"] = statistics.median(took)
    select_ms = list[float]()
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        await store.database.read(_all_of, "with5000-0")
        select_ms.append(1000 * (time.perf_counter() - begun))
    without = await asking.people("idle", AT_ONCE, 0)
    crowd = await asking.people("crowd", AT_ONCE, 5_000)
    baseline = {"facts_select_ms_5000": statistics.median(select_ms)}
    baseline["loop_lag_p99_ms_without_facts"] = await ticking(lambda: asking.contexts(without))
    metrics["loop_lag_p99_ms"] = await ticking(lambda: asking.contexts(crowd))
    return metrics, baseline


def _all_of(connection: Connection, person: str) -> int:
    return len(connection.execute(select(fact).where(fact.c.person == person)).all())
