"""`/stop`, `/new`, `/model`, `/budget`, `/usage`, `/policy` and `/help`: what is decided about answers, and shown.

Above: `desk` puts it into the tree. Below: `callers`, `inbound`, `interactions`, `panels`, `place`, `translations`,
`bot.host.Host`; `bot.spending_text`.
"""

from collections.abc import Callable

import discord
from discord import app_commands

from agent.errors import CogencyError
from bot import wording
from bot.access.lists import Who
from bot.host import Host
from bot.platforms.discord.commands import callers
from bot.platforms.discord.commands.interactions import (
    Choice,
    Interaction,
    Tree,
    answer_alone,
    everywhere,
    in_direct_messages,
    in_servers,
    offered,
)
from bot.platforms.discord.commands.translations import translated
from bot.platforms.discord.members.members import Members
from bot.platforms.discord.members.place import known_as
from bot.platforms.discord.reading import reading
from bot.platforms.discord.reading.inbound import budget_ids, private_conversation
from bot.spending_text import account_text

BUDGET_WORDS = ("channel", "everyone")
POLICY_WORDS = ("list", "history", "set NAME: WHAT HOLDS", "remove 1")
"""Offered while somebody types; what is in capitals they replace."""
BEGUN = "What you write next begins a new conversation. What I remember about you stays."
HOW = (
    "Mention me in a channel, or write to me directly; below my answers are buttons, and a 👍, 👎 or 🗑 as a "
    "reaction does the same. “Ask about this” and “Forget this” stand in the menu of every message, under Apps."
)


class Control:
    """`add_to` makes the commands known to a command tree.

    `asked_last`: the conversation of the last `/ask` in a channel by a person: nothing else leads to it.
    """

    def __init__(self, host: Host, members: Members, asked_last: Callable[[int, int], str | None]) -> None:
        self._host = host
        self._members = members
        self._asked_last = asked_last

    def add_to(self, tree: Tree) -> None:
        @tree.command(name="stop", description="Stop the answer that is growing here")
        @everywhere
        async def stop(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            await answer_alone(interaction, lambda: self._stop(interaction))

        @tree.command(name="new", description="Begin a new conversation here")
        @in_direct_messages
        async def new(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, lambda: self._begin(interaction))

        @tree.command(name="model", description="Show or choose the model that answers you")
        @app_commands.describe(name=f"The model; “{wording.USUAL}” goes back to the usual one")
        @app_commands.autocomplete(name=self.models)
        @everywhere
        async def model(interaction: Interaction, name: str | None = None) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, lambda: self._model(interaction, name))

        @tree.command(name="usage", description="Show what your questions took today and this month")
        @everywhere
        async def usage(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, lambda: self._usage(interaction))

        @tree.command(name="budget", description="Show what you may spend today; operators see and change all budgets")
        @app_commands.describe(words="channel, everyone or @person; then $20, 5,000,000 tokens, exempt or reset")
        @app_commands.autocomplete(words=self.budgets)
        @everywhere
        async def budget(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, lambda: self._budget(interaction, words))

        @tree.command(name="policy", description="Show what holds for everybody here; managers set and remove it")
        @app_commands.describe(words="list, history, set NAME: WHAT HOLDS, or remove 3")
        @app_commands.autocomplete(words=self.policies)
        @in_servers
        async def policy(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, lambda: self._policy(interaction, words))

        @tree.command(name="help", description="Say what I can do, and how to ask for it")
        @everywhere
        async def help_(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, lambda: _help(interaction, tree))

    async def _stop(self, interaction: Interaction) -> str:
        """Stop what runs in this channel, and what the caller asked here by command."""
        await self._admit(interaction)
        channel, person = interaction.channel_id or interaction.id, interaction.user.id
        here = {known_as(channel), private_conversation(channel, person), self._asked_last(channel, person)}
        if callers.is_direct(interaction):
            here.add(await self._host.current_conversation(known_as(channel)))
        stopped = [await self._host.stop(conversation) for conversation in here if conversation]
        return wording.STOPPING if any(stopped) else wording.NOTHING_RUNNING

    async def _admit(self, interaction: Interaction) -> None:
        """Raises Refused for who may not say here what is to be done, or says so too often, and MemberUnknown."""
        author = await self._members.known_at_last(reading.author_of(interaction.user))
        standing = author.standing
        who = Who(known_as(author.id), reading.channel_of(interaction), standing.roles, standing.team)
        self._host.admit_order(who, standing.authority)

    async def _begin(self, interaction: Interaction) -> str:
        await self._admit(interaction)
        await self._host.begin_conversation(known_as(interaction.channel_id or interaction.id), str(interaction.id))
        return BEGUN

    async def _model(self, interaction: Interaction, name: str | None) -> str:
        """Which model answers; with a name, after changing to it."""
        person, channel = known_as(interaction.user.id), reading.channel_of(interaction)
        roles, team = callers.roles_of(interaction), callers.team_of(interaction)
        if name is not None:
            await self._host.choose_model(person, wording.chosen_model(name), channel, roles, team)
        menu = await self._host.models(person, channel, roles, team)
        return wording.model_text(menu.current, menu.why, menu.allowed, "/model NAME")

    async def _usage(self, interaction: Interaction) -> str:
        return account_text(await self._host.usage(known_as(interaction.user.id)))

    async def _budget(self, interaction: Interaction, words: str) -> str:
        person = known_as(interaction.user.id)
        return await self._host.budget(person, reading.channel_of(interaction), budget_ids(words))

    async def _policy(self, interaction: Interaction, words: str) -> str:
        return await self._host.policy(callers.asker_of(interaction, self._members), words)

    async def models(self, interaction: Interaction, typed: str) -> list[Choice]:
        """What may be chosen and contains what was typed so far."""
        person, channel = known_as(interaction.user.id), reading.channel_of(interaction)
        try:
            roles, team = callers.roles_of(interaction), callers.team_of(interaction)
            menu = await self._host.models(person, channel, roles, team)
        except CogencyError:
            return []
        return offered([*menu.allowed, wording.USUAL] if menu.allowed else [], typed)

    async def budgets(self, interaction: Interaction, typed: str) -> list[Choice]:
        """Whose budgets may be seen: others only by operators."""
        others = BUDGET_WORDS if self._host.operates(known_as(interaction.user.id)) else ()
        return offered(others, typed)

    async def policies(self, interaction: Interaction, typed: str) -> list[Choice]:  # noqa: ARG002 -- the same for all
        """What may be written there."""
        return offered(POLICY_WORDS, typed)


async def _help(interaction: Interaction, tree: Tree) -> str:
    return help_text(tree, direct=callers.is_direct(interaction), locale=interaction.locale)


def help_text(tree: Tree, *, direct: bool, locale: discord.Locale = discord.Locale.british_english) -> str:
    """The commands that can be used there, each with what it does in the language of the asker's client."""
    commands = [one for one in tree.get_commands() if isinstance(one, app_commands.Command)]
    here = [one for one in commands if _is_offered(one.allowed_contexts, direct=direct)]
    said = {f"/{one.name}": translated(one.description, locale) or one.description for one in here}
    return f"{wording.help_text(said)}\n\n{HOW}"


def _is_offered(contexts: app_commands.AppCommandContext | None, *, direct: bool) -> bool:
    return contexts is None or bool(contexts.dm_channel if direct else contexts.guild)
