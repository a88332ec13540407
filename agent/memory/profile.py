"""The profile of a person: `UserProfile` (seed 000, "Situated memory"). Pure.

Rules
  An entry belongs to the audience of its source messages, and may be used where that audience may flow. Its person may
  allow it in all replies to them, but never in replies to others.
  A model's answer can only set the fields of `ProfileField`, never the owner of the profile or its counters.
  Every collection is bounded; the entries with the oldest sources are dropped first. A preference or a project has a
  key, and its newest value replaces the previous one. There is one communication style.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from agent.messages import estimate_tokens

LEARNING: Final = "learning"  # The kind of learning jobs, and of their model calls
TEXT_CHARS: Final = 300  # An entry is one sentence; a longer one would crowd out the others
KEY_CHARS: Final = 60


class ProfileField(StrEnum):
    """The fields that learning may set, by the seed's names, in the order in which a context shows them."""

    COMMUNICATION_STYLE = "communication_style"
    GOALS = "goals"
    PREFERENCES = "preferences"
    PROJECTS = "projects"
    EXPERTISE_AREAS = "expertise_areas"
    CONSTRAINTS = "constraints"
    INTERESTS = "interests"
    SUCCESS_PATTERNS = "success_patterns"
    FAILURE_PATTERNS = "failure_patterns"


class FieldRules(NamedTuple):
    """`bound`: how many entries are kept. `first`: how many of the newest are put into a context before all others."""

    bound: int
    heading: str
    first: int = 0


# The numbers of seed 000.
FIELDS: Final[Mapping[ProfileField, FieldRules]] = {
    ProfileField.COMMUNICATION_STYLE: FieldRules(1, "COMMUNICATION", 1),
    ProfileField.GOALS: FieldRules(10, "CURRENT GOALS", 3),
    ProfileField.PREFERENCES: FieldRules(20, "PREFERENCES", 5),
    ProfileField.PROJECTS: FieldRules(10, "ACTIVE PROJECTS", 3),
    ProfileField.EXPERTISE_AREAS: FieldRules(15, "EXPERTISE", 5),
    ProfileField.CONSTRAINTS: FieldRules(10, "CONSTRAINTS", 3),
    ProfileField.INTERESTS: FieldRules(15, "INTERESTS"),
    ProfileField.SUCCESS_PATTERNS: FieldRules(5, "WHAT WORKED"),
    ProfileField.FAILURE_PATTERNS: FieldRules(5, "WHAT DID NOT WORK"),
}

# Fields whose entries have a key of their own: "editor", "Apollo".
KEYED: Final = frozenset({ProfileField.PREFERENCES, ProfileField.PROJECTS})


@dataclass(frozen=True, slots=True)
class Partition:
    """One person's messages to one audience (a label). They are learned from together, and never mixed with others."""

    person: str
    audience: str

    @property
    def key(self) -> str:
        """The key of the learning job. `partition_of` is the inverse."""
        return f"{self.person} {self.audience}"


def partition_of(person: str, key: str) -> Partition:
    return Partition(person, key.removeprefix(f"{person} "))


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message of the person to the bot, as learning sees it. `id` is that of the stored message."""

    id: int
    text: str
    time: datetime
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Insight:
    """Something new about the person. `sources`: ids of the messages that say it; `time`: that of the newest one."""

    field: ProfileField
    text: str
    sources: tuple[int, ...]
    time: datetime
    key: str = ""
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One entry of a profile. `audience` is a label; `id` is 0 until it is stored.

    `time` is that of its newest source message, and `permalink` leads to it if the platform has links. An entry without
    sources was written by its person as a correction.
    """

    id: int
    field: ProfileField
    text: str
    audience: str
    sources: tuple[int, ...]
    time: datetime
    key: str = ""
    confidence: float = 0.5
    permalink: str | None = None
    everywhere: bool = False
    """Whether its person allows it in all replies to them, whatever its audience."""
    used: datetime | None = None
    """When it was last in the context of a turn, to a day (`agent.memory.review.MARKED_EVERY`)."""
    kept: datetime | None = None
    """When its person last decided that it still holds (`agent.memory.review`)."""

    @property
    def is_settled(self) -> bool:
        """Whether its person approved this wording: learning does not reword or merge it."""
        return self.everywhere or not self.sources

    @property
    def full_text(self) -> str:
        """Key and text as one text: "editor: Vim", "learn Rust"."""
        return f"{self.key}: {self.text}" if self.key else self.text


@dataclass(frozen=True, slots=True)
class UserProfile:
    """The profile of `user_id`: of one partition, or of all that may be used in one place. Entries are oldest first.

    `interaction_count` counts the messages learned from, `synthesised_count` those before the last synthesis, and
    `synthesis_version` the syntheses so far. The store uses `revision` to detect concurrent writes.
    """

    user_id: str
    entries: tuple[ProfileEntry, ...] = ()
    created_at: datetime | None = None
    last_updated: datetime | None = None
    interaction_count: int = 0
    synthesised_count: int = 0
    synthesis_version: int = 0
    revision: int = 0

    def of(self, field: ProfileField) -> tuple[ProfileEntry, ...]:
        return tuple(entry for entry in self.entries if entry.field is field)


def learned(profile: UserProfile, audience: str, insights: Sequence[Insight], count: int, now: datetime) -> UserProfile:
    """Return the profile of a partition after `count` more messages, with their insights."""
    entries = list(profile.entries)
    for insight in insights:
        new = _entry(insight, audience)
        before = next((entry for entry in entries if _replaces(entry, new)), None)
        if before is not None:
            entries.remove(before)
            new = _merge_repeated(before, new) if _folded(before.text) == _folded(new.text) else new
        entries.append(new)
    return replace(
        profile,
        entries=bounded(entries),
        created_at=profile.created_at or now,
        last_updated=now,
        interaction_count=profile.interaction_count + count,
    )


def stated(profile: UserProfile, entry: ProfileEntry, now: datetime) -> UserProfile:
    """Return the profile with an entry that its person added. No other entry is dropped for it."""
    created_at = profile.created_at or now
    return replace(profile, entries=(*profile.entries, entry), created_at=created_at, last_updated=now)


def opened(profile: UserProfile, entry: int, *, everywhere: bool) -> UserProfile:
    entries = (replace(each, everywhere=everywhere) if each.id == entry else each for each in profile.entries)
    return replace(profile, entries=tuple(entries))


def bounded(entries: Iterable[ProfileEntry]) -> tuple[ProfileEntry, ...]:
    """Return the entries oldest first, up to the bound of each field. Those with the oldest sources are dropped."""
    capacity, kept = {field: rules.bound for field, rules in FIELDS.items()}, list[ProfileEntry]()
    for entry in sorted(entries, key=lambda entry: entry.time)[::-1]:
        if capacity[entry.field]:
            capacity[entry.field] -= 1
            kept.append(entry)
    return tuple(reversed(kept))


def for_place(profile: UserProfile, audiences: AbstractSet[str]) -> UserProfile:
    """Return the part of a profile that may be used in a reply to its person: bounded and without repetitions.

    `audiences`: the labels that may flow there (`may_flow_from`). Entries with `everywhere` are included.
    """
    if not profile.entries:
        return profile
    usable: list[ProfileEntry] = []
    for entry in sorted(profile.entries, key=lambda entry: entry.time):
        if entry.everywhere or entry.audience in audiences:
            usable = [*(earlier for earlier in usable if not _replaces(earlier, entry)), entry]
    return replace(profile, entries=bounded(usable))


def tidy(text: str, limit: int = TEXT_CHARS) -> str:
    """Put a model's text on one line, and shorten it to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _entry(insight: Insight, audience: str) -> ProfileEntry:
    return ProfileEntry(
        id=0,
        field=insight.field,
        text=tidy(insight.text),
        audience=audience,
        sources=tuple(dict.fromkeys(insight.sources)),
        time=insight.time,
        key=tidy(insight.key, KEY_CHARS) if insight.field in KEYED else "",
        confidence=insight.confidence,
    )


def _replaces(older: ProfileEntry, newer: ProfileEntry) -> bool:
    """Return whether a newer entry would replace the older one."""
    if older.field is not newer.field:
        return False
    if older.field is ProfileField.COMMUNICATION_STYLE:
        return True
    if older.field in KEYED:
        return _folded(older.key) == _folded(newer.key)
    return _folded(older.text) == _folded(newer.text)


def _merge_repeated(before: ProfileEntry, repeated: ProfileEntry) -> ProfileEntry:
    """Merge a repeated entry. A correction by the person keeps having no sources, so that it stays settled."""
    sources = tuple(dict.fromkeys([*before.sources, *repeated.sources])) if before.sources else ()
    confidence = max(before.confidence, repeated.confidence)
    return replace(before, sources=sources, time=max(before.time, repeated.time), confidence=confidence)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Injection:
    """A profile as a context shows it: the text, one line for each field, and the entries in it."""

    text: str = ""
    entries: tuple[ProfileEntry, ...] = ()

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the messages from which its entries come, each once."""
        return tuple(dict.fromkeys(source for entry in self.entries for source in entry.sources))


def compress_for_injection(profile: UserProfile, budget_tokens: int = 800) -> Injection:
    """Render the profile for a context, in the seed's order and within a budget of estimated tokens.

    The newest entries of each field are chosen first. An entry that does not fit is skipped; later ones may still fit.
    """
    if not profile.entries:
        return Injection()
    chosen: list[ProfileEntry] = []
    tokens_left = budget_tokens
    for entry in _by_importance(profile):
        is_headed = any(other.field is entry.field for other in chosen)
        heading_cost = 0 if is_headed else estimate_tokens(FIELDS[entry.field].heading) + 1
        cost = heading_cost + estimate_tokens(entry.full_text) + 1
        if cost <= tokens_left:
            chosen.append(entry)
            tokens_left -= cost
    shown = tuple(entry for entry in profile.entries if entry in chosen)
    lines = [
        f"{FIELDS[field].heading}: {'; '.join(' '.join(one.full_text.split()) for one in shown if one.field is field)}"
        for field in ProfileField
        if any(entry.field is field for entry in shown)
    ]
    return Injection("\n".join(lines), shown)


def _by_importance(profile: UserProfile) -> list[ProfileEntry]:
    """Return what the seed shows, field by field; then all other entries, the newest first."""
    first = [entry for field in ProfileField for entry in profile.of(field)[::-1][: FIELDS[field].first]]
    return [*first, *(entry for entry in reversed(profile.entries) if entry not in first)]
