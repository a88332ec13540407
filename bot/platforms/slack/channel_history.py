"""Reads Slack's channels and threads for the tool `read_channel`.

Rules
- Permission is read from Slack at each call, without caches: whether the channel is public, whether the asker is a full
  member of the workspace, and otherwise whether they are in the channel.
- Calls are spaced as Slack's tier allows. Slack limits an app that is distributed outside of its marketplace to one
  call and 15 messages a minute: a Retry-After of up to PATIENCE_S is waited for; after that, the result says what was
  not read.
- Deleted messages and Slack's own notices are left out; edited messages are read as they are now.
"""

import re
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from agent.errors import ToolError
from agent.memory.audience import GroupAudience
from agent.memory.periods import TimeSpan
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from agent.ports.tools import ToolContext
from agent.tools.read_channel import ChannelMessage, ChannelPage, FoundChannel
from bot.platforms.slack import inbound
from bot.platforms.slack.api import (
    MethodRates,
    SlackApi,
    SlackError,
    SlackLimited,
    SlackRefused,
    fields,
    first_text,
    has_more,
    items,
    number,
    text,
)
from bot.platforms.slack.inbound import SlackBot, is_written
from bot.platforms.slack.markup import mentioned_channels, mentioned_users, message_links, readable
from bot.platforms.slack.members import People, member_of
from bot.platforms.slack.message_content import Shown, content_of
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import KINDS, MAX_PAGES, PAGE, Places
from bot.platforms.slack.reply_to import decode_reply_to

MESSAGES_PAGE: Final = 200  # Slack recommends no more; it takes 999
MAX_THREADS: Final = 20  # Of a channel's threads, the newest are read, too: a call each, half a minute in all
MAX_PEOPLE: Final = 150  # Names looked up for one reading, at a hundred a minute; more people keep their ids
NAMES_AT_ONCE: Final = 30
INTERVAL_S: Final = 1.3  # Slack allows fifty calls a minute of each method
# Of one reading with its threads: two minutes, and twice what a week of 2,000 messages takes.
MAX_CALLS: Final = 40
PATIENCE_S: Final = 75.0  # For one Retry-After: the usual ones are below a minute

NOT_TOLD: Final = "Slack did not say what that channel is or who can read it: try again in a moment"
DIRECT: Final = "this tool does not read direct messages: look in your history, or use recall"
NO_THREAD: Final = "this question is not in a thread: give a link to the thread"
INVITE: Final = "you are not in that channel: tell the person to write /invite @{bot} there"
UNREAD: Final = "Slack did not return any more messages ({why}), so older ones were not read."
LONG_THREADS: Final = "some threads are long, and not all of their messages were read."
LIMITED: Final = "Slack lets this app read only a few messages a minute, so older ones were not read."

_ID: Final = re.compile(r"[CGD][A-Z0-9]{2,20}")
_TOKEN: Final = re.compile(r"<#([CGD][A-Z0-9]+)(?:\|[^<>]*)?>")
_LINK: Final = re.compile(r"https?://[^\s<>|/]{1,255}/archives/([CGD][A-Z0-9]+)/?")


@dataclass(frozen=True, slots=True)
class ChannelRef:
    """A channel by its id or its name, and the first message of a thread. "" for none."""

    id: str = ""
    name: str = ""
    root: str = ""


def parse_channel(where: str, here: str, thread: str) -> ChannelRef:
    """Parse the channel or thread that `where` names: an id, a name, a mention, a link, or a word such as "here".

    `here` and `thread`: the channel and the thread in which the person asks; `thread` is "" outside of threads. Raises
    ToolError. Pure.
    """
    place = where.strip()
    if links := message_links(place.replace("&amp;", "&")):
        return ChannelRef(links[0].channel, root=links[0].root or links[0].ts)
    if place.casefold() in ("thread", "this thread"):
        if not thread:
            raise ToolError(NO_THREAD, ours=True)
        return ChannelRef(here, root=thread)
    if place.casefold() in ("", "channel", "this channel", "here"):
        return ChannelRef(here)
    if found := _TOKEN.match(place) or _LINK.search(place):
        return ChannelRef(found[1])
    name = place.removeprefix("#").strip()
    return ChannelRef(name) if _ID.fullmatch(name) and any(map(str.isdigit, name)) else ChannelRef(name=name.casefold())


@dataclass(slots=True)
class SlackChannelReader:
    """Implements `ChannelReader`."""

    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    clock: Clock
    budgets: MethodRates = field(default_factory=MethodRates)

    async def find(self, where: str, context: ToolContext) -> FoundChannel | None:
        ref = parse_channel(where, context.channel, thread_of(context))
        try:
            channel = ref.id or await self.find_by_name(ref.name)
            if not channel:
                return None
            if inbound.is_direct(channel):
                if channel == context.channel:
                    raise ToolError(DIRECT, ours=True)
                return None
            return await self._build_found(channel, ref.root, context)
        except SlackError as error:
            raise ToolError(NOT_TOLD, ours=True) from error

    async def _build_found(self, channel: str, root: str, context: ToolContext) -> FoundChannel:
        place, public = await self.places.read_now(channel)
        if isinstance(context.place.audience, GroupAudience) and context.channel == channel:
            place = context.place  # it already knows whether a guest reads there
        if context.kind.begun_by_event:  # it is read by those who read its own channel, and by nobody else
            can_read = context.channel == channel
        else:
            can_read = (public and await self._is_full_member(context.person.id)) or await self._is_in(channel, context)
        public_name = (await self.places.names([channel])).get(channel)
        name = f"#{public_name}" if public_name else "the channel"
        id_ = f"{channel}:{root}" if root else channel
        link = inbound.permalink(self.me, channel, root) if root else f"{self.me.address}archives/{channel}"
        begins = inbound.time_of(root) if root else None
        name = f"the thread in {name}" if root else name
        return FoundChannel(id_, channel, name, place.audience, can_read, begins=begins, link=link or "")

    async def _is_full_member(self, person: str) -> bool:
        user = person.removeprefix(f"{self.me.source}:")
        member = member_of(self.me, user, fields(await self.api.call(Method.USER, user=user), "user"))
        return member.full and not member.gone

    async def _is_in(self, channel: str, context: ToolContext) -> bool:
        """Whether the asker is in the channel. Raises SlackError if that is not known."""
        group = f"{self.me.source}:{channel}"
        can_read = (await self.membership.readable(context.person.id, [group])).get(group)
        if can_read is None:
            raise SlackRefused(Method.CONVERSATIONS, "unknown")
        return can_read

    async def find_by_name(self, name: str) -> str:
        """Return the id of the channel with this name that the bot is in; "" for none. Raises SlackError."""
        listed = self.api.pages(Method.CONVERSATIONS, MAX_PAGES, types=KINDS, exclude_archived=True, limit=PAGE)
        async with aclosing(listed) as pages:
            async for page in pages:
                for channel in items(page, "channels"):
                    if name in (text(channel, "name").casefold(), text(channel, "name_normalized").casefold()):
                        return text(channel, "id")
        return ""

    async def read(self, channel: FoundChannel, span: TimeSpan, limit: int) -> AsyncGenerator[ChannelPage, None]:
        id_, _, root = channel.id.partition(":")
        names, threads, count = _Names(self.people, self.places), list[JsonObject](), 0
        calls = iter(range(MAX_CALLS))
        try:
            async for page in self._pages(calls, id_, root, span.until, span.since):
                if isinstance(page, float):
                    yield ChannelPage(waits_s=page)
                    continue
                messages = [message for message in items(page, "messages") if is_written(message)]
                yield ChannelPage(await self._messages(id_, messages, names, threads_read=bool(root)))
                threads += [message for message in messages if not root and number(message, "reply_count")]
                count += len(messages)
                if count >= limit and not root:  # Slack pages a thread from its beginning, a channel from its end
                    break
            for first in sorted(threads, key=lambda message: text(message, "latest_reply"), reverse=True)[:MAX_THREADS]:
                async for page in self._pages(calls, id_, text(first, "ts"), span.until):
                    if isinstance(page, float):
                        yield ChannelPage(waits_s=page)
                        continue
                    messages = [message for message in items(page, "messages") if is_written(message)]
                    yield ChannelPage(await self._messages(id_, messages, names, threads_read=True))
            if next(calls, None) is None:
                yield ChannelPage(left=LONG_THREADS)
        except SlackLimited:
            yield ChannelPage(left=LIMITED)
        except SlackRefused as refused:
            if refused.code == "not_in_channel":
                raise ToolError(INVITE.format(bot=self.me.name), ours=True) from refused
            yield ChannelPage(left=UNREAD.format(why=refused.code))
        except SlackError:
            yield ChannelPage(left=UNREAD.format(why="no answer"))

    async def _pages(
        self, calls: Iterator[int], channel: str, root: str, until: datetime, since: datetime | None = None
    ) -> AsyncGenerator[JsonObject | float, None]:
        """Yield each page of a channel or thread; before a page that has to wait, the seconds. Each call takes one of
        `calls`. Raises SlackError.
        """
        method = Method.REPLIES if root else Method.HISTORY
        cursor, pace = "", self.budgets.queue(f"{method} read", INTERVAL_S)
        for _ in calls:
            await self.clock.sleep(await pace.book(self.clock.monotonic()))
            try:
                page = await self.api.call(
                    method,
                    channel=channel,
                    ts=root or None,
                    oldest=None if since is None else f"{since.timestamp():.6f}",
                    latest=f"{until.timestamp():.6f}",
                    inclusive=True,
                    limit=MESSAGES_PAGE,
                    cursor=cursor or None,
                )
            except SlackLimited as limited:
                if limited.retry_after_s > PATIENCE_S:
                    raise
                await pace.hold(self.clock.monotonic(), limited.retry_after_s)
                yield limited.retry_after_s
                continue
            yield page
            cursor = text(page, "response_metadata", "next_cursor")
            if not has_more(page):
                return

    async def _messages(
        self, channel: str, messages: Sequence[JsonObject], names: "_Names", *, threads_read: bool
    ) -> tuple[ChannelMessage, ...]:
        shown = [(message, content_of(message)) for message in messages]
        await names.learn(shown)
        return tuple(self._message(channel, one, names.known, threads_read=threads_read) for one in shown)

    def _message(self, channel: str, shown: Shown, names: dict[str, str], *, threads_read: bool) -> ChannelMessage:
        message, content = shown
        files = (*items(message, "files"), *content.files)
        ts, root, user, bot = (text(message, key) for key in ("ts", "thread_ts", "user", "bot_id"))
        is_reply = inbound.is_ts(root) and root != ts
        return ChannelMessage(
            id=ts,
            person=inbound.person_id(self.me, user or bot),
            # An app may give each message another name; a person has the one in the workspace.
            name=names.get(user)
            or first_text(message, "username")
            or text(message, "bot_profile", "name")
            or user
            or bot,
            time=inbound.time_of(ts),
            text=readable(content.whole, names),
            link=inbound.permalink(self.me, channel, ts, root) or "",
            files=tuple(first_text(file, "name", "title") or "file" for file in files),
            root=root if is_reply else "",
            begun=inbound.time_of(root) if is_reply else None,
            unread=0 if threads_read else number(message, "reply_count"),
            by_bot=bool(bot),
            ours=bot == self.me.bot or user == self.me.user,
        )


@dataclass(slots=True)
class _Names:
    """Names of people and public channels, by their ids, as far as messages need them."""

    people: People
    places: Places
    known: dict[str, str] = field(default_factory=dict[str, str])

    async def learn(self, messages: Collection[Shown]) -> None:
        users = {
            user
            for message, content in messages
            for user in (text(message, "user"), *mentioned_users(content.whole))
            if user
        }
        new = sorted(users - self.known.keys())[: max(0, MAX_PEOPLE - len(self.known))]
        for start in range(0, len(new), NAMES_AT_ONCE):
            self.known |= await self.people.names(new[start : start + NAMES_AT_ONCE])
        channels = {
            channel for _, content in messages for channel in mentioned_channels(content.whole)
        } - self.known.keys()
        self.known |= await self.places.names(sorted(channels))


def thread_of(context: ToolContext) -> str:
    """Return the first message of the thread in which the person asks; "" outside of threads."""
    root = inbound.root_of(context.conversation)
    try:
        return "" if decode_reply_to(context.reply_to).after == root else root
    except ValueError:
        return root
