"""What people do with the agent that Slack shows: opening it, looking beside it, stopping it, naming its sessions."""

import logging
from dataclasses import dataclass, field
from typing import Final, assert_never

from cachetools import TTLCache

from agent.errors import CogencyError
from agent.memory.audience import Place
from agent.messages import Json
from agent.ports import Clock
from agent.records import Quoted
from bot.host import Host, Suggestion, Viewer
from bot.logs import severity
from bot.platforms.slack import inbound
from bot.platforms.slack.features import Method
from bot.platforms.slack.inbound import (
    AgentEvent,
    AgentOpened,
    AgentThingKind,
    LookedAt,
    SessionRenamed,
    SessionStopped,
    SlackBot,
    SlackMessage,
    Thing,
)
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import People
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.sessions import AgentSessions, BestEffortCalls
from bot.platforms.slack.sockets import TaskGroup
from bot.platforms.slack.surroundings import Threads
from bot.texts import command_texts, reply_texts
from bot.texts.formatting import shortened

# What people look at while they write to the agent beside it: a note for the next question of theirs.
#
# Rules
# - It goes with direct messages only: nobody else learns what somebody looks at.
# - A message is read if what is said there may be used in that answer; of a channel, a canvas, a list nothing is read:
#   they are named, or linked.
# - What Slack says with a message holds; what it said before is kept in memory, for a while and for one question.

KEPT_S: Final = 900.0
"""Who has not asked anything for so long is about something else."""

MOST_PEOPLE: Final = 2_000
"""As many as use one bot within that time."""

NOTE: Final = "what the person is looking at"
MESSAGE: Final = "the message that the person is looking at"


@dataclass(slots=True)
class Looking:
    me: SlackBot
    places: Places
    threads: Threads
    clock: Clock
    _seen: TTLCache[str, tuple[Thing, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._seen = TTLCache(MOST_PEOPLE, KEPT_S, self.clock.monotonic)

    def sees(self, user: str, things: tuple[Thing, ...]) -> None:
        """This person looks at these now; () for nothing that can be named."""
        self._seen[user] = things

    async def beside(self, heard: SlackMessage, author: str, target: Place) -> tuple[Quoted, ...]:
        """What the author of a direct question looks at, as far as an answer that is read at `target` may use it."""
        things = self._taken(heard)
        messages: list[Quoted] = []
        lines: list[str] = []
        for thing in things:
            read = await self._message(thing, target)
            messages += read
            if not read and thing.id != heard.channel:
                lines.append(await self._named(thing))
        noted = (Quoted(NOTE, author, "\n".join(lines)),) if lines else ()
        return (*messages, *noted)

    def _taken(self, heard: SlackMessage) -> tuple[Thing, ...]:
        kept = self._seen.pop(heard.user, ())
        return kept if heard.sees is None else heard.sees

    async def _message(self, thing: Thing, target: Place) -> tuple[Quoted, ...]:
        if thing.kind is not AgentThingKind.MESSAGE:
            return ()
        return await self.threads.one(SlackMessageLink(thing.id, thing.ts, ""), target, MESSAGE)

    async def _named(self, thing: Thing) -> str:
        link = self._link(thing)
        match thing.kind:
            case AgentThingKind.CHANNEL:
                name = (await self.places.names([thing.id])).get(thing.id)
                what = f"the channel #{name}" if name else "a channel"
            case AgentThingKind.MESSAGE:
                what = "a message that is not read here"
            case AgentThingKind.CANVAS:
                what = "a canvas"
            case AgentThingKind.LIST:
                what = "a list"
            case _:
                assert_never(thing.kind)
        return f"{what} ({link})" if link else what

    def _link(self, thing: Thing) -> str:
        address = self.me.address
        match thing.kind:
            case _ if not address:
                return ""
            case AgentThingKind.CHANNEL:
                return f"{address}archives/{thing.id}"
            case AgentThingKind.MESSAGE:
                return inbound.permalink(self.me, thing.id, thing.ts) or ""
            case AgentThingKind.CANVAS:
                return f"{address}docs/{self.me.team}/{thing.id}"
            case AgentThingKind.LIST:
                return f"{address}lists/{self.me.team}/{thing.id}"
            case _:
                assert_never(thing.kind)


# What a person may want to ask, offered as they open the agent's conversations.
#
# Rules. At most four, first from what is known about the person, then general ones. Once in a while for each
# person: whoever goes back and forth has them before their eyes. Slack is told at once that the tab was opened.

log = logging.getLogger(__name__)

MOST: Final = 4
"""As many as Slack shows."""

TITLE_CHARS: Final = 60
"""What fits a button on a phone."""

EVERY_S: Final = 30.0
"""Going back and forth asks nothing anew; what was forgotten meanwhile is not offered for long."""

"""As many as open the bot within that time."""

GENERAL: Final = tuple(Suggestion(title, message) for title, message in command_texts.PROMPTS)
"""What anybody may ask."""


@dataclass(slots=True)
class Prompts:
    host: Host
    me: SlackBot
    people: People
    ornaments: BestEffortCalls
    clock: Clock
    _offered: TTLCache[str, None] = field(init=False)
    _offering: TaskGroup = field(default_factory=TaskGroup)

    def __post_init__(self) -> None:
        self._offered = TTLCache(MOST_PEOPLE, EVERY_S, self.clock.monotonic)

    def offer(self, opened: AgentOpened) -> None:
        """They opened the agent's conversations: say soon what they may want to ask."""
        if not opened.channel or opened.user in self._offered:
            return
        self._offered[opened.user] = None
        self._offering.begin(self._offer(opened))

    async def close(self) -> None:
        await self._offering.close()

    async def _offer(self, opened: AgentOpened) -> None:
        if self.ornaments.rests(Method.SUGGEST_PROMPTS, opened.channel):
            return
        prompts: list[Json] = [
            {"title": shortened(each.title, TITLE_CHARS), "message": each.message}
            for each in await self._suggestions(opened)
        ]
        # Without thread_ts: for an agent, Slack takes a call with one and does nothing.
        await self.ornaments.call(
            Method.SUGGEST_PROMPTS, opened.channel, title=reply_texts.SUGGESTIONS_TITLE, prompts=prompts
        )

    async def _suggestions(self, opened: AgentOpened) -> tuple[Suggestion, ...]:
        member = await self.people.member(opened.user)
        viewer = Viewer(member.person, person_place(self.me, member), opened.channel)
        try:
            return (*await self.host.suggestions(viewer, MOST), *GENERAL)[:MOST]
        except CogencyError as error:
            log.log(severity(error), "nothing can be suggested: %s", error)
            return GENERAL


MESSAGES = "messages"
"""The tab in which people write to the agent."""


@dataclass(frozen=True, slots=True)
class AgentDesk:
    host: Host
    me: SlackBot
    sessions: AgentSessions
    prompts: Prompts
    looking: Looking

    async def see(self, event: AgentEvent) -> None:
        """Raises CogencyError when a stop could not be stored; Slack then sends it again."""
        match event:
            case AgentOpened(user, _, tab, things):
                if things is not None:
                    self.looking.sees(user, things)
                if tab == MESSAGES:
                    self.prompts.offer(event)
            case LookedAt(user, things):
                self.looking.sees(user, things)
            case SessionStopped():
                await self._stop(event)
            case SessionRenamed(channel, thread):
                self.sessions.renamed(channel, thread)
            case _:
                assert_never(event)

    async def _stop(self, stopped: SessionStopped) -> None:
        """What runs in that thread, and nothing else. Slack leaves the status to the app."""
        channel, thread = stopped.channel, stopped.thread
        whole, one = inbound.whole_channel(self.me, channel), inbound.thread_conversation(self.me, channel, thread)
        await self.host.stop(one if thread else whole)
        self.sessions.rest_soon(channel, thread)

    async def close(self) -> None:
        await self.prompts.close()
        await self.sessions.close()
