"""What a user types into and reads from: a terminal, or a pair of pipes. Protocols."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TextIO


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
        """Show an error: plain text, with names and paths unchanged."""
        ...

    def open_display(self) -> Display: ...

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the bot answers, Ctrl-C calls `stop`."""
        ...
