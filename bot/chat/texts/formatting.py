"""How counts, money, moments and what people wrote look in every text, in Markdown. Pure.

Rules of all texts: short, polite, exact American English that says what to do; dates as 2026-11-21; what people wrote
is shown literally, so that a "*" in a fact stays a "*"; nothing is claimed that a receipt does not prove.
"""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from agent.spending import NANO, Money


def counted(count: int, one: str, more: str) -> str:
    """ "1 thread", "1,200 threads"."""
    return f"{count:,} {one if count == 1 else more}"


def enumerated(words: Collection[str]) -> str:
    """Join words, at least one, as in a sentence: "one", "one and two", "one, two, and three"."""
    *others, last = words
    comma = "," if len(others) > 1 else ""
    return f"{', '.join(others)}{comma} and {last}" if others else last


def money(cost: Money) -> str:
    """In dollars, with the digits that matter for a sum of this size; what is not nothing is never shown as nothing."""
    if cost == 0:
        return "$0"
    if cost < NANO // 10_000:
        return "under $0.0001"
    digits = 2 if cost >= NANO else 4
    return f"${cost / NANO:,.{digits}f}"


_MARKDOWN = re.compile(r"[\\`*\[\]<>~|&]|(?<![^\W_])_|_(?![^\W_])|^[#+-]|^(?:\d+)[.)]|^=+$")


def platform_name(name: str) -> str:
    """A platform, or a part of one, as people read it: "Slack" of "slack", "Slack acme" of "slack:acme"."""
    platform, _, part = name.partition(":")
    return f"{platform.capitalize()} {part}".rstrip()


def literal(text: str) -> str:
    """`text` on one line, as Markdown that shows exactly these characters."""
    return _escaped(" ".join(text.split()))


def _escaped(line: str) -> str:
    return _MARKDOWN.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


# What our own sentences mark: what to write, such as `/memory undo`, and the label of a button, such as *Show code*.
_OWN_MARKS: Final = re.compile(
    r"(?<!`)`(?! )[\w /:.,=+#…'-]+(?<! )`(?!`)|(?<![\w*])\*[A-Z](?:[^\W_]|[ ?](?=[^*]))*\??\*(?![\w*])",
)


def sentence_of(error: str) -> str:
    """The sentence of an error on one line, as Markdown. It is ours, but may quote others, so only what looks like a
    mark of our own sentences is formatted, and the rest is literal. Around plain words, such a mark is harmless.
    """
    line, at, parts = " ".join(error.split()), 0, list[str]()
    for found in _OWN_MARKS.finditer(line):
        parts += [_escaped(line[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*parts, _escaped(line[at:])])


# Three backticks end a block of code on Discord and in Slack's mrkdwn, however long its fence is; and Slack does not
# promise that its own form of a link is plain text in code.
_FENCES = re.compile("`{3,}")
_SLACK_LINKS = re.compile(r"<(?=(?:https?|mailto|tel):[^<>\s|]*\|)", re.IGNORECASE)
_JOINER: Final = "\u2060"  # It has no width


def as_code(text: str) -> str:
    """`text` as a block of code, in which nothing is read as Markdown, and nobody is mentioned. It looks the same, but
    what could end the block, or be a link in it, holds a character without width: see `is_exact_in_code`.
    """
    held = _SLACK_LINKS.sub(f"<{_JOINER}", _FENCES.sub(lambda run: _JOINER.join(run[0]), text))
    return f"```\n{held}\n```"


def is_exact_in_code(text: str) -> bool:
    """Whether a block of code holds the text as it is, on every platform."""
    return _FENCES.search(text) is None and _SLACK_LINKS.search(text) is None


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


def long_time(seconds: float) -> str:
    """ "less than a minute", "3 minutes", "5 hours"."""
    minutes = int(seconds / 60)
    if not minutes:
        return "less than a minute"
    return counted(minutes, "minute", "minutes") if minutes < 120 else counted(minutes // 60, "hour", "hours")


def zone_of(name: str) -> tzinfo:
    """The zone of that name in the time zone database, else UTC."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


# Time zones, as people choose them: by the name of a city, or among the common ones.

# With what their clocks are called after: two dozen, as a menu of Discord holds 25 entries, and one says how to choose
# another.
COMMON_ZONES: Final[Mapping[str, str]] = {
    "Pacific/Honolulu": "Honolulu",
    "America/Anchorage": "Anchorage",
    "America/Los_Angeles": "Los Angeles, Vancouver",
    "America/Denver": "Denver, Calgary",
    "America/Mexico_City": "Mexico City",
    "America/Chicago": "Chicago, Dallas",
    "America/Bogota": "Bogota, Lima",
    "America/New_York": "New York, Toronto",
    "America/Sao_Paulo": "São Paulo",
    "America/Argentina/Buenos_Aires": "Buenos Aires",
    "Europe/London": "London, Lisbon, Dublin",
    "Africa/Lagos": "Lagos",
    "Europe/Berlin": "Berlin, Paris, Madrid, Rome",
    "Africa/Johannesburg": "Johannesburg, Cairo",
    "Europe/Kyiv": "Kyiv, Athens, Helsinki",
    "Europe/Istanbul": "Istanbul, Nairobi",
    "Asia/Dubai": "Dubai",
    "Asia/Karachi": "Karachi",
    "Asia/Kolkata": "Delhi, Mumbai",
    "Asia/Bangkok": "Bangkok, Jakarta",
    "Asia/Shanghai": "Beijing, Singapore, Perth",
    "Asia/Tokyo": "Tokyo, Seoul",
    "Australia/Sydney": "Sydney, Melbourne",
    "Pacific/Auckland": "Auckland",
}


def zone_names() -> Collection[str]:
    """Every zone that somebody may choose, the common ones first: those of a region and a city, and UTC."""
    cities = (name for name in sorted(available_timezones()) if "/" in name and not name.startswith("Etc/"))
    return dict.fromkeys((*COMMON_ZONES, *cities, "UTC"))


def zone_named(words: str) -> str:
    """The zone that somebody means: its name, or that of its city; "" for none. Where two cities are called so, it is
    the one of the common zones.
    """
    wanted, known = _plain_zone(words), {_plain_zone(name): name for name in zone_names()}
    cities = [name for plain, name in known.items() if plain.rpartition("/")[2] == wanted]
    return known.get(wanted) or (cities[0] if len(cities) == 1 or (cities[:1] and cities[0] in COMMON_ZONES) else "")


def zone_options(now: datetime) -> Mapping[str, str]:
    """The common zones with their distance from UTC at this moment, from west to east."""
    away = {zone: now.astimezone(ZoneInfo(zone)) for zone in COMMON_ZONES}
    ordered = sorted(COMMON_ZONES, key=lambda zone: away[zone].utcoffset() or timedelta())
    return {zone: f"{away[zone]:%H:%M}, UTC{away[zone].isoformat()[-6:]} · {COMMON_ZONES[zone]}" for zone in ordered}


def _plain_zone(name: str) -> str:
    return "_".join(name.casefold().split()).strip(" .")


def help_text(commands: Mapping[str, str]) -> str:
    """The commands of one platform, as written there, each with what it does."""
    return "\n".join(f"- `{command}`: {what}" for command, what in commands.items())
