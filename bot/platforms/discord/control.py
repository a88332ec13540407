"""`/stop`, `/model`, `/budget` and `/policy`: what is decided about answers.

Above: `client` owns the tree. Below: `inbound`, `place`, `bot.host.Host`.
"""

from collections.abc import Callable

import discord
from discord import app_commands

from agent.errors import CogencyError
from agent.records import Person
from bot import wording
from bot.host import Asker, Host
from bot.platforms.discord import reading
from bot.platforms.discord.inbound import budget_words, private_conversation
from bot.platforms.discord.place import known_as

MAX_CHOICES = 25
"""Discord's limit of what is offered while somebody types."""
MAX_CHOICE_CHARS = 100
"""Discord's limit of one such choice."""

Interaction = discord.Interaction[discord.Client]


class Control:
    """`add_to` makes the commands known to a command tree.

    `asked_last`: the conversation of the last `/ask` in a channel by a person: nothing else leads to it.
    """

    def __init__(self, host: Host, asked_last: Callable[[int, int], str | None]) -> None:
        self._host = host
        self._asked_last = asked_last

    def add_to(self, tree: app_commands.CommandTree[discord.Client]) -> None:
        @tree.command(name="stop", description="Stop the answer that is growing here")
        @app_commands.allowed_installs(guilds=True, users=True)
        @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
        async def stop(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            await self.stop(interaction)

        @tree.command(name="model", description="Show or choose the model that answers you")
        @app_commands.describe(name=f"The model; “{wording.USUAL}” goes back to the usual one")
        @app_commands.autocomplete(name=self.choices)
        @app_commands.allowed_installs(guilds=True, users=True)
        @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
        async def model(interaction: Interaction, name: str | None = None) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await self.model(interaction, name)

        @tree.command(name="budget", description="Show what you may spend today; operators see and change all budgets")
        @app_commands.describe(words="channel, everyone or @person; then $20, 5,000,000 tokens, exempt or reset")
        @app_commands.allowed_installs(guilds=True, users=True)
        @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
        async def budget(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await self.budget(interaction, words)

        @tree.command(name="policy", description="Show what holds for everybody here; managers set and remove it")
        @app_commands.describe(words="list, history, set NAME: WHAT HOLDS, or remove 3")
        @app_commands.allowed_installs(guilds=True, users=False)
        @app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
        async def policy(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await self.policy(interaction, words)

    async def stop(self, interaction: Interaction) -> None:
        """Stop what runs in this channel, and what the caller asked here by command."""
        await interaction.response.defer(ephemeral=True)
        channel, person = interaction.channel_id or interaction.id, interaction.user.id
        here = {known_as(channel), private_conversation(channel, person), self._asked_last(channel, person)}
        try:
            stopped = [await self._host.stop(conversation) for conversation in here if conversation]
            text = wording.STOPPED if any(stopped) else wording.NOTHING_RUNNING
        except CogencyError as error:
            text = wording.failure(error)
        await interaction.edit_original_response(content=text)

    async def model(self, interaction: Interaction, name: str | None) -> None:
        """Say, where only the caller sees it, what answers them; with a name, after changing to it."""
        await interaction.response.defer(ephemeral=True)
        person, roles = known_as(interaction.user.id), _roles(interaction)
        try:
            if name is not None:
                await self._host.choose_model(
                    person, wording.chosen_model(name), reading.channel_of(interaction), roles
                )
            menu = await self._host.models(person, reading.channel_of(interaction), roles)
            text = wording.model_text(menu.current, menu.why, menu.allowed, "/model NAME")
        except CogencyError as error:
            text = wording.failure(error)
        await interaction.edit_original_response(content=text)

    async def budget(self, interaction: Interaction, words: str) -> None:
        """Show or change a budget, where only the caller sees it."""
        await interaction.response.defer(ephemeral=True)
        person = known_as(interaction.user.id)
        try:
            text = await self._host.budget(person, reading.channel_of(interaction), budget_words(words))
        except CogencyError as error:
            text = wording.failure(error)
        await interaction.edit_original_response(content=text)

    async def policy(self, interaction: Interaction, words: str) -> None:
        """Show or change what holds for everybody in this channel, where only the caller sees it."""
        await interaction.response.defer(ephemeral=True)
        author = reading.author_of(interaction.user)
        place = reading.where(interaction.channel or interaction, author, direct=False).place
        person = Person(known_as(author.id), author.name)
        try:
            text = await self._host.policy(Asker(person, author.standing.authority, place), words)
        except CogencyError as error:
            text = wording.failure(error)
        await interaction.edit_original_response(content=text)

    async def choices(self, interaction: Interaction, typed: str) -> list[app_commands.Choice[str]]:
        """What may be chosen and contains what was typed so far."""
        try:
            menu = await self._host.models(
                known_as(interaction.user.id), reading.channel_of(interaction), _roles(interaction)
            )
        except CogencyError:
            return []
        names = [*menu.allowed, wording.USUAL] if menu.allowed else []
        fitting = [name for name in names if typed.casefold() in name.casefold() and len(name) <= MAX_CHOICE_CHARS]
        return [app_commands.Choice(name=name, value=name) for name in fitting[:MAX_CHOICES]]


def _roles(interaction: Interaction) -> frozenset[str]:
    return reading.standing_of(interaction.user).roles
