"""What every command, button and window of Discord has in common.

Above: `commands`, `control`, `memory`, `forgetting`, `pressing`, `refusals`. Below: discord.py, `bot.wording`.
"""

from collections.abc import Awaitable
from typing import Final, TypeVar

import discord
from discord import app_commands

from agent.errors import CogencyError
from bot import wording

Interaction = discord.Interaction[discord.Client]
Tree = app_commands.CommandTree[discord.Client]
T = TypeVar("T")

STORE_FIRST_S: Final = 1.5
"""How long an acknowledgement waits for a question to be stored: half of Discord's three seconds."""
LIVES_S: Final = 900.0
"""The library forgets buttons and windows after this; pressed later, they still work."""


def everywhere(command: T) -> T:
    """A command that its server or its person has installed, in channels and in every kind of direct message."""
    in_channels_and_messages = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    return app_commands.allowed_installs(guilds=True, users=True)(in_channels_and_messages(command))


async def answer_alone(interaction: Interaction, answering: Awaitable[str]) -> None:
    """Show what is to be said, or why there is nothing, where only the caller sees it."""
    await interaction.response.defer(ephemeral=True)
    try:
        text = await answering
    except CogencyError as error:
        text = wording.failure(error)
    await interaction.edit_original_response(content=text)
