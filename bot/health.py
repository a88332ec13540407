"""How the bot does: for operators, what it works on, what it took, what people think of its answers; for supervisors,
whether it lives and can serve, and its metrics.
"""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Final

from agent.errors import SettingsError, StoreError
from agent.ports import Clock, Ledger, OperatorSessions, Replies, Spending, ToolAudit
from agent.protocol.render import joined
from agent.records import Load, ReplyVerdict
from agent.spending import By, SpendingPeriod, Spent, Total
from bot.access.acl import CommandAnswer
from bot.access.budgets import cost_text
from bot.audit import SHOWN_IN_HOME, home_text
from bot.telemetry import SILENT, LoopWoke, Telemetry
from bot.texts import reply_texts, setup_texts
from bot.texts.formatting import counted, literal, shortened

LINK_LASTS: Final = timedelta(minutes=10)  # Long enough to change to another machine's browser

# A session on that page ends when nobody has looked for so long; it comes from a browser that may stand anywhere.
SESSION_IDLE: Final = timedelta(minutes=30)
SESSION_LASTS: Final = timedelta(hours=12)  # A day at work; who goes on asks for another link


@dataclass(frozen=True, slots=True)
class OperatorLinks:
    """Links that each let one browser in on the operators' page. `address`: of the page; `secret` makes 256 bits."""

    sessions: OperatorSessions
    clock: Clock
    secret: Callable[[], str]
    address: str

    async def new(self) -> str:
        """Raises StoreError."""
        token, now = self.secret(), self.clock.now()
        await self.sessions.offer(sha256(token.encode()).hexdigest(), now, now + LINK_LASTS)
        return f"{self.address}/enter/{token}"


@dataclass(frozen=True, slots=True)
class OperatorDesk:
    """Implements `OperatorAnswers`. `links`: None where the page is off, or this is no process that serves it."""

    links: OperatorLinks | None
    operates: Callable[[str], bool]

    async def link(self, person: str) -> CommandAnswer:
        if not self.operates(person):
            return CommandAnswer(reply_texts.NO_OPERATOR, refused=True)
        if self.links is None:
            return CommandAnswer(reply_texts.NO_OPERATOR_PAGE, refused=True)
        minutes = LINK_LASTS.seconds // 60
        return CommandAnswer(reply_texts.OPERATOR_PAGE.format(link=await self.links.new(), minutes=minutes))


DAYS: Final = 30  # Of spending and verdicts: as long as a bill
MOST: Final = 5  # Who took the most: more would be a table, which `cogency usage` prints
NAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Health:
    """`describe`: lines about the models and the store, which know themselves best."""

    ledger: Ledger
    replies: Replies
    spending: Spending
    clock: Clock
    since: datetime
    describe: Callable[[], Sequence[str]]
    audit: ToolAudit

    async def text(self) -> str:
        """As Markdown. Raises StoreError."""
        now = self.clock.now()
        period = SpendingPeriod.days_until(now, DAYS)
        people, models = [await self.spending.totals(period, by) for by in (By.PERSON, By.MODEL)]
        verdicts = await self.replies.verdicts(now - timedelta(days=DAYS))
        told = report(await self.ledger.load(), people, models, verdicts, self.describe(), now - self.since)
        return joined([told, home_text(await self.audit.newest(SHOWN_IN_HOME))])


def report(
    load: Load,
    people: Sequence[Total],
    models: Sequence[Total],
    verdicts: Mapping[ReplyVerdict, int],
    described: Sequence[str],
    up: timedelta,
) -> str:
    """The text, of values. Pure."""
    good, bad = verdicts.get(ReplyVerdict.GOOD, 0), verdicts.get(ReplyVerdict.BAD, 0)
    everything = sum((total.spent for total in people), Spent())
    lines = [
        f"**Now**: {counted(load.running, 'answer grows', 'answers grow')}, {load.waiting:,} wait. Up for {_span(up)}.",
        *described,
        reply_texts.VERDICTS.format(days=DAYS, good=good, bad=bad),
        f"**Spent**, {DAYS} days: {cost_text(everything)}, {counted(everything.calls, 'model call', 'model calls')}.",
        *_most(reply_texts.BY_PERSON, people),
        *_most(reply_texts.BY_MODEL, models),
    ]
    return "\n\n".join(lines)


def _most(heading: str, totals: Sequence[Total]) -> list[str]:
    spent = [total for total in totals if total.spent.calls]
    if not spent:
        return []
    ordered = sorted(spent, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))
    named = (f"- {literal(shortened(one.name or one.key, NAME_CHARS))}: {cost_text(one.spent)}" for one in ordered)
    return ["\n".join([f"{heading}:", *[*named][:MOST]])]


def _span(up: timedelta) -> str:
    minutes = int(up.total_seconds()) // 60
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{counted(days, 'day', 'days')} and {counted(hours, 'hour', 'hours')}"
    return f"{counted(hours, 'hour', 'hours')} and {counted(minutes % 60, 'minute', 'minutes')}"


# What supervisors ask of a running bot, and systemd's watchdog.
#
# The rules. `/livez`: the event loop turns, the worker of turns runs, and what is said to be connected is heard of.
# Where not, only a new start helps. `/readyz`: the database answers, and each platform is connected. Where not, people
# wait; a new start helps nobody. Before the database is open the bot lives and is not ready: after an upgrade that may
# take minutes. A thread answers, so that a loop that stands still is told rather than waited for. It says names, and
# nothing else. systemd hears of the loop by the loop itself, and starts anew what has fallen silent.

BEAT_S: Final = 1.0
STALLED_S: Final = 10.0  # Without a beat: the slowest step that the bot takes on its loop is under a tenth of a second
# Without as much as a heartbeat through a connection that counts as one. Slack answers a ping each 5 seconds, and a
# socket without an answer is replaced after 20; Discord answers a heartbeat each 41, and is left after 60. What is
# silent for longer than either with a new connection, nobody replaces any more.
SILENT_S: Final = 150.0
LOOK_S: Final = 5.0  # Between two questions to the database, and for how long each may take
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
STARTING: Final = "it is starting"
STORE: Final = "the database does not answer"
WORKER: Final = "the worker of turns has stopped"


@dataclass(frozen=True, slots=True)
class Vitals:
    """What is looked at: whether the worker of turns `has_stopped`; `ask_store` asks for something small, and raises
    StoreError; `platforms`: the names of those that are to be served, and `connected` of those that are; `silent_s`:
    for how long nothing has come through the connections of these.
    """

    has_stopped: Callable[[], bool]
    ask_store: Callable[[], Awaitable[object]]
    platforms: Collection[str]
    connected: Callable[[], Collection[str]]
    silent_s: Callable[[], Mapping[str, float]]


@dataclass(slots=True)
class Liveness:
    """Written by the loop, read by the thread that answers: each value is replaced, and none is changed."""

    clock: Clock
    vitals: Vitals | None = None
    beat: float = field(init=False)
    stored: str = STARTING
    """Why the database cannot be used, "" if it can."""
    telemetry: Telemetry = SILENT

    def __post_init__(self) -> None:
        self.beat = self.clock.monotonic()

    def deadly(self) -> list[str]:
        """Why only a new start helps."""
        still = self.clock.monotonic() - self.beat
        stalled = [f"the event loop has stood still for {still:.0f} s"] if still > STALLED_S else []
        if self.vitals is None:
            return stalled
        silent = sorted(self.vitals.silent_s().items())
        deaf = [f"{name} has been silent for {seconds:.0f} s" for name, seconds in silent if seconds > SILENT_S]
        return [*stalled, *([WORKER] if self.vitals.has_stopped() else []), *deaf]

    def missing(self) -> list[str]:
        """Why nobody, or not everybody, can be served now."""
        if self.vitals is None:
            return [*self.deadly(), STARTING]
        connected = {*self.vitals.connected()}
        away = sorted(f"{name} is not connected" for name in {*self.vitals.platforms} - connected)
        return [*self.deadly(), *filter(None, [self.stored]), *away]

    async def keep(self, tell: Callable[[str], None], every_s: float) -> None:
        """Beat, and look at the database now and then, for as long as it is awaited. `tell`: systemd."""
        async with asyncio.TaskGroup() as beside:
            looking, looked = None, -LOOK_S
            while True:
                self.beat = self.clock.monotonic()
                if self.vitals is not None and self.beat - looked >= LOOK_S and (looking is None or looking.done()):
                    looking, looked = beside.create_task(self._look(self.vitals)), self.beat
                if not self.deadly():
                    tell("WATCHDOG=1")
                await self.clock.sleep(every_s)
                self.telemetry.tell(LoopWoke(max(0.0, self.clock.monotonic() - self.beat - every_s)))

    async def _look(self, vitals: Vitals) -> None:
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
    """Answer at this address, if any, and to systemd, if it started us, until the block ends. Raises SettingsError.

    `metrics`: the page for Prometheus; None: there is none.
    """
    alive, tell = Liveness(clock, telemetry=telemetry), notifier(supervisor)
    watched_s = int(supervisor.get("WATCHDOG_USEC", "0")) / 1_000_000
    serving = None if address is None else await asyncio.to_thread(_answering, alive, address, metrics)
    beating = asyncio.create_task(alive.keep(tell, min(BEAT_S, watched_s / 3) if watched_s else BEAT_S))
    tell("READY=1")  # it serves what it can: where a platform is away, systemd would start it anew for ever
    try:
        yield alive
    finally:
        tell("STOPPING=1")
        beating.cancel()
        if serving is not None:
            await asyncio.to_thread(serving)


def notifier(supervisor: Mapping[str, str]) -> Callable[[str], None]:
    """How to tell systemd something, by the protocol of sd_notify(3); nothing is told where it did not start us."""
    where = supervisor.get("NOTIFY_SOCKET", "")

    def tell(state: str) -> None:
        if where[:1] in {"/", "@"}:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
                to.settimeout(0)
                to.sendto(state.encode(), "\0" + where[1:] if where[0] == "@" else where)

    return tell


def _answering(alive: Liveness, address: tuple[str, int], metrics: Callable[[], bytes] | None) -> Callable[[], None]:
    """Answer at this address in a thread of its own; what ends it. Raises SettingsError where nothing can listen."""
    opened: Future[Callable[[], object]] = Future()

    async def serve() -> None:
        from aiohttp import web  # noqa: PLC0415 -- who sets no address does not load it

        def told(why: list[str]) -> web.Response:
            return web.json_response({"ok": not why, "why": why}, status=503 if why else 200)

        async def livez(_: web.Request) -> web.Response:
            return told(alive.deadly())

        async def readyz(_: web.Request) -> web.Response:
            return told(alive.missing())

        async def page(_: web.Request) -> web.Response:
            return web.Response(body=metrics() if metrics is not None else b"", headers={"Content-Type": METRICS_TYPE})

        app, over = web.Application(), asyncio.Event()
        app.add_routes([web.get("/livez", livez), web.get("/readyz", readyz)])
        if metrics is not None:
            app.add_routes([web.get("/metrics", page)])
        runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await runner.setup()
        try:
            await web.TCPSite(runner, *address).start()
            opened.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, over.set))
            await over.wait()
        finally:
            await runner.cleanup()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            opened.set_exception(error)

    thread = threading.Thread(target=run, name="health", daemon=True)
    thread.start()
    try:
        stop = opened.result()
    except OSError:
        host, port = address
        told = setup_texts.HEALTH_PORT.format(host=host, port=port)
        raise SettingsError(told) from None

    def end() -> None:
        stop()
        thread.join()

    return end
