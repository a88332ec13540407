"""The forums of Discord's servers, their posts and tags: `ForumPlatform` for Discord.

Rules

- What a person may do is read from Discord at each call: the post, and their membership in the server, are fetched.
- A list reads the server's active threads and the newest archived posts, with a fixed number of requests.
- The tags of an archived post can be changed, too; it stays archived.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import discord

from agent.admission_terms import Authority
from agent.errors import Refused
from bot.chat.forums import ForumAccess, ForumPost, ForumPosts, ForumTag, PostAccess
from bot.chat.reply.surface import PageGone, PageInvalid, PageLimited, PageRefused, SurfaceError
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.members import Members
from bot.platforms.discord.occurrences import DiscordSilent
from bot.platforms.discord.options import PERMISSIONS
from bot.platforms.discord.places import UNREADABLE, Readable, can_read, known_as
from bot.platforms.discord.rest import Rest

MAX_ARCHIVED: Final = 200  # In two requests: older posts have waited for weeks
MAX_ID_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class DiscordForums:
    """`refuses`: whether the bot does not answer in a server."""

    client: discord.Client
    connection: Connection
    members: Members
    refuses: Callable[[int | None], bool]

    def tags(self, forum: str) -> Sequence[ForumTag] | None:
        found = self.client.get_channel(int(forum)) if _is_id(forum) else None
        return _tags(found) if isinstance(found, discord.ForumChannel) else None

    def known_post(self, conversation: str) -> ForumPost | None:
        number = conversation.removeprefix(known_as(""))
        thread = self.client.get_channel(int(number)) if _is_id(number) else None
        if not isinstance(thread, discord.Thread) or not isinstance(thread.parent, discord.ForumChannel):
            return None
        return None if _lacking(thread, thread.guild.me) else _post(thread)

    async def post(self, conversation: str, person: str) -> PostAccess | None:
        found = await self._readable(conversation.removeprefix(known_as("")), person)
        if found is None:
            return None
        thread, member = found
        if not isinstance(thread, discord.Thread) or not isinstance(thread.parent, discord.ForumChannel):
            return None
        granted = thread.permissions_for(member)
        return PostAccess(
            post=_post(thread),
            tags=_tags(thread.parent),
            writes=granted.send_messages_in_threads and not (thread.locked or member.pending),
            manages=granted.manage_threads,
            lacking=_lacking(thread, thread.guild.me),
            needs_tag=thread.parent.flags.require_tag,
        )

    async def forum(self, forum: str, person: str) -> ForumAccess | None:
        found = await self._readable(forum, person)
        if found is None or not isinstance(found[0], discord.ForumChannel):
            return None
        channel, member = found
        standing = self.members.here(objects.author_of(member)).standing
        manages = standing.authority >= Authority.MANAGER or channel.permissions_for(member).manage_channels
        return ForumAccess(f"#{channel.name}", _tags(found[0]), manages)

    async def _readable(self, number: str, person: str) -> tuple[Readable, discord.Member] | None:
        """Return the channel or thread as it is now, with the person as a member who reads it; None if there is none
        that they read. Raises DiscordSilent.
        """
        user = person.removeprefix(known_as(""))
        if not (_is_id(number) and _is_id(user)):
            return None
        try:
            channel = await self.client.fetch_channel(int(number))
            if not isinstance(channel, Readable) or self.refuses(channel.guild.id):
                return None
            guild = channel.guild
            if guild.get_role(guild.id) is None or guild.unavailable:  # not loaded yet
                raise DiscordSilent
            member = await guild.fetch_member(int(user))
            return (channel, member) if await can_read(channel, member) else None
        except (discord.NotFound, discord.Forbidden):
            return None
        except (discord.InvalidData, *UNREADABLE) as error:
            raise DiscordSilent from error

    async def posts(self, forum: str) -> ForumPosts:
        channel = self.client.get_channel(int(forum)) if _is_id(forum) else None
        if not isinstance(channel, discord.ForumChannel):
            return ForumPosts(())
        try:
            active = [thread for thread in await channel.guild.active_threads() if thread.parent_id == channel.id]
            archived = [thread async for thread in channel.archived_threads(limit=MAX_ARCHIVED)]
        except (discord.InvalidData, *UNREADABLE) as error:
            raise DiscordSilent from error
        posts = {thread.id: _post(thread) for thread in (*archived, *active)}
        return ForumPosts(tuple(posts.values()), complete=len(archived) < MAX_ARCHIVED)

    async def set_tag(self, post: ForumPost, tag: ForumTag, *, on: bool) -> None:
        try:
            await self._call(lambda rest: rest.set_tag(post.id, tag.id, on=on))
        except PageLimited as limited:
            raise DiscordSilent from limited
        except (PageGone, PageInvalid) as refused:
            why = str(refused) if isinstance(refused, PageRefused) else platforms_texts.TAGS_REFUSED
            raise Refused(why) from refused
        except SurfaceError as error:
            raise DiscordSilent from error

    async def _call(self, call: Callable[[Rest], Awaitable[None]]) -> None:
        """Make a call that is never cancelled, as discord.py would miscount it. Raises SurfaceError."""
        rest = await self.connection.rest()
        await asyncio.shield(asyncio.ensure_future(call(rest)))


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS


def _tags(forum: discord.ForumChannel) -> tuple[ForumTag, ...]:
    return tuple(ForumTag(str(tag.id), tag.name, tag.moderated) for tag in forum.available_tags)


def _lacking(thread: discord.Thread, me: discord.Member) -> str:
    return "" if thread.permissions_for(me).manage_threads else PERMISSIONS["manage_threads"].title


def _post(thread: discord.Thread) -> ForumPost:
    return ForumPost(
        id=str(thread.id),
        forum=str(thread.parent_id),
        conversation=known_as(thread.id),
        person=known_as(thread.owner_id),
        title=thread.name,
        link=thread.jump_url,
        time=thread.created_at or discord.utils.snowflake_time(thread.id),
        replies=thread.message_count,
        tags=tuple(str(tag.id) for tag in thread.applied_tags),
        closed=thread.locked,
        pinned=thread.flags.pinned,
    )


def writes_on(message: discord.Message) -> bool:
    """Return whether the author of a forum post that has tags writes in it again. Pure."""
    thread = message.channel
    return (
        isinstance(thread, discord.Thread)
        and isinstance(thread.parent, discord.ForumChannel)
        and thread.owner_id == message.author.id
        and message.id != thread.id
        and message.type in objects.USER_MESSAGE_TYPES
        and bool(thread.applied_tags)
    )
