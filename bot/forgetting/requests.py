"""The requests of `/forget`, read from the words after it and from its buttons; the same on every platform. Pure.

    thread | everything | 2 hours | the last 3 days | today | since Monday | since 14:30 | about Apollo

Rules. "2 days" are the last 48 hours; calendar words such as "yesterday" mean days in the person's time zone. Nothing
is guessed: words that cannot be parsed get one sentence that says what to write.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never
from unicodedata import category

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.memory.forgetting_plans import AboutTopic, During, Everything, OneThread, Wish
from agent.memory.periods import TimeSpan, periods_in
from agent.ports.tools import Asker
from bot.chat.texts.formatting import literal, zone_of
from bot.forgetting import texts as forgetting_texts

# In a message; a longer one talks about forgetting. `/forget` has no such limit.
MAX_REQUEST_WORDS: Final = 4
MAX_ABOUT_CHARS: Final = 50  # A name or a few words, which a button has to carry
MIN_ABOUT_CHARS: Final = 3  # In one word: fewer letters occur in nearly every text
MIN_CJK_CHARS: Final = 2  # The same for Chinese, Japanese and Korean, where a character is a syllable or a word
RELATED: Final = "+"  # Marks a wish in a button that includes related messages
MAX_TOKEN_CHARS: Final = 70  # Of the 100 that a Discord button holds; the rest identifies its owner

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
# Whether "hours" has an s or "last" before it decides between "the last hour" and an unclear "hour".
_LAST: Final = re.compile(
    r"(?:the )?(?P<led>last |past )?(?:(?P<count>\d{1,3}|an?|one|two|three|four|five|six) )?"
    r"(?P<unit>minute|hour|day|week)(?P<many>s)?"
)
# A person who is asked what to forget may repeat the command in the reply.
_COMMAND: Final = re.compile(r"^/?forget(?: |$)", re.IGNORECASE)
# In these scripts two signs are a word, where two letters would match far too much.
_CJK_WORD: Final = re.compile(
    rf"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]{{{MIN_CJK_CHARS}}}"
)
_FILLERS: Final = frozenset({"in", "on", "the", "of", "from"})
_SECONDS: Final = re.compile(r"\d{1,11}", re.ASCII)  # Since 1970: `datetime` holds no time with more digits
_CLOCK: Final = re.compile(r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)")


@dataclass(frozen=True, slots=True)
class UnclearForget:
    sentence: str


def read_forget_request(words: str, asker: Asker, now: datetime) -> Wish | UnclearForget | None:
    """Return what these words ask to forget; None for no words."""
    request = _COMMAND.sub("", " ".join(words.split()), count=1)
    plain = request.casefold().strip(" .!?")
    if not plain:
        return None
    if plain in _THREAD:
        return OneThread(asker.person.id, asker.thread) if asker.thread else UnclearForget(forgetting_texts.NO_THREAD)
    if plain in _EVERYTHING:
        return Everything(asker.person.id)
    if plain.startswith("about "):
        return _about(request[len("about ") :].strip(" .!?“”\"'"), asker)
    period = _period(plain, asker, now)
    if period is None or period.since >= now:
        ways = forgetting_texts.forget_ways(in_thread=bool(asker.thread))
        return UnclearForget(forgetting_texts.FORGET_UNCLEAR.format(said=literal(_excerpt(request)), ways=ways))
    until = min(period.until, now).replace(microsecond=0) + timedelta(seconds=1)
    return During(asker.person.id, TimeSpan(period.since.astimezone(UTC).replace(microsecond=0), until))


def needs_zone(words: str, now: datetime) -> bool:
    """Return whether the meaning of these words depends on a time zone: "today" does, "2 hours" and "thread" do not."""
    in_west, in_east = (_somebody(zone) for zone in ("Pacific/Pago_Pago", "Pacific/Kiritimati"))
    return read_forget_request(words, in_west, now) != read_forget_request(words, in_east, now)


def _somebody(time_zone: str = "") -> Asker:
    """Return an asker in a thread, to learn what words mean for anybody."""
    return Asker(Person("", "", time_zone), Place(PersonAudience("")), thread=frozenset({"here"}))


def is_request(words: str, now: datetime) -> bool:
    """Return whether the words after "forget" in a message are a request; "it" and "about it, why?" are not."""
    about, _, rest = words.casefold().partition(" ")
    if "," in words or "?" in words or len(words.split()) > MAX_REQUEST_WORDS or (about == "about" and rest in _TALK):
        return False
    return not isinstance(read_forget_request(words, _somebody(), now), UnclearForget)


@dataclass(frozen=True, slots=True)
class AgreedForget:
    """What a person agreed to erase. `name`: of the preview that they saw (see `Preview`); "" for any. `related`:
    whether related messages, which may rest on the erased ones, are erased, too.
    """

    wish: Wish
    name: str = ""
    related: bool = False


def forget_token(wish: Wish, name: str, *, related: bool = False, connected: bool = False) -> str:
    """Encode a wish for a button, in up to `MAX_TOKEN_CHARS`. It holds neither a person nor a thread: they are those of
    the person who presses the button, and of the place where they do.

    `name`: of the preview; a different name later means that what would be erased has changed. `related`: erase the
    related messages, too. `connected`: it concerns several accounts.
    """
    too = RELATED if related else ""
    match wish:
        case OneThread():
            return f"thread{too}|{name}" if related else "thread"
        case Everything():
            return f"everything{too}|{name}" if related or connected else "everything"
        case During(_, period):
            return f"during{too}|{name}|{period.since.timestamp():.0f}|{period.until.timestamp():.0f}"
        case AboutTopic(_, words):
            return f"about{too}|{name}|{words}"
        case _:
            assert_never(wish)


def wish_of(token: str, asker: Asker) -> AgreedForget | None:
    """Decode the output of `forget_token`; return None for anything else."""
    kind, *rest = token.split("|")
    related = kind.endswith(RELATED)
    match [kind.removesuffix(RELATED), *rest]:
        case ["thread", *name] if asker.thread and len(name) == int(related):
            return AgreedForget(OneThread(asker.person.id, asker.thread), "".join(name), related)
        case ["everything", *name] if int(related) <= len(name) <= 1:
            return AgreedForget(Everything(asker.person.id), "".join(name), related)
        case ["during", name, since, until] if _SECONDS.fullmatch(since) and _SECONDS.fullmatch(until):
            begin, end = (datetime.fromtimestamp(int(seconds), UTC) for seconds in (since, until))
            return AgreedForget(During(asker.person.id, TimeSpan(begin, end)), name, related)
        case ["about", name, words]:
            return AgreedForget(AboutTopic(asker.person.id, words), name, related)
        case _:
            return None


def _about(words: str, asker: Asker) -> Wish | UnclearForget:
    if len(words) > MAX_ABOUT_CHARS:
        return UnclearForget(forgetting_texts.ABOUT_TOO_LONG.format(limit=MAX_ABOUT_CHARS))
    words = words.replace("|", " ")
    if not any(char.isalnum() for char in words):
        return UnclearForget(forgetting_texts.ABOUT_WHAT)
    if not (_CJK_WORD.search(words) or any(map(_is_long, words.split()))):
        return UnclearForget(forgetting_texts.ABOUT_TOO_SHORT.format(limit=MIN_ABOUT_CHARS, limit_cjk=MIN_CJK_CHARS))
    return AboutTopic(asker.person.id, words)


def _is_long(word: str) -> bool:
    """Return whether a word has enough letters. Vowel signs count, too: in many scripts they are half of a word."""
    return sum(category(char)[0] in "LMN" for char in word) >= MIN_ABOUT_CHARS


def _period(plain: str, asker: Asker, now: datetime) -> TimeSpan | None:
    if (last := _LAST.fullmatch(plain)) is not None and _is_span(last):
        count = last["count"] or ""
        number = int(count) if count.isdecimal() else _NUMBERS[count]
        return TimeSpan(now - number * _UNITS[last["unit"]], now) if number else None
    since, _, rest = plain.partition(" ")
    if since == "since":
        start = _clock(rest, asker, now) or _day(rest, asker, now)
        return None if start is None else TimeSpan(start.since, now)
    return _day(plain, asker, now)


def _is_span(last: re.Match[str]) -> bool:
    """Return whether the words mean a span up to now, as "2 hours" and "hour" do; "last week" is a calendar week."""
    return not (last["led"] and last["unit"] == "week" and not last["count"])


def _clock(plain: str, asker: Asker, now: datetime) -> TimeSpan | None:
    """Return the span since this time of today; since that of yesterday, if it is still to come today."""
    clock = _CLOCK.fullmatch(plain)
    if clock is None:
        return None
    local = now.astimezone(zone_of(asker.person.time_zone))
    start = local.replace(hour=int(clock["hour"]), minute=int(clock["minute"]), second=0, microsecond=0)
    return TimeSpan(start if start <= local else start - timedelta(days=1), now)


def _day(plain: str, asker: Asker, now: datetime) -> TimeSpan | None:
    """Return the days that the words name, if each word matters: "everything but today" does not mean today."""
    for phrase in (plain, f"on {plain}", f"in {plain}"):
        periods = periods_in(phrase, now, asker.person.time_zone)
        if len(periods) == 1:
            words = phrase.split()
            without = (words[:at] + words[at + 1 :] for at, word in enumerate(words) if word not in _FILLERS)
            has_filler = any(periods_in(" ".join(rest), now, asker.person.time_zone) == periods for rest in without)
            return None if has_filler else periods[0]
    return None


def _excerpt(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
