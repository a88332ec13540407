"""The access control lists: who may use the bot and choose which model; and the rules chosen for a channel."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import ClassVar, Final, Self, TypeAlias, cast

from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.incoming import Incoming
from agent.memory.forgetting_plans import AMBIENT_STATE, PLACE_RULES
from agent.ports.preferences import Preferences
from agent.schedules.definitions import ScheduleState
from bot.texts import reply_texts

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


@dataclass(frozen=True, slots=True)
class ShownSchedule:
    """A reminder or a scheduled question in its person's list. `words`: the reminder's or question's text."""

    id: int
    text: str
    state: ScheduleState = ScheduleState.ACTIVE
    words: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleAnswer:
    """The answer of `/remind` and `/schedules`, as Markdown, with the entries that it offers to change.

    `page`: of a list, from 1. `choices`: labels, with the words that each sends. `by_clock`: the person's time zone is
    needed, and unknown. `refused`: nothing was done, and `text` says why, or asks for what is missing.
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
    """A person who requests something, and where. `person`: their full id; the others as the platform writes them."""

    person: str
    channel: str = ""
    roles: frozenset[str] = frozenset()
    team: str = ""

    @classmethod
    def wrote(cls, incoming: Incoming) -> "Requester":
        return cls(incoming.person.id, incoming.channel, incoming.roles, incoming.team)


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """The answer of `/channel`, as Markdown. `chosen`: the choices by rule; None for a person who may not change them.

    `most_ambient`: the operator's limit of ambient answers a day. `refused`: nothing was done; `text` says why.
    """

    text: str
    chosen: Mapping[str, str] | None = None
    most_ambient: int = 0
    refused: bool = False


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


def refusal(rules: AccessRules, incoming: Incoming) -> str | None:
    """Return why this message is refused, in a sentence that says what to do; None if it is accepted."""
    return closed_to(rules, Requester.wrote(incoming), incoming.authority)


def closed_to(rules: AccessRules, who: Requester, authority: Authority) -> str | None:
    """Return why a person may not ask, as `refusal` does, also before they have written anything.

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
    """Parse "team:T1, channel:C1, role:123, person:U1". Raises ValueError, as `bot.setting_parsers` does."""
    return frozenset(_entry(piece.strip()) for piece in value.split(",") if piece.strip())


def parse_openness(value: str) -> frozenset[Authority]:
    """Parse "guests,strangers". Raises ValueError."""
    words = {piece.strip().casefold() for piece in value.split(",") if piece.strip()}
    if not words <= _OPENINGS.keys():
        raise ValueError("must be guests, strangers, or both with a comma between them")
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
            'must be a JSON object of models and who may use them, as in {"openai:gpt-6.1-sol": "role:123, person:U1"}'
        )
    return {model: parse_entries(cast("str", listed)) for model, listed in lists.items()}


def _entry(piece: str) -> AccessEntry:
    kind, _, id_ = (part.strip() for part in piece.partition(":"))
    if kind.casefold() not in set(AccessKind) or not id_ or not id_.isascii() or any(map(str.isspace, id_)):
        raise ValueError("must be team:ID, channel:ID, role:ID or person:ID, with commas between them")
    return AccessEntry(AccessKind(kind.casefold()), id_)


def _denial(kinds: set[AccessKind]) -> str:
    """Return the sentence for the kind that a person can change most easily."""
    return next(
        reply_texts.NOT_ALLOWED[kind]
        for kind in (AccessKind.CHANNEL, AccessKind.TEAM, AccessKind.ROLE, AccessKind.PERSON)
        if kind in kinds
    )


_OPENINGS: Final = {"guests": Authority.GUEST, "strangers": Authority.STRANGER}


# Rules that a channel's managers have chosen. They can only narrow what the operator's settings allow.

# A channel's preference: its first line holds the rules as a JSON object of texts, the other lines their history.
PLACE: Final = PLACE_RULES
MEMBERS: Final = "members"  # In place of an entry: all full members
OFF: Final = "off"


class PlaceRule(StrEnum):
    """What can be chosen for a channel. `LEARNING` is stored as a pause for everyone there (`bot.memory.learning`)."""

    WHO = "who"
    MODELS = "models"
    MODEL = "model"
    INSTRUCTIONS = "instructions"
    LANGUAGE = "language"
    AMBIENT = "ambient"
    LEARNING = "learning"
    KNOWLEDGE = "knowledge"


@dataclass(frozen=True, slots=True)
class PlaceRules:
    """`chosen`: texts as they are stored; the operator's settings decide on every rule that is missing.

    Rules. Operators and managers of the whole team are always admitted, so that they cannot be locked out. A choice
    that the operator no longer allows, such as a model, has no effect.
    """

    chosen: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def from_preferences(cls, preferences: Mapping[str, str]) -> Self:
        """Read them from the channel's preferences. Raises StoreError for unreadable rules: to ignore them could admit
        people whom they exclude.
        """
        first = preferences.get(PLACE, "{}").partition("\n")[0]
        try:
            parsed: object = json.loads(first)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise StoreError(reply_texts.PLACE_UNREADABLE.format(name=PLACE))
        return cls({str(name): str(value) for name, value in cast("dict[str, object]", parsed).items()})

    def text(self, rule: PlaceRule) -> str:
        return self.chosen.get(rule, "")

    @property
    def models(self) -> tuple[str, ...]:
        """The only models of the channel; empty for all that people may choose."""
        return tuple(self.text(PlaceRule.MODELS).split())

    @property
    def ambient(self) -> int:
        """The limit of ambient answers a day."""
        chosen = self.text(PlaceRule.AMBIENT)
        return int(chosen) if chosen.isdecimal() else 0

    @property
    def finds_documents(self) -> bool:
        return self.text(PlaceRule.KNOWLEDGE) != OFF

    def admits(self, who: Requester, authority: Authority) -> bool:
        listed = self.text(PlaceRule.WHO).split()
        if not listed or authority >= Authority.MANAGER or (MEMBERS in listed and authority >= Authority.EMPLOYEE):
            return True
        return any(_entry(entry).matches(who) for entry in listed if entry != MEMBERS)


LOOKS: Final = 5  # How many questions a model may examine for each answer that a day allows
COOL_DOWN: Final = timedelta(minutes=3)  # Between two ambient answers in a channel
QUIET: Final = timedelta(days=1)  # Without ambient answers, after a person asked for silence
MARKS: Final = 20  # The latest ambient answers of a channel that are still recognised


@dataclass(frozen=True, slots=True)
class AmbientState:
    """A channel's ambient answers, in all processes. `day`: in UTC. `answers`, `looks`: on that day. `last`: the time
    of the last answer. `quiet`: the time until which it gets none.

    `first` and `marks`: conversations, as hashes, so that nothing here shows who asked.
    """

    NAME: ClassVar[str] = AMBIENT_STATE

    day: str = ""
    answers: int = 0
    looks: int = 0
    last: str = ""
    quiet: str = ""
    first: str = ""
    marks: tuple[str, ...] = ()

    @classmethod
    def from_preferences(cls, preferences: Mapping[str, str]) -> Self:
        """Read it; an unreadable state counts as empty, because the channel's own choice is stored elsewhere."""
        try:
            parsed = json.loads(preferences.get(cls.NAME, "{}"))
            marks = tuple(parsed.pop("marks", ()))
            return cls(**parsed, marks=marks)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return cls()

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    def is_open(self, now: datetime, bound: int) -> bool:
        today = self._on_day(now)
        is_cool = not self.last or now - datetime.fromisoformat(self.last) >= COOL_DOWN
        is_quiet = bool(self.quiet) and now < datetime.fromisoformat(self.quiet)
        return today.answers < bound and today.looks < bound * LOOKS and is_cool and not is_quiet

    def looked(self, now: datetime) -> Self:
        today = self._on_day(now)
        return replace(today, looks=today.looks + 1)

    def answering(self, now: datetime, conversation: str) -> Self:
        today, mark = self._on_day(now), _mark(conversation)
        marks = (*self.marks, mark)[-MARKS:]
        first = self.first or mark
        return replace(today, answers=today.answers + 1, last=now.isoformat(), first=first, marks=marks)

    def hushed(self, now: datetime) -> Self:
        return replace(self, quiet=(now + QUIET).isoformat())

    def switched_on(self) -> Self:
        """Return the state after ambient answers were switched on: the next answer again says how to end them. The
        counts of the day remain.
        """
        return replace(self, quiet="", first="")

    def answered(self, conversation: str) -> bool:
        return _mark(conversation) in self.marks

    def is_first(self, conversation: str) -> bool:
        return self.first == _mark(conversation)

    def _on_day(self, now: datetime) -> Self:
        day = now.date().isoformat()
        return self if self.day == day else replace(self, day=day, answers=0, looks=0)


def _mark(conversation: str) -> str:
    return sha256(conversation.encode()).hexdigest()[:16]


def place_owner(channel: str) -> str:
    """Return the owner of the preferences that hold what was chosen for a channel."""
    return f"channel:{channel}"


async def rules_at(preferences: Preferences, channel: str) -> PlaceRules:
    """Return the channel's current rules, read from the store. Raises StoreError."""
    return PlaceRules.from_preferences(await preferences.all_of(place_owner(channel))) if channel else PlaceRules()
