"""Health for supervisors: whether the bot is alive and ready, and its metrics."""

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from agent.errors import StoreError
from agent.ports.clock import Clock
from bot.chat.listen_errors import cannot_listen
from bot.chat.telemetry import SILENT, LoopWoke, Telemetry

if TYPE_CHECKING:
    from aiohttp import web

log = logging.getLogger(__name__)

# What supervisors ask of a running bot, and systemd's watchdog.
#
# Rules. `/livez`: the event loop runs, the worker of turns runs, and connections are not silent; otherwise only a
# restart helps. `/readyz`: the database answers, and each platform is connected; otherwise people wait, and a restart
# does not help. Before the database is open, the bot is alive and not ready: after an upgrade that can take minutes.
# Requests are answered in a thread, so that a stalled loop is reported rather than waited for. Answers hold names and
# nothing else. The loop itself notifies systemd, which restarts a process that no longer does.

BEAT_S: Final = 1.0
STALLED_S: Final = 10.0  # Without a beat: the slowest step of the bot on its loop takes less than a tenth of a second
# Without even a heartbeat on an open connection. Slack answers a ping each 5 seconds, and a socket without an answer is
# replaced after 20; Discord answers a heartbeat each 41, and is left after 60. After a silence longer than either, with
# a new connection, the adapter itself has failed.
SILENT_S: Final = 150.0
LOOK_S: Final = 5.0  # Between two checks of the database, and the limit for each
CONNECTIONS: Final = 32  # Concurrent: a few supervisors, each with one or two
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
STARTING: Final = "it is starting"
STORE: Final = "the database does not answer"
WORKER: Final = "the turn worker has stopped"


@dataclass(frozen=True, slots=True)
class Vitals:
    """What is checked. `has_stopped`: whether the worker of turns has. `ask_store`: makes a small query; raises
    StoreError. `platforms`: the names of those to serve. `connected`: returns the names of those that are. `silent_s`:
    returns how many seconds each of these has received nothing.
    """

    has_stopped: Callable[[], bool]
    ask_store: Callable[[], Awaitable[object]]
    platforms: Collection[str]
    connected: Callable[[], Collection[str]]
    silent_s: Callable[[], Mapping[str, float]]


@dataclass(slots=True)
class Liveness:
    """Written by the event loop, read by the thread that answers: values are replaced, never changed."""

    clock: Clock
    vitals: Vitals | None = None
    beat: float = field(init=False)
    stored: str = STARTING
    """Why the database cannot be used; "" if it can."""
    telemetry: Telemetry = SILENT

    def __post_init__(self) -> None:
        self.beat = self.clock.monotonic()

    def restart_reasons(self) -> list[str]:
        """Return the reasons why only a restart helps."""
        stalled_s = self.clock.monotonic() - self.beat
        stalled = [f"the event loop has been blocked for {stalled_s:.0f} s"] if stalled_s > STALLED_S else []
        if self.vitals is None:
            return stalled
        silent = sorted(self.vitals.silent_s().items())
        silences = [f"{name} has been silent for {seconds:.0f} s" for name, seconds in silent if seconds > SILENT_S]
        return [*stalled, *([WORKER] if self.vitals.has_stopped() else []), *silences]

    def unready_reasons(self) -> list[str]:
        """Return the reasons why not everyone can be served now."""
        if self.vitals is None:
            return [*self.restart_reasons(), STARTING]
        connected = {*self.vitals.connected()}
        away = sorted(f"{name} is not connected" for name in {*self.vitals.platforms} - connected)
        return [*self.restart_reasons(), *filter(None, [self.stored]), *away]

    async def run(self, tell: Callable[[str], None], every_s: float) -> None:
        """Beat, and check the database now and then, until cancelled. `tell`: notifies systemd."""
        async with asyncio.TaskGroup() as tasks:
            check, checked_at = None, -LOOK_S
            while True:
                self.beat = self.clock.monotonic()
                if self.vitals is not None and self.beat - checked_at >= LOOK_S and (check is None or check.done()):
                    check, checked_at = tasks.create_task(self._check_store(self.vitals)), self.beat
                if not self.restart_reasons():
                    tell("WATCHDOG=1")
                await self.clock.sleep(every_s)
                self.telemetry.record(LoopWoke(max(0.0, self.clock.monotonic() - self.beat - every_s)))

    async def _check_store(self, vitals: Vitals) -> None:
        try:
            async with asyncio.timeout(LOOK_S):
                await vitals.ask_store()
        except (StoreError, TimeoutError):
            self.stored = STORE
        else:
            self.stored = ""


@asynccontextmanager
async def supervised(
    clock: Clock,
    address: tuple[str, int] | None,
    supervisor: Mapping[str, str],
    telemetry: Telemetry = SILENT,
    metrics: Callable[[], bytes] | None = None,
) -> AsyncGenerator[Liveness]:
    """Answer requests at this address, if any, and notify systemd, if it started us, until the block ends. Raises
    SettingsError or PortInUse.

    `metrics`: returns the page for Prometheus; None for no page.
    """
    liveness, tell = Liveness(clock, telemetry=telemetry), notifier(supervisor)
    watchdog_s = int(supervisor.get("WATCHDOG_USEC", "0")) / 1_000_000
    serving = None if address is None else await asyncio.to_thread(_serve, liveness, address, metrics)
    beating = asyncio.create_task(liveness.run(tell, min(BEAT_S, watchdog_s / 3) if watchdog_s else BEAT_S))
    tell("READY=1")  # even without a platform, which is served later: systemd would restart the bot again and again
    try:
        yield liveness
    finally:
        tell("STOPPING=1")
        beating.cancel()
        if serving is not None:
            await asyncio.to_thread(serving)


def notifier(supervisor: Mapping[str, str]) -> Callable[[str], None]:
    """Return a function that notifies systemd, as sd_notify(3) does; it does nothing if systemd did not start us."""
    path = supervisor.get("NOTIFY_SOCKET", "")

    def tell(state: str) -> None:
        if path[:1] in {"/", "@"}:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
                client.settimeout(0)
                client.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)

    return tell


def _serve(liveness: Liveness, address: tuple[str, int], metrics: Callable[[], bytes] | None) -> Callable[[], None]:
    """Answer at this address in a thread; return a function that ends it. Raises SettingsError or PortInUse."""
    started: Future[Callable[[], object]] = Future()

    def run() -> None:
        try:
            asyncio.run(_listen(liveness, metrics, address, started))
        except OSError as error:
            started.set_exception(error)

    thread = threading.Thread(target=run, name="health", daemon=True)
    thread.start()
    try:
        stop = started.result()
    except OSError as error:
        raise cannot_listen("COGENCY_HEALTH", *address, error) from error

    def end() -> None:
        stop()
        thread.join()

    return end


def _app(liveness: Liveness, metrics: Callable[[], bytes] | None) -> "web.Application":
    from aiohttp import web  # noqa: PLC0415 -- only needed with an address

    def respond(why: list[str]) -> web.Response:
        return web.json_response({"ok": not why, "why": why}, status=503 if why else 200)

    async def livez(_: web.Request) -> web.Response:
        return respond(liveness.restart_reasons())

    async def readyz(_: web.Request) -> web.Response:
        return respond(liveness.unready_reasons())

    async def page(_: web.Request) -> web.Response:
        return web.Response(body=metrics() if metrics is not None else b"", headers={"Content-Type": METRICS_TYPE})

    app = web.Application()
    app.add_routes([web.get("/livez", livez), web.get("/readyz", readyz)])
    if metrics is not None:
        app.add_routes([web.get("/metrics", page)])
    return app


async def _listen(
    liveness: Liveness,
    metrics: Callable[[], bytes] | None,
    address: tuple[str, int],
    started: Future[Callable[[], object]],
) -> None:
    """Answer until the function that `started` gets is called. Raises OSError."""
    from aiohttp import web  # noqa: PLC0415 -- only needed with an address

    from bot.chat.http_listener import listen, quiet_logger  # noqa: PLC0415 -- as above

    app, quiet, ended = _app(liveness, metrics), quiet_logger(log, log.debug), asyncio.Event()
    runner = web.AppRunner(app, access_log=None, logger=quiet, auto_decompress=False, handle_signals=False)
    await runner.setup()
    try:
        server = await listen(runner, *address, CONNECTIONS)
        started.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set))
        await ended.wait()
        server.close()
    finally:
        await runner.cleanup()
