"""What of the four layers stands in a turn's context (seed 003). Pure.

    identity role    always there
    environment      always there
    facts            at most FACTS_SHARE of what is left
    earlier          what a past thread adds to the facts, of what is left then but for the working set's share
    working set      the newest values that fit into what is left: at least its share, if it needs that

Rules
  Facts: constraints first, then by relevance to the question, then the newest. One that does not fit is skipped, and
  the list goes on. A person's own are numbered by their ids: by these a write names what it supersedes. A fact of a
  narrower audience shadows one of a wider audience under the same key, for those who may read both, unless the wider
  one binds or was written with greater authority.
  What says otherwise than something that binds stands there as overruled: it is not known which of them will give way.
  Superseded values are absent; where a text still holds one, it is marked. What binds stands whole, whatever was said.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agent.admission_terms import Authority
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of
from agent.memory.facts import Fact, Scope, age, plain_key, same_key
from agent.memory.marking import Superseded, Wordings, superseded, withhold
from agent.memory.past_threads import Outdated, PastMessage, Reading, outdated, quoted
from agent.memory.statements import QUESTION_CHARS, read_statement, sentences, telling_part
from agent.memory.supersession import overrules, replaces, taken_back
from agent.messages import estimate_tokens

# --------------------------------------------------------------------------------------------------
# The four layers of state that a turn may draw on (seed 003), and past threads beside them. Pure.
#
#     identity role    who asks, set at the turn's start, read-only
#     environment      time, date, time zone, signals from outside
#     facts            persistent; those that are valid and readable here count
#     working set      a conversation's scratch values, with a TTL


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
    """`now` is aware; `time_zone` is the person's, by its IANA name, "" if it is not known."""

    now: datetime
    time_zone: str = ""
    location: str = ""
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Layers:
    """All state that a turn may draw on. `facts` may hold what is superseded, or not readable here."""

    identity: IdentityRole
    environment: Environment
    facts: Sequence[Fact] = ()
    working_set: Sequence[WorkingItem] = ()
    earlier: Sequence[PastMessage] = ()


@dataclass(frozen=True, slots=True)
class ContextReader:
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


MEMORY_TOKENS: Final = 3_000  # For all layers together, apart from history's budget
# Of what identity and environment leave; the rest is for earlier threads and the working set (seed 003).
FACTS_SHARE: Final = 0.7
# Of what the facts leave, at most so much is kept for the working set, as far as it needs it; the rest is for earlier
# threads, and what either leaves is the other's.
WORKING_SHARE: Final = 0.5
# Of superseded facts of several sentences, and of what superseded them: so much is read to tell which sentences no
# longer hold, the newest first; of the others none does. A thousand characters take some milliseconds.
ENDED_CHARS: Final = 10_000
BINDING: Final = "!"  # Before a fact that must be kept to
_TITLE: Final = re.compile(r"[A-Z][A-Z ]{2,}\b")
_RANK_OPENS: Final = re.compile("[(（]")


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """The sections that stand in the context, and the ids of what stands in them."""

    sections: tuple[str, ...]
    fact_ids: tuple[str, ...] = ()
    message_ids: tuple[int, ...] = ()
    """The stored messages that facts, past threads and the working set come from."""
    superseded: tuple[Superseded, ...] = field(default=(), repr=False)
    """What to mark where the same turn shows other texts: visible history, recall hits (`marking.mark`)."""

    @property
    def text(self) -> str:
        return "\n\n".join(self.sections)


def memory_context(layers: Layers, reader: ContextReader, budget: int = MEMORY_TOKENS) -> MemoryContext:
    """What of the layers stands in a context of at most `budget` estimated tokens."""
    signals, past_signals = _current_signals(layers.environment)
    mine = [fact for fact in layers.facts if _concerns(fact, reader)]
    valid = _unshadowed([fact for fact in mine if fact.is_valid])
    history = [fact for fact in mine if not fact.is_valid]
    once = cache(read_statement)
    late = Outdated()
    if layers.earlier:
        late = outdated(layers.earlier, sorted(valid, key=age), history, layers.identity.authority, once)
    holding = [fact for fact in valid if fact.id not in late.facts]
    stale = _stale(holding, mine, signals, past_signals, late, once)
    frame = (_identity(layers.identity), _environment(layers.environment, signals))
    left = budget - sum(map(_cost, frame))
    binding = [fact for fact in holding if fact.is_constraint]
    lines = [
        (fact, _fact_line(fact, stale, overruled=_is_overruled(fact, binding)))
        for fact in ranked(holding, reader.question)
    ]
    shown, cost = _fitting(lines, int(left * FACTS_SHARE))
    left -= cost
    told: list[tuple[PastMessage, str]] = []
    if layers.earlier:
        known = [*map(read_statement, frame), *(fact.statement for fact, _ in shown)]
        told = quoted(layers.earlier, known, stale, late.sentences, reader.question, once)
    reserved = min(_cost(_working_set(layers, left)[0]), int(left * WORKING_SHARE))
    quotes = _within([(one, _quoted_line(one, line, layers)) for one, line in told], left - reserved)
    earlier = _section("EARLIER", [line for _, line in quotes])
    facts = _section("FACTS", [line for _, line in shown])
    scratch, items = _working_set(layers, left - _cost(earlier))
    ids = [one.id for one, _ in quotes] + [one.message for one in items] + [one.source_message for one, _ in shown]
    sources = tuple(dict.fromkeys(id_ for id_ in ids if id_ is not None))
    sections = tuple(filter(None, (*frame, facts, earlier, scratch)))
    return MemoryContext(sections, tuple(fact.id for fact, _ in shown), sources, stale)


def readable(facts: Iterable[Fact], reader: ContextReader) -> list[Fact]:
    """The valid facts that may be used: of these audiences and scopes, and not shadowed by a narrower one."""
    return _unshadowed([fact for fact in facts if fact.is_valid and _concerns(fact, reader)])


def _unshadowed(facts: Sequence[Fact]) -> list[Fact]:
    keys = [plain_key(fact.key) for fact in facts]
    under_key: dict[str, list[Fact]] = {}
    for key, fact in zip(keys, facts, strict=True):
        under_key.setdefault(key, []).append(fact)
    others = {key: same for key, same in under_key.items() if key and len(same) > 1}
    if not others:
        return list(facts)
    return [fact for key, fact in zip(keys, facts, strict=True) if not _is_shadowed(fact, others.get(key, ()))]


def ranked(facts: Iterable[Fact], question: str) -> list[Fact]:
    """Constraints first, then by the share of the question's words that a fact has, then the newest."""
    facts = list(facts)
    asked = read_statement(telling_part(question, QUESTION_CHARS)).content if len(facts) > 1 else frozenset[str]()

    def rank(fact: Fact) -> tuple[bool, int, datetime, str]:
        shared = len(fact.content & asked)
        return fact.is_constraint, shared, fact.timestamp, fact.id

    return sorted(facts, key=rank, reverse=True)


def _concerns(fact: Fact, reader: ContextReader) -> bool:
    """May it be used here, and was it said about what the turn is about?"""
    in_scope = fact.scope is Scope.GLOBAL or (fact.scope, fact.scope_id) in reader.scopes
    return in_scope and (fact.everywhere or fact.audience in reader.audiences)


def _is_shadowed(wide: Fact, under_its_key: Iterable[Fact]) -> bool:
    return not wide.is_constraint and any(
        narrow.person == wide.person
        and _breadth(narrow.audience) < _breadth(wide.audience)
        and narrow.authority >= wide.authority
        for narrow in under_its_key
    )


def _breadth(audience: str) -> int:
    order: tuple[type, ...] = (PersonAudience, GroupAudience, TeamAudience)
    return order.index(type(audience_of(audience)))


def _current_signals(environment: Environment) -> tuple[list[Signal], list[Signal]]:
    """What other systems say now, and what a newer signal has taken the place of: a signal tells how things are."""
    current: list[Signal] = []
    past: list[Signal] = []
    for signal in sorted(environment.signals, key=lambda signal: signal.time):
        statement = replace(read_statement(signal.value), changes=True)
        over = [old for old in current if old.key == signal.key or replaces(read_statement(old.value), statement)]
        past += over
        current = [*(old for old in current if old not in over), signal]
    return current, past


def _stale(
    holding: Sequence[Fact],
    mine: Sequence[Fact],
    signals: Sequence[Signal],
    past: Sequence[Signal],
    late: Outdated,
    reading: Reading,
) -> Wordings:
    kept: AbstractSet[str] = {fact.id for fact in holding}
    gone = [fact for fact in mine if fact.id not in kept and (not fact.is_valid or fact.id in late.facts)]
    successors = {fact.id: fact.value for fact in mine}
    ended, room = list[tuple[str, str]](), ENDED_CHARS
    for fact in reversed(gone):
        if fact.value.lower() not in late.restored:
            successor = successors.get(fact.superseded_by or "", fact.value)
            several = len(sentences(fact.value)) > 1
            room -= len(fact.value) + len(successor) if several else 0
            told = taken_back(fact.value, successor, reading) if several and room >= 0 else [fact.value]
            ended += [(part, fact.key) for part in told]
    parts = dict(reversed(ended))
    binding = [fact.value.lower() for fact in holding if fact.is_constraint]
    said = (one for one in late.sentences if not any(one.strip(" .!。！").lower() in value for value in binding))
    values = [*parts, *(signal.value for signal in past), *said]
    if not values:
        return Wordings()
    current = [*(fact.value for fact in holding), *(signal.value for signal in signals), *late.current]
    return superseded(values, current, parts, reading)


def _cost(section: str) -> int:
    """With the blank line after it."""
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
    """As many of the newest as fit, in their order."""
    kept: list[tuple[PastMessage, str]] = []
    left = budget - _cost("EARLIER:\n")
    for said, line in reversed(lines):
        tokens = estimate_tokens(line + "\n")
        if tokens <= left:
            kept.append((said, line))
            left -= tokens
    return kept[::-1]


def _quoted_line(said: PastMessage, line: str, layers: Layers) -> str:
    """When, who and what; names are those of the section, without a colon of their own."""
    when = local_time(replace(layers.environment, now=said.time))
    name = layers.identity.user_name if said.mine else said.name or "somebody else"
    who = "you" if said.by_bot else " ".join(name.replace(":", " ").split())
    return f"{when:%Y-%m-%d} {who}: {line}"


def _section(title: str, lines: Sequence[str]) -> str:
    """What somebody wrote never looks like a section of its own."""
    return "\n".join([f"{title}:", *(f"> {line}" if _TITLE.match(line) else line for line in lines)]) if lines else ""


_NO_BRACKETS: Final = str.maketrans("", "", "()（）")


def _identity(identity: IdentityRole) -> str:
    rank = "" if identity.authority is Authority.EMPLOYEE else identity.authority.name.lower()
    organization = f"at {identity.organization}" if identity.organization else ""  # nor is a server's name one
    about = ", ".join(filter(None, (rank, identity.department, organization.translate(_NO_BRACKETS))))
    name = _RANK_OPENS.sub("[", identity.user_name)  # a display name that ends in "(admin)" is no rank
    return " ".join(f"IDENTITY: {name}{f' ({about})' if about else ''}".split())


def _environment(environment: Environment, signals: Sequence[Signal]) -> str:
    local = local_time(environment)
    unknown = "" if environment.time_zone else " (their zone is not known)"
    head = f"ENVIRONMENT: {local:%a %Y-%m-%d %H:%M} {local.tzname()}{unknown}"
    place = [environment.location] if environment.location else []
    return "\n".join([", ".join([head, *place]), *(f"{signal.key}: {signal.value}" for signal in signals)])


def _is_overruled(fact: Fact, binding: Sequence[Fact]) -> bool:
    """Does something that binds, of no less authority, say otherwise about the same?"""
    return not fact.is_constraint and any(
        one.authority >= fact.authority
        and overrules(one.statement, fact.statement, same_key=same_key(one.key, fact.key))
        for one in binding
    )


def _fact_line(fact: Fact, stale: Sequence[Superseded], *, overruled: bool) -> str:
    binding = f"{BINDING} " if fact.is_constraint else ""
    key = f"{fact.key}: " if fact.key else ""
    assumed = f" ({fact.scope})" if fact.scope in {Scope.HYPOTHETICAL, Scope.DRAFT} else ""
    review = " (needs review: what it rests on has changed)" if fact.needs_review else ""
    value = fact.value if fact.is_constraint else withhold(fact.value, stale)
    said = f"{key}{value}".lstrip(f"{BINDING}！ \n\t")  # who writes the mark binds nobody
    number = f"#{fact.id} " if fact.person else ""
    weaker = " (overruled by what binds)" if overruled else ""
    return " ".join(f"{binding}{number}{said}{assumed}{weaker}{review}".split())


def _working_set(layers: Layers, budget: int) -> tuple[str, list[WorkingItem]]:
    """The newest that fit, in their order."""
    items = sorted(live_items(layers.working_set, layers.environment.now), key=lambda item: item.created_at)
    kept: list[tuple[WorkingItem, str]] = []
    left = budget - _cost("WORKING SET:\n")
    for item in reversed(items):
        line = " ".join((item.value if item.key == item.value else f"{item.key}: {item.value}").split())
        if (tokens := estimate_tokens(line + "\n")) <= left:
            kept.append((item, line))
            left -= tokens
    return _section("WORKING SET", [line for _, line in reversed(kept)]), [item for item, _ in reversed(kept)]
