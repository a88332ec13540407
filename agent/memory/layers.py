"""Selects what a turn's context shows of the four layers of state (seed 003). Pure.

    identity role    always
    environment      always
    facts            up to FACTS_SHARE of the remaining budget
    earlier          what past threads add to the facts, from what remains then without the working set's share
    working set      the newest values that fit into the rest: its own share is reserved if it needs it

Rules
  Facts are listed with constraints first, then by relevance to the question, then the newest. A fact that does not fit
  is skipped; later ones may still fit. A person's own facts show their ids, by which a write names what it supersedes.
  A fact of a narrower audience shadows one of a wider audience under the same key, for readers of both, unless the
  wider one is a constraint or has greater authority.
  A fact that conflicts with a constraint is shown as overruled, because it is not known which of them will change.
  Superseded values are not shown. Where another text contains one, it is marked there. Constraints are shown whole.
  A fact that a newer one may have replaced is marked and shown beside it, both with their days.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agent.admission_terms import Authority
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of
from agent.memory.facts import Fact, Scope, age, plain_key, same_key
from agent.memory.marking import Superseded, Wordings, superseded, withhold
from agent.memory.past_threads import Outdated, PastMessage, Reading, find_outdated, quote_thread
from agent.memory.profile import ProfileEntry
from agent.memory.statements import QUESTION_CHARS, head_and_tail, read_statement, sentences
from agent.memory.supersession import overrules, replaces, taken_back
from agent.messages import estimate_tokens

# --------------------------------------------------------------------------------------------------
# The four layers of state that a turn may use (seed 003), and past threads beside them.
#
#     identity role    who asks: set at the turn's start, read-only
#     environment      time, date, time zone, signals of other systems
#     facts            persistent; only valid and readable ones are used
#     working set      a conversation's scratch values, with a TTL


@dataclass(frozen=True, slots=True)
class IdentityRole:
    """Who asks, as the platform reports it: never what users claim about themselves."""

    user_name: str
    user_id: str = ""
    authority: Authority = Authority.EMPLOYEE
    department: str = ""
    organization: str = ""


@dataclass(frozen=True, slots=True)
class WorkingItem:
    """A scratch value of one conversation. It is valid until `expires_at`; None: as long as the conversation exists."""

    key: str
    value: str
    created_at: datetime
    expires_at: datetime | None = None
    message: int | None = None
    """The id of the stored message whose turn saved it."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A piece of information from another system ("calendar", "deadline")."""

    key: str
    value: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Environment:
    """`now` is timezone-aware. `time_zone` is the IANA name of the person's zone, or "" if it is unknown."""

    now: datetime
    time_zone: str = ""
    location: str = ""
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Layers:
    """All state that a turn may use. `facts` may include superseded ones and ones that are not readable here."""

    identity: IdentityRole
    environment: Environment
    facts: Sequence[Fact] = ()
    working_set: Sequence[WorkingItem] = ()
    earlier: Sequence[PastMessage] = ()


@dataclass(frozen=True, slots=True)
class ContextReader:
    """What a context is selected for.

    These are the audience labels that may flow here (`may_flow_from`), the question, and the turn's scopes besides
    GLOBAL as (scope, scope_id).
    """

    audiences: frozenset[str]
    question: str
    scopes: frozenset[tuple[Scope, str | None]] = frozenset()


def live_items(items: Iterable[WorkingItem], now: datetime) -> list[WorkingItem]:
    """Return the newest item under each key, without expired ones."""
    newest = {item.key: item for item in sorted(items, key=lambda item: item.created_at)}
    return [item for item in newest.values() if item.expires_at is None or now < item.expires_at]


def local_time(environment: Environment) -> datetime:
    """Return the current time in the person's zone; unchanged if the zone is unknown."""
    try:
        return environment.now.astimezone(ZoneInfo(environment.time_zone))
    except (ZoneInfoNotFoundError, ValueError):
        return environment.now


MEMORY_TOKENS: Final = 3_000  # For all layers together; history has a budget of its own
# Of what identity and environment leave; the rest is for earlier threads and the working set (seed 003).
FACTS_SHARE: Final = 0.7
# Up to this share of what the facts leave is reserved for the working set. Earlier threads may use the rest, and the
# working set may use what they leave.
WORKING_SHARE: Final = 0.5
# Superseded facts of several sentences and their successors are analysed up to this many characters, the newest first,
# to find the sentences that no longer hold. Beyond it all sentences count as ended. 1,000 characters take milliseconds.
ENDED_CHARS: Final = 10_000
MAY_BE_OUTDATED: Final = "possibly outdated by #{newer}"
BINDING: Final = "!"  # Prefix of a constraint
_TITLE: Final = re.compile(r"[A-Z][A-Z ]{2,}\b")
_RANK_OPENS: Final = re.compile("[(（]")


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """The sections of the context, and the ids of what they contain."""

    sections: tuple[str, ...]
    fact_ids: tuple[str, ...] = ()
    message_ids: tuple[int, ...] = ()
    """Ids of the stored messages from which the facts, past threads and working set come."""
    superseded: tuple[Superseded, ...] = field(default=(), repr=False)
    """What to mark in other texts of the same turn: visible history, recall hits (`marking.mark`)."""

    @property
    def text(self) -> str:
        return "\n\n".join(self.sections)


def memory_context(layers: Layers, reader: ContextReader, budget: int = MEMORY_TOKENS) -> MemoryContext:
    """Select what fits into a context of up to `budget` estimated tokens."""
    signals, past_signals = _current_signals(layers.environment)
    frame = (_identity(layers.identity), _environment(layers.environment, signals))
    if not (layers.facts or layers.earlier or layers.working_set or past_signals):
        return MemoryContext(frame)
    concerning = [fact for fact in layers.facts if _concerns(fact, reader)]
    valid = _unshadowed([fact for fact in concerning if fact.is_valid])
    history = [fact for fact in concerning if not fact.is_valid]
    cached_reading = cache(read_statement)
    # A message of this thread may say otherwise than a fact before learning has come to it.
    outdated_parts = Outdated()
    if layers.earlier:
        outdated_parts = find_outdated(
            layers.earlier, sorted(valid, key=age), history, layers.identity.authority, cached_reading
        )
    in_force = [fact for fact in valid if fact.id not in outdated_parts.facts]
    stale = _stale(in_force, concerning, signals, past_signals, outdated_parts, cached_reading)
    tokens_left = budget - sum(map(_cost, frame))
    binding = [fact for fact in in_force if fact.is_constraint]
    doubts = _Doubts.among(in_force, layers.environment)
    lines = [
        (fact, _fact_line(fact, stale, doubts.note(fact), overruled=_is_overruled(fact, binding)))
        for fact in doubts.together(ranked(in_force, reader.question))
    ]
    facts_shown, cost = _fitting(lines, int(tokens_left * FACTS_SHARE))
    tokens_left -= cost
    quoted_lines: list[tuple[PastMessage, str]] = []
    if layers.earlier:
        known = [*map(read_statement, frame), *(fact.statement for fact, _ in facts_shown)]
        quoted_lines = quote_thread(
            layers.earlier, known, stale, outdated_parts.sentences, reader.question, cached_reading
        )
    # The working set is measured before the quotes and formatted after them, when it is known what they left.
    reserved = min(_cost(_working_set(layers, tokens_left)[0]), int(tokens_left * WORKING_SHARE))
    shown_quotes = _within(
        [(message, _quoted_line(message, line, layers)) for message, line in quoted_lines], tokens_left - reserved
    )
    earlier = _section("EARLIER", [line for _, line in shown_quotes])
    facts = _section("FACTS", [line for _, line in facts_shown])
    scratch, items = _working_set(layers, tokens_left - _cost(earlier))
    ids = (
        [message.id for message, _ in shown_quotes]
        + [message.message for message in items]
        + [fact.source_message for fact, _ in facts_shown]
    )
    sources = tuple(dict.fromkeys(id_ for id_ in ids if id_ is not None))
    sections = tuple(filter(None, (*frame, facts, earlier, scratch)))
    return MemoryContext(sections, tuple(fact.id for fact, _ in facts_shown), sources, stale)


def readable(facts: Iterable[Fact], reader: ContextReader) -> list[Fact]:
    """Return the valid facts of the reader's audiences and scopes that are not shadowed by a narrower one."""
    return _unshadowed([fact for fact in facts if fact.is_valid and _concerns(fact, reader)])


def _unshadowed(facts: Sequence[Fact]) -> list[Fact]:
    keys = [plain_key(fact.key) for fact in facts]
    under_key: dict[str, list[Fact]] = {}
    for key, fact in zip(keys, facts, strict=True):
        under_key.setdefault(key, []).append(fact)
    shared_keys = {key: facts_of_key for key, facts_of_key in under_key.items() if key and len(facts_of_key) > 1}
    if not shared_keys:
        return list(facts)
    return [fact for key, fact in zip(keys, facts, strict=True) if not _is_shadowed(fact, shared_keys.get(key, ()))]


def ranked(facts: Iterable[Fact], question: str) -> list[Fact]:
    """Sort facts: constraints first, then by the number of words shared with the question, then the newest."""
    facts = list(facts)
    question_words = (
        read_statement(head_and_tail(question, QUESTION_CHARS)).content if len(facts) > 1 else frozenset[str]()
    )

    def rank(fact: Fact) -> tuple[bool, int, datetime, str]:
        shared = len(fact.content & question_words)
        return fact.is_constraint, shared, fact.timestamp, fact.id

    return sorted(facts, key=rank, reverse=True)


def _concerns(fact: Fact, reader: ContextReader) -> bool:
    """Return whether the reader may use a fact, and it is in one of the reader's scopes."""
    in_scope = fact.scope is Scope.GLOBAL or (fact.scope, fact.scope_id) in reader.scopes
    return in_scope and (fact.everywhere or fact.audience in reader.audiences)


def _is_shadowed(fact: Fact, under_its_key: Iterable[Fact]) -> bool:
    return not fact.is_constraint and any(
        other.person == fact.person
        and _breadth(other.audience) < _breadth(fact.audience)
        and other.authority >= fact.authority
        for other in under_its_key
    )


def _breadth(audience: str) -> int:
    order: tuple[type, ...] = (PersonAudience, GroupAudience, TeamAudience)
    return order.index(type(audience_of(audience)))


def _current_signals(environment: Environment) -> tuple[list[Signal], list[Signal]]:
    """Split signals into current ones and those that a newer signal replaced. A signal describes the present state."""
    current: list[Signal] = []
    past: list[Signal] = []
    for signal in sorted(environment.signals, key=lambda signal: signal.time):
        statement = replace(read_statement(signal.value), changes=True)
        replaced = [old for old in current if old.key == signal.key or replaces(read_statement(old.value), statement)]
        past += replaced
        current = [*(old for old in current if old not in replaced), signal]
    return current, past


def _stale(
    in_force: Sequence[Fact],
    concerning: Sequence[Fact],
    signals: Sequence[Signal],
    past_signals: Sequence[Signal],
    outdated_parts: Outdated,
    reading: Reading,
) -> Wordings:
    in_force_ids: AbstractSet[str] = {fact.id for fact in in_force}
    not_in_force = [
        fact
        for fact in concerning
        if fact.id not in in_force_ids and (not fact.is_valid or fact.id in outdated_parts.facts)
    ]
    successors = {fact.id: fact.value for fact in concerning}
    ended, chars_left = list[tuple[str, str]](), ENDED_CHARS
    # The latest first: the characters for splitting are limited, and recent facts are likelier to be repeated.
    for fact in reversed(not_in_force):
        if fact.value.lower() not in outdated_parts.restored:
            successor = successors.get(fact.superseded_by or "", fact.value)
            # Of a fact with several sentences only those that the successor no longer says are stale.
            several = len(sentences(fact.value)) > 1
            chars_left -= len(fact.value) + len(successor) if several else 0
            sentences_ended = (
                taken_back(fact.value, successor, reading) if several and chars_left >= 0 else [fact.value]
            )
            ended += [(part, fact.key) for part in sentences_ended]
    # Reversed again, so that for one wording the key of the latest fact wins.
    parts = dict(reversed(ended))
    binding = [fact.value.lower() for fact in in_force if fact.is_constraint]
    # A sentence that a binding rule repeats is never marked as outdated.
    ended_sentences = [
        text
        for text in outdated_parts.sentences
        if not any(text.strip(" .!。！").lower() in value for value in binding)
    ]
    values = [*parts, *(signal.value for signal in past_signals), *ended_sentences]
    if not values:
        return Wordings()
    current = [*(fact.value for fact in in_force), *(signal.value for signal in signals), *outdated_parts.current]
    return superseded(values, current, parts, reading)


def _cost(section: str) -> int:
    """Estimate the tokens of a section with the blank line after it."""
    return estimate_tokens(f"{section}\n\n") if section else 0


def _fitting(lines: Sequence[tuple[Fact, str]], budget: int) -> tuple[list[tuple[Fact, str]], int]:
    shown: list[tuple[Fact, str]] = []
    cost = _cost("FACTS:\n")
    for fact, line in lines:
        tokens = estimate_tokens(line + "\n")
        if cost + tokens <= budget:
            shown.append((fact, line))
            cost += tokens
    return shown, cost if shown else 0


def _within(lines: Sequence[tuple[PastMessage, str]], budget: int) -> list[tuple[PastMessage, str]]:
    """Return as many of the newest as fit, in their order."""
    fitting: list[tuple[PastMessage, str]] = []
    tokens_left = budget - _cost("EARLIER:\n")
    for message, line in reversed(lines):
        tokens = estimate_tokens(line + "\n")
        if tokens <= tokens_left:
            fitting.append((message, line))
            tokens_left -= tokens
    return fitting[::-1]


def _quoted_line(message: PastMessage, line: str, layers: Layers) -> str:
    """Format a quoted message as "date name: text". A colon in a name is removed."""
    when = local_time(replace(layers.environment, now=message.time))
    name = layers.identity.user_name if message.mine else message.name or "somebody else"
    author = "you" if message.by_bot else " ".join(name.replace(":", " ").split())
    return f"{when:%Y-%m-%d} {author}: {line}"


def _section(title: str, lines: Sequence[str]) -> str:
    """Format a section. A line that looks like a section title is quoted."""
    return "\n".join([f"{title}:", *(f"> {line}" if _TITLE.match(line) else line for line in lines)]) if lines else ""


_NO_BRACKETS: Final = str.maketrans("", "", "()（）")  # In an organization's name they could imitate a rank


def _identity(identity: IdentityRole) -> str:
    rank = "" if identity.authority is Authority.EMPLOYEE else identity.authority.name.lower()
    organization = f"at {identity.organization}" if identity.organization else ""
    about = ", ".join(filter(None, (rank, identity.department, organization.translate(_NO_BRACKETS))))
    name = _RANK_OPENS.sub("[", identity.user_name)  # a display name that ends in "(admin)" must not look like a rank
    return " ".join(f"PERSON: {name}{f' ({about})' if about else ''}".split())


def _environment(environment: Environment, signals: Sequence[Signal]) -> str:
    local = local_time(environment)
    unknown = "" if environment.time_zone else " (their zone is not known)"
    first_line = f"ENVIRONMENT: {local:%a %Y-%m-%d %H:%M} {local.tzname()}{unknown}"
    location = [environment.location] if environment.location else []
    return "\n".join([", ".join([first_line, *location]), *(f"{signal.key}: {signal.value}" for signal in signals)])


def _is_overruled(fact: Fact, binding: Sequence[Fact]) -> bool:
    """Return whether a constraint of the same or greater authority overrules the fact."""
    return not fact.is_constraint and any(
        constraint.authority >= fact.authority
        and overrules(constraint.statement, fact.statement, same_key=same_key(constraint.key, fact.key))
        for constraint in binding
    )


@dataclass(frozen=True, slots=True)
class _Doubts:
    """The facts that others may have replaced, by their ids, and the days of both."""

    doubters: Mapping[str, str]
    days: Mapping[str, str]

    @classmethod
    def among(cls, facts: Sequence[Fact], environment: Environment) -> "_Doubts":
        ids = {fact.id for fact in facts}
        doubters = {
            fact.id: fact.doubted_by
            for fact in facts
            if fact.is_valid and fact.doubted_by is not None and fact.doubted_by in ids
        }
        concerned = doubters.keys() | frozenset(doubters.values())
        days = {
            fact.id: local_time(replace(environment, now=fact.timestamp)).date().isoformat()
            for fact in facts
            if fact.id in concerned
        }
        return cls(doubters, days)

    def together(self, facts: Sequence[Fact]) -> list[Fact]:
        """Put the newer fact directly before the one that it may have replaced, so that one is not cut off alone."""
        known = {fact.id: fact for fact in facts}
        in_order: dict[str, Fact] = {}
        for fact in facts:
            if (newer := self.doubters.get(fact.id)) is not None:
                in_order.setdefault(newer, known[newer])
            in_order.setdefault(fact.id, fact)
        return list(in_order.values())

    def note(self, fact: Fact) -> str:
        if fact.id not in self.days:
            return ""
        newer = self.doubters.get(fact.id)
        outdated = f"; {MAY_BE_OUTDATED.format(newer=newer)}" if newer is not None else ""
        return f" (said {self.days[fact.id]}{outdated})"


def _fact_line(fact: Fact, stale: Sequence[Superseded], doubt: str, *, overruled: bool) -> str:
    binding = f"{BINDING} " if fact.is_constraint else ""
    key = f"{fact.key}: " if fact.key else ""
    assumed = f" ({fact.scope})" if fact.scope in {Scope.HYPOTHETICAL, Scope.DRAFT} else ""
    review = " (needs review: what it rests on has changed)" if fact.needs_review else ""
    value = fact.value if fact.is_constraint else withhold(fact.value, stale)
    text = f"{key}{value}".lstrip(f"{BINDING}！ \n\t")  # a user who writes the mark makes no constraint
    number = f"#{fact.id} " if fact.person else ""
    weaker = " (overruled by what binds)" if overruled else ""
    return " ".join(f"{binding}{number}{text}{assumed}{doubt}{weaker}{review}".split())


def _working_set(layers: Layers, budget: int) -> tuple[str, list[WorkingItem]]:
    """Return the section with the newest items that fit, in their order, and these items."""
    items = sorted(live_items(layers.working_set, layers.environment.now), key=lambda item: item.created_at)
    fitting: list[tuple[WorkingItem, str]] = []
    tokens_left = budget - _cost("WORKING SET:\n")
    for item in reversed(items):
        line = " ".join((item.value if item.key == item.value else f"{item.key}: {item.value}").split())
        if (tokens := estimate_tokens(line + "\n")) <= tokens_left:
            fitting.append((item, line))
            tokens_left -= tokens
    return _section("WORKING SET", [line for _, line in reversed(fitting)]), [item for item, _ in reversed(fitting)]


Remembered: TypeAlias = Fact | ProfileEntry  # One entry of what is known about a person, as it is shown to them
