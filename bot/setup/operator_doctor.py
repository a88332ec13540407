"""`cogency doctor`: checks settings, files, disk, database, model, tools and platforms.

Rules. It changes nothing unless it is run with --fix, and sends no message:
  A check raises nothing; an error becomes its finding.
  A finding is a problem if it prevents a start, an answer or something important, such as buttons: the broken set-ups
  in the tests are tried with both the checks and a start.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agent.context import ANSWER_TOKENS, PREFIX_TOKENS
from agent.errors import CogencyError, ProviderError, ProviderUnavailable, SettingsError, StoreError
from agent.hooks.values import HookPoint
from agent.machine import CLOCK
from agent.messages import Message, ModelCall, Role, estimate_usage
from agent.ports.model import Provider, ResponseEnded, TokensArrived
from agent.providers.catalog import ENDPOINTS, ToolsForm
from agent.providers.keys import key_end
from agent.spending import Spent
from agent.toolbox.registry import UNASKED
from bot.app.from_settings import (
    discord_options,
    http_address,
    open_models,
    operator_address,
    policy_file,
    slack_apps,
    slack_distribution,
    slack_options,
)
from bot.app.parts import (
    channel_seals,
    connecting,
    own_tools,
    people_settings,
    plugins_in_use,
    tool_servers,
)
from bot.app.settings import Settings, moved_addresses
from bot.budgets.report import cost_text
from bot.chat.access.place_rules import PLACE, PlaceRules, channel_of
from bot.chat.attachments.reader import missing
from bot.chat.findings import Finding, Level, one_clock
from bot.chat.texts.formatting import counted
from bot.hooks.opening import loaded_hooks
from bot.models.check import comparison
from bot.models.choice import ModelChoice, context_size, open_model
from bot.models.embedding import open_embedder
from bot.models.forms import UNCHECKED, read_checked_forms
from bot.models.speech import open_transcriber
from bot.models.switch import ModelSwitch
from bot.python.engine import EngineUnavailable
from bot.python.feature import open_sandbox
from bot.settings.installation import command_for
from bot.settings.secret import Secret
from bot.setup import texts as setup_texts
from bot.setup.diagnosis import (
    Check,
    CheckFunction,
    asks_who_signs_in,
    disk_facts,
    disk_findings,
    http_findings,
    migrate_after_backup,
    no_progress,
    proxy_findings,
    run_checks,
    shards_held,
    trace_findings,
    training_findings,
    vendors_clock,
)
from bot.setup.file_rights import close_files, file_findings_of, kept_files
from bot.setup.operator_hooks import hook_findings
from bot.setup.shared_modules import shared_modules
from bot.setup.webhooks import webhook_findings
from bot.tools.mcp.config import AccountKind, HttpReach
from bot.tools.plugins.plugins import Plugin, skills_of
from bot.web.feature import search_engine, web_tools
from store.database_state import look_at
from store.engine import open_preferences
from store.forget_again import look_at_log
from store.migrations import HEAD

NOT_ASKED = Finding(
    Level.NOTE,
    "Model",
    "the model was not tested with a question",
    "Run `cogency doctor` without --no-model to test it.",
)
ONE_WORD = Message(Role.USER, "Answer with the one word: yes")


DATABASE_S: Final = 30.0
WEB_S: Final = 30.0
# A platform answers in a second or two; a rate-limited request is repeated.
PLATFORM_S: Final = 45.0
COMPILE_S: Final = 1_800.0  # The first time on a machine; later a second
# A tool server that is downloaded for its first start may take a minute, and some seconds to stop.
SERVERS_S: Final = 75.0


def checks(settings: Settings, *, ask_model: bool) -> list[Check]:
    """Return the checks that run concurrently, and so take no longer than the longest limit. A model has the time that
    the settings allow for an answer, since one on this machine may load for minutes.
    """
    model_s = settings.models.first_token_timeout_s + settings.models.next_token_timeout_s
    model = partial(examine_model, settings, ask_model=ask_model)
    return [
        Check("Proxy", partial(_proxy, settings), PLATFORM_S),
        Check("Web", partial(_web, settings), WEB_S),
        Check("Webhooks", partial(webhook_findings, settings), WEB_S),
        Check("Webhooks", partial(hook_findings, settings), PLATFORM_S),
        Check("Database", partial(examine_database, settings), DATABASE_S, Level.PROBLEM),
        Check("Model", model, model_s, Level.PROBLEM),
        Check("Tools", partial(examine_servers, settings), SERVERS_S),
        *([Check("Python", _python, COMPILE_S)] if settings.python.runs_code else []),
        *([Check("HTTP", partial(_http, settings), PLATFORM_S)] if settings.http.listen is not None else []),
        *(Check(name, check, PLATFORM_S, Level.PROBLEM) for name, check in _platforms(settings).items()),
    ]


async def examine(
    settings: Settings,
    *,
    ask_model: bool,
    dotenv: Path | None = None,
    fix: bool = False,
    tell: Callable[[Sequence[str]], object] = no_progress,
) -> list[Finding]:
    """Check settings, files, disk, database, model, and each platform that has a token.

    `ask_model`: send the model a question, which costs a few tokens. `fix`: first repair what is safe to repair.
    `tell`: receives the names of the checks that still run.
    """
    fixed = await mend(settings, dotenv) if fix else []
    findings = [
        *fixed,
        Finding(Level.GOOD, "Settings", "all settings are valid"),
        *(
            Finding(
                Level.WARNING,
                "Settings",
                f".env sets {name}, which is not a setting",
                setup_texts.DID_YOU_MEAN.format(meant=intended),
            )
            for name, intended in settings.misspelt
        ),
        *_package(),
        *(Finding(Level.NOTE, "Settings", moved.rstrip(".")) for moved in moved_addresses(settings)),
        *file_findings_of(kept_files(settings, dotenv)),
        *disk_findings(disk_facts(settings)),
        *trace_findings(settings, find_spec),
        *_tools(settings),
        *_hooks(settings),
        *_policy(settings),
        *_operators_page(settings),
        *_plugins(settings),
        *file_findings(office=not missing("office")),
    ]
    return one_clock([*findings, *await run_checks(checks(settings, ask_model=ask_model), tell)])


async def mend(settings: Settings, dotenv: Path | None) -> list[Finding]:
    """Make the safe repairs: restrict the rights of our own files, and migrate the database after a backup."""
    closed = close_files(settings, kept_files(settings, dotenv))
    return [*closed, *await migrate_after_backup(settings, CLOCK.now())]


def _package() -> list[Finding]:
    what = shared_modules(sys.path)
    return [Finding(Level.WARNING, "Settings", what, setup_texts.MODULES_APART)] if what else []


def _tools(settings: Settings) -> list[Finding]:
    """Check the operator's own tools; no finding without them."""
    finding = partial(Finding, where="Tools")
    try:
        tools = own_tools(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="some tools could not be loaded", remedy=str(error))]
    unasked = [tool.name for tool in tools if tool.effect in UNASKED]
    asked = [tool.name for tool in tools if tool.effect not in UNASKED]
    return [
        *([finding(Level.GOOD, what=f"{', '.join(unasked)} can be used")] if unasked else []),
        *([finding(Level.GOOD, what=setup_texts.TOOLS_ASKED_FIRST.format(names=", ".join(asked)))] if asked else []),
    ]


def _hooks(settings: Settings) -> list[Finding]:
    """Check the operator's hooks; no finding without them."""
    try:
        module = loaded_hooks(settings.hooks)
    except SettingsError as error:
        return [Finding(Level.PROBLEM, "Hooks", "the hooks could not be loaded", remedy=str(error))]
    if module is None:
        return []
    names = ", ".join(point for point in HookPoint if point in module.functions)
    held = [Finding(Level.NOTE, "Hooks", setup_texts.ANSWERS_HELD)] if module.holds_answers else []
    return [Finding(Level.GOOD, "Hooks", setup_texts.HOOKS_LOADED.format(names=names)), *held]


def _policy(settings: Settings) -> list[Finding]:
    """Check the file of tool policies; no finding without one."""
    finding = partial(Finding, where="Tools")
    try:
        rows = policy_file(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="the tool policy could not be read", remedy=str(error))]
    counted_rows = counted(len(rows), "row", "rows")
    what = setup_texts.POLICY_ROWS.format(rows=counted_rows, file=settings.tools.policy)
    return [] if settings.tools.policy is None else [finding(Level.GOOD, what=what)]


async def _web(settings: Settings) -> list[Finding]:
    """Check web access and search; no finding where both are off."""
    finding = partial(Finding, where="Web")
    try:
        tools = web_tools(settings.web, settings.tools.timeout_s, CLOCK)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="the web tools cannot be used", remedy=str(error))]
    networks = str(settings.web.networks) if tools and settings.web.reads_pages else ""
    return [
        *([finding(Level.GOOD, what=setup_texts.WEB_READ)] if settings.web.reads_pages else []),
        *([finding(Level.NOTE, what=setup_texts.NETWORKS_OPEN.format(networks=networks))] if networks else []),
        *await _search(settings),
    ]


async def _search(settings: Settings) -> list[Finding]:
    """Send the search engine a query. A failure is a warning, as the bot starts without search."""
    if (engine := search_engine(settings.web)) is None:
        return []
    started = CLOCK.monotonic()
    try:
        results = counted(len(await engine.search("cogency")), "search result", "search results")
    except CogencyError as error:
        what = setup_texts.SEARCH_FAILS.format(name=engine.name)
        return [Finding(Level.WARNING, "Web", what, f"{str(error)[:1].upper()}{str(error)[1:]}.")]
    seconds = CLOCK.monotonic() - started
    what = setup_texts.SEARCH_WORKS.format(name=engine.name, seconds=seconds, results=results)
    return [Finding(Level.GOOD, "Web", what)]


async def _python() -> list[Finding]:
    """Compile the sandbox for code, if that was not done before, and run a line of code."""
    finding = partial(Finding, where="Python")
    try:
        sandbox = open_sandbox()
        async with sandbox.serving():
            await sandbox.compiled()
            started = CLOCK.monotonic()
            ended = await sandbox.run("print(1)", (), "")
            seconds = CLOCK.monotonic() - started
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="the bot cannot run Python code", remedy=str(error))]
    except EngineUnavailable:
        return [finding(Level.WARNING, what="the sandbox did not start", remedy=setup_texts.SANDBOX_REMEDY)]
    if ended.failed:
        return [finding(Level.WARNING, what="the sandbox could not run any code", remedy=setup_texts.SANDBOX_REMEDY)]
    return [finding(Level.GOOD, what=setup_texts.PYTHON_RUNS.format(seconds=seconds))]


def _operators_page(settings: Settings) -> list[Finding]:
    """Check the operators' page; no finding where it is off."""
    finding = partial(Finding, where="Operators' page")
    try:
        address = operator_address(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="the page cannot be served", remedy=str(error))]
    return [finding(Level.GOOD, what=setup_texts.PAGE_IS_AT.format(address=address))] if address else []


async def _http(settings: Settings) -> list[Finding]:
    """Check the server for other programs."""
    try:
        address = http_address(settings)
    except SettingsError as error:
        return [Finding(Level.PROBLEM, "HTTP", "the bot cannot serve other programs", str(error))]
    return await http_findings(address)


def _plugins(settings: Settings) -> list[Finding]:
    """Check the plug-ins; no finding without them."""
    finding = partial(Finding, where="Plug-ins")
    try:
        plugins = plugins_in_use(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="the list of plug-ins could not be read", remedy=str(error))]
    findings = [finding(Level.GOOD, what=plugin.summary) for plugin in plugins if plugin.skills or plugin.servers]
    findings += [
        finding(Level.WARNING, what=f"{plugin.name}: {fault}", remedy=setup_texts.PLUGIN_REMEDY)
        for plugin in plugins
        for fault in plugin.faults
    ]
    return [*findings, *(finding(Level.NOTE, what=renamed) for renamed in skills_of(plugins)[1])]


def file_findings(*, office: bool) -> list[Finding]:
    """Check the readers of attached files; no finding if all are installed. `office`: the extra for office files is."""
    if office:
        return []
    remedy = setup_texts.OFFICE_REMEDY.format(command=command_for("office"))
    return [Finding(Level.NOTE, "Files", setup_texts.OFFICE_MISSING, remedy)]


async def _proxy(settings: Settings) -> list[Finding]:
    """Check the proxy for the services that this bot uses."""
    provider = (settings.models.model or "").partition(":")[0]
    addresses = {
        settings.slack.api_base_url: settings.slack.bot_token is not None,
        settings.discord.api_base_url: settings.discord.token is not None,
        **({settings.models.endpoint(provider).base_url: True} if provider in ENDPOINTS else {}),
    }
    return await proxy_findings([address for address, is_used in addresses.items() if is_used])


async def examine_database(settings: Settings) -> list[Finding]:
    """Check whether the database can be used, without changing it."""
    finding = partial(Finding, where="Database")
    try:
        look = await look_at(settings.storage.url, replica_url=settings.storage.replica_url)
    except StoreError as error:
        return [finding(Level.PROBLEM, what="the database cannot be used", remedy=str(error))]
    where, findings = look.where, list[Finding]()
    if look.is_locked:
        remedy = setup_texts.HELD_WHILE_RUNNING
        findings = [finding(Level.NOTE, what=f"another process is using {where}", remedy=remedy)]
    findings += [
        finding(
            Level.NOTE,
            what=f"{index.derived.what}: {index.left:,} {index.derived.of} were indexed by another version of Cogency",
            remedy=setup_texts.NEXT_START_RENEWS,
        )
        for index in look.outdated
        if index.left
    ]
    findings += [finding(Level.NOTE, what=remark) for remark in look.remarks]
    if look.version is None:
        remedy = setup_texts.COMES_WITH_START
        return [*findings, finding(Level.NOTE, what=f"the database is not set up yet: {where}", remedy=remedy)]
    if look.is_newer:
        return [*findings, finding(Level.NOTE, what=setup_texts.NEWER_WORKS.format(where=where, found=look.version))]
    if look.version != HEAD:
        remedy = setup_texts.NEXT_START_MIGRATES
        what = f"{where} is at version {look.version}; the newest is {HEAD}"
        return [*findings, finding(Level.NOTE, what=what, remedy=remedy)]
    findings.append(finding(Level.GOOD, what=f"{where} is at the newest version, {look.version}"))
    findings += await _forgetting_log(settings)
    return [*findings, *await shards_held(settings, CLOCK.now())]


async def _forgetting_log(settings: Settings) -> list[Finding]:
    """Compare the forgetting log with the database."""
    finding = partial(Finding, where="Database")
    if (path := settings.storage.log_path) is None:
        return []
    try:
        state = await look_at_log(settings.storage.url, path, CLOCK.now())
    except StoreError as error:
        return [finding(Level.PROBLEM, what="the forgetting log cannot be used", remedy=str(error))]
    if state is None:
        what, remedy = setup_texts.LOG_NOT_YET.format(path=path), setup_texts.LOG_COMES_WITH_START
        return [finding(Level.NOTE, what=what, remedy=remedy)]
    if state.is_ahead:
        return [
            finding(Level.PROBLEM, what=setup_texts.LOG_AHEAD.format(path=path), remedy=setup_texts.LOG_AHEAD_REMEDY)
        ]
    if state.missing:
        what = setup_texts.LOG_BEHIND.format(path=path, missing=counted(state.missing, "entry", "entries"))
        return [finding(Level.PROBLEM, what=what, remedy=setup_texts.LOG_BEHIND_REMEDY)]
    return [finding(Level.GOOD, what=setup_texts.LOG_COMPLETE.format(path=path))]


async def examine_model(settings: Settings, *, ask_model: bool = True) -> list[Finding]:
    """Check which model answers, and whether it does."""
    finding = partial(Finding, where="Model")
    try:
        async with open_models(settings) as models:
            await _open_other_models(settings)
            if models.is_rehearsal:
                remedy = setup_texts.SET_REAL_MODEL
                closed = await _closed_channels(settings, models)
                return [finding(Level.WARNING, what=setup_texts.ONLY_REHEARSAL, remedy=remedy), *closed]
            chosen = finding(Level.GOOD, what=models.sentence.removeprefix("Model: ").rstrip("."))
            terms = [*await _form_findings(settings, models.choice), *_terms(settings, models.provider.name)]
            terms += await _closed_channels(settings, models)
            if not ask_model:
                return [chosen, NOT_ASKED, *terms]
            name = models.provider.name
            answer, keys, clock = await asyncio.gather(
                _ask(models.provider), _keys(settings, models.choice), _clock(settings, name)
            )
            context = await context_findings(settings, name)  # Ollama says it once the model is loaded
            return [chosen, answer, *keys, *context, *terms, *clock]
    except (SettingsError, ProviderError) as error:
        is_silent = isinstance(error, ProviderUnavailable)
        return [finding(Level.PROBLEM, what="no model can be used", remedy=str(error), is_silent=is_silent)]


CHANNELS_NAMED: Final = 20


async def _closed_channels(settings: Settings, models: ModelSwitch) -> list[Finding]:
    """Name the channels that allow only models which the settings no longer allow: nobody is answered there."""
    left, closed = set(models.allowed or (models.name,)), set[str]()
    try:
        async with open_preferences(settings.storage.url) as preferences:
            for owner, stored in await preferences.all_named(PLACE):
                allowed = PlaceRules.read(stored).models
                if allowed and left.isdisjoint(allowed):
                    closed.add(channel_of(owner))
    except StoreError:
        return []  # The check of the database says what is wrong
    if not closed:
        return []
    what = setup_texts.CHANNELS_WITHOUT_MODEL.format(channels=", ".join(sorted(closed)[:CHANNELS_NAMED]))
    return [Finding(Level.WARNING, "Model", what, setup_texts.ALLOW_MODELS)]


async def _form_findings(settings: Settings, choice: ModelChoice) -> list[Finding]:
    """Say in which form of tools the model is asked, as far as a check of it decides that, or may."""
    if choice.endpoint is None or not choice.endpoint.offers_forms(choice.model):
        return []
    try:
        async with open_preferences(settings.storage.url) as preferences:
            passed = (await read_checked_forms(preferences)).passed(choice.endpoint, choice.model)
    except StoreError:
        passed = UNCHECKED  # The check of the database says what is wrong
    if compared := comparison(passed, settings.models.tools_form):
        return [Finding(Level.NOTE, "Model", compared[:1].lower() + compared[1:].rstrip("."))]
    is_open = settings.models.tools_form is ToolsForm.AUTO and choice.endpoint.is_self_hosted
    return [Finding(Level.NOTE, "Model", setup_texts.FORM_NOT_MEASURED, setup_texts.FORMS_UNCHECKED)] if is_open else []


def _terms(settings: Settings, name: str) -> list[Finding]:
    """Check whether the vendors of all configured models may train on people's messages."""
    others = [settings.models.learning_model, settings.models.embeddings, settings.models.transcription]
    chosen = [*settings.models.channel_models.values(), *settings.models.person_models.values()]
    models = {name, *settings.models.fallback_models, *settings.models.allowed_models, *filter(None, others), *chosen}
    endpoint = settings.models.endpoint
    return training_findings(models, endpoint, on_discord=settings.discord.token is not None)


async def _clock(settings: Settings, name: str) -> list[Finding]:
    """Compare the clock with that of the model's vendor, unless the model runs on this machine."""
    provider = name.partition(":")[0]
    endpoint = settings.models.endpoint(provider) if provider in ENDPOINTS else None
    return await vendors_clock(endpoint, CLOCK) if endpoint is not None and not endpoint.is_local else []


TINY_CONTEXT: Final = 2_000  # About 900 tokens of instructions with the built-in tools, the question, and an answer


async def context_findings(settings: Settings, name: str) -> list[Finding]:
    """Compare the size of the model's context with what a question may need; no finding if the server does not say."""
    provider, _, model = name.partition(":")
    if provider not in ENDPOINTS:
        return []
    servers = settings.models
    endpoint = servers.endpoint(provider)
    if endpoint == ENDPOINTS[provider] and not endpoint.is_local:
        return []  # A vendor's own models have room
    size = await context_size(endpoint, model, servers.key(provider))
    if size is None:
        return []
    needed = (
        settings.chat.history_tokens
        + settings.memory.tokens
        + settings.memory.profile_tokens
        + PREFIX_TOKENS
        + ANSWER_TOKENS
    )
    if size >= needed:
        return [Finding(Level.GOOD, "Model", setup_texts.CONTEXT_HOLDS.format(size=size))]
    remedy = setup_texts.WIDEN_CONTEXT.format(widen=endpoint.widen) if endpoint.widen else setup_texts.FIT_CONTEXT
    if size < TINY_CONTEXT:
        problem = setup_texts.CONTEXT_TINY.format(size=size)
        return [Finding(Level.PROBLEM, "Model", problem, remedy)]
    return [Finding(Level.WARNING, "Model", setup_texts.CONTEXT_SMALL.format(size=size, needed=needed), remedy)]


async def _open_other_models(settings: Settings) -> None:
    """Open the models for embeddings and transcription, and what seals channels' own keys. Raises SettingsError where a
    start would.
    """
    channel_seals(settings)
    if settings.models.embeddings:
        await open_embedder(settings.models.embeddings, settings.models).aclose()
    if settings.models.transcription:
        await open_transcriber(settings.models.transcription, settings.models).aclose()


async def _keys(settings: Settings, choice: ModelChoice) -> list[Finding]:
    """Ask the model with each of several keys, so that one that is refused is found before the others are needed."""
    keys = () if choice.key is None else choice.key.reveal_all()
    if len(keys) < 2:
        return []
    return list(await asyncio.gather(*(_try_key(settings, choice, number) for number in range(1, len(keys) + 1))))


async def _try_key(settings: Settings, choice: ModelChoice, number: int) -> Finding:
    """Ask the model with one of its keys, which are numbered from 1."""
    keys = () if choice.key is None else choice.key.reveal_all()
    key = keys[number - 1]
    named = setup_texts.KEY_NUMBERED.format(number=number, count=len(keys), end=key_end(key))
    alone = replace(choice, key=Secret(key))
    model = open_model(alone, settings.models, clock=CLOCK, chance=lambda: 0.0)  # there is no crowd to be spread
    try:
        answer = await _ask(model)
    finally:
        await model.aclose()
    if answer.level is Level.GOOD:
        return replace(answer, what=setup_texts.KEY_WORKS.format(key=named))
    what = setup_texts.KEY_FAILS.format(key=named)
    return replace(answer, level=Level.WARNING, what=what, is_silent=False)


async def _ask(model: Provider) -> Finding:
    finding, first_token_s = partial(Finding, where="Model"), 0.0
    started = CLOCK.monotonic()
    try:
        async with aclosing(model.stream([ONE_WORD])) as stream:
            async for event in stream:
                if isinstance(event, TokensArrived) and not first_token_s:
                    first_token_s = CLOCK.monotonic() - started
                if isinstance(event, ResponseEnded) and first_token_s:
                    usage = event.usage or estimate_usage([ONE_WORD], "yes")
                    cost = cost_text(Spent.on([ModelCall(model.name, usage)]))
                    return finding(
                        Level.GOOD, what=f"{model.name} answered (first token after {first_token_s:.1f} s, {cost})"
                    )
    except ProviderError as error:
        is_silent = isinstance(error, ProviderUnavailable)
        return finding(
            Level.PROBLEM,
            what=f"the request to {model.name} failed",
            remedy=error.reason.to_operator,
            is_silent=is_silent,
        )
    remedy = setup_texts.TRY_ANOTHER_MODEL
    return finding(Level.PROBLEM, what=f"{model.name} sent an empty answer", remedy=remedy)


async def examine_servers(settings: Settings, only: Sequence[Plugin] | None = None) -> list[Finding]:
    """Connect to each MCP server, or only to those of the plug-ins `only`, and list what each offers.

    A server that does not answer is a warning, as the bot starts without it.
    """
    try:
        configs, problems = tool_servers(settings, only)
        people_settings(settings, configs, None)
    except SettingsError as error:
        return [Finding(Level.PROBLEM, "Tools", "the MCP servers could not be used", str(error))]
    findings = [Finding(Level.WARNING, "Tools", problem) for problem in problems]
    by_pages = setup_texts.BY_PAGES.format(address=settings.accounts.sign_in_address)
    sign_in_way = by_pages if settings.accounts.sign_in_address else setup_texts.BY_PASTING
    personal = [config for config in configs if config.account is AccountKind.PERSON]
    findings += [
        Finding(Level.NOTE, "Tools", setup_texts.PEOPLE_SIGN_IN.format(sentence=config.sentence, how=sign_in_way))
        for config in personal
    ]
    findings += [
        Finding(Level.WARNING, "Tools", setup_texts.ISSUER_MISSING.format(server=config.name), setup_texts.NAME_ISSUER)
        for config in personal
        if config.oauth.client_secret and not config.oauth.issuer
    ]
    async with connecting(settings, configs) as sources:
        pings = [
            asks_who_signs_in(config.name, config.reach, CLOCK)
            for config in personal
            if isinstance(config.reach, HttpReach)
        ]
        results = await asyncio.gather(*pings, *(source.examine() for source in sources))
        return findings + [finding for result in results for finding in result]


async def discord_application(settings: Settings) -> str:
    """Return the id of Discord's application with the configured token. Raises SettingsError, and CogencyError if
    Discord does not answer.
    """
    discord = discord_options(settings)
    if discord is None:
        raise SettingsError(setup_texts.NAME_APPLICATION)
    from bot.platforms.discord.doctor import application_id  # noqa: PLC0415 -- only who uses Discord loads its libraries

    return await application_id(discord)


def _platforms(settings: Settings) -> dict[str, CheckFunction]:
    """Return the checks of platforms with a token, by name; else one that returns the finding about missing tokens."""
    try:
        slack, discord = slack_apps(settings), discord_options(settings)
        distribution = slack_distribution(settings)
    except SettingsError as error:
        not_set = Finding(Level.PROBLEM, "Settings", "a platform's settings cannot be used", str(error))
        return {"Settings": partial(_return, not_set)}
    checks_found: dict[str, CheckFunction] = {}
    if slack:
        from bot.platforms.slack import doctor as of_slack  # noqa: PLC0415 -- only who uses Slack loads its libraries

        shared, token = slack_options(settings), settings.slack.config_token
        checks_found |= {app.label: partial(of_slack.examine, app, shared, CLOCK, token) for app in slack}
    if discord is not None:
        from bot.platforms.discord import doctor as of_discord  # noqa: PLC0415 -- only who uses Slack loads its libraries

        checks_found["Discord"] = partial(of_discord.examine, discord, CLOCK)
    if distribution is not None:
        text = setup_texts.DISTRIBUTED if distribution.installers else setup_texts.DISTRIBUTED_TO_NOBODY
        level = Level.GOOD if distribution.installers else Level.WARNING
        remedy = "" if distribution.installers else setup_texts.NAME_INSTALLERS
        finding = Finding(level, "Slack", text.format(address=distribution.address), remedy)
        checks_found["Slack (install page)"] = partial(_return, finding)
    no_tokens = Finding(Level.WARNING, "Settings", "no platform has a token", setup_texts.SET_TOKENS)
    return checks_found or {"Settings": partial(_return, no_tokens)}


async def _return(finding: Finding) -> list[Finding]:
    return [finding]


async def examine_platforms(settings: Settings) -> list[Finding]:
    """Check the set-up of each platform that has a token."""
    results = await asyncio.gather(*(run() for run in _platforms(settings).values()))
    return [finding for findings in results for finding in findings]
