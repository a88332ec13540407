"""`/ask`, `/forget`, `/memory` and `/usage`.

Above: `client` owns the tree. Below: `inbound`, `interactions`, `reading`, `surroundings`, `memory`, `forgetting`,
and `bot.host.Host`.

`/ask` and the three seconds. Discord delivers an interaction once and takes no answer to it that comes later than three
seconds. So the question is stored first: acknowledged but not stored, it would be "thinking…" for ever after a crash.
If storing takes unusually long, because what the question refers to must be fetched or the disk is busy, the
acknowledgement no longer waits for it.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime

import discord
from discord import app_commands

from agent.errors import CogencyError, Refused
from agent.messages import Depth
from agent.records import Incoming
from bot.host import Host
from bot.platforms.discord import forgetting, reading, refusals
from bot.platforms.discord import memory as memory_view
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import Question, Where, asked
from bot.platforms.discord.interactions import STORE_FIRST_S, Interaction, Tree, answer_alone, everywhere
from bot.platforms.discord.markup import Names, readable
from bot.platforms.discord.members import Members
from bot.platforms.discord.place import known_as
from bot.platforms.discord.rest import ALREADY_ACKNOWLEDGED, UNKNOWN_INTERACTION
from bot.platforms.discord.settings import ReplyMode
from bot.platforms.discord.surroundings import Surroundings
from bot.spending_text import account_text

log = logging.getLogger(__name__)

MAX_QUESTION_CHARS = 6_000
"""Discord's own limit of an option's text."""

MAX_REMEMBERED = 2_000
"""As many people as ask one bot while one answer grows."""

FORGETTABLE = ("this thread", "everything", "2 hours", "today", "since monday", "about …")
"""Examples of what `/forget` understands."""

DEPTHS = {Depth.ADAPT: "as you see fit", Depth.FAST: "answer fast", Depth.DEEP: "think deeply"}


class Commands:
    """What the slash commands do. `add_to` makes them known to a command tree."""

    def __init__(
        self, host: Host, connection: Connection, surroundings: Surroundings, members: Members, mode: ReplyMode
    ) -> None:
        self._host = host
        self._members = members
        self._connection = connection
        self._surroundings = surroundings
        self._mode = mode
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
        )
        @app_commands.choices(
            depth=[app_commands.Choice(name=name, value=depth.value) for depth, name in DEPTHS.items()]
        )
        @everywhere
        async def ask(  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            interaction: Interaction,
            question: app_commands.Range[str, 1, MAX_QUESTION_CHARS],
            private: bool = False,  # noqa: FBT001, FBT002 -- an option of the command
            depth: str = Depth.ADAPT.value,
        ) -> None:
            await self.ask(interaction, question, private=private, depth=Depth(depth))

        @tree.command(name="forget", description="Forget what you told me")
        @app_commands.describe(
            what="thread, everything, 2 hours, since Monday, or about and a word",
            delete_replies="Delete my replies to it here, too",
        )
        @app_commands.autocomplete(what=self.forgettable)
        @everywhere
        async def forget(  # pyright: ignore[reportUnusedFunction] -- as above
            interaction: Interaction,
            what: str,
            delete_replies: bool = False,  # noqa: FBT001, FBT002 -- an option of the command
        ) -> None:
            await forgetting.ask(interaction, self._host, what, replies=delete_replies)

        @tree.command(name="memory", description="See what I remember about you, and decide about it")
        @app_commands.describe(
            words="delete 3, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, resume or help"
        )
        @everywhere
        async def memory(interaction: Interaction, words: str = "") -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await memory_view.show(interaction, self._host, self._members, words)

        @tree.command(name="usage", description="Show what your questions took today and this month")
        @everywhere
        async def usage(interaction: Interaction) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await answer_alone(interaction, self._usage(interaction))

    async def ask(self, interaction: Interaction, text: str, *, private: bool, depth: Depth) -> None:
        """Take the question in, and acknowledge it within three seconds."""
        now = self._connection.clock.now()
        question = replace(_question(interaction, text, now, private=private), depth=depth)
        if not self._connection.acknowledging(str(interaction.id)):
            return
        storing = asyncio.ensure_future(self._store(interaction, question))
        try:
            await asyncio.wait({storing}, timeout=STORE_FIRST_S)
            if refusals.failure(storing) is None:
                await _acknowledge(interaction, private=question.private and not question.where.direct)
        finally:
            self._connection.acknowledged(str(interaction.id))
        try:
            await storing
        except CogencyError as error:
            if not isinstance(error, Refused):
                log.warning("a question could not be taken in: %s", error)
            await refusals.answer(interaction, error)

    async def forgettable(self, interaction: Interaction, typed: str) -> list[app_commands.Choice[str]]:  # noqa: ARG002 -- the same for all
        """What can be forgotten, offered while somebody types."""
        return [app_commands.Choice(name=words, value=words) for words in FORGETTABLE if typed.lower() in words]

    async def _usage(self, interaction: Interaction) -> str:
        return account_text(await self._host.usage(known_as(interaction.user.id)))

    async def _store(self, interaction: Interaction, question: Question) -> bool:
        author = await self._members.known(question.author, direct=question.where.direct)
        incoming = asked(replace(question, author=author), self._mode)
        self._remember((question.where.channel, question.author.id), incoming.conversation)
        brought = await self._surroundings.of_question(
            question.text,
            interaction.user.id,
            interaction.channel,
            incoming.place,
            import_thread=await self._is_new_thread(question.where, incoming),
        )
        return await self._host.take(replace(incoming, quoted=brought.quoted))

    def _remember(self, who: tuple[int, int], conversation: str) -> None:
        self._asked_last.pop(who, None)
        self._asked_last[who] = conversation
        if len(self._asked_last) > MAX_REMEMBERED:
            del self._asked_last[next(iter(self._asked_last))]

    async def _is_new_thread(self, where: Where, incoming: Incoming) -> bool:
        return where.parent is not None and await self._host.participants(incoming.conversation) is None


async def _acknowledge(interaction: Interaction, *, private: bool) -> None:
    try:
        await interaction.response.defer(ephemeral=private, thinking=True)
    except discord.HTTPException as error:
        if error.code not in {UNKNOWN_INTERACTION, ALREADY_ACKNOWLEDGED}:
            raise
        log.info("an interaction could not be acknowledged any more (Discord's error %d)", error.code)


def _question(interaction: Interaction, text: str, now: datetime, *, private: bool) -> Question:
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
        text=readable(text, _names(interaction)),
        private=private,
        time=now,
        private_place=reading.private_place_of(interaction),
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
