"""What tools ask in mid-call, as only Slack shows it; what is the same on each platform is in `test_questions`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from agent.messages import ElicitAction, Elicited, Json
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts
from tests.fakes.asking_tool import BOAT, SAID, AskingTool, books
from tests.fakes.fast_clock import MovedClock
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_home import fill_in
from tests.fakes.slack_things import FakeEphemeral, FakeMessage
from tests.flows.test_slack_replies import ME, World, workspace

ANSWER, DECLINE, LATER = reply_texts.ANSWER_BUTTON, tool_texts.DECLINE_BUTTON, tool_texts.LATER_BUTTON


class Harbour:
    """A workspace in which a tool asks whoever has it called."""

    def __init__(self, world: World, tool: AskingTool, clock: MovedClock) -> None:
        self.world, self.tool, self.clock = world, tool, clock
        self.ann, self.bob, self.general, self.slack = world.ann, world.bob, world.general, world.slack

    async def asked(self, channel: str = "", text: str = "book it") -> FakeEphemeral:
        """The question, as its asker alone is shown it."""
        before = len(self.slack.state.ephemerals)
        self.question = await self.slack.say(self.ann, channel or self.general, f"{ME} {text}")
        await self.slack.until(lambda: len(self.slack.state.ephemerals) > before)
        return self.slack.state.ephemerals[-1]

    async def window(self, shown: FakeEphemeral, label: str = ANSWER) -> dict[str, Any]:
        before = len(self.slack.state.views)
        await self.slack.click(self.ann, shown, label)
        await self.slack.until(lambda: len(self.slack.state.views) > before)
        return self.slack.state.views[-1]

    async def told(self, sentence: str) -> None:
        await self.slack.until(lambda: any(sentence in one.text for one in self.slack.state.ephemerals))

    def pages(self) -> list[str]:
        return [one.text for one in self.slack.state.answers(self.general)]


@asynccontextmanager
async def harbour(schema: Json = None) -> AsyncGenerator[Harbour, None]:
    clock, tool = MovedClock(), AskingTool()
    tool.schema_asked = schema or tool.schema_asked
    async with workspace(books, clock, tools=[tool]) as world, world.running():
        yield Harbour(world, tool, clock)


async def test_its_asker_alone_is_asked_and_answers_in_a_window() -> None:
    async with harbour(BOAT) as here:
        shown = await here.asked()
        assert (shown.user, shown.channel) == (here.ann, here.general)
        assert labels(shown.blocks, here.ann) == [ANSWER, DECLINE, LATER]
        for told in (
            "**`harbour` has a question for you**",
            "“book it”",
            SAID,
            "of the hull",
            tool_texts.NO_SECRETS[:20],
        ):
            assert told in str(shown.blocks[0])
        window = await here.window(shown)
        assert window["title"]["text"] == "For harbour"
        kinds = [block["element"]["type"] for block in window["blocks"]]
        assert kinds == [
            "plain_text_input",
            "static_select",
            "plain_text_input",
            "multi_static_select",
            "static_select",
            "plain_text_input",
        ]
        wrong = await fill_in(here.slack, here.ann, window, **{"0": "a name of far too many letters", "2": "ten"})
        assert wrong["errors"] == {
            "0": tool_texts.TEXT_TOO_LONG.format(most="20 characters"),
            "2": tool_texts.NOT_AN_INTEGER,
        }
        assert not here.tool.answers
        right = {"0": "Mary *Ann*", "1": "1", "3": "0 2", "4": "1", "5": "2026-12-01"}
        assert await fill_in(here.slack, here.ann, window, **right) == {}
        await here.world.answered()
        assert here.pages() == ["I look.\n\nIt is booked."]
        await here.told("Your answer goes only to `harbour`")
        assert r"Mary \*Ann\*" in here.slack.state.ephemerals[0].text
    values: dict[str, Json] = {
        "name": "Mary *Ann*",
        "colour": "red",
        "seats": 4,
        "extras": ["oars", "anchor"],
        "mast": False,
    }
    assert here.tool.answers == [Elicited(ElicitAction.ACCEPT, {**values, "launch": "2026-12-01"})]


async def test_nobody_else_reads_the_question_or_the_answer_and_the_store_keeps_neither() -> None:
    async with harbour() as here:
        window = await here.window(await here.asked())
        await fill_in(here.slack, here.ann, window, **{"0": "halibut"})
        await here.world.answered()
        await here.slack.until(lambda: len(here.tool.answers) == 1)
        public = str(
            [
                call.args
                for call in here.slack.state.calls
                if "Ephemeral" not in call.method and "views" not in call.method
            ]
        )
        assert "swordfish" not in public
        assert "halibut" not in public
        files = here.world.store.database.files
        assert files is not None
        assert not await files.find(frozenset({b"swordfish"}))


async def test_a_window_that_is_sent_after_the_question_was_declined_answers_nothing() -> None:
    async with harbour() as here:
        shown = await here.asked()
        window = await here.window(shown)
        await here.slack.click(here.ann, shown, DECLINE)
        await here.world.answered()
        await fill_in(here.slack, here.ann, window, **{"0": "too late"})
        await here.told(tool_texts.QUESTION_OVER)
    assert here.tool.answers == [Elicited(ElicitAction.DECLINE)]


async def test_while_it_waits_its_place_among_the_running_turns_is_anothers() -> None:
    async with harbour() as here:
        waiting = [await here.asked(text=f"book boat {number}") for number in range(3)]
        refused = await here.slack.say(here.ann, here.general, f"{ME} book a fourth one")
        await here.slack.until(
            lambda: any(one.thread_ts == refused.ts and "Then not." in one.text for one in answers(here))
        )
        for shown in waiting:
            await here.slack.click(here.ann, shown, DECLINE)
        await here.world.answered(4)
    assert [one.action for one in here.tool.answers] == ["cancel", "decline", "decline", "decline"]


def answers(here: Harbour) -> list[FakeMessage]:
    return here.slack.state.answers(here.general)
