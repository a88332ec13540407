"""The places of Slack's channels: who reads a message there, and so what may be used in the answer."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from bot.chat.caches import ExpiringCache
from bot.chat.host import Host
from bot.platforms.slack.api import SlackApi, SlackError, SlackRefused, fields, flag, has_more, items, text
from bot.platforms.slack.inbound import SlackBot, is_direct
from bot.platforms.slack.members import Guests, Member, SlackMemberUnknown
from bot.platforms.slack.options import Method

# If any of these is true, people of other organisations read the channel, or soon will.
EXTERNAL = ("is_ext_shared", "is_pending_ext_shared")
# If any of these is true, people of other workspaces read the channel, or soon will.
SHARED = (*EXTERNAL, "is_shared", "is_org_shared", "is_global_shared")
NARROW = ("is_private", "is_im", "is_mpim", *SHARED)  # If any of these is true, the channel is not simply public

_KIND, _CLOSED, _OPEN = "kind", "closed", "open"
_EARLIER = "earlier id"

MAX_NAMES = 5  # Names looked up for one message: each may cost a request before the question is acknowledged


def channel_place(me: SlackBot, channel: str, info: JsonObject) -> Place:
    """Return the place of a channel. `info`: the `channel` of conversations.info; {} if unknown. Pure."""
    if flag(info, "is_channel") and not any(flag(info, fact) for fact in NARROW):
        return team_place(me)
    return closed_place(me, channel) if info else group_place(me, channel)


def is_of_organization(me: SlackBot, info: JsonObject) -> bool:
    """Whether a channel is shared between workspaces of the bot's organisation only. Pure.

    False in doubt: if Slack does not say so, names another organisation, or lists a pending invitation.
    """
    invited = any(info.get(pending) for pending in ("pending_shared", "pending_connected_team_ids"))
    named = {text(info, "enterprise_id"), text(info, "context_enterprise_id")} - {"", me.enterprise}
    external = invited or named or any(flag(info, fact) for fact in EXTERNAL)
    return bool(me.enterprise) and flag(info, "is_org_shared") and not external


def team_place(me: SlackBot) -> Place:
    """Return the place of all public channels of the workspace. Pure."""
    return Place(TeamAudience(me.source), within_team=me.source)


def group_place(me: SlackBot, channel: str) -> Place:
    """Return the place of a channel that is not known to be public. Pure."""
    return Place(GroupAudience(f"{me.source}:{channel}"))


def closed_place(me: SlackBot, channel: str) -> Place:
    """Return the place of a channel that Slack says is private or shared. Pure."""
    return replace(group_place(me, channel), whole_channel=True)


def person_place(me: SlackBot, member: Member) -> Place:
    """Return the place that only this person reads: their DM with the bot, or an ephemeral answer. Pure."""
    return Place(PersonAudience(member.person.id), within_team=me.source if member.full else None)


@dataclass(frozen=True, slots=True)
class _ChannelFacts:
    """A channel as it was read. `name`: "" unless the channel is public. `mark`: the stored mark that it was read
    with (`Places._read_mark`). `of_organization`: only workspaces of the bot's organisation read it.
    """

    place: Place
    name: str
    mark: str = ""
    of_organization: bool = False


class Places:
    """Looks channels up, and caches them for a minute.

    Rules
    - A channel that is shared with another workspace, private, or unknown is a group of its own, in which nothing from
      elsewhere may be used. So is a public channel that a guest reads, or may read (`Guests`).
    - Only a channel that is known to be private or shared keeps its earlier content to itself: guests and failures come
      and go.
    - When one process learns that a channel was made private or shared, it stores a mark; a cached channel with another
      mark is read again, in all processes.
    """

    def __init__(self, host: Host, api: SlackApi, me: SlackBot, clock: Clock, guests: Guests) -> None:
        self._host = host
        self._clock = clock
        self._api = api
        self._me = me
        self._guests = guests
        self._known = ExpiringCache(self._load, clock)
        self._read = ExpiringCache(self._is_read, clock)

    async def reads(self, channel: str) -> bool:
        """Return whether the workspace has this channel, and the bot may see it. Raises SlackError and StoreError."""
        return await self._read.get(channel)

    async def _is_read(self, channel: str) -> bool:
        try:
            await self._known.get(channel)
        except SlackRefused:
            return False
        return True

    async def of(self, channel: str) -> Place:
        """Return a channel's place. Never raises: after a failure, and for a DM, it is a group of its own."""
        if channel.startswith("D"):
            return group_place(self._me, channel)
        try:
            facts = await self._known.get(channel)
            if facts.place.within_team and facts.mark != await self._read_mark(channel):
                self._known.drop(channel)
                facts = await self._known.get(channel)
        except (SlackError, StoreError):
            return group_place(self._me, channel)
        return facts.place

    async def read_now(self, channel: str) -> tuple[Place, bool]:
        """Return a channel's place, read without the cache, and whether it is public, so that all members read it."""
        self._known.drop(channel)
        return await self.of(channel), bool(await self._name(channel))

    async def names(self, channels: Iterable[str]) -> dict[str, str]:
        """Return the names of the public ones of these channels, by id. Never raises."""
        channel_ids = list(dict.fromkeys(channels))[:MAX_NAMES]
        names = await asyncio.gather(*(self._name(channel) for channel in channel_ids))
        return {channel: name for channel, name in zip(channel_ids, names, strict=True) if name}

    async def _name(self, channel: str) -> str:
        try:
            return (await self._known.get(channel)).name
        except (SlackError, StoreError):
            return ""

    async def asked_in(self, channel: str, author: Member) -> Place:
        """Return the place of a question in this channel. If a guest asks, a guest reads it, even one not listed."""
        place = await self.of(channel)
        return place if author.full else group_place(self._me, channel)

    async def member_in(self, channel: str, member: Member) -> Member:
        """Return the member with their authority in this channel. If only workspaces of one organisation share it, full
        members of the others may ask like this workspace's own, but do not become its members. Raises
        SlackMemberUnknown and StoreError.
        """
        if not member.colleague or not channel or is_direct(channel):
            return member
        try:
            facts = await self._known.get(channel)
        except SlackError as error:
            raise SlackMemberUnknown(error) from error
        return replace(member, authority=Authority.EMPLOYEE) if facts.of_organization else member

    async def mark_closed(self, channel: str) -> Place:
        """Record for all processes that a channel was made private or shared. Return its place. Raises StoreError."""
        self._known.drop(channel)
        await self._write_mark(channel, _CLOSED)
        return closed_place(self._me, channel)

    async def mark_renumbered(self, channel: str, new: str) -> None:
        """Record for all processes under which id a channel was known before. Raises StoreError."""
        await self._host.preferences.set(self._owner(new), _EARLIER, channel)

    async def earlier_id(self, channel: str) -> str:
        """Return the id that the channel had before; "" if it always had this one. Raises StoreError."""
        return (await self._host.preferences.all_of(self._owner(channel))).get(_EARLIER, "")

    async def _write_mark(self, channel: str, kind: str) -> str:
        """Store a channel's mark, "<kind> <time>", for all processes. Raises StoreError."""
        mark = f"{kind} {self._clock.now().isoformat()}"
        await self._host.preferences.set(self._owner(channel), _KIND, mark)
        return mark

    def _owner(self, channel: str) -> str:
        return f"place:{self._me.source}:{channel}"

    async def _read_mark(self, channel: str) -> str:
        """Return a channel's mark: since when it is closed, or open again; "" for none. Raises StoreError."""
        return (await self._host.preferences.all_of(self._owner(channel))).get(_KIND, "")

    async def was_closed_after(self, channel: str, time: datetime) -> bool:
        """Whether a process recorded that it was made private or shared after that time. Raises StoreError."""
        kind, _, since = (await self._read_mark(channel)).partition(" ")
        return kind == _CLOSED and datetime.fromisoformat(since) > time

    async def _load(self, channel: str) -> _ChannelFacts:
        mark = await self._read_mark(channel)
        info = fields(await self._api.call(Method.CHANNEL, channel=channel), "channel")
        place = channel_place(self._me, channel, info)
        if place.whole_channel and not mark.startswith(_CLOSED):
            mark = await self._write_mark(channel, _CLOSED)
        elif place.within_team and mark.startswith(_CLOSED):
            mark = await self._write_mark(channel, _OPEN)
        if not isinstance(place.audience, TeamAudience):
            return _ChannelFacts(place, "", mark, is_of_organization(self._me, info))
        read_by_guests = await self._guests.may_read(channel)
        return _ChannelFacts(group_place(self._me, channel) if read_by_guests else place, text(info, "name"), mark)


# Public channels, too: one that is shared with another workspace is a group place.
KINDS = "public_channel,private_channel,mpim"
PAGE = 200  # Slack recommends no more
MAX_PAGES = 5  # A thousand channels: a user waits, and few people are in more


class SlackMembership:
    """Implements `Membership`: who can read which private channel, group DM or shared channel now.

    Rule: Slack lists a person's channels, of the private ones only those that the bot is in. A person cannot read a
    channel that is not listed. If Slack does not answer, or lists too many pages, the channel is left out: unknown.
    """

    def __init__(self, api: SlackApi, me: SlackBot) -> None:
        self._api = api
        self._me = me

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        prefix = f"{self._me.source}:"
        channels = {place.removeprefix(prefix): place for place in places if place.startswith(prefix)}
        found: dict[str, bool] = {}
        try:
            user, page = person.removeprefix(prefix), dict[str, Json]()
            listed = self._api.pages(Method.CONVERSATIONS, MAX_PAGES, user=user, types=KINDS, limit=PAGE)
            async with aclosing(listed) as pages:
                async for page in pages:
                    ids = {text(channel, "id") for channel in items(page, "channels")}
                    found |= {channels[channel]: True for channel in ids & channels.keys()}
                    if len(found) == len(channels):
                        return found
            if has_more(page):  # the person may be in channels on the pages that were not read
                return found
        except SlackError:
            return found
        return {place: place in found for place in channels.values()}
