"""What is stored of the answers that nobody asked for in a channel."""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import ClassVar, Final, Self

from agent.memory.forgetting_plans import AMBIENT_STATE

EXAMINED_PER_ANSWER: Final = 5  # How many questions a model may examine for each answer that a day allows
COOL_DOWN: Final = timedelta(minutes=3)  # Between two ambient answers in a channel
QUIET: Final = timedelta(days=1)  # Without ambient answers, after a person asked for silence
MARKS: Final = 20  # The latest ambient answers of a channel that are still recognised


@dataclass(frozen=True, slots=True)
class AmbientState:
    """A channel's ambient answers of one workspace's bot, in all processes. `day`: in UTC. `answers`, `looks`: on that
    day. `last`: the time of the last answer. `quiet`: the time until which it gets none.

    `first` and `marks`: conversations, as hashes, so that nothing here shows who asked.
    """

    NAME: ClassVar[str] = AMBIENT_STATE

    day: str = ""
    answers: int = 0
    looks: int = 0
    last: str = ""
    quiet: str = ""
    first: str = ""
    marks: tuple[str, ...] = ()

    @classmethod
    def decode(cls, stored: str | None) -> Self:
        """The inverse of `str`; None is an empty state. An unreadable state counts as empty, too, because the channel's
        own choice is stored elsewhere.
        """
        try:
            parsed = json.loads(stored or "{}")
            marks = tuple(parsed.pop("marks", ()))
            return cls(**parsed, marks=marks)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return cls()

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    def is_open(self, now: datetime, bound: int) -> bool:
        today = self._on_day(now)
        is_cool = not self.last or now - datetime.fromisoformat(self.last) >= COOL_DOWN
        is_quiet = bool(self.quiet) and now < datetime.fromisoformat(self.quiet)
        return today.answers < bound and today.looks < bound * EXAMINED_PER_ANSWER and is_cool and not is_quiet

    def examined(self, now: datetime) -> Self:
        today = self._on_day(now)
        return replace(today, looks=today.looks + 1)

    def answering(self, now: datetime, conversation: str) -> Self:
        today, mark = self._on_day(now), _mark(conversation)
        marks = (*self.marks, mark)[-MARKS:]
        first = self.first or mark
        return replace(today, answers=today.answers + 1, last=now.isoformat(), first=first, marks=marks)

    def muted(self, now: datetime) -> Self:
        return replace(self, quiet=(now + QUIET).isoformat())

    def switched_on(self) -> Self:
        """Return the state after ambient answers were switched on: the next answer again says how to end them. The
        counts of the day remain.
        """
        return replace(self, quiet="", first="")

    def answered(self, conversation: str) -> bool:
        return _mark(conversation) in self.marks

    def is_first(self, conversation: str) -> bool:
        return self.first == _mark(conversation)

    def _on_day(self, now: datetime) -> Self:
        day = now.date().isoformat()
        return self if self.day == day else replace(self, day=day, answers=0, looks=0)


def _mark(conversation: str) -> str:
    return sha256(conversation.encode()).hexdigest()[:16]
