"""Read the history of Discord's channels, threads and forum posts, when a user asks for it.

Rules

- Access is checked at each call: the asker's membership in the server is fetched again, and Discord's permissions say
  whether they may view the channel and read its history; for a private thread also whether they are a member of it.
- Servers in which the bot does not answer are not read. In a server, a channel name means one of its own channels; in
  direct messages, one of any server that the asker and the bot share.
- With a channel its newest threads are read, of a forum its newest posts; private threads only if named.
- Without message content access Discord leaves out the text of other people's messages: the result says so.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import discord

from agent.errors import ToolError
from agent.memory.periods import TimeSpan
from agent.ports.tools import ToolContext
from agent.tools.read_channel import ChannelMessage, ChannelPage, FoundChannel
from bot.platforms.discord.markup import readable
from bot.platforms.discord.message_content import Content, content_of
from bot.platforms.discord.objects import READ_MESSAGE_TYPES, channel_place, is_automatic, names_of
from bot.platforms.discord.places import UNREADABLE, DiscordMembership, Readable, known_as
from bot.platforms.discord.reply_to import decode_address

MESSAGES_PAGE: Final = 100  # Discord's limit
# Read together with a channel or a forum: one call each; the newest are the likeliest to be asked about.
MAX_THREADS: Final = 10
MAX_PAGES: Final = 60  # Per reading, threads included: twice what a week of 2,000 messages takes
MAX_NAMED: Final = 10  # Channels of the same name for which the asker's access is checked

NO_THREAD: Final = "this question is not in a thread: give a link to the thread"
NOT_ALLOWED: Final = "you may not read that channel's history: its managers would have to grant you {lacking} there"
NO_CONTENT: Final = (
    "You have no message content access on Discord, so you see other people's messages only if they mention you. Say "
    "so."
)
LONG_THREADS: Final = "some threads are long, and not all of their messages were read."
UNREAD: Final = "Discord did not return any more messages, so older ones were not read."
UNKNOWN: Final = "Discord did not say what that channel is or who can read it: try again in a moment"
SEPARATOR: Final = "/"

Channel: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


@dataclass(frozen=True, slots=True)
class MeantChannel:
    """A channel by its id, or else by its name, read from a message id on; 0 for the channel's beginning."""

    id: int = 0
    name: str = ""
    start: int = 0


def meant_channel(where: str, channel: int, thread: int) -> MeantChannel:
    """Return the channel that `where` names, for an asker in `channel` and, unless 0, in its thread `thread`. Pure.

    Raises ToolError.
    """
    name = where.strip().strip("<>#").strip()
    if "/channels/" in name:
        _, _, path = name.partition("/channels/")
        ids = [int(part) for part in path.split("?")[0].split(SEPARATOR)[1:3] if _is_id(part)]
        return MeantChannel(ids[0] if ids else 0, start=ids[1] if len(ids) > 1 else 0)
    match name.casefold():
        case "thread" | "this thread":
            if not thread:
                raise ToolError(NO_THREAD, ours=True)
            return MeantChannel(thread)
        case "" | "channel" | "this channel" | "here":
            return MeantChannel(channel)
        case _:
            return MeantChannel(int(name)) if _is_id(name) else MeantChannel(name=name.casefold())


def _is_id(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) <= 20


@dataclass(frozen=True, slots=True)
class DiscordChannelReader:
    """The port ChannelReader. `refuses`: whether the bot does not answer in a server."""

    client: discord.Client
    refuses: Callable[[int | None], bool]

    async def find(self, where: str, context: ToolContext) -> FoundChannel | None:
        read, start = await self.readable(where, context)
        return None if read is None else self._found(read, start)

    async def readable(self, where: str, context: ToolContext) -> tuple[Readable | None, int]:
        """Return the channel or thread that `where` names and that the asker can read now, None if there is none, and
        the message from which it is meant, 0 for its beginning. Raises ToolError if this is unknown.
        """
        asked_channel, thread = _asked_at(context)
        meant = meant_channel(where, asked_channel, thread)
        try:
            candidates = [await self._channel(meant.id)] if meant.id else await self._named(meant.name, asked_channel)
            for channel in candidates:
                if not isinstance(channel, Readable) or self.refuses(channel.guild.id):
                    continue
                forum_post = isinstance(channel, discord.ForumChannel) and not where and thread
                read = await self._channel(thread) if forum_post else channel
                if isinstance(read, Readable) and await self._may_read(read, context):
                    return read, meant.start
        except UNREADABLE as error:
            raise ToolError(UNKNOWN, ours=True) from error
        return None, 0

    async def _channel(self, number: int) -> object:
        """Return the channel; None if there is none that the bot sees. Raises UNREADABLE."""
        try:
            return self.client.get_channel(number) or await self.client.fetch_channel(number)
        except (discord.InvalidData, discord.Forbidden, discord.NotFound):
            return None

    async def _named(self, name: str, channel_id: int) -> Sequence[object]:
        asked_in = await self._channel(channel_id)
        guild = asked_in.guild if isinstance(asked_in, Readable) else None
        guilds = [guild] if guild is not None else self.client.guilds
        channels = (channel for server in guilds for channel in (*server.channels, *server.threads))
        return [channel for channel in channels if channel.name.casefold() == name][:MAX_NAMED]

    async def _may_read(self, channel: Readable, context: ToolContext) -> bool:
        """Raises ToolError if that is unknown."""
        if not context.kind.begun_by_event:
            return await self._reads(channel, context.person.id)
        # It is read by those who read its own channel, and by nobody else.
        if isinstance(channel, discord.Thread):
            return str(channel.parent_id) == context.channel and not channel.is_private()
        return str(channel.id) == context.channel

    async def _reads(self, channel: Readable, person: str) -> bool:
        """Return whether the person can read the channel now. Raises ToolError if that is unknown."""
        place = known_as(channel.id)
        reads = (await DiscordMembership(self.client).readable(person, [place])).get(place)
        if reads is None:
            raise ToolError(UNKNOWN, ours=True)
        return reads

    def _found(self, channel: Readable, start: int) -> FoundChannel:
        can = channel.permissions_for(channel.guild.me)
        if not (can.view_channel and can.read_message_history):
            lacking = "View Channel and Read Message History"
            raise ToolError(NOT_ALLOWED.format(lacking=lacking), ours=True)
        begins = discord.utils.snowflake_time(start or channel.id)
        return FoundChannel(
            id=f"{channel.id}{SEPARATOR}{start}",
            channel=str(channel.parent_id if isinstance(channel, discord.Thread) else channel.id),
            name=f"#{channel.name}",
            audience=channel_place(channel).audience,
            reads=True,
            note="" if self.client.intents.message_content else NO_CONTENT,
            begins=begins if start or isinstance(channel, discord.Thread) else None,
            link=channel.jump_url,
        )

    async def read(self, channel: FoundChannel, span: TimeSpan, limit: int) -> AsyncGenerator[ChannelPage, None]:
        try:
            number, start = map(int, channel.id.split(SEPARATOR))
            found = await self._channel(number)
            if not isinstance(found, Readable):
                return
            earliest, calls = max(start, discord.utils.time_snowflake(span.since)), iter(range(MAX_PAGES))
            if isinstance(found, Channel):
                async for page in self._pages(calls, found, earliest, span.until, limit):
                    yield page
            for thread in _threads_of(found, earliest, span.until):
                async for page in self._pages(calls, thread, earliest, span.until, limit):
                    yield page
            if next(calls, None) is None:
                yield ChannelPage(left=LONG_THREADS)
        except UNREADABLE:
            yield ChannelPage(left=UNREAD)

    async def _pages(
        self, calls: Iterator[int], channel: Channel, earliest: int, until: datetime, limit: int
    ) -> AsyncGenerator[ChannelPage, None]:
        """Read from message `earliest` on, newest first, taking one of `calls` per page. Raises UNREADABLE."""
        count, before = 0, discord.Object(discord.utils.time_snowflake(until, high=True))
        for _ in calls:
            page = [
                message async for message in channel.history(limit=MESSAGES_PAGE, before=before, oldest_first=False)
            ]
            in_span = [message for message in page if message.id >= earliest]
            yield ChannelPage(
                tuple(self._message(channel, message) for message in in_span if message.type in READ_MESSAGE_TYPES)
            )
            count += len(in_span)
            if count >= limit or len(page) < MESSAGES_PAGE or len(in_span) < len(page):
                return
            before = discord.Object(page[-1].id)

    def _message(self, channel: Channel, message: discord.Message) -> ChannelMessage:
        in_thread = isinstance(channel, discord.Thread)
        me, content = self.client.user, content_of(message)
        return ChannelMessage(
            id=str(message.id),
            person=known_as(message.author.id),
            name=message.author.display_name,
            time=message.created_at,
            text="\n".join(_texts_of(message, content, channel)),
            link=message.jump_url,
            files=tuple(file.filename for file in (*message.attachments, *content.files)),
            root=str(channel.id) if in_thread else "",
            begun=_started_at(channel) if in_thread else None,
            by_bot=is_automatic(message),
            ours=me is not None and message.author.id == me.id,
        )


def _asked_at(context: ToolContext) -> tuple[int, int]:
    """Return the channel in which the question was asked, and its thread; 0 for none."""
    here = int(context.channel) if _is_id(context.channel) else 0
    try:
        asked_channel = decode_address(context.reply_to).channel
    except (TypeError, ValueError):
        return here, 0
    return here, int(asked_channel) if _is_id(asked_channel) and asked_channel != context.channel else 0


def _threads_of(channel: Readable, earliest: int, until: datetime) -> list[discord.Thread]:
    """Return the newest threads of a channel, or posts of a forum, with messages in that time."""
    if not isinstance(channel, discord.TextChannel | discord.ForumChannel):
        return []
    active = [
        thread
        for thread in channel.threads
        if not thread.is_private()
        and (thread.last_message_id or thread.id) >= earliest
        and _started_at(thread) <= until
    ]
    return sorted(active, key=lambda thread: thread.last_message_id or thread.id, reverse=True)[:MAX_THREADS]


def _started_at(thread: discord.Thread) -> datetime:
    return discord.utils.snowflake_time(thread.id)


def _texts_of(message: discord.Message, content: Content, channel: Channel) -> Iterator[str]:
    """Yield all that the message shows, after the title of its forum post."""
    if isinstance(channel, discord.Thread) and message.id == channel.id:
        yield f"({channel.name})"
    if words := readable(content.whole, names_of(message, content.whole)).strip():
        yield words
