"""The user of a command in Slack, and the conversations that their words mean."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.incoming import Person
from agent.memory.audience import GroupAudience, Place
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from agent.ports.tools import Asker
from bot.chat.askers import Requester
from bot.chat.commands.declaration import Stoppable
from bot.chat.host import Host
from bot.chat.panels import PanelPart
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import inbound
from bot.platforms.slack.api import SlackApi, SlackRefused
from bot.platforms.slack.inbound import SlackBot, SlackMessage
from bot.platforms.slack.members import Member, People
from bot.platforms.slack.options import Method
from bot.platforms.slack.panels import ENTRY_CHARS, WINDOW_FIELDS
from bot.platforms.slack.places import Places, person_place, team_place
from bot.platforms.slack.reply_to import ReplyTo
from bot.platforms.slack.slash_commands import help_text, named
from bot.platforms.slack.surroundings import SlackNames

ACTIVE_WINDOW: Final = timedelta(hours=1)  # Questions that wait or are being answered are at most this old

MAX_RECENT: Final = 1_000  # Conversations of the workspace among which a channel's are searched

MAX_OWN: Final = 50  # Conversations of one channel whose participants are read


@dataclass(frozen=True, slots=True)
class Direct:
    """Finds the conversations that a command means, where Slack does not name a thread.

    Rules
    - Each thread in direct messages is one conversation. A message outside of threads begins a thread, in which it is
      answered.
    - Outside of threads, "stop" means all active conversations of the direct messages. So does the command; in a
      channel, it means the active conversations with this person alone.
    - Older versions stored a whole direct channel as one conversation. It keeps its id, and is recalled, stopped and
      forgotten like any other: outside of threads, it is the thread that is meant.
    """

    host: Host
    me: SlackBot
    clock: Clock

    async def active(self, channel: str) -> tuple[str, ...]:
        """Return the conversations of a channel that may have a running or waiting turn, the latest first."""
        since = self.clock.now() - ACTIVE_WINDOW
        seen = await self.host.conversations.last_seen(self.me.source, since=since, limit=MAX_RECENT)
        return tuple(item.conversation for item in seen if item.channel == channel)

    async def active_with(self, channel: str, person: str) -> list[str]:
        """Return the active conversations of a channel in which only this person takes part."""
        conversations, alone = (await self.active(channel))[:MAX_OWN], frozenset({person})
        return [
            conversation
            for conversation in conversations
            if await self.host.conversations.participants(conversation) == alone
        ]

    async def thread_of(self, message: SlackMessage) -> tuple[str, ...]:
        """Return the conversations that "this thread" means in a message."""
        if message.direct and not message.in_thread:
            return await self.outside_threads(message.channel)
        return (inbound.conversation(self.me, message),)

    async def thread_at(self, channel: str, ts: str, root: str) -> tuple[str, ...]:
        """Return the conversations that "this thread" means at a selected message; `root` is "" outside of threads."""
        thread = inbound.thread_conversation(self.me, channel, root or ts)
        if root or await self.host.conversations.participants(thread) is not None:
            return (thread,)
        return await self.outside_threads(channel) or (thread,)

    async def outside_threads(self, channel: str) -> tuple[str, ...]:
        """Return the conversations that "this thread" means outside of threads; () for none."""
        whole = inbound.channel_conversation(self.me, channel)
        known = inbound.is_direct(channel) and await self.host.conversations.participants(whole) is not None
        return (whole,) if known else ()


@dataclass(frozen=True, slots=True)
class SlackCaller:
    """Implements `Caller`. `thread`: the conversations that "this thread" means.

    `in_form`: the person submits a form. `elsewhere`: the channel that they chose in it; "" for none.
    """

    me: SlackBot
    api: SlackApi
    people: People
    places: Places
    membership: Membership
    direct: Direct
    to: ReplyTo
    thread: frozenset[str] = frozenset()
    in_form: bool = False
    elsewhere: str = ""

    @property
    def person(self) -> Person:
        return Person(inbound.person_id(self.me, self.to.user), "")

    @property
    def channel(self) -> str:
        return self.to.channel

    async def requester(self) -> Requester:
        member = await self.people.member(self.to.user)
        return Requester(member.person.id, self.to.channel, member.groups, self.me.team)

    async def private_asker(self) -> Asker:
        member = await self.people.member(self.to.user)
        place, manages = person_place(self.me, member), member.authority >= Authority.MANAGER
        return Asker(member.person, place, self.to.channel, member.authority, manages=manages, thread=self.thread)

    async def ask_zone(self, words: str) -> PanelPart | None:  # noqa: ARG002 -- Slack's own settings hold it
        time_zone = (await self.people.member(self.to.user)).person.time_zone
        return None if time_zone else PanelPart(platforms_texts.ZONE_OF_SLACK)

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- Slack's own settings hold it
        return platforms_texts.ZONE_OF_SLACK

    @property
    def entry_chars(self) -> int:
        return ENTRY_CHARS

    async def policy_asker(self) -> Asker:
        """In a member's direct messages and Home tab, policies are about the whole workspace."""
        member = await self._member()
        return Asker(member.person, await self._place(member), self.to.channel, member.authority)

    async def _member(self) -> Member:
        return await self.places.member_in(self.to.channel, await self.people.member(self.to.user))

    async def _place(self, member: Member) -> Place:
        """Return the place that policies are about. Raises Refused if a form names a channel that they cannot read."""
        channel = self.elsewhere or ("" if self.to.home or inbound.is_direct(self.to.channel) else self.to.channel)
        if not channel and member.full:
            return team_place(self.me)
        return await self._asked_in(channel or self.to.channel, member)

    async def _asked_in(self, channel: str, member: Member) -> Place:
        """Raises Refused for a form, which may have been open for long, if the person cannot read its channel now."""
        place = await self.places.asked_in(channel, member)
        if self.in_form and isinstance(place.audience, GroupAudience):
            group = place.audience.place
            if not (await self.membership.readable(member.person.id, [group])).get(group, False):
                raise Refused(platforms_texts.NOT_CHANGED_THERE)
        return place

    async def asker(self) -> Asker:
        anywhere, to = await self.people.member(self.to.user), self.to
        member, manages = await self.places.member_in(to.channel, anywhere), anywhere.authority >= Authority.MANAGER
        is_direct = to.home or inbound.is_direct(to.channel)
        place = person_place(self.me, member) if is_direct else await self._asked_in(to.channel, member)
        return Asker(member.person, place, to.channel, member.authority, manages=manages)

    @property
    def not_receiving(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def stoppable(self) -> Stoppable:
        """Slack does not say in which thread a command was typed."""
        conversations = await self.direct.active_with(self.to.channel, self.person.id)
        return Stoppable(conversations, platforms_texts.STOP_IN_THREAD.format(name=self.me.name))

    async def begin_conversation(self) -> str:
        return platforms_texts.EACH_BEGINS

    async def announce(self, markdown: str) -> None:
        announcement = named(markdown, self.me.prefix)
        try:
            await self.api.call(Method.POST, channel=self.to.channel, markdown_text=announcement)
        except SlackRefused as error:
            raise Refused(reply_texts.NOT_SAID_THERE) from error

    async def with_names(self, markdown: str) -> str:
        names = SlackNames(self.people, self.places)
        return await names.in_answer(await names.in_budget(markdown))

    def help(self) -> str:
        return help_text(self.me.prefix, self.me.name)
