"""What came and could not be taken in at once: kept in its order, and tried until it works.

Rules
- Slack is answered within three seconds, whatever its Web API does. An event that takes longer, or whose author Slack
  does not tell now, is acknowledged as soon as a pointer to its message is stored: its place and time stamp, no words.
- What cannot be stored is not acknowledged. Slack sends it again a few times; here it is tried until it can be stored,
  however long that takes. The ledger knows what came twice.
- What comes meanwhile in the same channel waits behind it; other channels do not.
- The time until which everything has come in stands still meanwhile. After a restart Slack's history is read from
  there, and the messages that are pointed to are read again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from agent.errors import CogencyError, Refused, StoreError, StoreUnavailable
from agent.messages import JsonObject
from bot.backoff import OncePerMinute
from bot.logs import severity
from bot.platforms.slack import inbound
from bot.platforms.slack.api import SlackApi, SlackDown, SlackLimited, fields, number, text
from bot.platforms.slack.intake import Before, SlackIntake, nothing_missed
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import SlackMemberUnknown
from bot.platforms.slack.sockets import ASKED, TaskGroup
from bot.platforms.slack.surroundings import message_at
from bot.turns.watermark import Watermark

log = logging.getLogger(__name__)

MOST: Final = 1_000
"""Events that are kept in memory; more are left to Slack, and to its history after the next start."""
ACK_S: Final = 2.0
"""How long an event may take before it is acknowledged by its pointer: Slack waits for three seconds."""
EVENT: Final = "event_callback"
LIMITED: Final = "app_rate_limited"
TAKE_OUT: Final = "they are read from the history; take the bot out of channels that do not need it"
REMEDY: Final = "`cogency doctor` says whether a scope is missing."
PASSING: Final = (StoreUnavailable, SlackMemberUnknown)


@dataclass(slots=True)
class EventRetryQueue:
    """`before` takes in what was missed before a message, `gap` what was not delivered since then. `tell` says to the
    author of an event that it has to wait, and why.
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
    _underway: TaskGroup = field(default_factory=lambda: TaskGroup(name=ASKED))
    _logged: OncePerMinute = field(default_factory=OncePerMinute)

    async def take(self, body: JsonObject) -> bool:
        """Take an event in. False: it is not stored, so do not acknowledge it."""
        if text(body, "type") == LIMITED:
            log.warning("Slack delivers no more than 30,000 events an hour, and left some out: %s", TAKE_OUT)
            self.gap(datetime.fromtimestamp(number(body, "minute_rate_limited"), UTC))
            return True
        if (channel := _channel(body)) in self._lanes:
            self._put(body)
            if (why := self._why.get(channel)) is not None:
                self._underway.begin(self.tell(body, why))
            return channel not in self._unstored and await self._keep(body)
        before = self.before if self.listening.behind else nothing_missed
        seeing = asyncio.create_task(self.intake.see(body, before), name=ASKED)
        self._underway.follow(seeing)
        await asyncio.wait({seeing}, timeout=ACK_S)
        if not seeing.done():
            self._underway.begin(self._after(seeing, body))
            return await self._keep(body)
        return (error := seeing.exception()) is None or await self._failed(body, error)

    async def resume(self) -> None:
        """Take in what an earlier process kept. Raises StoreError."""
        for name, kind in (await self.listening.host.preferences.of(self._owner)).items():
            self._underway.begin(self._again(name, kind))

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
        log.log(severity(error), "event %s was not taken in: %s", text(body, "event_id"), error)
        return False

    def _put(self, body: JsonObject) -> None:
        channel = _channel(body)
        lane = self._lanes.get(channel)
        if lane is None:
            self._lanes[channel] = deque([body])
            self._underway.begin(self._take_all(channel))
        elif sum(map(len, self._lanes.values())) < MOST and body not in lane:
            lane.append(body)

    async def _take_all(self, channel: str) -> None:
        lane = self._lanes[channel]
        try:
            while lane:
                try:
                    see = partial(self.intake.see, lane[0], self.before)
                    await self.listening.insist(see, partial(self._tell_all, channel), passing=PASSING)
                except CogencyError as error:
                    log.log(severity(error), "event %s was not taken in: %s", text(lane[0], "event_id"), error)
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
            await self.listening.host.preferences.set(self._owner, name, text(body, "event", "type"))
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
                await self.intake.see({"event": {**message, "type": kind, "channel": link.channel}}, late=True)


def _channel(body: JsonObject) -> str:
    return text(body, "event", "channel")


def _pointer(body: JsonObject) -> str:
    """Where its message is; "" for an event that is none."""
    event = fields(body, "event")
    ts = text(event, "ts")
    if text(event, "type") not in ("message", "app_mention") or not (text(event, "channel") and inbound.is_ts(ts)):
        return ""
    root = text(event, "thread_ts")
    return f"{text(event, 'channel')}:{root if root != ts else ''}:{ts}"
