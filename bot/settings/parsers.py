"""Parses the texts of settings: one function for each kind of value. Pure.

Rule: a parser raises ValueError whose text continues "NAME …" to one sentence with the remedy, and never contains the
value, which may be a secret in the wrong place.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar, cast
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from agent.memory.audience import AudienceKind
from agent.spending import NANO, Money
from bot.chat.secret import Secret

_LISTEN: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})", re.ASCII)

# Otherwise some parsers see the host in the brackets, and others what follows them.
_BRACKETED: Final = re.compile(r"\[[0-9A-Fa-f:.]+\](:\d{1,5})?", re.ASCII)


def url(*schemes: str) -> Callable[[str], str]:
    """Return a parser of addresses with one of these schemes and a host, without credentials or query.

    A slash at the end is removed.
    """
    forms = " or ".join(f"{scheme}://" for scheme in schemes)

    def read(value: str) -> str:
        parts = _split(value, schemes[0])
        if parts.scheme not in schemes or not parts.hostname:
            raise ValueError(f"must be a whole address that begins with {forms}")
        if parts.username or parts.password:
            raise ValueError("must not hold a user name or password: keys have settings of their own")
        if parts.query or parts.fragment:
            raise ValueError('must end before any "?" or "#"')
        return value.rstrip("/")

    return read


web_address = url("https", "http")
socket_address = url("wss", "ws")


def listen_address(value: str) -> tuple[str, int]:
    """Parse a host and a port to listen at, as in 0.0.0.0:3000 or [::]:3000."""
    match = _LISTEN.fullmatch(value)
    if match is None or not 0 < int(match[2]) < 65_536:
        raise ValueError("must be a host and a port to listen at, as in 127.0.0.1:3000 or 0.0.0.0:3000")
    return match[1].strip("[]"), int(match[2])


def database_url(value: str) -> str:
    """Parse the URL of an SQLite file or of a PostgreSQL database."""
    scheme, _, path = value.partition(":///")
    if scheme in {"sqlite", "sqlite+aiosqlite"} and path and not path.startswith(":memory:"):
        return value
    if value.partition("://")[0] in {"postgresql", "postgres", "postgresql+asyncpg"}:
        return _postgresql_url(value)
    raise ValueError(
        "must name an SQLite file, as in sqlite:////var/lib/cogency/cogency.db (four slashes), "
        "or a PostgreSQL database, as in postgresql://user:password@host/database"
    )


def _postgresql_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        _ = parts.port  # an invalid port is only noticed when it is read
    except ValueError:
        parts = urlsplit("")
    has_host = parts.hostname or "host" in parse_qs(parts.query)
    if not has_host or not parts.path.strip("/") or parts.fragment or not value.isprintable() or " " in value:
        raise ValueError(
            "must have the form postgresql://user:password@host/database; "
            'in the password, write "@", "/", ":", "#", "%" and blanks as %40, %2F, %3A, %23, %25 and %20'
        )
    return value


def passwords_of(url: str) -> tuple[str, ...]:
    """Return the passwords in a URL: before the host, or among its parameters."""
    parts = urlsplit(url)
    parameters = [value for name, values in parse_qs(parts.query).items() if "password" in name for value in values]
    return tuple(filter(None, [unquote(parts.password or ""), *parameters]))


def header_values(variables: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values in OpenTelemetry's header variables ("name=value,…", percent-encoded): they hold keys."""
    pairs = [pair for name, value in variables if name.endswith("_HEADERS") for pair in value.split(",")]
    values = [pair.partition("=")[2].strip() for pair in pairs]
    return [*values, *map(unquote, values)]


def database_hosts(url: str) -> list[str]:
    """Return the hosts in a database's URL; none for a file, or for a socket on this machine."""
    if url.partition(":")[0].startswith("sqlite"):
        return []
    parts = urlsplit(url)
    hosts = ",".join(filter(None, [parts.hostname, *parse_qs(parts.query).get("host", [])]))
    return [host for host in hosts.split(",") if not host.startswith("/")]


def _split(value: str, first: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        _ = parts.port  # an invalid port is only noticed when it is read
    except ValueError:
        raise ValueError(f"is not a valid address; write it as in {first}://host.example:8080") from None
    if "]" in parts.netloc and _BRACKETED.fullmatch(parts.netloc.rpartition("@")[2]) is None:
        raise ValueError(f"is not a valid address; write it as in {first}://[::1]:8080")
    if any(character.isspace() or not character.isprintable() for character in value):
        raise ValueError("holds a blank: write the address without any")
    return parts


E = TypeVar("E", bound=StrEnum)
_PREFIX: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,19}")
_MODEL_OR_REHEARSAL: Final = re.compile(r"[a-z0-9-]+:.|rehearsal$", re.IGNORECASE | re.ASCII)
_MODULE = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")
_MODEL: Final = re.compile(r"[a-z0-9-]+:.", re.IGNORECASE | re.ASCII)
_DAYS: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_DOLLARS: Final = re.compile(r"\d{1,7}(\.\d{1,2})?", re.ASCII)


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class ReplyMode(StrEnum):
    """Where the bot answers a mention in a Discord channel; in a thread or a DM it always answers in place."""

    THREAD = "thread"
    """In a thread that the bot starts from the message: each question is a conversation."""
    CHAIN = "chain"
    """In the channel, as a reply to the message: replies to it continue the conversation."""
    IN_PLACE = "place"
    """In the channel, as a reply to the message: the whole channel is one conversation."""


class Streaming(StrEnum):
    """Where replies are Slack's native streams; elsewhere, messages are edited."""

    DIRECT = "dm"
    """In direct messages. In a channel's thread only the asker sees a stream grow, and the other readers see nothing
    until its end, whereas all of them see the edits of a message."""
    EVERYWHERE = "everywhere"
    """In threads of channels, too: smoother than edits for the asker, and edits are few in a busy workspace."""
    OFF = "off"


class OtherServers(StrEnum):
    """What the bot does in Discord servers that are not listed."""

    REFUSE = "refuse"
    """It does not answer there, and tells askers which setting would change that."""
    LEAVE = "leave"
    """It leaves them."""
    SERVE = "serve"
    """It answers their members there, who remain strangers elsewhere."""


class WhileBusy(StrEnum):
    """What happens to a message that comes while the same person's last one is being answered in the conversation."""

    WAIT = "wait"
    """It is answered next."""
    JOIN = "join"
    """The running answer takes it into account after its next round of tools; if there is none, it is answered next."""


class OperatorAct(StrEnum):
    """What operators can do with a person's or a place's data."""

    EXPORT = "export"
    ERASE = "erase"


def text(value: str) -> str:
    return value


def command_prefix(value: str) -> str:
    """Parse the prefix of slash commands. Slack allows names of 32 characters, with the prefix and the slash."""
    if not _PREFIX.fullmatch(value):
        raise ValueError('must be at most 20 small letters, digits, "-" or "_", as in bot-')
    return value


_ID = re.compile(r"[A-Za-z0-9]+", re.ASCII)
# The pattern of an app's name, which is used in addresses, logs and metrics.
APP_NAME: Final = r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?"
_APP_NAME: Final = re.compile(APP_NAME)
_SLACK_APP: Final = re.compile(r"A[A-Z0-9]{1,30}", re.ASCII)
_DISCORD_ID = re.compile(r"\d+", re.ASCII)
_SLACK_TEAM = re.compile(r"[TE][A-Z0-9]+|\*", re.ASCII)
_SLACK_CLIENT = re.compile(r"[0-9]{1,30}\.[0-9]{1,30}", re.ASCII)
_SLACK_GROUP = re.compile(r"S[A-Z0-9]+", re.ASCII)
# Ids as Slack and Discord write them, and as the bot does; a person's name never matches.
_PERSON = re.compile(r"(?:slack:[A-Z0-9]+:)?[UWB][A-Z0-9]+|(?:discord:)?[0-9]+|terminal:\S+", re.ASCII)


def id_list(form: re.Pattern[str], what: str) -> Callable[[str], frozenset[str]]:
    """Return a parser of comma-separated ids of this form; `what` describes them in the remedy, with an example."""

    def read(value: str) -> frozenset[str]:
        ids_found = frozenset(piece.strip() for piece in value.split(",") if piece.strip())
        if not ids_found or not all(map(form.fullmatch, ids_found)):
            raise ValueError(f"must be {what}")
        return ids_found

    return read


ids = id_list(_ID, "ids with commas between them, as in B0123,B0456")
discord_roles = id_list(
    _DISCORD_ID, "ids of roles with commas between them, as in 123456789012345678,234567890123456789"
)


def slack_app(value: str) -> str:
    """Parse the name of one of several apps."""
    if not _APP_NAME.fullmatch(value):
        raise ValueError('must be at most 32 small letters, digits or "-", as in acme-eu')
    return value


def slack_app_id(value: str) -> str:
    if not _SLACK_APP.fullmatch(value):
        raise ValueError("must be the app's id, as in A0123ABCD: it stands on the app's page, Basic Information")
    return value


discord_servers = id_list(
    _DISCORD_ID, "ids of servers with commas between them, as in 123456789012345678,234567890123456789"
)
slack_groups = id_list(_SLACK_GROUP, "ids of user groups with commas between them, as in S0123,S0456")

slack_installers = id_list(
    _SLACK_TEAM, "ids of workspaces and organizations with commas between them, as in T0123,E0456, or *"
)


def slack_client(value: str) -> str:
    if not _SLACK_CLIENT.fullmatch(value):
        raise ValueError("must be the client id from the app's page, as in 1234567890.1234567890123")
    return value


people = id_list(
    _PERSON,
    "user ids, no names, with commas between them, as in U0123,184467440737095516",
)


def models(value: str) -> tuple[str, ...]:
    """Parse comma-separated names of models, in order."""
    names = tuple(piece.strip() for piece in value.split(",") if piece.strip())
    if not names or not all(_MODEL_OR_REHEARSAL.match(name) for name in names):
        raise ValueError("must be models with commas between them, as in anthropic:claude-sonnet-5-5,ollama:llama3.2")
    return names


def modules(value: str) -> tuple[str, ...]:
    """Parse comma-separated files, which end in .py, and names of modules or entry points, in order."""
    names = tuple(dict.fromkeys(piece.strip() for piece in value.split(",") if piece.strip()))
    if not names or not all(name.endswith(".py") or _MODULE.fullmatch(name) for name in names):
        raise ValueError("must be files, modules or entry points with commas between them, as in my_tools.py")
    return names


def slack_apps(value: str) -> tuple[str, ...]:
    """Parse comma-separated names of apps."""
    names = tuple(dict.fromkeys(piece.strip() for piece in value.split(",") if piece.strip()))
    if not names or not all(map(_APP_NAME.fullmatch, names)):
        raise ValueError("must be names of apps in the file of COGENCY_SLACK_APPS with commas between them, as in a,b")
    return names


def folders(value: str) -> tuple[Path, ...]:
    """Parse comma-separated folders; "~" is the user's own."""
    try:
        paths = tuple(Path(piece.strip()).expanduser() for piece in value.split(",") if piece.strip())
    except RuntimeError:  # "~name" of an unknown user
        paths = ()
    if not paths or "\0" in value or not all(path.is_absolute() for path in paths):
        raise ValueError(
            "must be whole paths of folders with commas between them, as in /srv/plugins/office,/srv/plugins/sales"
        )
    return paths


def model_or_off(example: str) -> Callable[[str], str | None]:
    def read(value: str) -> str | None:
        if value.lower() == "off":
            return None
        if not _MODEL.match(value):
            raise ValueError(f"must be off, or a model as in {example}")
        return value

    return read


embeddings = model_or_off("openai:text-embedding-3-small")
transcription = model_or_off("openai:gpt-4o-mini-transcribe")


_BACKENDS: Final = re.compile(r"[a-z_]{2,20}(,[a-z_]{2,20}){0,9}", re.ASCII)


def web_search(value: str) -> tuple[str, str] | None:
    """Parse the name of a search engine and its argument: the address of an instance, or the engines of ddgs."""
    name, _, argument = value.partition(":")
    match name.strip().lower(), argument.strip():
        case "off", "":
            return None
        case "searxng", address if address:
            return "searxng", web_address(address)
        case "brave" | "tavily" as engine, "":
            return engine, ""
        case "ddgs", backends if not backends or _BACKENDS.fullmatch(backends):
            return "ddgs", backends
        case _:
            raise ValueError(
                "must be searxng: and the address of an instance, as in searxng:https://search.example.com, or one of "
                "brave, tavily, ddgs and off"
            )


def one_of(kind: type[E]) -> Callable[[str], E]:
    """Return a parser of an enumeration's members, in small letters or capitals."""
    by_name = {member.value.casefold(): member for member in kind}

    def read(value: str) -> E:
        if value.casefold() not in by_name:
            raise ValueError(f"must be one of {', '.join(kind)}")
        return by_name[value.casefold()]

    return read


def some_of(kind: type[E]) -> Callable[[str], frozenset[E]]:
    """Return a parser of comma-separated members of an enumeration."""
    parse_member = one_of(kind)

    def read(value: str) -> frozenset[E]:
        try:
            return frozenset(parse_member(piece.strip()) for piece in value.split(","))
        except ValueError:
            raise ValueError(f"must be of {', '.join(kind)}, with commas between them") from None

    return read


def switch(value: str) -> bool:
    """Parse "on" or "off"."""
    if value.lower() not in {"on", "off"}:
        raise ValueError("must be on or off")
    return value.lower() == "on"


def secret(prefix: str = "", where: str = "") -> Callable[[str], Secret]:
    """Return a parser of keys or tokens of printable ASCII without blanks; `where` says where to find the right one."""

    def read(value: str) -> Secret:
        if not value.startswith(prefix):
            raise ValueError(f'must begin with "{prefix}": {where}')
        if not value.isascii() or not value.isprintable() or " " in value:
            raise ValueError("holds a blank or a character that no key has: copy it again, without quotes")
        return Secret(value)

    return read


key = secret()


def header(value: str) -> str:
    """Parse a value for an HTTP header."""
    if not (value.isascii() and value.isprintable() and len(value) <= 200):
        raise ValueError("must be at most 200 characters of ASCII, as in Cogency/1 (+https://example.com/bot)")
    return value


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not (
            value.isascii()
            and value.isdecimal()
            and len(value) <= len(str(maximum))
            and minimum <= int(value) <= maximum
        ):
            raise ValueError(f"must be a whole number from {minimum} to {maximum}")
        return int(value)

    return read


def shards(value: str) -> int | None:
    """Parse a number of connections; None for "auto"."""
    if value.casefold() == "auto":
        return None
    try:
        return whole(1, 1_000)(value)
    except ValueError:
        raise ValueError("must be auto, or a whole number from 1 to 1000") from None


def limit(maximum: int) -> Callable[[str], int | None]:
    """Return a parser of a whole number; None for 0, which is no limit."""
    parse_whole = whole(0, maximum)

    def read(value: str) -> int | None:
        return parse_whole(value) or None

    return read


def retention(value: str) -> Mapping[AudienceKind, int]:
    """Parse days by kind of place: "dm=365, private=90, public=30"."""
    kinds = {"dm": AudienceKind.PERSON, "private": AudienceKind.GROUP, "public": AudienceKind.TEAM}
    days: dict[AudienceKind, int] = {}
    for part in value.split(","):
        name, _, number = (piece.strip().lower() for piece in part.partition("="))
        if name not in kinds or kinds[name] in days or not _DAYS.fullmatch(number):
            raise ValueError("must be days for dm, private or public places, as in dm=365, private=90, public=30")
        days[kinds[name]] = int(number)
    return days


def dollars(value: str) -> Money | None:
    """Parse US dollars, with cents if needed; None for 0, which is no limit."""
    if _DOLLARS.fullmatch(value) is None:
        raise ValueError("must be a sum in US dollars without a sign, as in 5 or 2.50; 0 for no limit")
    whole_, _, cents = value.partition(".")
    return Money((int(whole_) * 100 + int(cents.ljust(2, "0"))) * (NANO // 100)) or None


def seconds(maximum: float) -> Callable[[str], float]:
    """Return a parser of seconds: more than zero, at most `maximum`; fractions are allowed."""

    def read(value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 < number <= maximum:
            raise ValueError(f"must be a number of seconds, more than 0 and at most {maximum:g}")
        return number

    return read


def texts_by_id(what: str, example: str) -> Callable[[str], Mapping[str, str]]:
    """Return a parser of a JSON object from ids to texts; `what` describes both in the remedy."""

    def read(value: str) -> Mapping[str, str]:
        try:
            parsed: object = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        texts = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else None
        if texts is None or not all(isinstance(entry, str) for entry in texts.values()):
            raise ValueError(f"must be a JSON object of {what}, as in {example}")
        return cast("dict[str, str]", texts)

    return read


texts_by_channel = texts_by_id("channel ids and texts", '{"C0123": "Answer formally."}')
models_by_channel = texts_by_id("channel ids and models", '{"C0123": "ollama:llama3.2"}')
models_by_person = texts_by_id("user ids and models", '{"U0123": "ollama:llama3.2"}')
