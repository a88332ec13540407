"""The ledger: the turns, the workers that run them, and what they leave behind.

Rules
  A message is accepted once, identified by its event and by its place in the platform; after it was forgotten, never
  again.
  Within a conversation turns run one at a time, in the order of their ids. While turns wait, that is the order in which
  their questions were asked (`store.turns.late_questions`). Across conversations `store.turns.turn_queue` decides. Each
  claim raises the epoch; every later write names it. A worker whose lease ran out and was taken over, or whose turn was
  forgotten, gets LeaseLost and has changed nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa
from cachetools import LRUCache

from agent import texts
from agent.admission_terms import Authority, Terms, TermsNotMet
from agent.budget_days import BudgetPause
from agent.errors import LeaseLost, StoreError
from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory.audience import NOWHERE, TeamAudience, drawn_from, label, may_flow_from
from agent.messages import ModelCall
from agent.repeats import is_repeat, repeats_with
from agent.schedules.long_work import WORK, asked_in
from agent.state import SituationSummary, SummaryWords, Workspace
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.turn_records import Accepted, Claim, Claiming, Closing
from store import (
    budget_days,
    model_calls,
    outbox,
    row_mapping,
    saved_files,
    sharing,
    summaries,
    tool_calls,
    working_sets,
)
from store.budget_tables import budget_pause
from store.channels import in_channel
from store.databases.database import (
    BESIDE_OTHERS,
    Database,
    SqlStore,
    in_order,
    is_postgresql,
    reads,
    reads_few,
    reads_one,
    row_id,
    writes,
)
from store.erased_ids import ErasedIds
from store.json_columns import NamedInProgress, progress_calls, read_pages
from store.json_lists import ids_in_parameter
from store.memory import fact_store, learning_marks, participants, profiles
from store.memory_tables import fact
from store.message_tables import conversation, message, participant, person
from store.replies import page
from store.search import index, passages
from store.search.passages import document
from store.search.text import IndexedText
from store.tool_calls import tool_call
from store.turn_tables import DONE, RUNNING, WAITING, action_record, turn, workspace
from store.turns import amendments, approvals, consents, joining, late_questions, takeover, turn_queue
from store.turns import answers as answering
from store.turns.admission import locks, read_known
from store.turns.approval_table import approval
from store.turns.consents import consent
from store.turns.drawn_from import HAS_NARROW, sources_by_ids, sources_by_words
from store.turns.narrowing import restrict_place
from store.turns.open_questions import open_question
from store.turns.turn_queue import claim_turn
from store.turns.write_memory import RecentMessage, WriteMemory

# The workspace of a running task, in a row of its own (seed 001).
#
# Rule: the row holds what the model wrote last, checked against the schema when it was parsed, so that an operator can
# see what a running task is about. A turn resumes from its progress, which holds the same.


def keep_workspace(connection: sa.Connection, claim: Claim, newest: Workspace) -> None:
    values = asdict(newest)
    if not connection.execute(sa.update(workspace).where(workspace.c.task_id == claim.turn).values(values)).rowcount:
        new = sa.insert(workspace).values(task_id=claim.turn, person=claim.incoming.person.id, **values)
        connection.execute(new)


def drop_workspace(connection: sa.Connection, turn: int) -> None:
    """Delete the workspace of a task that has ended or restarts."""
    connection.execute(_DROP_WORKSPACE, {"task": turn})


FORGOTTEN: Final = 0  # The turn id returned for a message that was forgotten: it has no turn

# Statements are built once: building one takes longer than running it. Values are passed at execution.
_NEW_TURN: Final = sa.insert(turn).values(round=turn_queue.NEXT_ROUND)
_NEW_MESSAGE: Final = sa.insert(message)
_NEW_PAGE: Final = sa.insert(page)
_NEW_ACTIONS: Final = sa.insert(action_record)
_DROP_WORKSPACE: Final = sa.delete(workspace).where(workspace.c.task_id == sa.bindparam("task"))
# By its event and its owner, too: a failover that lost the turn may have given its number to another one, and one that
# lost the claim may have given its epoch to another worker.
_HELD: Final = sa.update(turn).where(
    turn.c.id == sa.bindparam("held"),
    turn.c.epoch == sa.bindparam("held_epoch"),
    turn.c.owner == sa.bindparam("held_owner"),
    turn.c.event_id == sa.bindparam("held_event"),
    turn.c.state == RUNNING,
)
_HELD_BESIDE_OTHERS: Final = _HELD.where(BESIDE_OTHERS)
# Exactly so many of its model calls are stored. Each is stored with the progress that follows from it, so that number
# is known beforehand.
_IS_CHARGED: Final = turn.c.charged == sa.bindparam("stored_calls")
_CHARGING: Final = _HELD.where(_IS_CHARGED).returning(model_calls.FORGETS)
_other: Final = turn.alias("other")
_ANY_WAITING: Final = sa.select(_other.c.id).where(_other.c.state == WAITING, _other.c.run_at.is_(None)).limit(1)
_ASIDE: Final = (
    sa.select(turn.c.id)
    .where(
        sa.text("turn.state = 'waiting'"),  # a literal: a partial index finds them
        turn.c.run_at.is_not(None),
        turn.c.progress != "",
        ~turn.c.stopping,
        sa.or_(
            turn.c.conversation == sa.bindparam("there"),
            sa.func.substr(turn.c.conversation, 1, sa.bindparam("length", type_=sa.Integer))
            == sa.bindparam("of_work", type_=sa.Text),
        ),
    )
    .limit(1)
)
# Ends the turn, and returns what needs to be known then, at once: whether others wait, and whether events are sent.
_ENDING: Final = _HELD.returning(sa.exists(_ANY_WAITING), outbox.HAS_ROWS)
_ENDING_CHARGED: Final = _ENDING.where(_IS_CHARGED)
_SHARED_PLACE: Final = sa.select(message.c.place).where(
    message.c.id == sa.bindparam("question"), sharing.shares(sa.bindparam("shared"), message.c.person)
)
# The numbers of all who may find the reply, its asker first, each with the place that its question is shared with, and
# whether there are replies in its conversation that it may repeat, which not all may read.
_READERS_AND_PLACE: Final = (
    sa.select(person.c.number, _SHARED_PLACE.scalar_subquery().label("place"), HAS_NARROW.label("has_narrow"))
    .join_from(participant, person, person.c.id == participant.c.person)
    .where(participant.c.conversation == sa.bindparam("here"))
    .order_by(person.c.id != sa.bindparam("asker"), person.c.number)
)
_EXISTING: Final = {
    table: sa.select(sa.func.count()).select_from(table).where(table.c.id.in_(ids_in_parameter("ids")))
    for table in (message, fact, document)
}
_DISCOUNT: Final = _HELD.values(attempts=sa.case((turn.c.attempts > 0, turn.c.attempts - 1), else_=0))


def accept(
    connection: sa.Connection,
    incoming: Incoming,
    indexed: IndexedText,
    erased_ids: ErasedIds,
    state: str = WAITING,
    terms: Terms | None = None,
    claiming: Claiming | None = None,
    narrowing: bool = False,  # noqa: FBT001,FBT002 -- given by position, with all the others
    answers: int | None = None,
    was_answered: bool = False,  # noqa: FBT001,FBT002 -- as above
) -> Accepted:
    """Store an incoming message as a turn in `state`, unless it is known or was forgotten.

    `terms`: limits to check first; raises TermsNotMet. `claiming`: claim a turn in the same transaction. `narrowing`:
    the channel may hold messages from a time when more people could read it; they are restricted first. `answers`: the
    turn whose question it answers; if it is not given, that is found out. `was_answered`: if it is not known, the
    database has lost it and its answer, and it is not answered again.
    """
    in_order(connection, incoming.conversation)
    known, obstacle = read_known(connection, incoming, erased_ids.of_message(incoming), terms)
    # A message that was forgotten must not come back when the platform sends its event again.
    if known.turn is not None or known.forgotten:
        return Accepted(FORGOTTEN if known.turn is None else known.turn, duplicate=True)
    if was_answered:
        return Accepted(FORGOTTEN, duplicate=True)
    if obstacle is not None:
        raise TermsNotMet(obstacle)
    audience = _audience(incoming)
    # The channel was closed: its earlier messages leave the wider audience before anything more happens there.
    if narrowing:
        restrict_place(connection, incoming.source, incoming.channel, incoming.place, incoming.time)
    readers = participants.upsert_participant(connection, incoming, audience, known)
    values = row_mapping.new_turn(incoming, state, None if terms is None else terms.now) | turn_queue.round_parameters(
        incoming
    )
    may_answer = answers is None and state == WAITING and known.has_aside
    asking = answering.question_answered_by(connection, incoming) if may_answer else answers
    turn_id = row_id(connection.execute(_NEW_TURN, values | {"answers": asking}))
    question = _message(incoming, indexed, audience) | {
        "turn": turn_id,
        "author": Author.PERSON,
        "retold": not incoming.own,
        "time": incoming.time,
        "message_id": incoming.message_id,
        "permalink": incoming.permalink,
    }
    if asking is not None and not incoming.own:
        question |= {"passed_over": True}
    if is_repeat(incoming.message_id) and _taken_back(connection, incoming):
        question |= {"taken_back": True, "passed_over": True}
    place = _shared_in(connection, incoming, audience) if known.shares else None
    question_id = row_id(connection.execute(_NEW_MESSAGE, question | {"place": place}))
    index.add(connection, question_id, incoming.conversation, indexed, readers, place)
    # Events arrive out of order: a question that was asked earlier is answered before the ones behind it.
    if state == WAITING and known.latest is not None and incoming.time < known.latest:
        turn_id = late_questions.reorder_late_question(connection, incoming.conversation, turn_id, incoming.time)
    if asking is not None:
        consents.resume_if_decided(connection, asking)
    claim = None if claiming is None else claim_turn(connection, claiming)
    if claiming is not None and claiming.waits:
        takeover.hold_place(connection, incoming.source, claiming.now + claiming.lease)
    return Accepted(turn_id, duplicate=False, claim=claim)


def _shared_in(connection: sa.Connection, incoming: Incoming, audience: str) -> int | None:
    """The place with whose team a full member's message is shared, in a channel where sharing is on."""
    to_team = isinstance(incoming.place.audience, TeamAudience) and incoming.authority >= Authority.EMPLOYEE
    return passages.place_number(connection, audience) if to_team else None


def _taken_back(connection: sa.Connection, incoming: Incoming) -> bool:
    """Whether the person deleted the memories of the message that this one repeats."""
    there = in_channel(turn, incoming.source, incoming.channel)
    same = sa.and_(there, turn.c.message_id.in_(repeats_with(incoming.message_id)))
    marked = sa.and_(message.c.person == incoming.person.id, message.c.taken_back)
    found = sa.select(message.c.id).join(turn, message.c.turn == turn.c.id).where(same, marked).limit(1)
    return connection.execute(found).first() is not None


def renew(connection: sa.Connection, claim: Claim, now: datetime, lease: timedelta) -> None:
    _write(connection, claim, {"lease_until": now + lease})


def save(
    connection: sa.Connection,
    claim: Claim,
    *,
    progress: str | None,
    reply_ref: str | None,
    calls: Sequence[ModelCall] = (),
) -> bool:
    """Write progress and the reply's reference. Returns False if the progress names a message that was forgotten: then
    the turn waits again, from its start.

    A message that had just joined and was then deleted unanswered is not counted: no work is based on it.
    """
    named = NamedInProgress.read(progress or "")
    if not _all_exist(connection, message, joining.quoted_messages(connection, named)):
        model_calls.settle_claim(connection, claim, progress_calls(progress or ""), claim.incoming.time)
        _write(connection, claim, row_mapping.restarted(claim.epoch + 1) | {"charged": 0})
        drop_workspace(connection, claim.turn)
        connection.execute(sa.delete(consent).where(consent.c.turn == claim.turn))
        budget_days.drop_pauses(connection, budget_pause.c.turn == claim.turn)
        approvals.withdraw(connection, approval.c.turn == claim.turn, claim.incoming.time)
        tool_calls.drop_arguments(connection, tool_call.c.turn == claim.turn)
        fact_store.discard_reworded(connection, claim.message)
        working_sets.discard_kept_by(connection, claim.message)
        saved_files.discard_saved_by(connection, claim.message)
        return False
    values: dict[str, object] = {} if progress is None else {"progress": progress, "attempts": 0}
    values |= {} if reply_ref is None else {"reply_ref": reply_ref}
    if not (calls and _charged_newest(connection, claim, values, calls)):
        charged = model_calls.charge_claim(connection, claim, calls, claim.incoming.time) if calls else None
        values |= {} if charged is None else {"charged": charged}
        # Even with nothing to save, check that the claim still holds.
        _write(connection, claim, values or {"epoch": claim.epoch})
    if named.workspace is not None:
        keep_workspace(connection, claim, named.workspace)
    return True


def save_pages(connection: sa.Connection, claim: Claim, reply_ref: str) -> None:
    """`save` for the reply's reference alone."""
    _write(connection, claim, {"reply_ref": reply_ref}, _HELD_BESIDE_OTHERS if is_postgresql(connection) else _HELD)


def _charged_newest(
    connection: sa.Connection, claim: Claim, values: Mapping[str, object], calls: Sequence[ModelCall]
) -> bool:
    """Write these values and store the newest of the turn's model calls, which `calls` ends with, if all others are
    stored. False, with nothing changed, if they are not, or if the claim is lost.
    """
    known, now = len(calls) - 1, claim.incoming.time
    changed = {**values, "charged": len(calls), "stored_calls": known, "today": now.date()}
    forgets = connection.execute(_CHARGING, {**changed, **_which(claim)}).scalar_one_or_none()
    if forgets is not None:
        model_calls.record_claimed(connection, claim, calls, now, known=known, forgets=forgets)
    return forgets is not None


def set_text_of_claimed(
    connection: sa.Connection, claim: Claim, indexed: IndexedText, before: str | None = None
) -> None:
    _write(connection, claim, {"epoch": claim.epoch})
    amendments.set_text(connection, claim, indexed, before)


def finish(
    connection: sa.Connection, claim: Claim, closing: Closing, reply: IndexedText, now: datetime
) -> tuple[bool, list[RecentMessage]]:
    """End the turn; return whether others wait, and the messages that its reply answers as well."""
    # A message that arrives now either sees that the turn has ended, or is seen by the query below.
    in_order(connection, claim.incoming.conversation)
    waits, has_receivers = _set_ended(connection, claim, closing, now)
    asked, joined = _end(connection, claim, closing, reply, now)
    if has_receivers:
        outbox.turn_finished(connection, claim.turn, asked, closing, now)
    return waits, joined


def _set_ended(connection: sa.Connection, claim: Claim, closing: Closing, now: datetime) -> tuple[bool, bool]:
    """End the turn; return whether others wait, and whether events are sent. Raises LeaseLost."""
    values = {**row_mapping.ending(closing, now), "charged": 0, **_which(claim)}
    found = None
    if stored := len(closing.calls):  # nearly always all of them
        found = connection.execute(_ENDING_CHARGED, {**values, "stored_calls": stored}).one_or_none()
    if found is None:
        model_calls.settle_claim(connection, claim, closing.calls, now)
        found = connection.execute(_ENDING, values).one_or_none()
    if found is None:
        raise _lost(claim)
    return bool(found[0]), bool(found[1])


def _end(
    connection: sa.Connection, claim: Claim, closing: Closing, reply: IndexedText, now: datetime
) -> tuple[Incoming, list[RecentMessage]]:
    """Store what the ended turn leaves behind; return its message, in the conversation where the turn now is, and those
    that ended with it.
    """
    joined = list[RecentMessage]()
    if claim.epoch > 1:  # a killed process may have left questions, and a turn that waited has a pause
        budget_days.drop_pauses(connection, budget_pause.c.turn == claim.turn)
        connection.execute(sa.delete(open_question).where(open_question.c.turn == claim.turn))
    asked = _return_to_conversation(connection, claim)
    if closing.has_workspace:
        drop_workspace(connection, claim.turn)
    if closing.pages:
        pages = [{"turn": claim.turn, "source": asked.source, "page": each} for each in closing.pages]
        connection.execute(_NEW_PAGE, pages)
    audience = label(asked.place.audience)
    readers = connection.execute(_READERS_AND_PLACE, _of_reply(claim, asked)).all() if closing.reply else ()
    may_repeat = not readers or readers[0].has_narrow
    by_words = sources_by_words(connection, asked.conversation, closing.reply) if may_repeat else set[str]()
    by_ids = sources_by_ids(connection, asked, closing.given_messages)
    drawn = drawn_from({closing.drawn_from, *by_words, *by_ids}, asked.place)
    if closing.reply:
        reply = replace(reply, length=0, words=()) if drawn == NOWHERE else reply
        shared = readers[0].place if readers else None
        place = shared if shared is None or _may_be_shared(connection, claim, closing) else None
        values = _message(asked, reply, audience) | {
            "drawn_from": drawn,
            "retold": closing.relayed,
            "turn": claim.turn,
            "author": Author.BOT,
            "time": now,
            "message_id": closing.pages[0] if closing.pages else None,
            "place": place,
        }
        answer = row_id(connection.execute(_NEW_MESSAGE, values))
        index.add(connection, answer, asked.conversation, reply, [reader.number for reader in readers], place)
        joined = joining.end_joined(connection, claim.turn, closing, now)
        answering.release_chosen(connection, closing.joined, closing)
    if closing.outcome is Outcome.STOPPED:
        answering.stop_answers(connection, claim.turn, asked.conversation, now)
    if closing.excluded_from_learning:
        learning_marks.exempt_from_learning(connection, claim)
    elif closing.learn_at is not None:
        learning_marks.queue_for_learning(connection, claim, closing.learn_at, now)
    if not _context_exists(connection, closing):
        tool_calls.drop_arguments(connection, tool_call.c.turn == claim.turn)
        return asked, joined  # its sources were forgotten: the records and the summary would restore their words
    if closing.context_facts:
        fact_store.mark_used(connection, closing.context_facts, now)
    if closing.used_entries:
        profiles.mark_used(connection, closing.used_entries, now)
    # What neither thought nor called anything shows nobody anything later.
    actions = [record for record in closing.actions if record.thinking or record.calls or record.results]
    if actions:
        connection.execute(_NEW_ACTIONS, [row_mapping.action(claim.turn, record, drawn) for record in actions])
    if closing.summary is not None and _may_store_summary(connection, asked, closing.summary, drawn):
        words = SummaryWords() if closing.relayed else SummaryWords(asked.person.id, closing.words)
        _merge_summary(connection, asked.conversation, audience, closing.summary, words)
    if closing.summarise_until is not None:
        summaries.schedule_summary(connection, asked, closing.summarise_until, now)
    return asked, joined


def _return_to_conversation(connection: sa.Connection, claim: Claim) -> Incoming:
    """Move long work's turn back into the conversation that asked for it; returns the message as of there."""
    asked, beside = claim.incoming, claim.incoming.conversation
    origin = asked_in(beside)
    if origin == beside or asked.kind is not TurnKind.WORK:
        return asked
    in_order(connection, origin)
    takes_part = participant.c.conversation == origin, participant.c.person == asked.person.id
    if connection.execute(sa.select(participant.c.person).where(*takes_part)).first() is None:
        return asked  # the conversation was forgotten meanwhile
    for table, column in ((turn, turn.c.id), (message, message.c.turn)):
        connection.execute(sa.update(table).where(column == claim.turn).values(conversation=origin))
    connection.execute(sa.delete(participant).where(participant.c.conversation == beside))
    connection.execute(sa.delete(conversation).where(conversation.c.id == beside))
    return replace(asked, conversation=origin)


def _of_reply(claim: Claim, asked: Incoming) -> Mapping[str, object]:
    """The parameters of `_READERS_AND_PLACE`."""
    return {
        "question": claim.message,
        "shared": f"channel:{claim.incoming.channel}",
        "here": asked.conversation,
        "asker": asked.person.id,
    }


def _may_be_shared(connection: sa.Connection, claim: Claim, closing: Closing) -> bool:
    """Whether a reply to a shared question is shared as well: so must be all that it was given, which it may repeat."""
    channel_id = claim.incoming.channel
    if closing.relayed or not isinstance(claim.incoming.place.audience, TeamAudience):
        return False
    if not (closing.context_messages or closing.context_facts):
        return True
    noted = sa.select(fact.c.id).where(fact.c.id.in_(map(int, closing.context_facts)), fact.c.person != "").limit(1)
    if connection.execute(noted).first() is not None:  # the bot worded such facts from all that it knew then
        return False
    in_context = message.c.id.in_(closing.context_messages)
    is_shared = sa.and_(message.c.place.is_not(None), message.c.channel == channel_id)
    unshared = sa.select(message.c.id).where(in_context, ~is_shared, message.c.id != claim.message).limit(1)
    return connection.execute(unshared).first() is None


def _may_store_summary(connection: sa.Connection, asked: Incoming, summary: SituationSummary, drawn: str) -> bool:
    """Whether a summary may be stored: it must hold no words that are drawn from NOWHERE."""
    words = " ".join(filter(None, asdict(summary).values()))
    return NOWHERE not in {drawn, *sources_by_words(connection, asked.conversation, words)}


def _merge_summary(
    connection: sa.Connection, conversation_id: str, audience: str, update_: SituationSummary, words: SummaryWords
) -> None:
    """Replace the fields that the update sets; changes made to the other fields meanwhile remain."""
    same_readers = sa.and_(conversation.c.id == conversation_id, conversation.c.audience == audience)
    stored = connection.execute(sa.select(conversation.c.summary).where(same_readers)).scalar_one_or_none()
    if stored is not None:
        known, covered = row_mapping.summary(stored)
        words = summaries.words_of_updated(stored, words)
        text = row_mapping.summary_text(known.merged(asdict(update_)), covered, words)
        connection.execute(sa.update(conversation).where(same_readers).values(summary=text))


def discount(connection: sa.Connection, claim: Claim) -> None:
    _write(connection, claim, {"epoch": claim.epoch}, _DISCOUNT)


def release(connection: sa.Connection, claim: Claim) -> None:
    _write(connection, claim, {"state": WAITING, "owner": None, "lease_until": None}, _DISCOUNT)


def put_aside(connection: sa.Connection, claim: Claim, until: datetime, pause: BudgetPause | None = None) -> None:
    """Let the turn wait until a time; meanwhile it does not block other turns of its conversation. `pause`: if it waits
    for a budget.
    """
    budget_days.pause(connection, claim.turn, pause)  # it locks the budget first
    _write(connection, claim, {"state": WAITING, "owner": None, "lease_until": None, "run_at": until}, _DISCOUNT)
    # The asker may have decided already, or the turn was stopped.
    if consents.resume_if_decided(connection, claim.turn):
        return
    if tools := consents.awaited_tools(connection, claim.turn):
        outbox.consent_asked(connection, claim.turn, claim.incoming, tools, until)


def waits_for_people(connection: sa.Connection, conversation: str) -> bool:
    there = asked_in(conversation)
    of_work = f"{there}{WORK}:"
    values = {"there": there, "of_work": of_work, "length": len(of_work)}
    return connection.execute(_ASIDE, values).first() is not None


MAX_KNOWN: Final = 10_000  # Channels whose label is cached; for others the next message costs one query


@dataclass(slots=True)
class ChannelLabels:
    """The label under which this process last saw each channel."""

    _labels: LRUCache[tuple[str, str], str] = field(default_factory=lambda: LRUCache(MAX_KNOWN))

    def may_have_changed(self, incoming: Incoming) -> bool:
        """Whether the channel is closed, and was not when its last message was accepted here."""
        place = incoming.place
        return place.is_closed and self._labels.get((incoming.source, incoming.channel)) != label(place.audience)

    def keep(self, incoming: Incoming) -> None:
        place = incoming.place
        if place.is_closed or isinstance(place.audience, TeamAudience):
            self._labels[(incoming.source, incoming.channel)] = label(place.audience)


class SqlLedger(SqlStore):
    restrict_place = writes(restrict_place)
    renew = writes(renew)
    discount = writes(discount)
    release = writes(release)
    put_aside = writes(put_aside)
    waits_for_people = reads_few(waits_for_people)
    stop = writes(amendments.stop)
    take_back = writes(amendments.take_back)
    stopping = reads_few(amendments.stopping)
    withdrawn = reads_few(amendments.withdrawn)
    waiting = reads(joining.waiting_to_join)
    withdraw = writes(amendments.withdraw)
    ended = reads(takeover.ended_turns)
    hold_place = writes(takeover.hold_place)
    load = reads_one(turn_queue.current_load)

    def __init__(self, database: Database, erased_ids: ErasedIds, memory: WriteMemory | None = None) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids
        self._memory = memory
        self._labels = ChannelLabels()

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None, *, state: str = WAITING
    ) -> Accepted:
        """Store the message and its turn once. For one that was forgotten: `Accepted(0, duplicate=True)`.

        Raises StoreError for a place without a name.
        """
        narrowing = self._labels.may_have_changed(incoming)
        indexed = await index.indexed(self.database, incoming.text)
        answered = self._memory is not None and self._memory.has_answered(incoming)
        claiming = None if claiming is None else self._settled(claiming)
        arguments = incoming, indexed, self._erased_ids, state, terms, claiming, narrowing, None, answered
        names = [incoming.conversation, *locks(incoming, terms)]
        accepted = await self.database.write_in_order(names, accept, *arguments)
        self._note_claim(accepted.claim, claiming)
        if not accepted.duplicate:
            self._labels.keep(incoming)
            if self._memory is not None:
                self._memory.note_message(accepted.turn, incoming, answered=False)
        return accepted

    async def claim(self, claiming: Claiming) -> Claim | None:
        claim = await self.database.write(claim_turn, self._settled(claiming))
        self._note_claim(claim, claiming)
        return claim

    def _settled(self, claiming: Claiming) -> Claiming:
        asks = self._memory is not None and self._memory.asks_for_settled
        return replace(claiming, settled=True) if asks else claiming

    def _note_claim(self, claim: Claim | None, claiming: Claiming | None) -> None:
        if self._memory is not None and claim is not None and claiming is not None:
            self._memory.note_claim(claim, claiming.now)

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        """Store the message without a turn to run. For one that was forgotten: `Accepted(0, duplicate=True)`."""
        return await self.accept(incoming, state=DONE)

    async def save(
        self,
        claim: Claim,
        *,
        progress: str | None = None,
        reply_ref: str | None = None,
        calls: Sequence[ModelCall] = (),
    ) -> None:
        """Store progress or pages. Progress that quotes a message forgotten meanwhile is not: the turn restarts."""
        if self._memory is not None and reply_ref is not None:
            self._memory.note_pages(claim, read_pages(reply_ref))
        if progress is None and not calls and reply_ref is not None:
            await self.database.write_one(save_pages, claim, reply_ref)
            return
        if not await self.database.write(save, claim, progress=progress, reply_ref=reply_ref, calls=calls):
            raise LeaseLost(f"Turn {claim.turn} starts again because something that it quotes was forgotten.")

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        reply = await index.indexed(self.database, closing.reply)
        if self._memory is not None:
            self._memory.note_shown(claim, closing)
        names = [claim.incoming.conversation]
        others_wait, joined = await self.database.write_in_order(names, finish, claim, closing, reply, now)
        if self._memory is not None:
            self._memory.note_ended(claim, joined)
        return others_wait

    async def set_text(self, claim: Claim, text: str, *, before: str | None = None) -> None:
        await self.database.write(set_text_of_claimed, claim, await index.indexed(self.database, text), before)

    async def amend(self, source: str, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        indexed = await index.indexed(self.database, text)
        return await self.database.write(amendments.amend, source, channel, message_id, indexed, job)

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        alone = not self.database.is_shared
        return await self.database.write(takeover.take_over_turns, person, family, source, now, lease, alone=alone)

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        return await self.database.read(takeover.pages_of_ended, turn)

    async def release_all(self) -> int:
        """Release all leases, unless other processes share the database: then those of dead ones run out."""
        return 0 if self.database.is_shared else await self.database.write(release_all)


def release_all(connection: sa.Connection) -> int:
    freed = sa.update(turn).where(turn.c.state == RUNNING).values(state=WAITING, owner=None, lease_until=None)
    return connection.execute(freed).rowcount


def _audience(incoming: Incoming) -> str:
    """The label of the place. Raises StoreError if one of the labels that its turn needs cannot be made."""
    try:
        may_flow_from(incoming.place)
        return label(incoming.place.audience)
    except ValueError as error:
        raise StoreError(texts.PLACE_UNKNOWN) from error


def _write(connection: sa.Connection, claim: Claim, values: Mapping[str, object], writing: sa.Update = _HELD) -> None:
    if connection.execute(writing, {**values, **_which(claim)}).rowcount != 1:
        raise _lost(claim)


def _which(claim: Claim) -> dict[str, object]:
    """The parameters of `_HELD`."""
    return {
        "held": claim.turn,
        "held_epoch": claim.epoch,
        "held_owner": claim.owner,
        "held_event": claim.incoming.event_id,
    }


def _lost(claim: Claim) -> LeaseLost:
    return LeaseLost(f"Turn {claim.turn} is no longer held by {claim.owner}.")


def _message(asked: Incoming, indexed: IndexedText, audience: str) -> dict[str, object]:
    """The columns that a question and its reply have in common."""
    return {
        "conversation": asked.conversation,
        "person": asked.person.id,
        "channel": asked.channel,
        "audience": audience,
        "text": indexed.text,
        "length": indexed.length,
    }


def _context_exists(connection: sa.Connection, closing: Closing) -> bool:
    """Whether all messages and facts of the turn's context, and all documents that its tools quoted, still exist."""
    contexts = (
        (message, closing.context_messages),
        (fact, map(int, closing.context_facts)),
        (document, closing.given_documents),
    )
    return all(_all_exist(connection, table, frozenset(ids)) for table, ids in contexts)


def _all_exist(connection: sa.Connection, table: sa.Table, ids: frozenset[int]) -> bool:
    if not ids:
        return True
    return connection.execute(_EXISTING[table], {"ids": sorted(ids)}).scalar_one() == len(ids)
