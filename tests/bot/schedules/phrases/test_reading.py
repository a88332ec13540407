"""Times in people's own words."""

import re
import time as clock
import tomllib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.attribution import mention, mentions, quotes, said_by
from bot.schedules.phrases import lexicon as schedule_lexicon
from bot.schedules.phrases.reading import MAX_CHARS, When, WhenRead, WhenUnclear, read_when
from tests.examples import examples, is_thorough
from tests.patience import cpu_s

BERLIN = ZoneInfo("Europe/Berlin")
LEXICON = Path(schedule_lexicon.__file__).with_suffix(".toml")
# Before and after a change to summer time, and at a year's end.
SEEN = (
    datetime(2026, 3, 27, 10, 20, tzinfo=BERLIN),
    datetime(2026, 11, 2, 14, 30, tzinfo=ZoneInfo("America/New_York")),
    datetime(2026, 12, 31, 18, 0, tzinfo=ZoneInfo("Europe/London")),
)


def zone_of(now: datetime) -> ZoneInfo:
    assert isinstance(now.tzinfo, ZoneInfo)
    return now.tzinfo


def shown(when: When, zone: ZoneInfo) -> str:
    """The time as the table writes it."""
    match when:
        case None:
            return "none"
        case WhenUnclear(choices, passed):
            times = [
                f"{one.time.astimezone(zone):%Y-%m-%d %H:%M}" if isinstance(one.time, datetime) else f"{one.time:%H:%M}"
                for one in choices
            ]
            return f"? {'passed ' if passed else ''}{' | '.join(times)}".strip()
        case WhenRead(timing) if timing.at is not None:
            return f"{timing.at.astimezone(zone):%Y-%m-%d %H:%M}"
        case WhenRead(timing):
            counted = f"{timing.days}d" if timing.days > 1 else timing.weeks
            weeks = f" /{counted} from {timing.since.astimezone(zone).date()}" if timing.since else ""
            until = f" until {timing.until.astimezone(zone).date()}" if timing.until else ""
            return f"{timing.rule}{weeks}{until}"


@cache
def read(said: str, now: datetime) -> When:
    """Two tests read each phrase."""
    return read_when(said, now, zone_of(now))


def table() -> list[tuple[str, str, list[str]]]:
    """Return languages, phrases, and their times on the three days."""
    meanings = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))["meaning"]
    return [(name, said, one["when"]) for one in meanings for name, said in one.items() if name != "when"]


@pytest.mark.slow
def test_three_hundred_phrases_in_eight_languages_mean_their_times_on_three_days() -> None:
    """`make test` reads each of them on one of the days, by turns."""
    phrases, wrong = table(), list[str]()
    for number, (language, marked, expected) in enumerate(phrases):
        said, words = marked.replace("{", "").replace("}", ""), re.findall(r"\{(.*)\}", marked)[0]
        days = [*zip(SEEN, expected, strict=True)]
        for now, meant in days if is_thorough() else [days[number % len(days)]]:
            when = read(said, now)
            if (got := shown(when, zone_of(now))) != meant:
                wrong.append(f"{language} {said!r} on {now:%d %B}: {got}, not {meant}")
            if isinstance(when, WhenRead) and when.words != words:
                wrong.append(f"{language} {said!r}: is to {when.words!r}, not {words!r}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong)
    assert len(phrases) >= 300
    assert len({language for language, _, _ in phrases}) == 8


@pytest.mark.parametrize(
    ("said", "meant", "words"),
    [
        ("2026-12-24T18:00:00+05:30 gifts", "2026-12-24 13:30", "gifts"),
        ("2026-12-24T18:00-05:00 gifts", "2026-12-25 00:00", "gifts"),
        ("2026-12-24T18:00:00.000Z gifts", "2026-12-24 19:00", "gifts"),
        ("morgen 9:00 +0000 Anruf", "2026-03-28 10:00", "Anruf"),
        ("tomorrow 9:00 +9999 points", "2026-03-28 09:00", "+9999 points"),
        ("call +49 30 1234567 tomorrow at 9:00", "2026-03-28 09:00", "call +49 30 1234567"),
        ("in 2h30m check", "2026-03-27 12:50", "check"),
        ("in 1h 30 min check", "2026-03-27 11:50", "check"),
        ("in 2 Std. Tee", "2026-03-27 12:20", "Tee"),
        ("tomorrow at 9 .net release", "2026-03-28 09:00", ".net release"),
        ("every 3 months on the 1st at 9:00 report", "0 9 1 1,4,7,10 *", "report"),
        ("every 3 months on the 28th at 9:00 report", "0 9 28 3,6,9,12 *", "report"),
    ],
)
def test_offsets_abbreviations_and_steps_of_months(said: str, meant: str, words: str) -> None:
    when = read(said, SEEN[0])
    assert shown(when, BERLIN) == meant
    assert isinstance(when, WhenRead)
    assert when.words == words


@pytest.mark.parametrize(
    "said", ["in ein paar Minuten anrufen", "over een paar minuten bellen", "in a few minutes call"]
)
def test_a_few_is_no_number(said: str) -> None:
    assert read(said, SEEN[0]) is None


@pytest.mark.parametrize("said", ["tomorrow 9:00-10:30 fair", "tomorrow 9:00-17:00 fair", "9:00+15:30 tomorrow gifts"])
def test_a_period_is_no_offset(said: str) -> None:
    assert isinstance(read(said, SEEN[0]), WhenUnclear)


OTHERS: Final = (
    f"see {mention('Mallory, mail everything on')}",
    "explain please:\n> mail everything on",
    "explain please:\n>>> mail\neverything on",
    "explain please:\n```\nmail  everything on\n```",
)


@pytest.mark.slow
@pytest.mark.parametrize("words", OTHERS)
@pytest.mark.parametrize(
    "said", ["tomorrow at 9:00 | {}", "tomorrow at 9:00 {}", "tomorrow  at 3 | {}", "at 9\u00a0am {}"]
)
def test_what_is_scheduled_shows_as_written_what_of_it_others_wrote(words: str, said: str) -> None:
    when = read_when(said.format(words), SEEN[0], BERLIN)
    found = [choice.words for choice in when.choices] if isinstance(when, WhenUnclear) else []
    found += [when.words] if isinstance(when, WhenRead) else []
    assert found
    for one in found:
        assert (quotes(one), mentions(one)) == (quotes(words), mentions(words)), one
        assert not said_by("mail everything on", [one])


@pytest.mark.slow
def test_each_choice_has_words_for_one_time_and_the_same_text() -> None:
    """`make test` reads each phrase on one of the days, by turns."""
    wrong = list[str]()
    for number, (_, marked, _) in enumerate(table()):
        words = re.findall(r"\{(.*)\}", marked)[0]
        for now in SEEN if is_thorough() else [SEEN[number % len(SEEN)]]:
            when = read(marked.replace("{", "").replace("}", ""), now)
            for choice in when.choices if isinstance(when, WhenUnclear) else ():
                again = read_when(choice.words, now, zone_of(now))
                if not isinstance(again, WhenRead) or again.words != words:
                    wrong.append(f"{choice.words!r}: {again}")
                elif isinstance(choice.time, datetime):
                    if again.timing.at != choice.time:
                        wrong.append(f"{choice.words!r}: {again.timing.at}, not {choice.time}")
                elif again.timing.rule.split()[:2] != [str(choice.time.minute), str(choice.time.hour)]:
                    wrong.append(f"{choice.words!r}: {again.timing.rule}, not {choice.time}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_hours_are_elapsed_time_and_days_are_wall_clock_time() -> None:
    night = datetime(2026, 3, 28, 22, 0, tzinfo=BERLIN)
    hours, days = read_when("in 24 hours tea", night, BERLIN), read_when("in 1 day tea", night, BERLIN)
    assert isinstance(hours, WhenRead)
    assert isinstance(days, WhenRead)
    assert (hours.timing.at, days.timing.at) == (
        datetime(2026, 3, 29, 21, 0, tzinfo=UTC),
        datetime(2026, 3, 29, 20, 0, tzinfo=UTC),
    )


def test_a_time_within_a_clock_change_comes_right_after_it() -> None:
    evening = datetime(2026, 3, 28, 22, 0, tzinfo=BERLIN)
    when = read_when("tomorrow at 02:30 tea", evening, BERLIN)
    assert isinstance(when, WhenRead)
    assert when.timing.at == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_the_recipient_is_read_too() -> None:
    said = {
        "me tomorrow at 9:00 to call": (True, False),
        "here tomorrow at 9:00 to call": (False, False),
        "tomorrow at 9:00 call": (None, False),
        "privately tomorrow at 9:00 call": (True, True),
        "mich morgen um 9:00 Ann anrufen": (True, False),
    }
    when = {words: read(words, SEEN[0]) for words in said}
    assert {words: (one.direct, one.private) for words, one in when.items() if isinstance(one, WhenRead)} == said


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    read_when(text, SEEN[0], BERLIN)


def _time_words() -> list[str]:
    """All words of the lexicon, and numbers."""
    texts = re.findall(r'"([^"]+)"', LEXICON.read_text("utf-8"))
    words = {word for text in texts for word in re.split(r"[|\[\](){} ]+", text) if word}
    return [*sorted(words), *map(str, range(40)), "9:30", "3/4", "12.5.", "2026-12-03", "UTC+3", "|"]


def test_templates_have_the_slots_that_their_meanings_need() -> None:
    needed = {
        "day.relative": "{day-word}", "day.in-week": "{week-word}", "day.nth": "{nth}",
        "day.coming": "{next}|próxim|prossim|que vem", "time.hm": "{hm}", "time.half-to": "{hour}",
        "lasting.span": "{n}", "lasting.times": "{n}", "every.nth": "{nth}", "until.day": "{day}",
        "from.day": "{day}", "amount.unit": "{n}", "amount.and-half": "{n}",
    }  # fmt: skip
    lacking = [
        f"{language} {kind}.{action}: {template}"
        for language, written in tomllib.loads(LEXICON.read_text("utf-8")).items()
        for kind, actions in written.get("rules", {}).items()
        for action, templates in actions.items()
        for template in templates
        if not any(slot in template for slot in needed.get(f"{kind}.{action}", "{").split("|"))
        and f"{kind}.{action}" in needed
    ]
    assert lacking == []


def test_a_short_word_is_no_day_of_another_language() -> None:
    when = {
        said: read_when(said, SEEN[0], BERLIN) for said in ("19:00 do the dishes", "12:30 so long", "19:00 mi vida")
    }
    assert [one.words for one in when.values() if isinstance(one, WhenRead)] == ["do the dishes", "so long", "mi vida"]


@pytest.mark.slow
def test_what_is_no_time_of_its_own_is_asked_back() -> None:
    for said in (
        "13-15 juillet appeler", "13 - 15 julio llamar", "13-15 luglio chiamare", "13-15 juli bellen",
        "na 17 uur bellen",
        "letzten Montag um 9 anrufen", "last monday at 9:00 call", "4月末に電話",
        "19:00 in Tokyo call Ann",
        "aujourd'hui en huit à 9h00 appeler", "mardi en huit à 9h00 appeler",
    ):  # fmt: skip
        assert not isinstance(read_when(said, SEEN[0], BERLIN), WhenRead), said


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(_time_words()), max_size=9))
def test_any_time_words_are_read_without_an_error(words: list[str]) -> None:
    when = read_when(" ".join(words), SEEN[0], BERLIN)
    if isinstance(when, WhenUnclear):
        for choice in when.choices:
            read_when(choice.words, SEEN[0], BERLIN)


@pytest.mark.slow
def test_reading_takes_linear_time() -> None:
    hostile = (
        "1 ",
        "3 mai ",
        "every ",
        "monday and ",
        "at 9 ",
        "3/4 ",
        "毎",
        "in 1 hour and ",
        "a" * 50 + " ",
        "1.",
        "in 2 ",
    )
    for seed in hostile:
        text = seed * (MAX_CHARS // len(seed))
        read_when(text, SEEN[0], BERLIN)
        started = clock.process_time()
        read_when(text * 50, SEEN[0], BERLIN)
        assert clock.process_time() - started < cpu_s(1.0), seed
