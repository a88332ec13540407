"""The questions in the messages of the page."""

from datetime import UTC, datetime

import pytest

from agent.incoming import Incoming
from agent.schedules.definitions import NewSchedule, NotAllowed, Occurrence, Schedule, ScheduleKind, Timing
from bot.platforms.play.inbound import (
    PlayAddress,
    PlaySchedules,
    asked_by_command,
    budget_ids,
    link_to,
    mentions_bot,
    read_message,
    thread_of,
    without_mention,
)
from bot.platforms.play.workspace import CHANNELS, PEOPLE

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "mentioned", "read"),
    [
        ("@Cogency hello", True, "hello"),
        ("hello @cogency, are you there?", True, "hello are you there?"),
        ("@cogency", True, "@Cogency"),
        ("@cogencybot hello", False, "@cogencybot hello"),
        ("ann@cogency.example", False, "ann@cogency.example"),
        ("hello", False, "hello"),
        ("@Cogency line\n  code", True, "line\n  code"),
    ],
)
def test_a_mention_is_found_and_is_no_part_of_the_question(text: str, *, mentioned: bool, read: str) -> None:
    assert mentions_bot(text) is mentioned
    assert without_mention(text) == read


def test_a_question_by_command_is_one_by_message() -> None:
    assert asked_by_command("/ask where is it?", CHANNELS["general"]) == "@Cogency where is it?"
    assert asked_by_command("/ask where is it?", CHANNELS["dm-ann"]) == "where is it?"
    assert asked_by_command("/ask", CHANNELS["general"]) == "/ask"


def test_budgets_are_told_ids_in_place_of_mentions() -> None:
    assert budget_ids("@Ann #general @nobody 5 tokens") == "person:play:ann channel:general @nobody 5 tokens"


def test_a_question_in_a_channel_is_answered_in_the_thread_below_it_and_one_in_private_where_it_stands() -> None:
    ann, general, direct = PEOPLE["ann"], CHANNELS["general"], CHANNELS["dm-ann"]
    question = read_message(ann, general, "7", "hi", NOW, "UTC", address="http://127.0.0.1:1")
    assert (question.conversation, question.permalink) == ("play:general:7", link_to("http://127.0.0.1:1", "7"))
    assert PlayAddress.decode(question.reply_to) == PlayAddress("general", "ann", "7")
    below = read_message(ann, general, "9", "hi", NOW, "UTC", thread="7")
    assert (below.conversation, PlayAddress.decode(below.reply_to).thread) == ("play:general:7", "7")
    private = read_message(ann, direct, "8", "hi", NOW, "UTC")
    assert (private.conversation, PlayAddress.decode(private.reply_to).thread) == ("play:dm-ann", "")
    assert thread_of(general, question.conversation) == "7"
    assert (thread_of(general, "play:general:scheduled:3"), thread_of(direct, "play:dm-ann:9")) == ("", "")


def made(person: str, channel: str, *, direct: bool = False, kind: ScheduleKind = ScheduleKind.REMINDER) -> Schedule:
    place = CHANNELS[channel].place if channel in CHANNELS else CHANNELS["general"].place
    asked = "play:general:7"
    wanted = NewSchedule(
        f"play:{person}", "play", channel, place, kind, "stretch", Timing("UTC", at=NOW), NOW, asked, "", direct
    )
    return Schedule(3, wanted, NOW)


async def test_what_is_due_is_done_for_its_person_where_it_was_asked_for_or_in_private() -> None:
    schedules = PlaySchedules("UTC")
    there = await schedules.admit(Occurrence(made("ben", "general"), NOW))
    assert isinstance(there, Incoming)
    assert (there.person.name, there.place) == ("Ben", CHANNELS["general"].place)
    assert PlayAddress.decode(there.reply_to) == PlayAddress("general", "ben", "")
    alone = await schedules.admit(Occurrence(made("ben", "general", direct=True), NOW))
    assert isinstance(alone, Incoming)
    assert PlayAddress.decode(alone.reply_to) == PlayAddress("dm-ben", "ben", "")
    works = await schedules.admit(Occurrence(made("ben", "general", kind=ScheduleKind.WORK), NOW))
    assert isinstance(works, Incoming)
    assert PlayAddress.decode(works.reply_to).thread == "7"
    told = await schedules.direct(made("ann", "general"), NOW)
    assert (told.event_id == there.event_id, PlayAddress.decode(told.reply_to).channel) == (False, "dm-ann")


@pytest.mark.parametrize(("person", "channel"), [("carol", "general"), ("ben", "plans"), ("ben", "gone")])
async def test_what_is_due_is_not_done_for_who_does_not_read_there(person: str, channel: str) -> None:
    assert isinstance(await PlaySchedules("UTC").admit(Occurrence(made(person, channel), NOW)), NotAllowed)
