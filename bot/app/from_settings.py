"""Derives the settings of platforms, access rules, budgets and models from the program's settings; opens the models."""

import random
import tomllib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.providers.catalog import is_loopback
from agent.tool_policy import PolicyRow, read_rows
from bot.acts.settings import ActMode
from bot.app import texts as app_texts
from bot.app.settings import Settings
from bot.app.storage_settings import StorageSettings
from bot.budgets import settings as budget_settings
from bot.budgets.budgets import Budget, Budgets
from bot.budgets.gate import ExtensionRules
from bot.chat.access.acl import AccessKind, AccessRules, Entries
from bot.chat.access.admission import AdmissionRules, RateLimits
from bot.chat.access.settings import AccessSettings
from bot.models.switch import ModelSwitch
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.settings import OtherServers
from bot.platforms.slack import settings as slack
from bot.platforms.slack.options import (
    EVERYTHING,
    USUAL,
    Delivery,
    Distribution,
    HttpEvents,
    SlackApp,
    SlackFeature,
    SlackOptions,
    SocketMode,
    required_features,
    scopes,
)
from bot.platforms.slack.settings import SLACK_APPS
from bot.settings import parsers
from bot.settings.declaration import needed
from bot.settings.installation import command_for
from bot.settings.sources import named_file, path_beside
from bot.tools.mcp.config import is_plain_loopback
from bot.tools.settings import TOOL_POLICY

MAX_FAULTS: Final = 5  # Reported at once; the others are reported once these are fixed
KEY_FILE: Final = "_file"
HTTP: Final = "http/protobuf"  # OpenTelemetry's name of the protocol by which traces are sent


def operator_address(settings: Settings) -> str:
    """Return the address of the operators' page for browsers, "" where it is off. Raises SettingsError."""
    ours = settings.operators
    return _served_at(ours.page, ours.address, "COGENCY_OPERATOR_ADDRESS", app_texts.OPERATOR_PAGE_OPEN)


def http_address(settings: Settings) -> str:
    """Return the address at which other programs reach the bot, "" where they cannot. Raises SettingsError."""
    return _served_at(settings.http.listen, settings.http.address, "COGENCY_HTTP_ADDRESS", app_texts.HTTP_OPEN)


def _served_at(listen: tuple[str, int] | None, address: str, setting: str, no_address: str) -> str:
    """Return the public address of a server, "" for one that is off. `setting`: names the address; `no_address`: why it
    is needed where other machines reach the server. Raises SettingsError.
    """
    if listen is None:
        return ""
    if address:
        if urlsplit(address).path:
            raise SettingsError(app_texts.ADDRESS_PATH.format(setting=setting))
        if address.startswith("http:") and not is_plain_loopback(address):
            raise SettingsError(app_texts.ADDRESS_PLAIN.format(setting=setting))
        return address
    host, port = listen
    if not is_loopback(host):
        raise SettingsError(no_address.format(host=host))
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def slack_options(settings: Settings) -> SlackOptions:
    """Return the options that all Slack apps share."""
    return SlackOptions(
        settings.slack.api_base_url,
        settings.access.allowed_bots,
        managers=settings.slack.managers,
        groups=_groups(settings.access.allow, *settings.access.model_access.values(), settings.handoff.people),
        denied=_groups(settings.access.deny),
        acts=settings.acts.is_on,
        chosen=settings.slack,
    )


def slack_apps(settings: Settings) -> tuple[SlackApp, ...]:
    """Return the Slack apps; none without a token. Raises SettingsError where an app lacks a setting."""
    if settings.slack.apps is not None:
        # Two lists of apps would serve one workspace twice, and answer each question twice.
        if settings.slack.bot_token or settings.slack.app_token or settings.slack.client_id:
            raise SettingsError(app_texts.TWO_SLACK_LISTS)
        described = [in_file.app for in_file in apps_in_file(settings, settings.slack.apps)]
        if unknown := sorted({*settings.slack.serve} - {app.name for app in described}):
            raise SettingsError(app_texts.SLACK_SERVE_UNKNOWN.format(name=unknown[0], file=settings.slack.apps))
        return tuple(app for app in described if not settings.slack.serve or app.name in settings.slack.serve)
    if settings.slack.client_id or not (settings.slack.bot_token or settings.slack.app_token or settings.slack.http):
        return ()
    token = needed(settings.slack.bot_token, "SLACK_BOT_TOKEN")
    return (SlackApp(token, _delivery(settings), command_prefix=settings.slack.command_prefix),)


def slack_distribution(settings: Settings) -> Distribution | None:
    """Return the app that other workspaces may install; None without a client id. Raises SettingsError."""
    if not settings.slack.client_id:
        return None
    if settings.slack.bot_token is not None:
        raise SettingsError(app_texts.SLACK_DISTRIBUTION_ALONE)
    has_key = settings.accounts.key is not None or settings.accounts.key_file is not None
    needs = {
        "SLACK_CLIENT_SECRET": settings.slack.client_secret,
        "SLACK_SIGNING_SECRET": settings.slack.signing_secret,
        "COGENCY_SLACK_HTTP": settings.slack.http,
        "COGENCY_SLACK_ADDRESS": settings.slack.address,
        "COGENCY_ACCOUNT_KEY": has_key,
    }
    if lacking := [name for name, value in needs.items() if not value]:
        raise SettingsError(app_texts.SLACK_DISTRIBUTION_LACKS.format(lacking=", ".join(lacking)))
    address = settings.slack.address.rstrip("/")
    plain = address.startswith("http:") and not is_plain_loopback(address)
    if plain or urlsplit(address).path:
        raise SettingsError(app_texts.SLACK_ADDRESS_PLAIN)
    delivery = _delivery(settings)
    assert isinstance(delivery, HttpEvents)  # noqa: S101 -- COGENCY_SLACK_HTTP is set
    return Distribution(
        settings.slack.client_id,
        needed(settings.slack.client_secret, "SLACK_CLIENT_SECRET"),
        address,
        delivery,
        settings.slack.installers,
        settings.slack.command_prefix,
        tuple(sorted(scopes(required_features(slack_options(settings))))),
    )


def manifest_text(
    settings: Settings,
    features: frozenset[SlackFeature] | None,
    prefix: str | None,
    url: str,
    app: str,
    name: str,
    *,
    as_json: bool,
) -> str:
    """Return the manifest of the app `name`; `app`: its name in the file of apps, or "". Raises SettingsError."""
    from bot.platforms.slack import manifest  # noqa: PLC0415 -- a bot without Slack does not load it

    default = _command_prefix(settings, app)
    if features is None:
        features = EVERYTHING if settings.acts.is_on else USUAL
    try:
        built = manifest.manifest(features, name=name, prefix=default if prefix is None else prefix, url=url, app=app)
    except ValueError as error:
        raise SettingsError(app_texts.NO_MANIFEST.format(error=error)) from error
    return manifest.as_json(built) if as_json else manifest.as_yaml(built)


def _command_prefix(settings: Settings, app: str) -> str:
    """Return the prefix of an app's commands; the default for an app that is not described yet."""
    if not app or settings.slack.apps is None:
        return settings.slack.command_prefix
    apps = [in_file.app for in_file in apps_in_file(settings, settings.slack.apps)]
    return next((item.command_prefix for item in apps if item.name == app), settings.slack.command_prefix)


# The file that describes several apps: a table for each, under its name.


@dataclass(frozen=True, slots=True)
class AppInFile:
    """`budget`: the daily budget of its workspace; None if the table sets none."""

    app: SlackApp
    budget: Budget | None


TOKENS_PER_DAY: Final = "tokens_per_day"
DOLLARS_PER_DAY: Final = "dollars_per_day"

APP_KEYS: Final[Mapping[str, Callable[[str], object]]] = {
    "bot_token": parsers.secret("xoxb-", "copy it from the app's OAuth & Permissions page"),
    "app_token": parsers.secret("xapp-", "create an app-level token on the app's Basic Information page"),
    "signing_secret": parsers.key,
    "app_id": slack.slack_app_id,
    "command_prefix": slack.parse_command_prefix,
    "managers": slack.slack_groups,
    TOKENS_PER_DAY: parsers.limit(10**12),
    DOLLARS_PER_DAY: budget_settings.dollars,
}
# Each may be in a file of its own, which the key NAME_file names.
SECRET_KEYS: Final = ("bot_token", "app_token", "signing_secret")


def apps_in_file(settings: Settings, name: str) -> tuple[AppInFile, ...]:
    """Return the apps that the file describes, in its order. It holds tokens, so its rights are checked as those of
    `.env` are.

    Raises SettingsError with the file, the app and the key, or with the line that is not TOML.
    """
    file, content = named_file(SLACK_APPS, name)
    try:
        tables: Mapping[str, Any] = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(app_texts.SLACK_APPS_NO_TOML.format(file=file, error=error)) from None
    apps = tuple(_app_in(settings, file, app_name, table) for app_name, table in tables.items())
    if not apps:
        raise SettingsError(app_texts.SLACK_APPS_EMPTY.format(file=file))
    tokens = [described.app.bot_token.reveal() for described in apps]
    if repeated := [
        described.app.name for described, token in zip(apps, tokens, strict=True) if tokens.count(token) > 1
    ]:
        raise SettingsError(app_texts.SLACK_APP_TWICE.format(file=file, names=" and ".join(repeated)))
    return apps


def app_secret_files(name: str) -> list[Path]:
    """Return the token files that the file of apps names, as far as it can be read."""
    try:
        file, content = named_file(SLACK_APPS, name)
        tables: Mapping[str, Any] = tomllib.loads(content)
    except (SettingsError, tomllib.TOMLDecodeError, RecursionError):
        return []  # `apps_in_file` reports the error
    keys = [f"{key}{KEY_FILE}" for key in SECRET_KEYS]
    valid = [cast("dict[str, object]", table) for table in tables.values() if isinstance(table, dict)]
    files = [table.get(key) for table in valid for key in keys]
    return [path_beside(file, file_name) for file_name in files if isinstance(file_name, str)]


def _app_in(settings: Settings, file: Path, name: str, table: object) -> AppInFile:
    def error(problem: str) -> SettingsError:
        return SettingsError(app_texts.SLACK_APP_WRONG.format(file=file, app=name, problem=problem))

    try:
        slack.slack_app(name)
    except ValueError as problem:
        raise error(f"its name {problem}") from None
    if not isinstance(table, dict):
        raise error(app_texts.SLACK_APP_TABLE)
    values = dict[str, Any]()
    for key, value in cast("dict[str, object]", table).items():
        # Each secret can also be given as a file of its own, by the same key with a suffix.
        base = key.removesuffix(KEY_FILE)
        in_file = base != key and base in SECRET_KEYS
        if base not in APP_KEYS or (base != key and not in_file):
            known = ", ".join([*APP_KEYS, *(f"{secret}{KEY_FILE}" for secret in SECRET_KEYS)])
            raise error(app_texts.SLACK_APP_KEY.format(key=key, known=known))
        if base in values:
            raise error(app_texts.SLACK_APP_KEY_TWICE.format(key=base, file=f"{base}{KEY_FILE}"))
        # TOML has lists and numbers where environment variables have text: both take one way from here, with the same
        # errors.
        text = ",".join(map(str, cast("list[object]", value))) if isinstance(value, list) else value
        if base in (TOKENS_PER_DAY, DOLLARS_PER_DAY) and isinstance(value, int | float) and not isinstance(value, bool):
            text = str(value)
        if not isinstance(text, str) or not text.strip():
            raise error(app_texts.SLACK_APP_TEXT.format(key=key))
        if in_file:
            text = named_file(f"{key} of the app {name} in {file}", str(path_beside(file, text)))[1]
        try:
            values[base] = APP_KEYS[base](text.strip())
        except ValueError as problem:
            raise error(f"{key} {problem}") from None
    return _app_of(settings, file, name, values, error)


def _app_of(
    settings: Settings, file: Path, name: str, values: Mapping[str, Any], error: Callable[[str], SettingsError]
) -> AppInFile:
    if "bot_token" not in values:
        raise error(app_texts.SLACK_APP_INCOMPLETE)
    if ("app_token" in values) == ("signing_secret" in values):
        raise error(app_texts.SLACK_APP_WAYS)
    delivery: Delivery
    if "app_token" in values:
        delivery = SocketMode(values["app_token"], settings.slack.connections)
    elif settings.slack.http is None:
        raise error(app_texts.SLACK_APP_NO_HTTP)
    else:
        delivery = HttpEvents(values["signing_secret"], *settings.slack.http)
    app = SlackApp(
        values["bot_token"],
        delivery,
        name,
        values.get("app_id", ""),
        values.get("command_prefix", settings.slack.command_prefix),
        values.get("managers", frozenset()),
        file.name,
    )
    return AppInFile(app, _budget(settings, values))


def _budget(settings: Settings, values: Mapping[str, Any]) -> Budget | None:
    """Return the budget of an app's table, completed with the workspace's default; None if the table sets none."""
    if not {TOKENS_PER_DAY, DOLLARS_PER_DAY} & values.keys():
        return None
    money = values.get(DOLLARS_PER_DAY, settings.budgets.workspace_dollars)
    return Budget(values.get(TOKENS_PER_DAY, settings.budgets.workspace_tokens), money)


def _groups(*lists: Entries) -> frozenset[str]:
    """Return the Slack user groups that access lists name as roles."""
    roles = (entry.id for entries in lists for entry in entries if entry.kind is AccessKind.ROLE)
    return frozenset(role for role in roles if role.startswith("S"))


def _delivery(settings: Settings) -> Delivery:
    if settings.slack.http is None:
        if settings.slack.app_token is None:
            raise SettingsError(app_texts.NO_SLACK_WAY)
        return SocketMode(settings.slack.app_token, settings.slack.connections)
    if settings.slack.app_token is not None:
        raise SettingsError(app_texts.TWO_SLACK_WAYS)
    host, port = settings.slack.http
    return HttpEvents(needed(settings.slack.signing_secret, "SLACK_SIGNING_SECRET"), host, port)


def discord_options(settings: Settings) -> DiscordOptions | None:
    """Return Discord's options; None without a token. Raises SettingsError if the bot would leave every server."""
    if settings.discord.token is None:
        return None
    home = frozenset(
        entry.id for entry in settings.access.allow if entry.kind is AccessKind.TEAM and entry.id.isdecimal()
    )
    servers = settings.discord.servers | home
    if settings.discord.other_servers is OtherServers.LEAVE and not servers:
        raise SettingsError(app_texts.NO_SERVERS_TO_STAY_IN)
    return DiscordOptions(
        settings.discord.token,
        settings.discord.api_base_url,
        settings.discord.gateway_url,
        allowed_bots=settings.access.allowed_bots,
        servers=servers,
        home=home,
        acts=settings.acts.is_on,
        chosen=settings.discord,
    )


# The rules of admission control: who may ask, how often, and for how much money. Pure.


def policy_file(settings: Settings) -> tuple[PolicyRow, ...]:
    """Return the rows of the file that COGENCY_TOOL_POLICY names, which is read as `.env` is.

    Raises SettingsError, also for a single unreadable row: it may be the one that forbids something.
    """
    if settings.tools.policy is None:
        return ()
    file, content = named_file(TOOL_POLICY, settings.tools.policy)
    rows, faults = read_rows(content)
    if faults:
        omitted = [f"and {len(faults) - MAX_FAULTS:,} more"] if len(faults) > MAX_FAULTS else []
        listed = "; ".join([*faults[:MAX_FAULTS], *omitted])
        raise SettingsError(app_texts.POLICY_FAULTS.format(setting=TOOL_POLICY, file=file, faults=listed))
    return rows


def gate_rules(access: AccessSettings) -> AdmissionRules:
    """Return who may ask, and how often."""
    return AdmissionRules(
        access_rules(access),
        RateLimits.of(
            person_minute=access.person_per_minute,
            person_hour=access.person_per_hour,
            channel_minute=access.channel_per_minute,
            backlog=access.backlog,
        ),
    )


def access_rules(access: AccessSettings) -> AccessRules:
    return AccessRules(access.allow, access.deny, access.open_to, access.model_access, access.operators)


def budgets(settings: Settings) -> Budgets:
    """Return what may be spent in a day. Raises SettingsError."""
    return Budgets(
        person=Budget(settings.budgets.person_tokens, settings.budgets.person_dollars),
        channel=Budget(settings.budgets.channel_tokens, settings.budgets.channel_dollars),
        everyone=Budget(settings.budgets.everyone_tokens, settings.budgets.everyone_dollars),
        workspace=Budget(settings.budgets.workspace_tokens, settings.budgets.workspace_dollars),
        apps={} if settings.slack.apps is None else _app_budgets(settings, settings.slack.apps),
    )


def extension_rules(settings: Settings) -> ExtensionRules:
    """Return who can extend budgets, and by how much."""
    access, ours = access_rules(settings.access), settings.budgets
    return ExtensionRules(ours.extension, ours.approvers, access.operators, access.is_operator)


def run_limit(settings: Settings) -> Budget:
    """Return what one answer may use before its asker is asked."""
    return Budget(settings.budgets.run_tokens, settings.budgets.run_dollars)


def _app_budgets(settings: Settings, file: str) -> dict[str, Budget]:
    described = apps_in_file(settings, file)
    return {in_file.app.name: in_file.budget for in_file in described if in_file.budget is not None}


def for_play(settings: Settings, database: Path) -> Settings:
    """Return the settings for the page to try the bot: without access lists, other platforms and operators' pages, and
    with acts.
    """
    everyone = AccessSettings()
    return replace(
        settings,
        storage=StorageSettings(url=f"sqlite:///{database.absolute().as_posix()}"),
        access=replace(
            settings.access,
            allow=everyone.allow,
            deny=everyone.deny,
            open_to=everyone.open_to,
            model_access=everyone.model_access,
            operators=everyone.operators,
        ),
        acts=replace(settings.acts, mode=ActMode.ON),
        operators=replace(settings.operators, health=None, page=None, address=""),
        http=replace(settings.http, listen=None, address=""),
        outgoing=replace(settings.outgoing, file=None),
        slack=replace(settings.slack, apps=None, http=None, app_token=None, bot_token=None),
        discord=replace(settings.discord, token=None),
        supervisor={},
    )


def sends_traces(settings: Settings) -> bool:
    """Return whether OpenTelemetry's variables name an endpoint for traces, and do not switch them off."""
    otel = settings.opentelemetry
    is_set = any(otel.get(name) for name in ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"))
    is_off = otel.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return is_set and not is_off and otel.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() == "otlp"


def no_traces(settings: Settings, find_module: Callable[[str], object]) -> str:
    """Return why traces cannot be sent, "" if they can. The variables may be set for a whole machine, so this does not
    stop the bot.

    `find_module`: finds a module by its name, or returns None.
    """
    if not all(map(find_module, ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter"))):
        return app_texts.OTEL_MISSING.format(command=command_for("otel"))
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((settings.opentelemetry[name].strip() for name in names if name in settings.opentelemetry), HTTP)
    return "" if protocol == HTTP else app_texts.OTEL_PROTOCOL.format(protocol=protocol)


@asynccontextmanager
async def open_models(settings: Settings) -> AsyncGenerator[ModelSwitch, None]:
    """Open the models, and close them when the block ends. Raises SettingsError."""
    switch = await ModelSwitch.open(settings.models, CLOCK, random.random)
    try:
        yield switch
    finally:
        await switch.aclose()
