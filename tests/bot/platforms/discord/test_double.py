"""The double of Discord names a request that it does not know at once, in place of a wait that never ends."""

import aiohttp
import pytest

from tests.fakes.discord_bot import WINDOW_S
from tests.fakes.discord_gateway import running_discord
from tests.fakes.fast_clock import FastClock


async def test_a_request_that_the_double_does_not_know_ends_a_wait_with_its_name() -> None:
    async with running_discord(FastClock(), window_s=WINDOW_S) as fake, aiohttp.ClientSession() as http:
        async with http.put(f"{fake.api_base_url}/channels/1/pins/2"):
            pass
        with pytest.raises(AssertionError, match=r"PUT /channels/1/pins/2.*KEPT of tests/fakes/discord_spec.py"):
            await fake.until(lambda: False)
        fake.rest.violations.clear()
