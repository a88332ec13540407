"""The chat on a real terminal: prompt_toolkit reads the keys, rich draws.

Enter sends; Alt-Enter begins a new line, and a pasted text keeps its lines. The arrows walk through earlier
questions, which are held in memory only: a history file would survive `/forget`. Tab completes a command. Ctrl-C
clears the line, or stops the answer; Ctrl-Z suspends; Ctrl-D leaves. What is typed while the bot answers stands at
the next prompt.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from io import StringIO
from types import FrameType
from typing import ClassVar, TextIO

from markdown_it.token import Token
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none, run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.shortcuts import CompleteStyle
from rich import box
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    ListElement,
    ListItem,
    Markdown,
    MarkdownElement,
    TableElement,
)
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from bot.exits import printable
from bot.platforms.terminal.inbound import completed
from bot.platforms.terminal.surface import block_ending, parsed_blocks, settled_chars
from bot.texts import reply_texts
from bot.texts.formatting import literal

CODE_THEME = "ansi_dark"  # The terminal's own colours: readable on any background


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _PlainRule(HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style=console.get_style("markdown.hr", default="none"), characters="-")


class _FoldedTable(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE, pad_edge=False, style="markdown.table.border", collapse_padding=True)
        header = self.header.row.cells if self.header and self.header.row else []
        for cell in header:
            heading = cell.content.copy()
            heading.stylize("markdown.table.header")
            table.add_column(heading, overflow="fold")
        for row in self.body.rows if self.body else []:
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _FlushCode(CodeBlock):
    """Code that is copied from the screen begins where it was written: in Python a blank before it is an error."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0))


class _NumberedItem(ListItem):
    def __init__(self, written: str) -> None:
        super().__init__()
        self.number = int(written) if written.isdecimal() else None

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> "_NumberedItem":  # noqa: ARG003 -- rich's
        return cls(token.info)


class _NumberedList(ListElement):
    """Who writes "1. 3. 4." means it: a number may be the name of a thing. "1. 1. 1." leaves the counting to us."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first = 1 if self.list_start is None else self.list_start
        written = [item.number if isinstance(item, _NumberedItem) else None for item in self.items]
        counted = len(set(written)) == 1 and len(written) > 1
        numbers = [first + at if counted or number is None else number for at, number in enumerate(written)]
        for item, number in zip(self.items, numbers, strict=True):
            yield from item.render_number(console, options, number, max(numbers))


class RenderedAnswer(Markdown):
    """One or more whole blocks of an answer."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _FlushCode,
        "code_block": _FlushCode,
        "hr": _PlainRule,
        "table_open": _FoldedTable,
        "ordered_list_open": _NumberedList,
        "list_item_open": _NumberedItem,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        self.parsed = parsed_blocks(text)
        for token in self.parsed:
            token.children = list(_as_written(token.children)) if token.children else token.children

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        output = iter(super().__rich_console__(console, options))
        # rich puts a blank line above a list, a quote or a table even when nothing stands before it.
        first = next(output, None)
        if first is not None and first != Segment.line():
            yield first
        yield from output


def _as_written(children: Iterable[Token]) -> Iterable[Token]:
    """Inline tokens with their line breaks kept, and without the link around an address that is its own text."""
    for token in children:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.info != "auto":
            yield token


# A growing answer on a terminal: whole blocks are printed once, only the unfinished tail is drawn again.
#
# The rule that keeps long answers from flickering: what is drawn again never exceeds the screen, and what leaves the
# screen was printed for good. The scrollback holds each answer once.


class _VisibleTail:
    """The end of `content` that fits on the screen."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options.update(height=None), pad=False)
        # One line less than the screen: its first line must stay where the cursor can go back to.
        for line in lines[-(console.height - 1) :]:
            yield from line
            yield Segment.line()


class LiveDisplay:
    """Shows one reply. `show` takes the whole text so far; texts may also shrink or differ at their end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._settled = ""
        self._tail = ""
        self._status = ""
        self._begun = False
        self._closed = False
        # What is to be printed once the display goes on; None while it does.
        self._held: list[RenderableType] | None = None

    def show(self, text: str) -> None:
        if self._closed:
            return
        text = printable(text)
        if not text.startswith(self._settled):
            self._start_again()
        tail = text[len(self._settled) :]
        self._settle(tail, settled_chars(tail))

    def status(self, text: str) -> None:
        if self._closed:
            return
        self._status = printable(text)
        self._draw()

    def trace(self, text: str) -> None:
        if not self._closed:
            line = Text(printable(text), style="dim")
            self._draw(Group("", line) if self._begun else line)

    def fail(self) -> None:
        """A person reads it anyway."""

    @contextmanager
    def paused(self) -> Generator[None]:
        self._live.update(_VisibleTail(Group()), refresh=self._live.is_started)
        self._live.stop()
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            self._draw(Group(*held) if held else None)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._status = ""
        self._settle(self._tail, len(self._tail))
        self._live.stop()
        if self._begun:
            self._console.print()

    def _settle(self, tail: str, chars: int) -> None:
        """Print the first `chars` of `tail` for good, and draw the rest."""
        whole, self._tail = tail[:chars], tail[chars:]
        self._settled += whole
        self._draw(self._block(whole))

    def _start_again(self) -> None:
        """What was printed has been replaced: a terminal cannot take it back, so the new text follows below."""
        self._tail = ""
        self._draw(self._block("---"))
        self._settled = ""

    def _block(self, text: str) -> RenderableType | None:
        """Markdown below what is printed already, with the blank line between blocks."""
        if not text.strip():
            return None
        return Group("", RenderedAnswer(text)) if self._begun else RenderedAnswer(text)

    def _draw(self, block: RenderableType | None = None) -> None:
        """One write: the old tail goes, `block` is printed in its place, the new tail follows."""
        self._begun = self._begun or block is not None
        if self._held is not None:
            self._held += [] if block is None else [block]
            return
        status = Text(self._status, style="dim") if self._status else None
        parts = [
            part for part in (self._block(block_ending(self._tail, self._console.height)), status) if part is not None
        ]
        if block is not None:
            # rich draws what it drew last below whatever is printed: the old tail has to go first.
            self._live.update(_VisibleTail(Group()), refresh=self._live.is_started)
            self._console.print(block)
        self._live.update(_VisibleTail(Group(*parts)), refresh=self._live.is_started)
        if parts and not self._live.is_started:
            self._live.start(refresh=True)


if sys.platform != "win32":
    import termios

PROMPT = "> "
HINT = "/help lists the commands, Tab completes them; Ctrl-D leaves."


class _CommandCompletion(Completer):
    """Completes the name of a command; nothing else is known of what somebody wants to write."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 -- the library's
        typed = document.text_before_cursor
        yield from (Completion(name, -len(typed)) for name in completed(typed))


class _PastQuestions(History):
    """What is on the arrow keys, oldest first; None: it comes later, while the prompt may stand already."""

    def __init__(self, questions: Sequence[str] | None) -> None:
        super().__init__()
        self._known = asyncio.Event()
        if questions is not None:
            self.arrive(questions)

    def arrive(self, questions: Sequence[str]) -> None:
        self._loaded_strings += reversed(questions)
        self._loaded = True
        self._known.set()

    async def load(self) -> AsyncGenerator[str, None]:
        await self._known.wait()
        for question in self._loaded_strings:
            yield question

    def load_history_strings(self) -> Iterable[str]:
        return ()

    def store_string(self, string: str) -> None:
        """The store keeps it."""


class TerminalWindow:
    """`keys` and `echo` are where prompt_toolkit reads and draws (None: this process's terminal)."""

    def __init__(self, console: Console, keys: Input | None = None, echo: Output | None = None) -> None:
        self._console = console
        self._keys = keys
        self._echo = echo
        self._past = _PastQuestions(None)
        self._questions = self._session(self._past)
        self._half_written = Document()

    @property
    def is_scripted(self) -> bool:
        return False

    def greet(self, markdown: str) -> None:
        self._console.print(RenderedAnswer(printable(markdown)))
        self._remark(HINT)
        self._console.print()

    def recall(self, questions: Sequence[str]) -> None:
        if self._questions.app.is_running:
            self._past.arrive(questions)
        else:
            self._questions = self._session(_PastQuestions(questions))

    async def read(self) -> str | None:
        while True:
            begun, self._half_written = self._half_written, Document()
            self._questions.app.erase_when_done = False
            try:
                return await self._questions.prompt_async(PROMPT, default=begun)
            except KeyboardInterrupt:
                self._remark(reply_texts.HOW_TO_LEAVE)
            except EOFError:
                return None

    def set_aside(self) -> bool:
        app = self._questions.app
        if not app.is_running or app.is_done:
            return False
        self._half_written = self._questions.default_buffer.document
        app.erase_when_done = True
        return True

    async def answer(self, question: str) -> str | None:
        self.say(question)
        try:
            return await self._session(_PastQuestions([])).prompt_async(PROMPT)
        except (KeyboardInterrupt, EOFError):
            return None

    def say(self, markdown: str) -> None:
        self._console.print(RenderedAnswer(printable(markdown)))
        self._console.print()

    def interject(self, markdown: str) -> None:
        _above_prompt(partial(self.say, markdown))

    def log(self) -> TextIO:
        return _Log(self._console, asyncio.get_running_loop())

    def complain(self, markdown: str) -> None:
        self.say(markdown)

    def report(self, sentence: str) -> None:
        self.say(literal(sentence))

    def open_display(self) -> LiveDisplay:
        return LiveDisplay(self._console)

    @contextmanager
    def answering(self, stop: Callable[[], None]) -> Generator[None]:
        with _on_interrupt(stop), _without_echo():
            yield

    def _remark(self, text: str) -> None:
        self._console.print(Text(text, style="dim"))

    def _session(self, past: History) -> PromptSession[str]:
        return PromptSession(
            history=past,
            completer=_CommandCompletion(),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=_keys(),
            prompt_continuation="  ",
            enable_suspend=True,
            input=self._keys,
            output=self._echo,
        )


class _Log(StringIO):
    """Shows whole lines above the prompt or the answer that grows, from whichever thread they come."""

    def __init__(self, console: Console, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._console = console
        self._loop = loop

    def write(self, text: str) -> int:
        line = printable(text).rstrip("\n")
        if line and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._show, line)
        elif line:
            self._print(line)
        return len(text)

    def _show(self, line: str) -> None:
        _above_prompt(partial(self._print, line))

    def _print(self, line: str) -> None:
        self._console.print(Text(line, style="dim"))


def _above_prompt(show: Callable[[], None]) -> None:
    """Show something, above what is being typed if somebody types."""
    app = get_app_or_none()
    if app is None or not app.is_running:
        show()
    else:
        run_in_terminal(show)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction] -- registered by its decorator
        event.current_buffer.insert_text("\n")

    return keys


@contextmanager
def _on_interrupt(stop: Callable[[], None]) -> Generator[None]:
    """Ctrl-C calls `stop` in the event loop, in place of whatever it did before."""
    loop = asyncio.get_running_loop()

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _without_echo() -> Generator[None]:
    """The terminal keeps what is typed for the next prompt, each key as it is, but does not show it."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = [*before]
    quiet[3] &= ~(termios.ECHO | termios.ICANON)  # with ICANON, an early Ctrl-D would be swallowed
    quiet[3] |= termios.NOFLSH  # without it, Ctrl-C would throw away what was typed before
    termios.tcsetattr(fd, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
