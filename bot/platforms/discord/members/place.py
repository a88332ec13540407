"""Who can read a Discord channel, from plain facts about it. Pure.

Above: `inbound`, `reading`, `commands`. Below: `agent.memory.audience`.

The rules; whatever they do not name is a group of its own that nothing else may flow into.
- A DM with the bot, and a reply that only the asker sees, are that person's.
- A channel is its server's only if no member is kept out: @everyone may view it and read its history, no role or
  member is denied that, and it is not age-restricted. A public thread is what its channel is.
- Every reader of another text channel or thread of a server is a member of the server, so what the whole server may
  read may be used there. Voice channels also admit guests, who are not members: nothing flows into them.
- A channel that is known to be closed keeps what it held to itself; a private thread says nothing about its channel.
"""

from dataclasses import dataclass

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience

SOURCE = "discord"


def known_as(snowflake: int | str) -> str:
    """The id of a person, a conversation or a place outside this adapter: unique across platforms."""
    return f"{SOURCE}:{snowflake}"


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    """What is known about a channel, or, for a public thread, about the channel that it belongs to.

    `id` is the thread's own where the thread is private. `guild` is None outside servers, and on servers that the
    bot is not a member of: there it knows nothing.
    """

    id: int
    guild: int | None = None
    private_thread: bool = False
    voice: bool = False
    age_restricted: bool = False
    everyone_reads: bool = False
    someone_denied: bool = True


def place_of(channel: ChannelFacts) -> Place:
    """Where a reply in this channel will be read."""
    group = GroupAudience(known_as(channel.id))
    if channel.guild is None:
        return Place(group)
    if channel.voice:
        return Place(group, whole_channel=True)
    server = known_as(channel.guild)
    if channel.private_thread:
        return Place(group, within_team=server)
    if channel.age_restricted or channel.someone_denied or not channel.everyone_reads:
        return Place(group, within_team=server, whole_channel=True)
    return Place(TeamAudience(server), within_team=server)


def private_place(person: str, member_of: int | None = None) -> Place:
    """Where only this person (by their known id) reads. `member_of`: the server that they are a full member of now."""
    return Place(PersonAudience(person), within_team=None if member_of is None else known_as(member_of))
