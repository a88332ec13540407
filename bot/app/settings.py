"""All settings of the program: what each feature declares, read once into one frozen value.

A feature takes only its own part. The rules of reading stand in `bot.settings.reading`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from platformdirs import user_data_path

from agent.errors import SettingsError
from agent.providers import static_embeddings
from agent.providers.catalog import is_loopback
from bot.acts.settings import ActSettings
from bot.api.settings import ApiSettings
from bot.app.http_settings import HttpSettings
from bot.app.network_settings import HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE, NetworkSettings, in_capitals
from bot.app.storage_settings import DATABASE_URL, REPLICA_URL, StorageSettings, database_hosts, passwords_of
from bot.budgets.settings import BudgetSettings
from bot.channels.settings import ChannelSettings
from bot.chat.access.settings import AccessSettings
from bot.chat.attachments.settings import AttachmentSettings
from bot.chat.settings import ChatSettings
from bot.chat.turns.settings import TurnSettings
from bot.connect.settings import ConnectSettings
from bot.forgetting.settings import ForgettingSettings
from bot.handoff.settings import HandoffSettings
from bot.hooks.settings import HookSettings
from bot.memory.settings import MemorySettings
from bot.models.settings import ModelSettings
from bot.operators.settings import OperatorSettings, header_values, is_header_variable
from bot.platforms.discord.settings import DiscordSettings
from bot.platforms.slack.settings import SlackSettings
from bot.python.settings import PythonSettings
from bot.settings import texts as settings_texts
from bot.settings.declaration import Setting, SettingOrigin, ShownSetting, declared_settings, in_order
from bot.settings.reading import (
    custom_addresses,
    exposure_sentence,
    misspelt_names,
    parse_values,
    read_written,
    refuse_foreign_addresses,
    refuse_foreign_code,
    refuse_foreign_routes,
    shown_settings,
)
from bot.settings.secret import Secret
from bot.settings.sources import Keychain, system_keychain
from bot.tools.accounts.settings import AccountSettings
from bot.tools.mcp.config import ENVIRONMENT
from bot.tools.mcp.settings import MCP, McpSettings, mcp_file
from bot.tools.plugins.settings import PluginSettings
from bot.tools.settings import ToolSettings
from bot.web.settings import WebSettings
from bot.webhooks.outgoing.settings import OUTGOING, OutgoingSettings, outgoing_rows
from bot.webhooks.settings import WEBHOOKS, WebhookSettings, hooks_of

# Environment variables whose values PostgreSQL's clients send to the server they are given.
PASSWORDS: Final = ("PGPASSWORD", "PGPASSFILE")


ROUTE_SENTENCES: Final = {
    HTTPS_PROXY: settings_texts.GOES_THROUGH,
    HTTP_PROXY: settings_texts.GOES_THROUGH,
    SSL_CERT_FILE: settings_texts.TRUSTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings: a dataclass of each feature, in the order in which `.env.example` lists them within a section."""

    storage: StorageSettings = field(default_factory=StorageSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    operators: OperatorSettings = field(default_factory=OperatorSettings)
    slack: SlackSettings = field(default_factory=SlackSettings)
    discord: DiscordSettings = field(default_factory=DiscordSettings)
    turns: TurnSettings = field(default_factory=TurnSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    accounts: AccountSettings = field(default_factory=AccountSettings)
    plugins: PluginSettings = field(default_factory=PluginSettings)
    python: PythonSettings = field(default_factory=PythonSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    attachments: AttachmentSettings = field(default_factory=AttachmentSettings)
    forgetting: ForgettingSettings = field(default_factory=ForgettingSettings)
    channels: ChannelSettings = field(default_factory=ChannelSettings)
    acts: ActSettings = field(default_factory=ActSettings)
    handoff: HandoffSettings = field(default_factory=HandoffSettings)
    connect: ConnectSettings = field(default_factory=ConnectSettings)
    api: ApiSettings = field(default_factory=ApiSettings)
    budgets: BudgetSettings = field(default_factory=BudgetSettings)
    web: WebSettings = field(default_factory=WebSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    outgoing: OutgoingSettings = field(default_factory=OutgoingSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)

    mcp_variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables that the file of COGENCY_MCP may use: the environment and `.env`; without that file, what any program
    gets. This field and the next ones are not settings.
    """
    webhook_variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables in which the files of COGENCY_WEBHOOKS and COGENCY_OUTGOING_WEBHOOKS may find secrets: the environment
    and `.env`.
    """
    supervisor: Mapping[str, str] = field(default_factory=dict[str, str])
    """systemd's variables for notifications (sd_notify(3)), from the environment only."""
    opentelemetry: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """OpenTelemetry's own variables, from the environment only: its library reads them there."""
    secret_files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files that hold secrets, by the settings that name them (NAME_FILE)."""
    shown: tuple[ShownSetting, ...] = field(default=(), repr=False, compare=False)
    """All settings in order, with where they were read."""
    misspelt: tuple[tuple[str, str], ...] = ()
    """Names in `.env` that match no setting, each with the setting it resembles."""

    @property
    def plugin_list(self) -> Path:
        """The file in which `cogency plugins add` lists folders: next to the database, if that is a file."""
        scheme, _, database = self.storage.url.partition(":///")
        folder = Path(database).parent if scheme.startswith("sqlite") else user_data_path("cogency", appauthor=False)
        return folder / "plugins.txt"

    def values(self) -> dict[str, Any]:
        """Return the values of all settings, by name."""
        return {
            setting.name: getattr(getattr(self, part), attribute)
            for part, group in GROUPS.items()
            for attribute, setting in declared_settings(group).items()
        }

    def secrets(self) -> tuple[str, ...]:
        """Return all secrets that are set, as clear text, for code that must keep them out of its output."""
        held = [value.reveal_all() for value in self.values().values() if isinstance(value, Secret)]
        secrets = [secret for each in held for secret in each]
        others: list[str] = []
        with suppress(SettingsError):  # it is reported where the servers are needed
            others = [secret for server in mcp_file(self.mcp, self.mcp_variables).servers for secret in server.secrets]
        with suppress(SettingsError):  # as above
            rows = outgoing_rows(self.outgoing, self.webhook_variables)
            others += [secret.text for row in rows for secret in row.secrets]
        with suppress(SettingsError):  # as above
            hooks = hooks_of(self.webhooks, self.webhook_variables).values()
            others += [secret for hook in hooks for secret in hook.revealed]
        headers = header_values(self.opentelemetry.items())
        routes = (self.network.https_proxy, self.network.http_proxy)
        for url in (self.storage.url, self.storage.replica_url, *filter(None, routes)):
            others += passwords_of(url)
        return tuple(filter(None, [*secrets, *others, *headers]))


# The dataclasses of the features, by the field of `Settings`.
GROUPS: Final[Mapping[str, type]] = {
    part.name: part.default_factory  # the dataclass itself
    for part in fields(Settings)
    if isinstance(part.default_factory, type) and declared_settings(part.default_factory)
}


def all_settings() -> Sequence[Setting]:
    """Return every declared setting, in the order of `.env.example`."""
    return in_order(GROUPS.values())


def setting_names() -> tuple[str, ...]:
    """Return the name of every setting, in the order of `.env.example`."""
    return tuple(setting.name for setting in all_settings())


def names_of_ours() -> tuple[str, ...]:
    """Return the names that make a file one of this program: all settings but those that other programs have, too."""
    return tuple(setting.name for setting in all_settings() if not setting.sensitivity.is_route)


def load_settings(
    environ: Mapping[str, str],
    dotenv: Path | None = None,
    data_folder: Path | None = None,
    *,
    keychain: Keychain = system_keychain,
    is_own_file: bool = False,
    has_static_embeddings: Callable[[], bool] = static_embeddings.is_installed,
) -> Settings:
    """Read the settings. `data_folder` holds the default database (None: the user's own folder).

    `is_own_file`: `dotenv` did not come with a folder (`SettingsFile`), so it is trusted as the environment is.
    `has_static_embeddings`: whether the model inside the program is installed, which is the default then.

    Raises SettingsError with one sentence for the first problem found.
    """
    declared = all_settings()
    written = read_written(declared, in_capitals(environ), dotenv, keychain)
    values = parse_values(declared, written)
    values.setdefault(DATABASE_URL, _default_database_url(data_folder))
    if has_static_embeddings():
        values.setdefault("COGENCY_EMBEDDINGS", static_embeddings.StaticEmbedder.name)
    given, everything = written.environment, written.values
    if not is_own_file:
        # Servers have keys of their own, and run what lies in their caches: what no check below knows comes from the
        # environment alone.
        unchecked = {*ENVIRONMENT} - {setting.name for setting in declared} - given.keys()
        everything = {name: value for name, value in everything.items() if name not in unchecked}
    settings = Settings(
        **{part: _group(group, values) for part, group in GROUPS.items()},
        mcp_variables=everything
        if MCP in values
        else {name: everything[name] for name in ENVIRONMENT if name in everything},
        webhook_variables=written.values if {OUTGOING, WEBHOOKS} & values.keys() else {},
        supervisor={name: given[name] for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC") if name in given},
        opentelemetry={name: value for name, value in given.items() if name.startswith("OTEL_")},
        secret_files=written.secret_files,
        shown=shown_settings(declared, values, written),
        misspelt=tuple(misspelt_names(declared, written)),
    )
    if is_own_file:
        return settings
    # The database's folder holds the list of plug-ins, which run code.
    by_list = (DATABASE_URL,) if settings.plugin_list.exists() else ()
    refuse_foreign_code(declared, values, written, dotenv, by_list)
    passwords = [name for name in PASSWORDS if name in given]
    for name in _remote_databases(settings):
        if name not in given and passwords:
            raise SettingsError(exposure_sentence(name, dotenv, passwords))
    refuse_foreign_addresses(declared, values, written, dotenv)
    refuse_foreign_routes(declared, values, written, dotenv, [name for name in given if is_header_variable(name)])
    return settings


def _group(group: type, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- the dataclass of any feature
    declared = declared_settings(group)
    return group(**{name: values[setting.name] for name, setting in declared.items() if setting.name in values})


def moved_addresses(settings: Settings) -> list[str]:
    """Return a sentence for each address that is not the vendor's and receives a key or is on another machine, for
    each database on another machine, and for what `.env` says of how everything is reached.
    """
    values, sentences = settings.values(), list[str]()
    for setting, address in custom_addresses(all_settings(), values):
        keys = [key for key in setting.sensitivity.keys if values[key] is not None]
        if keys or not is_loopback(urlsplit(address).hostname or ""):
            suffix = f", and so {'does' if len(keys) == 1 else 'do'} {' and '.join(keys)}" if keys else ""
            sentences.append(settings_texts.GOES_ELSEWHERE.format(name=setting.name, address=address, too=suffix))
    for name, hosts in _remote_databases(settings).items():
        sentences.append(settings_texts.DATABASE_ELSEWHERE.format(name=name, hosts=" and ".join(hosts)))
    in_dotenv = {shown.name: shown.value for shown in settings.shown if shown.origin is SettingOrigin.DOTENV}
    for name, sentence in ROUTE_SENTENCES.items():
        if name in in_dotenv:
            scheme = f"{name.partition('_')[0].lower()}://"
            sentences.append(sentence.format(name=name, value=in_dotenv[name], scheme=scheme))
    return sentences


def _remote_databases(settings: Settings) -> dict[str, list[str]]:
    """The other machines that store data, by the setting that names them."""
    urls = {
        DATABASE_URL: settings.storage.url,
        REPLICA_URL: settings.storage.replica_url,
    }
    hosts = {name: database_hosts(url) for name, url in urls.items() if url}
    return {
        name: remote for name, names in hosts.items() if (remote := [host for host in names if not is_loopback(host)])
    }


def _default_database_url(data_folder: Path | None) -> str:
    folder = user_data_path("cogency", appauthor=False) if data_folder is None else data_folder
    return f"sqlite:///{(folder / 'cogency.db').as_posix()}"
