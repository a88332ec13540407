"""Audiences: who may see a text. An audience is a place, never a list of members. Pure.

Rules
  A text from audience A may be used in a reply to audience B only if one of these holds:
    A = B;
    A = team(t), and everyone who can read B is a full member of t (no guests, no outsiders);
    A = group(g), B = person(p), and p can read g now;
    A = person(q), B = person(p), and both are accounts of one person, who has connected them.
  An unknown place is a group of its own. An unknown membership counts as "cannot read".
  A tool result has an audience, too. The reply that uses it can be read where the question was asked. Anywhere else the
  reply may be used only if both its own audience and those of all its sources may flow there.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias, assert_never


class AudienceKind(StrEnum):
    PERSON = "person"
    GROUP = "group"
    TEAM = "team"


@dataclass(frozen=True, slots=True)
class PersonAudience:
    """All direct messages between one person and the bot, and replies that only this person can see."""

    person: str


@dataclass(frozen=True, slots=True)
class GroupAudience:
    """A private channel, a group DM, a place shared with another organization, or an unknown place."""

    place: str


@dataclass(frozen=True, slots=True)
class TeamAudience:
    """A public channel of one Slack workspace or Discord server."""

    team: str


Audience: TypeAlias = PersonAudience | GroupAudience | TeamAudience


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reply will be read.

    `within_team` is the id of the team of which all readers of this place are full members. It is None if a guest or
    an outsider may be among them. `whole_channel` is True if the kind of the channel proves that its current audience
    applies to all its messages; those stored for a wider audience are then narrowed to this one. It does not affect
    who can read the place, so it takes no part in comparisons.
    """

    audience: Audience
    within_team: str | None = None
    whole_channel: bool = field(default=False, compare=False)

    @property
    def is_closed(self) -> bool:
        """Whether this is known to be a whole channel that only part of the team can read."""
        return self.whole_channel and isinstance(self.audience, GroupAudience)


def label(audience: Audience) -> str:
    """Return the audience in the form in which it is stored: "person:…", "group:…" or "team:…".

    Raises ValueError if the name is empty: all unknown places would share one audience.
    """
    match audience:
        case PersonAudience("") | GroupAudience("") | TeamAudience(""):
            raise ValueError(f"an audience has a name: {audience!r}")
        case PersonAudience(person):
            return f"{AudienceKind.PERSON}:{person}"
        case GroupAudience(place):
            return f"{AudienceKind.GROUP}:{place}"
        case TeamAudience(team):
            return f"{AudienceKind.TEAM}:{team}"
        case _:
            assert_never(audience)


def audience_of(text: str) -> Audience:
    """Parse a label; the inverse of `label`. Raises ValueError if `text` is not a label."""
    kind, _, name = text.partition(":")
    match kind:
        case AudienceKind.PERSON if name:
            return PersonAudience(name)
        case AudienceKind.GROUP if name:
            return GroupAudience(name)
        case AudienceKind.TEAM if name:
            return TeamAudience(name)
        case _:
            raise ValueError(f"not an audience label: {text!r}")


def may_flow(source: Audience, target: Place, readable: AbstractSet[str] = frozenset()) -> bool:
    """Return whether text from `source` may be used in a reply to `target`.

    `readable`: if the target is a PersonAudience, the labels of what else this person can read now: groups, and the
    direct messages of their connected accounts.
    """
    if source == target.audience:
        return True
    match source:
        case TeamAudience(team):
            return team == target.within_team
        case PersonAudience() | GroupAudience():
            return isinstance(target.audience, PersonAudience) and label(source) in readable
        case _:
            assert_never(source)


def may_be_read_out(source: Audience, target: Place, *, reads: bool) -> bool:
    """Return whether the contents of `source` may be fetched now and shown in `target`.

    `reads`: whether the asker can read `source` now. That is enough if only the asker reads `target`. Otherwise all
    readers of `target` must be able to read `source`.
    """
    return reads and (isinstance(target.audience, PersonAudience) or may_flow(source, target))


def may_flow_from(target: Place, readable: AbstractSet[str] = frozenset()) -> frozenset[str]:
    """Return the labels of all audiences for which `may_flow` is true with this target."""
    labels = {label(target.audience)}
    if target.within_team is not None:
        labels.add(label(TeamAudience(target.within_team)))
    if isinstance(target.audience, PersonAudience):
        labels |= readable
    return frozenset(labels)


def by_account(person: str, audiences: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """Return which of these audiences to search for each account of a person: for `person` all of them, for each
    connected account its direct messages, which are among them. `person` "": what is about nobody, in all of them.
    """
    private = f"{AudienceKind.PERSON}:"
    others = sorted(label_ for label_ in audiences if label_.startswith(private) and label_ != f"{private}{person}")
    others = others if person else []
    return {person: audiences} | {label_.removeprefix(private): frozenset({label_}) for label_ in others}


# The narrowest source of a reply, stored beside its audience: the label of an audience, or one of these values.

WIDE: Final = ""  # All readers of the reply may read all its sources
HERE: Final = "here"  # Sources of several narrower audiences: the reply may be used in its own conversation only
# A source that may not be kept: the reply stays in the history of its conversation, and no search finds it.
NOWHERE: Final = "nowhere"


def drawn_from(audiences: Collection[str], place: Place) -> str:
    """Return the narrowest source of a reply in `place`.

    `audiences`: those of its sources, each a label or a value that this function returned.
    """
    narrower = {*audiences} - {WIDE} - may_flow_from(place)
    if NOWHERE in narrower:
        return NOWHERE
    return HERE if len(narrower) > 1 else next(iter(narrower), WIDE)


def may_be_used(audience: str, drawn: str, audiences: AbstractSet[str], *, here: bool) -> bool:
    """Return whether a message to `audience` may be used where `audiences` may flow. `drawn`: its `drawn_from` value.

    `here`: whether the message belongs to the current conversation.
    """
    flows = drawn == WIDE or drawn in audiences
    return audience in audiences and (flows or (here and drawn != NOWHERE))
