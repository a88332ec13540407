"""Whatever two processes do around a failover that loses transactions: each question is answered once.

Random interleavings on a real PostgreSQL. Both processes live, and show their replies on a platform that loses nothing.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Final

import pytest

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store, open_store
from tests.examples import examples
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PostgresServer

OWNERS: Final = ("a", "b")
STEPS: Final = 14  # Before the replicas receive nothing more, then before the failover, and after it


@dataclass
class Platform:
    """What people see: `whole` and `half` answers, by their pages. It delivers each message again at any time."""

    asked: list[Incoming] = field(default_factory=list[Incoming])
    half: dict[str, str] = field(default_factory=dict[str, str])
    whole: dict[str, str] = field(default_factory=dict[str, str])
    pages: "count[int]" = field(default_factory=count)

    def show(self, page: str, event: str, *, whole: bool) -> None:
        self.half.pop(page, None)
        (self.whole if whole or page in self.whole else self.half)[page] = event

    def delete(self, page: str) -> None:
        self.half.pop(page, None)
        self.whole.pop(page, None)


@dataclass
class Process:
    """As the worker of turns and the feature `recovery` do it."""

    owner: str
    store: Store
    platform: Platform
    running: list[tuple[Claim, list[str]]] = field(default_factory=list[tuple[Claim, list[str]]])
    """With the pages of their replies."""
    strays: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Turns that were lost as a page was posted."""

    async def accept(self, message: Incoming) -> None:
        await self.store.ledger.accept(message)

    async def claim(self) -> bool:
        claim = await self.store.ledger.claim(Claiming(self.owner, START, LEASE))
        if claim is not None:
            self.running.append((claim, json.loads(claim.reply_ref or "[]")))
        return claim is not None

    async def write(self, turn: tuple[Claim, list[str]]) -> None:
        """Show a piece of the reply, then store where."""
        claim, pages = turn
        await self.store.ledger.renew(claim, START, LEASE)
        if not pages:
            pages.append(f"page-{next(self.platform.pages)}")
            self.platform.show(pages[0], claim.incoming.event_id, whole=False)
            try:
                await self.store.ledger.save(claim, reply_ref=json.dumps(pages))
            except LeaseLost:
                self.strays.append((claim.turn, pages[0]))
                raise

    async def finish(self, turn: tuple[Claim, list[str]]) -> None:
        """Show the whole reply, then store it."""
        claim, pages = turn
        await self.write(turn)
        self.platform.show(pages[0], claim.incoming.event_id, whole=True)
        self.running.remove(turn)
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, "The red one.", tuple(pages)), START)

    async def act(self, chance: Random) -> None:
        actions: list[Callable[[], Awaitable[object]]] = [self.claim]
        if self.platform.asked:
            actions.append(lambda: self.accept(chance.choice(self.platform.asked)))
        turn = chance.choice(self.running) if self.running else None
        if turn is not None:
            actions += [lambda: self.write(turn), lambda: self.finish(turn)]
        try:
            await chance.choice(actions)()
        except LeaseLost:
            self.running = [one for one in self.running if one is not turn]

    async def end_lost(self) -> None:
        for turn in [*self.running]:
            try:
                await self.store.ledger.renew(turn[0], START, LEASE)
            except LeaseLost:
                self.running.remove(turn)

    async def look(self) -> bool:
        writes = self.store.recent_writes
        if (await writes.timeline()).is_settled:
            return True
        await self.end_lost()
        await self.repair()
        return await writes.settle(1, waits=True)

    async def repair(self) -> None:
        while await self.store.recent_writes.lost(thorough=True) is not None:
            await self.store.recent_writes.repair(START)

    async def delete_strays(self) -> None:
        """As `Answering` does once the turn has ended."""
        for turn, page in self.strays:
            pages = await self.store.ledger.pages(turn)
            assert pages is not None
            if page not in pages:
                self.platform.delete(page)


@pytest.mark.parametrize("seed", range(examples(20)))
async def test_each_question_is_answered_once_whatever_a_failover_loses(postgres: PostgresServer, seed: int) -> None:
    chance, platform = Random(seed), Platform()
    async with postgres.migrated() as url:
        processes = [Process(owner, await open_store(url), platform) for owner in OWNERS]

        async def some_steps() -> None:
            for _ in range(chance.randrange(STEPS)):
                if chance.random() < 0.3:
                    asked = said("Which boat?", conversation=f"thread-{chance.randrange(3)}")
                    platform.asked.append(asked)
                    await chance.choice(processes).accept(asked)
                await chance.choice(processes).act(chance)

        try:
            for process in processes:
                assert await process.look()
            await some_steps()
            await postgres.keep_replica(url)
            await some_steps()
            await postgres.fail_over(url)
            looking = [*processes]
            while looking:
                await some_steps()
                process = chance.choice(looking)
                if await process.look():
                    looking.remove(process)
            await some_steps()
            for process in processes:
                await process.end_lost()
                await process.repair()
                await process.store.recent_writes.delete_unfinished(START)
            for message in platform.asked:  # the histories
                await chance.choice(processes).accept(message)
            while any([process.running or await process.claim() for process in processes]):
                for process in processes:
                    for turn in [*process.running]:
                        await process.finish(turn)
            while (
                job := await processes[0].store.jobs.claim(frozenset({DELETE_REPLY}), "d", START, LEASE)
            ) is not None:
                platform.delete(ShownPage.decode(job.payload).page)
                await processes[0].store.jobs.finish(job)
            for process in processes:
                await process.delete_strays()
        finally:
            for process in processes:
                await process.store.close()
    assert not platform.half
    assert sorted(platform.whole.values()) == sorted(message.event_id for message in platform.asked)
