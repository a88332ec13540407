"""A moment of the next hours, as a person reads it on their own clock. Pure.

Above: `bot.access` (when a limit ends), `bot.memory` (dates of entries, periods of forgetting). Below: nothing.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo


def at(moment: datetime, zone: str) -> str:
    """ "19:00 (America/New_York)": rounded up to a whole minute, so that it has passed by then.

    `zone`: a name of the time zone database; anything else is read as UTC.
    """
    there = moment.astimezone(zone_of(zone))
    if there.second or there.microsecond:
        there = there.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return f"{there:%H:%M} ({there.tzinfo})"


def zone_of(name: str) -> tzinfo:
    """The zone of that name in the time zone database, else UTC."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC
