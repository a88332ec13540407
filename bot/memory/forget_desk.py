"""Forgetting, as people ask for it and as platforms tell of it."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never
from unicodedata import category

from agent.errors import StoreError
from agent.memory.forgetting_plans import EDIT, AboutTopic, Deleted, During, Everything, Gone, OneThread, Wish, post_key
from agent.memory.periods import TimeSpan, periods_in
from agent.ports import Clock, Forgetting, Jobs, Ledger, Preferences
from agent.records import DELETE_REPLY, Job, Receipt, ShownPage, ShownReply
from bot.access.admission import RateCounter
from bot.caches import FairTurns
from bot.host import ForgetAnswer, ForgetProgress, Forgetter, TellProgress, untold
from bot.memory.retention import BATCH, DELETED, GONE, sweep_soon
from bot.texts import memory_texts
from bot.texts.formatting import zone_of

# What `/forget` is asked, read from its words; the same on every platform. Pure.
#
#     thread | everything | 2 hours | the last 3 days | today | since Monday | since 14:30 | about Apollo
#
# Rules. "2 days" are the last 48 hours; what names days of the calendar, such as "yesterday", means those days where
# the person is. Nothing is guessed: what cannot be read gets one sentence that says what can be written.


# In a message; a longer one talks about forgetting. With `/forget` there is no such limit.
MAX_REQUEST_WORDS: Final = 4
MAX_ABOUT_CHARS: Final = 50  # A name or a few words; a button has to carry them
MIN_ABOUT_CHARS: Final = 3  # Of one word: fewer letters stand in nearly everything
MIN_CJK_CHARS: Final = 2  # The same where a letter is a syllable or a word: of Chinese, Japanese and Korean
RELATED: Final = "+"  # Behind a wish in a button: with what may have been made of it
MAX_TOKEN_CHARS: Final = 70  # Of the 100 that Discord's buttons hold; the rest says whose they are

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
# Whoever is asked what to forget may write the command once more.
_COMMAND: Final = re.compile(r"^/?forget(?: |$)", re.IGNORECASE)
_CJK_WORD: Final = re.compile(
    rf"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]{{{MIN_CJK_CHARS}}}"
)
_FILLERS: Final = frozenset({"in", "on", "the", "of", "from"})
_SECONDS: Final = re.compile(r"\d{1,11}", re.ASCII)  # Since 1970: more of them are no time that a clock can tell
_CLOCK: Final = re.compile(r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)")


@dataclass(frozen=True, slots=True)
class UnclearForget:
    sentence: str


@dataclass(frozen=True, slots=True)
class ForgetAsker:
    """Whose wish it is, what "this thread" means to them (nothing: they are in none), and when."""

    person: str
    thread: frozenset[str]
    now: datetime
    time_zone: str = ""


def read_forget_request(words: str, asker: ForgetAsker) -> Wish | UnclearForget | None:
    """What these words ask to forget; None if they say nothing."""
    said = _COMMAND.sub("", " ".join(words.split()), count=1)
    plain = said.casefold().strip(" .!?")
    if not plain:
        return None
    if plain in _THREAD:
        return OneThread(asker.person, asker.thread) if asker.thread else UnclearForget(memory_texts.NO_THREAD)
    if plain in _EVERYTHING:
        return Everything(asker.person)
    if plain.startswith("about "):
        return _about(said[len("about ") :].strip(" .!?“”\"'"), asker)
    period = _period(plain, asker)
    if period is None or period.since >= asker.now:
        ways = f"`thread`, {memory_texts.FORGET_WAYS}" if asker.thread else memory_texts.FORGET_WAYS
        return UnclearForget(memory_texts.FORGET_UNCLEAR.format(said=_shown(said), ways=ways))
    until = min(period.until, asker.now).replace(microsecond=0) + timedelta(seconds=1)
    return During(asker.person, TimeSpan(period.since.astimezone(UTC).replace(microsecond=0), until))


def needs_zone(words: str, now: datetime) -> bool:
    """Whether it depends on somebody's clock what these words mean: "today" does, "2 hours" and "thread" do not."""
    west, east = (
        ForgetAsker("", frozenset({"here"}), now, zone) for zone in ("Pacific/Pago_Pago", "Pacific/Kiritimati")
    )
    return read_forget_request(words, west) != read_forget_request(words, east)


def is_request(words: str, now: datetime) -> bool:
    """Whether the words behind "forget" in a message are a wish, not talk: "it", or "about it, what is the time?"."""
    about, _, rest = words.casefold().partition(" ")
    if "," in words or "?" in words or len(words.split()) > MAX_REQUEST_WORDS or (about == "about" and rest in _TALK):
        return False
    return not isinstance(read_forget_request(words, ForgetAsker("", frozenset({"here"}), now)), UnclearForget)


@dataclass(frozen=True, slots=True)
class AgreedForget:
    """What somebody agreed to: a wish, the name of what it would erase (see `Preview`; "": whatever it is), and
    whether what may have been made of it falls, too.
    """

    wish: Wish
    name: str = ""
    related: bool = False


def forget_token(wish: Wish, name: str, *, related: bool = False) -> str:
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
        case AboutTopic(_, words):
            return f"about{too}|{name}|{words}"
        case _:
            assert_never(wish)


def wish_of(kept: str, asker: ForgetAsker) -> AgreedForget | None:
    """The inverse of `token`; None for anything else."""
    kind, *rest = kept.split("|")
    related = kind.endswith(RELATED)
    match [kind.removesuffix(RELATED), *rest]:
        case ["thread", *name] if asker.thread and len(name) == int(related):
            return AgreedForget(OneThread(asker.person, asker.thread), "".join(name), related)
        case ["everything", *name] if len(name) == int(related):
            return AgreedForget(Everything(asker.person), "".join(name), related)
        case ["during", name, since, until] if _SECONDS.fullmatch(since) and _SECONDS.fullmatch(until):
            begin, end = (datetime.fromtimestamp(int(each), UTC) for each in (since, until))
            return AgreedForget(During(asker.person, TimeSpan(begin, end)), name, related)
        case ["about", name, words]:
            return AgreedForget(AboutTopic(asker.person, words), name, related)
        case _:
            return None


def _about(words: str, asker: ForgetAsker) -> Wish | UnclearForget:
    if len(words) > MAX_ABOUT_CHARS:
        return UnclearForget(memory_texts.ABOUT_TOO_LONG.format(limit=MAX_ABOUT_CHARS))
    words = words.replace("|", " ")
    if not any(char.isalnum() for char in words):
        return UnclearForget(memory_texts.ABOUT_WHAT)
    if not (_CJK_WORD.search(words) or any(map(_is_long, words.split()))):
        return UnclearForget(memory_texts.ABOUT_TOO_SHORT.format(limit=MIN_ABOUT_CHARS, limit_cjk=MIN_CJK_CHARS))
    return AboutTopic(asker.person, words)


def _is_long(word: str) -> bool:
    """Vowel signs and accents count, too: in many scripts they are half of a word."""
    return sum(category(char)[0] in "LMN" for char in word) >= MIN_ABOUT_CHARS


def _period(plain: str, asker: ForgetAsker) -> TimeSpan | None:
    if (last := _LAST.fullmatch(plain)) is not None and _is_span(last):
        count = last["count"] or ""
        number = int(count) if count.isdecimal() else _NUMBERS[count]
        return TimeSpan(asker.now - number * _UNITS[last["unit"]], asker.now) if number else None
    since, _, rest = plain.partition(" ")
    if since == "since":
        began = _clock(rest, asker) or _day(rest, asker)
        return None if began is None else TimeSpan(began.since, asker.now)
    return _day(plain, asker)


def _is_span(last: re.Match[str]) -> bool:
    """ "2 hours", "the last hour", "hour"; but "last week" is a week of the calendar."""
    return not (last["led"] and last["unit"] == "week" and not last["count"])


def _clock(plain: str, asker: ForgetAsker) -> TimeSpan | None:
    """From that time of today on; where it is yet to come, of yesterday."""
    found = _CLOCK.fullmatch(plain)
    if found is None:
        return None
    here = asker.now.astimezone(zone_of(asker.time_zone))
    began = here.replace(hour=int(found["hour"]), minute=int(found["minute"]), second=0, microsecond=0)
    return TimeSpan(began if began <= here else began - timedelta(days=1), asker.now)


def _day(plain: str, asker: ForgetAsker) -> TimeSpan | None:
    """The days that the words name, if each word has a part in that: "everything but today" is not today."""
    for asked in (plain, f"on {plain}", f"in {plain}"):
        found = periods_in(asked, asker.now, asker.time_zone)
        if len(found) == 1:
            words = asked.split()
            without = (words[:at] + words[at + 1 :] for at, word in enumerate(words) if word not in _FILLERS)
            idle = any(periods_in(" ".join(rest), asker.now, asker.time_zone) == found for rest in without)
            return None if idle else found[0]
    return None


def _shown(text: str) -> str:
    short = text if len(text) <= 40 else f"{text[:39]}…"
    return short.replace("`", "")


# What is said before something is forgotten. Pure.
#
# Rule: who agrees must know to what. What will be erased is counted, for what was chosen by time or by words its
# first lines are shown, and moments stand with the time zone that they are meant in: where a platform tells none,
# that is UTC.


# After that a turn whose question was deleted while it ran has surely ended, or its worker has.
TAKEN_BACK = timedelta(minutes=5)

AT_ONCE: Final = 2  # Searches for what would fall, of all people: half of the connections that read an SQLite file
MOST_WAITING: Final = 3  # Of one person, behind the one that runs; more are pressed by nobody who reads the answers
# How long somebody waits until they are told how far it is, and how long then until they are told again. So few times
# because Slack takes five answers to one click, of which the last says what was found.
TELL_AFTER_S: Final = (1.5, 6.0, 30.0)


# Before the moment at which a long search began: the person's preference by which other processes know of it.
SEARCH: Final = "forget.search "
LOOKING, ERASING, STOPPED = "looking", "erasing", "stopped"  # What it holds, in this order or without the second
LISTEN_S: Final = 1.0  # How often a long search asks whether it was stopped elsewhere
LONGEST: Final = timedelta(hours=1)  # Of a search; the mark of an older one was left by a process that is gone


class _Stopped(Exception):
    """Its person wants nothing looked for any more."""


@dataclass(slots=True, eq=False)
class _Search:
    """One that runs, seen from the thread that searches and by those who wait. Implements `Watch`."""

    found: int = 0
    erasing: bool = False
    stopped: bool = False
    mark: str = ""
    """Its preference; "" while nobody was shown a way to stop it."""
    marking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __call__(self, found: int) -> None:
        self.found = max(self.found, found)
        if self.stopped:
            raise _Stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDesk:
    """Rules
    Nobody's things are erased before they have seen how much it is, and agreed to exactly that.
    To find what falls takes seconds where much was said, so people take turns, and each has few of them at a time.
    Meanwhile they are told how much was found, and may stop it, in whichever process, until something is erased.
    Who deletes or edits a message in the platform has agreed by doing so; nobody waits for a receipt, so the bytes
    are wiped a little later, for many at once. Each edit takes the database for itself, so of a flood the last of each
    message are kept one by one, at the rate of new messages.
    """

    forgetting: Forgetting
    ledger: Ledger
    jobs: Jobs
    preferences: Preferences
    clock: Clock
    edits: RateCounter = field(default_factory=RateCounter)
    """Of what people edit: as much as they may write anew is kept at once, the rest later."""
    is_exempt: Callable[[str], bool] = lambda _: False
    """Whether a person may edit as much as they like."""
    take_back: Callable[[str, str | None], Awaitable[None]]
    """End the running turns of a person in a conversation (None: all), and delete what they have shown."""
    withdraw: Callable[[str, str], Awaitable[bool]]
    """Do not answer a message that was deleted, and take back what was said already; False if it has its answer."""
    learn_at: Callable[[datetime], datetime | None] = lambda _: None
    """When to learn from words that were edited now; None: not."""
    sources: Callable[[], Collection[str]] = tuple
    """The platforms that this process reaches."""
    grace: timedelta = timedelta(days=30)
    """How long what was said stays after the bot was taken out of a place: it may have been a mistake."""
    revoke: Callable[[str], Awaitable[str]] | None = None
    """Have a person's accounts at servers of tools end there, too: a sentence about what was not confirmed, or ""."""
    tell_after_s: Sequence[float] = TELL_AFTER_S

    _turns: FairTurns = field(default_factory=lambda: FairTurns(AT_ONCE), init=False)
    _searches: dict[str, list[_Search]] = field(default_factory=dict[str, list[_Search]], init=False)
    """By person."""

    async def ask(self, who: Forgetter, words: str, tell: TellProgress = untold) -> ForgetAnswer:
        """What these words would erase. Raises StoreError."""
        return await self._in_turn(who, tell, lambda search: self._asked(who, words, search))

    async def forget(
        self, who: Forgetter, token: str, *, replies: bool = False, tell: TellProgress = untold
    ) -> ForgetAnswer:
        """Erase what they agreed to; ask again if it has changed. Raises StoreError."""
        return await self._in_turn(who, tell, lambda search: self._forgotten(who, token, search, replies=replies))

    def stop(self, person: str) -> bool:
        searches = [one for one in self._searches.get(person, ()) if not one.erasing]
        for search in searches:
            search.stopped = True
        return bool(searches)

    async def stop_everywhere(self, person: str) -> bool:
        stopped, now = self.stop(person), self.clock.now()
        for name in await self.preferences.of(person):
            if not name.startswith(SEARCH):
                continue
            if now - datetime.fromisoformat(name.removeprefix(SEARCH)) > LONGEST:
                await self.preferences.set(person, name, None)
            else:
                stopped |= await self.preferences.swap(person, name, LOOKING, STOPPED)
        return stopped

    async def _in_turn(
        self, who: Forgetter, tell: TellProgress, work: Callable[[_Search], Awaitable[ForgetAnswer]]
    ) -> ForgetAnswer:
        if len(self._searches.get(who.person, ())) > MOST_WAITING:
            return ForgetAnswer(memory_texts.FORGETTING, refused=True)
        search = _Search()
        self._searches.setdefault(who.person, []).append(search)
        working = asyncio.ensure_future(self._worked(who.person, search, work))
        listening = asyncio.ensure_future(self._listen(who.person, working, search))
        try:
            await self._tell(working, search, tell)
            return await working
        except _Stopped:
            return ForgetAnswer(memory_texts.FORGET_STOPPED)
        finally:
            listening.cancel()
            if not working.done():  # nobody waits for it any more
                search.stopped = True
                working.cancel()
                await asyncio.wait({working})
            self._searches[who.person].remove(search)
            if not self._searches[who.person]:
                del self._searches[who.person]
            await asyncio.wait({listening})
            with suppress(StoreError):  # what is left of it is passed over when it is old
                await self._unmark(who.person, search)

    async def _worked(
        self, person: str, search: _Search, work: Callable[[_Search], Awaitable[ForgetAnswer]]
    ) -> ForgetAnswer:
        async with self._turns.turn(person):
            search(0)
            return await work(search)

    async def _tell(self, working: "asyncio.Future[ForgetAnswer]", search: _Search, tell: TellProgress) -> None:
        """Tell how far it is, now and then, until it has ended or there is no more to be told."""
        for seconds in self.tell_after_s:
            pause = asyncio.ensure_future(self.clock.sleep(seconds))
            try:
                await asyncio.wait({working, pause}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()
            if working.done() or search.stopped:
                return
            await tell(ForgetProgress(search.found, erasing=search.erasing))

    async def _listen(self, person: str, working: "asyncio.Future[ForgetAnswer]", search: _Search) -> None:
        """Once it takes long, let other processes know of it, and hear of them that it is to end."""
        pause_s = next(iter(self.tell_after_s), None)
        while pause_s is not None and not (working.done() or search.erasing or search.stopped):
            await self.clock.sleep(pause_s)
            pause_s = LISTEN_S
            with suppress(StoreError):  # it goes on, and asks again
                async with search.marking:
                    if not (search.mark or search.erasing):
                        mark = f"{SEARCH}{self.clock.now().isoformat()}"
                        await self.preferences.set(person, mark, LOOKING)
                        search.mark = mark
                if (await self.preferences.of(person)).get(search.mark) == STOPPED:
                    search.stopped = True  # never taken back: it may have been stopped here meanwhile

    async def _begin_erasing(self, person: str, search: _Search) -> None:
        """From now on nothing stops it, here or elsewhere."""
        search(0)
        search.erasing = True
        async with search.marking:
            if search.mark and not await self.preferences.swap(person, search.mark, LOOKING, ERASING):
                raise _Stopped
            await self._unmark(person, search)

    async def _unmark(self, person: str, search: _Search) -> None:
        if search.mark:
            await self.preferences.set(person, search.mark, None)
            search.mark = ""

    async def _asked(self, who: Forgetter, words: str, search: _Search) -> ForgetAnswer:
        answer = await self._answered(who, words, search)
        return replace(answer, by_clock=not who.time_zone and needs_zone(words, self.clock.now()))

    async def _answered(self, who: Forgetter, words: str, search: _Search) -> ForgetAnswer:
        match read_forget_request(words, self._asker(who)):
            case None:
                return ForgetAnswer(memory_texts.FORGET_WHICH, refused=True)
            case UnclearForget(sentence):
                return ForgetAnswer(sentence, refused=True)
            case wish:
                return await self._question(who, wish, search)

    async def _forgotten(self, who: Forgetter, token: str, search: _Search, *, replies: bool) -> ForgetAnswer:
        agreed = wish_of(token, self._asker(who))
        if agreed is None:
            return ForgetAnswer(memory_texts.FORGET_UNREADABLE, refused=True)
        wish = agreed.wish
        if agreed.name and (await self.forgetting.preview(wish, search)).name != agreed.name:
            again = await self._question(who, wish, search)
            return replace(again, text=f"{memory_texts.FORGET_CHANGED} {again.text}")
        await self._begin_erasing(who.person, search)
        for conversation in _taken_back(wish):
            await self.take_back(who.person, conversation)
        receipt, untold = await self.erase(wish, who.person, replies=replies, related=agreed.related)
        return ForgetAnswer(f"{memory_texts.receipt_text(receipt)} {untold}".rstrip())

    async def erase(
        self,
        plan: Wish | Gone,
        person: str = "",
        *,
        replies: bool = False,
        related: bool = False,
        limit: int | None = None,
    ) -> tuple[Receipt, str]:
        """Erase what was agreed to, when nothing of it is answered any more; and the sentence about accounts elsewhere
        of which nobody could say that they have ended. `person`: whose it is, "" for a place. Raises StoreError.
        """
        titles = await self.forgetting.titles(plan)
        untold = await self.revoke(person) if self.revoke and isinstance(plan, Everything) else ""
        receipt = await self.forgetting.forget(plan, self.clock.now(), replies=replies, related=related, limit=limit)
        homes = [ShownPage(source, "", person, ShownReply.HOME) for source in self.sources()]
        await self._clear([*titles, *(home for home in homes if person.startswith(f"{home.source}:"))])
        return receipt, untold

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        person, now = await self.forgetting.author(channel, message_id), self.clock.now()
        if person is None:
            return False
        if self.is_exempt(person) or await self.edits.obstacle(person, channel, now) is None:
            return await self._amended(channel, message_id, text)
        key, payload = post_key(channel, message_id), json.dumps([channel, message_id, text])
        if not await self.jobs.replace(EDIT, key, payload=payload, person=person):
            await self.jobs.schedule(EDIT, key, payload, self.edits.book(person, channel, now), person=person)
        return True

    async def keep_edit(self, job: Job) -> None:
        """The job: an edit for which it was too soon; the last one of its message. Raises StoreError."""
        channel, message_id, text = json.loads(job.payload)
        await self._amended(channel, message_id, text, job)

    async def _amended(self, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        if await self.ledger.amend(channel, message_id, text, job):
            return True
        now = self.clock.now()
        known = await self.forgetting.update_text(channel, message_id, text, now, self.learn_at(now), job)
        if known:
            await sweep_soon(self.jobs, now)
        return known

    async def deleted(self, channel: str, messages: Collection[str]) -> None:
        now = self.clock.now()
        running = [each for each in messages if await self.withdraw(channel, each)]
        for each in running:  # what the turn had remembered by then
            await self.jobs.cancel(EDIT, post_key(channel, each))
            payload = json.dumps([channel, each])
            await self.jobs.schedule(DELETED, f"{channel} {each}", payload, now + TAKEN_BACK)
        if ended := frozenset(messages) - set(running):
            plan = Deleted(channel, ended)
            titles = await self.forgetting.titles(plan)
            erased = await self.forgetting.retire(plan, now, BATCH)
            if any(erased.values()):
                await sweep_soon(self.jobs, now)
            await self._clear(titles)

    async def gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        run_at = self.clock.now() + (timedelta() if at_once else self.grace)
        await self.jobs.schedule(GONE, name, gone.encode(), run_at)

    async def back(self, names: Collection[str]) -> None:
        for name in names:
            await self.jobs.cancel(GONE, name)

    async def _clear(self, shown: Sequence[ShownPage]) -> None:
        """Have platforms show it no longer, as far as this process reaches them."""
        here, now = self.sources(), self.clock.now()
        for one in shown:
            if one.source in here:
                await self.jobs.schedule(DELETE_REPLY, one.key, one.encode(), now)

    def _asker(self, who: Forgetter) -> ForgetAsker:
        return ForgetAsker(who.person, who.thread, self.clock.now(), who.time_zone)

    async def _question(self, who: Forgetter, wish: Wish, search: _Search) -> ForgetAnswer:
        preview, zone = await self.forgetting.preview(wish, search), zone_of(who.time_zone)
        if preview.is_empty and not isinstance(wish, Everything):  # that also takes what no preview counts
            return ForgetAnswer(memory_texts.nothing_to_forget(wish, zone))
        return ForgetAnswer(
            memory_texts.forget_question(wish, preview, zone),
            forget_token(wish, preview.name),
            forget_token(wish, preview.name, related=True) if preview.related.count else "",
        )


def _taken_back(wish: Wish) -> Collection[str | None]:
    """The conversations whose running answers fall with the wish (None: all)."""
    match wish:
        case OneThread(_, conversations):
            return conversations
        case Everything() | During():
            return [None]
        case AboutTopic():
            return []
        case _:
            assert_never(wish)
