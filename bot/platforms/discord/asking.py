"""`/ask`, and questions that come through a command or a modal."""

import asyncio
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import discord
from cachetools import LRUCache

from agent.errors import CogencyError, Refused, SettingsError
from agent.incoming import Attachment, Incoming, Quoted
from agent.messages import Depth
from agent.repeats import repeats_of
from bot.chat.commands.declaration import Command, CommandCall
from bot.chat.commands.talking import ASK_COMMAND, SUMMARISE
from bot.chat.host import Host
from bot.chat.panels import Panel, PanelAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import interactions, objects, panels, pressing
from bot.platforms.discord.attachments import attachments
from bot.platforms.discord.caller import discord_caller, requester_of
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.inbound import AskedQuestion, ChannelFactsForConversation
from bot.platforms.discord.interactions import Interaction, Tree
from bot.platforms.discord.markup import DiscordNames, readable
from bot.platforms.discord.members import Members
from bot.platforms.discord.places import SOURCE, UNREADABLE, known_as
from bot.platforms.discord.reply_to import pages_at
from bot.platforms.discord.settings_command import private_by_default
from bot.platforms.discord.surroundings import Surroundings

log = logging.getLogger(__name__)

MAX_REMEMBERED = 2_000  # More people than ask one bot while one answer is written


@dataclass(frozen=True, slots=True)
class RequestedAnswer:
    """A question, and how it is to be answered. `private` None: by the asker's default."""

    text: str
    private: bool | None = None
    depth: Depth = Depth.ADAPT
    model: str = ""
    files: tuple[Attachment, ...] = ()
    quoted: tuple[Quoted, ...] = ()


def requested_answer(interaction: Interaction, options: Mapping[str, Any]) -> RequestedAnswer:
    """Return what the options of `/ask` request."""
    file: discord.Attachment | None = options.get("file")
    files = attachments([file] if file is not None else [], interaction.user.display_name)
    depth = Depth(options.get("depth") or Depth.ADAPT)
    return RequestedAnswer(options["question"], options.get("private"), depth, options.get("model") or "", tuple(files))


class Commands:
    """Takes in the questions of commands.

    `/ask` and the three seconds. Discord delivers an interaction once and accepts no response to it after three
    seconds. The question is stored first: acknowledged but not stored, it would show "thinking…" permanently after a
    crash. If storing takes unusually long, because what the question refers to must be fetched or the disk is busy, the
    acknowledgement no longer waits for it.
    """

    def __init__(
        self,
        host: Host,
        connection: Connection,
        surroundings: Surroundings,
        members: Members,
        conversations: DiscordConversations,
    ) -> None:
        self._host = host
        self._members = members
        self.connection = connection
        self.surroundings = surroundings
        self._conversations = conversations
        self._asked_last = LRUCache[tuple[int, int], str](MAX_REMEMBERED)

    def asked_last(self, channel: int, person: int) -> str | None:
        """Return the conversation of the person's last `/ask` in a channel, as far as this process remembers."""
        return self._asked_last.get((channel, person))

    async def ask(self, interaction: Interaction, request: RequestedAnswer) -> None:
        """Take the question in, and acknowledge it within three seconds."""
        now = self.connection.clock.now()
        if not self.connection.acknowledging(str(interaction.id)):
            return
        try:
            private = await self._is_private(interaction, request)
            question = _question(interaction, request, now, private=private)
            storing = asyncio.ensure_future(self._store(interaction, question, request))
            await asyncio.wait({storing}, timeout=interactions.STORE_FIRST_S)
            if interactions.failure_of(storing) is None:
                await self._acknowledge(interaction, private=question.private and not question.where.direct)
        finally:
            self.connection.acknowledged(str(interaction.id))
        try:
            await storing
        except CogencyError as error:
            if not isinstance(error, Refused | SettingsError):
                log.warning("a question could not be accepted: %s", error)
            await interactions.answer_failure(interaction, error, self.connection)

    async def _acknowledge(self, interaction: Interaction, *, private: bool) -> None:
        """Never raises: the question is stored, and is answered in the channel or in the asker's DM instead."""
        try:
            await interaction.response.defer(ephemeral=private, thinking=True)
        except UNREADABLE as error:
            self.connection.log_failure("a command could not be acknowledged; its answer goes elsewhere", error)

    async def _is_private(self, interaction: Interaction, request: RequestedAnswer) -> bool:
        if request.private is not None or interaction.context.dm_channel is True:
            return bool(request.private)
        return await private_by_default(self._host, interaction.user.id)

    async def _store(self, interaction: Interaction, question: AskedQuestion, request: RequestedAnswer) -> bool:
        if request.model and request.model not in (menu := await self._open_models(interaction)):
            raise SettingsError(reply_texts.model_not_allowed(menu))
        author = await self._members.author_retrying(question.author)
        incoming = await self._conversations.of_question(replace(question, author=author))
        self._asked_last[question.where.channel, question.author.id] = incoming.conversation
        context = await self.surroundings.of_question(
            question.text,
            interaction.user.id,
            interaction.channel,
            incoming.place,
            import_thread=await self._is_new_thread(question.where, incoming),
            files=request.files,
        )
        quoted = (*request.quoted, *context.quoted)
        return await self._host.messages.submit(
            replace(incoming, quoted=quoted, files=context.files, model=request.model)
        )

    async def _open_models(self, interaction: Interaction) -> Collection[str]:
        try:
            return await self._host.commands[ASK_COMMAND.name].suggest("model", requester_of(interaction), {})
        except CogencyError:
            return ()

    async def _is_new_thread(self, where: ChannelFactsForConversation, incoming: Incoming) -> bool:
        return where.parent is not None and await self._host.conversations.participants(incoming.conversation) is None


def _question(interaction: Interaction, request: RequestedAnswer, now: datetime, *, private: bool) -> AskedQuestion:
    user = interaction.user
    author = objects.author_of(user)
    direct = interaction.context.dm_channel is True
    return AskedQuestion(
        id=interaction.id,
        application=interaction.application_id,
        token=interaction.token,
        # A channel that Discord does not describe has no other readers: each such question is a place of its own.
        where=objects.where(interaction.channel or interaction, author, direct=direct),
        author=author,
        text=readable(request.text, _names(interaction)),
        private=private,
        time=now,
        private_place=objects.private_place_of(interaction),
        depth=request.depth,
        by_person=interactions.installed_by_person(interaction),
    )


def _names(interaction: Interaction) -> DiscordNames:
    """Return the names that the question may mention, as far as the bot knows the server."""
    me = interaction.client.user
    users = {interaction.user.id: interaction.user.display_name} | ({me.id: me.display_name} if me else {})
    guild = interaction.guild
    if guild is None:
        return DiscordNames(users=users)
    return DiscordNames(
        users={member.id: member.display_name for member in guild.members} | users,
        roles={role.id: role.name for role in guild.roles},
        channels={channel.id: channel.name for channel in guild.channels},
    )


# The entries in the context menu of messages: "Ask about this", "Forget this" and "Summarise from here".
#
# The choice of an entry includes the message, but the modal submitted later does not, and where only the user has
# installed the bot it cannot read the message again. So the message is cached for a while; later, or after a restart,
# it is fetched if the bot can read there; otherwise the asker is told to choose the entry again.

MAX_WINDOW_CHARS: Final = 4_000  # Discord's limit of a modal's field
MAX_WINDOWS: Final = 500  # More than the modals that are open at once among the users of one bot

KEEP: Final = "keep"  # The words of the button that forgets nothing
TURN_DIGITS: Final = 9  # Of a number that every database accepts

SOURCE_WORDS: Final = "the message that the question is about"

_ID: Final = re.compile(r"about:(\d{1,20}):(\d{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True)
class AskAboutWindow:
    """The modal for a question about a message: its user, and the message's id."""

    person: int
    message: int

    @property
    def id(self) -> str:
        return f"about:{self.person}:{self.message}"


@dataclass(frozen=True, slots=True)
class AttachedContext:
    """What the message adds to the question."""

    quoted: tuple[Quoted, ...]
    files: tuple[Attachment, ...]


def window_of(custom_id: str) -> AskAboutWindow | None:
    """The inverse of `AskAboutWindow.id`; None for another modal."""
    found = _ID.fullmatch(custom_id)
    return AskAboutWindow(int(found[1]), int(found[2])) if found is not None else None


class Menus:
    """`add_to` adds the entries to a command tree; `ask` takes the question in."""

    def __init__(self, host: Host, commands: Commands) -> None:
        self._host = host
        self._commands = commands
        self._contexts = LRUCache[AskAboutWindow, AttachedContext](MAX_WINDOWS)
        # Handles the buttons of the confirmation that the entry "Forget this" shows.
        self.forget_this = Command(
            name="message", summary=platforms_texts.FORGET_THIS, run=self._confirmed, open_to_all=True, bare=False
        )

    def add_to(self, tree: Tree) -> None:
        @tree.context_menu(name=platforms_texts.ASK_ABOUT_THIS)
        @interactions.everywhere
        async def ask_about(interaction: Interaction, message: discord.Message) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            await self._open(interaction, message)

        @tree.context_menu(name=platforms_texts.FORGET_THIS)
        @interactions.everywhere
        async def forget_this(interaction: Interaction, message: discord.Message) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            await self._forget(interaction, message)

        @tree.context_menu(name=SUMMARISE.onwards.label)
        @interactions.everywhere
        async def summarise(interaction: Interaction, message: discord.Message) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            question = SUMMARISE.onwards.question.format(link=message.jump_url)
            await self._commands.ask(interaction, RequestedAnswer(question, private=True))

    async def ask(self, interaction: Interaction, about: AskAboutWindow) -> None:
        """Take in the question of a submitted modal."""
        if interaction.user.id != about.person:
            await interactions.respond_alone(interaction, reply_texts.NOT_YOURS)
            return
        context = self._contexts.pop(about, None) or await self._fetch_context(interaction, about.message)
        if context is None:
            await interactions.respond_alone(interaction, platforms_texts.CHOOSE_AGAIN)
            return
        await self._commands.ask(
            interaction,
            RequestedAnswer(interactions.typed_text(interaction), files=context.files, quoted=context.quoted),
        )

    async def _open(self, interaction: Interaction, message: discord.Message) -> None:
        about = AskAboutWindow(interaction.user.id, message.id)
        self._contexts[about] = self._context_of(message)
        await interaction.response.send_modal(_window(about))

    def _context_of(self, message: discord.Message) -> AttachedContext:
        quoted, files = self._commands.surroundings.quote(SOURCE_WORDS, message, names_files=False)
        attached = attachments(files, message.author.display_name, "file of that message", by_bot=quoted.by_bot)
        return AttachedContext((quoted,) if quoted.text else (), tuple(attached))

    async def _fetch_context(self, interaction: Interaction, message: int) -> AttachedContext | None:
        channel, may_read = interaction.channel, interaction.permissions.read_message_history
        # A person's own program may name any message of the channel, also where Discord shows them none of them.
        is_hidden = interaction.guild_id is not None and not may_read
        if is_hidden or not isinstance(channel, discord.abc.Messageable):
            return None
        try:
            return self._context_of(await channel.fetch_message(message))
        except UNREADABLE:
            return None

    async def _forget(self, interaction: Interaction, message: discord.Message) -> None:
        await interactions.think(interaction)
        try:
            panel = await self._ask_to_forget(interaction, message)
        except CogencyError as error:
            panel = Panel(platforms_texts.failure(error))
        await panels.show(interaction, panel, self.forget_this)

    async def _ask_to_forget(self, interaction: Interaction, message: discord.Message) -> Panel:
        """Ask whether to forget the message, if it belongs to the caller. Raises CogencyError."""
        if message.author.id == interaction.user.id:
            return _confirmation(platforms_texts.WILL_FORGET, f"message {objects.channel_of(interaction)} {message.id}")
        for page in pages_at(message.channel.id, message.id):
            reply = await self._host.feedback.at(SOURCE, page)
            if reply is not None and reply.person == known_as(interaction.user.id):
                return _confirmation(platforms_texts.WILL_FORGET_REPLY, f"reply {reply.turn}")
        return Panel(platforms_texts.NOT_YOUR_MESSAGE)

    async def _confirmed(self, _: object, call: CommandCall) -> Panel:
        """Handle the answer to the confirmation. Raises CogencyError."""
        caller = discord_caller(call)
        match call.words.split(" "):
            case ["message", channel, message]:
                # A person's own program may name any message.
                named = {message, *repeats_of(message)}
                await self._host.events.deleted(SOURCE, channel, named, author=caller.person.id)
                return Panel(platforms_texts.MESSAGE_FORGOTTEN)
            case ["reply", turn] if turn.isdecimal() and len(turn) <= TURN_DIGITS:
                reply = await self._host.feedback.of(int(turn))
                if reply is None or not await self._host.feedback.delete(int(turn), caller.person.id):
                    return Panel(platforms_texts.NO_SUCH_REPLY)
                channel_id = caller.interaction.channel_id or caller.interaction.id
                await pressing.delete_pages(self._commands.connection, channel_id, reply)
                return Panel(platforms_texts.REPLY_FORGOTTEN)
            case _:
                return Panel(platforms_texts.NOT_FORGOTTEN)


def _confirmation(text: str, words: str) -> Panel:
    """Return the question whether to forget what these words name."""
    forget = PanelAction(platforms_texts.FORGET_BUTTON, words, danger=True)
    return Panel(text, (forget, PanelAction(platforms_texts.KEEP_BUTTON, KEEP)))


def _window(about: AskAboutWindow) -> discord.ui.Modal:
    window = discord.ui.Modal(
        title=platforms_texts.ASK_ABOUT_THIS, custom_id=about.id, timeout=interactions.VIEW_TIMEOUT_S
    )
    window.add_item(
        discord.ui.TextInput[discord.ui.Modal](
            label=platforms_texts.YOUR_QUESTION, style=discord.TextStyle.paragraph, max_length=MAX_WINDOW_CHARS
        )
    )
    return window
