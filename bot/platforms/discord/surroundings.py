"""What a message to the bot refers to: the thread before it, the message it replies to or links to, its files."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import discord

from agent.errors import CogencyError
from agent.memory.audience import GroupAudience, PersonAudience, Place, may_flow
from agent.records import AttachedMessage, Attachment, Quoted
from bot.platforms.discord.attachments import attachments
from bot.platforms.discord.inbound import pages_at
from bot.platforms.discord.markup import DiscordMessageLink, message_links, readable
from bot.platforms.discord.objects import SAID, channel_place, names_of
from bot.platforms.discord.places import UNREADABLE, Readable, can_read, known_as
from bot.texts import reply_texts

log = logging.getLogger(__name__)

MAX_THREAD_MESSAGES = 100  # One request of Discord's; a longer thread is summarised better from its end
# About five thousand tokens: what a model with a small window still takes beside everything else.
MAX_THREAD_CHARS = 20_000
MAX_THREAD_FILES = 5  # The newest ones: whoever asks about a file in a thread has just seen it
MAX_LINKS = 3  # Each costs a request or two; more links are rarely all meant
SOMEBODY = "somebody"  # Who wrote a forwarded message: Discord does not say
PATIENCE_S = 8.0  # The person sees nothing meanwhile, so it must be short


class ChannelUnknown(CogencyError):
    """Discord does not say what a channel is, which may pass: what was said there waits."""

    def __init__(self) -> None:
        super().__init__(reply_texts.DISCORD_WHERE)


@dataclass(frozen=True, slots=True)
class Brought:
    """What a message brings along: words, and files to be read when its turn runs."""

    quoted: tuple[Quoted, ...] = ()
    files: tuple[Attachment, ...] = ()


class Surroundings:
    """Rules.
    - It is context under the place's audience, and it is not stored as anybody's message.
    - A linked message is quoted only if the bot can read it, the asker can read it now, and what was said there may be
      used where the answer is read.
    - Everything is bounded, and whatever cannot be read in time is left out: the question matters more.
    """

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    async def find_channel(self, message: discord.Message) -> None:
        """Where it stands, if that is a thread that the library has not heard of yet, as one that was archived.

        Raises ChannelUnknown.
        """
        if message.guild is None or not isinstance(message.channel, discord.PartialMessageable):
            return
        found = await self._fetched(message.channel.id)  # without one it stays a place of which nothing is known
        if isinstance(found, discord.Thread | discord.TextChannel | discord.VoiceChannel | discord.StageChannel):
            message.channel = found

    async def parent_of(self, channel: int) -> int:
        """The channel that a thread of a server belongs to; any other channel itself. Raises ChannelUnknown."""
        found = self._client.get_channel(channel) or await self._fetched(channel)
        return found.parent_id if isinstance(found, discord.Thread) else channel

    async def _fetched(self, channel: int) -> object:
        """None if there is none that we may see. Raises ChannelUnknown."""
        try:
            return await self._client.fetch_channel(channel)
        except (discord.InvalidData, discord.Forbidden, discord.NotFound):
            return None
        except UNREADABLE as error:
            raise ChannelUnknown from error

    async def of_message(self, message: discord.Message, place: Place, *, import_thread: bool) -> Brought:
        """Everything that this message refers to, in the order in which a reader would come upon it."""
        return await _in_time(self._of_message(message, place, import_thread=import_thread))

    async def of_question(
        self,
        text: str,
        asker: int,
        channel: object,
        place: Place,
        *,
        import_thread: bool,
        files: Sequence[Attachment] = (),
    ) -> Brought:
        """The same for an `/ask` in `channel` with these files."""
        brought = await _in_time(self._of_question(text, asker, channel, place, import_thread=import_thread))
        return replace(brought, files=(*brought.files, *files))

    async def files_of(self, message: str, channel: object) -> tuple[Attachment, ...]:
        """What is attached to a message of this channel, or of the one in which this thread began; () if it is none."""
        begun = channel.parent if isinstance(channel, discord.Thread) and str(channel.id) == message else channel
        if not message.isdecimal() or not isinstance(begun, discord.abc.Messageable):
            return ()
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await begun.fetch_message(int(message))
        except UNREADABLE:
            return ()
        return tuple(attachments(found.attachments, found.author.display_name))

    async def files_now(self, message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
        """The port `FilesNow`: fetched again, as addresses of files expire, for whoever can read the channel or thread
        at this moment.
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
        """The thread or direct messages that its conversation is; else the channel that it was written in, as where no
        thread began. Raises UNREADABLE.
        """
        begun = message.conversation.removeprefix(known_as(""))
        if begun.isdecimal() and begun not in {message.message_id, message.channel}:
            with suppress(discord.NotFound):
                return self._client.get_channel(int(begun)) or await self._client.fetch_channel(int(begun))
        number = int(message.channel)
        return self._client.get_channel(number) or await self._client.fetch_channel(number)

    async def _of_message(
        self, message: discord.Message, place: Place, *, import_thread: bool
    ) -> AsyncGenerator[Quoted | Attachment, None]:
        forwarded = message.message_snapshots
        for file in attachments(message.attachments, message.author.display_name, voice=message.flags.voice):
            yield file
        for original in forwarded:
            for file in attachments(original.attachments, SOMEBODY, "file of a forwarded message"):
                yield file
        if import_thread and isinstance(message.channel, discord.Thread):
            for quoted in await self._thread(message.channel, before=message):
                yield quoted
        if (replied_to := await _replied_to(message)) is not None:
            yield _quote("the message that this one replies to", replied_to)
            author = replied_to.author.display_name
            for file in attachments(replied_to.attachments, author, "file of the message that this one replies to"):
                yield file
        for original in forwarded:
            said = readable(original.content, names_of(message))
            yield Quoted("a forwarded message", SOMEBODY, said, _original(message))
        async for quoted in self._linked(message.content, message.author.id, place):
            yield quoted

    async def _of_question(
        self, text: str, asker: int, channel: object, place: Place, *, import_thread: bool
    ) -> AsyncGenerator[Quoted | Attachment, None]:
        if import_thread and isinstance(channel, discord.Thread):
            for quoted in await self._thread(channel, before=None):
                yield quoted
        async for quoted in self._linked(text, asker, place):
            yield quoted

    async def _thread(self, thread: discord.Thread, before: discord.Message | None) -> list[Quoted | Attachment]:
        """The newest messages of a thread that fit, oldest first, and before them the message that it grew from; then
        their newest files.
        """
        kept: list[Quoted] = []
        files: list[Attachment] = []
        chars = 0
        with suppress(*UNREADABLE):
            async for message in thread.history(limit=MAX_THREAD_MESSAGES, before=before):
                quoted = _quote("earlier in this thread", message)
                chars += len(quoted.text)
                if chars > MAX_THREAD_CHARS:
                    break
                if quoted.text and message.type in SAID:
                    kept.append(quoted)
                    files += attachments(message.attachments, quoted.author, "file earlier in this thread")
        if chars <= MAX_THREAD_CHARS and isinstance(thread.parent, discord.TextChannel):
            with suppress(*UNREADABLE):
                first = await thread.parent.fetch_message(thread.id)
                kept.append(_quote("what this thread began with", first))
                files += attachments(first.attachments, kept[-1].author, "file with which this thread began")
        if isinstance(thread.parent, discord.ForumChannel):
            kept.append(Quoted("the title of this forum post", SOMEBODY, thread.name))
        return [*(quoted for quoted in reversed(kept) if quoted.text), *files[:MAX_THREAD_FILES]]

    async def _linked(self, text: str, asker: int, place: Place) -> AsyncGenerator[Quoted, None]:
        for link in message_links(text)[:MAX_LINKS]:
            with suppress(*UNREADABLE):
                if (message := await self._behind(link, asker, place)) is not None:
                    yield _quote("a linked message", message)

    async def _behind(self, link: DiscordMessageLink, asker: int, place: Place) -> discord.Message | None:
        """The message, if both the bot and the asker can read it and it may be used in this place."""
        guild = self._client.get_guild(link.guild) if link.guild is not None else None
        channel = guild.get_channel_or_thread(link.channel) if guild is not None else None
        if guild is None or not isinstance(channel, discord.TextChannel | discord.VoiceChannel | discord.Thread):
            return None
        member = await guild.fetch_member(asker)  # as they are now: roles in the cache may be old
        if not await can_read(channel, member):
            return None
        if not _may_be_used(channel_place(channel), place, known_as(guild.id)):
            return None
        return await channel.fetch_message(link.message)


def _may_be_used(source: Place, target: Place, server: str) -> bool:
    """The rule of audiences, for an asker who can read `source`, a place of this server, at this moment."""
    if isinstance(target.audience, PersonAudience):
        target = replace(target, within_team=server)
    readable_now = {source.audience.place} if isinstance(source.audience, GroupAudience) else set[str]()
    return may_flow(source.audience, target, readable_now)


async def _replied_to(message: discord.Message) -> discord.Message | None:
    """The message that this one answers, if it stands in the same place and still exists."""
    reference = message.reference
    if message.type is not discord.MessageType.reply or reference is None or reference.message_id is None:
        return None
    if isinstance(reference.resolved, discord.Message):
        return reference.resolved
    if reference.resolved is not None or reference.channel_id != message.channel.id:
        return None
    with suppress(*UNREADABLE):
        return await message.channel.fetch_message(reference.message_id)
    return None


def _original(message: discord.Message) -> tuple[str, ...]:
    """What the message that this one forwards would be called if it were a page of a reply."""
    at = message.reference
    return () if at is None or at.message_id is None else pages_at(at.channel_id, at.message_id)


def _quote(source: str, message: discord.Message) -> Quoted:
    text = readable(message.content, names_of(message)).strip()
    files = [f"(attached file {file.filename})" for file in message.attachments]
    pages = pages_at(message.channel.id, message.id)
    return Quoted(source, message.author.display_name, "\n".join(filter(None, [text, *files])), pages)


async def _in_time(found: AsyncGenerator[Quoted | Attachment, None]) -> Brought:
    """What could be had before our patience ran out."""
    had: list[Quoted | Attachment] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for one in found:
                had.append(one)  # noqa: PERF401 -- what came before the timeout is kept
    except TimeoutError:
        log.info("left out some of what a message refers to: it could not be read in time")
    finally:
        await found.aclose()
    return Brought(
        tuple(one for one in had if isinstance(one, Quoted) and one.text),
        tuple(one for one in had if isinstance(one, Attachment)),
    )
