"""What was said on Slack while no socket was open: read from its history, and taken in as if it came now.

Rules.
- Slack sends again by itself for some minutes. After a longer gap, and at a start, history is read.
- Where to look: the threads that the bot had lately, the latest first, and with each the channel or the direct messages
  around it, for new questions: however many threads somebody has. Then everywhere else where the bot is, direct
  messages first: a newcomer's first question, a first mention in a channel, or in a thread that went on meanwhile.
- A place in which something arrives anew is looked at first, so that the order stays, if that takes no longer than
  Slack waits.
- What does not wait for an answer is not caught up: "stop", commands in words, buttons. Edits are followed as far as
  they stand among the messages that are read; of deletions only those that leave a tombstone can be seen.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.errors import CogencyError, Refused
from agent.messages import JsonObject
from agent.records import LastSeen
from bot.logs import severity
from bot.platforms.slack import inbound
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackLimited, SlackRefused, items, number, text
from bot.platforms.slack.inbound import TOMBSTONE, SlackBot, SlackMessage
from bot.platforms.slack.intake import SlackIntake
from bot.platforms.slack.rate_limits import MethodQueue
from bot.texts.formatting import counted
from bot.turns.watermark import Watermark

log = logging.getLogger(__name__)

OUTAGE = timedelta(minutes=1)
"""What was sent into a shorter gap Slack has sent again since."""

FIRST_S = 1.0
"""How long a new message waits for what was missed before it: its acknowledgement is due within three seconds."""

EVERYWHERE = ("public_channel,private_channel,mpim,im", "public_channel,private_channel,mpim")
"""Kinds of places; an app that was installed without im:read is told of its channels alone."""
PAGE = 200
MOST_PAGES = 5
"""A thousand places: of more the rest is found once somebody repeats a question there."""

INTERVAL_S = 2.4
"""Half of the fifty requests a minute that Slack allows: the other half is for questions that come meanwhile."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A thread, or (without `root`) a channel or direct conversation outside its threads."""

    channel: str
    root: str = ""


@dataclass(slots=True)
class SlackMissed:
    api: SlackApi
    me: SlackBot
    listening: Watermark
    intake: SlackIntake
    _since: datetime | None = None
    _due: frozenset[Spot] = frozenset()
    _looked: dict[Spot, asyncio.Task[bool]] = field(default_factory=dict[Spot, asyncio.Task[bool]])
    _threads: deque[Spot] = field(default_factory=deque[Spot])
    _went_on: deque[Spot] = field(default_factory=deque[Spot])
    """Threads that went on meanwhile, and in which the bot had no part."""
    _pace: dict[Method, MethodQueue] = field(default_factory=dict[Method, MethodQueue])
    _found: int = 0
    _catching_up: asyncio.Task[None] | None = None

    def connected(self) -> None:
        """A socket is open."""
        first = self._catching_up is None
        if first or (not self.listening.behind and self.listening.silent_for() > OUTAGE):
            self._begin(self.listening.since())
        self.listening.connected = True
        self.listening.host.platforms.connected(self.me.source)

    def lost(self, why: str) -> None:
        """The last socket is about to close, or dead."""
        self.listening.connected = False
        self.listening.host.platforms.connected(self.me.source, why)

    def gap(self, since: datetime) -> None:
        """Between that time and now some events did not come."""
        bounds, now = self.listening.bounds, self.listening.clock.now()
        if not self.listening.behind:
            self._begin(max(since - bounds.overlap, now - bounds.age))

    def _begin(self, since: datetime | None) -> None:
        self.listening.behind = True
        self._since = since
        self._catching_up = asyncio.create_task(self._catch_up())

    async def close(self) -> None:
        tasks: list[asyncio.Task[bool] | asyncio.Task[None]] = [*self._looked.values()]
        if self._catching_up is not None:
            tasks.append(self._catching_up)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def before(self, heard: SlackMessage) -> None:
        """What was missed in the place of a message that just arrived."""
        if self._since is not None and (heard.direct or heard.mentioned or _spot(heard) in self._due):
            await asyncio.wait({self._looking(_spot(heard), latest=heard.ts)}, timeout=FIRST_S)

    async def _catch_up(self) -> None:
        """Everything that was missed since then, within the bounds."""
        if self._since is not None:
            since, unread = self._since, await self._look_everywhere()
            if self._found or unread:
                left = f", {counted(unread, 'conversation', 'conversations')} could not be read" if unread else ""
                found = counted(self._found, "message", "messages")
                log.info("Slack: caught up on %s since %s%s", found, f"{since:%F %R} UTC", left)
        self._since = None
        self._looked.clear()
        self._went_on.clear()
        self._found = 0
        self.listening.behind = False
        await self.listening.note()

    async def _look_everywhere(self) -> int:
        """How many places could not be read."""
        bounds, clock = self.listening.bounds, self.listening.clock
        known = await self._spots()
        elsewhere = [spot for spot in await self._everywhere() if spot not in known]
        spots, most = deque([*known[: bounds.places], *elsewhere]), 2 * bounds.places
        self._due = frozenset(spots)
        unseen = max(0, len(known) - bounds.places) + max(0, len(spots) - most)
        if unseen:
            log.warning("Slack: %d conversations are not looked at for what was missed", unseen)
        failed: list[Spot] = []
        for _ in range(most):
            waiting = self._threads or spots or self._went_on
            if not waiting:
                break
            spot = waiting.popleft()
            if not await self._looking(spot, paced=True):
                failed.append(spot)
        for _ in range(1, bounds.attempts):
            if not failed:
                break
            await clock.sleep(bounds.retry_s)
            failed = [spot for spot in failed if not await self._looking(spot, paced=True)]
        return len(failed)

    async def _spots(self) -> list[Spot]:
        bounds, clock = self.listening.bounds, self.listening.clock
        lately = clock.now() - bounds.known
        try:
            seen = await self.listening.host.conversations.last_seen(self.me.source, since=lately, limit=bounds.places)
        except CogencyError as error:
            log.log(severity(error), "where the bot had conversations is not known: %s", error)
            return []
        return spots_of(seen, self.me)

    async def _everywhere(self) -> list[Spot]:
        """Where the bot is, direct messages first; [] where Slack does not tell."""
        for kinds in EVERYWHERE:
            found: list[Spot] = []
            cursor = ""
            try:
                for _ in range(MOST_PAGES):
                    page = await self.api.call(
                        Method.CONVERSATIONS, types=kinds, exclude_archived=True, limit=PAGE, cursor=cursor or None
                    )
                    found += [Spot(text(channel, "id")) for channel in items(page, "channels")]
                    cursor = text(page, "response_metadata", "next_cursor")
                    if not cursor:
                        break
            except SlackRefused as refused:
                log.info("Slack: what newcomers missed may not be found: %s", refused)
                continue
            except SlackError as error:
                log.warning("Slack: where the bot is cannot be told, so what newcomers missed is not found: %s", error)
            return sorted(found, key=lambda spot: not inbound.is_direct(spot.channel))
        return []

    def _looking(self, spot: Spot, *, latest: str = "", paced: bool = False) -> "asyncio.Task[bool]":
        """The one look at this place; another only after one that failed."""
        known = self._looked.get(spot)
        if known is not None and not (known.done() and (known.cancelled() or not known.result())):
            return known
        looking = self._looked[spot] = asyncio.create_task(self._look(spot, latest, paced=paced))
        return looking

    async def _look(self, spot: Spot, latest: str, *, paced: bool) -> bool:
        """Take in what was missed in one place, the oldest first. False if it is worth another try."""
        since = f"{self._since.timestamp():.6f}" if self._since is not None else ""
        try:
            for message in await self._said(spot, since, latest, paced=paced):
                if text(message, "edited", "ts") > since or text(message, "subtype") == TOMBSTONE:
                    await self._change(spot, message)
                if text(message, "ts") > since and await self._take(spot, message):
                    self._found += 1
                    if not spot.root and number(message, "reply_count"):
                        self._threads.append(Spot(spot.channel, text(message, "ts")))
                elif not spot.root and text(message, "latest_reply") > since:
                    thread = Spot(spot.channel, text(message, "ts"))
                    if thread not in self._looked and thread not in self._due and thread not in self._threads:
                        self._went_on.append(thread)
        except SlackRefused:
            return True  # not for us, or no longer there
        except CogencyError as error:
            log.log(severity(error), "what was missed in %s could not be taken in yet: %s", spot.channel, error)
            return False
        return True

    async def _said(self, spot: Spot, since: str, latest: str, *, paced: bool) -> list[JsonObject]:
        """What was said there since, before `latest`, and what else came along, the oldest first. Raises SlackError."""
        method = Method.REPLIES if spot.root else Method.HISTORY
        clock, pace = self.listening.clock, self._pace.setdefault(method, MethodQueue(INTERVAL_S))
        wait = pace.join(clock.monotonic())
        if paced:
            await clock.sleep(wait)
        try:
            page = await self.api.call(
                method,
                channel=spot.channel,
                ts=spot.root or None,
                oldest=since if spot.root else None,  # a thread is told from its beginning, a channel from its end
                latest=latest or None,
                limit=self.listening.bounds.messages,
            )
        except SlackLimited as limited:
            pace.limited(clock.monotonic(), limited.retry_after_s)
            raise
        return sorted(items(page, "messages"), key=lambda message: text(message, "ts"))

    async def _change(self, spot: Spot, message: JsonObject) -> None:
        """Take in what an event would have told."""
        now: JsonObject = {"type": "message", "subtype": "message_changed", "channel": spot.channel}
        await self.intake.see({"event": {**now, "message": dict(message)}})

    async def _take(self, spot: Spot, message: JsonObject) -> bool:
        event: JsonObject = {**message, "type": "message", "channel": spot.channel}
        with suppress(Refused):  # nobody waits to be told any more
            return await self.intake.see({"event": dict(event)}, late=True)
        return False


def spots_of(seen: Iterable[LastSeen], me: SlackBot) -> list[Spot]:
    """Where to look, each place once: every conversation, and then the channel around it. Pure."""
    spots: list[Spot] = []
    for one in seen:
        channel, _, root = one.conversation.removeprefix(f"{me.source}:").partition(":")
        if channel and (not root or inbound.is_ts(root)):
            spots.append(Spot(channel, root))
        spots.append(Spot(one.channel))
    return list(dict.fromkeys(spots))


def _spot(heard: SlackMessage) -> Spot:
    return Spot(heard.channel, heard.thread_ts if heard.in_thread else "")
