"""The apps of Slack that this process serves: each is started and stopped while the process lives, and fails alone."""

import asyncio
import logging
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from agent.errors import CogencyError, StoreUnavailable
from agent.ports import Clock
from bot.caches import Backoff
from bot.host import Host, PlatformUnavailable
from bot.platforms.slack.http_events import EventsListener
from bot.platforms.slack.options import SlackApp, SlackSettings
from bot.platforms.slack.run import serve
from bot.telemetry import SILENT, Telemetry
from bot.texts import setup_texts

if TYPE_CHECKING:
    from bot.platforms.slack.installed import DistributedApp

log = logging.getLogger(__name__)

AGAIN_S: Final = 2.0
# Between attempts to serve an app whose workspace cannot be reached, as between those for a platform.
MOST_AGAIN_S: Final = 120.0


@dataclass(slots=True)
class SlackApps:
    """The running set of apps, by their names.

    Rules
    - Each app is served by a task of its own, with its own tokens, sockets, tiers of the Web API, caches and history.
      What ends one (a token that is refused or revoked, a bug) is one line in the log and a trouble under its name,
      and touches no other. What may pass is tried again for ever.
    - An app is served once in a process. Replies go out by the app of their turn's workspace, as a process claims the
      turns of those workspaces alone that it serves (`PlatformConnections.sources`).
    - Over HTTP all of them share one listener.
    """

    host: Host
    settings: SlackSettings
    clock: Clock
    telemetry: Telemetry = SILENT
    failures: list[CogencyError] = field(default_factory=list[CogencyError])
    """Why apps were given up, the first at first."""
    listener: EventsListener = field(init=False)
    _serving: dict[str, "asyncio.Task[None]"] = field(default_factory=dict[str, "asyncio.Task[None]"])
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.listener = EventsListener(self.clock)

    @property
    def running(self) -> Collection[str]:
        """The names of those that are served, or tried again."""
        return frozenset(self._serving)

    async def start(self, app: SlackApp) -> None:
        """Begin to serve it; one of the same name is stopped first, as after its tokens were changed. Returns at once:
        whether Slack takes its tokens is told as `connected`, under `app.known_as`.
        """
        async with self._changing:
            await self._stop(app.name)
            task = asyncio.create_task(self._insist(app), name=app.label)
            self._serving[app.name] = task
            task.add_done_callback(lambda done: self._ended(app, done))
            self._changed.set()

    async def stop(self, name: str) -> None:
        """Serve it no longer, and forget nothing of it; nothing happens for one that is not served. Returns once its
        connections are closed. Replies that grow there are taken up by a process that serves it, or at its next start.
        """
        async with self._changing:
            await self._stop(name)
            self._changed.set()

    async def close(self) -> None:
        """Stop all of them, side by side."""
        async with self._changing:
            await asyncio.gather(*(self._stop(name) for name in [*self._serving]))

    async def over(self) -> None:
        """Until none is served any more."""
        while self._serving:
            self._changed.clear()
            await self._changed.wait()

    async def _stop(self, name: str) -> None:
        if (task := self._serving.pop(name, None)) is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _insist(self, app: SlackApp) -> None:
        """Serve it; begin anew where that cannot be done now. Raises CogencyError where it cannot be done at all."""
        backoff = Backoff(AGAIN_S, MOST_AGAIN_S)
        while True:
            began = self.clock.monotonic()
            try:
                await serve(self.host, app, self.settings, self.clock, self.telemetry, self.listener)
            except (PlatformUnavailable, StoreUnavailable) as error:
                if self.clock.monotonic() - began > MOST_AGAIN_S:
                    backoff.worked()  # it was served well for a while
                asked_s = error.retry_after_s if isinstance(error, PlatformUnavailable) else 0.0
                pause = max(backoff.failed(), asked_s)
                log.warning("%s: %s It is tried again in %.0f s.", app.label, error, pause)
                self.host.platforms.connected(app.known_as, str(error))
                await self.clock.sleep(pause)

    def _ended(self, app: SlackApp, task: "asyncio.Task[None]") -> None:
        """It was stopped, or given up."""
        if self._serving.get(app.name) is task:
            del self._serving[app.name]
        self._changed.set()
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, CogencyError):
            log.error("%s ended by a mistake of this program", app.label, exc_info=error)
            error = CogencyError(setup_texts.SLACK_APP_BROKE)
        else:
            log.error("%s: %s", app.label, error)
        self.failures.append(error)
        self.host.platforms.connected(app.known_as, str(error))


async def serve_apps(
    host: Host,
    apps: Collection[SlackApp],
    settings: SlackSettings,
    clock: Clock,
    telemetry: Telemetry = SILENT,
    distributed: "DistributedApp | None" = None,
) -> NoReturn:
    """Serve all of these until cancelled, and the workspaces that install one. Raises the first failure (CogencyError)
    once none is left to serve, and none can be installed.
    """
    served = SlackApps(host, settings, clock, telemetry)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(served.close)
        installed = None
        if distributed is not None:
            from bot.platforms.slack.installing import installing  # noqa: PLC0415 -- few are distributed

            opening = installing(distributed, settings.api_base_url, served, host, clock)
            installed = await stack.enter_async_context(opening)
        for app in apps:
            await served.start(app)
        if installed is not None:
            await installed.keep()
        await served.over()
    raise served.failures[0]
