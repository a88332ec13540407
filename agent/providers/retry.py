"""Whether and when a failed request is made again. Pure: chance and time of day are arguments.

Above: `agent.providers.replay`. Below: `agent.providers.faults`.

Rules. Only before the first event: what a person has seen begin is never begun again. Only what was not worked on: a
refusal says so, a connection that was never made shows it; after any other silence the request may be running, and the
person decides. What the service asks for (`retry-after`, `x-should-retry`) holds; where it asks for more than we are
ready to wait, we do not wait at all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from agent.providers.faults import Fault, FaultKind

RETRIED = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    max_retries: int = 2
    """As many as the vendors' own clients make."""
    first_delay_s: float = 0.5
    max_delay_s: float = 8.0
    max_total_wait_s: float = 30.0
    """Longer than that, a person would rather read a sentence than wait."""
    jitter: float = 0.25
    """The share of a delay that chance may take away, so that many clients do not come back together."""

    def delay_s(self, fault: Fault, retries: int, waited_s: float, chance: float) -> float | None:
        """Seconds until the next attempt, or None for no further one.

        `retries` were made and `waited_s` were spent so far; `chance` is in [0, 1).
        """
        if retries >= self.max_retries or not _worth_it(fault):
            return None
        delay = fault.retry_after_s
        if delay is None:
            delay = min(self.first_delay_s * 2**retries, self.max_delay_s) * (1 - self.jitter * chance)
        return delay if waited_s + delay <= self.max_total_wait_s else None


def _worth_it(fault: Fault) -> bool:
    match fault.kind:
        case FaultKind.ANSWERED if fault.should_retry is not None:
            return fault.should_retry
        case FaultKind.ANSWERED:
            return (fault.status in RETRIED or fault.status >= 500) and not fault.no_credit
        case FaultKind.UNREACHABLE:
            return fault.should_retry is True
        case FaultKind.SLOW | FaultKind.CUT | FaultKind.UNREADABLE:
            return False


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """What `x-should-retry` says, or None."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower())


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """The wait that the service asks for, in `retry-after-ms` or `retry-after` (seconds, or a date), or None.

    The names of `headers` are in lower case; `now` is aware.
    """
    if (seconds := asked_wait_s(headers)) is not None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(headers["retry-after"]) - now).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """As `retry_after_s`, of headers that name a number of seconds: what stands inside an event of a stream."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None
