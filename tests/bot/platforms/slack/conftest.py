from collections.abc import AsyncGenerator

import pytest

from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack


@pytest.fixture
async def slack() -> AsyncGenerator[FakeSlack, None]:
    """A workspace with ann and bob, a public channel, a private one, and ann's DM with the bot."""
    async with FakeSlack(FastClock()) as fake:
        fake.state.user("ann")
        fake.state.user("bob")
        fake.state.channel("general")
        fake.state.channel("secret", "private")
        fake.state.channel("ann", "im")
        yield fake
