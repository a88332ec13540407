"""What is done at a time: kept, found when it is due, and begun as a turn of the ledger, once.

Rules
  Who finds a schedule due has it for LEASE: `run_at` is moved on, and `epoch` raised, which every later write names.
  The turn of an occurrence, and the time of the next one, are written together: a kill leaves both or none.
  An occurrence is named by its schedule and its time, and comes no second time after a clock went back; nor does a
  schedule wait for a time to which a clock that was wrong had moved it.
  What was missed is due as one: its last time, and how many came before it.
  Of one that has ended, `run_at` says when it goes.
  Work has ended as soon as it was begun; what is left of it is its turn. It counts among a person's work until both are
  over, and is asked for once: a call that is made again after a crash means the same.
"""

from collections.abc import Callable, Sequence
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
from agent.memory.audience import Place, audience_of, label
from agent.progress import Progress, encode
from agent.records import Accepted, Incoming
from agent.schedules import (
    MAX_AT_WORK,
    WORK,
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
    last_until,
    lasting_source,
    next_occurrence,
    occurrence_id,
    with_end,
)
from store import rows
from store.databases.database import Database, LocalNotifier, SqlStore, in_order, reads, row_id, writes
from store.forgetting.selection import ErasedIds
from store.search import index
from store.search.text import IndexedText
from store.tables import RUNNING, WAITING, schedule, turn
from store.turns import amendments, ledger
from store.turns.amendments import STOPPED

MAX_OF_PERSON: Final = 50  # That go on: more nobody remembers having
MAX_IN_CHANNEL: Final = 100
LEASE: Final = timedelta(seconds=30)  # As of a turn: longer than it takes to ask a platform, and what a kill delays
# No schedule is put off, or held, for longer: what is to wait longer was moved by a clock that was wrong.
LONGEST_OFF: Final = timedelta(hours=2)
SHOWN_FOR: Final = timedelta(days=7)  # What has ended stays in lists so long, with its reason

CHANGED: Final = "schedules"  # What is told to all processes when there is a new time

_LIVES: Final = schedule.c.state != ScheduleState.ENDED
_ACTIVE: Final = schedule.c.state == ScheduleState.ACTIVE
_OF_WORK: Final = schedule.c.made.contains(f'"kind":"{ScheduleKind.WORK}"')


def keep(connection: Connection, new: NewSchedule) -> Schedule | ScheduleRefused:
    in_order(connection, f"schedules of {new.person}")
    in_order(connection, f"schedules in {new.channel}")
    if new.kind is ScheduleKind.WORK and (known := _same_or_too_much(connection, new)) is not None:
        return known
    theirs, there = schedule.c.person == new.person, schedule.c.channel == new.channel
    if new.message and amendments.is_deleted(connection, new.channel, new.message):
        return ScheduleRefused.QUESTION_DELETED
    limits = [(theirs, MAX_OF_PERSON, ScheduleRefused.MANY_OF_PERSON)]
    if not new.direct:
        limits.append((there, MAX_IN_CHANNEL, ScheduleRefused.MANY_IN_CHANNEL))
    for where, limit, refused in limits:
        counted = select(func.count()).select_from(schedule).where(where, _LIVES)
        if connection.execute(counted).scalar_one() >= limit:
            return refused
    kept = replace(new, source=lasting_source(new.source, new.person), timing=with_end(new.timing, new.created))
    first = new.created if new.kind is ScheduleKind.WORK else next_occurrence(kept.timing, new.created)
    one = Schedule(0, kept, first, ScheduleState.ENDED if first is None else ScheduleState.ACTIVE)
    values = _values(one) | {"run_at": new.created + SHOWN_FOR if first is None else first}
    return replace(one, id=row_id(connection.execute(insert(schedule).values(values))))


def _same_or_too_much(connection: Connection, new: NewSchedule) -> Schedule | ScheduleRefused | None:
    theirs = select(schedule).where(schedule.c.person == new.person, _OF_WORK)
    works = [read(row) for row in connection.execute(theirs).mappings()]
    if new.message:
        asked = new.conversation, new.message, new.words
        for one in works:
            if (one.made.conversation, one.made.message, one.made.words) == asked:
                return one
    open_ = [one for one in _with_turns(connection, works) if one.state is not ScheduleState.ENDED]
    return ScheduleRefused.MANY_AT_WORK if len(open_) >= MAX_AT_WORK else None


def _with_turns(connection: Connection, some: Sequence[Schedule]) -> list[Schedule]:
    """As they are by now: work goes on as long as its turn does."""
    begun = {_name(one, one.last): one.id for one in some if one.made.kind is ScheduleKind.WORK and one.last}
    if not begun:
        return [*some]
    open_ = select(turn.c.event_id).where(turn.c.event_id.in_(begun), turn.c.state.in_((WAITING, RUNNING)))
    working = {begun[event_id] for event_id in connection.execute(open_).scalars()}
    return [replace(one, state=ScheduleState.WORKING) if one.id in working else one for one in some]


def _name(one: Schedule, time: datetime) -> str:
    name = occurrence_id(one.id, time)
    return f"{name}{WORK}" if one.made.kind is ScheduleKind.WORK else name


def of_person(connection: Connection, person: str) -> list[Schedule]:
    return _listed(connection, schedule.c.person == person)


def by_id(connection: Connection, id_: int) -> Schedule | None:
    row = connection.execute(select(schedule).where(schedule.c.id == id_)).mappings().one_or_none()
    return None if row is None else read(row)


def listed(connection: Connection, limit: int) -> list[Schedule]:
    return _listed(connection, or_(_LIVES, _OF_WORK), limit)


def _listed(connection: Connection, where: Any, limit: int | None = None) -> list[Schedule]:  # noqa: ANN401 -- a condition
    """Work that is over is none of them: what came of it stands in its conversation."""
    ordered = select(schedule).where(where).order_by(~_LIVES, schedule.c.next.asc().nulls_last(), schedule.c.id)
    found = [read(row) for row in connection.execute(ordered.limit(limit)).mappings()]
    over = ScheduleKind.WORK, ScheduleState.ENDED
    return [one for one in _with_turns(connection, found) if (one.made.kind, one.state) != over]


def change(
    connection: Connection,
    person: str,
    id_: int,
    *,
    timing: Timing | None = None,
    words: str | None = None,
    now: datetime,
) -> Schedule | None:
    if (one := _theirs(connection, person, id_)) is None:
        return None
    made = one.made if words is None else replace(one.made, words=words)
    if timing is None:
        return _put(connection, replace(one, made=made), now)
    changed = replace(one, made=replace(made, timing=with_end(timing, now)))
    return _put(connection, changed if one.state is ScheduleState.PAUSED else _from(changed, now), now)


def pause(connection: Connection, person: str, id_: int, *, paused: bool, now: datetime) -> Schedule | None:
    one = _theirs(connection, person, id_)
    if one is None or one.state is ScheduleState.ENDED:
        return one
    if not paused:
        return _put(connection, _from(one, now) if one.state is ScheduleState.PAUSED else one, now)
    return _put(connection, replace(one, state=ScheduleState.PAUSED, next=None), now)


def cancel(connection: Connection, person: str, id_: int, now: datetime) -> Schedule | None:
    if (one := _theirs(connection, person, id_)) is None:
        return None
    amendments.withdraw_turns(connection, [id_], now)
    if one.made.kind is ScheduleKind.WORK:
        open_ = amendments.begun_by(id_), turn.c.state.in_((WAITING, RUNNING))
        connection.execute(update(turn).where(*open_).values(**STOPPED))
    connection.execute(delete(schedule).where(schedule.c.id == id_))
    return one


def due(connection: Connection, sources: frozenset[str], now: datetime, limit: int) -> list[Occurrence]:
    connection.execute(delete(schedule).where(~_LIVES, schedule.c.run_at <= now))
    found = _taken(connection, sources, schedule.c.run_at, schedule.c.run_at <= now, limit)
    # Written so that no engine looks through the index of `run_at` for it: nearly all that wait are later than that.
    later = func.coalesce(schedule.c.run_at, schedule.c.next) > now + LONGEST_OFF
    moved = and_(schedule.c.next <= now, later)
    found += _taken(connection, sources, schedule.c.next, moved, limit - len(found)) if len(found) < limit else []
    taken = update(schedule).where(schedule.c.id.in_([one.id for one in found]))
    if found:
        connection.execute(taken.values(epoch=schedule.c.epoch + 1, run_at=now + LEASE))
    return [_occurrence(replace(one, epoch=one.epoch + 1), now) for one in found]


def _taken(
    connection: Connection, sources: frozenset[str], order: Column[Any], when: ColumnElement[bool], limit: int
) -> list[Schedule]:
    """One of two searches, each by an index of its own: with both conditions in one, all that wait are looked at."""
    first = select(schedule).where(_ACTIVE, when, schedule.c.source.in_(sorted(sources)))
    first = first.order_by(order, schedule.c.id).limit(limit)
    # Others pass by what one is just taking. (SQLite has one writer, and no such words.)
    return [read(row) for row in connection.execute(first.with_for_update(skip_locked=True)).mappings()]


def _occurrence(one: Schedule, now: datetime) -> Occurrence:
    first = now if one.next is None else one.next
    last, missed = last_until(one.made.timing, first, now)
    return Occurrence(one, last, missed)


def first_due(connection: Connection, sources: frozenset[str]) -> datetime | None:
    active = and_(schedule.c.state == ScheduleState.ACTIVE, schedule.c.source.in_(sorted(sources)))
    return connection.execute(select(func.min(schedule.c.run_at)).where(active)).scalar_one_or_none()


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What is taken in as a turn. `reply`: what it says without a model."""

    incoming: Incoming
    said: IndexedText
    reply: str | None


def _take_in(connection: Connection, new: TakenIn, erased_ids: ErasedIds, *, own: bool = False) -> Accepted:
    narrowing = new.incoming.place.is_closed
    accepted = ledger.accept(connection, new.incoming, new.said, erased_ids, narrowing=narrowing)
    if new.reply is not None and not accepted.duplicate:
        said = encode(Progress(reply=new.reply, outcome=Outcome.ANSWERED, own=own))
        connection.execute(update(turn).where(turn.c.id == accepted.turn).values(progress=said))
    return accepted


def begin(
    connection: Connection, due: Occurrence, new: TakenIn, seen: str | None, erased_ids: ErasedIds, now: datetime
) -> Accepted:
    held = _held(connection, due)
    accepted = _take_in(connection, new, erased_ids, own=held.made.own)
    _advance(connection, replace(held, last=due.time), due, now, seen)
    return accepted


def skip(
    connection: Connection, due: Occurrence, told: TakenIn | None, seen: str | None, erased: ErasedIds, now: datetime
) -> None:
    _advance(connection, _held(connection, due), due, now, seen)
    if told is not None:
        _take_in(connection, told, erased)


def end(
    connection: Connection, due: Occurrence, told: TakenIn | None, why: str, erased: ErasedIds, now: datetime
) -> None:
    _put(connection, replace(_held(connection, due), state=ScheduleState.ENDED, next=None, why=why), now)
    if told is not None:
        _take_in(connection, told, erased)


def put_off(connection: Connection, due: Occurrence, until: datetime) -> None:
    _held(connection, due)
    connection.execute(update(schedule).where(schedule.c.id == due.schedule.id).values(run_at=until))


def _held(connection: Connection, due: Occurrence) -> Schedule:
    """As it stands now, held until the transaction ends. Raises LeaseLost."""
    this = schedule.c.id == due.schedule.id, schedule.c.epoch == due.schedule.epoch
    active = schedule.c.state == ScheduleState.ACTIVE
    row = connection.execute(select(schedule).where(*this, active).with_for_update()).mappings().one_or_none()
    if row is None:
        raise LeaseLost(f"Schedule {due.schedule.id} is no longer held.")
    return read(row)


def _advance(connection: Connection, one: Schedule, due: Occurrence, now: datetime, seen: str | None) -> None:
    """On to the time after this one; what comes between it and now was missed, and is due with it."""
    if seen is not None and one.made.check is not None:
        one = replace(one, made=replace(one.made, check=replace(one.made.check, seen=seen)))
    _put(connection, _from(one, due.time), now)


def _from(one: Schedule, after: datetime) -> Schedule:
    found = next_occurrence(one.made.timing, after)
    return replace(one, next=found, state=ScheduleState.ENDED if found is None else ScheduleState.ACTIVE, why="")


def _theirs(connection: Connection, person: str, id_: int) -> Schedule | None:
    this = schedule.c.id == id_, schedule.c.person == person
    row = connection.execute(select(schedule).where(*this).with_for_update()).mappings().one_or_none()
    return None if row is None else read(row)


def _put(connection: Connection, one: Schedule, now: datetime) -> Schedule:
    """Whoever holds it loses it."""
    changed = replace(one, epoch=one.epoch + 1)
    run_at = now + SHOWN_FOR if one.state is ScheduleState.ENDED else one.next
    values = _values(changed) | {"run_at": run_at}
    connection.execute(update(schedule).where(schedule.c.id == one.id).values(values))
    return changed


_AS_MADE: Final = ("person", "source", "channel", "conversation", "message", "words")


def _values(one: Schedule) -> dict[str, Any]:
    made, timing = one.made, one.made.timing
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
        "why": one.why,
        **({"mention": True} if made.mention else {}),
    }
    return {
        **{name: getattr(made, name) for name in _AS_MADE},
        "audience": label(made.place.audience),
        "made": rows.json_text(rest),
        "state": one.state,
        "next": one.next,
        "last": one.last,
        "epoch": one.epoch,
    }


def read(row: RowMapping) -> Schedule:
    rest: Any = rows.read_json(row["made"])
    check, at, until, since = rest["check"], rest["at"], rest["until"], rest["since"]
    timing = Timing(
        rest["zone"],
        at and datetime.fromisoformat(at),
        rest["rule"],
        until and datetime.fromisoformat(until),
        weeks=rest["weeks"],
        days=rest.get("days", 1),
        since=since and datetime.fromisoformat(since),
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
    )
    state = ScheduleState(row["state"])
    return Schedule(row["id"], made, row["next"], state, row["last"], rest["why"], row["epoch"])


class SqlSchedules(SqlStore):
    of_person = reads(of_person)
    all = reads(listed)
    cancel = writes(cancel)
    due = writes(due)
    put_off = writes(put_off)
    first_due = reads(first_due)
    by_id = reads(by_id)

    def __init__(self, database: Database, erased_ids: ErasedIds, notifier: LocalNotifier) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids
        self._notifier = notifier

    def on_change(self, heard: Callable[[], None]) -> None:
        self._notifier.listen(CHANGED, heard)

    async def keep(self, new: NewSchedule) -> Schedule | ScheduleRefused:
        kept = await self.database.write(keep, new)
        self._notifier.tell(CHANGED)
        return kept

    async def change(
        self, person: str, id_: int, *, timing: Timing | None = None, words: str | None = None, now: datetime
    ) -> Schedule | None:
        changed = await self.database.write(change, person, id_, timing=timing, words=words, now=now)
        self._notifier.tell(CHANGED)
        return changed

    async def pause(self, person: str, id_: int, *, paused: bool, now: datetime) -> Schedule | None:
        found = await self.database.write(pause, person, id_, paused=paused, now=now)
        self._notifier.tell(CHANGED)
        return found

    async def begin(
        self, due: Occurrence, incoming: Incoming, now: datetime, *, reply: str | None = None, seen: str | None = None
    ) -> Accepted:
        """See the port. For one that was forgotten, `Accepted(0, duplicate=True)`."""
        new = await self._named(incoming, _name(due.schedule, due.time), reply)
        return await self.database.write(begin, due, new, seen, self._erased_ids, now)

    async def skip(
        self, due: Occurrence, now: datetime, *, seen: str | None = None, notice: Notice | None = None
    ) -> None:
        await self.database.write(skip, due, await self._told(notice), seen, self._erased_ids, now)

    async def end(self, due: Occurrence, why: str, now: datetime, *, notice: Notice | None = None) -> None:
        await self.database.write(end, due, await self._told(notice), why, self._erased_ids, now)

    async def _told(self, notice: Notice | None) -> TakenIn | None:
        return None if notice is None else await self._named(notice.incoming, notice.name, notice.words)

    async def _named(self, incoming: Incoming, name: str, reply: str | None) -> TakenIn:
        named = replace(incoming, event_id=name, message_id=name)
        return TakenIn(named, await index.indexed(self.database, named.text), reply)
