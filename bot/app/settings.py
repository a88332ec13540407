"""All settings of the program: read once, from the environment and `.env`, into one frozen value."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import urlsplit

from platformdirs import user_data_path

from agent.admission_terms import Authority
from agent.context import LANGUAGE, PERSONA
from agent.errors import SettingsError
from agent.machine import place_of
from agent.memory.audience import AudienceKind
from agent.providers import static_embeddings
from agent.providers.catalog import Mode, ToolsForm, is_loopback
from agent.spending import NANO, Money
from bot.app import storage
from bot.budgets import settings as budget_settings
from bot.budgets.report import FooterStyle
from bot.chat import settings as chat_settings
from bot.chat.access import acl
from bot.chat.access import settings as access_settings
from bot.chat.attachments.kinds import TEXT_TOKENS
from bot.chat.logs import LogForm, LogLevel
from bot.chat.turns.settings import WhileBusy
from bot.forgetting import settings as forgetting_settings
from bot.models import settings as model_settings
from bot.operators import settings as operator_settings
from bot.operators.settings import OperatorAct
from bot.platforms.discord import settings as discord
from bot.platforms.discord.settings import OtherServers, ReplyMode
from bot.platforms.slack import settings as slack
from bot.platforms.slack.settings import Streaming
from bot.settings import parsers
from bot.settings import texts as settings_texts
from bot.settings.declaration import SOURCE, From, SettingOrigin, ShownSetting, setting
from bot.settings.secret import Secret
from bot.settings.sources import (
    IN_FILE,
    Keychain,
    from_keychain,
    is_in_keychain,
    is_in_repository,
    named_file,
    read_dotenv,
    system_keychain,
    with_files,
)
from bot.tools import settings as tool_settings
from bot.tools.mcp.config import ENVIRONMENT, McpFile, parse_file
from bot.tools.plugins import settings as plugin_settings
from bot.web import settings as web_settings
from bot.web.guard import Networks, parse_networks

OURS = "COGENCY_"
TOOLS: Final = "COGENCY_TOOLS"
MCP: Final = "COGENCY_MCP"
TOOL_POLICY: Final = "COGENCY_TOOL_POLICY"
MAX_FAULTS: Final = 5  # Reported at once; the others are reported once these are fixed
SLACK_APPS: Final = "COGENCY_SLACK_APPS"
# The last one names a file with tokens, and counts as one itself.
SLACK_TOKENS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_CONFIG_TOKEN", SLACK_APPS)
# Environment variables whose values PostgreSQL's clients send to the server they are given.
PASSWORDS = ("PGPASSWORD", "PGPASSFILE")
# Settings that decide which programs run, and so where keys in the environment could be sent.
RUN_COMMANDS = (MCP, "COGENCY_PLUGINS")
FIVE_DOLLARS = Money(5 * NANO)
HUNDRED_DOLLARS = Money(100 * NANO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. Each field's setting and its form are described in `.env.example`.

    Rules
    - The environment is an argument. It overrides `.env`; an empty value counts as not set.
    - A secret may be in a file that NAME_FILE names, or in the system's keychain. Such a file, like `.env`, is read
      only if no other user could have written it; and the secret is sent to no address that only `.env` has changed.
    - Names that begin with COGENCY_ are reserved: an unknown one is an error.
    - Every problem is one `SettingsError`: a sentence that names the setting and the remedy, never the value.
    - Values in `.env` are literal: a "$" in a password is a "$".
    - `.env` cannot send a key of the environment to another address: the file comes with the folder, the key does not.
      An address from `.env` is used with keys from the same file, on this machine, and where no key is sent.
    """

    model: str | None = setting("COGENCY_MODEL", parsers.text, None)
    """"provider:name"; None chooses by the keys that are set, else a local Ollama, else rehearsal."""
    fallback_models: tuple[str, ...] = setting("COGENCY_FALLBACK_MODELS", model_settings.models, ())
    """Tried in this order while the chosen model is down."""
    learning_model: str | None = setting("COGENCY_LEARNING_MODEL", parsers.text, None)
    """For background work, where no person waits: a cheap model is enough. None: the model that answers."""
    embeddings: str | None = setting("COGENCY_EMBEDDINGS", model_settings.embeddings, None)
    """"provider:name" of a model for semantic recall; None: recall searches for words only. By default the one inside
    the program, where its extra is installed."""
    transcription: str | None = setting("COGENCY_TRANSCRIPTION", model_settings.transcription, None)
    """"provider:name" of a model that transcribes voice messages; None: people are asked to write instead."""
    allowed_models: tuple[str, ...] = setting("COGENCY_ALLOWED_MODELS", model_settings.models, ())
    """The models that people may choose with /model, besides the default."""
    channel_models: Mapping[str, str] = setting("COGENCY_CHANNEL_MODELS", model_settings.models_by_channel, {})
    """By the platform's channel id."""
    person_models: Mapping[str, str] = setting("COGENCY_PERSON_MODELS", model_settings.models_by_person, {})
    """By the platform's user id; overrides the channel's."""
    mode: Mode = setting("COGENCY_MODE", parsers.one_of(Mode), Mode.AUTO)
    tools_form: ToolsForm = setting("COGENCY_TOOLS_FORM", parsers.one_of(ToolsForm), ToolsForm.AUTO)
    tools: tuple[str, ...] = setting(TOOLS, tool_settings.modules, ())
    """Modules and entry points with the operator's own tools, loaded at start."""
    database_url: str = setting("COGENCY_DATABASE_URL", storage.database_url, "", shown=False)
    """The default is set by `load_settings`: a file in the user's data folder."""
    database_replica_url: str = setting("COGENCY_DATABASE_REPLICA_URL", storage.database_url, "", shown=False)
    """A streaming replica of a PostgreSQL database, on which past threads are searched; none if empty."""
    persona: str = setting("COGENCY_PERSONA", parsers.text, PERSONA)
    language: str = setting("COGENCY_LANGUAGE", parsers.text, LANGUAGE)
    channel_instructions: Mapping[str, str] = setting(
        "COGENCY_CHANNEL_INSTRUCTIONS", chat_settings.texts_by_channel, {}
    )
    """By the platform's channel id."""
    log_level: LogLevel | None = setting("COGENCY_LOG_LEVEL", parsers.one_of(LogLevel), None)
    """None: INFO for a service, whose log shows what each turn did; WARNING in a terminal."""
    log_form: LogForm = setting("COGENCY_LOG_FORMAT", parsers.one_of(LogForm), LogForm.AUTO)
    health: tuple[str, int] | None = setting("COGENCY_HEALTH", parsers.listen_address, None)
    """Where supervisors can request the health report; None: nowhere."""
    metrics: bool = setting("COGENCY_METRICS", parsers.switch, default=True)
    """Whether Prometheus can scrape metrics there, too."""
    operator_page: tuple[str, int] | None = setting("COGENCY_OPERATOR_PAGE", parsers.listen_address, None)
    """Where the operators' page listens; None: it is off."""
    operator_address: str = setting("COGENCY_OPERATOR_ADDRESS", parsers.url("https", "http"), "")
    """The address of a proxy with TLS in front of it; "": the page is for this machine only."""
    allowed_bots: frozenset[str] = setting("COGENCY_ALLOWED_BOTS", access_settings.ids, frozenset())
    """Ids of other bots that may talk to this one. Two bots that answer each other never stop."""
    discord_replies: ReplyMode = setting("COGENCY_DISCORD_REPLIES", parsers.one_of(ReplyMode), ReplyMode.THREAD)
    while_busy: WhileBusy = setting("COGENCY_WHILE_BUSY", parsers.one_of(WhileBusy), WhileBusy.WAIT)
    footer: FooterStyle = setting("COGENCY_FOOTER", parsers.one_of(FooterStyle), FooterStyle.OFF)

    allow: acl.Entries = setting("COGENCY_ALLOW", acl.parse_entries, frozenset())
    """Who may talk to the bot, as in `bot.chat.access.acl`; empty for every member."""
    deny: acl.Entries = setting("COGENCY_DENY", acl.parse_entries, frozenset())
    open_to: frozenset[Authority] = setting("COGENCY_OPEN_TO", acl.parse_openness, frozenset())
    """Guests and outsiders see only a part of a workspace, and no member is responsible for them."""
    model_access: Mapping[str, acl.Entries] = setting("COGENCY_MODEL_ACCESS", acl.parse_model_access, {})
    """Who may choose a model; one that is not listed is open to everyone."""
    ambient_per_day: int = setting("COGENCY_AMBIENT_PER_DAY", parsers.whole(0, 10_000), 20)
    """Per channel, if its managers want ambient answers. A small model examines each candidate first."""
    operators: frozenset[str] = setting("COGENCY_OPERATORS", access_settings.people, frozenset())
    """Ids of people who have no limits, and may change those of others."""
    person_per_minute: int | None = setting("COGENCY_PERSON_PER_MINUTE", parsers.limit(100_000), 20)
    """Faster than a person asks, and slower than a loop."""
    person_per_hour: int | None = setting("COGENCY_PERSON_PER_HOUR", parsers.limit(1_000_000), 200)
    """A question every eighteen seconds, for a whole hour."""
    channel_per_minute: int | None = setting("COGENCY_CHANNEL_PER_MINUTE", parsers.limit(100_000), 60)
    """A busy channel; people cannot read more answers than that, nor could a platform show them in time."""
    backlog: int | None = setting("COGENCY_BACKLOG", parsers.limit(1_000_000), 1_000)
    """Waiting questions. With sixteen at a time and half a minute each, the last one waits for half an hour."""
    max_running: int = setting("COGENCY_MAX_RUNNING", parsers.whole(1, 10_000), 16)
    """Answers that run at once in one process: what a vendor's lower tiers and two cores can carry."""
    person_running: int | None = setting("COGENCY_PERSON_RUNNING", parsers.limit(1_000), 4)
    """Answers of one person that run at once: a few parallel threads, a quarter of one process's slots."""
    person_tokens: int | None = setting("COGENCY_PERSON_TOKENS_PER_DAY", parsers.limit(10**12), 2_000_000)
    """About a hundred questions that each fill the context."""
    person_dollars: Money | None = setting("COGENCY_PERSON_DOLLARS_PER_DAY", budget_settings.dollars, FIVE_DOLLARS)
    """What those cost with a vendor's middle model, most of the input read from its cache."""
    channel_tokens: int | None = setting("COGENCY_CHANNEL_TOKENS_PER_DAY", parsers.limit(10**12), None)
    """Channels differ too much in size for one number."""
    channel_dollars: Money | None = setting("COGENCY_CHANNEL_DOLLARS_PER_DAY", budget_settings.dollars, None)
    workspace_tokens: int | None = setting("COGENCY_WORKSPACE_TOKENS_PER_DAY", parsers.limit(10**12), None)
    """For each Slack workspace whose app has no budget of its own in COGENCY_SLACK_APPS."""
    workspace_dollars: Money | None = setting("COGENCY_WORKSPACE_DOLLARS_PER_DAY", budget_settings.dollars, None)
    everyone_tokens: int | None = setting("COGENCY_EVERYONE_TOKENS_PER_DAY", parsers.limit(10**12), None)
    everyone_dollars: Money | None = setting(
        "COGENCY_EVERYONE_DOLLARS_PER_DAY", budget_settings.dollars, HUNDRED_DOLLARS
    )
    """A mistake costs no more than this before an operator looks at it."""

    max_iterations: int = setting("COGENCY_MAX_ITERATIONS", parsers.whole(1, 100), 10)
    """Model calls in one turn. A larger task is better asked again, with what was found."""
    lease_s: float = setting("COGENCY_LEASE_S", parsers.seconds(600), 9.0)
    """How long a silent process keeps its turns from others: longer than a busy machine's pauses. After a kill another
    process continues its answers within a second more."""
    tool_timeout_s: float = setting("COGENCY_TOOL_TIMEOUT_S", parsers.seconds(600), 20.0)
    """A person who watches a status line gives up at about this time."""
    history_messages: int = setting("COGENCY_HISTORY_MESSAGES", parsers.whole(1, 10_000), 200)
    """Earlier messages read for one turn; the token budget cuts further."""
    history_tokens: int = setting("COGENCY_HISTORY_TOKENS", parsers.whole(500, 1_000_000), 12_000)
    """About fifty pages of chat: enough to follow a thread, small enough for a local model with a 32k window."""
    memory_tokens: int = setting("COGENCY_MEMORY_TOKENS", parsers.whole(100, 100_000), 3_000)
    """Facts, past threads and the working set, apart from history; more would leave too little for the question."""
    earlier: bool = setting("COGENCY_EARLIER", parsers.switch, default=True)
    """Whether past threads related to the question are put in its context; else the model has to call a tool."""
    profile_tokens: int = setting("COGENCY_PROFILE_TOKENS", parsers.whole(0, 100_000), 800)
    """For what was learned about a person: about sixty short entries."""
    file_tokens: int = setting("COGENCY_FILE_TOKENS", parsers.whole(100, 10_000_000), TEXT_TOKENS)
    """For the content of one message's files together."""
    learning: bool = setting("COGENCY_LEARNING", parsers.switch, default=True)
    """Whether the bot learns about people from their questions."""
    first_notice: bool = setting("COGENCY_FIRST_NOTICE", parsers.switch, default=True)
    """Whether the first reply to a person says what is remembered, and how to stop it."""
    retention: Mapping[AudienceKind, int] = setting("COGENCY_RETENTION", forgetting_settings.retention, {})
    """For how many days messages in direct messages, private and public places are stored; without, forever."""
    removal_grace_days: int = setting("COGENCY_REMOVAL_GRACE_DAYS", parsers.whole(0, 3650), 30)
    """How long after a server has removed the bot what was said there is erased, unless it is invited back."""
    two_operators: frozenset[OperatorAct] = setting("COGENCY_TWO_OPERATORS", parsers.some_of(OperatorAct), frozenset())
    """Actions on a person's or a place's data that a second operator has to confirm."""
    first_token_timeout_s: float = setting("COGENCY_FIRST_TOKEN_TIMEOUT_S", parsers.seconds(3600), 180.0)
    """A local model may load for minutes before its first word."""
    next_token_timeout_s: float = setting("COGENCY_NEXT_TOKEN_TIMEOUT_S", parsers.seconds(600), 60.0)
    """Nothing loads between two pieces of an answer: a silent minute is a broken connection."""
    provider_retries: int = setting("COGENCY_PROVIDER_RETRIES", parsers.whole(0, 10), 2)
    """Retries while no text has arrived: as many as the vendors' own clients make."""

    mcp: str | None = setting(MCP, parsers.text, None)
    """The file that lists the MCP servers whose tools the bot has."""
    tool_policy: str | None = setting(TOOL_POLICY, parsers.text, None)
    """The file that says who may use which tools, and where. It precedes the rows that operators add by command."""

    account_key: Secret | None = setting("COGENCY_ACCOUNT_KEY", parsers.key, None)
    """Encrypts the tokens of servers at which people sign in; or else…"""
    account_key_file: str | None = setting("COGENCY_ACCOUNT_KEY_FILE", parsers.text, None)
    """… the file that holds it."""
    sign_in_address: str = setting("COGENCY_SIGN_IN_ADDRESS", parsers.url("https", "http"), "")
    """The address at which browsers reach the sign-in pages; "": people paste what their browser shows."""
    sign_in_http: tuple[str, int] | None = setting("COGENCY_SIGN_IN_HTTP", parsers.listen_address, None)
    """Where those pages are served."""

    plugins: tuple[Path, ...] = setting("COGENCY_PLUGINS", plugin_settings.folders, ())
    """Folders with skills and MCP servers, besides those listed by `cogency plugins add`."""

    web: bool = setting("COGENCY_WEB", parsers.switch, default=False)
    """Whether web pages can be read. Off by default: requests to other people's servers are the operator's decision."""
    web_agent: str = setting("COGENCY_WEB_AGENT", web_settings.header, "")
    """The user agent; "": the bot's name, version and kind."""
    web_robots: bool = setting("COGENCY_WEB_ROBOTS", parsers.switch, default=True)
    """Whether only pages that a site's robots.txt allows are read."""
    web_search: tuple[str, str] | None = setting("COGENCY_WEB_SEARCH", web_settings.web_search, None)
    """The search engine; None: no web search. There is no default, because the engine learns the questions."""
    brave_api_key: Secret | None = setting("BRAVE_API_KEY", parsers.key, None)
    tavily_api_key: Secret | None = setting("TAVILY_API_KEY", parsers.key, None)
    networks_allowed: Networks = setting("COGENCY_NETWORKS_ALLOWED", parse_networks, Networks())
    """Networks that may be read besides the public web."""

    openai_api_key: Secret | None = setting("OPENAI_API_KEY", parsers.key, None)
    anthropic_api_key: Secret | None = setting("ANTHROPIC_API_KEY", parsers.key, None)
    gemini_api_key: Secret | None = setting("GEMINI_API_KEY", parsers.key, None)
    openrouter_api_key: Secret | None = setting("OPENROUTER_API_KEY", parsers.key, None)
    mistral_api_key: Secret | None = setting("MISTRAL_API_KEY", parsers.key, None)
    xai_api_key: Secret | None = setting("XAI_API_KEY", parsers.key, None)
    openai_base_url: str = setting(
        "OPENAI_BASE_URL", parsers.web_address, "https://api.openai.com/v1", keys=("OPENAI_API_KEY",)
    )
    anthropic_base_url: str = setting(
        "ANTHROPIC_BASE_URL", parsers.web_address, "https://api.anthropic.com", keys=("ANTHROPIC_API_KEY",)
    )
    gemini_base_url: str = setting(
        "GEMINI_BASE_URL", parsers.web_address, "https://generativelanguage.googleapis.com", keys=("GEMINI_API_KEY",)
    )
    ollama_base_url: str = setting("OLLAMA_BASE_URL", parsers.web_address, "http://localhost:11434")

    slack_bot_token: Secret | None = setting(
        "SLACK_BOT_TOKEN", parsers.secret("xoxb-", "copy it from the app's page, OAuth & Permissions"), None
    )
    slack_app_token: Secret | None = setting(
        "SLACK_APP_TOKEN", parsers.secret("xapp-", "make one on the app's page, Basic Information"), None
    )
    slack_signing_secret: Secret | None = setting("SLACK_SIGNING_SECRET", parsers.key, None)
    slack_config_token: Secret | None = setting(
        "SLACK_CONFIG_TOKEN", parsers.secret("xoxe.xoxp-", "make one on https://api.slack.com/apps"), None
    )
    """Only for `cogency doctor`, which inspects the app's configuration with it."""
    slack_apps: str | None = setting("COGENCY_SLACK_APPS", parsers.text, None)
    """The file that describes several apps, in place of the one app of the tokens above."""
    slack_serve: tuple[str, ...] = setting("COGENCY_SLACK_SERVE", slack.slack_apps, ())
    """The apps that this process serves; empty for all."""
    slack_connections: int = setting("COGENCY_SLACK_CONNECTIONS", parsers.whole(1, 10), 2)
    """One stays open while the other is replaced; Slack's limit is ten, for all processes together."""
    slack_http: tuple[str, int] | None = setting("COGENCY_SLACK_HTTP", parsers.listen_address, None)
    """Where to listen for Slack's requests; None: Socket Mode."""
    slack_client_id: str = setting("SLACK_CLIENT_ID", slack.slack_client, "")
    """If set, other workspaces may install the app, on a page of the bot's."""
    slack_client_secret: Secret | None = setting("SLACK_CLIENT_SECRET", parsers.key, None)
    slack_address: str = setting("COGENCY_SLACK_ADDRESS", parsers.url("https", "http"), "")
    """The address at which Slack and browsers reach COGENCY_SLACK_HTTP."""
    slack_installers: frozenset[str] = setting("COGENCY_SLACK_INSTALLERS", slack.slack_installers, frozenset())
    """The workspaces and organizations that may install it; empty for none."""
    slack_managers: frozenset[str] = setting("COGENCY_SLACK_MANAGERS", slack.slack_groups, frozenset())
    """User groups whose members are managers."""
    slack_command_prefix: str = setting("COGENCY_SLACK_COMMAND_PREFIX", slack.command_prefix, "")
    """The beginning of all slash commands' names."""
    slack_stream: Streaming = setting("COGENCY_SLACK_STREAM", parsers.one_of(Streaming), Streaming.DIRECT)
    """Where replies are native streams, which only the asker sees grow; elsewhere messages are edited."""
    discord_token: Secret | None = setting("DISCORD_TOKEN", parsers.key, None)
    discord_servers: frozenset[str] = setting("COGENCY_DISCORD_SERVERS", discord.discord_servers, frozenset())
    """The operator's own servers; empty for those of the application's owner."""
    discord_other_servers: OtherServers = setting(
        "COGENCY_DISCORD_OTHER_SERVERS", parsers.one_of(OtherServers), OtherServers.REFUSE
    )
    """Any server can add a public bot, and ask at the operator's expense."""
    discord_admins: frozenset[str] = setting("COGENCY_DISCORD_ADMINS", discord.discord_roles, frozenset())
    """Roles that count as an administrator's."""
    discord_managers: frozenset[str] = setting("COGENCY_DISCORD_MANAGERS", discord.discord_roles, frozenset())
    """Roles that make managers; empty for those who may manage the server."""
    discord_employees: frozenset[str] = setting("COGENCY_DISCORD_EMPLOYEES", discord.discord_roles, frozenset())
    """Roles without which a member is a guest; empty for every member."""
    discord_dm_idle_minutes: int = setting("COGENCY_DISCORD_DM_IDLE_MINUTES", parsers.whole(1, 525_600), 360)
    """After this much silence, a direct message begins a new conversation."""
    discord_message_content: bool = setting("COGENCY_DISCORD_MESSAGE_CONTENT", parsers.switch, default=True)
    """Whether to ask for the message content intent."""
    discord_shards: int | None = setting("COGENCY_DISCORD_SHARDS", discord.shards, 1)
    """None: as many as Discord recommends."""
    slack_api_base_url: str = setting(
        "SLACK_API_BASE_URL", parsers.web_address, "https://slack.com/api", keys=SLACK_TOKENS
    )
    discord_api_base_url: str = setting(
        "DISCORD_API_BASE_URL", parsers.web_address, "https://discord.com/api/v10", keys=("DISCORD_TOKEN",)
    )
    discord_gateway_url: str = setting(
        "DISCORD_GATEWAY_URL", parsers.socket_address, "wss://gateway.discord.gg", keys=("DISCORD_TOKEN",)
    )

    mcp_variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables that the file of `mcp` may use: the environment and `.env`; without that file, what any program gets.
    This field and the next ones are not settings.
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
    def language_rule(self) -> str:
        return f"Answer in {self.language}."

    @property
    def plugin_list(self) -> Path:
        """The file in which `cogency plugins add` lists folders: next to the database, if that is a file."""
        scheme, _, database = self.database_url.partition(":///")
        folder = Path(database).parent if scheme.startswith("sqlite") else user_data_path("cogency", appauthor=False)
        return folder / "plugins.txt"

    def secrets(self) -> tuple[str, ...]:
        """Return all secrets that are set, as clear text, for code that must keep them out of its output."""
        values = (getattr(self, part.name) for part in fields(self))
        secrets = [value.reveal() for value in values if isinstance(value, Secret)]
        others: list[str] = []
        with suppress(SettingsError):  # it is reported where the servers are needed
            others = [secret for server in mcp_file(self).servers for secret in server.secrets]
        headers = operator_settings.header_values(self.opentelemetry.items())
        for url in (self.database_url, self.database_replica_url):
            others += storage.passwords_of(url)
        return tuple(filter(None, [*secrets, *others, *headers]))


def load_settings(
    environ: Mapping[str, str],
    dotenv: Path | None = None,
    data_folder: Path | None = None,
    *,
    keychain: Keychain = system_keychain,
    has_static_embeddings: Callable[[], bool] = static_embeddings.is_installed,
) -> Settings:
    """Read the settings. `data_folder` holds the default database (None: the user's own folder).

    `has_static_embeddings`: whether the model inside the program is installed, which is the default then.

    Raises SettingsError with one sentence for the first problem found.
    """
    from_dotenv = read_dotenv(dotenv)
    given = {name: value for name, value in environ.items() if value.strip()}
    sources = _sources()
    known = {source.name for source in sources.values()}
    # Noted before the files are read: afterwards nothing shows where a value came from.
    secrets_in_files = {name for name in _secret_names() if f"{name}{IN_FILE}" in {**from_dotenv, **given}}
    file_names = {f"{name}{IN_FILE}": {**from_dotenv, **given}[f"{name}{IN_FILE}"].strip() for name in secrets_in_files}
    from_dotenv, given = with_files(from_dotenv, _secret_names()), with_files(given, _secret_names())
    in_keychain = {name for name in _secret_names() if is_in_keychain({**from_dotenv, **given}.get(name, ""))}
    for name in in_keychain:
        # The value stays in its layer, so that the checks below still see who wrote it.
        layer = given if name in given else from_dotenv
        layer[name] = from_keychain(name, layer[name], keychain)
    written = {**from_dotenv, **given}
    # A misspelt setting of ours would silently do nothing; other programs' variables are none of our business.
    unknown = sorted(written.keys() - known)
    for name in unknown:
        if name.upper().startswith(OURS):
            raise SettingsError(_unknown_sentence(name, known))
    values = {
        attribute: _parse(source, written[source.name].strip())
        for attribute, source in sources.items()
        if written.get(source.name, "").strip()
    }
    values.setdefault("database_url", _default_database_url(data_folder))
    if has_static_embeddings():
        values.setdefault("embeddings", static_embeddings.StaticEmbedder.name)
    origins = dict.fromkeys(from_dotenv, SettingOrigin.DOTENV) | dict.fromkeys(given, SettingOrigin.ENVIRONMENT)
    origins |= dict.fromkeys(secrets_in_files, SettingOrigin.FILE) | dict.fromkeys(in_keychain, SettingOrigin.KEYCHAIN)
    settings = Settings(
        **values,
        shown=tuple(
            _shown_setting(source, values.get(attribute), written, origins) for attribute, source in sources.items()
        ),
        mcp_variables=written if "mcp" in values else {name: written[name] for name in ENVIRONMENT if name in written},
        supervisor={name: given[name] for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC") if name in given},
        opentelemetry={name: value for name, value in given.items() if name.startswith("OTEL_")},
        secret_files={setting: file for setting, file in sorted(file_names.items()) if file},
        misspelt=tuple(_misspelt(unknown, from_dotenv, known - written.keys())),
    )
    secret_fields = (attribute for attribute, value in values.items() if isinstance(value, Secret))
    exposed = [sources[attribute].name for attribute in secret_fields if sources[attribute].name in given]
    # A .env may come with somebody else's folder. What it could do with secrets that were set elsewhere is refused: run
    # commands, and send keys or messages to another address.
    run_commands = [name for name in RUN_COMMANDS if name in from_dotenv and name not in given]
    if TOOLS in from_dotenv and TOOLS not in given and any(name.endswith(".py") for name in settings.tools):
        run_commands.append(TOOLS)
    if "COGENCY_DATABASE_URL" in from_dotenv.keys() - given.keys() and settings.plugin_list.exists():
        run_commands.append("COGENCY_DATABASE_URL")
    if run_commands and dotenv is not None and is_in_repository(dotenv):
        raise SettingsError(settings_texts.CODE_FROM_A_REPOSITORY.format(name=run_commands[0], dotenv=dotenv))
    if exposed and run_commands:
        raise SettingsError(_exposure_sentence(run_commands[0], dotenv, exposed))
    exposed = [name for name in PASSWORDS if name in given]
    for name in _remote_databases(settings):
        if name not in given and exposed:
            raise SettingsError(_exposure_sentence(name, dotenv, exposed))
    for source, address in _custom_addresses(settings):
        # A key of a file or the keychain was not written for this address either.
        elsewhere = secrets_in_files | in_keychain | ({SLACK_APPS} & written.keys())
        exposed = [key for key in source.keys if key in given.keys() | elsewhere]
        if source.name not in given and exposed and not is_loopback(urlsplit(address).hostname or ""):
            raise SettingsError(_exposure_sentence(source.name, dotenv, exposed))
    return settings


def _shown_setting(
    source: From, value: object, written: Mapping[str, str], origins: Mapping[str, SettingOrigin]
) -> ShownSetting:
    text = written.get(source.name, "").strip()
    if isinstance(value, Secret):
        return ShownSetting(source.name, None, origins[source.name])
    if source.name == "COGENCY_DATABASE_URL":
        origin = origins[source.name] if text else SettingOrigin.DEFAULT
        return ShownSetting(source.name, place_of(str(value)), origin)
    if text:
        return ShownSetting(source.name, text, origins[source.name])
    return ShownSetting(source.name, _default_text(source), SettingOrigin.DEFAULT)


def _default_text(source: From) -> str:
    """Return a default as it would be written; "" for none."""
    if isinstance(source.default, bool):
        return "on" if source.default else "off"
    if source.default is None or source.default in ("", (), {}, frozenset(), Networks()):
        return ""
    if source.read is budget_settings.dollars:
        return f"{int(str(source.default)) / NANO:g}"
    return str(source.default)


def _secret_names() -> list[str]:
    """The settings that can be read from a file: secrets, and the addresses of databases with their passwords."""
    named = {part.metadata[SOURCE].name: part.type for part in fields(Settings) if SOURCE in part.metadata}
    secret = [name for name, kind in named.items() if Secret in get_args(kind) and f"{name}{IN_FILE}" not in named]
    return [*secret, "COGENCY_DATABASE_URL", "COGENCY_DATABASE_REPLICA_URL"]


def tool_modules(settings: Settings) -> tuple[str, ...]:
    """Return the entries of COGENCY_TOOLS, files with absolute paths. They run here, so they are checked like `.env`.

    Raises SettingsError.
    """
    return tuple(str(named_file(TOOLS, name)[0]) if name.endswith(".py") else name for name in settings.tools)


def mcp_file(settings: Settings) -> McpFile:
    """Read the file that COGENCY_MCP names. It decides what runs here, so it is checked like `.env`.

    Raises SettingsError.
    """
    if settings.mcp is None:
        return McpFile()
    file, content = named_file(MCP, settings.mcp)
    return parse_file(content, file, settings.mcp_variables)


def moved_addresses(settings: Settings) -> list[str]:
    """Return a sentence for each address that is not the vendor's and receives a key or is on another machine, and for
    each database on another machine.
    """
    written = {source.name: getattr(settings, attribute) for attribute, source in _sources().items()}
    sentences: list[str] = []
    for source, address in _custom_addresses(settings):
        keys = [key for key in source.keys if written[key] is not None]
        if keys or not is_loopback(urlsplit(address).hostname or ""):
            suffix = f", and so {'does' if len(keys) == 1 else 'do'} {' and '.join(keys)}" if keys else ""
            sentences.append(settings_texts.GOES_ELSEWHERE.format(name=source.name, address=address, too=suffix))
    for name, hosts in _remote_databases(settings).items():
        sentences.append(f"{name} names {' and '.join(hosts)}: what is said and remembered is kept there.")
    return sentences


def _exposure_sentence(name: str, dotenv: Path | None, exposed: Collection[str]) -> str:
    return settings_texts.KEY_FROM_ELSEWHERE.format(name=name, dotenv=dotenv, others=" and ".join(exposed))


def _remote_databases(settings: Settings) -> dict[str, list[str]]:
    """The other machines that store data, by the setting that names them."""
    urls = {"URL": settings.database_url, "REPLICA_URL": settings.database_replica_url}
    hosts = {f"COGENCY_DATABASE_{name}": storage.database_hosts(url) for name, url in urls.items() if url}
    return {
        name: remote for name, names in hosts.items() if (remote := [host for host in names if not is_loopback(host)])
    }


def setting_names() -> tuple[str, ...]:
    """Return the name of every setting, in the order of `Settings`."""
    return tuple(source.name for source in _sources().values())


def _sources() -> dict[str, From]:
    """The source of each attribute of `Settings`, in order."""
    return {part.name: part.metadata[SOURCE] for part in fields(Settings) if SOURCE in part.metadata}


def _custom_addresses(settings: Settings) -> list[tuple[From, str]]:
    """The addresses of services that are not the vendor's."""
    readers = {parsers.web_address, parsers.socket_address}
    return [
        (source, getattr(settings, attribute))
        for attribute, source in _sources().items()
        if source.read in readers and urlsplit(getattr(settings, attribute))[:2] != urlsplit(str(source.default))[:2]
    ]


def _parse(source: From, text: str) -> Any:  # noqa: ANN401 -- as many types as settings
    try:
        return source.read(text)
    except ValueError as problem:
        raise SettingsError(f"{source.name} {problem}.") from None


def _unknown_sentence(name: str, known: Collection[str]) -> str:
    ours = {known_name.removeprefix(OURS): known_name for known_name in known}
    near = [ours[match] for match in get_close_matches(name.upper().removeprefix(OURS), ours, n=2, cutoff=0.75)]
    remedy = f"did you mean {' or '.join(near)}?" if near else ".env.example lists all settings."
    return f"{name} is not a setting: {remedy}"


def _misspelt(
    unknown: Iterable[str], from_dotenv: Collection[str], unset: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield names in the file that match no setting, each with the unset setting it resembles. They are reported, not
    refused, because other programs may read the file, too.
    """
    for name in unknown:
        near = get_close_matches(name.upper(), unset, n=1, cutoff=0.8) if name in from_dotenv else []
        if near:
            yield name, near[0]


def _default_database_url(data_folder: Path | None) -> str:
    folder = user_data_path("cogency", appauthor=False) if data_folder is None else data_folder
    return f"sqlite:///{(folder / 'cogency.db').as_posix()}"
