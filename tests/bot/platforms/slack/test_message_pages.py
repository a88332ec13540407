"""One stream: what is sent of a page, and what each answer of Slack means for it."""

from collections.abc import AsyncGenerator

import pytest
from aiohttp import ClientSession
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient

from agent.messages import Json
from bot.chat.reply.surface import PageContent, PageFull, PageLimited, PageQueued, PageUnsent, ShownStep, StepState
from bot.platforms.slack import api
from bot.platforms.slack.api import MethodRates, SlackApi
from bot.platforms.slack.markup import neutral
from bot.platforms.slack.streams import AGE_S, MAX_BYTES, Stream, StreamEnded, StreamPlace, StreamRefused, Streams
from tests.fakes.clock import FakeClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import DOWN, LOST, Fault, limited
from tests.fakes.slack_things import BOT_TOKEN, FakeMessage

RUNNING = ShownStep("1.1", "Searching past threads…", StepState.RUNNING, details="boats")
DONE = ShownStep("1.1", "Searching past threads…", StepState.DONE, details="boats", output="Done.")


class Room:
    """A direct message in which a reply streams."""

    def __init__(self, slack: FakeSlack, api: SlackApi, clock: FakeClock) -> None:
        self.slack, self.clock = slack, clock
        ann = slack.state.user("anna")
        self.channel = slack.state.channel("anna", "im")
        question = slack.state.write(ann, self.channel, "hello?")
        self.place = StreamPlace(self.channel, question.ts)
        self.budgets = MethodRates()
        self.streams = Streams(api, self.budgets, clock, self.place, "a reply")

    @property
    def shown(self) -> FakeMessage:
        return self.slack.state.answers(self.channel)[0]


@pytest.fixture
async def room() -> AsyncGenerator[Room, None]:
    clock = FakeClock(auto=False)
    async with FakeSlack(clock) as slack, ClientSession() as session:
        web = AsyncWebClient(token=BOT_TOKEN, base_url=slack.url, session=session, retry_handlers=[])
        web.proxy = None
        yield Room(slack, SlackApi(web, session), clock)


def empty() -> Stream:
    return Stream(StreamPlace("D1", "1.0"), "2.0", 0.0)


def written(stream: Stream, look: PageContent) -> str:
    """Return the text that is sent of this page."""
    addition = stream.addition(look)
    assert addition is not None
    stream.apply(addition)
    return "".join(api.text(chunk, "text") for chunk in addition.chunks)


@given(st.lists(st.text(alphabet="<@!#&;| \nUhere1subtam^-channl`>", max_size=20), max_size=12))
def test_however_a_text_is_cut_what_is_sent_is_its_harmless_form(pieces: list[str]) -> None:
    stream, text, sent = empty(), "", ""
    for piece in pieces:
        text += piece
        sent += written(stream, PageContent(text))
        assert neutral(text).startswith(sent)
    assert sent + written(stream, PageContent(text, final=True)) == neutral(text)


def test_a_card_tells_its_details_once_and_its_output_at_its_end() -> None:
    stream = empty()
    first, second = (stream.addition(PageContent("", steps=(step,))) for step in (RUNNING, DONE))
    assert first is not None
    assert first.chunks == [
        {"type": "task_update", "id": "1.1", "title": RUNNING.title, "status": "in_progress", "details": "boats"}
    ]
    stream.apply(first)
    second = stream.addition(PageContent("", steps=(DONE,)))
    assert second is not None
    assert second.chunks == [
        {"type": "task_update", "id": "1.1", "title": DONE.title, "status": "complete", "output": "Done."}
    ]
    stream.apply(second)
    assert stream.addition(PageContent("", steps=(DONE,))) == second.__class__([], "", {"1.1": DONE}, second.bytes)


def test_another_text_is_no_addition() -> None:
    stream = empty()
    written(stream, PageContent("It is blue. "))
    assert stream.addition(PageContent("Sorry.", final=True)) is None


async def test_what_has_not_changed_is_not_sent(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    await room.streams.grow(stream, PageContent("It is "))
    assert not room.slack.state.called("chat.appendStream")


async def test_a_stream_takes_no_more_when_it_is_old_but_its_end(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    await room.clock.advance(AGE_S + 1)
    with pytest.raises(PageFull):
        await room.streams.grow(stream, PageContent("It is blue "))
    await room.streams.end(stream, PageContent("It is blue.", final=True), [])
    assert room.shown.text == "It is blue."


async def test_a_stream_takes_no_more_when_it_is_large(room: Room) -> None:
    stream = await room.streams.start(PageContent("船" * (MAX_BYTES // 3 - 10)))
    with pytest.raises(PageFull):
        await room.streams.grow(stream, PageContent("船" * (MAX_BYTES // 3 + 10)))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(error="channel_type_not_supported"), StreamRefused),
        (Fault(error="missing_scope"), StreamRefused),
        (limited(3), StreamRefused),
        (Fault(error="token_revoked"), PageUnsent),
        (DOWN, PageUnsent),
    ],
)
async def test_a_start_that_fails_is_a_refusal_or_is_tried_again(
    room: Room, fault: Fault, error: type[Exception]
) -> None:
    room.slack.faults["chat.startStream"].append(fault)
    with pytest.raises(error):
        await room.streams.start(PageContent("It is "))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(error="message_not_in_streaming_state"), StreamEnded),
        (Fault(error="message_not_found"), StreamEnded),
        (Fault(error="stopped_by_user"), StreamEnded),
        (Fault(error="msg_too_long"), PageFull),
        (Fault(error="token_revoked"), PageUnsent),
        (limited(3), PageLimited),
        (DOWN, PageUnsent),
    ],
)
async def test_a_refused_addition_is_translated(room: Room, fault: Fault, error: type[Exception]) -> None:
    stream = await room.streams.start(PageContent("It is "))
    room.slack.faults["chat.appendStream"].append(fault)
    with pytest.raises(error):
        await room.streams.grow(stream, PageContent("It is blue "))


async def test_a_limit_holds_for_every_reply_of_the_workspace(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    room.slack.faults["chat.appendStream"].append(limited(30))
    with pytest.raises(PageLimited):
        await room.streams.grow(stream, PageContent("It is blue "))
    assert room.budgets.appends.wait("another reply", room.clock.monotonic()) == 30


async def test_a_stream_of_which_nobody_knows_what_it_shows_is_ended_without_a_word(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    room.slack.faults["chat.appendStream"].append(LOST)
    with pytest.raises(PageUnsent):
        await room.streams.grow(stream, PageContent("It is blue "))
    with pytest.raises(StreamEnded):
        await room.streams.grow(stream, PageContent("It is blue and "))
    assert room.shown.text == "It is blue "
    assert not room.slack.state.streams.streams(room.shown)


async def test_where_the_end_has_to_wait_the_words_do_not(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    room.budgets.stops.block_for(room.clock.monotonic(), 30)
    with pytest.raises(PageQueued):
        await room.streams.end(stream, PageContent("It is blue.", final=True), [])
    assert room.shown.text == "It is blue."
    await room.clock.advance(31)
    await room.streams.end(stream, PageContent("It is blue.", final=True), [])
    assert room.shown.text == "It is blue."


async def test_of_several_forms_of_buttons_the_first_that_slack_takes_stands_there(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    divider: list[Json] = [{"type": "divider"}]
    await room.streams.end(stream, PageContent("It is blue.", final=True), [[{"type": "unheard_of"}], divider])
    assert (room.shown.text, room.shown.blocks) == ("It is blue.", divider)
    room.slack.violations.clear()  # the form that is not there on purpose


async def test_a_stream_that_has_ended_may_be_dropped_again(room: Room) -> None:
    stream = await room.streams.start(PageContent("It is "))
    await room.streams.drop(stream.ts)
    await room.clock.advance(10)
    await room.streams.drop(stream.ts)
    room.budgets.stops.block_for(room.clock.monotonic(), 30)
    with pytest.raises(PageQueued):
        await room.streams.drop(stream.ts)
