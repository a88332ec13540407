"""What people see of the agent besides its words: that it works and at what, a Stop button, the title of a thread.

Above: `surface` (one `Session` for each reply), `intake` (what people do with a session). Below: `ornaments`,
`activity`, `budget`.

Theory of operation. A reply says what it does (`doing`), that it has shown words (`said`), that it is over (`ended`);
none of that waits for Slack. One task for each reply brings Slack's view in line with what was said last: it opens the
session with its title, shows the line, shows it again before Slack takes it away, and at the end sets the session at
rest. All of that is ornament.

Rules
- A native stream sets a session to work and at rest by itself: its end is `ended(at_rest=True)`.
- Slack takes a line away when a message comes. A session that nothing is heard of any more is set at rest.
- A title that a person gave stays.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Final

from agent.ports import Clock
from bot.platforms.slack.activity import loading_messages, status_of, title_of
from bot.platforms.slack.api import Method
from bot.platforms.slack.budget import Budget
from bot.platforms.slack.fresh import Once
from bot.platforms.slack.ornaments import Ornaments
from bot.platforms.slack.payload import text
from bot.platforms.slack.reply_to import ReplyTo

REFRESH_S: Final = 100.0
"""Slack takes a line away after two minutes without a message."""

LINE_S: Final = 900.0
"""A line that was not followed by anything for so long belongs to a turn that another process has taken over."""

SILENT_S: Final = 10.0
"""How long the first words may take to appear once the bot stops saying what it does; then there are none."""

SPOKEN_S: Final = 120.0
"""A growing reply shows more words, or what it does, long before that."""

BEGINS_PER_MINUTE: Final = 20
"""Slack takes 50 changes of sessions a minute for the whole workspace: each that begins must also end."""

CLOSE_S: Final = 2.0
"""How long the end of the process waits for sessions that are being set at rest."""


@dataclass(slots=True)
class Sessions:
    """Those of one workspace."""

    ornaments: Ornaments
    clock: Clock
    named: Once = field(default_factory=Once)
    """The threads to which a person gave a title."""
    begins: Budget = field(default_factory=lambda: Budget(BEGINS_PER_MINUTE, window_s=60.0))
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set["asyncio.Task[None]"])

    def of(self, to: ReplyTo, question: str) -> "Session":
        """The part of one reply in the session of its thread."""
        return Session(self, to, title_of(question))

    def renamed(self, channel: str, thread: str) -> None:
        """A person gave the session a title."""
        self.named.first(f"{channel}:{thread}")

    async def rest(self, channel: str, thread: str) -> None:
        """Set a session at rest."""
        call, where = self.ornaments.call, thread or None
        if await call(Method.SET_SESSION, channel, thread_ts=where, status="active") is None:
            await call(Method.SET_STATUS, channel, thread_ts=where, status="")  # an empty line does so, too

    def rest_soon(self, channel: str, thread: str) -> None:
        """The same, without waiting for Slack."""
        self.in_background(self.rest(channel, thread))

    def in_background(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Let those that end come to their end, for a moment."""
        if self._tasks:
            _, working = await asyncio.wait(self._tasks, timeout=CLOSE_S)
            for task in working:
                task.cancel()


class Session:
    """One reply's part in it. Its methods return at once."""

    def __init__(self, sessions: Sessions, to: ReplyTo, title: str) -> None:
        self._sessions = sessions
        self._channel = to.channel
        self._thread = to.thread_ts or to.after
        self._user = to.user
        self._title = title
        self._line = ""
        self._said = False
        self._ended = False
        self._begun = False
        self._opened = False
        self._at_rest = False
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def doing(self, line: str) -> None:
        """What the bot does now; "" when its words show it, or it does nothing more."""
        if line == self._line:
            return
        self._line, self._ended = line, False
        if line and (self._task is None or self._task.done()):
            self._task = self._sessions.in_background(self._follow())
        self._changed.set()

    def said(self) -> None:
        """Words have come in a message, and the line has gone with it."""
        self._line, self._said = "", True
        self._changed.set()

    def ended(self, *, at_rest: bool = False) -> None:
        """The reply is whole. `at_rest`: Slack has set the session at rest already."""
        self._line, self._said, self._ended, self._at_rest = "", True, True, at_rest
        self._changed.set()

    async def _follow(self) -> None:
        clock = self._sessions.clock
        since, shown = clock.monotonic(), ""
        while not self._ended:
            self._changed.clear()
            line = self._line
            if line:
                since = since if line == shown else clock.monotonic()
                await self._show(line)
            shown = line
            patience = REFRESH_S if line else SPOKEN_S if self._said else SILENT_S
            if not await self._changes_within(patience) and (not line or clock.monotonic() - since > LINE_S):
                break
        await self._rest()

    async def _show(self, line: str) -> None:
        if not self._begun:
            self._begun = True
            await self._open()
        await self._sessions.ornaments.call(
            Method.SET_STATUS,
            self._channel,
            thread_ts=self._thread,
            status=status_of(line),
            loading_messages=[*loading_messages(line)],
        )
        self._at_rest = False  # even if it ended meanwhile: this may have come later

    async def _open(self) -> None:
        """Set the session to work; one that is new gets its title with that, one without gets it now."""
        sessions, name = self._sessions, f"{self._channel}:{self._thread}"
        if sessions.begins.wait(name, sessions.clock.monotonic()) > 0:
            return
        sessions.begins.left(name)
        answer = await sessions.ornaments.call(
            Method.SET_SESSION,
            self._channel,
            thread_ts=self._thread,
            status="processing",
            title=self._title or None,
            initiator_user_id=self._user or None,
        )
        self._opened = answer is not None
        nameless = answer is not None and "title" in answer and not text(answer, "title")
        if nameless and self._title and sessions.named.first(name):
            await sessions.ornaments.call(
                Method.RENAME_SESSION, self._channel, thread_ts=self._thread, title=self._title
            )

    async def _rest(self) -> None:
        if self._opened and not self._at_rest:
            await self._sessions.rest(self._channel, self._thread)
        elif not self._said:
            await self._sessions.ornaments.call(Method.SET_STATUS, self._channel, thread_ts=self._thread, status="")
        self._opened = self._begun = False

    async def _changes_within(self, seconds: float) -> bool:
        changing = asyncio.create_task(self._changed.wait())
        passing = asyncio.create_task(self._sessions.clock.sleep(seconds))
        try:
            await asyncio.wait({changing, passing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changing.cancel()
            passing.cancel()
        return self._changed.is_set()
