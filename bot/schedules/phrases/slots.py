"""Reads the slots of templates that are no rules: digits, lists of days and hours, zones. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.schedules.phrases.grammar import Language, Matcher, Reading, TimeToken
from bot.schedules.phrases.meanings import ACTIONS
from bot.schedules.phrases.values import ClockTime, ClockTimes, EitherDate, OnDate, TimeAfter, ZoneRead, valid_date
from bot.schedules.phrases.zones import ABBREVIATIONS, cities, fixed_zone, zone_names

MAX_LISTED: Final = 7  # Days or hours of one list

_HM: Final = re.compile(
    r"(\d{1,2})\s?[:：hHuU]\s?(\d{1,2})(?:\s?(?:[:：]|min|m)\s?(\d{2})(?:s|\.\d{1,6}(?=Z|[+-]\d))?)?(?![\d:：])"
)
_DOTTED: Final = re.compile(r"(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.]\d|\d)")
_COMPACT: Final = re.compile(r"(\d{1,2})(\d{2})(?!\d)")
_DECIMAL: Final = re.compile(r"(\d{1,4})[.,](\d{1,2})(?!\d)")
_YEAR: Final = re.compile(r"((?:19|20|21)\d{2})(?!\d|\s?[:：])年?")
_HOURS_MINUTES: Final = re.compile(
    r"(\d{1,3})\s?h\s?(\d{1,2})(?!\d)(?:(?:m|\s?(?:minutes|mins?|mn))(?![^\W\d_]))?", re.IGNORECASE
)
_YMD: Final = re.compile(r"((?:19|20|21)\d{2})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_DMY: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(?:\2|\s?,\s?)((?:19|20|21)\d{2}|\d{2})(?!\d|\s?[:：hH])")
_DM: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(\.?)(?!\d|[-/.:：]\d)")
# "UTC+2", "GMT-03:30" and "UTC ±0"; a letter behind it would make it another word.
_OFFSET: Final = re.compile(
    r"(?:UTC|GMT)\s?([+\-\u2212\u00b1]|\+/-)\s?(\d{1,2})(?::?(\d{2}))?(?!\d)\s?h?(?![a-z])", re.IGNORECASE
)
# The offset behind an hour with its minutes, as in ISO 8601: "18:00:00+05:30". Behind a minus it may be the end of a
# period, but for a date and time that are written as one.
_ISO_OFFSET: Final = re.compile(r"([+-])(\d{2}):?(\d{2})(?!\d)")
_BEFORE_PLUS: Final = re.compile(r"\d:\d{2}(?:\.\d{1,6})?\s?\Z")
_BEFORE_MINUS: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?\Z", re.IGNORECASE)
_BEFORE_CHARS: Final = 30  # Of the longest date and time
_IANA: Final = re.compile(r"[A-Z][A-Za-z]{1,31}/[A-Z][A-Za-z0-9_+-]{1,31}(?:/[A-Z][A-Za-z_]{1,31})?")
_FARTHEST: Final = 14 * 60  # Minutes from UTC
_KANJI: Final = re.compile("[〇零一二三四五六七八九十]+")
_KANJI_DIGITS: Final = "〇一二三四五六七八九"


def _kanji_number(text: str) -> int | None:
    """ "二十一" is 21."""
    text = text.replace("零", "〇")
    if "十" not in text:
        return int("".join(str(_KANJI_DIGITS.index(digit)) for digit in text)) if len(text) <= 4 else None
    tens, _, ones = text.partition("十")
    if len(tens) > 1 or len(ones) > 1 or "十" in ones:
        return None
    return 10 * (_KANJI_DIGITS.index(tens) if tens else 1) + (_KANJI_DIGITS.index(ones) if ones else 0)


@dataclass(slots=True)
class SlotReader:
    """Reads one text in one language. Methods return all readings at a token, as `Matcher.read` does."""

    language: Language
    tokens: Sequence[TimeToken]
    text: str
    matcher: Matcher = field(init=False)
    ends: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.ends = {token.end: n + 1 for n, token in enumerate(self.tokens)}
        built_in: Mapping[str, Callable[[int], Iterable[Reading]]] = {
            "hm": self.hm, "dotted": self.dotted, "compact": self.compact, "n": self.n, "padded": self.padded,
            "hour": self.within(0, 24), "minute": self.within(0, 59), "second": self.within(0, 59),
            "hour-word": self.in_words(0, 24), "minute-word": self.in_words(1, 59), "d": self.d, "dth": self.ordinal,
            "nth": self.nth, "day-number": self.day_number, "year": self.year, "numdate": self.numdate,
            "weekdays": self.weekdays, "weekday-range": self.weekday_range,
            "repeateds": self.repeateds, "repeated-range": self.repeated_range, "clocks": self.clocks,
            "duration": self.duration, "hours-minutes": self.hours_minutes, "zone-name": self.zone_name,
            "city": self.city,
        }  # fmt: skip
        self.matcher = Matcher(self.language, self.tokens, ACTIONS, built_in)

    def within(self, first: int, last: int) -> Callable[[int], Iterator[Reading]]:
        def read(at: int) -> Iterator[Reading]:
            yield from ((n, stop) for n, stop in self.cardinal(at) if isinstance(n, int) and first <= n <= last)

        return read

    def in_words(self, first: int, last: int) -> Callable[[int], Iterator[Reading]]:
        def read(at: int) -> Iterator[Reading]:
            found = self.matcher.read("number", at)
            yield from ((n, stop) for n, stop in found if isinstance(n, int) and first <= n <= last)

        return read

    # What is written in digits, at a token.

    def match(self, pattern: re.Pattern[str], at: int) -> tuple[re.Match[str], int] | None:
        found = pattern.match(self.text, self.tokens[at].start)
        return (found, self.ends[found.end()]) if found and found.end() in self.ends else None

    def digits(self, at: int) -> int | None:
        text = self.tokens[at].text
        return int(text) if text.isdecimal() and len(text) <= 4 else None

    def hm(self, at: int) -> Iterator[Reading]:
        if found := self.match(_HM, at):
            sign_is_colon = found[0][0].lstrip("0123456789 ")[0] in ":："
            hour, minute, second = (int(part or 0) for part in found[0].groups())
            if minute < 60 and second < 60 and hour < 24 and not (sign_is_colon and len(found[0][2]) < 2):
                yield ClockTime(hour, minute, second, spoken=1 <= hour <= 6 and found[0][1][0] != "0"), found[1]

    def dotted(self, at: int) -> Iterator[Reading]:
        if found := self.match(_DOTTED, at):
            hour, minute, second = (int(part or 0) for part in found[0].groups())
            if minute < 60 and second < 60 and hour < 24:
                spoken = 1 <= hour <= 6 and found[0][1][0] != "0"
                yield ClockTime(hour, minute, second, spoken=spoken, marked=False), found[1]

    def compact(self, at: int) -> Iterator[Reading]:
        if (found := self.match(_COMPACT, at)) and int(found[0][2]) < 60 and int(found[0][1]) < 24:
            hour = int(found[0][1])
            yield (
                ClockTime(hour, int(found[0][2]), spoken=1 <= hour <= 6 and found[0][1][0] != "0", marked=False),
                found[1],
            )

    def cardinal(self, at: int) -> Iterator[Reading]:
        """Whole numbers, in digits and in words."""
        if (number := self.digits(at)) is not None:
            yield number, at + 1
        if self.language.name == "ja" and (found := self.match(_KANJI, at)):
            number = _kanji_number(found[0][0])
            if number is not None:
                yield number, found[1]
        yield from self.matcher.read("number", at)

    def n(self, at: int) -> Iterator[Reading]:
        if found := self.match(_DECIMAL, at):
            yield float(f"{found[0][1]}.{found[0][2]}"), found[1]
        yield from ((number, stop) for number, stop in self.cardinal(at) if isinstance(number, int) and number <= 1_000)
        yield from ((1, stop) for _, stop in self.matcher.read("one", at))

    def hours_minutes(self, at: int) -> Iterator[Reading]:
        if found := self.match(_HOURS_MINUTES, at):
            yield TimeAfter(seconds=int(found[0][1]) * 3_600 + int(found[0][2]) * 60), found[1]

    def padded(self, at: int) -> Iterator[Reading]:
        if len(text := self.tokens[at].text) == 2 and text.isdecimal() and text[0] == "0":
            yield int(text), at + 1

    def ordinal(self, at: int) -> Iterator[Reading]:
        """Ordinals up to 31, in digits and in words."""
        numbers = self.day_number(at) if self.language.name == "ja" else ((self.digits(at), at + 1),)
        for number, after in numbers:
            if isinstance(number, int) and 1 <= number <= 31:
                yield from ((number, stop) for _, stop in self.matcher.read("suffix", after))
        yield from self.matcher.read("ordinal", at)

    def nth(self, at: int) -> Iterator[Reading]:
        yield from ((number, stop) for number, stop in self.ordinal(at) if isinstance(number, int) and number <= 5)
        yield from ((-1, stop) for _, stop in self.matcher.read("last", at))

    def day_number(self, at: int) -> Iterator[Reading]:
        yield from ((n, stop) for n, stop in self.cardinal(at) if isinstance(n, int) and 1 <= n <= 31)

    def d(self, at: int) -> Iterator[Reading]:
        yield from self.day_number(at)
        yield from self.ordinal(at)

    def year(self, at: int) -> Iterator[Reading]:
        if found := self.match(_YEAR, at):
            yield int(found[0][1]), found[1]

    def numdate(self, at: int) -> Iterator[Reading]:
        """ "2026-12-03", "3.12.2026", "3/4"."""
        name = self.language.name
        if found := self.match(_YMD, at):
            yield valid_date(int(found[0][3]), int(found[0][4]), int(found[0][1])), found[1]
            return
        if found := self.match(_DMY, at):
            first, sign, second, year = found[0].groups()
            if name == "ja" and len(year) == 2:
                return  # the year may stand first
            yield either_date(int(first), int(second), int(year), name, sign), found[1]
            return
        if found := self.match(_DM, at):
            first, sign, second, dot = found[0].groups()
            if sign != "." or dot or name == "ja" or int(second) > 12 or (sign == "." and int(first) > 23):
                yield either_date(int(first), int(second), None, name, sign), found[1]

    # Lists.

    def listed(self, kind: str, at: int, *between: str) -> Iterator[tuple[list[object], int]]:
        """Lists of this kind from there on, of all lengths."""
        values, stop = list[object](), at
        while len(values) < MAX_LISTED and (found := self.matcher.longest(kind, stop)):
            values, stop = [*values, found[0]], found[1]
            yield values, stop
            after = stop
            while after < len(self.tokens) and (self.tokens[after].text in ",/+" or self.matcher.longest("and", after)):
                if next(self.iso_offset(after), None) is not None:
                    return
                link = self.matcher.longest("and", after)
                after = link[1] if link else after + 1
                if after > stop + 3:
                    break
            if after == stop:
                return
            stop = after
            for name in between:
                lead = self.matcher.longest(name, stop)
                stop = lead[1] if lead and self.matcher.longest(kind, stop) is None else stop

    def weekdays(self, at: int) -> Iterator[Reading]:
        """ "Monday", "Monday, Wednesday and Friday", "Monday to Friday"."""
        for values, stop in self.listed("weekday", at, "on", "each"):
            yield tuple(sorted({day for day in values if isinstance(day, int)})), stop

    def repeateds(self, at: int) -> Iterator[Reading]:
        """ "Mondays and Thursdays"."""
        for values, stop in self.listed("repeated", at, "on"):
            yield tuple(sorted({day for day in values if isinstance(day, int)})), stop

    def weekday_range(self, at: int) -> Iterator[Reading]:
        """ "Mon-Fri", "lundi à vendredi"."""
        yield from self.range_of("weekday", at)

    def repeated_range(self, at: int) -> Iterator[Reading]:
        """ "montags bis freitags"."""
        yield from self.range_of("repeated", at)

    def range_of(self, kind: str, at: int) -> Iterator[Reading]:
        lead = self.matcher.longest("range-from", at)
        first = self.matcher.longest(kind, lead[1] if lead else at)
        link = self.matcher.longest("to", first[1]) if first else None
        inner = link[1] if link else at
        on = self.matcher.longest("on", inner)
        last = link and (self.matcher.longest(kind, inner) or (on and self.matcher.longest(kind, on[1])))
        if first and last and isinstance(first[0], int) and isinstance(last[0], int):
            # Through the end of the week: "Friday to Monday" are four days.
            days = tuple(sorted((first[0] + n) % 7 for n in range((last[0] - first[0]) % 7 + 1)))
            stop = last[1]
            end = self.matcher.longest("range-end", stop)
            yield days, end[1] if end else stop

    def clocks(self, at: int) -> Iterator[Reading]:
        """Times of a day. "9, 12 und 17 Uhr": a word behind the last one, or before the first, marks all of them."""
        yield from self.matcher.read("clock", at)
        for values, stop in self.listed("clock", at):
            times = [value for value in values if isinstance(value, ClockTime)]
            if len(times) > 1 and any(time.marked for time in times):
                last_part = times[-1].part if all(not time.part for time in times[:-1]) else ""
                if last_part and any(time.hour % 12 > times[-1].hour % 12 for time in times[:-1]):
                    continue  # "11 and 2pm" may mean 11 in the morning
                yield ClockTimes(tuple(replace(time, marked=True, part=time.part or last_part) for time in times)), stop

    def duration(self, at: int) -> Iterator[Reading]:
        """ "1 hour and 30 minutes"."""
        total, stop = TimeAfter(), at
        for _ in range(4):
            found = self.matcher.longest("amount", stop)
            if found is None or not isinstance(found[0], TimeAfter):
                return
            if len({value for value, end in self.matcher.read("amount", stop) if end == found[1]}) > 1:
                return  # "quinze jours" are two weeks, or fifteen days
            total, stop = total + found[0], found[1]
            yield total, stop
            stop += stop < len(self.tokens) and self.tokens[stop].text == ","
            link = self.matcher.longest("and", stop)
            stop = link[1] if link else stop

    # Zones.

    def zone_name(self, at: int) -> Iterator[Reading]:
        if found := self.match(_OFFSET, at):
            sign, hours, minutes = found[0].groups()
            east = (int(hours) * 60 + int(minutes or 0)) * (-1 if sign in "-\u2212" else 1)
            if abs(east) <= _FARTHEST:
                yield ZoneRead(fixed_zone(east), east), found[1]
        yield from self.iso_offset(at)
        if (found := self.match(_IANA, at)) and found[0][0] in zone_names():
            yield ZoneRead(found[0][0]), found[1]
        token = self.tokens[at]
        if (name := ABBREVIATIONS.get(self.text[token.start : token.end].upper())) is not None and (
            len(token.text) > 2 or self.text[token.start : token.end].isupper()
        ):
            yield ZoneRead(*name), at + 1

    def iso_offset(self, at: int) -> Iterator[Reading]:
        if found := self.match(_ISO_OFFSET, at):
            sign, hours, minutes = found[0].groups()
            east = (int(hours) * 60 + int(minutes)) * (-1 if sign == "-" else 1)
            begin = found[0].start()
            before = _BEFORE_MINUS if sign == "-" else _BEFORE_PLUS
            is_behind_time = before.search(self.text[max(0, begin - _BEFORE_CHARS) : begin]) is not None
            if is_behind_time and abs(east) <= _FARTHEST and int(minutes) < 60:
                yield ZoneRead(fixed_zone(east), east), found[1]

    def city(self, at: int) -> Iterator[Reading]:
        yield from ((ZoneRead(str(name)), stop) for name, stop in self.matcher.read("place", at))
        node = cities()
        stop = at
        while stop < len(self.tokens) and (following := node.words.get(self.tokens[stop].text)) is not None:
            node, stop = following, stop + 1
            yield from ((ZoneRead(str(name)), stop) for name in node.values)


def either_date(first: int, second: int, year: int | None, language: str, sign: str) -> OnDate | EitherDate | None:
    """A date of which the language says whether the day or the month comes first; in English it may be either."""
    day_first, month_first = valid_date(second, first, year), valid_date(first, second, year)
    if language == "en" and sign != "." and day_first and month_first and day_first != month_first:
        return EitherDate((day_first, month_first))
    prefers_month = language == "ja" or (language == "en" and sign != ".")
    return (month_first or day_first) if prefers_month else (day_first or month_first)
