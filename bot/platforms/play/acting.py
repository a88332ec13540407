"""Acts in `cogency play` for the person who asks: `agent.ports.acting.Hands`.

Rules
- A person acts in the channels that they read, as everyone there can. There are no other rights, and no topics,
  bookmarks, canvases and events.
- A post names the person for whom it was made. It has a key, by which it is made once.
- A thread is a message with replies: one that is started alone has its title as that message.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.errors import ToolError
from agent.ports.acting import ActRight, ActTarget, NewPoll, NewThread, Posted
from agent.ports.acts import Poll
from agent.ports.tools import ToolContext
from bot.chat.reply.split import pages
from bot.platforms import texts as platforms_texts
from bot.platforms.emoji import emoji_character
from bot.platforms.play.inbound import PlayAddress, link_to
from bot.platforms.play.polls import poll_fields
from bot.platforms.play.surface import LIMITS, MessageLog
from bot.platforms.play.workspace import BOT, CHANNELS, PEOPLE, PlayChannel, PlayPerson, channel_named, known_as

PINNED: Final = "📌"
_LINK: Final = re.compile(r"#message-(\d{1,9})\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class PlayHands:
    """`address`: the page's."""

    log: MessageLog
    address: str
    topics: None = None
    bookmarks: None = None
    canvases: None = None
    events: None = None
    counts_polls: bool = False

    @property
    def threads(self) -> "PlayHands":
        return self

    def page_of(self, link: str) -> None:
        """There are no canvases and events."""

    async def find(self, where: str, right: ActRight, context: ToolContext) -> ActTarget:
        if _LINK.search(where):
            return await self.find_message(where, right, context)
        name = where.strip().casefold()
        if name in {"thread", "this thread"}:
            root = PlayAddress.decode(context.reply_to).thread if context.reply_to else ""
            return self._message(root, context)
        here = name in {"", "channel", "this channel", "here"}
        person = _person(context)
        channel = CHANNELS.get(context.channel) if here else channel_named(where, person.id)
        return _target(channel, person)

    async def find_message(self, link: str, right: ActRight, context: ToolContext) -> ActTarget:  # noqa: ARG002 -- of the port
        if (found := _LINK.search(link)) is None:
            raise ToolError(platforms_texts.ACT_NO_LINK, ours=True)
        return self._message(found[1], context)

    def _message(self, id_: str, context: ToolContext) -> ActTarget:
        person, message = _person(context), self.log.of(id_)
        if message is None or not message.is_seen_by(person.id):
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
        target = _target(CHANNELS[message.channel], person)
        return replace(target, thread=message.thread or id_, message=id_, page=id_)

    async def named(self, context: ToolContext) -> Mapping[str, str]:  # noqa: ARG002 -- of the port
        return {}  # nobody is notified here

    def split(self, text: str) -> Sequence[str]:
        return [page.text for page in pages(text, LIMITS.page_chars)]

    async def post(
        self,
        target: ActTarget,
        messages: Sequence[str],
        mentioned: Mapping[str, str],  # noqa: ARG002 -- of the port
        key: str,
        context: ToolContext,
    ) -> Posted:
        ids = [self._add(target, f"{key}:{number}", context, text=message) for number, message in enumerate(messages)]
        return Posted(tuple(ids), link_to(self.address, ids[0]))

    def _add(self, target: ActTarget, key: str, context: ToolContext, **fields: object) -> str:
        """Post a message once; return its id."""
        if (found := self.log.with_key(key)) is not None:
            return found.id
        note = platforms_texts.PLAY_POSTED_FOR.format(name=_person(context).name)
        return self.log.add(target.channel, BOT, thread=target.thread, key=key, note=note, **fields).id

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
        root = self._add(target, f"{key}:root", context, text=title)
        posted = await self.post(replace(target, thread=root), messages, mentioned, key, context)
        return Posted((root, *posted.pages), link_to(self.address, root))

    async def post_poll(self, target: ActTarget, poll: NewPoll, key: str, context: ToolContext) -> Posted:
        id_ = self._add(target, key, context, **poll_fields(Poll(poll.question, poll.options)))
        return Posted((id_,), link_to(self.address, id_))

    async def end_poll(self, target: ActTarget, poll: Poll | None) -> None:
        if poll is not None:
            self.log.change(target.page, **poll_fields(poll))

    async def edit(self, target: ActTarget, message: str) -> None:
        if self.log.change(target.page, text=message, edited=True) is None:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)

    async def delete(self, target: ActTarget, pages: Sequence[str]) -> None:  # noqa: ARG002 -- pages are ids of messages
        for page in pages:
            self.log.remove(page)

    async def react(self, target: ActTarget, emoji: str) -> None:
        if not (character := emoji_character(emoji.strip().strip(":"))):
            raise ToolError(platforms_texts.ACT_EMOJI_CHARACTER, ours=True)
        self._mark(target, character, on=True)

    async def pin(self, target: ActTarget, *, on: bool) -> None:
        self._mark(target, PINNED, on=on)

    def _mark(self, target: ActTarget, mark: str, *, on: bool) -> None:
        message = self.log.of(target.message)
        others = () if message is None else tuple(one for one in message.marks if one != mark)
        if self.log.change(target.message, marks=(*others, mark) if on else others) is None:
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)


def _person(context: ToolContext) -> PlayPerson:
    person = PEOPLE.get(context.person.id.removeprefix(known_as("")))
    if person is None:
        raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
    return person


def _target(channel: PlayChannel | None, person: PlayPerson) -> ActTarget:
    """Return the channel as a target, if the person may act there. Raises ToolError."""
    if channel is not None and channel.direct and person.id in channel.members:
        raise ToolError(platforms_texts.ACT_DIRECT, ours=True)
    if channel is None or person.id not in channel.members:
        raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
    return ActTarget(channel.id, channel.place, f"#{channel.name}", known_as(f"{channel.id}:acts"))
