"""What Slack shows of the agent besides its words: that it works and at what, its title, what may be asked; and what
people do with that. All of it is ornament.
"""

import asyncio
import logging
import re
import textwrap
from dataclasses import dataclass, field
from typing import Final, assert_never

from cachetools import TTLCache

from agent.errors import CogencyError
from agent.memory.audience import Place
from agent.messages import Json, JsonObject
from agent.ports import Clock
from agent.records import Quoted
from bot.caches import MethodRate, RecentKeys
from bot.host import Host, Suggestion, Viewer
from bot.logs import severity
from bot.platforms.slack import inbound
from bot.platforms.slack.api import Method, SlackApi, SlackDown, SlackLimited, SlackRefused, text
from bot.platforms.slack.inbound import Entity, EntityKind, ReplyTo, SlackBot, SlackMessage
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import People
from bot.platforms.slack.message_pages import FeatureSupport
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.sockets import TaskGroup
from bot.platforms.slack.surroundings import Threads
from bot.texts import command_texts, reply_texts
from bot.texts.formatting import shortened

log = logging.getLogger(__name__)

# How a session of an agent reads: its title, and what the bot says of itself while it works. Pure.

TITLE_CHARS: Final = 80  # Slack takes 200: a title stands in a narrow list

FORGOTTEN: Final = "Forgotten"  # The title of a session whose first question was forgotten

MOST_MESSAGES: Final = 10
MESSAGE_CHARS: Final = 50  # Slack's limits for what it rotates through beside a working agent


_LINK: Final = re.compile(r"(?:https?://|www\.)\S+")
_MARKS: Final = re.compile(r"[`*~]+(?=\S)|(?<=\S)[`*~]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^[#>\s-]+", re.MULTILINE)


def title_of(question: str) -> str:
    """What a conversation is about, of its first question: one line; "" if that says nothing in words."""
    plain = _MARKS.sub("", _LINK.sub("…", question))
    title = shortened(plain.strip(" \t\n.:,;"), TITLE_CHARS)
    return title if any(char.isalnum() for char in title) else ""


def status_of(doing: str) -> str:
    """What Slack shows behind the bot's name: "is searching past threads…"."""
    return f"is {doing[0].lower()}{doing[1:]}" if doing.endswith("…") else f"says: {doing}"


def loading_messages(doing: str) -> list[str]:
    """What Slack rotates through meanwhile."""
    if doing == reply_texts.THINKING:
        return list(reply_texts.THINKING_LINES)
    return textwrap.wrap(shortened(doing, MOST_MESSAGES * MESSAGE_CHARS), MESSAGE_CHARS)[:MOST_MESSAGES]


# Calls of the Web API whose failure loses nothing: a status, a title, a suggestion. Nothing is raised.

# After a failure of Slack: each further one would hold up something for as long as Slack is waited for.
DOWN_S: Final = 30.0


@dataclass(slots=True)
class BestEffortCalls:
    api: SlackApi
    clock: Clock
    support: FeatureSupport = field(default_factory=FeatureSupport)

    async def call(self, method: Method, channel: str, **args: Json) -> JsonObject | None:
        """The method's answer, with `channel` as its `channel_id`; None if it was refused, or not tried."""
        if self.rests(method, channel):
            return None
        try:
            return await self.api.call(method, channel_id=channel, **args)
        except SlackRefused as refused:
            log.info("%s It is left out for a while: an ornament, without which answers are shown.", refused)
            self.support.refused(method, channel, refused.code, self.clock.monotonic())
        except SlackLimited as limited:
            self.support.rest(method, self.clock.monotonic() + limited.retry_after_s)
        except SlackDown as down:
            log.debug("%s", down)
            self.support.rest(method, self.clock.monotonic() + DOWN_S)
        return None

    def rests(self, method: Method, channel: str) -> bool:
        """Whether it is not tried there now."""
        return not self.support.has(method, channel, self.clock.monotonic())


REFRESH_S: Final = 100.0  # Slack takes a line away after two minutes without a message

# Slack takes 50 changes of sessions a minute for the whole workspace: each that begins must also end.
BEGINS_PER_MINUTE: Final = 20

CLOSE_S: Final = 2.0  # How long the end of the process waits for sessions that are being set at rest


@dataclass(slots=True)
class AgentSessions:
    """Those of one workspace.

    Theory of operation. A reply says what it does (`doing`), that it has shown words (`said`), and that it is left
    (`finish`); none of that waits for Slack. A task for each reply brings Slack's view in line with what was said last:
    it opens the session with its title, shows the line, shows it again before Slack takes it away, and sets the session
    at rest when the reply has ended. All of that is ornament.

    Rules
    - A native stream sets a session to work, and at its end at rest (`rests`); that is not done a second time.
    - Slack takes a line away when a message comes, and with it what is left of an earlier process.
    - A title that a person gave stays.
    """

    ornaments: BestEffortCalls
    clock: Clock
    begins: MethodRate = field(default_factory=lambda: MethodRate(BEGINS_PER_MINUTE, window_s=60.0))
    named: RecentKeys = field(default_factory=RecentKeys)
    """The threads to which a person gave a title."""
    underway: TaskGroup = field(default_factory=lambda: TaskGroup(CLOSE_S))

    def of(self, to: ReplyTo, question: str) -> "AgentSession":
        """The part of one reply in the session of its thread."""
        return AgentSession(self, to, title_of(question))

    def renamed(self, channel: str, thread: str) -> None:
        """A person gave the session a title."""
        self.named.first(f"{channel}:{thread}")

    async def untitle(self, channel: str, thread: str) -> None:
        """Take the question out of a session's title, unless a person gave it that. Raises SlackError."""
        if f"{channel}:{thread}" not in self.named:
            api = self.ornaments.api
            await api.call(Method.RENAME_SESSION, channel_id=channel, thread_ts=thread, title=FORGOTTEN)

    async def rest(self, channel: str, thread: str) -> None:
        """Set a session at rest."""
        call, where = self.ornaments.call, thread or None
        if await call(Method.SET_SESSION, channel, thread_ts=where, status="active") is None and thread:
            await call(Method.SET_STATUS, channel, thread_ts=thread, status="")  # an empty line does so, too

    def rest_soon(self, channel: str, thread: str) -> None:
        """The same, without waiting for Slack."""
        self.underway.begin(self.rest(channel, thread))

    async def close(self) -> None:
        """Let those that end come to their end, for a moment."""
        await self.underway.close()


class AgentSession:
    """One reply's part in it. Its methods return at once."""

    def __init__(self, sessions: AgentSessions, to: ReplyTo, title: str) -> None:
        self._sessions = sessions
        self._channel = to.channel
        self._thread = to.thread_ts or to.after
        self._user = to.user
        self._title = title
        self._line = ""
        self._begun = False
        self._said = False
        self._at_rest = False
        self._left: bool | None = None  # Whether the reply had ended when it was left; None while it is not
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def doing(self, line: str) -> None:
        """What the bot does now; "" when its words show that, or it does nothing."""
        self._line = line
        if self._task is None or self._task.done():
            self._task = self._sessions.underway.begin(self._follow())
        self._changed.set()

    def said(self) -> None:
        """A message with words has come."""
        self._said = True

    def rests(self) -> None:
        """Slack has set the session at rest."""
        self._at_rest = True

    def finish(self, *, ended: bool) -> None:
        """Nothing more is said from here: the reply has ended, or somebody else goes on."""
        self._left = ended
        self._changed.set()

    async def _follow(self) -> None:
        """Never shows what is no longer so, and leaves what was said last."""
        while not self._left:
            self._changed.clear()
            if self._line:
                await self._show(self._line)
            if self._left is not None:
                break
            await self._changes_within(REFRESH_S if self._line else None)
        if self._left and not self._at_rest and self._may_seem_to_work():
            await self._sessions.rest(self._channel, self._thread)

    def _may_seem_to_work(self) -> bool:
        """Where there are no sessions, a message has taken the line away."""
        return not self._said or not self._sessions.ornaments.rests(Method.SET_SESSION, self._channel)

    async def _show(self, line: str) -> None:
        if not self._begun:
            self._begun = True
            await self._open()
        await self._sessions.ornaments.call(
            Method.SET_STATUS,
            self._channel,
            thread_ts=self._thread,
            status=status_of(line),
            loading_messages=[*loading_messages(line)] or None,
        )
        self._at_rest = False  # even if it was set at rest meanwhile: this may have come later

    async def _open(self) -> None:
        """Set the session to work; one that is new gets its title with that, one without gets it now."""
        sessions, name = self._sessions, f"{self._channel}:{self._thread}"
        if not await sessions.begins.spare(name, sessions.clock.monotonic()):
            return
        answer = await sessions.ornaments.call(
            Method.SET_SESSION,
            self._channel,
            thread_ts=self._thread,
            status="processing",
            title=self._title or None,
            initiator_user_id=self._user if self._user.startswith(("U", "W")) else None,  # not another bot
        )
        nameless = answer is not None and "title" in answer and not text(answer, "title")
        if nameless and self._title and sessions.named.first(name):
            await sessions.ornaments.call(
                Method.RENAME_SESSION, self._channel, thread_ts=self._thread, title=self._title
            )

    async def _changes_within(self, seconds: float | None) -> None:
        changing = asyncio.create_task(self._changed.wait())
        passing = [] if seconds is None else [asyncio.create_task(self._sessions.clock.sleep(seconds))]
        try:
            await asyncio.wait({changing, *passing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in (changing, *passing):
                waiting.cancel()


# What people do with the agent: opening it, looking beside it, stopping it, naming its sessions.

# What people look at while they write to the agent beside it: a note for the next question of theirs.
#
# Rules
# - It goes with direct messages only: nobody else learns what somebody looks at.
# - A message is read if what is said there may be used in that answer; of a channel, a canvas, a list nothing is read:
#   they are named, or linked.
# - What Slack says with a message holds; what it said before is kept in memory, for a while and for one question.

KEPT_S: Final = 900.0  # Who has not asked anything for so long is about something else

MOST_PEOPLE: Final = 2_000  # As many as use one bot within that time

NOTE: Final = "what the person is looking at"
MESSAGE: Final = "the message that the person is looking at"


@dataclass(slots=True)
class ViewedEntities:
    me: SlackBot
    places: Places
    threads: Threads
    clock: Clock
    _seen: TTLCache[str, tuple[Entity, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._seen = TTLCache(MOST_PEOPLE, KEPT_S, self.clock.monotonic)

    def sees(self, user: str, entities: tuple[Entity, ...]) -> None:
        """This person looks at these now; () for nothing that can be named."""
        self._seen[user] = entities

    async def beside(self, heard: SlackMessage, author: str, target: Place) -> tuple[Quoted, ...]:
        """What the author of a direct question looks at, as far as an answer that is read at `target` may use it."""
        entities = self._taken(heard)
        messages: list[Quoted] = []
        lines: list[str] = []
        for entity in entities:
            read = await self._message(entity, target)
            messages += read
            if not read and entity.id != heard.channel:
                lines.append(await self._named(entity))
        noted = (Quoted(NOTE, author, "\n".join(lines)),) if lines else ()
        return (*messages, *noted)

    def _taken(self, heard: SlackMessage) -> tuple[Entity, ...]:
        kept = self._seen.pop(heard.user, ())
        return kept if heard.sees is None else heard.sees

    async def _message(self, entity: Entity, target: Place) -> tuple[Quoted, ...]:
        if entity.kind is not EntityKind.MESSAGE:
            return ()
        return await self.threads.one(SlackMessageLink(entity.id, entity.ts, ""), target, MESSAGE)

    async def _named(self, entity: Entity) -> str:
        link = self._link(entity)
        match entity.kind:
            case EntityKind.CHANNEL:
                name = (await self.places.names([entity.id])).get(entity.id)
                what = f"the channel #{name}" if name else "a channel"
            case EntityKind.MESSAGE:
                what = "a message that is not read here"
            case EntityKind.CANVAS:
                what = "a canvas"
            case EntityKind.LIST:
                what = "a list"
            case _:
                assert_never(entity.kind)
        return f"{what} ({link})" if link else what

    def _link(self, entity: Entity) -> str:
        address = self.me.address
        match entity.kind:
            case _ if not address:
                return ""
            case EntityKind.CHANNEL:
                return f"{address}archives/{entity.id}"
            case EntityKind.MESSAGE:
                return inbound.permalink(self.me, entity.id, entity.ts) or ""
            case EntityKind.CANVAS:
                return f"{address}docs/{self.me.team}/{entity.id}"
            case EntityKind.LIST:
                return f"{address}lists/{self.me.team}/{entity.id}"
            case _:
                assert_never(entity.kind)


# What a person may want to ask, offered as they open the agent's conversations.
#
# Rules. At most four, first from what is known about the person, then general ones. Once in a while for each
# person: whoever goes back and forth has them before their eyes. Slack is told at once that the tab was opened.

MOST: Final = 4  # As many as Slack shows

PROMPT_CHARS: Final = 60  # What fits a button on a phone

EVERY_S: Final = 30.0  # Going back and forth asks nothing anew; what was forgotten meanwhile is not offered for long

"""As many as open the bot within that time."""

GENERAL: Final = tuple(Suggestion(title, message) for title, message in command_texts.PROMPTS)  # What anybody may ask


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

    def offer(self, opened: inbound.AgentOpened) -> None:
        """They opened the agent's conversations: say soon what they may want to ask."""
        if not opened.channel or opened.user in self._offered:
            return
        self._offered[opened.user] = None
        self._offering.begin(self._offer(opened))

    async def close(self) -> None:
        await self._offering.close()

    async def _offer(self, opened: inbound.AgentOpened) -> None:
        if self.ornaments.rests(Method.SUGGEST_PROMPTS, opened.channel):
            return
        prompts: list[Json] = [
            {"title": shortened(each.title, PROMPT_CHARS), "message": each.message}
            for each in await self._suggestions(opened)
        ]
        # Without thread_ts: for an agent, Slack takes a call with one and does nothing.
        await self.ornaments.call(
            Method.SUGGEST_PROMPTS, opened.channel, title=reply_texts.SUGGESTIONS_TITLE, prompts=prompts
        )

    async def _suggestions(self, opened: inbound.AgentOpened) -> tuple[Suggestion, ...]:
        member = await self.people.member(opened.user)
        viewer = Viewer(member.person, person_place(self.me, member), opened.channel)
        try:
            return (*await self.host.suggestions(viewer, MOST), *GENERAL)[:MOST]
        except CogencyError as error:
            log.log(severity(error), "nothing can be suggested: %s", error)
            return GENERAL


MESSAGES = "messages"  # The tab in which people write to the agent


@dataclass(frozen=True, slots=True)
class AgentDesk:
    host: Host
    me: SlackBot
    sessions: AgentSessions
    prompts: Prompts
    looking: ViewedEntities

    async def handle(self, event: inbound.AgentEvent) -> None:
        """Raises CogencyError when a stop could not be stored; Slack then sends it again."""
        match event:
            case inbound.AgentOpened(user, _, tab, entities):
                if entities is not None:
                    self.looking.sees(user, entities)
                if tab == MESSAGES:
                    self.prompts.offer(event)
            case inbound.LookedAt(user, entities):
                self.looking.sees(user, entities)
            case inbound.SessionStopped():
                await self._stop(event)
            case inbound.SessionRenamed(channel, thread):
                self.sessions.renamed(channel, thread)
            case _:
                assert_never(event)

    async def _stop(self, stopped: inbound.SessionStopped) -> None:
        """What runs in that thread, and nothing else. Slack leaves the status to the app."""
        channel, thread = stopped.channel, stopped.thread
        whole, one = inbound.whole_channel(self.me, channel), inbound.thread_conversation(self.me, channel, thread)
        await self.host.turns.stop_conversation(one if thread else whole)
        self.sessions.rest_soon(channel, thread)

    async def close(self) -> None:
        await self.prompts.close()
        await self.sessions.close()
