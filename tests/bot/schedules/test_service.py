"""`/remind` and `/schedules`, on the real store."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place, TeamAudience
from agent.ports.tools import Asker
from agent.schedules.definitions import (
    NewSchedule,
    Notice,
    Schedule,
    ScheduleKind,
    ScheduleState,
    Timing,
)
from agent.turn_kinds import TurnKind
from bot.chat.commands.declaration import CommandCall
from bot.chat.notes import NO_LINE, NoteLine
from bot.chat.panels import Panel
from bot.chat.reply.surface import LAPSING
from bot.schedules import commands as remind
from bot.schedules import texts as schedule_texts
from bot.schedules.service import LapseNote, ScheduleService
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.ended import ended
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

NOW = datetime(2026, 11, 23, 9, 20, tzinfo=UTC)
ANN = Person("slack:T1:U1", "Ann", "Europe/Berlin")
BOB = Person("slack:T1:U2", "Bob", "Europe/Berlin")  # An operator
GENERAL = Place(TeamAudience("slack:T1"))


class AnnsCommands:
    """The commands of one process, as Ann uses them in her direct messages unless a test says otherwise."""

    def __init__(self) -> None:
        self.store: StoreInMemory = store_in_memory()
        self.clock = FakeClock(NOW)
        self.service = ScheduleService(self.store.schedules, self.store.preferences, self.clock, BOB.id.__eq__)
        self.ann = FakeCaller(ANN, place=Place(PersonAudience(ANN.id)), entry_chars=600)

    async def remind(self, words: str, caller: FakeCaller | None = None, *, pressed: bool = False) -> Panel:
        call = CommandCall(words=words, caller=caller or self.ann, pressed=pressed)
        return await remind.REMIND_COMMAND.bound(self.service).run(call)

    async def show(self, words: str = "", caller: FakeCaller | None = None) -> Panel:
        return await remind.COMMAND.bound(self.service).run(CommandCall(words=words, caller=caller or self.ann))

    async def kept(self, person: Person = ANN) -> list[Schedule]:
        return await self.store.schedules.of_person(person.id)


def in_general(person: Person = ANN, authority: Authority = Authority.EMPLOYEE) -> FakeCaller:
    return FakeCaller(person, "C1", GENERAL, authority, entry_chars=600)


def labels(panel: Panel) -> list[str]:
    return [action.label for action in panel.actions]


async def test_a_reminder_is_stored_and_confirmed_in_the_persons_zone_with_buttons() -> None:
    service = AnnsCommands()
    panel = await service.remind("every Monday at 8:00 to sum up")
    (kept,) = await service.kept()
    assert panel.text == (
        "I will remind you in a direct message: **Monday, November 30, 08:00 Europe/Berlin; "
        "then every Monday at 08:00, until May 22, 2027**.\n"
        "Next: Mon, Nov 30, 08:00; Mon, Dec 7, 08:00; Mon, Dec 14, 08:00.\n“sum up”"
    )
    assert labels(panel) == ["Change", "Cancel"]
    assert (kept.definition.words, kept.definition.kind, kept.definition.direct) == (
        "sum up",
        ScheduleKind.REMINDER,
        True,
    )
    assert kept.definition.place == Place(PersonAudience(ANN.id))
    assert kept.next == datetime(2026, 11, 30, 7, tzinfo=UTC)
    cancelled = await service.show(panel.actions[1].words)
    assert cancelled.text == "Canceled: “sum up”"
    assert await service.kept() == []


async def test_an_ambiguous_time_is_asked_back_and_a_button_chooses_one() -> None:
    service = AnnsCommands()
    panel = await service.remind("tomorrow at 3 to call Ben")
    assert panel.refused
    assert labels(panel) == ["Tue, Nov 24, 2026, 03:00", "Tue, Nov 24, 2026, 15:00"]
    assert await service.kept() == []
    await service.remind(panel.actions[1].words, pressed=True)
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.at) == ("call Ben", datetime(2026, 11, 24, 14, tzinfo=UTC))
    edited = await service.show(f"edit {kept.id} tomorrow at 4")
    assert labels(edited) == ["Tue, Nov 24, 2026, 04:00", "Tue, Nov 24, 2026, 16:00"]
    await service.show(edited.actions[1].words)
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.at) == ("call Ben", datetime(2026, 11, 24, 15, tzinfo=UTC))


async def test_what_was_not_understood_is_asked_back_with_what_was_and_a_button_takes_it_as_text() -> None:
    service = AnnsCommands()
    panel = await service.remind("every Monday at 9:00 just after lunch call Ben")
    assert panel.refused
    assert panel.text.startswith("I understood “every Monday … at 9:00” as the time, but I did not understand “after”.")
    assert await service.kept() == []
    (button,) = panel.actions
    await service.remind(button.words, pressed=True)
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.rule) == ("just after lunch call Ben", "0 9 * * 1")


async def test_before_a_divider_nothing_is_dropped() -> None:
    service = AnnsCommands()
    for words in (
        "ask every hour between nine and tea time | check the build",
        "ask every hour, roughly | check the build",
        "ask every Monday from the office | check the build",
    ):
        panel = await service.show(words)
        assert "did not understand" in panel.text, panel.text
    assert await service.kept() == []
    panel = await service.show("ask every hour between 9 and 17 | check the build")
    assert "then every hour from 09:00 to 17:00, until" in panel.text
    assert "\nNext: Mon, Nov 23, 11:00; Mon, Nov 23, 12:00; Mon, Nov 23, 13:00.\n" in panel.text


async def test_edit_without_a_change_shows_the_schedule_with_its_buttons() -> None:
    service = AnnsCommands()
    await service.remind("tomorrow at 9:00 to call Ben")
    assert await service.show("edit 1") == await service.show("show 1")
    assert (await service.show("edit 1")).actions[0].form is remind.CHANGE


async def test_edit_changes_the_words_only_behind_a_divider() -> None:
    service = AnnsCommands()
    await service.remind("tomorrow at 9:00 to call Ben")
    await service.show("edit 1 tomorrow at 10:00 UTC")
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.at) == ("call Ben", datetime(2026, 11, 24, 10, tzinfo=UTC))
    panel = await service.show("edit 1 tomorrow at 11:00 call Eve")
    assert "did not understand “call Eve”" in panel.text
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.at) == ("call Ben", datetime(2026, 11, 24, 10, tzinfo=UTC))
    await service.show(panel.actions[0].words)
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.at) == ("call Eve", datetime(2026, 11, 24, 10, tzinfo=UTC))
    await service.show("edit 1 tomorrow at 12:00 | call Zoe")
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.at) == ("call Zoe", datetime(2026, 11, 24, 11, tzinfo=UTC))


async def test_a_repetition_in_another_zone_shows_its_next_times_in_the_persons_own() -> None:
    service = AnnsCommands()
    panel = await service.remind("every Monday at 9:00 New York time to call the US team")
    assert "Monday, November 23, 09:00 America/New_York; then every Monday at 09:00" in panel.text
    assert "\nNext (Europe/Berlin): Mon, Nov 23, 15:00; Mon, Nov 30, 15:00; Mon, Dec 7, 15:00.\n" in panel.text


@pytest.mark.slow
async def test_in_a_channel_a_reminder_is_posted_there_and_me_means_the_person_alone() -> None:
    service = AnnsCommands()
    answer = await service.remind("tomorrow at 9:00 standup", in_general())
    alone = await service.remind("me tomorrow at 9:00 to call Ben", in_general())
    schedules = [one.definition for one in await service.kept()]
    assert [(one.direct, one.place, one.channel) for one in schedules] == [
        (False, GENERAL, "C1"),
        (True, Place(PersonAudience(ANN.id)), "C1"),
    ]
    assert schedule_texts.YOU_HERE in answer.text
    assert schedule_texts.YOU_ALONE in alone.text


async def test_a_missing_time_zone_is_asked_for_first_and_only_if_needed() -> None:
    service = AnnsCommands()
    nobody_knows = replace(service.ann, person=replace(ANN, time_zone=""))
    asked = await service.remind("tomorrow at 9:00 to call Ben", nobody_knows)
    assert asked.parts[0].select is not None
    assert await service.kept() == []
    chosen = await service.remind(f"{asked.parts[0].select.words} Europe/Berlin", nobody_knows, pressed=True)
    assert nobody_knows.zone == ["Europe/Berlin"]
    assert (
        chosen.text == schedule_texts.ZONE_FIRST
    )  # the caller's person comes from the platform, which has not changed
    answer = await service.remind("in 20 minutes the oven", nobody_knows)
    assert "**in 20 minutes**" in answer.text
    (kept,) = await service.kept()
    assert kept.definition.timing.at == NOW + timedelta(minutes=20)
    assert "in 20 minutes" in (await service.show("", nobody_knows)).parts[0].text
    assert "10:40 Europe/Berlin" in (await service.show()).parts[0].text
    assert (await service.show("edit 1 tomorrow at 9:00", nobody_knows)).text == schedule_texts.ZONE_FIRST


class CountingExecutor(ThreadPoolExecutor):
    """Counts what runs outside of the event loop."""

    count = 0

    def submit(self, *args: Any, **options: Any) -> Future[Any]:
        self.count += 1
        return super().submit(*args, **options)


@pytest.mark.slow
async def test_long_words_are_read_outside_of_the_event_loop_also_to_learn_whether_a_zone_is_needed() -> None:
    service, executor = AnnsCommands(), CountingExecutor(1)
    asyncio.get_running_loop().set_default_executor(executor)
    nobody_knows = replace(service.ann, person=replace(ANN, time_zone=""))
    await service.remind("in 20 minutes to " + "paint " * 300, nobody_knows)
    assert executor.count == len(("the time", "the zone"))
    assert len(await service.kept()) == 1


async def test_a_list_has_buttons_that_pause_resume_and_cancel() -> None:
    service = AnnsCommands()
    await service.show("ask every Monday at 8:00 | sum up *the week* here", in_general())
    await service.remind("me tomorrow at 9:00 to call Ben", in_general())
    shown = await service.show()
    assert [part.text for part in shown.parts] == [
        "**2** · reminder in a direct message · Tuesday, November 24, 09:00 Europe/Berlin\n“call Ben”",
        (
            "**1** · task in <#C1> · Monday, November 30, 08:00 Europe/Berlin; then every Monday at 08:00, "
            "until May 22, 2027\n“sum up \\*the week\\* here”"
        ),
    ]
    assert [action.label for action in shown.parts[1].actions] == ["Change", "Pause", "Cancel"]
    paused = await service.show("pause 1")
    assert labels(paused) == ["Resume", "Cancel"]
    assert [one.state for one in await service.kept()] == [ScheduleState.ACTIVE, ScheduleState.PAUSED]
    await service.show("resume 1")
    assert {one.state for one in await service.kept()} == {ScheduleState.ACTIVE}
    assert (await service.show("pause 99")).refused
    assert (await service.show("edit 1 | sum up the month")).text.endswith("“sum up the month”")
    (_, question) = await service.kept()
    assert (question.definition.kind, question.definition.timing.rule) == (ScheduleKind.QUESTION, "0 8 * * 1")


@pytest.mark.slow
async def test_people_change_only_their_own_and_operators_see_times_and_places_without_words() -> None:
    service = AnnsCommands()
    await service.remind("tomorrow at 9:00 secret errand")
    bob = FakeCaller(BOB, place=Place(PersonAudience(BOB.id)))
    stranger = FakeCaller(replace(ANN, id="slack:T1:U3"), place=Place(PersonAudience("slack:T1:U3")))
    for words in ("cancel 1", "pause 1", "edit 1 | mine", "all"):
        assert (await service.show(words, stranger)).refused
    every = await service.show("all", bob)
    assert ANN.id in every.text
    assert "Tuesday, November 24, 09:00" in every.text
    assert "secret" not in every.text
    assert (await service.show("pause 1", bob)).refused
    assert "secret" not in (await service.show("cancel 1", bob)).text
    assert await service.kept() == []


async def test_a_channels_manager_forbids_posts_there_and_nothing_else() -> None:
    service = AnnsCommands()
    assert (await service.show("forbid", in_general())).refused
    assert (await service.show("forbid")).refused
    assert not (await service.show("forbid", in_general(BOB, Authority.MANAGER))).refused
    assert (await service.remind("tomorrow at 9:00 standup", in_general())).text == schedule_texts.FORBIDDEN
    assert not (await service.remind("me tomorrow at 9:00 to call Ben", in_general())).refused
    await service.show("allow", in_general(BOB, Authority.MANAGER))
    assert not (await service.remind("tomorrow at 9:00 standup", in_general())).refused


async def test_what_a_manager_of_another_workspace_forbids_in_a_shared_channel_is_nothing_to_this_one() -> None:
    service, there = AnnsCommands(), Person("slack:T2:U3", "Cleo")
    assert not (await service.show("forbid", in_general(there, Authority.MANAGER))).refused
    assert not (await service.remind("tomorrow at 9:00 standup", in_general())).refused
    await service.show("forbid", in_general(BOB, Authority.MANAGER))
    await service.show("allow", in_general(there, Authority.MANAGER))
    assert (await service.remind("tomorrow at 9:00 standup", in_general())).text == schedule_texts.FORBIDDEN


async def test_a_schedule_that_cannot_be_stored_is_refused_with_a_remedy() -> None:
    service = AnnsCommands()
    said = {
        "call Ben": schedule_texts.NO_TIME,
        "tomorrow at 9:00": schedule_texts.NO_WORDS,
        "2020-01-01 09:00 call Ben": "That time has passed: it is Monday, November 23, 2026, 10:20 Europe/Berlin now.",
        "every 3 minutes look": "The rule '*/3 * * * *' repeats too often. Leave at least 5 minutes between two times.",
    }
    assert {words: (await service.remind(words)).text for words in said} == said
    assert (await service.remind("x" * 5_000)).text == schedule_texts.TOO_LONG.format(most=2_000)
    assert (await service.show("nonsense")).text == schedule_texts.USAGE


async def test_a_form_makes_the_words_and_starts_with_the_current_ones() -> None:
    service = AnnsCommands()
    await service.remind("tomorrow at 9:00 | call Ben every day")
    filled = await remind.COMMAND.bound(service.service).prefill(
        remind.CHANGE, CommandCall(words="edit 1", caller=service.ann)
    )
    assert filled == {"what": "call Ben every day"}
    spelled = remind.CHANGE.spelled("edit 1", {"when": "", "what": "call Eve\nevery Monday at 8"})
    await service.show(spelled)
    (kept,) = await service.kept()
    assert (kept.definition.words, kept.definition.timing.rule) == ("call Eve\nevery Monday at 8", "")
    new = remind.NEW.spelled("", {"when": "in 5 minutes", "what": "tea", "me": "me"})
    assert new == "me in 5 minutes | tea"


async def test_one_that_has_lapsed_says_so_in_the_list_and_how_it_goes_on() -> None:
    service = AnnsCommands()
    await service.show("ask every Monday at 8:00 | sum up", in_general())
    (one,) = await service.kept()
    end = one.definition.timing.until
    assert end is not None
    (due,) = await service.store.schedules.due(frozenset({"slack:T1"}), end, 1)
    await service.store.schedules.skip(due, end)
    later_service = ScheduleService(
        service.store.schedules, service.store.preferences, FakeClock(end + timedelta(days=99))
    )
    call = CommandCall(words="", caller=service.ann)
    (shown,) = (await remind.COMMAND.bound(later_service).run(call)).parts
    assert "ended May 22, 2027. To run it for another six months, resume it: `/schedules resume 1`." in shown.text
    assert [action.label for action in shown.actions] == ["Resume", "Cancel"]
    resumed = await remind.COMMAND.bound(later_service).run(CommandCall(words="resume 1", caller=service.ann))
    assert "until February 25, 2028" in resumed.text


async def test_a_notice_about_one_that_lapses_asks_in_buttons_or_in_words_and_other_notices_ask_nothing() -> None:
    service = AnnsCommands()
    await service.show("ask every Monday at 8:00 | sum up", in_general())
    (one,) = await service.kept()
    notice = replace(said("sum up"), kind=TurnKind.NOTICE, schedule=one.id)
    note = LapseNote(service.service)
    assert await note.line(ended(question=notice)) == NO_LINE
    (due,) = await service.store.schedules.due(frozenset({"slack:T1"}), one.next or NOW, 1)
    await service.store.schedules.skip(due, NOW, lapse=Notice("lapse", notice, "It ends soon."))
    assert await note.line(ended(question=notice)) == NoteLine(schedule_texts.LAPSE_LINE, LAPSING)
    typed = await note.line(ended(question=replace(notice, source="terminal:ann:1")))
    assert typed.text == schedule_texts.LAPSE_LINE_HOW.format(id=one.id)
    assert await note.line(ended(question=replace(notice, kind=TurnKind.REMINDER))) == NO_LINE
    await service.service.schedules.pause(ANN.id, one.id, paused=False, now=NOW)
    assert await note.line(ended(question=notice)) == NO_LINE


async def test_without_buttons_their_words_are_shown() -> None:
    service = AnnsCommands()
    plain = replace(service.ann, entry_chars=None)
    assert "/schedules cancel 1" in (await service.remind("tomorrow at 9:00 tea", plain)).text
    assert schedule_texts.USAGE in (await service.show("", plain)).text


@pytest.mark.slow
async def test_a_person_has_fifty_schedules_at_most() -> None:
    service = AnnsCommands()
    for _ in range(50):
        await service.remind("tomorrow at 9:00 tea")
    assert (await service.remind("tomorrow at 9:00 tea")).text.startswith(
        "You have reached the maximum number of schedules"
    )
    asker = Asker(BOB, Place(PersonAudience(BOB.id)))
    assert not (await service.service.remind(asker, "tomorrow at 9:00 tea")).refused


async def test_a_long_list_has_pages_that_fit_every_platform() -> None:
    service = AnnsCommands()
    for number in range(8):
        await service.remind(f"tomorrow at 9:00 | thing {number}")
    first, second = await service.show(), await service.show("page 2")
    assert [len(panel.parts) for panel in (first, second)] == [7, 3]
    assert "thing 7" in second.parts[1].text
    assert [action.words for action in first.parts[-1].actions] == ["page 2"]
    components = sum(1 + bool(part.actions) + len(part.actions) for part in first.parts)
    assert components + 3 <= 40, "Discord shows no more"
    assert "thing 7" in (await service.show("show 8")).text


async def test_words_too_long_for_a_button_have_to_be_written() -> None:
    service, long = AnnsCommands(), "tomorrow at 3 to " + "water " * 40
    panel = await service.remind(long)
    assert panel.actions == ()
    assert "2026-11-24 03:00 to water" in panel.text
    nobody_knows = replace(service.ann, person=replace(ANN, time_zone=""))
    asked = await service.remind(long, nobody_knows)
    assert asked.parts[0].select is not None
    assert len(asked.parts[0].select.words) <= 80
    answer = await service.remind(f"{asked.parts[0].select.words} Europe/Berlin", nobody_knows, pressed=True)
    assert answer.text == schedule_texts.REMIND_USAGE


async def test_long_work_is_listed_with_a_stop_button_and_cannot_be_postponed() -> None:
    service = AnnsCommands()
    alone = Place(PersonAudience(ANN.id))
    timing = Timing("Europe/Berlin", at=NOW)
    new = NewSchedule(ANN.id, "slack:T1", "D1", alone, ScheduleKind.WORK, "Make a table.", timing, NOW, direct=True)
    one = await service.store.schedules.add(new)
    assert isinstance(one, Schedule)
    shown = await service.show()
    (part,) = [part for part in shown.parts if part.text.startswith("**1**")]
    assert part.text == "**1** · long task in a direct message · running since 10:20\n“Make a table.”"
    assert [(button.label, button.words) for button in part.actions] == [("Stop", "cancel 1")]
    for words in ("pause 1", "resume 1", "edit 1 tomorrow at 9:00"):
        assert (await service.show(words)).text == schedule_texts.WORK_STAYS.format(id=1)
    everybody = await service.show("all", FakeCaller(BOB, place=Place(PersonAudience(BOB.id)), entry_chars=600))
    assert "long task" in everybody.text
    assert "Make a table" not in everybody.text
    assert (await service.show("cancel 1")).text == schedule_texts.WORK_STOPPED.format(words="Make a table.")
    assert await service.kept() == []
