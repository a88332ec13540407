"""Reads words about times: "every Monday", "halb neun", 20分後. Pure.

A time is a sequence of items, each of which has a role ("day", "clock", "every"): the sequence that covers most of the
text counts. Words that are not understood do not belong to it; `TimeReader.left_over` says which of them look like a
part of a time all the same. What people write is in schedule_lexicon.toml.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.schedules.phrases.grammar import Node, TimeToken, is_spaceless
from bot.schedules.phrases.lexicon import meals, strong_words, vocabulary
from bot.schedules.phrases.slots import SlotReader
from bot.schedules.phrases.values import ClockTime, OnMonthday, OnWeekdays, Repetition, Roles, TimeValue
from bot.schedules.phrases.zones import UNCLEAR_ZONES

MAX_ITEMS: Final = 9  # Of one time: "every Monday except … at 9:00 and 17:00 from … until …" has seven
MAX_STEPS: Final = 400  # Items that are tried for one time; real texts need some dozen
SEARCHED: Final = 30  # Words at both ends of the text in which a part of a time is looked for
_BEFORE_PLACES: Final = frozenset({"in", "at", "a", "en", "em"})  # In all languages: "9:00 in Tokyo" may mean a zone
BESIDE: Final = 4  # Words behind a time that may belong to it: "just before lunch"
_SMALL_WORDS: Final = ("filler", "on", "of", "the", "at", "in", "and", "about", "until-word", "to", "between-word")
_STRONG: Final = ("every", "after", "tonight", "day", "clock", "until", "lasting", "between", "amount", "part")
_GLUED: Final = re.compile(r"[-/.':\u2019]?[^\W_]")
_TRAILING: Final = frozenset(".!?。、,;:")


@dataclass(frozen=True, slots=True)
class TimeItem:
    """`role`: one of `ROLES`. `end`: the token behind it."""

    role: str
    value: TimeValue
    start: int
    end: int


# The rules that are items, with their roles; where two cover the same words, the first counts.
ROLES: Final = {
    "zone": "zone", "between": "between", "until": "until", "from": "from", "lasting": "lasting", "except": "except",
    "every": "every", "after": "after", "tonight": "day", "day": "day", "clocks": "clock", "part": "part",
}  # fmt: skip


@dataclass(slots=True)
class TimeReader:
    """Finds times in one text, in one language."""

    slots: SlotReader
    steps: int = 0
    items: dict[int, Sequence[Sequence[TimeItem]]] = field(default_factory=dict[int, Sequence[Sequence[TimeItem]]])

    # Sequences of items.

    def end(self) -> int:
        """Return the token behind the last one that is not punctuation."""
        end = len(self.slots.tokens)
        while end and self.slots.tokens[end - 1].text in _TRAILING:
            end -= 1
        return end

    def is_text(self, at: int, *texts: str) -> bool:
        return at < len(self.slots.tokens) and self.slots.tokens[at].text in texts

    def is_before_blank(self, at: int) -> bool:
        return self.slots.text[self.slots.tokens[at].end :][:1].isspace()

    def take(self, at: int, *lists: str) -> tuple[str, int] | None:
        """Return the list of the longest words there."""
        found = [(match[1], name) for name in lists if (match := self.slots.matcher.longest(name, at))]
        return (name, stop) if found and (stop := max(found)[0]) and (name := max(found)[1]) else None

    def items_at(self, at: int) -> Sequence[Sequence[TimeItem]]:
        """Return what may stand there: items, or several that one rule means. Each sequence of items asks again."""
        if at not in self.items:
            self.items[at] = [*self._items_at(at)]
        return self.items[at]

    def _items_at(self, at: int) -> Iterator[Sequence[TimeItem]]:
        for kind, role in ROLES.items():
            for value, stop in self.slots.matcher.read(kind, at):
                if isinstance(value, Roles):
                    yield [TimeItem(name, one, at, stop) for name, one in value.values]
                else:
                    yield [TimeItem(role, value, at, stop)]  # pyright: ignore[reportArgumentType] -- an item's value

    def run(self, at: int, items: Sequence[TimeItem] = ()) -> tuple[list[TimeItem], int]:
        """Return the items that follow each other there and cover most, each role once, with `items` before them."""
        self.steps = 0
        best = list(items), at
        for found in self._runs(at, list(items)):
            stop = found[-1].end
            if (stop, -len(found)) > (best[1], -len(best[0])) and self._stands(found, stop):
                best = found, stop
        return best

    def _runs(self, at: int, items: list[TimeItem]) -> Iterator[list[TimeItem]]:
        starts = [at]
        for _ in range(3):
            filler = self.slots.matcher.longest("filler", starts[-1]) if items else None
            if filler is None:
                break
            starts.append(filler[1])
        for start in starts:
            for new in self.items_at(start):
                if self.steps > MAX_STEPS:
                    return
                if (following := self._together(items, new)) is None:
                    continue
                self.steps += 1
                yield following
                if len(following) < MAX_ITEMS:
                    yield from self._runs(following[-1].end, following)

    def _together(self, items: Sequence[TimeItem], new: Sequence[TimeItem]) -> list[TimeItem] | None:
        """All items, if each role occurs once; "weekdays" beside "every 30 minutes" says on which days that is."""
        every = next((item.value for item in items if item.role == "every"), None)
        match every, new:
            case Repetition(unit="hour" | "minute"), [TimeItem("every", Repetition("week", 1, days), start, end)] if (
                days
            ):
                new = [TimeItem("day", OnWeekdays(days), start, end)]
            case Repetition("week", 1, days), [TimeItem("every", Repetition(unit="hour" | "minute"))] if days:
                on_days = OnWeekdays(days)
                items = [TimeItem("day", on_days, i.start, i.end) if i.role == "every" else i for i in items]
            case _:
                pass
        taken = {item.role for item in items}
        if {item.role for item in new} & taken:
            return None
        if self.slots.language.name == "ja" and new[0].role == "part" and "clock" in taken:
            return None  # in Japanese it precedes the hour, and 朝会 behind one is what is to be done
        return [*items, *new]

    def _stands(self, items: Sequence[TimeItem], stop: int) -> bool:
        """Whether numbers that nothing marks as an hour or a day are one by what stands beside them."""
        for n, item in enumerate(items):
            following = items[n + 1] if n + 1 < len(items) else None
            # "Do" and "so" are days in German, but before another word they are mostly English.
            if following is None and isinstance(item.value, OnWeekdays) and self._may_be_a_word(item):
                return False
            is_bare = isinstance(item.value, OnMonthday) and item.value.bare
            # "The 3rd" alone may be a floor or a draft; "the 3rd at 9:00" is a day.
            if is_bare and not (following and following.role == "clock" and _is_marked(following)):
                return False
            if item.role == "clock" and not _is_marked(item):
                if not self._is_separate(item, following):
                    return False
                # "Tomorrow 5" needs something behind the five, or the end: "tomorrow 5 people come" has no hour.
                before = {other.role for other in items[:n]} & {"day", "every", "part"}
                if following is not None and following.role in {"day", "part", "zone", "every"}:
                    continue
                if not before or not (following is not None or self._is_closed(stop)):
                    return False
        return True

    def _may_be_a_word(self, item: TimeItem) -> bool:
        """Whether this is "do" or "so" before another word: days in German, and more often words in English."""
        tokens, stop = self.slots.tokens, item.end
        is_short = item.end == item.start + 1 and len(tokens[item.start].text) == 2
        return is_short and stop < len(tokens) and tokens[stop].text.isalpha()

    def _is_separate(self, item: TimeItem, following: TimeItem | None) -> bool:
        """Whether a number is no part of "13-15 July" or "15ten". In Japanese no hour is a number alone."""
        tokens, text = self.slots.tokens, self.slots.text
        rest = text[tokens[item.end - 1].end :]
        between = tokens[item.end : following.start] if following else ()
        return (
            self.slots.language.name != "ja" and not rest[:1].isalpha() and all(token.text != "-" for token in between)
        )

    def _is_closed(self, stop: int) -> bool:
        return stop >= self.end() or self.slots.tokens[stop].text in ":|" or self.take(stop, "closing") is not None

    def left_over(self, first: int, last: int, *, closed: bool, after: int) -> tuple[int, int] | None:
        """Return the tokens between these two that look like a part of a time. `closed`: a word says that what is to be
        done begins at `first`. `after`: the token behind the time.
        """
        end = self.end()
        # "7ampm": a time that goes on in the same word is not the one that was read.
        if after and self._is_glued(after):
            return max(first, after), max(first, after) + 1
        # Times stand at the beginning or the end of what people write, so a long text is searched there only.
        for at in (at for at in range(first, last) if at < first + SEARCHED or at >= last - SEARCHED):
            after_time, before_time = first > 0 and at < first + BESIDE, last < end and at >= last - 2
            at_end = last == end and at >= end - 5
            # Behind "remind me to" a number is part of the task, unless it stands beside the time or at the end.
            if closed and not (after_time or before_time or at_end):
                continue
            stop = self._looks_like_time(at, beside=after_time or before_time, first=at == first)
            if stop is not None and not (closed and at > first + 1 and stop < end):
                return at, stop
        return None

    def _begins_like_time(self, at: int) -> int | None:
        """Return the token behind a number or a time that follows directly, or behind small words."""
        if at and self.slots.matcher.read("unit", at) and self._is_number(at - 1):
            return at + 1
        after, end = at, self.end()
        if at + 1 < end and self.slots.tokens[at].text in _BEFORE_PLACES and self._is_city(at + 1):
            return at + 2
        while after < end and (found := self.take(after, *_SMALL_WORDS)) and found[1] > after:
            after = found[1]
        if after >= end:
            return None
        # "One" is an article or pronoun in most languages, so it does not count as a number.
        number = any(n != 1 for n, _ in self.slots.cardinal(after))
        if number or (after > at and self._looks_like_time(after, beside=True, first=False) is not None):
            return after + 1
        return None

    def _is_city(self, at: int) -> bool:
        return any(True for _ in self.slots.city(at))

    def _is_number(self, at: int) -> bool:
        return any(True for _ in self.slots.cardinal(at))

    def _is_glued(self, at: int) -> bool:
        """Whether the token there is a part of the same word as the one before it: "7ampm", "2-Oct"."""
        rest = self.slots.text[self.slots.tokens[at - 1].end :]
        return _GLUED.match(rest) is not None and not is_spaceless(rest[:1])

    def _looks_like_time(self, at: int, *, beside: bool, first: bool) -> int | None:
        """Return the token behind what looks like a time there. `beside`: near the time that was understood."""
        token = self.slots.tokens[at]
        is_short = len(token.text) < 4 and not is_spaceless(token.text)
        if first and (stop := self._begins_like_time(at)) is not None:
            return stop
        for kind in _STRONG:
            for value, stop in self.slots.matcher.read(kind, at):
                bare = isinstance(value, ClockTime) and not value.marked
                bare = bare or (isinstance(value, OnMonthday) and value.bare)
                one_sign = stop == at + 1 and is_spaceless(token.text)
                if not (bare or one_sign) and (beside or not (is_short and stop == at + 1)):
                    return stop
        lists = [strong_words()[self.slots.language.name]]
        if beside:
            lists.append(vocabulary())
        before = at - 1 if at and not self.take(at - 1, "the", "of") else at - 2
        if before >= 0 and self.take(before, "meal-time"):
            lists.append(meals())  # "before dinner" is a time, "dinner" may be what is to be done
        written = self.slots.text[token.start : token.end]
        if beside and (written in UNCLEAR_ZONES or (first and len(written) > 3 and written.upper() in UNCLEAR_ZONES)):
            return at + 1
        for node in lists:
            stop = end_of_words(node, self.slots.tokens, at)
            if stop is not None and (first or stop > at + 1 or not is_spaceless(token.text)):
                return stop
        return None


def _is_marked(item: TimeItem) -> bool:
    return not isinstance(item.value, ClockTime) or item.value.marked


def end_of_words(node: Node, tokens: Sequence[TimeToken], at: int) -> int | None:
    """Return the token behind the longest words of this list there."""
    stop, found = at, None
    while stop < len(tokens) and (following := node.words.get(tokens[stop].text)) is not None:
        node, stop = following, stop + 1
        found = stop if node.values else found
    return found
