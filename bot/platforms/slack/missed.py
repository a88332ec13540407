"""Events that could not be stored when they arrived are retried; messages that did not arrive are read from history."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from agent.errors import CogencyError, Refused, StoreError, StoreUnavailable
from agent.messages import JsonObject
from agent.stored_messages import LastSeen
from bot.chat.backoff import OncePerMinute
from bot.chat.logs import severity
from bot.chat.texts.formatting import counted
from bot.chat.turns.watermark import Watermark
from bot.platforms.slack import api, inbound
from bot.platforms.slack.api import MethodRates, SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.inbound import TOMBSTONE, SlackBot, SlackMessage
from bot.platforms.slack.intake import Before, SlackIntake, nothing_missed
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import SlackMemberUnknown
from bot.platforms.slack.options import Method
from bot.platforms.slack.sockets import USER_TASKS, BackgroundTasks
from bot.platforms.slack.surroundings import message_at

log = logging.getLogger(__name__)

# Kept in memory; of more, Slack sends some again, and the rest is read from its history after the next start.
MAX_EVENTS: Final = 1_000
ACK_S: Final = 2.0  # An event that takes longer is acknowledged once its pointer is stored: Slack waits three seconds
LIMITED: Final = "app_rate_limited"
TAKE_OUT: Final = "they are read from the history; take the bot out of channels that do not need it"
REMEDY: Final = "`cogency doctor` says whether a scope is missing."
PASSING: Final = (StoreUnavailable, SlackMemberUnknown)


@dataclass(slots=True)
class EventRetryQueue:
    """Events that could not be stored at once: kept in their order, and retried until they are.

    `before` takes in the messages that were missed before one, `gap` what was not delivered since a time. `notify`
    tells the author of an event that it has to wait, and why.

    Rules
    - Slack gets an answer within three seconds, whatever its Web API does. An event that takes longer, or whose author
      cannot be read now, is acknowledged as soon as a pointer to its message is stored: channel, thread and time stamp,
      no text.
    - An event that cannot be stored is not acknowledged. Slack sends it again a few times; here it is retried without
      end. The ledger dedupes what arrives twice.
    - Later events of the same channel wait behind it; other channels do not.
    - The watermark does not move meanwhile. After a restart Slack's history is read from there, and the messages that
      pointers name are read again.
    """

    watermark: Watermark
    api: SlackApi
    intake: SlackIntake
    before: Before
    gap: Callable[[datetime], None]
    notify: Callable[[JsonObject, CogencyError], Coroutine[object, object, None]]
    _waiting: dict[str, deque[JsonObject]] = field(default_factory=dict[str, "deque[JsonObject]"])  # By channel
    _last_errors: dict[str, CogencyError] = field(default_factory=dict[str, CogencyError])  # Of retries, by channel
    _unstored: set[str] = field(default_factory=set[str])  # Channels in which an event waits for the database
    _tasks: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(name=USER_TASKS))
    _logged: OncePerMinute = field(default_factory=OncePerMinute)

    async def take(self, body: JsonObject) -> bool:
        """Take an event in. Return False if it is not stored: it must not be acknowledged then."""
        if api.text(body, "type") == LIMITED:
            log.warning("Slack delivers no more than 30,000 events an hour, and left some out: %s", TAKE_OUT)
            self.gap(datetime.fromtimestamp(api.number(body, "minute_rate_limited"), UTC))
            return True
        if (channel := _channel_of(body)) in self._waiting:
            self._enqueue(body)
            if (last_error := self._last_errors.get(channel)) is not None:
                self._tasks.start(self.notify(body, last_error))
            return channel not in self._unstored and await self._store_pointer(body)
        before = self.before if self.watermark.behind else nothing_missed
        handling = asyncio.create_task(self.intake.handle_event(body, before), name=USER_TASKS)
        self._tasks.add(handling)
        await asyncio.wait({handling}, timeout=ACK_S)
        if not handling.done():
            self._tasks.start(self._finish_late(handling, body))
            return await self._store_pointer(body)
        return (error := handling.exception()) is None or await self._handle_failure(body, error)

    async def resume(self) -> None:
        """Retry what an earlier process stored pointers to. Raises StoreError."""
        for name, kind in (await self.watermark.host.preferences.all_of(self._owner)).items():
            self._tasks.start(self._retry_pointer(name, kind))

    async def close(self) -> None:
        await self._tasks.close()

    async def _finish_late(self, handling: "asyncio.Task[bool]", body: JsonObject) -> None:
        """Wait for an event that took longer than ACK_S; delete its pointer once it is taken in."""
        await asyncio.wait({handling})
        error = None if handling.cancelled() else handling.exception()
        if error is not None:
            await self._handle_failure(body, error)
        if not isinstance(error, PASSING):  # else it is in the queue
            await self._delete_pointer(body)

    async def _handle_failure(self, body: JsonObject, error: BaseException) -> bool:
        """Queue an event for a retry, or log why it is dropped. Return whether it may be acknowledged."""
        if isinstance(error, PASSING):
            if isinstance(error, StoreUnavailable):
                self._unstored.add(_channel_of(body))
            self._log(error)
            self._enqueue(body)
            return not isinstance(error, StoreUnavailable) and await self._store_pointer(body)
        if not isinstance(error, CogencyError):
            raise error
        log.log(severity(error), "event %s was not taken in: %s", api.text(body, "event_id"), error)
        return False

    def _enqueue(self, body: JsonObject) -> None:
        channel = _channel_of(body)
        events = self._waiting.get(channel)
        if events is None:
            self._waiting[channel] = deque([body])
            self._tasks.start(self._drain(channel))
        elif sum(map(len, self._waiting.values())) < MAX_EVENTS and body not in events:
            events.append(body)

    async def _drain(self, channel: str) -> None:
        events = self._waiting[channel]
        try:
            while events:
                try:
                    handle = partial(self.intake.handle_event, events[0], self.before)
                    await self.watermark.retry(handle, partial(self._notify_all, channel), passing=PASSING)
                except CogencyError as error:
                    log.log(severity(error), "event %s was not taken in: %s", api.text(events[0], "event_id"), error)
                await self._delete_pointer(events.popleft())
        finally:
            del self._waiting[channel]
            self._last_errors.pop(channel, None)
            self._unstored.discard(channel)

    async def _notify_all(self, channel: str, error: CogencyError) -> None:
        self._last_errors[channel] = error
        self._log(error)
        for body in [*self._waiting[channel]]:
            await self.notify(body, error)

    def _log(self, error: CogencyError) -> None:
        """Log that authors cannot be read; an unavailable database is logged elsewhere."""
        if not isinstance(error, SlackMemberUnknown):
            return
        more = self._logged.due(str(error), self.watermark.clock.monotonic())
        if more is not None:
            log.warning("messages wait until Slack tells who wrote them: %s%s %s", error.__cause__, more, REMEDY)

    @property
    def _owner(self) -> str:
        """The owner of the preferences that hold pointers."""
        return f"owed:{self.watermark.source}"

    async def _store_pointer(self, body: JsonObject) -> bool:
        """Store a pointer by which the next process finds the message. Return False if there is none, or it failed."""
        name = _pointer(body)
        if not name:
            return False
        try:
            await self.watermark.host.preferences.set(self._owner, name, api.text(body, "event", "type"))
        except StoreError:
            return False
        return True

    async def _delete_pointer(self, body: JsonObject) -> None:
        if name := _pointer(body):
            try:
                await self.watermark.host.preferences.set(self._owner, name, None)
            except StoreError as error:
                log.log(severity(error), "a message that was taken in will be looked at once more: %s", error)

    async def _retry_pointer(self, name: str, kind: str) -> None:
        """Read the message that a pointer names, and take it in. `kind`: the type of its event."""
        channel, _, rest = name.partition(":")
        root, _, ts = rest.partition(":")
        link, passing = SlackMessageLink(channel, ts, root), (*PASSING, SlackDown, SlackLimited)
        try:
            await self.watermark.retry(partial(self._handle_pointed, link, kind), passing=passing)
        except CogencyError as error:
            log.log(severity(error), "what was asked earlier in %s was not taken in: %s", channel, error)
        await self._delete_pointer({"event": {"type": "message", "channel": channel, "thread_ts": root, "ts": ts}})

    async def _handle_pointed(self, link: SlackMessageLink, kind: str) -> None:
        message = await message_at(self.api, link)
        if message is not None:
            with suppress(Refused):  # a late refusal is not shown
                await self.intake.handle_event({"event": {**message, "type": kind, "channel": link.channel}}, late=True)


def _channel_of(body: JsonObject) -> str:
    return api.text(body, "event", "channel")


def _pointer(body: JsonObject) -> str:
    """Return the pointer to an event's message, "C0123:<root>:<ts>"; "" for an event that is no message."""
    event = api.fields(body, "event")
    ts = api.text(event, "ts")
    if api.text(event, "type") not in ("message", "app_mention") or not (
        api.text(event, "channel") and inbound.is_ts(ts)
    ):
        return ""
    root = api.text(event, "thread_ts")
    return f"{api.text(event, 'channel')}:{root if root != ts else ''}:{ts}"


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
            log.warning("Slack: %d conversations are not looked at for what was missed", skipped)
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
            log.log(severity(error), "where the bot had conversations is not known: %s", error)
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
                log.info("Slack: what newcomers missed may not be found: %s", refused)
                continue
            except SlackError as error:
                log.warning("Slack: where the bot is cannot be told, so what newcomers missed is not found: %s", error)
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
            log.log(severity(error), "what was missed in %s could not be taken in yet: %s", spot.channel, error)
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
        await self.intake.handle_event({"event": {**edit, "message": dict(message)}})

    async def _handle_message(self, spot: Spot, message: JsonObject) -> bool:
        event: JsonObject = {**message, "type": "message", "channel": spot.channel}
        with suppress(Refused):  # a late refusal is not shown
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
