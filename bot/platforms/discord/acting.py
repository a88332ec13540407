"""Acts on Discord for the person who asks: `agent.ports.acting.Hands`.

Rules
- The person's membership is fetched at each act, and Discord's permissions say what they and the bot may do in that
  channel; a time-out takes nearly all of them. For a private thread it also counts whether they are in it.
- An archived or locked thread takes no acts, but a post in one that is only archived, which opens it again.
- In slow mode nobody knows when a person may write next: only people whom it does not bind have something posted.
- A server may require a verification before members write. One who has a role, or who asked by a message there, has it.
- Each message has a nonce, made of the call's name. If Discord does not answer, it is sent again with the same one.
- A thread below a message can be started once. One without a message, and a post in a forum, has no nonce: it is asked
  for once, and if Discord does not answer, whether it was started is not known.
- A moderated tag of a forum takes a right over others' posts, so that it is not used.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2s
from typing import Final, TypeAlias, TypeVar, assert_never

import discord

from agent.errors import ToolError
from agent.memory.attribution import stated
from agent.ports.acting import ActRight, ActTarget, NewPoll, NewThread, Posted
from agent.ports.acts import Poll
from agent.ports.tools import ToolContext
from bot.chat.reply.split import pages
from bot.chat.reply.surface import PageGone, PageInvalid, PageLimited, PageLocked, PageUnsent, SurfaceError
from bot.chat.reply.tables import show_tables
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import scheduled_events
from bot.platforms.discord.channel_history import DiscordChannelReader
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.markup import message_links
from bot.platforms.discord.objects import channel_place
from bot.platforms.discord.options import MANAGERS_GIVE, PERMISSIONS
from bot.platforms.discord.places import UNREADABLE, Readable, acts_in, known_as
from bot.platforms.discord.reply_to import decode_address, place_of_page
from bot.platforms.discord.rest import NoThread, Rest
from bot.platforms.discord.scheduled_events import DiscordEvents, event_of, event_page
from bot.platforms.discord.surface import NONCE_BYTES, PAGE_CHARS, TABLE_WIDTH
from bot.platforms.emoji import emoji_character

MENTION_CHARS: Final = 24  # By which a mention may be longer than the name in its place
# Discord's limits of a poll's texts.
QUESTION_CHARS: Final = 300
OPTION_CHARS: Final = 55
MAX_TITLE: Final = 100
MAX_TOPIC: Final = 1_024
PATIENCE_S: Final = 45.0  # For one rate limit

_TITLES: Final = {**PERMISSIONS, **MANAGERS_GIVE}
_WRITES: Final = frozenset({ActRight.POST, ActRight.POLL, ActRight.THREAD})  # What slow mode binds
_ALSO_ARCHIVED: Final = frozenset({ActRight.POST, ActRight.POLL})  # What opens an archived thread again
_IN_FORUMS: Final = frozenset({ActRight.THREAD, ActRight.TOPIC, ActRight.EVENT})
_OF_CHANNELS: Final = {  # What text channels and forums have, and what is said elsewhere
    ActRight.THREAD: platforms_texts.ACT_NO_THREADS,
    ActRight.TOPIC: platforms_texts.ACT_NO_TOPIC,
}
_Writable: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
_T = TypeVar("_T")


def needed(right: ActRight, channel: Readable) -> tuple[str, ...]:
    """Return discord.py's names of the permissions for this, beside reading the channel. Pure."""
    in_thread, in_forum = isinstance(channel, discord.Thread), isinstance(channel, discord.ForumChannel)
    match right:
        case ActRight.POST:
            return ("send_messages_in_threads",) if in_thread else ("send_messages",)
        case ActRight.POLL:
            return ("send_messages_in_threads" if in_thread else "send_messages", "send_polls")
        case ActRight.REACT:
            return ("add_reactions",)
        case ActRight.PIN:
            return ("pin_messages",)
        case ActRight.CHANGE:
            return ()
        case ActRight.THREAD:
            # Discord: in a forum the right to write messages is the one to start posts.
            return ("send_messages" if in_forum else "create_public_threads", "send_messages_in_threads")
        case ActRight.TOPIC:
            return ("manage_channels",)
        case ActRight.EVENT:
            return scheduled_events.needed(channel)
        case ActRight.BOOKMARK | ActRight.CANVAS:
            raise ToolError(platforms_texts.ACT_NO_RIGHT, ours=True)  # Discord has neither
        case _:
            assert_never(right)


def is_bound_by_slowmode(channel: Readable, granted: discord.Permissions) -> bool:
    is_free = granted.bypass_slowmode or granted.manage_messages or granted.manage_channels or granted.manage_threads
    return channel.slowmode_delay > 0 and not is_free


@dataclass(frozen=True, slots=True)
class DiscordHands:
    client: discord.Client
    connection: Connection
    reader: DiscordChannelReader
    counts_polls: bool = True
    bookmarks: None = None
    canvases: None = None

    @property
    def events(self) -> DiscordEvents:
        return DiscordEvents(self.client, self._call)

    def page_of(self, link: str) -> tuple[ActRight, str] | None:
        page = event_page(link)
        return (ActRight.EVENT, page) if page else None

    @property
    def threads(self) -> "DiscordHands":
        return self

    @property
    def topics(self) -> "DiscordHands":
        return self

    async def find(self, where: str, right: ActRight, context: ToolContext) -> ActTarget:
        channel, _ = await self.reader.readable(where, context)
        return await self._found(channel, right, context)

    async def find_message(self, link: str, right: ActRight, context: ToolContext) -> ActTarget:
        links = message_links(link)
        if not links:
            raise ToolError(platforms_texts.ACT_NO_LINK, ours=True)
        channel, _ = await self.reader.readable(str(links[0].channel), context)
        target = await self._found(channel, right, context)
        number = str(links[0].message)
        try:
            await (await self.connection.rest()).read(target.thread or target.channel, number)
        except PageGone as gone:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True) from gone
        except SurfaceError as error:
            raise ToolError(platforms_texts.ACT_UNKNOWN, ours=True) from error
        return replace(target, message=number, page=f"{target.thread or target.channel}/{number}")

    async def _found(self, channel: Readable | None, right: ActRight, context: ToolContext) -> ActTarget:
        """Return the channel as a target, if the person may do this there now. Raises ToolError."""
        if channel is None:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
        in_forum = isinstance(channel, discord.ForumChannel)
        if in_forum and right not in _IN_FORUMS:
            raise ToolError(platforms_texts.ACT_NO_CHANNEL, ours=True)
        if right in _OF_CHANNELS and not isinstance(channel, discord.TextChannel | discord.ForumChannel):
            raise ToolError(_OF_CHANNELS[right], ours=True)
        in_thread = isinstance(channel, discord.Thread)
        if in_thread and (channel.locked or (channel.archived and right not in _ALSO_ARCHIVED)):
            raise ToolError(platforms_texts.ACT_ARCHIVED, ours=True)
        member = await self._member(channel, context)
        self._check(channel, member, ("view_channel", "read_message_history"), right)
        if right in _WRITES and is_bound_by_slowmode(channel, channel.permissions_for(member)):
            raise ToolError(platforms_texts.ACT_SLOWMODE, ours=True)
        parent = channel.parent_id if in_thread else channel.id
        if right is ActRight.EVENT:
            place = scheduled_events.place_of_events(channel)
            is_there = scheduled_events.has_events(channel)
            name = f"#{channel.name}" if is_there else platforms_texts.ACT_THE_SERVER
            return ActTarget(str(parent), place, name, acts_in(parent))
        return ActTarget(
            channel=str(parent),
            place=channel_place(channel),
            name=f"#{channel.name}",
            conversation=acts_in(channel.id),
            thread=str(channel.id) if in_thread else "",
        )

    def _check(self, channel: Readable, member: discord.Member, reading: tuple[str, ...], right: ActRight) -> None:
        """Raises ToolError if the person or the bot lacks a permission for this."""
        me, names = channel.guild.me, needed(right, channel)
        pairs = [(channel.permissions_for(member), channel.permissions_for(me), reading)]
        if right is ActRight.EVENT and not scheduled_events.has_events(channel):
            pairs.append((member.guild_permissions, me.guild_permissions, names))
        else:
            pairs.append((*pairs[0][:2], names))
        if not all(getattr(theirs, name) for theirs, _, wanted in pairs for name in wanted):
            raise ToolError(platforms_texts.ACT_NO_RIGHT, ours=True)
        if missing := [_TITLES[name].title for _, ours, wanted in pairs for name in wanted if not getattr(ours, name)]:
            raise ToolError(platforms_texts.ACT_BOT_LACKS.format(missing=", ".join(missing)), ours=True)

    async def _member(self, channel: Readable, context: ToolContext) -> discord.Member:
        """Return the person as a member of the server now. Raises ToolError for one who may write nowhere there."""
        number = context.person.id.removeprefix(known_as(""))
        try:
            member = await channel.guild.fetch_member(int(number) if number.isdecimal() else 0)
        except discord.NotFound as gone:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True) from gone
        except UNREADABLE as error:
            raise ToolError(platforms_texts.ACT_UNKNOWN, ours=True) from error
        if member.pending or member.flags.guest or not await self._is_verified(member, context):
            raise ToolError(platforms_texts.ACT_NO_RIGHT, ours=True)
        return member

    async def _is_verified(self, member: discord.Member, context: ToolContext) -> bool:
        """Return whether it is known that the server's verification lets this member write."""
        guild = member.guild
        if guild.verification_level is discord.VerificationLevel.none or len(member.roles) > 1:
            return True
        if member.id == guild.owner_id:
            return True
        asked, _ = await self.reader.readable("", context)
        return asked is not None and asked.guild.id == guild.id and _is_message(context)

    async def named(self, context: ToolContext) -> Mapping[str, str]:
        if not (_is_message(context) and context.message_id.isdecimal()):
            return {}
        address = decode_address(context.reply_to)
        channel = self.client.get_channel(int(address.channel)) if address.channel.isdecimal() else None
        if not isinstance(channel, _Writable | discord.DMChannel):
            return {}
        try:
            message = await channel.fetch_message(int(context.message_id))
        except UNREADABLE:
            return {}
        if known_as(message.author.id) != context.person.id:
            return {}
        words, me = stated(message.content), self.client.user
        said = [user for user in message.mentions if f"<@{user.id}>" in words or f"<@!{user.id}>" in words]
        return {user.display_name: str(user.id) for user in said if me is None or user.id != me.id}

    def split(self, text: str) -> Sequence[str]:
        shown = show_tables(text, TABLE_WIDTH, complete=True)
        return [page.text for page in pages(shown, PAGE_CHARS - MENTION_CHARS * min(shown.count("@"), 10))]

    async def post(
        self, target: ActTarget, messages: Sequence[str], mentioned: Mapping[str, str], key: str, context: ToolContext
    ) -> Posted:
        where = target.thread or target.channel
        posted, link = list[str](), ""
        for number, message in enumerate(messages):
            text, ids = _with_mentions(message, mentioned)
            nonce = _nonce(f"{key} {number}", context)
            replied = target.message if number == 0 else ""
            try:
                id_ = await self._sent(where, text, nonce, replied, ids)
            except ToolError as error:
                if not posted:
                    raise
                return Posted(tuple(posted), link, str(error))
            posted.append(f"{where}/{id_}")
            link = link or self._link(target, where, id_)
        return Posted(tuple(posted), link)

    def _link(self, target: ActTarget, *path: str) -> str:
        found = self.client.get_channel(int(target.channel))
        guild = found.guild.id if isinstance(found, Readable) else "@me"
        return "/".join(["https://discord.com/channels", str(guild), *path])

    async def start_thread(
        self,
        target: ActTarget,
        thread: NewThread,
        messages: Sequence[str],
        mentioned: Mapping[str, str],
        key: str,
        context: ToolContext,
    ) -> Posted:
        if len(thread.title) > MAX_TITLE:
            raise ToolError(platforms_texts.ACT_TITLE_LONG.format(most=MAX_TITLE), ours=True)
        channel = self.client.get_channel(int(target.channel))
        if isinstance(channel, discord.ForumChannel):
            text, ids = _with_mentions(messages[0], mentioned)
            title, tags = thread.title, _tags(channel, thread.tag)
            id_ = await self._call(lambda rest: rest.start_post(target.channel, title, text, tags, ids), again=False)
            begun, left = (f"{id_}/{id_}",), messages[1:]
        else:
            if thread.tag:
                raise ToolError(platforms_texts.ACT_NO_TAGS, ours=True)
            id_, begun, left = await self._start_thread(target, thread.title, channel), (), messages
        started = Posted(begun, self._link(target, id_), conversation=acts_in(id_))
        if not left:
            return started
        try:
            posted = await self.post(replace(target, thread=id_, message=""), left, mentioned, key, context)
        except ToolError as error:
            return replace(started, missing=str(error))
        return replace(started, pages=(*begun, *posted.pages), missing=posted.missing)

    async def _start_thread(self, target: ActTarget, title: str, channel: object) -> str:
        """Start a thread of a text channel that nobody has started; return its id."""
        if not target.message:
            announces = isinstance(channel, discord.TextChannel) and channel.is_news()
            return await self._call(
                lambda rest: rest.start_thread_alone(target.channel, title, announces=announces), again=False
            )
        if await self._call(lambda rest: rest.has_thread(target.channel, target.message)):
            raise ToolError(platforms_texts.ACT_HAS_THREAD, ours=True)
        return await self._call(lambda rest: rest.start_thread(target.channel, target.message, title))

    async def set_topic(self, target: ActTarget, topic: str, *, description: bool) -> None:
        if description:
            raise ToolError(platforms_texts.ACT_NO_DESCRIPTION, ours=True)
        if len(topic) > MAX_TOPIC:
            raise ToolError(platforms_texts.ACT_TOPIC_LONG.format(most=MAX_TOPIC), ours=True)
        await self._call(lambda rest: rest.set_topic(target.channel, topic))

    async def _sent(self, channel: str, text: str, nonce: str, replied: str, mentions: str) -> str:
        async def send(rest: Rest) -> str:
            return (await rest.send(channel, text, nonce, reply_to=replied, mentions=mentions))[0]

        return await self._call(send)

    async def post_poll(self, target: ActTarget, poll: NewPoll, key: str, context: ToolContext) -> Posted:
        if len(poll.question) > QUESTION_CHARS or any(len(option) > OPTION_CHARS for option in poll.options):
            raise ToolError(
                platforms_texts.ACT_POLL_LONG.format(question=QUESTION_CHARS, option=OPTION_CHARS), ours=True
            )
        where, nonce = target.thread or target.channel, _nonce(key, context)
        asked = partial(_send_poll, where=where, poll=poll, nonce=nonce, replied=target.message)
        id_ = await self._call(asked)
        return Posted((f"{where}/{id_}",), self._link(target, where, id_))

    async def end_poll(self, target: ActTarget, poll: Poll | None) -> None:  # noqa: ARG002 -- Discord counts the votes
        await self._call(lambda rest: rest.end_poll(target.thread or target.channel, target.message))

    async def edit(self, target: ActTarget, message: str) -> None:
        await self._call(lambda rest: rest.edit(target.thread or target.channel, target.message, message))

    async def delete(self, target: ActTarget, pages: Sequence[str]) -> None:
        for page in pages:
            if event_of(page) is not None:
                if (found := await self.events.find(target)) is not None:
                    await self._call(lambda rest, event=found: rest.delete_event(*event))
                continue
            channel, message, _ = place_of_page(page)
            await self._call(lambda rest, at=channel, id_=message: _deleted(rest, at, id_))

    async def react(self, target: ActTarget, emoji: str) -> None:
        character = self._emoji(target, emoji)
        if not character:
            raise ToolError(platforms_texts.ACT_EMOJI_CHARACTER, ours=True)
        await self._call(lambda rest: rest.react(target.thread or target.channel, target.message, character))

    def _emoji(self, target: ActTarget, emoji: str) -> str:
        """Return an emoji as Discord takes it: a character, or the name and id of one of the server's own."""
        channel = self.client.get_channel(int(target.channel))
        own = channel.guild.emojis if isinstance(channel, Readable) else ()
        name = emoji.strip().strip(":")
        found = next((one for one in own if one.name == name and one.available), None)
        return f"{found.name}:{found.id}" if found is not None else emoji_character(name)

    async def pin(self, target: ActTarget, *, on: bool) -> None:
        await self._call(lambda rest: rest.pin(target.thread or target.channel, target.message, on=on))

    async def _call(self, call: Callable[[Rest], Awaitable[_T]], *, again: bool = True) -> _T:
        """Make a call, once more after a rate limit, and without an answer if it has the same effect twice as once
        (`again`). A call that began is never cancelled, as discord.py would miscount it. Raises ToolError.
        """
        return await asyncio.shield(asyncio.ensure_future(self._tried(call, again=again)))

    async def _tried(self, call: Callable[[Rest], Awaitable[_T]], *, again: bool) -> _T:
        for is_last in (False, True):
            try:
                return await call(await self.connection.rest())
            except PageLimited as limited:
                if is_last or limited.retry_after_s > PATIENCE_S:
                    raise ToolError(platforms_texts.ACT_BUSY, ours=True) from limited
                await self.connection.clock.sleep(limited.retry_after_s)
            except (PageGone, PageLocked, PageInvalid, NoThread) as refused:
                raise ToolError(platforms_texts.ACT_REFUSED.format(code=refused), ours=True) from refused
            except PageUnsent as unsent:
                if is_last or not again:
                    raise ToolError(platforms_texts.ACT_UNSURE, ours=True) from unsent
        raise AssertionError


def _tags(forum: discord.ForumChannel, name: str) -> Sequence[str]:
    """Return the ids of the tags of a new post. Raises ToolError where it needs another one."""
    found = [tag for tag in forum.available_tags if tag.name.casefold() == name.casefold() and not tag.moderated]
    if name and not found:
        raise ToolError(platforms_texts.ACT_UNKNOWN_TAG, ours=True)
    if forum.flags.require_tag and not found:
        raise ToolError(platforms_texts.ACT_NEEDS_TAG, ours=True)
    return [str(tag.id) for tag in found[:1]]


def _nonce(name: str, context: ToolContext) -> str:
    return blake2s(f"{context.person.id} {name}".encode(), digest_size=NONCE_BYTES).hexdigest()


async def _send_poll(rest: Rest, *, where: str, poll: NewPoll, nonce: str, replied: str) -> str:
    return await rest.send_poll(where, poll.question, poll.options, poll.hours, nonce, replied)


async def _deleted(rest: Rest, channel: str, message: str) -> None:
    try:
        await rest.delete(channel, message)
    except PageGone:
        return


def _is_message(context: ToolContext) -> bool:
    """Return whether the question was written as a message, and not by a command or a button."""
    try:
        return bool(context.reply_to) and not decode_address(context.reply_to).interaction
    except (TypeError, ValueError):
        return False


def _with_mentions(text: str, mentioned: Mapping[str, str]) -> tuple[str, str]:
    """Return the text with Discord's form of these mentions, and the ids of those whom it mentions."""
    ids = list[str]()
    for name, id_ in sorted(mentioned.items(), key=lambda item: -len(item[0])):
        at = text.casefold().find(f"@{name}".casefold())
        if at >= 0:
            text = f"{text[:at]}<@{id_}>{text[at + 1 + len(name) :]}"
            ids.append(id_)
    return text, ",".join(ids)
