"""The machine's clock and randomness, which are arguments everywhere else; and the location of a database."""

import asyncio
import os
import platform
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from agent import texts
from agent.errors import SettingsError


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 -- the one place where the time of day comes in

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 -- the one place where elapsed time comes in

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


CLOCK: Final = SystemClock()


def new_id() -> str:
    return uuid4().hex


def process_name() -> str:
    """A name that operators recognise and that is unique to this process."""
    return f"{platform.node()}:{os.getpid()}:{new_id()[:8]}"


def new_secret() -> str:
    """256 bits, as 43 characters that are safe in a URL."""
    return secrets.token_urlsafe(32)


def fresh_word() -> str:
    """A word that marks the system's section of one turn and that writers of messages cannot guess."""
    return uuid4().hex[:6]


def each_server(url: str) -> tuple[str, ...]:
    """Return a URL for each server that `url` lists, as in "postgresql://user@one:5432,two:5432/name"."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, hosts = authority.rpartition("@")
    return tuple(f"{scheme}{separator}{user}{at}{host}{slash}{path}" for host in hosts.split(","))


def place_of(url: str) -> str:
    """The name of this URL's database for a person, without secrets: as a path it stands anywhere in a sentence."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] == "sqlite":
        path = sqlite_path(rest)
        return "nowhere; it ends with this process" if path is None else str(path)
    try:
        parts = urlsplit(url)
        hosts = [host for server in each_server(url) if (host := urlsplit(server).hostname)]
        host = ", ".join(hosts) or parse_qs(parts.query).get("host", ["this machine"])[0]
        return f"PostgreSQL database {parts.path.strip('/') or parts.username} on {host}"
    except ValueError:
        return "PostgreSQL database"


def sqlite_path(rest: str) -> Path | None:
    """The file that `sqlite://rest` names, or None for a database in memory. `rest` is used as it is, not decoded.
    Raises SettingsError for the home folder of an unknown user.
    """
    name = rest.removeprefix("/")
    try:
        return None if name in {"", ":memory:"} else Path(name).expanduser().absolute()
    except RuntimeError:  # "~name" of an unknown user
        raise SettingsError(texts.UNKNOWN_HOME.format(path=name)) from None
