"""Who may talk to the bot, and who may choose which model. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, TypeAlias, cast

from agent.admission_terms import Authority
from agent.records import Incoming
from agent.schedules import ScheduleState
from bot.texts import reply_texts

TERMINAL: Final = "terminal"
"""The source of what is written in the terminal."""


class AccessKind(StrEnum):
    TEAM = "team"
    CHANNEL = "channel"
    ROLE = "role"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One line of a list: everybody in a team (a workspace or server), a channel or a role, or one person."""

    kind: AccessKind
    id: str

    def matches(self, who: "Requester") -> bool:
        match self.kind:
            case AccessKind.TEAM:
                return self.id == who.team
            case AccessKind.CHANNEL:
                return self.id == who.channel
            case AccessKind.ROLE:
                return self.id in who.roles
            case AccessKind.PERSON:
                return entry_names(self.id, who.person)


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command says to its requester alone. `refused`: nothing was done or shown, and the text says why."""

    text: str
    refused: bool = False


class OperatorAnswers(Protocol):
    async def link(self, person: str) -> CommandAnswer:
        """What `/operator` says to this person, for them alone. Raises StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class ShownSchedule:
    """A reminder, or what is asked at a time, as its person sees it in a list; `words`: what is said or asked."""

    id: int
    text: str
    state: ScheduleState = ScheduleState.ACTIVE
    words: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleAnswer:
    """What `/remind` and `/schedules` answer, as Markdown, and what may be decided about each of `entries`.

    `page`: of a list, from 1. `choices`: labels, with the words that mean each. `by_clock`: nobody knows the person's
    time zone, and it is needed.
    `refused`: nothing was done, and the text says why, or asks.
    """

    text: str
    entries: tuple[ShownSchedule, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    by_clock: bool = False
    page: int = 1
    pages: int = 1
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Requester:
    """Somebody who asks for something, and where. `person`: their full id; the others as the platform has them."""

    person: str
    channel: str = ""
    roles: frozenset[str] = frozenset()
    team: str = ""

    @classmethod
    def wrote(cls, incoming: Incoming) -> "Requester":
        return cls(incoming.person.id, incoming.channel, incoming.roles, incoming.team)


Entries: TypeAlias = frozenset[AccessEntry]


@dataclass(frozen=True, slots=True)
class AccessRules:
    """`models`: who may choose a model that not everybody may. `operators`: ids of people.

    The rules.
    - The terminal and operators may always. (Whoever can use the terminal can read the settings, too.)
    - Whom or what COGENCY_DENY names may not.
    - Whom COGENCY_ALLOW names as a person may, guest or not.
    - Other guests and strangers may only where COGENCY_OPEN_TO says so.
    - Of teams, channels and roles, each kind that COGENCY_ALLOW names must match. If it names only people, nobody else
      may.
    - Ids are as the platform writes them ("U0123"); a person's may be as the bot writes it, too ("slack:T1:U0123").
    """

    allow: Entries = frozenset()
    deny: Entries = frozenset()
    open_to: frozenset[Authority] = frozenset()
    models: Mapping[str, Entries] = field(default_factory=dict[str, Entries])
    operators: frozenset[str] = frozenset()

    def is_operator(self, person: str) -> bool:
        """`person`: their full id."""
        return person.startswith(f"{TERMINAL}:") or any(entry_names(operator, person) for operator in self.operators)


def refusal(rules: AccessRules, incoming: Incoming) -> str | None:
    """Why this message is not taken in, in a sentence that says what to do; None if it may be."""
    return closed_to(rules, Requester.wrote(incoming), incoming.authority)


def closed_to(rules: AccessRules, who: Requester, authority: Authority) -> str | None:
    """The same of somebody there, before they write; without a channel, wherever they may do so."""
    if rules.is_operator(who.person):
        return None
    denied = {entry.kind for entry in rules.deny if entry.matches(who)}
    if denied:
        return _not_here(denied)
    if any(entry.kind is AccessKind.PERSON and entry.matches(who) for entry in rules.allow):
        return None
    if authority < Authority.EMPLOYEE and authority not in rules.open_to:
        return reply_texts.CLOSED_TO[authority]
    listed = {entry.kind for entry in rules.allow}
    if listed == {AccessKind.PERSON}:
        return _not_here(listed)
    missing = listed - {entry.kind for entry in rules.allow if entry.matches(who)} - {AccessKind.PERSON}
    if not who.channel:
        missing -= {AccessKind.CHANNEL}
    return _not_here(missing) if missing else None


def may_use(rules: AccessRules, model: str, who: Requester) -> bool:
    """Whether they may choose this model there. A model that no rule names is everybody's."""
    if model not in rules.models or rules.is_operator(who.person):
        return True
    return any(entry.matches(who) for entry in rules.models[model])


def entry_names(id_: str, full: str) -> bool:
    """Whether an id as written in a list is this full id, or its last part."""
    return id_ in {full, full.rpartition(":")[2]}


def parse_entries(value: str) -> Entries:
    """From "team:T1, channel:C1, role:123, person:U1". Raises ValueError, as `bot.setting_parsers` does."""
    return frozenset(_entry(piece.strip()) for piece in value.split(",") if piece.strip())


def parse_openness(value: str) -> frozenset[Authority]:
    """From "guests,strangers". Raises ValueError."""
    words = {piece.strip().casefold() for piece in value.split(",") if piece.strip()}
    if not words <= _OPENINGS.keys():
        raise ValueError("must be guests, strangers, or both with a comma between them")
    return frozenset(_OPENINGS[word] for word in words)


def parse_model_access(value: str) -> Mapping[str, Entries]:
    """From a JSON object of models and lists as `entries` reads them. Raises ValueError."""
    try:
        parsed: object = json.loads(value)
    except (ValueError, RecursionError):
        parsed = None
    lists = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    if not lists or not all(isinstance(listed, str) for listed in lists.values()):
        raise ValueError(
            'must be a JSON object of models and who may use them, as in {"openai:gpt-6.1-sol": "role:123, person:U1"}'
        )
    return {model: parse_entries(cast("str", listed)) for model, listed in lists.items()}


def _entry(piece: str) -> AccessEntry:
    kind, _, id_ = (part.strip() for part in piece.partition(":"))
    if kind.casefold() not in set(AccessKind) or not id_ or not id_.isascii() or any(map(str.isspace, id_)):
        raise ValueError("must be team:ID, channel:ID, role:ID or person:ID, with commas between them")
    return AccessEntry(AccessKind(kind.casefold()), id_)


def _not_here(kinds: set[AccessKind]) -> str:
    """The nearest thing that a person can change first."""
    return next(
        reply_texts.NOT_ALLOWED[kind]
        for kind in (AccessKind.CHANNEL, AccessKind.TEAM, AccessKind.ROLE, AccessKind.PERSON)
        if kind in kinds
    )


_OPENINGS: Final = {"guests": Authority.GUEST, "strangers": Authority.STRANGER}
