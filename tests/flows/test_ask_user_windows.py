"""An answer in words to a question of the model: the window of each platform, which is opened from what only the asker
is shown.
"""

from bot.tools import texts as tool_texts
from tests.fakes.discord_world import BO
from tests.fakes.slack_home import fill_in
from tests.flows.test_ask_user import QUESTION, Asking, deploys
from tests.flows.worlds import DiscordPage, DiscordWorld, SlackWorld, in_slack, on_discord
from tests.patience import until

ANSWER, OTHER = "to the *moon*", tool_texts.REPLY_BUTTON
WHOLE = f"{QUESTION}\n\nDeployed: > {ANSWER}."


async def test_in_slack_an_answer_is_written_into_a_window() -> None:
    async with in_slack() as world:
        assert isinstance(world, SlackWorld)
        here, state = Asking(world, deploys), world.slack.state
        async with here.running():
            _, page = await here.asked()
            await until(lambda: state.ephemerals)
            shown = state.ephemerals[0]
            await world.slack.click(shown.user, shown, OTHER)
            await until(lambda: state.views)
            assert await fill_in(world.slack, shown.user, state.views[-1], text=ANSWER) == {}
            await here.ended()
            await until(lambda: page.text == WHOLE)


async def test_on_discord_an_answer_is_written_into_a_window() -> None:
    async with on_discord() as world:
        assert isinstance(world, DiscordWorld)
        here = Asking(world, deploys)
        async with here.running():
            _, page = await here.asked()
            panel = await here.panel(page)
            assert isinstance(panel, DiscordPage)
            shown = panel.message
            pressed = await world.fake.press(BO, shown, OTHER)
            await until(lambda: pressed.window)
            await world.fake.fill_in(BO, pressed.window, shown, text=ANSWER)
            await here.ended()
            await until(lambda: page.text == WHOLE)
