"""Forgetting: erase by plan in one transaction, wipe the bytes, prove it.

On SQLite a deleted row's bytes are overwritten (secure_delete), FTS5 gives up the words of deleted entries when it is
optimised, and the write-ahead log keeps old pages until a checkpoint empties it. Until all of that has happened a
sweep is owed; that is written down with the erasing itself, so it outlives a crash. What nobody waits for (`retire`,
`update_text`) leaves it owed: one sweep then serves many. On PostgreSQL the server keeps the files: rows and index
entries are gone, and the receipt says that their bytes are the operator's.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from hashlib import blake2s
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from agent.events import Outcome
from agent.memory import forgetting_plans as plans
from agent.memory.profile import Partition
from agent.messages import Consent
from agent.progress import decode
from agent.records import Author, Job, Receipt
from store import calls, job_queue
from store.databases.database import Database, DatabaseFiles, SqlStore, StorableText, reads, reads_long, writes_alone
from store.forgetting import entries, erase, erasure_set, selection
from store.forgetting.erase import Erasure, Wishes, drop, drop_kept, erase_by_plan, owe, owed, settle, thread_titles
from store.forgetting.erasure_set import ErasureSet, earliest, facts_of, find_erasure_set
from store.forgetting.retold import Retellings
from store.memory import fact_store, people
from store.search import index, matching, passages
from store.search.index import INDEXES
from store.search.text import BEGINS, TELLING_BYTES, IndexedText, holds, index_words, stretches
from store.tables import (
    RUNNING,
    WAITING,
    action_record,
    consent,
    conversation,
    fact,
    job,
    message,
    metadata,
    profile_entry,
    schedule,
    tool_call,
    turn,
    working_item,
    workspace,
)

# The search for proof after forgetting: in rows and index for whole texts, in the files for pieces of them.
#
# Found again is a row that should have fallen, or lost its words, and still holds an erased text; and an index entry
# with all its words whose message should have fallen or is gone. What others wrote, or the person elsewhere, stays
# theirs.
#
# A piece is one of up to PIECES stretches of the erased texts, spread evenly over them: at least PIECE_BYTES long,
# since a shorter one stands in some page by chance, and free of quotes and control characters, which JSON writes
# differently. A piece that is found in the files and also in what somebody said or kept proves nothing; one that no row
# holds is a trace. So is a telling one (TELLING_BYTES) that only derived columns hold, which repeat what was said
# somewhere. Pieces of erased summaries are excused by any row: two summaries may well say the same. The files only
# count as wiped after a complete checkpoint, so having nothing but common phrases to look for is no false proof.

PIECES: Final = 64  # Each is one pass over the files in memory: some tens of milliseconds for 100 MB
PIECE_BYTES: Final = 6
# So many words of a text, the longest, are looked for at once in the index: four find it, more only take longer.
WORDS: Final = 4

# Columns that hold what was made of others' words.
DERIVED: Final = frozenset(
    {
        *action_record.c,
        *workspace.c,
        *working_item.c,
        *profile_entry.c,
        conversation.c.summary,
        tool_call.c.arguments,
        turn.c.progress,
        turn.c.payload,
        job.c.payload,
    }
)

NOBODY: Final = ""

_STRETCH: Final = re.compile(r'[^\x00-\x1f"\\\ufffd]+')

_IN_INDEX: Final = tuple(
    text(f"SELECT EXISTS (SELECT 1 FROM {name}_kept WHERE instr(words, :piece))")  # noqa: S608 -- our own names
    for name in INDEXES
)
_BEGINS_WORD: Final = tuple(
    text(f"SELECT EXISTS (SELECT 1 FROM {name} WHERE {name} MATCH :part)")  # noqa: S608 -- our own names
    for name in INDEXES
)
_IN_SCHEMA: Final = text("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE instr(sql, :piece))")


def found_again(connection: Connection, plan: plans.ForgettingPlan, gone: Erasure) -> int:
    """How many rows and index entries still hold one of the erased texts. 0 is the"""
    texts = [*gone.texts, *gone.summaries]
    words = [sorted(set(index_words(erased)), key=len)[-WORDS:] for erased in texts]
    indexed = max(
        matching.holding(connection, words, gone.readers, person=who, conversation=where)
        for who, where in _reach(plan) or [(NOBODY, None)]
    )
    indexed += passages.count(connection, selection.documents_of(plan))
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


def _left(connection: Connection, plan: plans.ForgettingPlan, gone: Erasure) -> Iterator[str]:
    """The texts of whatever should have fallen and stands."""
    doomed = gone.doomed
    fallen = (
        *((message, where) for where in selection.in_batches(message.c.id, doomed.said)),
        *((turn, where) for where in selection.in_batches(turn.c.id, doomed.turns)),
    )
    for table, where in fallen:
        yield from _held(connection, table, where)
    # Of a conversation that stays only the summary should have fallen: its name and its readers are nobody's words.
    yield from erase.summary_texts(connection, gone.touched)
    match plan:
        case plans.OneThread(person=who, conversations=there):
            tables = (message, turn, job, schedule)
            places = [(table, and_(table.c.person == who, table.c.conversation.in_(there))) for table in tables]
        case plans.Everything(person=who):
            places = [(table, table.c.person == who) for table in (message, turn, job, fact, profile_entry, schedule)]
        case _:
            places = []
    for table, where in places:
        yield from _held(connection, table, where)
    stands = exists().where(message.c.id == fact.c.source_message)
    orphaned = and_(fact.c.source_message.is_not(None), ~stands)
    for theirs in selection.in_batches(fact.c.person, doomed.people):
        yield from _held(connection, fact, and_(theirs, orphaned))
    yield from erasure_set.orphaned_entries(connection, doomed.people)


def _reach(plan: plans.ForgettingPlan) -> list[tuple[str, str | None]]:
    """Whose entries in the index should be gone, and in which conversations (None: in all)."""
    match plan:
        case plans.OneThread(person, conversations):
            return [(person, there) for there in conversations]
        case plans.Everything(person):
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
    if any(connection.execute(where, {"piece": piece}).scalar_one() for where in (*_IN_INDEX, _IN_SCHEMA)):
        return True
    is_word = index_words(piece) == [piece]  # an Arabic word's consonants are no piece of it
    part = {"part": f'"{piece}{BEGINS}"'}
    return is_word and any(connection.execute(begins, part).scalar_one() for begins in _BEGINS_WORD)


def _pieces_of(erased: str) -> Iterator[bytes]:
    words = index_words(erased)
    for form in (erased, " ".join(words), max(words, key=len, default="")):
        stretch = max(_STRETCH.findall(form), key=len, default="").strip()
        yield from (piece.encode() for piece in stretches(stretch) if len(piece.encode()) >= PIECE_BYTES)


# What a plan would erase, before anything is.
#
# Rule: the lines are what the person wrote or was answered, and what is known about them; nobody else's words.

LINES: Final = 5  # As many as are read before a button is pressed
LINE_CHARS: Final = 200
NAME_BYTES: Final = 6


def preview(connection: Connection, plan: plans.Wish, watch: selection.Watch = selection.unwatched) -> plans.Preview:
    doomed = find_erasure_set(connection, plan, watch=watch)
    own = [one for one in doomed.said.values() if one.author == Author.PERSON and one.person == plan.person]
    waiting = selection.unasked(connection, plan)
    lines = [*waiting.values(), *_newest(own), *_known(connection, doomed, plan.person)][:LINES]
    counts = {
        "messages": len(doomed.said) + len(waiting),
        "facts": len(doomed.facts),
        "profile": len(doomed.entries),
        "conversations": len(doomed.conversations),
    }
    if documents := passages.count(connection, selection.documents_of(plan)):
        counts["documents"] = documents
    if doomed.schedules:
        counts["schedules"] = len(doomed.schedules)
    retold = _sample([doomed.said[id_] for id_ in doomed.retold], plan.person)
    related = _sample(doomed.may.values(), plan.person)
    return plans.Preview(counts, tuple(line[:LINE_CHARS] for line in lines), _name(doomed), retold, related)


def _sample(said: Collection[selection.ForgottenMessage], person: str) -> plans.Sample:
    """Of what was said to the person or by them the lines, too; of what was said to others the number alone."""
    return plans.Sample(
        len(said), tuple(line[:LINE_CHARS] for line in _newest(one for one in said if one.person == person))
    )


def _newest(said: Iterable[selection.ForgottenMessage]) -> list[str]:
    return [one.text for one in sorted(said, key=lambda one: (one.time, one.id), reverse=True)[:LINES]]


def _known(connection: Connection, doomed: ErasureSet, person: str) -> Iterator[str]:
    for table, words, ids in (
        (fact, fact.c.value, doomed.facts),
        (profile_entry, profile_entry.c.text, doomed.entries),
        (schedule, schedule.c.words, doomed.schedules),
    ):
        theirs = select(words).where(table.c.person == person).order_by(table.c.id).limit(LINES)
        yield from (row[0] for row in selection.rows_in(connection, theirs, table.c.id, ids))


def _name(doomed: ErasureSet) -> str:
    """The same for the same rows."""
    ids = [sorted(some) for some in (doomed.said, doomed.turns, doomed.facts, doomed.entries, doomed.may)]
    ids += [sorted(doomed.schedules)] if doomed.schedules else []
    return blake2s(repr(ids).encode(), digest_size=NAME_BYTES).hexdigest()


# A message that was edited in the platform after it was answered.
#
# Rules
#   The message stands, with its new words; what was learned from the old ones, and what other turns made of them, falls
#   as if the message had been forgotten. It is learned from again if it was answered.
#   What the bot replied stays: it was said. That something is remembered it no longer says, where that has fallen.

# How the turns end from which something is learned.
ANSWERED: Final = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)


def update_text(
    connection: Connection,
    channel: str,
    message_id: str,
    said: IndexedText,
    now: datetime,
    learn_at: datetime | None = None,
    held: Job | None = None,
) -> bool:
    """Put the new words in place of the old ones. False if they are known, the message is not, or newer ones are."""
    if not job_queue.is_newest(connection, plans.EDIT, plans.post_key(channel, message_id), held):
        return False
    found = selection.select_rows(connection, plans.Deleted(channel, frozenset({message_id}))).said
    if not found or all(one.text == said.text for one in found.values()):
        return False
    doomed = _doomed(connection, found)
    _go_on_edited(connection, doomed.turns, now)
    drop(connection, action_record.c.turn, {one.turn for one in found.values()} - doomed.turns)
    for where in selection.in_batches(tool_call.c.turn, {one.turn for one in found.values()}):
        calls.drop_arguments(connection, where)
    _, elsewhere = erase.drop_records(connection, doomed)
    erase.set_back(connection, doomed, [one.text for one in found.values()], now)
    erase.queue_kept_lines(connection, doomed.facts, now)
    fact_store.remove_rows(connection, doomed.facts)
    erasure_set.erase_entries(connection, None, doomed.entries, doomed.people)
    drop_kept(connection, doomed)
    erase.drop_waiting(connection, doomed.conversations | elsewhere, found)
    erase.drop_summaries(connection, doomed.conversations | elsewhere)
    for one in found.values():
        index.change_text(connection, one.id, one.conversation, said, to_learn=False)
        if learn_at is not None:
            _learn_again(connection, one, learn_at, now)
    owe(connection)
    return True


def _author(connection: Connection, channel: str, message_id: str) -> str | None:
    named = selection.select_rows(connection, plans.Deleted(channel, frozenset({message_id}))).said
    return next((one.person for one in named.values()), None)


def _doomed(connection: Connection, found: Mapping[int, selection.ForgottenMessage]) -> ErasureSet:
    """What falls as if these messages did. Their turns that run, or wait for their asker, are named: they go on."""
    retold, scratch = Retellings(connection, "", earliest(found), min(found)).remembered(found)
    return ErasureSet(
        found,
        turns=_turns(connection, {one.turn for one in found.values()}, or_(turn.c.state == RUNNING, _ASIDE)),
        worn=frozenset(),
        facts=facts_of(connection, found, retold),
        entries=erasure_set.entries_reached(connection, found),
        whole=True,
        scratch=scratch,
    )


_ASIDE: Final = and_(turn.c.state == WAITING, turn.c.progress != "", turn.c.run_at.is_not(None), ~turn.c.stopping)


def _go_on_edited(connection: Connection, turns: Collection[int], now: datetime) -> None:
    """Of those that wait for their asker, let none of the calls run: they were asked for in other words."""
    waiting = select(turn.c.id, turn.c.person, turn.c.conversation, turn.c.progress).where(turn.c.id.in_(turns), _ASIDE)
    for one in connection.execute(waiting.with_for_update()).all():
        awaited = decode(one.progress).awaited
        theirs = {"turn": one.id, "person": one.person, "conversation": one.conversation, "standing": False}
        edited = theirs | {"word": Consent.EDITED, "decided": now}
        connection.execute(delete(consent).where(consent.c.turn == one.id, consent.c.call.in_(awaited)))
        connection.execute(
            insert(consent), [edited | {"call": key, "tool": call.name} for key, call in awaited.items()]
        )
        connection.execute(update(turn).where(turn.c.id == one.id).values(run_at=None))


def _learn_again(connection: Connection, one: selection.ForgottenMessage, at: datetime, now: datetime) -> None:
    if _turns(connection, {one.turn}, turn.c.outcome.in_(ANSWERED)):
        partition = Partition(one.person, one.audience)
        people.schedule_learning(connection, partition, message.c.id == one.id, at, now)


def _turns(connection: Connection, ids: AbstractSet[int], where: ColumnElement[bool]) -> frozenset[int]:
    return frozenset(connection.execute(select(turn.c.id).where(turn.c.id.in_(ids), where)).scalars())


class SqlForgetting(SqlStore):
    preview = reads_long(preview)
    undo = writes_alone(entries.restore)
    titles = reads_long(thread_titles)
    author = reads(_author)

    def __init__(self, database: Database, erased_ids: selection.ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids

    async def forget(
        self,
        plan: plans.ForgettingPlan,
        now: datetime,
        *,
        replies: bool = False,
        related: bool = False,
        limit: int | None = None,
    ) -> Receipt:
        """See the port. `bytes_gone` False means that another reader holds old pages: `sweep`, or the next start,
        wipes them; or that a server keeps the files (`kept_by_server`).
        """
        wishes = Wishes(limit, replies, related)
        gone = await self.database.write_alone(erase_by_plan, plan, self._erased_ids, now, wishes)
        receipt = Receipt(gone.counts, await self.database.read_long(found_again, plan, gone), bytes_gone=False)
        wiped = await self._wiped(receipt, gone.texts, gone.summaries)
        return replace(wiped, replies=gone.replies, related=len(gone.doomed.may))

    async def forget_entries(self, plan: plans.EntriesPlan, now: datetime) -> Receipt:  # noqa: ARG002 -- no id is kept
        gone, counts = await self.database.write_alone(_erase_entries, plan)
        receipt = Receipt(counts, await self.database.read(entries.count_left, plan), bytes_gone=False)
        return await self._wiped(receipt, [], list(gone.texts))

    async def delete_entries(self, plan: plans.EntriesPlan, key: str, until: datetime) -> Receipt:
        counts, left = await self.database.write_alone(entries.delete_for_a_while, plan, key, until)
        return Receipt(counts, left, bytes_gone=False, kept_by_server=self.database.files is None)

    async def wipe(self, key: str) -> bool:
        await self.database.write(entries.wipe_deletion, key)
        return await self.sweep()

    async def retire(self, plan: plans.ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        if not await self.database.read(selection.reaches_anything, plan):
            return {}
        gone = await self.database.write_alone(erase_by_plan, plan, self._erased_ids, now, Wishes(limit=limit))
        return gone.counts

    async def update_text(
        self,
        channel: str,
        message_id: str,
        text: str,
        now: datetime,
        learn_at: datetime | None = None,
        held: Job | None = None,
    ) -> bool:
        said = await index.indexed(self.database, text)
        return await self.database.write_alone(update_text, channel, message_id, said, now, learn_at, held)

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
        wiped, told = await self._wipe(files), pieces(said)
        seen = await files.find(told | pieces(made))
        bytes_gone = wiped and not await self.database.read_long(traces, seen, told)
        if bytes_gone:
            await self.database.write(settle)
        return replace(receipt, bytes_gone=bytes_gone)

    async def _wipe(self, files: DatabaseFiles) -> bool:
        await self.database.write(index.optimize)
        await self.database.write(passages.optimize)
        return await files.checkpoint()


def _erase_entries(connection: Connection, plan: plans.EntriesPlan) -> tuple[entries.EntryErasure, dict[str, int]]:
    falling = entries.entries_to_erase(connection, plan)
    return falling, entries.erase_entry_plan(connection, falling)
