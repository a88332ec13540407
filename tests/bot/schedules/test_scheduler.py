"""A due schedule begins once, where and as its person may run it: with real turns, and a surface that records them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

import pytest

from agent import texts
from agent.errors import CogencyError
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.ports.tools import Tool
from agent.progress import Progress, RoundStep
from agent.providers.scripted import Answer, Answering, ScriptedProvider
from agent.schedules.definitions import (
    Admitted,
    CheckKind,
    FirstCheck,
    NewSchedule,
    NotAllowed,
    Occurrence,
    Schedule,
    ScheduleKind,
    ScheduleState,
    Timing,
)
from agent.schedules.ids import occurrence_id
from agent.schedules.long_work import WORK_CHARS, WORK_ROUNDS
from agent.stored_messages import Author
from agent.tools.recall import RecallTool
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from bot.chat.feature import Feature
from bot.chat.reply.surface import ReplyEnd
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.schedules import texts as schedule_texts
from bot.schedules.phrases.reading import WhenRead, read_when
from bot.schedules.reports import REPORT_RULES, ReportRule, ScheduleReporter
from bot.schedules.scheduler import GIVE_UP, JUMP_S, LOOK_S, Scheduler, schedule_kinds
from bot.schedules.work import ASK_AGAIN_S, LongWork
from store.databases.database import LocalNotifier
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.incoming import dm
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.surface import BUTTONED, FakeSurface
from tests.patience import PATIENCE_S

DAILY = Timing("UTC", rule="0 13 * * *")
HOUR = timedelta(hours=1)
NOTHING = "NOTHING_TO_REPORT"


class SetClock(FakeClock):
    """A clock whose time of day can be set, while its monotonic time continues."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class Away(CogencyError):
    """The platform cannot be reached now."""


@dataclass
class Place:
    """A platform. `answers`: its next answers; once they are used up, it allows everything."""

    clock: SetClock
    answers: list[NotAllowed | Away] = field(default_factory=list[NotAllowed | Away])
    mute: bool = False

    async def admit(self, occurrence: Occurrence) -> Admitted:
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Away):
                raise answer
            return answer
        return self._incoming(occurrence.schedule, f"runs of {occurrence.schedule.id}")

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:  # noqa: ARG002 -- as the port says
        if self.mute:
            raise Away("They are gone.")
        return self._incoming(schedule, "direct")

    def _incoming(self, one: Schedule, conversation: str) -> Incoming:
        who = one.definition.person
        return Incoming(
            "test", "", one.definition.channel, "", conversation, Person(who, who), dm(who), one.definition.words, NOON
        )


@dataclass
class World:
    script: Sequence[Answer | Answering] | Answering = ()
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: SetClock = field(default_factory=lambda: SetClock(auto=False))
    surfaces: dict[str, FakeSurface] = field(default_factory=dict[str, FakeSurface])
    spent: str | None = None
    closed: str | None = None
    looks: list[str] = field(default_factory=list[str])
    rules: Sequence[ReportRule] = REPORT_RULES
    tools: Sequence[Tool] = ()

    def __post_init__(self) -> None:
        self.place, self.model = Place(self.clock), ScriptedProvider(self.script)
        kinds = schedule_kinds(ScheduleReporter(self.store.schedules, self.rules))
        runner = replace(
            runner_on(self.store, self.model, self.clock, RecallTool(self.store.memories), *self.tools),
            features=TurnFeatures([Feature(name="schedules", kinds=kinds)]),
        )
        self.turns = TurnWorker(
            self.store.ledger, runner, self._surface, LocalNotifier(), self.clock, "us", TurnWorkerLimits(sweep_s=0.01)
        )

    def _surface(self, incoming: Incoming) -> FakeSurface:
        return self.surfaces.setdefault(incoming.conversation, FakeSurface(self.clock, BUTTONED))

    def scheduler(self) -> Scheduler:
        async def left(_: Incoming) -> str | None:
            return self.spent

        async def look(_: FirstCheck, __: Incoming) -> str:
            return self.looks.pop(0)

        async def closed(_: Incoming) -> str | None:
            return self.closed

        return Scheduler(
            self.store.schedules,
            {"test": self.place},
            self.clock,
            self.turns.wake,
            closed,
            left,
            look,
        )

    async def keep(
        self,
        words: str,
        kind: ScheduleKind = ScheduleKind.REMINDER,
        timing: Timing = DAILY,
        *,
        checks: bool = False,
        report: str = "",
    ) -> Schedule:
        check = FirstCheck(CheckKind.PAGE, "https://example.test") if checks else None
        new = NewSchedule(
            "ann", "test", "C1", dm("ann"), kind, words, timing, self.clock.now(), check=check, report=report
        )
        schedule = await self.store.schedules.add(new)
        assert isinstance(schedule, Schedule)
        return schedule

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Scheduler]:
        async with asyncio.timeout(PATIENCE_S), self.turns.serving():
            yield self.scheduler()

    async def pass_(self, scheduler: Scheduler, time: timedelta) -> None:
        """Advance the clock; everything that is due begins, and is answered."""
        await self.clock.advance(time.total_seconds())
        while await scheduler.work() == 0:
            pass
        idle = asyncio.ensure_future(self.turns.idle())
        while not idle.done():
            await self.clock.advance(1)
        await idle

    def shown(self, schedule: Schedule) -> list[str]:
        conversation = f"runs of {schedule.id}"
        return self.surfaces[conversation].shown if conversation in self.surfaces else []

    @property
    def told(self) -> list[str]:
        return self.surfaces["direct"].shown if "direct" in self.surfaces else []

    async def now(self, schedule: Schedule) -> Schedule:
        return next(one for one in await self.store.schedules.of_person("ann") if one.id == schedule.id)


QUESTION = ScheduleKind.QUESTION


async def test_a_reminder_shows_its_words_each_time_without_a_model_call() -> None:
    world = World()
    plants = await world.keep("Water the plants.")
    async with world.serving() as scheduler:
        assert await scheduler.work() == LOOK_S
        await world.pass_(scheduler, HOUR)
        await world.pass_(scheduler, 24 * HOUR)
    assert world.shown(plants) == ["Water the plants."] * 2
    assert set(world.surfaces[f"runs of {plants.id}"].offers.values()) <= {frozenset()}
    assert world.model.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "days", "hours", "count"),
    [
        ("every 2 hours between 14 and 18", {0, 1, 2, 3, 4, 5, 6}, {14, 16, 18}, None),
        ("every weekday except Wednesday at 9:00 and 17:30", {0, 1, 3, 4}, {9, 17}, None),
        ("every day at 9:00 for 3 days", {0, 1, 2, 3, 4, 5, 6}, {9}, 3),
        ("every day at 9:00 2 times", {0, 1, 2, 3, 4, 5, 6}, {9}, 2),
    ],
)
async def test_the_limits_of_a_repetition_hold_while_it_runs(
    words: str, days: set[int], hours: set[int], count: int | None
) -> None:
    world, utc = World(), ZoneInfo("UTC")
    when = read_when(f"{words} | drink", world.clock.now(), utc)
    assert isinstance(when, WhenRead)
    drink, came = await world.keep(when.words, timing=when.timing), list[datetime]()
    half, begin = HOUR / 2, world.clock.now()
    async with world.serving() as scheduler:
        while world.clock.now() < begin + timedelta(days=8):
            seen = len(world.shown(drink))
            await world.pass_(scheduler, half - (world.clock.now() - begin) % half)
            came += [world.clock.now()] * (len(world.shown(drink)) - seen)
    expected = [
        at
        for at in (begin + n * half for n in range(1, 8 * 48 + 1))
        if at.weekday() in days and (at.hour, at.minute) in {(hour, 30 if hour == 17 else 0) for hour in hours}
    ]
    assert [at.replace(second=0, microsecond=0) for at in came] == expected[:count]


@pytest.mark.parametrize("own", [True, False])
async def test_a_reminder_in_its_persons_own_words_relays_nothing_and_any_other_may(own: bool) -> None:
    world = World()
    new = NewSchedule("ann", "test", "C1", dm("ann"), ScheduleKind.REMINDER, "Tea.", DAILY, world.clock.now(), own=own)
    await world.store.schedules.add(new)
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
    (said,) = [one for _, one in world.store.messages if one.author is Author.BOT]
    assert (said.text, said.relayed) == ("Tea.", not own)


async def test_a_new_schedule_is_noticed_before_the_next_look() -> None:
    world = World()
    async with world.serving(), world.scheduler().serving(), asyncio.timeout(LOOK_S - 1):
        soon = await world.keep("Now.", timing=Timing("UTC", at=NOON + timedelta(seconds=1)))
        await world.clock.advance(2)
        later = await world.keep("Later.")
        await world.store.schedules.change("ann", later.id, words="Much later.", now=world.clock.now())
        while world.shown(soon) != ["Now."]:
            await world.clock.advance(0.1)


async def test_a_question_is_asked_each_time_and_its_answer_shown() -> None:
    world = World(["The first news.", "The second news."])
    news = await world.keep("What is new?", QUESTION)
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
        await world.pass_(scheduler, 24 * HOUR)
    assert world.shown(news) == ["The first news.", "The second news."]
    assert "NOTHING_TO_REPORT" in world.model.requests[0][-1].text
    assert [text for _, text in ((m.author, m.text) for _, m in world.store.messages)][:2] == [
        "What is new?",
        "The first news.",
    ]


@pytest.mark.parametrize("pieces", [[NOTHING], list(NOTHING), ["\n", NOTHING[:7], NOTHING[7:], "\n"]])
async def test_an_answer_that_there_is_nothing_to_report_is_never_seen(pieces: list[str]) -> None:
    world = World([pieces])
    news = await world.keep("What is new?", QUESTION)
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
    surface = world.surfaces[f"runs of {news.id}"]
    assert (surface.frames, surface.statuses, surface.endings) == ([], [], [ReplyEnd.SILENT])
    assert [m.text for _, m in world.store.messages] == ["What is new?"]


async def test_steps_are_shown_only_if_there_is_an_answer() -> None:
    call = '<execute>[{"name": "recall", "args": {"query": "boats"}}]\n</execute>'
    world = World([call, NOTHING, call, f"{NOTHING[:9]} is not what I say."])
    news = await world.keep("What is new?", QUESTION)
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
        assert world.shown(news) == []
        await world.pass_(scheduler, 24 * HOUR)
    assert world.shown(news) == ["NOTHING_T is not what I say."]


async def test_a_schedule_missed_while_no_process_ran_comes_late_and_says_so() -> None:
    world = World()
    plants = await world.keep("Water the plants.")
    async with world.serving() as scheduler:
        await world.pass_(scheduler, 2 * 24 * HOUR + 2 * HOUR)
    assert world.shown(plants) == [
        ("Water the plants.\n\nThis was due at 13:00, but I was offline. I also missed 2 earlier times.")
    ]


async def test_a_reminder_that_comes_on_a_later_day_names_the_day_on_which_it_was_due() -> None:
    world = World()
    plants = await world.keep("Water the plants.", timing=Timing("UTC", at=NOON + HOUR))
    async with world.serving() as scheduler:
        await world.pass_(scheduler, 24 * HOUR + HOUR)
    due = f"{NOON:%A}, {NOON:%B} {NOON.day}"
    assert world.shown(plants) == [f"Water the plants.\n\nThis was due on {due}, at 13:00, but I was offline."]


async def test_a_question_whose_time_is_long_over_waits_for_the_next_but_a_single_one_is_asked() -> None:
    world = World(["Late, but here."])
    daily = await world.keep("What is new?", QUESTION)
    once = await world.keep("Once?", QUESTION, Timing("UTC", at=NOON + HOUR))
    async with world.serving() as scheduler:
        await world.pass_(scheduler, 14 * HOUR)
    assert (world.shown(daily), world.shown(once)) == ([], ["Late, but here."])
    assert (await world.now(daily)).next == NOON + 25 * HOUR


@pytest.mark.parametrize("by", ["platform", "access"])
async def test_a_person_who_lost_access_is_notified_once_and_the_schedule_ends(by: str) -> None:
    world = World(closed="You may not write to me." if by == "access" else None)
    news = await world.keep("What is new?", QUESTION)
    if by == "platform":
        world.place.answers.append(NotAllowed("You left the channel."))
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
        await world.pass_(scheduler, 48 * HOUR)
    ended = await world.now(news)
    assert (ended.state, ended.next) == (ScheduleState.ENDED, None)
    why = "You left the channel." if by == "platform" else "You may not write to me."
    assert ended.why == why
    assert [why in text and "What is new?" in text for text in world.told] == [True]
    assert world.shown(news) == []


async def test_a_schedule_ends_even_if_its_person_cannot_be_notified() -> None:
    world = World()
    news = await world.keep("What is new?", QUESTION)
    world.place.answers.append(NotAllowed("Their account is closed."))
    world.place.mute = True
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
    assert (await world.now(news)).state is ScheduleState.ENDED


@pytest.mark.slow
async def test_over_budget_questions_are_skipped_with_one_notice_a_day_and_reminders_come() -> None:
    world = World(spent="Your budget is used up.")
    hourly = Timing("UTC", rule="0 * * * *")
    news = await world.keep("What is new?", QUESTION, hourly)
    other = await world.keep("What else?", QUESTION, hourly)
    plants = await world.keep("Water the plants.", timing=hourly)
    async with world.serving() as scheduler:
        for _ in range(3):
            await world.pass_(scheduler, HOUR)
        assert len(world.told) == 1
        for _ in range(12):
            await world.pass_(scheduler, HOUR)
    assert len(world.told) == 2
    assert (world.shown(news), world.shown(other), world.model.requests) == ([], [], [])
    assert len(world.shown(plants)) == 15


async def test_no_model_is_called_while_a_check_finds_the_same() -> None:
    world = World(["Version 1.", "Version 2."], looks=["one", "one", "two"])
    page = await world.keep("What does the page say?", QUESTION, checks=True)
    async with world.serving() as scheduler:
        for hours in (1, 24, 24):
            await world.pass_(scheduler, hours * HOUR)
    assert world.shown(page) == ["Version 1.", "Version 2."]
    assert len(world.model.requests) == 2


async def test_while_access_is_unknown_it_is_retried_with_growing_pauses() -> None:
    world = World()
    plants = await world.keep("Water the plants.", timing=Timing("UTC", at=NOON + HOUR))
    world.place.answers += [Away("Slack is down.")] * 4
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
        for seconds in (11, 22, 44, 90):
            assert world.shown(plants) == []
            await world.pass_(scheduler, timedelta(seconds=seconds))
    assert world.shown(plants) == ["Water the plants.\n\nThis was due at 13:00, but I was offline."]


async def test_a_place_without_an_answer_for_a_week_is_given_up() -> None:
    world = World()
    plants = await world.keep("Water the plants.", timing=Timing("UTC", at=NOON + HOUR))
    world.place.answers += [Away("Slack is down.")] * 9
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
        await world.pass_(scheduler, GIVE_UP + HOUR)
    assert (await world.now(plants)).state is ScheduleState.ENDED


async def test_after_a_jump_ahead_nothing_begins_for_a_moment_and_a_jump_back_repeats_nothing() -> None:
    world = World()
    plants = await world.keep("Water the plants.")
    async with world.serving() as scheduler:
        await scheduler.work()
        world.clock.ahead = timedelta(days=1)
        assert await scheduler.work() == 1.0
        world.clock.ahead = timedelta()  # it was corrected in time
        await world.pass_(scheduler, timedelta(seconds=1))
        assert world.shown(plants) == []
        await world.pass_(scheduler, HOUR)
        assert world.shown(plants) == ["Water the plants."]
        world.clock.ahead = -6 * HOUR
        await world.pass_(scheduler, 7 * HOUR)
        assert len(world.shown(plants)) == 1
        world.clock.ahead = timedelta(days=1)  # this time it stays so
        assert await scheduler.work() == 1.0
        await world.pass_(scheduler, timedelta(seconds=JUMP_S + 1))
        assert len(world.shown(plants)) == 2


@pytest.mark.slow
async def test_replicas_deliver_each_occurrence_once() -> None:
    world = World()
    schedules = [await world.keep(f"Thing {number}.") for number in range(30)]
    async with world.serving() as scheduler:
        others = [scheduler, world.scheduler(), world.scheduler()]
        await world.clock.advance(HOUR.total_seconds())
        await asyncio.gather(*(one.work() for one in others))
        await world.pass_(scheduler, timedelta(seconds=1))
    assert [world.shown(one) for one in schedules] == [[f"Thing {number}."] for number in range(30)]


async def test_a_bug_in_one_platform_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    world = World(looks=[])
    broken = await world.keep("What does the page say?", QUESTION, checks=True)
    plants = await world.keep("Water the plants.")
    async with world.serving() as scheduler:
        await world.pass_(scheduler, HOUR)
    assert (world.shown(broken), world.shown(plants)) == ([], ["Water the plants."])
    assert f"schedule {broken.id}: failed" in caplog.text


WORK, AT_ONCE = ScheduleKind.WORK, Timing("UTC", at=NOON)


def question_of(one: Schedule) -> Incoming:
    name = occurrence_id(one.id, NOON, TurnKind.WORK)
    return Incoming(
        *("test", name, "C1", name, "thread:work:1", Person("ann", "ann"), dm("ann"), one.definition.words, NOON),
        kind=TurnKind.WORK,
        schedule=one.id,
    )


def rounds(world: World, *gaps: timedelta, brought: str = "x") -> Progress:
    """Rounds that began one after the other, the last one this long ago."""
    begun, steps = world.clock.now(), list[RoundStep]()
    for gap in reversed(gaps):
        begun -= gap
        result = ToolResult("read", ResultStatus.SUCCESS, brought)
        steps.append(RoundStep(begun, calls=(ToolCall("read", {}),), results=(result,)))
    return Progress(tuple(reversed(steps)))


async def test_work_begins_at_once_with_only_its_words_however_late() -> None:
    world = World(["The table."])
    table = await world.keep("Make a table.", WORK, AT_ONCE)
    world.spent = "Your budget is used up."  # shown in the message of the work
    async with world.serving() as scheduler:
        await world.pass_(scheduler, 3 * HOUR)
    assert world.shown(table) == ["The table."]
    assert "Make a table.\n\n(This is the work that you promised" in world.model.requests[0][-1].text
    assert world.told == []


async def test_work_ends_after_a_limit_of_time_or_of_content_read() -> None:
    world = World()
    longer, one = (
        LongWork(world.store.schedules, {"test": world.place}, world.clock),
        await world.keep("x", WORK, AT_ONCE),
    )
    asked, minute = question_of(one), timedelta(minutes=1)
    assert await longer.end_due(asked, rounds(world, *[minute] * 29)) is None
    ends = await longer.end_due(asked, rounds(world, *[minute] * 30))
    assert ends is not None
    assert ("30 minutes" in ends.why, ends.at_once) == (True, False)
    assert await longer.end_due(asked, rounds(world, minute, 10 * HOUR, minute)) is None, "it waited for its person"
    ends = await longer.end_due(asked, rounds(world, minute, brought="x" * WORK_CHARS))
    assert ends is not None
    assert ends.why == schedule_texts.WORK_TOO_MUCH


async def test_work_continues_while_access_is_unknown_and_is_checked_seldom() -> None:
    world = World()
    longer, one = (
        LongWork(world.store.schedules, {"test": world.place}, world.clock),
        await world.keep("x", WORK, AT_ONCE),
    )
    asked, denial = question_of(one), NotAllowed("They are gone.")
    world.place.answers = [Away("Nobody answers.")]
    assert await longer.end_due(asked, Progress()) is None
    assert await longer.end_due(asked, Progress()) is None
    world.place.answers = [denial, denial]
    assert await longer.end_due(asked, Progress()) is None, "it was just asked"
    await world.clock.advance(ASK_AGAIN_S)
    ends = await longer.end_due(asked, Progress())
    assert ends is not None
    assert ends.at_once
    message = await longer.ended(asked, Closing(Outcome.REFUSED, "x"))
    assert message is not None
    assert message.conversation == "direct"
    assert message.text == schedule_texts.WORK_TAKEN_AWAY.format(words="x", why="They are gone.")


async def test_work_that_its_person_stopped_or_cancelled_sends_no_notice() -> None:
    world = World()
    new = NewSchedule("ann", "test", "C1", dm("ann"), WORK, "x", AT_ONCE, NOON, mention=True)
    one = await world.store.schedules.add(new)
    assert isinstance(one, Schedule)
    longer, asked = LongWork(world.store.schedules, {"test": world.place}, world.clock), question_of(one)
    message = await longer.ended(asked, Closing(Outcome.CUT, "so far"))
    assert message is not None
    assert (message.text, message.conversation) == (schedule_texts.WORK_ENDED, "thread:work:1:told")
    assert await longer.ended(asked, Closing(Outcome.STOPPED, "")) is None
    await world.store.schedules.cancel("ann", one.id, NOON)
    assert await longer.ended(asked, Closing(Outcome.ANSWERED, "x")) is None
    assert await longer.end_due(asked, Progress()) is None


@pytest.mark.slow
async def test_work_has_more_rounds_than_a_question_and_says_when_they_are_used_up() -> None:
    asked = count(1)
    world = World(lambda _: f'<execute>[{{"name": "recall", "args": {{"query": "boat {next(asked)}"}}}}]</execute>')
    endless = await world.keep("Look for boats.", WORK, AT_ONCE)
    async with world.serving() as scheduler:
        await world.pass_(scheduler, timedelta())
    assert len(world.model.requests) == WORK_ROUNDS
    assert world.shown(endless) == [texts.ROUNDS_USED.format(rounds=WORK_ROUNDS)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ScheduleKind.REMINDER, QUESTION])
@pytest.mark.parametrize(
    ("rule", "left", "first", "last"),
    [
        ("0 13 * * 1", 30, timedelta(days=14), timedelta(days=7)),  # weekly: with a run or two to come, and at the last
        ("0 13 1 * *", 120, timedelta(days=62), timedelta(days=31)),  # monthly: at the last run but one
        ("0 13 * * *", 17, timedelta(days=14), timedelta(days=1)),
    ],
)
async def test_a_rule_without_an_end_says_before_that_it_lapses_and_asks_at_its_last_run(
    kind: ScheduleKind, rule: str, left: int, first: timedelta, last: timedelta
) -> None:
    world = World([NOTHING] * 20)
    until, said = world.clock.now() + timedelta(days=left), list[tuple[datetime, str]]()
    digest = await world.keep("What is new?", kind, Timing("UTC", rule=rule, until=until, lapses=True))
    async with world.serving() as scheduler:
        while (one := await world.now(digest)).next is not None:
            before = len(world.shown(digest))
            await world.pass_(scheduler, one.next - world.clock.now())
            said += [(one.next, text) for text in world.shown(digest)[before:] if "six months" in text]
    (soon, asked), (end, over) = said
    day = schedule_texts.last_day(digest.definition.timing, until)
    assert (f"ends on {day}" in asked, "is paused" in over) == (True, True)
    assert all("“What is new?”" in text for text in (asked, over))
    assert until - first <= soon < end
    assert until - last <= end <= until
    assert (one.state, one.next) == (ScheduleState.PAUSED, None)


@pytest.mark.slow
async def test_a_check_that_finds_nothing_new_tells_once_that_it_lapses() -> None:
    world = World(["New."], looks=["one"] * 99)
    timing = replace(DAILY, until=world.clock.now() + timedelta(days=17), lapses=True)
    digest = await world.keep("What is new?", QUESTION, timing, checks=True)
    async with world.serving() as scheduler:
        while (one := await world.now(digest)).next is not None:
            await world.pass_(scheduler, one.next - world.clock.now())
    assert [("ends on" in text, "is paused" in text) for text in world.shown(digest)[1:]] == [
        (True, False),
        (False, True),
    ]


async def test_a_rule_with_an_end_and_a_single_time_say_nothing_about_it() -> None:
    world = World()
    ends = await world.keep("Water.", timing=replace(DAILY, until=world.clock.now() + timedelta(days=2)))
    once = await world.keep("Tea.", timing=Timing("UTC", at=NOON + HOUR))
    async with world.serving() as scheduler:
        for _ in range(3):
            await world.pass_(scheduler, 24 * HOUR)
    assert {text.partition("\n")[0] for one in (ends, once) for text in world.shown(one)} == {"Water.", "Tea."}
    assert (await world.now(ends)).state is ScheduleState.ENDED
