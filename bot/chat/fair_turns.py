"""A queue in which people take turns: one person's backlog does not delay the others."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class FairTurns:
    """Limits slow work: up to `at_once` pieces run in parallel, one per person. People who wait take turns."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # By person, the next first

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncGenerator[None]:
        await self._acquire(person)
        try:
            yield
        finally:
            self._release(person)

    async def _acquire(self, person: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(turn)
        self._grant_turns()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(person)  # it was granted just before
            raise

    def _release(self, person: str) -> None:
        self._free += 1
        self._busy.discard(person)
        self._grant_turns()

    def _grant_turns(self) -> None:
        for person in [waiting for waiting in self._waiting if waiting not in self._busy]:
            turns = self._waiting.pop(person)
            while turns and turns[0].done():
                turns.popleft()  # cancelled while it waited
            if turns and self._free:
                self._free -= 1
                self._busy.add(person)
                turns.popleft().set_result(None)
                if turns:
                    self._waiting[person] = turns  # behind all other people
            elif turns:
                self._waiting = {person: turns} | self._waiting
                return
