"""A chart in Slack: drawn by Slack itself where it knows charts, else a picture; both go with the reply."""

import json
from collections.abc import Sequence

import pytest

from agent.messages import Json
from bot.platforms import texts as platforms_texts
from bot.python.chart_data import alt_text, chart_of
from tests.bot.python.test_chart_data import SALES, changed
from tests.bot.python.test_chart_tool import Drawing
from tests.bot.python.test_result_files import png
from tests.fakes.slack_things import FakeMessage
from tests.flows.talks import Talk, talking
from tests.flows.worlds import SLACK_GENERAL, SlackWorld, in_slack

pytestmark = pytest.mark.slow

DRAWN = changed(series={"North": [3, 4.5], "South": [1, 2]})
HERE = "Here it is."


def call(**args: Json) -> str:
    return f"<execute>{json.dumps([{'name': 'chart', 'args': args}])}\n</execute>"


def charts(talk: Talk[SlackWorld]) -> Sequence[FakeMessage]:
    return [
        message
        for message in talk.world.slack.state.messages
        if message.channel == SLACK_GENERAL and any(block["type"] == "data_visualization" for block in message.blocks)
    ]


async def test_a_chart_that_slack_can_draw_is_no_picture_and_goes_with_its_reply() -> None:
    async with talking(in_slack, [call(**DRAWN), HERE], code=Drawing()) as talk:
        question = await talk.world.ask("draw it")
        await talk.ended(1)
        (message,) = charts(talk)
        assert message.thread_ts == question.id
        assert message.text == alt_text(chart_of(DRAWN))
        assert talk.world.handed_over(question) == []
        answer = next(page for page in talk.world.answers(question) if page.text.startswith(HERE))
        await talk.world.press(answer, platforms_texts.DELETE_BUTTON)
        await talk.world.until(lambda: not charts(talk))


async def test_a_chart_beyond_slacks_limits_is_a_picture() -> None:
    async with talking(in_slack, [call(**SALES), HERE], code=Drawing()) as talk:
        question = await talk.world.ask("draw it")
        await talk.ended(1)
        assert charts(talk) == []
        assert talk.world.handed_over(question) == [("Sales.png", png(80, 48))]


async def test_where_slack_knows_no_charts_they_are_pictures_from_then_on() -> None:
    async with talking(in_slack, [call(**DRAWN), HERE, call(**DRAWN), HERE], code=Drawing()) as talk:
        state = talk.world.slack.state
        state.knows_charts = False
        for turn in (1, 2):
            question = await talk.world.ask("draw it")
            await talk.ended(turn)
            assert talk.world.handed_over(question) == [("Sales.png", png(80, 48))]
            assert talk.world.described() == {"Sales.png": alt_text(chart_of(DRAWN))}
            state.knows_charts = True  # it is not tried again
