"""What `/forget` is asked, read from its words; the same on every platform. Pure.

Above: the platforms' commands. Below: `agent.memory.forgetting`, `agent.memory.periods`,
`bot.local_time`.

    thread | everything | 2 hours | the last 3 days | today | since Monday | since 14:30 | about Apollo

Rules. "2 days" are the last 48 hours; what names days of the calendar, such as "yesterday", means those days where the
person is. Nothing is guessed: what cannot be read gets one sentence that says what can be written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never
from unicodedata import category

from agent.memory.forgetting import About, During, Everything, OneThread, Wish
from agent.memory.periods import Period, periods_in
from bot.local_time import zone_of

HELP: Final[Mapping[str, str]] = {
    "/forget thread": "forget this thread: what you said in it, and what came of it",
    "/forget 2 hours": "forget what you said in the last hours, days or weeks; also “today”, “since Monday”",
    "/forget about Apollo": "forget what you said, and what I know, about something",
    "/forget everything": "forget all that you told me",
}
"""How each wish is written, and what it does."""

WAYS: Final = "`everything`, `2 hours`, `since Monday` or `about` and a word"
NO_THREAD: Final = "There is no thread here: write `/forget 2 hours`, `/forget about …` or `/forget everything`."

MAX_REQUEST_WORDS: Final = 4
"""In a message; a longer one talks about forgetting. With `/forget` there is no such limit."""
MAX_ABOUT_CHARS: Final = 50
"""A name or a few words; a button has to carry them."""
MIN_ABOUT_CHARS: Final = 3
"""Of one word: fewer letters stand in nearly everything."""
MIN_CJK_CHARS: Final = 2
"""The same where a letter is a syllable or a word: of Chinese, Japanese and Korean."""
RELATED: Final = "+"
"""Behind a wish in a button: with what may have been made of it."""
MAX_TOKEN_CHARS: Final = 70
"""Of the 100 that Discord's buttons hold; the rest says whose they are."""

_TALK: Final = frozenset({"it", "that", "them", "this"})
_THREAD: Final = frozenset({"thread", "this thread", "this", "here", "this conversation"})
_EVERYTHING: Final = frozenset({"everything", "all", "everything about me"})
_UNITS: Final = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_NUMBERS: Final = {"": 1, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_LAST: Final = re.compile(
    r"(?:the )?(?P<led>last |past )?(?:(?P<count>\d{1,3}|an?|one|two|three|four|five|six) )?"
    r"(?P<unit>minute|hour|day|week)(?P<many>s)?"
)
_COMMAND: Final = re.compile(r"^/?forget(?: |$)", re.IGNORECASE)
"""Whoever is asked what to forget may write the command once more."""
_CJK_WORD: Final = re.compile(
    rf"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]{{{MIN_CJK_CHARS}}}"
)
_FILLERS: Final = frozenset({"in", "on", "the", "of", "from"})
_SECONDS: Final = re.compile(r"\d{1,11}", re.ASCII)
"""Since 1970: more of them are no time that a clock can tell."""
_CLOCK: Final = re.compile(r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)")


@dataclass(frozen=True, slots=True)
class Unclear:
    """`sentence` says what to write instead."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose wish it is, what "this thread" means to them (nothing: they are in none), and when."""

    person: str
    thread: frozenset[str]
    now: datetime
    time_zone: str = "UTC"


def read(words: str, asker: Asker) -> Wish | Unclear | None:
    """What these words ask to forget; None if they say nothing."""
    said = _COMMAND.sub("", " ".join(words.split()), count=1)
    plain = said.casefold().strip(" .!?")
    if not plain:
        return None
    if plain in _THREAD:
        return OneThread(asker.person, asker.thread) if asker.thread else Unclear(NO_THREAD)
    if plain in _EVERYTHING:
        return Everything(asker.person)
    if plain.startswith("about "):
        return _about(said[len("about ") :].strip(" .!?“”\"'"), asker)
    period = _period(plain, asker)
    if period is None or period.since >= asker.now:
        ways = f"`thread`, {WAYS}" if asker.thread else WAYS
        return Unclear(f"I did not understand “{_shown(said)}”: write {ways}.")
    until = min(period.until, asker.now).replace(microsecond=0) + timedelta(seconds=1)
    return During(asker.person, Period(period.since.astimezone(UTC).replace(microsecond=0), until))


def is_request(words: str, now: datetime) -> bool:
    """Whether the words behind "forget" in a message are a wish, not talk: "it", or "about it, what is the time?"."""
    about, _, rest = words.casefold().partition(" ")
    if "," in words or "?" in words or len(words.split()) > MAX_REQUEST_WORDS or (about == "about" and rest in _TALK):
        return False
    return not isinstance(read(words, Asker("", frozenset({"here"}), now)), Unclear)


@dataclass(frozen=True, slots=True)
class Agreed:
    """What somebody agreed to: a wish, the name of what it would erase (see `Preview`; "": whatever it is), and
    whether what may have been made of it falls, too.
    """

    wish: Wish
    name: str = ""
    related: bool = False


def token(wish: Wish, name: str, *, related: bool = False) -> str:
    """The wish as a button carries it, in at most `MAX_TOKEN_CHARS`: without the person and without the thread, because
    whoever presses it wishes it for themselves, and there.

    `name`: of what it would erase; another one later means that this has changed. `related`: what else was shown, too.
    """
    too = RELATED if related else ""
    match wish:
        case OneThread():
            return f"thread{too}|{name}" if related else "thread"
        case Everything():
            return f"everything{too}|{name}" if related else "everything"
        case During(_, period):
            return f"during{too}|{name}|{period.since.timestamp():.0f}|{period.until.timestamp():.0f}"
        case About(_, words):
            return f"about{too}|{name}|{words}"
        case _:
            assert_never(wish)


def wish_of(kept: str, asker: Asker) -> Agreed | None:
    """The inverse of `token`; None for anything else."""
    kind, *rest = kept.split("|")
    related = kind.endswith(RELATED)
    match [kind.removesuffix(RELATED), *rest]:
        case ["thread", *name] if asker.thread and len(name) == int(related):
            return Agreed(OneThread(asker.person, asker.thread), "".join(name), related)
        case ["everything", *name] if len(name) == int(related):
            return Agreed(Everything(asker.person), "".join(name), related)
        case ["during", name, since, until] if _SECONDS.fullmatch(since) and _SECONDS.fullmatch(until):
            begin, end = (datetime.fromtimestamp(int(each), UTC) for each in (since, until))
            return Agreed(During(asker.person, Period(begin, end)), name, related)
        case ["about", name, words]:
            return Agreed(About(asker.person, words), name, related)
        case _:
            return None


def _about(words: str, asker: Asker) -> Wish | Unclear:
    if len(words) > MAX_ABOUT_CHARS:
        return Unclear(f"Say in at most {MAX_ABOUT_CHARS} characters what it is about.")
    words = words.replace("|", " ")
    if not any(char.isalnum() for char in words):
        return Unclear("Say what it is about, as in `/forget about Apollo`.")
    if not (_CJK_WORD.search(words) or any(map(_is_long, words.split()))):
        return Unclear(
            f"Name a word of at least {MIN_ABOUT_CHARS} letters ({MIN_CJK_CHARS} in Chinese, Japanese or Korean): "
            "shorter ones stand in nearly everything."
        )
    return About(asker.person, words)


def _is_long(word: str) -> bool:
    """Vowel signs and accents count, too: in many scripts they are half of a word."""
    return sum(category(char)[0] in "LMN" for char in word) >= MIN_ABOUT_CHARS


def _period(plain: str, asker: Asker) -> Period | None:
    if (last := _LAST.fullmatch(plain)) is not None and _is_span(last):
        count = last["count"] or ""
        number = int(count) if count.isdecimal() else _NUMBERS[count]
        return Period(asker.now - number * _UNITS[last["unit"]], asker.now) if number else None
    since, _, rest = plain.partition(" ")
    if since == "since":
        began = _clock(rest, asker) or _day(rest, asker)
        return None if began is None else Period(began.since, asker.now)
    return _day(plain, asker)


def _is_span(last: re.Match[str]) -> bool:
    """ "2 hours", "the last hour", "hour"; but "last week" is a week of the calendar."""
    return not (last["led"] and last["unit"] == "week" and not last["count"])


def _clock(plain: str, asker: Asker) -> Period | None:
    """From that time of today on; where it is yet to come, of yesterday."""
    found = _CLOCK.fullmatch(plain)
    if found is None:
        return None
    here = asker.now.astimezone(zone_of(asker.time_zone))
    began = here.replace(hour=int(found["hour"]), minute=int(found["minute"]), second=0, microsecond=0)
    return Period(began if began <= here else began - timedelta(days=1), asker.now)


def _day(plain: str, asker: Asker) -> Period | None:
    """The days that the words name, if each word has a part in that: "everything but today" is not today."""
    for asked in (plain, f"on {plain}", f"in {plain}"):
        found = periods_in(asked, asker.now, asker.time_zone)
        if len(found) == 1:
            words = asked.split()
            without = (words[:at] + words[at + 1 :] for at, word in enumerate(words) if word not in _FILLERS)
            idle = any(periods_in(" ".join(rest), asker.now, asker.time_zone) == found for rest in without)
            return None if idle else found[0]
    return None


def _shown(said: str) -> str:
    short = said if len(said) <= 40 else f"{said[:39]}…"
    return short.replace("`", "")
