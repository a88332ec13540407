"""The names of servers and channels, as Discord says them without a gateway."""

import pytest

from bot.platforms.discord.doctor import channel_names
from bot.platforms.discord.run import DiscordUnreachable
from tests.fakes.discord_bot import settings
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import GENERAL, GUILD
from tests.fakes.fast_clock import FastClock


async def test_channels_are_named_with_their_server() -> None:
    async with running_discord(FastClock(speed=1.0)) as fake:
        names = await channel_names(settings(fake))
        gone = settings(fake)
    assert names[str(GENERAL)] == f"#general ({names[str(GUILD)]})"
    with pytest.raises(DiscordUnreachable):
        await channel_names(gone)
