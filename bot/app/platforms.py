"""The bot put together: for whole workspaces and servers, on every platform that has a token; and for one person at a
terminal.
"""

import gc
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

from agent.errors import SettingsError
from agent.machine import new_secret, process_name
from agent.memory.audience import PersonAudience, Place
from agent.memory.forgetting_plans import EDIT, OPERATOR_ERASE
from agent.patterns import compile_all
from agent.ports import Asker, Tool
from agent.records import Job, Person, platform_of
from bot.access.admission import AdmissionControl, RateCounter, Readers
from bot.access.budgets import BudgetAllowances, BudgetDesk
from bot.ambient import AmbientDesk
from bot.app import parts
from bot.app.from_settings import (
    access_rules,
    budgets,
    discord_settings,
    for_play,
    gate_rules,
    no_traces,
    open_models,
    operator_address,
    sends_traces,
    slack_apps,
    slack_distribution,
    slack_settings,
)
from bot.attachments.reading import AttachmentReader
from bot.background import Background
from bot.caches import Replicas
from bot.health import Health, OperatorDesk, OperatorLinks, Vitals, supervised
from bot.host import Host
from bot.hosting import BotHost, Deduplicator, PlatformConnections, RollingConversations, serve_all
from bot.memory.desk import ReplyFeedback
from bot.memory.forget_desk import ForgetDesk
from bot.memory.policies import PolicyDesk
from bot.models.choice import ModelDesk, ModelSwitch
from bot.platforms.discord.options import DiscordSettings
from bot.platforms.slack.options import Distribution, HttpEvents, SlackApp, SlackSettings
from bot.platforms.terminal.attachments import fetch, files_now
from bot.platforms.terminal.bot import TerminalBot, TerminalSchedules, TerminalSurfaces
from bot.platforms.terminal.surface import SOURCE as TERMINAL
from bot.schedule_desk import FirstLook
from bot.scheduler import JobWorker, LongWork, Scheduler
from bot.setting_parsers import WhileBusy
from bot.settings import Settings
from bot.telemetry import SILENT, SilenceSeen, StoreSeen, Telemetry, to_all
from bot.texts import page_texts, reply_texts, setup_texts
from bot.texts.formatting import platform_name
from bot.tools.mcp_source import NOWHERE, McpSource
from bot.turns.approvals import ApprovalPolicy, ToolsDesk
from bot.turns.worker import TurnsLimits
from store.engine import Store

if TYPE_CHECKING:
    from bot.pages.views import Recent

log = logging.getLogger(__name__)

Platforms: TypeAlias = Mapping[str, Callable[[Host, Telemetry], Awaitable[None]]]
# Open replies may finish in this time after SIGTERM; with parking them, and leaving a platform that has frozen, it
# stays under the ten seconds that supervisors usually give.
GRACE_S = 6.0
SLACK: Final = "Slack"
NOBODY: Final = "operator"  # Whose tools are shown to operators: those of nobody in particular
# Whoever ends the page to try it looks at it: what is not finished goes on at the next start, if it is kept.
PLAY_GRACE_S = 0.5
# Of the answers that may run at once: so much long work beside them. It lasts, and one's own model has them all.
SHARE_AT_WORK = 4


async def serve_platforms(
    settings: Settings, chosen: Platforms | None = None, *, grace_s: float = GRACE_S, sign_ins: bool = True
) -> None:
    """Serve every platform that has a token, or those that are `chosen`, until cancelled. `sign_ins`: their pages are
    served, too. Raises SettingsError, StoreError, or the only failure.
    """
    chosen = platforms(settings) if chosen is None else chosen
    compile_all()
    async with AsyncExitStack() as stack:
        operator_address(settings)
        telemetry, metrics, recent = stack.enter_context(_measuring(settings))
        alive = await stack.enter_async_context(
            supervised(parts.CLOCK, settings.health, settings.supervisor, telemetry, metrics)
        )
        async with _starting(settings):
            store = parts.told(await stack.enter_async_context(parts.open_store_of(settings)), telemetry)
        models = await stack.enter_async_context(open_models(settings))
        connections = PlatformConnections(Readers(store.conversations.groups, parts.CLOCK))
        async with (
            parts.background_of(settings, store, models, connections.deletions, telemetry) as work,
            parts.open_reader(settings, store, connections.fetchers) as reader,
            parts.open_tool_sources(settings, store.tool_accounts, pages=sign_ins) as sources,
            parts.open_policy(settings, store) as policy,
        ):
            log.info("%s", models.sentence)
            host, ambient = _host(settings, store, models, connections, work, reader, sources, policy, telemetry)
            served = frozenset(map(platform_of, chosen))
            look = partial(look_at, store, telemetry, connections.silent_s)
            connected = partial(_connected, connections)
            alive.vitals = Vitals(host.turns.has_stopped, look, served, connected, connections.silent_s)
            serving = {name: partial(serve, host, telemetry) for name, serve in chosen.items()}
            if SLACK in chosen and (distribution := slack_distribution(settings)) is not None:
                serving |= {SLACK: partial(_serve_installed, settings, distribution, store, host, telemetry)}
            handlers = {EDIT: host.forgetting.keep_edit, OPERATOR_ERASE: partial(_erase, store, host.forgetting)}
            edits = JobWorker(store.jobs, handlers, parts.CLOCK, parts.new_id(), telemetry=telemetry)
            desk = host.tool_desk
            scheduler = Scheduler(
                store.schedules,
                connections.schedules,
                parts.CLOCK,
                host.turns.wake,
                host.admission.refusal,
                host.admission.budget_left,
                FirstLook(desk.toolbox, parts.CLOCK, desk.policy.rows).digest,
            )
            pages = _operator_page(settings, store, recent, connections, models, desk, sorted(served), host.replicas)
            shared = nullcontext() if host.replicas is None else host.replicas.serving()
            async with edits.serving(), scheduler.serving(), ambient.serving(), pages, shared:
                await serve_all(serving, connections, host.turns, parts.CLOCK, grace_s)


@contextmanager
def _measuring(settings: Settings) -> Generator[tuple[Telemetry, Callable[[], bytes] | None, "Recent | None"]]:
    """Who is told what happens until the block ends; the page for Prometheus, and what operators see; None for none."""
    listeners, page, recent = list[Telemetry](), None, None
    if settings.health is not None and settings.metrics:
        from bot.metrics import Metrics  # noqa: PLC0415 -- who has nobody read them does not load it

        metrics = Metrics(parts.CLOCK, version("cogency-bot"))
        listeners.append(metrics)
        page = metrics.page
    with ExitStack() as stack:
        if sends_traces(settings) and (why := no_traces(settings, find_spec)):
            log.warning("%s", why)
        elif sends_traces(settings):
            from bot.tracing import exported  # noqa: PLC0415 -- an extra

            listeners.append(stack.enter_context(exported(parts.CLOCK, version("cogency-bot"))))
        if settings.operator_page is not None:
            from bot.pages.views import Recent  # noqa: PLC0415 -- as above

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
    desk: ToolsDesk,
    served: Sequence[str],
    replicas: Replicas | None,
) -> AsyncGenerator[None]:
    """The operators' page, served until the block ends; nothing where it is off. Raises SettingsError."""
    if settings.operator_page is None or recent is None:
        yield
        return
    from bot.pages.frame import OperatorSite  # noqa: PLC0415 -- who has no such page does not load it
    from bot.pages.reports import report_views  # noqa: PLC0415 -- as above
    from bot.pages.serving import serving  # noqa: PLC0415 -- as above
    from bot.pages.views import OfferedTools, OperatorSources, operator_views  # noqa: PLC0415 -- as above
    from store.oversight import SqlOversight  # noqa: PLC0415 -- as above

    host, port = settings.operator_page

    def about() -> Mapping[str, str]:
        values = (version("cogency-bot"), models.sentence, store.database.where)
        return dict(zip(page_texts.ABOUT, values, strict=True))

    def tools() -> list[Tool]:
        """Of nobody, on each platform; and so without those of people's own accounts."""
        people = [Person(NOBODY, ""), *(Person(f"{source}:{NOBODY}", "") for source in sorted(connections.sources()))]
        asked = [desk.toolbox.all(Asker(one, Place(PersonAudience(one.id)), one.id)) for one in people]
        return [*{tool.name: tool for found in asked for tool in found}.values()]

    table = desk.policy.table
    sources = OperatorSources(
        recent,
        store.ledger,
        store.audit,
        parts.CLOCK,
        settings,
        about,
        connections,
        OfferedTools(tools, desk.toolbox.servers.away, table.fixed, lambda: table.numbered),
        served,
        store.shard_leases.listed if replicas is not None else None,
        replicas.owner if replicas is not None else "",
    )
    how, failures, *others = operator_views(sources)
    views = (how, failures, *report_views(SqlOversight(store.database), parts.CLOCK), *others)
    site = OperatorSite(views, store.operator_sessions, parts.CLOCK, new_secret, settings.operator_address)
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(serving(site, host, port))
        except OSError as error:
            raise SettingsError(setup_texts.OPERATOR_PAGE_PORT.format(host=host, port=port)) from error
        log.info("%s", setup_texts.PAGE_LISTENS.format(address=operator_address(settings)))
        yield


async def look_at(store: Store, telemetry: Telemetry, silent_s: Callable[[], Mapping[str, float]]) -> None:
    """Ask the database for something small, and tell it, and how silent platforms are. Raises StoreError."""
    load = await store.ledger.load()
    if telemetry is not SILENT:
        telemetry.tell(SilenceSeen(silent_s()))
        late = await store.jobs.late(parts.CLOCK.now())
        telemetry.tell(StoreSeen(load, {kind: by.total_seconds() for kind, by in late.items()}))


async def _erase(store: Store, desk: ForgetDesk, job: Job) -> None:
    """The job: what an operator wants erased. Raises StoreError."""
    from bot.app.subject_requests import OperatorErasing, held_in  # noqa: PLC0415 -- few bots are ever asked

    await OperatorErasing(desk=desk, held=await held_in(store), clock=parts.CLOCK).carry_out(job)


def _connected(connections: PlatformConnections) -> frozenset[str]:
    return frozenset({*map(platform_of, connections.sources())} - connections.away())


@asynccontextmanager
async def _starting(settings: Settings) -> AsyncGenerator[None]:
    """To open the store may take minutes after an upgrade: who asks over HTTP is told so."""
    each = (*slack_apps(settings), slack_distribution(settings))
    over_http = [app.delivery for app in each if app is not None and isinstance(app.delivery, HttpEvents)]
    if not over_http:
        yield
        return
    from bot.platforms.slack.http_events import starting  # noqa: PLC0415 -- a bot without Slack does not load its libraries

    async with starting(over_http[0]):
        yield


def _host(
    settings: Settings,
    store: Store,
    models: ModelSwitch,
    connections: PlatformConnections,
    work: Background,
    reader: AttachmentReader,
    sources: Sequence[McpSource],
    policy: ApprovalPolicy,
    telemetry: Telemetry,
) -> tuple[BotHost, AmbientDesk]:
    readers, access = connections.readers, access_rules(settings)
    allowances = BudgetAllowances(budgets(settings), store.spending, store.preferences, parts.CLOCK)
    rules, is_shared = gate_rules(settings), store.database.is_shared
    replicas = Replicas(store.shard_leases, store.shared_rates, process_name(), parts.CLOCK) if is_shared else None
    admission = AdmissionControl(rules, allowances, parts.CLOCK, replicas)
    model_desk = ModelDesk(models, store.preferences, access)
    claims = Deduplicator(store.preferences)
    ambient = parts.ambient_desk(settings, store, models, admission, claims.claim_once)
    longer = LongWork(store.schedules, connections.schedules, parts.CLOCK, admission.budget_left)
    answering = parts.agent_config(
        settings,
        store,
        model_desk,
        work,
        policy,
        admission,
        reader,
        sources,
        connections.files_now,
        connections,
        readers=readers,
        long_work=longer,
        ambient=ambient,
        hands_over=True,
        telemetry=telemetry,
    )
    many, lease = settings.max_running, timedelta(seconds=settings.lease_s)
    limits = TurnsLimits(many, settings.person_running, max_working=max(1, many // SHARE_AT_WORK), lease=lease)
    turns = parts.open_turns(store, answering, connections.surface_for, limits, connections.sources)
    host = BotHost(
        platforms=connections,
        admission=admission,
        turns=turns,
        ledger=store.ledger,
        conversations=store.conversations,
        preferences=store.preferences,
        forgetting=replace(
            parts.forget_desk(settings, store, turns, work, connections.sources, _revoke(sources, store)),
            edits=RateCounter(rules.surges.rates, "edits", replicas),
            is_exempt=access.is_operator,
        ),
        sign_ins=sources[0] if sources else NOWHERE,
        knowledge=replace(
            parts.knowledge_desk(settings, store, reader, readers.audiences), operates=access.is_operator
        ),
        places=parts.place_desk(settings, store, model_desk, lambda: models.learning_model().can_learn),
        schedules=parts.schedule_desk(store, access.is_operator),
        budgets=BudgetDesk(access, allowances, parts.CLOCK),
        operator_page=OperatorDesk(_links(settings, store), access.is_operator),
        models=model_desk,
        direct_messages=RollingConversations(store.conversations, store.preferences),
        claims=claims,
        memories=parts.memory_desk(store, readers.audiences),
        policies=PolicyDesk(store.facts, parts.CLOCK, readers.audiences),
        tool_desk=ToolsDesk(answering.tools, policy, parts.CLOCK, turns.wake),
        questions=parts.question_desk(answering, store),
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
        ),
        ambient=ambient,
        health=Health(
            store.ledger,
            store.replies,
            store.spending,
            parts.CLOCK,
            parts.CLOCK.now(),
            partial(_about, store, models, connections),
            store.audit,
        ),
        clock=parts.CLOCK,
        replicas=replicas,
    )
    return host, ambient


def _links(settings: Settings, store: Store) -> OperatorLinks | None:
    address = operator_address(settings)
    return OperatorLinks(store.operator_sessions, parts.CLOCK, new_secret, address) if address else None


def _revoke(sources: Sequence[McpSource], store: Store) -> Callable[[str], Awaitable[str]]:
    """What ends somebody's accounts at servers of tools, also where none is left."""
    return partial((sources[0] if sources else NOWHERE).revoke, store.tool_accounts)


def _about(store: Store, models: ModelSwitch, connections: PlatformConnections) -> list[str]:
    """What an operator may know of this process: its version, its models, its store, what it is not connected to."""
    return [
        reply_texts.VERSION.format(version=version("cogency-bot"), models=models.sentence),
        reply_texts.STORE.format(where=store.database.where),
        *(f"**{platform_name(name)}**: not connected. {why}" for name, why in sorted(connections.troubles.items())),
    ]


def platforms(settings: Settings) -> Platforms:
    """How to serve each platform that the settings hold a token for. Raises SettingsError if there is none."""
    chosen: dict[str, Callable[[Host, Telemetry], Awaitable[None]]] = {}
    slack = slack_apps(settings)
    if slack or slack_distribution(settings) is not None:
        chosen[SLACK] = partial(_serve_slack, slack, slack_settings(settings))
    if (discord := discord_settings(settings)) is not None:
        chosen["Discord"] = partial(_serve_discord, discord)
    if not chosen:
        raise SettingsError(setup_texts.NOTHING_TO_RUN)
    return chosen


async def _serve_slack(apps: Sequence[SlackApp], slack: SlackSettings, host: Host, telemetry: Telemetry) -> None:
    from bot.platforms.slack.apps import serve_apps  # noqa: PLC0415 -- a bot without Slack does not load its libraries

    _keep_loaded()
    await serve_apps(host, apps, slack, parts.CLOCK, telemetry)


async def _serve_installed(
    settings: Settings, distribution: Distribution, store: Store, host: Host, telemetry: Telemetry
) -> None:
    """Slack's apps, and the one that workspaces install by themselves. Raises SettingsError without what encrypts."""
    if find_spec("cryptography") is None:
        raise SettingsError(setup_texts.SLACK_DISTRIBUTION_MISSING)
    from bot.platforms.slack.apps import serve_apps  # noqa: PLC0415 -- as above
    from bot.platforms.slack.installed import DistributedApp  # noqa: PLC0415 -- as above

    distributed = DistributedApp(distribution, store.installations, parts.account_keys(settings), new_secret)
    _keep_loaded()
    await serve_apps(host, slack_apps(settings), slack_settings(settings), parts.CLOCK, telemetry, distributed)


async def _serve_discord(discord: DiscordSettings, host: Host, telemetry: Telemetry) -> None:
    from bot.platforms.discord.run import serve  # noqa: PLC0415 -- a bot without Discord does not load its libraries

    _keep_loaded()
    await serve(host, discord, parts.CLOCK, telemetry)


async def play(
    settings: Settings, keep: Path | None, port: int | None, zone: str, opened: Callable[[str], None]
) -> None:
    """Serve the page to try it until cancelled. `keep`: the database, beside which the page's own messages are kept;
    None: everything goes at the end. `opened`: told the page's address. Raises SettingsError and StoreError.
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
    from bot.platforms.play.surface import MessageFile, MessageLog  # noqa: PLC0415 -- as above

    with closing(MessageFile(keep.with_name(f"{keep.name}.messages"))) as kept:
        token = kept.name("token", new_secret)
        messages = MessageLog(kept, parts.CLOCK, parts.new_id)
        _keep_loaded()
        await serve(host, PlaySettings(messages, token, zone, opened, port), parts.CLOCK)


def _keep_loaded() -> None:
    """Whoever looks through 20,000 messages makes the garbage collector look through everything, too, and everybody
    waits for it: 60 to 80 ms with what a start has loaded, which is no garbage, and 15 without.
    """
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def open_terminal(
    settings: Settings,
    person: Person,
    chosen: ModelSwitch | None = None,
    *,
    tools_wait_s: float = 0.0,
    stays: bool = True,
) -> AsyncGenerator[TerminalBot, None]:
    """The bot for one person at a terminal. `chosen`: its models, if they were opened before. `tools_wait_s`: so long
    after this a question waits for servers of tools. `stays`: they have more than one question, and may have something
    done behind its answer.

    Raises SettingsError and StoreError.
    """
    source = f"{TERMINAL}:{parts.new_id()}"
    async with (
        parts.open_store_of(settings) as store,
        nullcontext(chosen) if chosen is not None else open_models(settings) as models,
        parts.background_of(settings, store, models) as work,
        parts.open_reader(settings, store, {source: fetch, TERMINAL: fetch}) as reader,
        parts.open_tool_sources(settings, store.tool_accounts, pages=False) as sources,
        parts.open_policy(settings, store) as policy,
    ):
        until = parts.CLOCK.monotonic() + tools_wait_s

        async def tools_settle() -> None:
            for tools in sources:
                await tools.settle(until - parts.CLOCK.monotonic())

        surfaces = TerminalSurfaces()
        # A screen has one end: replies follow one another, each to its own question.
        settings = replace(settings, while_busy=WhileBusy.WAIT)
        desk = ModelDesk(models, store.preferences, access_rules(settings))
        here = {person.id: TerminalSchedules(person, source)}
        longer = LongWork(store.schedules, here, parts.CLOCK)
        answering = parts.agent_config(
            settings,
            store,
            desk,
            work,
            policy,
            None,
            reader,
            sources,
            {TERMINAL: files_now},
            long_work=longer,
            background=stays,
        )
        lease = timedelta(seconds=settings.lease_s)
        limits = TurnsLimits(max_running=1, per_person=None, max_working=None, lease=lease)
        turns = parts.open_turns(store, answering, surfaces, limits, lambda: frozenset({source}))
        tool_desk = ToolsDesk(answering.tools, policy, parts.CLOCK, turns.wake)
        look = FirstLook(tool_desk.toolbox, parts.CLOCK, tool_desk.policy.rows).digest
        due = Scheduler(store.schedules, here, parts.CLOCK, turns.wake, look_first=look)
        async with TerminalBot(
            person=person,
            turns=turns,
            surfaces=surfaces,
            conversations=store.conversations,
            view=parts.memory_desk(store),
            forgetting=parts.forget_desk(settings, store, turns, work, revoke=_revoke(sources, store)),
            sign_ins=sources[0] if sources else NOWHERE,
            knowledge=parts.knowledge_desk(settings, store, reader),
            schedules=parts.schedule_desk(store, person.id.__eq__),
            budgets=parts.budget_desk(settings, store),
            operator_page=OperatorDesk(None, access_rules(settings).is_operator),
            policies=PolicyDesk(store.facts, parts.CLOCK),
            tool_desk=tool_desk,
            questions=parts.question_desk(answering, store),
            choice=models,
            clock=parts.CLOCK,
            new_id=parts.new_id,
            where=store.database.where,
            source=source,
            do_due=due.work,
            doing_due=due.serving,
            is_due=due.is_due,
            tools_settle=tools_settle,
        ) as bot:
            yield bot
