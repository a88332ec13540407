"""Take in messages, edits and deletions on Discord and pass them to the host.

Messages of one channel are handled in the order of their arrival, however long it takes to fetch what one of them
refers to, or to store it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar, assert_never
from weakref import WeakValueDictionary

import discord

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused, StoreUnavailable, Unexpected
from agent.incoming import Incoming
from agent.repeats import repeats_of
from bot.chat import intake as message_intake
from bot.chat.access.admission import NoticeThrottle
from bot.chat.askers import Requester
from bot.chat.attachments.kinds import naming
from bot.chat.commands.declaration import BoundCommand, CommandCall
from bot.chat.host import Host
from bot.chat.intake import MessageFacts, decide, is_stop
from bot.chat.logs import severity
from bot.chat.message_caller import MessageCaller
from bot.chat.message_events import QuestionToAll
from bot.chat.open_questions import is_open_question
from bot.chat.reply.split import pages
from bot.chat.texts import replies as reply_texts
from bot.chat.unexpected import unexpected_logged
from bot.chat.watermark import Watermark
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import checks, inbound, interactions, objects, pressing
from bot.platforms.discord.attachments import attachments
from bot.platforms.discord.caller import WINDOW_FIELDS
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations, DiscordMessage
from bot.platforms.discord.forums import writes_on
from bot.platforms.discord.inbound import DiscordBot, DiscordPost
from bot.platforms.discord.members import DiscordMemberUnknown, Members, Servers, refusal
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.places import SOURCE, UNREADABLE, known_as
from bot.platforms.discord.reply_to import decode_address
from bot.platforms.discord.settings import ReplyMode
from bot.platforms.discord.slash_commands import command_in, help_text
from bot.platforms.discord.surface import PAGE_CHARS
from bot.platforms.discord.surroundings import ChannelUnknown, Surroundings

log = logging.getLogger(__name__)

T = TypeVar("T")

# Temporary failures: the message is kept and tried again.
PASSING: Final = (StoreUnavailable, DiscordMemberUnknown, ChannelUnknown)


class DiscordIntake:
    def __init__(
        self,
        client: discord.Client,
        host: Host,
        settings: DiscordOptions,
        connection: Connection,
        listening: Watermark,
        surroundings: Surroundings,
        members: Members,
        servers: Servers,
        conversations: DiscordConversations,
    ) -> None:
        self._client = client
        self._host = host
        self._settings = settings
        self._connection = connection
        self._listening = listening
        self._surroundings = surroundings
        self._members = members
        self._servers = servers
        self._conversations = conversations
        self._notices = NoticeThrottle(connection.clock)
        self._orders: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def in_order(self, channel: int) -> asyncio.Lock:
        """Return the lock that is held while an event of this channel is handled."""
        return self._orders.setdefault(channel, asyncio.Lock())

    async def arrived(self, message: discord.Message, before: Callable[[discord.Message], Awaitable[None]]) -> None:
        """Handle a new message. `before` takes in the messages missed in its channel."""

        me, post = self._me(message.guild), objects.post_of(message, self._connection.clock.now())
        for_us = post.where.direct or inbound.mentioned(post, me)

        async def take() -> bool:
            await before(message)
            return await self._take(message)

        async def tell_to_wait(error: CogencyError) -> None:
            notice = (
                platforms_texts.KEPT_WAITING
                if isinstance(error, StoreUnavailable)
                else platforms_texts.DISCORD_KEPT_WAITING
            )
            if for_us and not self._notices.was_shown(str(message.author.id), notice):
                await self._reply(message, notice)

        if for_us and not post.author.automatic:
            self._connection.expect_sign(str(message.id), str(message.channel.id))
        is_answered = False
        async with self.in_order(message.channel.id):
            try:
                with unexpected_logged(f"message {message.id}"):
                    is_answered = await self._listening.retry(take, tell_to_wait, passing=PASSING)
            except Refused as refused:
                await interactions.tell_in_dm(message.author, refused, self._connection)
            except CogencyError as failure:
                log.log(severity(failure), "message %d could not be accepted: %s", message.id, failure)
                if for_us or not isinstance(failure, Unexpected):
                    await self._reply(message, platforms_texts.failure(failure))
        if not is_answered:
            self._connection.mark_signed(str(message.id))

    async def arrived_late(self, message: discord.Message) -> bool:
        """Handle a missed message; return whether it was new and is answered. Raises CogencyError."""
        try:
            with unexpected_logged(f"the missed message {message.id}", *UNREADABLE):
                return await self._take(message, late=True)
        except Refused as refused:
            log.info("the missed message %d is not answered: %s", message.id, refused)
            return False
        except Unexpected:  # the other messages are still taken in
            return False

    async def edited(self, message: discord.Message) -> None:
        async with self.in_order(message.channel.id):
            await self.apply_change(lambda: self.amend(message))

    async def amend(self, message: discord.Message) -> None:
        """Apply an edit to a waiting question and to what is stored; an edit starts no answer. Raises CogencyError and
        UNREADABLE.
        """
        with unexpected_logged(f"an edit of message {message.id}", *UNREADABLE):
            await self._amend(message)

    async def _amend(self, message: discord.Message) -> None:
        self._host.events.changed(SOURCE, str(message.channel.id), str(message.id))
        await self._surroundings.find_channel(message)
        post, me = objects.post_of(message, self._connection.clock.now()), self._me(message.guild)
        if (changed := inbound.read_post(post, me, ReplyMode.IN_PLACE)) is not None:
            files = attachments(message.attachments, "", voice=message.flags.voice)
            whole, alone = (naming(one.text, files) for one in (inbound.read_context(post, changed, me), changed))
            for message_id in (changed.message_id, *repeats_of(changed.message_id)):
                known = await self._host.events.edited(SOURCE, changed.channel, message_id, whole, alone)
                if not known and message_id != changed.message_id:
                    return

    async def deleted(self, channel: int, guild: int | None, messages: Collection[int]) -> None:
        for message in messages:
            self._host.events.changed(SOURCE, str(channel), str(message))
        async with self.in_order(channel):
            message_ids = {
                message_id for message in messages for message_id in (str(message), *repeats_of(str(message)))
            }

            async def withdraw() -> None:
                parent = channel if guild is None else await self._surroundings.parent_of(channel)
                await self._host.events.deleted(SOURCE, str(parent), message_ids)

            await self.apply_change(withdraw)
            await self.apply_change(lambda: pressing.messages_deleted(self._host, self._connection, channel, messages))

    async def apply_change(self, change: Callable[[], Awaitable[object]]) -> None:
        """Apply a change, retrying while the database or Discord fails; a lasting failure is logged."""
        try:
            await self._listening.retry(change, passing=PASSING)
        except CogencyError as error:
            log.warning("an edit, deletion or archived thread on Discord could not be applied: %s", error)

    async def _take(self, message: discord.Message, *, late: bool = False) -> bool:
        """Return whether the message was new and is answered."""
        me = self._me(message.guild)
        server = message.guild.id if message.guild is not None else getattr(message.channel, "guild_id", None)
        # Before anything is read of it: of a server that is not served nothing may be stored.
        if self._servers.is_unknown(server):
            raise DiscordMemberUnknown
        if server is not None and self._servers.refuses(server):
            return self._turn_away(message, server, me)
        await self._surroundings.find_channel(message)
        post = objects.post_of(message, self._connection.clock.now())
        # Other apps have no roles that could let them in, so Discord is not asked for theirs.
        if not post.author.automatic:
            post = replace(post, author=await self._members.author(post.author))
            if not late and writes_on(message):
                conversation, person = known_as(message.channel.id), known_as(message.author.id)
                await self._host.events.wrote_on(SOURCE, conversation, person, post.content)
        found = await self._conversations.of_post(post, me)
        if found is None:
            return False
        incoming = found.incoming
        # Only in a thread or a chain their number decides whether a message without a mention is for the bot.
        participants = await self._host.conversations.participants(incoming.conversation) if found.joined else None
        direct, mentioned = post.where.direct, inbound.mentioned(post, me)
        command = command_in(incoming, direct=direct)
        facts = MessageFacts(
            author=incoming.person.id,
            direct=direct,
            mentioned=mentioned,
            participants=participants,
            automatic=post.author.automatic,
            stops=is_stop(incoming.text),
            orders=bool(command),
            late=late,
            to_everybody=_to_everybody(post, incoming),
        )
        decision = decide(facts)
        if isinstance(decision, message_intake.TALK) and not (direct or late):
            self._host.events.talked(SOURCE, incoming.channel, incoming.person.id, incoming.message_id)
        if isinstance(decision, message_intake.Stop):
            decision = await self._stop(decision, message, incoming)
        match decision:
            case message_intake.Answer():
                return await self._ask(message, found, known=participants is not None)
            case message_intake.Consider():
                self._consider(message, post, me)
            case message_intake.StoreAsContext():
                await self._host.messages.record_context_message(inbound.read_context(post, incoming, me))
            case message_intake.RunCommand():
                await self._admit_order(incoming)
                await self._once(message, partial(self._obey, command, message, incoming, direct=direct))
            case message_intake.Ignore():
                pass
            case _:
                assert_never(decision)
        return False

    async def _obey(self, command: str, message: discord.Message, incoming: Incoming, *, direct: bool) -> None:
        """Run a command that takes files, and say how the others are used: Discord has forms for them."""
        bound = self._host.commands.get(command)
        if bound is not None and bound.declared.takes_files:
            await self._run_with_files(bound, message, incoming)
        elif command == "help":
            await self._answer(message, help_text(direct=direct))
        else:
            await self._answer(message, platforms_texts.use_command(command, direct=direct))

    def _consider(self, message: discord.Message, post: DiscordPost, me: DiscordBot) -> None:
        """Offer a question that was not addressed to the bot to `MessageEvents.asked_all`."""

        async def read() -> Incoming:
            found = await self._conversations.of_post(post, me, asked=True)
            if found is None:
                raise Refused(platforms_texts.NO_ANSWER_THERE)
            checks.check(message.channel, in_thread=bool(decode_address(found.incoming.reply_to).thread))
            return found.incoming

        channel, person = str(post.where.channel), known_as(post.author.id)
        self._host.events.asked_all(
            QuestionToAll(SOURCE, channel, str(post.id), person, read, self._host.messages.submit)
        )

    async def _run_with_files(self, command: BoundCommand, message: discord.Message, incoming: Incoming) -> None:
        """Run a command with the files of a message; the reply is public. Raises Refused and StoreError.

        A slash command takes one file, and not one that was posted before.
        """
        author, channel = message.author, message.channel
        managing = incoming.authority >= Authority.MANAGER
        if isinstance(author, discord.Member) and isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            managing |= channel.permissions_for(author).manage_channels
        caller = MessageCaller(incoming, WINDOW_FIELDS, manages=managing)
        files = attachments(message.attachments, incoming.person.name)
        call = CommandCall(words=incoming.text, caller=caller, files=files, link=message.jump_url)
        panel = await command.run(call)
        if panel.refused:
            raise Refused(panel.text)
        await self._reply(message, panel.text)

    def _turn_away(self, message: discord.Message, server: int, me: DiscordBot) -> bool:
        """Ignore a message in a server that is not served. Raises Refused if it mentions the bot."""
        post = objects.post_of(message, self._connection.clock.now())
        if inbound.mentioned(post, me) and not post.author.automatic and post.by_user:
            reason = refusal(server)
            raise Refused(reason, was_shown=self._notices.was_shown(str(post.author.id), reason))
        return False

    async def _ask(self, message: discord.Message, found: DiscordMessage, *, known: bool) -> bool:
        """Submit a question with what it refers to. Raises Refused if it cannot be answered in this channel."""
        incoming, in_thread = found.incoming, isinstance(message.channel, discord.Thread)
        goes_to_thread = in_thread or bool(decode_address(incoming.reply_to).thread)
        try:
            checks.check(message.channel, in_thread=goes_to_thread)
        except Refused as refused:
            raise Refused(str(refused), was_shown=self._notices.was_shown(incoming.person.id, str(refused))) from None
        starts_here = in_thread and not known
        context = await self._surroundings.of_message(message, incoming.place, import_thread=starts_here)
        self._connection.expect_sign(str(message.id), str(message.channel.id))
        return await self._host.messages.submit(replace(incoming, quoted=context.quoted, files=context.files))

    async def _admit_order(self, incoming: Incoming) -> None:
        """Raises Refused if the author may not use commands here."""
        requester = Requester.wrote(incoming)
        try:
            await self._host.admission.admit_order(requester, incoming.authority, incoming.person.time_zone)
        except Refused as refused:
            told = refused.was_shown or self._notices.was_shown(incoming.person.id, str(refused))
            raise Refused(str(refused), was_shown=told) from None

    async def _answer(self, message: discord.Message, text: str) -> None:
        """Reply to a command, unless the author got the same reply in this channel a short time ago."""
        if not self._notices.was_shown(str(message.author.id), f"{message.channel.id}:{text}"):
            await self._reply(message, text)

    async def _reply(self, message: discord.Message, text: str) -> None:
        try:
            for page in pages(text, PAGE_CHARS):
                await message.reply(page.text, mention_author=False, suppress_embeds=True)
        except UNREADABLE as error:
            self._connection.log_failure("a message could not be answered", error)

    async def _once(self, message: discord.Message, obey: Callable[[], Awaitable[T]]) -> T | None:
        """Run `obey` in the first of the processes that receive the message. Raises CogencyError."""
        return await self._host.deduplication.run_once(SOURCE, f"{message.channel.id}:{message.id}", obey)

    async def _stop(
        self, stop: message_intake.Stop, message: discord.Message, incoming: Incoming
    ) -> message_intake.AfterStop:
        """Handle the word "stop"; return what else is to be done. Raises Refused if it was addressed to the bot."""

        async def stopped() -> bool:
            await self._admit_order(incoming)
            if muted := await self._host.events.stopped(SOURCE, incoming.channel, incoming.conversation):
                await self._answer(message, platforms_texts.AMBIENT_MUTED)
            return await self._host.turns.stop_conversation(incoming.conversation) or muted

        async def refused(refusal: Refused) -> None:
            raise refusal

        nothing_runs = partial(self._answer, message, reply_texts.NOTHING_RUNNING)
        obey = partial(message_intake.stop_by_word, stop, stopped, nothing_runs, refused)
        return await self._once(message, obey) or message_intake.Ignore()

    def _me(self, guild: discord.Guild | None) -> DiscordBot:
        user = self._client.user
        assert user is not None  # noqa: S101 -- events come after the login
        role = guild.self_role if guild is not None else None
        return DiscordBot(user.id, frozenset({role.id} if role else ()), self._settings.allowed_bots)


def _to_everybody(post: DiscordPost, incoming: Incoming) -> bool:
    """Return whether the message starts a conversation in a channel and seems to be a question to everybody."""
    starts_conversation = post.where.parent is None and post.replies_to is None and not (post.mentions or post.carries)
    return starts_conversation and is_open_question(incoming.text)
