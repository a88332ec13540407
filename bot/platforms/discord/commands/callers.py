"""Who uses a command, a button or a window, and what they may decide where they do.

Above: `control`, `memory`, `preferences`, `forgetting`, `menus`. Below: `inbound`, `members`, `place`, `reading`,
`bot.host` (the values).

Rule: what somebody may do for others is read off the interaction itself, which says what they are there, and now.
"""

from dataclasses import dataclass

from agent.authority import Authority
from agent.records import Person
from bot.host import Asker, Forgetter, Host, Viewer
from bot.platforms.discord.commands.interactions import Interaction
from bot.platforms.discord.members.members import Members
from bot.platforms.discord.members.place import known_as
from bot.platforms.discord.reading import reading
from bot.platforms.discord.reading.inbound import Author, own_place, private_conversation


@dataclass(frozen=True, slots=True)
class Decides:
    """Whether somebody may decide for everybody in a channel, and in its whole server."""

    channel: bool
    team: bool


def is_direct(interaction: Interaction) -> bool:
    """Whether it comes from the caller's DM with the bot."""
    return interaction.context.dm_channel is True


def person_of(interaction: Interaction) -> Person:
    return Person(known_as(interaction.user.id), interaction.user.display_name)


def roles_of(interaction: Interaction) -> frozenset[str]:
    return reading.standing_of(interaction.user).roles


def team_of(interaction: Interaction) -> str:
    return reading.standing_of(interaction.user).team


def author_of(interaction: Interaction, members: Members) -> Author:
    """The caller, with what they are there."""
    return members.here(reading.author_of(interaction.user))


def asker_of(interaction: Interaction, members: Members) -> Asker:
    """The caller, as somebody who sets what holds for everybody where they are."""
    author = author_of(interaction, members)
    place = reading.where(interaction.channel or interaction, author, direct=False).place
    return Asker(person_of(interaction), author.standing.authority, place)


async def viewer_of(interaction: Interaction, members: Members) -> Viewer:
    """The caller, and where only they read: in a DM the same as that of its turns."""
    author = author_of(interaction, members)
    direct = is_direct(interaction)
    place = own_place(await members.known(author)) if direct else reading.private_place_of(interaction)
    manages = _manages_channel(interaction, author)
    return Viewer(person_of(interaction), place, reading.channel_of(interaction), manages)


async def forgetter_of(interaction: Interaction, host: Host) -> Forgetter:
    """The caller. "This thread" is the channel, and what they asked there in private; in a DM what goes on there now.

    Raises CogencyError.
    """
    person, channel = interaction.user.id, interaction.channel_id
    if channel is None:
        thread = frozenset[str]()
    elif is_direct(interaction):
        thread = frozenset({await host.current_conversation(known_as(channel))})
    else:
        thread = frozenset({known_as(channel), private_conversation(channel, person)})
    return Forgetter(known_as(person), thread)


def decides(interaction: Interaction, members: Members, host: Host) -> Decides:
    """What the caller may decide for others: nothing where the bot is not a member of the server."""
    guild = interaction.guild_id
    if guild is None or interaction.client.get_guild(guild) is None:
        return Decides(channel=False, team=False)
    author, operates = author_of(interaction, members), host.operates(known_as(interaction.user.id))
    return Decides(
        channel=operates or _manages_channel(interaction, author),
        team=operates or author.standing.authority >= Authority.MANAGER,
    )


def _manages_channel(interaction: Interaction, author: Author) -> bool:
    managing = interaction.permissions.manage_channels or author.standing.authority >= Authority.MANAGER
    return interaction.guild_id is not None and managing
