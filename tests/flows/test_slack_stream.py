"""Replies as native streams in Slack, from the question to what is read: real slack-bolt, sockets, turns."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest

from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.ports.tools import Tool, ToolContext, ToolEffect
from agent.providers.scripted import Answer, Answering, ScriptedProvider
from bot.platforms.slack.settings import SlackSettings, Streaming
from bot.platforms.slack.streams import AGE_S, END_BYTES, MAX_BYTES
from bot.platforms.slack.surface import STREAM_LIMITS
from tests.examples import one_in, thorough
from tests.fakes.answers import answer_of
from tests.fakes.clock import FakeClock
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, LOST, Fault, limited
from tests.fakes.slack_state import PER_MINUTE
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import AT_ONCE, turns_host
from tests.fakes.typist import typed

ME = f"<@{BOT_USER}>"
BLUE = "It is blue. " * 30 + "Yes."
CALL = '\n<execute>[{"name": "look", "args": {"secret": "swordfish"}}]\n</execute>'


def call_of(number: int) -> str:
    """One that no other round makes: the same call again and again is refused."""
    return CALL.replace("swordfish", f"swordfish {number}")


MANY = replace(AT_ONCE, max_running=64, per_person=None)
STREAM_METHODS = ("chat.startStream", "chat.appendStream", "chat.stopStream")


@dataclass
class Look:
    """A tool that takes its time. Its result is nobody else's business."""

    clock: Clock
    takes_s: float = 2.0
    name: str = "look"
    description: str = "Look around."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 1_000.0
    schema: JsonObject = field(default_factory=lambda: {"type": "object"})

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- the port's shape
        await self.clock.sleep(self.takes_s)
        return "the treasure lies under the palm"


class World:
    """A workspace with an answering bot in it."""

    def __init__(
        self, slack: FakeSlack, script: Sequence[Answer | Answering] | Answering, tools: Sequence[Tool] = ()
    ) -> None:
        self.slack = slack
        self.store = store_in_memory()
        self.model = ScriptedProvider(script, sleep=slack.clock.sleep)
        self.tools = tools
        self.ann, self.bob = slack.state.user("ann"), slack.state.user("bob")
        self.general = slack.state.channel("general")
        self.dm = slack.state.channel("ann", "im")

    @asynccontextmanager
    async def running(
        self, streaming: Streaming = Streaming.DIRECT, *, tables: bool = False
    ) -> AsyncGenerator[None, None]:
        """`tables`: whether they become sortable; if not, the text of a page is exactly what the model wrote."""
        host = turns_host(self.store, self.model, self.slack.clock, tools=self.tools, limits=MANY)
        chosen = SlackSettings(stream=streaming, tables=tables)
        async with serving(self.slack, host, chosen=chosen), host.turns.serving():
            yield

    async def answered(self, turns: int = 1) -> None:
        def done() -> bool:
            return sum(turn.state == "done" for turn in self.store.turns) == turns

        await self.slack.until(done)

    async def asked(self, text: str = "tell me everything") -> list[FakeMessage]:
        """The pages of the answer to a direct message."""
        turns = len(self.store.turns) + 1
        question = await self.slack.say(self.ann, self.dm, text)
        await self.answered(turns)
        return self.pages(self.dm, question.ts)

    def pages(self, channel: str, thread_ts: str) -> list[FakeMessage]:
        """Without what hands over files."""
        return [page for page in self.slack.state.answers(channel, thread_ts) if not page.files]

    def cards(self, page: FakeMessage) -> list[tuple[str, str, str, str]]:
        stream = self.slack.state.streams.of(page)
        return [(card["title"], card["status"], card["details"], card["output"]) for card in stream.cards.values()]

    def count(self, method: str) -> int:
        return len(self.slack.state.called(method))


@asynccontextmanager
async def workspace(
    script: Sequence[Answer | Answering] | Answering,
    clock: Clock | None = None,
    tools: Sequence[Tool] = (),
    *,
    over_http: bool = False,
) -> AsyncGenerator[World, None]:
    async with FakeSlack(clock or FakeClock(), over_http=over_http) as slack:
        yield World(slack, script, tools)


def read(pages: Sequence[FakeMessage]) -> str:
    return read_back([page.text.replace("‹@", "<@") for page in pages], STREAM_LIMITS.page_chars)


def buttons(page: FakeMessage) -> list[str]:
    elements = [element for block in page.blocks if block["type"] != "markdown" for element in block["elements"]]
    return [element["action_id"].partition(":")[2] for element in elements]


def assert_within_tiers(slack: FakeSlack) -> None:
    """On the fake's record: no minute with more calls than the tier, and nothing was refused."""
    for method in (*STREAM_METHODS, "chat.update"):
        times = [call.time for call in slack.state.called(method)]
        most = max((sum(begin <= time < begin + 60 for time in times) for begin in times), default=0)
        assert most <= PER_MINUTE[method], method
    assert not slack.state.refused


@pytest.mark.parametrize("chars", [300, 3_000, 15_000])
async def test_an_answer_in_a_direct_message_grows_as_a_stream_and_equals_what_the_model_said(chars: int) -> None:
    text = answer_of(chars).strip()
    async with workspace([typed(text)]) as world, world.running():
        pages = await world.asked()
        session = world.slack.state.agents.sessions[world.dm, pages[0].thread_ts]
        assert session.status == "active"
    assert read(pages) == text
    assert not world.count("chat.update")
    assert not world.count("chat.postMessage")
    assert sum(page.edits for page in pages) >= chars / 200
    assert all(later.startswith(earlier) for page in pages for (_, earlier), (_, later) in pairwise(page.versions))
    assert [buttons(page) for page in pages] == [[]] * (len(pages) - 1) + [["judge", "delete", "regenerate"]]
    assert all(page.metadata["event_payload"]["key"] == f"1-{number}" for number, page in enumerate(pages))
    assert_within_tiers(world.slack)


async def test_where_events_come_over_http_replies_stream_as_well() -> None:
    text = answer_of(6_000).strip()
    async with workspace([typed(text)], FastClock(), over_http=True) as world, world.running():
        pages = await world.asked()
    assert read(pages) == text
    assert world.count("chat.startStream")
    assert buttons(pages[-1]) == ["judge", "delete", "regenerate"]


async def test_a_stop_in_words_ends_a_growing_stream() -> None:
    async with workspace([typed(answer_of(9_000).strip())], FastClock()) as world, world.running():
        question = await world.slack.say(world.ann, world.dm, "tell me everything")
        await world.slack.until(lambda: world.pages(world.dm, question.ts))
        await world.slack.say(world.ann, world.dm, "stop", question.ts)
        await world.answered()
        (page,) = world.pages(world.dm, question.ts)
    assert page.text.endswith("*Stopped.*")
    assert buttons(page) == ["delete", "regenerate"]
    assert not world.slack.state.streams.of(page).open


async def test_a_question_that_is_deleted_takes_its_growing_stream_away() -> None:
    async with workspace([typed(answer_of(9_000).strip())], FastClock()) as world, world.running():
        question = await world.slack.say(world.ann, world.dm, "tell me everything")
        await world.slack.until(lambda: world.pages(world.dm, question.ts))
        gone = {"type": "message", "subtype": "message_deleted", "channel": world.dm, "deleted_ts": question.ts}
        await world.slack.deliver(world.slack.envelope({**gone, "previous_message": question.wire()}))
        await world.slack.until(lambda: not world.pages(world.dm, question.ts))
        await world.answered()


async def test_a_short_answer_is_one_ordinary_message() -> None:
    async with workspace(["Ten chars!"]) as world, world.running():
        (page,) = await world.asked()
    assert (page.text, buttons(page)) == ("Ten chars!", ["judge", "delete", "regenerate"])
    assert world.count("chat.postMessage") == 1
    assert not any(map(world.count, STREAM_METHODS))


async def test_text_comes_in_chunks_and_in_direct_messages_without_a_recipient() -> None:
    async with workspace([typed(answer_of(500).strip())]) as world, world.running():
        await world.asked()
        (start,) = world.slack.state.called("chat.startStream")
    assert start.args["task_display_mode"] == "plan"
    assert not {"markdown_text", "recipient_user_id", "recipient_team_id"} & start.args.keys()


async def test_in_a_thread_of_a_channel_a_message_is_edited_unless_the_operator_wants_streams_there() -> None:
    text = answer_of(1_000).strip()
    for streaming, streams in ((Streaming.DIRECT, 0), (Streaming.EVERYWHERE, 1)):
        async with workspace([typed(text)]) as world, world.running(streaming):
            question = await world.slack.say(world.ann, world.general, f"{ME} tell me everything")
            await world.answered()
            pages = world.pages(world.general, question.ts)
        assert read(pages) == text
        assert world.count("chat.startStream") == streams
        assert buttons(pages[-1]) == ["judge", "delete", "regenerate"]
    (start,) = world.slack.state.called("chat.startStream")
    assert (start.args["recipient_user_id"], start.args["recipient_team_id"]) == (world.ann, "T0TEAM")


async def test_no_stream_is_begun_where_the_operator_wants_none() -> None:
    async with workspace([typed(answer_of(1_000).strip())]) as world, world.running(Streaming.OFF):
        await world.asked()
    assert not world.count("chat.startStream")


async def test_a_tool_is_a_card_that_tells_neither_its_arguments_nor_its_result() -> None:
    clock = FakeClock()
    script = [[*typed("Let me look around."), CALL], typed(BLUE)]
    async with workspace(script, clock, [Look(clock)]) as world, world.running():
        (page,) = await world.asked()
        assert world.cards(page) == [("Using look…", "complete", "", "Done.")]
        told = str([call.args for method in STREAM_METHODS for call in world.slack.state.called(method)])
    assert page.text == f"Let me look around.\n\n{BLUE}"
    assert "swordfish" not in told
    assert "treasure" not in told


async def test_a_card_comes_before_the_first_word() -> None:
    clock = FakeClock()
    async with workspace([CALL.lstrip(), typed(BLUE)], clock, [Look(clock, takes_s=30)]) as world, world.running():
        await world.slack.say(world.ann, world.dm, "which colour?")
        await world.slack.until(lambda: world.slack.state.answers(world.dm))
        (page,) = world.slack.state.answers(world.dm)
        assert (page.text, world.slack.state.streams.of(page).cards["1.1"]["status"]) == ("", "in_progress")
        await world.answered()
    assert world.slack.state.answers(world.dm)[0].text == BLUE


async def test_a_stop_during_a_tool_call_ends_the_stream_and_its_card() -> None:
    clock = FastClock()
    script = [[*typed("Let me look around."), CALL]]
    async with workspace(script, clock, [Look(clock, takes_s=900)]) as world, world.running():
        question = await world.slack.say(world.ann, world.dm, "which colour?")

        def looking() -> bool:
            pages = world.pages(world.dm, question.ts)
            return bool(pages and world.slack.state.streams.of(pages[0]).cards)

        await world.slack.until(looking)
        await world.slack.say(world.ann, world.dm, "stop", question.ts)
        await world.answered()
        (page,) = world.pages(world.dm, question.ts)
        assert world.cards(page) == [("Using look…", "error", "", "Not finished.")]
    assert page.text == "Let me look around.\n\n*Stopped.*"
    assert not world.slack.state.streams.of(page).open


async def test_slacks_own_stop_button_stops_the_turn_and_not_only_the_stream() -> None:
    text = answer_of(9_000).strip()
    clock = FastClock()
    async with workspace([typed(text)], clock) as world, world.running():
        question = await world.slack.say(world.ann, world.dm, "tell me everything")
        await world.slack.until(lambda: world.pages(world.dm, question.ts))
        (page,) = world.pages(world.dm, question.ts)
        world.slack.state.streams.stopped_by_reader(page)
        await world.answered()
    assert page.text.endswith("*Stopped.*")
    assert len(page.text) < len(text)
    assert world.store.turns[0].state == "done"


async def test_before_a_stream_dies_of_age_the_answer_goes_on_in_the_next() -> None:
    code = "Look:\n\n```py\n" + "".join(f"line_{number} = {number}\n" for number in range(300)) + "```"
    async with workspace([typed(code, chars_per_s=len(code) / 500)]) as world, world.running():
        pages = await world.asked()
        began = [call.time for call in world.slack.state.called("chat.startStream")]
        stops = world.slack.state.called("chat.stopStream")
    assert read(pages) == code
    assert len(pages) >= 3
    assert all(AGE_S <= later - earlier < AGE_S + 30 for earlier, later in pairwise(began))
    assert [stop.args["session_status"] for stop in stops] == ["processing"] * (len(pages) - 1) + ["active"]
    assert all(page.text.startswith("```py\nline_") for page in pages[1:])
    assert not world.count("chat.update")


async def test_before_a_stream_is_full_the_answer_goes_on_in_the_next_cards_included() -> None:
    text = answer_of(24_000).strip()
    clock = FakeClock()
    script: list[Answer | Answering] = [*([*typed("Again."), call_of(number)] for number in range(8)), typed(text)]
    async with workspace(script, clock, [Look(clock, takes_s=0.5)]) as world, world.running():
        pages = await world.asked()
        sizes = [world.slack.state.streams.of(page).size for page in pages]
    assert read(pages).endswith(text)
    assert max(sizes) <= MAX_BYTES + END_BYTES
    assert len(pages) >= 3
    assert not world.count("chat.update")


REFUSALS = [
    "channel_type_not_supported",
    "unknown_method",
    "feature_not_enabled",
    "method_deprecated",
    "missing_recipient_team_id",
    "missing_recipient_user_id",
    "team_access_not_granted",
    "invalid_thread_ts",
    "not_subscribed_to_message_stream_stopped",
]


@pytest.mark.parametrize("code", REFUSALS)
async def test_where_no_stream_can_be_started_the_message_is_edited_and_nobody_asks_again_soon(code: str) -> None:
    text = answer_of(2_000).strip()
    async with workspace(lambda _: typed(text)) as world, world.running():
        world.slack.faults["chat.startStream"].append(Fault(error=code))
        pages = await world.asked()
        assert read(pages) == text
        await world.asked("and again?")
    assert not world.count("chat.startStream")
    assert world.count("chat.update") >= 4
    assert all(buttons(page) == ["judge", "delete", "regenerate"] for page in pages[-1:])


async def test_a_tool_without_a_word_before_it_waits_for_words_where_no_stream_can_be_started() -> None:
    clock = FakeClock()
    async with workspace([CALL.lstrip(), typed(BLUE)], clock, [Look(clock, takes_s=30)]) as world, world.running():
        world.slack.state.streams.enabled = False
        pages = await world.asked()
    assert read(pages) == BLUE


@pytest.mark.parametrize(
    ("method", "fault"), one_in(3, STREAM_METHODS, [limited(3), DOWN, LOST, Fault(error="internal_error")])
)
async def test_limits_and_failures_of_each_method_change_nothing_of_the_text(method: str, fault: Fault) -> None:
    text = answer_of(12_000).strip()
    async with workspace([typed(text)]) as world, world.running():
        world.slack.faults[method] += [Fault(), fault, fault]
        pages = await world.asked()
    assert read(pages) == text
    keys = [page.metadata["event_payload"]["key"] for page in pages]
    assert len(keys) == len(set(keys))
    assert not any(world.slack.state.streams.streams(page) for page in pages)
    assert buttons(pages[-1]) == ["judge", "delete", "regenerate"]


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=thorough) for seed in range(3, 12))])
async def test_whatever_goes_wrong_and_when_the_words_are_read_once(seed: int) -> None:
    chance, text = Random(seed), answer_of(14_000).strip()
    dead = Fault(error="message_not_in_streaming_state")
    usual = [*[Fault()] * 6, DOWN, LOST, limited(1)]
    async with workspace([typed(text)]) as world, world.running():
        world.slack.faults["chat.startStream"] += chance.choices([*usual, Fault(error="fatal_error")], k=8)
        world.slack.faults["chat.appendStream"] += chance.choices([*usual, dead], k=40)
        world.slack.faults["chat.stopStream"] += chance.choices([*usual, dead], k=8)
        world.slack.faults["chat.update"] += chance.choices(usual, k=8)
        world.slack.faults["chat.postMessage"] += chance.choices(usual, k=4)
        pages = await world.asked()
    assert read(pages) == text
    assert not any(world.slack.state.streams.streams(page) for page in pages)
    assert buttons(pages[-1]) == ["judge", "delete", "regenerate"]


async def test_a_stream_that_died_is_finished_by_editing_its_message() -> None:
    text = answer_of(3_000).strip()
    async with workspace([typed(text)]) as world, world.running():
        world.slack.faults["chat.appendStream"] += [*[Fault()] * 5, Fault(error="message_not_in_streaming_state")]
        pages = await world.asked()
    assert read(pages) == text
    assert len(pages) == 1
    assert world.count("chat.update") >= 2


async def test_a_message_that_is_too_long_to_be_edited_stays_and_the_answer_goes_on_live_in_the_next() -> None:
    text = " ".join(f"Boat {number} is blue." for number in range(600))
    async with workspace([typed(text)]) as world, world.running():
        world.slack.state.markdown_in_update = 1_500
        world.slack.faults["chat.appendStream"] += [*[Fault()] * 20, Fault(error="message_not_in_streaming_state")]
        pages = await world.asked()
    assert "".join(page.text for page in pages) == text
    assert len(pages) >= 2
    assert world.count("chat.startStream") >= 2


async def test_buttons_that_a_workspace_does_not_know_are_left_out() -> None:
    text = answer_of(2_000).strip()
    async with workspace(lambda _: typed(text)) as world, world.running():
        world.slack.faults["chat.stopStream"] += [Fault(error="invalid_blocks")]
        pages = await world.asked()
        (again,) = await world.asked("and again?")
    assert read(pages) == text
    assert buttons(pages[-1]) == buttons(again) == ["regenerate", "good", "bad", "delete"]
    assert world.count("chat.stopStream") == 2


BOATS = "Here:\n\n| Boat | Feet |\n|---|---|\n| Ada | 40 |\n| Bee | 7 |\n\nThat is all."


def kinds(page: FakeMessage) -> list[str]:
    return [block["type"] for block in page.blocks]


async def test_a_streamed_table_becomes_sortable_once_the_stream_has_ended() -> None:
    async with workspace([typed(BOATS)]) as world, world.running(tables=True):
        (page,) = await world.asked()
        await world.slack.until(lambda: "data_table" in kinds(page))
        assert kinds(page) == ["markdown", "data_table", "markdown", "context_actions", "actions"]
        assert page.metadata["event_payload"]["key"]
    assert (world.count("chat.stopStream"), world.count("chat.update")) == (1, 1)


async def test_a_streamed_table_stays_where_an_edit_would_remove_the_cards_of_tools() -> None:
    clock = FakeClock()
    async with workspace([[*typed("I look."), call_of(1)], typed(BOATS)], clock, [Look(clock)]) as world:
        async with world.running(tables=True):
            pages = await world.asked()
        assert world.cards(pages[-1])
    assert "| Ada | 40 |" in pages[-1].text
    assert not world.count("chat.update")


@pytest.mark.parametrize("fault", [Fault(error="invalid_blocks"), Fault(error="streaming_state_conflict"), DOWN])
async def test_a_streamed_table_that_slack_does_not_make_sortable_is_left_as_it_is(fault: Fault) -> None:
    async with workspace(lambda _: typed(BOATS)) as world, world.running(tables=True):
        world.slack.faults["chat.update"].append(fault)
        (page,) = await world.asked()
        assert page.text == BOATS
        assert not world.slack.faults["chat.update"]
        assert buttons(page) == ["judge", "delete", "regenerate"]


async def test_a_socket_that_is_refreshed_in_mid_stream_and_a_redelivery_change_nothing() -> None:
    text = answer_of(6_000).strip()
    async with workspace([typed(text)], FastClock()) as world, world.running():
        question = world.slack.state.write(world.ann, world.dm, "tell me everything")
        envelope = world.slack.envelope(world.slack.events_of(question)[0])
        await world.slack.deliver(envelope)
        await world.slack.until(lambda: world.pages(world.dm, question.ts))
        await world.slack.refresh()
        await world.slack.until(lambda: world.slack.opened == 2)
        await world.slack.deliver(envelope, attempt=1)
        await world.answered()
        pages = world.pages(world.dm, question.ts)
    assert read(pages) == text
    assert len(world.store.turns) == 1


async def test_what_a_model_streams_pings_nobody_however_it_is_cut() -> None:
    said = "".join(f"{number}: Wake <!channel>, <@U0BOB>, @here and @channel now! " for number in range(30))
    async with workspace([typed(said.strip())]) as world, world.running():
        pages = await world.asked()
    (page,) = pages
    for _, shown in page.versions:
        assert not any(ping in shown for ping in ("<!", "<@", "@here", "@channel"))
    assert page.text.count("＠here") == page.text.count("‹!channel>") == 30


async def test_ten_replies_at_once_stay_within_every_tier_and_each_gets_its_share() -> None:
    text = answer_of(6_000).strip()
    async with workspace(lambda _: typed(text, chars_per_s=100)) as world, world.running():
        roots = [await world.slack.say(world.ann, world.dm, f"tell me {number}") for number in range(10)]
        await world.answered(10)
        threads = [world.pages(world.dm, root.ts) for root in roots]
    assert all(read(pages) == text for pages in threads)
    frames = [sum(page.edits for page in pages) for pages in threads]
    assert min(frames) >= 5
    assert max(frames) <= 3 * min(frames)
    assert_within_tiers(world.slack)


async def test_beyond_the_budget_of_starts_replies_are_edited_and_none_waits() -> None:
    text = answer_of(400).strip()
    async with workspace(lambda _: typed(text, chars_per_s=20)) as world, world.running():
        roots = [await world.slack.say(world.ann, world.dm, f"tell me {number}") for number in range(24)]
        await world.answered(24)
        threads = [world.pages(world.dm, root.ts) for root in roots]
    assert all(read(pages) == text for pages in threads)
    assert world.count("chat.startStream") == 19
    assert_within_tiers(world.slack)


@pytest.mark.parametrize("stored", [True, False])
async def test_a_restart_in_mid_stream_finishes_the_same_message_once(*, stored: bool) -> None:
    text = answer_of(3_000).strip()
    async with workspace(lambda _: typed(text), FastClock()) as world:
        async with world.running():
            question = await world.slack.say(world.ann, world.dm, "tell me everything")
            await world.slack.until(lambda: sum(page.edits for page in world.slack.state.answers(world.dm)) >= 2)
            begun = world.pages(world.dm, question.ts)[0].ts
        if not stored:
            world.store.lose_pages()
        await world.store.ledger.release_all()
        async with world.running():
            await world.answered()
        (page,) = world.pages(world.dm, question.ts)
    assert page.ts == begun
    assert read([page]) == text
    assert buttons(page) == ["judge", "delete", "regenerate"]
    assert not world.slack.state.streams.streams(page)
