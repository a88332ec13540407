"""Connects to the platforms, and connects again with pauses that grow."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agent.errors import CogencyError, StoreUnavailable
from agent.incoming import Incoming, platform_of
from agent.ports.acting import Hands
from agent.ports.acts import Polls
from agent.ports.api_tokens import is_service
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from agent.ports.tools import Asker, Tool
from agent.ports.webhooks import EventPlatform
from agent.schedules.port import SchedulePlatform
from agent.tools.read_channel import ChannelReader, LeftOut, ReadChannelTool, exclude_none
from bot.chat.access.readers import Readers
from bot.chat.approvers import ApproverPlatform
from bot.chat.attachments.reading import Fetch, FilesNow
from bot.chat.backoff import Backoff
from bot.chat.forums import ForumPlatform
from bot.chat.listen_errors import PortInUse
from bot.chat.logs import labelled
from bot.chat.place_names import ReadNames
from bot.chat.platform_errors import PlatformUnavailable
from bot.chat.ports import ReadHistory
from bot.chat.replicas import Replicas
from bot.chat.reply.surface import Delete, PageUnsent, Surface
from bot.chat.turns.worker import TurnWorker

log = logging.getLogger(__name__)


FIRST_RETRY_S = 2.0
# Between attempts to reach a platform. The pause doubles, so that an outage of hours costs little, and a platform that
# is back is served within two minutes.
MAX_RETRY_S = 120.0

# How long a previous process's open turns wait for every platform to connect, so that their replies can be shown.
START_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class PlatformConnections:
    """What platforms have registered, by the source of their messages ("slack"). An adapter registers each thing as
    soon as it is able to do it.
    """

    readers: Readers
    surfaces: dict[str, Callable[[Incoming], Surface]] = field(default_factory=dict[str, Callable[[Incoming], Surface]])
    deletions: dict[str, Delete] = field(default_factory=dict[str, Delete])
    """Deletes a page of a reply."""
    fetchers: dict[str, Fetch] = field(default_factory=dict[str, Fetch])
    """Fetches an attachment."""
    files_now: dict[str, FilesNow] = field(default_factory=dict[str, FilesNow])
    """Lists the current attachments of a message that was answered."""
    read_by: dict[str, Sequence[Tool]] = field(default_factory=dict[str, Sequence[Tool]])
    """The tools that read a platform."""
    channel_readers: dict[str, ReadChannelTool] = field(default_factory=dict[str, ReadChannelTool])
    """The tool that reads a platform's channels."""
    left_out: LeftOut = exclude_none
    """Returns those people in a channel whose messages that tool leaves out."""
    silences: dict[str, Callable[[], float]] = field(default_factory=dict[str, Callable[[], float]])
    replicas: Replicas | None = None
    """The processes that share its connections; None if this one is the only one on its database."""
    schedules: dict[str, SchedulePlatform] = field(default_factory=dict[str, SchedulePlatform])
    """Knows the places and people of schedules."""
    events: dict[str, EventPlatform] = field(default_factory=dict[str, EventPlatform])
    """Knows the places of webhooks' events."""
    hands: dict[str, Hands] = field(default_factory=dict[str, Hands])
    """Acts on a platform for the people who ask there."""
    approvers: dict[str, ApproverPlatform] = field(default_factory=dict[str, ApproverPlatform])
    """Knows who may approve calls of others, and reaches them."""
    forums: dict[str, ForumPlatform] = field(default_factory=dict[str, ForumPlatform])
    """Knows the forums of a platform."""
    histories: dict[str, ReadHistory] = field(default_factory=dict[str, ReadHistory])
    """Takes in what is missing of a platform's messages."""
    polls: Polls | None = None
    """Where votes are counted; None where the bot posts no polls."""
    place_names: dict[str, ReadNames] = field(default_factory=dict[str, ReadNames])
    """Reads the names of a platform's channels."""
    own_surfaces: dict[str, Callable[[Incoming], Surface]] = field(
        default_factory=dict[str, Callable[[Incoming], Surface]]
    )
    """Where features show the replies to questions of their own sources, which are no platforms and no other process
    answers."""
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    """Why a platform is not connected, in a sentence, by its name, or by a part of it ("slack:acme") while other parts
    may be connected."""
    _parts: set[str] = field(default_factory=set[str])
    """Every part of a platform that has reported its state."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def sources(self) -> frozenset[str]:
        """Return the sources whose replies can be shown now."""
        return frozenset({*self.surfaces, *self.own_surfaces})

    def surface_for(self, incoming: Incoming) -> Surface:
        """Raises PageUnsent for a platform that is not connected; the turn is then postponed."""
        surface_for = self.surfaces.get(incoming.source) or self.own_surfaces.get(incoming.source)
        if surface_for is None:
            raise PageUnsent(f"{incoming.source} is not connected")
        return surface_for(incoming)

    def register_surface(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        """Show answers to messages of this source on the surface that `surface_for` returns; also after a restart."""
        self.surfaces[source] = surface_for
        self.connected(platform_of(source))

    def unregister(self, source: str) -> None:
        """Remove what was registered: nothing can be shown, fetched, deleted or asked until the platform is back."""
        for registered in (
            self.surfaces,
            self.deletions,
            self.fetchers,
            self.files_now,
            self.read_by,
            self.channel_readers,
            self.schedules,
            self.events,
            self.hands,
            self.approvers,
            self.forums,
            self.silences,
            self.histories,
            self.place_names,
            self.readers.platforms,
        ):
            registered.pop(source, None)

    def ask_readers(self, source: str, membership: Membership) -> None:
        """Ask `membership` who can read a group place of this source."""
        self.readers.platforms[source] = membership

    def register_deletion(self, source: str, delete: Delete) -> None:
        """Delete pages of replies on this source with `delete`, which is retried if it raises SurfaceError."""
        self.deletions[source] = delete

    def register_fetcher(self, source: str, fetch: Fetch, files_now: FilesNow) -> None:
        """Fetch attachments of this source's messages with `fetch`; `files_now` lists a message's current files."""
        self.fetchers[source], self.files_now[source] = fetch, files_now

    def register_schedules(self, source: str, platform: SchedulePlatform) -> None:
        """Ask `platform` whether, as whom and where the schedules of this source may run."""
        self.schedules[source] = platform

    def register_events(self, source: str, platform: EventPlatform) -> None:
        """Ask `platform` where events of webhooks may be posted on this source."""
        self.events[source] = platform

    def register_hands(self, source: str, hands: Hands) -> None:
        """Act for the people of this source with `hands`."""
        self.hands[source] = hands

    def register_approvers(self, source: str, platform: ApproverPlatform) -> None:
        """Ask `platform` who may approve calls of others on this source."""
        self.approvers[source] = platform

    def register_forums(self, source: str, platform: ForumPlatform) -> None:
        """Ask `platform` about the forums of this source."""
        self.forums[source] = platform

    def register_history(self, source: str, read: ReadHistory) -> None:
        """Take in with `read` what this source's history has since a time and the database does not."""
        self.histories[source] = read

    def register_names(self, source: str, read_names: ReadNames) -> None:
        """Ask `read_names` what the channels of this source are called."""
        self.place_names[source] = read_names

    def register_tools(self, source: str, tools: Sequence[Tool]) -> None:
        """Give these tools to the people of this source."""
        self.read_by[source] = tools

    def register_channel_reader(self, source: str, reader: ChannelReader) -> None:
        """Let the people of this source have channels and threads read, with `reader`."""
        self.channel_readers[source] = ReadChannelTool(reader, self.left_out)

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """Return the tools of the asker's platform, which read as the asker; as a source of tools."""
        if is_service(asker.person.id):
            return ()
        sources = {*self.channel_readers, *self.read_by}
        source = next((source for source in sources if asker.person.id.startswith(f"{source}:")), "")
        reading = [self.channel_readers[source]] if source in self.channel_readers else []
        return [*reading, *self.read_by.get(source, ())]

    def register_silence(self, source: str, silence: Callable[[], float]) -> None:
        """`silence` returns the seconds since anything came in, even a heartbeat. It is callable from any thread."""
        self.silences[source] = silence

    def silent_s(self) -> dict[str, float]:
        """Return the seconds of each connected platform's silence, by its name; the longest of its parts."""
        silences: dict[str, float] = {}
        for source, silence in [*self.silences.items()]:
            name = platform_of(source)
            silences[name] = max(silences.get(name, 0.0), silence())
        away = self.away()
        return {name: silent for name, silent in silences.items() if name not in away}

    def connected(self, source: str, trouble: str = "") -> None:
        """Record that a source is connected, or with `trouble` why it is not, in a sentence for operators. `source`: a
        platform, or a part of one that connects by itself ("slack:acme").
        """
        name = source.casefold()
        self.troubles.pop(name, None)
        if name != platform_of(name):
            self._parts.add(name)
        if trouble:
            self.troubles[name] = trouble
        self._changed.set()

    def away(self) -> frozenset[str]:
        """Return the names of platforms that are not connected, as a whole or in all of their parts."""
        in_trouble = {*map(platform_of, self.troubles)}
        working = {*map(platform_of, self._parts - self.troubles.keys())}
        return frozenset((in_trouble - working) | (in_trouble & self.troubles.keys()))

    def _is_ready(self, serving: Collection[asyncio.Task[None]]) -> bool:
        known = {*map(platform_of, self.surfaces)} | self.away()
        return len(known) + sum(task.done() for task in serving) >= len(serving)

    async def wait_until_ready(self, serving: Collection[asyncio.Task[None]], clock: Clock, patience_s: float) -> None:
        """Wait until each of these tasks has registered a surface, reported that it cannot be served, or ended; at most
        `patience_s` seconds.
        """
        deadline = clock.monotonic() + patience_s
        while not self._is_ready(serving):
            self._changed.clear()
            changed = asyncio.create_task(self._changed.wait())
            left = deadline - clock.monotonic()
            done, _ = await asyncio.wait(
                [changed, *(task for task in serving if not task.done())],
                timeout=max(0.0, left),
                return_when=asyncio.FIRST_COMPLETED,
            )
            changed.cancel()
            if not done:
                return


async def serve_all(
    platforms: Mapping[str, Callable[[], Awaitable[None]]],
    connections: PlatformConnections,
    turns: TurnWorker,
    clock: Clock,
    grace_s: float,
) -> None:
    """Serve every platform until cancelled; one that fails does not affect the others. Temporary failures
    (PlatformUnavailable, PortInUse, StoreUnavailable) are retried without limit.

    At the end, open replies get `grace_s` seconds. Raises the first other failure (CogencyError) once no platform is
    left.
    """
    failures: list[CogencyError] = []

    async def serve(name: str) -> None:
        try:
            await _serve_with_retries(name, platforms[name], connections, clock)
        except CogencyError as error:
            log.error("%s", labelled(name, error))  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
            connections.connected(name, str(error))
            failures.append(error)

    serving = [asyncio.create_task(serve(name)) for name in platforms]
    try:
        await connections.wait_until_ready(serving, clock, START_PATIENCE_S)
        if not all(task.done() for task in serving):
            async with turns.serving(grace_s=grace_s):
                await asyncio.wait(serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
    if failures:
        raise failures[0]


async def _serve_with_retries(
    name: str, serve: Callable[[], Awaitable[None]], connections: PlatformConnections, clock: Clock
) -> None:
    """Serve a platform; start it again after a pause whenever it is unavailable."""
    backoff = Backoff(FIRST_RETRY_S, MAX_RETRY_S)
    while True:
        started = clock.monotonic()
        try:
            await serve()
        except (PlatformUnavailable, PortInUse, StoreUnavailable) as error:
            if clock.monotonic() - started > MAX_RETRY_S:
                backoff.worked()  # it was served well for a while
            pause = max(backoff.failed(), error.retry_after_s)
            log.warning("%s Retrying in %.0f s.", labelled(name, error), pause)
            connections.connected(name, str(error))
            await clock.sleep(pause)
        else:
            return
