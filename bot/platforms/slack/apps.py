"""The Slack apps that this process serves: each is started, stopped and retried by itself."""

import asyncio
import logging
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from agent.errors import CogencyError, StoreUnavailable
from agent.ports.clock import Clock
from bot.chat.backoff import Backoff
from bot.chat.host import Host
from bot.chat.listen_errors import PortInUse
from bot.chat.logs import labelled
from bot.chat.platform_errors import PlatformUnavailable
from bot.chat.telemetry import SILENT, Telemetry
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.http_events import EventsListener
from bot.platforms.slack.options import SlackApp, SlackOptions
from bot.platforms.slack.run import serve

if TYPE_CHECKING:
    from bot.platforms.slack.installed import DistributedApp

log = logging.getLogger(__name__)

# The pause between attempts to serve an app whose workspace cannot be reached grows from the first to the second.
RETRY_S: Final = 2.0
MAX_RETRY_S: Final = 120.0


@dataclass(slots=True)
class SlackApps:
    """The running apps, by their names.

    Rules
    - Each app is served by its own task, with its own tokens, sockets, call budgets, caches and history. If it ends (a
      token that is refused or revoked, a bug), that is one line in the log and an error under its name in health
      reports; other apps go on. A failure that may pass is retried without end.
    - A process serves an app once. Replies are sent by the app of their turn's workspace: a process claims only turns
      of the workspaces that it serves (`PlatformConnections.sources`).
    - Over HTTP all apps share one listener.
    """

    host: Host
    settings: SlackOptions
    clock: Clock
    telemetry: Telemetry = SILENT
    failures: list[CogencyError] = field(default_factory=list[CogencyError])  # Why apps were given up, in their order
    listener: EventsListener = field(init=False)
    _serving: dict[str, "asyncio.Task[None]"] = field(default_factory=dict[str, "asyncio.Task[None]"])
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.listener = EventsListener(self.clock)

    @property
    def running(self) -> Collection[str]:
        """The names of the apps that are served, or retried."""
        return frozenset(self._serving)

    async def start(self, app: SlackApp) -> None:
        """Start to serve an app. One of the same name is stopped first, as after a change of its tokens.

        Returns at once. Whether Slack accepts the tokens is reported by `connected`, under `app.known_as`.
        """
        async with self._lock:
            await self._stop(app.name)
            task = asyncio.create_task(self._serve_forever(app), name=app.label)
            self._serving[app.name] = task
            task.add_done_callback(lambda done: self._task_done(app, done))
            self._changed.set()

    async def stop(self, name: str) -> None:
        """Stop an app, if it runs, and return once its connections are closed. Nothing of it is erased. Its running
        replies are taken over by another process that serves it, or at its next start.
        """
        async with self._lock:
            await self._stop(name)
            self._changed.set()

    async def close(self) -> None:
        """Stop all apps concurrently."""
        async with self._lock:
            await asyncio.gather(*(self._stop(name) for name in [*self._serving]))

    async def wait_until_empty(self) -> None:
        """Return once no app is served."""
        while self._serving:
            self._changed.clear()
            await self._changed.wait()

    async def _stop(self, name: str) -> None:
        if (task := self._serving.pop(name, None)) is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _serve_forever(self, app: SlackApp) -> None:
        """Serve an app, again after failures that may pass. Raises CogencyError for any other failure."""
        backoff = Backoff(RETRY_S, MAX_RETRY_S)
        while True:
            began = self.clock.monotonic()
            try:
                await serve(self.host, app, self.settings, self.clock, self.telemetry, self.listener)
            except (PlatformUnavailable, PortInUse, StoreUnavailable) as error:
                if self.clock.monotonic() - began > MAX_RETRY_S:
                    backoff.worked()  # it was served for a while
                pause = max(backoff.failed(), error.retry_after_s)
                log.warning("%s The next attempt is in %.0f s.", labelled(app.label, error), pause)
                self.host.platforms.connected(app.known_as, str(error))
                await self.clock.sleep(pause)

    def _task_done(self, app: SlackApp, task: "asyncio.Task[None]") -> None:
        """Record that an app was stopped, or given up."""
        if self._serving.get(app.name) is task:
            del self._serving[app.name]
        self._changed.set()
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, CogencyError):
            log.error("%s stopped because of a bug", app.label, exc_info=error)
            error = CogencyError(platforms_texts.SLACK_APP_BROKE)
        else:
            log.error("%s", labelled(app.label, error))
        self.failures.append(error)
        self.host.platforms.connected(app.known_as, str(error))


async def serve_apps(
    host: Host,
    apps: Collection[SlackApp],
    settings: SlackOptions,
    clock: Clock,
    telemetry: Telemetry = SILENT,
    distributed: "DistributedApp | None" = None,
) -> NoReturn:
    """Serve all apps until cancelled, and the workspaces that install the distributed one.

    Raises the first failure (CogencyError) once no app is left, and none can be installed.
    """
    running_apps = SlackApps(host, settings, clock, telemetry)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(running_apps.close)
        installed = None
        if distributed is not None:
            from bot.platforms.slack.installing import installing  # noqa: PLC0415 -- few apps are distributed

            opening = installing(distributed, settings.api_base_url, running_apps, host, clock)
            installed = await stack.enter_async_context(opening)
        for app in apps:
            await running_apps.start(app)
        if installed is not None:
            await installed.keep()
        await running_apps.wait_until_empty()
    raise running_apps.failures[0]
