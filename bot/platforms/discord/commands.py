"""The commands of the bot, its buttons and its windows, put together: what goes into the tree, and who takes what."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

import discord
from cachetools import LRUCache
from discord import app_commands
from discord.http import Route

from agent.errors import CogencyError
from bot import wording
from bot.access.acl import Requester
from bot.host import Host
from bot.platforms.discord import asking, buttons, forgetting, interactions, memory, objects, preferences
from bot.platforms.discord.asking import Commands, Menus
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.inbound import budget_ids, private_conversation
from bot.platforms.discord.interactions import (
    Choice,
    Interaction,
    Tree,
    answer_alone,
    everywhere,
    in_direct_messages,
    in_servers,
    offered,
)
from bot.platforms.discord.members import Members, refusal
from bot.platforms.discord.places import UNREADABLE, known_as
from bot.platforms.discord.preferences import SettingsCommand
from bot.platforms.discord.pressing import Pressing
from bot.platforms.discord.surroundings import Surroundings
from bot.platforms.discord.translations import Translator, translated
from bot.spending_text import account_text

# --------------------------------------------------------------------------------------------------
# `/stop`, `/new`, `/model`, `/budget`, `/usage`, `/policy` and `/help`: what is decided about answers, and shown.


BUDGET_WORDS = ("channel", "everyone")
POLICY_WORDS = ("list", "history", "set NAME: WHAT HOLDS", "remove 1")
"""Offered while somebody types; what is in capitals they replace."""
BEGUN = "What you write next begins a new conversation. What I remember about you stays."
HOW = (
    "Mention me in a channel, or write to me directly; below my answers are buttons, and a 👍, 👎 or 🗑 as a "
    "reaction does the same. “Ask about this” and “Forget this” stand in the menu of every message, under Apps."
)


class DiscordControl:
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
        if interactions.is_direct(interaction):
            here.add(await self._host.current_conversation(known_as(channel)))
        stopped = [await self._host.stop(conversation) for conversation in here if conversation]
        return wording.STOPPING if any(stopped) else wording.NOTHING_RUNNING

    async def _admit(self, interaction: Interaction) -> None:
        """Raises Refused for who may not say here what is to be done, or says so too often, and MemberUnknown."""
        author = await self._members.known_at_last(objects.author_of(interaction.user))
        standing = author.standing
        who = Requester(known_as(author.id), objects.channel_of(interaction), standing.roles, standing.team)
        self._host.admit_order(who, standing.authority)

    async def _begin(self, interaction: Interaction) -> str:
        await self._admit(interaction)
        await self._host.begin_conversation(known_as(interaction.channel_id or interaction.id), str(interaction.id))
        return BEGUN

    async def _model(self, interaction: Interaction, name: str | None) -> str:
        """Which model answers; with a name, after changing to it."""
        person, channel = known_as(interaction.user.id), objects.channel_of(interaction)
        roles, team = interactions.roles_of(interaction), interactions.team_of(interaction)
        if name is not None:
            await self._host.choose_model(person, wording.chosen_model(name), channel, roles, team)
        menu = await self._host.models(person, channel, roles, team)
        return wording.model_text(menu.current, menu.why, menu.allowed, "/model NAME")

    async def _usage(self, interaction: Interaction) -> str:
        return account_text(await self._host.usage(known_as(interaction.user.id)))

    async def _budget(self, interaction: Interaction, words: str) -> str:
        person = known_as(interaction.user.id)
        return await self._host.budget(person, objects.channel_of(interaction), budget_ids(words))

    async def _policy(self, interaction: Interaction, words: str) -> str:
        return await self._host.policy(interactions.asker_of(interaction, self._members), words)

    async def models(self, interaction: Interaction, typed: str) -> list[Choice]:
        """What may be chosen and contains what was typed so far."""
        person, channel = known_as(interaction.user.id), objects.channel_of(interaction)
        try:
            roles, team = interactions.roles_of(interaction), interactions.team_of(interaction)
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
    return help_text(tree, direct=interactions.is_direct(interaction), locale=interaction.locale)


def help_text(tree: Tree, *, direct: bool, locale: discord.Locale = discord.Locale.british_english) -> str:
    """The commands that can be used there, each with what it does in the language of the asker's client."""
    commands = [one for one in tree.get_commands() if isinstance(one, app_commands.Command)]
    here = [one for one in commands if _is_offered(one.allowed_contexts, direct=direct)]
    said = {f"/{one.name}": translated(one.description, locale) or one.description for one in here}
    return f"{wording.help_text(said)}\n\n{HOW}"


def _is_offered(contexts: app_commands.AppCommandContext | None, *, direct: bool) -> bool:
    return contexts is None or bool(contexts.dm_channel if direct else contexts.guild)


# --------------------------------------------------------------------------------------------------
# Tells Discord which commands there are, only when they have changed.
#
# Discord lets an application make 200 commands a day in a server, and every client loads them anew when they are put.
# So what it has is read first, with its translations, and compared with the tree: of each command what we say of it,
# and not what Discord adds, in any order of the commands. A value that means the same as none counts as none.


_SAID: Final = frozenset(
    {
        "name",
        "name_localizations",
        "description",
        "description_localizations",
        "type",
        "options",
        "choices",
        "value",
        "required",
        "autocomplete",
        "min_length",
        "max_length",
        "min_value",
        "max_value",
        "channel_types",
        "contexts",
        "integration_types",
        "default_member_permissions",
        "nsfw",
    }
)
"""What we say of a command, its options and their choices."""
_SETS: Final = frozenset({"contexts", "integration_types", "channel_types"})
_TABLES: Final = frozenset({"name_localizations", "description_localizations"})


async def sync(client: discord.Client, tree: Tree) -> bool:
    """Whether the commands had changed, and were put. Raises discord.HTTPException."""
    translator = tree.translator or Translator()
    wanted = [await command.get_translated_payload(tree, translator) for command in tree.get_commands()]
    path = "/applications/{application_id}/commands"
    here = {"application_id": str(client.application_id)}
    known = await client.http.request(Route("GET", path, **here), params={"with_localizations": "true"})
    if isinstance(known, list) and same(wanted, cast("list[Mapping[str, Any]]", known)):
        return False
    await client.http.request(Route("PUT", path, **here), json=wanted)
    return True


def same(wanted: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> bool:
    """Whether both are the same commands for people. Pure."""
    return _by_name(wanted) == _by_name(known)


def _by_name(commands: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], object]:
    return {(str(one["name"]), int(one.get("type") or 1)): _plain({"type": 1, **one}) for one in commands}


def _plain(value: object) -> object:
    """Without what Discord adds, and without what means nothing."""
    if isinstance(value, Mapping):
        kept = {key: _value(key, one) for key, one in cast("Mapping[str, object]", value).items() if key in _SAID}
        return {key: one for key, one in kept.items() if one not in (None, False, "", [], {})}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in cast("Sequence[object]", value)]
    return value


def _value(key: str, value: object) -> object:
    if key in _SETS and isinstance(value, Sequence):
        return sorted(cast("Sequence[int]", value))
    return dict(cast("Mapping[str, object]", value)) if key in _TABLES and isinstance(value, Mapping) else _plain(value)


log = logging.getLogger(__name__)

CHANGED = "This command has changed meanwhile: please write it once more in a minute."
"""Discord's clients keep what they know of commands for a while."""
PRESSED = (discord.InteractionType.component, discord.InteractionType.modal_submit)


class CommandTree(app_commands.CommandTree[discord.Client]):
    """Discord's commands, each of which `admits` is asked about before it is carried out."""

    admits: Callable[[Interaction], Awaitable[bool]]

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        return await self.admits(interaction)


class CommandDesk:
    def __init__(
        self,
        tree: Tree,
        host: Host,
        connection: Connection,
        surroundings: Surroundings,
        members: Members,
        conversations: DiscordConversations,
        said_last: LRUCache[str, str],
    ) -> None:
        self._tree = tree
        self._host = host
        self._connection = connection
        self._members = members
        self._pressing = Pressing(host, connection, members, surroundings, said_last)
        commands = Commands(host, connection, surroundings, members, conversations)
        self._preferences = SettingsCommand(host, members)
        self._menus = Menus(host, commands)
        commands.add_to(tree)
        forgetting.add_to(tree, host)
        memory.add_to(tree, host, members)
        DiscordControl(host, members, commands.asked_last).add_to(tree)
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
                await interactions.respond_alone(interaction, refusal(interaction.guild_id or 0))
        return False

    async def _failed(self, interaction: Interaction, error: app_commands.AppCommandError) -> None:
        """A command could not be carried out. What concerns the caller has been told to them where it went wrong."""
        cause: Exception = error.original if isinstance(error, app_commands.CommandInvokeError) else error
        if isinstance(error, app_commands.CommandNotFound | app_commands.CommandSignatureMismatch):
            with suppress(*UNREADABLE):
                await interactions.respond_alone(interaction, CHANGED)
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
        elif (decided := memory.memory_press(said)) is not None:
            await memory.press(interaction, decided, self._host, self._members)
        elif (changed := preferences.settings_press(said)) is not None:
            await self._preferences.press(interaction, changed)
        elif (about := asking.sent(said)) is not None:
            await self._menus.ask(interaction, about)
        elif (below := buttons.reply_press(said)) is not None:
            await self._pressing.press(interaction, below)
