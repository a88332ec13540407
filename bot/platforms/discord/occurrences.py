"""Check a due schedule with Discord: whether it may run, for whom, and who reads the result.

Rules
     The channel and the person are fetched now; a server's roles are the gateway's current ones. What no longer exists
     is a refusal, which the person is told; what Discord does not answer now is tried again.
     A schedule for a private thread is posted in it, as only there the same people read it; otherwise in the channel,
     or, in a forum, in the thread where it was created; if that is unknown, in the person's DM only.
     The person was shown the channel, and whether its whole server reads it: words for fewer readers are not posted to
     more. If fewer read the channel now, only they see it.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import discord

from agent.errors import CogencyError, Refused
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.schedules.definitions import Admitted, NewSchedule, NotAllowed, Occurrence, Schedule, ScheduleKind
from agent.schedules.ids import occurrence_id, schedule_id
from agent.schedules.long_work import work_conversation
from agent.turn_kinds import TurnKind
from bot.chat.askers import Requester
from bot.chat.host import Host
from bot.chat.reply.surface import PageGone
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import checks, objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import STRANGER, DiscordAuthor, own_place
from bot.platforms.discord.members import Members, refusal, zone_chosen
from bot.platforms.discord.places import SOURCE, UNREADABLE, Readable, can_read, known_as
from bot.platforms.discord.reply_to import Address

# Messages for an occurrence are newer than its admission, by a clock that is off by at most this.
LOOK_BEHIND: Final = timedelta(minutes=5)

READY_S: Final = 10.0  # A third of the time for which the process that found a schedule due holds it


class DiscordSilent(CogencyError):
    """Discord cannot currently provide what is needed."""

    def __init__(self) -> None:
        super().__init__(platforms_texts.DISCORD_WHERE)


@dataclass(frozen=True, slots=True)
class _OccurrenceTarget:
    """The person whose schedule it is, with their current standing, and where it is posted; Discord's ids."""

    author: DiscordAuthor
    place: Place
    channel: str
    posted: str = ""
    """The thread, if it is posted in one."""


@dataclass(frozen=True, slots=True)
class DiscordSchedules:
    """Implements `SchedulePlatform`. `first_connected`: the client has connected, and is loading its servers."""

    client: discord.Client
    host: Host
    members: Members
    connection: Connection
    first_connected: asyncio.Event

    async def admit(self, occurrence: Occurrence) -> Admitted:
        made, name = occurrence.schedule.definition, occurrence_id(occurrence.schedule.id, occurrence.time)
        await self.until_ready()
        try:
            alone = made.direct or isinstance(made.place.audience, PersonAudience)
            target = await (self._alone(made) if alone else self._in_channel(made))
        except (discord.InvalidData, *UNREADABLE) as error:
            raise DiscordSilent from error
        if isinstance(target, NotAllowed):
            return target
        standing = target.author.standing
        requester = Requester(made.person, made.channel, standing.roles, standing.team)
        if (refusal_text := self.host.admission.closed_to(requester, standing.authority)) is not None:
            return NotAllowed(refusal_text)
        return await self._incoming(occurrence.schedule, occurrence.time, target, name, made.kind)

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        number = _user(schedule.definition)
        await self.until_ready()
        try:
            name = (await self.client.fetch_user(number)).display_name
        except discord.NotFound:
            name = str(number)
        except UNREADABLE as error:
            raise DiscordSilent from error
        author = DiscordAuthor(number, name, standing=STRANGER)
        target = _OccurrenceTarget(author, own_place(author), await self._open_dm(author.id))
        name = occurrence_id(schedule.id, time, TurnKind.NOTICE)
        return await self._incoming(schedule, time, target, name, ScheduleKind.REMINDER)

    async def until_ready(self) -> None:
        """Wait until the servers are known: at a start, many schedules may already be due. Raises DiscordSilent."""
        try:
            async with asyncio.timeout(READY_S):
                await self.first_connected.wait()
                await self.client.wait_until_ready()
        except TimeoutError as error:
            raise DiscordSilent from error

    async def _alone(self, made: NewSchedule) -> _OccurrenceTarget | NotAllowed:
        """Raises DiscordMemberUnknown, UNREADABLE and SurfaceError."""
        try:
            user = await self.client.fetch_user(_user(made))
        except discord.NotFound:
            return NotAllowed(platforms_texts.SCHEDULE_PERSON_GONE)
        author = await self.members.author_now(DiscordAuthor(user.id, user.display_name))
        return _OccurrenceTarget(author, own_place(author), await self._open_dm(author.id))

    async def _in_channel(self, made: NewSchedule) -> _OccurrenceTarget | NotAllowed:
        """Raises UNREADABLE and InvalidData."""
        try:
            channel = await self._channel(made)
        except (discord.NotFound, discord.Forbidden):
            return NotAllowed(platforms_texts.SCHEDULE_PLACE_GONE)
        if not isinstance(channel, Readable):
            return NotAllowed(platforms_texts.SCHEDULE_PLACE_GONE)
        if isinstance(channel, discord.ForumChannel):
            return await self._alone(made)
        guild = channel.guild
        if guild.get_role(guild.id) is None or guild.unavailable:  # not loaded yet
            raise DiscordSilent
        if self.members.servers.refuses(guild.id):
            return NotAllowed(refusal(guild.id))
        try:
            member = await guild.fetch_member(_user(made))
        except discord.NotFound:
            return NotAllowed(platforms_texts.SCHEDULE_LEFT_SERVER)
        if not await can_read(channel, member):
            return NotAllowed(platforms_texts.SCHEDULE_LEFT)
        in_thread = isinstance(channel, discord.Thread)
        try:
            checks.check(channel, in_thread=in_thread)
        except Refused as refused:
            return NotAllowed(str(refused))
        place = _not_wider(made, objects.channel_place(channel), channel)
        if place is None:
            return NotAllowed(platforms_texts.SCHEDULE_WIDER)
        author = self.members.here(objects.author_of(member))
        return _OccurrenceTarget(author, place, made.channel, str(channel.id) if in_thread else "")

    async def _channel(self, made: NewSchedule) -> object:
        """Raises discord.NotFound, discord.Forbidden, InvalidData and UNREADABLE."""
        group_place = made.place.audience.place if isinstance(made.place.audience, GroupAudience) else ""
        group_id = group_place.removeprefix(known_as(""))
        if group_id.isdecimal() and group_id != made.channel:
            return await self.client.fetch_channel(int(group_id))
        thread_id = made.conversation.removeprefix(known_as(""))
        if made.kind is ScheduleKind.WORK and thread_id.isdecimal() and thread_id != made.channel:
            with suppress(discord.NotFound):  # not found: it was asked where no thread is started
                thread = await self.client.fetch_channel(int(thread_id))
                if isinstance(thread, discord.Thread) and thread.parent_id == int(made.channel):
                    return thread
        channel = await self.client.fetch_channel(int(made.channel))
        if isinstance(channel, discord.ForumChannel) and thread_id.isdecimal():
            return await self.client.fetch_channel(int(thread_id))
        return channel

    async def _open_dm(self, person: int) -> str:
        """Return the id of the person's DM channel; the person's own id, which receives nothing, if there is none.

        Raises SurfaceError.
        """
        try:
            return await (await self.connection.rest()).open_dm(str(person))
        except PageGone:
            return str(person)

    async def _incoming(
        self, schedule: Schedule, time: datetime, target: _OccurrenceTarget, name: str, kind: ScheduleKind
    ) -> Incoming:
        made, author, standing = schedule.definition, target.author, target.author.standing
        after = discord.utils.time_snowflake(self.connection.clock.now() - LOOK_BEHIND)
        address = Address(
            target.posted or target.channel,
            str(author.id),
            scheduled=kind,
            after=str(after),
            direct=isinstance(target.place.audience, PersonAudience),
        )
        zone = await zone_chosen(self.host.preferences, made.person)
        conversation = known_as(f"{address.channel}:{schedule_id(schedule.id)}")
        if kind is ScheduleKind.WORK and made.channel == target.channel:
            conversation = work_conversation(made.conversation, schedule.id)
        return Incoming(
            source=SOURCE,
            event_id=name,
            channel=target.channel,
            message_id=name,
            conversation=conversation,
            person=Person(made.person, author.name, zone),
            place=target.place,
            text=made.words,
            time=time,
            reply_to=address.encode(),
            authority=standing.authority,
            roles=standing.roles,
            team=standing.team,
            organization=standing.organization,
        )


def _user(made: NewSchedule) -> int:
    return int(made.person.removeprefix(known_as("")))


def _not_wider(made: NewSchedule, now: Place, channel: Readable) -> Place | None:
    """Return the current place; None if more people read it than the person was shown."""
    if not isinstance(now.audience, TeamAudience) or isinstance(made.place.audience, TeamAudience):
        return now
    # The person was shown fewer readers, or nothing was known: then no other person's words are used there.
    return None if made.place.within_team else Place(GroupAudience(known_as(channel.id)))
