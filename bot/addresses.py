"""From the text of a setting to an address: of a service, a database, or where to listen. Pure.

Rule: as in `bot.casts`, ValueError continues "NAME …" to one sentence with the remedy, and never repeats the value.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

_LISTEN: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})", re.ASCII)

_BRACKETED: Final = re.compile(r"\[[0-9A-Fa-f:.]+\](:\d{1,5})?", re.ASCII)
"""Else some readers see the address in the brackets, and others what follows."""


def url(*schemes: str) -> Callable[[str], str]:
    """An address with one of these schemes and a host, without credentials, query or a slash at its end."""
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
    """A host and a port to listen at, as in 0.0.0.0:3000 or [::]:3000."""
    match = _LISTEN.fullmatch(value)
    if match is None or not 0 < int(match[2]) < 65_536:
        raise ValueError("must be a host and a port to listen at, as in 127.0.0.1:3000 or 0.0.0.0:3000")
    return match[1].strip("[]"), int(match[2])


def database_url(value: str) -> str:
    """The URL of an SQLite file or of a PostgreSQL database."""
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
        _ = parts.port  # a port that is no number is noticed only when it is read
    except ValueError:
        parts = urlsplit("")
    placed = parts.hostname or "host" in parse_qs(parts.query)
    if not placed or not parts.path.strip("/") or parts.fragment or not value.isprintable() or " " in value:
        raise ValueError(
            "must have the form postgresql://user:password@host/database; "
            'in the password, write "@", "/", ":", "#", "%" and blanks as %40, %2F, %3A, %23, %25 and %20'
        )
    return value


def passwords_of(url: str) -> tuple[str, ...]:
    """The passwords in a URL: before the host, or among its parameters."""
    parts = urlsplit(url)
    named = [value for name, values in parse_qs(parts.query).items() if "password" in name for value in values]
    return tuple(filter(None, [unquote(parts.password or ""), *named]))


def database_hosts(url: str) -> list[str]:
    """The machines that a database's URL names; none for a file, and for a socket on this machine."""
    if url.partition(":")[0].startswith("sqlite"):
        return []
    parts = urlsplit(url)
    named = ",".join(filter(None, [parts.hostname, *parse_qs(parts.query).get("host", [])]))
    return [host for host in named.split(",") if not host.startswith("/")]


def _split(value: str, first: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        _ = parts.port  # a port that is no number is noticed only when it is read
    except ValueError:
        raise ValueError(f"is not a valid address; write it as in {first}://host.example:8080") from None
    if "]" in parts.netloc and _BRACKETED.fullmatch(parts.netloc.rpartition("@")[2]) is None:
        raise ValueError(f"is not a valid address; write it as in {first}://[::1]:8080")
    if any(character.isspace() or not character.isprintable() for character in value):
        raise ValueError("holds a blank: write the address without any")
    return parts
