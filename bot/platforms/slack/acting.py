"""Acts in Slack for the person who asks: `agent.ports.acting.Hands`.

Rules
- Rights are read from Slack at each act, without caches: whether the person is active and in the channel, whether the
  channel is archived, and who may post in it. Strangers act nowhere, and guests do no more than post and react: Slack
  does not say what else they may. Who may not post in a channel changes neither its topic nor its bookmarks.
- Slack restricts posting by `properties.posting_restricted_to` and `threads_restricted_to` of a channel, by
  `is_read_only`, `is_thread_only` and `is_non_threadable`, and in #general by a preference of the workspace. A value
  that is not understood forbids it. Where a channel has none of these, everyone in it may post.
- A post has a key in its metadata. If Slack does not answer, the post is searched by it, and not posted again.
- A thread is a message with replies: one that is started alone has its title as that message.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from agent.admission_terms import Authority
from agent.errors import ToolError
from agent.memory.attribution import stated
from agent.memory.audience import GroupAudience
from agent.messages import Json, JsonObject
from agent.ports.acting import ActRight, ActTarget, NewPoll, NewThread, Posted
from agent.ports.acts import Poll
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from agent.ports.tools import ToolContext
from bot.chat.reply.split import pages
from bot.platforms import texts as platforms_texts
from bot.platforms.emoji import emoji_name
from bot.platforms.poll_text import poll_text
from bot.platforms.slack import inbound
from bot.platforms.slack.act_calls import ActCalls
from bot.platforms.slack.api import (
    MethodRates,
    SlackApi,
    SlackDown,
    SlackError,
    SlackRefused,
    fields,
    flag,
    items,
    text,
    texts,
)
from bot.platforms.slack.attachments import delete_shown
from bot.platforms.slack.canvases import SlackCanvases, canvas_page
from bot.platforms.slack.channel_history import SlackChannelReader, parse_channel, thread_of
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.markup import SlackMessageLink, mentioned_users, message_links, neutral, notice
from bot.platforms.slack.members import Member, People, member_of
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import Places
from bot.platforms.slack.polls import poll_blocks, show_poll
from bot.platforms.slack.surroundings import message_at

PAGE_CHARS: Final = 3_900  # So that a post can be edited: chat.update takes less than 4,000
LOOK_BACK: Final = 100  # Messages read to find a post that was made a moment ago
EVENT_TYPE: Final = "cogency_act"

_GONE: Final = ("message_not_found", "canvas_not_found")
_EMOJI: Final = re.compile(r"[a-z0-9_+'-]{1,100}(?:::skin-tone-[2-6])?", re.ASCII)
# Slack's words for who may post, and the authority that each takes. "ra" are restricted accounts: everyone.
_POSTERS: Final[Mapping[str, Authority]] = {
    "ra": Authority.GUEST,
    "regular": Authority.EMPLOYEE,
    "admin": Authority.ADMIN,
}
MAX_TOPIC: Final = 250  # Slack's limit
_OF_CHANNELS: Final = frozenset({ActRight.TOPIC, ActRight.BOOKMARK, ActRight.CANVAS})  # What has no thread
_OF_MEMBERS: Final = _OF_CHANNELS | {ActRight.PIN}  # Not of guests
_WRITES: Final = _OF_CHANNELS | {ActRight.POST, ActRight.POLL, ActRight.THREAD}


def refusal(info: JsonObject, member: Member, user: str, right: ActRight, *, in_thread: bool) -> str:
    """Return why this person may not do this in a channel, a sentence for the model; "" if they may. Pure.

    `info`: the `channel` of conversations.info. #general is asked about elsewhere.
    """
    if flag(info, "is_archived") or flag(info, "is_frozen"):
        return platforms_texts.ACT_ARCHIVED
    if right in _OF_MEMBERS and not member.full:
        return platforms_texts.ACT_NO_RIGHT
    if right in _OF_CHANNELS and flag(info, "is_mpim"):
        return platforms_texts.ACT_DIRECT
    if right not in _WRITES:
        return ""
    if flag(info, "is_read_only") or not _may_write(info, member, user, in_thread=in_thread):
        return platforms_texts.ACT_NO_RIGHT
    # A thread that is started alone takes both a message and a reply to it.
    if right is ActRight.THREAD and not _may_write(info, member, user, in_thread=True):
        return platforms_texts.ACT_NO_RIGHT
    return ""


def _may_write(info: JsonObject, member: Member, user: str, *, in_thread: bool) -> bool:
    """Return whether a person may write messages, or replies in threads, in a channel that is not read-only."""
    if flag(info, "is_non_threadable" if in_thread else "is_thread_only"):
        return False
    restricted = "threads_restricted_to" if in_thread else "posting_restricted_to"
    return _is_among(fields(info, "properties").get(restricted), member, user)


def _is_among(restriction: "Json | None", member: Member, user: str) -> bool:
    """Return whether a person is one of those to whom posting is restricted; None restricts nothing."""
    if restriction is None:
        return True
    if not isinstance(restriction, dict):
        return False
    kinds, people = texts(restriction, "type"), texts(restriction, "user")
    if not kinds and not people:
        return restriction.keys() <= {"type", "user"} and all(value == [] for value in restriction.values())
    return user in people or any(may_post(kind, member) for kind in kinds)


def may_post(kind: str, member: Member) -> bool:
    """Return whether a person is of one of Slack's kinds of people who may post; nobody is of an unknown one."""
    needed = _POSTERS.get(kind)
    return needed is not None and member.authority >= needed


@dataclass(slots=True)
class SlackHands:
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    reader: SlackChannelReader
    clock: Clock
    budgets: MethodRates
    calls: ActCalls = field(init=False)
    events: None = None
    counts_polls: bool = False

    def __post_init__(self) -> None:
        self.calls = ActCalls(self.clock)

    @property
    def threads(self) -> "SlackHands":
        return self

    @property
    def topics(self) -> "SlackHands":
        return self

    @property
    def bookmarks(self) -> "SlackHands":
        return self

    @property
    def canvases(self) -> SlackCanvases:
        return SlackCanvases(self.api, self.me, self.calls)

    def page_of(self, link: str) -> tuple[ActRight, str] | None:
        page = canvas_page(self.me, link)
        return (ActRight.CANVAS, page) if page else None

    async def find(self, where: str, right: ActRight, context: ToolContext) -> ActTarget:
        ref = parse_channel(where, context.channel, thread_of(context))
        channel = ref.id or await self.calls.asked(lambda: self.reader.find_by_name(ref.name))
        if ref.root and right not in _OF_CHANNELS:
            return await self._found_message(SlackMessageLink(channel, ref.root, ""), right, context)
        return await self._found(channel, right, context, in_thread=False)

    async def find_message(self, link: str, right: ActRight, context: ToolContext) -> ActTarget:
        links = message_links(link.replace("&amp;", "&"))
        if not links:
            raise ToolError(platforms_texts.ACT_NO_LINK, ours=True)
        return await self._found_message(links[0], right, context)

    async def _found_message(self, meant: SlackMessageLink, right: ActRight, context: ToolContext) -> ActTarget:
        target = await self._found(meant.channel, right, context, in_thread=True)
        message = await self.calls.asked(lambda: message_at(self.api, meant))
        if message is None:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
        return replace(target, thread=text(message, "thread_ts") or meant.ts, message=meant.ts, page=meant.ts)

    async def _found(self, channel: str, right: ActRight, context: ToolContext, *, in_thread: bool) -> ActTarget:
        """Return the channel as a target, if the person may do this there now. Raises ToolError."""
        if inbound.is_direct(channel):
            raise ToolError(platforms_texts.ACT_DIRECT, ours=True)
        if not channel:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
        user = context.person.id.removeprefix(f"{self.me.source}:")
        info = await self._channel(channel)
        member = await self._member(user, channel)
        group = f"{self.me.source}:{channel}"
        is_in = (await self.membership.readable(context.person.id, [group])).get(group)
        if is_in is None:
            raise ToolError(platforms_texts.ACT_UNKNOWN, ours=True)
        if not is_in:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
        if not flag(info, "is_member"):
            raise ToolError(platforms_texts.ACT_INVITE.format(bot=self.me.name), ours=True)
        why = refusal(info, member, user, right, in_thread=in_thread)
        if why:
            raise ToolError(why, ours=True)
        if right in _WRITES and flag(info, "is_general") and not await self._may_post_generally(member):
            raise ToolError(platforms_texts.ACT_NO_RIGHT, ours=True)
        place, public = await self.places.read_now(channel)
        if context.channel == channel and isinstance(context.place.audience, GroupAudience):
            place = context.place  # it already knows whether a guest reads there
        name = f"#{text(info, 'name')}" if public else platforms_texts.ACT_THAT_CHANNEL
        at = f"{inbound.channel_conversation(self.me, channel)}:acts"
        return ActTarget(channel, place, name, at)

    async def _channel(self, channel: str) -> JsonObject:
        try:
            return fields(await self.api.call(Method.CHANNEL, channel=channel), "channel")
        except SlackRefused as refused:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True) from refused
        except SlackError as error:
            raise ToolError(platforms_texts.ACT_UNKNOWN, ours=True) from error

    async def _member(self, user: str, channel: str) -> Member:
        """Return the person as they are now. Raises ToolError for one who may act nowhere."""
        info = fields(await self.calls.asked(lambda: self.api.call(Method.USER, user=user)), "user")
        member = await self.places.member_in(channel, member_of(self.me, user, info))
        if member.gone or member.authority < Authority.GUEST:
            raise ToolError(platforms_texts.ACT_NO_RIGHT, ours=True)
        return member

    async def _may_post_generally(self, member: Member) -> bool:
        """Return whether a person may post in the workspace's general channel."""
        preferences = await self.calls.asked(lambda: self.api.call(Method.TEAM_PREFERENCES))
        return may_post(text(preferences, "who_can_post_general"), member)

    async def named(self, context: ToolContext) -> Mapping[str, str]:
        user, ts = context.person.id.removeprefix(f"{self.me.source}:"), context.message_id
        if not inbound.is_ts(ts):
            return {}
        try:
            asked = await message_at(self.api, SlackMessageLink(context.channel, ts, thread_of(context)))
        except SlackError:
            return {}
        if asked is None or text(asked, "user") != user:
            return {}
        words = stated(text(asked, "text").replace("&gt;", ">"))
        mentioned = [each for each in mentioned_users(words) if each != self.me.user]
        names = await self.people.names(mentioned)
        return {names[each]: each for each in mentioned if each in names}

    def split(self, text: str) -> Sequence[str]:  # the port's name
        return [page.text for page in pages(text, PAGE_CHARS)]

    async def post(
        self,
        target: ActTarget,
        messages: Sequence[str],
        mentioned: Mapping[str, str],
        key: str,
        context: ToolContext,  # noqa: ARG002 -- of the port
    ) -> Posted:
        posted = list[str]()
        for number, message in enumerate(messages):
            mentions = ",".join(id_ for name, id_ in mentioned.items() if f"@{name}".casefold() in message.casefold())
            try:
                shown = partial(self._shown, Method.POST, message, mentions)
                posted.append(await self._post(target, f"{key}:{number}", shown))
            except ToolError as error:
                if not posted:
                    raise
                return Posted(tuple(posted), self._link(target.channel, posted[0], target.thread), str(error))
        return Posted(tuple(posted), self._link(target.channel, posted[0], target.thread))

    def _link(self, channel: str, ts: str, root: str = "") -> str:
        return inbound.permalink(self.me, channel, ts, root) or ""

    async def _post(self, target: ActTarget, key: str, post: Callable[[dict[str, Json]], Awaitable[JsonObject]]) -> str:
        """Make a post with this key, once; return its time stamp."""
        where: dict[str, Json] = {"channel": target.channel, "thread_ts": target.thread or None}
        where["metadata"] = {"event_type": EVENT_TYPE, "event_payload": {"key": key}}
        queue = self.budgets.posts(target.channel)

        async def call() -> JsonObject:
            await self.clock.sleep(await queue.book(self.clock.monotonic()))
            return await post(where)

        try:
            return text(await self.calls.limited(call), "ts")
        except SlackDown:
            if found := await self._posted_as(target, key):
                return found
            raise ToolError(platforms_texts.ACT_UNSURE, ours=True) from None

    async def _shown(self, method: Method, message: str, mentions: str, where: dict[str, Json]) -> JsonObject:
        """Post or edit a message in the form that Slack takes."""
        if mentions:
            blocks: list[Json] = [{"type": "markdown", "text": message}]
            return await self.api.call(method, mentions, **where, text=notice(message), blocks=blocks)
        try:
            return await self.api.call(method, **where, markdown_text=message)
        except SlackRefused as refused:
            if refused.code != "no_text":  # a workspace that does not know markdown_text
                raise
            return await self.api.call(method, **where, text=message)

    async def _posted_as(self, target: ActTarget, key: str) -> str:
        """Return the bot's message with this key; "" if there is none, or if that is not known."""
        method = Method.REPLIES if target.thread else Method.HISTORY
        where: dict[str, Json] = {"channel": target.channel, "ts": target.thread or None, "limit": LOOK_BACK}
        try:
            page = await self.api.call(method, **where, include_all_metadata=True)
        except SlackError:
            return ""
        ours = (message for message in items(page, "messages") if inbound.is_ours(message, self.me))
        return next((text(one, "ts") for one in ours if text(one, "metadata", "event_payload", "key") == key), "")

    async def start_thread(
        self,
        target: ActTarget,
        thread: NewThread,
        messages: Sequence[str],
        mentioned: Mapping[str, str],
        key: str,
        context: ToolContext,
    ) -> Posted:
        if thread.tag:
            raise ToolError(platforms_texts.ACT_NO_TAGS, ours=True)
        title = f"**{thread.title}**"
        if target.thread:
            first, *more = messages
            return await self.post(target, [f"{title}\n\n{first}", *more], mentioned, key, context)
        root = await self.post(target, [title], mentioned, f"{key}:root", context)
        (ts,) = root.pages
        try:
            posted = await self.post(replace(target, thread=ts), messages, mentioned, key, context)
        except ToolError as error:
            return replace(root, missing=str(error))
        return Posted((ts, *posted.pages), root.link, posted.missing)

    async def set_topic(self, target: ActTarget, topic: str, *, description: bool) -> None:
        words = " ".join(neutral(topic).split())
        if len(words) > MAX_TOPIC:
            raise ToolError(platforms_texts.ACT_TOPIC_LONG.format(most=MAX_TOPIC), ours=True)
        words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        if description:
            await self.calls.done(lambda: self.api.call(Method.SET_PURPOSE, channel=target.channel, purpose=words))
        else:
            await self.calls.done(lambda: self.api.call(Method.SET_TOPIC, channel=target.channel, topic=words))

    async def add_bookmark(self, target: ActTarget, title: str, link: str) -> None:
        shown = " ".join(neutral(title).split())
        if any((text(one, "title"), text(one, "link")) == (shown, link) for one in await self._bookmarks(target)):
            return
        about: dict[str, Json] = {"channel_id": target.channel, "title": shown, "type": "link", "link": link}
        await self.calls.done(lambda: self.api.call(Method.ADD_BOOKMARK, **about))

    async def remove_bookmark(self, target: ActTarget, named: str) -> None:
        meant = [
            one
            for one in await self._bookmarks(target)
            if text(one, "link") == named or text(one, "title").casefold() == named.casefold()
        ]
        if len(meant) != 1:
            raise ToolError(platforms_texts.ACT_NO_BOOKMARK.format(count=len(meant)), ours=True)
        id_ = text(meant[0], "id")
        await self.calls.done(
            lambda: self.api.call(Method.REMOVE_BOOKMARK, channel_id=target.channel, bookmark_id=id_), "not_found"
        )

    async def _bookmarks(self, target: ActTarget) -> Sequence[JsonObject]:
        return items(
            await self.calls.asked(lambda: self.api.call(Method.BOOKMARKS, channel_id=target.channel)), "bookmarks"
        )

    async def post_poll(
        self,
        target: ActTarget,
        poll: NewPoll,
        key: str,
        context: ToolContext,  # noqa: ARG002 -- of the port
    ) -> Posted:
        asked = Poll(poll.question, poll.options)
        where: dict[str, Json] = {"blocks": poll_blocks(asked), "text": notice(poll_text(asked))}
        ts = await self._post(target, key, lambda at: self.api.call(Method.POST, **at, **where))
        return Posted((ts,), self._link(target.channel, ts, target.thread))

    async def end_poll(self, target: ActTarget, poll: Poll | None) -> None:
        if poll is not None:

            async def show() -> JsonObject:
                await show_poll(self.api, target.channel, target.message, poll)
                return {}

            await self.calls.done(show)

    async def edit(self, target: ActTarget, message: str) -> None:
        where: dict[str, Json] = {"channel": target.channel, "ts": target.message}
        await self.calls.done(lambda: self._shown(Method.UPDATE, message, "", where))

    async def delete(self, target: ActTarget, pages: Sequence[str]) -> None:
        for page in pages:
            await self.calls.done(
                lambda shown=page: delete_shown(self.api, target.channel, shown),
                "message_not_found",
                "canvas_not_found",
            )

    async def react(self, target: ActTarget, emoji: str) -> None:
        name = emoji_name(emoji)
        if _EMOJI.fullmatch(name) is None:
            raise ToolError(platforms_texts.ACT_EMOJI_NAME, ours=True)
        await self.calls.done(
            lambda: self.api.call(Method.ADD_REACTION, channel=target.channel, timestamp=target.message, name=name)
        )

    async def pin(self, target: ActTarget, *, on: bool) -> None:
        method = Method.ADD_PIN if on else Method.REMOVE_PIN
        await self.calls.done(lambda: self.api.call(method, channel=target.channel, timestamp=target.message))
