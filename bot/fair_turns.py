"""Work that takes long, some of it at once, in turns by person: nobody waits for all that somebody else asked for."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class FairTurns:
    """So many at once, of each person one; those who wait go round by person."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By person, whose turn it is next first."""

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncGenerator[None]:
        await self._begin(person)
        try:
            yield
        finally:
            self._end(person)

    async def _begin(self, person: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(turn)
        self._go_on()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end(person)  # it had just begun
            raise

    def _end(self, person: str) -> None:
        self._free += 1
        self._busy.discard(person)
        self._go_on()

    def _go_on(self) -> None:
        for person in [one for one in self._waiting if one not in self._busy]:
            turns = self._waiting.pop(person)
            while turns and turns[0].done():
                turns.popleft()  # given up
            if turns and self._free:
                self._free -= 1
                self._busy.add(person)
                turns.popleft().set_result(None)
                if turns:
                    self._waiting[person] = turns  # behind everybody else
            elif turns:
                self._waiting = {person: turns} | self._waiting
                return
