"""What the platforms can do for the bot, from the moment at which each of them says so.

Above: `bot.app` makes one for a process; `bot.hosting` fills it, turns and the background ask it. Below: `bot.surface`,
`bot.access.readers`, `bot.memory.replies`.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from agent.ports import Clock
from agent.records import Incoming
from bot.access.readers import Readers
from bot.attachments.reading import Fetch
from bot.memory.replies import Delete
from bot.surface import PageUnsent, Surface


@dataclass(frozen=True, slots=True)
class Connections:
    """By the source of the messages that a platform hands in."""

    readers: Readers
    surfaces: dict[str, Callable[[Incoming], Surface]] = field(default_factory=dict[str, Callable[[Incoming], Surface]])
    deletions: dict[str, Delete] = field(default_factory=dict[str, Delete])
    """How to delete a page of a reply."""
    fetchers: dict[str, Fetch] = field(default_factory=dict[str, Fetch])
    """How to fetch an attachment."""
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    """Why a platform is not connected now, in a sentence, by the first word of the source of its messages."""
    _shown: asyncio.Event = field(default_factory=asyncio.Event)

    def sources(self) -> frozenset[str]:
        """Where replies can be shown now."""
        return frozenset(self.surfaces)

    def surface_for(self, incoming: Incoming) -> Surface:
        """Raises PageUnsent for a platform that is not connected; the turn is then put off."""
        if incoming.source not in self.surfaces:
            raise PageUnsent(f"{incoming.source} is not connected")
        return self.surfaces[incoming.source](incoming)

    def show_on(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self.surfaces[source] = surface_for
        self.note(source, "")

    def hide(self, source: str) -> None:
        """The platform is not served any more."""
        for known in (self.surfaces, self.deletions, self.fetchers, self.readers.platforms):
            known.pop(source, None)

    def note(self, name: str, trouble: str) -> None:
        """Why a platform is not connected, by its name or by a source; "" if it is."""
        self.troubles.pop(_platform(name), None)
        if trouble:
            self.troubles[_platform(name)] = trouble
        self._shown.set()

    async def all_shown(self, serving: Collection[asyncio.Task[None]], clock: Clock, patience_s: float) -> None:
        """Until each of these tasks has said where its answers are shown, or that it cannot be served now, or ended, or
        took `patience_s` seconds.
        """
        deadline = clock.monotonic() + patience_s
        while len({*map(_platform, self.surfaces), *self.troubles}) + sum(task.done() for task in serving) < len(
            serving
        ):
            self._shown.clear()
            shown = asyncio.create_task(self._shown.wait())
            left = deadline - clock.monotonic()
            done, _ = await asyncio.wait(
                [shown, *(task for task in serving if not task.done())],
                timeout=max(0.0, left),
                return_when=asyncio.FIRST_COMPLETED,
            )
            shown.cancel()
            if not done:
                return


def _platform(name: str) -> str:
    """The platform of a source ("slack:T1"), or of that name ("Slack")."""
    return name.partition(":")[0].casefold()
