"""Answers that are produced at a fixed rate, and how fresh the shown text is.

Every token is a unique word, over all answers: the text that a platform shows tells which tokens it contains, and
wherever pages are cut, a token is visible as soon as its word is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from string import ascii_lowercase
from typing import Final

from agent.ports.clock import Clock
from agent.providers.scripted import Part, Until

RATE: Final = 60.0  # Tokens a second, as the larger models of the vendors produce
SEED: Final = 7
LETTERS: Final = 4
PARAGRAPH: Final = 90  # Tokens between two blank lines
_WORD: Final = re.compile(rf"\b[a-z]{{{LETTERS}}}\b")


@dataclass(frozen=True, slots=True)
class Shown:
    """The text that one message showed, from a moment on."""

    time: float
    text: str


@dataclass(slots=True)
class Voice:
    """One answer. `spoken`: the time of each token that was produced."""

    words: Sequence[str]
    clock: Clock
    spoken: list[float] = field(default_factory=list[float])
    _began: float | None = None

    @property
    def text(self) -> str:
        """The text that was produced so far."""
        return "".join(map(self._token, range(len(self.spoken))))

    @property
    def ended(self) -> bool:
        return len(self.spoken) == len(self.words)

    async def speak(self) -> None:
        """Produce the next token at its time: a late reader does not delay the tokens that follow."""
        if self._began is None:
            self._began = self.clock.monotonic()
        await self.clock.sleep(self._began + len(self.spoken) / RATE - self.clock.monotonic())
        self.spoken.append(self.clock.monotonic())

    async def speak_all(self) -> None:
        for _ in self.words:
            await self.speak()

    def script(self) -> list[Part]:
        """Return the answer for a `ScriptedProvider`."""
        return [part for n in range(len(self.words)) for part in (Until(self.speak), self._token(n))]

    def seen(self, first_seen: Mapping[str, float]) -> list[float]:
        """Return when each token was shown. Raises AssertionError if one was not."""
        if missing := [word for word in self.words if word not in first_seen]:
            raise AssertionError(f"{len(missing)} of {len(self.words)} tokens were never shown")
        return [first_seen[word] for word in self.words]

    def _token(self, number: int) -> str:
        if number == 0:
            return self.words[0]
        return ("\n\n" if number % PARAGRAPH == 0 else " ") + self.words[number]


def voices(count: int, seconds: float, clock: Clock) -> list[Voice]:
    """Return `count` answers of a duration of `seconds`, the same ones at each call."""
    tokens = round(seconds * RATE)
    numbers = iter(Random(SEED).sample(range(len(ascii_lowercase) ** LETTERS), count * tokens))
    return [Voice([*map(_word, islice(numbers, tokens))], clock) for _ in range(count)]


def first_seen(shown: Iterable[Shown]) -> dict[str, float]:
    """Return when each word was shown for the first time."""
    seen: dict[str, float] = {}
    for each in sorted(shown, key=lambda one: one.time):
        for word in _WORD.findall(each.text):
            seen.setdefault(word, each.time)
    return seen


def _word(number: int) -> str:
    letters = ""
    for _ in range(LETTERS):
        number, rest = divmod(number, len(ascii_lowercase))
        letters += ascii_lowercase[rest]
    return letters
