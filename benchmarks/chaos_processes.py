"""The processes of `benchmarks.chaos`: the real `cogency run`, which is killed, suspended and started."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from pathlib import Path
from random import Random
from typing import IO, Protocol, TypeAlias

ROOT = Path(__file__).parents[1]


class Blow(Enum):
    """The disturbances of a process."""

    KILL = "kill -9"
    STOP = "SIGSTOP, SIGCONT"
    CUT = "socket cut"


@dataclass(frozen=True, slots=True)
class Blows:
    """The number of each disturbance within `span_s` seconds. A suspended process resumes after about `stop_s`."""

    kills: int
    stops: int
    cuts: int
    span_s: float
    stop_s: float

    def plan(self, chance: Random) -> list[tuple[float, Blow]]:
        """Return the times and kinds of disturbances."""
        kinds = [Blow.KILL] * self.kills + [Blow.STOP] * self.stops + [Blow.CUT] * self.cuts
        chance.shuffle(kinds)
        return list(zip(sorted(chance.uniform(0.0, self.span_s) for _ in kinds), kinds, strict=True))


class Replica(Protocol):
    """The part of a process that is used."""

    @property
    def returncode(self) -> int | None: ...

    def send_signal(self, signal: int, /) -> None: ...

    def kill(self) -> None: ...

    async def wait(self) -> int: ...


# Starts `cogency run` in a folder and an environment, with a log.
Launch: TypeAlias = Callable[[Path, Mapping[str, str], IO[bytes]], Awaitable[Replica]]


async def from_nothing(folder: Path, environment: Mapping[str, str], log: IO[bytes]) -> Replica:
    command = (sys.executable, "-m", "bot", "run")
    return await asyncio.create_subprocess_exec(*command, cwd=folder, env=dict(environment), stderr=log)


@dataclass(slots=True)
class Replicas:
    """Processes with numbers from 0, each restarted when it dies."""

    number: int
    environment: Mapping[str, str]
    folder: Path
    launch: Launch
    own: dict[int, Mapping[str, str]] = field(default_factory=dict[int, Mapping[str, str]])
    """Variables of single processes, in addition to the common environment."""
    running: dict[int, Replica] = field(default_factory=dict[int, Replica])
    stopped: set[int] = field(default_factory=set[int])
    starts: "count[int]" = field(default_factory=lambda: count(1))

    async def start(self, number: int) -> None:
        log = (self.folder / f"log-{number}-{next(self.starts)}").open("wb")
        with log:
            environment = {**self.environment, **self.own.get(number, {})}
            self.running[number] = await self.launch(self.folder, environment, log)

    async def join(self, own: Mapping[str, str]) -> None:
        """Start one more process."""
        self.own[self.number] = own
        await self.start(self.number)
        self.number += 1

    async def kill(self, number: int, how: int = signal.SIGKILL) -> None:
        """End a process, with SIGKILL or the signal `how`, and start it again."""
        process = self.running[number]
        process.send_signal(how)
        self.stopped.discard(number)
        await process.wait()
        await self.start(number)

    async def pause(self, number: int, seconds: float) -> None:
        process = self.running[number]
        process.send_signal(signal.SIGSTOP)
        self.stopped.add(number)
        await asyncio.sleep(seconds)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        self.stopped.discard(number)

    async def suffer(self, blows: Blows, chance: Random, cut: Callable[[], None]) -> None:
        """Apply the planned disturbances, each at its time."""
        pauses: list[asyncio.Task[None]] = []
        now = 0.0
        for at, blow in blows.plan(chance):
            await asyncio.sleep(at - now)
            now = at
            target = chance.randrange(self.number)
            match blow:
                case Blow.KILL:
                    await self.kill(target)
                case Blow.STOP if target not in self.stopped:
                    seconds = blows.stop_s * chance.uniform(0.5, 1.5)
                    pauses.append(asyncio.create_task(self.pause(target, seconds)))
                case Blow.STOP | Blow.CUT:
                    cut()
        await asyncio.gather(*pauses)

    def logs(self) -> list[str]:
        """Return every line that a process logged."""
        files = sorted(self.folder.glob("log-*"))
        return [f"{file.name}: {line}" for file in files for line in file.read_text(errors="replace").splitlines()]


@asynccontextmanager
async def replicas(
    number: int, environment: Mapping[str, str], folder: Path, launch: Launch, own: Mapping[str, str] | None = None
) -> AsyncGenerator[Replicas]:
    """Run processes, and kill them at the end. `own`: variables of single processes, in addition to the common ones."""
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **environment}
    running = Replicas(number, environment, folder, launch, {one: own or {} for one in range(number)})
    try:
        for one in range(number):
            await running.start(one)
        yield running
    finally:
        for process in running.running.values():
            if process.returncode is None:
                process.kill()
            await process.wait()
