"""What a plan would erase, before anything is.

Rule: the lines are what the person wrote or was answered, and what is known about them; nobody else's words.
"""

from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2s
from typing import Final

from sqlalchemy import Connection, select

from agent.memory.forgetting import Preview, Sample, Wish
from agent.records import Author
from store.forgetting.batches import among
from store.forgetting.chosen import Said
from store.forgetting.doomed import Doomed, reached
from store.tables import fact, profile_entry

LINES: Final = 5
"""As many as are read before a button is pressed."""
LINE_CHARS: Final = 200
NAME_BYTES: Final = 6


def preview(connection: Connection, plan: Wish) -> Preview:
    doomed = reached(connection, plan)
    own = [one for one in doomed.said.values() if one.author == Author.PERSON and one.person == plan.person]
    lines = [*_newest(own), *_known(connection, doomed, plan.person)][:LINES]
    counts = {
        "messages": len(doomed.said),
        "facts": len(doomed.facts),
        "profile": len(doomed.entries),
        "conversations": len(doomed.conversations),
    }
    retold = _sample([doomed.said[id_] for id_ in doomed.retold], plan.person)
    related = _sample(doomed.may.values(), plan.person)
    return Preview(counts, tuple(line[:LINE_CHARS] for line in lines), _name(doomed), retold, related)


def _sample(said: Collection[Said], person: str) -> Sample:
    """Of what was said to the person or by them the lines, too; of what was said to others the number alone."""
    return Sample(len(said), tuple(line[:LINE_CHARS] for line in _newest(one for one in said if one.person == person)))


def _newest(said: Iterable[Said]) -> list[str]:
    return [one.text for one in sorted(said, key=lambda one: (one.time, one.id), reverse=True)[:LINES]]


def _known(connection: Connection, doomed: Doomed, person: str) -> Iterator[str]:
    for table, words, ids in (
        (fact, fact.c.value, doomed.facts),
        (profile_entry, profile_entry.c.text, doomed.entries),
    ):
        for where in among(table.c.id, ids):
            theirs = select(words).where(where, table.c.person == person)
            yield from connection.execute(theirs.order_by(table.c.id).limit(LINES)).scalars()


def _name(doomed: Doomed) -> str:
    """The same for the same rows."""
    ids = [sorted(some) for some in (doomed.said, doomed.turns, doomed.facts, doomed.entries, doomed.may)]
    return blake2s(repr(ids).encode(), digest_size=NAME_BYTES).hexdigest()
