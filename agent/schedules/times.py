"""When schedules are due, and their times in words. Pure.

Rules
  A schedule means a time on the clock of its zone: "nine in Berlin" stays nine when the clocks change. A time that the
  clocks skip occurs right after the gap; a time that they show twice occurs once. An hourly rule follows elapsed time.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from agent.cron_rules import comes_too_often, is_hourly, parse_rule, rule_in_words, with_short_months
from agent.schedules.definitions import Timing
from agent.texts import duration_in_words

# The duration of a rule without an end, so that a forgotten one ends by itself.
DEFAULT_DURATION: Final = timedelta(days=180)
# Before such a rule ends, its person is told: two runs of a weekly one, and long enough to come back from a holiday.
LAPSE_NOTICE: Final = timedelta(days=14)
MAX_AHEAD: Final = timedelta(days=5 * 366)  # Into the future: the rules of time zones are hardly known further ahead
MIN_INTERVAL: Final = timedelta(minutes=5)  # Between two times of a rule, on the clock: a chat is no monitor
MAX_WEEKS: Final = 26  # A rule that is rarer than twice a year should be a date
MAX_YEARS: Final = 50  # Into the future: a rule without an occurrence by then never has one
SHOWN_TIMES: Final = 3  # Of a repetition that is confirmed: enough to see what it does


def with_end(timing: Timing, now: datetime) -> Timing:
    """The timing; a rule without an end gets one."""
    if not timing.rule or timing.until is not None:
        return timing
    return replace(timing, until=now + DEFAULT_DURATION, lapses=True)


def renewed(timing: Timing, now: datetime) -> Timing:
    """The timing, for another DEFAULT_DURATION from now on if nobody gave its end."""
    return replace(timing, until=now + DEFAULT_DURATION) if timing.lapses else timing


def has_lapsed(timing: Timing, now: datetime) -> bool:
    """Whether it has no next time only because nobody gave an end."""
    return timing.lapses and next_occurrence(timing, now) is None


def lapses_soon(timing: Timing, time: datetime) -> bool:
    """Whether this occurrence is one of the last before it lapses: within LAPSE_NOTICE, or only one follows."""
    if not timing.lapses or timing.until is None or (following := next_occurrence(timing, time)) is None:
        return False
    return timing.until - time <= LAPSE_NOTICE or next_occurrence(timing, following) is None


def next_occurrence(timing: Timing, after: datetime) -> datetime | None:
    """Return the first time after `after` (aware), in UTC; None if there is none.

    Raises ValueError for an invalid rule or an unknown zone.
    """
    if timing.at is not None:
        at = timing.at.astimezone(UTC)
        return at if at > after else None
    zone, start = zone_of(timing.zone), after.replace(microsecond=0)
    if timing.since is not None and timing.since > start:
        start = timing.since.replace(microsecond=0) - timedelta(seconds=1)
    found = [_next_of(timing, rule, after, start, zone) for rule in with_short_months(timing.rule)]
    return min((moment for moment in found if moment is not None), default=None)


def _next_of(timing: Timing, rule: str, after: datetime, start: datetime, zone: ZoneInfo) -> datetime | None:
    """The first time of one of the rules. `start`: where to look from, no later than `after` or the first day."""
    by_clock = not is_hourly(rule)
    begin: datetime | None = start.astimezone(zone)
    while begin is not None and begin.year <= start.year + MAX_YEARS:
        times = _times(rule, begin.replace(tzinfo=None, fold=0)) if by_clock else _elapsed(rule, begin)
        begin = None
        for found in times:
            moment = moment_of(found, zone) if by_clock else found.astimezone(UTC)
            if timing.until is not None and moment > timing.until:
                return None
            if (begin := _before_next_period(timing, found.date(), zone)) is not None:
                break
            if moment > after:  # else the clocks repeat this time, or it replaced a time that they skipped
                return moment
    return None


def _before_next_period(timing: Timing, day: date, zone: ZoneInfo) -> datetime | None:
    """The last second before the next week or day on which the rule applies; None if it applies on `day`."""
    first = (timing.since or datetime(1970, 1, 5, 12, tzinfo=UTC)).astimezone(zone).date()
    if timing.days > 1:
        begins = day + timedelta(days=-(day - first).days % timing.days)
    else:
        monday = first - timedelta(days=first.weekday())
        ahead = -((day - monday).days // 7) % timing.weeks
        begins = day - timedelta(days=day.weekday()) + timedelta(weeks=ahead) if ahead else day
    if begins == day:
        return None
    return datetime.combine(begins, time(), zone) - timedelta(seconds=1)


def problem_of(timing: Timing, now: datetime) -> str:
    """Return a sentence that says why this cannot be a schedule and what to do, or "": for a time in the past, an
    unknown zone, or a rule that is invalid, never occurs, or occurs more often than every five minutes.
    """
    try:
        zone_of(timing.zone or ("" if timing.at is None else "UTC"))
    except ValueError as error:
        return str(error)
    if (timing.at is None) == (not timing.rule):
        return "Give either a time or a rule."
    if timing.at is not None:
        return _problem_of_moment(timing.at, timing.zone, now)
    if not 1 <= timing.weeks <= MAX_WEEKS:
        return f"Repeat it every 1 to {MAX_WEEKS} weeks."
    # Steps of days and of weeks at once would both leave out days, and hardly ever meet.
    if not 1 <= timing.days <= MAX_WEEKS * 7 or timing.weeks > 1 < timing.days:
        return f"Repeat it every 1 to {MAX_WEEKS * 7} days. Steps of days and steps of weeks cannot be combined."
    try:
        too_often = comes_too_often(timing.rule, MIN_INTERVAL)
        # A rule can be valid and never come, such as the 30th of February.
        comes = next_occurrence(with_end(timing, now), now) is not None
    except ValueError as error:
        return str(error)
    if too_often:
        minutes = MIN_INTERVAL.seconds // 60
        return f"The rule {timing.rule!r} repeats too often. Leave at least {minutes} minutes between two times."
    if timing.until is None:
        within = f"within {DEFAULT_DURATION.days} days. Choose another rule, or set an end date."
        return "" if comes else f"The rule {timing.rule!r} does not occur {within}"
    if timing.until > now + MAX_AHEAD:
        return "The end is too far ahead. Choose one within five years."
    return (
        "" if comes else f"The rule {timing.rule!r} does not occur before its end. Choose another rule or a later end."
    )


def in_words(timing: Timing, now: datetime) -> str:
    """Describe the timing: "Monday, November 24, 09:00 Europe/Berlin; then every Monday at 09:00, until May 24,
    2027".

    "" if there is no next time; "in 20 minutes" if the zone is unknown. Raises ValueError as `next_occurrence`.
    """
    first = next_occurrence(timing, now)
    if first is None:
        return ""
    if not timing.zone:
        return f"in {duration_in_words(first - now)}"
    zone = zone_of(timing.zone)
    today, local = now.astimezone(zone), first.astimezone(zone)
    day = day_in_words(local) if local.year == today.year else day_and_year_in_words(local)
    words = f"{local:%A}, {day}, {local:%H:%M} {timing.zone}"
    if not timing.rule:
        return words
    until = with_end(timing, now).until
    end = "" if until is None else f", until {day_and_year_in_words(until.astimezone(zone))}"
    return f"{words}; then {rule_in_words(timing.rule, timing.weeks, timing.days)}{end}"


def following_in_words(timing: Timing, now: datetime, zone: str) -> str:
    """The next times of a repetition on the clock of `zone`: "Mon, Nov 30, 08:00; Mon, Dec 7, 08:00; Mon, Dec 14,
    08:00".

    "" for a single time, or one in an unknown zone. Raises ValueError as `next_occurrence`.
    """
    if not timing.rule or not timing.zone:
        return ""
    here, found = zone_of(zone or timing.zone), list[datetime]()
    ends = with_end(timing, now)
    while len(found) < SHOWN_TIMES and (moment := next_occurrence(ends, found[-1] if found else now)) is not None:
        found.append(moment)
    shown = [moment.astimezone(here) for moment in found]
    return "; ".join(f"{at:%a}, {at:%b} {at.day}, {at:%H:%M}" for at in shown)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone. Raises ValueError with a sentence if it is unknown."""
    unknown = f"The time zone {name[:60]!r} is unknown. Use one such as Europe/Berlin."
    if not _ZONE.fullmatch(name):
        raise ValueError(unknown)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(unknown) from error


_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}")


def _problem_of_moment(at: datetime, zone: str, now: datetime) -> str:
    if at.tzinfo is None:
        return "The time needs a UTC offset."
    if at <= now:
        local = now.astimezone(zone_of(zone or "UTC"))
        day = day_and_year_in_words(local)
        return f"That time has passed: it is {local:%A}, {day}, {local:%H:%M} {zone or 'UTC'} now."
    return "That time is too far ahead. Choose one within five years." if at > now + MAX_AHEAD else ""


def _times(rule: str, start: datetime) -> Iterator[datetime]:
    """The times of the rule after `start`: on the clock if it has no zone. Ends after fifty years without any."""
    try:
        yield from parse_rule(rule, start)
    except OverflowError:  # the year 10000
        return


def _elapsed(rule: str, begin: datetime) -> Iterator[datetime]:
    """The times of an hourly rule after `begin`, by elapsed time: a time that the clocks show twice occurs twice, one
    that they skip does not occur.
    """
    zone, at = begin.tzinfo, begin.astimezone(UTC)
    while (offset := (at + _SECOND).astimezone(zone).utcoffset()) is not None:
        for found in _times(rule, (at + offset).replace(tzinfo=None)):
            moment = (found - offset).replace(tzinfo=UTC)
            samples = (*(at + timedelta(days=n) for n in range(1, (moment - at).days + 1)), moment)
            changed = next((sample for sample in samples if sample.astimezone(zone).utcoffset() != offset), None)
            if changed is not None:
                at = _clock_change(max(at + _SECOND, changed - timedelta(days=1)), changed, zone) - _SECOND
                break
            yield moment.astimezone(zone)
            at = moment
        else:
            return


_SECOND: Final = timedelta(seconds=1)


def moment_of(clock: datetime, zone: ZoneInfo) -> datetime:
    """The first time when the clocks of the zone show `clock`, in UTC; if they skip it, the end of that gap."""
    late = clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if late.astimezone(zone).replace(tzinfo=None) == clock:
        return late
    early = clock.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _clock_change(early, late, zone)


def _clock_change(early: datetime, late: datetime, zone: tzinfo | None) -> datetime:
    """The time of the clock change that is between these times."""
    before = early.astimezone(zone).utcoffset()
    while late - early > _SECOND:
        middle = (early + (late - early) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late


def day_in_words(local: datetime) -> str:
    """ "May 24"."""
    return f"{local:%B} {local.day}"


def day_and_year_in_words(local: datetime) -> str:
    """ "May 24, 2027"."""
    return f"{day_in_words(local)}, {local.year}"
