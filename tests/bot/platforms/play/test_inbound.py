"""The requests of the page, and the questions in its messages."""

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import Refused
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, may_flow
from agent.schedules.definitions import NewSchedule, NotAllowed, Occurrence, Schedule, ScheduleKind, Timing
from bot.chat.reply.surface import ReplyAction
from bot.platforms.play.inbound import (
    CHANNELS,
    MAX_TEXT_CHARS,
    PEOPLE,
    EditMessage,
    PlayAddress,
    PlayMembership,
    PlaySchedules,
    PressButton,
    PressOffer,
    SayMessage,
    asked_by_command,
    budget_ids,
    channel_named,
    link_to,
    mentions_bot,
    number_of,
    read_message,
    read_request,
    thread_of,
    without_mention,
)
from tests.examples import examples

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = [
    "number",
    "type",
    "message",
    "key",
    "channel",
    "thread",
    "text",
    "button",
    "values",
    "ticked",
    "filled",
    "offer",
]
ASKED = st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(["say", "edit", "press", "offer", 3]))


def asked(**what: Any) -> str:
    return json.dumps({"number": 1, **what})


def test_each_kind_of_request_is_read() -> None:
    said = asked(type="say", key="k", channel="general", thread="", text="hi")
    assert read_request(said) == (1, SayMessage("k", "general", "", "hi"))
    assert read_request(asked(type="edit", message="4", text="ho")) == (1, EditMessage("4", "ho"))
    assert read_request(asked(type="offer", message="4", offer="stop")) == (1, PressOffer("4", ReplyAction.STOP))
    pressed = asked(type="press", message="4", button=2, values=["a"], ticked=["b"], filled={"c": "d"})
    assert read_request(pressed) == (1, PressButton("4", 2, ("a",), frozenset({"b"}), {"c": "d"}))


@pytest.mark.parametrize(
    "written",
    [
        "",
        "[]",
        "{",
        "[" * 200_000,
        asked(type="drop"),
        asked(type="say", text=3),
        asked(type="say", text="x" * (MAX_TEXT_CHARS + 1)),
        asked(type="press", message="1", button=-1),
        asked(type="press", message="1", button=True),
        asked(type="press", message="1", button=1, values="abc"),
        asked(type="press", message="1", button=1, filled={str(number): "" for number in range(51)}),
        asked(type="offer", message="1", offer="explode"),
        asked(type="offer", message="1", offer=["stop"]),
        json.dumps({"number": "1", "type": "edit", "message": "1", "text": "x"}),
    ],
)
def test_whatever_else_a_page_sends_is_refused(written: str) -> None:
    with pytest.raises(Refused):
        read_request(written)


@settings(max_examples=examples(60))
@given(ASKED)
def test_no_request_raises_anything_else(body: dict[str, Any]) -> None:
    written = json.dumps(body)
    number_of(written)
    with contextlib.suppress(Refused):
        read_request(written)


def test_the_number_of_a_request_that_cannot_be_read_is_found_for_its_answer() -> None:
    assert number_of('{"number":7,"type":"?') == 7
    assert number_of('{"number": 12,') == 12
    assert number_of('{"type":"say","number":7}') == 0


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


def test_each_place_has_the_audience_of_those_who_read_it() -> None:
    assert CHANNELS["general"].place.audience == TeamAudience("play:workspace")
    assert CHANNELS["plans"].place.audience == GroupAudience("play:plans")
    assert CHANNELS["plans"].place.is_closed
    assert CHANNELS["dm-ben"].place.audience == PersonAudience("play:ben")
    for one in CHANNELS.values():
        assert may_flow(CHANNELS["general"].place.audience, one.place)
    for person in PEOPLE:
        others = [one.place for one in CHANNELS.values() if one.id != f"dm-{person}"]
        assert not any(may_flow(PersonAudience(f"play:{person}"), other) for other in others)


async def test_only_its_members_read_a_private_channel_and_what_is_unknown_nobody() -> None:
    members = PlayMembership()
    assert await members.readable("play:ann", ["play:plans", "play:other"]) == {"play:plans": True, "play:other": False}
    assert await members.readable("play:ben", ["play:plans"]) == {"play:plans": False}
    assert channel_named("#plans", "ben") is None
    assert channel_named("Plans", "ann") == CHANNELS["plans"]
    assert channel_named("dm-ann", "ann") is None


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
