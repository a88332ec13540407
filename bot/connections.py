"""All platforms as one service, and what each can do for the bot, from the moment at which it says so."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agent.errors import CogencyError, StoreUnavailable
from agent.ports import Asker, Clock, Membership, Tool
from agent.records import Incoming, platform_of
from bot.access.readers import Readers
from bot.attachments.reading import Fetch, FilesNow
from bot.caches import Backoff
from bot.host import PlatformUnavailable
from bot.memory.retention import Delete
from bot.reply_surface import PageUnsent, Surface
from bot.turns.worker import Turns

log = logging.getLogger(__name__)

AGAIN_S = 2.0
MOST_AGAIN_S = 120.0
"""Between attempts to serve a platform that cannot be reached: doubling, so that an outage of hours costs little, and
its end is met within two minutes."""

START_PATIENCE_S = 60.0
"""How long open turns of an earlier process wait for every platform to connect, so that they can be shown there."""


@dataclass(frozen=True, slots=True)
class PlatformConnections:
    """By the source of the messages that a platform hands in."""

    readers: Readers
    surfaces: dict[str, Callable[[Incoming], Surface]] = field(default_factory=dict[str, Callable[[Incoming], Surface]])
    deletions: dict[str, Delete] = field(default_factory=dict[str, Delete])
    """How to delete a page of a reply."""
    fetchers: dict[str, Fetch] = field(default_factory=dict[str, Fetch])
    """How to fetch an attachment."""
    files_now: dict[str, FilesNow] = field(default_factory=dict[str, FilesNow])
    """What is attached to a message that was answered."""
    read_by: dict[str, Sequence[Tool]] = field(default_factory=dict[str, Sequence[Tool]])
    """The tools with which a platform is read."""
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

    def register_surface(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self.surfaces[source] = surface_for
        self.connected(source, "")

    def unregister(self, source: str) -> None:
        """The platform is not served any more."""
        for known in (
            self.surfaces,
            self.deletions,
            self.fetchers,
            self.files_now,
            self.read_by,
            self.readers.platforms,
        ):
            known.pop(source, None)

    def ask_readers(self, source: str, membership: Membership) -> None:
        self.readers.platforms[source] = membership

    def register_deletion(self, source: str, delete: Delete) -> None:
        self.deletions[source] = delete

    def register_fetcher(self, source: str, fetch: Fetch, files_now: FilesNow) -> None:
        self.fetchers[source], self.files_now[source] = fetch, files_now

    def register_tools(self, source: str, tools: Sequence[Tool]) -> None:
        self.read_by[source] = tools

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """As a source of tools: those of the platform that somebody asks on."""
        return next((one for source, one in self.read_by.items() if asker.person.id.startswith(f"{source}:")), ())

    def connected(self, source: str, trouble: str = "") -> None:
        """Why a platform is not connected, by its name or by a source; "" if it is."""
        self.troubles.pop(platform_of(source), None)
        if trouble:
            self.troubles[platform_of(source)] = trouble
        self._shown.set()

    async def all_shown(self, serving: Collection[asyncio.Task[None]], clock: Clock, patience_s: float) -> None:
        """Until each of these tasks has said where its answers are shown, or that it cannot be served now, or ended, or
        took `patience_s` seconds.
        """
        deadline = clock.monotonic() + patience_s
        while len({*map(platform_of, self.surfaces), *self.troubles}) + sum(task.done() for task in serving) < len(
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


async def serve_all(
    platforms: Mapping[str, Callable[[], Awaitable[None]]],
    connections: PlatformConnections,
    turns: Turns,
    clock: Clock,
    grace_s: float,
) -> None:
    """Serve every platform until cancelled; one that fails leaves the others alone. What may pass (PlatformUnavailable,
    StoreUnavailable) is tried again for ever.

    Open replies get `grace_s` seconds at the end. Raises the first other failure (CogencyError) once no platform is
    left.
    """
    failures: list[CogencyError] = []

    async def serve(name: str) -> None:
        try:
            await _insist(name, platforms[name], connections, clock)
        except CogencyError as error:
            log.error("%s: %s", name, error)  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
            connections.connected(name, str(error))
            failures.append(error)

    serving = [asyncio.create_task(serve(name)) for name in platforms]
    try:
        await connections.all_shown(serving, clock, START_PATIENCE_S)
        if not all(task.done() for task in serving):
            async with turns.serving(grace_s=grace_s):
                await asyncio.wait(serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
    if failures:
        raise failures[0]


async def _insist(
    name: str, serve: Callable[[], Awaitable[None]], connections: PlatformConnections, clock: Clock
) -> None:
    """Serve a platform; begin anew where that cannot be done now."""
    backoff = Backoff(AGAIN_S, MOST_AGAIN_S)
    while True:
        began = clock.monotonic()
        try:
            await serve()
        except (PlatformUnavailable, StoreUnavailable) as error:
            if clock.monotonic() - began > MOST_AGAIN_S:
                backoff.worked()  # it was served well for a while
            asked_s = error.retry_after_s if isinstance(error, PlatformUnavailable) else 0.0
            pause = max(backoff.failed(), asked_s)
            log.warning("%s: %s It is tried again in %.0f s.", name, error, pause)
            connections.connected(name, str(error))
            await clock.sleep(pause)
        else:
            return
