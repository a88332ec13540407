"""Files turned into text, by a process of its own for each: PDF, office files, HTML, pages of the web."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bot.attachments import kinds
from bot.caches import FairTurns

CPU_S: Final = 15.0  # Of a processor's time: a report of two hundred pages takes three on a small machine
SECONDS: Final = 30.0  # Of wall-clock time: a busy machine gives a reader little of its own; the person waits for it
MEMORY_BYTES: Final = 768 * 1024 * 1024  # Ten times what large honest files take; below what a small server has
MAX_PAGES: Final = 300  # More than any model is given; each costs time even where it is empty
MAX_CHARS: Final = 400_000  # Of text: far more than is shown, so that what is cut can be counted
# Processes side by side: as many as a small machine has cores, lest answers stand still while files are read.
AT_ONCE: Final = 2
NICENESS: Final = 15  # Behind whatever else the machine does: answers to everybody go before
MESSAGE_S: Final = 45.0  # For reading all files of one message, waiting not counted

# The longest line that can come: JSON writes a character beyond the first 65,536 with twelve.
_LINE_BYTES: Final = MAX_CHARS * 12 + len('["text", ""]\n')
# Of all lines: nobody's process grows by what another one writes, not even by one that a file has taken over.
MAX_TOLD_BYTES: Final = 3 * _LINE_BYTES
LINE_COST: Final = 256  # Of a line besides its bytes, about what it takes here
_SCRIPT: Final = Path(__file__).with_name("reader_process.py")


class ReadAs(StrEnum):
    """What is read, and how. The process finds out by itself which office file it is."""

    PDF = "pdf"
    OFFICE = "office"
    """docx, xlsx, pptx, odt, ods, odp, epub, whatever their names say."""
    HTML = "html"
    """A file, all of its words. In UTF-8."""
    PAGE = "page"
    """A page of the web: its main text, as Markdown with links, in whatever encoding it says."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """`why`: there is no text, or not all of it; one of the two may be "". `title`: of a page of the web. `parts`: the
    text once more, by the names of its pages, slides or sheets, "" where it has none; `pages`: how many a PDF has.
    """

    text: str = ""
    why: str = ""
    title: str = ""
    parts: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    pages: int = field(default=0, compare=False)


@dataclass(slots=True)
class ReadSeconds:
    """What is left of a message's seconds for its files."""

    seconds: float = MESSAGE_S


@dataclass(slots=True)
class _Told:
    """What has come so far. `of`: how many pages there are, -1 before that is known."""

    of: int = -1
    title: str = ""
    fault: str = ""
    ended: bool = False
    """All of it was told."""
    parts: list[tuple[str, list[str]]] = field(default_factory=lambda: [("", [])])

    def take(self, what: str, value: object) -> None:
        match what, value:
            case "of", int():
                self.of = value
            case "title", str():
                self.title = value
            case "part", str():
                self.parts.append((value, []))
            case "text", str():
                self.parts[-1][1].append(value)
            case "fault", str():
                self.fault = value
            case _:
                self.ended = True


def missing(extra: str) -> bool:
    """Whether the libraries of an extra, "office" or "web", are not there."""
    return any(find_spec(name) is None for name in _LIBRARIES[extra])


_LIBRARIES: Final = {"office": ("markitdown", "mammoth", "pptx", "openpyxl"), "web": ("trafilatura",)}


class Reader:
    """Reads files, some at once. `script` is what a process runs, which gives way to others by `niceness`.

    Rules
      A person's files are read one after the other, so that one process is always for somebody else; whoever waits
      comes next in turn by person, not by file: ten large ones of one person keep nobody waiting.
      All files of one message share its seconds; the rest are named with the reason.
      Whatever a file holds, reading it ends in time with a text or a reason, and nothing of it goes on running.
    """

    def __init__(self, seconds: float = SECONDS, script: Path = _SCRIPT, niceness: int = NICENESS) -> None:
        self._seconds = seconds
        self._script = script
        self._niceness = niceness
        self._turns = FairTurns(AT_ONCE)

    async def text(
        self,
        kind: ReadAs,
        data: bytes,
        person: str = "",
        patience: ReadSeconds | None = None,
        *,
        first: int = 1,
        address: str = "",
    ) -> ReadText:
        """The text of `data`, and why there is none or not all of it. It never raises for what the bytes hold.

        `person`: whose turn it is; `first`: the page of a PDF to begin with; `address`: of a page of the web, so that
        its links are whole. Of a page the caller bounds the bytes: a few megabytes are read in time.
        """
        patience = patience or ReadSeconds()
        async with self._turns.turn(person):
            seconds = min(self._seconds, patience.seconds)
            if seconds <= 0:
                return ReadText(why=kinds.LATE)
            begun = asyncio.get_running_loop().time()
            try:
                return await self._read(kind, data, seconds, first, address)
            finally:
                patience.seconds -= asyncio.get_running_loop().time() - begun

    async def _read(self, kind: ReadAs, data: bytes, seconds: float, first: int, address: str) -> ReadText:
        told = _Told()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-B",
            str(self._script),
            *map(str, (MEMORY_BYTES, int(min(CPU_S, seconds)) + 1, MAX_PAGES, MAX_CHARS, self._niceness)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"OPENBLAS_NUM_THREADS": "1"},  # it may know no secret; each thread would take of its memory
            limit=_LINE_BYTES,
            start_new_session=True,
        )
        late = False
        try:
            async with asyncio.timeout(seconds):
                await _exchange(process, json.dumps([kind, first, address]).encode() + b"\n" + data, told)
        except TimeoutError:
            late = True
        finally:
            _kill(process)
            await asyncio.shield(process.wait())
        return _text(kind, told, first, late=late)


def _kill(process: asyncio.subprocess.Process) -> None:
    """With whatever it may have started, which lives in its group."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()


async def _exchange(process: asyncio.subprocess.Process, data: bytes, told: _Told) -> None:
    assert process.stdin is not None  # noqa: S101 -- both are pipes
    assert process.stdout is not None  # noqa: S101 -- as above
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except ConnectionError:
        return  # it died
    left = MAX_TOLD_BYTES
    try:
        async for line in process.stdout:
            left -= len(line) + LINE_COST
            if left < 0:
                return
            what, value = json.loads(line)
            told.take(what, value)
    except (TypeError, ValueError):  # it is not what we started any more
        told.fault = "broken"
        return
    await process.wait()


_REASONS: Final = {
    "locked": kinds.LOCKED,
    "missing": kinds.NOT_INSTALLED,
    "old": kinds.OLD_OFFICE,
    "unknown": kinds.WRONG_KIND,
    "no text": kinds.ONLY_PICTURES,
}


def _text(kind: ReadAs, told: _Told, first: int, *, late: bool) -> ReadText:
    pieces = tuple((name, text) for name, texts in told.parts if (text := "".join(texts).strip()))
    text = "\n\n".join(f"[{name}]\n{text}" if name else text for name, text in pieces)
    if not text:
        return ReadText(why=kinds.LATE if late else _why(kind, told))
    last = first + len(told.parts) - 2
    if kind is ReadAs.PDF and last < told.of:
        return ReadText(text, f"(these are the pages {first} to {last} of {told.of})", told.title, pieces, told.of)
    return ReadText(text, "" if told.ended else kinds.GOES_ON, told.title, pieces, max(told.of, 0))


def _why(kind: ReadAs, told: _Told) -> str:
    """Why there is no text."""
    if told.fault:
        return _REASONS.get(told.fault, kinds.BROKEN)
    return kinds.SCANNED if kind is ReadAs.PDF and len(told.parts) > 1 else kinds.BROKEN
