"""What people see of the agent besides its words: that it works and at what, a Stop button, the title of a thread.

Theory of operation. A reply says what it does (`doing`), that it has shown words (`said`), and that it is left
(`finish`); none of that waits for Slack. A task for each reply brings Slack's view in line with what was said last: it
opens the session with its title, shows the line, shows it again before Slack takes it away, and sets the session at
rest when the reply has ended. All of that is ornament.

Rules
- A native stream sets a session to work, and at its end at rest (`rests`); that is not done a second time.
- Slack takes a line away when a message comes, and with it what is left of an earlier process.
- A title that a person gave stays.
"""

import asyncio
import logging
import re
import textwrap
from dataclasses import dataclass, field
from typing import Final

from cachetools import TLRUCache

from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot.caches import RecentKeys
from bot.platforms.slack.api import Method, SlackApi, SlackDown, SlackLimited, SlackRefused, text
from bot.platforms.slack.inbound import ReplyTo
from bot.platforms.slack.rate_limits import MethodRate
from bot.platforms.slack.sockets import TaskGroup
from bot.texts import reply_texts
from bot.texts.formatting import shortened

# How a session of an agent reads: its title, and what the bot says of itself while it works. Pure.

TITLE_CHARS: Final = 80
"""Slack takes 200: a title stands in a narrow list."""

FORGOTTEN: Final = "Forgotten"
"""The title of a session whose first question was forgotten."""

MOST_MESSAGES: Final = 10
MESSAGE_CHARS: Final = 50
"""Slack's limits for what it rotates through beside a working agent."""


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


# Calls of the Web API whose failure loses nothing: a status, a title, a suggestion.
#
# Rules. Nothing is raised. What Slack refuses is let be for a while, so that not every turn asks in vain: what the
# app cannot do at all (an older workspace, a plan without agents, a scope that was not granted) everywhere, the rest
# in that channel.

log = logging.getLogger(__name__)

REFUSED_S: Final = 600.0
"""How long a refusal holds for a channel: whoever changes that waits no longer."""

REFUSED_EVERYWHERE_S: Final = 3_600.0
"""What the app is not, it rarely becomes while it runs."""

DOWN_S: Final = 30.0
"""After a failure of Slack: each further one would hold up something for as long as Slack is waited for."""

MOST_CHANNELS: Final = 2_000

_EVERYWHERE: Final = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "missing_scope",
        "method_deprecated",
        "method_not_supported",
        "not_agent_app",
        "not_allowed_token_type",
        "not_assistant_app",
        "not_authorized",
        "paid_teams_only",
        "team_access_not_granted",
        "unknown_method",
    }
)


@dataclass(slots=True)
class BestEffortCalls:
    api: SlackApi
    clock: Clock
    _resting: TLRUCache[tuple[Method, str], float, float] = field(init=False)
    """Until when each method is not tried; in "" everywhere."""

    def __post_init__(self) -> None:
        self._resting = TLRUCache(MOST_CHANNELS, lambda _what, until, _now: until, self.clock.monotonic)

    async def call(self, method: Method, channel: str, **args: Json) -> JsonObject | None:
        """The method's answer, with `channel` as its `channel_id`; None if it was refused, or not tried."""
        if self.rests(method, channel):
            return None
        try:
            return await self.api.call(method, channel_id=channel, **args)
        except SlackRefused as refused:
            everywhere = refused.code in _EVERYWHERE
            log.info("%s It is left out for a while: an ornament, without which answers are shown.", refused)
            self._rest(method, "" if everywhere else channel, REFUSED_EVERYWHERE_S if everywhere else REFUSED_S)
        except SlackLimited as limited:
            self._rest(method, "", limited.retry_after_s)
        except SlackDown as down:
            log.debug("%s", down)
            self._rest(method, "", DOWN_S)
        return None

    def rests(self, method: Method, channel: str) -> bool:
        """Whether it is not tried there now."""
        return (method, "") in self._resting or (method, channel) in self._resting

    def _rest(self, method: Method, channel: str, seconds: float) -> None:
        self._resting[method, channel] = self.clock.monotonic() + seconds


REFRESH_S: Final = 100.0
"""Slack takes a line away after two minutes without a message."""

BEGINS_PER_MINUTE: Final = 20
"""Slack takes 50 changes of sessions a minute for the whole workspace: each that begins must also end."""

CLOSE_S: Final = 2.0
"""How long the end of the process waits for sessions that are being set at rest."""


@dataclass(slots=True)
class AgentSessions:
    """Those of one workspace."""

    ornaments: BestEffortCalls
    clock: Clock
    named: RecentKeys = field(default_factory=RecentKeys)
    """The threads to which a person gave a title."""
    begins: MethodRate = field(default_factory=lambda: MethodRate(BEGINS_PER_MINUTE, window_s=60.0))
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
        self._left: bool | None = None
        """Whether the reply had ended when it was left; None while it is not."""
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
        if not sessions.begins.spare(name, sessions.clock.monotonic()):
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
