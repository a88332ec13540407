"""The user of a command, a button or a modal, and what they may decide there.

Rule: what a user may do for others is taken from the interaction itself, which holds their current permissions.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import discord

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.incoming import Person
from agent.ports.tools import Asker
from bot.chat.askers import Requester
from bot.chat.commands.declaration import CommandCall, Stoppable
from bot.chat.host import Host
from bot.chat.panels import PanelPart, PanelSelect
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import objects
from bot.platforms.discord.inbound import DiscordAuthor, own_place, private_conversation
from bot.platforms.discord.interactions import MAX_CHOICES, Interaction
from bot.platforms.discord.members import ZONE, Members, zone_chosen
from bot.platforms.discord.places import UNREADABLE, known_as

# The beginning of an answer of `/budget`. Discord shows a mention as the name, also of who never wrote, and only to
# readers who may see a channel; in an answer for one person it notifies nobody.
_ABOUT: Final = re.compile(r"^(Person|Channel) `discord:([0-9]{1,20})`")
WINDOW_FIELDS: Final = 5  # Discord's limit of fields in a modal
# An entry in a list is shortened to this: a page of entries, with their links, then fits one panel.
ENTRY_CHARS: Final = 140


# The user's time zone: Discord does not report it, so users choose one.

OTHER_ZONE: Final = "other"  # The menu's entry that explains how to set another zone


def zone_part(chosen: str, words: str, now: datetime) -> PanelPart:
    """Return the panel part with the current zone ("" for none) and a menu of others, whose choice follows `words`."""
    current = platforms_texts.ZONE_NOW.format(moment=formatting.local_moment(now, chosen))
    common = dict(formatting.zone_options(now))
    if chosen and chosen not in common:  # the menu shows the current zone in place of the least common one
        common = {chosen: chosen} | dict(list(common.items())[: MAX_CHOICES - 2])
    options = common | {OTHER_ZONE: platforms_texts.ZONE_ANOTHER}
    return PanelPart(
        current if chosen else platforms_texts.ZONE_ASKED,
        select=PanelSelect(platforms_texts.ZONE_CHOOSE, options, chosen, words),
    )


@dataclass(frozen=True, slots=True)
class Decides:
    """Whether a user may decide for everyone in a channel, and in its whole server."""

    channel: bool
    team: bool


def is_direct(interaction: Interaction) -> bool:
    """Return whether the interaction comes from the user's DM with the bot."""
    return interaction.context.dm_channel is True


def requester_of(interaction: Interaction) -> Requester:
    channel, standing = objects.channel_of(interaction), objects.standing_of(interaction.user)
    return Requester(known_as(interaction.user.id), channel, standing.roles, standing.team)


@dataclass(frozen=True, slots=True)
class DiscordCaller:
    """Implements `Caller`.

    `asked_last`: returns the conversation of a person's last `/ask` in a channel, which has no other reference.
    `commands_help`: returns the help about the commands.
    """

    interaction: Interaction
    host: Host
    members: Members
    asked_last: Callable[[int, int], str | None]
    commands_help: Callable[[Interaction], str]

    @property
    def person(self) -> Person:
        return Person(known_as(self.interaction.user.id), self.interaction.user.display_name)

    @property
    def channel(self) -> str:
        return objects.channel_of(self.interaction)

    @property
    def entry_chars(self) -> int:
        return ENTRY_CHARS

    async def requester(self) -> Requester:
        return requester_of(self.interaction)

    async def policy_asker(self) -> Asker:
        author = self._author
        place = objects.where(self.interaction.channel or self.interaction, author, direct=False).place
        return Asker(await self.known(), place, self.channel, author.standing.authority)

    async def private_asker(self) -> Asker:
        """In a DM, the caller reads at the place of the DM's turns."""
        author, direct = self._author, is_direct(self.interaction)
        place = own_place(await self.members.author(author)) if direct else objects.private_place_of(self.interaction)
        authority, manages = author.standing.authority, self._manages_channel
        thread = await self._thread()
        return Asker(await self.known(), place, self.channel, authority, manages=manages, thread=thread)

    async def asker(self) -> Asker:
        author = await self.members.author(self._author) if is_direct(self.interaction) else self._author
        where = objects.where(self.interaction.channel or self.interaction, author, direct=is_direct(self.interaction))
        place = own_place(author) if is_direct(self.interaction) else where.place
        authority, manages = author.standing.authority, self._manages_channel
        return Asker(await self.known(), place, self.channel, authority, manages=manages)

    async def known(self) -> Person:
        """Return the person with the time zone that they chose."""
        return replace(self.person, time_zone=await zone_chosen(self.host.preferences, self.person.id))

    async def ask_zone(self, words: str) -> PanelPart | None:
        return None if (await self.known()).time_zone else zone_part("", words, self.members.clock.now())

    async def keep_zone(self, zone: str) -> str:
        if not (zone_name := formatting.zone_named(zone)):
            return platforms_texts.ZONE_UNKNOWN if zone != OTHER_ZONE else platforms_texts.ZONE_OTHER
        await self.host.preferences.set(self.person.id, ZONE, zone_name)
        return ""

    async def _thread(self) -> frozenset[str]:
        """Return what "this thread" means: the channel and the private conversation there; in a DM the current one."""
        person, channel = self.interaction.user.id, self.interaction.channel_id
        if channel is None:
            return frozenset()
        if is_direct(self.interaction):
            return frozenset({await self.host.direct_messages.current(known_as(channel))})
        return frozenset({known_as(channel), private_conversation(channel, person)})

    @property
    def not_receiving(self) -> str:
        return "" if self.interaction.client.intents.message_content else platforms_texts.NO_CONTENT_INTENT

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def stoppable(self) -> Stoppable:
        """Return what runs in this channel, and what the caller asked here by command."""
        channel, person = self.interaction.channel_id or self.interaction.id, self.interaction.user.id
        candidates = {known_as(channel), private_conversation(channel, person), self.asked_last(channel, person)}
        if is_direct(self.interaction):
            candidates.add(await self.host.direct_messages.current(known_as(channel)))
        return Stoppable([conversation for conversation in candidates if conversation])

    async def begin_conversation(self) -> str:
        channel = known_as(self.interaction.channel_id or self.interaction.id)
        await self.host.direct_messages.begin(channel, str(self.interaction.id))
        return platforms_texts.NEW_CONVERSATION

    async def announce(self, markdown: str) -> None:
        """Post to the channel: of a thread, in its parent channel; of a forum post, in the post itself."""
        current = self.interaction.channel
        parent = current.parent if isinstance(current, discord.Thread) else None
        channel = parent if isinstance(parent, discord.TextChannel) else current
        try:
            if not isinstance(channel, discord.abc.Messageable):
                raise Refused(reply_texts.NOT_SAID_THERE)
            await channel.send(markdown, suppress_embeds=True)
        except UNREADABLE as error:
            raise Refused(reply_texts.NOT_SAID_THERE) from error

    async def with_names(self, markdown: str) -> str:
        return _ABOUT.sub(lambda found: f"<{'@' if found[1] == 'Person' else '#'}{found[2]}>", markdown)

    def help(self) -> str:
        return self.commands_help(self.interaction)

    def decides(self) -> Decides:
        """What the caller may decide for others: nothing where the bot is not a member of the server."""
        if not self._is_served:
            return Decides(channel=False, team=False)
        operates = self.host.admission.operates(self.person.id)
        return Decides(
            channel=operates or self._manages_channel,
            team=operates or self._author.standing.authority >= Authority.MANAGER,
        )

    @property
    def _author(self) -> DiscordAuthor:
        """The caller with their standing in this server."""
        return self.members.here(objects.author_of(self.interaction.user))

    @property
    def _manages_channel(self) -> bool:
        managing = self.interaction.permissions.manage_channels or self._author.standing.authority >= Authority.MANAGER
        return self._is_served and managing

    @property
    def _is_served(self) -> bool:
        """Whether the bot is a member of the server. Who manages another one may be anybody."""
        guild = self.interaction.guild_id
        return guild is not None and self.interaction.client.get_guild(guild) is not None


def discord_caller(call: CommandCall) -> DiscordCaller:
    """Return the caller of a command that only Discord has."""
    if not isinstance(call.caller, DiscordCaller):
        raise TypeError("a command of Discord was used elsewhere")
    return call.caller
