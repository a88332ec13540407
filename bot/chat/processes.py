"""Child processes: whatever cancels their caller, and however often, none is left running, or not waited for.

If its start is cancelled, asyncio kills a process and waits for its end. A second cancellation interrupts that wait,
and a timeout of anyio cancels at every step. Processes are therefore started and ended in tasks of their own, which the
caller's cancellation does not reach: it is raised once they are done.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

REAP_S: Final = 2.0  # For the system to remove a killed process
POLL_S: Final = 0.01


async def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end. A cancellation meanwhile is raised afterwards."""
    task = asyncio.create_task(work)
    await finished(task)
    return task.result()


async def finished(task: asyncio.Task[Any]) -> None:
    """Wait for the end of a task, which may be its failure. A cancellation meanwhile is raised afterwards."""
    interrupted: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted


async def started(
    starting: Coroutine[Any, Any, asyncio.subprocess.Process],
    end: Callable[[asyncio.subprocess.Process], Coroutine[Any, Any, None]],
) -> asyncio.subprocess.Process:
    """Start a process. If the caller is cancelled meanwhile, `end` it again. Raises the errors of `starting`."""
    task = asyncio.create_task(starting)
    try:
        await finished(task)
    except asyncio.CancelledError:
        if not task.cancelled() and task.exception() is None:
            await complete(end(task.result()))
        raise
    return task.result()


async def kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process that leads a group, with the group, and close our ends of its pipes."""
    signal_group(process, "SIGKILL")
    await has_ended(process, REAP_S)
    # A process that left the group may still hold the pipes, and no public API closes our ends.
    process._transport.close()  # noqa: SLF001 # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def has_ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether the process ends within `seconds`. `process.wait` would also wait for its children's pipes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110 -- there is no event for it
                await asyncio.sleep(POLL_S)
    return process.returncode is not None


def signal_group(process: asyncio.subprocess.Process, name: str) -> None:
    """Send a signal to a process and all that it has started; where there are no groups, kill the process."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.Signals[name])
        elif process.returncode is None:
            process.kill()
