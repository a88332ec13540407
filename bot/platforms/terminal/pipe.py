"""The chat through pipes: lines in, finished answers out, no colours, nothing drawn twice.

Rules. Only answers and texts that were asked for go to the output; the start-up lines, and what says why something was
not done, go to the error stream. Each is followed by a blank line and flushed. What comes in is UTF-8; bytes that are
not are replaced.
"""

import asyncio
import codecs
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TextIO

from bot.output import write_out
from bot.platforms.terminal.blocks import printable
from bot.platforms.terminal.window import PlainDisplay

CHUNK_BYTES = 65_536
"""What a pipe holds on Linux: more would come in two reads anyway."""


class PipeWindow:
    """`lines` come without their line ends."""

    def __init__(self, lines: AsyncIterator[str], out: TextIO, err: TextIO) -> None:
        self._lines = lines
        self._out = out
        self._err = err

    @property
    def is_scripted(self) -> bool:
        return True

    def greet(self, markdown: str) -> None:
        _write(self._err, markdown)

    def recall(self, questions: Sequence[str]) -> None:
        pass

    async def read(self) -> str | None:
        return await anext(self._lines, None)

    async def answer(self, question: str) -> str:
        self.say(question)
        return await self.read() or ""

    def say(self, markdown: str) -> None:
        _write(self._out, markdown)

    def log(self) -> TextIO:
        return self._err

    def complain(self, markdown: str) -> None:
        _write(self._err, markdown)

    def open_display(self) -> PlainDisplay:
        return PlainDisplay(self.say, self.complain)

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:  # noqa: ARG002 -- Ctrl-C ends a pipe
        return nullcontext()


async def lines_from(fd: int) -> AsyncGenerator[str, None]:
    """The lines that a file descriptor gives, each as soon as it is complete; the last may lack its line end."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    begun = ""
    while chunk := await _read(fd):
        *lines, begun = (begun + decoder.decode(chunk)).split("\n")
        for line in lines:
            yield line.removesuffix("\r")
    begun += decoder.decode(b"", final=True)
    if begun:
        yield begun.removesuffix("\r")


async def _read(fd: int) -> bytes:
    """The next bytes; none at the end.

    In a thread, as an event loop cannot watch a file; in a daemon one, as a read that waits cannot be ended.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def arrive(chunk: bytes) -> None:
        if not arrived.done():
            arrived.set_result(chunk)

    def wait() -> None:
        try:
            chunk = os.read(fd, CHUNK_BYTES)
        except OSError:  # closed under our hands: nothing more will come
            chunk = b""
        with suppress(RuntimeError):  # the chat is over, and its loop closed
            loop.call_soon_threadsafe(arrive, chunk)

    threading.Thread(target=wait, name="standard input", daemon=True).start()
    return await arrived


def _write(stream: TextIO, text: str) -> None:
    write_out(stream, f"{printable(text)}\n\n")
