"""The chat through pipes: lines in, complete answers out, without colors and redrawing.

Rules. Only answers and requested texts go to the output; the start-up lines and errors go to the error stream. Each
is followed by a blank line and flushed. Input is UTF-8; invalid bytes are replaced.
"""

import asyncio
import codecs
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TextIO

from bot.chat.output import write_out
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts


class PlainDisplay:
    """Writes a reply once it is complete; `complain` writes errors, and the notice of a delay."""

    def __init__(self, write: Callable[[str], None], complain: Callable[[str], None] | None = None) -> None:
        self._write = write
        self._complain = complain or write
        self._text = ""
        self._delayed = False

    def show(self, text: str) -> None:
        self._text = text

    def status(self, text: str) -> None:
        if text == reply_texts.UNSTORED and not self._delayed:
            self._delayed = True
            self._complain(text)

    def trace(self, text: str) -> None:
        pass

    def fail(self) -> None:
        self._write = self._complain

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        text, self._text = self._text.strip("\n"), ""
        if text:
            self._write(text)


CHUNK_BYTES = 65_536  # The capacity of a pipe on Linux: more would take two reads anyway


class PipeWindow:
    """`lines` have no line ends. `prompt` is shown before each, if a user writes them."""

    def __init__(self, lines: AsyncIterator[str], out: TextIO, err: TextIO, prompt: str = "") -> None:
        self._lines = lines
        self._out = out
        self._err = err
        self._prompt = prompt

    @property
    def is_scripted(self) -> bool:
        return not self._prompt

    def greet(self, markdown: str) -> None:
        _write(self._err, f"{markdown}\n\n{platforms_texts.PLAIN_TERMINAL}" if self._prompt else markdown)

    def recall(self, questions: Sequence[str]) -> None:
        pass

    async def read(self) -> str | None:
        if self._prompt:
            write_out(self._err, self._prompt)
        return await anext(self._lines, None)

    def set_aside(self) -> bool:
        return False

    async def ask(self, question: str) -> str | None:
        self.say(question)
        return await self.read()

    def say(self, markdown: str) -> None:
        _write(self._out, markdown)

    def interject(self, markdown: str) -> None:
        """The terminal itself echoes the input."""
        _write(self._out, f"\n{markdown}" if self._prompt else markdown)
        if self._prompt:
            write_out(self._err, self._prompt)

    def log(self) -> TextIO:
        return self._err

    def complain(self, markdown: str) -> None:
        _write(self._err, markdown)

    def report(self, sentence: str) -> None:
        _write(self._err, sentence)

    def open_display(self) -> PlainDisplay:
        return PlainDisplay(self.say, self.complain)

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:  # noqa: ARG002 -- Ctrl-C ends a pipe
        return nullcontext()


async def lines_from(fd: int) -> AsyncGenerator[str, None]:
    """Yield the lines of a file descriptor, each as soon as it is complete; the last may lack its line end."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    partial = ""
    while chunk := await _read(fd):
        *lines, partial = (partial + decoder.decode(chunk)).split("\n")
        for line in lines:
            yield line.removesuffix("\r")
    partial += decoder.decode(b"", final=True)
    if partial:
        yield partial.removesuffix("\r")


async def _read(fd: int) -> bytes:
    """Return the next bytes; b"" at the end.

    In a thread, as an event loop cannot watch a regular file; in a daemon thread, as a blocked read cannot be
    cancelled.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def arrive(chunk: bytes) -> None:
        if not arrived.done():
            arrived.set_result(chunk)

    def wait() -> None:
        try:
            chunk = os.read(fd, CHUNK_BYTES)
        except OSError:  # closed meanwhile: no more input
            chunk = b""
        with suppress(RuntimeError):  # the chat is over, and its loop closed
            loop.call_soon_threadsafe(arrive, chunk)

    threading.Thread(target=wait, name="standard input", daemon=True).start()
    return await arrived


def _write(stream: TextIO, text: str) -> None:
    write_out(stream, f"{text}\n\n")
