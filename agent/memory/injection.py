"""A profile as it stands in a turn's context (seed 000, `compress_for_injection`). Pure.

Above: `agent.context`. Below: `agent.memory.profile`, `agent.tokens`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.memory.profile import ProfileEntry, ProfileField, UserProfile
from agent.tokens import estimate_tokens

_HEADINGS: Final[Mapping[ProfileField, str]] = {
    ProfileField.COMMUNICATION_STYLE: "COMMUNICATION",
    ProfileField.GOALS: "CURRENT GOALS",
    ProfileField.PREFERENCES: "PREFERENCES",
    ProfileField.PROJECTS: "ACTIVE PROJECTS",
    ProfileField.EXPERTISE_AREAS: "EXPERTISE",
    ProfileField.CONSTRAINTS: "CONSTRAINTS",
    ProfileField.INTERESTS: "INTERESTS",
    ProfileField.SUCCESS_PATTERNS: "WHAT WORKED",
    ProfileField.FAILURE_PATTERNS: "WHAT DID NOT WORK",
}
_FIRST: Final[Mapping[ProfileField, int]] = {
    ProfileField.COMMUNICATION_STYLE: 1,
    ProfileField.GOALS: 3,
    ProfileField.PREFERENCES: 5,
    ProfileField.PROJECTS: 3,
    ProfileField.EXPERTISE_AREAS: 5,
    ProfileField.CONSTRAINTS: 3,
}
"""How many of the newest go into a context before anything else does (seed 000, `compress_for_injection`)."""


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
        opening = 0 if any(one.field is entry.field for one in used) else estimate_tokens(_HEADINGS[entry.field]) + 1
        cost = opening + estimate_tokens(entry.said) + 1
        if cost <= left:
            used.append(entry)
            left -= cost
    shown = tuple(entry for entry in profile.entries if entry in used)
    lines = [
        f"{_HEADINGS[field]}: {'; '.join(' '.join(entry.said.split()) for entry in shown if entry.field is field)}"
        for field in ProfileField
        if any(entry.field is field for entry in shown)
    ]
    return Injection("\n".join(lines), shown)


def _by_importance(profile: UserProfile) -> list[ProfileEntry]:
    """What the seed shows, field by field; then all the rest, the newest first."""
    first = [entry for field in ProfileField for entry in _newest(profile.of(field), _FIRST.get(field, 0))]
    return [*first, *(entry for entry in reversed(profile.entries) if entry not in first)]


def _newest(entries: Sequence[ProfileEntry], count: int) -> list[ProfileEntry]:
    return list(entries[::-1][:count])
