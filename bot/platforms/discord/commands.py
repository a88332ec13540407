"""The bot's commands, buttons and modals, and the dispatch of their interactions."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import discord
from cachetools import TTLCache
from discord import app_commands

from agent.errors import CogencyError, Unexpected
from bot.chat.askers import Requester
from bot.chat.caches import MAX_ENTRIES
from bot.chat.commands.declaration import AnyCommand, BoundCommand, BoundCommands, CommandCall, by_name
from bot.chat.host import Host
from bot.chat.panels import Filled, Panel, PanelAction, PanelForm
from bot.chat.texts import replies as reply_texts
from bot.chat.unexpected import unexpected_logged
from bot.commands import form_named
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import asking, buttons, interactions, objects, panels
from bot.platforms.discord.asking import Commands, Menus, requested_answer
from bot.platforms.discord.attachments import attachments
from bot.platforms.discord.caller import DiscordCaller, discord_caller, is_direct, requester_of
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.inbound import budget_ids
from bot.platforms.discord.interactions import Choice, Interaction, Tree
from bot.platforms.discord.members import Members, refusal, zone_chosen
from bot.platforms.discord.panels import ButtonPress
from bot.platforms.discord.places import UNREADABLE, known_as
from bot.platforms.discord.presentations import question_press
from bot.platforms.discord.pressing import Pressing
from bot.platforms.discord.settings_command import SETTINGS
from bot.platforms.discord.slash_commands import COMMANDS, Given, help_text, register, sync
from bot.platforms.discord.surroundings import Surroundings

log = logging.getLogger(__name__)

PRESSED = (discord.InteractionType.component, discord.InteractionType.modal_submit)


class CommandTree(app_commands.CommandTree[discord.Client]):
    """The application commands; `admits` decides whether one is carried out."""

    admits: Callable[[Interaction], Awaitable[bool]]

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        return await self.admits(interaction)


class CommandHandler:
    def __init__(
        self,
        tree: Tree,
        host: Host,
        connection: Connection,
        surroundings: Surroundings,
        members: Members,
        conversations: DiscordConversations,
    ) -> None:
        self._tree = tree
        self._host = host
        self._connection = connection
        self._members = members
        self._pressing = Pressing(host, connection, members, surroundings, self._press_below)
        self._commands = Commands(host, connection, surroundings, members, conversations)
        self._menus = Menus(host, self._commands)
        own = by_name((SETTINGS.bound(host), self._menus.forget_this.bound(None)))
        self._bound: BoundCommands = {**host.commands, **own}
        register(tree, self._use, self._suggest)
        # Invalid input of forms, by the id of the form's button, which contains the user; lost at a restart.
        self._invalid_input = TTLCache[str, Filled](
            MAX_ENTRIES, interactions.VIEW_TIMEOUT_S, connection.clock.monotonic
        )
        self._menus.add_to(tree)
        tree.error(self._on_error)

    async def _use(self, command: AnyCommand, interaction: Interaction, values: Given) -> None:
        """Carry out a command."""
        if command.run is None:
            await self._commands.ask(interaction, requested_answer(interaction, values))
            return
        await interactions.think(interaction)
        files = attachments(
            [value for value in values.values() if isinstance(value, discord.Attachment)], interaction.user.display_name
        )
        options = {
            name: str(value) for name, value in values.items() if value and not isinstance(value, discord.Attachment)
        }
        first = next((options.get(argument.name, "") for argument in command.arguments), "")
        words = budget_ids(first) if first and command.mentions else first
        await self._answer(command, replace(self._call(interaction, words, options), files=files))

    async def _answer(self, command: AnyCommand, call: CommandCall) -> None:
        """Show the panel of an acknowledged command, or an error.

        If a pressed button fails, its panel stays, so that it can be pressed again.
        """
        interaction = discord_caller(call).interaction

        async def show(panel: Panel) -> None:
            with suppress(*UNREADABLE):
                await panels.show(interaction, panel, command)

        try:
            if not command.open_to_all:
                await self._admit(interaction, counts=not call.pressed)
            showing = replace(call, show=show)
            panel = await self._bound[command.name].run(showing)
        except CogencyError as error:
            if call.pressed:
                await interactions.follow_up(interaction, platforms_texts.failure(error))
                return
            panel = Panel(platforms_texts.failure(error))
        await panels.show(interaction, panel, command)

    def _call(
        self, interaction: Interaction, words: str, options: Mapping[str, str], *, pressed: bool = False
    ) -> CommandCall:
        caller = DiscordCaller(interaction, self._host, self._members, self._commands.asked_last, _help)
        return CommandCall(words=words, caller=caller, options=options, pressed=pressed)

    async def _panel_press(self, interaction: Interaction, press: ButtonPress) -> None:
        """Handle a button, a menu or a form: the command gets its words, and its answer replaces the panel."""
        found = form_named(press.name) if press.opens else None
        commands = [one for one in (*COMMANDS, self._menus.forget_this) if one.run is not None]  # a question has none
        command = (
            found[0] if found else next((candidate for candidate in commands if candidate.name == press.name), None)
        )
        if command is None or interaction.user.id != press.person:
            await interactions.respond_alone(
                interaction, platforms_texts.COMMAND_CHANGED if command is None else reply_texts.NOT_YOURS
            )
        elif found is not None:
            await self._form(interaction, press, command, found[1])
        else:
            await interactions.acknowledge(interaction)
            values = cast("Mapping[str, Any]", interaction.data or {}).get("values", ())
            words = " ".join([press.words, *map(str, values)]).strip()
            await self._answer(command, self._call(interaction, words, press.options(command), pressed=True))

    async def _press_below(self, interaction: Interaction, command: BoundCommand, button: PanelAction) -> None:
        """Open the form of a button to which one below a reply led, or have the command answer its words."""
        if button.form is not None:
            press = ButtonPress(interaction.user.id, button.form.name, button.words, opens=True)
            await self._open(interaction, press, command, button.form)
            return
        await interactions.think(interaction)
        await self._answer(command.declared, self._call(interaction, button.words, {}))

    async def _form(self, interaction: Interaction, press: ButtonPress, command: AnyCommand, form: PanelForm) -> None:
        """Open a form, or handle its submission."""
        is_submitted = interaction.type is discord.InteractionType.modal_submit
        call, bound = self._call(interaction, press.words, {}, pressed=True), self._bound[command.name]
        try:
            async with asyncio.timeout(interactions.STORE_FIRST_S):
                if not command.open_to_all:
                    await self._admit(interaction, counts=False)
                form = await bound.build_form(form, call)
        except TimeoutError:
            await interactions.respond_alone(interaction, platforms_texts.WINDOW_TRY_AGAIN)
            return
        except CogencyError as error:
            await interactions.respond_alone(interaction, platforms_texts.failure(error))
            return
        if not is_submitted:
            await self._open(interaction, press, bound, form)
            return
        filled = panels.filled_in(interaction, form)
        if mistakes := form.mistakes(filled):
            self._invalid_input[press.id] = form.without_secrets(filled)
            await interactions.respond_alone(interaction, *panels.mistakes_panel(form, press, filled, mistakes))
            return
        self._invalid_input.pop(press.id, None)
        await interactions.acknowledge_window(interaction)
        words, options = form.spelled(press.words, filled), form.options(filled)
        await self._answer(command, self._call(interaction, words, options))

    async def _open(self, interaction: Interaction, press: ButtonPress, command: BoundCommand, form: PanelForm) -> None:
        """Open the form's modal; it is prefilled if that is quick: a modal cannot follow an acknowledgement."""
        filled: Filled = self._invalid_input.get(press.id, {})
        try:
            async with asyncio.timeout(interactions.STORE_FIRST_S):
                if not filled:
                    filled = await command.prefill(form, self._call(interaction, press.words, {}, pressed=True))
        except TimeoutError:
            pass
        except CogencyError as error:
            await interactions.respond_alone(interaction, platforms_texts.failure(error))
            return
        await interaction.response.send_modal(panels.form_window(form, press, filled))

    async def _admit(self, interaction: Interaction, *, counts: bool) -> None:
        """Raises Refused if the caller may not use commands here, or uses them too often, and DiscordMemberUnknown.

        `counts`: whether it is a command, which counts; a press of what it showed is checked, and does not.
        """
        author = await self._members.author_retrying(objects.author_of(interaction.user))
        standing = author.standing
        requester = Requester(known_as(author.id), objects.channel_of(interaction), standing.roles, standing.team)
        if counts:
            zone = await zone_chosen(self._host.preferences, known_as(author.id))
            await self._host.admission.admit_order(requester, standing.authority, zone)
        else:
            self._host.admission.check_access(requester, standing.authority)

    async def _suggest(self, command: AnyCommand, argument: str, interaction: Interaction, typed: str) -> list[Choice]:
        """Return the suggestions that contain what was typed so far."""
        options = {name: str(value) for name, value in interaction.namespace if value is not None}
        try:
            bound, requester = self._bound[command.name], requester_of(interaction)
            names = await bound.suggest(argument, requester, options)
        except CogencyError:
            return []
        return interactions.matching_choices(names, typed)

    async def sync_commands(self, client: discord.Client) -> None:
        """Register the commands with Discord, if they have changed. Everything else works without them."""
        try:
            await sync(client, self._tree)
        except UNREADABLE as error:
            self._connection.log_failure("Discord rejected the slash commands; everything else works", error)

    async def admits(self, interaction: Interaction) -> bool:
        """Return whether an interaction is carried out; in a server that is not served, or of which that is not known
        yet, the user is told why not.
        """
        servers, server = self._members.servers, interaction.guild_id
        if not servers.refuses_use(interaction):
            return True
        with suppress(*UNREADABLE):
            if interaction.type is discord.InteractionType.autocomplete:
                await interaction.response.autocomplete([])
            else:
                sentence = platforms_texts.DISCORD_TRY_AGAIN if servers.is_unknown(server) else refusal(server or 0)
                await interactions.respond_alone(interaction, sentence)
        return False

    async def _on_error(self, interaction: Interaction, error: app_commands.AppCommandError) -> None:
        """Log a command's error. What concerns the caller was shown where the error occurred."""
        cause: Exception = error.original if isinstance(error, app_commands.CommandInvokeError) else error
        if isinstance(error, app_commands.CommandNotFound | app_commands.CommandSignatureMismatch):
            with suppress(*UNREADABLE):
                await interactions.respond_alone(interaction, platforms_texts.COMMAND_CHANGED)
        elif isinstance(cause, UNREADABLE):
            self._connection.log_failure("a command could not be answered", cause)
        else:
            log.error("a command failed", exc_info=cause)
            await interactions.answer_failure(interaction, Unexpected(reply_texts.UNEXPECTED), self._connection)

    async def handle(self, interaction: Interaction) -> None:
        """Dispatch buttons, menus and modals; slash commands and context menus are dispatched by the tree."""
        if interaction.type not in PRESSED or not isinstance(interaction.data, dict):
            return
        try:
            with unexpected_logged("a button press or a form", *UNREADABLE):
                if not await self.admits(interaction):
                    return
                await self._dispatch(interaction, str(interaction.data.get("custom_id", "")))
        except UNREADABLE as error:
            self._connection.log_failure("a button press or a form could not be answered", error)
        except CogencyError as error:
            await interactions.show_error(interaction, platforms_texts.failure(error))

    async def _dispatch(self, interaction: Interaction, custom_id: str) -> None:
        if (press := panels.press_of(custom_id)) is not None:
            await self._panel_press(interaction, press)
        elif (about := asking.window_of(custom_id)) is not None:
            await self._menus.ask(interaction, about)
        elif (button := buttons.reply_press(custom_id)) is not None:
            await self._pressing.press(interaction, button)
        elif (asked := question_press(custom_id)) is not None:
            await self._pressing.ask_follow_up(interaction, asked)


def _help(interaction: Interaction) -> str:
    return help_text(direct=is_direct(interaction))
