"""Delivers the events of the outbox: a job for each row and key sends them in order, and tries again what failed.

Rules
  A job sends the oldest event of its key until none waits. One that fails holds back those behind it, and no other key;
  after its last attempt it is listed as failed, and the next one is sent.
  Each row has a worker of its own, so a receiver that hangs delays no other row.
  The body is made for each attempt: words are those that are stored at that moment, if the channel's managers allow
  them then.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol, assert_never

from agent.jobs import Job
from agent.messages import Json
from agent.outgoing import Delivery, OutgoingEvent, job_kind
from agent.ports.clock import Clock
from agent.ports.jobs import Jobs
from agent.ports.outbox import Outbox
from agent.ports.preferences import Preferences
from bot.chat.access.place_rules import rules_at
from bot.chat.backoff import OncePerMinute
from bot.chat.network.guard import Target
from bot.chat.telemetry import SILENT, Telemetry, WebhookEnd, WebhookSent
from bot.webhooks.outgoing import texts
from bot.webhooks.outgoing.retries import LIMITS, RetryLimits, next_attempt
from bot.webhooks.outgoing.rows import OutgoingRow
from bot.webhooks.outgoing.sending import NoLongerWanted, NotReceived, Received, SendResult
from bot.webhooks.outgoing.signing import signed_headers

log = logging.getLogger(__name__)

MAX_WORDS_CHARS: Final = 20_000  # Of a question and of an answer


def event_id(delivery: Delivery) -> str:
    """The id of an event for a row: the same at each attempt."""
    return f"evt_{delivery.time:%Y%m%d%H%M%S}_{delivery.id}"


class Sender(Protocol):
    async def send(self, target: Target, headers: Mapping[str, str], body: bytes, now: datetime, /) -> SendResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryService:
    """Delivers the events of one row. `random`: returns a number from 0 to 1, without 1."""

    row: OutgoingRow
    outbox: Outbox
    preferences: Preferences
    jobs: Jobs
    sender: Sender
    clock: Clock
    random: Callable[[], float]
    telemetry: Telemetry = SILENT
    limits: RetryLimits = LIMITS
    lines: OncePerMinute = field(default_factory=OncePerMinute)

    async def deliver(self, job: Job) -> None:
        """Run the job of a key. Raises StoreError."""
        limits = self.limits
        while (delivery := await self.outbox.next(self.row.name, job.key)) is not None:
            end = await self._attempt(delivery, limits)
            self.telemetry.record(WebhookSent(self.row.name, end))
            if end is WebhookEnd.GIVEN_UP:  # those behind it have waited for the same receiver
                limits = replace(limits, min_attempts=1)
            if end not in {WebhookEnd.DELIVERED, WebhookEnd.GIVEN_UP}:
                return

    async def _attempt(self, delivery: Delivery, limits: RetryLimits) -> WebhookEnd:
        now, name = self.clock.now(), self.row.name
        body = await self._body(delivery)
        headers = signed_headers(self.row.secrets, event_id(delivery), int(now.timestamp()), body)
        result = await self.sender.send(self.row.target, headers, body, now)
        now = self.clock.now()
        match result:
            case Received():
                await self.outbox.delivered(delivery.id)
                return WebhookEnd.DELIVERED
            case NoLongerWanted():
                await self.outbox.disable(name, texts.GONE, now)
                log.warning(texts.DISABLED, name, name)
                return WebhookEnd.DISABLED
            case NotReceived(reason, asked):
                failed = delivery.attempts + 1
                again = next_attempt(failed, now, delivery.until, self.random(), asked, limits)
                if again is None:
                    await self.outbox.give_up(delivery.id, reason, now)
                    self._log(texts.GIVEN_UP, reason)
                    return WebhookEnd.GIVEN_UP
                self._log(texts.TRIED_AGAIN, reason)
                await self.outbox.attempted(delivery.id, reason)
                await self.jobs.schedule(job_kind(name), delivery.key, "", again)
                return WebhookEnd.FAILED
            case _:
                assert_never(result)

    def _log(self, sentence: str, reason: str) -> None:
        if (more := self.lines.due(sentence, self.clock.monotonic())) is not None:
            log.warning(sentence, self.row.name, reason, more)

    async def _body(self, delivery: Delivery) -> bytes:
        data: dict[str, Json] = {**delivery.data}
        if self.row.words and delivery.turn is not None and delivery.event == OutgoingEvent.TURN_FINISHED:
            place = await rules_at(self.preferences, str(data["source"]), str(data["channel"]))
            words = await self.outbox.words(delivery.turn) if place.sends_words else None
            if words is not None:
                data |= {
                    "question": words.question[:MAX_WORDS_CHARS],
                    "answer": words.answer[:MAX_WORDS_CHARS],
                    "is_cut": max(len(words.question), len(words.answer)) > MAX_WORDS_CHARS,
                }
        event = {"type": delivery.event, "timestamp": delivery.time.isoformat(), "data": data}
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    async def delete_old(self, _: Job) -> None:
        """Run the job that deletes failed deliveries after a while. Raises StoreError."""
        await self.outbox.delete_old(self.clock.now())
