"""Restricting a channel that fewer people can read than before.

Rules
  Several workspaces may share a channel. What is restricted is what the bot of one of them (`source`) knows: for the
  others the channel has an audience of its own, and none of theirs may get what this one held.
  Its content for the whole team becomes its own, permanently. Moved are the channel's messages, the facts and profile
  entries known only from them, and its conversations, whose summaries are cleared. Index entries and embeddings of
  messages stay: they name no audience. Schedules and documents move as well; documents are not found until a job has
  moved their index entries. No audience ever becomes wider.
  Files that code saved there move, too; those that it made elsewhere from what moved are deleted.
  Shared messages are no longer shared, because their rows no longer belong to the team; the channel's choice to share
  is deleted and has to be made again.
  Entries drawn from two closed channels belong to neither, and are deleted.
  A running turn there restarts: it was meant for more readers, or uses more than may be used now.
  A learner that has read what moved finds another revision, or no message to learn from, and starts again.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, insert, select, union, update

from agent.memory.audience import AudienceKind, Place, label
from agent.memory.documents import SHARING
from agent.memory.profile import LEARNING, Partition
from store import job_queue, model_calls, preferences, row_mapping
from store.budget_tables import budget_pause
from store.channels import in_channel
from store.file_tables import saved_file, saved_file_source
from store.job_queue import job
from store.json_columns import json_text, read_json
from store.memory.fact_store import fact_ground
from store.memory.profiles import remove_entries
from store.memory_tables import fact, profile, profile_entry, profile_source
from store.message_tables import conversation, message
from store.schedule_table import schedule
from store.search import passages
from store.search.passages import document
from store.turn_tables import RUNNING, WAITING, turn, workspace
from store.turns import approvals
from store.turns.approval_table import approval
from store.turns.consents import consent
from store.turns.open_questions import open_question
from store.working_sets import working_item

# Built once: a closed channel without any public content is checked after each start.
_PUBLIC: Final = union(
    *(
        select(table.c.audience)
        .where(in_channel(table, bindparam("source"), bindparam("channel")))
        .where(table.c.audience.like(f"{AudienceKind.TEAM}:%"))
        .distinct()
        for table in (message, document, schedule)
    )
)


def restrict_place(connection: Connection, source: str, channel: str, place: Place, now: datetime) -> int:
    """Move what a channel holds for a team of `source` to the audience of `place`; returns how many messages moved."""
    if place.is_closed:
        preferences.choose(connection, f"channel:{channel}", SHARING, None)
    wide = tuple(connection.execute(_PUBLIC, {"source": source, "channel": channel}).scalars())
    if not wide or not place.is_closed:
        return 0
    own = label(place.audience)
    messages_there = in_channel(message, source, channel)
    held = and_(messages_there, message.c.audience.in_(wide))
    _restart_turns(connection, held, place, now)
    threads = list(connection.execute(select(message.c.conversation).where(held).distinct()).scalars())
    learning = _to_learn(connection, held)
    moved = connection.execute(update(message).where(held).values(audience=own)).rowcount
    for thread in threads:
        its_conversation = conversation.c.id == thread, conversation.c.audience.in_(wide)
        connection.execute(update(conversation).where(*its_conversation).values(audience=own, summary="{}"))
        its_items = working_item.c.conversation == thread, working_item.c.audience.in_(wide)
        connection.execute(update(working_item).where(*its_items).values(audience=own))
        its_files = saved_file.c.conversation == thread, saved_file.c.audience.in_(wide)
        connection.execute(update(saved_file).where(*its_files).values(audience=own))
    now_there = and_(messages_there, message.c.audience == own)
    _drop_files_elsewhere(connection, now_there, wide)
    _move_facts(connection, now_there, wide, own)
    _move_entries(connection, now_there, wide, own)
    passages.narrow(connection, and_(in_channel(document, source, channel), document.c.audience.in_(wide)), own)
    posts_there = and_(in_channel(schedule, source, channel), schedule.c.audience.in_(wide))
    for id_, made in connection.execute(select(schedule.c.id, schedule.c.made).where(posts_there)).all():
        payload = _with_team(made, place.within_team)
        connection.execute(update(schedule).where(schedule.c.id == id_).values(audience=own, made=payload))
    for person, before in learning:
        _schedule_learning(connection, Partition(person, before), Partition(person, own), now)
    return moved


def _drop_files_elsewhere(connection: Connection, moved: ColumnElement[bool], wide: Collection[str]) -> None:
    messages = select(message.c.id).where(moved)
    made_from_it = select(saved_file_source.c.file).where(saved_file_source.c.message.in_(messages))
    elsewhere = saved_file.c.id.in_(made_from_it), saved_file.c.audience.in_(wide)
    connection.execute(delete(saved_file).where(*elsewhere))


def _restart_turns(connection: Connection, held: ColumnElement[bool], place: Place, now: datetime) -> None:
    """Done first: a worker that ends one of these turns meanwhile either commits before, or has lost its claim."""
    open_ = turn.c.state.in_((WAITING, RUNNING)), turn.c.id.in_(select(message.c.turn).where(held))
    for id_, state, payload in connection.execute(select(turn.c.id, turn.c.state, turn.c.payload).where(*open_)).all():
        same_turn = turn.c.id == id_
        model_calls.settle(connection, same_turn, now)
        values = row_mapping.restarted(turn.c.epoch + 1) if state == RUNNING else {"progress": "", "run_at": None}
        changed = _with_team(payload, place.within_team)
        connection.execute(update(turn).where(same_turn, turn.c.state == state).values(payload=changed, **values))
        connection.execute(delete(workspace).where(workspace.c.task_id == id_))
        connection.execute(delete(consent).where(consent.c.turn == id_))
        connection.execute(delete(budget_pause).where(budget_pause.c.turn == id_))
        approvals.withdraw(connection, approval.c.turn == id_, now)
        connection.execute(delete(open_question).where(open_question.c.turn == id_))


def _with_team(payload: str, team: str | None) -> str:
    values = read_json(payload)
    return json_text({**values, "within_team": team}) if isinstance(values, dict) else payload


def _to_learn(connection: Connection, held: ColumnElement[bool]) -> list[tuple[str, str]]:
    """The persons and audiences of messages there that wait to be learned from."""
    found = connection.execute(select(message.c.person, message.c.audience).where(held, message.c.to_learn).distinct())
    return [(row.person, row.audience) for row in found]


def _schedule_learning(connection: Connection, before: Partition, after: Partition, now: datetime) -> None:
    """The job of `before` continues; what moved needs a job of its own, with the same authority."""
    scheduled = select(job.c.payload, job.c.run_at).where(job.c.kind == LEARNING, job.c.key == before.key)
    found = connection.execute(scheduled.limit(1)).first()
    payload, run_at = ("", now) if found is None else (found.payload, found.run_at)
    values = {"payload": payload, "run_at": run_at, "person": after.person, "conversation": ""}
    job_queue.schedule(connection, LEARNING, after.key, values)


def _move_facts(connection: Connection, there: ColumnElement[bool], wide: Collection[str], own: str) -> None:
    """Facts from messages there, and facts that depend on one of them."""
    moving = update(fact).where(fact.c.audience.in_(wide)).values(audience=own)
    connection.execute(moving.where(fact.c.source_message.in_(select(message.c.id).where(there))))
    closed = fact.alias("closed")
    dependent = (
        select(fact_ground.c.fact).join(closed, closed.c.id == fact_ground.c.ground).where(closed.c.audience == own)
    )
    while connection.execute(moving.where(fact.c.id.in_(dependent))).rowcount:
        pass


def _move_entries(connection: Connection, there: ColumnElement[bool], wide: Collection[str], own: str) -> None:
    from_there = profile_entry.c.id.in_(
        select(profile_source.c.entry).where(profile_source.c.message.in_(select(message.c.id).where(there)))
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
