"""The store in memory, on which other tests stand, and the engines do the same, whatever happens in whatever order."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.memory.audience import GroupAudience, PersonAudience, Place, label
from agent.memory.forgetting_plans import Everything
from agent.recall_query import RecallQuery
from agent.state import SituationSummary
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store
from tests.contracts.steps import proved, summary_of
from tests.examples import examples
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import open_new
from tests.fakes.plans import one_thread
from tests.fakes.postgresql import PostgresServer
from tests.fakes.store import store_in_memory

PEOPLE = ("ann", "ben")
ROOMS = ("a", "b", "dm")

people = st.sampled_from(PEOPLE)
rooms = st.sampled_from(ROOMS)
Step: TypeAlias = tuple[object, ...]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), people, rooms, st.integers(1, 8)),
        st.tuples(st.just("claim"), st.integers(0, 40)),
        st.tuples(st.just("save"), st.integers(0, 3)),
        st.tuples(st.just("finish"), st.integers(0, 3)),
        st.tuples(st.just("release")),
        st.tuples(st.just("remember"), people, st.integers(1, 2)),
        st.tuples(st.just("forget"), people, st.none() | rooms),
    ),
    max_size=16,
)


def where(person: str, room: str) -> tuple[str, Place]:
    if room == "dm":
        return f"dm {person}", Place(PersonAudience(person))
    return room, Place(GroupAudience(room))


@dataclass
class Run:
    """One store and the claims that were made on it."""

    store: Store
    claims: list[Claim] = field(default_factory=list[Claim])
    now: datetime = START

    async def do(self, step: Step) -> object:
        """Do the step; return what can be seen of it. Ids differ between stores, so they are left out."""
        match step:
            case ("say", str(person), str(room), int(number)):
                conversation, place = where(person, room)
                message = said(f"word{number}", person=person, conversation=conversation, place=place, number=number)
                return (await self.store.ledger.accept(message)).duplicate
            case ("claim", int(seconds)):
                self.now += timedelta(seconds=seconds)
                claim = await self.store.ledger.claim(Claiming("worker", self.now, LEASE))
                self.claims += [] if claim is None else [claim]
                return claim and (claim.incoming, claim.epoch, claim.attempts, claim.progress, claim.reply_ref)
            case ("save", int(which)) if which < len(self.claims):
                return await self._held(self.store.ledger.save(self.claims[which], progress=f"step {len(self.claims)}"))
            case ("finish", int(which)) if which < len(self.claims):
                claim = self.claims[which]
                closing = Closing(Outcome.ANSWERED, f"answer {claim.incoming.text}", summary=SituationSummary(goal="g"))
                return await self._held(self.store.ledger.finish(claim, closing, self.now))
            case ("release",):
                return await self.store.ledger.release_all()
            case ("remember", str(person), int(number)):
                note = await remember(self.store.facts, person, f"note {number}", f"person:{person}", self.now)
                return (note.value, note.timestamp)
            case ("forget", str(person), str() | None as room):
                plan = Everything(person) if room is None else one_thread(person, where(person, room)[0])
                receipt = await self.store.forgetting.forget(plan, self.now)
                counted = [receipt.erased[name] for name in ("messages", "facts", "turns")]
                return (counted, proved(receipt))
            case _:
                return None

    async def _held(self, write: Awaitable[object]) -> bool:
        try:
            await write
        except LeaseLost:
            return False
        return True

    async def seen(self) -> object:
        """Everything that can be read, without ids."""
        found: list[object] = []
        threads = self.store.conversations.threads
        for person in PEOPLE:
            audience = frozenset(label(where(person, room)[1].audience) for room in ROOMS)
            found.append([(n.value, n.timestamp) for n in await self.store.facts.readable(person, audience)])
            found.append(await self.store.conversations.questions(person, limit=9))
            found.append({t.conversation: (t.title, t.messages) for t in await threads(person, limit=9)})
            query = RecallQuery(person, "word1 word2 word3 answer", audience, "b", limit=99)
            hits = [hit.message for hit in await self.store.memories.search(query)]
            matched = [m for m in hits if set(m.text.split()) & set(query.text.split())]  # not what stands beside
            found.append(sorted((m.conversation, m.text) for m in matched))
            for room in ROOMS:
                conversation, _ = where(person, room)
                history = await self.store.conversations.history(conversation, before_turn=10**6, limit=9)
                found.append([(m.author, m.person, m.name, m.text, m.time, m.audience) for m in history])
                found.append(await summary_of(self.store, conversation))
        return found


@given(steps)
@settings(max_examples=examples(30), deadline=None)
async def test_sqlite_agrees_with_the_store_in_memory_after_every_step(some: list[Step]) -> None:
    await agree("sqlite://", some)


@given(steps)
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_postgresql_agrees_with_the_store_in_memory_after_every_step(
    postgres: PostgresServer, some: list[Step]
) -> None:
    leases_run_out = [step for step in some if step != ("release",)]
    await agree(await postgres.empty(), leases_run_out)


async def agree(url: str, some: list[Step]) -> None:
    opened = await open_new(url)
    try:
        in_memory, real = Run(store_in_memory()), Run(opened)
        for step in some:
            assert await in_memory.do(step) == await real.do(step), step
        assert await in_memory.seen() == await real.seen()
    finally:
        await opened.close()
