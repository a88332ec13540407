"""Phrases built of parts, in eight languages: each is read as what it says or asked back, never as another time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.schedules.definitions import Timing
from agent.schedules.times import next_occurrence
from bot.schedules.phrases.reading import WhenRead, read_when
from tests.examples import examples, is_thorough

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 26, 10, 20, tzinfo=BERLIN)  # A Thursday, three days before the clocks change
DAYS = 300  # Of the calendar in which a repetition is looked for
TIMES = 6  # That are compared


@dataclass(frozen=True, slots=True)
class Spoken:
    """How parts are said in one language. Slots: `day`, `last` (weekdays), `h`, `mm`, `h2`, `n`, `d`, `month`."""

    weekdays: Sequence[str]
    months: Sequence[str]
    nths: Sequence[str]
    daily: str
    weekly: str
    two: str
    span: str
    workdays: str
    excepted: str
    weeks: str
    days: str
    hours: str
    nth: str
    monthday: str
    at: str
    at_two: str
    until: str
    lasting: str
    starting: str
    unknown: Sequence[str]
    limit_first: bool = False


LANGUAGES = {
    "en": Spoken(
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        ["April", "May", "June"], ["first", "second", "third"],
        "every day", "every {day}", "every {day} and {last}", "every {day} to {last}", "every weekday",
        "every weekday except {day}", "every {n} weeks on {day}", "every {n} days",
        "every {n} hours between {h} and {h2}", "every {nth} {day} of the month", "every month on the {d}th",
        "at {h}:{mm}", "at {h}:{mm} and {h2}:{mm}", "until {d} {month}", "for {n} weeks", "from {d} {month}",
        ["just after lunch", "or so", "before sunset", "at dinner time"],
    ),
    "de": Spoken(
        ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        ["April", "Mai", "Juni"], ["ersten", "zweiten", "dritten"],
        "jeden Tag", "jeden {day}", "jeden {day} und {last}", "jeden {day} bis {last}", "werktags",
        "jeden Werktag außer {day}", "alle {n} Wochen am {day}", "alle {n} Tage",
        "alle {n} Stunden zwischen {h} und {h2} Uhr", "jeden {nth} {day} im Monat", "jeden Monat am {d}.",
        "um {h}:{mm} Uhr", "um {h}:{mm} und {h2}:{mm} Uhr", "bis {d}. {month}", "für {n} Wochen", "ab {d}. {month}",
        ["nach dem Mittagessen", "vor Sonnenuntergang am Abend", "an Ostern"],
    ),
    "fr": Spoken(
        ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        ["avril", "mai", "juin"], ["premier", "deuxième", "troisième"],
        "tous les jours", "chaque {day}", "chaque {day} et {last}", "du {day} au {last}", "chaque jour ouvré",
        "chaque jour ouvré sauf le {day}", "toutes les {n} semaines le {day}", "tous les {n} jours",
        "toutes les {n} heures entre {h}h et {h2}h", "le {nth} {day} de chaque mois", "chaque mois le {d}",
        "à {h}h{mm}", "à {h}h{mm} et {h2}h{mm}", "jusqu'au {d} {month}", "pendant {n} semaines",
        "à partir du {d} {month}", ["avant le déjeuner", "en fin de journée", "à Pâques"],
    ),
    "es": Spoken(
        ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
        ["abril", "mayo", "junio"], ["primer", "segundo", "tercer"],
        "todos los días", "cada {day}", "cada {day} y {last}", "de {day} a {last}", "cada día laborable",
        "cada día laborable excepto el {day}", "cada {n} semanas el {day}", "cada {n} días",
        "cada {n} horas entre las {h} y las {h2}", "el {nth} {day} de cada mes", "cada mes el {d}",
        "a las {h}:{mm}", "a las {h}:{mm} y a las {h2}:{mm}", "hasta el {d} de {month}", "durante {n} semanas",
        "a partir del {d} de {month}", ["antes de la cena", "al final de la tarde", "en Pascua"],
    ),
    "it": Spoken(
        ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
        ["aprile", "maggio", "giugno"], ["primo", "secondo", "terzo"],
        "ogni giorno", "ogni {day}", "ogni {day} e {last}", "da {day} a {last}", "ogni giorno feriale",
        "ogni giorno feriale tranne il {day}", "ogni {n} settimane il {day}", "ogni {n} giorni",
        "ogni {n} ore tra le {h} e le {h2}", "il {nth} {day} di ogni mese", "ogni mese il {d}",
        "alle {h}:{mm}", "alle {h}:{mm} e alle {h2}:{mm}", "fino al {d} {month}", "per {n} settimane",
        "a partire dal {d} {month}", ["prima di pranzo", "a fine giornata", "a Pasqua"],
    ),
    "pt": Spoken(
        ["segunda", "terça", "quarta", "quinta", "sexta", "sábado", "domingo"],
        ["abril", "maio", "junho"], ["primeira", "segunda", "terceira"],
        "todos os dias", "toda {day}", "toda {day} e {last}", "de {day} a {last}", "todos os dias úteis",
        "todos os dias úteis exceto {day}", "a cada {n} semanas na {day}", "a cada {n} dias",
        "a cada {n} horas entre as {h} e as {h2}", "na {nth} {day} de cada mês", "todo mês no dia {d}",
        "às {h}:{mm}", "às {h}:{mm} e às {h2}:{mm}", "até {d} de {month}", "por {n} semanas",
        "a partir de {d} de {month}", ["antes do almoço", "no fim da tarde", "na Páscoa"],
    ),
    "nl": Spoken(
        ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        ["april", "mei", "juni"], ["eerste", "tweede", "derde"],
        "elke dag", "elke {day}", "elke {day} en {last}", "van {day} tot en met {last}", "elke werkdag",
        "elke werkdag behalve {day}", "elke {n} weken op {day}", "elke {n} dagen",
        "elke {n} uur tussen {h} en {h2} uur", "elke {nth} {day} van de maand", "elke maand op de {d}e",
        "om {h}:{mm}", "om {h}:{mm} en {h2}:{mm}", "tot en met {d} {month}", "gedurende {n} weken",
        "vanaf {d} {month}", ["na de lunch", "aan het eind van de middag", "met Pasen"],
    ),
    "ja": Spoken(
        ["月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"],
        ["4月", "5月", "6月"], ["第1", "第2", "第3"],
        "毎日", "毎週{day}", "毎週{day}と{last}", "毎週{day}から{last}まで", "平日",
        "{day}を除く平日", "{n}週間ごとの{day}", "{n}日ごとに", "{h}時から{h2}時まで{n}時間ごと",
        "毎月{nth}{day}", "毎月{d}日", "{h}時{mm}分", "{h}時{mm}分と{h2}時{mm}分", "{month}{d}日まで",
        "{n}週間", "{month}{d}日から", ["昼食時", "夕方ごろ", "クリスマス前"], limit_first=True,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A phrase, and its first times."""

    language: str
    text: str
    times: Sequence[datetime]


@st.composite
def repetitions(draw: st.DrawFn, language: str) -> Said:
    """How often, at which hours, and for how long: the times are found on the calendar, day by day."""
    spoken = LANGUAGES[language]
    day, last = draw(st.integers(0, 3)), draw(st.integers(4, 6))
    n, d = draw(st.integers(2, 4)), draw(st.integers(4, 20))
    hour, minute = draw(st.integers(7, 11)), draw(st.sampled_from([5, 15, 30, 45]))
    later = hour + 2 * draw(st.integers(2, 4))
    month = draw(st.integers(4, 6))
    said = {
        "day": spoken.weekdays[day], "last": spoken.weekdays[last], "n": n, "d": d, "h": hour, "h2": later,
        "mm": f"{minute:02}", "month": spoken.months[month - 4], "nth": spoken.nths[n - 2],
    }  # fmt: skip
    kind = draw(st.sampled_from(
        ["daily", "weekly", "two", "span", "workdays", "excepted", "weeks", "days", "hours", "nth", "monthday"]
    ))  # fmt: skip
    limit = draw(st.sampled_from(["", "until", "lasting", "starting"]))
    doubled = draw(st.booleans()) and kind != "hours"
    clocks = [time(hour, minute), time(later, minute)] if doubled else [time(hour, minute)]
    if kind == "hours":
        clocks = [time(one) for one in range(hour, later + 1, n)]
    first_day = date(2026, month, d) if limit == "starting" else NOW.date()
    on = _days_of(kind, day, last, n, d, first_day, clocks[0])
    moments = [
        moment
        for one in on
        for clock in clocks
        if (moment := datetime.combine(one, clock, BERLIN)) > NOW
    ]  # fmt: skip
    if limit == "until":
        moments = [moment for moment in moments if moment.date() <= date(2026, month, d)]
    if limit == "lasting" and moments:
        moments = [moment for moment in moments if moment.date() < moments[0].date() + timedelta(weeks=n)]
    hours = "" if kind == "hours" else spoken.at_two if doubled else spoken.at
    parts = [getattr(spoken, kind), hours, getattr(spoken, limit) if limit else ""]
    if spoken.limit_first and limit != "lasting":
        parts = [parts[2], parts[0], parts[1]]
    elif draw(st.booleans()) and not doubled:
        parts = [parts[1], parts[0], parts[2]]
    text = " ".join(part.format_map(said) for part in parts if part)
    return Said(language, text, moments[:TIMES])


def _days_of(kind: str, day: int, last: int, n: int, d: int, first: date, clock: time) -> list[date]:
    """The days of the calendar on which it comes, from this one on."""
    days = [first + timedelta(days=ahead) for ahead in range(DAYS)]
    match kind:
        case "weekly":
            return [one for one in days if one.weekday() == day]
        case "two":
            return [one for one in days if one.weekday() in {day, last}]
        case "span":
            return [one for one in days if day <= one.weekday() <= last]
        case "workdays":
            return [one for one in days if one.weekday() < 5]
        case "excepted":
            return [one for one in days if one.weekday() < 5 and one.weekday() != day]
        case "weeks":
            coming = [one for one in days if one.weekday() == day and datetime.combine(one, clock, BERLIN) > NOW]
            return coming[::n]
        case "days":
            coming = [one for one in days if datetime.combine(one, clock, BERLIN) > NOW]
            return coming[::n]
        case "nth":
            return [one for one in days if one.weekday() == day and (one.day - 1) // 7 == n - 2]
        case "monthday":
            return [one for one in days if one.day == d]
        case _:
            return days


def times_of(timing: Timing) -> list[datetime]:
    """The first times of a schedule."""
    moments, at = list[datetime](), NOW
    while len(moments) < TIMES and (following := next_occurrence(timing, at)) is not None:
        moments.append(following)
        at = following
    return moments


@st.composite
def any_repetition(draw: st.DrawFn) -> Said:
    return draw(repetitions(draw(st.sampled_from([*LANGUAGES]))))


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(any_repetition())
def test_a_repetition_is_read_as_what_it_says_or_asked_back(said: Said) -> None:
    when = read_when(f"{said.text} Ann", NOW, BERLIN)
    if isinstance(when, WhenRead):
        assert (times_of(when.timing), when.words) == (list(said.times), "Ann")


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(any_repetition(), st.integers(0, 3))
def test_a_time_with_words_that_nobody_understands_is_asked_back(said: Said, which: int) -> None:
    unknown = LANGUAGES[said.language].unknown
    text = f"{said.text} {unknown[which % len(unknown)]}"
    assert not isinstance(read_when(f"{text} Ann", NOW, BERLIN), WhenRead), text
    assert not isinstance(read_when(f"{text} | Ann", NOW, BERLIN), WhenRead), text


@pytest.mark.slow
@pytest.mark.parametrize("language", [*LANGUAGES])
def test_most_repetitions_are_read_and_not_asked_back(language: str) -> None:
    asked, seen = list[str](), 0

    @settings(max_examples=60 if is_thorough() else 25, database=None)
    @given(repetitions(language))
    def look(said: Said) -> None:
        nonlocal seen
        seen += 1
        when = read_when(f"{said.text} Ann", NOW, BERLIN)
        if not isinstance(when, WhenRead):
            asked.append(f"{said.text}: {when}")

    look()
    assert len(asked) < seen / 10, "\n".join(islice(asked, 12))
