"""An engine for tests: this Python in a process of its own, without any boundary. It only runs the tests' own code."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bot.chat.processes import complete, kill, started
from bot.python.engine import FILES, OUT, EngineUnavailable, Limit, RunEnded, RunFile, RunLimits
from bot.python.sandbox_process import CODE, PRELUDE


class CPythonEngine:
    """The port `PythonEngine`, for code that names its folders as the sandbox does. `runs`: what it has run, with the
    names of its files and who asked. `unavailable`: why it runs nothing now.
    """

    def __init__(self, limits: RunLimits = RunLimits()) -> None:  # noqa: B008 -- frozen
        self._limits: Final = limits
        self.runs: list[tuple[str, tuple[str, ...], str]] = []
        self.unavailable = ""

    async def run(
        self, code: str, files: Sequence[RunFile], person: str, begun: Callable[[], None] = lambda: None
    ) -> RunEnded:
        if self.unavailable:
            raise EngineUnavailable(self.unavailable)
        begun()
        self.runs.append((code, tuple(file.name for file in files), person))
        with TemporaryDirectory() as name:
            root = Path(name)
            (root / OUT[1:]).mkdir()
            for file in files:
                path = root / FILES[1:] / file.name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(file.data)
            (root / CODE[1:]).write_text(_inside(code, root), encoding="utf-8")
            return await self._run(root)

    async def _run(self, root: Path) -> RunEnded:
        starting = asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-c",
            PRELUDE.replace('"/code.py"', f'"{root / CODE[1:]}"').replace('"/out"', f'"{root / OUT[1:]}"'),
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


def _inside(code: str, root: Path) -> str:
    for folder in (FILES, OUT):
        code = code.replace(folder, str(root / folder[1:]))
    return code
