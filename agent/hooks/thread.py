"""Runs an operator's async functions in an event loop of their own, so that one that blocks delays no answer.

Rules
  The functions share one loop in a daemon thread, so that a client which they keep open works in each call.
  Nothing waits longer for a function than its timeout. A function that still runs is cancelled.
  A function that blocks the loop is left to itself: the next call gets a new loop in a new thread. So many threads may
  block; beyond, no function is called until one of them has returned.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from typing import Any, Final

MAX_BLOCKED: Final = 8  # Threads; as many as the calls of one tool that may not have ended
MAX_CALLS: Final = 200  # At the same time, also those that ignore that they were cancelled
RESPONDS_S: Final = 0.5


class TooManyBlocked(Exception):
    """No function can be called before an earlier call has returned."""


class _Loop:
    """An event loop in a daemon thread, which is closed once it has been told to stop."""

    def __init__(self, ended: Callable[["_Loop"], None]) -> None:
        self.loop = asyncio.new_event_loop()
        self.is_left = self.is_over = False
        self._ended = ended
        Thread(target=self._serve, name="hooks", daemon=True).start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.is_over = True
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=RESPONDS_S) if tasks else asyncio.sleep(0))
        finally:
            self.loop.close()
            self._ended(self)

    def begin(self, run: Callable[[], Coroutine[Any, Any, object]]) -> Future[object]:
        """Run this as a task, which is cancelled with the future. One that has not begun by then is never made."""
        running = Future[object]()

        def cancel(task: "asyncio.Task[object]", _: Future[object]) -> None:
            if running.cancelled():
                with suppress(RuntimeError):  # the loop is closed already
                    self.loop.call_soon_threadsafe(task.cancel)

        def make() -> None:
            if not running.cancelled():
                task = self.loop.create_task(run())
                task.add_done_callback(partial(_settle, running))
                running.add_done_callback(partial(cancel, task))

        self.loop.call_soon_threadsafe(make)
        return running

    def stop(self) -> None:
        with suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self.loop.stop)

    async def responds(self, within_s: float) -> bool:
        beat = Future[None]()
        try:
            self.loop.call_soon_threadsafe(beat.set_result, None)
        except RuntimeError:  # it is closed, so nothing blocks it
            return True
        done, _ = await asyncio.wait({asyncio.wrap_future(beat)}, timeout=within_s)
        return bool(done)


def _settle(running: Future[object], task: "asyncio.Task[object]") -> None:
    with suppress(InvalidStateError):  # it was cancelled in this moment
        if task.cancelled():
            running.set_exception(RuntimeError("the function canceled itself"))
        elif (error := task.exception()) is not None:
            running.set_exception(error)
        else:
            running.set_result(task.result())


class HookThread:
    """Calls functions. `close` when none is needed any more.

    `responds_s`: a loop that does not run for so long after a timeout is blocked.
    """

    def __init__(self, responds_s: float = RESPONDS_S) -> None:
        self._responds_s = responds_s
        self._current: _Loop | None = None
        self._lock = Lock()  # the counts change in the threads
        self._blocked = 0
        self._running = 0

    async def call(self, function: Callable[[Any], Awaitable[object]], argument: object, timeout_s: float) -> object:
        """Return what the function returns. Raises TimeoutError, TooManyBlocked, and what the function raises; what
        would end the program becomes a RuntimeError.
        """
        if self._blocked >= MAX_BLOCKED or self._running >= MAX_CALLS:
            raise TooManyBlocked
        if self._current is None or self._current.is_over:  # a function may have stopped its loop
            self._current = _Loop(self._loop_ended)
        current = self._current
        running = current.begin(lambda: self._run(function, argument))
        waiting = asyncio.wrap_future(running)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=timeout_s)
        except asyncio.CancelledError:
            running.cancel()
            raise
        if done:
            return waiting.result()
        running.cancel()
        if not await current.responds(self._responds_s):
            self._leave(current)
        raise TimeoutError

    def close(self) -> None:
        if self._current is not None:
            self._leave(self._current)

    def _leave(self, loop: _Loop) -> None:
        if self._current is loop:  # several calls may find out at the same time
            self._current, loop.is_left = None, True
            with self._lock:
                self._blocked += 1
            loop.stop()

    def _loop_ended(self, loop: _Loop) -> None:
        with self._lock:
            self._blocked -= loop.is_left

    async def _run(self, function: Callable[[Any], Awaitable[object]], argument: object) -> object:
        with self._lock:  # one that is cancelled before it begins does not get here
            self._running += 1
        try:
            return await function(argument)
        except (SystemExit, KeyboardInterrupt, StopIteration, StopAsyncIteration) as error:
            raise RuntimeError("the function asked to end the program") from error
        finally:
            with self._lock:
                self._running -= 1
