"""Which rows a forgetting plan names by itself, before anything that falls with them.

Above: `store.forgetting.doomed`, reword, unlearn, forgetting. Below: text, stem, tables; `agent.memory.forgetting`.

Rule: what a person asks for reaches rows of that person alone: what they wrote, what answered them, what is known of
them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, exists, false, or_, select

from agent.memory.audience import AudienceKind
from agent.memory.forgetting import (
    About,
    Deleted,
    During,
    Everything,
    Expired,
    ForgettingPlan,
    Gone,
    OneReply,
    OneThread,
)
from agent.records import Author
from store.forgetting.batches import among
from store.memory import people
from store.search import index
from store.search.stem import stem
from store.search.text import index_words, keywords
from store.tables import fact, message, profile_entry, profile_source, turn

_OF_MESSAGE: Final = (
    message.c.id,
    message.c.turn,
    message.c.conversation,
    message.c.author,
    message.c.person,
    message.c.audience,
    message.c.channel,
    message.c.message_id,
    message.c.time,
    message.c.text,
)

NOBODY: Final = ""
"""Whose the facts of an organisation are: they hold until somebody takes them back."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message, as far as forgetting goes."""

    id: int
    turn: int
    conversation: str
    author: str
    person: str
    audience: str
    channel: str
    message_id: str | None
    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """`turns` fall even where nothing of them was said (yet). `whole`: everything in the plan's reach is here; False:
    there is more, because only some were wanted.
    """

    said: dict[int, Said]
    turns: frozenset[int] = frozenset()
    entries: frozenset[int] = frozenset()
    facts: frozenset[int] = frozenset()
    whole: bool = True


def chosen(connection: Connection, plan: ForgettingPlan, limit: int | None = None) -> Chosen:
    """What the plan names; of messages at most `limit`, the oldest."""
    match plan:
        case About():
            return _about(connection, plan)
        case Deleted():
            return _deleted(connection, plan)
        case OneReply(number):
            return Chosen(messages(connection, and_(message.c.turn == number, message.c.author == Author.BOT)))
        case _:
            pass
    said = messages(connection, _messages(plan), limit)
    whole = limit is None or len(said) < limit
    return Chosen(
        said,
        turns=_ids(connection, turn, _turns(plan)) if whole else frozenset(),
        entries=_ids(connection, profile_entry, _known(plan, profile_entry)) if whole else frozenset(),
        facts=_ids(connection, fact, _known(plan, fact)) if whole else frozenset(),
        whole=whole,
    )


def reaches_anything(connection: Connection, plan: ForgettingPlan) -> bool:
    """Is there something for it? Most of what is deleted in a platform was never said to the bot."""
    named = chosen(connection, plan, limit=1)
    return bool(named.said or named.turns or named.entries or named.facts)


def messages(connection: Connection, where: ColumnElement[bool], limit: int | None = None) -> dict[int, Said]:
    """The messages of which this is true, the oldest first."""
    found = connection.execute(select(*_OF_MESSAGE).where(where).order_by(message.c.id).limit(limit))
    return {row.id: Said(*row) for row in found}


def _messages(plan: OneThread | Everything | During | Gone | Expired) -> ColumnElement[bool]:
    match plan:
        case OneThread(person, conversations):
            return and_(message.c.person == person, message.c.conversation.in_(sorted(conversations)))
        case Everything(person):
            return message.c.person == person
        case During(person, period):
            then = and_(message.c.time >= period.since, message.c.time < period.until)
            return and_(message.c.person == person, message.c.author == Author.PERSON, then)
        case Gone(conversations, channels, audiences, sources):
            from_there = message.c.turn.in_(select(turn.c.id).where(turn.c.source.in_(sorted(sources))))
            there = and_(
                message.c.channel.in_(sorted(channels)), ~message.c.audience.startswith(f"{AudienceKind.PERSON}:")
            )
            return or_(
                message.c.conversation.in_(sorted(conversations)),
                message.c.audience.in_(sorted(audiences)),
                there,
                from_there,
            )
        case Expired(kind, before):
            old = and_(message.c.author == Author.PERSON, message.c.time < before)
            return and_(message.c.audience.startswith(f"{kind}:"), old)
        case _:
            assert_never(plan)


def _turns(plan: OneThread | Everything | During | Gone | Expired) -> ColumnElement[bool]:
    """Turns that fall with the plan whatever was said in them."""
    match plan:
        case OneThread(person, conversations):
            return and_(turn.c.person == person, turn.c.conversation.in_(sorted(conversations)))
        case Everything(person):
            return turn.c.person == person
        case Gone(conversations=gone, sources=sources):
            return or_(turn.c.conversation.in_(sorted(gone)), turn.c.source.in_(sorted(sources)))
        case During() | Expired():
            return false()
        case _:
            assert_never(plan)


def _known(plan: OneThread | Everything | During | Gone | Expired, table: Table) -> ColumnElement[bool]:
    """What is known and falls with the plan whatever it was learned from."""
    match plan:
        case Everything(person):
            return table.c.person == person
        case During(person, period):
            then = and_(table.c.time >= period.since, table.c.time < period.until)
            return and_(table.c.person == person, then, _without_source(table))
        case Gone(audiences=audiences, sources=sources):
            theirs = (table.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            return or_(table.c.audience.in_(sorted(audiences)), *theirs)
        case Expired(kind, before):
            old = and_(table.c.audience.startswith(f"{kind}:"), table.c.time < before, _without_source(table))
            return and_(old, table.c.person != NOBODY)
        case OneThread():
            return false()
        case _:
            assert_never(plan)


def _without_source(table: Table) -> ColumnElement[bool]:
    """What came of a message falls with that message, whenever it was written down."""
    sources = exists().where(profile_source.c.entry == profile_entry.c.id)
    return fact.c.source_message.is_(None) if table is fact else ~sources


def _about(connection: Connection, plan: About) -> Chosen:
    """Messages are found by the index, which the person's own are all in; what is known is little enough to read."""
    words = keywords(plan.words)
    wanted = {stem(word) for word in words}

    def known(table: Table, column: Column[str]) -> frozenset[int]:
        theirs = select(table.c.id, table.c.key, column).where(table.c.person == plan.person)
        found = connection.execute(theirs).all() if wanted else ()
        return frozenset(id_ for id_, key, text in found if wanted <= set(map(stem, index_words(f"{key} {text}"))))

    number = people.number_of(connection, plan.person)
    ids = [] if number is None else index.having(connection, words, number)
    said: dict[int, Said] = {}
    for where in among(message.c.id, ids):
        said |= messages(connection, and_(where, message.c.person == plan.person))
    return Chosen(said, entries=known(profile_entry, profile_entry.c.text), facts=known(fact, fact.c.value))


def _deleted(connection: Connection, plan: Deleted) -> Chosen:
    """By their turns, which the platform's ids lead to; a message that joined another turn is still in the thread."""
    own = and_(turn.c.channel == plan.channel, turn.c.message_id.in_(sorted(plan.messages)))
    begun = connection.execute(select(turn.c.id, turn.c.conversation).where(own)).all()
    there = message.c.conversation.in_(sorted({row.conversation for row in begun}))
    post = and_(message.c.channel == plan.channel, message.c.message_id.in_(sorted(plan.messages)))
    return Chosen(messages(connection, and_(there, post, message.c.author == Author.PERSON)))


def _ids(connection: Connection, table: Table, where: ColumnElement[bool]) -> frozenset[int]:
    return frozenset(connection.execute(select(table.c.id).where(where)).scalars())
