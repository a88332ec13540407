"""Slack's agent view: the status line of a working agent, the titles of its sessions, suggested prompts.

All of it is best effort: answers are the same without it.
"""

import asyncio
import logging
import re
import textwrap
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from cachetools import TTLCache

from agent.errors import CogencyError, StoreError
from agent.incoming import Quoted
from agent.memory.audience import Place
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.ports.tools import Asker
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.caches import RecentKeys
from bot.chat.host import Host
from bot.chat.logs import severity
from bot.chat.ports import Suggestion
from bot.chat.rates import MethodRate
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import shortened
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import inbound
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused, text
from bot.platforms.slack.feature_support import FeatureSupport
from bot.platforms.slack.inbound import Entity, EntityKind, SlackBot, SlackMessage
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import People
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.reply_to import ReplyTo
from bot.platforms.slack.surroundings import Threads

log = logging.getLogger(__name__)

# The texts of an agent's session: its title, and its status line. Pure.

TITLE_CHARS: Final = 80  # Slack takes 200, but shows titles in a narrow list

FORGOTTEN: Final = "Forgotten"  # The title of a session whose first question was forgotten

# Slack's limits for the loading messages that it rotates through beside a working agent.
MAX_MESSAGES: Final = 10
MESSAGE_CHARS: Final = 50

_LINK: Final = re.compile(r"(?:https?://|www\.)\S+")
_MARKS: Final = re.compile(r"[`*~]+(?=\S)|(?<=\S)[`*~]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^[#>\s-]+", re.MULTILINE)


def title_of(question: str) -> str:
    """Return a conversation's title from its first question: one line; "" if the question has no words."""
    plain = _MARKS.sub("", _LINK.sub("…", question))
    title = shortened(plain.strip(" \t\n.:,;"), TITLE_CHARS)
    return title if any(char.isalnum() for char in title) else ""


def status_of(doing: str) -> str:
    """Return the status that Slack shows behind the bot's name: "is searching past threads…"."""
    return f"is {doing[0].lower()}{doing[1:]}" if doing.endswith("…") else f"says: {doing}"


def loading_messages(doing: str) -> list[str]:
    """Return the loading messages that Slack rotates through meanwhile."""
    if doing == reply_texts.THINKING:
        return list(platforms_texts.THINKING_LINES)
    return textwrap.wrap(shortened(doing, MAX_MESSAGES * MESSAGE_CHARS), MESSAGE_CHARS)[:MAX_MESSAGES]


# How long a method is not called after Slack was down: each call would wait for the whole timeout.
DOWN_S: Final = 30.0


# Errors about one message or value. They say nothing about whether the method works in its channel.
OF_A_MESSAGE: Final = frozenset(
    {"already_reacted", "bad_timestamp", "message_not_found", "no_reaction", "not_reactable", "too_many_reactions"}
    | {"invalid_status"}
)


@dataclass(slots=True)
class BestEffortCalls:
    """Calls of the Web API whose failure loses nothing: a status, a title, a suggestion. They raise nothing."""

    api: SlackApi
    clock: Clock
    support: FeatureSupport = field(default_factory=FeatureSupport)

    async def call(
        self, method: Method, channel: str, *, channel_key: str = "channel_id", **args: Json
    ) -> JsonObject | None:
        """Call a method in a channel. Return its answer; None if it failed, or was not tried.

        `channel_key`: how the method calls its argument for the channel. Slack's methods for messages, such as
        reactions.add, say "channel".
        """
        if self.is_suspended(method, channel):
            return None
        try:
            return await self.api.call(method, **{channel_key: channel}, **args)
        except SlackRefused as refused:
            if refused.code in OF_A_MESSAGE:
                log.debug("%s", refused)
                return None
            is_new = self.support.mark_refused(method, channel, refused.code, self.clock.monotonic())
            log.log(logging.INFO if is_new else logging.DEBUG, "%s The bot shows answers without it.", refused)
        except SlackLimited as limited:
            self.support.suspend(method, self.clock.monotonic() + limited.retry_after_s)
        except SlackDown as down:
            log.debug("%s", down)
            self.support.suspend(method, self.clock.monotonic() + DOWN_S)
        return None

    def is_suspended(self, method: Method, channel: str) -> bool:
        """Whether the method is not tried in this channel now."""
        return not self.support.has(method, channel, self.clock.monotonic())


REFRESH_S: Final = 100.0  # Slack removes a status after two minutes without a message

# Slack takes 50 changes of sessions a minute for the whole workspace: each session that starts must also end.
BEGINS_PER_MINUTE: Final = 20

CLOSE_S: Final = 2.0  # How long the end of the process waits for sessions that are being set idle


class SessionStatus(StrEnum):
    """The statuses of a session that the bot sets. Slack's fourth one, "closed", is for a complete conversation, of
    which the bot cannot know: people may ask on in each of its threads.
    """

    ACTIVE = "active"
    """Ready for the next question."""
    PROCESSING = "processing"
    SUSPENDED = "suspended"
    """It cannot go on before a person has answered or decided."""


# Whether another turn of the same conversation waits for people. Raises StoreError.
OthersWait: TypeAlias = Callable[[], Awaitable[bool]]


async def no_others() -> bool:
    return False


@dataclass(slots=True)
class AgentSessions:
    """The agent sessions of one workspace.

    Theory of operation. A reply reports its status (`set_status`), that it waits for a person (`mark_waiting`), that a
    message was posted (`mark_message_posted`), and its end (`finish`); none of these waits for Slack. A task for each
    reply updates Slack's view to the latest report: it opens the session with its title, shows the status, shows it
    again before Slack removes it, suspends the session while the reply waits for a person, and sets it idle when the
    reply has ended and no other turn there waits.

    Rules
    - Slack itself sets a session to work when a native stream starts, and to a status that the bot gives when it ends
      (`mark_status`); the calls for that are then left out.
    - A line about work sets a session to work, too, so none is shown while it is suspended.
    - Slack removes the status, also one of an earlier process, when a message is posted.
    - A title that a person gave is never replaced.
    """

    best_effort: BestEffortCalls
    clock: Clock
    begins: MethodRate = field(default_factory=lambda: MethodRate(BEGINS_PER_MINUTE, window_s=60.0))
    titled: RecentKeys = field(default_factory=RecentKeys)  # Threads to which a person gave a title
    named: RecentKeys = field(default_factory=RecentKeys)  # Threads that got a title of the bot's after they began
    underway: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(CLOSE_S))

    def of(self, to: ReplyTo, question: str, others_wait: OthersWait = no_others) -> "AgentSession":
        """Return one reply's part in the session of its thread."""
        return AgentSession(self, to, question, others_wait)

    def renamed(self, channel: str, thread: str) -> None:
        """Record that a person gave the session a title."""
        self.titled.first(f"{channel}:{thread}")

    async def untitle(self, channel: str, thread: str) -> None:
        """Replace a session's title, which quotes a question, unless a person gave it. Raises SlackError."""
        if f"{channel}:{thread}" not in self.titled:
            api = self.best_effort.api
            await api.call(Method.RENAME_SESSION, channel_id=channel, thread_ts=thread, title=FORGOTTEN)

    async def set_idle(self, channel: str, thread: str) -> None:
        """Set a session idle."""
        call, where = self.best_effort.call, thread or None
        if await call(Method.SET_SESSION, channel, thread_ts=where, status=SessionStatus.ACTIVE) is None and thread:
            await call(Method.SET_STATUS, channel, thread_ts=thread, status="")  # an empty status does so, too

    def set_idle_soon(self, channel: str, thread: str) -> None:
        """Set a session idle without waiting for Slack."""
        self.underway.start(self.set_idle(channel, thread))

    async def close(self) -> None:
        """Wait up to CLOSE_S for calls that set sessions idle."""
        await self.underway.close()


class AgentSession:
    """One reply's part in the session of its thread. Its methods return at once."""

    def __init__(self, sessions: AgentSessions, to: ReplyTo, question: str, others_wait: OthersWait) -> None:
        self._sessions = sessions
        self._others_wait = others_wait
        self._channel = to.channel
        self._thread = to.thread_ts or to.after
        self._user = to.user
        self._question = question
        self._line = ""
        self._is_open = False
        self._message_posted = False
        self._status: SessionStatus | None = None  # Slack's, if it is not known to be at work
        self._is_waiting = False
        self._is_told = False
        # Whether the reply had ended, or waited for a person, when it was left; None while it is not.
        self._finished: bool | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def set_status(self, line: str) -> None:
        """Show what the bot does now; "" when its words show that, or it does nothing."""
        self._line, self._is_waiting = line, False
        self._report()

    def mark_waiting(self) -> None:
        """Record that the reply waits for a person, until the next status."""
        self._is_waiting = True
        self._report()

    def _report(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._sessions.underway.start(self._sync())
        self._changed.set()

    def mark_message_posted(self) -> None:
        """Record that a message with words was posted."""
        self._message_posted = True

    def mark_status(self, status: SessionStatus) -> None:
        """Record that Slack has set the session to this status."""
        self._status = status

    def finish(self, *, ended: bool, waits: bool = False, waited: bool = False) -> None:
        """Report nothing more from here: the reply has ended, it `waits` for a person, or another process goes on with
        it. `waited`: the reply may have waited before, so that its end changes the session even without a status.
        """
        self._finished, self._is_waiting = ended or waits, waits
        if waits or (ended and waited):
            self._report()
        self._changed.set()

    async def _sync(self) -> None:
        """Bring Slack's view in line with the latest report, until the reply is finished."""
        while self._finished is None:
            self._changed.clear()
            if self._is_waiting:
                await self._suspend()
            elif self._line:
                await self._show(self._line)
            if self._finished is None:
                is_shown = bool(self._line) and self._status is not SessionStatus.SUSPENDED
                await self._wait_for_change(REFRESH_S if is_shown else None)
        waits = self._finished and (self._is_waiting or await self._is_awaited())
        if not self._finished or (waits and await self._suspend()):
            return
        if self._status is not SessionStatus.ACTIVE and self._may_show_work():
            await self._sessions.set_idle(self._channel, self._thread)

    async def _is_awaited(self) -> bool:
        """Whether another turn there waits for people; False if that is not known."""
        try:
            return await self._others_wait()
        except StoreError as error:
            log.log(severity(error), "what a session waits for could not be read: %s", error)
            return False

    async def _suspend(self) -> bool:
        """Show that a person has to do something; False if Slack does not show that."""
        if self._status is not SessionStatus.SUSPENDED and await self._set(SessionStatus.SUSPENDED):
            self._status = SessionStatus.SUSPENDED
        return self._status is SessionStatus.SUSPENDED

    async def _set(self, status: SessionStatus) -> bool:
        if not self._is_open and await self._open(status):
            return True
        call = self._sessions.best_effort.call
        return await call(Method.SET_SESSION, self._channel, thread_ts=self._thread, status=status) is not None

    def _may_show_work(self) -> bool:
        """Whether Slack may still show work: without sessions, a posted message has already removed the status."""
        return not self._message_posted or not self._sessions.best_effort.is_suspended(
            Method.SET_SESSION, self._channel
        )

    async def _show(self, line: str) -> None:
        if not self._is_open:
            await self._open(SessionStatus.PROCESSING)
        elif self._status is SessionStatus.SUSPENDED:
            await self._set(SessionStatus.PROCESSING)
        answer = await self._sessions.best_effort.call(
            Method.SET_STATUS,
            self._channel,
            thread_ts=self._thread,
            status=status_of(line),
            loading_messages=[*loading_messages(line)] or None,
        )
        self._status = None  # even if Slack has set it idle meanwhile: this line may have arrived later
        if answer is None and line == reply_texts.WAITS_TO_POST and not self._is_told:
            self._is_told = True
            await self._tell_waiting()

    async def _tell_waiting(self) -> None:
        """Tell the asker alone that the answer waits, where Slack shows no status. Best effort."""
        where: dict[str, Json] = {"channel": self._channel, "user": self._user, "thread_ts": self._thread or None}
        with suppress(SlackError):
            await self._sessions.best_effort.api.call(Method.POST_EPHEMERAL, **where, text=platforms_texts.ANSWER_WAITS)

    async def _open(self, status: SessionStatus) -> bool:
        """Set the session to its first status; False if that was not possible. A new session gets its title with the
        same call, one without a title by a second.
        """
        self._is_open = True
        sessions, name, title = self._sessions, f"{self._channel}:{self._thread}", title_of(self._question)
        if not await sessions.begins.try_call(name, sessions.clock.monotonic()):
            return False
        answer = await sessions.best_effort.call(
            Method.SET_SESSION,
            self._channel,
            thread_ts=self._thread,
            status=status,
            title=title or None,
            initiator_user_id=self._user if self._user.startswith(("U", "W")) else None,  # not another bot
        )
        nameless = answer is not None and "title" in answer and not text(answer, "title")
        if nameless and title and name not in sessions.titled and sessions.named.first(name):
            await sessions.best_effort.call(Method.RENAME_SESSION, self._channel, thread_ts=self._thread, title=title)
        return answer is not None

    async def _wait_for_change(self, seconds: float | None) -> None:
        changing = asyncio.create_task(self._changed.wait())
        passing = [] if seconds is None else [asyncio.create_task(self._sessions.clock.sleep(seconds))]
        try:
            await asyncio.wait({changing, *passing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in (changing, *passing):
                waiting.cancel()


# What people view in Slack while they write to the agent beside it: context for their next question.
#
# Rules
# - It is added to direct messages only, so that no other member learns what a person views.
# - A viewed message is quoted if its channel's content may be used in the answer. The content of a channel, a canvas or
#   a list is not read: they are named, or linked.
# - Entities that arrive with a message take precedence over those of earlier events, which are kept in memory for
#   VIEWED_TTL_S and for one question.

VIEWED_TTL_S: Final = 900.0  # A person who has asked nothing for this long does something else

MAX_PEOPLE: Final = 2_000  # Who use one bot within that time

NOTE: Final = "what the person is looking at"
MESSAGE: Final = "the message that the person is looking at"


@dataclass(slots=True)
class ViewedEntities:
    me: SlackBot
    places: Places
    threads: Threads
    clock: Clock
    _viewed: TTLCache[str, tuple[Entity, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._viewed = TTLCache(MAX_PEOPLE, VIEWED_TTL_S, self.clock.monotonic)

    def record(self, user: str, entities: tuple[Entity, ...]) -> None:
        """Record what a person views now; () for nothing of a known kind."""
        self._viewed[user] = entities

    async def quotes_for(self, message: SlackMessage, author: str, target: Place) -> tuple[Quoted, ...]:
        """Return what the author of a direct message views, as far as an answer that is read at `target` may use it."""
        entities = self._pop_entities(message)
        messages: list[Quoted] = []
        lines: list[str] = []
        for entity in entities:
            read = await self._read_message(entity, target)
            messages += read
            if not read and entity.id != message.channel:
                lines.append(await self._describe(entity))
        noted = (Quoted(NOTE, author, "\n".join(lines)),) if lines else ()
        return (*messages, *noted)

    def _pop_entities(self, message: SlackMessage) -> tuple[Entity, ...]:
        remembered = self._viewed.pop(message.user, ())
        return remembered if message.sees is None else message.sees

    async def _read_message(self, entity: Entity, target: Place) -> tuple[Quoted, ...]:
        if entity.kind is not EntityKind.MESSAGE:
            return ()
        return await self.threads.read_message(SlackMessageLink(entity.id, entity.ts, ""), target, MESSAGE)

    async def _describe(self, entity: Entity) -> str:
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


# Suggested prompts, shown when a person opens the agent's conversations.

MAX_PROMPTS: Final = 4  # Slack's limit

PROMPT_CHARS: Final = 60  # Fits a button on a phone

# Switching between tabs sends no new prompts. It is short, so that forgotten facts are not offered for long.
PROMPTS_INTERVAL_S: Final = 30.0

GENERAL: Final = tuple(Suggestion(title, message) for title, message in platforms_texts.PROMPTS)


@dataclass(slots=True)
class Prompts:
    """Suggests up to MAX_PROMPTS prompts: first from what is known about the person, then general ones."""

    host: Host
    me: SlackBot
    people: People
    best_effort: BestEffortCalls
    clock: Clock
    _offered: TTLCache[str, None] = field(init=False)
    _offering: BackgroundTasks = field(default_factory=BackgroundTasks)

    def __post_init__(self) -> None:
        self._offered = TTLCache(MAX_PEOPLE, PROMPTS_INTERVAL_S, self.clock.monotonic)

    def offer(self, opened: inbound.AgentOpened) -> None:
        """Suggest prompts to a person who opened the agent's conversations, in the background."""
        if not opened.channel or opened.user in self._offered:
            return
        self._offered[opened.user] = None
        self._offering.start(self._offer(opened))

    async def close(self) -> None:
        await self._offering.close()

    async def _offer(self, opened: inbound.AgentOpened) -> None:
        if self.best_effort.is_suspended(Method.SUGGEST_PROMPTS, opened.channel):
            return
        prompts: list[Json] = [
            {"title": shortened(suggestion.title, PROMPT_CHARS), "message": suggestion.message}
            for suggestion in await self._suggestions(opened)
        ]
        # Without thread_ts: for an agent, Slack takes a call with one and does nothing.
        await self.best_effort.call(
            Method.SUGGEST_PROMPTS, opened.channel, title=platforms_texts.SUGGESTIONS_TITLE, prompts=prompts
        )

    async def _suggestions(self, opened: inbound.AgentOpened) -> tuple[Suggestion, ...]:
        member = await self.people.member(opened.user)
        viewer = Asker(member.person, person_place(self.me, member), opened.channel, member.authority)
        try:
            return (*await self.host.suggestions.suggest(viewer, MAX_PROMPTS), *GENERAL)[:MAX_PROMPTS]
        except CogencyError as error:
            log.log(severity(error), "suggested questions could not be set: %s", error)
            return GENERAL


MESSAGES = "messages"  # The tab in which people write to the agent


@dataclass(frozen=True, slots=True)
class AgentEventHandler:
    """Handles agent events: a tab is opened, another entity viewed, a session stopped or renamed."""

    host: Host
    me: SlackBot
    sessions: AgentSessions
    prompts: Prompts
    viewed: ViewedEntities

    async def handle(self, event: inbound.AgentEvent) -> None:
        """Handle an event. Raises CogencyError when a stop could not be stored; Slack then sends it again."""
        match event:
            case inbound.AgentOpened(user, _, tab, entities):
                if entities is not None:
                    self.viewed.record(user, entities)
                if tab == MESSAGES:
                    self.prompts.offer(event)
            case inbound.LookedAt(user, entities):
                self.viewed.record(user, entities)
            case inbound.SessionStopped():
                await self._stop(event)
            case inbound.SessionRenamed(channel, thread, user):
                if user not in ("", self.me.user):  # a title of the bot's own quotes a question, and goes with it
                    self.sessions.renamed(channel, thread)
            case _:
                assert_never(event)

    async def _stop(self, stopped: inbound.SessionStopped) -> None:
        """Stop what runs in that thread, and nothing else. Slack leaves the session's status to the app."""
        channel, thread = stopped.channel, stopped.thread
        conversation = (
            inbound.thread_conversation(self.me, channel, thread)
            if thread
            else inbound.channel_conversation(self.me, channel)
        )
        await self.host.turns.stop_conversation(conversation)
        self.sessions.set_idle_soon(channel, thread)

    async def close(self) -> None:
        await self.prompts.close()
        await self.sessions.close()
