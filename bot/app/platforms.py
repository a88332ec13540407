"""Builds and runs the bot: on every platform that has a token, on the page to try it, or at a terminal."""

import gc
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

from agent.errors import SettingsError
from agent.incoming import Person, platform_of
from agent.jobs import Job
from agent.machine import new_id, new_secret, process_name
from agent.memory.audience import PersonAudience, Place
from agent.patterns import compile_all
from agent.ports.tools import Asker, Tool
from bot.app import parts
from bot.app import texts as app_texts
from bot.app.background import background
from bot.app.features import Features, Services, features
from bot.app.from_settings import (
    access_rules,
    discord_options,
    for_play,
    gate_rules,
    http_address,
    no_traces,
    operator_address,
    sends_traces,
    slack_apps,
    slack_distribution,
    slack_options,
)
from bot.app.opened import Opened, open_parts
from bot.app.public_http import public_http
from bot.app.settings import Settings
from bot.app.turns import open_turns, turn_runner
from bot.channels.effects import ChannelEffects
from bot.chat.access.admission import AdmissionControl, RateCounter
from bot.chat.access.readers import Readers
from bot.chat.connections import PlatformConnections, serve_all
from bot.chat.core import Core, PlatformAccess
from bot.chat.dedupe import Deduplicator
from bot.chat.direct_messages import RollingConversations
from bot.chat.feedback import ReplyFeedback
from bot.chat.host import Host
from bot.chat.listen_errors import cannot_listen
from bot.chat.messages import ReceivedMessages
from bot.chat.ports import NO_BUDGETS
from bot.chat.replicas import Replicas
from bot.chat.telemetry import SILENT, SilenceSeen, StoreSeen, Telemetry, to_all
from bot.chat.texts.formatting import platform_name
from bot.chat.turns.settings import WhileBusy
from bot.chat.turns.worker import TurnWorkerLimits
from bot.forgetting.feature import PlatformForgetting
from bot.forgetting.service import ForgetService
from bot.memory.pauses import LearningPauses
from bot.memory.policies import PolicyService
from bot.models.service import ModelService
from bot.models.switch import ModelSwitch
from bot.operators.health import Vitals, supervised
from bot.operators.report import Health
from bot.operators.service import OperatorLinks, OperatorService
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.slack.options import Distribution, HttpEvents, SlackApp, SlackOptions
from bot.platforms.terminal.attachments import fetch, files_now
from bot.platforms.terminal.bot import TerminalBot, TerminalModels, TerminalSchedules, TerminalSurfaces
from bot.platforms.terminal.surface import SOURCE as TERMINAL
from bot.schedules.checks import CheckRunner
from bot.schedules.scheduler import Scheduler
from bot.settings.installation import command_for
from bot.tools.approvals import ApprovalService
from store.engine import Store

if TYPE_CHECKING:
    from bot.operators.pages.last_hour import Recent

log = logging.getLogger(__name__)

Platforms: TypeAlias = Mapping[str, Callable[[Host, Telemetry], Awaitable[None]]]
# Open replies may finish in this time after SIGTERM. With saving them, and disconnecting from a platform that hangs, a
# stop takes less than the ten seconds that supervisors usually allow.
GRACE_S = 6.0
SLACK: Final = "Slack"
NO_PERSON: Final = "operator"  # Stands for no particular person when the tools are listed for operators
# The page to try the bot stops at once: with a kept database, unfinished turns go on at the next start.
PLAY_GRACE_S = 0.5
# One in so many of the turns that may run at once may be long work: it lasts, and a local model serves them all.
SHARE_AT_WORK = 4


async def serve_platforms(
    settings: Settings, chosen: Platforms | None = None, *, grace_s: float = GRACE_S, sign_ins: bool = True
) -> None:
    """Serve every platform that has a token, or the `chosen` ones, until cancelled. `sign_ins`: also serve the pages
    for signing in to tool servers. Raises SettingsError, StoreError, or a platform's error where it is the only one.
    """
    chosen = platforms(settings) if chosen is None else chosen
    compile_all()
    async with AsyncExitStack() as stack:
        operator_address(settings)
        http_address(settings)
        telemetry, metrics, recent = stack.enter_context(_measuring(settings))
        alive = await stack.enter_async_context(
            supervised(parts.CLOCK, settings.operators.health, settings.supervisor, telemetry, metrics)
        )
        async with _starting(settings):
            store = parts.with_telemetry(await stack.enter_async_context(parts.open_store_of(settings)), telemetry)
        models = await stack.enter_async_context(parts.open_models_of(settings, store))
        readers = Readers(store.conversations.groups, parts.CLOCK)
        pauses = LearningPauses(store.preferences, store.profiles, parts.CLOCK)
        connections = PlatformConnections(readers, replicas=_replicas(store), left_out=pauses.among, polls=store.acts)
        opening = open_parts(settings, store, models, connections.fetchers, sign_ins=sign_ins, telemetry=telemetry)
        async with opening as opened:
            log.info("%s", models.sentence)
            if models.advice:
                log.info("%s", models.advice)
            host, core, every = build_host(settings, opened, connections, telemetry)
            served = frozenset(map(platform_of, chosen))
            look = partial(look_at, store, telemetry, connections.silent_s)
            connected = partial(_connected, connections)
            alive.vitals = Vitals(host.turns.has_stopped, look, served, connected, connections.silent_s)
            serving = {name: partial(serve, host, telemetry) for name, serve in chosen.items()}
            if SLACK in chosen and (distribution := slack_distribution(settings)) is not None:
                serving |= {SLACK: partial(_serve_installed, settings, distribution, store, host, telemetry)}
            service = every.tools.service
            scheduler = Scheduler(
                store.schedules,
                connections.schedules,
                parts.CLOCK,
                host.turns.wake,
                host.admission.refusal,
                host.admission.budget_left,
                CheckRunner(service.toolbox, parts.CLOCK, service.policy.rows).digest,
            )
            pages = _operator_page(
                settings, store, recent, connections, models, service, sorted(served), connections.replicas
            )
            shared = nullcontext() if connections.replicas is None else connections.replicas.serving()
            working = background(core, every.all, new_id())
            async with working, scheduler.serving(), pages, public_http(settings, every.all), shared:
                await serve_all(serving, connections, host.turns, parts.CLOCK, grace_s)


@contextmanager
def _measuring(settings: Settings) -> Generator[tuple[Telemetry, Callable[[], bytes] | None, "Recent | None"]]:
    """Yield the telemetry, the page for Prometheus (None: off), and the recent events for operators (None: off)."""
    listeners, page, recent = list[Telemetry](), None, None
    if settings.operators.health is not None and settings.operators.metrics:
        from bot.operators.metrics import Metrics  # noqa: PLC0415 -- loaded only where metrics are served

        metrics = Metrics(parts.CLOCK, version("cogency-bot"))
        listeners.append(metrics)
        page = metrics.page
    with ExitStack() as stack:
        if sends_traces(settings) and (reason := no_traces(settings, find_spec)):
            log.warning("%s", reason)
        elif sends_traces(settings):
            from bot.operators.tracing import exported  # noqa: PLC0415 -- an extra

            listeners.append(stack.enter_context(exported(parts.CLOCK, version("cogency-bot"))))
        if settings.operators.page is not None:
            from bot.operators.pages.last_hour import Recent  # noqa: PLC0415 -- an extra

            recent = Recent(parts.CLOCK)
            listeners.append(recent)
        yield to_all(listeners), page, recent


@asynccontextmanager
async def _operator_page(
    settings: Settings,
    store: Store,
    recent: "Recent | None",
    connections: PlatformConnections,
    models: ModelSwitch,
    service: ApprovalService,
    served: Sequence[str],
    replicas: Replicas | None,
) -> AsyncGenerator[None]:
    """Serve the operators' page, unless it is off, until the block ends. Raises SettingsError and PortInUse."""
    if settings.operators.page is None or recent is None:
        yield
        return
    from bot.chat.place_names import PlaceNames  # noqa: PLC0415 -- loaded only where the page is served
    from bot.chat.web_server import serving  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.evals import eval_views  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.feedback import feedback_view  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.frame import OperatorSite  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.handoffs import handoffs_view  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.models import models_view  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.reports import report_views  # noqa: PLC0415 -- loaded only where the page is served
    from bot.operators.pages.views import OfferedTools, OperatorSources, operator_views  # noqa: PLC0415 -- loaded only where the page is served
    from store.operator_reports import SqlOperatorReports  # noqa: PLC0415 -- loaded only where the page is served

    host, port = settings.operators.page

    def about() -> Mapping[str, str]:
        values = (version("cogency-bot"), models.sentence, store.database.where)
        return dict(zip(app_texts.ABOUT, values, strict=True))

    def tools() -> list[Tool]:
        """Return the tools offered on each platform, without those of people's own accounts."""
        people = [
            Person(NO_PERSON, ""),
            *(Person(f"{source}:{NO_PERSON}", "") for source in sorted(connections.sources())),
        ]
        offered = [service.toolbox.all(Asker(person, Place(PersonAudience(person.id)), person.id)) for person in people]
        return [*{tool.name: tool for some in offered for tool in some}.values()]

    table, names = service.policy.table, PlaceNames(connections.place_names, parts.CLOCK)
    sources = OperatorSources(
        recent,
        store.ledger,
        store.audit,
        parts.CLOCK,
        settings.shown,
        settings.secrets(),
        about,
        connections,
        OfferedTools(tools, service.toolbox.servers.away, table.fixed, lambda: table.numbered),
        served,
        store.shard_leases.listed if replicas is not None else None,
        replicas.owner if replicas is not None else "",
        names.of,
        store.outbox,
        store.spending,
    )
    overview, failures, *others = operator_views(sources)
    reports = report_views(SqlOperatorReports(store.database), parts.CLOCK, names.of)
    shared = feedback_view(store.feedback, parts.CLOCK, names.of)
    requests = handoffs_view(store.handoffs, parts.CLOCK, names.of)
    checked = models_view(store.preferences, lambda: models.in_use, lambda: models.keys_set_aside)
    views = (overview, failures, *reports, shared, requests, checked, *eval_views(store.eval_runs), *others)
    site = OperatorSite(views, store.operator_sessions, parts.CLOCK, new_secret, settings.operators.address)
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(serving(site, host, port))
        except OSError as error:
            raise cannot_listen("COGENCY_OPERATOR_PAGE", host, port, error) from error
        log.info("%s", app_texts.PAGE_LISTENS.format(address=operator_address(settings)))
        yield


async def look_at(store: Store, telemetry: Telemetry, silent_s: Callable[[], Mapping[str, float]]) -> None:
    """Check the database with a small query, and report its load and the platforms' silence. Raises StoreError."""
    load = await store.ledger.load()
    if telemetry is not SILENT:
        telemetry.record(SilenceSeen(silent_s()))
        late = await store.jobs.late(parts.CLOCK.now())
        telemetry.record(StoreSeen(load, {kind: delay.total_seconds() for kind, delay in late.items()}))


async def _erase(store: Store, service: ForgetService, job: Job) -> None:
    """Run the job: erase what an operator ordered. Raises StoreError."""
    from bot.app.subject_requests import OperatorErasing  # noqa: PLC0415 -- seldom needed
    from store.subject_access import data_subjects_in  # noqa: PLC0415 -- seldom needed

    await OperatorErasing(service=service, data_subjects=await data_subjects_in(store), clock=parts.CLOCK).carry_out(
        job
    )


def _connected(connections: PlatformConnections) -> frozenset[str]:
    return frozenset({*map(platform_of, connections.sources())} - connections.away())


@asynccontextmanager
async def _starting(settings: Settings) -> AsyncGenerator[None]:
    """Answer HTTP requests with "starting" while the store opens, which may take minutes after an upgrade."""
    apps = (*slack_apps(settings), slack_distribution(settings))
    over_http = [app.delivery for app in apps if app is not None and isinstance(app.delivery, HttpEvents)]
    if not over_http:
        yield
        return
    from bot.platforms.slack.http_events import starting  # noqa: PLC0415 -- a bot without Slack does not load its libraries

    async with starting(over_http[0]):
        yield


def _replicas(store: Store) -> Replicas | None:
    """Return the processes that share this database; None if no other one can."""
    if not store.database.is_shared:
        return None
    return Replicas(store.shard_leases, store.shared_rates, process_name(), parts.CLOCK)


def build_host(
    settings: Settings, opened: Opened, connections: PlatformConnections, telemetry: Telemetry
) -> tuple[Host, Core, Features]:
    store, models = opened.store, opened.models
    readers, access = connections.readers, access_rules(settings.access)
    budget_gate = parts.budget_gate(settings, store, telemetry)
    rules, replicas = gate_rules(settings.access), connections.replicas
    admission = AdmissionControl(rules, ChannelEffects(store.preferences), budget_gate, parts.CLOCK, replicas)
    model_service = ModelService(models, store.preferences, access, opened.place_keys.keys_at)
    learning_model = parts.learning_models(models, opened.place_keys)
    deduplication = Deduplicator(store.preferences)
    ambient = parts.ambient_service(settings, store, learning_model, admission, deduplication.claim_once)
    core = Core(
        store=store,
        clock=parts.CLOCK,
        platforms=PlatformAccess(
            schedules=connections.schedules,
            events=connections.events,
            hands=connections.hands,
            approvers=connections.approvers,
            forums=connections.forums,
            histories=connections.histories,
            others=lambda: None if replicas is None else replicas.others,
            files_now=connections.files_now,
            deletions=connections.deletions,
            sources=connections.sources,
            own_surfaces=connections.own_surfaces,
            attaches_files=True,
        ),
        learning_model=learning_model,
        operates=access.is_operator,
        tool_timeout_s=settings.tools.timeout_s,
        budgets=admission,
        admission=admission,
        readers=readers,
        telemetry=telemetry,
    )
    memories = replace(parts.memory_service(store, readers.audiences), operates=access.is_operator)
    health = Health(
        store.ledger,
        store.replies,
        store.spending,
        parts.CLOCK,
        parts.CLOCK.now(),
        partial(_about, store, models, connections),
        store.audit,
    )
    services = Services(
        memories=memories,
        policies=PolicyService(store.facts, parts.CLOCK, readers.audiences, access.is_operator),
        knowledge=replace(
            parts.knowledge_service(settings, store, opened.reader, readers.audiences), operates=access.is_operator
        ),
        models=model_service,
        operators=OperatorService(_links(settings, store), access.is_operator, health),
        places=parts.place_service(
            settings, store, model_service, lambda: models.learning_model().can_learn, connections.forums
        ),
        ambient=ambient,
        forgetting=PlatformForgetting(
            edits=RateCounter(rules.surges.rates, "edits", replicas), erase=partial(_erase, store)
        ),
        platform_tools=[connections],
        delivers_webhooks=True,
    )
    every = features(settings, core, opened, services)
    runner = turn_runner(settings, core, opened, every, model_service)
    slots, lease = settings.turns.max_running, timedelta(seconds=settings.turns.lease_s)
    limits = TurnWorkerLimits(
        slots, settings.turns.person_running, max_working=max(1, slots // SHARE_AT_WORK), lease=lease
    )
    turns = open_turns(core, store, runner, connections.surface_for, limits, connections.sources)
    host = Host(
        messages=ReceivedMessages(admission, turns, store.ledger, parts.CLOCK),
        platforms=connections,
        admission=admission,
        turns=turns,
        conversations=store.conversations,
        preferences=store.preferences,
        commands=every.commands,
        direct_messages=RollingConversations(store.conversations, store.preferences),
        deduplication=deduplication,
        suggestions=memories,
        feedback=ReplyFeedback(
            store.replies,
            store.ledger,
            store.forgetting,
            store.jobs,
            parts.CLOCK,
            connections.deletions,
            access,
            turns.withdraw,
            ambient.disliked,
            {action: press for feature in every.all for action, press in feature.presses.items()},
        ),
        events=every.messages,
    )
    return host, core, every


def _links(settings: Settings, store: Store) -> OperatorLinks | None:
    address = operator_address(settings)
    return OperatorLinks(store.operator_sessions, parts.CLOCK, new_secret, address) if address else None


def _about(store: Store, models: ModelSwitch, connections: PlatformConnections) -> list[str]:
    """Return the lines of the health report about this process: version, models, store, unused keys, unconnected
    platforms.
    """
    return [
        app_texts.VERSION.format(version=version("cogency-bot"), models=models.sentence),
        app_texts.STORE.format(where=store.database.where),
        *(app_texts.UNUSED_KEY.format(sentence=sentence) for sentence in models.keys_set_aside),
        *(f"**{platform_name(name)}**: not connected. {why}" for name, why in sorted(connections.troubles.items())),
    ]


def platforms(settings: Settings) -> Platforms:
    """Return a function that serves each platform with a token, by its name. Raises SettingsError if there is none."""
    chosen: dict[str, Callable[[Host, Telemetry], Awaitable[None]]] = {}
    slack = slack_apps(settings)
    if slack or slack_distribution(settings) is not None:
        chosen[SLACK] = partial(_serve_slack, slack, slack_options(settings))
    if (discord := discord_options(settings)) is not None:
        chosen["Discord"] = partial(_serve_discord, discord)
    if not chosen:
        raise SettingsError(app_texts.NOTHING_TO_RUN)
    return chosen


async def _serve_slack(apps: Sequence[SlackApp], slack: SlackOptions, host: Host, telemetry: Telemetry) -> None:
    from bot.platforms.slack.apps import serve_apps  # noqa: PLC0415 -- a bot without Slack does not load its libraries

    _keep_loaded()
    await serve_apps(host, apps, slack, parts.CLOCK, telemetry)


async def _serve_installed(
    settings: Settings, distribution: Distribution, store: Store, host: Host, telemetry: Telemetry
) -> None:
    """Serve Slack's apps, and the one that workspaces install themselves. Raises SettingsError without cryptography."""
    if find_spec("cryptography") is None:
        raise SettingsError(app_texts.SLACK_DISTRIBUTION_MISSING.format(command=command_for("mcp")))
    from bot.platforms.slack.apps import serve_apps  # noqa: PLC0415 -- a bot without Slack does not load its libraries
    from bot.platforms.slack.installed import DistributedApp  # noqa: PLC0415 -- a bot without Slack does not load its libraries

    distributed = DistributedApp(distribution, store.installations, parts.account_keys(settings.accounts), new_secret)
    _keep_loaded()
    await serve_apps(host, slack_apps(settings), slack_options(settings), parts.CLOCK, telemetry, distributed)


async def _serve_discord(discord: DiscordOptions, host: Host, telemetry: Telemetry) -> None:
    from bot.platforms.discord.run import serve  # noqa: PLC0415 -- a bot without Discord does not load its libraries

    _keep_loaded()
    await serve(host, discord, parts.CLOCK, telemetry)


async def play(
    settings: Settings, keep: Path | None, port: int | None, zone: str, opened: Callable[[str], None]
) -> None:
    """Serve the page to try the bot until cancelled. `keep`: the database, beside which the page's messages are stored;
    None: all data is deleted at the end. `opened`: receives the page's address. Raises SettingsError and StoreError.
    """
    with ExitStack() as stack:
        if keep is None:
            keep = Path(stack.enter_context(TemporaryDirectory(prefix="cogency-play-"))) / "play.db"
        serve = partial(_serve_play, keep, port, zone, opened)
        await serve_platforms(for_play(settings, keep), {"Play": serve}, grace_s=PLAY_GRACE_S, sign_ins=False)


async def _serve_play(
    keep: Path, port: int | None, zone: str, opened: Callable[[str], None], host: Host, _: Telemetry
) -> None:
    from bot.platforms.play.run import PlaySettings, serve  # noqa: PLC0415 -- a bot without the page does not load its libraries
    from bot.platforms.play.surface import MessageFile, MessageLog  # noqa: PLC0415 -- a bot without the page does not load its libraries

    with closing(MessageFile(keep.with_name(f"{keep.name}.messages"))) as file:
        token = file.name("token", new_secret)
        messages = MessageLog(file, parts.CLOCK, new_id)
        _keep_loaded()
        await serve(host, PlaySettings(messages, token, zone, opened, port), parts.CLOCK)


# Garbage is looked for after so many new objects that are still in use. With Python's own 700, the objects of a
# question, which takes a second, are looked through again and again, for 0.7 ms of each question (with 10,000: 0.2 ms).
COLLECTED_AFTER: Final = 5_000


def _keep_loaded() -> None:
    """Exclude what a start has loaded from garbage collection. A search through 20,000 messages triggers a collection,
    which blocks the event loop: for 60 to 80 ms with these objects, for 15 ms without them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)


@dataclass(frozen=True, slots=True)
class OpenTerminal:
    """The bot of a terminal, and the parts of it that other interfaces of its person use."""

    bot: TerminalBot
    features: Features
    opened: Opened


@asynccontextmanager
async def open_terminal(
    settings: Settings,
    person: Person,
    chosen: ModelSwitch | None = None,
    *,
    tools_wait_s: float = 0.0,
    stays: bool = True,
) -> AsyncGenerator[TerminalBot, None]:
    """`open_terminal_parts`, for the bot alone."""
    async with open_terminal_parts(settings, person, chosen, tools_wait_s=tools_wait_s, stays=stays) as terminal:
        yield terminal.bot


@asynccontextmanager
async def open_terminal_parts(
    settings: Settings,
    person: Person,
    chosen: ModelSwitch | None = None,
    *,
    tools_wait_s: float = 0.0,
    stays: bool = True,
) -> AsyncGenerator[OpenTerminal, None]:
    """Open the bot for one person at a terminal. Raises SettingsError and StoreError.

    `chosen`: its models, if they are open already. `tools_wait_s`: for this long after the start, a question waits for
    tool servers. `stays`: the session has more than one question, so background work may be offered.
    """
    source = f"{TERMINAL}:{new_id()}"
    async with (
        parts.open_store_of(settings) as store,
        parts.open_models_of(settings, store, chosen) as models,
        open_parts(settings, store, models, {source: fetch, TERMINAL: fetch}, sign_ins=False) as opened,
    ):
        deadline = parts.CLOCK.monotonic() + tools_wait_s

        async def tools_settle() -> None:
            for servers in opened.sources:
                await servers.settle(deadline - parts.CLOCK.monotonic())

        surfaces = TerminalSurfaces()
        # A terminal prints one reply at a time, in the order of the questions.
        settings = replace(settings, turns=replace(settings.turns, while_busy=WhileBusy.WAIT))
        service = ModelService(models, store.preferences, access_rules(settings.access))
        schedules = {person.id: TerminalSchedules(person, source)}
        core = Core(
            store=store,
            clock=parts.CLOCK,
            platforms=PlatformAccess(schedules=schedules, files_now={TERMINAL: files_now}),
            learning_model=models.learning_model,
            operates=person.id.__eq__,
            tool_timeout_s=settings.tools.timeout_s,
            budgets=parts.budget_gate(settings, store) if stays else NO_BUDGETS,
        )
        deleted = set[str]()
        memories = replace(parts.memory_service(store), operates=person.id.__eq__, deleted=deleted.add)

        async def settle_deletions() -> None:
            for key in deleted:
                await memories.settle(key)

        services = Services(
            memories=memories,
            policies=PolicyService(store.facts, parts.CLOCK),
            knowledge=parts.knowledge_service(settings, store, opened.reader),
            models=TerminalModels(models),
            operators=OperatorService(None, access_rules(settings.access).is_operator),
            offers_work=stays,
        )
        every = features(settings, core, opened, services)
        runner = turn_runner(settings, core, opened, every, service)
        lease = timedelta(seconds=settings.turns.lease_s)
        limits = TurnWorkerLimits(max_running=1, per_person=None, max_working=None, lease=lease)
        turns = open_turns(core, store, runner, surfaces, limits, lambda: frozenset({source}))
        approvals = every.tools.service
        look = CheckRunner(approvals.toolbox, parts.CLOCK, approvals.policy.rows).digest
        scheduler = Scheduler(store.schedules, schedules, parts.CLOCK, turns.wake, look_first=look)
        bot = TerminalBot(
            person=person,
            turns=turns,
            surfaces=surfaces,
            conversations=store.conversations,
            commands=every.commands,
            choice=models,
            clock=parts.CLOCK,
            new_id=new_id,
            where=store.database.where,
            source=source,
            do_due=scheduler.work,
            doing_due=scheduler.serving,
            is_due=scheduler.is_due,
            tools_settle=tools_settle,
            settle_deletions=settle_deletions,
        )
        async with background(core, every.all, new_id()), bot:
            yield OpenTerminal(bot, every, opened)
