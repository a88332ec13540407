"""What a person types into and reads from: a terminal, or a pair of pipes. Protocols, and the plainest display."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TextIO

from bot.wording import UNSTORED


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
        if text == UNSTORED and not self._delayed:
            self._delayed = True
            self._complain(text)

    def trace(self, text: str) -> None:
        pass

    def fail(self) -> None:
        self._write = self._complain

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

    async def answer(self, question: str) -> str:
        """Ask the person something; "" when they do not answer."""
        ...

    def say(self, markdown: str) -> None:
        """Show a text of the program itself."""
        ...

    def log(self) -> TextIO:
        """Where log lines go, so that they run over nothing that is shown."""
        ...

    def complain(self, markdown: str) -> None:
        """Say why something that was asked for is not done."""
        ...

    def open_display(self) -> Display: ...

    def answering(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the bot answers: Ctrl-C calls `stop`."""
        ...
