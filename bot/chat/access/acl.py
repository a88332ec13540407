"""The access control lists: who may use the bot, and who may choose which model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias, cast

from agent.admission_terms import Authority
from bot.chat.askers import Requester
from bot.chat.texts import replies as reply_texts

TERMINAL: Final = "terminal"  # The source of messages written in the terminal


class AccessKind(StrEnum):
    TEAM = "team"
    CHANNEL = "channel"
    ROLE = "role"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One entry of a list: everyone in a team (a workspace or server), a channel or a role, or one person."""

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


Entries: TypeAlias = frozenset[AccessEntry]


@dataclass(frozen=True, slots=True)
class AccessRules:
    """`models`: who may choose each restricted model. `operators`: ids of people.

    Rules
    - The terminal and operators are always allowed. (Anyone who uses the terminal can read the settings, too.)
    - Entries of COGENCY_DENY are refused.
    - A person named by COGENCY_ALLOW is allowed, guest or not.
    - Other guests and strangers are allowed only if COGENCY_OPEN_TO names their kind.
    - Of teams, channels and roles, each kind that COGENCY_ALLOW names must match. If it names only people, all others
      are refused.
    - Ids are written as the platform does ("U0123"), or a person's in full ("slack:T1:U0123").
    """

    allow: Entries = frozenset()
    deny: Entries = frozenset()
    open_to: frozenset[Authority] = frozenset()
    models: Mapping[str, Entries] = field(default_factory=dict[str, Entries])
    operators: frozenset[str] = frozenset()

    def is_operator(self, person: str) -> bool:
        """`person`: their full id, such as "slack:T0123:U0123"."""
        return person.startswith(f"{TERMINAL}:") or any(entry_names(operator, person) for operator in self.operators)


def closed_to(rules: AccessRules, who: Requester, authority: Authority) -> str | None:
    """Return why a person may not ask, in a sentence that says what to do; None if they may.

    Without a channel, the channel rules are not applied.
    """
    if rules.is_operator(who.person):
        return None
    # A denial holds whatever else allows them; only operators cannot lock themselves out.
    denied = {entry.kind for entry in rules.deny if entry.matches(who)}
    if denied:
        return _denial(denied)
    if any(entry.kind is AccessKind.PERSON and entry.matches(who) for entry in rules.allow):
        return None
    # Guests and people of other organizations need to be let in by name or by the setting, even where a channel is
    # open.
    if authority < Authority.EMPLOYEE and authority not in rules.open_to:
        return reply_texts.CLOSED_TO[authority]
    listed = {entry.kind for entry in rules.allow}
    if listed == {AccessKind.PERSON}:
        return _denial(listed)
    # Kinds are joined by "and", entries of one kind by "or": a role in a channel needs both.
    missing = listed - {entry.kind for entry in rules.allow if entry.matches(who)} - {AccessKind.PERSON}
    if not who.channel:
        missing -= {AccessKind.CHANNEL}
    return _denial(missing) if missing else None


def may_use(rules: AccessRules, model: str, who: Requester) -> bool:
    """Return whether they may choose this model there. A model that no rule names is open to everyone."""
    if model not in rules.models or rules.is_operator(who.person):
        return True
    return any(entry.matches(who) for entry in rules.models[model])


def entry_names(id_: str, person: str) -> bool:
    """Return whether an id in a list is this person's full id, or the last part of it."""
    return id_ in {person, person.rpartition(":")[2]}


def parse_entries(value: str) -> Entries:
    """Parse "team:T1, channel:C1, role:123, person:U1". Raises ValueError, as `bot.settings.parsers` does."""
    return frozenset(parse_entry(piece.strip()) for piece in value.split(",") if piece.strip())


def parse_openness(value: str) -> frozenset[Authority]:
    """Parse "guests,strangers". Raises ValueError."""
    words = {piece.strip().casefold() for piece in value.split(",") if piece.strip()}
    if not words <= _OPENINGS.keys():
        raise ValueError("must be guests, strangers, or both, separated by a comma")
    return frozenset(_OPENINGS[word] for word in words)


def parse_model_access(value: str) -> Mapping[str, Entries]:
    """Parse a JSON object from models to lists as `parse_entries` reads them. Raises ValueError."""
    try:
        parsed: object = json.loads(value)
    except (ValueError, RecursionError):
        parsed = None
    lists = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    if not lists or not all(isinstance(listed, str) for listed in lists.values()):
        raise ValueError(
            "must be a JSON object that maps each model to the people who can use it, as in "
            '{"openai:gpt-6.1-sol": "role:123, person:U1"}'
        )
    return {model: parse_entries(cast("str", listed)) for model, listed in lists.items()}


def parse_entry(piece: str) -> AccessEntry:
    kind, _, id_ = (part.strip() for part in piece.partition(":"))
    if kind.casefold() not in set(AccessKind) or not id_ or not id_.isascii() or any(map(str.isspace, id_)):
        raise ValueError(
            "must be a list of entries separated by commas, each team:ID, channel:ID, role:ID or person:ID"
        )
    return AccessEntry(AccessKind(kind.casefold()), id_)


def _denial(kinds: set[AccessKind]) -> str:
    """Return the sentence for the kind that a person can change most easily."""
    return next(
        reply_texts.NOT_ALLOWED[kind]
        for kind in (AccessKind.CHANNEL, AccessKind.TEAM, AccessKind.ROLE, AccessKind.PERSON)
        if kind in kinds
    )


_OPENINGS: Final = {"guests": Authority.GUEST, "strangers": Authority.STRANGER}
