"""The commands of the bot, its buttons and its windows, put together: what goes into the tree, and who takes what.

Above: `client`. Below: `commands`, `control`, `forgetting`, `memory`, `menus`, `preferences`, `buttons`, `pressing`,
`syncing`, `translations`.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import discord
from discord import app_commands

from bot.host import Host
from bot.latest import Latest
from bot.platforms.discord.commands import forgetting, memory, menus, panels, preferences
from bot.platforms.discord.commands.asking import Commands
from bot.platforms.discord.commands.control import Control
from bot.platforms.discord.commands.interactions import Interaction, Tree
from bot.platforms.discord.commands.menus import Menus
from bot.platforms.discord.commands.preferences import Preferences
from bot.platforms.discord.commands.syncing import sync
from bot.platforms.discord.commands.translations import Translator
from bot.platforms.discord.members.members import Members
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.servers import refusal
from bot.platforms.discord.reading.conversations import Conversations
from bot.platforms.discord.reading.surroundings import Surroundings
from bot.platforms.discord.replies import buttons
from bot.platforms.discord.replies.connection import Connection
from bot.platforms.discord.replies.pressing import Pressing

log = logging.getLogger(__name__)

CHANGED = "This command has changed meanwhile: please write it once more in a minute."
"""Discord's clients keep what they know of commands for a while."""
PRESSED = (discord.InteractionType.component, discord.InteractionType.modal_submit)


class CommandTree(app_commands.CommandTree[discord.Client]):
    """Discord's commands, each of which `admits` is asked about before it is carried out."""

    admits: Callable[[Interaction], Awaitable[bool]]

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        return await self.admits(interaction)


class Desk:
    def __init__(
        self,
        tree: Tree,
        host: Host,
        connection: Connection,
        surroundings: Surroundings,
        members: Members,
        conversations: Conversations,
        said_last: Latest,
    ) -> None:
        self._tree = tree
        self._host = host
        self._connection = connection
        self._members = members
        self._pressing = Pressing(host, connection, members, surroundings, said_last)
        commands = Commands(host, connection, surroundings, members, conversations)
        self._preferences = Preferences(host, members)
        self._menus = Menus(host, commands)
        commands.add_to(tree)
        forgetting.add_to(tree, host)
        memory.add_to(tree, host, members)
        Control(host, members, commands.asked_last).add_to(tree)
        self._preferences.add_to(tree)
        self._menus.add_to(tree)
        tree.error(self._failed)

    async def tell(self, client: discord.Client) -> None:
        """Tell Discord of the commands, if they have changed. Everything else works without them."""
        await self._tree.set_translator(Translator())
        try:
            await sync(client, self._tree)
        except UNREADABLE as error:
            self._connection.complain("the slash commands were not taken; everything else works", error)

    async def admits(self, interaction: Interaction) -> bool:
        """Whether something that was used is carried out; in a server that is not served its user learns why not."""
        if not self._members.servers.refuses_use(interaction):
            return True
        with suppress(*UNREADABLE):
            if interaction.type is discord.InteractionType.autocomplete:
                await interaction.response.autocomplete([])
            else:
                await panels.refuse(interaction, refusal(interaction.guild_id or 0))
        return False

    async def _failed(self, interaction: Interaction, error: app_commands.AppCommandError) -> None:
        """A command could not be carried out. What concerns the caller has been told to them where it went wrong."""
        cause: Exception = error.original if isinstance(error, app_commands.CommandInvokeError) else error
        if isinstance(error, app_commands.CommandNotFound | app_commands.CommandSignatureMismatch):
            with suppress(*UNREADABLE):
                await panels.refuse(interaction, CHANGED)
        elif isinstance(cause, UNREADABLE):
            self._connection.complain("a command could not be answered", cause)
        else:
            log.error("a command failed", exc_info=cause)

    async def take(self, interaction: Interaction) -> None:
        """Slash commands and entries of menus are the tree's; here the buttons, choices and windows come in."""
        if interaction.type not in PRESSED or not isinstance(interaction.data, dict):
            return
        try:
            if not await self.admits(interaction):
                return
            await self._pressed(interaction, str(interaction.data.get("custom_id", "")))
        except UNREADABLE as error:
            self._connection.complain("a button or a window could not be answered", error)

    async def _pressed(self, interaction: Interaction, said: str) -> None:
        if (made := forgetting.decision(said)) is not None:
            await forgetting.decide(interaction, made, self._host, self._connection)
        elif (decided := memory.pressed(said)) is not None:
            await memory.press(interaction, decided, self._host, self._members)
        elif (changed := preferences.pressed(said)) is not None:
            await self._preferences.press(interaction, changed)
        elif (about := menus.sent(said)) is not None:
            await self._menus.ask(interaction, about)
        elif (below := buttons.pressed(said)) is not None:
            await self._pressing.press(interaction, below)
