"""When a failed delivery is tried again. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final


@dataclass(frozen=True, slots=True)
class RetryLimits:
    first: timedelta = timedelta(seconds=5)
    longest: timedelta = timedelta(hours=1)
    """The pause doubles between these."""
    jitter: float = 0.25
    """The part of a pause that is random, so that receivers that were down are not asked by everyone at once."""
    longest_asked: timedelta = timedelta(hours=6)
    """The longest pause that a receiver can ask for."""
    min_attempts: int = 6
    """Even if the bot, and not the receiver, was down for a day."""


LIMITS: Final = RetryLimits()


def next_attempt(
    failed: int,
    now: datetime,
    until: datetime,
    random: float,
    asked: timedelta | None = None,
    limits: RetryLimits = LIMITS,
) -> datetime | None:
    """Return when to try again; None to give up. `failed`: attempts so far, at least one; `random`: at least 0, less
    than 1; `asked`: the pause that the receiver asked for.
    """
    pause = min(limits.first * 2 ** min(failed - 1, 30), limits.longest)
    pause *= 1 - limits.jitter + 2 * limits.jitter * random
    if asked is not None:
        pause = min(max(pause, asked), limits.longest_asked)
    if failed >= limits.min_attempts and now + pause > until:
        return None
    return now + pause


MAX_DIGITS: Final = 9


def parse_retry_after(value: str, now: datetime) -> timedelta | None:
    """Parse the header Retry-After: seconds, or a date. None for anything else."""
    value = value.strip()
    if value.isascii() and value.isdecimal() and len(value) <= MAX_DIGITS:
        return timedelta(seconds=int(value))
    if not value.isascii() or len(value) > 40:  # a date of HTTP has 29 characters
        return None
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(moment - now, timedelta()) if moment.tzinfo is not None else None
