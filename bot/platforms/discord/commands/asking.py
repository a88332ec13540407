"""`/ask`, and what becomes of a question that comes through a command or a window.

Above: `desk` puts it into the tree, `menus` asks about a message. Below: `inbound`, `interactions`, `reading`,
`surroundings`, `preferences`, and `bot.host.Host`.

`/ask` and the three seconds. Discord delivers an interaction once and takes no answer to it that comes later than three
seconds. So the question is stored first: acknowledged but not stored, it would be "thinking…" for ever after a crash.
If storing takes unusually long, because what the question refers to must be fetched or the disk is busy, the
acknowledgement no longer waits for it.
"""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

import discord
from discord import app_commands

from agent.errors import CogencyError, Refused, SettingsError
from agent.messages import Depth
from agent.records import Attachment, Incoming, Quoted
from bot.host import Host
from bot.platforms.discord.commands import preferences, refusals
from bot.platforms.discord.commands.interactions import (
    STORE_FIRST_S,
    Choice,
    Interaction,
    Tree,
    everywhere,
    installed_by_person,
    offered,
)
from bot.platforms.discord.members.members import Members
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.place import known_as
from bot.platforms.discord.reading import reading
from bot.platforms.discord.reading.conversations import Conversations
from bot.platforms.discord.reading.files import attachments
from bot.platforms.discord.reading.inbound import Question, Where
from bot.platforms.discord.reading.markup import Names, readable
from bot.platforms.discord.reading.surroundings import Surroundings
from bot.platforms.discord.replies.connection import Connection

log = logging.getLogger(__name__)

MAX_QUESTION_CHARS = 6_000
"""Discord's own limit of an option's text."""

MAX_REMEMBERED = 2_000
"""As many people as ask one bot while one answer grows."""

DEPTHS = {Depth.ADAPT: "as you see fit", Depth.FAST: "answer fast", Depth.DEEP: "think deeply"}


@dataclass(frozen=True, slots=True)
class Wish:
    """A question, and how it is to be answered. `private` None: as its asker has chosen for all of theirs."""

    text: str
    private: bool | None = None
    depth: Depth = Depth.ADAPT
    model: str = ""
    files: tuple[Attachment, ...] = ()
    quoted: tuple[Quoted, ...] = ()


class Commands:
    """What becomes of questions. `add_to` makes `/ask` known to a command tree."""

    def __init__(
        self,
        host: Host,
        connection: Connection,
        surroundings: Surroundings,
        members: Members,
        conversations: Conversations,
    ) -> None:
        self._host = host
        self._members = members
        self._connection = connection
        self._surroundings = surroundings
        self._conversations = conversations
        self._asked_last: dict[tuple[int, int], str] = {}

    def asked_last(self, channel: int, person: int) -> str | None:
        """The conversation of the person's last `/ask` in a channel, as far as this process remembers."""
        return self._asked_last.get((channel, person))

    def add_to(self, tree: Tree) -> None:
        @tree.command(name="ask", description="Ask me something")
        @app_commands.describe(
            question="Your question",
            private="Only you see the answer",
            depth="How long I may think about it",
            model="The model that answers this question alone",
            file="A file that the question is about",
        )
        @app_commands.choices(
            depth=[app_commands.Choice(name=name, value=depth.value) for depth, name in DEPTHS.items()]
        )
        @app_commands.autocomplete(model=self.models)
        @everywhere
        async def ask(  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            interaction: Interaction,
            question: app_commands.Range[str, 1, MAX_QUESTION_CHARS],
            depth: str = Depth.ADAPT.value,
            model: str = "",
            private: bool | None = None,  # noqa: FBT001 -- an option of the command
            file: discord.Attachment | None = None,
        ) -> None:
            files = attachments([file] if file is not None else [], interaction.user.display_name)
            await self.ask(interaction, Wish(question, private, Depth(depth), model, tuple(files)))

    async def ask(self, interaction: Interaction, wish: Wish) -> None:
        """Take the question in, and acknowledge it within three seconds."""
        now = self._connection.clock.now()
        if not self._connection.acknowledging(str(interaction.id)):
            return
        try:
            private = await self._is_private(interaction, wish)
            question = _question(interaction, wish, now, private=private)
            storing = asyncio.ensure_future(self._store(interaction, question, wish))
            await asyncio.wait({storing}, timeout=STORE_FIRST_S)
            if refusals.failure(storing) is None:
                await self._acknowledge(interaction, private=question.private and not question.where.direct)
        finally:
            self._connection.acknowledged(str(interaction.id))
        try:
            await storing
        except CogencyError as error:
            if not isinstance(error, Refused | SettingsError):
                log.warning("a question could not be taken in: %s", error)
            await refusals.answer(interaction, error, self._connection)

    async def _acknowledge(self, interaction: Interaction, *, private: bool) -> None:
        """Never raises: the question is stored, and is answered in the channel or in the asker's DM else."""
        try:
            await interaction.response.defer(ephemeral=private, thinking=True)
        except UNREADABLE as error:
            self._connection.complain("a command could not be acknowledged, and is answered elsewhere", error)

    async def models(self, interaction: Interaction, typed: str) -> list[Choice]:
        """The models that the caller may choose among, offered while they type."""
        return offered(await self._open_models(interaction), typed)

    async def _is_private(self, interaction: Interaction, wish: Wish) -> bool:
        if wish.private is not None or interaction.context.dm_channel is True:
            return bool(wish.private)
        return await preferences.private_by_default(self._host, interaction.user.id)

    async def _store(self, interaction: Interaction, question: Question, wish: Wish) -> bool:
        if wish.model and wish.model not in (menu := await self._open_models(interaction)):
            others = f"choose one of {', '.join(menu)}" if menu else "there is only one here"
            raise SettingsError(f"That model cannot be chosen: {others}.")
        author = await self._members.known_at_last(question.author)
        incoming = await self._conversations.of_question(replace(question, author=author))
        self._remember((question.where.channel, question.author.id), incoming.conversation)
        brought = await self._surroundings.of_question(
            question.text,
            interaction.user.id,
            interaction.channel,
            incoming.place,
            import_thread=await self._is_new_thread(question.where, incoming),
            files=wish.files,
        )
        quoted = (*wish.quoted, *brought.quoted)
        return await self._host.take(replace(incoming, quoted=quoted, files=brought.files, model=wish.model))

    async def _open_models(self, interaction: Interaction) -> Collection[str]:
        person, standing = known_as(interaction.user.id), reading.standing_of(interaction.user)
        channel = reading.channel_of(interaction)
        try:
            return (await self._host.models(person, channel, standing.roles, standing.team)).allowed
        except CogencyError:
            return ()

    def _remember(self, who: tuple[int, int], conversation: str) -> None:
        self._asked_last.pop(who, None)
        self._asked_last[who] = conversation
        if len(self._asked_last) > MAX_REMEMBERED:
            del self._asked_last[next(iter(self._asked_last))]

    async def _is_new_thread(self, where: Where, incoming: Incoming) -> bool:
        return where.parent is not None and await self._host.participants(incoming.conversation) is None


def _question(interaction: Interaction, wish: Wish, now: datetime, *, private: bool) -> Question:
    user = interaction.user
    author = reading.author_of(user)
    direct = interaction.context.dm_channel is True
    return Question(
        id=interaction.id,
        application=interaction.application_id,
        token=interaction.token,
        # A channel that Discord does not describe is nobody else's: each such question is its own place.
        where=reading.where(interaction.channel or interaction, author, direct=direct),
        author=author,
        text=readable(wish.text, _names(interaction)),
        private=private,
        time=now,
        private_place=reading.private_place_of(interaction),
        depth=wish.depth,
        by_person=installed_by_person(interaction),
    )


def _names(interaction: Interaction) -> Names:
    """Who and what the question may mention, as far as the bot knows the server."""
    me = interaction.client.user
    users = {interaction.user.id: interaction.user.display_name} | ({me.id: me.display_name} if me else {})
    guild = interaction.guild
    if guild is None:
        return Names(users=users)
    return Names(
        users={member.id: member.display_name for member in guild.members} | users,
        roles={role.id: role.name for role in guild.roles},
        channels={channel.id: channel.name for channel in guild.channels},
    )
