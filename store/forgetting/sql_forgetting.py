"""Forgetting: erase by plan in one transaction, wipe the bytes, prove it.

On SQLite a deleted row's bytes are overwritten (secure_delete), FTS5 drops the words of deleted entries when it is
optimised, and the write-ahead log holds old pages until a checkpoint empties it. Until all of that has happened a sweep
is due; that is recorded in the transaction that erases, so it survives a crash. Background work (`retire`,
`update_text`) leaves the sweep due: one sweep then serves many erasures. On PostgreSQL the server has the files: rows
and index entries are deleted, and the receipt says that their bytes are the operator's responsibility.
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
    bindparam,
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
from agent.jobs import Job
from agent.memory import forgetting_plans as plans
from agent.memory.forgetting_plans import Receipt
from agent.memory.profile import Partition
from agent.messages import Consent
from agent.progress import decode
from agent.stored_messages import Author
from store import erased_ids, job_queue, saved_files
from store.channels import in_channel
from store.databases.database import (
    Database,
    DatabaseFiles,
    SqlStore,
    StorableText,
    reads,
    reads_few,
    reads_long,
    writes_alone,
)
from store.file_tables import saved_file
from store.forgetting import entries, erase, erasure_set, selection
from store.forgetting.erase import (
    Erasure,
    Wishes,
    clear_sweep_due,
    drop,
    drop_kept,
    erase_by_plan,
    is_sweep_due,
    mark_sweep_due,
    thread_titles,
)
from store.forgetting.erasure_set import ErasureSet, earliest, facts_of, find_erasure_set
from store.forgetting.log import ForgettingLog
from store.forgetting.repetitions import RepetitionFinder, words_that_tell
from store.job_queue import job
from store.memory import fact_store, learning_marks
from store.memory_tables import fact, profile_entry
from store.message_tables import conversation, message
from store.schedule_table import schedule
from store.schema import metadata
from store.search import index, passages, word_matching
from store.search.index import INDEXES
from store.search.text import BEGINS, TELLING_BYTES, IndexedText, holds, index_words, stretches
from store.tool_calls import drop_arguments, tool_call
from store.turn_tables import RUNNING, WAITING, action_record, turn, workspace
from store.turns.consents import consent
from store.turns.write_memory import StoredForgetting, WriteMemory
from store.working_sets import working_item

# The search for proof after forgetting: for whole texts in rows and index, for pieces of them in the files.
#
# Counted as found again are rows that should have been erased, or lost their words, and still hold an erased text; and
# index entries with all words of an erased text whose message should have been erased or does not exist. Messages of
# other people, and of the person elsewhere, are not counted.
#
# A piece is one of up to PIECES stretches of the erased texts, spread evenly over them: at least PIECE_BYTES long,
# because shorter ones occur in pages by chance, and without quotes and control characters, which JSON escapes. A piece
# that is found in the files proves nothing if a row with someone's own words holds it too; a piece that no row holds is
# a trace. So is a telling piece (TELLING_BYTES) that only derived columns hold, which repeat other texts. A piece of an
# erased summary may be in any row: two summaries may well say the same. The files only count as wiped after a complete
# checkpoint, so a search for nothing but common phrases is no false proof.

PIECES: Final = 64  # Each is one pass over the files in memory: some tens of milliseconds for 100 MB
PIECE_BYTES: Final = 6
# The longest words of a text that are searched together in the index: four find it, more only take longer.
WORDS: Final = 4

# Columns whose content is derived from other texts.
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


def found_again(connection: Connection, plan: plans.ForgettingPlan, erasure: Erasure) -> int:
    """How many rows and index entries still hold one of the erased texts. 0 is the proof."""
    texts = [*erasure.texts, *erasure.summaries]
    words = [sorted(set(index_words(erased)), key=len)[-WORDS:] for erased in texts]
    indexed = max(
        word_matching.holding(connection, words, erasure.readers, person=who, conversation=where)
        for who, where in _searched_readers(plan) or [(NOBODY, None)]
    )
    indexed += passages.count(connection, selection.documents_of(plan))
    indexed += sum(1 for _ in selection.values_in(connection, saved_file.c.id, saved_file.c.id, erasure.doomed.files))
    return indexed + sum(
        any(holds(text_, erased) for erased in texts) for text_ in _remaining_texts(connection, plan, erasure)
    )


def pieces(texts: list[str]) -> frozenset[bytes]:
    """The pieces to search for in the files, in the spelling of the rows and in that of the index."""
    found = list(dict.fromkeys(piece for erased in texts for piece in _pieces_of(erased)))
    if len(found) > PIECES:
        found = [found[number * len(found) // PIECES] for number in range(PIECES)]
    return frozenset(found)


def traces(connection: Connection, found: frozenset[bytes], originals: frozenset[bytes]) -> frozenset[bytes]:
    """The pieces in `found` that no row explains; `originals`: pieces of messages, facts and documents."""
    return frozenset(
        piece
        for piece in found
        if not _is_held(connection, piece.decode(), derived=piece not in originals or len(piece) < TELLING_BYTES)
    )


def file_traces(connection: Connection, found: frozenset[bytes]) -> frozenset[bytes]:
    """The stretches of files in `found` that no row explains: another file, or a text that says the same."""
    return frozenset(
        piece
        for piece in found
        if not connection.execute(select(exists().where(func.instr(saved_file.c.data, piece) > 0))).scalar_one()
        and not _is_held(connection, piece.decode(errors="ignore"), derived=True)
    )


def _remaining_texts(connection: Connection, plan: plans.ForgettingPlan, erasure: Erasure) -> Iterator[str]:
    """The texts of all rows that should have been erased but exist."""
    doomed = erasure.doomed
    erased = (
        *((message, where) for where in selection.in_batches(message.c.id, doomed.messages)),
        *((turn, where) for where in selection.in_batches(turn.c.id, doomed.turns)),
    )
    for table, where in erased:
        yield from _texts_in(connection, table, where)
    # Of a conversation that stays only the summary should have been erased: its id and its readers are not words.
    yield from erase.summary_texts(connection, erasure.touched)
    match plan:
        case plans.OneThread(person=who, conversations=there):
            tables = (message, turn, job, schedule)
            conditions = [(table, and_(table.c.person == who, table.c.conversation.in_(there))) for table in tables]
        case plans.Everything(person=who):
            tables = (message, turn, job, fact, profile_entry, schedule)
            conditions = [(table, table.c.person == who) for table in tables]
        case _:
            conditions = []
    for table, where in conditions:
        yield from _texts_in(connection, table, where)
    source_exists = exists().where(message.c.id == fact.c.source_message)
    orphaned = and_(fact.c.source_message.is_not(None), ~source_exists)
    for of_people in selection.in_batches(fact.c.person, doomed.people):
        yield from _texts_in(connection, fact, and_(of_people, orphaned))
    yield from erasure_set.orphaned_entries(connection, doomed.people)


def _searched_readers(plan: plans.ForgettingPlan) -> list[tuple[str, str | None]]:
    """The people whose index entries should be gone, and in which conversations (None: in all)."""
    match plan:
        case plans.OneThread(person, conversations):
            return [(person, conversation_) for conversation_ in conversations]
        case plans.Everything(person):
            return [(person, None)]
        case _:
            return []


def _texts_in(connection: Connection, table: Table, where: ColumnElement[bool]) -> Iterator[str]:
    for row in connection.execute(select(*_text_columns(table)).where(where)):
        yield from (text_ for text_ in row if text_)


def _text_columns(table: Table) -> list[ColumnElement[str]]:
    return [column for column in table.c if isinstance(column.type, StorableText)]


def _is_held(connection: Connection, piece: str, *, derived: bool) -> bool:
    """Whether a row holds the piece. `derived`: columns with derived content count as well."""
    for table in metadata.sorted_tables:
        columns = [column for column in _text_columns(table) if derived or column not in DERIVED]
        conditions = [func.instr(column, piece) > 0 for column in columns]
        if conditions and connection.execute(select(exists().where(or_(*conditions)))).scalar_one():
            return True
    if any(connection.execute(where, {"piece": piece}).scalar_one() for where in (*_IN_INDEX, _IN_SCHEMA)):
        return True
    is_word = index_words(piece) == [piece]  # the consonants of an Arabic word are no piece of it
    part = {"part": f'"{piece}{BEGINS}"'}
    return is_word and any(connection.execute(begins, part).scalar_one() for begins in _BEGINS_WORD)


def _pieces_of(erased: str) -> Iterator[bytes]:
    words = index_words(erased)
    for form in (erased, " ".join(words), max(words, key=len, default="")):
        stretch = max(_STRETCH.findall(form), key=len, default="").strip()
        yield from (piece.encode() for piece in stretches(stretch) if len(piece.encode()) >= PIECE_BYTES)


# Preview of what a plan would erase.
#
# Rule: the lines are the person's own messages, replies to them, and facts about them; no other person's words.

LINES: Final = 5  # As many as people read before they press a button
LINE_CHARS: Final = 200
NAME_BYTES: Final = 6
# The newest erased messages, whose words are compared with those of related ones, to say why these are listed.
COMPARED: Final = 2_000


def preview(connection: Connection, plan: plans.Wish, watch: selection.Watch = selection.unwatched) -> plans.Preview:
    doomed = find_erasure_set(connection, plan, watch=watch)
    own_messages = [
        item for item in doomed.messages.values() if item.author == Author.PERSON and item.person == plan.person
    ]
    waiting = selection.unasked(connection, plan)
    lines = [*waiting.values(), *_newest(own_messages), *_known(connection, doomed, plan.person)][:LINES]
    counts = {
        "messages": len(doomed.messages) + len(waiting),
        "facts": len(doomed.facts),
        "profile": len(doomed.entries),
        "conversations": len(doomed.conversations),
    }
    if documents := passages.count(connection, selection.documents_of(plan)):
        counts["documents"] = documents
    if doomed.files:
        counts["files"] = len(doomed.files)
    if doomed.schedules:
        counts["schedules"] = len(doomed.schedules)
    repetitions = _sample([doomed.messages[id_] for id_ in doomed.repetitions], plan.person)
    saying = _saying_the_same(doomed)
    worded, in_view = (
        _sample([item for id_, item in doomed.related.items() if (id_ in saying) is says], plan.person)
        for says in (True, False)
    )
    related = plans.Sample(len(doomed.related), (*worded.lines, *in_view.lines)[:LINES])
    own = select(schedule.c.words).where(schedule.c.person == plan.person).order_by(schedule.c.id).limit(LINES)
    may_repeat = [
        row[0][:LINE_CHARS] for row in selection.rows_in(connection, own, schedule.c.id, doomed.related_schedules)
    ]
    related = plans.Sample(related.count + len(doomed.related_schedules), (*related.lines, *may_repeat)[:LINES])
    left = selection.documents_left(connection, plan, doomed.messages.values())
    documents = plans.Sample(len(left), tuple(name[:LINE_CHARS] for name in left[:LINES]))
    shown = tuple(line[:LINE_CHARS] for line in lines)
    is_shared = _is_shared(connection, doomed, plan.person)
    return plans.Preview(counts, shown, _name(doomed), repetitions, related, in_view.count, documents, is_shared)


def _is_shared(connection: Connection, doomed: ErasureSet, person: str) -> bool:
    """Return whether others wrote in the threads of what falls."""
    others = select(message.c.id).where(message.c.author == Author.PERSON, message.c.person != person).limit(1)
    return any(selection.rows_in(connection, others, message.c.conversation, doomed.conversations))


def _saying_the_same(doomed: ErasureSet) -> frozenset[int]:
    """The ids of related messages that share a telling word with what is erased, or were written by people: a reply of
    the bot may also be related because it had that in view.
    """
    if not doomed.related:
        return frozenset()
    newest = sorted(doomed.messages.values(), key=lambda item: item.id, reverse=True)[:COMPARED]
    erased = frozenset[str]().union(*(words_that_tell(item.text) for item in newest))
    return frozenset(
        id_
        for id_, item in doomed.related.items()
        if item.author == Author.PERSON or not erased.isdisjoint(words_that_tell(item.text))
    )


def _sample(messages: Collection[selection.ForgottenMessage], person: str) -> plans.Sample:
    """The number of messages, and lines of those from the person or to the person only."""
    return plans.Sample(
        len(messages), tuple(line[:LINE_CHARS] for line in _newest(item for item in messages if item.person == person))
    )


def _newest(messages: Iterable[selection.ForgottenMessage]) -> list[str]:
    return [item.text for item in sorted(messages, key=lambda item: (item.time, item.id), reverse=True)[:LINES]]


def _known(connection: Connection, doomed: ErasureSet, person: str) -> Iterator[str]:
    for table, words, ids in (
        (fact, fact.c.value, doomed.facts),
        (profile_entry, profile_entry.c.text, doomed.entries),
        (schedule, schedule.c.words, doomed.schedules),
    ):
        own = select(words).where(table.c.person == person).order_by(table.c.id).limit(LINES)
        yield from (row[0] for row in selection.rows_in(connection, own, table.c.id, ids))


def _name(doomed: ErasureSet) -> str:
    """A name of the erasure set, the same for the same rows."""
    ids = [sorted(ids_) for ids_ in (doomed.messages, doomed.turns, doomed.facts, doomed.entries, doomed.related)]
    ids += [sorted(of_kind) for of_kind in (doomed.schedules, doomed.related_schedules, doomed.files) if of_kind]
    return blake2s(repr(ids).encode(), digest_size=NAME_BYTES).hexdigest()


# A message that was edited in the platform after it was answered.
#
# Rules
#   The message stays, with its new text. What was learned from the old text, and what other turns have drawn from it,
#   is erased as if the message had been forgotten. It is learned from again if it was answered.
#   The bot's reply stays. A line in it that reports something as remembered is changed if that was erased.

# The outcomes of turns that are learned from.
ANSWERED: Final = (Outcome.ANSWERED, Outcome.CUT, Outcome.EXHAUSTED)


def update_text(
    connection: Connection,
    source: str,
    channel: str,
    message_id: str,
    indexed: IndexedText,
    now: datetime,
    learn_at: datetime | None = None,
    edit_job: Job | None = None,
) -> bool:
    """Replace the text of an edited message. False if the text is known, the message unknown, or an edit newer."""
    if not job_queue.is_newest(connection, plans.EDIT, plans.post_key(source, channel, message_id), edit_job):
        return False
    found = selection.posted(connection, source, channel, {message_id})
    if not found or all(item.text == indexed.text for item in found.values()):
        return False
    doomed = _doomed(connection, found)
    _resume_edited(connection, doomed.turns, now)
    drop(connection, action_record.c.turn, {item.turn for item in found.values()} - doomed.turns)
    for condition in selection.in_batches(tool_call.c.turn, {item.turn for item in found.values()}):
        drop_arguments(connection, condition)
    _, elsewhere = erase.drop_records(connection, doomed)
    erase.restart_open_turns(connection, doomed, [item.text for item in found.values()], now)
    erase.queue_kept_lines(connection, doomed.facts, now)
    fact_store.remove_rows(connection, doomed.facts)
    erasure_set.erase_entries(connection, None, doomed.entries, doomed.people)
    drop_kept(connection, doomed)
    erase.drop_waiting(connection, doomed.conversations | elsewhere, found)
    erase.drop_summaries(connection, doomed.conversations | elsewhere)
    for item in found.values():
        index.change_text(connection, item.id, item.conversation, indexed, to_learn=False)
        if learn_at is not None:
            _schedule_learning(connection, item, learn_at, now)
    mark_sweep_due(connection)
    return True


def _author(connection: Connection, source: str, channel: str, message_id: str) -> str | None:
    messages = selection.posted(connection, source, channel, {message_id})
    return next((item.person for item in messages.values()), None)


_TEXT: Final = (
    select(message.c.text)
    .where(message.c.channel == bindparam("there"), message.c.message_id == bindparam("posted"))
    .where(message.c.author == Author.PERSON)
    .where(
        # By its turn, as in `selection.posted`.
        message.c.conversation.in_(
            select(turn.c.conversation)
            .where(in_channel(turn, bindparam("whose", type_=StorableText), bindparam("there", type_=StorableText)))
            .where(turn.c.message_id == bindparam("posted"))
        )
    )
    .order_by(message.c.id)
    .limit(1)
)


def _text(connection: Connection, source: str, channel: str, message_id: str) -> str | None:
    values = {"whose": source, "there": channel, "posted": message_id}
    return connection.execute(_TEXT, values).scalar_one_or_none()


def _doomed(connection: Connection, found: Mapping[int, selection.ForgottenMessage]) -> ErasureSet:
    """The rows to erase as if these messages were. `turns`: theirs that run or wait for the asker, and continue."""
    repetitions, scratch = RepetitionFinder(connection, "", earliest(found), min(found)).remembered(found)
    return ErasureSet(
        found,
        turns=_turns(connection, {item.turn for item in found.values()}, or_(turn.c.state == RUNNING, _ASIDE)),
        trimmed=frozenset(),
        facts=facts_of(connection, found, repetitions),
        entries=erasure_set.entries_reached(connection, found),
        complete=True,
        scratch=scratch,
        files=erasure_set.files_reached(connection, found),
    )


_ASIDE: Final = and_(turn.c.state == WAITING, turn.c.progress != "", turn.c.run_at.is_not(None), ~turn.c.stopping)


def _resume_edited(connection: Connection, turns: Collection[int], now: datetime) -> None:
    """Resume the turns that wait for their asker, without the calls that wait: the question had another text."""
    waiting = select(turn.c.id, turn.c.person, turn.c.conversation, turn.c.progress).where(turn.c.id.in_(turns), _ASIDE)
    for row in connection.execute(waiting.with_for_update()).all():
        progress = decode(row.progress)
        awaited = {**progress.awaited, **progress.asked}
        values = {"turn": row.id, "person": row.person, "conversation": row.conversation, "standing": False}
        edited = values | {"word": Consent.EDITED, "decided": now}
        connection.execute(delete(consent).where(consent.c.turn == row.id, consent.c.call.in_(awaited)))
        connection.execute(
            insert(consent), [edited | {"call": key, "tool": call.name} for key, call in awaited.items()]
        )
        connection.execute(update(turn).where(turn.c.id == row.id).values(run_at=None))


def _schedule_learning(connection: Connection, item: selection.ForgottenMessage, at: datetime, now: datetime) -> None:
    if _turns(connection, {item.turn}, turn.c.outcome.in_(ANSWERED)):
        partition = Partition(item.person, item.audience)
        learning_marks.schedule_learning(connection, partition, message.c.id == item.id, at, now)


def _turns(connection: Connection, ids: AbstractSet[int], where: ColumnElement[bool]) -> frozenset[int]:
    return frozenset(connection.execute(select(turn.c.id).where(turn.c.id.in_(ids), where)).scalars())


def _erase_marked(
    connection: Connection,
    plan: plans.ForgettingPlan,
    erased: erased_ids.ErasedIds,
    now: datetime,
    wishes: Wishes,
    mark: str | None,
) -> Erasure:
    """Erase by plan. `mark`: what shows later that it was done; None for none."""
    erasure = erase_by_plan(connection, plan, erased, now, wishes)
    if mark is not None:
        connection.execute(insert(erased_ids.erased).values(hash=mark, time=now))
    return erasure


class SqlForgetting(SqlStore):
    preview = reads_long(preview)
    undo = writes_alone(entries.restore)
    titles = reads_long(thread_titles)
    author = reads(_author)
    text = reads_few(_text)

    def __init__(
        self,
        database: Database,
        erased_ids: erased_ids.ErasedIds,
        forgetting_log: ForgettingLog | None = None,
        memory: WriteMemory | None = None,
    ) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids
        self._log = forgetting_log
        self._memory = memory

    async def forget(
        self,
        plan: plans.ForgettingPlan,
        now: datetime,
        *,
        replies: bool = False,
        related: bool = False,
        limit: int | None = None,
    ) -> Receipt:
        """Erase what the plan names.

        `bytes_gone` False in the receipt means that another reader holds old pages, which `sweep` or the next start
        wipes, or that a server has the files (`kept_by_server`).
        """
        wishes, memory = Wishes(limit, replies, related), self._memory
        mark = None if memory is None else memory.new_mark()
        erasure = await self.database.write_alone(_erase_marked, plan, self._erased_ids, now, wishes, mark)
        if memory is not None and mark is not None:
            memory.note_forgetting(StoredForgetting(mark, plan, now, replies, related))
        is_logged = await self._record(erasure.hashes, now)
        receipt = Receipt(erasure.counts, await self.database.read_long(found_again, plan, erasure), bytes_gone=False)
        wiped = await self._wiped(receipt, erasure.texts, erasure.summaries, erasure.stretches)
        pages, doomed = erasure.pages, erasure.doomed
        elsewhere = len(doomed.related) + len(doomed.related_schedules)
        shown = replace(wiped, replies=pages.deleted, kept=pages.kept, ephemeral=pages.ephemeral)
        return replace(shown, related=elsewhere, documents=erasure.documents, is_logged=is_logged)

    async def forget_entries(self, plan: plans.EntriesPlan, now: datetime) -> Receipt:
        erasure, counts, hashes = await self.database.write_alone(_erase_entries, plan, self._erased_ids, now)
        is_logged = await self._record(hashes, now)
        left = await self.database.read(entries.count_left, plan)
        return await self._wiped(Receipt(counts, left, bytes_gone=False, is_logged=is_logged), [], list(erasure.texts))

    async def delete_entries(self, plan: plans.EntriesPlan, key: str, until: datetime) -> Receipt:
        counts, left = await self.database.write_alone(entries.delete_for_a_while, plan, key, until)
        return Receipt(counts, left, bytes_gone=False, kept_by_server=self.database.files is None)

    async def wipe(self, key: str) -> bool:
        hashes, time = await self.database.write(entries.wipe_deletion, key, self._erased_ids)
        if time is not None:
            await self._record(hashes, time)
        return await self.sweep()

    async def retire(self, plan: plans.ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        if not await self.database.read(selection.reaches_anything, plan):
            return {}
        erasure = await self.database.write_alone(erase_by_plan, plan, self._erased_ids, now, Wishes(limit=limit))
        await self._record(erasure.hashes, now)
        return erasure.counts

    async def update_text(
        self,
        source: str,
        channel: str,
        message_id: str,
        text: str,
        now: datetime,
        learn_at: datetime | None = None,
        held: Job | None = None,
    ) -> bool:
        indexed = await index.indexed(self.database, text)
        return await self.database.write_alone(update_text, source, channel, message_id, indexed, now, learn_at, held)

    async def drop_idle_files(self, conversation: str, now: datetime) -> datetime | None:
        return await self.database.write(_drop_idle_files, conversation, now)

    async def sweep(self) -> bool:
        if self._log is not None and self._log.behind is not None:
            await self._record((), self._log.behind)
        files = self.database.files
        if files is None or not await self.database.read(is_sweep_due):
            return True
        wiped = await self._wipe(files)
        if wiped:
            await self.database.write(clear_sweep_due)
        return wiped

    async def _record(self, hashes: Collection[str], now: datetime) -> bool:
        """Append hashes to the forgetting log, if there is one; False if that fails."""
        return self._log is None or await self._log.record(self.database, hashes, now)

    async def _wiped(
        self, receipt: Receipt, originals: list[str], derived: list[str], stretches: frozenset[bytes] = frozenset()
    ) -> Receipt:
        """Wipe the bytes and search the files for them; returns the receipt with the result. `originals`: the erased
        messages, facts and documents; `derived`: the erased summaries and profile entries; `stretches`: of the erased
        files of code.
        """
        files = self.database.files
        if files is None:
            return replace(receipt, kept_by_server=True)
        wiped, own_pieces = await self._wipe(files), pieces(originals)
        text_pieces = own_pieces | pieces(derived)
        found = await files.find(text_pieces | stretches)
        left = await self.database.read_long(traces, found & text_pieces, own_pieces)
        left |= await self.database.read_long(file_traces, found - text_pieces)
        bytes_gone = wiped and not left
        if bytes_gone:
            await self.database.write(clear_sweep_due)
        return replace(receipt, bytes_gone=bytes_gone)

    async def _wipe(self, files: DatabaseFiles) -> bool:
        await self.database.write(index.optimize)
        await self.database.write(passages.optimize)
        return await files.checkpoint()


def _drop_idle_files(connection: Connection, conversation: str, now: datetime) -> datetime | None:
    mark_sweep_due(connection)
    return saved_files.drop_idle(connection, conversation, now)


def _erase_entries(
    connection: Connection, plan: plans.EntriesPlan, ids: erased_ids.ErasedIds, now: datetime
) -> tuple[entries.EntryErasure, dict[str, int], frozenset[str]]:
    erasure = entries.entries_to_erase(connection, plan)
    memory = erase.memory_of(connection, [int(id_) for id_ in erasure.facts], erasure.entries)
    hashes = erase.keep_memory(connection, memory, ids, now)
    return erasure, entries.erase_entry_plan(connection, erasure), hashes
