"""Reads `mcp.json`: the MCP servers, how to connect to them, and the operator's settings for their tools.

Rules.
- The format is that of other clients: an object `mcpServers`, by name; `command`, `args`, `env`, `cwd` for a process on
  this machine, or `url` and `headers`. Unknown keys of other clients are ignored.
- `${NAME}` and `${NAME:-default}` are replaced by values of the environment or of `.env`, so that the file needs no
  secrets.
- What a server declares about its own tools does not count. Effects come from `effects` in a file: the operator's, else
  the plug-in's.
- `plugins` has the same settings for plug-ins' servers, by their names here; they replace those of the plug-in.
- Every problem is one SettingsError: a sentence that names the file, the server and the remedy, but no value.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NoReturn, TypeAlias, cast
from urllib.parse import urlsplit

from agent.errors import SettingsError
from agent.messages import Json, JsonObject, is_too_deep
from agent.ports.tools import ToolEffect
from bot.tools import texts as tool_texts

MAX_SERVERS: Final = 50  # Each is a process or a connection of its own
MAX_TIMEOUT_S: Final = 600.0
MAX_NAME: Final = 24  # With a dot and a tool's name, it fits the limit of every vendor for the name of a function
MAX_SHOWN: Final = 200
# The variables of our environment that every server's process gets: what programs need to run, and no keys.
ENVIRONMENT: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_CACHE_HOME",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9]|[-_](?=[A-Za-z0-9]))*")
# The default holds no braces: else many unclosed ones would each be scanned to the end.
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
OURS: Final = ("account", "oauth", "effects", "audience", "timeout_s", "disabled")
_KEYS: Final = ("type", "command", "args", "env", "cwd", "url", "headers", *OURS)
_SECRET: Final = re.compile(r"key|token|secret|passw|auth|bearer|credential", re.IGNORECASE)
_EFFECTS: Final = {effect.value: effect for effect in ToolEffect if effect is not ToolEffect.WRITES_HERE}
_SEVERITY: Final = tuple(ToolEffect)


@dataclass(frozen=True, slots=True)
class StdioReach:
    """A process on this machine, connected through its standard input and output."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class HttpReach:
    """A service, connected by streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


Reach: TypeAlias = StdioReach | HttpReach


class AccountKind(StrEnum):
    """The account with which a server is used: none, the operator's, or that of each person who asks."""

    NONE = "none"
    SHARED = "shared"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class OAuthClientConfig:
    """The OAuth client that the operator registered for the bot; "" where the bot registers itself. `scope`: the scope
    to request, "" for the server's default. `issuer`: the authorization server where the client is registered, and the
    only one that gets the secret; "" for whichever the server names.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class McpServerConfig:
    """One server. `for_team`: everyone who can read a public channel of the asker's team may read its results; else the
    asker alone.

    `timeout_s`: None for the general timeout of tools. `secrets`: the values that came from the environment. `runs`:
    its command or host, and `origin`: the file that names it, both shown to the operator.
    """

    name: str
    reach: Reach
    effects: Mapping[str, ToolEffect] = field(default_factory=dict[str, ToolEffect])
    for_team: bool = False
    timeout_s: float | None = None
    account: AccountKind = AccountKind.NONE
    oauth: OAuthClientConfig = OAuthClientConfig()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    runs: str = ""
    origin: str = ""

    @property
    def sentence(self) -> str:
        """What is started or connected, and which file names it."""
        verb = "runs" if isinstance(self.reach, StdioReach) else "is at"
        return f"{self.name} {verb} {self.runs}, as defined in {self.origin}"

    def effect_of(self, tool: str) -> ToolEffect:
        """Return the configured effect of a tool: of the matching pattern with the most literal characters, then of the
        most severe one. Without a match it is ACTS_OUTWARD.
        """
        matches = [
            (sum(char not in "*?[]" for char in pattern), _SEVERITY.index(effect))
            for pattern, effect in self.effects.items()
            if fnmatchcase(tool, pattern)
        ]
        return _SEVERITY[max(matches)[1]] if matches else ToolEffect.ACTS_OUTWARD


@dataclass(frozen=True, slots=True)
class McpFile:
    """The operator's file. `of_plugins`: its settings for plug-ins' servers, by their names here."""

    servers: tuple[McpServerConfig, ...] = ()
    of_plugins: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


# Replaces the variables in a text of an entry. Raises ValueError with the end of a sentence, without a full stop.
Expansion: TypeAlias = Callable[[str], str]


def parse_file(text: str, file: Path, variables: Mapping[str, str]) -> McpFile:
    """Parse `text`, the content of `file`. `variables`: the environment and `.env`. Raises SettingsError."""
    where = str(file)
    try:
        parsed: object = None if is_too_deep(text) else json.loads(text)
    except json.JSONDecodeError as error:
        raise SettingsError(tool_texts.MCP_NO_JSON.format(file=where, error=json_fault(error))) from None
    content = _object(parsed)
    servers, of_plugins = _object(content.get("mcpServers")), _object(content.get("plugins"))
    if not isinstance(content.get("mcpServers"), dict) and not of_plugins:
        raise SettingsError(tool_texts.MCP_NO_SERVERS.format(file=where))
    if len(servers) > MAX_SERVERS:
        raise SettingsError(tool_texts.MCP_TOO_MANY.format(file=where, named=len(servers), most=MAX_SERVERS))
    environment = base_environment(variables)
    configs: list[McpServerConfig] = []
    for name, content in servers.items():
        secrets: list[str] = []
        entry = ServerEntry(where, name, content, _from_environment(variables, secrets))
        if not entry.is_disabled:
            configs.append(replace(entry.read(file.parent, environment), secrets=tuple(secrets)))
    for name, settings in of_plugins.items():
        ServerEntry(where, name, settings, str).check_settings()
    return McpFile(tuple(configs), {name: _object(settings) for name, settings in of_plugins.items()})


def json_fault(error: json.JSONDecodeError) -> str:
    """Describe where a file is not JSON and how to correct it, for a person who wrote it by hand."""
    text, at = error.doc, error.pos
    before, rest = text[:at].rstrip().removesuffix(","), text[at:].lstrip(", \t\r\n")
    follows_comma = text[:at].rstrip().endswith(",") or text[at : at + 1] == ","
    # Python names the line behind a superfluous comma; the comma itself stands where something was written last.
    line = text.count("\n", 0, len(before)) + 1 if follows_comma and rest[:1] in ("}", "]") else error.lineno
    match error.msg.casefold().partition(" delimiter")[0].partition(" enclosed")[0]:
        case _ if rest.startswith(("//", "/*", "#")):
            what = "is a comment, which JSON does not allow: remove it"
        case _ if follows_comma and rest[:1] in ("}", "]"):
            what = f"ends with a comma before {rest[0]}: remove the comma"
        case _ if not rest:
            what = "is where the file ends too early: a closing bracket } or ] or a value is missing"
        case "expecting ','":
            line = text.count("\n", 0, len(before)) + 1
            what = "has a missing comma at its end, or an unclosed bracket or quotation mark"
        case "expecting property name":
            what = 'has a name without double quotes: write it as "name": …'
        case "expecting ':'":
            what = 'has a name without a colon and a value after it: write it as "name": …'
        case "extra data":
            what = "has text after the end of the JSON: remove that text, or a closing bracket before it"
        case message if message.startswith(("unterminated", "invalid control")):
            what = "has an unclosed string: add a double quotation mark"
        case message if message.startswith("invalid \\"):
            what = "has a single \\ in a string: write \\\\"
        case _:
            what = "has an invalid value: put strings in double quotes"
    return f"line {line} {what}"


def base_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of our environment that every server's process gets."""
    return {name: variables[name] for name in ENVIRONMENT if name in variables}


def _from_environment(variables: Mapping[str, str], secrets: list[str]) -> Expansion:
    """Expand from the environment, and append each value used to `secrets`."""

    def value_of(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in variables:
            secrets.append(variables[name])
            return variables[name]
        if default is None:
            raise ValueError(f"uses ${{{name}}}, which is not set in the environment or in .env")
        return default

    return lambda text: _VARIABLE.sub(value_of, text)


def from_folders(folders: Mapping[str, Path]) -> Expansion:
    """Expand the variables of a plug-in in the format of other clients: its folders, but not the environment."""

    def value_of(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in folders:
            return str(folders[name])
        if default is None:
            raise ValueError(f"uses ${{{name}}}, but environment variables are not expanded for plug-ins")
        return default

    return lambda text: _VARIABLE.sub(value_of, text)


class ServerEntry:
    """Parses one server of a file into a McpServerConfig. The constructor and all methods raise SettingsError."""

    def __init__(self, where: str, name: str, entry: object, expand: Expansion) -> None:
        self._where = where
        self._name = name
        self._expand = expand
        if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
            self._fail(
                f"its name can contain only letters and digits, with single - or _ between them, and at most "
                f"{MAX_NAME} characters"
            )
        if not isinstance(entry, dict):
            self._fail("it must be an object")
        self._entry = _object(cast("object", entry))
        for key in self._entry.keys() - set(_KEYS):
            if near := get_close_matches(key.lower(), _KEYS, n=1, cutoff=0.75):
                self._fail(f'"{key}" is not a valid field; the closest one is "{near[0]}"')

    @property
    def is_disabled(self) -> bool:
        return self._entry.get("disabled") is True

    def check_settings(self) -> None:
        """Check an entry with settings alone, for a server that is defined elsewhere."""
        for key in self._entry.keys() - set(OURS):
            self._fail(f'"{key}" is not valid here: for a plug-in\'s server, set only {", ".join(OURS)}')
        self._settings()

    def read(self, folder: Path, environment: Mapping[str, str]) -> McpServerConfig:
        """Parse the entry. `folder`: the base of its `cwd`. `environment`: what its process gets besides `env`."""
        command, url = self._entry.get("command"), self._entry.get("url")
        if (command is None) == (url is None):
            self._fail('it needs either "command" (for a process on this machine) or "url"')
        if self._entry.get("type") == "sse":
            self._fail('"type": "sse" is no longer supported: use its streamable HTTP address')
        reach = self._http() if command is None else self._stdio(folder, environment)
        effects, for_team, timeout_s = self._settings()
        runs = _format_command(self._entry) if command is not None else _host(cast("HttpReach", reach).url)
        account = self._account(reach)
        if account is AccountKind.PERSON and for_team:
            self._fail('its results belong to the person who signed in, so "audience" cannot be "team"')
        return McpServerConfig(
            self._name,
            reach,
            effects,
            for_team,
            timeout_s,
            account=account,
            oauth=self._oauth(account),
            runs=runs,
            origin=self._where,
        )

    def _settings(self) -> tuple[dict[str, ToolEffect], bool, float | None]:
        audience, timeout = self._entry.get("audience", "asker"), self._entry.get("timeout_s")
        if audience not in ("asker", "team"):
            self._fail('"audience" must be "asker" or "team"')
        seconds = float(timeout) if isinstance(timeout, int | float) and not isinstance(timeout, bool) else 0.0
        if timeout is not None and not 0 < seconds <= MAX_TIMEOUT_S:
            self._fail(f'"timeout_s" must be a number of seconds greater than 0 and at most {MAX_TIMEOUT_S:g}')
        return self._effects(), audience == "team", seconds or None

    def _stdio(self, folder: Path, environment: Mapping[str, str]) -> StdioReach:
        args = self._entry.get("args", [])
        if not isinstance(args, list):
            self._fail('"args" must be a list of strings')
        cwd = self._entry.get("cwd")
        return StdioReach(
            self._text("command", self._entry.get("command")),
            tuple(self._text("args", arg) for arg in cast("list[object]", args)),
            {**environment, **self._texts("env")},
            folder if cwd is None else folder / self._text("cwd", cwd),
        )

    def _http(self) -> HttpReach:
        url = self._text("url", self._entry.get("url"))
        try:
            split = urlsplit(url)
            is_address = split.scheme in ("http", "https") and bool(split.hostname)
        except ValueError:
            is_address = False
        if not is_address:
            self._fail('"url" must be an address that begins with https:// or http://')
        headers = self._texts("headers")
        if any(not text.isascii() or not text.isprintable() for header in headers.items() for text in header):
            self._fail('"headers" can contain only printable ASCII')
        return HttpReach(url, headers)

    def _account(self, reach: Reach) -> AccountKind:
        configured = self._entry.get("account")
        credentials = reach.headers if isinstance(reach, HttpReach) else self._object("env")
        if configured is None:
            return AccountKind.SHARED if credentials else AccountKind.NONE
        if configured not in {*AccountKind}:
            self._fail(f'"account" must be one of {", ".join(AccountKind)}')
        account = AccountKind(str(configured))
        if account is AccountKind.PERSON:
            if isinstance(reach, StdioReach) or not (reach.url.startswith("https://") or is_plain_loopback(reach.url)):
                self._fail('"account": "person" needs a "url" that begins with https:// (http:// only on this machine)')
            if "authorization" in {name.lower() for name in reach.headers}:
                self._fail('"account": "person" cannot be combined with a shared "Authorization" header')
        return account

    def _oauth(self, account: AccountKind) -> OAuthClientConfig:
        given = self._object("oauth")
        if given and account is not AccountKind.PERSON:
            self._fail('"oauth" can be used only with "account": "person"')
        known = {known_field.name for known_field in fields(OAuthClientConfig)}
        if unknown := given.keys() - known:
            self._fail(f'"oauth" has no field "{min(unknown)}"; its fields are {", ".join(sorted(known))}')
        return OAuthClientConfig(**{name: self._text(f"oauth.{name}", value) for name, value in given.items()})

    def _effects(self) -> dict[str, ToolEffect]:
        effects = {name: _EFFECTS.get(str(value)) for name, value in self._object("effects").items()}
        if None in effects.values():
            self._fail(
                f'"effects" must map each name pattern to one of {", ".join(_EFFECTS)}, as in {{"get_*": "reads"}}'
            )
        return {name: effect for name, effect in effects.items() if effect is not None}

    def _texts(self, key: str) -> dict[str, str]:
        return {name: self._text(key, value) for name, value in self._object(key).items()}

    def _object(self, key: str) -> dict[str, Json]:
        if not isinstance(self._entry.get(key, {}), dict):
            self._fail(f'"{key}" must be an object')
        return _object(self._entry.get(key))

    def _text(self, key: str, value: object) -> str:
        """Check that `value` is a text, and expand its variables."""
        if not isinstance(value, str) or "\0" in value:
            self._fail(f'"{key}" can contain only strings')
        try:
            return self._expand(value)
        except ValueError as error:
            self._fail(f'"{key}" {error}')

    def _fail(self, problem: str) -> NoReturn:
        raise SettingsError(tool_texts.MCP_SERVER.format(file=self._where, name=repr(self._name), problem=problem))


def _format_command(entry: Mapping[str, object]) -> str:
    """Format a command with its arguments as written, without what may be a secret."""
    words, hides_next = [str(entry["command"])], False
    for arg in map(str, cast("list[object]", entry.get("args", []))):
        name, equals, _ = arg.partition("=")
        is_secret = _SECRET.search(arg) is not None
        if hides_next or (is_secret and not arg.startswith("-")):
            words.append("…")
        else:
            words.append(f"{name}=…" if is_secret and equals else arg)
        # "--token VALUE" and "--token=VALUE" are both in use; a value that looks like an option hides nothing further.
        hides_next = is_secret and arg.startswith("-") and not equals and not hides_next
    line = "".join(char if char.isprintable() else "?" for char in " ".join(words))
    return f"`{line if len(line) <= MAX_SHOWN else f'{line[:MAX_SHOWN]}…'}`"


def _host(url: str) -> str:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}"


def _object(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def is_plain_loopback(url: str) -> bool:
    """Whether an address is on this machine, without TLS: for trying the bot out, and for tests."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return parts.scheme == "http" and host in ("127.0.0.1", "localhost", "::1")
