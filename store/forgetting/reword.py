"""A message that was edited in the platform after it was answered.

Above: `store.forgetting.forgetting`. Below: `store.forgetting.doomed`, derived, unlearn, erase; index, learning.

Rules
  The message stands, with its new words; what was learned from the old ones, and what other turns made of them, falls
  as if the message had been forgotten. It is learned from again if it was answered.
  What the bot replied stays: it was said.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, select, update

from agent.events import Outcome
from agent.memory.forgetting import Deleted
from agent.memory.profile import Partition
from store.forgetting import derived, unlearn
from store.forgetting.chosen import Said, chosen
from store.forgetting.doomed import Doomed, earliest, facts_of
from store.forgetting.erase import drop, drop_kept, owe
from store.forgetting.retold import Retellings
from store.memory import facts, learning
from store.search import index
from store.search.text import index_words
from store.tables import RUNNING, action_record, message, turn

ANSWERED: Final = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)
"""How the turns end from which something is learned."""


def reword(
    connection: Connection,
    channel: str,
    message_id: str,
    text: str,
    now: datetime,
    learn_at: datetime | None,
    *,
    owes_sweep: bool,
) -> bool:
    """Put the new words in place of the old ones. False if they are known, or the message is not."""
    found = chosen(connection, Deleted(channel, frozenset({message_id}))).said
    if not found or all(one.text == text for one in found.values()):
        return False
    doomed = _doomed(connection, found)
    drop(connection, action_record.c.turn, {one.turn for one in found.values()} - doomed.turns)
    _, elsewhere = derived.drop_records(connection, doomed)
    derived.set_back(connection, doomed, [one.text for one in found.values()], now)
    facts.remove_rows(connection, doomed.facts)
    unlearn.erase(connection, None, doomed.entries, doomed.people)
    drop_kept(connection, doomed)
    derived.drop_waiting(connection, doomed.conversations | elsewhere, found)
    derived.drop_summaries(connection, doomed.conversations | elsewhere)
    index.remove(connection, found)
    for one in found.values():
        _replace(connection, one, text)
        if learn_at is not None:
            _learn_again(connection, one, learn_at, now)
    if owes_sweep:
        owe(connection)
    return True


def _doomed(connection: Connection, found: Mapping[int, Said]) -> Doomed:
    """What falls as if these messages did. Their turns that run are named: they go on as they began."""
    retold, scratch = Retellings(connection, "", earliest(found), min(found)).remembered(found)
    return Doomed(
        found,
        turns=_turns(connection, {one.turn for one in found.values()}, turn.c.state == RUNNING),
        worn=frozenset(),
        facts=facts_of(connection, found, retold),
        entries=unlearn.reached(connection, found),
        whole=True,
        scratch=scratch,
    )


def _replace(connection: Connection, one: Said, text: str) -> None:
    words = index_words(text)
    changed = update(message).where(message.c.id == one.id)
    connection.execute(changed.values(text=text, length=len(words), to_learn=False))
    index.add(connection, one.id, words, index.readers(connection, one.conversation))


def _learn_again(connection: Connection, one: Said, at: datetime, now: datetime) -> None:
    if _turns(connection, {one.turn}, turn.c.outcome.in_(ANSWERED)):
        this = and_(message.c.id == one.id, ~message.c.passed_over)
        learning.learn_from(connection, Partition(one.person, one.audience), this, at, now)


def _turns(connection: Connection, ids: AbstractSet[int], where: ColumnElement[bool]) -> frozenset[int]:
    """Those of the turns of which this is true."""
    return frozenset(connection.execute(select(turn.c.id).where(turn.c.id.in_(ids), where)).scalars())
