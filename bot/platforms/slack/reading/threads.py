"""What a question refers to: the thread in which the bot is first mentioned, and the messages that are linked.

Above: `intake`. Below: `api`, `names`, `place`, `markup`.

Rules. The thread is read once, when the conversation with the bot begins, and is bounded: its first message and the
last ones before the question. A linked message is read only if what is said there may be used where the answer is
read. What cannot be read is left out: the question is answered without it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from agent.memory.audience import GroupAudience, PersonAudience, Place, may_flow
from agent.messages import JsonObject
from agent.ports import Membership
from agent.records import Attachment, Quoted
from bot.platforms.slack.api import Method, SlackApi, SlackError
from bot.platforms.slack.markup import MessageLink, message_links, readable
from bot.platforms.slack.members.names import Names
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import Places
from bot.platforms.slack.payload import first_text, items, text
from bot.platforms.slack.reading.inbound import Heard, Me, attachment

MAX_MESSAGES = 100
"""As many as a person would scroll back."""

MAX_CHARS = 24_000
"""About half of a turn's history budget: the rest is for the conversation that begins."""

MAX_FILES = 5
"""The last ones: whoever asks about a file in a thread has just seen it."""

MAX_REQUESTS = 5
PAGE = 200
"""A thread is told from its beginning, 200 messages at a time: a thousand, then the newest are not reached."""

LINKED = "linked message"
MAX_LINKS = 3
"""Each costs a request before the question is acknowledged."""


class Threads:
    def __init__(self, api: SlackApi, me: Me, people: People, places: Places, membership: Membership) -> None:
        self._api = api
        self._me = me
        self._names = Names(people, places)
        self._places = places
        self._membership = membership

    async def before(self, heard: Heard) -> tuple[Quoted | Attachment, ...]:
        """The thread up to this message, oldest first, and its last files; () if it cannot be read."""
        kept: deque[JsonObject] = deque(maxlen=MAX_MESSAGES)
        first: JsonObject = {}
        cursor = ""
        try:
            for _ in range(MAX_REQUESTS):
                page = await self._api.call(
                    Method.REPLIES,
                    channel=heard.channel,
                    ts=heard.thread_ts,
                    latest=heard.ts,
                    limit=PAGE,
                    cursor=cursor or None,
                )
                messages = [m for m in items(page, "messages") if text(m, "ts") < heard.ts]
                first = first or (messages[0] if messages else {})
                kept.extend(messages)
                cursor = text(page, "response_metadata", "next_cursor")
                if not cursor:
                    break
        except SlackError:
            return ()
        thread = [*kept] if not kept or kept[0] is first else [first, *kept]
        told = _bounded(thread)
        return (*await self._quoted(told, "earlier in this thread"), *_files(told))

    async def linked(self, heard: Heard, target: Place) -> tuple[Quoted, ...]:
        """The messages that this one links to, as far as they may be used in an answer that is read at `target`."""
        found: list[Quoted] = []
        for link in message_links(heard.text.replace("&amp;", "&"))[:MAX_LINKS]:
            if link.channel == heard.channel:
                found += await self._read(link, LINKED)
            else:
                found += await self.one(link, target, LINKED)
        return tuple(found)

    async def one(self, link: MessageLink, target: Place, source: str) -> tuple[Quoted, ...]:
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

    async def _read(self, link: MessageLink, source: str) -> tuple[Quoted, ...]:
        try:
            message = await message_at(self._api, link)
        except SlackError:
            return ()
        return await self._quoted([message] if message else [], source)

    async def _quoted(self, messages: Sequence[JsonObject], source: str) -> tuple[Quoted, ...]:
        users = tuple(filter(None, (text(message, "user") for message in messages)))
        names = await self._names.of(*(text(message, "text") for message in messages), users=users)
        return tuple(
            Quoted(source, _author(message, names), shown)
            for message in messages
            if (shown := readable(text(message, "text"), names))
        )


async def message_at(api: SlackApi, link: MessageLink) -> JsonObject | None:
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
