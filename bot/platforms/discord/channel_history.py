"""What was written in Discord's channels, threads and forum posts, read from Discord when somebody asks for it.

Rules
- Who may read what is asked at each call: who the asker is in the server is fetched anew, and Discord's permissions say
  whether they may view the channel and read its history; of a private thread also whether they are in it.
- Servers in which nobody is answered are not read. In a server its own channels are meant by their names; in direct
  messages those of every server that the asker and the bot share.
- Of a channel the newest threads are read along, of a forum its newest posts; private threads only when they are named.
- Without message content access Discord leaves out the words of others: what comes back says so.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import discord

from agent.errors import ToolError
from agent.memory.periods import TimeSpan
from agent.ports import ToolContext
from agent.tools.read_channel import ChannelMessage, ChannelPage, FoundChannel
from bot.platforms.discord.inbound import decode_address
from bot.platforms.discord.markup import readable
from bot.platforms.discord.objects import SAID, channel_place, is_automatic, names_of
from bot.platforms.discord.places import UNREADABLE, DiscordMembership, Readable, known_as

MESSAGES_PAGE: Final = 100  # Discord's own limit
# Read along with a channel or a forum: a call each, and the newest are what somebody has missed.
MAX_THREADS: Final = 10
MAX_PAGES: Final = 60  # Of one reading, its threads included: twice what a week of 2,000 messages takes
MAX_NAMED: Final = 10  # Channels of one name of which it is asked whether the asker reads them

NO_THREAD: Final = "this question stands in no thread: give a link to the thread that is meant"
NOT_ALLOWED: Final = "you may not read that channel's history: its managers would have to give you {lacking} there"
NO_CONTENT: Final = (
    "You have no message content access on Discord: of others you see only messages that mention you. Say so."
)
LONG_THREADS: Final = "there are long threads, and not all of them was read."
UNREAD: Final = "Discord did not let you read on; what is older was not read."
UNKNOWN: Final = "Discord does not tell now what that channel is, or who reads it; try again in a moment"
SEPARATOR: Final = "/"

Channel: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


@dataclass(frozen=True, slots=True)
class MeantChannel:
    """By its id, or else its name; from a message on, 0 for its beginning."""

    id: int = 0
    name: str = ""
    start: int = 0


def meant_channel(where: str, here: int, thread: int) -> MeantChannel:
    """What somebody means by `where`, who asks in the channel `here`, perhaps in one of its threads. Pure.

    Raises ToolError.
    """
    said = where.strip().strip("<>#").strip()
    if "/channels/" in said:
        _, _, path = said.partition("/channels/")
        ids = [int(part) for part in path.split("?")[0].split(SEPARATOR)[1:3] if _is_id(part)]
        return MeantChannel(ids[0] if ids else 0, start=ids[1] if len(ids) > 1 else 0)
    match said.casefold():
        case "thread" | "this thread":
            if not thread:
                raise ToolError(NO_THREAD, ours=True)
            return MeantChannel(thread)
        case "" | "channel" | "this channel" | "here":
            return MeantChannel(here)
        case _:
            return MeantChannel(int(said)) if _is_id(said) else MeantChannel(name=said.casefold())


def _is_id(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) <= 20


@dataclass(frozen=True, slots=True)
class DiscordChannelReader:
    """The port ChannelReader. `refuses`: whether nobody is answered in a server."""

    client: discord.Client
    refuses: Callable[[int | None], bool]

    async def find(self, where: str, context: ToolContext) -> FoundChannel | None:
        here, thread = _asked_at(context)
        wanted = meant_channel(where, here, thread)
        try:
            candidates = [await self._channel(wanted.id)] if wanted.id else await self._named(wanted.name, here)
            for channel in candidates:
                if not isinstance(channel, Readable) or self.refuses(channel.guild.id):
                    continue
                forum_post = isinstance(channel, discord.ForumChannel) and not where and thread
                read = await self._channel(thread) if forum_post else channel
                if isinstance(read, Readable) and await self._reads(read, context.person.id):
                    return self._found(read, wanted.start)
        except UNREADABLE as error:
            raise ToolError(UNKNOWN, ours=True) from error
        return None

    async def _channel(self, number: int) -> object:
        """None if there is none that the bot sees. Raises UNREADABLE."""
        try:
            return self.client.get_channel(number) or await self.client.fetch_channel(number)
        except (discord.InvalidData, discord.Forbidden, discord.NotFound):
            return None

    async def _named(self, name: str, here: int) -> Sequence[object]:
        asked_in = await self._channel(here)
        guild = asked_in.guild if isinstance(asked_in, Readable) else None
        guilds = [guild] if guild is not None else self.client.guilds
        known = (one for each in guilds for one in (*each.channels, *each.threads))
        return [one for one in known if one.name.casefold() == name][:MAX_NAMED]

    async def _reads(self, channel: Readable, person: str) -> bool:
        """As it is now. Raises ToolError for unknown."""
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
        """From the message of this id on, the newest first; one of `calls` for each page. Raises UNREADABLE."""
        count, before = 0, discord.Object(discord.utils.time_snowflake(until, high=True))
        for _ in calls:
            page = [one async for one in channel.history(limit=MESSAGES_PAGE, before=before, oldest_first=False)]
            fits = [one for one in page if one.id >= earliest]
            yield ChannelPage(tuple(self._message(channel, one) for one in fits if one.type in SAID))
            count += len(fits)
            if count >= limit or len(page) < MESSAGES_PAGE or len(fits) < len(page):
                return
            before = discord.Object(page[-1].id)

    def _message(self, channel: Channel, one: discord.Message) -> ChannelMessage:
        in_thread = isinstance(channel, discord.Thread)
        me = self.client.user
        return ChannelMessage(
            id=str(one.id),
            person=known_as(one.author.id),
            name=one.author.display_name,
            time=one.created_at,
            text="\n".join(_said(one, channel)),
            link=one.jump_url,
            files=tuple(file.filename for file in one.attachments),
            root=str(channel.id) if in_thread else "",
            begun=_begun(channel) if in_thread else None,
            by_bot=is_automatic(one),
            ours=me is not None and one.author.id == me.id,
        )


def _asked_at(context: ToolContext) -> tuple[int, int]:
    """The channel in which somebody asks, and the thread of it in which they do; 0 for none."""
    here = int(context.channel) if _is_id(context.channel) else 0
    try:
        asked = decode_address(context.reply_to).channel
    except (TypeError, ValueError):
        return here, 0
    return here, int(asked) if _is_id(asked) and asked != context.channel else 0


def _threads_of(channel: Readable, earliest: int, until: datetime) -> list[discord.Thread]:
    """Those of a channel, or the posts of a forum, in which something was said in that time; the newest."""
    if not isinstance(channel, discord.TextChannel | discord.ForumChannel):
        return []
    new = [
        one
        for one in channel.threads
        if not one.is_private() and (one.last_message_id or one.id) >= earliest and _begun(one) <= until
    ]
    return sorted(new, key=lambda one: one.last_message_id or one.id, reverse=True)[:MAX_THREADS]


def _begun(thread: discord.Thread) -> datetime:
    return discord.utils.snowflake_time(thread.id)


def _said(message: discord.Message, channel: Channel) -> Iterator[str]:
    """What it says: below the title of its forum post; of alerts, what stands in their boxes."""
    if isinstance(channel, discord.Thread) and message.id == channel.id:
        yield f"({channel.name})"
    if content := readable(message.content, names_of(message)).strip():
        yield content
    for original in message.message_snapshots:
        yield f"(forwarded) {readable(original.content, names_of(message))}".strip()
    if not content:
        for box in message.embeds:
            yield from filter(None, (box.title, box.description))
