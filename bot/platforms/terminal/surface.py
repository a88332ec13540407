"""The surface of the terminal and of pipes: `bot.reply_surface.Surface` on top of a `Display`.

One person reads it, so that each step leaves its trace there.
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
from agent.memory.audience import Place
from agent.messages import Depth
from agent.records import Attachment, Person, StoredMessage, Thread
from bot.exits import write_out
from bot.host import CommandHost
from bot.memory.view import undo_turn_words
from bot.reply_surface import Limits, OutFile, PageContent, PageKey, PageRef, ReplyAction, Surface
from bot.texts import reply_texts

# What a person types into and reads from: a terminal, or a pair of pipes. Protocols, and the plainest display.


class Display(Protocol):
    """The place of one reply while it grows."""

    def show(self, text: str) -> None:
        """`text` is the whole reply so far."""
        ...

    def status(self, text: str) -> None:
        """What the bot is doing meanwhile; "" takes it away."""
        ...

    def trace(self, text: str) -> None:
        """Something was done on the way to the answer; it stays to be read, and is no part of the answer."""
        ...

    def fail(self) -> None:
        """What is shown is no answer: it says why there is none."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """While the person is asked something, which stands where the reply would grow."""
        ...

    def close(self) -> None:
        """The reply ends here, complete or not. Closing again does nothing."""
        ...


class PlainDisplay:
    """Holds a reply back until it is complete, then writes it; `complain` writes what is none, and what delays one."""

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
    """BrokenPipeError from any method: the reader has gone."""

    @property
    def is_scripted(self) -> bool:
        """Whether a program reads, which looks at the exit code, too."""
        ...

    def greet(self, markdown: str) -> None:
        """Show the start-up lines."""
        ...

    def recall(self, questions: Sequence[str]) -> None:
        """Offer these, oldest first, and only these, on the arrow keys."""
        ...

    async def read(self) -> str | None:
        """What the person writes next; None when they leave."""
        ...

    def set_aside(self) -> bool:
        """Before `read` is cancelled: what is half written leaves the screen, and the next one begins with it.

        False if nothing is half written, as a line has just been sent off, which `read` will give: do not cancel it.
        """
        ...

    async def answer(self, question: str) -> str | None:
        """Ask the person something; None where they break off by Ctrl-C or Ctrl-D, or a script has ended."""
        ...

    def say(self, markdown: str) -> None:
        """Show a text of the program itself."""
        ...

    def interject(self, markdown: str) -> None:
        """Show it while the person writes: what they have typed stays."""
        ...

    def log(self) -> TextIO:
        """Where log lines go, so that they run over nothing that is shown."""
        ...

    def complain(self, markdown: str) -> None:
        """Say why something that was asked for is not done."""
        ...

    def report(self, sentence: str) -> None:
        """Say what went wrong: plain text, with names and paths as they are."""
        ...

    def open_display(self) -> Display: ...

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the bot answers: Ctrl-C calls `stop`."""
        ...


# What the terminal needs of the bot, as a Protocol: one person, many conversations.
#
# Rule: a method may raise `CogencyError`, whose one sentence the terminal shows before it goes on.


@dataclass(frozen=True, slots=True)
class Left:
    """A question that an earlier process left unanswered, and its conversation.

    `threads`: the person's, the latest first.
    """

    question: str
    conversation: str
    threads: Sequence[Thread]
    scheduled: bool = False
    """It was not left: it is time for it."""
    works: bool = False
    """It is long work, which begins or goes on now."""


class ChatBot(CommandHost, Protocol):
    @property
    def person(self) -> Person: ...

    @property
    def place(self) -> Place: ...

    def greeting(self) -> str:
        """The start-up lines, as Markdown: which model and why, and where the memory lives."""
        ...

    def new_conversation(self) -> str:
        """The id of a conversation that does not exist yet; nothing is stored before its first question."""
        ...

    def watching(self, surface_for: Callable[[Left], Surface]) -> AbstractAsyncContextManager[None]:
        """While the person writes: what it is time for is begun, and shown on the surface that is made for it."""
        ...

    async def unfinished(self, surface_for: Callable[[Left], Surface], *, due: bool = False) -> None:
        """Finish what the person asked at terminals that are gone; `surface_for` opens the place for one reply. With
        `due` also what it is time for: somebody reads it.

        At once, if there is nothing. The first call is the beginning of all answering.
        """
        ...

    async def left(self) -> bool:
        """Whether `unfinished` would show something now, with what it is time for; nothing of it is begun."""
        ...

    async def past_questions(self) -> list[str]:
        """What the person asked earlier, oldest first: for the arrow keys. Nothing that was forgotten."""
        ...

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
    ) -> Outcome | None:
        """Take the question in, answer it and show the reply on `surface`. How it ended; None if another terminal goes
        on with it, or if it waits for the person's word (`tools`).

        When the task is cancelled, the turn ends as stopped, the reply says so, and CancelledError goes on to the
        caller.
        """
        ...

    async def exchanges(self, conversation: str, limit: int) -> list[StoredMessage]:
        """The last messages of a conversation, oldest first."""
        ...

    async def threads(self) -> list[Thread]:
        """The person's conversations, the latest first."""
        ...

    @property
    def model_name(self) -> str:
        """The usual model, as `COGENCY_MODEL` would say it."""
        ...


def greeting(model: str, where: str) -> str:
    """`model`: which one answers, and why; `where` the memory lives."""
    return f"{model}\n\nMemory: {where}"


# Of every terminal; each has one of its own that begins with it, so that none claims another's questions.
SOURCE = "terminal"
LIMITS = Limits(
    page_chars=10_000_000,  # a terminal scrolls: one page, whatever a model says
    edit_interval_s=0.05,  # twenty frames a second look continuous
    offers=frozenset({ReplyAction.CONTINUE, ReplyAction.UNDO}),
    steps=True,
    traces=True,
    shows_addresses=True,
)


class TerminalSurface:
    """Pages follow one another on the display as one text. A page is known by its key, also after a restart."""

    def __init__(self, display: Display, asks: Callable[[int], None] = lambda _: None) -> None:
        """`asks`: told of a turn that waits for an answer."""
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
            self._pages[reply_texts.WRITE_CONTINUE] = f"\n{reply_texts.WRITE_CONTINUE}"
        if ReplyAction.UNDO in look.offers:
            self._pages[reply_texts.WRITE_UNDO] = f"\n{reply_texts.WRITE_UNDO.format(words=undo_turn_words(look.turn))}"
        self._show()

    async def delete(self, page: PageRef) -> None:
        self._pages.pop(page.id, None)
        self._show()

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- what stands in a terminal can be copied
        return ()

    async def send_ephemeral(self, text: str) -> None:
        """There is nothing here that only one person may see."""

    async def show_waiting(self, turn: int) -> None:
        self._asks(turn)

    async def status(self, text: str) -> None:
        self._display.status(text)

    def finish(self, *, ended: bool) -> None:
        """The last frame has taken the status away."""

    def _show(self) -> None:
        self._display.show("\n".join(self._pages.values()))


class InterjectedSurface(TerminalSurface):
    """A reply that is shown once it is whole, to somebody who writes meanwhile."""

    def finish(self, *, ended: bool) -> None:
        super().finish(ended=ended)
        self._display.close()


# Which part of a growing Markdown text can be printed for good. Pure.
#
# Theory. Markdown is read line by line, and a block that another one follows never changes again. So everything
# before the last block is settled, once that last block's first line is complete: "#" may still become a heading, or
# "#tag" and then a part of the paragraph before it.


def parsed_blocks(text: str) -> list[Token]:
    """The Markdown tokens of `text`, as chats write it.

    HTML is text. Images are links and reference definitions are text, so that every address stays readable; and the
    meaning of a block depends on no later one.
    """
    return _parser().parse(text)


def settled_chars(text: str) -> int:
    """How many characters at the beginning of `text` are whole blocks that no later character can change."""
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _blocks(complete) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return 0
    return sum(len(line) + 1 for line in complete.split("\n")[: starts[-1]])


def block_ending(text: str, lines: int) -> str:
    """A shorter text whose end looks like that of `text`, one block, on a screen of that many lines.

    Drawing a block of a thousand lines twenty times a second would take all the time there is.
    """
    written = text.split("\n")
    first = len(written) - 2 * lines  # twice, as blank lines may take no room
    if first <= 2 or not (tokens := _blocks(text)):
        return text
    match tokens[0].type:
        case "fence":
            return "\n".join([written[0], *written[first:]])
        case "table_open":
            return "\n".join([*written[:2], *written[first:]])
        case "bullet_list_open" | "ordered_list_open":
            items = [
                token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map
            ]
            return "\n".join(written[max(item for item in items if item <= max(first, items[0])) :])
        case _:
            return "\n".join(written[first:])


def _blocks(text: str) -> list[Token]:
    """The tokens of blocks alone: what stands inside their lines is not looked at."""
    return _block_parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image", "reference"])


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"])


# The chat through pipes: lines in, finished answers out, no colours, nothing drawn twice.
#
# Rules. Only answers and texts that were asked for go to the output; the start-up lines, and what says why something
# was not done, go to the error stream. Each is followed by a blank line and flushed. What comes in is UTF-8; bytes
# that are not are replaced.

CHUNK_BYTES = 65_536  # What a pipe holds on Linux: more would come in two reads anyway


class PipeWindow:
    """`lines` come without their line ends. `prompt`: what stands before each, where a person writes them."""

    def __init__(self, lines: AsyncIterator[str], out: TextIO, err: TextIO, prompt: str = "") -> None:
        self._lines = lines
        self._out = out
        self._err = err
        self._prompt = prompt

    @property
    def is_scripted(self) -> bool:
        return not self._prompt

    def greet(self, markdown: str) -> None:
        _write(self._err, f"{markdown}\n\n{reply_texts.PLAIN_TERMINAL}" if self._prompt else markdown)

    def recall(self, questions: Sequence[str]) -> None:
        pass

    async def read(self) -> str | None:
        if self._prompt:
            write_out(self._err, self._prompt)
        return await anext(self._lines, None)

    def set_aside(self) -> bool:
        return False

    async def answer(self, question: str) -> str | None:
        self.say(question)
        return await self.read()

    def say(self, markdown: str) -> None:
        _write(self._out, markdown)

    def interject(self, markdown: str) -> None:
        """The terminal shows what is typed by itself."""
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
    write_out(stream, f"{text}\n\n")
