"""The context of a question: the thread in which the bot is first mentioned, and linked messages."""

import asyncio
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.incoming import Attachment, Quoted
from agent.memory.audience import GroupAudience, PersonAudience, Place, label, may_flow
from agent.messages import Json, JsonObject
from agent.ports.membership import Membership
from agent.stored_messages import AttachedMessage
from bot.chat.message_parts import UNREADABLE_LINK, UNREADABLE_THREAD, bounded
from bot.chat.texts.formatting import literal
from bot.platforms.slack.api import SlackApi, SlackError, first_text, items, text
from bot.platforms.slack.inbound import (
    SOMEBODY,
    SlackBot,
    SlackMessage,
    attachment,
    attachments,
    is_direct,
    is_ours,
    is_ts,
    is_written,
    root_of,
)
from bot.platforms.slack.markup import (
    SlackMessageLink,
    mentioned_channels,
    mentioned_users,
    message_links,
    readable,
    with_user_names,
)
from bot.platforms.slack.members import People
from bot.platforms.slack.message_content import Content, Shown, content_of
from bot.platforms.slack.options import PLATFORM, Method
from bot.platforms.slack.places import Places

PATIENCE_S: Final = 1.0  # For all names of a message: Slack wants its acknowledgement within three seconds

# The beginning of a text about a budget that is not the reader's own.
_ABOUT: Final = re.compile(rf"(Person|Channel) `(?:{PLATFORM}:[^`]*:)?(\w+)`")


@dataclass(frozen=True, slots=True)
class SlackNames:
    """Replaces the ids in messages by names.

    Rules. Lookups are bounded in number and time, and cached for a minute; an id that is not found stays. Only names of
    public channels are looked up: the name of a private one may be unknown to readers of the answer.
    """

    people: People
    places: Places

    async def read(self, message_text: str) -> str:
        """Return a message as a person reads it."""
        names = await self.of(message_text) if "<" in message_text else {}  # each mention begins with it
        return readable(message_text, names)

    async def in_budget(self, answer: str) -> str:
        """Return an answer of `/budget` with the name of its person or public channel instead of the id."""
        found = _ABOUT.match(answer)
        if found is None:
            return answer
        id_, is_person = found[2], found[1] == "Person"
        names = await (self.people.names([id_]) if is_person else self.places.names([id_]))
        name = f"{'@' if is_person else '#'}{literal(names[id_])}" if id_ in names else found[0]
        return name + answer[found.end() :]

    async def in_answer(self, answer: str) -> str:
        """Return an answer of a command with the names of the people whom it mentions."""
        users = mentioned_users(answer)
        return with_user_names(answer, await self.people.names(users) if users else {})

    async def quotes(self, content: Content) -> tuple[Quoted, ...]:
        """Return what a message encloses as quotes: messages that it forwards, and an app's cards."""
        if not content.enclosed:
            return ()
        names = await self.of(*(words for part in content.enclosed for words in (part.author, part.text)))
        return content.quotes(lambda words: readable(words, names), SOMEBODY)

    async def of(self, *texts: str, users: tuple[str, ...] = ()) -> dict[str, str]:
        """Return the names of all users and channels that the texts mention, and of `users`, by their ids."""
        mentioned = [user for message_text in texts for user in mentioned_users(message_text)]
        channels = [channel for message_text in texts for channel in mentioned_channels(message_text)]
        try:
            async with asyncio.timeout(PATIENCE_S):
                people, places = await asyncio.gather(
                    self.people.names([*users, *mentioned]), self.places.names(channels)
                )
        except TimeoutError:
            return await self.people.names([])  # the bot's own name, which needs no request
        return people | places


MAX_MESSAGES = 100  # The last ones of a thread

MESSAGE_CHARS = 12_000  # Of one message in a thread: an app may post a whole log

MAX_CHARS = 24_000  # About half of a turn's history budget: the rest is for the conversation that begins

MAX_FILES = 5  # The last ones of a thread: a question about a file mostly means one of these

MAX_REQUESTS = 5
PAGE = (
    200  # Slack pages a thread from its beginning: of a thread with over a thousand messages, the newest are not read
)

EARLIER: Final = "earlier in this thread"
LINKED = "linked message"
MAX_LINKS = 3  # Each costs a request before the question is acknowledged


class Threads:
    """Reads the context of questions.

    Rules. A thread is read when the conversation with the bot begins, and within bounds: its first message and the last
    ones before the question. Of its later messages, people's are stored as they arrive; those of other apps, such as
    an alert that is resolved, are not, and are read again with each question, as they are then. A linked message is
    read only if its channel's content may be used where the answer is read. What cannot be read is named.
    """

    def __init__(self, api: SlackApi, me: SlackBot, people: People, places: Places, membership: Membership) -> None:
        self._api = api
        self._me = me
        self._names = SlackNames(people, places)
        self._places = places
        self._membership = membership

    async def before(self, message: SlackMessage, *, apps_alone: bool = False) -> tuple[Quoted | Attachment, ...]:
        """Return the thread before this message, the oldest first, and its last files.

        `apps_alone`: only what other apps wrote there.
        """
        latest: deque[JsonObject] = deque(maxlen=MAX_MESSAGES)
        first: JsonObject = {}
        where: dict[str, Json] = {
            "channel": message.channel,
            "ts": message.thread_ts,
            "latest": message.ts,
            "limit": PAGE,
        }
        try:
            async for page in self._api.pages(Method.REPLIES, MAX_REQUESTS, **where):
                messages = [
                    item
                    for item in items(page, "messages")
                    if text(item, "ts") < message.ts and (self._is_of_other_app(item) or not apps_alone)
                ]
                first = first or (messages[0] if messages else {})
                latest.extend(messages)
        except SlackError:
            return () if apps_alone else (Quoted(EARLIER, "", UNREADABLE_THREAD),)
        thread = [*latest] if not latest or latest[0] is first else [first, *latest]
        shown = _bounded([(item, content_of(item)) for item in thread if is_written(item)])
        return (*await self._quoted(shown, EARLIER, MESSAGE_CHARS), *_files(shown, self._me))

    def _is_of_other_app(self, message: JsonObject) -> bool:
        return bool(text(message, "bot_id")) and self._me.bot != text(message, "bot_id")

    async def files_now(self, message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
        """Implements `FilesNow`: return a message's files; None if the person cannot read its channel now, or Slack
        does not answer. A question that was asked by a command is no message, and has none.
        """
        if not await self._can_read(person, message):
            return None
        if not is_ts(message.message_id):
            return ()
        try:
            root = root_of(message.conversation)
            found = await message_at(self._api, SlackMessageLink(message.channel, message.message_id, root))
        except SlackError:
            return None
        return attachments(found or {}, self._me)

    async def _can_read(self, person: str, message: AttachedMessage) -> bool:
        if is_direct(message.channel):
            return message.person == person
        if (await self._places.of(message.channel)).within_team:
            return True  # it is public, and its content may be used for full members only
        place = f"{self._me.source}:{message.channel}"
        return (await self._membership.readable(person, [place])).get(place, False)

    async def linked(self, message: SlackMessage, target: Place) -> tuple[Quoted, ...]:
        """Return the linked messages that may be used in an answer that is read at `target`; of each other one, a
        line that it cannot be read, whatever the reason.
        """
        found: list[Quoted] = []
        for link in message_links(message.text.replace("&amp;", "&"))[:MAX_LINKS]:
            if link.channel == message.channel:
                quoted = await self._read(link, LINKED)
            else:
                quoted = await self.read_message(link, target, LINKED)
            found += quoted or (Quoted(LINKED, "", UNREADABLE_LINK),)
        return tuple(found)

    async def read_message(self, link: SlackMessageLink, target: Place, source: str) -> tuple[Quoted, ...]:
        """Return a message if it may be used in an answer that is read at `target`; else (). `source`: its label."""
        place = await self._places.of(link.channel)
        return await self._read(link, source) if await self._may_be_used(place, target) else ()

    async def _may_be_used(self, source: Place, target: Place) -> bool:
        """Whether content of `source` may be used at `target`. A group's may, if only a current member reads there."""
        readable: set[str] = set()
        if isinstance(source.audience, GroupAudience) and isinstance(target.audience, PersonAudience):
            place = source.audience.place
            known = await self._membership.readable(target.audience.person, [place])
            readable = {label(source.audience)} if known.get(place) else readable
        return may_flow(source.audience, target, readable)

    async def _read(self, link: SlackMessageLink, source: str) -> tuple[Quoted, ...]:
        try:
            message = await message_at(self._api, link)
        except SlackError:
            return ()
        return await self._quoted([(message, content_of(message))] if message else [], source)

    async def _quoted(self, messages: Sequence[Shown], source: str, limit: int = MAX_CHARS) -> tuple[Quoted, ...]:
        """Return messages as quotes, each up to `limit` characters."""
        users = tuple(filter(None, (text(message, "user") for message, _ in messages)))
        names = await self._names.of(*(content.whole for _, content in messages), users=users)
        return tuple(
            Quoted(
                source,
                author_of(message, names, self._me),
                message_text,
                (text(message, "ts"),),
                by_bot=is_ours(message, self._me) or content.may_hold_ours,
            )
            for message, content in messages
            if (message_text := readable(bounded((content.whole,), limit), names))
        )


async def message_at(api: SlackApi, link: SlackMessageLink) -> JsonObject | None:
    """Return the linked message; None if it was deleted. Raises SlackError."""
    page = await api.call(
        Method.REPLIES,
        channel=link.channel,
        ts=link.root or link.ts,
        oldest=link.ts,
        latest=link.ts,
        inclusive=True,
        limit=2,
    )
    return next((message for message in items(page, "messages") if text(message, "ts") == link.ts), None)


def _files(thread: Sequence[Shown], me: SlackBot) -> list[Attachment]:
    files = list[Attachment]()
    for message, content in thread:
        by_bot = is_ours(message, me)
        files += [attachment(file, by_bot=by_bot or text(file, "user") == me.user) for file in items(message, "files")]
        files += [attachment(file, by_bot=True) for file in content.files]
    return [replace(file, source="file earlier in this thread", spoken=False) for file in files[-MAX_FILES:]]


def author_of(message: JsonObject, names: Mapping[str, str], me: SlackBot) -> str:
    """Return the name of a message's author; of another app with a note, since its words are no person's."""
    user, bot = text(message, "user"), text(message, "bot_id")
    app_name = first_text(message, "username") or text(message, "bot_profile", "name") or bot
    name = names.get(user) or app_name or user or "unknown"
    return f"{name} (a bot)" if bot and bot != me.bot else name


def _bounded(thread: Sequence[Shown]) -> list[Shown]:
    """Return the first message, and as many of the last as fit into MAX_CHARS, in their order."""
    if not thread:
        return []
    chars = min(len(thread[0][1].whole), MESSAGE_CHARS)
    latest: list[Shown] = []
    for message, content in reversed(thread[1:]):
        chars += min(len(content.whole), MESSAGE_CHARS)
        if chars > MAX_CHARS:
            break
        latest.append((message, content))
    return [thread[0], *reversed(latest)]
