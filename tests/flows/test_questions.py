"""What tools ask in mid-call, on each platform: real adapter, turns and store; the model is scripted."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agent.messages import ElicitAction, Elicited, Json
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts
from bot.tools.questions import ANSWER_TIME
from tests.fakes.asking_tool import NONE, PAGE, SAID, SMALL, AskingTool, books
from tests.flows.talks import Talk, talking
from tests.flows.worlds import WORLDS, AnyWorld, Page, Who, World, mainly_in_slack

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

ANSWER, DECLINE, LATER = reply_texts.ANSWER_BUTTON, tool_texts.DECLINE_BUTTON, tool_texts.LATER_BUTTON
NOT_THEN = "I look.\n\nThen not."


@dataclass
class Harbour:
    """A place in which a tool asks whoever has it called."""

    talk: Talk[World]
    tool: AskingTool
    question: Page = field(init=False)

    async def asked(self) -> Page:
        """The asker has had it called; return its question, as they alone are shown it."""
        world = self.talk.world
        self.question = await world.ask("book it")
        await world.until(lambda: ANSWER in world.answers(self.question)[0].buttons)
        before = len(world.private())
        await world.press(world.answers(self.question)[0], ANSWER)
        await world.until(lambda: any(SAID in page.text for page in world.private()[before:]))
        return world.private()[-1]

    def texts(self) -> list[str]:
        return [page.text for page in self.talk.world.answers(self.question)]

    async def is_over(self, panel: Page) -> None:
        """What is still shown answers nothing any more, and says so."""
        await self.talk.world.press(panel, DECLINE)
        await self.talk.told(tool_texts.QUESTION_OVER)


@asynccontextmanager
async def harbour(open_world: AnyWorld, schema: Json = SMALL, address: str | None = None) -> AsyncGenerator[Harbour]:
    tool = AskingTool(schema, address)
    async with talking(open_world, books, tools=[tool]) as talk:
        yield Harbour(talk, tool)


@mainly_in_slack
@pytest.mark.parametrize(("label", "action"), [(DECLINE, ElicitAction.DECLINE), (LATER, ElicitAction.CANCEL)])
async def test_it_is_declined_or_put_off_by_a_button(open_world: AnyWorld, label: str, action: ElicitAction) -> None:
    async with harbour(open_world) as here:
        panel = await here.asked()
        assert panel.buttons == [ANSWER, DECLINE, LATER]
        await here.talk.world.press(panel, label)
        await here.talk.ended(1)
        assert here.texts() == [NOT_THEN]
    assert here.tool.answers == [Elicited(action)]


@mainly_in_slack
async def test_a_question_without_fields_is_answered_by_yes_or_no(open_world: AnyWorld) -> None:
    async with harbour(open_world, NONE) as here:
        panel = await here.asked()
        assert panel.buttons == [tool_texts.YES_BUTTON, tool_texts.NO_BUTTON, LATER]
        await here.talk.world.press(panel, tool_texts.YES_BUTTON)
        await here.talk.ended(1)
        assert here.texts() == ["I look.\n\nIt is booked."]
    assert here.tool.answers == [Elicited(ElicitAction.ACCEPT)]


async def test_an_address_is_shown_whole_with_its_host_and_agreed_to(open_world: AnyWorld) -> None:
    async with harbour(open_world, address=PAGE) as here:
        panel = await here.asked()
        assert f"```\n{PAGE}\n```" in panel.text.replace("\\n", "\n"), "it is no link"
        assert "**boats.example.com**" in panel.text
        assert panel.buttons == [tool_texts.OPENED_BUTTON, DECLINE, LATER]
        await here.talk.world.press(panel, tool_texts.OPENED_BUTTON)
        await here.talk.ended(1)
    assert here.tool.answers == [Elicited(ElicitAction.ACCEPT)]


async def test_what_somebody_else_was_shown_answers_nothing_and_a_second_press_says_so(open_world: AnyWorld) -> None:
    async with harbour(open_world) as here:
        panel = await here.asked()
        again = panel.copy()
        await here.talk.world.press(panel, DECLINE, Who.OTHER)
        await here.talk.told(reply_texts.NOT_YOURS)
        assert not here.tool.answers
        await here.talk.world.press(panel, DECLINE)
        await here.talk.ended(1)
        await here.is_over(again)
    assert here.tool.answers == [Elicited(ElicitAction.DECLINE)]


async def test_the_command_shows_it_once_more_to_its_asker_alone(open_world: AnyWorld) -> None:
    async with harbour(open_world) as here:
        await here.asked()
        world = here.talk.world
        for who in (Who.OTHER, Who.ASKER):
            before = len(world.private())
            await world.command("tools", who=who)
            await world.until(lambda before=before: world.private()[before].text)
            assert (SAID in world.private()[-1].text) is (who is Who.ASKER)
        await world.press(world.private()[-1], DECLINE)
        await here.talk.ended(1)
    assert here.tool.answers == [Elicited(ElicitAction.DECLINE)]


@mainly_in_slack
async def test_nine_minutes_later_the_answer_goes_on_without_it(open_world: AnyWorld) -> None:
    async with harbour(open_world) as here:
        panel = await here.asked()
        here.talk.world.clock.ahead_s += ANSWER_TIME.total_seconds()
        await here.talk.ended(1)
        assert here.texts() == [NOT_THEN]
        await here.is_over(panel)
    assert here.tool.answers == [Elicited(ElicitAction.CANCEL)]


async def stop_it(here: Harbour) -> None:
    await here.talk.world.ask("stop", here.question)


async def delete_it(here: Harbour) -> None:
    await here.talk.world.delete(here.question)


async def edit_it(here: Harbour) -> None:
    await here.talk.world.edit(here.question, "sell it")


async def forget_it(here: Harbour) -> None:
    world = here.talk.world
    await world.forget("everything")
    await world.until(lambda: "Forget" in world.private()[-1].buttons)
    await world.agree(world.private()[-1], "Forget")


@pytest.mark.parametrize("end", [stop_it, delete_it, edit_it, forget_it])
async def test_stop_deletion_edit_and_forgetting_end_it(
    open_world: AnyWorld, end: Callable[[Harbour], Awaitable[None]]
) -> None:
    async with harbour(open_world) as here:
        panel = await here.asked()
        await end(here)
        await here.talk.world.until(lambda: here.tool.cancelled)
        if end is not edit_it:  # which is asked anew
            await here.talk.world.until(lambda: all(turn.state == "done" for turn in here.talk.store.turns))
        await here.is_over(panel)
    assert here.tool.answers == []
