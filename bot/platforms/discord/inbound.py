"""From a message or a command on Discord to an `Incoming`, or nothing. Pure.

The conversations.
- A DM, and a thread: the channel itself; `conversations` lets a DM go on in others.
- A mention in a channel: the thread that is started from it. Discord gives such a thread the id of its message, so the
  conversation has its name before the thread exists. In a chain of replies it is named in the same way. Where a channel
  has no threads, or answers stand in place by setting: the channel.
- `/ask` in a channel: the same, but nothing follows it in a thread, so each is a conversation of its own.
- `/ask` in private: that person's own in that channel, never part of the channel's.
"""

import json
import re
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Final

from agent.admission_terms import Authority
from agent.memory.audience import Place
from agent.messages import Depth
from agent.records import EPHEMERAL_PAGE, Incoming, Person, Quoted
from agent.schedules import ScheduleKind
from bot.platforms.discord.markup import DiscordNames, readable, without_mention
from bot.platforms.discord.places import SOURCE, known_as, private_place
from bot.setting_parsers import ReplyMode
from bot.texts.formatting import shortened

NO_TEXT = "(no text)"  # Stands for the words of a message that holds none: a bare mention, a picture

PLAUSIBLE = timedelta(days=1)  # Longer than any event is delivered late

THREAD_NAME_CHARS = 80  # Of the 100 that Discord allows: as much as a channel list shows
_JOINER = "\N{ZERO WIDTH JOINER}"  # Holds the parts of an emoji together
_USER: Final = re.compile(r"<@!?(\d{1,20})>", re.ASCII)
_CHANNEL: Final = re.compile(r"<#(\d{1,20})>", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerStanding:
    """What somebody is in a server, their roles there, and the server; Discord's ids. `organization`: what a member's
    server is called.
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
    """A channel as a conversation needs it. `parent` is set for threads."""

    channel: int
    place: Place
    parent: int | None = None
    direct: bool = False
    has_threads: bool = False
    """Whether the bot can start a thread from a message here."""


@dataclass(frozen=True, slots=True)
class Replied:
    """A message to which another one replies, and whose it is; Discord's ids."""

    id: int
    author: int


@dataclass(frozen=True, slots=True)
class DiscordPost:
    """What matters of a Discord message. `mentions` holds the ids of the users and roles that it addresses."""

    id: int
    where: ChannelFactsForConversation
    author: DiscordAuthor
    content: str
    time: datetime
    link: str
    names: DiscordNames = field(default_factory=DiscordNames)
    mentions: frozenset[int] = frozenset()
    carries: bool = False
    """Whether something hangs on it that can be read without text: a file, a forwarded message."""
    replies_to: Replied | None = None
    """The message that it replies to, if that is known."""
    said: bool = True
    """False for what Discord itself posts: "joined the server", "started a thread"."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What matters of an `/ask`."""

    id: int
    application: int
    token: str
    where: ChannelFactsForConversation
    author: DiscordAuthor
    text: str
    private: bool
    time: datetime
    """When it arrived: its token's life begins then, by our own clock."""
    private_place: Place
    """Where the answer will be read if it is private."""
    depth: Depth = Depth.ADAPT
    by_person: bool = False
    """Whether only the person has installed the bot, and not the server."""


@dataclass(frozen=True, slots=True)
class DiscordBot:
    """The bot's own ids, as a user and as a role, and the other bots that it listens to."""

    user: int
    roles: frozenset[int] = frozenset()
    allowed_bots: AbstractSet[str] = frozenset()

    @property
    def ids(self) -> frozenset[int]:
        return self.roles | {self.user}


def plausible(said: datetime, now: datetime) -> datetime:
    """The time of a message, which is read off its id; now, if that is not a time at all on this server."""
    return said if abs(now - said) < PLAUSIBLE else now


def mentioned(post: DiscordPost, me: DiscordBot) -> bool:
    return bool(post.mentions & me.ids)


def answers_me(post: DiscordPost, me: DiscordBot) -> bool:
    """Whether it replies to something that the bot wrote."""
    return post.replies_to is not None and post.replies_to.author == me.user


def read_post(post: DiscordPost, me: DiscordBot, mode: ReplyMode) -> Incoming | None:
    """The message as the bot takes it; None if it is its own, another bot's, Discord's, or empty and for nobody.

    Without the message content intent, what is for others arrives empty, and so is passed over here.
    """
    author, where = post.author, post.where
    if not post.said or author.id == me.user or (author.automatic and str(author.id) not in me.allowed_bots):
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
        # A bot that is read at all is on the operator's list: nobody else vouches for it.
        authority=Authority.EMPLOYEE if author.automatic else author.standing.authority,
        roles=author.standing.roles,
        team=author.standing.team,
        organization=author.standing.organization,
    )


def read_question(question: AskedQuestion, mode: ReplyMode, quoted: tuple[Quoted, ...] = ()) -> Incoming:
    """The `/ask` as the bot takes it. In a DM with the bot everything is private already."""
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
    """The question on one line, without signs that nobody sees or that turn the others round; "" if none is left."""
    seen = "".join(sign if sign.isprintable() or sign == _JOINER else " " for sign in question)
    return shortened(seen, THREAD_NAME_CHARS).strip(_JOINER)


def budget_ids(words: str) -> str:
    """The words of `/budget` with ids in place of mentions, as `bot.access.budgets` reads them."""
    people = _USER.sub(lambda found: f"person:{known_as(found[1])}", words)
    return _CHANNEL.sub(r"channel:\1", people)


def _is_alone(mode: ReplyMode, where: ChannelFactsForConversation) -> bool:
    """Whether each question in this channel is a conversation of its own."""
    return mode is ReplyMode.CHAIN or (mode is ReplyMode.THREAD and where.has_threads)


def place_of_answer(where: ChannelFactsForConversation, author: DiscordAuthor) -> Place:
    """Where the answer will be read."""
    return own_place(author) if where.direct else where.place


def own_place(author: DiscordAuthor) -> Place:
    """The author's DM: within the server that they were looked up in, as a full member."""
    member = author.standing.team.isdecimal() and author.standing.authority >= Authority.EMPLOYEE
    return private_place(known_as(author.id), int(author.standing.team) if member else None)


def private_conversation(channel: int, person: int) -> str:
    """What one person asks in private in one channel."""
    return f"{known_as(channel)}:{person}"


# Where an answer belongs, and where a page of it stands, as texts that the ledger keeps. Pure.
#
# The id of a page says how to reach it:
#     channel/message           a message of the bot's
#     channel/message/answer    an answer to an interaction that all there see: by the token, then as above
#     @/message                 any other answer to an interaction: by the token alone


TOKEN_LIFE = timedelta(minutes=15)
TOKEN_MARGIN = timedelta(seconds=20)  # A token is not used in its last seconds: an edit may wait that long in a queue

_ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Address:
    """`channel` is where the answer goes. Ids are Discord's own.

    With `thread`, it goes into the thread of that name, started from `message`; else `message`, if any, is replied to.
    With `token`, it goes into the answer of interaction `interaction`, as long as the token lives; after that a
    `private` one goes on in the DM with `person`.
    """

    channel: str
    person: str
    message: str = ""
    thread: str = ""
    interaction: str = ""
    application: str = ""
    token: str = ""
    token_until: str = ""
    private: bool = False
    follows: bool = False
    """The interaction was a press of a button: its first answer is the message of the button, so pages follow it."""
    by_person: bool = False
    """Only its person has installed the bot: few messages may follow the first, and it may not write there else."""
    scheduled: str = ""
    """The kind of schedule that asked."""
    after: str = ""
    """Of what a schedule asked: every page of the answer is newer than a message of this id would be."""
    direct: bool = False
    """`channel` is the person's direct messages, as far as a schedule knows."""

    @property
    def mentions(self) -> str:
        """Whom what is shown calls: of a reminder for all to see its person; else nobody."""
        return self.person if self.scheduled == ScheduleKind.REMINDER and not self.direct else ""

    def encode(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value}, ensure_ascii=False)

    def token_lives(self, now: datetime) -> bool:
        """Whether the interaction can still be answered in place."""
        return bool(self.token) and now < datetime.fromisoformat(self.token_until)


def token_until(received: datetime) -> str:
    """How long the token of an interaction is good for, as an `Address` keeps it."""
    return (received + TOKEN_LIFE - TOKEN_MARGIN).isoformat()


def decode_address(text: str) -> Address:
    """The inverse of `Address.encode`."""
    return Address(**json.loads(text))


def page_of_answer(address: Address, message: str) -> str:
    """The id of a page that was posted with the token."""
    alone = address.private or address.by_person
    return f"{EPHEMERAL_PAGE}/{message}" if alone else f"{address.channel}/{message}/{_ANSWER}"


def pages_at(channel: int | str, message: int | str) -> tuple[str, ...]:
    """Every id that a page may have which is this message."""
    return f"{channel}/{message}", f"{channel}/{message}/{_ANSWER}", f"{EPHEMERAL_PAGE}/{message}"


def place_of_page(page: str) -> tuple[str, str, bool]:
    """The channel of a page (or EPHEMERAL_PAGE), its message, and whether it was posted with a token."""
    channel, message, *answer = page.split("/")
    return channel, message, channel == EPHEMERAL_PAGE or bool(answer)
