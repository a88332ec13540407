"""Builds the parts that all ways to run the bot share, from the settings and the store."""

import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agent.citations import FETCH
from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.memory.audience import Place
from agent.messages import ModelCall
from agent.ports.tool_accounts import ToolAccounts
from agent.ports.tools import Tool
from agent.ports.transcription import Transcriber
from agent.tools.functions import load_tools
from bot.acts.settings import ActMode, ActSettings
from bot.acts.tools import ACT_TOOLS
from bot.api.posting import PersonPosts
from bot.app import texts as app_texts
from bot.app.from_settings import access_rules, budgets, extension_rules, open_models, policy_file, run_limit
from bot.app.settings import Settings
from bot.budgets.budgets import BudgetAllowances
from bot.budgets.code_time import CodeBudget
from bot.budgets.extensions import ExtensionService
from bot.budgets.gate import BudgetGate
from bot.budgets.service import BudgetService
from bot.channels.ambient import AmbientService, ClaimOnce
from bot.channels.service import PlaceService
from bot.chat.access.acl import AccessKind
from bot.chat.access.admission import AdmissionControl
from bot.chat.access.place_rules import OFF, ON
from bot.chat.attachments.reading import AttachmentReader, Fetch
from bot.chat.audiences import flowing
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.forums import ForumPlatform
from bot.chat.learning_model import LearningModel
from bot.chat.telemetry import SILENT, ReportingAudit, ReportingSpending, Telemetry
from bot.knowledge.service import KnowledgeService
from bot.memory.pauses import LearningPauses
from bot.memory.service import MemoryService
from bot.models import texts as models_texts
from bot.models.forms import read_checked_forms
from bot.models.place_keys import PlaceKeyService
from bot.models.service import ModelService
from bot.models.settings import OWN_KEY_VENDORS
from bot.models.speech import OwnTranscribers, open_transcriber
from bot.models.switch import ModelSwitch
from bot.settings.installation import command_for
from bot.tools.accounts.settings import AccountSettings
from bot.tools.approvals import ApprovalPolicy, PolicyTable
from bot.tools.mcp.config import AccountKind, McpServerConfig, is_plain_loopback
from bot.tools.mcp.settings import mcp_file
from bot.tools.mcp.source import McpSource, PeopleSettings, can_connect, open_mcp
from bot.tools.plugins.plugins import Plugin, PluginList, load_plugins, servers_of
from bot.tools.settings import TOOLS, tool_modules
from bot.web.feature import page_reader, route
from bot.webhooks.outgoing import feature as outgoing
from bot.webhooks.outgoing.settings import outgoing_rows
from store.engine import Store, open_store
from store.forget_again import with_forgetting_log

if TYPE_CHECKING:
    from bot.chat.sealing import SealingKeys


log = logging.getLogger(__name__)

# The names of our own tools, which no tool of an operator's own may have; besides, those of tools that are on.
BUILT_IN = frozenset(
    {
        *("recall", "remember", "share_file", "present", "skill", "tools", "call_tool", "read_again", "read_channel"),
        "search_slack",
    }
    | {"schedule", "schedules", "background", "ask_user", "ask_a_human"}
)
TRANSCRIPTION = "transcription"  # What the calls that write down voice messages are for, on a person's bill


@asynccontextmanager
async def open_store_of(settings: Settings) -> AsyncGenerator[Store, None]:
    """Open the store of the settings, and free the turns of a dead process to be claimed. Raises StoreError."""
    store = await open_store(settings.storage.url, replica_url=settings.storage.replica_url)
    try:
        store = await with_forgetting_log(store, settings.storage.log_path, CLOCK.now())
        await store.ledger.release_all()
        yield store
    finally:
        await store.close()


def with_telemetry(store: Store, telemetry: Telemetry) -> Store:
    """Return the store with spending and audit reported to telemetry. (`TimedMemories` reports searches.)"""
    if telemetry is SILENT:
        return store
    return replace(
        store, spending=ReportingSpending(store.spending, telemetry), audit=ReportingAudit(store.audit, telemetry)
    )


@asynccontextmanager
async def open_models_of(
    settings: Settings, store: Store, chosen: ModelSwitch | None = None
) -> AsyncGenerator[ModelSwitch]:
    """Open the models, or use those that are open already, in the forms that checks of them found better. Raises
    SettingsError.
    """
    async with nullcontext(chosen) if chosen is not None else open_models(settings) as models:
        await models.follow(await read_checked_forms(store.preferences))
        yield models


@asynccontextmanager
async def open_reader(
    settings: Settings, store: Store, fetchers: Mapping[str, Fetch], models: ModelSwitch, keys: PlaceKeyService
) -> AsyncGenerator[AttachmentReader]:
    """Open the reader of attached files. `keys`: those of channels. Raises SettingsError."""

    async def charge(person: str, calls: Sequence[ModelCall]) -> None:
        await store.spending.charge(person, TRANSCRIPTION, calls, CLOCK.now())

    async with AsyncExitStack() as stack:
        transcriber: Transcriber | None = None
        if spec := settings.models.transcription:
            usual = open_transcriber(spec, settings.models, models.rings)
            stack.push_async_callback(usual.aclose)
            own = OwnTranscribers(usual, spec, settings.models, models.own_ring, keys.keys_at)
            stack.push_async_callback(own.aclose)
            transcriber = own if keys.is_on else usual
        yield AttachmentReader(fetchers, transcriber, charge, text_tokens=settings.attachments.text_tokens)


def place_keys(settings: Settings, store: Store, models: ModelSwitch) -> PlaceKeyService:
    """Return the keys that channels have of their own. Raises SettingsError if they are on, and cannot be sealed."""

    def vendors() -> Sequence[str]:
        used = {choice.endpoint.key_setting for choice in models.in_use if choice.endpoint is not None}
        spoken = (settings.models.transcription or "").partition(":")[0].strip().lower()
        return [
            name for name in OWN_KEY_VENDORS if settings.models.endpoint(name).key_setting in used or name == spoken
        ]

    return PlaceKeyService(
        store=store.place_keys,
        audit=store.audit,
        settings=settings.models,
        clock=CLOCK,
        seals=channel_seals(settings),
        is_on=settings.models.channel_keys,
        vendors=vendors,
        operates=access_rules(settings.access).is_operator,
    )


def channel_seals(settings: Settings) -> "SealingKeys | None":
    """Return what seals channels' own keys; without the setting that turns these on, what still opens them, if it can.

    Raises SettingsError if they are on, and cannot be sealed.
    """
    has_key = settings.accounts.key is not None or settings.accounts.key_file is not None
    if settings.models.channel_keys:
        if not has_key:
            raise SettingsError(models_texts.OWN_KEYS_NEED_SEALING)
        if find_spec("cryptography") is None:
            raise SettingsError(models_texts.OWN_KEYS_NEED_EXTRA.format(command=command_for("mcp")))
        return account_keys(settings.accounts)
    with suppress(SettingsError):  # it is reported where it is needed
        return account_keys(settings.accounts) if has_key else None
    return None


def learning_models(models: ModelSwitch, keys: PlaceKeyService) -> Callable[[], LearningModel]:
    """Return what returns the model for work in the background, which uses channels' own keys."""

    async def there(source: str, channel: str) -> LearningModel:
        return models.learning_model(await keys.keys_at(source, channel))

    return lambda: replace(models.learning_model(), there=there if keys.is_on else None)


def memory_service(store: Store, audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing) -> MemoryService:
    return MemoryService(
        facts=store.facts,
        profiles=store.profiles,
        conversations=store.conversations,
        spending=store.spending,
        schedules=store.schedules,
        saved_files=store.saved_files,
        preferences=store.preferences,
        forgetting=store.forgetting,
        audiences=audiences,
        clock=CLOCK,
    )


def knowledge_service(
    settings: Settings,
    store: Store,
    reader: AttachmentReader,
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing,
) -> KnowledgeService:
    return KnowledgeService(
        documents=store.documents,
        forgetting=store.forgetting,
        read=reader.document,
        clock=CLOCK,
        preferences=store.preferences,
        audiences=audiences,
        read_page=page_reader(settings.web, CLOCK),
        questions=store.unanswered,
    )


def place_service(
    settings: Settings,
    store: Store,
    service: ModelService,
    can_judge: Callable[[], bool],
    forums: Mapping[str, ForumPlatform],
) -> PlaceService:
    """`can_judge`: whether a model can decide which open questions the bot may answer unasked."""
    return PlaceService(
        preferences=store.preferences,
        audit=store.audit,
        pauses=LearningPauses(store.preferences, store.profiles, CLOCK),
        model_service=service,
        clock=CLOCK,
        access=access_rules(settings.access),
        most_ambient=settings.channels.ambient_per_day,
        can_judge=can_judge,
        may_act=settings.acts.is_on,
        sends_words=_sends_words(settings),
        handoff_roles=frozenset(entry.id for entry in settings.handoff.people if entry.kind is AccessKind.ROLE),
        forums=forums,
    )


def _sends_words(settings: Settings) -> bool:
    with suppress(SettingsError):  # it is reported where webhooks are sent
        return any(row.words for row in outgoing_rows(settings.outgoing, settings.webhook_variables))
    return False


def ambient_service(
    settings: Settings,
    store: Store,
    model: Callable[[], LearningModel],
    admission: AdmissionControl,
    claim_once: ClaimOnce,
) -> AmbientService:
    return AmbientService(
        preferences=store.preferences,
        admission=admission,
        spending=store.spending,
        ledger=store.ledger,
        jobs=store.jobs,
        claim_once=claim_once,
        model=model,
        clock=CLOCK,
        most=settings.channels.ambient_per_day,
    )


@asynccontextmanager
async def open_policy(settings: Settings, store: Store) -> AsyncGenerator[ApprovalPolicy]:
    """Open the policy about who may use which tools; it follows changes until the block ends.

    Raises SettingsError and StoreError.
    """
    async with PolicyTable(store.preferences, store.audit, CLOCK, policy_file(settings)).followed() as table:
        yield ApprovalPolicy(store.consents, store.approvals, CLOCK, table)


def budget_allowances(settings: Settings, store: Store) -> BudgetAllowances:
    return BudgetAllowances(
        budgets(settings), store.spending, store.preferences, CLOCK, store.budget_days, settings.budgets.near
    )


def budget_gate(settings: Settings, store: Store, telemetry: Telemetry = SILENT) -> BudgetGate:
    allowances = budget_allowances(settings, store)
    return BudgetGate(allowances, extension_rules(settings), run_limit(settings), telemetry)


def budget_service(settings: Settings, store: Store, wake: Callable[[], None] = lambda: None) -> BudgetService:
    code = code_budget(settings, store) if settings.python.runs_code else None
    return BudgetService(access_rules(settings.access), budget_allowances(settings, store), CLOCK, code, wake)


def extension_service(settings: Settings, core: Core, store: Store) -> ExtensionService:
    return ExtensionService(
        days=store.budget_days,
        allowances=budget_allowances(settings, store),
        rules=extension_rules(settings),
        run_limit=run_limit(settings),
        jobs=store.jobs,
        audit=store.audit,
        approvals=store.approvals,
        written=store.written_turns,
        clock=CLOCK,
        wake=core.turns.wake,
        platforms=core.platforms.approvers,
        events=core.platforms.events,
        alerts=settings.budgets.alerts,
        telemetry=core.telemetry,
    )


def code_budget(settings: Settings, store: Store) -> CodeBudget:
    operates = access_rules(settings.access).is_operator
    return CodeBudget(store.code_time, store.preferences, CLOCK, operates, settings.budgets.person_code_seconds)


def tool_servers(
    settings: Settings, only: Sequence[Plugin] | None = None
) -> tuple[tuple[McpServerConfig, ...], tuple[str, ...]]:
    """Return the MCP servers of the operator's file and of all plug-ins, or only those of the plug-ins `only`; and
    sentences about servers that cannot be used. Raises SettingsError.
    """
    own, plugins = (
        mcp_file(settings.mcp, settings.mcp_variables),
        plugins_in_use(settings) if only is None else only,
    )
    data = settings.plugin_list.with_name("plugin-data")
    found = servers_of(plugins, own, data, settings.mcp_variables, is_complete=only is None)
    configs, problems = found.configs if only is not None else (*own.servers, *found.configs), found.problems
    if configs and not can_connect():
        if own.servers:
            raise SettingsError(app_texts.MCP_MISSING.format(command=command_for("mcp")))
        return (), (*problems, app_texts.PLUGINS_NEED_MCP.format(command=command_for("mcp")))
    return configs, problems


@asynccontextmanager
async def open_tool_sources(
    settings: Settings, accounts: ToolAccounts | None = None, *, pages: bool = True
) -> AsyncGenerator[tuple[McpSource, ...]]:
    """Connect to the servers of `tool_servers` in the background. `accounts`: those of people who sign in at servers;
    None leaves these servers out. `pages`: whether the pages for signing in are served. Raises SettingsError.
    """
    configs, problems = tool_servers(settings)
    for problem in problems:
        log.warning("%s", problem)
    for config in configs:
        log.info("MCP server %s", config.sentence)
    async with connecting(settings, configs, people_settings(settings, configs, accounts, pages=pages)) as sources:
        yield sources


@asynccontextmanager
async def connecting(
    settings: Settings, configs: Sequence[McpServerConfig], people: PeopleSettings | None = None
) -> AsyncGenerator[tuple[McpSource, ...]]:
    """Connect to these servers. Without any, the client is loaded only if `people` may be signed in at former ones."""
    if not configs and people is None:
        yield ()
        return
    async with open_mcp(configs, CLOCK, random.random, settings.tools.timeout_s, people) as servers:
        yield (servers,)


def people_settings(
    settings: Settings, configs: Sequence[McpServerConfig], accounts: ToolAccounts | None, *, pages: bool = True
) -> PeopleSettings | None:
    """Return the settings for people's own accounts; None without servers at which people sign in, and without a key
    for the accounts at former ones. Raises SettingsError.
    """
    names = [config.name for config in configs if config.account is AccountKind.PERSON]
    if not names:
        return _taken_away(settings, accounts)
    ours = settings.accounts
    if (ours.sign_in_http is None) != (not ours.sign_in_address):
        raise SettingsError(app_texts.SIGN_IN_ADDRESS)
    if ours.sign_in_address.startswith("http:") and not is_plain_loopback(ours.sign_in_address):
        raise SettingsError(app_texts.SIGN_IN_PLAIN)
    if ours.key is None and ours.key_file is None:
        raise SettingsError(app_texts.ACCOUNT_KEY_MISSING.format(servers=", ".join(names)))
    keys = account_keys(ours)
    if accounts is None:
        return None
    return PeopleSettings(accounts, keys, ours.sign_in_address if pages else "", ours.sign_in_http if pages else None)


def _taken_away(settings: Settings, accounts: ToolAccounts | None) -> PeopleSettings | None:
    """Return the settings to sign people out of former servers; None with a log line if the key cannot be read."""
    has_key = settings.accounts.key is not None or settings.accounts.key_file is not None
    if accounts is None or not has_key or not can_connect():
        return None
    try:
        return PeopleSettings(accounts, account_keys(settings.accounts))
    except SettingsError as error:
        log.warning("people cannot be signed out of removed MCP servers: %s", error)
        return None


def account_keys(settings: AccountSettings) -> "SealingKeys":
    """Return the keys that seal people's accounts. Raises SettingsError."""
    if settings.key is not None and settings.key_file is not None:
        raise SettingsError(app_texts.ACCOUNT_KEY_TWICE)
    if find_spec("cryptography") is None:
        raise SettingsError(app_texts.MCP_MISSING.format(command=command_for("mcp")))
    sealing = import_module("bot.chat.sealing")
    if settings.key is not None:
        return sealing.SealingKeys(settings.key.reveal(), "COGENCY_ACCOUNT_KEY")
    return sealing.keys_in_file(Path(settings.key_file or ""), "COGENCY_ACCOUNT_KEY_FILE")


def outgoing_webhooks(settings: Settings, core: Core, store: Store) -> Feature:
    """Return the feature that delivers webhooks. Raises SettingsError."""
    rows = outgoing_rows(settings.outgoing, settings.webhook_variables)
    return outgoing.feature(core, store.outbox, rows, settings.web.networks, route(settings.web), random.random)


def own_tools(settings: Settings) -> tuple[Tool, ...]:
    """Load the operator's own tools. The policy decides later who is offered them. Raises SettingsError."""
    taken = {
        *([FETCH] if settings.web.reads_pages else []),
        *(["web_search"] if settings.web.search else []),
        *(["python", "chart"] if settings.python.runs_code else []),
        *(ACT_TOOLS if settings.acts.is_on else ()),
    }
    tools = load_tools(tool_modules(settings.tools), BUILT_IN | taken, TOOLS)
    if tools:
        log.info("tools: %s", ", ".join(tool.name for tool in tools))
    return tools


def plugin_list(settings: Settings) -> PluginList:
    return PluginList(settings.plugins.folders, settings.plugin_list)


def plugins_in_use(settings: Settings) -> tuple[Plugin, ...]:
    """Load the installed plug-ins. Raises SettingsError if their list cannot be read."""
    return load_plugins(plugin_list(settings).folders())


def person_posts(acts: ActSettings) -> PersonPosts | None:
    """Return where programs may post with people's tokens; None for nowhere."""
    if not acts.is_on:
        return None

    def is_open(chosen: str) -> bool:
        return chosen != OFF and (chosen == ON or acts.mode is ActMode.ON)

    return PersonPosts(is_open, acts.limits)
