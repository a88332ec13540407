"""Where a message is read, and so what may be used in the answer."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot.caches import ExpiringCache
from bot.host import Host
from bot.platforms.slack.api import Method, SlackApi, SlackError, fields, flag, has_more, items, text
from bot.platforms.slack.inbound import SlackBot, is_direct
from bot.platforms.slack.members import Guests, Member, SlackMemberUnknown

# A channel of which any of these is true is read by people of other organisations, or soon is.
EXTERNAL = ("is_ext_shared", "is_pending_ext_shared")
# A channel of which any of these is true is read by others than the workspace's own people, or soon is.
SHARED = (*EXTERNAL, "is_shared", "is_org_shared", "is_global_shared")
NARROW = ("is_private", "is_im", "is_mpim", *SHARED)  # A channel of which any of these is true is not simply public

_KIND, _CLOSED, _OPEN = "kind", "closed", "open"

MAX_NAMES = 5  # Names looked up for one message: each may cost a request before the question is acknowledged


def channel_place(me: SlackBot, channel: str, info: JsonObject) -> Place:
    """The place of a channel; `info` is the `channel` of conversations.info, {} if unknown. Pure."""
    if flag(info, "is_channel") and not any(flag(info, fact) for fact in NARROW):
        return team_place(me)
    return closed_place(me, channel) if info else group_place(me, channel)


def is_of_organization(me: SlackBot, info: JsonObject) -> bool:
    """Whether a channel is shared between workspaces of the bot's organisation, and with nobody else. Pure.

    In doubt it is not: where Slack does not say so, or names another organisation, or anybody who was invited.
    """
    invited = any(info.get(pending) for pending in ("pending_shared", "pending_connected_team_ids"))
    named = {text(info, "enterprise_id"), text(info, "context_enterprise_id")} - {"", me.enterprise}
    external = invited or named or any(flag(info, fact) for fact in EXTERNAL)
    return bool(me.enterprise) and flag(info, "is_org_shared") and not external


def team_place(me: SlackBot) -> Place:
    """All public channels of the workspace. Pure."""
    return Place(TeamAudience(me.source), within_team=me.source)


def group_place(me: SlackBot, channel: str) -> Place:
    """The place of whatever is not known to be public. Pure."""
    return Place(GroupAudience(f"{me.source}:{channel}"))


def closed_place(me: SlackBot, channel: str) -> Place:
    """The place of a channel of which Slack said that it is private or shared. Pure."""
    return replace(group_place(me, channel), whole_channel=True)


def person_place(me: SlackBot, member: Member) -> Place:
    """Where only this person reads: their DM with the bot, or an answer that only they see. Pure."""
    return Place(PersonAudience(member.person.id), within_team=me.source if member.full else None)


@dataclass(frozen=True, slots=True)
class _Known:
    """`name`: "" unless the channel is public. `closing`: the latest of which was known. `of_organization`: the bot's
    organisation alone reads it.
    """

    place: Place
    name: str
    closing: str = ""
    of_organization: bool = False


class Places:
    """Looks channels up, and remembers them for a minute.

    Rules. Everything that is shared with another workspace, private, or unknown is a group of its own, in which nothing
    from elsewhere may be used; so is a public channel that a guest reads, or may read (see `guests`). Only a channel
    that is known to be private or shared keeps what it held before to itself: guests and failures come and go.
    What one process learns of a channel that was closed counts in all of them at once: it is kept in the store, and
    what was known before that is no longer used.
    """

    def __init__(self, host: Host, api: SlackApi, me: SlackBot, clock: Clock, guests: Guests) -> None:
        self._host = host
        self._clock = clock
        self._api = api
        self._me = me
        self._guests = guests
        self._known = ExpiringCache(self._load, clock)

    async def of(self, channel: str) -> Place:
        """Never raises: a failure is a group of its own, and so is a DM, which is nobody's to look into."""
        if channel.startswith("D"):
            return group_place(self._me, channel)
        try:
            known = await self._known.get(channel)
            if known.place.within_team and known.closing != await self._closing(channel):
                self._known.drop(channel)
                known = await self._known.get(channel)
        except (SlackError, StoreError):
            return group_place(self._me, channel)
        return known.place

    async def now(self, channel: str) -> tuple[Place, bool]:
        """The same, as Slack says at this moment; and whether it is known to be public, which every member can read."""
        self._known.drop(channel)
        return await self.of(channel), bool(await self._name(channel))

    async def names(self, channels: Iterable[str]) -> dict[str, str]:
        """The names of these channels by id, as far as they are public. Never raises."""
        wanted = list(dict.fromkeys(channels))[:MAX_NAMES]
        names = await asyncio.gather(*(self._name(channel) for channel in wanted))
        return {channel: name for channel, name in zip(wanted, names, strict=True) if name}

    async def _name(self, channel: str) -> str:
        try:
            return (await self._known.get(channel)).name
        except (SlackError, StoreError):
            return ""

    async def asked_in(self, channel: str, author: Member) -> Place:
        """The place of what somebody asks there. Where a guest writes, one reads: also one that is not listed yet."""
        place = await self.of(channel)
        return place if author.full else group_place(self._me, channel)

    async def among(self, channel: str, member: Member) -> Member:
        """The same person with what they are in this channel: where only workspaces of one organisation share it, full
        members of the others may ask as those of this one may, and are no members of it for that. Raises
        SlackMemberUnknown and StoreError.
        """
        if not member.colleague or not channel or is_direct(channel):
            return member
        try:
            known = await self._known.get(channel)
        except SlackError as error:
            raise SlackMemberUnknown(error) from error
        return replace(member, authority=Authority.EMPLOYEE) if known.of_organization else member

    async def closed(self, channel: str) -> Place:
        """It was made private or shared: in all processes. The place that it is now. Raises StoreError."""
        self._known.drop(channel)
        await self._mark(channel, _CLOSED)
        return closed_place(self._me, channel)

    async def _mark(self, channel: str, kind: str) -> str:
        """Tell all processes. Raises StoreError."""
        marked = f"{kind} {self._clock.now().isoformat()}"
        await self._host.preferences.set(self._owner(channel), _KIND, marked)
        return marked

    def _owner(self, channel: str) -> str:
        return f"place:{self._me.source}:{channel}"

    async def _closing(self, channel: str) -> str:
        """Since when it is closed, or open again, as far as any process knows. Raises StoreError."""
        return (await self._host.preferences.of(self._owner(channel))).get(_KIND, "")

    async def closed_after(self, channel: str, time: datetime) -> bool:
        """Whether it was made private or shared after that time, as far as any process knows. Raises StoreError."""
        kind, _, since = (await self._closing(channel)).partition(" ")
        return kind == _CLOSED and datetime.fromisoformat(since) > time

    async def _load(self, channel: str) -> _Known:
        closing = await self._closing(channel)
        info = fields(await self._api.call(Method.CHANNEL, channel=channel), "channel")
        place = channel_place(self._me, channel, info)
        if place.whole_channel and not closing.startswith(_CLOSED):
            closing = await self._mark(channel, _CLOSED)
        elif place.within_team and closing.startswith(_CLOSED):
            closing = await self._mark(channel, _OPEN)
        if not isinstance(place.audience, TeamAudience):
            return _Known(place, "", closing, is_of_organization(self._me, info))
        read_by_guests = await self._guests.read(channel)
        return _Known(group_place(self._me, channel) if read_by_guests else place, text(info, "name"), closing)


# Who can read which private channel, group DM or shared channel of the workspace now: its members.
#
# Rule: Slack lists a person's channels, of the private ones those in which the bot is, too. What is not among them is a
# no; what Slack does not tell, or tells behind too many pages, is unknown.

# Public ones, too: a channel that is shared with another workspace is a group place.
KINDS = "public_channel,private_channel,mpim"
PAGE = 200  # As many as Slack recommends
MAX_PAGES = 5  # A thousand channels: somebody waits, and hardly anybody is in more


class SlackMembership:
    """The port Membership."""

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
            if has_more(page):  # whoever is in more of them than are read may be in these, too
                return found
        except SlackError:
            return found
        return {place: place in found for place in channels.values()}
