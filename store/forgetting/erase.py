"""Forgetting: erase by plan in one transaction, wipe the bytes, prove it.

Above: `store.engine` bundles it. Below: `store.forgetting.doomed`, proof, index, erased, database, tables;
`agent.memory.forgetting`.

What falls: the person's messages and the replies to them, with their turns (a waiting or running one is thereby
cancelled: its worker gets LeaseLost), action records and workspaces; replies to others that quote them (see
`store.forgetting.doomed`); the person's jobs there; facts and profile entries from those messages (everywhere: all of
theirs), and facts derived from those; action records and progress of other turns in whose context an erased message or
fact stood, and the
summary of their conversations; the summary of each touched conversation; an empty conversation; for everything, the
person and what they chose. Platform ids stay as keyed hashes, and what model calls took without turn and channel.

An open turn whose progress names an erased message or contains an erased text starts anew, without its progress and
under the next epoch, so its worker gets LeaseLost; quoted texts in its payload that contain an erased text are taken
out. (`holds` says how long a text must be to tell.)

A turn that runs meanwhile has not yet said what stood in its context. In the conversations of the plan, and for the
person elsewhere, it loses its saved progress now, and `store.turns.ledger` drops its records and summary when it ends.

On SQLite a deleted row's bytes are overwritten (secure_delete), FTS5 gives up the words of deleted entries when it is
optimised, and the write-ahead log keeps old pages until a checkpoint empties it. Until all of that has happened a
sweep is owed; that is written down with the erasing itself, so it outlives a crash. On PostgreSQL the server keeps the
files: rows and index entries are gone, and the receipt says that their bytes are the operator's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, insert, or_, select, update

from agent.memory.forgetting import EntriesPlan, ForgettingPlan
from agent.records import Receipt
from store import rows, spending
from store.databases.database import Database, Files
from store.forgetting import entries, proof, unlearn
from store.forgetting.doomed import Doomed, reached, texts_of
from store.forgetting.erased import ErasedIds
from store.memory import facts, people
from store.search import index
from store.search.reach import of_plan
from store.search.text import holds
from store.tables import (
    RUNNING,
    WAITING,
    action_record,
    conversation,
    erased,
    job,
    message,
    meta,
    participant,
    person,
    preference,
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
        wipes them; or that a server keeps the files (`kept_by_server`).
        """
        files = self._database.files
        gone = await self._database.write_alone(erase, plan, self._erased_ids, now, owes_sweep=files is not None)
        wiped = files is not None and await self._wipe(files)
        found_again = await self._database.read(
            proof.found_again, plan, [*gone.texts, *gone.summaries], touched=gone.touched, readers=gone.readers
        )
        return await self._receipt(gone, found_again, wiped=wiped)

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> Receipt:  # noqa: ARG002 -- no id is kept
        """See the port; `bytes_gone` as above."""
        files = self._database.files
        gone = await self._database.write_alone(erase_entries, plan, owes_sweep=files is not None)
        wiped = files is not None and await self._wipe(files)
        return await self._receipt(gone, await self._database.read(entries.left, plan), wiped=wiped)

    async def _receipt(self, gone: "Erasure", found_again: int, *, wiped: bool) -> Receipt:
        """What was erased, once the files were searched for what it said."""
        files = self._database.files
        if files is None:
            return Receipt(gone.counts, found_again, bytes_gone=False, kept_by_server=True)
        said = proof.pieces(gone.texts)
        seen = await files.find(said | proof.pieces(gone.summaries))
        bytes_gone = wiped and not await self._database.read(proof.traces, seen, said)
        if bytes_gone:
            await self._database.write(_settle)
        return Receipt(gone.counts, found_again, bytes_gone)

    async def sweep(self) -> bool:
        files = self._database.files
        if files is None or not await self._database.read(_owed):
            return True
        wiped = await self._wipe(files)
        if wiped:
            await self._database.write(_settle)
        return wiped

    async def _wipe(self, files: Files) -> bool:
        await self._database.write(index.optimize)
        return await files.checkpoint()


@dataclass(slots=True)
class Erasure:
    """What an erasing took away: the texts for the search for proof, counts for the receipt."""

    texts: list[str] = field(default_factory=list[str])
    summaries: list[str] = field(default_factory=list[str])
    touched: list[str] = field(default_factory=list[str])
    readers: list[int] = field(default_factory=list[int])
    counts: dict[str, int] = field(default_factory=dict[str, int])


def erase(
    connection: Connection, plan: ForgettingPlan, erased_ids: ErasedIds, now: datetime, *, owes_sweep: bool
) -> Erasure:
    """Carry out `plan`; nothing of it is proved yet. Nobody else may write meanwhile."""
    doomed = reached(connection, plan)
    texts, summaries = texts_of(connection, plan, doomed)
    where = {*doomed.conversations, *(reply.conversation for reply in doomed.replies.values())}
    readers = index.readers(connection, *where)
    _keep_hashes(connection, plan, erased_ids, now)
    spending.settle(connection, of_plan(plan, turn), now)
    derived = _drop_derived(connection, plan, doomed)
    _restart(connection, plan, doomed.messages, texts, now)
    counts = {"actions": derived.actions}
    _unindex(connection, plan, doomed)
    index.remove(connection, doomed.replies)
    counts["jobs"] = _delete(connection, job, of_plan(plan, job))
    own_turns = select(turn.c.id).where(of_plan(plan, turn))
    counts["workspaces"] = _delete(connection, workspace, workspace.c.task_id.in_(own_turns))
    counts["actions"] += _delete(connection, action_record, action_record.c.turn.in_(own_turns))
    counts["facts"] = facts.remove_rows(connection, doomed.facts)
    counts["profile"] = unlearn.erase(connection, plan, doomed.entries)
    counts["messages"] = _delete(connection, message, or_(of_plan(plan, message), message.c.id.in_(doomed.replies)))
    spending.detach(connection, own_turns)
    counts["turns"] = _delete(connection, turn, of_plan(plan, turn))
    _delete(connection, participant, of_plan(plan, participant))
    touched = sorted({*doomed.conversations, *derived.conversations})
    counts["summaries"] = _drop_summaries(connection, touched)
    counts["conversations"] = _drop_empty(connection, doomed.conversations)
    if plan.everything:
        _delete(connection, workspace, workspace.c.person == plan.person)
        counts["preferences"] = _delete(connection, preference, preference.c.owner == plan.person)
        counts["people"] = _delete(connection, person, person.c.id == plan.person)
    _settle(connection)
    if owes_sweep:
        connection.execute(insert(meta).values(name=SWEEP_OWED, value=b""))
    return Erasure(texts, summaries, touched, readers, counts)


def erase_entries(connection: Connection, plan: EntriesPlan, *, owes_sweep: bool) -> Erasure:
    """Carry out `plan`; nothing of it is proved yet. Nobody else may write meanwhile."""
    gone = entries.erase(connection, plan)
    _settle(connection)
    if owes_sweep:
        connection.execute(insert(meta).values(name=SWEEP_OWED, value=b""))
    return Erasure(summaries=[*gone.texts], counts=gone.counts)


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


def _drop_derived(connection: Connection, plan: ForgettingPlan, doomed: Doomed) -> _Derived:
    """Take what other turns made of the doomed messages and facts."""
    contexts = select(turn.c.id, turn.c.conversation, turn.c.context_messages, turn.c.context_facts).where(
        ~of_plan(plan, turn),
        or_(turn.c.context_messages != "[]", turn.c.context_facts != "[]"),
    )
    actions, conversations = 0, set[str]()
    for turn_id, conversation_id, messages, known in connection.execute(contexts).all():
        kept = rows.ids(messages) - doomed.messages, rows.ids(known) - doomed.facts
        if kept == (rows.ids(messages), rows.ids(known)):
            continue
        conversations.add(conversation_id)
        actions += _delete(connection, action_record, action_record.c.turn == turn_id)
        left = {"context_messages": rows.id_list(kept[0]), "context_facts": rows.id_list(kept[1]), "progress": ""}
        connection.execute(update(turn).where(turn.c.id == turn_id).values(**left))
    near = or_(turn.c.person == plan.person, turn.c.conversation.in_(doomed.conversations))
    connection.execute(update(turn).where(turn.c.state == RUNNING, near).values(progress=""))
    return _Derived(actions, frozenset(conversations))


def _restart(
    connection: Connection, plan: ForgettingPlan, gone: frozenset[int], texts: list[str], now: datetime
) -> None:
    """Let open turns start anew that have already made something of what is erased; take it out of their payloads."""
    columns = select(turn.c.id, turn.c.progress, turn.c.payload)
    open_ = columns.where(~of_plan(plan, turn), turn.c.state.in_((WAITING, RUNNING)))
    for turn_id, progress, payload in connection.execute(open_).all():
        values: dict[str, object] = {}
        if rows.sources(progress) & gone or _contains(rows.strings(rows.read(progress)), texts):
            values = rows.restarted(turn.c.epoch + 1)
            spending.settle(connection, turn.c.id == turn_id, now)
        kept = rows.without_quoted(payload, lambda quoted: _contains([quoted], texts))
        if kept != payload:
            values["payload"] = kept
        if values:
            connection.execute(update(turn).where(turn.c.id == turn_id).values(**values))


def _contains(held: Iterable[str], texts: list[str]) -> bool:
    return any(holds(some, erased) for some in held for erased in texts)


def _unindex(connection: Connection, plan: ForgettingPlan, doomed: Doomed) -> None:
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
