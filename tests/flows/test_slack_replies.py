"""From what people write in Slack to what they read there: real slack-bolt, sockets, turns and live replies."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle

import pytest

from agent.messages import Message
from agent.ports.clock import Clock
from agent.ports.tools import Tool
from agent.providers.scripted import Answer, Answering, ScriptedProvider, ScriptPause
from bot.platforms.slack.settings import SlackSettings
from bot.platforms.slack.surface import LIMITS
from tests.fakes.answers import answer_of, prose
from tests.fakes.clock import FakeClock
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, LOST, Fault, limited
from tests.fakes.slack_state import PER_MINUTE
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host
from tests.fakes.typist import typed

ME = f"<@{BOT_USER}>"
PLAIN_TABLES = SlackSettings(tables=False)  # So that the text of a page is exactly what the model wrote


def read(pages: Sequence[FakeMessage]) -> str:
    """What a reader restores of the pages, with the mentions that were defused."""
    return read_back([page.text.replace("‹@", "<@") for page in pages], LIMITS.page_chars)


def asked(messages: Sequence[Message]) -> str:
    """The question in a request to the model."""
    return messages[-1].text


class World:
    """A workspace, a store and a model; `running` starts a process on them."""

    def __init__(
        self,
        slack: FakeSlack,
        script: Sequence[Answer | Answering] | Answering,
        tools: Sequence[Tool] = (),
        chosen: SlackSettings = PLAIN_TABLES,
    ) -> None:
        self.slack = slack
        self.tools = tools
        self.chosen = chosen
        self.operators: frozenset[str] = frozenset()
        self.store = store_in_memory()
        self.model = ScriptedProvider(script, sleep=slack.clock.sleep)
        self.ann, self.bob = slack.state.user("ann"), slack.state.user("bob")
        self.general = slack.state.channel("general")
        self.dm = slack.state.channel("ann", "im")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        host = turns_host(self.store, self.model, self.slack.clock, operators=self.operators, tools=self.tools)
        async with serving(self.slack, host, chosen=self.chosen), host.turns.serving():
            yield

    async def answered(self, turns: int = 1) -> None:
        def done() -> bool:
            return sum(turn.state == "done" for turn in self.store.turns) == turns

        await self.slack.until(done)


@asynccontextmanager
async def workspace(
    script: Sequence[Answer | Answering] | Answering,
    clock: Clock | None = None,
    *,
    over_http: bool = False,
    tools: Sequence[Tool] = (),
    chosen: SlackSettings = PLAIN_TABLES,
) -> AsyncGenerator[World, None]:
    """Where pace and limits count, `clock` is one that stands still while anybody works: a busy machine is no delay."""
    async with FakeSlack(clock or FastClock(), over_http=over_http) as slack:
        yield World(slack, script, tools, chosen)


async def test_a_direct_message_begins_a_thread_in_which_it_is_answered() -> None:
    async with workspace(["Hello Ann."]) as world, world.running():
        question = await world.slack.say(world.ann, world.dm, "hello?")
        await world.answered()
        (answer,) = world.slack.state.answers(world.dm)
    assert (answer.text, answer.thread_ts) == ("Hello Ann.", question.ts)


async def test_a_direct_message_in_a_thread_is_answered_in_that_thread() -> None:
    async with workspace(["Hello Ann."]) as world, world.running():
        root = world.slack.state.write(BOT_USER, world.dm, "Good morning.")
        await world.slack.say(world.ann, world.dm, "hello?", root.ts)
        await world.answered()
        (answer,) = world.slack.state.answers(world.dm)
    assert answer.thread_ts == root.ts


async def test_a_slash_command_shows_its_question_and_is_answered_below_it() -> None:
    async with workspace(["It is *blue*."]) as world, world.running():
        await world.slack.command(world.ann, world.general, "/ask", f"which colour, <@{world.bob}>?")
        await world.answered()
        question, answer = world.slack.state.answers(world.general)
    assert question.text == "**ann** asks:\n> which colour, @bob?"
    assert (answer.text, answer.thread_ts) == ("It is *blue*.", question.ts)


async def test_before_the_first_text_the_thread_shows_that_the_bot_is_thinking() -> None:
    async with workspace([[ScriptPause(5), "Hello."]]) as world, world.running():
        question = await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.slack.until(lambda: world.slack.state.statuses)
        assert not world.slack.state.answers(world.general)
        await world.answered()
    assert world.slack.state.statuses[0] == (world.general, question.ts, "is thinking…")


async def test_an_answer_of_ten_characters_needs_no_edit() -> None:
    async with workspace(["Ten chars!"]) as world, world.running():
        await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.answered()
    assert len(world.slack.state.called("chat.postMessage")) == 1
    assert not world.slack.state.called("chat.update")


@pytest.mark.parametrize("chars", [3_000, 15_000])
async def test_a_long_answer_grows_by_edits_and_equals_what_the_model_said(chars: int) -> None:
    text = answer_of(chars).strip()
    async with workspace([typed(text)], FakeClock()) as world, world.running():
        await world.slack.say(world.ann, world.general, f"{ME} tell me everything")
        await world.answered()
        pages = world.slack.state.answers(world.general)
    assert sum(page.edits for page in pages) >= 3
    assert read(pages) == text
    assert all(len(shown) < 4_000 for page in pages for _, shown in page.versions)
    assert not world.slack.state.refused


@pytest.mark.parametrize("chars", [3_000, 15_000])
async def test_limits_and_failures_in_the_middle_change_nothing_of_the_text(chars: int) -> None:
    text = answer_of(chars).strip()
    async with workspace([typed(text)], FakeClock()) as world, world.running():
        world.slack.faults["chat.postMessage"] += [DOWN, LOST, limited(1)]
        world.slack.faults["chat.update"] += [
            Fault(),
            limited(2),
            DOWN,
            LOST,
            Fault(error="internal_error"),
            Fault(502),
        ]
        world.slack.faults["assistant.threads.setStatus"] += [Fault(error="invalid_thread_ts")]
        await world.slack.say(world.ann, world.general, f"{ME} tell me everything")
        await world.answered()
        pages = world.slack.state.answers(world.general)
    assert read(pages) == text
    assert len(pages) == len({page.metadata["event_payload"]["key"] for page in pages})


async def test_a_table_of_a_growing_answer_is_sortable_at_its_end_and_its_words_ping_nobody() -> None:
    rows = "".join(f"| boat {number} | {number} |\n" for number in range(12))
    table = f"| Boat | Feet |\n|---|---|\n{rows}"
    text = f"Here they are:\n\n{table}\n{prose(1_500)}"
    script = [typed(text.replace("boat 11", "@here"))]
    async with workspace(script, FakeClock(), chosen=SlackSettings()) as world, world.running():
        await world.slack.say(world.ann, world.general, f"{ME} which boats?")
        await world.answered()
        pages = world.slack.state.answers(world.general)
    assert any(table[:60] in seen for _, seen in pages[0].versions[:-1])
    (block,) = (block for page in pages for block in page.blocks if block["type"] == "data_table")
    names, feet = ([row[column] for row in block["rows"][1:]] for column in (0, 1))
    assert [cell["value"] for cell in feet] == [*range(12)]
    assert [cell["text"] for cell in names] == [*(f"boat {number}" for number in range(11)), "＠here"]
    assert read(pages).endswith(prose(1_500)[-200:].strip())


async def test_what_a_model_says_pings_nobody() -> None:
    said = "Wake <!channel>, <@U0BOB> and @here!"
    async with workspace([said]) as world, world.running():
        await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.answered()
        (answer,) = world.slack.state.answers(world.general)
    assert answer.text == "Wake ‹!channel>, ‹@U0BOB> and ＠here!"


async def test_a_page_that_can_no_longer_be_edited_is_followed_by_the_rest() -> None:
    text = prose(3_600)
    async with workspace([typed(text)]) as world, world.running():
        world.slack.faults["chat.update"] += [Fault(), Fault(error="edit_window_closed")]
        await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.answered()
        pages = world.slack.state.answers(world.general)
    assert len(pages) == 2
    assert read(pages) == text


async def test_the_same_event_over_two_sockets_before_and_after_a_restart_gets_one_reply() -> None:
    async with workspace(["Once."]) as world:
        async with world.running(), world.running():
            message = world.slack.state.write(world.ann, world.general, f"{ME} hello?")
            envelopes = [world.slack.envelope(event) for event in world.slack.events_of(message)]
            for socket, envelope in zip(cycle([0, 1]), envelopes * 2, strict=False):
                await world.slack.deliver(envelope, socket)
            await world.slack.settled()
            await world.answered()
        async with world.running():
            for envelope in envelopes:
                await world.slack.deliver(envelope, attempt=1)
            await world.slack.settled()
        answers = world.slack.state.answers(world.general)
    assert [answer.text for answer in answers] == ["Once."]
    assert len(world.store.turns) == 1


async def test_two_people_in_two_threads_and_in_one_are_answered_rightly_and_in_order() -> None:
    def answer(messages: Sequence[Message]) -> Answer:
        word = next(word for word in ("red", "green", "blue", "white") if f"colour {word}" in asked(messages))
        return typed(f"All about {word}. {prose(2_500)}")

    async with workspace(answer, FakeClock()) as world, world.running():
        one = await world.slack.say(world.ann, world.general, f"{ME} colour red?")
        two = await world.slack.say(world.bob, world.general, f"{ME} colour green?")
        await world.slack.say(world.ann, world.general, f"{ME} colour blue?", two.ts)
        await world.slack.say(world.bob, world.general, f"{ME} colour white?", two.ts)
        await world.answered(4)
        first, second = (world.slack.state.answers(world.general, root.ts) for root in (one, two))
    assert [page.text.split(".")[0] for page in first] == ["All about red"]
    assert [page.text.split(".")[0] for page in second] == ["All about green", "All about blue", "All about white"]
    assert_within_limits(world.slack)


async def test_many_replies_at_once_share_the_workspaces_edits_fairly_and_stay_within_its_limit() -> None:
    text = answer_of(6_000).strip()
    async with workspace(lambda _: typed(text, chars_per_s=100), FakeClock()) as world, world.running():
        roots = [await world.slack.say(world.ann, world.general, f"{ME} tell me {number}") for number in range(6)]
        await world.answered(6)
        threads = [world.slack.state.answers(world.general, root.ts) for root in roots]
    assert all(read(pages) == text for pages in threads)
    edits = [sum(page.edits for page in pages) for pages in threads]
    assert min(edits) >= 3
    assert max(edits) <= 3 * min(edits)
    assert_within_limits(world.slack)


def assert_within_limits(slack: FakeSlack) -> None:
    """On the fake's record: no minute with more edits than the tier, and nothing was refused."""
    times = [call.time for call in slack.state.called("chat.update")]
    assert max(sum(begin <= time < begin + 60 for time in times) for begin in times) <= PER_MINUTE["chat.update"]
    assert not slack.state.refused


@pytest.mark.parametrize("in_thread", [True, False])
async def test_a_page_that_was_posted_but_not_stored_before_a_crash_is_found_again(*, in_thread: bool) -> None:
    text = answer_of(2_000).strip()
    async with workspace(lambda _: typed(text)) as world:
        channel = world.general if in_thread else world.dm
        async with world.running():
            await world.slack.say(world.ann, channel, f"{ME} hello?")
            await world.slack.until(lambda: world.slack.state.answers(channel))
        world.store.lose_pages()
        await world.store.ledger.release_all()
        async with world.running():
            await world.answered()
        (page,) = world.slack.state.answers(channel)
    assert read([page]) == text


async def test_a_slow_shutdown_leaves_within_ten_seconds() -> None:
    async with workspace(lambda _: typed(answer_of(9_000))) as world:
        async with world.running():
            await world.slack.say(world.ann, world.general, f"{ME} hello?")
            await world.slack.until(lambda: world.slack.state.answers(world.general))
            before = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - before < 10
