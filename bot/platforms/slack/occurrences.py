"""Decides whether a schedule that is due may still be carried out: for whom, where, and who reads it there.

Rules
  Everything is read from Slack at that moment: a right that was taken away counts within seconds.
  If the person or the channel is gone, the occurrence is refused, and the person notified. If Slack does not answer, it
  is retried.
  A person made the schedule for a channel that was public or private at that time. What they wrote for a private
  channel is not posted if it is public now, and nothing is posted in a channel that is shared with others since. If
  fewer people read the channel now, it is posted for those.
"""

import re
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from agent.incoming import Incoming
from agent.memory.audience import PersonAudience, Place, TeamAudience
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.schedules.definitions import Admitted, NewSchedule, NotAllowed, Occurrence, Schedule, ScheduleKind
from agent.schedules.ids import NOTICE, occurrence_id, schedule_id
from agent.schedules.long_work import WORK, work_conversation
from agent.turn_kinds import TurnKind
from bot.chat.askers import Requester
from bot.chat.caches import FRESH_S, ExpiringCache
from bot.chat.host import Host
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import (
    SlackApi,
    SlackDown,
    SlackError,
    SlackRefused,
    fields,
    flag,
    has_more,
    items,
    text,
    texts,
)
from bot.platforms.slack.inbound import SlackBot, channel_conversation, is_direct, is_ts, organization, root_of
from bot.platforms.slack.members import MEMBERS_PAGE, Guests, Member, People, SlackMemberUnknown
from bot.platforms.slack.message_pages import CURABLE
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import KINDS, SHARED, Places, channel_place, group_place, person_place
from bot.platforms.slack.reply_to import ReplyTo

# An occurrence's reply is searched from this long before its admission: clocks may differ.
LOOK_BEHIND: Final = timedelta(minutes=5)
MAX_MEMBERS_PAGES: Final = 10
MAX_CHANNELS: Final = 200  # Of a person, per page

_GONE: Final = frozenset({"channel_not_found", "not_in_channel", "is_archived", "channel_is_archived"})
_SCHEDULE: Final = re.compile(r"scheduled:\d{1,19}", re.ASCII)
# The end of a conversation's id in which long work runs, or its result is posted.
_WORK_SUFFIX: Final = re.compile(rf"(?:{WORK}:\d{{1,19}})?(?:{NOTICE})?\Z", re.ASCII)


def schedule_conversation(me: SlackBot, channel: str, schedule: int) -> str:
    """Return the id of a schedule's conversation in a channel, for all its occurrences; it is no thread."""
    return f"{channel_conversation(me, channel)}:{schedule_id(schedule)}"


def is_conversation_of(me: SlackBot, channel: str, conversation: str) -> bool:
    """Whether all readers of this channel may read a conversation: the whole channel, a thread, or a schedule of it."""
    whole = channel_conversation(me, channel)
    base = _WORK_SUFFIX.sub("", conversation)
    part = base.removeprefix(f"{whole}:")
    return base == whole or is_ts(part) or _SCHEDULE.fullmatch(part) is not None


@dataclass(slots=True)
class SlackSchedules:
    """Implements `SchedulePlatform`."""

    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    guests: Guests
    clock: Clock
    _channels: ExpiringCache[JsonObject] = field(init=False)

    def __post_init__(self) -> None:
        self._channels = ExpiringCache(self._load_channel, self.clock)

    async def admit(self, occurrence: Occurrence) -> Admitted:
        new_schedule, name = occurrence.schedule.definition, occurrence_id(occurrence.schedule.id, occurrence.time)
        member = await self.people.member(self._user(new_schedule.person), FRESH_S)
        member = member if new_schedule.direct else await self.places.member_in(new_schedule.channel, member)
        if (why := self._refusal(new_schedule, member)) is not None:
            return NotAllowed(why)
        if new_schedule.direct or isinstance(new_schedule.place.audience, PersonAudience):
            return await self._direct_incoming(occurrence.schedule, occurrence.time, member, name, new_schedule.kind)
        place = await self._place(new_schedule, self._user(new_schedule.person))
        if isinstance(place, NotAllowed):
            return place
        return self._incoming(
            occurrence.schedule, occurrence.time, member, place, new_schedule.channel, name, new_schedule.kind
        )

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        member = await self.people.member(self._user(schedule.definition.person), FRESH_S)
        name = occurrence_id(schedule.id, time, TurnKind.NOTICE)
        return await self._direct_incoming(schedule, time, member, name, ScheduleKind.REMINDER)

    def _user(self, person: str) -> str:
        return person.removeprefix(f"{self.me.source}:")

    def _refusal(self, new_schedule: NewSchedule, member: Member) -> str | None:
        """Return why the person may not ask there now; None if they may. Raises MemberUnknown if that is not known."""
        if member.gone:
            return platforms_texts.SCHEDULE_PERSON_GONE
        who = Requester(member.person.id, new_schedule.channel, member.groups, self.me.team)
        why = self.host.admission.closed_to(who, member.authority)
        if why is not None and member.unsure:
            raise SlackMemberUnknown(SlackError(platforms_texts.SLACK_GROUPS_UNREAD))
        return why

    async def _place(self, new_schedule: NewSchedule, user: str) -> Place | NotAllowed:
        """Return the channel's place now, if the person and the bot are in it. Raises SlackError and StoreError."""
        channel = new_schedule.channel
        try:
            info = await self._channels.get(channel, FRESH_S)
            if flag(info, "is_archived"):
                return NotAllowed(platforms_texts.SCHEDULE_ARCHIVED)
            if info.get("is_member") is False:
                return NotAllowed(platforms_texts.SCHEDULE_WITHOUT_ME)
            if not await self._is_in(user, channel):
                return NotAllowed(platforms_texts.SCHEDULE_LEFT)
        except SlackRefused as refused:
            if refused.code not in _GONE:
                raise
            return NotAllowed(platforms_texts.SCHEDULE_PLACE_GONE)
        return await self._not_wider(new_schedule, info)

    async def _not_wider(self, new_schedule: NewSchedule, info: JsonObject) -> Place | NotAllowed:
        now, was_public = (
            channel_place(self.me, new_schedule.channel, info),
            isinstance(new_schedule.place.audience, TeamAudience),
        )
        if isinstance(now.audience, TeamAudience):
            if new_schedule.place.is_closed:
                return NotAllowed(platforms_texts.SCHEDULE_WIDER)
            with_guests = not was_public or await self.guests.may_read(new_schedule.channel)
            return group_place(self.me, new_schedule.channel) if with_guests else now
        if any(flag(info, fact) for fact in SHARED):
            shared_since = was_public or await self.places.was_closed_after(new_schedule.channel, new_schedule.created)
            return NotAllowed(platforms_texts.SCHEDULE_WIDER) if shared_since else now
        return now

    async def _load_channel(self, channel: str) -> JsonObject:
        return fields(await self.api.call(Method.CHANNEL, channel=channel), "channel")

    async def _is_in(self, user: str, channel: str) -> bool:
        """Whether the user is in the channel: by its members, or if these are too many, by the user's channels. Raises
        SlackError.
        """
        page: JsonObject = {}
        members = self.api.pages(Method.MEMBERS, MAX_MEMBERS_PAGES, channel=channel, limit=MEMBERS_PAGE)
        async with aclosing(members) as pages:
            async for page in pages:
                if user in texts(page, "members"):
                    return True
        if not has_more(page):
            return False
        conversations = self.api.pages(
            Method.CONVERSATIONS, MAX_MEMBERS_PAGES, user=user, types=KINDS, limit=MAX_CHANNELS
        )
        async with aclosing(conversations) as pages:
            async for page in pages:
                if any(text(item, "id") == channel for item in items(page, "channels")):
                    return True
        if has_more(page):
            raise SlackDown(platforms_texts.SLACK_READERS_UNKNOWN)
        return False

    async def _direct_incoming(
        self, schedule: Schedule, time: datetime, member: Member, name: str, kind: ScheduleKind
    ) -> Incoming:
        place, channel = person_place(self.me, member), schedule.definition.channel
        if not is_direct(channel):
            channel = await self._open(self._user(schedule.definition.person))
        return self._incoming(schedule, time, member, place, channel, name, kind)

    async def _open(self, user: str) -> str:
        """Return the user's direct channel with the bot. If Slack refuses to open it, return the user's id, to which
        Slack may still let the bot post. Raises SlackError for failures that may pass.
        """
        try:
            opened = await self.api.call(Method.OPEN, users=user)
        except SlackRefused as refused:
            if refused.code in CURABLE - {"missing_scope"}:
                raise
            return user
        return text(opened, "channel", "id") or user

    def _incoming(
        self,
        schedule: Schedule,
        time: datetime,
        member: Member,
        place: Place,
        channel: str,
        name: str,
        kind: ScheduleKind,
    ) -> Incoming:
        after = (self.clock.now() - LOOK_BEHIND).timestamp()
        conversation, thread = schedule_conversation(self.me, channel, schedule.id), ""
        asked_in = schedule.definition.conversation
        if kind is ScheduleKind.WORK and is_conversation_of(self.me, channel, asked_in):
            conversation, thread = work_conversation(asked_in, schedule.id), root_of(asked_in)
        to = ReplyTo(channel, self._user(schedule.definition.person), thread, f"{after:.6f}", scheduled=kind)
        return Incoming(
            source=self.me.source,
            event_id=name,
            channel=channel,
            message_id=name,
            conversation=conversation,
            person=member.person,
            place=place,
            text=schedule.definition.words,
            time=time,
            reply_to=to.encode(),
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
            organization=organization(self.me, full=member.full),
        )
