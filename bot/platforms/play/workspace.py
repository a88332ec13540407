"""The workspace of `cogency play`: its people, its places, and who can read them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.admission_terms import Authority
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience

SOURCE: Final = "play"
BOT: Final = "cogency"  # The author of the bot's messages
BOT_NAME: Final = "Cogency"


def known_as(id_: str) -> str:
    """Return the id of a person, a conversation or a place outside of this adapter: "play:" and the id here."""
    return f"{SOURCE}:{id_}"


TEAM: Final = known_as("workspace")


@dataclass(frozen=True, slots=True)
class PlayPerson:
    id: str
    name: str
    authority: Authority


PEOPLE: Final[Mapping[str, PlayPerson]] = {
    one.id: one for one in (PlayPerson("ann", "Ann", Authority.ADMIN), PlayPerson("ben", "Ben", Authority.EMPLOYEE))
}


@dataclass(frozen=True, slots=True)
class PlayChannel:
    """`members`: the ids of its readers; `direct`: it is one person's DM with the bot."""

    id: str
    name: str
    members: frozenset[str]
    direct: bool = False

    @property
    def place(self) -> Place:
        """The place in which a reply here is read."""
        if self.direct:
            (person,) = self.members
            return Place(PersonAudience(known_as(person)), within_team=TEAM)
        if self.members >= PEOPLE.keys():
            return Place(TeamAudience(TEAM), within_team=TEAM)
        return Place(GroupAudience(known_as(self.id)), within_team=TEAM, whole_channel=True)


CHANNELS: Final[Mapping[str, PlayChannel]] = {
    one.id: one
    for one in (
        PlayChannel("general", "general", frozenset(PEOPLE)),
        PlayChannel("plans", "plans", frozenset({"ann"})),
        *(PlayChannel(f"dm-{person}", BOT_NAME, frozenset({person}), direct=True) for person in PEOPLE),
    )
}


def direct_channel(person: str) -> PlayChannel:
    return CHANNELS[f"dm-{person}"]


async def channel_names() -> Mapping[str, str]:
    return {channel.id: f"#{channel.name}" for channel in CHANNELS.values() if not channel.direct}


def channel_named(name: str, person: str) -> PlayChannel | None:
    """Return a channel by its name or id, if this person reads it."""
    query = name.strip().removeprefix("#").casefold()
    matches = (channel for channel in CHANNELS.values() if not channel.direct and query in (channel.id, channel.name))
    return next((channel for channel in matches if person in channel.members), None)


class PlayMembership:
    """The port Membership."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        ids = {known_as(channel.id): channel.members for channel in CHANNELS.values() if not channel.direct}
        return {place: person.removeprefix(known_as("")) in ids.get(place, ()) for place in places}
