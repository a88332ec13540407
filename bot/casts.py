"""From the text of a setting to its value: one function a kind of value. Pure.

Above: `bot.settings`. Below: `bot.secret`.

Rule: a cast raises ValueError whose text continues "NAME …" to one sentence with the remedy, and never repeats the
value: it may be a secret in the wrong place.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeVar, cast

from agent.memory.audience import AudienceKind
from agent.prices import NANO, Money
from bot.secret import Secret

E = TypeVar("E", bound=StrEnum)
_PREFIX: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,19}")
_MODEL_OR_REHEARSAL: Final = re.compile(r"[a-z0-9-]+:.|rehearsal$", re.IGNORECASE | re.ASCII)
_MODEL: Final = re.compile(r"[a-z0-9-]+:.", re.IGNORECASE | re.ASCII)
_SLACK_GROUP: Final = re.compile(r"S[A-Z0-9]+", re.ASCII)
_DAYS: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_DOLLARS: Final = re.compile(r"\d{1,7}(\.\d{1,2})?", re.ASCII)


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class FooterStyle(StrEnum):
    """What stands in small letters under a reply."""

    OFF = "off"
    """Nothing, unless another model answered than the one that was asked."""
    MODEL = "model"
    """Which model answered."""
    COST = "cost"
    """That, the tokens that it took, and their price."""


class DiscordReplies(StrEnum):
    """Where a mention in a Discord channel is answered."""

    THREAD = "thread"
    CHAIN = "chain"
    PLACE = "place"


class SlackStream(StrEnum):
    """Where Slack shows a reply as a native stream."""

    DM = "dm"
    EVERYWHERE = "everywhere"
    OFF = "off"


class DiscordOthers(StrEnum):
    """What becomes of servers that are not named."""

    REFUSE = "refuse"
    LEAVE = "leave"
    SERVE = "serve"


class WhileBusy(StrEnum):
    """What becomes of a message that comes while an answer to the same person grows in the same conversation."""

    WAIT = "wait"
    """It is answered next."""
    JOIN = "join"
    """The running answer takes it into account after its next round of tools; if there is none, it is answered next."""


def text(value: str) -> str:
    return value


def command_prefix(value: str) -> str:
    """What stands before the names of slash commands: Slack takes 32 characters with them and the slash."""
    if not _PREFIX.fullmatch(value):
        raise ValueError('must be at most 20 small letters, digits, "-" or "_", as in bot-')
    return value


def ids(value: str) -> frozenset[str]:
    """Ids with commas between them."""
    parts = [piece.strip() for piece in value.split(",")]
    if not all(part.isascii() and part.isalnum() for part in parts):
        raise ValueError("must be ids with commas between them, as in B0123,B0456")
    return frozenset(parts)


def discord_roles(value: str) -> frozenset[str]:
    """Ids of roles with commas between them."""
    parts = [piece.strip() for piece in value.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError("must be ids of roles with commas between them, as in 123456789012345678,234567890123456789")
    return frozenset(parts)


def discord_servers(value: str) -> frozenset[str]:
    """Ids of servers with commas between them."""
    parts = [piece.strip() for piece in value.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError("must be ids of servers with commas between them, as in 123456789012345678,234567890123456789")
    return frozenset(parts)


def models(value: str) -> tuple[str, ...]:
    """Names of models with commas between them, in order."""
    names = tuple(piece.strip() for piece in value.split(",") if piece.strip())
    if not names or not all(_MODEL_OR_REHEARSAL.match(name) for name in names):
        raise ValueError("must be models with commas between them, as in anthropic:claude-sonnet-5-5,ollama:llama3.2")
    return names


def embeddings(value: str) -> str | None:
    """A model, or off."""
    if value.lower() == "off":
        return None
    if not _MODEL.match(value):
        raise ValueError("must be off, or a model as in openai:text-embedding-3-small")
    return value


def transcription(value: str) -> str | None:
    """A model, or off."""
    if value.lower() == "off":
        return None
    if not _MODEL.match(value):
        raise ValueError("must be off, or a model as in openai:gpt-4o-mini-transcribe")
    return value


def one_of(kind: type[E]) -> Callable[[str], E]:
    """A member of an enumeration, in small letters or capitals."""
    by_name = {member.value.casefold(): member for member in kind}

    def read(value: str) -> E:
        if value.casefold() not in by_name:
            raise ValueError(f"must be one of {', '.join(kind)}")
        return by_name[value.casefold()]

    return read


def switch(value: str) -> bool:
    """on or off."""
    if value.lower() not in {"on", "off"}:
        raise ValueError("must be on or off")
    return value.lower() == "on"


def secret(prefix: str = "", where: str = "") -> Callable[[str], Secret]:
    """A key or token of printable ASCII without blanks; `where` says where the right one is found."""

    def read(value: str) -> Secret:
        if not value.startswith(prefix):
            raise ValueError(f'must begin with "{prefix}": {where}')
        if not value.isascii() or not value.isprintable() or " " in value:
            raise ValueError("holds a blank or a character that no key has: copy it again, without quotes")
        return Secret(value)

    return read


def slack_groups(value: str) -> frozenset[str]:
    """Ids of Slack's user groups with commas between them."""
    found = frozenset(piece.strip() for piece in value.split(","))
    if not all(_SLACK_GROUP.fullmatch(piece) for piece in found):
        raise ValueError("must be ids of user groups with commas between them, as in S0123,S0456")
    return found


key = secret()


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not (value.isascii() and value.isdecimal() and len(value) <= len(str(most)) and least <= int(value) <= most):
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(value)

    return read


def shards(value: str) -> int | None:
    """A number of connections; "auto": None."""
    if value.casefold() == "auto":
        return None
    try:
        return whole(1, 1_000)(value)
    except ValueError:
        raise ValueError("must be auto, or a whole number from 1 to 1000") from None


def limit(most: int) -> Callable[[str], int | None]:
    """A whole number; 0 is no limit: None."""
    read = whole(0, most)

    def limited(value: str) -> int | None:
        return read(value) or None

    return limited


def retention(value: str) -> Mapping[AudienceKind, int]:
    """Days for kinds of places: "dm=365, private=90, public=30"."""
    kinds = {"dm": AudienceKind.PERSON, "private": AudienceKind.GROUP, "public": AudienceKind.TEAM}
    days: dict[AudienceKind, int] = {}
    for part in value.split(","):
        name, _, number = (piece.strip().lower() for piece in part.partition("="))
        if name not in kinds or kinds[name] in days or not _DAYS.fullmatch(number):
            raise ValueError("must be days for dm, private or public places, as in dm=365, private=90, public=30")
        days[kinds[name]] = int(number)
    return days


def dollars(value: str) -> Money | None:
    """US dollars, with cents if need be; 0 is no limit: None."""
    if _DOLLARS.fullmatch(value) is None:
        raise ValueError("must be a sum in US dollars without a sign, as in 5 or 2.50; 0 for no limit")
    whole_, _, cents = value.partition(".")
    return Money((int(whole_) * 100 + int(cents.ljust(2, "0"))) * (NANO // 100)) or None


def seconds(most: float) -> Callable[[str], float]:
    """More than zero, at most `most`; fractions are allowed."""

    def read(value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 < number <= most:
            raise ValueError(f"must be a number of seconds, more than 0 and at most {most:g}")
        return number

    return read


def texts_by_id(what: str, example: str) -> Callable[[str], Mapping[str, str]]:
    """A JSON object from ids to texts; `what` names both in the remedy."""

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
