"""What every command, button and window of Discord has in common.

Above: `commands`, `control`, `memory`, `forgetting`, `menus`, `preferences`, `pressing`, `refusals`. Below: `panels`,
discord.py, `bot.wording`.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, TypeVar, cast

import discord
from discord import app_commands

from agent.errors import CogencyError
from bot import wording
from bot.platforms.discord.commands import panels

Interaction = discord.Interaction[discord.Client]
Tree = app_commands.CommandTree[discord.Client]
Choice = app_commands.Choice[str]
T = TypeVar("T")

STORE_FIRST_S: Final = 1.5
"""How long an acknowledgement waits for a question to be stored: half of Discord's three seconds."""
MAX_CHOICES: Final = 25
"""Discord's limit of what is offered while somebody types."""
MAX_CHOICE_CHARS: Final = 100
"""Discord's limit of one such choice."""


def everywhere(command: T) -> T:
    """A command that its server or its person has installed, in channels and in every kind of direct message."""
    in_channels_and_messages = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    return app_commands.allowed_installs(guilds=True, users=True)(in_channels_and_messages(command))


def in_direct_messages(command: T) -> T:
    """The same in direct messages with the bot only."""
    only_there = app_commands.allowed_contexts(guilds=False, dms=True, private_channels=False)
    return app_commands.allowed_installs(guilds=True, users=True)(only_there(command))


def in_servers(command: T) -> T:
    """A command of a server that has installed the bot."""
    only_there = app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
    return app_commands.allowed_installs(guilds=True, users=False)(only_there(command))


def offered(names: Collection[str], typed: str) -> list[Choice]:
    """Those that contain what was typed so far, as choices for somebody who types."""
    fitting = [name for name in names if typed.casefold() in name.casefold() and len(name) <= MAX_CHOICE_CHARS]
    return [app_commands.Choice(name=name, value=name) for name in fitting[:MAX_CHOICES]]


def installed_by_person(interaction: Interaction) -> bool:
    """Whether only the caller has installed the bot: then it may follow up on few messages, and write nowhere else."""
    return interaction.is_user_integration() and not interaction.is_guild_integration()


def typed_text(interaction: Interaction) -> str:
    """What was typed into the only field of a window that was sent."""
    data = cast("Mapping[str, Any]", interaction.data or {})
    rows = cast("list[Mapping[str, Any]]", data.get("components", []))
    fields = (field for row in rows for field in row.get("components", [row.get("component", {})]))
    return next((str(field["value"]) for field in fields if "value" in field), "")


async def answer_alone(interaction: Interaction, answering: Callable[[], Awaitable[str]]) -> None:
    """Show what is to be said, or why there is nothing, where only the caller sees it."""
    await interaction.response.defer(ephemeral=True)
    try:
        text = await answering()
    except CogencyError as error:
        text = wording.failure(error)
    await panels.say(interaction, text)
