"""Recording what the real bot does: its doubles of the platforms hold every change, and a recorder looks at each.

What people do, and how fast, is the film's; so are the words of the model, which come piece by piece over HTTP as a
real model's do. Everything else is done by `cogency` itself, in a process of its own.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, cast

from agent.machine import CLOCK
from tests.fakes.model_server import DONE, Reply, Request, Wait, head, text
from tests.films.chat_states import Shot, ShownChat

# The time of day in each film, whenever it is made.
STARTS: Final = datetime(2026, 10, 5, 10, 20)  # noqa: DTZ001 -- what a clock on the wall shows
MODEL: Final = "openai:my-model"
SETTINGS: Final = {"COGENCY_MODEL": MODEL, "COGENCY_FIRST_NOTICE": "off", "COGENCY_LEARNING": "off"}
THINKS_S: Final = 1.1
WRITES_CHARS_PER_S: Final = 95.0
PIECE_CHARS: Final = 8
TYPES_S: Final = 0.09  # Between two of the pieces in which somebody types
TYPED_CHARS: Final = 3


@dataclass(frozen=True, slots=True)
class Pace:
    """`speed`: how many times faster than in a film people type and read, and models write."""

    speed: float = 1.0

    async def wait(self, seconds: float) -> None:
        await CLOCK.sleep(seconds / self.speed)

    def writing(self, said: str) -> Reply:
        """What a model writes, after a moment."""
        pieces = [said[at : at + PIECE_CHARS] for at in range(0, len(said), PIECE_CHARS)]
        pause = Wait(lambda: self.wait(PIECE_CHARS / WRITES_CHARS_PER_S))
        written = [part for piece in pieces for part in (text(piece), pause)]
        return [Wait(lambda: self.wait(THINKS_S)), head(), *written, DONE]


def given(request: Request) -> list[str]:
    """The texts that a model is given, the newest last."""
    messages = cast("list[dict[str, str]]", request.json["messages"])
    return [message["content"] for message in messages]


@dataclass
class Recorder:
    """`look`: what is shown now; `until`: waits on a double until something is true."""

    look: Callable[[], ShownChat]
    until: Callable[[Callable[[], object]], Awaitable[None]]
    shots: list[Shot] = field(default_factory=list[Shot])
    _began_s: float = 0.0

    @asynccontextmanager
    async def recording(self) -> AsyncGenerator[None, None]:
        self._began_s = CLOCK.monotonic()
        self._take()
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        self._take()

    async def _watch(self) -> None:
        while True:
            await self.until(self._has_changed)
            self._take()

    def _has_changed(self) -> bool:
        return self.look() != self.shots[-1].chat

    def _take(self) -> None:
        if not self.shots or self._has_changed():
            self.shots.append(Shot(CLOCK.monotonic() - self._began_s, self.look()))


@dataclass
class Typist:
    """Somebody at the keyboard. `draft` is what stands in the field; `pressed` the button on which their finger is."""

    pace: Pace
    draft: str = ""
    pressed: str = ""

    async def type(self, words: str, whole: Sequence[str] = ()) -> None:
        """Piece by piece; each of `whole` comes at once, as what is completed does. Nothing is sent yet."""
        at = [0]
        while at[-1] < len(words):
            ahead = [begin for one in whole if (begin := words.find(one, at[-1])) >= 0]
            completed = [at[-1] + len(one) for one in whole if words.startswith(one, at[-1])]
            at.append(min([*completed] or [at[-1] + TYPED_CHARS, *ahead, len(words)]))
            self.draft = words[: at[-1]]
            await self.pace.wait(TYPES_S)
        await self.pace.wait(0.5)

    def send(self) -> str:
        words, self.draft = self.draft, ""
        return words

    async def press(self, label: str) -> None:
        self.pressed = label
        await self.pace.wait(0.4)

    def release(self) -> None:
        self.pressed = ""


def time_in_film(moment: datetime, began: datetime) -> datetime:
    """On the film's own clock; nothing happened before its day's first moment."""
    return STARTS + timedelta(seconds=int((moment - began).total_seconds()))
