"""What did not come, or could not be taken in when it came: it is kept, looked for, and taken in as if it came now."""

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
from agent.records import LastSeen
from bot.caches import OncePerMinute
from bot.logs import severity
from bot.platforms.slack import api, inbound
from bot.platforms.slack.api import Method, MethodRates, SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.inbound import TOMBSTONE, SlackBot, SlackMessage
from bot.platforms.slack.intake import Before, SlackIntake, nothing_missed
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import SlackMemberUnknown
from bot.platforms.slack.sockets import USER_TASKS, BackgroundTasks
from bot.platforms.slack.surroundings import message_at
from bot.texts.formatting import counted
from bot.turns.watermark import Watermark

log = logging.getLogger(__name__)

MOST: Final = 1_000  # Events that are kept in memory; more are left to Slack, and to its history after the next start
ACK_S: Final = 2.0  # How long an event may take before it is acknowledged by its pointer: Slack waits for three seconds
LIMITED: Final = "app_rate_limited"
TAKE_OUT: Final = "they are read from the history; take the bot out of channels that do not need it"
REMEDY: Final = "`cogency doctor` says whether a scope is missing."
PASSING: Final = (StoreUnavailable, SlackMemberUnknown)


@dataclass(slots=True)
class EventRetryQueue:
    """`before` takes in what was missed before a message, `gap` what was not delivered since then. `tell` says to the
    author of an event that it has to wait, and why.

    What came and could not be taken in at once: kept in its order, and tried until it works.

    Rules
    - Slack is answered within three seconds, whatever its Web API does. An event that takes longer, or whose author
      Slack does not tell now, is acknowledged as soon as a pointer to its message is stored: its place and time stamp,
      no words.
    - What cannot be stored is not acknowledged. Slack sends it again a few times; here it is tried until it can be
      stored, however long that takes. The ledger knows what came twice.
    - What comes meanwhile in the same channel waits behind it; other channels do not.
    - The time until which everything has come in stands still meanwhile. After a restart Slack's history is read from
      there, and the messages that are pointed to are read again.
    """

    listening: Watermark
    api: SlackApi
    intake: SlackIntake
    before: Before
    gap: Callable[[datetime], None]
    tell: Callable[[JsonObject, CogencyError], Coroutine[object, object, None]]
    _lanes: dict[str, deque[JsonObject]] = field(default_factory=dict[str, "deque[JsonObject]"])
    """What waits, by its channel."""
    _why: dict[str, CogencyError] = field(default_factory=dict[str, CogencyError])
    """Why it did not work the second time either, by the channel."""
    _unstored: set[str] = field(default_factory=set[str])
    """The channels in which something waits for the database."""
    _underway: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(name=USER_TASKS))
    _logged: OncePerMinute = field(default_factory=OncePerMinute)

    async def take(self, body: JsonObject) -> bool:
        """Take an event in. False: it is not stored, so do not acknowledge it."""
        if api.text(body, "type") == LIMITED:
            log.warning("Slack delivers no more than 30,000 events an hour, and left some out: %s", TAKE_OUT)
            self.gap(datetime.fromtimestamp(api.number(body, "minute_rate_limited"), UTC))
            return True
        if (channel := _channel(body)) in self._lanes:
            self._put(body)
            if (why := self._why.get(channel)) is not None:
                self._underway.start(self.tell(body, why))
            return channel not in self._unstored and await self._keep(body)
        before = self.before if self.listening.behind else nothing_missed
        seeing = asyncio.create_task(self.intake.handle_event(body, before), name=USER_TASKS)
        self._underway.add(seeing)
        await asyncio.wait({seeing}, timeout=ACK_S)
        if not seeing.done():
            self._underway.start(self._after(seeing, body))
            return await self._keep(body)
        return (error := seeing.exception()) is None or await self._failed(body, error)

    async def resume(self) -> None:
        """Take in what an earlier process kept. Raises StoreError."""
        for name, kind in (await self.listening.host.preferences.of(self._owner)).items():
            self._underway.start(self._again(name, kind))

    async def close(self) -> None:
        await self._underway.close()

    async def _after(self, seeing: "asyncio.Task[bool]", body: JsonObject) -> None:
        """What took too long to be waited for: its pointer goes once it is taken in."""
        await asyncio.wait({seeing})
        error = None if seeing.cancelled() else seeing.exception()
        if error is not None:
            await self._failed(body, error)
        if not isinstance(error, PASSING):  # else it waits
            await self._drop(body)

    async def _failed(self, body: JsonObject, error: BaseException) -> bool:
        """Whether it is kept, and so may be acknowledged."""
        if isinstance(error, PASSING):
            if isinstance(error, StoreUnavailable):
                self._unstored.add(_channel(body))
            self._log(error)
            self._put(body)
            return not isinstance(error, StoreUnavailable) and await self._keep(body)
        if not isinstance(error, CogencyError):
            raise error
        log.log(severity(error), "event %s was not taken in: %s", api.text(body, "event_id"), error)
        return False

    def _put(self, body: JsonObject) -> None:
        channel = _channel(body)
        lane = self._lanes.get(channel)
        if lane is None:
            self._lanes[channel] = deque([body])
            self._underway.start(self._take_all(channel))
        elif sum(map(len, self._lanes.values())) < MOST and body not in lane:
            lane.append(body)

    async def _take_all(self, channel: str) -> None:
        lane = self._lanes[channel]
        try:
            while lane:
                try:
                    see = partial(self.intake.handle_event, lane[0], self.before)
                    await self.listening.insist(see, partial(self._tell_all, channel), passing=PASSING)
                except CogencyError as error:
                    log.log(severity(error), "event %s was not taken in: %s", api.text(lane[0], "event_id"), error)
                await self._drop(lane.popleft())
        finally:
            del self._lanes[channel]
            self._why.pop(channel, None)
            self._unstored.discard(channel)

    async def _tell_all(self, channel: str, why: CogencyError) -> None:
        self._why[channel] = why
        self._log(why)
        for body in [*self._lanes[channel]]:
            await self.tell(body, why)

    def _log(self, why: CogencyError) -> None:
        """That the database is away it logs itself."""
        if not isinstance(why, SlackMemberUnknown):
            return
        more = self._logged.due(str(why), self.listening.clock.monotonic())
        if more is not None:
            log.warning("messages wait until Slack tells who wrote them: %s%s %s", why.__cause__, more, REMEDY)

    # What stands in the store

    @property
    def _owner(self) -> str:
        return f"owed:{self.listening.source}"

    async def _keep(self, body: JsonObject) -> bool:
        """Whether it can be found again by the next process, so that Slack need not send it again."""
        name = _pointer(body)
        if not name:
            return False
        try:
            await self.listening.host.preferences.set(self._owner, name, api.text(body, "event", "type"))
        except StoreError:
            return False
        return True

    async def _drop(self, body: JsonObject) -> None:
        if name := _pointer(body):
            try:
                await self.listening.host.preferences.set(self._owner, name, None)
            except StoreError as error:
                log.log(severity(error), "a message that was taken in will be looked at once more: %s", error)

    async def _again(self, name: str, kind: str) -> None:
        """Read a message that an earlier process could not take in, and take it in."""
        channel, _, rest = name.partition(":")
        root, _, ts = rest.partition(":")
        link, passing = SlackMessageLink(channel, ts, root), (*PASSING, SlackDown, SlackLimited)
        try:
            await self.listening.insist(partial(self._late, link, kind), passing=passing)
        except CogencyError as error:
            log.log(severity(error), "what was asked earlier in %s was not taken in: %s", channel, error)
        await self._drop({"event": {"type": "message", "channel": channel, "thread_ts": root, "ts": ts}})

    async def _late(self, link: SlackMessageLink, kind: str) -> None:
        message = await message_at(self.api, link)
        if message is not None:
            with suppress(Refused):  # nobody waits to be told any more
                await self.intake.handle_event({"event": {**message, "type": kind, "channel": link.channel}}, late=True)


def _channel(body: JsonObject) -> str:
    return api.text(body, "event", "channel")


def _pointer(body: JsonObject) -> str:
    """Where its message is; "" for an event that is none."""
    event = api.fields(body, "event")
    ts = api.text(event, "ts")
    if api.text(event, "type") not in ("message", "app_mention") or not (
        api.text(event, "channel") and inbound.is_ts(ts)
    ):
        return ""
    root = api.text(event, "thread_ts")
    return f"{api.text(event, 'channel')}:{root if root != ts else ''}:{ts}"


OUTAGE = timedelta(minutes=1)  # What was sent into a shorter gap Slack has sent again since

# How long a new message waits for what was missed before it: its acknowledgement is due within three seconds.
FIRST_S = 1.0

# Kinds of places; an app that was installed without im:read is told of its channels alone.
EVERYWHERE = ("public_channel,private_channel,mpim,im", "public_channel,private_channel,mpim")
PAGE = 200
MOST_PAGES = 5  # A thousand places: of more the rest is found once somebody repeats a question there

# Half of the fifty requests a minute that Slack allows: the other half is for questions that come meanwhile.
INTERVAL_S = 2.4


@dataclass(frozen=True, slots=True)
class Spot:
    """A thread, or (without `root`) a channel or direct conversation outside its threads."""

    channel: str
    root: str = ""


@dataclass(slots=True)
class SlackMissed:
    """What was said while no socket was open: read from Slack's history.

    Rules.
    - Slack sends again by itself for some minutes. After a longer gap, and at a start, history is read.
    - Where to look: the threads that the bot had lately, the latest first, and with each the channel or the direct
      messages around it, for new questions: however many threads somebody has. Then everywhere else where the bot is,
      direct messages first: a newcomer's first question, a first mention in a channel, or in a thread that went on
      meanwhile.
    - A place in which something arrives anew is looked at first, so that the order stays, if that takes no longer than
      Slack waits.
    - What does not wait for an answer is not caught up: "stop", commands in words, buttons. Edits are followed as far
      as they stand among the messages that are read; of deletions only those that leave a tombstone can be seen.
    """

    api: SlackApi
    me: SlackBot
    listening: Watermark
    intake: SlackIntake
    budgets: MethodRates = field(default_factory=MethodRates)
    _since: datetime | None = None
    _due: frozenset[Spot] = frozenset()
    _looked: dict[Spot, asyncio.Task[bool]] = field(default_factory=dict[Spot, asyncio.Task[bool]])
    _threads: deque[Spot] = field(default_factory=deque[Spot])
    _went_on: deque[Spot] = field(default_factory=deque[Spot])
    """Threads that went on meanwhile, and in which the bot had no part."""
    _found: int = 0
    _catching_up: asyncio.Task[None] | None = None

    def connected(self) -> None:
        """A socket is open."""
        first = self._catching_up is None
        if first or (not self.listening.behind and self.listening.silent_for() > OUTAGE):
            self._begin(self.listening.since())
        self.listening.connected = True
        self.listening.host.platforms.connected(self.me.app)

    def lost(self, why: str) -> None:
        """The last socket is about to close, or dead."""
        self.listening.connected = False
        self.listening.host.platforms.connected(self.me.app, why)

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
            listed = self.api.pages(Method.CONVERSATIONS, MOST_PAGES, types=kinds, exclude_archived=True, limit=PAGE)
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
                if api.text(message, "edited", "ts") > since or api.text(message, "subtype") == TOMBSTONE:
                    await self._change(spot, message)
                if api.text(message, "ts") > since and await self._take(spot, message):
                    self._found += 1
                    if not spot.root and api.number(message, "reply_count"):
                        self._threads.append(Spot(spot.channel, api.text(message, "ts")))
                elif not spot.root and api.text(message, "latest_reply") > since:
                    thread = Spot(spot.channel, api.text(message, "ts"))
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
        clock, pace = self.listening.clock, self.budgets.queue(f"{method} missed", INTERVAL_S)
        wait = await pace.book(clock.monotonic())
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
            await pace.hold(clock.monotonic(), limited.retry_after_s)
            raise
        return sorted(api.items(page, "messages"), key=lambda message: api.text(message, "ts"))

    async def _change(self, spot: Spot, message: JsonObject) -> None:
        """Take in what an event would have told."""
        now: JsonObject = {"type": "message", "subtype": "message_changed", "channel": spot.channel}
        await self.intake.handle_event({"event": {**now, "message": dict(message)}})

    async def _take(self, spot: Spot, message: JsonObject) -> bool:
        event: JsonObject = {**message, "type": "message", "channel": spot.channel}
        with suppress(Refused):  # nobody waits to be told any more
            return await self.intake.handle_event({"event": dict(event)}, late=True)
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
