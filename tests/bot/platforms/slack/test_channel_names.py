"""The names of the channels that the bot is in, as Slack lists them."""

from agent.machine import CLOCK
from bot.platforms.slack.channel_names import names_at
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import app_of, settings
from tests.fakes.slack_faults import Fault


async def test_public_and_private_channels_of_the_bot_are_named_as_people_see_them() -> None:
    async with FakeSlack(FastClock(CLOCK.now(), speed=1)) as slack:
        general, plans = slack.state.channel("general"), slack.state.channel("plans", "private")
        slack.state.channel("elsewhere", bot=False)
        assert await names_at(app_of(slack), settings(slack)) == {general: "#general", plans: "#plans"}


async def test_without_the_scope_for_private_channels_the_public_ones_are_named() -> None:
    async with FakeSlack(FastClock(CLOCK.now(), speed=1)) as slack:
        general = slack.state.channel("general")
        slack.state.channel("plans", "private")
        slack.faults["users.conversations"].append(Fault(error="missing_scope"))
        assert await names_at(app_of(slack), settings(slack)) == {general: "#general"}
