"""Edits and deletions of questions, stopping of open turns, and restricting a channel that fewer people can read.

Rules
  A running turn answers its question as it was. So a question is edited only if no worker runs its turn, the turn has
  no progress, and the question has not joined a running turn.
  The transcript of a spoken question is stored as soon as it exists, and is treated as written text.
  A turn that waits for its asker's consent restarts when its question is edited. If one of its calls has run already,
  it continues with the new text and without the calls that waited (`store.forgetting.sql_forgetting.update_text`).
  The turn of a question that is deleted while it waits ends at once. If the answer has begun, the question's text is
  erased, and the worker that runs or claims the turn deletes what it has shown; schedules that the turn made are
  deleted, and it makes no more.

A channel that fewer people can read than before: its content for the whole team becomes its own, permanently
  Moved are the channel's messages, the facts and profile entries known only from them, and its conversations, whose
  summaries are cleared. Index entries and embeddings of messages stay: they name no audience. Schedules and documents
  move as well; documents are not found until a job has moved their index entries. No audience ever becomes wider.
  Shared messages are no longer shared, because their rows no longer belong to the team; the channel's choice to share
  is deleted and has to be made again.
  Entries drawn from two closed channels belong to neither, and are deleted.
  A running turn there restarts: it was meant for more readers, or uses more than may be used now.
  A learner that has read what moved finds another revision, or no message to learn from, and starts again.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    or_,
    select,
    true,
    union,
    update,
)

from agent.events import Outcome
from agent.memory.audience import AudienceKind, Place, label
from agent.memory.documents import SHARING
from agent.memory.forgetting_plans import EDIT, post_key
from agent.memory.profile import LEARNING, Partition
from agent.progress import decode
from agent.records import Author, Claim, Closing, Job, Waiting
from agent.schedules import ScheduleKind, ScheduleState
from agent.turn_kinds import TurnKind
from store import calls, job_queue, preferences, rows
from store.calls import tool_call
from store.job_queue import job
from store.memory.fact_store import fact_ground
from store.memory.profiles import remove_entries
from store.memory_tables import fact, profile, profile_entry, profile_source
from store.message_tables import conversation, message
from store.schedule_table import schedule
from store.search import index, passages
from store.search.passages import document
from store.search.text import IndexedText
from store.turn_tables import DONE, RUNNING, WAITING, consent, open_question, turn, workspace
from store.working_sets import working_item

STOPPED: Final[dict[str, Any]] = {"stopping": True, "run_at": None}  # The columns of a stopped turn
_OF_WORK: Final = schedule.c.made.contains(f'"kind":"{ScheduleKind.WORK}"')


def stop(connection: Connection, conversation: str, *, alone: bool = False) -> list[int]:
    """Mark the waiting and running turns of a conversation as stopping; returns their ids, the oldest first.

    Unless `alone`, long work that was asked for there is stopped as well; of work that has not begun, the id of the
    turn that asked for it is returned.
    """
    condition = turn.c.conversation == conversation if alone else _turns_of(connection, conversation)
    open_ = select(turn.c.id).where(condition, turn.c.state.in_((WAITING, RUNNING))).order_by(turn.c.id)
    found = list(connection.execute(open_).scalars())
    connection.execute(update(turn).where(turn.c.id.in_(found)).values(**STOPPED))
    return found if alone else sorted({*found, *_delete_waiting_work(connection, conversation)})


def _turns_of(connection: Connection, conversation: str) -> ColumnElement[bool]:
    """The condition for turns of a conversation, and for long work that was asked for there, wherever it is shown."""
    asked = select(schedule.c.id).where(schedule.c.conversation == conversation, _OF_WORK)
    return or_(turn.c.conversation == conversation, begun_by(connection.execute(asked).scalars().all()))


def _delete_waiting_work(connection: Connection, conversation: str) -> list[int]:
    """Delete work that has not begun; returns the turns that asked for it."""
    asked = and_(turn.c.channel == schedule.c.channel, turn.c.message_id == schedule.c.message)
    condition = and_(schedule.c.conversation == conversation, schedule.c.state == ScheduleState.ACTIVE)
    found = connection.execute(
        select(schedule.c.id, turn.c.id.label("asked")).join_from(schedule, turn, asked).where(condition, _OF_WORK)
    ).all()
    connection.execute(delete(schedule).where(schedule.c.id.in_([row.id for row in found])))
    return [row.asked for row in found]


def stopping(connection: Connection, owner: str) -> frozenset[int]:
    """The turns that this worker runs and that are to stop."""
    own = select(turn.c.id).where(turn.c.state == RUNNING, turn.c.owner == owner, turn.c.stopping)
    return frozenset(connection.execute(own).scalars())


def withdrawn(connection: Connection, owner: str) -> frozenset[int]:
    """Those of `stopping` whose question was deleted."""
    own = select(turn.c.id, turn.c.payload).where(turn.c.state == RUNNING, turn.c.owner == owner, turn.c.stopping)
    return frozenset(row.id for row in connection.execute(own) if rows.is_withdrawn(row.payload))


def amend(connection: Connection, channel: str, message_id: str, indexed: IndexedText, job: Job | None = None) -> bool:
    """Replace the text of a question that waits; False if it does not wait. `job`: of this edit, if it has one."""
    question = _find_waiting(connection, channel, message_id) or _restart_put_aside(connection, channel, message_id)
    if question is None:
        _stop_if_asking(connection, channel, message_id)
        return False
    if not job_queue.is_newest(connection, EDIT, post_key(channel, message_id), job):
        return False
    _, question_id, conversation = question
    index.change_text(connection, question_id, conversation, indexed)
    return True


def _stop_if_asking(connection: Connection, channel: str, message_id: str) -> None:
    """Stop a turn whose tool call waits for an answer of the asker: the edit replaces the request."""
    edited = and_(turn.c.channel == channel, turn.c.message_id == message_id, turn.c.state == RUNNING)
    asks = exists().where(open_question.c.turn == turn.c.id, open_question.c.epoch == turn.c.epoch)
    connection.execute(update(turn).where(edited, asks).values(stopping=True))


def _restart_put_aside(connection: Connection, channel: str, message_id: str) -> tuple[int, int, str] | None:
    """Restart a turn that waits for its asker, and return the same as `_find_waiting`; None if a call of it has run."""
    edited = and_(turn.c.channel == channel, turn.c.message_id == message_id)
    aside = and_(turn.c.state == WAITING, turn.c.progress != "", turn.c.run_at.is_not(None))
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(
            turn.c.id, turn.c.conversation, turn.c.epoch, turn.c.progress, message.c.id.label("asked"), message.c.time
        )
        .select_from(turn.join(message, asked))
        .where(edited, aside)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None:
        return None
    if any(result is not None for step in decode(found.progress).steps for result in step.results):
        return None
    calls.settle(connection, turn.c.id == found.id, found.time)
    connection.execute(update(turn).where(turn.c.id == found.id).values(**rows.restarted(found.epoch + 1)))
    calls.drop_arguments(connection, tool_call.c.turn == found.id)
    for column in (workspace.c.task_id, consent.c.turn):
        connection.execute(delete(column.table).where(column == found.id))
    return found.id, found.asked, found.conversation


def set_text(connection: Connection, claim: Claim, indexed: IndexedText) -> None:
    """Set the transcript as the text of a running question, unless it was deleted meanwhile."""
    payload = connection.execute(select(turn.c.payload).where(turn.c.id == claim.turn).with_for_update()).scalar_one()
    if not rows.is_withdrawn(payload):
        index.change_text(connection, claim.message, claim.incoming.conversation, indexed)


def withdraw(connection: Connection, channel: str, message_id: str, now: datetime) -> bool:
    """End the turn of a waiting question without an answer, or mark a running one, and erase the question's text; the
    same for long work that it asked for. False if there is no such turn.

    The row of the turn stays, so that a redelivered message is recognised.
    """
    begun = [
        _withdraw(connection, work_channel, work_message, now)
        for work_channel, work_message in _work_of(connection, channel, message_id)
    ]
    return _withdraw(connection, channel, message_id, now) or any(begun)


def _work_of(connection: Connection, channel: str, message_id: str) -> list[tuple[str, str]]:
    """The channels and message ids of the open turns of long work that this message asked for."""
    asked = schedule.c.channel == channel, schedule.c.message == message_id, _OF_WORK
    ids = connection.execute(select(schedule.c.id).where(*asked)).scalars().all()
    open_ = select(turn.c.channel, turn.c.message_id).where(begun_by(ids), turn.c.state.in_((WAITING, RUNNING)))
    return [(row.channel, row.message_id) for row in connection.execute(open_)] if ids else []


def _withdraw(connection: Connection, channel: str, message_id: str, now: datetime) -> bool:
    if (question := _find_waiting(connection, channel, message_id)) is None:
        return _mark_withdrawn(connection, channel, message_id, now)
    turn_id, question_id, _ = question
    index.remove(connection, [question_id])
    connection.execute(delete(message).where(message.c.id == question_id))
    connection.execute(update(turn).where(turn.c.id == turn_id).values(**rows.ended_columns(now, Outcome.STOPPED)))
    return True


def withdraw_turns(connection: Connection, schedules: Collection[int], now: datetime) -> None:
    """Withdraw the turns that these schedules have begun and that still wait."""
    waiting = select(turn.c.channel, turn.c.message_id).where(turn.c.state == WAITING, begun_by(schedules))
    for channel, message_id in connection.execute(waiting).all():
        withdraw(connection, channel, message_id, now)


def begun_by(schedules: Collection[int]) -> ColumnElement[bool]:
    """The condition for turns that these schedules have begun."""
    return turn.c.schedule.in_(sorted(schedules))


def take_back(connection: Connection, person: str, conversation: str | None) -> list[int]:
    """Mark this person's waiting turns that have shown a reply as withdrawn, in one conversation or all (None)."""
    begun = and_(turn.c.person == person, turn.c.state == WAITING, or_(turn.c.progress != "", turn.c.reply_ref != ""))
    condition = true() if conversation is None else _turns_of(connection, conversation)
    found = connection.execute(select(turn.c.id, turn.c.payload).where(begun, condition).with_for_update()).all()
    for row in found:
        values = {**STOPPED, "payload": rows.mark_withdrawn(row.payload)}
        connection.execute(update(turn).where(turn.c.id == row.id).values(**values))
    return [row.id for row in found]


def _mark_withdrawn(connection: Connection, channel: str, message_id: str, now: datetime) -> bool:
    """Mark a begun turn as withdrawn, and delete its schedules. A question that joined another turn stays."""
    deleted = and_(turn.c.channel == channel, turn.c.message_id == message_id)
    begun = or_(turn.c.state == RUNNING, turn.c.progress != "", turn.c.reply_ref != "")
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(turn.c.id, turn.c.payload, turn.c.conversation, message.c.id.label("question"))
        .select_from(turn.join(message, asked))
        .where(deleted, turn.c.state.in_((WAITING, RUNNING)), begun)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None:
        return False
    values = {**STOPPED, "payload": rows.mark_withdrawn(found.payload)}
    connection.execute(update(turn).where(turn.c.id == found.id).values(**values))
    index.remove(connection, [found.question])
    connection.execute(update(message).where(message.c.id == found.question).values(text="", length=0))
    there = or_(schedule.c.channel == channel, schedule.c.conversation == found.conversation)
    scheduled = select(schedule.c.id).where(schedule.c.message == message_id, there)
    schedule_ids = list(connection.execute(scheduled).scalars())
    withdraw_turns(connection, schedule_ids, now)
    connection.execute(delete(schedule).where(schedule.c.id.in_(schedule_ids)))
    return True


def is_deleted(connection: Connection, channel: str, message_id: str) -> bool:
    """Whether this question was deleted while its turn is open; its row is locked until the transaction ends."""
    open_turn = and_(turn.c.channel == channel, turn.c.message_id == message_id, turn.c.state.in_((WAITING, RUNNING)))
    payloads = connection.execute(select(turn.c.payload).where(open_turn).with_for_update()).scalars()
    return any(map(rows.is_withdrawn, payloads))


def _find_waiting(connection: Connection, channel: str, message_id: str) -> tuple[int, int, str] | None:
    """The turn, question and conversation of a message whose turn waits, not begun; locked against claims."""
    same_message = and_(turn.c.channel == channel, turn.c.message_id == message_id)
    fresh = and_(turn.c.state == WAITING, turn.c.progress == "", turn.c.reply_ref == "")
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(turn.c.id, message.c.id, turn.c.conversation)
        .select_from(turn.join(message, asked))
        .where(same_message, fresh)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None or _has_joined(connection, found[2], found[1]):
        return None
    return found[0], found[1], found[2]


def _has_joined(connection: Connection, conversation: str, asked: int) -> bool:
    """Whether the running turn of the conversation has read the question, and answers it."""
    running = select(turn.c.progress).where(turn.c.conversation == conversation, turn.c.state == RUNNING)
    return any(asked in rows.progress_joined(progress) for progress in connection.execute(running).scalars())


# Messages that wait behind a running turn of the same person, and that its reply answers as well.
#
# Rules
#   Their turns stay as they are until the running turn ends, and then end with it. If that turn restarts or fails, they
#   are answered by themselves; so is a message that was edited while the turn read it.
#   Only plain text can join. A message with a picture or a quoted thread waits, and so do all messages after it and the
#   questions of schedules.

JOIN_LIMIT: Final = 50


def waiting_to_join(connection: Connection, claim: Claim) -> list[Waiting]:
    """The messages that may join the turn of this claim, in order."""
    asked = claim.incoming
    behind = (
        select(turn, message.c.id.label("question"), message.c.text, message.c.audience)
        .join_from(turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
        .where(turn.c.conversation == asked.conversation, turn.c.state == WAITING, turn.c.id > claim.turn)
        .order_by(turn.c.id)
        .limit(JOIN_LIMIT)
    )
    audience = label(asked.place.audience)
    found: list[Waiting] = []
    for row in connection.execute(behind).mappings():
        same_asker = row["person"] == asked.person.id and row["audience"] == audience and not row["stopping"]
        fresh = row["run_at"] is None and row["progress"] == "" and row["reply_ref"] == ""
        asked_by_them = not TurnKind(row["kind"]).in_words_of_schedule
        if not (same_asker and fresh and asked_by_them and rows.is_text_only(row["payload"])):
            break
        found.append(Waiting(row["id"], row["question"], row["text"]))
    return found


def end_joined(connection: Connection, ended: int, closing: Closing, now: datetime) -> None:
    """End the turns of the messages that joined the turn `ended`, and move these messages before its reply."""
    for joined in closing.joined:
        unchanged = and_(message.c.id == joined.message, message.c.turn == joined.turn, message.c.text == joined.text)
        still_waiting = and_(turn.c.id == joined.turn, turn.c.state == WAITING, exists().where(unchanged))
        if connection.execute(
            update(turn).where(still_waiting).values(**rows.ended_columns(now, closing.outcome))
        ).rowcount:
            connection.execute(update(message).where(message.c.id == joined.message).values(turn=ended))


def quoted_messages(connection: Connection, progress: str) -> frozenset[int]:
    """The messages that must still exist for this progress to be stored: all that it names, except those that joined
    and were then deleted, whose turns are over.
    """
    joined = rows.progress_joined(progress)
    if not joined:
        return rows.progress_sources(progress)
    over = select(turn.c.id).where(turn.c.id.in_(joined.values()), turn.c.state == DONE)
    deleted = set(connection.execute(over).scalars())
    return rows.progress_sources(progress) - {asked for asked, turn_id in joined.items() if turn_id in deleted}


# Built once: a closed channel without any public content is checked after each start.
_PUBLIC: Final = union(
    *(
        select(table.c.audience)
        .where(table.c.channel == bindparam("channel"), table.c.audience.like(f"{AudienceKind.TEAM}:%"))
        .distinct()
        for table in (message, document, schedule)
    )
)


def restrict_place(connection: Connection, channel: str, place: Place, now: datetime) -> int:
    """Move the channel's content for its team to the audience of `place`; returns how many messages moved."""
    if place.is_closed:
        preferences.choose(connection, f"channel:{channel}", SHARING, None)
    wide = tuple(connection.execute(_PUBLIC, {"channel": channel}).scalars())
    if not wide or not place.is_closed:
        return 0
    own = label(place.audience)
    _restart_turns(connection, channel, wide, place, now)
    held = message.c.channel == channel, message.c.audience.in_(wide)
    threads = list(connection.execute(select(message.c.conversation).where(*held).distinct()).scalars())
    learning = _to_learn(connection, channel, wide)
    moved = connection.execute(update(message).where(*held).values(audience=own)).rowcount
    for thread in threads:
        its_conversation = conversation.c.id == thread, conversation.c.audience.in_(wide)
        connection.execute(update(conversation).where(*its_conversation).values(audience=own, summary="{}"))
        its_items = working_item.c.conversation == thread, working_item.c.audience.in_(wide)
        connection.execute(update(working_item).where(*its_items).values(audience=own))
    _move_facts(connection, channel, wide, own)
    _move_entries(connection, channel, wide, own)
    passages.narrow(connection, channel, wide, own)
    in_channel = schedule.c.channel == channel, schedule.c.audience.in_(wide)
    for id_, made in connection.execute(select(schedule.c.id, schedule.c.made).where(*in_channel)).all():
        payload = _with_team(made, place.within_team)
        connection.execute(update(schedule).where(schedule.c.id == id_).values(audience=own, made=payload))
    for person, before in learning:
        _schedule_learning(connection, Partition(person, before), Partition(person, own), now)
    return moved


def _restart_turns(connection: Connection, channel: str, wide: Collection[str], place: Place, now: datetime) -> None:
    """Done first: a worker that ends one of these turns meanwhile either commits before, or has lost its claim."""
    restricted = select(message.c.turn).where(message.c.channel == channel, message.c.audience.in_(wide))
    open_ = turn.c.state.in_((WAITING, RUNNING)), turn.c.channel == channel, turn.c.id.in_(restricted)
    for id_, state, payload in connection.execute(select(turn.c.id, turn.c.state, turn.c.payload).where(*open_)).all():
        same_turn = turn.c.id == id_
        calls.settle(connection, same_turn, now)
        values = rows.restarted(turn.c.epoch + 1) if state == RUNNING else {"progress": "", "run_at": None}
        changed = _with_team(payload, place.within_team)
        connection.execute(update(turn).where(same_turn, turn.c.state == state).values(payload=changed, **values))
        connection.execute(delete(workspace).where(workspace.c.task_id == id_))
        connection.execute(delete(consent).where(consent.c.turn == id_))
        connection.execute(delete(open_question).where(open_question.c.turn == id_))


def _with_team(payload: str, team: str | None) -> str:
    values = rows.read_json(payload)
    return rows.json_text({**values, "within_team": team}) if isinstance(values, dict) else payload


def _to_learn(connection: Connection, channel: str, wide: Collection[str]) -> list[tuple[str, str]]:
    """The persons and audiences of messages there that wait to be learned from."""
    waiting = message.c.channel == channel, message.c.audience.in_(wide), message.c.to_learn
    found = connection.execute(select(message.c.person, message.c.audience).where(*waiting).distinct())
    return [(row.person, row.audience) for row in found]


def _schedule_learning(connection: Connection, before: Partition, after: Partition, now: datetime) -> None:
    """The job of `before` continues; what moved needs a job of its own, with the same authority."""
    scheduled = select(job.c.payload, job.c.run_at).where(job.c.kind == LEARNING, job.c.key == before.key)
    found = connection.execute(scheduled.limit(1)).first()
    payload, run_at = ("", now) if found is None else (found.payload, found.run_at)
    values = {"payload": payload, "run_at": run_at, "person": after.person, "conversation": ""}
    job_queue.schedule(connection, LEARNING, after.key, values)


def _move_facts(connection: Connection, channel: str, wide: Collection[str], own: str) -> None:
    """Facts from messages there, and facts that depend on one of them."""
    messages_there = select(message.c.id).where(message.c.channel == channel, message.c.audience == own)
    moving = update(fact).where(fact.c.audience.in_(wide)).values(audience=own)
    connection.execute(moving.where(fact.c.source_message.in_(messages_there)))
    closed = fact.alias("closed")
    dependent = (
        select(fact_ground.c.fact).join(closed, closed.c.id == fact_ground.c.ground).where(closed.c.audience == own)
    )
    while connection.execute(moving.where(fact.c.id.in_(dependent))).rowcount:
        pass


def _move_entries(connection: Connection, channel: str, wide: Collection[str], own: str) -> None:
    messages_there = select(message.c.id).where(message.c.channel == channel, message.c.audience == own)
    from_there = profile_entry.c.id.in_(
        select(profile_source.c.entry).where(profile_source.c.message.in_(messages_there))
    )
    elsewhere = profile_entry.c.audience.like(f"{AudienceKind.GROUP}:%"), profile_entry.c.audience != own
    from_two_places = connection.execute(select(profile_entry.c.id).where(from_there, *elsewhere)).scalars()
    remove_entries(connection, frozenset(from_two_places))
    moving = from_there, profile_entry.c.audience.in_(wide)
    owners = list(connection.execute(select(profile_entry.c.person).where(*moving).distinct()).scalars())
    connection.execute(update(profile_entry).where(*moving).values(audience=own))
    for person in owners:
        same_person = profile.c.person == person
        profiles = select(profile).where(same_person, profile.c.audience.in_((own, *wide)))
        found = {row["audience"]: dict(row) for row in connection.execute(profiles).mappings()}
        if own not in found:
            counters = {"interaction_count": 0, "synthesised_count": 0, "revision": 0}
            values = next(iter(found.values())) | counters | {"audience": own}
            connection.execute(insert(profile).values(**values))
        changed = profile.c.audience.in_((own, *wide))
        connection.execute(update(profile).where(same_person, changed).values(revision=profile.c.revision + 1))


# Questions that are accepted late, after others that were asked later: they go before those that still wait.
#
# An event that a platform could not deliver, such as into a broken socket, is redelivered after a while, or found in
# the channel's history. People read, and expect answers, in the order of the platform's own times.
#
# Rules
#   The turns of a conversation run in the order of their ids, and history is read in that order. So the ids stay, and
#   the questions change places: a waiting turn that was never claimed is only a place in the queue.
#   A turn that was claimed once, or whose question has joined a running turn, keeps its place.

# The columns of an unclaimed turn that belong to its question.
_QUESTION: Final = (
    *("kind", "schedule", "source", "event_id", "channel", "message_id", "person", "team", "round", "taken"),
    *("stopping", "payload"),
)


def reorder_late_question(connection: Connection, conversation: str, late: int, asked_at: datetime) -> int:
    """Move the question of the turn `late`, just accepted, to its place by time; returns the turn that now has it."""
    waiting = _later_questions(connection, conversation, late, asked_at)
    if not waiting:
        return late
    new = connection.execute(_questions().where(turn.c.id == late)).mappings().one()
    turn_ids = [*(row["id"] for row in waiting), late]
    for turn_id in turn_ids:  # no two turns may have the same event, not even in between
        _update_turn(connection, turn_id, {"event_id": f"moved {turn_id}", "message_id": f"moved {turn_id}"})
    for turn_id, row in zip(turn_ids, [new, *waiting], strict=True):
        _update_turn(connection, turn_id, {name: row[name] for name in _QUESTION})
        connection.execute(update(message).where(message.c.id == row["question"]).values(turn=turn_id))
    return turn_ids[0]


def _later_questions(connection: Connection, conversation: str, late: int, asked_at: datetime) -> Sequence[RowMapping]:
    """The questions that were asked later and can still be moved back, in order; locked against claims."""
    fresh = and_(turn.c.epoch == 0, turn.c.progress == "")  # a reminder has its reply already
    movable = and_(turn.c.conversation == conversation, turn.c.state == WAITING, turn.c.id < late, fresh)
    later = _questions().where(movable, message.c.time > asked_at).order_by(turn.c.id).with_for_update(of=turn)
    found = connection.execute(later).mappings().all()
    joined = _joined_running(connection, conversation) if found else ()
    return [row for row in found if row["id"] not in joined]


def _joined_running(connection: Connection, conversation: str) -> frozenset[int]:
    """The turns whose questions the running turn has read."""
    running = select(turn.c.progress).where(turn.c.conversation == conversation, turn.c.state == RUNNING)
    return frozenset(
        joined
        for progress in connection.execute(running).scalars()
        for joined in rows.progress_joined(progress).values()
    )


def _questions() -> Select[*tuple[Any, ...]]:
    columns = (turn.c.id, message.c.id.label("question"), *(turn.c[name] for name in _QUESTION))
    return select(*columns).join_from(
        turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    )


def _update_turn(connection: Connection, number: int, values: dict[str, Any]) -> None:
    connection.execute(update(turn).where(turn.c.id == number).values(**values))
