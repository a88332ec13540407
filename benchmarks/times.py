"""How many times in people's own words are read right, in eight languages.

python -m benchmarks.times --data FOLDER [--quick] [--json]     FOLDER: Recognizers-Text's specifications, by language

right_LANG   share of the phrases that are confirmed as the time that the specification gives, or asked back only for
             what the phrase leaves open (the hour of a day; morning or evening of "at seven"), in percent
wrong_LANG   share that is confirmed as another time, or with a part of the phrase left in the reminder's text
asked_LANG   all others: the bot asks back, and nothing is stored
baseline     the same three for `dateparser`, on the same phrases: what it finds at the beginning of the text is taken

A phrase is what the specification marks as the time, with a preposition that stands before it, and followed by "call
Ann". It is read in UTC, at the reference time of the specification. A duration is read as "in three hours", a time zone
behind "2016-11-08 09:00". Left out, and counted by reason at the end: what cannot be a reminder ("now"; the past,
unless it is confirmed), or what has no one right answer (a span of days, a wrong resolution). `--quick` takes every
fourth phrase.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

from agent.schedules.definitions import Timing
from agent.schedules.times import next_occurrence
from benchmarks.report import Options, print_report, read_options
from bot.schedules.phrases.reading import When, WhenRead, WhenUnclear, read_when

LANGUAGES: Final = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "ja": "Japanese",
}  # fmt: skip
PARSERS: Final = (
    "DateTimeParser", "TimeParser", "DateParser", "DurationParser", "SetParser", "TimeZoneParser",
    "DateTimeModelTasksMode",
)  # fmt: skip
ASKED: Final = "call Ann"
ZONE: Final = ZoneInfo("UTC")
NOW: Final = datetime(2016, 11, 7, tzinfo=UTC)  # Where a specification has no reference time
LATER: Final = {
    "en": "in {}", "de": "in {}", "fr": "dans {}", "es": "en {}", "it": "tra {}", "pt": "em {}", "nl": "over {}",
    "ja": "{}後に",
}  # fmt: skip
# What stands before a marked time and belongs to it, as a person would write it.
PREPOSITIONS: Final = {
    "en": "at on in for by the",
    "de": "um am den ab gegen",
    "fr": "à a le la vers pour dans",
    "es": "a las la el en del",
    "it": "alle il all' le per",
    "pt": "às as à no na dia em",
    "nl": "om op de rond tegen",
    "ja": "",
}
# Of the text, why its resolution is no measure, for what the specification marks as a time or a repetition.
DISPUTED: Final = (
    (r"\b(other|alternate|sur deux|om de|altri|alterni)\b", "every other week, resolved as every week"),
    (r"ampm", "both halves of the day at once"),
    (
        r"five thirty in the night|night five thirty|cinq trente dans la nuit",
        "half past five in the night, resolved as 17:30",
    ),
    (r"cinque e mezza di notte|di notte alle cinque", "half past five in the night, resolved as 17:30"),
    (r"^10h13$|^9 heures, le 22/12/2016$", "resolved as another hour"),
    (r"^9am la domenica$", "every Sunday, resolved as one"),
    (r"^west coast timezone$", "a zone without its season"),
    (r"^in de middag$", "a part of the day, resolved as a zone"),
    (r"(^|\D)(2[5-9]|3\d)\s*(時|:\d\d)", "an hour beyond the day, or a date with a colon"),
    (r"旧暦", "a date of the lunar calendar"),
    (r"^\W*\d{1,2}\W*$", "a bare number"),
)

SPELLED: Final = frozenset({"DurationParser", "TimeZoneParser"})  # Read behind other words

Verdict: TypeAlias = Literal["right", "asked", "wrong"]


# --------------------------------------------------------------------------------------------------
# What a phrase means.


@dataclass(frozen=True, slots=True)
class OnDay:
    """A day without an hour."""

    day: date


@dataclass(frozen=True, slots=True)
class Repeats:
    """A repetition, in TIMEX3: "P2W", "XXXX-WXX-1T16", "TMO"."""

    timex: str


@dataclass(frozen=True, slots=True)
class Past:
    """A time that is over: it counts only if it is confirmed as another one."""


Meant: TypeAlias = datetime | OnDay | time | Repeats | Past


@dataclass(frozen=True, slots=True)
class Phrase:
    language: str
    text: str
    now: datetime
    meant: Meant


@dataclass(frozen=True, slots=True)
class LeftOut:
    reason: str


def read_phrases(folder: Path) -> Iterator[Phrase | LeftOut]:
    """Read all phrases of the specifications in this folder."""
    for language, name in LANGUAGES.items():
        for parser in PARSERS:
            path = folder / name / f"{parser}.json"
            specified: list[Any] = json.loads(path.read_text("utf-8-sig")) if path.exists() else []
            for entry in specified:
                results = entry.get("Results", [])
                if len(results) == 1:
                    yield phrase_of(language, parser, entry, results[0])
                else:
                    yield LeftOut("no time, or several")


def phrase_of(language: str, parser: str, entry: Mapping[str, Any], result: Mapping[str, Any]) -> Phrase | LeftOut:
    if "ReferenceDateTime" not in entry.get("Context", {}) and parser in {"DateTimeParser", "DateParser"}:
        return LeftOut("no reference time")
    now = datetime.fromisoformat(entry.get("Context", {}).get("ReferenceDateTime", NOW.isoformat())[:19])
    now = now.replace(tzinfo=UTC)
    given = entry["Input"]
    start = result.get("Start", given.casefold().find(result["Text"].casefold()))
    text = given[start : start + len(result["Text"])].strip() if start >= 0 else result["Text"]
    for pattern, reason in DISPUTED:
        if re.search(pattern, text, re.IGNORECASE):
            return LeftOut(reason)
    before = given[: max(start, 0)].split()
    if before and before[-1].casefold() in PREPOSITIONS[language].split() and parser not in SPELLED:
        text = f"{before[-1]} {text}"
    if parser == "DurationParser":
        text = LATER[language].format(text)
    elif parser == "TimeZoneParser":
        text = f"2016-11-08 09:00 {text}"
    meant = meaning_of(parser, result, now)
    return meant if isinstance(meant, LeftOut) else Phrase(language, text, now, meant)


def meaning_of(parser: str, result: Mapping[str, Any], now: datetime) -> Meant | LeftOut:
    value: Mapping[str, Any] = result.get("Value") or result.get("Resolution") or {}
    if parser == "TimeZoneParser":
        minutes = int(value.get("TimeZoneResolution", {}).get("UtcOffsetMins", -10_000))
        if minutes == -10_000:
            return LeftOut("a zone without one distance from UTC")
        return datetime(2016, 11, 8, 9, tzinfo=UTC) - timedelta(minutes=minutes)
    if "values" in value:
        return _of_values(value["values"], now)
    timex = str(value.get("Timex", ""))
    if timex.endswith("_REF") or "23:59:59" in timex:
        return LeftOut("now, or the end of a day")
    if parser == "DurationParser":
        return _after(timex, now)
    resolved: Mapping[str, str] = value.get("FutureResolution", {})
    for kind, written in resolved.items():
        if kind == "set":
            return LeftOut("a part of a repetition") if "(" in timex else Repeats(timex)
        try:
            return _of_kind(kind, written, now)
        except ValueError:
            break
    return LeftOut("a resolution that is no time")


def _of_kind(kind: str, written: str, now: datetime) -> Meant | LeftOut:
    match kind:
        case "dateTime" | "datetime":
            moment = datetime.fromisoformat(written).replace(tzinfo=UTC)
            return moment if moment > now else Past()
        case "date":
            day = date.fromisoformat(written)
            return OnDay(day) if day >= now.date() else Past()
        case "time":
            return time.fromisoformat(written)
        case _:
            return LeftOut("a span of days or hours")


def _of_values(values: Sequence[Mapping[str, str]], now: datetime) -> Meant | LeftOut:
    """The meaning by the model of tasks: the future one of several."""
    for value in values:
        if value["type"] == "set":
            return LeftOut("a repetition in another form")
        if value["type"] not in {"date", "time", "datetime"} or "Mod" in value:
            return LeftOut("a span of days or hours")
        meant = _of_kind(value["type"], value["value"], now)
        if not isinstance(meant, LeftOut | Past):
            return meant
    return Past()


_TIMEX_PARTS: Final = re.compile(r"P(?:([\d.]+)Y)?(?:([\d.]+)M)?(?:([\d.]+)W)?(?:([\d.]+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?")  # fmt: skip  # noqa: E501 -- the parts of a duration


def _after(timex: str, now: datetime) -> datetime | LeftOut:
    if not (match := _TIMEX_PARTS.fullmatch(timex)):
        return LeftOut("a duration in days of work")
    years, months, weeks, days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    whole = years * 12 + months
    if whole % 1 or days % 1 or weeks % 1 or seconds % 1:
        return LeftOut("a part of a year, a day or a second")
    month = now.month - 1 + int(whole)
    moment = now.replace(year=now.year + month // 12, month=month % 12 + 1)
    return moment + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=int(seconds))


# --------------------------------------------------------------------------------------------------
# Judging.


def judge(phrase: Phrase, when: When) -> Verdict:
    """`when`: what was read from the phrase with `ASKED` behind it."""
    match when:
        case None:
            return "asked"
        case WhenRead(timing) if timing.at is not None and timing.at <= phrase.now:
            return "asked"  # a time that is over is refused
        case WhenRead(timing, words):
            return "right" if words == ASKED and _is_meant(timing, phrase, asked=False) else "wrong"
        case WhenUnclear(choices):
            again = [read_when(choice.words, phrase.now, ZONE) for choice in choices]
            read = [one for one in again if isinstance(one, WhenRead)]
            if any(one.words != ASKED for one in read):
                return "wrong"
            meant = len(read) == len(choices) > 0 and all(_is_meant(one.timing, phrase, asked=True) for one in read)
            return "right" if meant else "asked"


def _is_meant(timing: Timing, phrase: Phrase, *, asked: bool) -> bool:
    """`asked`: the hour, or the half of the day, may be another."""
    match phrase.meant:
        case datetime() as moment:
            halves = (timedelta(), timedelta(hours=12), timedelta(hours=-12)) if asked else (timedelta(),)
            return timing.at is not None and timing.at - moment in halves
        case OnDay(day):
            return timing.at is not None and timing.at.date() == day
        case time() as clock:
            hours = {clock.hour, (clock.hour + 12) % 24} if asked else {clock.hour}
            at = timing.at
            return at is not None and at.hour in hours and (at.minute, at.second) == (clock.minute, clock.second)
        case Past():
            return False
        case Repeats(timex):
            return bool(timing.rule) and _repeats(timex, timing, phrase.now, asked=asked)


_PARTS: Final = {"TMO": (4, 12), "TAF": (12, 18), "TEV": (16, 23), "TNI": (18, 24)}
_SET: Final = re.compile(r"(?:XXXX-WXX-(?P<weekday>\d)|XXXX-(?P<month>\d\d)-(?P<day>\d\d)|P(?P<count>\d)(?P<unit>WE|[DWMY])|)(?:T(?P<hour>\d\d)(?::(?P<minute>\d\d))?(?:P1D)?|(?P<part>T[A-Z]{2}))?")  # fmt: skip  # noqa: E501 -- all forms of a repetition


def _repeats(timex: str, timing: Timing, now: datetime, *, asked: bool) -> bool:
    if not (form := _SET.fullmatch(timex)):
        return False
    moments, at = list[datetime](), now
    for _ in range(8):
        following = next_occurrence(replace(timing, until=None), at)
        if following is None:
            return False
        moments.append(following)
        at = following
    hours = _PARTS.get(form["part"], (0, 24))
    if not all(hours[0] <= moment.hour < hours[1] for moment in moments):
        return False
    if form["hour"]:
        halves = {int(form["hour"]), int(form["hour"]) + 12} if asked else {int(form["hour"])}
        if not all(m.hour in halves and m.minute == int(form["minute"] or 0) for m in moments):
            return False
    gaps = [(later.date() - earlier.date()).days for earlier, later in pairwise(moments)]
    months = [(later.year - earlier.year) * 12 + later.month - earlier.month for earlier, later in pairwise(moments)]
    count = int(form["count"] or 1)
    match form["weekday"], form["month"], form["unit"]:
        case str() as weekday, _, _:
            return set(gaps) == {7} and moments[0].isoweekday() == int(weekday)
        case _, str() as month, _:
            return {(moment.month, moment.day) for moment in moments} == {(int(month), int(form["day"]))}
        case _, _, "W":
            return set(gaps) == {7 * count}
        case _, _, "WE":
            return {moment.isoweekday() for moment in moments} <= {6, 7}
        case _, _, "M" | "Y" as unit:
            return set(months) == {count * (12 if unit == "Y" else 1)}
        case _:
            return set(gaps) == {count}


def _by_dateparser(phrase: Phrase) -> When:
    """What `dateparser` finds at the beginning of the text; the rest are the words."""
    settings = {"RELATIVE_BASE": phrase.now.replace(tzinfo=None), "PREFER_DATES_FROM": "future"}
    text = f"{phrase.text} {ASKED}"
    search: Callable[..., list[tuple[str, datetime]] | None] = import_module("dateparser.search").search_dates
    found = search(text, languages=[phrase.language], settings=settings) or []
    if not found or not text.startswith(found[0][0]):
        return None
    moment = found[0][1].replace(tzinfo=found[0][1].tzinfo or UTC)
    words = text.removeprefix(found[0][0]).strip(" ,.;")
    if isinstance(phrase.meant, OnDay) and moment.date() == phrase.meant.day and words == ASKED:
        return read_when(f"{moment.date()} {ASKED}", phrase.now, ZONE)  # it takes the present hour: as if it asked
    return WhenRead(Timing("UTC", at=moment), words)


def _verdicts(judged: Sequence[tuple[Phrase, Verdict]]) -> Counter[Verdict]:
    """How often each was said. A time that is over counts only if it was confirmed."""
    return Counter(said for phrase, said in judged if said == "wrong" or not isinstance(phrase.meant, Past))


def run(options: Options) -> None:
    if options.data is None:
        raise SystemExit("Say where the specifications are: --data FOLDER, with a folder for each language.")
    read = list(read_phrases(options.data))
    left_out = Counter(one.reason for one in read if isinstance(one, LeftOut))
    phrases = [one for one in read if isinstance(one, Phrase)]
    if not phrases:
        raise SystemExit(f"{options.data} has no specifications.")
    phrases = phrases[:: 4 if options.quick else 1]
    shares, baseline = dict[str, float](), dict[str, float]()
    for language in LANGUAGES:
        ours = [one for one in phrases if one.language == language]
        own = _verdicts([(one, judge(one, read_when(f"{one.text} {ASKED}", one.now, ZONE))) for one in ours])
        other = _verdicts([(one, judge(one, _by_dateparser(one))) for one in ours])
        for verdict in ("right", "asked", "wrong"):
            shares[f"{verdict}_{language}"] = round(100 * own[verdict] / max(own.total(), 1), 1)
            baseline[f"{verdict}_{language}"] = round(100 * other[verdict] / max(other.total(), 1), 1)
    reasons = "".join(f"\n  {count:5}  {reason}" for reason, count in left_out.most_common())
    print_report("times", shares, baseline, options, f"{len(phrases)} phrases; left out:{reasons}")


if __name__ == "__main__":
    run(read_options("How many times in people's own words are read right, in eight languages."))
