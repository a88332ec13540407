"""Schedules in the store: found due by one at a time, begun once, and fallen with what they belong to."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, select, update

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience, label
from agent.memory.forgetting_plans import AboutTopic, Deleted, During, Everything, ForgettingPlan, Gone, OneThread
from agent.memory.periods import TimeSpan
from agent.progress import decode
from agent.schedules.definitions import (
    CheckKind,
    FirstCheck,
    NewSchedule,
    Notice,
    Occurrence,
    Schedule,
    ScheduleKind,
    ScheduleRefused,
    ScheduleState,
    Timing,
)
from agent.schedules.ids import occurrence_id
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from store.engine import Store
from store.schedule_store import LEASE, MAX_IN_CHANNEL, MAX_OF_PERSON, SHOWN_FOR
from store.schedule_table import schedule
from tests.contracts.steps import answered, claimed, proved
from tests.fakes.incoming import dm, said
from tests.store.engines import same_on_either

NOW = datetime(2026, 11, 23, 7, 30, tzinfo=UTC)
NINE = datetime(2026, 11, 23, 8, tzinfo=UTC)
DAY = timedelta(days=1)
HERE = frozenset({"test"})
GROUP = Place(GroupAudience("slack:T1:C1"), whole_channel=True)
DAILY = Timing("Europe/Berlin", rule="0 9 * * *")


def new(
    words: str = "water the plants",
    *,
    person: str = "ann",
    channel: str = "channel",
    timing: Timing = DAILY,
    place: Place | None = None,
    conversation: str = "",
    message: str = "",
    direct: bool = False,
    check: FirstCheck | None = None,
) -> NewSchedule:
    return NewSchedule(
        person,
        "test",
        channel,
        place or dm(person),
        ScheduleKind.REMINDER,
        words,
        timing,
        NOW,
        conversation,
        message,
        direct,
        check,
    )


async def kept(store: Store, made: NewSchedule) -> Schedule:
    one = await store.schedules.add(made)
    assert isinstance(one, Schedule)
    return one


async def taken(store: Store, now: datetime) -> list[Occurrence]:
    return list(await store.schedules.due(HERE, now, 10))


def asked(due: Occurrence) -> Incoming:
    made = due.schedule.definition
    return replace(said(made.words, person=made.person, conversation="of its own"), channel=made.channel)


async def begun(store: Store, due: Occurrence, now: datetime) -> int:
    return (await store.schedules.begin(due, asked(due), now, reply=due.schedule.definition.words)).turn


async def test_what_is_due_is_begun_once_as_a_turn_that_has_its_reply_and_comes_again(either: Store) -> None:
    one = await kept(either, new())
    assert (one.next, one.definition.timing.until) == (NINE, NOW + timedelta(days=180))
    assert await taken(either, NINE - timedelta(seconds=1)) == []
    assert await either.schedules.first_due(HERE) == NINE
    (due,) = await taken(either, NINE)
    assert await taken(either, NINE) == []  # nobody else is given it
    assert (due.time, due.missed) == (NINE, 0)

    await begun(either, due, NINE)
    claim = await claimed(either, now=NINE)
    assert claim.incoming.event_id == occurrence_id(one.id, NINE)
    assert decode(claim.progress).reply == "water the plants"
    assert decode(claim.progress).outcome is Outcome.ANSWERED
    (now,) = await either.schedules.of_person("ann")
    assert (now.next, now.last) == (NINE + DAY, NINE)
    with pytest.raises(LeaseLost):
        await begun(either, due, NINE)


async def test_what_a_question_has_scheduled_falls_as_it_is_deleted_while_it_runs_and_it_schedules_no_more(
    either: Store,
) -> None:
    question = said("remind me", person="ann")
    await either.ledger.accept(question)
    await claimed(either, now=NOW)
    where = {"conversation": question.conversation, "message": question.message_id}
    first, other = replace(new(channel=question.channel), **where), new("another one", message="another")
    again = replace(first, channel="a thread's channel")
    for made in (first, again, other):
        await kept(either, made)
    assert await either.ledger.withdraw(question.source, question.channel, question.message_id, NOW)
    assert [one.definition.words for one in await either.schedules.of_person("ann")] == [other.words]
    assert await either.schedules.add(first) is ScheduleRefused.QUESTION_DELETED
    assert [one.definition.words for one in await either.schedules.of_person("ann")] == [other.words]


@same_on_either
async def test_a_lease_that_ran_out_is_taken_over_and_the_first_who_had_it_begins_nothing(either: Store) -> None:
    await kept(either, new())
    (first,) = await taken(either, NINE)
    (second,) = await taken(either, NINE + LEASE)
    with pytest.raises(LeaseLost):
        await begun(either, first, NINE + LEASE)
    assert await begun(either, second, NINE + LEASE)
    assert (await either.ledger.load()).waiting == 1


@same_on_either
@pytest.mark.parametrize(
    "timing",
    [
        Timing("Asia/Tokyo", at=NINE + DAY),
        Timing("Asia/Tokyo", rule="0 9 * * 1", until=NINE + 30 * DAY),
        Timing("Asia/Tokyo", rule="0 9 * * 1", until=NINE + 30 * DAY, weeks=2, since=NOW),
        Timing("Asia/Tokyo", rule="0 9 * * *", until=NINE + 30 * DAY, days=3, since=NOW),
        Timing("Asia/Tokyo", rule="30 8 * * 1-5; 0 17 * * 1-5", until=NINE + 30 * DAY),
        Timing("", at=NINE + DAY),
    ],
)
async def test_a_schedule_is_kept_whole(either: Store, timing: Timing) -> None:
    made = new(timing=timing, place=GROUP, check=FirstCheck(CheckKind.TOOL, "look", {"a": [1]}, "seen"), direct=True)
    made = replace(made, report="changed")
    assert (await kept(either, made)).definition == made
    assert [one.definition for one in await either.schedules.of_person("ann")] == [made]


async def test_replicas_that_look_at_once_share_what_is_due(either: Store) -> None:
    for number in range(12):
        await kept(either, new(f"thing {number}"))
    shares = await asyncio.gather(*(either.schedules.due(HERE, NINE, 5) for _ in range(4)))
    ids = [due.schedule.id for share in shares for due in share]
    assert len(ids) == len(set(ids))
    rest = await either.schedules.due(HERE, NINE, 50)
    assert len(ids) + len(rest) == 12


@same_on_either
async def test_an_occurrence_whose_turn_is_there_is_not_begun_again_whatever_the_clock_says(either: Store) -> None:
    one = await kept(either, new())
    (due,) = await taken(either, NINE)
    await begun(either, due, NINE)
    assert await taken(either, NINE - timedelta(hours=5)) == []  # back
    assert await either.schedules.change("ann", one.id, timing=DAILY, now=NINE - timedelta(hours=5))
    (again,) = await taken(either, NINE)
    assert (await either.schedules.begin(again, asked(again), NINE)).duplicate
    assert (await either.ledger.load()).waiting == 1


async def test_a_lease_by_a_clock_that_was_days_ahead_holds_nothing_up(either: Store) -> None:
    await kept(either, new())
    assert await taken(either, NINE + 30 * DAY)
    assert await taken(either, NINE - timedelta(minutes=1)) == []
    assert len(await taken(either, NINE)) == 1


@same_on_either
async def test_what_was_missed_is_due_as_one_with_how_many_came_before(either: Store) -> None:
    await kept(either, new())
    (due,) = await taken(either, NINE + 3 * DAY + timedelta(hours=1))
    assert (due.time, due.missed) == (NINE + 3 * DAY, 3)
    await either.schedules.skip(due, due.time + timedelta(hours=1))
    (now,) = await either.schedules.of_person("ann")
    assert (now.next, now.last) == (NINE + 4 * DAY, None)


async def test_what_has_ended_says_why_and_goes_after_a_while(either: Store) -> None:
    once = await kept(either, new(timing=Timing("Europe/Berlin", at=NINE)))
    forbidden = await kept(either, new())
    for due in await taken(either, NINE):
        if due.schedule.id == once.id:
            await begun(either, due, NINE)
        else:
            await either.schedules.end(due, "You left.", NINE)
    ended = {one.id: one for one in await either.schedules.of_person("ann")}
    assert {one.state for one in ended.values()} == {ScheduleState.ENDED}
    assert (ended[once.id].why, ended[forbidden.id].why) == ("", "You left.")
    assert await either.schedules.all(10) == []
    await taken(either, NINE + SHOWN_FOR)
    assert await either.schedules.of_person("ann") == []


@same_on_either
async def test_a_paused_one_rests_and_goes_on_with_its_next_time(either: Store) -> None:
    one = await kept(either, new())
    paused = await either.schedules.pause("ann", one.id, paused=True, now=NOW)
    assert paused is not None
    assert (paused.state, paused.next) == (ScheduleState.PAUSED, None)
    assert await taken(either, NINE + DAY) == []
    goes_on = await either.schedules.pause("ann", one.id, paused=False, now=NINE + DAY)
    assert goes_on is not None
    assert goes_on.next == NINE + 2 * DAY
    assert await either.schedules.pause("ben", one.id, paused=True, now=NOW) is None


async def test_a_change_counts_at_once_and_takes_it_from_who_has_it(either: Store) -> None:
    one = await kept(either, new(check=FirstCheck(CheckKind.PAGE, "https://example.test", {"a": 1})))
    (due,) = await taken(either, NINE)
    later = Timing("Europe/Berlin", at=NINE + timedelta(hours=2))
    changed = await either.schedules.change("ann", one.id, timing=later, words="read", now=NINE)
    assert changed is not None
    assert (changed.next, changed.definition.words, changed.definition.check) == (
        later.at,
        "read",
        one.definition.check,
    )
    with pytest.raises(LeaseLost):
        await begun(either, due, NINE)
    (due,) = await taken(either, NINE + timedelta(hours=2))
    await either.schedules.put_off(due, NINE + timedelta(hours=3))
    assert await taken(either, NINE + timedelta(hours=2, minutes=59)) == []
    (due,) = await taken(either, NINE + timedelta(hours=3))
    assert due.time == later.at
    await either.schedules.skip(due, NINE + timedelta(hours=3), seen="digest")
    (now,) = await either.schedules.of_person("ann")
    assert now.definition.check == FirstCheck(CheckKind.PAGE, "https://example.test", {"a": 1}, "digest")


async def test_who_cancels_takes_back_what_waits_of_it(either: Store) -> None:
    one = await kept(either, new())
    (due,) = await taken(either, NINE)
    await either.schedules.begin(due, asked(due), NINE)
    assert await either.schedules.cancel("ben", one.id, NINE) is None
    assert await either.schedules.cancel("ann", one.id, NINE) is not None
    assert (await either.ledger.load()).waiting == 0
    assert await either.schedules.of_person("ann") == []
    assert await taken(either, NINE + DAY) == []


async def test_a_cancelled_reminder_that_waits_shows_nothing(either: Store) -> None:
    one = await kept(either, new())
    (due,) = await taken(either, NINE)
    await begun(either, due, NINE)
    await either.schedules.cancel("ann", one.id, NINE)
    assert (await claimed(either, now=NINE)).withdrawn


@same_on_either
async def test_of_one_person_and_in_one_channel_there_are_only_so_many(either: Store) -> None:
    for number in range(MAX_OF_PERSON):
        await kept(either, new(f"{number}", channel=f"c{number}"))
    assert await either.schedules.add(new()) is ScheduleRefused.MANY_OF_PERSON
    for number in range(MAX_IN_CHANNEL):
        await kept(either, new(person=f"p{number}", channel="full"))
    assert await either.schedules.add(new(person="ben", channel="full")) is ScheduleRefused.MANY_IN_CHANNEL
    assert isinstance(await either.schedules.add(new(person="ben", channel="full", direct=True)), Schedule)


async def test_a_late_question_of_the_conversation_does_not_change_places_with_a_reminder(either: Store) -> None:
    await kept(either, new())
    (due,) = await taken(either, NINE)
    reminder = replace(asked(due), time=NINE)
    await either.schedules.begin(due, reminder, NINE, reply="water the plants")
    await either.ledger.accept(replace(said("late", conversation="of its own"), time=NINE - timedelta(minutes=5)))
    claim = await claimed(either, now=NINE)
    assert (claim.incoming.text, decode(claim.progress).reply) == ("water the plants", "water the plants")


@same_on_either
async def test_that_its_place_was_closed_when_it_was_made_is_kept(either: Store) -> None:
    for place, closed in ((GROUP, True), (replace(GROUP, whole_channel=False), False)):
        one = await kept(either, new(place=place))
        (read,) = [other for other in await either.schedules.of_person("ann") if other.id == one.id]
        assert (read.definition.place, read.definition.place.is_closed) == (place, closed)


PLANS: list[ForgettingPlan] = [
    Everything("ann"),
    OneThread("ann", frozenset({"thread"})),
    During("ann", TimeSpan(NOW - timedelta(minutes=1), NOW + timedelta(minutes=1))),
    AboutTopic("ann", "plants"),
    Deleted("test", "channel", frozenset({"post-900001"})),
    Gone(conversations=frozenset({"thread"})),
    Gone(channels=frozenset({"room"})),
    Gone(audiences=frozenset({label(GROUP.audience)})),
    Gone(sources=frozenset({"test"})),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{type(plan).__name__}")
async def test_it_falls_with_its_person_where_it_was_asked_for_and_where_it_is_posted(
    either: Store, plan: ForgettingPlan
) -> None:
    await answered(either, said("Remind me of it daily.", number=900001), "I will.")
    words = "water the purple plants"
    falls = await kept(either, new(words, channel="room", place=GROUP, conversation="thread", message="post-900001"))
    stays = await kept(either, new("feed the cat", person="ben"))
    (due,) = [one for one in await taken(either, NINE) if one.schedule.id == falls.id]
    await begun(either, due, NINE)
    claim = await claimed(either, now=NINE)
    if isinstance(plan, Everything | OneThread | During | AboutTopic):
        shown = await either.forgetting.preview(plan)
        assert shown.counts["schedules"] == 1
        assert words in shown.lines
    receipt = await either.forgetting.forget(plan, NINE)
    assert receipt.erased["schedules"] == (2 if plan == Gone(sources=frozenset({"test"})) else 1)
    assert proved(receipt)
    assert await either.schedules.of_person("ann") == []
    left = await either.schedules.of_person("ben")
    assert [one.id for one in left] == ([] if plan == Gone(sources=frozenset({"test"})) else [stays.id])
    if not isinstance(plan, Gone):  # what it has asked is gone, too, with the turn that was just answering
        with pytest.raises(LeaseLost):
            await either.ledger.finish(claim, Closing(Outcome.ANSWERED, words), NINE)


async def test_one_that_says_what_was_said_falls_with_that(either: Store) -> None:
    await answered(either, said("The code word is heliotrope.", number=900002), "Noted.")
    await kept(either, new("Say: The code word is heliotrope.", conversation="another"))
    receipt = await either.forgetting.forget(Deleted("test", "channel", frozenset({"post-900002"})), NINE)
    assert receipt.erased["schedules"] == 1
    assert proved(receipt)


async def test_of_a_channel_that_was_closed_it_belongs_to_fewer(either: Store) -> None:
    await kept(either, new(channel="C1", place=Place(TeamAudience("slack:T1"), "slack:T1")))
    await either.ledger.restrict_place("test", "C1", GROUP, NOW)
    (one,) = await either.schedules.of_person("ann")
    assert one.definition.place == GROUP


@same_on_either
async def test_one_without_an_end_lapses_instead_of_ending_and_goes_on_when_it_is_resumed(either: Store) -> None:
    monthly = Timing("UTC", rule="0 9 1 * *")
    one = await kept(either, new(timing=monthly))
    end = NOW + timedelta(days=180)
    while one.next is not None:
        (due,) = await taken(either, one.next)
        await either.schedules.skip(due, one.next)
        (one,) = await either.schedules.of_person("ann")
    assert (one.state, one.why, one.definition.timing.until) == (ScheduleState.PAUSED, "", end)
    later = end + 9 * SHOWN_FOR  # nothing deletes it
    assert await taken(either, later) == []
    resumed = await either.schedules.pause("ann", one.id, paused=False, now=later)
    assert resumed is not None
    assert (resumed.state, resumed.definition.timing.until) == (ScheduleState.ACTIVE, later + timedelta(days=180))
    assert resumed.next is not None
    assert resumed.next > later


@same_on_either
async def test_one_with_an_end_ends_there_and_is_not_resumed(either: Store) -> None:
    await kept(either, new(timing=replace(DAILY, until=NINE)))
    (due,) = await taken(either, NINE)
    await begun(either, due, NINE)
    (one,) = await either.schedules.of_person("ann")
    assert (one.state, one.next) == (ScheduleState.ENDED, None)
    assert await either.schedules.pause("ann", one.id, paused=False, now=NINE) == one


@same_on_either
async def test_the_notice_that_it_lapses_is_stored_once_with_the_occurrence_and_remembered(either: Store) -> None:
    one = await kept(either, new())
    (due,) = await taken(either, NINE)
    notice = Notice("scheduled:lapse", asked(due), "It ends soon.")
    await either.schedules.begin(due, asked(due), NINE, reply="water", lapse=notice)
    with pytest.raises(LeaseLost):
        await either.schedules.begin(due, asked(due), NINE, reply="water", lapse=notice)
    first = await claimed(either, now=NINE)
    assert first.incoming.kind is TurnKind.REMINDER
    await either.ledger.finish(first, Closing(Outcome.ANSWERED, "water"), NINE)
    told = await claimed(either, now=NINE)
    assert (told.incoming.kind, told.incoming.schedule) == (TurnKind.NOTICE, one.id)
    assert decode(told.progress).reply == "It ends soon."
    (stored,) = await either.schedules.of_person("ann")
    assert stored.warned
    changed = await either.schedules.change("ann", one.id, timing=DAILY, now=NINE)
    assert changed is not None
    assert not changed.warned


async def test_a_row_of_an_older_version_lapses_if_nobody_gave_its_end(either: Store) -> None:
    """Such a row does not say so; an end that a person gave is a whole second."""
    created = NOW + timedelta(microseconds=7)
    unasked = await kept(either, replace(new(), created=created))
    asked_for = await kept(either, replace(new(timing=replace(DAILY, until=NOW + 9 * DAY)), created=created))

    def drop(connection: Connection) -> None:
        for row in connection.execute(select(schedule.c.id, schedule.c.made)).all():
            made = {name: value for name, value in json.loads(row.made).items() if name != "lapses"}
            connection.execute(update(schedule).where(schedule.c.id == row.id).values(made=json.dumps(made)))

    await either.database.write(drop)
    rows = {one.id: one.definition.timing.lapses for one in await either.schedules.of_person("ann")}
    assert rows == {unasked.id: True, asked_for.id: False}
