"""Turns files into text, each in a subprocess: PDF, office files, HTML, web pages."""

import asyncio
import json
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agent.messages import is_too_deep
from bot.chat.attachments import kinds
from bot.chat.fair_turns import FairTurns
from bot.chat.processes import complete, kill, started

CPU_S: Final = 15.0  # CPU time: a report of two hundred pages takes three seconds on a small machine
SECONDS: Final = 30.0  # Wall-clock time: on a busy machine a reader gets little CPU, and a person waits for it
MEMORY_BYTES: Final = 768 * 1024 * 1024  # Ten times what large legitimate files take; less than a small server has
MAX_PAGES: Final = 300  # More than any model is given; even an empty page takes time
MAX_CHARS: Final = 400_000  # Of text: far more than is shown, so that the length of a cut text is known
# Concurrent processes: as many as a small machine has cores, so that answers go on while files are read.
AT_ONCE: Final = 2
NICENESS: Final = 15  # Low priority: answers come first
MESSAGE_S: Final = 45.0  # For reading all files of one message, without waiting for a turn

# The longest possible line: JSON escapes a character beyond U+FFFF with twelve.
_LINE_BYTES: Final = MAX_CHARS * 12 + len('["text", ""]\n')
LINE_DEPTH: Final = 1  # A list of two values
# Of all lines: a reader process that a file has taken over must not exhaust our memory.
MAX_OUTPUT_BYTES: Final = 3 * _LINE_BYTES
LINE_COST: Final = 256  # Memory of a line besides its bytes
_SCRIPT: Final = Path(__file__).with_name("reader_process.py")


class ReadAs(StrEnum):
    """How to read a file. The process itself determines the type of an office file."""

    PDF = "pdf"
    OFFICE = "office"
    """docx, xlsx, pptx, odt, ods, odp or epub, whatever the file's name."""
    HTML = "html"
    """All text of a file in UTF-8."""
    PAGE = "page"
    """The main text of a web page, as Markdown with links; in any encoding that the page declares."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """`why`: the reason if there is no text, or not all of it; `text` or `why` may be "". `title`: of a web page.
    `parts`: the same text by the names of its pages, slides or sheets, "" without a name; `pages`: of a PDF.
    """

    text: str = ""
    why: str = ""
    title: str = ""
    parts: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    pages: int = field(default=0, compare=False)


@dataclass(slots=True)
class ReadSeconds:
    """The time left for the files of a message."""

    seconds: float = MESSAGE_S


@dataclass(slots=True)
class _Output:
    """The output received so far. `of`: the number of pages, -1 before it is known."""

    of: int = -1
    title: str = ""
    fault: str = ""
    ended: bool = False
    """The output is complete."""
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
    """Return whether libraries of an extra, "office" or "web", are missing."""
    return any(find_spec(name) is None for name in _LIBRARIES[extra])


_LIBRARIES: Final = {"office": ("markitdown", "mammoth", "pptx"), "web": ("trafilatura",)}


class Reader:
    """Reads files, up to AT_ONCE at a time. `script`: what a process runs, with the priority `niceness`.

    Rules
      A person's files are read one after the other, so that another process is free for other people. Waiting files get
      their turn by person, not by file: ten large files of one person do not delay another's.
      All files of one message share its time; files that are left over get the reason.
      Whatever a file contains, reading it ends in time, with a text or a reason, and leaves no process running.
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
        time_left: ReadSeconds | None = None,
        *,
        first: int = 1,
        address: str = "",
    ) -> ReadText:
        """Return the text of `data`, or the reason why there is none or not all of it. No content makes it raise.

        `person`: the id for fair turns; `first`: the first page to read of a PDF; `address`: of a web page, to make its
        links absolute. The caller limits the bytes of a web page: a few megabytes are read in time.
        """
        time_left = time_left or ReadSeconds()
        async with self._turns.turn(person):
            seconds = min(self._seconds, time_left.seconds)
            if seconds <= 0:
                return ReadText(why=kinds.LATE)
            started = asyncio.get_running_loop().time()
            try:
                return await self._read(kind, data, seconds, first, address)
            finally:
                time_left.seconds -= asyncio.get_running_loop().time() - started

    async def _read(self, kind: ReadAs, data: bytes, seconds: float, first: int, address: str) -> ReadText:
        output = _Output()
        starting = asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-B",
            str(self._script),
            *map(str, (MEMORY_BYTES, int(min(CPU_S, seconds)) + 1, MAX_PAGES, MAX_CHARS, self._niceness)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"OPENBLAS_NUM_THREADS": "1"},  # no secrets; more threads would take too much of its memory
            limit=_LINE_BYTES,
            start_new_session=True,
        )
        process = await started(starting, kill)
        late = False
        try:
            async with asyncio.timeout(seconds):
                await _exchange(process, json.dumps([kind, first, address]).encode() + b"\n" + data, output)
        except TimeoutError:
            late = True
        finally:
            await complete(kill(process))
        return _text(kind, output, first, late=late)


async def _exchange(process: asyncio.subprocess.Process, data: bytes, output: _Output) -> None:
    assert process.stdin is not None  # noqa: S101 -- both are pipes
    assert process.stdout is not None  # noqa: S101 -- both are pipes
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except ConnectionError:
        return  # the process has died
    bytes_left = MAX_OUTPUT_BYTES
    try:
        async for line in process.stdout:
            bytes_left -= len(line) + LINE_COST
            if bytes_left < 0:
                return
            written = line.decode()
            if is_too_deep(written, LINE_DEPTH):
                output.fault = "broken"
                return
            what, value = json.loads(written)
            output.take(what, value)
    except (TypeError, ValueError):  # not our protocol: a file may have taken the process over
        output.fault = "broken"
        return
    await process.wait()


_REASONS: Final = {
    "locked": kinds.LOCKED,
    "missing": kinds.NOT_INSTALLED,
    "old": kinds.OLD_OFFICE,
    "unknown": kinds.WRONG_KIND,
    "no text": kinds.ONLY_PICTURES,
}


def _text(kind: ReadAs, out: _Output, first: int, *, late: bool) -> ReadText:
    pieces = tuple((name, text) for name, texts in out.parts if (text := "".join(texts).strip()))
    text = "\n\n".join(f"[{name}]\n{text}" if name else text for name, text in pieces)
    if not text:
        return ReadText(why=kinds.LATE if late else _why(kind, out))
    last = first + len(out.parts) - 2
    if kind is ReadAs.PDF and last < out.of:
        return ReadText(text, f"(these are the pages {first} to {last} of {out.of})", out.title, pieces, out.of)
    return ReadText(text, "" if out.ended else kinds.GOES_ON, out.title, pieces, max(out.of, 0))


def _why(kind: ReadAs, output: _Output) -> str:
    """Return the reason why there is no text."""
    if output.fault:
        return _REASONS.get(output.fault, kinds.BROKEN)
    return kinds.SCANNED if kind is ReadAs.PDF and len(output.parts) > 1 else kinds.BROKEN
