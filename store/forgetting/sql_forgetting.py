"""Forgetting: erase by plan in one transaction, wipe the bytes, prove it.

On SQLite a deleted row's bytes are overwritten (secure_delete), FTS5 gives up the words of deleted entries when it is
optimised, and the write-ahead log keeps old pages until a checkpoint empties it. Until all of that has happened a
sweep is owed; that is written down with the erasing itself, so it outlives a crash. What nobody waits for (`retire`,
`update_text`) leaves it owed: one sweep then serves many. On PostgreSQL the server keeps the files: rows and index
entries are gone, and the receipt says that their bytes are the operator's.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from hashlib import blake2s
from typing import Final

from sqlalchemy import ColumnElement, Connection, select

from agent.events import Outcome
from agent.memory.forgetting_plans import Deleted, EntriesPlan, ForgettingPlan, Preview, Sample, Wish
from agent.memory.profile import Partition
from agent.records import Author, Receipt
from store.databases.database import Database, DatabaseFiles, SqlStore, reads, writes_alone
from store.forgetting import entries, erase, erasure_set, proof
from store.forgetting.erase import Wishes, drop, drop_kept, erase_by_plan, owe, owed, settle, thread_titles
from store.forgetting.erasure_set import ErasureSet, earliest, facts_of, find_erasure_set
from store.forgetting.retold import Retellings
from store.forgetting.selection import ErasedIds, ForgottenMessage, reaches_anything, rows_in, select_rows, unasked
from store.memory import fact_store, profiles
from store.search import index
from store.tables import RUNNING, action_record, fact, message, profile_entry, turn

# --------------------------------------------------------------------------------------------------
# What a plan would erase, before anything is.
#
# Rule: the lines are what the person wrote or was answered, and what is known about them; nobody else's words.


LINES: Final = 5
"""As many as are read before a button is pressed."""
LINE_CHARS: Final = 200
NAME_BYTES: Final = 6


def preview(connection: Connection, plan: Wish) -> Preview:
    doomed = find_erasure_set(connection, plan)
    own = [one for one in doomed.said.values() if one.author == Author.PERSON and one.person == plan.person]
    waiting = unasked(connection, plan)
    lines = [*waiting.values(), *_newest(own), *_known(connection, doomed, plan.person)][:LINES]
    counts = {
        "messages": len(doomed.said) + len(waiting),
        "facts": len(doomed.facts),
        "profile": len(doomed.entries),
        "conversations": len(doomed.conversations),
    }
    retold = _sample([doomed.said[id_] for id_ in doomed.retold], plan.person)
    related = _sample(doomed.may.values(), plan.person)
    return Preview(counts, tuple(line[:LINE_CHARS] for line in lines), _name(doomed), retold, related)


def _sample(said: Collection[ForgottenMessage], person: str) -> Sample:
    """Of what was said to the person or by them the lines, too; of what was said to others the number alone."""
    return Sample(len(said), tuple(line[:LINE_CHARS] for line in _newest(one for one in said if one.person == person)))


def _newest(said: Iterable[ForgottenMessage]) -> list[str]:
    return [one.text for one in sorted(said, key=lambda one: (one.time, one.id), reverse=True)[:LINES]]


def _known(connection: Connection, doomed: ErasureSet, person: str) -> Iterator[str]:
    for table, words, ids in (
        (fact, fact.c.value, doomed.facts),
        (profile_entry, profile_entry.c.text, doomed.entries),
    ):
        theirs = select(words).where(table.c.person == person).order_by(table.c.id).limit(LINES)
        yield from (row[0] for row in rows_in(connection, theirs, table.c.id, ids))


def _name(doomed: ErasureSet) -> str:
    """The same for the same rows."""
    ids = [sorted(some) for some in (doomed.said, doomed.turns, doomed.facts, doomed.entries, doomed.may)]
    return blake2s(repr(ids).encode(), digest_size=NAME_BYTES).hexdigest()


# --------------------------------------------------------------------------------------------------
# A message that was edited in the platform after it was answered.
#
# Rules
#   The message stands, with its new words; what was learned from the old ones, and what other turns made of them, falls
#   as if the message had been forgotten. It is learned from again if it was answered.
#   What the bot replied stays: it was said. That something is remembered it no longer says, where that has fallen.


ANSWERED: Final = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)
"""How the turns end from which something is learned."""


def update_text(
    connection: Connection,
    channel: str,
    message_id: str,
    text: str,
    now: datetime,
    learn_at: datetime | None,
) -> bool:
    """Put the new words in place of the old ones. False if they are known, or the message is not."""
    found = select_rows(connection, Deleted(channel, frozenset({message_id}))).said
    if not found or all(one.text == text for one in found.values()):
        return False
    doomed = _doomed(connection, found)
    drop(connection, action_record.c.turn, {one.turn for one in found.values()} - doomed.turns)
    _, elsewhere = erase.drop_records(connection, doomed)
    erase.set_back(connection, doomed, [one.text for one in found.values()], now)
    erase.queue_kept_lines(connection, doomed.facts, now)
    fact_store.remove_rows(connection, doomed.facts)
    erasure_set.erase_entries(connection, None, doomed.entries, doomed.people)
    drop_kept(connection, doomed)
    erase.drop_waiting(connection, doomed.conversations | elsewhere, found)
    erase.drop_summaries(connection, doomed.conversations | elsewhere)
    for one in found.values():
        index.change_text(connection, one.id, one.conversation, text, to_learn=False)
        if learn_at is not None:
            _learn_again(connection, one, learn_at, now)
    owe(connection)
    return True


def _doomed(connection: Connection, found: Mapping[int, ForgottenMessage]) -> ErasureSet:
    """What falls as if these messages did. Their turns that run are named: they go on as they began."""
    retold, scratch = Retellings(connection, "", earliest(found), min(found)).remembered(found)
    return ErasureSet(
        found,
        turns=_turns(connection, {one.turn for one in found.values()}, turn.c.state == RUNNING),
        worn=frozenset(),
        facts=facts_of(connection, found, retold),
        entries=erasure_set.entries_reached(connection, found),
        whole=True,
        scratch=scratch,
    )


def _learn_again(connection: Connection, one: ForgottenMessage, at: datetime, now: datetime) -> None:
    if _turns(connection, {one.turn}, turn.c.outcome.in_(ANSWERED)):
        partition = Partition(one.person, one.audience)
        profiles.schedule_learning(connection, partition, message.c.id == one.id, at, now)


def _turns(connection: Connection, ids: AbstractSet[int], where: ColumnElement[bool]) -> frozenset[int]:
    """Those of the turns of which this is true."""
    return frozenset(connection.execute(select(turn.c.id).where(turn.c.id.in_(ids), where)).scalars())


class SqlForgetting(SqlStore):
    """The port Forgetting on a database."""

    preview = reads(preview)
    undo = writes_alone(entries.restore)
    titles = reads(thread_titles)

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids

    async def forget(
        self, plan: ForgettingPlan, now: datetime, *, replies: bool = False, related: bool = False
    ) -> Receipt:
        """See the port. `bytes_gone` False means that another reader holds old pages: `sweep`, or the next start,
        wipes them; or that a server keeps the files (`kept_by_server`).
        """
        wishes = Wishes(replies=replies, related=related)
        gone = await self.database.write_alone(erase_by_plan, plan, self._erased_ids, now, wishes)
        receipt = Receipt(gone.counts, await self.database.read(proof.found_again, plan, gone), bytes_gone=False)
        wiped = await self._wiped(receipt, gone.texts, gone.summaries)
        return replace(wiped, replies=gone.replies, related=len(gone.doomed.may))

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> Receipt:  # noqa: ARG002 -- no id is kept
        """See the port; `bytes_gone` as above."""
        gone, counts = await self.database.write_alone(_erase_entries, plan)
        receipt = Receipt(counts, await self.database.read(entries.count_left, plan), bytes_gone=False)
        return await self._wiped(receipt, [], list(gone.texts))

    async def delete_entries(self, plan: EntriesPlan, key: str, until: datetime) -> Receipt:
        counts, left = await self.database.write_alone(entries.delete_for_a_while, plan, key, until)
        return Receipt(counts, left, bytes_gone=False, kept_by_server=self.database.files is None)

    async def wipe(self, key: str) -> bool:
        await self.database.write(entries.wipe_deletion, key)
        return await self.sweep()

    async def retire(self, plan: ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        if not await self.database.read(reaches_anything, plan):
            return {}
        gone = await self.database.write_alone(erase_by_plan, plan, self._erased_ids, now, Wishes(limit=limit))
        return gone.counts

    async def update_text(
        self, channel: str, message_id: str, text: str, now: datetime, learn_at: datetime | None = None
    ) -> bool:
        if not await self.database.read(reaches_anything, Deleted(channel, frozenset({message_id}))):
            return False
        return await self.database.write_alone(update_text, channel, message_id, text, now, learn_at)

    async def sweep(self) -> bool:
        files = self.database.files
        if files is None or not await self.database.read(owed):
            return True
        wiped = await self._wipe(files)
        if wiped:
            await self.database.write(settle)
        return wiped

    async def _wiped(self, receipt: Receipt, said: list[str], made: list[str]) -> Receipt:
        """The receipt once the bytes are wiped, and the files were searched for them."""
        files = self.database.files
        if files is None:
            return replace(receipt, kept_by_server=True)
        wiped, pieces = await self._wipe(files), proof.pieces(said)
        seen = await files.find(pieces | proof.pieces(made))
        bytes_gone = wiped and not await self.database.read(proof.traces, seen, pieces)
        if bytes_gone:
            await self.database.write(settle)
        return replace(receipt, bytes_gone=bytes_gone)

    async def _wipe(self, files: DatabaseFiles) -> bool:
        await self.database.write(index.optimize)
        return await files.checkpoint()


def _erase_entries(connection: Connection, plan: EntriesPlan) -> tuple[entries.EntryErasure, dict[str, int]]:
    falling = entries.entries_to_erase(connection, plan)
    return falling, entries.erase_entry_plan(connection, falling)
