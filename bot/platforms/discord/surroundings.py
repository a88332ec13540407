"""What a message to the bot refers to: the thread before it, the message it replies to or links to, its files."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import discord

from agent.errors import CogencyError
from agent.incoming import Attachment, Quoted
from agent.memory.audience import GroupAudience, PersonAudience, Place, label, may_flow
from agent.stored_messages import AttachedMessage
from bot.chat.message_parts import NOT_IN_TIME, UNREADABLE_LINK, UNREADABLE_REPLIED, UNREADABLE_THREAD
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.attachments import attachments
from bot.platforms.discord.markup import DiscordMessageLink, message_links, readable
from bot.platforms.discord.message_content import content_of
from bot.platforms.discord.objects import READ_MESSAGE_TYPES, channel_place, is_automatic, names_of
from bot.platforms.discord.places import UNREADABLE, Readable, can_read, known_as
from bot.platforms.discord.reply_to import pages_at

log = logging.getLogger(__name__)

MAX_THREAD_MESSAGES = 100  # One request; a longer thread is best represented by its end
# About five thousand tokens: a model with a small context window can take these beside everything else.
MAX_THREAD_CHARS = 20_000
MAX_THREAD_FILES = 5  # The newest ones: a question about a file in a thread is usually about a recent one
MAX_LINKS = 3  # Each costs a request or two; a question rarely refers to more
Linkable = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
EARLIER = "earlier in this thread"
REPLIED = "the message that this one replies to"
LINKED = "a linked message"
SOMEBODY = "somebody"  # The author of a forwarded message, whom Discord does not name
PATIENCE_S = 8.0  # Short, because the asker sees no response meanwhile


class ChannelUnknown(CogencyError):
    """Discord cannot currently describe a channel; messages from there wait."""

    def __init__(self) -> None:
        super().__init__(platforms_texts.DISCORD_WHERE)


@dataclass(frozen=True, slots=True)
class ReferencedContent:
    """The texts that a message refers to, and files to be read when its turn runs."""

    quoted: tuple[Quoted, ...] = ()
    files: tuple[Attachment, ...] = ()


class Surroundings:
    """Rules.

    - The content is context under the place's audience; it is not stored as a message of any person.
    - A linked message is quoted only if the bot and the asker can read it now, and its audience may be used where the
      answer is read.
    - A thread is read when the conversation with the bot begins. Of its later messages, people's are stored as they
      arrive; those of other apps, such as an alert that is resolved, are read again with each question.
    - Everything is bounded, and what cannot be read, or not in time, is named in a line: the question matters more.
    """

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    async def find_channel(self, message: discord.Message) -> None:
        """Set the message's channel if it is a thread that the library does not know, as one that was archived.

        Raises ChannelUnknown.
        """
        if message.guild is None or not isinstance(message.channel, discord.PartialMessageable):
            return
        # If it is not found, it stays a place of which nothing is known.
        found = await self._fetch_channel(message.channel.id)
        if isinstance(found, discord.Thread | discord.TextChannel | discord.VoiceChannel | discord.StageChannel):
            message.channel = found

    async def parent_of(self, channel: int) -> int:
        """Return the parent channel of a thread in a server; for any other channel, itself. Raises ChannelUnknown."""
        found = self._client.get_channel(channel) or await self._fetch_channel(channel)
        return found.parent_id if isinstance(found, discord.Thread) else channel

    async def _fetch_channel(self, channel: int) -> object:
        """Return the channel; None if there is none that the bot may see. Raises ChannelUnknown."""
        try:
            return await self._client.fetch_channel(channel)
        except (discord.InvalidData, discord.Forbidden, discord.NotFound):
            return None
        except UNREADABLE as error:
            raise ChannelUnknown from error

    async def of_message(self, message: discord.Message, place: Place, *, import_thread: bool) -> ReferencedContent:
        """Return everything that this message refers to, in reading order, and what it holds beside its own words."""
        content = content_of(message)
        found = await _in_time(self._of_message(message, place, content.files, import_thread=import_thread))
        names = names_of(message, content.whole)
        enclosed = content.quotes(lambda words: readable(words, names), SOMEBODY)
        return replace(found, quoted=(*found.quoted, *enclosed))

    async def of_question(
        self,
        text: str,
        asker: int,
        channel: object,
        place: Place,
        *,
        import_thread: bool,
        files: Sequence[Attachment] = (),
    ) -> ReferencedContent:
        """Return everything that an `/ask` in `channel` refers to, with these files."""
        content = await _in_time(self._of_question(text, asker, channel, place, import_thread=import_thread))
        return replace(content, files=(*content.files, *files))

    async def files_of(self, message: str, channel: object) -> tuple[Attachment, ...]:
        """Return the files of a message in this channel, or in the parent of a thread that it started; else ()."""
        source = channel.parent if isinstance(channel, discord.Thread) and str(channel.id) == message else channel
        if not message.isdecimal() or not isinstance(source, discord.abc.Messageable):
            return ()
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await source.fetch_message(int(message))
        except UNREADABLE:
            return ()
        files = (*found.attachments, *content_of(found).files)
        return tuple(attachments(files, found.author.display_name, by_bot=self._is_ours(found)))

    async def files_now(self, message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
        """The port `FilesNow`. File addresses expire, so the message is fetched again, if the person can still read
        it.
        """
        try:
            channel = await self._channel_of(message)
            if isinstance(channel, discord.DMChannel):
                reads = message.person == person
            else:
                user = int(person.removeprefix(known_as("")))
                reads = isinstance(channel, Readable) and await can_read(
                    channel, await channel.guild.fetch_member(user)
                )
        except (ValueError, discord.InvalidData, *UNREADABLE):
            return None
        return await self.files_of(message.message_id, channel) if reads else None

    async def _channel_of(self, message: AttachedMessage) -> object:
        """Return the thread or DM that its conversation is; otherwise, as where no thread was started, the channel in
        which it was written. Raises UNREADABLE.
        """
        thread = message.conversation.removeprefix(known_as(""))
        if thread.isdecimal() and thread not in {message.message_id, message.channel}:
            with suppress(discord.NotFound):
                return self._client.get_channel(int(thread)) or await self._client.fetch_channel(int(thread))
        number = int(message.channel)
        return self._client.get_channel(number) or await self._client.fetch_channel(number)

    async def _of_message(
        self,
        message: discord.Message,
        place: Place,
        forwarded: Sequence[discord.Attachment],
        *,
        import_thread: bool,
    ) -> AsyncGenerator[Quoted | Attachment, None]:
        for file in attachments(message.attachments, message.author.display_name, voice=message.flags.voice):
            yield file
        for file in attachments(forwarded, SOMEBODY, "file of a forwarded message", by_bot=True):
            yield file
        if isinstance(message.channel, discord.Thread):
            for quoted in await self._thread(message.channel, before=message, apps_alone=not import_thread):
                yield quoted
        replied_to = await _replied_to(message)
        if replied_to is None and _is_reply(message):
            yield Quoted(REPLIED, "", UNREADABLE_REPLIED)
        elif replied_to is not None:
            quoted, files = self.quote(REPLIED, replied_to)
            yield quoted
            source = "file of the message that this one replies to"
            for file in attachments(files, quoted.author, source, by_bot=quoted.by_bot):
                yield file
        async for quoted in self._linked(message.content, message.author.id, place):
            yield quoted

    async def _of_question(
        self, text: str, asker: int, channel: object, place: Place, *, import_thread: bool
    ) -> AsyncGenerator[Quoted | Attachment, None]:
        if isinstance(channel, discord.Thread):
            for quoted in await self._thread(channel, before=None, apps_alone=not import_thread):
                yield quoted
        async for quoted in self._linked(text, asker, place):
            yield quoted

    async def _thread(
        self, thread: discord.Thread, before: discord.Message | None, *, apps_alone: bool
    ) -> list[Quoted | Attachment]:
        """Return the newest messages of a thread that fit, oldest first, after its starting message; then files.

        `apps_alone`: only what other apps wrote there. A thread that the bot itself started began with a question.
        """
        me = self._client.user
        # A thread that the bot opened began with a question, which is in the conversation already.
        starts = not (apps_alone and me is not None and thread.owner_id == me.id)
        quotes: list[Quoted] = []
        files: list[Attachment] = []
        chars = 0
        try:
            async for message in thread.history(limit=MAX_THREAD_MESSAGES, before=before):
                if apps_alone and not self._is_of_other_app(message):
                    continue
                quoted, attached = self.quote(EARLIER, message)
                chars += len(quoted.text)
                # Read from the newest backwards, so that the limit cuts off the oldest.
                if chars > MAX_THREAD_CHARS:
                    break
                if quoted.text and message.type in READ_MESSAGE_TYPES:
                    quotes.append(quoted)
                    source = "file earlier in this thread"
                    files += attachments(attached, quoted.author, source, by_bot=quoted.by_bot)
        except UNREADABLE:
            quotes += [] if apps_alone else [Quoted(EARLIER, "", UNREADABLE_THREAD)]
        if starts and chars <= MAX_THREAD_CHARS and isinstance(thread.parent, discord.TextChannel):
            with suppress(*UNREADABLE):
                starter = await thread.parent.fetch_message(thread.id)
                if not apps_alone or self._is_of_other_app(starter):
                    quoted, attached = self.quote("the message that started this thread", starter)
                    quotes.append(quoted)
                    source = "file of the message that started this thread"
                    files += attachments(attached, quoted.author, source, by_bot=quoted.by_bot)
        # In a forum the question is often in the title only.
        if isinstance(thread.parent, discord.ForumChannel) and not apps_alone:
            quotes.append(Quoted("the title of this forum post", SOMEBODY, thread.name))
        return [*(quoted for quoted in reversed(quotes) if quoted.text), *files[:MAX_THREAD_FILES]]

    def quote(
        self, source: str, message: discord.Message, *, names_files: bool = True
    ) -> tuple[Quoted, tuple[discord.Attachment, ...]]:
        """Return a message with all that it shows as a quote, and its files. `names_files`: the quote lists them."""
        content = content_of(message)
        text = readable(content.whole, names_of(message, content.whole)).strip()
        names = [f"(attached file {file.filename})" for file in message.attachments if names_files]
        pages = pages_at(message.channel.id, message.id)
        author = message.author.display_name + (" (a bot)" if self._is_of_other_app(message) else "")
        by_bot = self._is_ours(message) or content.may_hold_ours
        quoted = Quoted(source, author, "\n".join(filter(None, [text, *names])), pages, by_bot)
        return quoted, (*message.attachments, *content.files)

    def _is_of_other_app(self, message: discord.Message) -> bool:
        me = self._client.user
        return is_automatic(message) and (me is None or message.author.id != me.id)

    def _is_ours(self, message: discord.Message) -> bool:
        return self._client.user is None or message.author.id == self._client.user.id

    async def _linked(self, text: str, asker: int, place: Place) -> AsyncGenerator[Quoted, None]:
        for link in message_links(text)[:MAX_LINKS]:
            message = None
            with suppress(discord.InvalidData, *UNREADABLE):
                message = await self._linked_message(link, asker, place)
            yield Quoted(LINKED, "", UNREADABLE_LINK) if message is None else self.quote(LINKED, message)[0]

    async def _linked_message(self, link: DiscordMessageLink, asker: int, place: Place) -> discord.Message | None:
        """Return the message, if both the bot and the asker can read it and it may be used in this place."""
        guild = self._client.get_guild(link.guild) if link.guild is not None else None
        if guild is None:
            return None
        # An archived thread is not among those that the library knows.
        channel = guild.get_channel_or_thread(link.channel) or await self._client.fetch_channel(link.channel)
        if not isinstance(channel, Linkable) or channel.guild.id != guild.id:
            return None
        member = await guild.fetch_member(asker)  # the cache may hold outdated roles
        if not await can_read(channel, member):
            return None
        if not _may_be_used(channel_place(channel), place, known_as(guild.id)):
            return None
        return await channel.fetch_message(link.message)


def _may_be_used(source: Place, target: Place, server: str) -> bool:
    """Apply the audience rule for an asker who can currently read `source`, a place of this server."""
    if isinstance(target.audience, PersonAudience):
        target = replace(target, within_team=server)
    readable_now = {label(source.audience)} if isinstance(source.audience, GroupAudience) else set[str]()
    return may_flow(source.audience, target, readable_now)


def _is_reply(message: discord.Message) -> bool:
    return message.type is discord.MessageType.reply


async def _replied_to(message: discord.Message) -> discord.Message | None:
    """Return the message that this one replies to, if it is in the same channel and still exists."""
    reference = message.reference
    if not _is_reply(message) or reference is None or reference.message_id is None:
        return None
    if isinstance(reference.resolved, discord.Message):
        return reference.resolved
    if reference.resolved is not None or reference.channel_id != message.channel.id:
        return None
    with suppress(*UNREADABLE):
        return await message.channel.fetch_message(reference.message_id)
    return None


async def _in_time(content: AsyncGenerator[Quoted | Attachment, None]) -> ReferencedContent:
    """Return what could be read within PATIENCE_S."""
    items: list[Quoted | Attachment] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for item in content:
                items.append(item)  # noqa: PERF401 -- items read before the timeout are kept
    except TimeoutError:
        log.info("some context of a message was left out, because it could not be read in time")
        items.append(Quoted("note", "", NOT_IN_TIME))
    finally:
        await content.aclose()
    return ReferencedContent(
        tuple(item for item in items if isinstance(item, Quoted) and item.text),
        tuple(item for item in items if isinstance(item, Attachment)),
    )
