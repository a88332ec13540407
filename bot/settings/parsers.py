"""Parses the texts of settings: one function for each kind of value. Pure.

Rule: a parser raises ValueError whose text continues "NAME …" to one sentence with the remedy, and never contains the
value, which may be a secret in the wrong place.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

from agent.providers.keys import split_keys
from agent.texts import KEY_CHARACTER
from bot.settings.secret import Secret, SecretList

# A channel with its platform, and with its workspace where there may be several: "slack:T0123:C0123".
CHANNEL: Final = re.compile(r"(slack:(?:[TE][A-Z0-9]{2,20}:)?[CG][A-Z0-9]{2,20}|discord:\d{1,20})", re.ASCII)
# A place in which the bot is used: a channel, a workspace or a whole platform.
PLACE: Final = re.compile(r"[a-z]+:[!-~]{1,200}|discord")

_LISTEN: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})", re.ASCII)

_MODULE: Final = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")

# Otherwise some parsers see the host in the brackets, and others what follows them.
_BRACKETED: Final = re.compile(r"\[[0-9A-Fa-f:.]+\](:\d{1,5})?", re.ASCII)

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_RANDOM: Final = 32  # Characters without an underscore: names have words


def is_variable_name(text: str) -> bool:
    """Return whether a text is the name of an environment variable, and not a secret in its place."""
    looks_secret = text.startswith("whsec_") or (len(text) >= _RANDOM and "_" not in text)
    return _VARIABLE.fullmatch(text) is not None and not looks_secret


def url(*schemes: str) -> Callable[[str], str]:
    """Return a parser of addresses with one of these schemes and a host, without credentials or query.

    A slash at the end is removed.
    """
    forms = " or ".join(f"{scheme}://" for scheme in schemes)

    def read(value: str) -> str:
        parts = _split(value, schemes[0])
        if parts.scheme not in schemes or not parts.hostname:
            raise ValueError(f"must be a complete address that starts with {forms}")
        if parts.username or parts.password:
            raise ValueError("must not contain a username or password; API keys have their own settings")
        if parts.query or parts.fragment:
            raise ValueError('must not contain "?" or "#"')
        return value.rstrip("/")

    return read


web_address = url("https", "http")
socket_address = url("wss", "ws")


def listen_address(value: str) -> tuple[str, int]:
    """Parse a host and a port to listen at, as in 0.0.0.0:3000 or [::]:3000."""
    match = _LISTEN.fullmatch(value)
    if match is None or not 0 < int(match[2]) < 65_536:
        raise ValueError("must be a host and a port to listen on, as in 127.0.0.1:3000 or 0.0.0.0:3000")
    return match[1].strip("[]"), int(match[2])


def _split(value: str, first: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        _ = parts.port  # an invalid port is only noticed when it is read
    except ValueError:
        raise ValueError(f"is not a valid address; write it like {first}://host.example:8080") from None
    if "]" in parts.netloc and _BRACKETED.fullmatch(parts.netloc.rpartition("@")[2]) is None:
        raise ValueError(f"is not a valid address; write it like {first}://[::1]:8080")
    if any(character.isspace() or not character.isprintable() for character in value):
        raise ValueError("contains a space or an invisible character; write the address without it")
    return parts


E = TypeVar("E", bound=StrEnum)


def text(value: str) -> str:
    return value


def id_list(form: re.Pattern[str], what: str) -> Callable[[str], frozenset[str]]:
    """Return a parser of comma-separated ids of this form; `what` describes them in the remedy, with an example."""

    def read(value: str) -> frozenset[str]:
        ids_found = frozenset(piece.strip() for piece in value.split(",") if piece.strip())
        if not ids_found or not all(map(form.fullmatch, ids_found)):
            raise ValueError(f"must be {what}")
        return ids_found

    return read


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
            raise ValueError(f"must be one or more of {', '.join(kind)}, separated by commas") from None

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
            raise ValueError(f'must start with "{prefix}": {where}')
        if not value.isascii() or not value.isprintable() or " " in value:
            raise ValueError(KEY_CHARACTER)
        return Secret(value)

    return read


key = secret()


def keys(value: str) -> Secret:
    """Parse one key, or several that are separated by commas or line breaks."""
    first, *others = split_keys(value)
    return SecretList((first, *others)) if others else Secret(first)


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


def is_python_source(name: str) -> bool:
    """Whether this can name a file, which ends in .py, or a module."""
    return name.endswith(".py") or _MODULE.fullmatch(name) is not None


def limit(maximum: int) -> Callable[[str], int | None]:
    """Return a parser of a whole number; None for 0, which is no limit."""
    parse_whole = whole(0, maximum)

    def read(value: str) -> int | None:
        return parse_whole(value) or None

    return read


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
    """Return a parser of a JSON object from ids to texts; `what` describes both in the remedy, as in "IDs to texts"."""

    def read(value: str) -> Mapping[str, str]:
        try:
            parsed: object = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        texts = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else None
        if texts is None or not all(isinstance(entry, str) for entry in texts.values()):
            raise ValueError(f"must be a JSON object that maps {what}, as in {example}")
        return cast("dict[str, str]", texts)

    return read
