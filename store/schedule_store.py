"""Schedules: stored, found when they are due, and begun as turns of the ledger, once.

Rules
  The process that finds a schedule due holds it for LEASE: `run_at` is moved forward, and `epoch` raised, which every
  later write names.
  The turn of an occurrence and the time of the next one are written together: a kill leaves both or none.
  An occurrence is identified by its schedule and its time, so it does not come twice after a clock went back. A
  schedule whose `run_at` a wrong clock has moved far ahead is found by its `next` time.
  Missed times are due as one occurrence: the last time, and the number of those before it.
  `run_at` of an ended schedule is when its row is deleted. One that has lapsed is paused instead, and stays.
  Long work ends as a schedule as soon as it has begun; then only its turn is left. It counts towards a person's limit
  until both are over, and is stored once: a call that is repeated after a crash returns the same schedule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import Place, audience_of, label
from agent.progress import Progress, encode
from agent.schedules.definitions import (
    CheckKind,
    FirstCheck,
    NewSchedule,
    Notice,
    Occurrence,
    Schedule,
    ScheduleKind,
    ScheduleRefused,
    ScheduleState,
    Timing,
)
from agent.schedules.ids import lasting_source, occurrence_id
from agent.schedules.lateness import last_until
from agent.schedules.long_work import MAX_AT_WORK
from agent.schedules.times import next_occurrence, renewed, with_end
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.turn_records import Accepted
from store.channels import in_channel
from store.databases.database import Database, LocalNotifier, SqlStore, in_order, reads, reads_one, row_id, writes
from store.erased_ids import ErasedIds
from store.json_columns import json_text, read_json
from store.message_tables import message
from store.schedule_table import schedule
from store.search import index
from store.search.text import IndexedText
from store.turn_tables import RUNNING, WAITING, turn
from store.turns import amendments, ledger
from store.turns.amendments import STOPPED

MAX_OF_PERSON: Final = 50  # Not ended: more than a person keeps track of
MAX_IN_CHANNEL: Final = 100
LEASE: Final = timedelta(seconds=30)  # As for turns: longer than a platform's call takes; a kill delays by that long
# No schedule is postponed or held for longer: a `run_at` beyond that was set by a wrong clock.
LONGEST_OFF: Final = timedelta(hours=2)
SHOWN_FOR: Final = timedelta(days=7)  # How long lists show an ended schedule, with its reason

# The kinds of turns that schedules begin.
KINDS: Final[Mapping[ScheduleKind, TurnKind]] = {
    ScheduleKind.REMINDER: TurnKind.REMINDER,
    ScheduleKind.QUESTION: TurnKind.SCHEDULED,
    ScheduleKind.WORK: TurnKind.WORK,
}

CHANGED: Final = "schedules"  # The topic of notifications to all processes that times have changed

_LIVES: Final = schedule.c.state != ScheduleState.ENDED
_ACTIVE: Final = schedule.c.state == ScheduleState.ACTIVE
_OF_WORK: Final = schedule.c.made.contains(f'"kind":"{ScheduleKind.WORK}"')


def add(connection: Connection, new: NewSchedule) -> Schedule | ScheduleRefused:
    in_order(connection, f"schedules of {new.person}")
    in_order(connection, f"schedules in {new.source} {new.channel}")
    if new.kind is ScheduleKind.WORK and (existing := _existing_or_refused(connection, new)) is not None:
        return existing
    same_person = schedule.c.person == new.person
    if new.message and amendments.is_deleted(connection, new.source, new.channel, new.message):
        return ScheduleRefused.QUESTION_DELETED
    limits = [(same_person, MAX_OF_PERSON, ScheduleRefused.MANY_OF_PERSON)]
    if not new.direct:
        posts_there = in_channel(schedule, lasting_source(new.source, new.person), new.channel)
        limits.append((posts_there, MAX_IN_CHANNEL, ScheduleRefused.MANY_IN_CHANNEL))
    for condition, limit, refusal in limits:
        counted = select(func.count()).select_from(schedule).where(condition, _LIVES)
        if connection.execute(counted).scalar_one() >= limit:
            return refusal
    created = replace(new, source=lasting_source(new.source, new.person), timing=with_end(new.timing, new.created))
    first = new.created if new.kind is ScheduleKind.WORK else next_occurrence(created.timing, new.created)
    new_schedule = Schedule(0, created, first, ScheduleState.ENDED if first is None else ScheduleState.ACTIVE)
    values = _values(new_schedule) | {"run_at": new.created + SHOWN_FOR if first is None else first}
    return replace(new_schedule, id=row_id(connection.execute(insert(schedule).values(values))))


def _existing_or_refused(connection: Connection, new: NewSchedule) -> Schedule | ScheduleRefused | None:
    work_rows = select(schedule).where(schedule.c.person == new.person, _OF_WORK)
    works = [read(row) for row in connection.execute(work_rows).mappings()]
    if new.message:
        asked = new.conversation, new.message, new.words
        for work in works:
            if (work.definition.conversation, work.definition.message, work.definition.words) == asked:
                return work
    open_ = [work for work in _with_turns(connection, works) if work.state is not ScheduleState.ENDED]
    return ScheduleRefused.MANY_AT_WORK if len(open_) >= MAX_AT_WORK else None


def _with_turns(connection: Connection, schedules: Sequence[Schedule]) -> list[Schedule]:
    """The schedules with their current state: long work is working while its turn is open."""
    works = [item for item in schedules if item.definition.kind is ScheduleKind.WORK]
    begun = [item.id for item in works if item.last]
    if not begun:
        return [*schedules]
    open_ = amendments.begun_by(begun), turn.c.kind == TurnKind.WORK, turn.c.state.in_((WAITING, RUNNING))
    working = frozenset(connection.execute(select(turn.c.schedule).where(*open_)).scalars())
    return [replace(item, state=ScheduleState.WORKING) if item.id in working else item for item in schedules]


def of_person(connection: Connection, person: str) -> list[Schedule]:
    return _listed(connection, schedule.c.person == person)


def by_id(connection: Connection, id_: int) -> Schedule | None:
    row = connection.execute(select(schedule).where(schedule.c.id == id_)).mappings().one_or_none()
    return None if row is None else read(row)


def listed(connection: Connection, limit: int) -> list[Schedule]:
    return _listed(connection, or_(_LIVES, _OF_WORK), limit)


def _listed(connection: Connection, condition: Any, limit: int | None = None) -> list[Schedule]:  # noqa: ANN401 -- a condition
    """Without finished long work: its result is in its conversation."""
    ordered = select(schedule).where(condition).order_by(~_LIVES, schedule.c.next.asc().nulls_last(), schedule.c.id)
    found = [read(row) for row in connection.execute(ordered.limit(limit)).mappings()]
    finished_work = ScheduleKind.WORK, ScheduleState.ENDED
    return [item for item in _with_turns(connection, found) if (item.definition.kind, item.state) != finished_work]


def change(
    connection: Connection,
    person: str,
    id_: int,
    *,
    timing: Timing | None = None,
    words: str | None = None,
    now: datetime,
) -> Schedule | None:
    if (stored := _of_owner(connection, person, id_)) is None:
        return None
    made = stored.definition if words is None else replace(stored.definition, words=words)
    if timing is None:
        return _update(connection, replace(stored, definition=made), now)
    changed = replace(stored, definition=replace(made, timing=with_end(timing, now)), warned=False)
    return _update(connection, changed if stored.state is ScheduleState.PAUSED else _rescheduled(changed, now), now)


def pause(connection: Connection, person: str, id_: int, *, paused: bool, now: datetime) -> Schedule | None:
    stored = _of_owner(connection, person, id_)
    if stored is None or stored.state is ScheduleState.ENDED:
        return stored
    if not paused:
        made = stored.definition
        kept = replace(stored, definition=replace(made, timing=renewed(made.timing, now)), warned=False)
        return _update(connection, _rescheduled(kept, now) if stored.state is ScheduleState.PAUSED else kept, now)
    return _update(connection, replace(stored, state=ScheduleState.PAUSED, next=None), now)


def cancel(connection: Connection, person: str, id_: int, now: datetime) -> Schedule | None:
    if (stored := _of_owner(connection, person, id_)) is None:
        return None
    amendments.withdraw_turns(connection, [id_], now)
    if stored.definition.kind is ScheduleKind.WORK:
        open_ = amendments.begun_by([id_]), turn.c.state.in_((WAITING, RUNNING))
        connection.execute(update(turn).where(*open_).values(**STOPPED))
    connection.execute(delete(schedule).where(schedule.c.id == id_))
    return stored


def due(connection: Connection, sources: frozenset[str], now: datetime, limit: int) -> list[Occurrence]:
    connection.execute(delete(schedule).where(~_LIVES, schedule.c.run_at <= now))
    found = _select_due(connection, sources, schedule.c.run_at, schedule.c.run_at <= now, limit)
    # Written so that no engine scans the index of `run_at` for it: nearly all waiting schedules are later than that.
    later = func.coalesce(schedule.c.run_at, schedule.c.next) > now + LONGEST_OFF
    misplaced = and_(schedule.c.next <= now, later)
    found += (
        _select_due(connection, sources, schedule.c.next, misplaced, limit - len(found)) if len(found) < limit else []
    )
    claimed = update(schedule).where(schedule.c.id.in_([item.id for item in found]))
    if found:
        connection.execute(claimed.values(epoch=schedule.c.epoch + 1, run_at=now + LEASE))
    return [_occurrence(replace(item, epoch=item.epoch + 1), now) for item in found]


def _select_due(
    connection: Connection, sources: frozenset[str], order: Column[Any], condition: ColumnElement[bool], limit: int
) -> list[Schedule]:
    """One of two searches, each with its own index: with both conditions in one, all waiting schedules are scanned."""
    first = select(schedule).where(_ACTIVE, condition, schedule.c.source.in_(sorted(sources)))
    first = first.order_by(order, schedule.c.id).limit(limit)
    # Other processes skip rows that this one is just taking. (SQLite has one writer and no such clause.)
    return [read(row) for row in connection.execute(first.with_for_update(skip_locked=True)).mappings()]


def _occurrence(item: Schedule, now: datetime) -> Occurrence:
    first = now if item.next is None else item.next
    last, missed = last_until(item.definition.timing, first, now)
    return Occurrence(item, last, missed)


def first_due(connection: Connection, sources: frozenset[str]) -> datetime | None:
    active = and_(schedule.c.state == ScheduleState.ACTIVE, schedule.c.source.in_(sorted(sources)))
    return connection.execute(select(func.min(schedule.c.run_at)).where(active)).scalar_one_or_none()


def last_answer(connection: Connection, id_: int) -> str:
    answers = select(message.c.text).join(turn, turn.c.id == message.c.turn)
    asked = turn.c.schedule == id_, turn.c.kind == TurnKind.SCHEDULED, turn.c.outcome == Outcome.ANSWERED
    newest = answers.where(*asked, message.c.author == Author.BOT).order_by(message.c.id.desc()).limit(1)
    return connection.execute(newest).scalar_one_or_none() or ""


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A message to accept as a turn. `reply`: the reply text if no model is asked."""

    incoming: Incoming
    indexed: IndexedText
    reply: str | None


def _accept(connection: Connection, new: NewTurn, erased_ids: ErasedIds, *, own: bool = False) -> Accepted:
    incoming = replace(new.incoming, own=own)
    accepted = ledger.accept(connection, incoming, new.indexed, erased_ids, narrowing=incoming.place.is_closed)
    if new.reply is not None and not accepted.duplicate:
        progress = encode(Progress(reply=new.reply, outcome=Outcome.ANSWERED, own=own))
        connection.execute(update(turn).where(turn.c.id == accepted.turn).values(progress=progress))
    return accepted


def begin(
    connection: Connection,
    due: Occurrence,
    new: NewTurn,
    lapse: NewTurn | None,
    seen: str | None,
    erased_ids: ErasedIds,
    now: datetime,
) -> Accepted:
    held = _held(connection, due)
    accepted = _accept(connection, new, erased_ids, own=held.definition.own)
    _advance(connection, replace(held, last=due.time, warned=held.warned or lapse is not None), due, now, seen)
    if lapse is not None:
        _accept(connection, lapse, erased_ids)
    return accepted


def skip(
    connection: Connection,
    due: Occurrence,
    notice: NewTurn | None,
    lapse: NewTurn | None,
    seen: str | None,
    erased: ErasedIds,
    now: datetime,
) -> None:
    held = _held(connection, due)
    _advance(connection, replace(held, warned=held.warned or lapse is not None), due, now, seen)
    for told in filter(None, (notice, lapse)):
        _accept(connection, told, erased)


def end(
    connection: Connection, due: Occurrence, notice: NewTurn | None, why: str, erased: ErasedIds, now: datetime
) -> None:
    _update(connection, replace(_held(connection, due), state=ScheduleState.ENDED, next=None, why=why), now)
    if notice is not None:
        _accept(connection, notice, erased)


def put_off(connection: Connection, due: Occurrence, until: datetime) -> None:
    _held(connection, due)
    connection.execute(update(schedule).where(schedule.c.id == due.schedule.id).values(run_at=until))


def _held(connection: Connection, due: Occurrence) -> Schedule:
    """The schedule of this occurrence, locked until the transaction ends. Raises LeaseLost."""
    same = schedule.c.id == due.schedule.id, schedule.c.epoch == due.schedule.epoch
    active = schedule.c.state == ScheduleState.ACTIVE
    row = connection.execute(select(schedule).where(*same, active).with_for_update()).mappings().one_or_none()
    if row is None:
        raise LeaseLost(f"Schedule {due.schedule.id} is no longer held.")
    return read(row)


def _advance(connection: Connection, item: Schedule, due: Occurrence, now: datetime, seen: str | None) -> None:
    """Move the schedule to the time after this occurrence; times between that and now are due as one."""
    if seen is not None and item.definition.check is not None:
        item = replace(item, definition=replace(item.definition, check=replace(item.definition.check, seen=seen)))
    _update(connection, _rescheduled(item, due.time), now)


def _rescheduled(item: Schedule, after: datetime) -> Schedule:
    timing = item.definition.timing
    next_time = next_occurrence(timing, after)
    over = ScheduleState.PAUSED if timing.lapses else ScheduleState.ENDED
    return replace(item, next=next_time, state=over if next_time is None else ScheduleState.ACTIVE, why="")


def _of_owner(connection: Connection, person: str, id_: int) -> Schedule | None:
    own = schedule.c.id == id_, schedule.c.person == person
    row = connection.execute(select(schedule).where(*own).with_for_update()).mappings().one_or_none()
    return None if row is None else read(row)


def _update(connection: Connection, item: Schedule, now: datetime) -> Schedule:
    """Store the schedule under a new epoch, so that a process that holds it loses it."""
    changed = replace(item, epoch=item.epoch + 1)
    run_at = now + SHOWN_FOR if item.state is ScheduleState.ENDED else item.next
    values = _values(changed) | {"run_at": run_at}
    connection.execute(update(schedule).where(schedule.c.id == item.id).values(values))
    return changed


_AS_MADE: Final = ("person", "source", "channel", "conversation", "message", "words")


def _values(item: Schedule) -> dict[str, Any]:
    made, timing = item.definition, item.definition.timing
    rest = {
        "kind": made.kind,
        "within_team": made.place.within_team,
        "whole_channel": made.place.whole_channel,
        "direct": made.direct,
        "own": made.own,
        "created": made.created.isoformat(),
        "zone": timing.zone,
        "at": timing.at and timing.at.astimezone(UTC).isoformat(),
        "rule": timing.rule,
        "until": timing.until and timing.until.astimezone(UTC).isoformat(),
        "weeks": timing.weeks,
        "days": timing.days,
        "since": timing.since and timing.since.astimezone(UTC).isoformat(),
        "check": made.check and asdict(made.check),
        "why": item.why,
        **({"mention": True} if made.mention else {}),
        **({"report": made.report} if made.report else {}),
        **({"lapses": timing.lapses} if timing.until is not None else {}),
        **({"warned": True} if item.warned else {}),
    }
    return {
        **{name: getattr(made, name) for name in _AS_MADE},
        "audience": label(made.place.audience),
        "made": json_text(rest),
        "state": item.state,
        "next": item.next,
        "last": item.last,
        "epoch": item.epoch,
    }


def read(row: RowMapping) -> Schedule:
    rest: Any = read_json(row["made"])
    check, at, until, since = rest["check"], rest["at"], rest["until"], rest["since"]
    ends = until and datetime.fromisoformat(until)
    timing = Timing(
        rest["zone"],
        at and datetime.fromisoformat(at),
        rest["rule"],
        ends,
        weeks=rest["weeks"],
        days=rest.get("days", 1),
        since=since and datetime.fromisoformat(since),
        # Rows of older versions do not say so; an end that a person gave is a whole second, unlike one that we set.
        lapses=rest.get("lapses", bool(ends and ends.microsecond)),
    )
    made = NewSchedule(
        **{name: row[name] for name in _AS_MADE},
        place=Place(audience_of(row["audience"]), rest["within_team"], rest.get("whole_channel", False)),
        kind=ScheduleKind(rest["kind"]),
        timing=timing,
        created=datetime.fromisoformat(rest["created"]),
        direct=rest["direct"],
        own=rest.get("own", False),
        check=check and FirstCheck(**check | {"kind": CheckKind(check["kind"])}),
        mention=rest.get("mention", False),
        report=rest.get("report", ""),
    )
    state = ScheduleState(row["state"])
    warned = rest.get("warned", False)
    return Schedule(row["id"], made, row["next"], state, row["last"], rest["why"], row["epoch"], warned)


class SqlSchedules(SqlStore):
    of_person = reads(of_person)
    all = reads(listed)
    cancel = writes(cancel)
    due = writes(due)
    put_off = writes(put_off)
    first_due = reads_one(first_due)
    last_answer = reads(last_answer)
    by_id = reads(by_id)

    def __init__(self, database: Database, erased_ids: ErasedIds, notifier: LocalNotifier) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids
        self._notifier = notifier

    def on_change(self, listener: Callable[[], None]) -> None:
        self._notifier.listen(CHANGED, listener)

    async def add(self, new: NewSchedule) -> Schedule | ScheduleRefused:
        stored = await self.database.write(add, new)
        self._notifier.publish(CHANGED)
        return stored

    async def change(
        self, person: str, id_: int, *, timing: Timing | None = None, words: str | None = None, now: datetime
    ) -> Schedule | None:
        changed = await self.database.write(change, person, id_, timing=timing, words=words, now=now)
        self._notifier.publish(CHANGED)
        return changed

    async def pause(self, person: str, id_: int, *, paused: bool, now: datetime) -> Schedule | None:
        found = await self.database.write(pause, person, id_, paused=paused, now=now)
        self._notifier.publish(CHANGED)
        return found

    async def begin(
        self,
        due: Occurrence,
        incoming: Incoming,
        now: datetime,
        *,
        reply: str | None = None,
        seen: str | None = None,
        lapse: Notice | None = None,
    ) -> Accepted:
        """Store an occurrence's turn, and the next time. For a forgotten one: `Accepted(0, duplicate=True)`."""
        kind = KINDS[due.schedule.definition.kind]
        name = occurrence_id(due.schedule.id, due.time, kind)
        new = await self._new_turn(replace(incoming, kind=kind, schedule=due.schedule.id), name, reply)
        lapsing = await self._notice_turn(due, lapse)
        return await self.database.write(begin, due, new, lapsing, seen, self._erased_ids, now)

    async def skip(
        self,
        due: Occurrence,
        now: datetime,
        *,
        seen: str | None = None,
        notice: Notice | None = None,
        lapse: Notice | None = None,
    ) -> None:
        turns = await self._notice_turn(due, notice), await self._notice_turn(due, lapse)
        await self.database.write(skip, due, *turns, seen, self._erased_ids, now)

    async def end(self, due: Occurrence, why: str, now: datetime, *, notice: Notice | None = None) -> None:
        await self.database.write(end, due, await self._notice_turn(due, notice), why, self._erased_ids, now)

    async def _notice_turn(self, due: Occurrence, notice: Notice | None) -> NewTurn | None:
        if notice is None:
            return None
        incoming = replace(notice.incoming, kind=TurnKind.NOTICE, schedule=due.schedule.id)
        return await self._new_turn(incoming, notice.name, notice.words)

    async def _new_turn(self, incoming: Incoming, name: str, reply: str | None) -> NewTurn:
        named = replace(incoming, event_id=name, message_id=name)
        return NewTurn(named, await index.indexed(self.database, named.text), reply)
