"""How counts, money, moments and what people wrote look in every text, in Markdown. Pure."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from agent.spending import NANO, Money


def counted(count: int, one: str, more: str) -> str:
    """ "1 thread", "1,200 threads"."""
    return f"{count:,} {one if count == 1 else more}"


def money(cost: Money) -> str:
    """In dollars, with the digits that matter for a sum of this size; what is not nothing is never shown as nothing."""
    if cost == 0:
        return "$0"
    if cost < NANO // 10_000:
        return "under $0.0001"
    digits = 2 if cost >= NANO else 4
    return f"${cost / NANO:,.{digits}f}"


_MARKDOWN = re.compile(r"[\\`*\[\]<>~|&]|(?<![^\W_])_|_(?![^\W_])|^[#+-]|^(?:\d+)[.)]|^=+$")


def literal(text: str) -> str:
    """`text` on one line, as Markdown that shows exactly these characters."""
    line = " ".join(text.split())
    return _MARKDOWN.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


_BACKTICKS = re.compile("`+")


def as_code(text: str) -> str:
    """`text` as a block of code, in which nothing is read as Markdown, and nobody is mentioned."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def shortened(text: str, chars: int) -> str:
    """`text` on one line, cut at `chars` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[: chars - 1].rstrip()}…"


def local_moment(moment: datetime, zone: str) -> str:
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
