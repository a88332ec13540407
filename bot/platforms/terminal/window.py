"""What a user types into and reads from: a terminal, or a pair of pipes. Protocols, and the window of this process."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from io import TextIOWrapper
from typing import Protocol, TextIO

PROMPT = "> "  # The prompt of a terminal without cursor control


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
        """Show an error: `formatting.sentence_of`, with names and paths unchanged."""
        ...

    def open_display(self) -> Display: ...

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the bot answers, Ctrl-C calls `stop`."""
        ...


def open_window() -> Window:
    """Return a window on this process's terminal, or on its pipes if input or output is not a terminal.

    The terminal libraries are imported only if needed: a pipe should answer at once.
    """
    prompt = ""
    if sys.stdin.isatty() and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 -- see above

        from bot.platforms.terminal.tty import TerminalWindow  # noqa: PLC0415 -- see above

        console = Console(highlight=False)
        if not console.is_dumb_terminal:
            return TerminalWindow(console)
        prompt = PROMPT
    from bot.platforms.terminal.pipe import PipeWindow, lines_from  # noqa: PLC0415 -- see above

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    return PipeWindow(lines_from(sys.stdin.fileno()), sys.stdout, sys.stderr, prompt)
