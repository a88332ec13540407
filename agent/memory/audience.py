"""Who may see what: an audience is a place, never a member list. Pure.

The rule. What was said in A may be used in a reply to B only if
  A = B; or
  A = team(t) and B lies wholly in t, without guests or outsiders; or
  A = group(g), B = person(p), and p can read g now.
Everything unknown is a group of its own, and an unknown membership means no.

What a tool brings has an audience, too. A reply that was made of it is read where it was asked for; elsewhere it may be
used only if both its own audience and that of all that it was drawn from may flow there.
"""

from collections.abc import Collection
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
    """All DMs of one person with the bot, and replies that only they can see."""

    person: str


@dataclass(frozen=True, slots=True)
class GroupAudience:
    """A private channel, a group DM, anything shared externally, anything unknown."""

    place: str


@dataclass(frozen=True, slots=True)
class TeamAudience:
    """A public channel of one Slack workspace or Discord server."""

    team: str


Audience: TypeAlias = PersonAudience | GroupAudience | TeamAudience


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reply will be read.

    `within_team` names the team that everybody who can read this place is a full member of; None as soon as
    there may be a guest or an outsider. `whole_channel`: this is known for certain to be where the whole channel
    is read, by its kind; what the channel held for a wider audience is then kept to this one. It says nothing about
    who reads, so places are the same with and without it.
    """

    audience: Audience
    within_team: str | None = None
    whole_channel: bool = field(default=False, compare=False)

    @property
    def is_closed(self) -> bool:
        """Whether it is surely where a whole channel is read, and not by the whole team."""
        return self.whole_channel and isinstance(self.audience, GroupAudience)


def label(audience: Audience) -> str:
    """The audience as one stable text, the form in which it is stored: "person:…", "group:…", "team:…".

    Raises ValueError for an audience without a name: everybody whose place is not known would share it.
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
    """The inverse of `label`. Raises ValueError for anything that `label` did not write."""
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


def may_flow(source: Audience, target: Place, readable_groups: AbstractSet[str] = frozenset()) -> bool:
    """May what was said in `source` be used in a reply to `target`?

    `readable_groups`: the group places that the person of a PersonAudience target can read now.
    """
    if source == target.audience:
        return True
    match source:
        case PersonAudience():
            return False
        case TeamAudience(team):
            return team == target.within_team
        case GroupAudience(place):
            return isinstance(target.audience, PersonAudience) and place in readable_groups
        case _:
            assert_never(source)


def may_be_read_out(source: Audience, target: Place, *, reads: bool) -> bool:
    """May what stands in `source` be fetched now, and shown in `target`? `reads`: the asker can read it at this moment.

    Where only they read, that suffices; where others do, all of them must be readers of `source`, too.
    """
    return reads and (isinstance(target.audience, PersonAudience) or may_flow(source, target))


def may_flow_from(target: Place, readable_groups: AbstractSet[str] = frozenset()) -> frozenset[str]:
    """The labels of every audience that may flow into `target`: `may_flow`, solved for its source."""
    labels = {label(target.audience)}
    if target.within_team is not None:
        labels.add(label(TeamAudience(target.within_team)))
    if isinstance(target.audience, PersonAudience):
        labels.update(label(GroupAudience(place)) for place in readable_groups)
    return frozenset(labels)


# What a reply was drawn from: one text beside its audience, a label or one of these.

WIDE: Final = ""  # Nothing that those who read the reply may not all read
HERE: Final = "here"  # Of several audiences: it is found in its own conversation and nowhere else
# What it was drawn from may not be kept: it stands in the history of its conversation, and no search finds it.
NOWHERE: Final = "nowhere"


def drawn_from(audiences: Collection[str], place: Place) -> str:
    """What a reply in `place` was drawn from, made of what has these audiences: labels, or values of this function."""
    narrower = {*audiences} - {WIDE} - may_flow_from(place)
    if NOWHERE in narrower:
        return NOWHERE
    return HERE if len(narrower) > 1 else next(iter(narrower), WIDE)


def may_be_used(audience: str, drawn: str, audiences: AbstractSet[str], *, here: bool) -> bool:
    """May a message, said for `audience` and drawn from that, be used where `audiences` may flow? `here`: it stands in
    the conversation that goes on.
    """
    flows = drawn == WIDE or drawn in audiences
    return audience in audiences and (flows or (here and drawn != NOWHERE))
