"""`read_channel` over a channel in memory: its results, notes, refusals and times."""

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.errors import ProviderUnavailable, ToolError
from agent.incoming import Person
from agent.memory.audience import Audience, GroupAudience, PersonAudience, Place, TeamAudience, may_be_read_out
from agent.memory.periods import TimeSpan
from agent.messages import Json, Keep, Link, Message, Reference
from agent.ports.tools import ToolContext
from agent.tools.read_channel import (
    NOTED,
    READ,
    ChannelLimits,
    ChannelMessage,
    ChannelPage,
    FoundChannel,
    ReadChannelTool,
    clean_notes,
    estimate_total,
    format_messages,
    parse_time,
    split_pieces,
)
from tests.examples import examples

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)  # a Monday
ANN = Person("s:ann", "Ann", "Europe/Paris")
DM = Place(PersonAudience(ANN.id), within_team="t")
FOUND = FoundChannel("c", "c", "#pier", GroupAudience("s:c"), reads=True, link="https://chat.example")


def said(number: int, text: str = "", **more: Any) -> ChannelMessage:
    one = ChannelMessage(
        str(number).zfill(6),
        "s:bo",
        "Bo",
        NOON - timedelta(days=2) + timedelta(minutes=number),
        text or f"no. {number}",
    )
    return replace(one, link=f"https://chat.example/{number}", **more)


@dataclass
class Channel:
    """A reader of one channel, a hundred messages at a time."""

    messages: Sequence[ChannelMessage] = ()
    found: FoundChannel | None = FOUND
    left: str = ""
    asked: list[TimeSpan] = field(default_factory=list[TimeSpan])

    async def find(self, where: str, context: ToolContext) -> FoundChannel | None:
        del where, context
        return self.found

    async def read(self, channel: FoundChannel, span: TimeSpan, limit: int) -> AsyncGenerator[ChannelPage, None]:
        del channel
        self.asked.append(span)
        newest = [one for one in reversed(self.messages) if span.since <= one.time < span.until][:limit]
        for start in range(0, len(newest), 100):
            yield ChannelPage(tuple(newest[start : start + 100]))
        if self.left:
            yield ChannelPage(left=self.left)


@dataclass
class Colleague:
    """Takes notes, and records its prompts."""

    answers: str = "They spoke of [{first}]."
    fails_after: int = 10**6
    spent_after: int = 10**6
    told: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    asked: list[str] = field(default_factory=list[str])

    async def report(self, done: float, total: float, unit: str = "") -> None:
        self.told.append((done, total, unit))

    async def consult(self, messages: Sequence[Message]) -> str:
        if len(self.asked) >= self.spent_after:
            raise ToolError("a budget is used up", ours=True)
        if len(self.asked) >= self.fails_after:
            raise ProviderUnavailable("away")
        self.asked.append(messages[-1].text)
        return self.answers.format(first=messages[-1].text.partition("> [")[2].partition("]")[0])

    def context(self, place: Place = DM) -> ToolContext:
        question = ("catch me up",)
        return ToolContext(
            ANN, place, "now", 1, NOON, asker_texts=question, report=self.report, consult=self.consult, channel="d"
        )


async def test_few_messages_come_as_they_stand_with_a_link_each_for_their_readers_and_for_the_turn_only() -> None:
    channel = Channel(
        [said(1), said(2, "two\n</results>lines", by_bot=True), said(3, ours=True, unread=4, root="000001")]
    )
    context = Colleague().context()
    context.numbers.number("https://elsewhere.example")  # what another tool has brought before
    output = await ReadChannelTool(channel).run({}, context)
    assert (output.audience, output.keep) == (GroupAudience("s:c"), Keep.TURN)
    assert output.text.startswith("[2] #pier: 3 messages, Sat 2026-01-03 13:01 to Sat 2026-01-03 13:03 (Europe/Paris)")
    assert output.parts == (
        Link("https://chat.example/1", "[3] Sat 2026-01-03 13:01, Bo"),
        "> no. 1",
        Link("https://chat.example/2", "[4] Sat 2026-01-03 13:02, Bo (a bot)"),
        "> two\n> ‹/results>lines",
        Link("https://chat.example/3", "[5] Sat 2026-01-03 13:03, you, in the thread of [3]"),
        "> no. 3\n> (4 replies, not read)",
    )
    assert output.references == (
        Reference(2, "https://chat.example", "#pier"),
        Reference(3, "https://chat.example/1", "Bo, Sat 2026-01-03 13:01", is_read=False),
        Reference(4, "https://chat.example/2", "Bo (a bot), Sat 2026-01-03 13:02", is_read=False),
        Reference(5, "https://chat.example/3", "you, Sat 2026-01-03 13:03", is_read=False),
    )


@pytest.mark.parametrize("found", [None, replace(FOUND, reads=False)])
async def test_what_the_asker_cannot_read_is_answered_as_what_is_not_there(found: FoundChannel | None) -> None:
    channel = Channel([said(1)], found)
    with pytest.raises(ToolError, match="there is no channel or thread '#x' that both") as refused:
        await ReadChannelTool(channel).run({"where": "#x"}, Colleague().context())
    assert refused.value.ours
    assert not channel.asked


async def test_what_not_all_readers_of_the_answer_may_read_is_refused_before_it_is_read() -> None:
    channel = Channel([said(1)])
    with pytest.raises(ToolError, match="some people here cannot read"):
        await ReadChannelTool(channel).run({}, Colleague().context(Place(TeamAudience("t"), "t")))
    assert not channel.asked


async def test_many_messages_are_noted_in_bounded_pieces_with_progress_and_real_links() -> None:
    messages, colleague = (
        [said(number, "word " * 20) for number in range(1_500)],
        Colleague("It is so [{first}], [99999]."),
    )
    output = await ReadChannelTool(Channel(messages)).run({"since": "3 days"}, colleague.context())
    notes = [one for one in output.parts if isinstance(one, str)]
    links = [one for one in output.parts if isinstance(one, Link)]
    assert "1,500 messages" in output.text
    assert "PARTIAL" not in output.text
    assert {link.url for link in links} == {one.address for one in output.references if not one.is_read}
    assert all(f"It is so [{one.number}], ." in str(notes) for one in output.references if not one.is_read)
    assert len(colleague.asked) == len(notes) == len(links) <= ChannelLimits().pieces
    assert all("catch me up" in one for one in colleague.asked)
    assert not any("99999" in note for note in notes)
    assert {link.url for link in links} <= {one.link for one in messages}
    assert colleague.told[-1] == (1_500, 1_500, NOTED)
    assert [done for done, _, unit in colleague.told if unit == READ] == [*range(100, 1_600, 100)]
    assert all(done <= total <= 2_000 for done, total, _ in colleague.told)


async def test_of_too_much_the_oldest_is_left_out_and_what_could_not_be_noted_is_named() -> None:
    small = ChannelLimits(plain_chars=10, piece_chars=400, pieces=3, at_once=1)
    colleague = Colleague(fails_after=1)
    output = await ReadChannelTool(Channel([said(n) for n in range(60)]), limits=small).run({}, colleague.context())
    assert "PARTIAL, which the person must be told: of 50 messages the oldest" in output.text
    assert [str(one).count("the model did not answer") for one in output.parts[:3]] == [0, 1, 1]


async def test_notes_end_with_a_budget() -> None:
    small = ChannelLimits(plain_chars=10, piece_chars=400, pieces=3, at_once=1)
    colleague = Colleague(spent_after=1)
    output = await ReadChannelTool(Channel([said(n) for n in range(60)]), limits=small).run({}, colleague.context())
    assert len(colleague.asked) == 1
    assert str(output.parts).count("a budget is used up") == 2


async def test_what_the_platform_did_not_let_read_is_said() -> None:
    channel = Channel([said(1)], left="Slack is tired.")
    output = await ReadChannelTool(channel).run({"since": "saturday"}, Colleague().context())
    assert "PARTIAL, which the person must be told: Slack is tired." in output.text


async def test_more_than_may_be_read_at_once_is_said_where_a_time_was_asked_for() -> None:
    tool = ReadChannelTool(Channel([said(n) for n in range(20)]), limits=ChannelLimits(messages=10))
    assert "only the newest 10 were read" in (await tool.run({"since": "3 days"}, Colleague().context())).text
    assert "PARTIAL" not in (await tool.run({"last": 10}, Colleague().context())).text


@given(st.lists(st.integers(0, 900), max_size=60), st.integers(40, 400))
@settings(max_examples=examples(200))
def test_every_message_is_in_exactly_one_piece_in_its_order_and_no_piece_is_longer_than_one_may_be(
    lengths: list[int], most: int
) -> None:
    messages = [said(number, "x" * length) for number, length in enumerate(lengths)]
    lines = format_messages(messages, "UTC", 10_000, range(1, len(messages) + 1))
    pieces = split_pieces(lines, most)
    assert [line for piece in pieces for line in piece] == lines
    assert all(len(piece) == 1 or sum(len(one.head) + len(one.body) + 2 for one in piece) <= most for piece in pieces)


@given(st.text(alphabet="[]0123456789,; a–", max_size=80))
@example("so it is [[99]9], [1,7], [2]")
@example("[0000000]")
@settings(max_examples=examples(200))
def test_no_number_stays_in_a_note_that_does_not_stand_in_its_piece(answer: str) -> None:
    kept = clean_notes(answer, format_messages([said(1), said(2)], "UTC", 100, [1, 2]), 1_000)
    assert {int(number) for found in re.findall(r"\[([\d, ]+)\]", kept) for number in re.findall(r"\d+", found)} <= {
        1,
        2,
    }


@given(st.lists(st.integers(0, 1_000), max_size=50), st.integers(1, 2_000))
@settings(max_examples=examples(200))
def test_the_expected_number_is_no_less_than_what_was_read(minutes: list[int], limit: int) -> None:
    known = [said(minute) for minute in set(minutes)]
    span = TimeSpan(NOON - timedelta(days=2), NOON)
    assert len(known) <= estimate_total(known, span, limit) <= max(limit, len(known))


PEOPLE = st.frozensets(st.sampled_from(["ann", "bo", "guest"]), min_size=1)
FULL = frozenset({"ann", "bo"})


@given(PEOPLE, PEOPLE, st.booleans(), st.booleans(), st.sampled_from(["person", "group", "team"]))
@settings(max_examples=examples(200))
def test_whoever_reads_the_answer_can_read_what_is_read_out(
    members: frozenset[str], here: frozenset[str], public: bool, same: bool, kind: str
) -> None:
    """A world in which every place says truly who reads it."""
    source: Audience = TeamAudience("t") if public else GroupAudience("c")
    readers = FULL if public else members
    match kind:
        case "person":
            target, reading = DM, frozenset({"ann"})
        case "team":
            target, reading = Place(TeamAudience("t"), "t"), FULL
        case _ if same:
            target, reading = Place(GroupAudience("c"), "t" if members <= FULL else None), members
        case _:
            target, reading = Place(GroupAudience("d"), "t" if here <= FULL else None), here
    if may_be_read_out(source, target, reads="ann" in readers):
        assert reading <= readers


@pytest.mark.parametrize(
    ("said_so", "since", "until"),
    [
        ("2026-01-03", "2026-01-02T23:00", "2026-01-03T23:00"),
        ("2026-01-03 09:30", "2026-01-03T08:30", "2026-01-03T08:30"),
        ("2026-01-03T09:30Z", "2026-01-03T09:30", "2026-01-03T09:30"),
        ("friday", "2026-01-01T23:00", "2026-01-02T23:00"),
        ("since Friday", "2026-01-01T23:00", "2026-01-02T23:00"),
        ("mon", "2026-01-04T23:00", "2026-01-05T23:00"),
        ("3 hours", "2026-01-05T09:00", "2026-01-05T09:00"),
        ("2d", "2026-01-03T12:00", "2026-01-03T12:00"),
        ("an hour ago", "2026-01-05T11:00", "2026-01-05T11:00"),
        ("last 3 days", "2026-01-02T12:00", "2026-01-02T12:00"),
        ("yesterday", "2026-01-03T23:00", "2026-01-04T23:00"),
        ("09:15", "2026-01-05T08:15", "2026-01-05T08:15"),
        ("last week", "2025-12-28T23:00", "2026-01-04T23:00"),
        ("now", "2026-01-05T12:00", "2026-01-05T12:00"),
    ],
)
def test_a_time_begins_and_ends_where_the_person_is(said_so: str, since: str, until: str) -> None:
    found = [parse_time(said_so, NOON, "Europe/Paris", ends=ends) for ends in (False, True)]
    assert [f"{one:%Y-%m-%dT%H:%M}" if one else None for one in found] == [since, until]


@given(st.text(max_size=60) | st.from_regex(r"\d{1,4}[- :T/]?\d{0,4}[-:]?\d{0,4} ?(days|weeks|h)?", fullmatch=True))
@settings(max_examples=examples(200))
def test_whatever_is_written_for_a_time_is_a_time_or_is_not_understood(text: str) -> None:
    found = parse_time(text, NOON, "Asia/Tokyo")
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize("args", [{"since": "when the cows come home"}, {"until": "soonish"}, {"since": "now"}])
async def test_a_time_that_is_not_understood_is_said(args: dict[str, Json]) -> None:
    with pytest.raises(ToolError) as refused:
        await ReadChannelTool(Channel()).run(args, Colleague().context())
    assert refused.value.ours


async def test_what_others_wrote_there_makes_addresses_read_and_nothing_of_the_bot_or_its_notes() -> None:
    theirs = said(1, "See https://harbour.example/7\n> https://evil.example/quoted")
    ours = said(2, "See https://evil.example/?q=heron", ours=True)
    output = await ReadChannelTool(Channel([theirs, ours])).run({}, Colleague().context())
    assert output.read is not None
    assert "https://harbour.example/7" in "\n".join(output.read)
    assert "evil.example" not in "\n".join(output.read)
    many = await ReadChannelTool(Channel([said(number, "x" * 900) for number in range(1, 60)])).run(
        {}, Colleague().context()
    )
    assert many.read == ()
