"""The search for proof after forgetting: in rows and index for whole texts, in the files for pieces of them.

What counts as found again
  A row that should have fallen, or lost its words, and still holds an erased text; an index entry with all its words
  whose message should have fallen or no longer exists. What others wrote, or the person elsewhere, stays theirs even
  when it says the same.

What counts as a piece
  Up to PIECES stretches of the erased texts, spread evenly over them: at least PIECE_BYTES long, because a shorter one
  stands in some page by chance, and free of quotes and control characters, which JSON writes differently. A piece that
  is found in the files and also in what somebody said or kept proves nothing and is left out; a piece that is found and
  that no row holds is a trace. So is a telling one (TELLING_BYTES) that only derived columns hold: action records,
  summaries, progress, payloads and workspaces excuse nothing, because they repeat what was said somewhere. Pieces of
  erased summaries are excused by any row: two summaries may well say the same.
  So a common phrase raises no false alarm; and since the files only count as wiped after a complete checkpoint, having
  nothing but common phrases to look for is no false proof.
"""

import re
from collections.abc import Iterator
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, exists, func, or_, select, text

from agent.memory.forgetting_plans import Everything, ForgettingPlan, OneThread
from store.forgetting import erase, erasure_set
from store.forgetting.erase import Erasure
from store.forgetting.selection import in_batches
from store.search import index
from store.search.text import TELLING_BYTES, holds, index_words, stretches
from store.tables import (
    StorableText,
    action_record,
    conversation,
    fact,
    job,
    message,
    metadata,
    profile_entry,
    turn,
    working_item,
    workspace,
)

PIECES: Final = 64
"""Each is one pass over the files in memory: some tens of milliseconds for 100 MB."""
PIECE_BYTES: Final = 6
WORDS: Final = 4
"""So many words of a text, the longest, are looked for at once in the index: four find it, more only take longer."""

DERIVED: Final = frozenset(
    {
        *action_record.c,
        *workspace.c,
        *working_item.c,
        *profile_entry.c,
        conversation.c.summary,
        turn.c.progress,
        turn.c.payload,
        job.c.payload,
    }
)
"""Columns that hold what was made of others' words."""

NOBODY: Final = ""

_STRETCH: Final = re.compile(r'[^\x00-\x1f"\\\ufffd]+')

_IN_INDEX: Final = text("SELECT EXISTS (SELECT 1 FROM message_index WHERE instr(body, :piece))")
_IN_SCHEMA: Final = text("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE instr(sql, :piece))")


def found_again(connection: Connection, plan: ForgettingPlan, gone: Erasure) -> int:
    """How many rows and index entries still hold one of the erased texts. 0 is the proof."""
    texts = [*gone.texts, *gone.summaries]
    words = [sorted(set(index_words(erased)), key=len)[-WORDS:] for erased in texts]
    indexed = max(
        index.holding(connection, words, gone.readers, person=who, conversation=where)
        for who, where in _reach(plan) or [(NOBODY, None)]
    )
    return indexed + sum(any(holds(held, erased) for erased in texts) for held in _left(connection, plan, gone))


def pieces(texts: list[str]) -> frozenset[bytes]:
    """What to look for in the files, in the spelling of the rows and in that of the index."""
    found = list(dict.fromkeys(piece for erased in texts for piece in _pieces_of(erased)))
    return (
        frozenset(found[at * len(found) // PIECES] for at in range(PIECES)) if len(found) > PIECES else frozenset(found)
    )


def traces(connection: Connection, seen: frozenset[bytes], said: frozenset[bytes]) -> frozenset[bytes]:
    """Those of the pieces `seen` in the files that no row excuses; `said`: the pieces of what was said or kept."""
    return frozenset(
        piece
        for piece in seen
        if not _is_held(connection, piece.decode(), derived=piece not in said or len(piece) < TELLING_BYTES)
    )


def _left(connection: Connection, plan: ForgettingPlan, gone: Erasure) -> Iterator[str]:
    """The texts of whatever should have fallen and stands."""
    doomed = gone.doomed
    fallen = (
        *((message, where) for where in in_batches(message.c.id, doomed.said)),
        *((turn, where) for where in in_batches(turn.c.id, doomed.turns)),
    )
    for table, where in fallen:
        yield from _held(connection, table, where)
    # Of a conversation that stays only the summary should have fallen: its name and its readers are nobody's words.
    yield from erase.summary_texts(connection, gone.touched)
    match plan:
        case OneThread(person=who, conversations=there):
            tables = (message, turn, job)
            places = [(table, and_(table.c.person == who, table.c.conversation.in_(there))) for table in tables]
        case Everything(person=who):
            places = [(table, table.c.person == who) for table in (message, turn, job, fact, profile_entry)]
        case _:
            places = []
    for table, where in places:
        yield from _held(connection, table, where)
    stands = exists().where(message.c.id == fact.c.source_message)
    orphaned = and_(fact.c.source_message.is_not(None), ~stands)
    for theirs in in_batches(fact.c.person, doomed.people):
        yield from _held(connection, fact, and_(theirs, orphaned))
    yield from erasure_set.orphaned_entries(connection, doomed.people)


def _reach(plan: ForgettingPlan) -> list[tuple[str, str | None]]:
    """Whose entries in the index should be gone, and in which conversations (None: in all)."""
    match plan:
        case OneThread(person, conversations):
            return [(person, there) for there in conversations]
        case Everything(person):
            return [(person, None)]
        case _:
            return []


def _held(connection: Connection, table: Table, where: ColumnElement[bool]) -> Iterator[str]:
    for row in connection.execute(select(*_text_columns(table)).where(where)):
        yield from (held for held in row if held)


def _text_columns(table: Table) -> list[ColumnElement[str]]:
    return [column for column in table.c if isinstance(column.type, StorableText)]


def _is_held(connection: Connection, piece: str, *, derived: bool) -> bool:
    """Does a row hold the piece? `derived`: what was made of others' words counts too."""
    for table in metadata.sorted_tables:
        columns = [column for column in _text_columns(table) if derived or column not in DERIVED]
        held = [func.instr(column, piece) > 0 for column in columns]
        if held and connection.execute(select(exists().where(or_(*held)))).scalar_one():
            return True
    return any(connection.execute(where, {"piece": piece}).scalar_one() for where in (_IN_INDEX, _IN_SCHEMA))


def _pieces_of(erased: str) -> Iterator[bytes]:
    words = index_words(erased)
    for form in (erased, " ".join(words), max(words, key=len, default="")):
        stretch = max(_STRETCH.findall(form), key=len, default="").strip()
        yield from (piece.encode() for piece in stretches(stretch) if len(piece.encode()) >= PIECE_BYTES)
