"""What an operator asks of the bot while it runs or stands: costs, budgets, migrations, checks of it all.

Rules of `cogency doctor`, which changes nothing unless it is asked to, and writes to nobody
  Each part raises nothing; what is wrong with it is its finding.
  What stops a start, or an answer, is a problem here, and nothing else is: the table of broken worlds in its tests is
  tried on both.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agent.errors import CogencyError, ProviderError, SettingsError, StoreError, StoreLocked
from agent.machine import new_secret
from agent.messages import Message, ModelCall, Role, estimate_usage
from agent.ports import AuditedCall, Provider, ResponseEnded, TokensArrived
from agent.providers.catalog import ENDPOINTS
from agent.spending import By, SpendingPeriod, Spent, Total
from agent.tools.registry import UNASKED, Registry
from bot.access.acl import CommandAnswer
from bot.access.budgets import cost_text
from bot.app.diagnosis import (
    Check,
    Tried,
    asks_who_signs_in,
    close_files,
    disk_facts,
    disk_findings,
    file_findings_of,
    kept_files,
    migrate_after_backup,
    nobody,
    shards_held,
    side_by_side,
    trace_findings,
    training_findings,
    vendors_clock,
)
from bot.app.from_settings import (
    discord_settings,
    model_settings,
    open_models,
    operator_address,
    policy_file,
    slack_apps,
    slack_distribution,
    slack_settings,
)
from bot.app.parts import (
    CLOCK,
    budget_desk,
    connecting,
    core_tools,
    own_tools,
    people_settings,
    plugin_list,
    plugins_in_use,
    search_engine,
    tool_servers,
    web_tools,
)
from bot.attachments.reader import missing
from bot.audit import pages
from bot.exits import Finding, Level, one_clock, shared_modules
from bot.health import LINK_LASTS, SESSION_IDLE, OperatorLinks
from bot.models.choice import open_embedder, open_transcriber
from bot.settings import Settings, moved_addresses
from bot.texts import setup_texts
from bot.texts.formatting import counted
from bot.tools.mcp_config import AccountKind, HttpReach
from bot.tools.plugins import Plugin, load_plugin, load_plugins, skills_of
from store.backup import Tell, backup, copy, go_back, look_into, restore
from store.engine import look_at, open_audit, open_operator_sessions, open_spending, open_store
from store.migrations import HEAD


async def spent(settings: Settings, days: int, by: By) -> tuple[list[Total], SpendingPeriod]:
    """What was spent in the last `days` days, also while the bot runs. Raises StoreError."""
    period = SpendingPeriod.days_until(CLOCK.now(), days)
    async with open_spending(settings.database_url) as spending:
        return await spending.totals(period, by), period


AUDIT_DAYS: Final = 30  # As many as `cogency usage` shows


async def audited(settings: Settings, since: datetime | None) -> AsyncGenerator[Sequence[AuditedCall], None]:
    """The tools' calls from that time on, some at a time, also while the bot runs. Raises StoreError."""
    begin = since or CLOCK.now() - timedelta(days=AUDIT_DAYS)
    async with open_audit(settings.database_url) as audit, aclosing(pages(audit, begin)) as found:
        async for calls in found:
            yield calls


async def budget(settings: Settings, person: str, words: str) -> CommandAnswer:
    """See or change a budget, as `bot.access.budgets` reads the words. Raises StoreError."""
    store = await open_store(settings.database_url)
    try:
        return await budget_desk(settings, store).answer(person, "terminal", words)
    finally:
        await store.close()


async def operator_link(settings: Settings) -> str:
    """What lets somebody in on the operators' page. Raises SettingsError and StoreError."""
    if not (address := operator_address(settings)):
        raise SettingsError(setup_texts.OPERATOR_PAGE_OFF)
    async with open_operator_sessions(settings.database_url) as sessions:
        link = await OperatorLinks(sessions, CLOCK, new_secret, address).new()
    told = setup_texts.OPERATOR_LINK.format(minutes=LINK_LASTS.seconds // 60, link=link)
    if settings.operator_address or settings.operator_page is None:
        return told
    return f"{told}\n{setup_texts.OPERATOR_LINK_REMOTE.format(port=settings.operator_page[1])}"


async def operator_sessions(settings: Settings) -> str:
    """Who is signed in there. Raises StoreError."""
    now = CLOCK.now()
    async with open_operator_sessions(settings.database_url) as sessions:
        listed = await sessions.listed(now, now - SESSION_IDLE)
    lines = [setup_texts.SESSION_LINE.format(opened=one.opened, seen=one.seen, expires=one.expires) for one in listed]
    return "\n".join(lines) or setup_texts.NO_SESSIONS


async def sign_operators_out(settings: Settings) -> str:
    """Raises StoreError."""
    async with open_operator_sessions(settings.database_url) as sessions:
        ended = await sessions.end_all()
    return setup_texts.SIGNED_OUT_ALL.format(sessions=counted(ended, "session", "sessions"))


def add_plugin(settings: Settings, path: Path) -> tuple[bool, list[str]]:
    """List a plug-in: whether it is used from now on, and what is said. Raises SettingsError."""
    listing, new = plugin_list(settings), load_plugin(path.absolute())
    if not new.skills and not new.servers:
        return False, [*new.sentences, setup_texts.PLUGIN_UNUSABLE.format(root=new.root)]
    for plugin in load_plugins(listing.folders()):
        if plugin.root == new.root:
            return True, [setup_texts.PLUGIN_THERE.format(root=new.root, name=plugin.name)]
        if plugin.name == new.name:
            taken = setup_texts.PLUGIN_NAME_TAKEN.format(root=new.root, name=new.name, first=plugin.root)
            return False, [taken]
    listing.write([*listing.listed(), new.root])
    return True, [*new.sentences, setup_texts.PLUGIN_ADDED.format(summary=new.summary)]


def remove_plugin(settings: Settings, name: str) -> tuple[bool, str]:
    """Take a plug-in off the list: whether it is, and what is said. Raises SettingsError."""
    listing = plugin_list(settings)
    folders = listing.listed()
    for plugin in load_plugins(listing.folders()):
        if plugin.name != name:
            continue
        left = [folder for folder in folders if load_plugin(folder).root != plugin.root]
        if len(left) == len(folders):
            return False, setup_texts.PLUGIN_FROM_SETTING.format(name=name, root=plugin.root)
        listing.write(left)
        return True, setup_texts.PLUGIN_REMOVED.format(name=name, root=plugin.root)
    return False, setup_texts.PLUGIN_UNKNOWN.format(name=name)


async def back_up(settings: Settings, file: Path, tell: Tell, *, replace: bool) -> str:
    """Write a backup; the sentence about it. Raises StoreError."""
    holding = await backup(settings.database_url, file, CLOCK.now(), replace=replace, tell=tell)
    return setup_texts.BACKED_UP.format(file=file, held=holding, version=holding.version)


async def restore_backup(settings: Settings, file: Path, tell: Tell, *, replace: bool) -> list[str]:
    """Restore a backup; the sentences about it. Raises StoreError."""
    holding = look_into(file)
    restored = await restore(file, settings.database_url, CLOCK.now(), replace=replace, tell=tell)
    made = "a time that it does not name" if holding.made is None else f"{holding.made:%Y-%m-%d %H:%M} UTC"
    told = [setup_texts.HOLDS.format(file=file, held=holding, made=made)]
    if restored.again:
        told.append(setup_texts.FORGOTTEN_AGAIN.format(messages=counted(restored.again, "message", "messages")))
    elif not restored.knows:
        told.append(setup_texts.FORGOTTEN_UNKNOWN)
    where = (await look_at(settings.database_url)).where
    return [*told, setup_texts.RESTORED.format(where=where)]


async def copy_database(settings: Settings, source: str | None, target: str, tell: Tell, *, replace: bool) -> str:
    """Let another database hold what this one does; the sentence about it. Raises StoreError."""
    holding = await copy(source or settings.database_url, target, CLOCK.now(), replace=replace, tell=tell)
    return setup_texts.COPIED.format(where=(await look_at(target)).where, held=holding)


async def migrate(settings: Settings) -> str:
    """Bring the database to the newest version; the sentence that says so. Raises StoreError."""
    store = await open_store(settings.database_url)
    await store.close()
    match store.version_before:
        case None:
            return setup_texts.DATABASE_CREATED.format(where=store.database.where, version=store.version)
        case store.version:
            return setup_texts.DATABASE_NEWEST.format(where=store.database.where, version=store.version)
        case before:
            return setup_texts.DATABASE_MIGRATED.format(
                where=store.database.where, before=before, version=store.version
            )


async def migrate_back(
    settings: Settings, version: str, file: Path | None, tell: Tell, *, lose: bool
) -> tuple[bool, list[str]]:
    """Bring the database to an earlier version: whether it is there now, and what is said. Raises StoreError."""
    now = CLOCK.now()
    saved_to = file or Path(f"cogency-{HEAD}-{now:%Y%m%d-%H%M%S}.backup")
    back = await go_back(settings.database_url, version, saved_to, now, lose=lose, tell=tell)
    lost = "\n".join(f"{count:>9,}  {what}" for what, count in back.lost.items())
    if back.to == HEAD:
        return True, [setup_texts.BACK_IS_THERE.format(where=back.where, version=HEAD)]
    if back.saved is None:
        return False, [setup_texts.BACK_LOSES.format(where=back.where, to=back.to, lost=lost), setup_texts.BACK_REFUSED]
    said = [setup_texts.BACKED_UP.format(file=saved_to, held=back.saved, version=back.saved.version)]
    said += [setup_texts.BACK_LOST.format(lost=lost)] if lost else []
    return True, [*said, setup_texts.BACK_DONE.format(where=back.where, before=HEAD, to=back.to)]


async def charge(settings: Settings, person: str, kind: str, calls: Sequence[ModelCall]) -> None:
    """Keep what an operator's own calls took, also while the bot runs. Raises StoreError."""
    if not calls:
        return
    try:
        store = await open_store(settings.database_url)  # a new one is made
    except StoreLocked:
        pass
    else:
        await store.close()
    async with open_spending(settings.database_url) as spending:
        await spending.charge(person, kind, calls, CLOCK.now())


@asynccontextmanager
async def open_checking(settings: Settings) -> AsyncGenerator[tuple[Provider, Registry, str], None]:
    """A model, the tools that it is asked about, and the line that says why it is this one. Nothing is stored.

    Raises SettingsError where none is configured: rehearsal follows rules, so there is nothing to find out.
    """
    store = await open_store("sqlite://")
    try:
        async with open_models(settings) as models:
            if models.is_rehearsal:
                raise SettingsError(setup_texts.NO_MODEL_TO_CHECK)
            yield models.provider, Registry(core_tools(settings, store)), models.sentence
    finally:
        await store.close()


NOT_ASKED = Finding(
    Level.NOTE, "Model", "whether it answers was not tried", "`cogency doctor` without --no-model does."
)
ONE_WORD = Message(Role.USER, "Answer with the one word: yes")


DATABASE_S: Final = 30.0
WEB_S: Final = 30.0
# Its answers come in a second or two, and some are asked for again where it has too much to do.
PLATFORM_S: Final = 45.0
# A server of tools that is fetched for its first start may take a minute, and some seconds to end.
SERVERS_S: Final = 75.0


def checks(settings: Settings, *, ask_model: bool) -> list[Check]:
    """Those that run side by side: all of them take as long as the longest bound. A model has as long as the settings
    give it for an answer, since one on this machine may load for minutes.
    """
    model_s = settings.first_token_timeout_s + settings.next_token_timeout_s
    model = partial(examine_model, settings, ask_model=ask_model)
    return [
        Check("Web", partial(_web, settings), WEB_S),
        Check("Database", partial(_database, settings), DATABASE_S, Level.PROBLEM),
        Check("Model", model, model_s, Level.PROBLEM),
        Check("Tools", partial(examine_servers, settings), SERVERS_S),
        *(Check(name, each, PLATFORM_S, Level.PROBLEM) for name, each in _platforms(settings).items()),
    ]


async def examine(
    settings: Settings,
    *,
    ask_model: bool,
    dotenv: Path | None = None,
    fix: bool = False,
    tell: Callable[[Sequence[str]], object] = nobody,
) -> list[Finding]:
    """Settings, files, disk, database, model, and each platform that has a token. `ask_model` costs a few tokens.

    `fix`: what is safe is mended first. `tell` hears what is still waited for.
    """
    fixed = await mend(settings, dotenv) if fix else []
    found = [
        *fixed,
        Finding(Level.GOOD, "Settings", "all of them can be read"),
        *(
            Finding(
                Level.WARNING,
                "Settings",
                f".env sets {name}, which nothing here reads",
                setup_texts.DID_YOU_MEAN.format(meant=meant),
            )
            for name, meant in settings.misspelt
        ),
        *_package(),
        *(Finding(Level.NOTE, "Settings", told.rstrip(".")) for told in moved_addresses(settings)),
        *file_findings_of(kept_files(settings, dotenv)),
        *disk_findings(disk_facts(settings)),
        *trace_findings(settings, find_spec),
        *_tools(settings),
        *_policy(settings),
        *_operators_page(settings),
        *_plugins(settings),
        *file_findings(office=not missing("office")),
    ]
    return one_clock([*found, *await side_by_side(checks(settings, ask_model=ask_model), tell)])


async def mend(settings: Settings, dotenv: Path | None) -> list[Finding]:
    """Do what is safe: close files that are ours, and bring the database to the newest version after a backup."""
    closed = close_files(settings, kept_files(settings, dotenv))
    return [*closed, *await migrate_after_backup(settings, CLOCK.now())]


def _package() -> list[Finding]:
    what = shared_modules(sys.path)
    return [Finding(Level.WARNING, "Settings", what, setup_texts.MODULES_APART)] if what else []


def _tools(settings: Settings) -> list[Finding]:
    """The operator's own: nothing is said where there are none."""
    finding = partial(Finding, where="Tools")
    try:
        tools = own_tools(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="not all of them can be loaded", remedy=str(error))]
    unasked = [tool.name for tool in tools if tool.effect in UNASKED]
    asked = [tool.name for tool in tools if tool.effect not in UNASKED]
    return [
        *([finding(Level.GOOD, what=f"{', '.join(unasked)} can be called")] if unasked else []),
        *([finding(Level.GOOD, what=setup_texts.TOOLS_ASKED_FIRST.format(names=", ".join(asked)))] if asked else []),
    ]


def _policy(settings: Settings) -> list[Finding]:
    """Nothing is said where there is no file."""
    finding = partial(Finding, where="Tools")
    try:
        rows = policy_file(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="who may use them cannot be read", remedy=str(error))]
    counted_rows = counted(len(rows), "row", "rows")
    told = setup_texts.POLICY_ROWS.format(rows=counted_rows, file=settings.tool_policy)
    return [] if settings.tool_policy is None else [finding(Level.GOOD, what=told)]


async def _web(settings: Settings) -> list[Finding]:
    """Nothing is said where it is off."""
    finding = partial(Finding, where="Web")
    try:
        tools = web_tools(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="it cannot be read", remedy=str(error))]
    opened = str(settings.networks_allowed)
    return [
        *([finding(Level.GOOD, what=setup_texts.WEB_READ)] if settings.web else []),
        *([finding(Level.NOTE, what=setup_texts.NETWORKS_OPEN.format(networks=opened))] if tools and opened else []),
        *await _searched(settings),
    ]


async def _searched(settings: Settings) -> list[Finding]:
    """The search engine is asked for something. One that does not answer stops no start."""
    if (engine := search_engine(settings)) is None:
        return []
    began = CLOCK.monotonic()
    try:
        count = len(await engine.search("cogency"))
    except CogencyError as error:
        what = setup_texts.SEARCH_FAILS.format(name=engine.name)
        return [Finding(Level.WARNING, "Web", what, f"{str(error)[:1].upper()}{str(error)[1:]}.")]
    seconds = CLOCK.monotonic() - began
    return [Finding(Level.GOOD, "Web", setup_texts.SEARCH_WORKS.format(name=engine.name, seconds=seconds, count=count))]


def _operators_page(settings: Settings) -> list[Finding]:
    """Nothing is said where it is off."""
    finding = partial(Finding, where="Operators' page")
    try:
        address = operator_address(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="it cannot be served", remedy=str(error))]
    return [finding(Level.GOOD, what=setup_texts.PAGE_IS_AT.format(address=address))] if address else []


def _plugins(settings: Settings) -> list[Finding]:
    """Nothing is said where there are none."""
    finding = partial(Finding, where="Plug-ins")
    try:
        plugins = plugins_in_use(settings)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what="which are in use cannot be found out", remedy=str(error))]
    found = [finding(Level.GOOD, what=plugin.summary) for plugin in plugins if plugin.skills or plugin.servers]
    found += [
        finding(Level.WARNING, what=f"{plugin.name}: {fault}", remedy=setup_texts.PLUGIN_REMEDY)
        for plugin in plugins
        for fault in plugin.faults
    ]
    return [*found, *(finding(Level.NOTE, what=renamed) for renamed in skills_of(plugins)[1])]


def file_findings(*, office: bool) -> list[Finding]:
    """What reads the files that people attach: nothing is said where all of it is there. `office`: its extra is."""
    return [] if office else [Finding(Level.NOTE, "Files", setup_texts.OFFICE_MISSING, setup_texts.OFFICE_REMEDY)]


async def _database(settings: Settings) -> list[Finding]:
    finding = partial(Finding, where="Database")
    try:
        look = await look_at(settings.database_url, replica_url=settings.database_replica_url)
    except StoreError as error:
        return [finding(Level.PROBLEM, what="it cannot be used", remedy=str(error))]
    where, found = look.where, list[Finding]()
    if look.is_held:
        remedy = setup_texts.HELD_WHILE_RUNNING
        found = [finding(Level.NOTE, what=f"another process has {where} open", remedy=remedy)]
    found += [
        finding(
            Level.NOTE,
            what=f"{one.derived.what} was made by another version, of {one.left:,} {one.derived.of}",
            remedy=setup_texts.NEXT_START_RENEWS,
        )
        for one in look.outdated
        if one.left
    ]
    found += [finding(Level.NOTE, what=one) for one in look.remarks]
    if look.version is None:
        remedy = setup_texts.COMES_WITH_START
        return [*found, finding(Level.NOTE, what=f"there is none yet at {where}", remedy=remedy)]
    if look.is_newer:
        return [*found, finding(Level.NOTE, what=setup_texts.NEWER_WORKS.format(where=where, found=look.version))]
    if look.version != HEAD:
        remedy = setup_texts.NEXT_START_MIGRATES
        what = f"{where} is at version {look.version}, the newest is {HEAD}"
        return [*found, finding(Level.NOTE, what=what, remedy=remedy)]
    found.append(finding(Level.GOOD, what=f"{where} is at the newest version, {look.version}"))
    return [*found, *await shards_held(settings, CLOCK.now())]


async def examine_model(settings: Settings, *, ask_model: bool = True) -> list[Finding]:
    """Which model answers, and whether it does."""
    finding = partial(Finding, where="Model")
    try:
        async with open_models(settings) as models:
            await _others_can_be_used(settings)
            if models.is_rehearsal:
                remedy = setup_texts.SET_REAL_MODEL
                return [finding(Level.WARNING, what="only rehearsal answers, which follows rules", remedy=remedy)]
            chosen = finding(Level.GOOD, what=models.sentence.removeprefix("Model: ").rstrip("."))
            terms = _terms(settings, models.provider.name)
            if not ask_model:
                return [chosen, NOT_ASKED, *terms]
            asked, clock = await asyncio.gather(_asked(models.provider), _clock(settings, models.provider.name))
            return [chosen, asked, *terms, *clock]
    except (SettingsError, ProviderError) as error:
        return [finding(Level.PROBLEM, what="none can be used", remedy=str(error))]


def _terms(settings: Settings, name: str) -> list[Finding]:
    """What the vendors of all models that hear what people say may do with it."""
    others = [settings.learning_model, settings.embeddings, settings.transcription]
    chosen = [*settings.channel_models.values(), *settings.person_models.values()]
    models = {name, *settings.fallback_models, *settings.allowed_models, *filter(None, others), *chosen}
    endpoint = model_settings(settings).endpoint
    return training_findings(models, endpoint, on_discord=settings.discord_token is not None)


async def _clock(settings: Settings, name: str) -> list[Finding]:
    """By the vendor of the model that answers, where it is asked over the network."""
    provider = name.partition(":")[0]
    endpoint = model_settings(settings).endpoint(provider) if provider in ENDPOINTS else None
    return await vendors_clock(endpoint, CLOCK) if endpoint is not None and not endpoint.is_local else []


async def _others_can_be_used(settings: Settings) -> None:
    """Raises SettingsError where a start would, for the models that recall and voice messages need."""
    if settings.embeddings:
        await open_embedder(settings.embeddings, model_settings(settings)).aclose()
    if settings.transcription:
        await open_transcriber(settings.transcription, model_settings(settings)).aclose()


async def _asked(model: Provider) -> Finding:
    finding, took = partial(Finding, where="Model"), 0.0
    began = CLOCK.monotonic()
    try:
        async with aclosing(model.stream([ONE_WORD])) as stream:
            async for event in stream:
                if isinstance(event, TokensArrived) and not took:
                    took = CLOCK.monotonic() - began
                if isinstance(event, ResponseEnded) and took:
                    usage = event.usage or estimate_usage([ONE_WORD], "yes")
                    cost = cost_text(Spent.on([ModelCall(model.name, usage)]))
                    return finding(Level.GOOD, what=f"{model.name} answers, after {took:.1f} s ({cost})")
    except ProviderError as error:
        return finding(Level.PROBLEM, what=f"{model.name} does not answer", remedy=error.reason.to_operator)
    remedy = setup_texts.TRY_ANOTHER_MODEL
    return finding(Level.PROBLEM, what=f"{model.name} answers with nothing", remedy=remedy)


async def examine_servers(settings: Settings, only: Sequence[Plugin] | None = None) -> list[Finding]:
    """Connects to each MCP server, or to those of `only` these plug-ins, and says what it offers.

    One that does not answer stops no start.
    """
    try:
        configs, problems = tool_servers(settings, only)
        people_settings(settings, configs, None)
    except SettingsError as error:
        return [Finding(Level.PROBLEM, "Tools", "the MCP servers cannot be used", str(error))]
    wrong = [Finding(Level.WARNING, "Tools", problem) for problem in problems]
    by_pages = setup_texts.BY_PAGES.format(address=settings.sign_in_address)
    how = by_pages if settings.sign_in_address else setup_texts.BY_PASTING
    theirs = [config for config in configs if config.account is AccountKind.PERSON]
    wrong += [
        Finding(Level.NOTE, "Tools", setup_texts.PEOPLE_SIGN_IN.format(sentence=config.sentence, how=how))
        for config in theirs
    ]
    async with connecting(settings, configs) as sources:
        found = [asks_who_signs_in(one.name, one.reach, CLOCK) for one in theirs if isinstance(one.reach, HttpReach)]
        each = await asyncio.gather(*found, *(source.examine() for source in sources))
        return wrong + [finding for findings in each for finding in findings]


async def discord_application(settings: Settings) -> str:
    """The id of the application whose token is set. Raises SettingsError, and CogencyError if Discord does not say."""
    discord = discord_settings(settings)
    if discord is None:
        raise SettingsError(setup_texts.NAME_APPLICATION)
    from bot.platforms.discord.doctor import application_id  # noqa: PLC0415 -- only who uses Discord loads its libraries

    return await application_id(discord)


def _platforms(settings: Settings) -> dict[str, Tried]:
    """Each that has a token, by its name; else what is said in their place."""
    try:
        slack, discord = slack_apps(settings), discord_settings(settings)
        distribution = slack_distribution(settings)
    except SettingsError as error:
        wrong = Finding(Level.PROBLEM, "Settings", "not every setting of a platform is there", str(error))
        return {"Settings": partial(_said, wrong)}
    found: dict[str, Tried] = {}
    if slack:
        from bot.platforms.slack import doctor as of_slack  # noqa: PLC0415 -- only who uses Slack loads its libraries

        shared, token = slack_settings(settings), settings.slack_config_token
        found |= {app.label: partial(of_slack.examine, app, shared, CLOCK, token) for app in slack}
    if discord is not None:
        from bot.platforms.discord import doctor as of_discord  # noqa: PLC0415 -- as above

        found["Discord"] = partial(of_discord.examine, discord, CLOCK)
    if distribution is not None:
        told = setup_texts.DISTRIBUTED if distribution.installers else setup_texts.DISTRIBUTED_TO_NOBODY
        level = Level.GOOD if distribution.installers else Level.WARNING
        remedy = "" if distribution.installers else setup_texts.NAME_INSTALLERS
        said = Finding(level, "Slack", told.format(address=distribution.address), remedy)
        found["Slack, by its page"] = partial(_said, said)
    none = Finding(Level.WARNING, "Settings", "no platform has a token", setup_texts.SET_TOKENS)
    return found or {"Settings": partial(_said, none)}


async def _said(finding: Finding) -> list[Finding]:
    return [finding]


async def examine_platforms(settings: Settings) -> list[Finding]:
    """How each platform that has a token is set up."""
    each = await asyncio.gather(*(run() for run in _platforms(settings).values()))
    return [finding for findings in each for finding in findings]
