"""Decides where an event of a webhook may be posted, and who reads it there: `EventPlatform` for Discord.

Nobody asks: the event's person is the webhook itself, which is no member of any server, and whose rights are those of a
stranger.
"""

from dataclasses import dataclass

import discord

from agent.admission_terms import Authority
from agent.doors import WEBHOOK
from agent.errors import Refused
from agent.incoming import Incoming, Person
from agent.ports.webhooks import EventTarget
from agent.schedules.definitions import NotAllowed
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import checks, objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import thread_name
from bot.platforms.discord.members import Members, refusal
from bot.platforms.discord.occurrences import DiscordSchedules, DiscordSilent
from bot.platforms.discord.places import SOURCE, UNREADABLE, known_as
from bot.platforms.discord.reply_to import Address, place_of_page

_EVENTS = "hooks"  # The conversation of a channel's events outside of threads: they are posted one at a time


@dataclass(frozen=True, slots=True)
class DiscordEventPlaces:
    """Implements `EventPlatform`."""

    client: discord.Client
    members: Members
    connection: Connection
    schedules: DiscordSchedules

    async def event(self, target: EventTarget) -> Incoming | NotAllowed:
        await self.schedules.until_ready()
        try:
            number = int(target.channel)
            channel = self.client.get_channel(number) or await self.client.fetch_channel(number)
        except (discord.NotFound, discord.Forbidden):
            return NotAllowed(platforms_texts.SCHEDULE_PLACE_GONE)
        except (discord.InvalidData, *UNREADABLE) as error:
            raise DiscordSilent from error
        if not isinstance(channel, discord.TextChannel | discord.VoiceChannel | discord.StageChannel):
            return NotAllowed(platforms_texts.EVENT_NO_TEXT_CHANNEL)
        guild = channel.guild
        if guild.get_role(guild.id) is None or guild.unavailable:  # not loaded yet
            raise DiscordSilent
        if self.members.servers.refuses(guild.id):
            return NotAllowed(refusal(guild.id))
        try:
            checks.check(channel, in_thread=bool(target.page))
        except Refused as refused:
            return NotAllowed(str(refused))
        root = place_of_page(target.page)[1] if target.page else ""
        address = Address(
            target.channel,
            "",
            message=root,
            thread=(thread_name(target.title) or target.hook) if root else "",
            notified=",".join(target.mention),
        )
        return Incoming(
            source=SOURCE,
            event_id=target.name,
            channel=target.channel,
            message_id=target.name,
            conversation=known_as(root or f"{target.channel}:{_EVENTS}"),
            person=Person(known_as(f"{WEBHOOK}{target.hook}"), f"webhook {target.hook}"),
            place=objects.channel_place(channel),
            text="",
            time=self.connection.clock.now(),
            reply_to=address.encode(),
            authority=Authority.STRANGER,
            team=str(guild.id),
            own=False,
        )
