"""Who may talk to the bot, and who may choose which model; and what was chosen for a channel."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import ClassVar, Final, Protocol, Self, TypeAlias, cast

from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.memory.audience import Place
from agent.memory.forgetting_plans import AMBIENT_STATE, PLACE_RULES
from agent.ports import Preferences
from agent.records import Incoming, Person
from agent.schedules import ScheduleState
from bot.texts import memory_texts, reply_texts

TERMINAL: Final = "terminal"  # The source of what is written in the terminal


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


@dataclass(frozen=True, slots=True)
class PlaceAsker:
    """Who asks about a place, or has something done there. `manages`: whether they may decide there for everybody."""

    person: Person
    authority: Authority
    place: Place
    source: str
    channel: str = ""
    manages: bool = False


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """What `/channel` answers, as Markdown. `chosen`: for who may change it, by the names of the rules; else None.

    `most_ambient`: the most answers a day that the operator allows. `refused`: nothing was done; the text says why.
    """

    text: str
    chosen: Mapping[str, str] | None = None
    most_ambient: int = 0
    refused: bool = False


class PlaceChoices(Protocol):
    """What who manages a channel chooses for it. Raises StoreError."""

    @property
    def models(self) -> tuple[str, ...]: ...

    async def answer(
        self, asker: PlaceAsker, words: str, say: Callable[[str], Awaitable[None]], deaf: str = ""
    ) -> PlaceAnswer:
        """What `/channel` with these words (see `bot.memory.place_desk`) says to them."""
        ...

    async def chosen(self, channel: str) -> Mapping[str, str]: ...


class NoPlaces:
    """Implements `PlaceChoices` where there are no channels."""

    models: tuple[str, ...] = ()

    async def answer(
        self,
        asker: PlaceAsker,  # noqa: ARG002 -- the same for everybody
        words: str,  # noqa: ARG002 -- as above
        say: Callable[[str], Awaitable[None]],  # noqa: ARG002 -- as above
        deaf: str = "",  # noqa: ARG002 -- as above
    ) -> PlaceAnswer:
        return PlaceAnswer(memory_texts.NO_CHANNEL_HERE, refused=True)

    async def chosen(self, channel: str) -> Mapping[str, str]:  # noqa: ARG002 -- as above
        return {}


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


# What who manages a channel has chosen for it: it narrows what the operator's settings let in, and widens nothing.

# The preference of a channel: its first line holds the rules, a JSON object of texts; the others their history.
PLACE: Final = PLACE_RULES
MEMBERS: Final = "members"  # In place of an entry: full members
OFF: Final = "off"


class PlaceRule(StrEnum):
    """What may be chosen for a channel. `LEARNING` is kept as everybody's pause of it (`bot.memory.learning`)."""

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
    """`chosen`: texts in the form in which they are kept; what is not there is as the operator's settings say.

    Rules. Operators, and who is a manager of the whole team, may always ask, so that nobody locks them out. What the
    operator no longer allows, such as a model, is as if it had not been chosen.
    """

    chosen: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def kept(cls, preferences: Mapping[str, str]) -> Self:
        """From those of the channel. Rules that cannot be read are not none: they may shut somebody out. Raises
        StoreError.
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
        """The only ones; empty for all that people may choose."""
        return tuple(self.text(PlaceRule.MODELS).split())

    @property
    def ambient(self) -> int:
        """Answers a day to what was not said to the bot."""
        chosen = self.text(PlaceRule.AMBIENT)
        return int(chosen) if chosen.isdecimal() else 0

    @property
    def finds_documents(self) -> bool:
        return self.text(PlaceRule.KNOWLEDGE) != OFF

    def admits(self, who: Requester, authority: Authority) -> bool:
        listed = self.text(PlaceRule.WHO).split()
        if not listed or authority >= Authority.MANAGER or (MEMBERS in listed and authority >= Authority.EMPLOYEE):
            return True
        return any(_entry(one).matches(who) for one in listed if one != MEMBERS)


AMBIENT: Final = "ambient:"  # The event id of a question begins with this that nobody asked the bot
LOOKS: Final = 5  # For each answer of a day so many questions may be looked at by a model
COOL_DOWN: Final = timedelta(minutes=3)  # Between two such answers in a channel
QUIET: Final = timedelta(days=1)
MARKS: Final = 20  # Answers of a channel that are still known as such


@dataclass(frozen=True, slots=True)
class AmbientState:
    """What a channel got of answers that nobody asked for, in all processes; `day` of UTC. `answers`, `looks`: on that
    day; `last`: when the last answer was; `quiet`: until when it gets none.

    `first` and `marks`: of conversations, as hashes, so that nothing here tells who asked.
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
    def kept(cls, preferences: Mapping[str, str]) -> Self:
        """What cannot be read is as if nothing had been yet: the choice of the channel is kept elsewhere."""
        try:
            parsed = json.loads(preferences.get(cls.NAME, "{}"))
            marks = tuple(parsed.pop("marks", ()))
            return cls(**parsed, marks=marks)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return cls()

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    def is_open(self, now: datetime, bound: int) -> bool:
        today = self._on(now)
        is_cool = not self.last or now - datetime.fromisoformat(self.last) >= COOL_DOWN
        is_quiet = bool(self.quiet) and now < datetime.fromisoformat(self.quiet)
        return today.answers < bound and today.looks < bound * LOOKS and is_cool and not is_quiet

    def looked(self, now: datetime) -> Self:
        today = self._on(now)
        return replace(today, looks=today.looks + 1)

    def answering(self, now: datetime, conversation: str) -> Self:
        today, mark = self._on(now), _mark(conversation)
        marks = (*self.marks, mark)[-MARKS:]
        first = self.first or mark
        return replace(today, answers=today.answers + 1, last=now.isoformat(), first=first, marks=marks)

    def hushed(self, now: datetime) -> Self:
        return replace(self, quiet=(now + QUIET).isoformat())

    def switched_on(self) -> Self:
        """Anew: it is said once more how it is ended. What the day had counts on."""
        return replace(self, quiet="", first="")

    def answered(self, conversation: str) -> bool:
        return _mark(conversation) in self.marks

    def is_first(self, conversation: str) -> bool:
        return self.first == _mark(conversation)

    def _on(self, now: datetime) -> Self:
        day = now.date().isoformat()
        return self if self.day == day else replace(self, day=day, answers=0, looks=0)


def _mark(conversation: str) -> str:
    return sha256(conversation.encode()).hexdigest()[:16]


def place_owner(channel: str) -> str:
    """Under whose name what is chosen for a channel is kept."""
    return f"channel:{channel}"


async def rules_at(preferences: Preferences, channel: str) -> PlaceRules:
    """As they are at this moment, whichever process changed them. Raises StoreError."""
    return PlaceRules.kept(await preferences.of(place_owner(channel))) if channel else PlaceRules()
