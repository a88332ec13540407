"""The surface of the terminal and of pipes: `bot.chat.reply.surface.Surface` on top of a `Display`.

It has one reader, so each step leaves its trace there.
"""

import asyncio
import codecs
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TextIO

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent.events import Outcome
from agent.incoming import Attachment, Person
from agent.memory.audience import Place
from agent.messages import Depth
from agent.stored_messages import StoredMessage, Thread
from bot.chat.commands.declaration import BoundCommands
from bot.chat.output import write_out
from bot.chat.reply.surface import Limits, OutFile, PageContent, PageKey, PageRef, ReplyAction, ReplyEnd, Surface
from bot.chat.texts import replies as reply_texts
from bot.memory.requests import undo_turn_words
from bot.platforms import texts as platforms_texts
from bot.tools.answers import AskedWindow, QuestionAnswer

# What a user types into and reads from: a terminal, or a pair of pipes. Protocols, and the simplest display.


class Display(Protocol):
    """Displays one reply while it is written."""

    def show(self, text: str) -> None:
        """Display `text`, the whole reply so far."""
        ...

    def status(self, text: str) -> None:
        """Display what the bot is doing; "" removes it."""
        ...

    def trace(self, text: str) -> None:
        """Display a step that was done. It stays visible, and is not part of the answer."""
        ...

    def fail(self) -> None:
        """Mark the text as an error message instead of an answer."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Suspend the display while the user is asked something in its place."""
        ...

    def close(self) -> None:
        """End the reply, complete or not. Closing again does nothing."""
        ...


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


class Window(Protocol):
    """Every method may raise BrokenPipeError: the reader has gone."""

    @property
    def is_scripted(self) -> bool:
        """Whether a program reads, which also uses the exit code."""
        ...

    def greet(self, markdown: str) -> None:
        """Show the start-up lines."""
        ...

    def recall(self, questions: Sequence[str]) -> None:
        """Offer these questions, oldest first, and no others, on the arrow keys."""
        ...

    async def read(self) -> str | None:
        """Return the user's next line; None when they leave."""
        ...

    def set_aside(self) -> bool:
        """Prepare to cancel `read`: the unfinished line leaves the screen, and the next `read` starts with it.

        False if there is no unfinished line, as one was just sent, which `read` will return: do not cancel it.
        """
        ...

    async def ask(self, question: str) -> str | None:
        """Ask the user something; None if they cancel with Ctrl-C or Ctrl-D, or if a script has ended."""
        ...

    def say(self, markdown: str) -> None:
        """Show a text of the program."""
        ...

    def interject(self, markdown: str) -> None:
        """Show a text while the user types: their input stays."""
        ...

    def log(self) -> TextIO:
        """Return the stream for log lines, which does not overwrite what is displayed."""
        ...

    def complain(self, markdown: str) -> None:
        """Show why a request is not carried out."""
        ...

    def report(self, sentence: str) -> None:
        """Show an error: plain text, with names and paths unchanged."""
        ...

    def open_display(self) -> Display: ...

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the bot answers, Ctrl-C calls `stop`."""
        ...


# What the terminal needs of the bot, as a Protocol: one user, many conversations.
#
# Rule: a method may raise `CogencyError`, whose one sentence the terminal shows before it continues.


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """A turn that an earlier process left unfinished, or that is due, and its conversation.

    `threads`: the user's threads, latest first.
    """

    question: str
    conversation: str
    threads: Sequence[Thread]
    scheduled: bool = False
    """It is a due schedule, not an unfinished turn."""
    works: bool = False
    """It is long work, which starts or continues now."""


class ToolQuestions(Protocol):
    """Questions that tools ask the user during a call, as `bot.tools.questions` carries them out."""

    async def answer(self, person: str, words: str) -> QuestionAnswer | None: ...

    async def window(self, person: str, words: str) -> AskedWindow: ...


class ChatBot(Protocol):
    @property
    def commands(self) -> BoundCommands: ...

    @property
    def questions(self) -> ToolQuestions: ...

    async def awaits_decision(self) -> bool:
        """Return whether a call waits until the user allows or refuses it."""
        ...

    def stop_forgetting(self) -> None:
        """Stop the user's searches for what to forget."""
        ...

    @property
    def person(self) -> Person: ...

    @property
    def place(self) -> Place: ...

    def greeting(self) -> str:
        """Return the start-up lines, as Markdown: the model and why it was chosen, and where memory is stored."""
        ...

    def new_conversation(self) -> str:
        """Return the id of a new conversation; nothing is stored before its first question."""
        ...

    def watching(self, surface_for: Callable[[UnfinishedTurn], Surface]) -> AbstractAsyncContextManager[None]:
        """While the user writes, start what becomes due, and show it on the surface that `surface_for` returns."""
        ...

    async def finish_pending(self, surface_for: Callable[[UnfinishedTurn], Surface], *, due: bool = False) -> None:
        """Finish the user's turns at terminals that are gone; `surface_for` returns the surface of one reply.

        With `due`, also start what is due, as a user reads it. Returns at once if there is nothing. The first call
        starts answering.
        """
        ...

    async def has_pending(self) -> bool:
        """Return whether `finish_pending` would show a reply now, including due ones; starts none."""
        ...

    async def past_questions(self) -> list[str]:
        """Return the user's earlier questions, oldest first, without forgotten ones: for the arrow keys."""
        ...

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
    ) -> Outcome | None:
        """Take the question in, answer it and show the reply on `surface`.

        Returns the outcome; None if another terminal continues the turn, or if it waits for the user's decision
        (`/tools`). If the task is cancelled, the turn ends as stopped, the reply says so, and CancelledError is raised.
        """
        ...

    async def exchanges(self, conversation: str, limit: int) -> list[StoredMessage]:
        """Return the last messages of a conversation, oldest first."""
        ...

    async def threads(self) -> list[Thread]:
        """Return the user's conversations, latest first."""
        ...

    @property
    def model_name(self) -> str:
        """The default model, in the form of `COGENCY_MODEL`."""
        ...


def greeting(model: str, where: str) -> str:
    """Return the start-up lines. `model`: which model answers, and why; `where`: where memory is stored."""
    return f"{model}\n\nMemory: {where}"


# The common prefix of all terminals' sources; each terminal has its own, so that none claims another's questions.
SOURCE = "terminal"
LIMITS = Limits(
    page_chars=10_000_000,  # a terminal scrolls: one page for any answer
    edit_interval_s=0.05,  # twenty frames a second look continuous
    offers=frozenset({ReplyAction.CONTINUE, ReplyAction.UNDO}),
    steps=True,
    traces=True,
    shows_addresses=True,
)


class TerminalSurface:
    """Joins the pages on the display to one text. A page is identified by its key, also after a restart."""

    def __init__(self, display: Display, asks: Callable[[int], None] = lambda _: None) -> None:
        """`asks` is called with the turn that waits for an answer of the user."""
        self._display = display
        self._asks = asks
        self._pages: dict[str, str] = {}
        self._traced: set[str] = set()

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- no display outlives its process
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        page = PageRef(str(key))
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: PageContent) -> None:
        for step in look.steps:
            if step.trace and step.id not in self._traced:
                self._traced.add(step.id)
                self._display.trace(step.trace)
        self._pages[page.id] = look.text
        if ReplyAction.CONTINUE in look.offers:
            self._pages[platforms_texts.WRITE_CONTINUE] = f"\n{platforms_texts.WRITE_CONTINUE}"
        if ReplyAction.UNDO in look.offers:
            self._pages[platforms_texts.WRITE_UNDO] = (
                f"\n{platforms_texts.WRITE_UNDO.format(words=undo_turn_words(look.turn))}"
            )
        self._show()

    async def delete(self, page: PageRef) -> None:
        self._pages.pop(page.id, None)
        self._show()

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- text in a terminal can be copied
        return ()

    async def send_ephemeral(self, text: str) -> None:
        """The terminal has one reader: there is nothing to hide from others."""

    async def show_waiting(self, turn: int) -> None:
        self._asks(turn)

    async def status(self, text: str) -> None:
        self._display.status(text)

    def begin(self, *, resumed: bool) -> None:
        """Nothing is shown before the first status."""

    def finish(self, end: ReplyEnd) -> None:
        """The last frame has removed the status."""

    def _show(self) -> None:
        self._display.show("\n".join(self._pages.values()))


class InterjectedSurface(TerminalSurface):
    """A reply that is shown once it is complete, while the user writes."""

    def finish(self, end: ReplyEnd) -> None:
        super().finish(end)
        self._display.close()


# Which part of a growing Markdown text is final and can be printed. Pure.
#
# Theory of operation. Markdown is parsed line by line, and a block that is followed by another one never changes again.
# So everything before the last block is settled, once that last block's first line is complete: "#" may still become a
# heading, or "#tag" and then a part of the paragraph before it.


def parsed_blocks(text: str) -> list[Token]:
    """Return the Markdown tokens of `text`.

    HTML is text. Images are links and reference definitions are text, so that every address stays readable, and each
    block is independent of later ones.
    """
    return _parser().parse(text)


def settled_chars(text: str) -> int:
    """Return the length of the beginning of `text` that consists of whole blocks which later text cannot change."""
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _blocks(complete) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return 0
    return sum(len(line) + 1 for line in complete.split("\n")[: starts[-1]])


def block_ending(text: str, lines: int) -> str:
    """Return a shorter text that renders like the end of `text`, a single block, on a screen of `lines` lines.

    Rendering a block of a thousand lines twenty times a second would take all available time.
    """
    text_lines = text.split("\n")
    first = len(text_lines) - 2 * lines  # twice, as blank lines may take no room
    if first <= 2 or not (tokens := _blocks(text)):
        return text
    match tokens[0].type:
        case "fence":
            return "\n".join([text_lines[0], *text_lines[first:]])
        case "table_open":
            return "\n".join([*text_lines[:2], *text_lines[first:]])
        case "bullet_list_open" | "ordered_list_open":
            items = [
                token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map
            ]
            return "\n".join(text_lines[max(item for item in items if item <= max(first, items[0])) :])
        case _:
            return "\n".join(text_lines[first:])


def _blocks(text: str) -> list[Token]:
    """Return the tokens of blocks only, without inline tokens."""
    return _block_parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "reference"])


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"])


# The chat through pipes: lines in, complete answers out, without colours and redrawing.
#
# Rules. Only answers and requested texts go to the output; the start-up lines and errors go to the error stream. Each
# is followed by a blank line and flushed. Input is UTF-8; invalid bytes are replaced.

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
