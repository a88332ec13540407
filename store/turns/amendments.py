"""What may still change about questions that wait, stopping turns that are open, and a channel that grows narrower.

Rules
  A turn that has begun answers the question as it was; so only one is edited that nobody runs, of which nothing is
  done, and that has not joined a running one.
  What was spoken is put down as soon as it was listened to, and stands as if it had been written.
  One whose turn waits for its asker's consent begins anew when it is edited. If something was done of it, it goes on
  with the new words and without the calls that waited (`store.forgetting.sql_forgetting.update_text`).
  A question that is deleted then ends at once. One whose answer has begun loses its words, and whoever runs the turn,
  or claims it, takes back what it has shown; what it has scheduled is no more, and it schedules nothing.

A channel that fewer can read than before: what it holds for the whole team becomes its own, and stays so
  Moved are the channel's messages, what is known only from them, and the conversations, whose summaries begin anew.
  What a message means to a search stays: its entries name no audience. Schedules and documents move, too; until
  their index has followed, which a job sees to, they are not found. Nothing becomes wider, ever. What was shared is no
  more, as its rows are not the team's; the choice to share goes, and has to be made anew.
  What came from two closed channels belongs to neither, and goes.
  An answer that runs there starts anew: it was thought out for more readers, or with more than may be used now.
  Whoever learns meanwhile from what moved finds another revision, or no message to learn from, and begins anew.
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
    false,
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
from agent.records import SCHEDULED, Author, Claim, Closing, Job, Waiting
from agent.schedules import ScheduleKind, ScheduleState
from store import calls, job_queue, rows
from store.knowledge_tables import document
from store.memory import people
from store.search import index, passages
from store.search.text import IndexedText
from store.tables import (
    DONE,
    RUNNING,
    WAITING,
    consent,
    conversation,
    fact,
    fact_ground,
    job,
    message,
    open_question,
    profile,
    profile_entry,
    profile_source,
    schedule,
    tool_call,
    turn,
    working_item,
    workspace,
)

STOPPED: Final[dict[str, Any]] = {"stopping": True, "run_at": None}  # Of a turn that somebody has stopped
_OF_WORK: Final = schedule.c.made.contains(f'"kind":"{ScheduleKind.WORK}"')


def stop(connection: Connection, conversation: str, *, alone: bool = False) -> list[int]:
    """Mark the turns of a conversation that wait or run; the oldest first. Unless it is meant `alone`, so is the work
    that somebody asked for there; of what has not begun yet, the turn that asked for it is named.
    """
    here = turn.c.conversation == conversation if alone else _in(connection, conversation)
    open_ = select(turn.c.id).where(here, turn.c.state.in_((WAITING, RUNNING))).order_by(turn.c.id)
    found = list(connection.execute(open_).scalars())
    connection.execute(update(turn).where(turn.c.id.in_(found)).values(**STOPPED))
    return found if alone else sorted({*found, *_forget_work(connection, conversation)})


def _in(connection: Connection, conversation: str) -> ColumnElement[bool]:
    """The turns of a conversation, and the work that was asked for there, wherever it is shown."""
    asked = select(schedule.c.id).where(schedule.c.conversation == conversation, _OF_WORK)
    works = map(begun_by, connection.execute(asked).scalars())
    return or_(turn.c.conversation == conversation, *works)


def _forget_work(connection: Connection, conversation: str) -> list[int]:
    """Work that nobody has begun."""
    asked = and_(turn.c.channel == schedule.c.channel, turn.c.message_id == schedule.c.message)
    waits = and_(schedule.c.conversation == conversation, schedule.c.state == ScheduleState.ACTIVE)
    found = connection.execute(
        select(schedule.c.id, turn.c.id.label("asked")).join_from(schedule, turn, asked).where(waits, _OF_WORK)
    ).all()
    connection.execute(delete(schedule).where(schedule.c.id.in_([one.id for one in found])))
    return [one.asked for one in found]


def stopping(connection: Connection, owner: str) -> frozenset[int]:
    """The marked turns that this worker runs."""
    mine = select(turn.c.id).where(turn.c.state == RUNNING, turn.c.owner == owner, turn.c.stopping)
    return frozenset(connection.execute(mine).scalars())


def withdrawn(connection: Connection, owner: str) -> frozenset[int]:
    """Those of `stopping` whose question was deleted."""
    mine = select(turn.c.id, turn.c.payload).where(turn.c.state == RUNNING, turn.c.owner == owner, turn.c.stopping)
    return frozenset(row.id for row in connection.execute(mine) if rows.is_withdrawn(row.payload))


def amend(connection: Connection, channel: str, message_id: str, said: IndexedText, job: Job | None = None) -> bool:
    """Put `said` in place of a question that waits; False if it does not wait. `job`: where it has waited itself."""
    question = _waiting(connection, channel, message_id) or _put_aside(connection, channel, message_id)
    if question is None:
        _end_asking(connection, channel, message_id)
        return False
    if not job_queue.is_newest(connection, EDIT, post_key(channel, message_id), job):
        return False
    _, asked, conversation = question
    index.change_text(connection, asked, conversation, said)
    return True


def _end_asking(connection: Connection, channel: str, message_id: str) -> None:
    """Stop a turn that asks its asker something in mid-call: they want something else by now."""
    this = and_(turn.c.channel == channel, turn.c.message_id == message_id, turn.c.state == RUNNING)
    asks = exists().where(open_question.c.turn == turn.c.id, open_question.c.epoch == turn.c.epoch)
    connection.execute(update(turn).where(this, asks).values(stopping=True))


def _put_aside(connection: Connection, channel: str, message_id: str) -> tuple[int, int, str] | None:
    """The same of a turn that waits for its asker, and begins anew; None if something is done of it."""
    this = and_(turn.c.channel == channel, turn.c.message_id == message_id)
    aside = and_(turn.c.state == WAITING, turn.c.progress != "", turn.c.run_at.is_not(None))
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(
            turn.c.id, turn.c.conversation, turn.c.epoch, turn.c.progress, message.c.id.label("asked"), message.c.time
        )
        .select_from(turn.join(message, asked))
        .where(this, aside)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None:
        return None
    if any(result is not None for step in decode(found.progress).steps for result in step.results):
        return None
    calls.settle(connection, turn.c.id == found.id, found.time)
    connection.execute(update(turn).where(turn.c.id == found.id).values(**rows.restarted(found.epoch + 1)))
    calls.drop_arguments(connection, tool_call.c.turn == found.id)
    for kept in (workspace.c.task_id, consent.c.turn):
        connection.execute(delete(kept.table).where(kept == found.id))
    return found.id, found.asked, found.conversation


def set_text(connection: Connection, claim: Claim, said: IndexedText) -> None:
    """Put what was spoken in place of a question that runs, unless it was deleted meanwhile."""
    payload = connection.execute(select(turn.c.payload).where(turn.c.id == claim.turn).with_for_update()).scalar_one()
    if not rows.is_withdrawn(payload):
        index.change_text(connection, claim.message, claim.incoming.conversation, said)


def withdraw(connection: Connection, channel: str, message_id: str, now: datetime) -> bool:
    """End the turn of a question that waits, unanswered, or mark one that runs, and erase its words; else False. The
    same with the long work that it asked for.

    The turn stays, empty, so that a message delivered again is known.
    """
    begun = [_withdraw(connection, at, name, now) for at, name in _work_of(connection, channel, message_id)]
    return _withdraw(connection, channel, message_id, now) or any(begun)


def _work_of(connection: Connection, channel: str, message_id: str) -> list[tuple[str, str]]:
    """Where the long work that this message asked for was begun, and as what."""
    asked = schedule.c.channel == channel, schedule.c.message == message_id, _OF_WORK
    ids = [*connection.execute(select(schedule.c.id).where(*asked)).scalars()]
    begun = or_(false(), *map(begun_by, ids))
    open_ = select(turn.c.channel, turn.c.message_id).where(begun, turn.c.state.in_((WAITING, RUNNING)))
    return [(row.channel, row.message_id) for row in connection.execute(open_)] if ids else []


def _withdraw(connection: Connection, channel: str, message_id: str, now: datetime) -> bool:
    if (question := _waiting(connection, channel, message_id)) is None:
        return _take_back(connection, channel, message_id, now)
    turn_id, asked, _ = question
    index.remove(connection, [asked])
    connection.execute(delete(message).where(message.c.id == asked))
    connection.execute(update(turn).where(turn.c.id == turn_id).values(**rows.over(now, Outcome.STOPPED)))
    return True


def withdraw_turns(connection: Connection, schedules: Collection[int], now: datetime) -> None:
    """What these have begun and nobody has answered yet."""
    for id_ in schedules:
        waits = select(turn.c.channel, turn.c.message_id).where(turn.c.state == WAITING, begun_by(id_))
        for channel, message_id in connection.execute(waits).all():
            withdraw(connection, channel, message_id, now)


def begun_by(id_: int) -> ColumnElement[bool]:
    """The turns that a schedule has begun."""
    return turn.c.event_id.startswith(f"{SCHEDULED}{id_}:", autoescape=True)


def take_back(connection: Connection, person: str, conversation: str | None) -> list[int]:
    """Mark what waits of this person and has shown something, to be ended without a word; in a conversation, or all."""
    begun = and_(turn.c.person == person, turn.c.state == WAITING, or_(turn.c.progress != "", turn.c.reply_ref != ""))
    here = true() if conversation is None else _in(connection, conversation)
    found = connection.execute(select(turn.c.id, turn.c.payload).where(begun, here).with_for_update()).all()
    for row in found:
        marked = {**STOPPED, "payload": rows.mark_withdrawn(row.payload)}
        connection.execute(update(turn).where(turn.c.id == row.id).values(**marked))
    return [row.id for row in found]


def _take_back(connection: Connection, channel: str, message_id: str, now: datetime) -> bool:
    """Mark a turn that was begun, and end what it has scheduled. What has joined another one, and is answered with it,
    is let be.
    """
    this = and_(turn.c.channel == channel, turn.c.message_id == message_id)
    begun = or_(turn.c.state == RUNNING, turn.c.progress != "", turn.c.reply_ref != "")
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(turn.c.id, turn.c.payload, turn.c.conversation, message.c.id.label("question"))
        .select_from(turn.join(message, asked))
        .where(this, turn.c.state.in_((WAITING, RUNNING)), begun)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None:
        return False
    marked = {**STOPPED, "payload": rows.mark_withdrawn(found.payload)}
    connection.execute(update(turn).where(turn.c.id == found.id).values(**marked))
    index.remove(connection, [found.question])
    connection.execute(update(message).where(message.c.id == found.question).values(text="", length=0))
    there = or_(schedule.c.channel == channel, schedule.c.conversation == found.conversation)
    made = select(schedule.c.id).where(schedule.c.message == message_id, there)
    falling = list(connection.execute(made).scalars())
    withdraw_turns(connection, falling, now)
    connection.execute(delete(schedule).where(schedule.c.id.in_(falling)))
    return True


def is_deleted(connection: Connection, channel: str, message_id: str) -> bool:
    """Whether this question was deleted while its turn runs; held until the transaction ends."""
    this = and_(turn.c.channel == channel, turn.c.message_id == message_id, turn.c.state.in_((WAITING, RUNNING)))
    payloads = connection.execute(select(turn.c.payload).where(this).with_for_update()).scalars()
    return any(map(rows.is_withdrawn, payloads))


def _waiting(connection: Connection, channel: str, message_id: str) -> tuple[int, int, str] | None:
    """The turn, the question's row and the conversation; held against a worker that would claim it just now."""
    this = and_(turn.c.channel == channel, turn.c.message_id == message_id)
    fresh = and_(turn.c.state == WAITING, turn.c.progress == "", turn.c.reply_ref == "")
    asked = and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    found = connection.execute(
        select(turn.c.id, message.c.id, turn.c.conversation)
        .select_from(turn.join(message, asked))
        .where(this, fresh)
        .with_for_update(of=turn)
    ).one_or_none()
    if found is None or _joined(connection, found[2], found[1]):
        return None
    return found[0], found[1], found[2]


def _joined(connection: Connection, conversation: str, asked: int) -> bool:
    """Whether the running turn of the conversation has read the question, and answers it."""
    running = select(turn.c.progress).where(turn.c.conversation == conversation, turn.c.state == RUNNING)
    return any(asked in rows.progress_joined(progress) for progress in connection.execute(running).scalars())


# Messages that wait behind a running turn of their person, and that its reply answers, too.
#
# Rules
#   Their turns stay as they are until the running one ends, and then end with it: a turn that starts anew, or fails,
#   leaves them to be answered by themselves. So is one that was edited while it was just being read.
#   Only words can join. A message that brings a picture or a thread along waits, and so does all that comes after it;
#   so does what a schedule asks.

MOST: Final = 50  # More than join one turn


def waiting_to_join(connection: Connection, claim: Claim) -> list[Waiting]:
    """What may join the turn of this claim, in order."""
    asked = claim.incoming
    behind = (
        select(turn, message.c.id.label("question"), message.c.text, message.c.audience)
        .join_from(turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
        .where(turn.c.conversation == asked.conversation, turn.c.state == WAITING, turn.c.id > claim.turn)
        .order_by(turn.c.id)
        .limit(MOST)
    )
    audience = label(asked.place.audience)
    found: list[Waiting] = []
    for row in connection.execute(behind).mappings():
        theirs = row["person"] == asked.person.id and row["audience"] == audience and not row["stopping"]
        fresh = row["run_at"] is None and row["progress"] == "" and row["reply_ref"] == ""
        asked_by_them = not row["event_id"].startswith(SCHEDULED)
        if not (theirs and fresh and asked_by_them and rows.words_alone(row["payload"])):
            break
        found.append(Waiting(row["id"], row["question"], row["text"]))
    return found


def end_joined(connection: Connection, ended: int, closing: Closing, now: datetime) -> None:
    """End the turns of what joined with the turn `ended`, and put their messages before its reply."""
    for one in closing.joined:
        as_read = and_(message.c.id == one.message, message.c.turn == one.turn, message.c.text == one.text)
        stands = and_(turn.c.id == one.turn, turn.c.state == WAITING, exists().where(as_read))
        if connection.execute(update(turn).where(stands).values(**rows.over(now, closing.outcome))).rowcount:
            connection.execute(update(message).where(message.c.id == one.message).values(turn=ended))


def quoted_messages(connection: Connection, progress: str) -> frozenset[int]:
    """The messages that have to stand for this progress to be kept.

    All that it names, but for those that joined and were then deleted: their turns are over.
    """
    joined = rows.progress_joined(progress)
    if not joined:
        return rows.progress_sources(progress)
    over = select(turn.c.id).where(turn.c.id.in_(joined.values()), turn.c.state == DONE)
    deleted = set(connection.execute(over).scalars())
    return rows.progress_sources(progress) - {asked for asked, its in joined.items() if its in deleted}


# Made once: a channel without anything public is looked at after each start.
_PUBLIC: Final = union(
    *(
        select(table.c.audience)
        .where(table.c.channel == bindparam("channel"), table.c.audience.like(f"{AudienceKind.TEAM}:%"))
        .distinct()
        for table in (message, document, schedule)
    )
)


def restrict_place(connection: Connection, channel: str, place: Place, now: datetime) -> int:
    """Let what this channel holds for its team belong to `place`; how many messages that were."""
    if place.is_closed:
        people.choose(connection, f"channel:{channel}", SHARING, None)
    wide = tuple(connection.execute(_PUBLIC, {"channel": channel}).scalars())
    if not wide or not place.is_closed:
        return 0
    own = label(place.audience)
    _set_back(connection, channel, wide, place, now)
    held = message.c.channel == channel, message.c.audience.in_(wide)
    threads = list(connection.execute(select(message.c.conversation).where(*held).distinct()).scalars())
    learning = _to_learn(connection, channel, wide)
    moved = connection.execute(update(message).where(*held).values(audience=own)).rowcount
    for here in threads:
        its = conversation.c.id == here, conversation.c.audience.in_(wide)
        connection.execute(update(conversation).where(*its).values(audience=own, summary="{}"))
        kept = working_item.c.conversation == here, working_item.c.audience.in_(wide)
        connection.execute(update(working_item).where(*kept).values(audience=own))
    _move_facts(connection, channel, wide, own)
    _move_entries(connection, channel, wide, own)
    passages.narrow(connection, channel, wide, own)
    there = schedule.c.channel == channel, schedule.c.audience.in_(wide)
    for id_, made in connection.execute(select(schedule.c.id, schedule.c.made).where(*there)).all():
        told = _within(made, place.within_team)
        connection.execute(update(schedule).where(schedule.c.id == id_).values(audience=own, made=told))
    for person, before in learning:
        _learn_there(connection, Partition(person, before), Partition(person, own), now)
    return moved


def _set_back(connection: Connection, channel: str, wide: Collection[str], place: Place, now: datetime) -> None:
    """First of all: whoever ends one of these turns meanwhile is either waited for, or has lost its claim."""
    asked = select(message.c.turn).where(message.c.channel == channel, message.c.audience.in_(wide))
    open_ = turn.c.state.in_((WAITING, RUNNING)), turn.c.channel == channel, turn.c.id.in_(asked)
    for id_, state, payload in connection.execute(select(turn.c.id, turn.c.state, turn.c.payload).where(*open_)).all():
        this = turn.c.id == id_
        calls.settle(connection, this, now)
        anew = rows.restarted(turn.c.epoch + 1) if state == RUNNING else {"progress": "", "run_at": None}
        told = _within(payload, place.within_team)
        connection.execute(update(turn).where(this, turn.c.state == state).values(payload=told, **anew))
        connection.execute(delete(workspace).where(workspace.c.task_id == id_))
        connection.execute(delete(consent).where(consent.c.turn == id_))
        connection.execute(delete(open_question).where(open_question.c.turn == id_))


def _within(payload: str, team: str | None) -> str:
    kept = rows.read_json(payload)
    return rows.json_text({**kept, "within_team": team}) if isinstance(kept, dict) else payload


def _to_learn(connection: Connection, channel: str, wide: Collection[str]) -> list[tuple[str, str]]:
    """Whose messages of which audience wait there to be learned from."""
    waiting = message.c.channel == channel, message.c.audience.in_(wide), message.c.to_learn
    found = connection.execute(select(message.c.person, message.c.audience).where(*waiting).distinct())
    return [(row.person, row.audience) for row in found]


def _learn_there(connection: Connection, before: Partition, after: Partition, now: datetime) -> None:
    """Its job goes on with whatever is left; what moved needs one of its own, with the same authority."""
    theirs = select(job.c.payload, job.c.run_at).where(job.c.kind == LEARNING, job.c.key == before.key)
    found = connection.execute(theirs.limit(1)).first()
    payload, run_at = ("", now) if found is None else (found.payload, found.run_at)
    values = {"payload": payload, "run_at": run_at, "person": after.person, "conversation": ""}
    job_queue.schedule(connection, LEARNING, after.key, values)


def _move_facts(connection: Connection, channel: str, wide: Collection[str], own: str) -> None:
    """Those that were said there, and whatever rests on one of them."""
    said = select(message.c.id).where(message.c.channel == channel, message.c.audience == own)
    moving = update(fact).where(fact.c.audience.in_(wide)).values(audience=own)
    connection.execute(moving.where(fact.c.source_message.in_(said)))
    closed = fact.alias("closed")
    resting = (
        select(fact_ground.c.fact).join(closed, closed.c.id == fact_ground.c.ground).where(closed.c.audience == own)
    )
    while connection.execute(moving.where(fact.c.id.in_(resting))).rowcount:
        pass


def _move_entries(connection: Connection, channel: str, wide: Collection[str], own: str) -> None:
    said = select(message.c.id).where(message.c.channel == channel, message.c.audience == own)
    from_there = profile_entry.c.id.in_(select(profile_source.c.entry).where(profile_source.c.message.in_(said)))
    elsewhere = profile_entry.c.audience.like(f"{AudienceKind.GROUP}:%"), profile_entry.c.audience != own
    torn = connection.execute(select(profile_entry.c.id).where(from_there, *elsewhere)).scalars()
    people.remove_entries(connection, frozenset(torn))
    moving = from_there, profile_entry.c.audience.in_(wide)
    owners = list(connection.execute(select(profile_entry.c.person).where(*moving).distinct()).scalars())
    connection.execute(update(profile_entry).where(*moving).values(audience=own))
    for person in owners:
        whose = profile.c.person == person
        known = select(profile).where(whose, profile.c.audience.in_((own, *wide)))
        found = {row["audience"]: dict(row) for row in connection.execute(known).mappings()}
        if own not in found:
            counters = {"interaction_count": 0, "synthesised_count": 0, "revision": 0}
            opened = next(iter(found.values())) | counters | {"audience": own}
            connection.execute(insert(profile).values(**opened))
        changed = profile.c.audience.in_((own, *wide))
        connection.execute(update(profile).where(whose, changed).values(revision=profile.c.revision + 1))


# Questions that are taken in late, after others that were asked later: they stand before those that still wait.
#
# What a platform could not deliver, as into a socket that just died, comes again after a while, or is found in its
# history. People read, and expect answers, in the order of the platform's own times.
#
# Rules
#   The turns of a conversation run in the order of their ids, and history is read in that order. So the ids stay, and
#   the questions change places: a waiting turn that nobody has claimed yet is a place in the queue and nothing else.
#   Whoever was claimed once, or has joined a running turn, keeps their place.

# What a turn that nobody has claimed yet holds of its question.
_QUESTION: Final = (
    *("source", "event_id", "channel", "message_id", "person", "team", "round", "taken", "stopping", "payload"),
)


def reorder_late_question(connection: Connection, conversation: str, late: int, asked_at: datetime) -> int:
    """Put the question of the turn `late`, which was just taken in, where it belongs: the turn where it stands now."""
    waiting = _behind(connection, conversation, late, asked_at)
    if not waiting:
        return late
    new = connection.execute(_questions().where(turn.c.id == late)).mappings().one()
    places = [*(row["id"] for row in waiting), late]
    for taken in places:  # no two turns may stand for the same event, not even meanwhile
        _put(connection, taken, {"event_id": f"moved {taken}", "message_id": f"moved {taken}"})
    for taken, row in zip(places, [new, *waiting], strict=True):
        _put(connection, taken, {name: row[name] for name in _QUESTION})
        connection.execute(update(message).where(message.c.id == row["question"]).values(turn=taken))
    return places[0]


def _behind(connection: Connection, conversation: str, late: int, asked_at: datetime) -> Sequence[RowMapping]:
    """The questions that were asked later and can still be put off, in their order; held against whoever claims."""
    fresh = and_(turn.c.epoch == 0, turn.c.progress == "")  # a reminder has its reply already
    waits = and_(turn.c.conversation == conversation, turn.c.state == WAITING, turn.c.id < late, fresh)
    later = _questions().where(waits, message.c.time > asked_at).order_by(turn.c.id).with_for_update(of=turn)
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


def _put(connection: Connection, number: int, values: dict[str, Any]) -> None:
    connection.execute(update(turn).where(turn.c.id == number).values(**values))
