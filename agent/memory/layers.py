"""The four layers of state that a turn may draw on (seed 003), and past threads beside them. Pure.

Above: `agent.memory.composing`, which makes a context of them; `agent.records`, the ports, the tools and the store know
scratch values. Below: `agent.memory.facts`, earlier, `agent.authority`.

    identity role    who asks, set at the turn's start, read-only
    environment      time, date, time zone, signals from outside
    facts            persistent; those that are valid and readable here count
    working set      a conversation's scratch values, with a TTL
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agent.authority import Authority
from agent.memory.earlier import Said
from agent.memory.facts import Fact, Scope


@dataclass(frozen=True, slots=True)
class IdentityRole:
    """Who asks, by the platform's facts: never what somebody says about themselves."""

    user_name: str
    user_id: str = ""
    authority: Authority = Authority.EMPLOYEE
    department: str = ""
    organization: str = ""
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WorkingItem:
    """A scratch value of one conversation. `expires_at`: from then on it is gone; None: with the conversation."""

    key: str
    value: str
    created_at: datetime
    expires_at: datetime | None = None
    message: int | None = None
    """The stored message in whose turn it was kept."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that another system says about the world ("calendar", "deadline")."""

    key: str
    value: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Environment:
    """`now` is aware; `time_zone` is the person's, by its IANA name."""

    now: datetime
    time_zone: str = "UTC"
    location: str = ""
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Layers:
    """All state that a turn may draw on. `facts` may hold what is superseded, or not readable here."""

    identity: IdentityRole
    environment: Environment
    facts: Sequence[Fact] = ()
    working_set: Sequence[WorkingItem] = ()
    earlier: Sequence[Said] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom and about what: the audience labels that may flow here (`may_flow_from`), the question, and the scopes
    beside GLOBAL that the turn works in, as (scope, scope_id).
    """

    audiences: frozenset[str]
    question: str
    scopes: frozenset[tuple[Scope, str | None]] = frozenset()


def live_items(items: Iterable[WorkingItem], now: datetime) -> list[WorkingItem]:
    """The working set without what has expired; of a key the newest."""
    newest = {item.key: item for item in sorted(items, key=lambda item: item.created_at)}
    return [item for item in newest.values() if item.expires_at is None or now < item.expires_at]


def local_time(environment: Environment) -> datetime:
    """Now, where the person is; in UTC if the time zone is unknown."""
    try:
        return environment.now.astimezone(ZoneInfo(environment.time_zone))
    except (ZoneInfoNotFoundError, ValueError):
        return environment.now
