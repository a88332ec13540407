"""The text of a PDF, read by a process of its own."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.attachments import kinds
from bot.fair_turns import FairTurns

SECONDS: Final = 15.0
"""Of wall-clock time: a report of two hundred pages takes three on a small machine; the person waits for it."""
MEMORY_BYTES: Final = 768 * 1024 * 1024
"""Ten times what large honest files take; below what a small server has."""
MAX_PAGES: Final = 300
"""More than any model is given; each costs time even where it is empty."""
MAX_CHARS: Final = 400_000
"""Of text: far more than is shown, so that what is cut can be counted."""
AT_ONCE: Final = 2
"""Processes side by side: as many as a small machine has cores, lest answers stand still while files are read."""

NICENESS: Final = 15
"""Behind whatever else the machine does: answers to everybody go before."""

MESSAGE_S: Final = 30.0
"""For reading all PDFs of one message, waiting not counted: two that take as long as any may."""

_LINE_BYTES: Final = MAX_CHARS * 12 + len('""\n')
"""The longest line that can come: JSON writes a character beyond the first 65,536 with twelve."""
_SCRIPT: Final = Path(__file__).with_name("pdf_process.py")


@dataclass(slots=True)
class _Read:
    """What has come so far. `pages`: how many there are, -1 before that is known."""

    pages: int = -1
    fault: str = ""
    texts: list[str] | None = None


@dataclass(slots=True)
class PdfSeconds:
    """What is left of a message's seconds for its PDFs."""

    seconds: float = MESSAGE_S


class PdfTexts:
    """Reads PDFs, some at once. `script` is what a process runs, which gives way to others by `niceness`.

    Rules
      A person's PDFs are read one after the other, so that one process is always for somebody else; whoever waits comes
      next in turn by person, not by file: ten large ones of one person keep nobody waiting.
      All PDFs of one message share its seconds; the rest are named with the reason.
    """

    def __init__(self, seconds: float = SECONDS, script: Path = _SCRIPT, niceness: int = NICENESS) -> None:
        self._seconds = seconds
        self._script = script
        self._niceness = niceness
        self._turns = FairTurns(AT_ONCE)

    async def read(self, data: bytes, person: str = "", patience: PdfSeconds | None = None) -> tuple[str, str]:
        """The text, page by page, and why there is none or not all of it: one of them may be ""."""
        patience = patience or PdfSeconds()
        async with self._turns.turn(person):
            seconds = min(self._seconds, patience.seconds)
            if seconds <= 0:
                return "", kinds.LATE
            begun = asyncio.get_running_loop().time()
            try:
                return await self._read(data, seconds)
            finally:
                patience.seconds -= asyncio.get_running_loop().time() - begun

    async def _read(self, data: bytes, seconds: float) -> tuple[str, str]:
        read = _Read()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-B",
            str(self._script),
            *map(str, (MEMORY_BYTES, int(seconds) + 1, MAX_PAGES, MAX_CHARS, self._niceness)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},  # it may know no secret
            limit=_LINE_BYTES,
        )
        late = False
        try:
            async with asyncio.timeout(seconds):
                await _exchange(process, data, read)
        except TimeoutError:
            late = True
        finally:
            if process.returncode is None:
                process.kill()
            await asyncio.shield(process.wait())
        return _text(read, late=late)


async def _exchange(process: asyncio.subprocess.Process, data: bytes, read: _Read) -> None:
    assert process.stdin is not None  # noqa: S101 -- both are pipes
    assert process.stdout is not None  # noqa: S101 -- as above
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except ConnectionError:
        return  # it died
    async for line in process.stdout:
        said = json.loads(line)
        if read.texts is not None:
            read.texts.append(said)
        elif isinstance(said, int):
            read.pages, read.texts = said, []
        else:
            read.fault = said
    await process.wait()


def _text(read: _Read, *, late: bool) -> tuple[str, str]:
    texts = read.texts or []
    text = "\n\n".join(f"[page {number}]\n{page.strip()}" for number, page in enumerate(texts, 1) if page.strip())
    if read.fault:
        return "", kinds.LOCKED if read.fault == "locked" else kinds.BROKEN_PDF
    if not text:
        return "", _nothing(read, late=late)
    if len(texts) < read.pages:
        return text, f"(these are {len(texts)} of {read.pages} pages)"
    return text, ""


def _nothing(read: _Read, *, late: bool) -> str:
    if late:
        return kinds.LATE
    return kinds.SCANNED if read.texts else kinds.BROKEN_PDF
