"""Forgetting: erase by plan in one transaction, wipe the bytes, prove it.

Above: `store.engine` bundles it. Below: `store.proof`, index, erased, database, tables; `agent.memory.forgetting`.

What falls: the person's messages and the replies to them, with their turns (a waiting or running one is thereby
cancelled: its worker gets LeaseLost), action records and workspaces; their notes from those messages (everywhere: all
their notes); action records and progress of other turns in whose context an erased message or note stood, and the
summary of their conversations; the summary of each touched conversation; an empty conversation; for everything, the
person. Platform ids stay as keyed hashes.

A turn that runs meanwhile has not yet said what stood in its context. In the conversations of the plan, and for the
person elsewhere, it loses its saved progress now, and `store.ledger` drops its records and summary when it ends.

On SQLite a deleted row's bytes are overwritten (secure_delete), FTS5 gives up the words of deleted entries when it is
optimised, and the write-ahead log keeps old pages until a checkpoint empties it. Until all of that has happened a
sweep is owed; that is written down with the erasing itself, so it outlives a crash.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, insert, or_, select, update

from agent.memory.forgetting import ForgettingPlan
from agent.records import Receipt
from store import index, people, proof, rows
from store.database import Database
from store.erased import ErasedIds
from store.reach import notes_of, of_plan
from store.tables import (
    RUNNING,
    action_record,
    conversation,
    erased,
    message,
    meta,
    note,
    participant,
    person,
    turn,
    workspace,
)

SWEEP_OWED: Final = "sweep_owed"


class SqlForgetting:
    """The port Forgetting on a database."""

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        self._database = database
        self._erased_ids = erased_ids

    async def forget(self, plan: ForgettingPlan, now: datetime) -> Receipt:
        """See the port. `bytes_gone` False means that another reader holds old pages: `sweep`, or the next start,
        wipes them.
        """
        gone = await self._database.write(erase, plan, self._erased_ids, now)
        wiped = await self._wipe()
        found_again = await self._database.read(
            proof.found_again, plan, gone.texts, touched=gone.touched, readers=gone.readers
        )
        seen = await self._database.find(proof.pieces(gone.texts))
        unexplained = await self._database.read(proof.held_by_nobody, seen)
        bytes_gone = wiped and not unexplained
        if bytes_gone:
            await self._database.write(_settle)
        return Receipt(gone.counts, found_again, bytes_gone)

    async def sweep(self) -> bool:
        if not await self._database.read(_owed):
            return True
        wiped = await self._wipe()
        if wiped:
            await self._database.write(_settle)
        return wiped

    async def _wipe(self) -> bool:
        await self._database.write(index.optimize)
        return await self._database.checkpoint()


@dataclass(slots=True)
class Erasure:
    """What an erasing took away: the texts for the search for proof, counts for the receipt."""

    texts: list[str] = field(default_factory=list[str])
    touched: list[str] = field(default_factory=list[str])
    readers: list[int] = field(default_factory=list[int])
    counts: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class _Doomed:
    """What the plan reaches, found before anything is deleted."""

    messages: frozenset[int]
    notes: frozenset[int]
    turns: frozenset[int]
    conversations: list[str]


def erase(connection: Connection, plan: ForgettingPlan, erased_ids: ErasedIds, now: datetime) -> Erasure:
    """Carry out `plan`; nothing of it is proved yet."""
    doomed = _doomed(connection, plan)
    texts = _texts(connection, plan, doomed)
    readers = index.readers(connection, *doomed.conversations)
    _keep_hashes(connection, plan, erased_ids, now)
    derived = _drop_derived(connection, plan, doomed)
    counts = {"actions": derived.actions}
    _unindex(connection, plan, doomed)
    own_turns = select(turn.c.id).where(of_plan(plan, turn))
    counts["workspaces"] = _delete(connection, workspace, workspace.c.task_id.in_(own_turns))
    counts["actions"] += _delete(connection, action_record, action_record.c.turn.in_(own_turns))
    counts["notes"] = _delete(connection, note, notes_of(plan))
    counts["messages"] = _delete(connection, message, of_plan(plan, message))
    counts["turns"] = _delete(connection, turn, of_plan(plan, turn))
    _delete(connection, participant, of_plan(plan, participant))
    touched = sorted({*doomed.conversations, *derived.conversations})
    counts["summaries"] = _drop_summaries(connection, touched)
    counts["conversations"] = _drop_empty(connection, doomed.conversations)
    if plan.everything:
        _delete(connection, workspace, workspace.c.person == plan.person)
        counts["people"] = _delete(connection, person, person.c.id == plan.person)
    _settle(connection)
    connection.execute(insert(meta).values(name=SWEEP_OWED, value=b""))
    return Erasure(texts, touched, readers, counts)


def _doomed(connection: Connection, plan: ForgettingPlan) -> _Doomed:
    def found(column: ColumnElement[int], where: ColumnElement[bool]) -> frozenset[int]:
        return frozenset(connection.execute(select(column).where(where)).scalars())

    joined = select(participant.c.conversation).where(of_plan(plan, participant))
    return _Doomed(
        messages=found(message.c.id, of_plan(plan, message)),
        notes=found(note.c.id, notes_of(plan)),
        turns=found(turn.c.id, of_plan(plan, turn)),
        conversations=list(connection.execute(joined).scalars()),
    )


def _texts(connection: Connection, plan: ForgettingPlan, doomed: _Doomed) -> list[str]:
    said = connection.execute(select(message.c.text).where(of_plan(plan, message))).scalars()
    kept = connection.execute(select(note.c.text).where(notes_of(plan))).scalars()
    summed = select(conversation.c.summary).where(conversation.c.id.in_(doomed.conversations))
    values = (json.loads(stored).values() for stored in connection.execute(summed).scalars())
    return list(dict.fromkeys(filter(None, [*said, *kept, *(text for some in values for text in some)])))


def _keep_hashes(connection: Connection, plan: ForgettingPlan, erased_ids: ErasedIds, now: datetime) -> None:
    known = select(turn.c.source, turn.c.event_id, turn.c.channel, turn.c.message_id)
    hashes: set[str] = set()
    pages = (turn.c.pages, turn.c.reply_ref)
    for source, event_id, channel, message_id, *shown in connection.execute(
        known.add_columns(*pages).where(of_plan(plan, turn))
    ):
        hashes.update((erased_ids.of_event(source, event_id), erased_ids.of_post(channel, message_id)))
        hashes.update(erased_ids.of_page(channel, page) for ref in shown for page in rows.pages(ref))
    hashes.difference_update(connection.execute(select(erased.c.hash)).scalars())
    if hashes:
        connection.execute(insert(erased), [{"hash": hash_, "time": now} for hash_ in sorted(hashes)])


@dataclass(frozen=True, slots=True)
class _Derived:
    actions: int
    conversations: frozenset[str]


def _drop_derived(connection: Connection, plan: ForgettingPlan, doomed: _Doomed) -> _Derived:
    """Take what other turns made of the doomed messages and notes."""
    contexts = select(turn.c.id, turn.c.conversation, turn.c.context_messages, turn.c.context_notes).where(
        ~of_plan(plan, turn),
        or_(turn.c.context_messages != "[]", turn.c.context_notes != "[]"),
        # A message stands only in contexts of later turns; a note may be older than its person's first message.
        turn.c.id > (0 if doomed.notes else min(doomed.turns, default=0)),
    )
    actions, conversations = 0, set[str]()
    for turn_id, conversation_id, messages, notes in connection.execute(contexts).all():
        kept = rows.ids(messages) - doomed.messages, rows.ids(notes) - doomed.notes
        if kept == (rows.ids(messages), rows.ids(notes)):
            continue
        conversations.add(conversation_id)
        actions += _delete(connection, action_record, action_record.c.turn == turn_id)
        left = {"context_messages": rows.id_list(kept[0]), "context_notes": rows.id_list(kept[1]), "progress": ""}
        connection.execute(update(turn).where(turn.c.id == turn_id).values(**left))
    near = or_(turn.c.person == plan.person, turn.c.conversation.in_(doomed.conversations))
    connection.execute(update(turn).where(turn.c.state == RUNNING, near).values(progress=""))
    return _Derived(actions, frozenset(conversations))


def _unindex(connection: Connection, plan: ForgettingPlan, doomed: _Doomed) -> None:
    index.remove_messages(connection, plan.person, doomed.conversations)
    number = people.number_of(connection, plan.person)
    if number is None:
        return
    if plan.everything:
        index.remove_all(connection, number)
    for conversation_id in doomed.conversations:
        index.remove_thread(connection, conversation_id, number)


def _drop_summaries(connection: Connection, conversations: Iterable[str]) -> int:
    held = and_(conversation.c.id.in_(list(conversations)), conversation.c.summary != "{}")
    return connection.execute(update(conversation).where(held).values(summary="{}")).rowcount


def _drop_empty(connection: Connection, conversations: list[str]) -> int:
    spoken = exists().where(message.c.conversation == conversation.c.id)
    owed = exists().where(turn.c.conversation == conversation.c.id)
    return _delete(connection, conversation, and_(conversation.c.id.in_(conversations), ~spoken, ~owed))


def _delete(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(where)).rowcount


def _owed(connection: Connection) -> bool:
    return connection.execute(select(meta.c.name).where(meta.c.name == SWEEP_OWED)).first() is not None


def _settle(connection: Connection) -> None:
    connection.execute(delete(meta).where(meta.c.name == SWEEP_OWED))
