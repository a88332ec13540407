"""How an answer was computed: buttons below it show its code, and the numbers of its charts, to its readers alone."""

import json

import pytest

from agent.messages import Json
from bot.chat.jobs import JobWorker
from bot.chat.texts import replies as reply_texts
from bot.forgetting.retention import SWEEP_AFTER, Retention
from bot.platforms import texts as platforms_texts
from bot.python import texts
from bot.python.chart_data import alt_text, chart_of
from tests.bot.python.test_chart_data import SALES
from tests.bot.python.test_chart_tool import Drawing
from tests.bot.python.test_result_files import png
from tests.fakes.cpython_engine import CPythonEngine
from tests.flows.forgetting_bot import OFTEN
from tests.flows.talks import talking
from tests.flows.test_saved_files import PayTool
from tests.flows.worlds import WORLDS, AnyWorld, Who, mainly_in_slack, mainly_on_discord
from tests.patience import LOOK_S, until

pytestmark = [pytest.mark.parametrize("open_world", WORLDS), pytest.mark.slow]

SCRIPT = "x = 6\nprint(x * 7)"


def call(name: str, **args: Json) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}\n</execute>"


async def test_each_reader_can_see_the_code_of_an_answer_alone(open_world: AnyWorld) -> None:
    async with talking(open_world, [call("python", code=SCRIPT), "It is 42."], code=CPythonEngine()) as talk:
        answer = await talk.asked("what is it?")
        assert texts.COMPUTED in answer.text
        for times, who in enumerate((Who.ASKER, Who.OTHER), 1):
            await talk.world.press(answer, reply_texts.CODE_BUTTON, who)
            await talk.world.until(lambda: sum(SCRIPT in page.text for page in talk.world.private()) >= times)  # noqa: B023 -- awaited at once
        assert SCRIPT not in "".join(talk.texts())


@pytest.mark.parametrize(
    ("tool", "button"), [("python", reply_texts.CODE_BUTTON), ("chart", reply_texts.NUMBERS_BUTTON)]
)
async def test_code_and_numbers_that_may_hold_what_only_the_asker_may_read_are_for_them_alone(
    open_world: AnyWorld, tool: str, button: str
) -> None:
    made = call("python", code="pay = 1000000\nprint(pay > 9)") if tool == "python" else call("chart", **SALES)
    engine = CPythonEngine() if tool == "python" else Drawing()
    async with talking(open_world, [call("pay"), made, "It is enough."], [PayTool()], code=engine) as talk:
        answer = await talk.asked("is it enough?")
        await talk.world.press(answer, button, Who.OTHER)
        await talk.told(texts.CODE_OF_ASKER)
        assert not any("1000000" in page.text for page in talk.world.private())
        await talk.world.press(answer, button)
        await talk.world.until(lambda: any("1000000" in page.text for page in talk.world.private()))


@mainly_in_slack
async def test_an_answer_without_code_has_no_such_button(open_world: AnyWorld) -> None:
    async with talking(open_world, ["It is 42."], code=CPythonEngine()) as talk:
        answer = await talk.asked("what is it?")
        assert reply_texts.CODE_BUTTON not in answer.buttons
        assert texts.COMPUTED not in answer.text


@mainly_on_discord
async def test_a_chart_comes_with_its_picture_and_its_numbers(open_world: AnyWorld) -> None:
    async with talking(open_world, [call("chart", **SALES), "Here it is."], code=Drawing()) as talk:
        question = await talk.world.ask("draw it")
        await talk.ended(1)
        assert talk.world.handed_over(question) == [("Sales.png", png(80, 48))]
        assert talk.world.described() == {"Sales.png": alt_text(chart_of(SALES))}
        (answer,) = talk.world.answers()
        await talk.world.press(answer, reply_texts.NUMBERS_BUTTON, Who.OTHER)
        await talk.world.until(lambda: any("1000000" in page.text for page in talk.world.private()))


async def test_the_code_is_forgotten_with_the_answer(open_world: AnyWorld) -> None:
    async with talking(open_world, [call("python", code=SCRIPT), "It is 42."], code=CPythonEngine()) as talk:
        question = await talk.world.ask("what is it?")
        await talk.ended(1)
        (answer,) = talk.world.answers(question)
        clock, store = talk.world.clock, talk.store
        assert len(await store.replies.calls(1, ["python"])) == 1
        erasing = Retention(store.forgetting, store.jobs, clock, {}).handlers
        async with JobWorker(store.jobs, erasing, clock, "eraser", OFTEN).serving():
            await talk.world.delete(question)

            def is_erased() -> bool:
                clock.leap(SWEEP_AFTER)
                return not store.messages

            await until(is_erased, look_s=LOOK_S)
        assert await store.replies.calls(1, ["python"]) == []
        await talk.world.press(answer, reply_texts.CODE_BUTTON, Who.OTHER)
        await talk.told(platforms_texts.NO_SUCH_REPLY)
