"""What falls with a forgetting plan, found before anything is deleted.

Rules
  A message that falls takes the reply of its turn along. A turn falls with its last message.
  What the bot told again of it elsewhere falls, too, and what was told of that in turn (`store.forgetting.retold`).
  Having stood in the history of an answer to somebody else is no derivation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, assert_never

from sqlalchemy import Column, ColumnElement, Connection, and_, select

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
from store.forgetting import unlearn
from store.forgetting.batches import among
from store.forgetting.chosen import Said, chosen, messages
from store.forgetting.retold import Falling, Retellings
from store.memory import facts
from store.tables import embedding, fact, message, turn, working_item

KEYED_BY_MESSAGE: Final[tuple[Column[int], ...]] = (working_item.c.message, embedding.c.message)
"""The columns of tables that hold one message's words in another form, and nothing else: their rows fall with it."""


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
    """The items of working sets that were made of what falls."""
    retold: frozenset[int] = frozenset()
    """Those of `said` that only tell again what the plan names."""
    may: Mapping[int, Said] = field(default_factory=dict[int, Said])
    """What may have been made of it, and stays until its person decides."""

    @property
    def conversations(self) -> frozenset[str]:
        return frozenset(one.conversation for one in self.said.values())

    @property
    def people(self) -> frozenset[str]:
        return frozenset(one.person for one in self.said.values())


def reached(connection: Connection, plan: ForgettingPlan, limit: int | None = None, *, related: bool = False) -> Doomed:
    """What falls with the plan; with `limit`, only with so many of its messages, the oldest.

    `related`: what may have been made of it falls, too.
    """
    named = chosen(connection, plan, limit)
    said = dict(named.said) | _replies(connection, named.said)
    # What is named beside messages may have come of some that stay: then nobody knows what was before all of it.
    beside = bool(named.facts or named.entries)
    since, first = (None, 0) if beside else (earliest(said), min(said, default=0))
    again = Retellings(connection, _asker(plan), since, first)
    retold, may, scratch = dict[int, Said](), dict[int, Said](), frozenset[int]()
    fresh = Falling(said, facts_of(connection, said, named.facts), named.entries | unlearn.reached(connection, said))
    facts_, entries = fresh.facts, fresh.entries
    while fresh.said or fresh.facts or fresh.entries:
        found = again.of(fresh, said)
        may |= found.may
        new = found.falls | (found.may if related else {})
        new |= _replies(connection, new)
        new = {id_: one for id_, one in new.items() if id_ not in said}
        retold |= new
        said |= new
        scratch |= found.scratch
        kept = facts_of(connection, new, found.facts) - facts_
        fresh = Falling(new, kept, unlearn.reached(connection, new) - entries)
        facts_, entries = facts_ | fresh.facts, entries | fresh.entries
    turns, worn = _emptied(connection, said)
    return Doomed(
        said,
        turns=turns | named.turns,
        worn=worn - named.turns,
        facts=facts_,
        entries=entries,
        whole=named.whole,
        scratch=scratch,
        retold=frozenset(retold),
        may=_and_what_came_of_it(connection, again, {id_: one for id_, one in may.items() if id_ not in said}, said),
    )


def _and_what_came_of_it(
    connection: Connection, again: Retellings, may: dict[int, Said], said: Mapping[int, Said]
) -> dict[int, Said]:
    """All that would fall with these messages beside `said`."""
    found, fresh = dict[int, Said](), may
    while fresh:
        fresh = {id_: one for id_, one in (fresh | _replies(connection, fresh)).items() if id_ not in {*said, *found}}
        found |= fresh
        falling = Falling(fresh, facts_of(connection, fresh), unlearn.reached(connection, fresh))
        more = again.of(falling, {*said, *found}, loosely=True)
        fresh = more.falls | more.may
    return found


def facts_of(connection: Connection, said: Mapping[int, Said], named: frozenset[int] = frozenset()) -> frozenset[int]:
    """The facts that came of these messages or are named, and what was derived from those."""
    places = (*among(fact.c.source_message, said), *among(fact.c.id, named))
    return frozenset(id_ for where in places for id_ in facts.with_derived(connection, where))


def earliest(said: Mapping[int, Said]) -> datetime | None:
    return min((one.time for one in said.values()), default=None)


def _replies(connection: Connection, said: Mapping[int, Said]) -> dict[int, Said]:
    """The bot's messages in the turns of what people said."""
    asked = {one.turn for one in said.values() if one.author == Author.PERSON}
    return _messages(connection, among(message.c.turn, asked), message.c.author == Author.BOT)


def _asker(plan: ForgettingPlan) -> str:
    """Whose wish it is; "" for nobody's."""
    match plan:
        case OneThread(person=person) | Everything(person=person) | During(person=person) | About(person=person):
            return person
        case Deleted() | OneReply() | Gone() | Expired():
            return ""
        case _:
            assert_never(plan)


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
