"""Messages that did not arrive while no connection was open, read from Slack's history."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.errors import CogencyError, Refused, Unexpected
from agent.messages import JsonObject
from agent.stored_messages import LastSeen
from bot.chat.logs import severity
from bot.chat.texts.formatting import counted
from bot.chat.watermark import Watermark
from bot.platforms.slack import api, inbound
from bot.platforms.slack.api import MethodRates, SlackApi, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.inbound import TOMBSTONE, SlackBot, SlackMessage
from bot.platforms.slack.intake import SlackIntake
from bot.platforms.slack.options import Method

log = logging.getLogger(__name__)


OUTAGE = timedelta(minutes=1)  # Slack itself sends again what a shorter gap missed

# How long a new message waits for those that were missed before it: Slack wants its acknowledgement within three
# seconds.
BEFORE_S = 1.0

# Types of conversations; the second is for an app that was installed without im:read.
EVERYWHERE = ("public_channel,private_channel,mpim,im", "public_channel,private_channel,mpim")
PAGE = 200
MAX_PAGES = 5  # A thousand conversations; more are not searched

# Half of the fifty requests a minute that Slack allows: the other half is for questions that arrive meanwhile.
INTERVAL_S = 2.4


@dataclass(frozen=True, slots=True)
class Spot:
    """Where history is read: a thread, or (without `root`) a channel or direct conversation outside its threads."""

    channel: str
    root: str = ""


@dataclass(slots=True)
class SlackMissed:
    """Reads messages from Slack's history that were written while no connection was open.

    Rules
    - Slack itself sends events again for some minutes. After a longer gap, and at a start, history is read.
    - First the bot's recent threads are read, the latest first, each with the channel or the direct messages around it,
      for new questions. Then every other conversation that the bot is in, direct messages first: for first questions,
      and for mentions in channels and in threads with new replies.
    - When a new message arrives, its place is read before it, so that the order stays, if that takes up to BEFORE_S.
    - Orders are not caught up: "stop", commands in words, buttons. Edits are followed if the message is among those
      that are read; of deletions, only those that leave a tombstone are visible.
    """

    api: SlackApi
    me: SlackBot
    watermark: Watermark
    intake: SlackIntake
    budgets: MethodRates = field(default_factory=MethodRates)
    _since: datetime | None = None
    _due: frozenset[Spot] = frozenset()
    _reads: dict[Spot, asyncio.Task[bool]] = field(default_factory=dict[Spot, asyncio.Task[bool]])
    _found_threads: deque[Spot] = field(default_factory=deque[Spot])
    _other_threads: deque[Spot] = field(default_factory=deque[Spot])  # With new replies, and without the bot
    _found_count: int = 0
    _catching_up: asyncio.Task[None] | None = None

    def connected(self) -> None:
        """A connection is open: catch up if it is the first, or after an outage."""
        first = self._catching_up is None
        if first or (not self.watermark.behind and self.watermark.silent_for() > OUTAGE):
            self._begin(self.watermark.since())
        self.watermark.connected = True
        self.watermark.host.platforms.connected(self.me.app)

    def connection_lost(self, why: str) -> None:
        """The last connection is closing, or dead."""
        self.watermark.connected = False
        self.watermark.host.platforms.connected(self.me.app, why)

    def gap(self, since: datetime) -> None:
        """Catch up: some events between that time and now were not delivered."""
        bounds, now = self.watermark.bounds, self.watermark.clock.now()
        if not self.watermark.behind:
            self._begin(max(since - bounds.overlap, now - bounds.age))

    async def read_again(self, since: datetime) -> bool:
        """Catch up from that time on, unless no connection is open: what was taken in may no longer be stored."""
        if not self.watermark.connected:
            return False
        if self._catching_up is not None:
            await asyncio.wait({self._catching_up})
        self.intake.stored.clear()
        self.gap(since)
        return True

    def _begin(self, since: datetime | None) -> None:
        self.watermark.behind = True
        self._since = since
        self._catching_up = asyncio.create_task(self._catch_up())

    async def close(self) -> None:
        tasks: list[asyncio.Task[bool] | asyncio.Task[None]] = [*self._reads.values()]
        if self._catching_up is not None:
            tasks.append(self._catching_up)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def before(self, message: SlackMessage) -> None:
        """Take in what was missed in the place of a message that just arrived, for up to BEFORE_S."""
        if self._since is not None and (message.direct or message.mentioned or _spot_of(message) in self._due):
            await asyncio.wait({self._read_once(_spot_of(message), latest=message.ts)}, timeout=BEFORE_S)

    async def _catch_up(self) -> None:
        """Take in everything that was missed, within the bounds of `Watermark`."""
        if self._since is not None:
            since, unread = self._since, await self._read_all()
            if self._found_count or unread:
                suffix = f", {counted(unread, 'conversation', 'conversations')} could not be read" if unread else ""
                found = counted(self._found_count, "message", "messages")
                log.info("Slack: caught up on %s since %s%s", found, f"{since:%F %R} UTC", suffix)
        self._since = None
        self._reads.clear()
        self._other_threads.clear()
        self._found_count = 0
        self.watermark.behind = False
        await self.watermark.note()

    async def _read_all(self) -> int:
        """Read all places, the failed ones again. Return how many could not be read."""
        bounds, clock = self.watermark.bounds, self.watermark.clock
        known = await self._known_spots()
        other_spots = [spot for spot in await self._all_spots() if spot not in known]
        spots, limit = deque([*known[: bounds.places], *other_spots]), 2 * bounds.places
        self._due = frozenset(spots)
        skipped = max(0, len(known) - bounds.places) + max(0, len(spots) - limit)
        if skipped:
            log.warning("Slack: %d conversations were not checked for missed messages", skipped)
        failed: list[Spot] = []
        for _ in range(limit):
            queue = self._found_threads or spots or self._other_threads
            if not queue:
                break
            spot = queue.popleft()
            if not await self._read_once(spot, paced=True):
                failed.append(spot)
        for _ in range(1, bounds.attempts):
            if not failed:
                break
            await clock.sleep(bounds.retry_s)
            failed = [spot for spot in failed if not await self._read_once(spot, paced=True)]
        return len(failed)

    async def _known_spots(self) -> list[Spot]:
        bounds, clock = self.watermark.bounds, self.watermark.clock
        lately = clock.now() - bounds.known
        try:
            seen = await self.watermark.host.conversations.last_seen(self.me.source, since=lately, limit=bounds.places)
        except CogencyError as error:
            log.log(severity(error), "the bot's conversations could not be listed: %s", error)
            return []
        return spots_of(seen, self.me)

    async def _all_spots(self) -> list[Spot]:
        """Return the conversations that the bot is in, direct messages first; [] if Slack refuses to list them."""
        for kinds in EVERYWHERE:
            found: list[Spot] = []
            listed = self.api.pages(Method.CONVERSATIONS, MAX_PAGES, types=kinds, exclude_archived=True, limit=PAGE)
            try:
                async for page in listed:
                    found += [Spot(api.text(channel, "id")) for channel in api.items(page, "channels")]
            except SlackRefused as refused:
                log.info("Slack: missed messages by new members may not be found: %s", refused)
                continue
            except SlackError as error:
                log.warning(
                    (
                        "Slack: the bot's channels could not be listed, so missed messages by new members are not "
                        "found: %s"
                    ),
                    error,
                )
            return sorted(found, key=lambda spot: not inbound.is_direct(spot.channel))
        return []

    def _read_once(self, spot: Spot, *, latest: str = "", paced: bool = False) -> "asyncio.Task[bool]":
        """Return the task that reads this place; a new one only if an earlier one failed."""
        known_task = self._reads.get(spot)
        if known_task is not None and not (known_task.done() and (known_task.cancelled() or not known_task.result())):
            return known_task
        task = self._reads[spot] = asyncio.create_task(self._read_spot(spot, latest, paced=paced))
        return task

    async def _read_spot(self, spot: Spot, latest: str, *, paced: bool) -> bool:
        """Take in what was missed in one place, the oldest first. Return False if another try may succeed."""
        since = f"{self._since.timestamp():.6f}" if self._since is not None else ""
        try:
            for message in await self._fetch(spot, since, latest, paced=paced):
                if api.text(message, "edited", "ts") > since or api.text(message, "subtype") == TOMBSTONE:
                    await self._handle_edit(spot, message)
                if api.text(message, "ts") > since and await self._handle_message(spot, message):
                    self._found_count += 1
                    if not spot.root and api.number(message, "reply_count"):
                        self._found_threads.append(Spot(spot.channel, api.text(message, "ts")))
                elif not spot.root and api.text(message, "latest_reply") > since:
                    thread = Spot(spot.channel, api.text(message, "ts"))
                    if thread not in self._reads and thread not in self._due and thread not in self._found_threads:
                        self._other_threads.append(thread)
        except SlackRefused:
            return True  # the bot may not read it, or it was deleted
        except CogencyError as error:
            log.log(severity(error), "missed messages in %s could not be accepted yet: %s", spot.channel, error)
            return False
        return True

    async def _fetch(self, spot: Spot, since: str, latest: str, *, paced: bool) -> list[JsonObject]:
        """Return a page of messages before `latest`, the oldest first; some may be older than `since`.

        Raises SlackError.
        """
        method = Method.REPLIES if spot.root else Method.HISTORY
        clock, pace = self.watermark.clock, self.budgets.queue(f"{method} missed", INTERVAL_S)
        wait = await pace.book(clock.monotonic())
        if paced:
            await clock.sleep(wait)
        try:
            page = await self.api.call(
                method,
                channel=spot.channel,
                ts=spot.root or None,
                oldest=since if spot.root else None,  # Slack pages a thread from its beginning, a channel from its end
                latest=latest or None,
                limit=self.watermark.bounds.messages,
            )
        except SlackLimited as limited:
            await pace.hold(clock.monotonic(), limited.retry_after_s)
            raise
        return sorted(api.items(page, "messages"), key=lambda message: api.text(message, "ts"))

    async def _handle_edit(self, spot: Spot, message: JsonObject) -> None:
        """Handle an edited or deleted message as its event would have been."""
        edit: JsonObject = {"type": "message", "subtype": "message_changed", "channel": spot.channel}
        with suppress(Unexpected):  # the other messages are still taken in
            await self.intake.handle_event({"event": {**edit, "message": dict(message)}})

    async def _handle_message(self, spot: Spot, message: JsonObject) -> bool:
        event: JsonObject = {**message, "type": "message", "channel": spot.channel}
        with suppress(Refused, Unexpected):  # a late refusal is not shown, and the other messages are still taken in
            return await self.intake.handle_event({"event": dict(event)}, late=True)
        return False


def spots_of(seen: Iterable[LastSeen], me: SlackBot) -> list[Spot]:
    """Return where to read, each place once: every conversation, followed by the channel around it. Pure."""
    spots: list[Spot] = []
    for last_seen in seen:
        channel, _, root = last_seen.conversation.removeprefix(f"{me.source}:").partition(":")
        if channel and (not root or inbound.is_ts(root)):
            spots.append(Spot(channel, root))
        spots.append(Spot(last_seen.channel))
    return list(dict.fromkeys(spots))


def _spot_of(message: SlackMessage) -> Spot:
    return Spot(message.channel, message.thread_ts if message.in_thread else "")
