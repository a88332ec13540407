from collections.abc import AsyncGenerator

import pytest
from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from bot.platforms.slack.api import SlackApi
from tests.fakes.fast_clock import SPEED, FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_TOKEN


@pytest.fixture
async def slack(request: pytest.FixtureRequest) -> AsyncGenerator[FakeSlack, None]:
    """A workspace with ann and bob, a public channel, a private one, and ann's DM with the bot.

    Its parameter, if a test gives one, is how much faster time passes there.
    """
    async with FakeSlack(FastClock(speed=getattr(request, "param", SPEED))) as fake:
        fake.state.user("ann")
        fake.state.user("bob")
        fake.state.channel("general")
        fake.state.channel("secret", "private")
        fake.state.channel("ann", "im")
        yield fake


@pytest.fixture
async def api(slack: FakeSlack) -> AsyncGenerator[SlackApi, None]:
    """The Web API of that workspace."""
    async with ClientSession() as session:
        web = AsyncWebClient(token=BOT_TOKEN, base_url=slack.url, session=session, retry_handlers=[])
        web.proxy = None
        yield SlackApi(web, session)
