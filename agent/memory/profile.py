"""What the bot knows of a person: `UserProfile` (seed 000, "Situated memory"). Pure.

Rules
  An entry belongs to the audience in which its sources were said, and is read where that audience may flow. Its person
  may open it to all replies to them, never to anybody else's.
  Only the fields of `ProfileField` can be set: whose profile it is and its counters never come out of a model's answer.
  Every collection is bounded; the entries whose sources are oldest go first. A preference or a project has a key, and
  its newest value stands in place of the one before; there is one communication style.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from agent.messages import estimate_tokens

LEARNING: Final = "learning"  # The kind of the jobs that learn, and of their model calls
TEXT_CHARS: Final = 300  # An entry is one sentence; a longer one would crowd out the others
KEY_CHARS: Final = 60


class ProfileField(StrEnum):
    """What learning may set, by the seed's names, in the order in which it stands in a context."""

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
    """`bound`: how many entries are kept. `first`: how many of the newest go into a context before anything else."""

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
    """What is learned together: what one person said to one audience (a label). Nothing crosses partitions."""

    person: str
    audience: str

    @property
    def key(self) -> str:
        """Of the job that learns from it; `partition_of` reads it back."""
        return f"{self.person} {self.audience}"


def partition_of(person: str, key: str) -> Partition:
    return Partition(person, key.removeprefix(f"{person} "))


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message of the person to the bot, as far as learning goes; `id` is that of the stored message."""

    id: int
    text: str
    time: datetime
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Insight:
    """Something new about the person. `sources`: ids of the messages that say it; `time`: when the newest was said."""

    field: ProfileField
    text: str
    sources: tuple[int, ...]
    time: datetime
    key: str = ""
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One thing that is known. `audience` is a label; `id` is 0 until it is stored.

    `time`: when its newest source was said; `permalink` leads to that message, where the platform has links. Without
    sources it is the person's own correction.
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
    """Its person lets it be used in all replies to them, wherever it was said."""

    @property
    def is_settled(self) -> bool:
        """Its person has decided about these very words: nobody rewords or merges them."""
        return self.everywhere or not self.sources

    @property
    def said(self) -> str:
        """The entry in words: "editor: Vim", "learn Rust"."""
        return f"{self.key}: {self.text}" if self.key else self.text


@dataclass(frozen=True, slots=True)
class UserProfile:
    """What is known of `user_id`: of one partition, or of all that may be read in one place. Entries oldest first.

    `interaction_count` counts messages learned from, `synthesised_count` those of them that the last synthesis knew,
    `synthesis_version` the syntheses so far. `revision` is the store's: it tells whether anybody else wrote meanwhile.
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
    """The profile of a partition after `count` more messages and what they told."""
    entries = list(profile.entries)
    for insight in insights:
        new = _entry(insight, audience)
        before = next((entry for entry in entries if _same_place(entry, new)), None)
        if before is not None:
            entries.remove(before)
            new = _confirmed(before, new) if _folded(before.text) == _folded(new.text) else new
        entries.append(new)
    return replace(
        profile,
        entries=bounded(entries),
        created_at=profile.created_at or now,
        last_updated=now,
        interaction_count=profile.interaction_count + count,
    )


def stated(profile: UserProfile, entry: ProfileEntry, now: datetime) -> UserProfile:
    """The profile of a partition to which its person has added an entry themselves. Nothing else is dropped for it."""
    made = profile.created_at or now
    return replace(profile, entries=(*profile.entries, entry), created_at=made, last_updated=now)


def opened(profile: UserProfile, entry: int, *, everywhere: bool) -> UserProfile:
    entries = (replace(one, everywhere=everywhere) if one.id == entry else one for one in profile.entries)
    return replace(profile, entries=tuple(entries))


def bounded(entries: Iterable[ProfileEntry]) -> tuple[ProfileEntry, ...]:
    """Oldest first, at most as many of each field as their rules say: those whose sources are oldest are dropped."""
    left, kept = {field: rules.bound for field, rules in FIELDS.items()}, list[ProfileEntry]()
    for entry in sorted(entries, key=lambda entry: entry.time)[::-1]:
        if left[entry.field]:
            left[entry.field] -= 1
            kept.append(entry)
    return tuple(reversed(kept))


def for_place(profile: UserProfile, audiences: AbstractSet[str]) -> UserProfile:
    """What may be used of it in a reply to its person where these audiences may flow (`may_flow_from`): bounded,
    without repetitions. What they opened to all replies to them is there, too.
    """
    kept: list[ProfileEntry] = []
    for entry in sorted(profile.entries, key=lambda entry: entry.time):
        if entry.everywhere or entry.audience in audiences:
            kept = [*(earlier for earlier in kept if not _same_place(earlier, entry)), entry]
    return replace(profile, entries=bounded(kept))


def tidy(text: str, limit: int = TEXT_CHARS) -> str:
    """A model's words as an entry holds them: on one line, and not too long."""
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


def _same_place(one: ProfileEntry, other: ProfileEntry) -> bool:
    """Would the newer stand in place of the older?"""
    if one.field is not other.field:
        return False
    if one.field is ProfileField.COMMUNICATION_STYLE:
        return True
    if one.field in KEYED:
        return _folded(one.key) == _folded(other.key)
    return _folded(one.text) == _folded(other.text)


def _confirmed(before: ProfileEntry, again: ProfileEntry) -> ProfileEntry:
    """Said before, and now again. The person's own correction stays without sources: nobody rewords it."""
    sources = tuple(dict.fromkeys([*before.sources, *again.sources])) if before.sources else ()
    return replace(
        before, sources=sources, time=max(before.time, again.time), confidence=max(before.confidence, again.confidence)
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Injection:
    """A profile as it stands in a context: one line a field, and the entries that stand there."""

    text: str = ""
    entries: tuple[ProfileEntry, ...] = ()

    @property
    def sources(self) -> tuple[int, ...]:
        """The messages that its entries came from, each once."""
        return tuple(dict.fromkeys(source for entry in self.entries for source in entry.sources))


def compress_for_injection(profile: UserProfile, budget_tokens: int = 800) -> Injection:
    """The profile for a context, in the seed's order and within a budget of estimated tokens.

    The newest of each field go first; an entry that does not fit is left out whole, and is not the end of the list.
    """
    used: list[ProfileEntry] = []
    left = budget_tokens
    for entry in _by_importance(profile):
        opening = (
            0 if any(one.field is entry.field for one in used) else estimate_tokens(FIELDS[entry.field].heading) + 1
        )
        cost = opening + estimate_tokens(entry.said) + 1
        if cost <= left:
            used.append(entry)
            left -= cost
    shown = tuple(entry for entry in profile.entries if entry in used)
    lines = [
        f"{FIELDS[field].heading}: {'; '.join(' '.join(entry.said.split()) for entry in shown if entry.field is field)}"
        for field in ProfileField
        if any(entry.field is field for entry in shown)
    ]
    return Injection("\n".join(lines), shown)


def _by_importance(profile: UserProfile) -> list[ProfileEntry]:
    """What the seed shows, field by field; then all the rest, the newest first."""
    first = [entry for field in ProfileField for entry in profile.of(field)[::-1][: FIELDS[field].first]]
    return [*first, *(entry for entry in reversed(profile.entries) if entry not in first)]
