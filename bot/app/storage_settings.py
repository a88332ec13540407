"""The settings of the database: its address, that of a replica, and the log of what was forgotten."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from agent.errors import SettingsError
from agent.machine import each_server, sqlite_path
from bot.settings import parsers
from bot.settings import texts as settings_texts
from bot.settings.declaration import WITH_PASSWORD, Section, setting

DATABASE_URL: Final = "COGENCY_DATABASE_URL"
REPLICA_URL: Final = "COGENCY_DATABASE_REPLICA_URL"
FORGETTING_LOG: Final = "COGENCY_FORGETTING_LOG"


def database_url(value: str) -> str:
    """Parse the URL of an SQLite file or of a PostgreSQL database."""
    scheme, _, path = value.partition(":///")
    if scheme in {"sqlite", "sqlite+aiosqlite"} and path and not path.startswith(":memory:"):
        try:
            sqlite_path(path)
        except SettingsError:
            raise ValueError(settings_texts.UNKNOWN_HOME) from None
        return value
    if value.partition("://")[0] in {"postgresql", "postgres", "postgresql+asyncpg"}:
        return _postgresql_url(value)
    raise ValueError(
        "must be an SQLite file, as in sqlite:////var/lib/cogency/cogency.db (four slashes), or a PostgreSQL database, "
        "as in postgresql://user:password@host/database"
    )


def _postgresql_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        servers = [urlsplit(server) for server in each_server(value)]
        _ = [server.port for server in servers]  # an invalid port is only noticed when it is read
    except ValueError:
        parts, servers = urlsplit(""), []
    has_host = "host" in parse_qs(parts.query) or (servers and all(server.hostname for server in servers))
    if not has_host or not parts.path.strip("/") or parts.fragment or not value.isprintable() or " " in value:
        raise ValueError(
            'must have the form postgresql://user:password@host/database; in the password, write "@", "/", ":", "#", '
            '"%", and spaces as %40, %2F, %3A, %23, %25, and %20'
        )
    return value


def passwords_of(url: str) -> tuple[str, ...]:
    """Return the passwords in a URL: before the host, or among its parameters."""
    parts = urlsplit(url)
    parameters = [value for name, values in parse_qs(parts.query).items() if "password" in name for value in values]
    return tuple(filter(None, [unquote(parts.password or ""), *parameters]))


def database_hosts(url: str) -> list[str]:
    """Return the hosts in a database's URL; none for a file, or for a socket on this machine."""
    if url.partition(":")[0].startswith("sqlite"):
        return []
    parts = urlsplit(url)
    servers = [urlsplit(server).hostname for server in each_server(url)]
    hosts = ",".join(filter(None, [*servers, *parse_qs(parts.query).get("host", [])]))
    return [host for host in hosts.split(",") if not host.startswith("/")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Where everything is stored."""

    url: str = setting(
        DATABASE_URL,
        database_url,
        "",
        section=Section.STORAGE,
        description=(
            "Where everything is stored: an SQLite file, or a PostgreSQL database "
            "(postgresql://user:password@host/database), which several processes can share. If you list several "
            "servers (host1,host2), the bot uses the one that accepts writes. Default: cogency.db in your data folder."
        ),
        example="sqlite:////var/lib/cogency/cogency.db",
        sensitivity=WITH_PASSWORD,
    )
    """The default is set by `bot.app.settings.load_settings`: a file in the user's data folder."""
    replica_url: str = setting(
        REPLICA_URL,
        database_url,
        "",
        section=Section.STORAGE,
        description=(
            "A streaming replica of the PostgreSQL database. While the replica is up to date, the bot searches past "
            "threads and documents there."
        ),
        example="postgresql://cogency:change-me@replica.example.com/cogency",
        sensitivity=WITH_PASSWORD,
    )
    """"": no replica."""
    forgetting_log: str = setting(
        FORGETTING_LOG,
        parsers.text,
        "",
        section=Section.STORAGE,
        description=(
            "The file where the bot records what was forgotten, as keyed hashes. If you restore the database to an "
            "earlier time, the bot uses the file to erase that data again (docs/backup.md). Keep the file on a "
            "different disk from the database. Default: none."
        ),
        example="/var/backups/cogency-forgetting.log",
    )

    @property
    def log_path(self) -> Path | None:
        """The path of the forgetting log; None if there is none."""
        return Path(self.forgetting_log) if self.forgetting_log else None
