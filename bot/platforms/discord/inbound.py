"""Convert Discord messages and commands to `Incoming`. Pure.

Which conversation a message belongs to:

- In a DM or a thread: the channel's own. `conversations` may start further conversations in a DM.
- A mention in a channel: the thread that is started from it. Discord gives such a thread the id of its message, so the
  id of the conversation is known before the thread exists. A chain of replies is identified in the same way. Where a
  channel has no threads, or the settings put answers in place: the channel.
- `/ask` in a channel: the same; but since no thread follows the command, each `/ask` is a conversation of its own.
- A private `/ask`: the asker's own conversation in that channel, never part of the channel's.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from agent.admission_terms import Authority
from agent.incoming import Incoming, Person, Quoted
from agent.memory.audience import Place
from agent.messages import Depth
from bot.chat.texts.formatting import shortened
from bot.platforms.discord.markup import DiscordNames, readable, without_mention
from bot.platforms.discord.places import SOURCE, known_as, private_place
from bot.platforms.discord.reply_to import Address, token_until
from bot.platforms.discord.settings import ReplyMode

NO_TEXT = "(no text)"  # The text of a message without any: a bare mention, a picture

PLAUSIBLE = timedelta(days=1)  # Longer than the delay of any event

THREAD_NAME_CHARS = 80  # What a channel list shows; Discord allows 100
_JOINER = "\N{ZERO WIDTH JOINER}"  # Joins the parts of an emoji
_USER: Final = re.compile(r"<@!?(\d{1,20})>", re.ASCII)
_CHANNEL: Final = re.compile(r"<#(\d{1,20})>", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerStanding:
    """A person's authority and roles in a server; `roles` and `team` (the server) are Discord's ids. `organization`:
    the name of a member's server.
    """

    authority: Authority = Authority.EMPLOYEE
    roles: frozenset[str] = frozenset()
    team: str = ""
    organization: str = field(default="", compare=False)


MEMBER = ServerStanding()
STRANGER = ServerStanding(Authority.STRANGER)


@dataclass(frozen=True, slots=True)
class DiscordAuthor:
    """`automatic`: a bot or a webhook."""

    id: int
    name: str
    automatic: bool = False
    standing: ServerStanding = MEMBER


@dataclass(frozen=True, slots=True)
class ChannelFactsForConversation:
    """What a conversation needs to know of its channel. `parent` is set for threads."""

    channel: int
    place: Place
    parent: int | None = None
    direct: bool = False
    has_threads: bool = False
    """Whether the bot can start a thread from a message here."""


@dataclass(frozen=True, slots=True)
class Replied:
    """The message that a reply refers to, and its author; Discord's ids."""

    id: int
    author: int


@dataclass(frozen=True, slots=True)
class DiscordPost:
    """The parts of a Discord message that the bot uses. `content`: what its author wrote; `whole`: all that it shows.
    `mentions`: ids of the users and roles it mentions.
    """

    id: int
    where: ChannelFactsForConversation
    author: DiscordAuthor
    content: str
    time: datetime
    link: str
    whole: str = ""
    names: DiscordNames = field(default_factory=DiscordNames)
    mentions: frozenset[int] = frozenset()
    carries: bool = False
    """Whether it has content beside its text: a file, a forwarded message, a poll."""
    replies_to: Replied | None = None
    """The message it replies to, if known."""
    by_user: bool = True
    """False for Discord's system messages: "joined the server", "started a thread"."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """The parts of an `/ask` that the bot uses."""

    id: int
    application: int
    token: str
    where: ChannelFactsForConversation
    author: DiscordAuthor
    text: str
    private: bool
    time: datetime
    """When it arrived by our clock: its token expires TOKEN_LIFE later."""
    private_place: Place
    """Where the answer will be read if it is private."""
    depth: Depth = Depth.ADAPT
    by_person: bool = False
    """Whether only the asker has installed the bot, and the server has not."""


@dataclass(frozen=True, slots=True)
class DiscordBot:
    """The bot's own ids, as a user and as roles, and the ids of other bots whose messages it accepts."""

    user: int
    roles: frozenset[int] = frozenset()
    allowed_bots: AbstractSet[str] = frozenset()

    @property
    def ids(self) -> frozenset[int]:
        return self.roles | {self.user}


def plausible(time: datetime, now: datetime) -> datetime:
    """Return the time of a message, which is derived from its id; or `now`, if the id holds no plausible time."""
    return time if abs(now - time) < PLAUSIBLE else now


def mentioned(post: DiscordPost, me: DiscordBot) -> bool:
    return bool(post.mentions & me.ids)


def answers_me(post: DiscordPost, me: DiscordBot) -> bool:
    """Return whether the message replies to one of the bot's."""
    return post.replies_to is not None and post.replies_to.author == me.user


def read_post(post: DiscordPost, me: DiscordBot, mode: ReplyMode) -> Incoming | None:
    """Return the message as the bot takes it in.

    None if the bot itself, a bot that is not allowed, or Discord wrote it, or if it is empty and not addressed to the
    bot. Without the message content intent, messages to others arrive empty and are therefore ignored here.
    """
    author, where = post.author, post.where
    if not post.by_user or author.id == me.user or (author.automatic and str(author.id) not in me.allowed_bots):
        return None
    text = readable(without_mention(post.content, me.ids), post.names).strip()
    if not (text or post.carries or where.direct or mentioned(post, me)):
        return None
    in_channel = not (where.direct or where.parent)
    threaded = in_channel and mode is ReplyMode.THREAD and where.has_threads
    address = Address(
        channel=str(where.channel),
        person=str(author.id),
        message=str(post.id) if in_channel else "",
        thread=thread_name(text) or f"{author.name} asked" if threaded else "",
    )
    return Incoming(
        source=SOURCE,
        event_id=str(post.id),
        channel=str(where.parent or where.channel),
        message_id=str(post.id),
        conversation=known_as(post.id if in_channel and _is_alone(mode, where) else where.channel),
        person=Person(known_as(author.id), author.name),
        place=place_of_answer(where, author),
        text=text or NO_TEXT,
        time=post.time,
        permalink=post.link,
        reply_to=address.encode(),
        # A bot whose messages are accepted is on the operator's list, which is its only authorization.
        authority=Authority.EMPLOYEE if author.automatic else author.standing.authority,
        roles=author.standing.roles,
        team=author.standing.team,
        organization=author.standing.organization,
    )


def read_context(post: DiscordPost, incoming: Incoming, me: DiscordBot) -> Incoming:
    """Return the message with all that it shows as its text: it is context, not a question of its author."""
    whole = readable(without_mention(post.whole, me.ids), post.names).strip()
    return replace(incoming, text=whole or incoming.text)


def read_question(question: AskedQuestion, mode: ReplyMode, quoted: tuple[Quoted, ...] = ()) -> Incoming:
    """Return the `/ask` as the bot takes it in. In a DM with the bot every answer is private already."""
    where, author = question.where, question.author
    private = question.private and not where.direct
    address = Address(
        channel=str(where.channel),
        person=str(author.id),
        interaction=str(question.id),
        application=str(question.application),
        token=question.token,
        token_until=token_until(question.time),
        private=private,
        by_person=question.by_person,
    )
    if private:
        conversation = private_conversation(where.channel, author.id)
    elif not where.direct and where.parent is None and _is_alone(mode, where):
        conversation = known_as(question.id)
    else:
        conversation = known_as(where.channel)
    return Incoming(
        source=SOURCE,
        event_id=str(question.id),
        channel=str(where.parent or where.channel),
        message_id=str(question.id),
        conversation=conversation,
        person=Person(known_as(author.id), author.name),
        place=question.private_place if private else place_of_answer(where, author),
        text=question.text.strip() or NO_TEXT,
        time=question.time,
        reply_to=address.encode(),
        quoted=quoted,
        depth=question.depth,
        authority=author.standing.authority,
        roles=author.standing.roles,
        team=author.standing.team,
        organization=author.standing.organization,
    )


def thread_name(question: str) -> str:
    """Return the question on one line without invisible or direction-changing characters; "" if none are left."""
    visible = "".join(char if char.isprintable() or char == _JOINER else " " for char in question)
    return shortened(visible, THREAD_NAME_CHARS).strip(_JOINER)


def budget_ids(words: str) -> str:
    """Return the arguments of `/budget` with ids in place of mentions, as `bot.budgets.budgets` reads them."""
    people = _USER.sub(lambda found: f"person:{known_as(found[1])}", words)
    return _CHANNEL.sub(r"channel:\1", people)


def _is_alone(mode: ReplyMode, where: ChannelFactsForConversation) -> bool:
    """Return whether each question in this channel is a conversation of its own."""
    return mode is ReplyMode.CHAIN or (mode is ReplyMode.THREAD and where.has_threads)


def place_of_answer(where: ChannelFactsForConversation, author: DiscordAuthor) -> Place:
    """Return the place where the answer will be read."""
    return own_place(author) if where.direct else where.place


def own_place(author: DiscordAuthor) -> Place:
    """Return the author's DM; for a full member it lies within the server in which they were looked up."""
    is_member = author.standing.team.isdecimal() and author.standing.authority >= Authority.EMPLOYEE
    return private_place(known_as(author.id), int(author.standing.team) if is_member else None)


def private_conversation(channel: int, person: int) -> str:
    """Return the id of the person's private conversation in a channel."""
    return f"{known_as(channel)}:{person}"
