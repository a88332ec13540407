"""What was written in Slack's channels and threads, read from Slack when somebody asks for it.

Rules
- Who may read what is asked of Slack at each call, past everything that is remembered: whether the channel is public,
  whether the asker is a full member of the workspace, and else whether they are in the channel.
- Calls are spaced as Slack's tier allows. Slack holds an app that is distributed outside of its marketplace to one call
  and 15 messages a minute: what it says in Retry-After is waited for as long as somebody may wait, and then what was
  read is told.
- Deleted messages, and what Slack itself says in a channel, are not read; edited ones are as they are now.
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
from agent.ports import Clock, Membership, ToolContext
from agent.tools.read_channel import ChannelMessage, ChannelPage, FoundChannel
from bot.platforms.slack import inbound
from bot.platforms.slack.api import (
    Method,
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
from bot.platforms.slack.inbound import TOMBSTONE, USER_SUBTYPES, SlackBot
from bot.platforms.slack.markup import mentioned_channels, mentioned_users, message_links, readable
from bot.platforms.slack.members import People, member_of
from bot.platforms.slack.places import KINDS, MAX_PAGES, PAGE, Places

MESSAGES_PAGE: Final = 200  # Slack recommends no more; it takes 999
MAX_THREADS: Final = 20  # Of a channel's threads the newest are read along: a call each, which takes half a minute
MAX_PEOPLE: Final = 150  # Names looked up for one call, at a hundred a minute; whoever comes after keeps their id
NAMES_AT_ONCE: Final = 30
INTERVAL_S: Final = 1.3  # Fifty calls a minute are allowed of each method
# Of one reading, its threads included: two minutes, and twice what a week of 2,000 messages takes.
MAX_CALLS: Final = 40
PATIENCE_S: Final = 75.0  # For one Retry-After: the usual ones are below a minute

NOT_TOLD: Final = "Slack does not say now what that channel is, or who reads it; try again in a moment"
DIRECT: Final = (
    "direct messages are not read by this tool: what was said here stands in your history, or recall finds it"
)
NO_THREAD: Final = "this question stands in no thread: give a link to the thread that is meant"
INVITE: Final = "you are not in that channel: tell the person to write /invite @{bot} there"
UNREAD: Final = "Slack did not let you read on ({why}); what is older was not read."
LONG_THREADS: Final = "there are long threads, and not all of them was read."
LIMITED: Final = "Slack allows this app only a few messages a minute; what is older was not read."

_ID: Final = re.compile(r"[CGD][A-Z0-9]{2,20}")
_TOKEN: Final = re.compile(r"<#([CGD][A-Z0-9]+)(?:\|[^<>]*)?>")
_LINK: Final = re.compile(r"https?://[^\s<>|/]{1,255}/archives/([CGD][A-Z0-9]+)/?")


@dataclass(frozen=True, slots=True)
class Meant:
    """A channel by its id or (else) by its name, and the first message of a thread; "" for none."""

    id: str = ""
    name: str = ""
    root: str = ""


def meant(where: str, here: str, thread: str) -> Meant:
    """What somebody means by `where`, who asks in the channel `here`, perhaps in a thread. Pure.

    Raises ToolError.
    """
    said = where.strip()
    if links := message_links(said.replace("&amp;", "&")):
        return Meant(links[0].channel, root=links[0].root or links[0].ts)
    if said.casefold() in ("thread", "this thread"):
        if not thread:
            raise ToolError(NO_THREAD, ours=True)
        return Meant(here, root=thread)
    if said.casefold() in ("", "channel", "this channel", "here"):
        return Meant(here)
    if found := _TOKEN.match(said) or _LINK.search(said):
        return Meant(found[1])
    name = said.removeprefix("#").strip()
    return Meant(name) if _ID.fullmatch(name) and any(map(str.isdigit, name)) else Meant(name=name.casefold())


@dataclass(slots=True)
class SlackChannelReader:
    """The port ChannelReader."""

    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    clock: Clock
    budgets: MethodRates = field(default_factory=MethodRates)

    async def find(self, where: str, context: ToolContext) -> FoundChannel | None:
        wanted = meant(where, context.channel, _thread_of(context))
        try:
            channel = wanted.id or await self._named(wanted.name)
            if not channel:
                return None
            if inbound.is_direct(channel):
                if channel == context.channel:
                    raise ToolError(DIRECT, ours=True)
                return None
            return await self._found(channel, wanted.root, context)
        except SlackError as error:
            raise ToolError(NOT_TOLD, ours=True) from error

    async def _found(self, channel: str, root: str, context: ToolContext) -> FoundChannel:
        place, public = await self.places.now(channel)
        if isinstance(context.place.audience, GroupAudience) and context.channel == channel:
            place = context.place  # where a guest asks, they read, too
        reads = (public and await self._is_full_member(context.person.id)) or await self._is_in(channel, context)
        shown = (await self.places.names([channel])).get(channel)  # of a public one
        name = f"#{shown}" if shown else "the channel"
        id_ = f"{channel}:{root}" if root else channel
        link = inbound.permalink(self.me, channel, root) if root else f"{self.me.address}archives/{channel}"
        begins = inbound.time_of(root) if root else None
        name = f"the thread in {name}" if root else name
        return FoundChannel(id_, channel, name, place.audience, reads, begins=begins, link=link or "")

    async def _is_full_member(self, person: str) -> bool:
        user = person.removeprefix(f"{self.me.source}:")
        member = member_of(self.me, user, fields(await self.api.call(Method.USER, user=user), "user"))
        return member.full and not member.gone

    async def _is_in(self, channel: str, context: ToolContext) -> bool:
        """Raises SlackError for unknown."""
        group = f"{self.me.source}:{channel}"
        reads = (await self.membership.readable(context.person.id, [group])).get(group)
        if reads is None:
            raise SlackRefused(Method.CONVERSATIONS, "unknown")
        return reads

    async def _named(self, name: str) -> str:
        """The channel of this name in which the bot is; "" for none. Raises SlackError."""
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
                said = [one for one in items(page, "messages") if _was_said(one)]
                yield ChannelPage(await self._messages(id_, said, names, threads_read=bool(root)))
                threads += [one for one in said if not root and number(one, "reply_count")]
                count += len(said)
                if count >= limit and not root:  # a thread is told from its beginning, a channel from its end
                    break
            for first in sorted(threads, key=lambda one: text(one, "latest_reply"), reverse=True)[:MAX_THREADS]:
                async for page in self._pages(calls, id_, text(first, "ts"), span.until):
                    if isinstance(page, float):
                        yield ChannelPage(waits_s=page)
                        continue
                    said = [one for one in items(page, "messages") if _was_said(one)]
                    yield ChannelPage(await self._messages(id_, said, names, threads_read=True))
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
        """Each page of a channel or of a thread; before one that has to wait, the seconds. One of `calls` for each.

        Raises SlackError.
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
        self, channel: str, said: Sequence[JsonObject], names: "_Names", *, threads_read: bool
    ) -> tuple[ChannelMessage, ...]:
        await names.learn(said)
        return tuple(self._message(channel, one, names.known, threads_read=threads_read) for one in said)

    def _message(self, channel: str, one: JsonObject, names: dict[str, str], *, threads_read: bool) -> ChannelMessage:
        ts, root, user, bot = (text(one, key) for key in ("ts", "thread_ts", "user", "bot_id"))
        is_reply = inbound.is_ts(root) and root != ts
        return ChannelMessage(
            id=ts,
            person=inbound.person_id(self.me, user or bot),
            name=names.get(user) or first_text(one, "username") or text(one, "bot_profile", "name") or user or bot,
            time=inbound.time_of(ts),
            text=readable(_words(one), names),
            link=inbound.permalink(self.me, channel, ts, root) or "",
            files=tuple(first_text(file, "name", "title") or "file" for file in items(one, "files")),
            root=root if is_reply else "",
            begun=inbound.time_of(root) if is_reply else None,
            unread=0 if threads_read else number(one, "reply_count"),
            by_bot=bool(bot),
            ours=bot == self.me.bot or user == self.me.user,
        )


@dataclass(slots=True)
class _Names:
    """Of the people and public channels that some messages name."""

    people: People
    places: Places
    known: dict[str, str] = field(default_factory=dict[str, str])

    async def learn(self, said: Collection[JsonObject]) -> None:
        users = {user for one in said for user in (text(one, "user"), *mentioned_users(_words(one))) if user}
        new = sorted(users - self.known.keys())[: max(0, MAX_PEOPLE - len(self.known))]
        for start in range(0, len(new), NAMES_AT_ONCE):
            self.known |= await self.people.names(new[start : start + NAMES_AT_ONCE])
        channels = {channel for one in said for channel in mentioned_channels(_words(one))} - self.known.keys()
        self.known |= await self.places.names(sorted(channels))


def _words(message: JsonObject) -> str:
    """What it says; of one that is nothing but attachments, as alerts are, what stands in them."""
    return text(message, "text") or "\n".join(
        first_text(one, "text", "fallback", "title") for one in items(message, "attachments")
    )


def _was_said(message: JsonObject) -> bool:
    """Whether somebody wrote it, and it still stands."""
    subtype, ts = text(message, "subtype"), text(message, "ts")
    return subtype in USER_SUBTYPES and subtype != TOMBSTONE and inbound.is_ts(ts)


def _thread_of(context: ToolContext) -> str:
    """The first message of the thread in which somebody asks; "" outside of threads."""
    root = inbound.root_of(context.conversation)
    try:
        return "" if inbound.decode_reply_to(context.reply_to).after == root else root
    except ValueError:
        return root
