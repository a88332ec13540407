"""`/stop`, `/model`, `/budget` and `/policy`: what is decided about answers.

Above: `client` owns the tree. Below: `inbound`, `interactions`, `place`, `bot.host.Host`.
"""

from collections.abc import Callable

from discord import app_commands

from agent.errors import CogencyError
from agent.records import Person
from bot import wording
from bot.host import Asker, Host
from bot.platforms.discord import reading
from bot.platforms.discord.inbound import budget_ids, private_conversation
from bot.platforms.discord.interactions import Interaction, Tree, answer_alone, everywhere
from bot.platforms.discord.place import known_as

MAX_CHOICES = 25
"""Discord's limit of what is offered while somebody types."""
MAX_CHOICE_CHARS = 100
"""Discord's limit of one such choice."""


class Control:
    """`add_to` makes the commands known to a command tree.

    `asked_last`: the conversation of the last `/ask` in a channel by a person: nothing else leads to it.
    """

    def __init__(self, host: Host, asked_last: Callable[[int, int], str | None]) -> None:
        self._host = host
        self._asked_last = asked_last

    def add_to(self, tree: Tree) -> None:
        @tree.command(name="stop", description="Stop the answer that is growing here")
        @everywhere
        async def stop(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            await answer_alone(interaction, self._stop(interaction))

        @tree.command(name="model", description="Show or choose the model that answers you")
        @app_commands.describe(name=f"The model; “{wording.USUAL}” goes back to the usual one")
        @app_commands.autocomplete(name=self.choices)
        @everywhere
        async def model(interaction: Interaction, name: str | None = None) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, self._model(interaction, name))

        @tree.command(name="budget", description="Show what you may spend today; operators see and change all budgets")
        @app_commands.describe(words="channel, everyone or @person; then $20, 5,000,000 tokens, exempt or reset")
        @everywhere
        async def budget(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, self._budget(interaction, words))

        @tree.command(name="policy", description="Show what holds for everybody here; managers set and remove it")
        @app_commands.describe(words="list, history, set NAME: WHAT HOLDS, or remove 3")
        @app_commands.allowed_installs(guilds=True, users=False)
        @app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
        async def policy(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, self._policy(interaction, words))

    async def _stop(self, interaction: Interaction) -> str:
        """Stop what runs in this channel, and what the caller asked here by command."""
        channel, person = interaction.channel_id or interaction.id, interaction.user.id
        here = {known_as(channel), private_conversation(channel, person), self._asked_last(channel, person)}
        stopped = [await self._host.stop(conversation) for conversation in here if conversation]
        return wording.STOPPED if any(stopped) else wording.NOTHING_RUNNING

    async def _model(self, interaction: Interaction, name: str | None) -> str:
        """Which model answers; with a name, after changing to it."""
        person, channel, roles = known_as(interaction.user.id), reading.channel_of(interaction), _roles(interaction)
        if name is not None:
            await self._host.choose_model(person, wording.chosen_model(name), channel, roles)
        menu = await self._host.models(person, channel, roles)
        return wording.model_text(menu.current, menu.why, menu.allowed, "/model NAME")

    async def _budget(self, interaction: Interaction, words: str) -> str:
        person = known_as(interaction.user.id)
        return await self._host.budget(person, reading.channel_of(interaction), budget_ids(words))

    async def _policy(self, interaction: Interaction, words: str) -> str:
        author = reading.author_of(interaction.user)
        place = reading.where(interaction.channel or interaction, author, direct=False).place
        person = Person(known_as(author.id), author.name)
        return await self._host.policy(Asker(person, author.standing.authority, place), words)

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
