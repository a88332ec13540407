"""The commands of the bot, its buttons and its windows, put together: who takes what is used, pressed or sent."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

import discord
from cachetools import LRUCache
from discord import app_commands

from agent.errors import CogencyError
from agent.records import Person
from bot.access.acl import Requester
from bot.commands.declaration import Command, CommandCall, Panel, Stoppable, Suggest
from bot.commands.discovery import form_named
from bot.host import Host, PolicyAsker
from bot.platforms.discord import asking, buttons, forgetting, forms, interactions, memory_panels, objects, preferences
from bot.platforms.discord.asking import Commands, Menus, wish_of
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.forms import FormPress
from bot.platforms.discord.inbound import budget_ids, private_conversation
from bot.platforms.discord.interactions import Choice, Interaction, Tree, offered
from bot.platforms.discord.members import Members, refusal
from bot.platforms.discord.places import UNREADABLE, known_as
from bot.platforms.discord.preferences import SettingsCommand
from bot.platforms.discord.pressing import Pressing
from bot.platforms.discord.slash_commands import Given, help_text, register, sync
from bot.platforms.discord.surroundings import Surroundings
from bot.texts import command_texts, reply_texts


@dataclass(frozen=True, slots=True)
class DiscordCaller:
    """Implements `Caller`. `asked_last`: the conversation of the last `/ask` in a channel by a person: nothing else
    leads to it.
    """

    interaction: Interaction
    host: Host
    members: Members
    asked_last: Callable[[int, int], str | None]

    @property
    def person(self) -> Person:
        return interactions.person_of(self.interaction)

    @property
    def channel(self) -> str:
        return objects.channel_of(self.interaction)

    async def requester(self) -> Requester:
        return interactions.requester_of(self.interaction)

    async def policy_asker(self) -> PolicyAsker:
        return interactions.asker_of(self.interaction, self.members)

    async def stoppable(self) -> Stoppable:
        """What runs in this channel, and what the caller asked here by command."""
        channel, person = self.interaction.channel_id or self.interaction.id, self.interaction.user.id
        here = {known_as(channel), private_conversation(channel, person), self.asked_last(channel, person)}
        if interactions.is_direct(self.interaction):
            here.add(await self.host.current_conversation(known_as(channel)))
        return Stoppable([one for one in here if one])

    async def begin_conversation(self) -> str:
        channel = known_as(self.interaction.channel_id or self.interaction.id)
        await self.host.begin_conversation(channel, str(self.interaction.id))
        return command_texts.NEW_CONVERSATION

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return help_text(direct=interactions.is_direct(self.interaction))


log = logging.getLogger(__name__)

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
        self._commands = Commands(host, connection, surroundings, members, conversations)
        self._preferences = SettingsCommand(host, members)
        self._menus = Menus(host, self._commands)
        register(tree, self._use, self._suggest)
        self._menus.add_to(tree)
        tree.error(self._failed)

    async def _use(self, command: Command, interaction: Interaction, given: Given) -> None:
        """Carry a command out."""
        first = next((given.get(argument.name) for argument in command.arguments), None)
        words = budget_ids(first) if first and command.mentions else first or ""
        match command.name:
            case "ask":
                await self._commands.ask(interaction, wish_of(interaction, given))
            case "memory":
                await memory_panels.show(interaction, self._host, self._members, words)
            case "forget":
                wish = forgetting.wish_words(words, given.get("scope") or "")
                await forgetting.ask(interaction, self._host, wish, replies=bool(given.get("delete_replies")))
            case "settings":
                await self._preferences.show(interaction)
            case _:
                await interaction.response.defer(ephemeral=True)
                options = {name: str(value) for name, value in given.items() if value is not None}
                await self._answer(command, interaction, words, options)

    async def _answer(
        self, command: Command, interaction: Interaction, words: str, options: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Show what it says, or why there is nothing, in answer to what was acknowledged."""
        try:
            panel = await self._panel(command, interaction, words, options)
        except CogencyError as error:
            panel = Panel(reply_texts.failure(error))
        below = forms.form_buttons(panel.forms, interaction.user.id)
        await interactions.show_text(interaction, panel.text, *below)

    async def _panel(self, command: Command, interaction: Interaction, words: str, options: Mapping[str, str]) -> Panel:
        """Raises CogencyError."""
        if command.run is None:
            raise CogencyError(command_texts.COMMAND_CHANGED)
        if not command.open_to_all:
            await self._admit(interaction)
        caller = DiscordCaller(interaction, self._host, self._members, self._commands.asked_last)
        return await command.run(CommandCall(words=words, caller=caller, host=self._host, options=options))

    async def _form(self, interaction: Interaction, pressed: FormPress) -> None:
        """A form is opened, or was sent: the command is told its words, and answers in the place of what it said."""
        found = form_named(pressed.name)
        if found is None or interaction.user.id != pressed.person:
            await interactions.respond_alone(
                interaction, command_texts.COMMAND_CHANGED if found is None else reply_texts.NOT_YOURS
            )
            return
        command, form = found
        if interaction.type is not discord.InteractionType.modal_submit:
            await interaction.response.send_modal(forms.form_window(form, pressed.person))
            return
        filled = forms.filled_in(interaction, form)
        if mistakes := form.mistakes(filled):
            await interactions.respond_alone(interaction, " ".join(mistakes.values()))
            return
        await interaction.response.defer()
        await self._answer(command, interaction, form.words(filled))

    async def _admit(self, interaction: Interaction) -> None:
        """Raises Refused for who may not say here what is to be done, or says so too often, and MemberUnknown."""
        author = await self._members.known_at_last(objects.author_of(interaction.user))
        standing = author.standing
        who = Requester(known_as(author.id), objects.channel_of(interaction), standing.roles, standing.team)
        self._host.admit_order(who, standing.authority)

    async def _suggest(self, suggests: Suggest, interaction: Interaction, typed: str) -> list[Choice]:
        """What contains what was typed so far."""
        given = {name: str(value) for name, value in interaction.namespace if value is not None}
        try:
            names = await suggests(self._host, interactions.requester_of(interaction), given)
        except CogencyError:
            return []
        return offered(names, typed)

    async def tell(self, client: discord.Client) -> None:
        """Tell Discord of the commands, if they have changed. Everything else works without them."""
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
                await interactions.respond_alone(interaction, command_texts.COMMAND_CHANGED)
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
        elif (decided := memory_panels.memory_press(said)) is not None:
            await memory_panels.press(interaction, decided, self._host, self._members)
        elif (changed := preferences.settings_press(said)) is not None:
            await self._preferences.press(interaction, changed)
        elif (form := forms.form_press(said)) is not None:
            await self._form(interaction, form)
        elif (about := asking.sent(said)) is not None:
            await self._menus.ask(interaction, about)
        elif (below := buttons.reply_press(said)) is not None:
            await self._pressing.press(interaction, below)
