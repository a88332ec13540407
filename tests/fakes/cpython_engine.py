"""An engine for tests: this Python in a process of its own, without any boundary. It only runs the tests' own code."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from agent.errors import ToolError
from agent.toolbox.signatures import objects_of
from bot.chat.processes import complete, kill, started
from bot.python import texts
from bot.python.engine import (
    FILES,
    NO_FUNCTIONS,
    OUT,
    EngineUnavailable,
    Functions,
    Limit,
    RunEnded,
    RunFile,
    RunLimits,
)
from bot.python.sandbox_process import CODE, PRELUDE, TIME_NS

# The module `host.tools` of the double: each call is a line of JSON to the test's process, and one back.
TOOLS: Final = """
import json, socket
_calls = socket.create_connection(("127.0.0.1", {port})).makefile("rw", encoding="utf-8")
class ToolError(Exception):
    pass
def _function(name, params):
    def call(*values, **args):
        if len(values) > len(params):
            raise ToolError(f"{{name}}(): too many positional arguments")
        args |= zip(params, values)
        _calls.write(json.dumps({{"call": name, "args": args}}) + "\\n")
        _calls.flush()
        answer = json.loads(_calls.readline())
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer["text"]
    return call
for _name, _about, _params in {functions}:
    globals()[_name] = _function(_name, _params)
    globals()[_name].__doc__ = _about
"""


class CPythonEngine:
    """The port `PythonEngine`, for code that names its folders as the sandbox does. `runs`: what it has run, with the
    names of its files, those in its folder of results included, and who asked. `unavailable`: why it runs nothing now.
    """

    def __init__(self, limits: RunLimits = RunLimits()) -> None:  # noqa: B008 -- frozen
        self._limits: Final = limits
        self.runs: list[tuple[str, tuple[str, ...], str]] = []
        self.unavailable = ""

    async def run(
        self,
        code: str,
        files: Sequence[RunFile],
        person: str,
        begun: Callable[[], None] = lambda: None,
        functions: Functions = NO_FUNCTIONS,
        earlier: Sequence[RunFile] = (),
    ) -> RunEnded:
        if self.unavailable:
            raise EngineUnavailable(self.unavailable)
        begun()
        self.runs.append((code, tuple(file.name for file in (*files, *earlier)), person))
        with TemporaryDirectory() as name:
            root = Path(name)
            (root / OUT[1:]).mkdir()
            for file in files:
                path = root / FILES[1:] / file.name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(file.data)
            for file in earlier:
                path = root / OUT[1:] / file.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.data)
                os.utime(path, ns=(TIME_NS, TIME_NS))
            (root / CODE[1:]).write_text(_inside(code, root), encoding="utf-8")
            async with serving(functions, self._limits) as port:
                if functions.offered:
                    (root / "host").mkdir()
                    offered = [
                        (each.name, each.description, [*objects_of(each.schema.get("properties"))])
                        for each in functions.offered
                    ]
                    tools = TOOLS.format(port=port, functions=repr(offered))
                    (root / "host" / "tools.py").write_text(tools, encoding="utf-8")
                ended = await self._run(root)
            found = {file.name: file for file in ended.files}
            changed = {file.name: (root / OUT[1:] / file.name) for file in earlier if file.name in found}
            same = {name for name, path in changed.items() if path.stat().st_mtime_ns == TIME_NS}
        removed = sorted(file.name for file in earlier if file.name not in found)
        files = tuple(file for name, file in found.items() if name not in same)
        return replace(ended, files=files, removed=tuple(removed))

    async def _run(self, root: Path) -> RunEnded:
        starting = asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-c",
            f"import sys\nsys.path.insert(0, {str(root)!r})\n"
            + PRELUDE.replace('"/code.py"', f'"{root / CODE[1:]}"').replace('"/out"', f'"{root / OUT[1:]}"'),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        process = await started(starting, kill)
        try:
            async with asyncio.timeout(self._limits.seconds):
                output, error = await process.communicate()
        except TimeoutError:
            return RunEnded(failed=True, limit=Limit.TIME)
        finally:
            await complete(kill(process))
        most = self._limits.output_bytes
        out = root / OUT[1:]
        found = sorted(path for path in out.rglob("*") if path.is_file())
        return RunEnded(
            output=output[:most].decode(errors="replace"),
            error=error[:most].decode(errors="replace").replace(str(root), ""),
            is_cut=max(len(output), len(error)) > most,
            failed=process.returncode != 0,
            files=tuple(RunFile(str(path.relative_to(out)), path.read_bytes()) for path in found),
        )


@asynccontextmanager
async def serving(functions: Functions, limits: RunLimits) -> AsyncGenerator[int]:
    """Yield the port at which the functions are called."""
    calls = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        try:
            while line := await reader.readline():
                asked = json.loads(line)
                calls += 1
                answer = {"error": texts.TOO_MANY_CALLS.format(limit=limits.function_calls)}
                if calls <= limits.function_calls:
                    try:
                        answer = {"text": await functions.call(asked["call"], asked["args"])}
                    except ToolError as error:
                        answer = {"error": str(error)}
                writer.write(json.dumps(answer).encode() + b"\n")
        finally:
            writer.close()
            await writer.wait_closed()

    tasks = set[asyncio.Task[None]]()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(answer(reader, writer)))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _inside(code: str, root: Path) -> str:
    for folder in (FILES, OUT):
        code = code.replace(folder, str(root / folder[1:]))
    return code


class HangingEngine(CPythonEngine):
    """An engine whose runs end only with their process. `hung`: how many do."""

    def __init__(self) -> None:
        super().__init__()
        self.hung = 0

    async def run(self, *_: object, **__: object) -> RunEnded:
        self.hung += 1
        await asyncio.Event().wait()
        raise AssertionError
