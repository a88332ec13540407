"""What Discord says of a schedule that is due: whether it may still be done, for whom, and who reads it there.

Rules
  The channel and its person are fetched now; the roles of a server are those that the gateway tells of all the time.
  What is no more is a no, which is told to the person; what Discord does not tell now is tried again.
  What is for a private thread is said in it, as only there the same people read; else it stands in the channel, or, in
  a forum, in the thread where it was asked for; where nobody knows which that was, its person alone hears of it.
  What a person was shown is a channel, and whether all of its server read it: what they said where fewer did is not
  said to all. Where fewer read it now, they do.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import discord

from agent.errors import CogencyError, Refused
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.records import Incoming, Person
from agent.schedules import (
    SCHEDULED,
    Admitted,
    NewSchedule,
    NotAllowed,
    Occurrence,
    Schedule,
    ScheduleKind,
    occurrence_id,
    work_conversation,
)
from bot.access.acl import Requester
from bot.host import Host
from bot.platforms.discord import checks, objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import STRANGER, Address, DiscordAuthor, own_place
from bot.platforms.discord.members import Members, refusal, zone_chosen
from bot.platforms.discord.places import SOURCE, UNREADABLE, Readable, can_read, known_as
from bot.reply_surface import PageGone
from bot.texts import reply_texts

# What was posted for an occurrence is newer than when it was admitted, by any clock that is so far off at most.
LOOK_BEHIND: Final = timedelta(minutes=5)

READY_S: Final = 10.0  # A third of the time for which a schedule is held by whoever found it due


class DiscordSilent(CogencyError):
    """Discord does not say what has to be known, which may pass."""

    def __init__(self) -> None:
        super().__init__(reply_texts.DISCORD_WHERE)


@dataclass(frozen=True, slots=True)
class _Standing:
    """Whose schedule it is, as they are now, and where it is said: Discord's ids."""

    author: DiscordAuthor
    place: Place
    channel: str
    posted: str = ""
    """The thread, if it is said in one."""


@dataclass(frozen=True, slots=True)
class DiscordSchedules:
    """Implements `SchedulePlatform`. `begun`: the client has logged in, and hears of its servers."""

    client: discord.Client
    host: Host
    members: Members
    connection: Connection
    begun: asyncio.Event

    async def admit(self, occurrence: Occurrence) -> Admitted:
        made, name = occurrence.schedule.made, occurrence_id(occurrence.schedule.id, occurrence.time)
        await self._until_ready()
        try:
            alone = made.direct or isinstance(made.place.audience, PersonAudience)
            standing = await (self._alone(made) if alone else self._there(made))
        except (discord.InvalidData, *UNREADABLE) as error:
            raise DiscordSilent from error
        if isinstance(standing, NotAllowed):
            return standing
        who = standing.author.standing
        requester = Requester(made.person, made.channel, who.roles, who.team)
        if (why := self.host.admission.closed_to(requester, who.authority)) is not None:
            return NotAllowed(why)
        return await self._incoming(occurrence.schedule, occurrence.time, standing, name, made.kind)

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        number = _user(schedule.made)
        await self._until_ready()
        try:
            name = (await self.client.fetch_user(number)).display_name
        except discord.NotFound:
            name = str(number)
        except UNREADABLE as error:
            raise DiscordSilent from error
        author = DiscordAuthor(number, name, standing=STRANGER)
        standing = _Standing(author, own_place(author), await self._open(author.id))
        name = f"{occurrence_id(schedule.id, time)}:told"
        return await self._incoming(schedule, time, standing, name, ScheduleKind.REMINDER)

    async def _until_ready(self) -> None:
        """At a start, much may be due before the servers were told of. Raises DiscordSilent."""
        try:
            async with asyncio.timeout(READY_S):
                await self.begun.wait()
                await self.client.wait_until_ready()
        except TimeoutError as error:
            raise DiscordSilent from error

    async def _alone(self, made: NewSchedule) -> _Standing | NotAllowed:
        """Raises MemberUnknown, UNREADABLE and SurfaceError."""
        try:
            user = await self.client.fetch_user(_user(made))
        except discord.NotFound:
            return NotAllowed(reply_texts.SCHEDULE_PERSON_GONE)
        author = await self.members.author_now(DiscordAuthor(user.id, user.display_name))
        return _Standing(author, own_place(author), await self._open(author.id))

    async def _there(self, made: NewSchedule) -> _Standing | NotAllowed:
        """Raises UNREADABLE and InvalidData."""
        try:
            channel = await self._channel(made)
        except (discord.NotFound, discord.Forbidden):
            return NotAllowed(reply_texts.SCHEDULE_PLACE_GONE)
        if not isinstance(channel, Readable):
            return NotAllowed(reply_texts.SCHEDULE_PLACE_GONE)
        if isinstance(channel, discord.ForumChannel):
            return await self._alone(made)
        guild = channel.guild
        if guild.get_role(guild.id) is None or guild.unavailable:  # the gateway has not told of it yet
            raise DiscordSilent
        if self.members.servers.refuses(guild.id):
            return NotAllowed(refusal(guild.id))
        try:
            member = await guild.fetch_member(_user(made))
        except discord.NotFound:
            return NotAllowed(reply_texts.SCHEDULE_LEFT_SERVER)
        if not await can_read(channel, member):
            return NotAllowed(reply_texts.SCHEDULE_LEFT)
        in_thread = isinstance(channel, discord.Thread)
        try:
            checks.check(channel, in_thread=in_thread)
        except Refused as refused:
            return NotAllowed(str(refused))
        place = _not_wider(made, objects.channel_place(channel), channel)
        if place is None:
            return NotAllowed(reply_texts.SCHEDULE_WIDER)
        author = self.members.here(objects.author_of(member))
        return _Standing(author, place, made.channel, str(channel.id) if in_thread else "")

    async def _channel(self, made: NewSchedule) -> object:
        """Raises discord.NotFound, discord.Forbidden, InvalidData and UNREADABLE."""
        group = made.place.audience.place if isinstance(made.place.audience, GroupAudience) else ""
        own = group.removeprefix(known_as(""))
        if own.isdecimal() and own != made.channel:
            return await self.client.fetch_channel(int(own))
        begun = made.conversation.removeprefix(known_as(""))
        if made.kind is ScheduleKind.WORK and begun.isdecimal() and begun != made.channel:
            with suppress(discord.NotFound):  # else it was asked where no thread is begun
                thread = await self.client.fetch_channel(int(begun))
                if isinstance(thread, discord.Thread) and thread.parent_id == int(made.channel):
                    return thread
        channel = await self.client.fetch_channel(int(made.channel))
        if isinstance(channel, discord.ForumChannel) and begun.isdecimal():
            return await self.client.fetch_channel(int(begun))
        return channel

    async def _open(self, person: int) -> str:
        """Their direct messages; the person's own id, at which nothing can be said, where there cannot be any. Raises
        SurfaceError.
        """
        try:
            return await (await self.connection.rest()).open_dm(str(person))
        except PageGone:
            return str(person)

    async def _incoming(
        self, schedule: Schedule, time: datetime, standing: _Standing, name: str, kind: ScheduleKind
    ) -> Incoming:
        made, author, who = schedule.made, standing.author, standing.author.standing
        after = discord.utils.time_snowflake(self.connection.clock.now() - LOOK_BEHIND)
        to = Address(
            standing.posted or standing.channel,
            str(author.id),
            scheduled=kind,
            after=str(after),
            direct=isinstance(standing.place.audience, PersonAudience),
        )
        zone = await zone_chosen(self.host.preferences, made.person)
        beside = known_as(f"{to.channel}:{SCHEDULED}{schedule.id}")
        if kind is ScheduleKind.WORK and made.channel == standing.channel:
            beside = work_conversation(made.conversation, schedule.id)
        return Incoming(
            source=SOURCE,
            event_id=name,
            channel=standing.channel,
            message_id=name,
            conversation=beside,
            person=Person(made.person, author.name, zone),
            place=standing.place,
            text=made.words,
            time=time,
            reply_to=to.encode(),
            authority=who.authority,
            roles=who.roles,
            team=who.team,
            organization=who.organization,
        )


def _user(made: NewSchedule) -> int:
    return int(made.person.removeprefix(known_as("")))


def _not_wider(made: NewSchedule, now: Place, channel: Readable) -> Place | None:
    """Who reads it now; None if those are more than its person was shown."""
    if not isinstance(now.audience, TeamAudience) or isinstance(made.place.audience, TeamAudience):
        return now
    # That fewer read it was known, or nothing was: then nobody else's words come to it.
    return None if made.place.within_team else Place(GroupAudience(known_as(channel.id)))
