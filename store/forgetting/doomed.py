"""What falls with a forgetting plan, found before anything is deleted.

Above: `store.forgetting.erase` deletes it, `store.forgetting.preview` shows it. Below: `store.forgetting.chosen`,
unlearn, batches, json_columns, text, tables.

Rules
  A message that falls takes the reply of its turn along. A turn falls with its last message.
  A reply falls if its turn's context held a message that falls and the reply quotes it: it contains the text or a
  telling piece of it (`store.search.text.quotes`). If it answers somebody else in the same conversation it stays:
  having stood in the history is not derivation. What quotes a reply that falls, falls too.
  So does what such a turn remembered, unless its own question says as much.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, and_, select

from agent.memory.forgetting import ForgettingPlan
from agent.records import Author
from store import json_columns
from store.forgetting import unlearn
from store.forgetting.batches import among
from store.forgetting.chosen import Said, chosen, messages
from store.memory import facts
from store.search.text import quotes
from store.tables import RUNNING, WAITING, embedding, fact, message, turn, working_item

KEYED_BY_MESSAGE: Final[tuple[Column[int], ...]] = (working_item.c.message, embedding.c.message)
"""The columns of tables that hold one message's words in another form, and nothing else: their rows fall with it."""

CLOCKS: Final = timedelta(days=1)
"""More than a platform's clock and ours ever differ."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """`said`: the messages that fall. `turns` fall, `worn` ones lose the message that they began with and stay.
    `whole`: nothing in the plan's reach was left for later.
    """

    said: Mapping[int, Said]
    turns: frozenset[int]
    worn: frozenset[int]
    facts: frozenset[int]
    entries: frozenset[int]
    whole: bool
    scratch: frozenset[int] = frozenset()
    """The items of working sets that quote what falls."""

    @property
    def conversations(self) -> frozenset[str]:
        return frozenset(one.conversation for one in self.said.values())

    @property
    def people(self) -> frozenset[str]:
        return frozenset(one.person for one in self.said.values())


def reached(connection: Connection, plan: ForgettingPlan, limit: int | None = None) -> Doomed:
    """What falls with the plan; with `limit`, only with so many of its messages, the oldest."""
    named = chosen(connection, plan, limit)
    said = dict(named.said) | _replies(connection, named.said)
    said |= _quoting(connection, said)
    turns, worn = _emptied(connection, said)
    retold, scratch = remembered(connection, said)
    return Doomed(
        said,
        turns=turns | named.turns,
        worn=worn - named.turns,
        facts=facts_of(connection, said, named.facts | retold),
        entries=named.entries | unlearn.reached(connection, said),
        whole=named.whole,
        scratch=scratch,
    )


def contexts(
    connection: Connection, since: datetime | None
) -> Iterable[tuple[int, str, frozenset[int], frozenset[int]]]:
    """The turns that have said what stood in their contexts, if they ended after that: with their conversations, and
    the ids of those messages and facts.
    """
    columns = select(turn.c.id, turn.c.conversation, turn.c.context_messages, turn.c.context_facts)
    later = () if since is None else (turn.c.ended >= since - CLOCKS,)
    told = and_((turn.c.context_messages != "[]") | (turn.c.context_facts != "[]"), *later)
    for turn_id, conversation, held, known in connection.execute(columns.where(told)).all():
        yield turn_id, conversation, json_columns.ids(held), json_columns.ids(known)


def facts_of(connection: Connection, said: Mapping[int, Said], named: frozenset[int] = frozenset()) -> frozenset[int]:
    """The facts that came of these messages or are named, and what was derived from those."""
    places = (*among(fact.c.source_message, said), *among(fact.c.id, named))
    return frozenset(id_ for where in places for id_ in facts.with_derived(connection, where))


def remembered(connection: Connection, said: Mapping[int, Said]) -> tuple[frozenset[int], frozenset[int]]:
    """The facts and the scratch values that quote what stood in the contexts of their turns and falls."""
    held = _held(connection, said) | _open(connection) if said else {}
    drawn = {id_: [said[source] for source in context & said.keys()] for id_, context in held.items()}
    asked = _messages(connection, among(message.c.turn, {id_ for id_, some in drawn.items() if some}))

    def retold(source: Column[Any], kept: ColumnElement[str]) -> frozenset[int]:
        columns = select(source.table.c.id, source, kept)
        found = (row for where in among(source, asked) for row in connection.execute(columns.where(where)))
        return frozenset(id_ for id_, of, words in found if _retells(words, asked[of], drawn[asked[of].turn]))

    facts_ = retold(fact.c.source_message, fact.c.key + " " + fact.c.value)
    return facts_, retold(working_item.c.message, working_item.c.key + " " + working_item.c.value)


def earliest(said: Mapping[int, Said]) -> datetime | None:
    return min((one.time for one in said.values()), default=None)


def _replies(connection: Connection, said: Mapping[int, Said]) -> dict[int, Said]:
    """The bot's messages in the turns of what people said."""
    asked = {one.turn for one in said.values() if one.author == Author.PERSON}
    return _messages(connection, among(message.c.turn, asked), message.c.author == Author.BOT)


def _quoting(connection: Connection, said: Mapping[int, Said]) -> dict[int, Said]:
    """The replies that quote what their contexts held of `said`, and what quotes those in turn."""
    held = _held(connection, said) if said else {}
    found, fresh = dict[int, Said](), said
    while fresh:
        near = {id_ for id_, context in held.items() if context & fresh.keys()}
        answers = _messages(connection, among(message.c.turn, near), message.c.author == Author.BOT)
        fresh = {
            id_: reply
            for id_, reply in answers.items()
            if id_ not in found and id_ not in said
            if any(_quotes(reply, fresh[source]) for source in held[reply.turn] & fresh.keys())
        }
        found |= fresh
    return found


def _held(connection: Connection, said: Mapping[int, Said]) -> dict[int, frozenset[int]]:
    """What stood in the contexts of the turns that have said so, by their ids."""
    return {id_: context for id_, _, context, _ in contexts(connection, earliest(said))}


def _open(connection: Connection) -> dict[int, frozenset[int]]:
    """What the turns that are not over have drawn on so far, by their ids."""
    begun = select(turn.c.id, turn.c.progress).where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress != "")
    return {id_: json_columns.sources(progress) for id_, progress in connection.execute(begun)}


def _retells(kept: str, asked: Said, drawn: Iterable[Said]) -> bool:
    if facts.says_no_more(kept, asked.text):
        return False
    elsewhere = (one for one in drawn if one.conversation != asked.conversation or one.person == asked.person)
    return any(quotes(kept, one.text) for one in elsewhere)


def _quotes(reply: Said, source: Said) -> bool:
    elsewhere = reply.conversation != source.conversation
    return (elsewhere or reply.person == source.person) and quotes(reply.text, source.text)


def _emptied(connection: Connection, said: Mapping[int, Said]) -> tuple[frozenset[int], frozenset[int]]:
    """The turns that lose their last message, and those that lose the one that they began with but not all."""
    held = {one.turn for one in said.values()}
    left = _messages(connection, among(message.c.turn, held))
    staying = {one.turn for id_, one in left.items() if id_ not in said}
    begun = _begun_with(connection, said)
    hosts = {one.turn for one in _messages(connection, among(message.c.turn, begun - held)).values()}
    return frozenset((held | begun) - staying - hosts), frozenset(begun & (staying | hosts))


def _begun_with(connection: Connection, said: Mapping[int, Said]) -> frozenset[int]:
    """The turns that these messages began, wherever they went then."""
    posts: dict[str, set[str]] = {}
    for one in said.values():
        if one.author == Author.PERSON and one.message_id is not None:
            posts.setdefault(one.channel, set()).add(one.message_id)
    places = (
        and_(turn.c.channel == channel, where)
        for channel, ids in posts.items()
        for where in among(turn.c.message_id, ids)
    )
    return frozenset(id_ for where in places for id_ in connection.execute(select(turn.c.id).where(where)).scalars())


def _messages(
    connection: Connection, places: Iterable[ColumnElement[bool]], *more: ColumnElement[bool]
) -> dict[int, Said]:
    return {id_: one for where in places for id_, one in messages(connection, and_(where, *more)).items()}
