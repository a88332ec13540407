"""Events that could not be stored when they arrived are kept, in order, and retried."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from agent.errors import CogencyError, Refused, StoreError, StoreUnavailable, Unexpected
from agent.messages import JsonObject
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.backoff import OncePerMinute
from bot.chat.logs import severity
from bot.chat.patience import PATIENCE_S, if_slow
from bot.chat.watermark import Watermark
from bot.platforms.slack import api, inbound
from bot.platforms.slack.api import SlackApi, SlackDown, SlackLimited
from bot.platforms.slack.intake import Before, SlackIntake, nothing_missed
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import SlackMemberUnknown
from bot.platforms.slack.sockets import USER_TASKS
from bot.platforms.slack.surroundings import message_at

log = logging.getLogger(__name__)


# Kept in memory; of more, Slack sends some again, and the rest is read from its history after the next start.
MAX_EVENTS: Final = 1_000
ACK_S: Final = 2.0  # An event that takes longer is acknowledged once its pointer is stored: Slack waits three seconds
LIMITED: Final = "app_rate_limited"
TAKE_OUT: Final = "the bot reads them from the channels' history; remove it from channels that do not need it"
REMEDY: Final = "`cogency doctor` shows whether a scope is missing."
PASSING: Final = (StoreUnavailable, SlackMemberUnknown)
# How long an event whose author Slack does not describe holds up those of others in its channel: longer than a failure
# of a moment, in which the order of a conversation counts more.
HOLD_UP_S: Final = 30.0


class _StepAside(Exception):
    """An event has held up others for HOLD_UP_S."""


@dataclass(slots=True)
class EventRetryQueue:
    """Events that could not be stored at once: kept in their order, and retried until they are.

    `before` takes in the messages that were missed before one, `gap` what was not delivered since a time. `notify`
    shows the author of an event why it waits or cannot be accepted; None if that is not known yet.

    Rules
    - Slack gets an answer within three seconds, whatever its Web API does. An event that takes longer, or whose author
      cannot be read now, is acknowledged as soon as a pointer to its message is stored: channel, thread and time stamp,
      no text.
    - An event that cannot be stored is not acknowledged. Slack sends it again a few times; here it is retried without
      end. The ledger dedupes what arrives twice.
    - Later events of the same channel wait behind it; other channels do not. If Slack does not describe its author for
      HOLD_UP_S, only that person's own later events in the channel still wait: nobody may be kept from an answer by an
      account that Slack never describes.
    - The watermark does not move meanwhile. After a restart Slack's history is read from there, and the messages that
      pointers name are read again.
    """

    watermark: Watermark
    api: SlackApi
    intake: SlackIntake
    before: Before
    gap: Callable[[datetime], None]
    notify: Callable[[JsonObject, CogencyError | None], Coroutine[object, object, None]]
    # By channel, or by channel and person for those that have stepped aside: see `_queue_of`.
    _waiting: dict[str, deque[JsonObject]] = field(default_factory=dict[str, "deque[JsonObject]"])
    _last_errors: dict[str, CogencyError] = field(default_factory=dict[str, CogencyError])  # Of retries, by queue
    _unstored: set[str] = field(default_factory=set[str])  # Queues in which an event waits for the database
    _tasks: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(name=USER_TASKS))
    _logged: OncePerMinute = field(default_factory=OncePerMinute)

    async def take(self, body: JsonObject) -> bool:
        """Take an event in. Return False if it is not stored: it must not be acknowledged then."""
        if api.text(body, "type") == LIMITED:
            log.warning("Slack delivers at most 30,000 events per hour and dropped some: %s", TAKE_OUT)
            self.gap(datetime.fromtimestamp(api.number(body, "minute_rate_limited"), UTC))
            return True
        if (queue := self._queue_of(body)) in self._waiting:
            self._enqueue(body)
            if (last_error := self._last_errors.get(queue)) is not None:
                self._tasks.start(self.notify(body, last_error))
            return queue not in self._unstored and await self._store_pointer(body)
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
        with if_slow(lambda: self._tasks.start(self.notify(body, None)), PATIENCE_S - ACK_S):
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
                self._unstored.add(self._queue_of(body))
            self._log(error)
            self._enqueue(body)
            return not isinstance(error, StoreUnavailable) and await self._store_pointer(body)
        if not isinstance(error, CogencyError):
            raise error
        if isinstance(error, Unexpected):  # the same would happen each time that Slack delivers it
            self._tasks.start(self.notify(body, error))
            return True
        log.log(severity(error), "event %s was not accepted: %s", api.text(body, "event_id"), error)
        return False

    def _queue_of(self, body: JsonObject) -> str:
        """Return the name of the queue in which an event waits: its author's own if they have one there."""
        own = _own_queue(body)
        return own if own in self._waiting else _channel_of(body)

    def _enqueue(self, body: JsonObject) -> None:
        events = self._waiting.get(queue := self._queue_of(body))
        if events is None:
            self._open_queue(queue, [body])
        elif sum(map(len, self._waiting.values())) < MAX_EVENTS and body not in events:
            events.append(body)

    def _open_queue(self, queue: str, events: Iterable[JsonObject]) -> None:
        self._waiting[queue] = deque(events)
        self._tasks.start(self._drain(queue))

    async def _drain(self, queue: str) -> None:
        events = self._waiting[queue]
        try:
            while events:
                try:
                    handle = partial(self._handle_first, queue, self.watermark.clock.monotonic() + HOLD_UP_S)
                    await self.watermark.retry(handle, partial(self._notify_all, queue), passing=PASSING)
                except _StepAside:
                    self._step_aside(events)
                    continue
                except CogencyError as error:
                    log.log(severity(error), "event %s was not accepted: %s", api.text(events[0], "event_id"), error)
                    if isinstance(error, Unexpected):
                        self._tasks.start(self.notify(events[0], error))
                await self._delete_pointer(events.popleft())
        finally:
            del self._waiting[queue]
            self._last_errors.pop(queue, None)
            self._unstored.discard(queue)

    async def _handle_first(self, queue: str, until: float) -> bool:
        """Handle the first event of a queue. Raises _StepAside if its author is still unknown at this time, and others
        wait behind it or may.
        """
        body = self._waiting[queue][0]
        try:
            return await self.intake.handle_event(body, self.before)
        except SlackMemberUnknown as error:
            if queue != _own_queue(body) and self.watermark.clock.monotonic() >= until:
                raise _StepAside from error
            raise

    def _step_aside(self, events: deque[JsonObject]) -> None:
        """Move the first event, and the later ones of its author, to a queue of their own."""
        own = _own_queue(events[0])
        theirs = [body for body in events if _own_queue(body) == own]
        others = [body for body in events if _own_queue(body) != own]
        events.clear()
        events.extend(others)
        if own in self._waiting:
            self._waiting[own].extend(theirs)
        else:
            self._open_queue(own, theirs)

    async def _notify_all(self, queue: str, error: CogencyError) -> None:
        self._last_errors[queue] = error
        self._log(error)
        for body in [*self._waiting[queue]]:
            await self.notify(body, error)

    def _log(self, error: CogencyError) -> None:
        """Log that authors cannot be read; an unavailable database is logged elsewhere."""
        if not isinstance(error, SlackMemberUnknown):
            return
        more = self._logged.due(str(error), self.watermark.clock.monotonic())
        if more is not None:
            log.warning("messages wait until Slack says who wrote them: %s%s %s", error.__cause__, more, REMEDY)

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
                log.log(severity(error), "an accepted message will be checked again: %s", error)

    async def _retry_pointer(self, name: str, kind: str) -> None:
        """Read the message that a pointer names, and take it in. `kind`: the type of its event."""
        channel, _, rest = name.partition(":")
        root, _, ts = rest.partition(":")
        link, passing = SlackMessageLink(channel, ts, root), (*PASSING, SlackDown, SlackLimited)
        try:
            await self.watermark.retry(partial(self._handle_pointed, link, kind), passing=passing)
        except CogencyError as error:
            log.log(severity(error), "earlier questions in %s were not accepted: %s", channel, error)
        await self._delete_pointer({"event": {"type": "message", "channel": channel, "thread_ts": root, "ts": ts}})

    async def _handle_pointed(self, link: SlackMessageLink, kind: str) -> None:
        message = await message_at(self.api, link)
        if message is not None:
            with suppress(Refused):  # a late refusal is not shown
                await self.intake.handle_event({"event": {**message, "type": kind, "channel": link.channel}}, late=True)


def _channel_of(body: JsonObject) -> str:
    return api.text(body, "event", "channel")


def _own_queue(body: JsonObject) -> str:
    """Return the name of the queue of an event's author in its channel."""
    author = api.first_text(api.fields(body, "event"), "user", "bot_id")
    return f"{_channel_of(body)}:{author}"


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
