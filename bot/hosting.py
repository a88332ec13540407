"""Implements `bot.host.Host` for the platforms, and serves them all, with what each of them has registered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, TypeVar

from agent.admission_terms import TermsNotMet
from agent.errors import CogencyError, StoreError, StoreUnavailable
from agent.incoming import Incoming, platform_of
from agent.memory.audience import Place
from agent.memory.forgetting_plans import GOES_ON
from agent.ports.clock import Clock
from agent.ports.conversations import Conversations
from agent.ports.ledger import Ledger
from agent.ports.membership import Membership
from agent.ports.preferences import Preferences
from agent.ports.tools import Asker, Tool
from agent.schedules.port import SchedulePlatform
from bot.access.admission import AdmissionControl, Readers
from bot.attachments.kinds import with_names
from bot.attachments.reading import Fetch, FilesNow
from bot.caches import Backoff, Replicas
from bot.commands.declaration import BoundCommands
from bot.commands.tools import ToolsService
from bot.health import OperatorDesk
from bot.host import PlatformUnavailable
from bot.memory.desk import MemoryDesk, ReplyFeedback
from bot.memory.forget_desk import ForgetDesk
from bot.memory.knowledge_desk import KnowledgeDesk
from bot.memory.retention import Delete
from bot.message_intake import AmbientIntake
from bot.models.choice import ModelDesk
from bot.reply_surface import PageUnsent, Surface
from bot.schedule_desk import ScheduleDesk
from bot.texts import reply_texts
from bot.turns.worker import Turns

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_RETRY_S = 2.0
# Between attempts to reach a platform. The pause doubles, so that an outage of hours costs little, and a platform that
# is back is served within two minutes.
MAX_RETRY_S = 120.0

# How long a previous process's open turns wait for every platform to connect, so that their replies can be shown.
START_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class PlatformConnections:
    """What platforms have registered, by the source of their messages ("slack")."""

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
    silences: dict[str, Callable[[], float]] = field(default_factory=dict[str, Callable[[], float]])
    replicas: Replicas | None = None
    schedules: dict[str, SchedulePlatform] = field(default_factory=dict[str, SchedulePlatform])
    """Knows the places and people of schedules."""
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    """Why a platform is not connected, in a sentence, by its name, or by a part of it ("slack:acme") while other parts
    may be connected."""
    _parts: set[str] = field(default_factory=set[str])
    """Every part of a platform that has reported its state."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def sources(self) -> frozenset[str]:
        """Return the sources whose replies can be shown now."""
        return frozenset(self.surfaces)

    def surface_for(self, incoming: Incoming) -> Surface:
        """Raises PageUnsent for a platform that is not connected; the turn is then postponed."""
        if incoming.source not in self.surfaces:
            raise PageUnsent(f"{incoming.source} is not connected")
        return self.surfaces[incoming.source](incoming)

    def register_surface(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self.surfaces[source] = surface_for
        self.connected(platform_of(source))

    def unregister(self, source: str) -> None:
        """Drop what the platform registered."""
        for registered in (
            self.surfaces,
            self.deletions,
            self.fetchers,
            self.files_now,
            self.read_by,
            self.schedules,
            self.silences,
            self.readers.platforms,
        ):
            registered.pop(source, None)

    def ask_readers(self, source: str, membership: Membership) -> None:
        self.readers.platforms[source] = membership

    def register_deletion(self, source: str, delete: Delete) -> None:
        self.deletions[source] = delete

    def register_fetcher(self, source: str, fetch: Fetch, files_now: FilesNow) -> None:
        self.fetchers[source], self.files_now[source] = fetch, files_now

    def register_schedules(self, source: str, platform: SchedulePlatform) -> None:
        self.schedules[source] = platform

    def register_tools(self, source: str, tools: Sequence[Tool]) -> None:
        self.read_by[source] = tools

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """Return the tools of the asker's platform; as a source of tools."""
        return next((tools for source, tools in self.read_by.items() if asker.person.id.startswith(f"{source}:")), ())

    def register_silence(self, source: str, silence: Callable[[], float]) -> None:
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
        """Record why a platform (its name), or a part of one ("slack:acme"), is not connected; "" if it is."""
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
    turns: Turns,
    clock: Clock,
    grace_s: float,
) -> None:
    """Serve every platform until cancelled; one that fails does not affect the others. Temporary failures
    (PlatformUnavailable, StoreUnavailable) are retried without limit.

    At the end, open replies get `grace_s` seconds. Raises the first other failure (CogencyError) once no platform is
    left.
    """
    failures: list[CogencyError] = []

    async def serve(name: str) -> None:
        try:
            await _serve_with_retries(name, platforms[name], connections, clock)
        except CogencyError as error:
            log.error("%s: %s", name, error)  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
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
        except (PlatformUnavailable, StoreUnavailable) as error:
            if clock.monotonic() - started > MAX_RETRY_S:
                backoff.worked()  # it was served well for a while
            asked_s = error.retry_after_s if isinstance(error, PlatformUnavailable) else 0.0
            pause = max(backoff.failed(), asked_s)
            log.warning("%s: %s It is tried again in %.0f s.", name, error, pause)
            connections.connected(name, str(error))
            await clock.sleep(pause)
        else:
            return


DONE: Final = "done"
MARK_CHARS: Final = 16
# Marks are spread over rows by their first characters, in 256 parts: many people act at the same moment, and of two
# changes of one row only one succeeds.
PART_CHARS: Final = 2
MAX_MARKS: Final = 40  # In one part; in all parts, more than the people of one source cause within minutes
TRIES: Final = 9  # How often a change is tried again because another one was made at that moment


@dataclass(frozen=True, slots=True)
class Deduplicator:
    """Runs an action once, no matter how often and in which processes its event is delivered.

    Rule: only the latest actions of each source are stored, because platforms redeliver within minutes; and only as
    hashes, which do not show who asked for what.
    """

    preferences: Preferences

    async def claim_once(self, source: str, what: str) -> bool:
        """Return whether `what` is new among the latest of this source. Raises StoreError."""
        mark = mark_of(what)
        return await self._change(source, mark, lambda marks: None if mark in marks else [*marks, mark][-MAX_MARKS:])

    async def run_once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        """Run `do` if `what` is new, else return None. If it fails, `what` counts as new again."""
        if not await self.claim_once(source, what):
            return None
        try:
            return await do()
        except CogencyError:
            mark = mark_of(what)
            await self._change(source, mark, lambda marks: [other for other in marks if other != mark])
            raise

    async def _change(self, source: str, mark: str, change: Callable[[list[str]], list[str] | None]) -> bool:
        """Apply `change` to the marks in the part of this one, trying again if another change was made meanwhile; False
        if there was nothing to change.
        """
        owner = f"source:{source}:{mark[:PART_CHARS]}"
        for _ in range(TRIES):
            before = (await self.preferences.all_of(owner)).get(DONE)
            after = change((before or "").split())
            if after is None:
                return False
            if await self.preferences.swap(owner, DONE, before, " ".join(after)):
                return True
        raise StoreError(reply_texts.TOO_MUCH_AT_ONCE)


def mark_of(what: str) -> str:
    """Return the hash under which an action is stored."""
    return sha256(what.encode()).hexdigest()[:MARK_CHARS]


# The conversations of a channel without threads: direct messages.
#
# Rules
#   The first conversation has the channel's own id. A new one begins on request, or after a long silence, because last
#   week's messages would only distract from today's question. Recall still finds older messages.


CURRENT: Final = "conversation"


@dataclass(frozen=True, slots=True)
class RollingConversations:
    conversations: Conversations
    preferences: Preferences

    async def current(self, channel: str) -> str:
        """Return the conversation that is current there. Raises StoreError."""
        return (await self.preferences.all_of(_owner(channel))).get(CURRENT, channel)

    async def conversation_of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
        """Return the conversation of a message written at this time: a new one after `idle`. Raises StoreError."""
        current = await self.current(channel)
        last = await self.conversations.last_said(current)
        if last is None or time - last <= idle:
            return current
        return await self.begin(channel, message)

    async def begin(self, channel: str, name: str) -> str:
        """Begin a new conversation, and return its id. Raises StoreError."""
        conversation = f"{channel}:{name}"
        await self.preferences.set(_owner(channel), CURRENT, conversation)
        return conversation


def _owner(channel: str) -> str:
    return f"{GOES_ON}{channel}"


@dataclass(frozen=True, slots=True)
class ReceivedMessages:
    """Stores what platforms hand in, as far as it is admitted."""

    admission: AdmissionControl
    turns: Turns
    ledger: Ledger
    clock: Clock

    async def submit(self, incoming: Incoming) -> bool:
        incoming = with_names(incoming) if incoming.files else incoming
        admission = await self.admission.admission(incoming)
        claiming = self.turns.promise_slot()
        accepting = asyncio.ensure_future(self.ledger.accept(incoming, admission.terms, claiming))
        try:
            accepted = await self.turns.follow(accepting, claiming)
        except TermsNotMet as unmet:
            raise self.admission.refused(incoming, admission, unmet.obstacle) from None
        if not accepted.duplicate:
            self.admission.count(incoming, admission)
        return not accepted.duplicate

    async def record_context_message(self, incoming: Incoming) -> None:
        if await self.admission.admit_context(incoming):
            await self.ledger.record_context_message(with_names(incoming))

    async def restrict_place(self, channel: str, place: Place) -> None:
        await self.ledger.restrict_place(channel, place, self.clock.now())


@dataclass(frozen=True, slots=True)
class BotHost:
    """Implements `bot.host.Host`: the services that platforms use."""

    messages: ReceivedMessages
    commands: BoundCommands
    platforms: PlatformConnections
    admission: AdmissionControl
    turns: Turns
    conversations: Conversations
    preferences: Preferences
    tools: ToolsService
    models: ModelDesk
    knowledge: KnowledgeDesk
    forgetting: ForgetDesk
    schedules: ScheduleDesk
    direct_messages: RollingConversations
    claims: Deduplicator
    memories: MemoryDesk
    reports: OperatorDesk
    feedback: ReplyFeedback
    ambient: AmbientIntake
