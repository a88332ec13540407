"""What a question refers to: the thread in which the bot is first mentioned, and the messages that are linked."""

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.memory.audience import GroupAudience, PersonAudience, Place, may_flow
from agent.messages import Json, JsonObject
from agent.ports import Membership
from agent.records import AttachedMessage, Attachment, Quoted
from bot.platforms.slack.api import Method, SlackApi, SlackError, first_text, items, text
from bot.platforms.slack.inbound import (
    SlackBot,
    SlackMessage,
    attachment,
    attachments,
    is_direct,
    is_ts,
    root_of,
)
from bot.platforms.slack.markup import SlackMessageLink, mentioned_channels, mentioned_users, message_links, readable
from bot.platforms.slack.members import People
from bot.platforms.slack.options import PLATFORM
from bot.platforms.slack.places import Places
from bot.texts.formatting import literal

# Names in the place of ids: what a message of Slack says, as a person reads it.
#
# Rules. What is looked up is bounded, also in time, and remembered for a minute; whatever is not found keeps its id.
# Only the names of public channels are looked up: a private one may say more than those who read the answer know.

PATIENCE_S: Final = 1.0  # For all names of a message: Slack wants its acknowledgement within three seconds

# How the text of a budget that is not the reader's own begins.
_ABOUT: Final = re.compile(rf"(Person|Channel) `(?:{PLATFORM}:[^`]*:)?(\w+)`")


@dataclass(frozen=True, slots=True)
class SlackNames:
    people: People
    places: Places

    async def read(self, written: str) -> str:
        """A message as a person reads it."""
        return readable(written, await self.of(written))

    async def in_budget(self, answer: str) -> str:
        """What `/budget` says, with the name of the person or the public channel that it is about."""
        found = _ABOUT.match(answer)
        if found is None:
            return answer
        id_, is_person = found[2], found[1] == "Person"
        names = await (self.people.names([id_]) if is_person else self.places.names([id_]))
        name = f"{'@' if is_person else '#'}{literal(names[id_])}" if id_ in names else found[0]
        return name + answer[found.end() :]

    async def of(self, *written: str, users: tuple[str, ...] = ()) -> dict[str, str]:
        """The names of those who are mentioned there, and of these users, by their ids."""
        mentioned = [user for one in written for user in mentioned_users(one)]
        channels = [channel for one in written for channel in mentioned_channels(one)]
        try:
            async with asyncio.timeout(PATIENCE_S):
                people, places = await asyncio.gather(
                    self.people.names([*users, *mentioned]), self.places.names(channels)
                )
        except TimeoutError:
            return await self.people.names([])  # who is asked needs no asking
        return people | places


MAX_MESSAGES = 100  # As many as a person would scroll back

MAX_CHARS = 24_000  # About half of a turn's history budget: the rest is for the conversation that begins

MAX_FILES = 5  # The last ones: whoever asks about a file in a thread has just seen it

MAX_REQUESTS = 5
PAGE = 200  # A thread is told from its beginning, 200 messages at a time: a thousand, then the newest are not reached

LINKED = "linked message"
MAX_LINKS = 3  # Each costs a request before the question is acknowledged


class Threads:
    """Rules. The thread is read once, when the conversation with the bot begins, and is bounded: its first message and
    the last ones before the question. A linked message is read only if what is said there may be used where the
    answer is read. What cannot be read is left out: the question is answered without it.
    """

    def __init__(self, api: SlackApi, me: SlackBot, people: People, places: Places, membership: Membership) -> None:
        self._api = api
        self._me = me
        self._names = SlackNames(people, places)
        self._places = places
        self._membership = membership

    async def before(self, heard: SlackMessage) -> tuple[Quoted | Attachment, ...]:
        """The thread up to this message, oldest first, and its last files; () if it cannot be read."""
        kept: deque[JsonObject] = deque(maxlen=MAX_MESSAGES)
        first: JsonObject = {}
        where: dict[str, Json] = {"channel": heard.channel, "ts": heard.thread_ts, "latest": heard.ts, "limit": PAGE}
        try:
            async for page in self._api.pages(Method.REPLIES, MAX_REQUESTS, **where):
                messages = [m for m in items(page, "messages") if text(m, "ts") < heard.ts]
                first = first or (messages[0] if messages else {})
                kept.extend(messages)
        except SlackError:
            return ()
        thread = [*kept] if not kept or kept[0] is first else [first, *kept]
        told = _bounded(thread)
        return (*await self._quoted(told, "earlier in this thread"), *_files(told))

    async def files_now(self, message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
        """The port `FilesNow`: what is attached to a message, for whoever is in its channel at this moment, or may go
        there. A question that was asked by a command stands in no channel.
        """
        if not await self._reads(person, message):
            return None
        if not is_ts(message.message_id):
            return ()
        try:
            root = root_of(message.conversation)
            found = await message_at(self._api, SlackMessageLink(message.channel, message.message_id, root))
        except SlackError:
            return None
        return attachments(found or {}, self._me)

    async def _reads(self, person: str, message: AttachedMessage) -> bool:
        if is_direct(message.channel):
            return message.person == person
        if (await self._places.of(message.channel)).within_team:
            return True  # it is public, and what was said there may be used for full members only
        place = f"{self._me.source}:{message.channel}"
        return (await self._membership.readable(person, [place])).get(place, False)

    async def linked(self, heard: SlackMessage, target: Place) -> tuple[Quoted, ...]:
        """The messages that this one links to, as far as they may be used in an answer that is read at `target`."""
        found: list[Quoted] = []
        for link in message_links(heard.text.replace("&amp;", "&"))[:MAX_LINKS]:
            if link.channel == heard.channel:
                found += await self._read(link, LINKED)
            else:
                found += await self.one(link, target, LINKED)
        return tuple(found)

    async def one(self, link: SlackMessageLink, target: Place, source: str) -> tuple[Quoted, ...]:
        """One message, called `source`, if it may be used in an answer that is read at `target`; else ()."""
        place = await self._places.of(link.channel)
        return await self._read(link, source) if await self._may_be_used(place, target) else ()

    async def _may_be_used(self, source: Place, target: Place) -> bool:
        """What is said in a group may be used where only a member of it reads, as it is at this moment."""
        readable: set[str] = set()
        if isinstance(source.audience, GroupAudience) and isinstance(target.audience, PersonAudience):
            place = source.audience.place
            known = await self._membership.readable(target.audience.person, [place])
            readable = {place} if known.get(place) else readable
        return may_flow(source.audience, target, readable)

    async def _read(self, link: SlackMessageLink, source: str) -> tuple[Quoted, ...]:
        try:
            message = await message_at(self._api, link)
        except SlackError:
            return ()
        return await self._quoted([message] if message else [], source)

    async def _quoted(self, messages: Sequence[JsonObject], source: str) -> tuple[Quoted, ...]:
        users = tuple(filter(None, (text(message, "user") for message in messages)))
        names = await self._names.of(*(text(message, "text") for message in messages), users=users)
        return tuple(
            Quoted(source, _author(message, names), shown, (text(message, "ts"),))
            for message in messages
            if (shown := readable(text(message, "text"), names))
        )


async def message_at(api: SlackApi, link: SlackMessageLink) -> JsonObject | None:
    """One message; None if it is not there any more. Raises SlackError."""
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


def _files(thread: Sequence[JsonObject]) -> list[Attachment]:
    files = [attachment(file) for message in thread for file in items(message, "files")]
    return [replace(file, source="file earlier in this thread", spoken=False) for file in files[-MAX_FILES:]]


def _author(message: JsonObject, names: dict[str, str]) -> str:
    user = text(message, "user")
    return names.get(user) or first_text(message, "username", "bot_id") or user or "unknown"


def _bounded(thread: Sequence[JsonObject]) -> list[JsonObject]:
    """The first message, and as many of the last as fit into the limit, in their order."""
    if not thread:
        return []
    chars = len(text(thread[0], "text"))
    kept: list[JsonObject] = []
    for message in reversed(thread[1:]):
        chars += len(text(message, "text"))
        if chars > MAX_CHARS:
            break
        kept.append(message)
    return [thread[0], *reversed(kept)]
