"""What turns ask of the rest of the bot, by ports of their own: `bot.memory` and `bot.models` are rooms above."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Final, Protocol

from agent.events import AgentEvent
from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.ports.preferences import ReadTogether
from bot.chat.attachments.reading import Attached


class PlaceReaders(Protocol):
    async def also_readable(self, place: Place) -> frozenset[str]:
        """Return the labels of what else may be used in a place that only one person reads."""
        ...


class FileReader(Protocol):
    async def read(self, incoming: Incoming) -> Attached:
        """Read the files that came with a question."""
        ...


class LearningRules(Protocol):
    def due(self, now: datetime) -> datetime | None:
        """Return when to learn from a question that is answered now; None: not at all."""
        ...

    async def may_learn(self, incoming: Incoming) -> bool: ...


class HandleNotes(Protocol):
    async def record_event(self, event: AgentEvent) -> None:
        """Note that a vendor stores something from now on, or no longer."""
        ...


class Foreground(Protocol):
    def answering(self) -> AbstractContextManager[None]:
        """Return the context in which a model is asked: background work pauses meanwhile."""
        ...


class Together(Protocol):
    def __call__(self, *owners: str) -> AbstractContextManager[ReadTogether]:
        """See `Preferences.together`."""
        ...


# What stands for a part that is not there.


class _ReadApart:
    def end(self) -> None:
        pass


def apart(*_: str) -> AbstractContextManager[ReadTogether]:
    return nullcontext(_ReadApart())


class NoReaders:
    async def also_readable(self, place: Place) -> frozenset[str]:  # noqa: ARG002 -- a port's
        return frozenset()


class NoFiles:
    async def read(self, incoming: Incoming) -> Attached:  # noqa: ARG002 -- a port's
        return Attached()


class NothingLearned:
    def due(self, now: datetime) -> datetime | None:  # noqa: ARG002 -- a port's
        return None

    async def may_learn(self, incoming: Incoming) -> bool:  # noqa: ARG002 -- a port's
        return True


class NothingBeside:
    """No background work pauses for an answer."""

    def answering(self) -> AbstractContextManager[None]:
        return nullcontext()


NO_READERS: Final = NoReaders()
NO_FILES: Final = NoFiles()
NOTHING_LEARNED: Final = NothingLearned()
NOTHING_BESIDE: Final = NothingBeside()
