"""Something that is open only while it is used: the database of `cogency mcp`, which other commands need, too."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from agent.errors import StoreLocked
from agent.ports.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")
RETRY_S: Final = 0.1  # Between two tries to open what another process holds


@dataclass(slots=True, eq=False)
class _Held(Generic[T]):
    opened: "asyncio.Future[T]"
    task: "asyncio.Task[None]" = field(init=False)
    users: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    closing: bool = False


class OnDemand(Generic[T]):
    """Opens a thing for its first user, and closes it once it was not used for `idle_s`.

    `opening` returns the context that opens it; it is entered and left in one task. While another process holds its
    database, opening is tried again for `patience_s`.
    """

    def __init__(
        self, opening: Callable[[], AbstractAsyncContextManager[T]], clock: Clock, idle_s: float, patience_s: float
    ) -> None:
        self._opening = opening
        self._clock = clock
        self._idle_s = idle_s
        self._patience_s = patience_s
        self._held: _Held[T] | None = None

    @asynccontextmanager
    async def using(self) -> AsyncGenerator[T]:
        """Raises what opening it raises."""
        while self._held is not None and self._held.closing:
            await asyncio.wait({self._held.task})
        held = self._held or self._open()
        held.users += 1
        try:
            yield await asyncio.shield(held.opened)
        finally:
            held.users -= 1
            held.changed.set()

    async def close(self) -> None:
        """Close it now. Nobody may use it any more."""
        if self._held is not None:
            self._held.closing = True
            self._held.changed.set()
            await asyncio.wait({self._held.task})

    def _open(self) -> _Held[T]:
        held = self._held = _Held[T](asyncio.get_running_loop().create_future())
        held.task = asyncio.create_task(self._hold(held))
        return held

    async def _hold(self, held: _Held[T]) -> None:
        try:
            async with AsyncExitStack() as stack:
                held.opened.set_result(await self._entered(stack))
                await self._until_idle(held)
        except Exception as error:  # everyone who waits for the opening raises it
            if held.opened.done():
                log.exception("a resource that was opened on demand did not close cleanly")
            else:
                held.opened.set_exception(error)
        finally:
            held.closing = True
            self._held = None

    async def _entered(self, stack: AsyncExitStack) -> T:
        deadline = self._clock.monotonic() + self._patience_s
        while True:
            try:
                return await stack.enter_async_context(self._opening())
            except StoreLocked:
                if self._clock.monotonic() >= deadline:
                    raise
                await self._clock.sleep(RETRY_S)

    async def _until_idle(self, held: _Held[T]) -> None:
        while not held.closing:
            held.changed.clear()
            if held.users:
                await held.changed.wait()
                continue
            try:
                async with asyncio.timeout(self._idle_s):
                    await held.changed.wait()
            except TimeoutError:
                held.closing = not held.users
