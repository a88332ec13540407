"""The chat on a real terminal: prompt_toolkit reads the keys, rich draws.

Enter sends; Alt-Enter starts a new line, and pasted text keeps its lines. The arrow keys go through earlier questions,
which are held in memory only: a history file would survive `/forget`. Tab completes a command. Ctrl-C clears the line,
or stops the answer; Ctrl-Z suspends; Ctrl-D leaves. Input typed while the bot answers appears at the next prompt.
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
from rich.theme import Theme

from bot.chat.output import printable
from bot.chat.texts.formatting import sentence_of
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.markdown_blocks import block_ending, parsed_blocks, settled_chars

CODE_THEME = "ansi_dark"  # The terminal's own colours: readable on any background
THEME = Theme({"markdown.code": "magenta"})  # As the library has it, inline code stands on black boxes


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
    """Code without indentation by rich, so that it can be copied: in Python a leading blank is an error."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0))


class _NumberedItem(ListItem):
    def __init__(self, number: str) -> None:
        super().__init__()
        self.number = int(number) if number.isdecimal() else None

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> "_NumberedItem":  # noqa: ARG003 -- rich's
        return cls(token.info)


class _NumberedList(ListElement):
    """Keeps the numbers in "1. 3. 4.", which may be names; "1. 1. 1." is numbered consecutively."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first = 1 if self.list_start is None else self.list_start
        given = [item.number if isinstance(item, _NumberedItem) else None for item in self.items]
        is_counted = len(set(given)) == 1 and len(given) > 1
        numbers = [first + index if is_counted or number is None else number for index, number in enumerate(given)]
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
        # rich adds a blank line above a list, a quote or a table even at the top.
        first = next(output, None)
        if first is not None and first != Segment.line():
            yield first
        yield from output


def _as_written(children: Iterable[Token]) -> Iterable[Token]:
    """Yield inline tokens with line breaks kept, and without links around addresses that are their own text."""
    for token in children:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.info != "auto":
            yield token


# A growing answer on a terminal: final blocks are printed once, only the unfinished tail is redrawn.
#
# Rule against flicker: what is redrawn never exceeds the screen, and what scrolls off the screen was final. The
# scrollback contains each answer once.


class _VisibleTail:
    """The end of `content` that fits on the screen."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options.update(height=None), pad=False)
        # One line less than the screen: the cursor must be able to return to the first line.
        for line in lines[-(console.height - 1) :]:
            yield from line
            yield Segment.line()


class LiveDisplay:
    """Displays one reply. `show` takes the whole text so far; the text may also shrink or change at its end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._settled = ""
        self._tail = ""
        self._status = ""
        self._has_output = False
        self._closed = False
        # Blocks to print when the display resumes; None while it is not paused.
        self._held: list[RenderableType] | None = None

    def show(self, text: str) -> None:
        if self._closed:
            return
        text = printable(text)
        if not text.startswith(self._settled):
            self._restart()
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
            self._draw(Group("", line) if self._has_output else line)

    def fail(self) -> None:
        """A user reads errors and answers in the same place."""

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
        if self._has_output:
            self._console.print()

    def _settle(self, tail: str, chars: int) -> None:
        """Print the first `chars` of `tail` as final, and redraw the rest."""
        whole, self._tail = tail[:chars], tail[chars:]
        self._settled += whole
        self._draw(self._block(whole))

    def _restart(self) -> None:
        """Printed text was replaced. A terminal cannot remove it, so the new text follows below."""
        self._tail = ""
        self._draw(self._block("---"))
        self._settled = ""

    def _block(self, text: str) -> RenderableType | None:
        """Return rendered Markdown, with a blank line between it and earlier output."""
        if not text.strip():
            return None
        return Group("", RenderedAnswer(text)) if self._has_output else RenderedAnswer(text)

    def _draw(self, block: RenderableType | None = None) -> None:
        """Redraw: erase the old tail, print `block` in its place, draw the new tail."""
        self._has_output = self._has_output or block is not None
        if self._held is not None:
            self._held += [] if block is None else [block]
            return
        status = Text(self._status, style="dim") if self._status else None
        parts = [
            part for part in (self._block(block_ending(self._tail, self._console.height)), status) if part is not None
        ]
        if block is not None:
            # rich redraws its last content below whatever is printed: the old tail has to go first.
            self._live.update(_VisibleTail(Group()), refresh=self._live.is_started)
            self._console.print(block)
        self._live.update(_VisibleTail(Group(*parts)), refresh=self._live.is_started)
        if parts and not self._live.is_started:
            self._live.start(refresh=True)


if sys.platform != "win32":
    import termios

PROMPT = "> "


class _CommandCompletion(Completer):
    """Completes the names of commands."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 -- the library's
        from bot.platforms.terminal.inbound import completed  # noqa: PLC0415 -- loads all commands, which a prompt needs not

        typed = document.text_before_cursor
        yield from (Completion(name, -len(typed)) for name in completed(typed))


class _PastQuestions(History):
    """The history on the arrow keys, oldest first; None: loaded later, perhaps while the prompt is shown."""

    def __init__(self, questions: Sequence[str] | None) -> None:
        super().__init__()
        self._loaded_event = asyncio.Event()
        if questions is not None:
            self.set_questions(questions)

    def set_questions(self, questions: Sequence[str]) -> None:
        self._loaded_strings += reversed(questions)
        self._loaded = True
        self._loaded_event.set()

    async def load(self) -> AsyncGenerator[str, None]:
        await self._loaded_event.wait()
        for question in self._loaded_strings:
            yield question

    def load_history_strings(self) -> Iterable[str]:
        return ()

    def store_string(self, string: str) -> None:
        """Not stored here: the bot's store keeps it."""


class TerminalWindow:
    """`keys` and `echo` are prompt_toolkit's input and output (None: this process's terminal)."""

    def __init__(self, console: Console, keys: Input | None = None, echo: Output | None = None) -> None:
        console.push_theme(THEME)
        self._console = console
        self._keys = keys
        self._echo = echo
        self._first_history = _PastQuestions(None)
        self._questions = self._session(self._first_history)
        self._unfinished_line = Document()

    @property
    def is_scripted(self) -> bool:
        return False

    def greet(self, markdown: str) -> None:
        self._console.print(RenderedAnswer(printable(markdown)))
        self._print_dim(platforms_texts.TERMINAL_HINT)
        self._console.print()

    def recall(self, questions: Sequence[str]) -> None:
        if self._questions.app.is_running:
            self._first_history.set_questions(questions)
        else:
            self._questions = self._session(_PastQuestions(questions))

    async def read(self) -> str | None:
        while True:
            unfinished_line, self._unfinished_line = self._unfinished_line, Document()
            self._questions.app.erase_when_done = False
            try:
                return await self._questions.prompt_async(PROMPT, default=unfinished_line)
            except KeyboardInterrupt:
                self._print_dim(platforms_texts.HOW_TO_LEAVE)
            except EOFError:
                return None

    def set_aside(self) -> bool:
        app = self._questions.app
        if not app.is_running or app.is_done:
            return False
        self._unfinished_line = self._questions.default_buffer.document
        app.erase_when_done = True
        return True

    async def ask(self, question: str) -> str | None:
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
        self.say(sentence_of(sentence))

    def open_display(self) -> LiveDisplay:
        return LiveDisplay(self._console)

    @contextmanager
    def answering(self, stop: Callable[[], None]) -> Generator[None]:
        with _on_interrupt(stop), _without_echo():
            yield

    def _print_dim(self, text: str) -> None:
        self._console.print(Text(text, style="dim"))

    def _session(self, history: History) -> PromptSession[str]:
        return PromptSession(
            history=history,
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
    """Prints whole lines above the prompt or the growing answer, from any thread."""

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
    """Run `show`, above the prompt if one is active."""
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
    """Ctrl-C calls `stop` in the event loop, instead of its previous handler."""
    loop = asyncio.get_running_loop()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    previous = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def _without_echo() -> Generator[None]:
    """Keep typed keys for the next prompt, unprocessed, without displaying them."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    fd = sys.stdin.fileno()
    previous = termios.tcgetattr(fd)
    quiet = [*previous]
    quiet[3] &= ~(termios.ECHO | termios.ICANON)  # with ICANON, an early Ctrl-D would be swallowed
    quiet[3] |= termios.NOFLSH  # without it, Ctrl-C would throw away what was typed before
    termios.tcsetattr(fd, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, previous)
