"""What a person types into and reads from: a terminal, or a pair of pipes. Protocols, and the plainest display.

Above: `bot.platforms.terminal.run`, `bot.platforms.terminal.surface`. Implemented by: `tty` and `pipe` beside this.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Display(Protocol):
    """The place of one reply while it grows."""

    def show(self, text: str) -> None:
        """`text` is the whole reply so far."""
        ...

    def status(self, text: str) -> None:
        """What the bot is doing meanwhile; "" takes it away."""
        ...

    def close(self) -> None:
        """The reply ends here, complete or not. Closing again does nothing."""
        ...


class PlainDisplay:
    """Holds a reply back until it is complete, then writes it."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._text = ""

    def show(self, text: str) -> None:
        self._text = text

    def status(self, text: str) -> None:
        pass

    def close(self) -> None:
        text, self._text = self._text.strip("\n"), ""
        if text:
            self._write(text)


class Window(Protocol):
    """BrokenPipeError from any method: the reader has gone."""

    def greet(self, markdown: str) -> None:
        """Show the start-up lines."""
        ...

    def recall(self, questions: Sequence[str]) -> None:
        """Offer these, oldest first, and only these, on the arrow keys."""
        ...

    async def read(self) -> str | None:
        """What the person writes next; None when they leave."""
        ...

    async def answer(self, question: str) -> str:
        """Ask the person something; "" when they do not answer."""
        ...

    def say(self, markdown: str) -> None:
        """Show a text of the program itself."""
        ...

    def open_display(self) -> Display: ...

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the bot answers: Ctrl-C calls `stop`."""
        ...
