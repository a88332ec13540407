"""The queue of turns: what waits for a worker, who claims the next one, and what waits for its asker's word.

Rules
  A claim raises the epoch, which every later write names.
  A turn that cannot be read is put aside as refused, so that it never stands in the way of the others.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import NoResultFound

from agent.events import Outcome
from agent.messages import AnswerOutcome, Consent, ElicitAction, OpenQuestion
from agent.progress import decode
from agent.records import SCHEDULED, Author, Claim, Claiming, ConsentOutcome, Load, Undecided
from agent.schedules import WORK, asked_in
from store import rows
from store.databases.database import SqlStore, UtcDateTime, in_order, reads, writes
from store.tables import DONE, RUNNING, WAITING, consent, message, open_question, person, turn

# Whose turn is next: fair between people, in order within a conversation.
#
# Rules
#   A turn whose worker is gone comes first: somebody has been waiting for its end. Then the person of whom the fewest
#   turns run; among those, who was served longest ago, so that with a single worker people take turns, too; then the
#   oldest. A flood of one person delays another by what already runs, and no more. Of a conversation only the first
#   waiting turn can be next, and only while none of it runs. An earlier one is in the way even if another worker is
#   just claiming it, which cannot be seen yet. Long work counts beside the rest, and is claimed where there is room for
#   it. How many of a person run is counted in all processes. Those that claim
#   in the very same moment do not see one another, and may each let one more of them run: to wait for each other
#   would cost every claim more than that is worth. The cost grows with the turns that wait and run, not with those
#   that are done; no text is read until one is chosen.


def next_turn(
    connection: sa.Connection,
    now: datetime,
    per_person: int | None,
    sources: frozenset[str] | None,
    *,
    works: bool = True,
) -> int | None:
    """The id of the turn to be claimed, held against other workers until the transaction ends; None if there is none.

    `per_person`: of one person no more than so many run at once. `sources`: only turns from there (None: all). `works`:
    whether it may be work.
    """
    statement = _next_turn(limited=per_person is not None, ours=sources is not None, works=works)
    values = {"now": now, "per_person": per_person, "sources": sorted(sources or ())}
    return connection.execute(statement, values).scalar_one_or_none()


@cache
def _next_turn(*, limited: bool, ours: bool, works: bool) -> sa.Select[*tuple[int]]:
    """Made once for each of its eight forms: making it takes longer than running it."""
    now = sa.bindparam("now", type_=UtcDateTime)
    running = _running().subquery("running")
    theirs = sa.func.coalesce(running.c.turns, 0)
    waits = sa.and_(turn.c.state == WAITING, turn.c.id.in_(_first_of_each_conversation(now)))
    if limited:
        waits = sa.and_(waits, sa.or_(theirs < sa.bindparam("per_person"), _IS_WORK))
    lost = sa.and_(turn.c.state == RUNNING, turn.c.lease_until <= now)
    here = turn.c.source.in_(sa.bindparam("sources", expanding=True)) if ours else sa.true()
    here = here if works else sa.and_(here, ~_IS_WORK)
    return (
        sa.select(turn.c.id)
        .select_from(
            turn.join(person, person.c.id == turn.c.person).outerjoin(running, running.c.person == turn.c.person)
        )
        .where(turn.c.state.in_((WAITING, RUNNING)), sa.or_(waits, lost), here)
        .order_by(sa.case((lost, 0), else_=1), theirs, person.c.served.nulls_first(), turn.c.id)
        .limit(1)
        # Workers pass by what another one is just claiming. (SQLite has one writer, and no such words.)
        .with_for_update(of=turn, skip_locked=True)
    )


_ASKER: Final = (
    sa.select(person.c.number)
    .where(person.c.id == sa.bindparam("asker"))
    .with_for_update(key_share=True, skip_locked=True)
)
_SERVE: Final = sa.update(person).where(person.c.number.in_(_ASKER))


def mark_served(connection: sa.Connection, person_id: str, now: datetime) -> None:
    """Note that a turn of this person is claimed now, unless another worker is just noting the same."""
    connection.execute(_SERVE, {"asker": person_id, "served": now})


_IS_WORK: Final = sa.and_(
    turn.c.event_id.startswith(SCHEDULED, autoescape=True), turn.c.event_id.endswith(WORK, autoescape=True)
)


def _running() -> sa.Select[*tuple[str, int]]:
    """How many turns of each person run, beside their work."""
    counted = sa.select(turn.c.person, sa.func.count().label("turns"))
    return counted.where(turn.c.state == RUNNING, ~_IS_WORK).group_by(turn.c.person)


def _first_of_each_conversation(now: sa.ColumnElement[datetime]) -> sa.Select[*tuple[int]]:
    """The ids of the first waiting turns of the conversations in which none runs."""
    busy = sa.select(turn.c.conversation).where(turn.c.state == RUNNING)
    waiting = turn.alias("waiting")
    due = sa.and_(waiting.c.state == WAITING, _due(waiting, now), waiting.c.conversation.not_in(busy))
    return sa.select(sa.func.min(waiting.c.id)).where(due).group_by(waiting.c.conversation)


def _due(table: sa.FromClause, now: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    return sa.or_(table.c.run_at.is_(None), table.c.run_at <= now)


log = logging.getLogger(__name__)

_QUESTION: Final = ("text", "time", "audience", "permalink")
_TAKE: Final = sa.update(turn).where(turn.c.id == sa.bindparam("chosen"))


def claim_turn(connection: sa.Connection, claiming: Claiming) -> Claim | None:
    owner, now = claiming.owner, claiming.now
    while (
        chosen := next_turn(connection, now, claiming.per_person, claiming.sources, works=claiming.works)
    ) is not None:
        try:
            row = connection.execute(_asked(), {"chosen": chosen}).mappings().one()
            claimed = rows.claim(row, owner)
        except (ValueError, KeyError, TypeError, AttributeError, NoResultFound) as error:
            log.error("turn %d cannot be read and is put aside (%s)", chosen, type(error).__name__)  # noqa: TRY400  (the traceback holds the row)
            connection.execute(sa.update(turn).where(turn.c.id == chosen).values(**rows.over(now, Outcome.REFUSED)))
            continue
        taken = {
            "owner": owner,
            "lease_until": now + claiming.lease,
            "epoch": claimed.epoch,
            "attempts": claimed.attempts,
            "began": row["began"] or now,
        }
        connection.execute(_TAKE, {"chosen": chosen, "state": RUNNING, **taken})
        mark_served(connection, claimed.incoming.person.id, now)
        return claimed
    return None


@cache
def _asked() -> sa.Select[*tuple[Any, ...]]:
    """A turn, its question and its person. Made once."""
    question = message.c.id.label("question")
    columns = (turn, person.c.name, person.c.time_zone, question, *(message.c[name] for name in _QUESTION))
    joined = turn.join(person, person.c.id == turn.c.person).join(
        message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    )
    return sa.select(*columns).select_from(joined).where(turn.c.id == sa.bindparam("chosen"))


# Turns of other processes: taking over what one that is gone has left, and hearing how one ended.
#
# Rule: gone is whoever let a lease run out, or gave a turn back, or for a whole lease did not claim what it took in.
# Where no other process can work on the database, everybody else is gone.


def take_over_turns(
    connection: sa.Connection, person: str, family: str, source: str, now: datetime, lease: timedelta, *, alone: bool
) -> int:
    """Let `source` have what others of its family have left of this person's open turns; how many there are."""
    theirs = sa.or_(turn.c.source == family, turn.c.source.startswith(f"{family}:", autoescape=True))
    lost = sa.and_(turn.c.state == RUNNING, turn.c.lease_until <= now)
    held = turn.c.lease_until.is_not(None)
    unheld = sa.and_(~held, sa.true() if alone else sa.or_(turn.c.epoch > 0, _asked_by(now - lease)))
    left = sa.and_(turn.c.state == WAITING, sa.or_(unheld, sa.and_(held, turn.c.lease_until <= now)))
    open_ = turn.c.state.in_((WAITING, RUNNING))
    taken = sa.update(turn).where(turn.c.person == person, open_, theirs, turn.c.source != source, sa.or_(lost, left))
    return connection.execute(taken.values(source=source)).rowcount


def hold_place(connection: sa.Connection, source: str, until: datetime) -> bool:
    open_ = sa.and_(turn.c.source == source, turn.c.state.in_((WAITING, RUNNING)))
    return connection.execute(sa.update(turn).where(open_).values(lease_until=until)).rowcount > 0


def _asked_by(time: datetime) -> sa.ColumnElement[bool]:
    asked = sa.select(message.c.id).where(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    return sa.exists(asked.where(message.c.time <= time))


def ended_turns(connection: sa.Connection, turns: Iterable[int]) -> dict[int, Outcome | None]:
    """How those of these turns ended that are over; None for one that was forgotten."""
    found = sa.select(turn.c.id, turn.c.state, turn.c.outcome).where(turn.c.id.in_(turns))
    known = {row.id: row for row in connection.execute(found)}
    over = (id_ for id_ in turns if id_ not in known or known[id_].state not in {WAITING, RUNNING})
    return {id_: Outcome(known[id_].outcome) if id_ in known and known[id_].outcome else None for id_ in over}


def pages_of_ended(connection: sa.Connection, number: int) -> tuple[str, ...] | None:
    """The pages of the reply to a turn that is over, none if it was forgotten; None while it is open."""
    found = connection.execute(sa.select(turn.c.state, turn.c.pages).where(turn.c.id == number)).one_or_none()
    if found is None:
        return ()
    return None if found.state in {WAITING, RUNNING} else tuple(rows.read_pages(found.pages))


def current_load(connection: sa.Connection) -> Load:
    counted = (
        sa.select(turn.c.state, sa.func.count()).where(turn.c.state.in_((WAITING, RUNNING))).group_by(turn.c.state)
    )
    found = {row[0]: row[1] for row in connection.execute(counted)}
    return Load(running=found.get(RUNNING, 0), waiting=found.get(WAITING, 0))


# What a turn waits for its asker to say: whether a call may run, and what a tool asks in the middle of a call.
#
# Rules of consents, for which a turn is put aside; it goes on with the last word
#   A turn that is put aside waits like any other, but not before its time is over; so it holds up nobody in its
#   conversation, and any process goes on with it. With the last word about it that time is now.
#   One word counts for each call, the first; only its asker's. A turn that starts anew has lost them all. A word that
#   stands for the conversation lets further calls of that tool run, of the same person there.
#
# Rules of open questions, each a row as long as its call waits
#   A question belongs to the claim that waits for its answer. Whoever claims the turn anew knows nothing of the call,
#   so what an earlier epoch has asked is over, and says so. Only the turn's asker answers, once.
#   Whoever waits erases the row. What a process left that was killed goes with its turn's end, or with the next
#   question of anybody once its time is over.

MOST_SHOWN: Final = 20
"""Turns: more at once nobody decides about."""

_ASIDE: Final = sa.select(turn.c.id, turn.c.person, turn.c.conversation, turn.c.progress, message.c.text).join_from(
    turn, message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
)


def decide(
    connection: sa.Connection, number: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool
) -> ConsentOutcome:
    """Keep the asker's word about a call of a turn that waits for it."""
    found = connection.execute(sa.select(turn).where(turn.c.id == number).with_for_update()).one_or_none()
    if found is None:
        return ConsentOutcome.OVER
    if found.person != person:
        return ConsentOutcome.NOT_THEIRS
    known = decided(connection, number)
    if call in known and known[call] is not Consent.EDITED:
        given = known[call] is Consent.GIVEN
        return ConsentOutcome.ALLOWED_BEFORE if given else ConsentOutcome.REFUSED_BEFORE
    # One that runs is just being put aside; or its time is over, which `run_at` says then.
    over = found.state == DONE or found.stopping or (found.run_at is not None and found.run_at <= now)
    awaited = decode(found.progress).awaited
    if over or call in known or call not in awaited:
        return ConsentOutcome.OVER
    here = asked_in(found.conversation)
    row = {"turn": number, "call": call, "word": word, "person": person, "conversation": here}
    kept = {"tool": awaited[call].name, "standing": standing and word is Consent.GIVEN, "decided": now}
    connection.execute(sa.insert(consent).values(**row, **kept))
    return ConsentOutcome.GOES_ON if go_on(connection, number) else ConsentOutcome.KEPT


def go_on(connection: sa.Connection, number: int) -> bool:
    """Let a turn of which every call is decided, or that was stopped, go on at once; whether it does."""
    found = connection.execute(sa.select(turn.c.progress, turn.c.stopping).where(turn.c.id == number)).one()
    if not found.stopping and decode(found.progress).awaited.keys() - decided(connection, number).keys():
        return False
    connection.execute(sa.update(turn).where(turn.c.id == number).values(run_at=None))
    return True


def decided(connection: sa.Connection, turn: int) -> dict[str, Consent]:
    """What was said of the turn's calls."""
    words = sa.select(consent.c.call, consent.c.word).where(consent.c.turn == turn)
    return {row.call: Consent(row.word) for row in connection.execute(words)}


def standing(connection: sa.Connection, conversation: str, person: str) -> frozenset[str]:
    """The tools that this person lets run in this conversation."""
    theirs = sa.and_(consent.c.conversation == conversation, consent.c.person == person, consent.c.standing)
    return frozenset(connection.execute(sa.select(consent.c.tool).where(theirs)).scalars())


def undecided(connection: sa.Connection, person: str) -> list[Undecided]:
    """Every call that waits for this person's word, the oldest first."""
    asks = turn.c.progress.contains(f'"{Consent.AWAITED}"')
    aside = sa.and_(turn.c.person == person, turn.c.state.in_((WAITING, RUNNING)), asks, ~turn.c.stopping)
    found: list[Undecided] = []
    for row in connection.execute(_ASIDE.where(aside).order_by(turn.c.id).limit(MOST_SHOWN)):
        known = decided(connection, row.id)
        calls = decode(row.progress).awaited.items()
        found += [Undecided(row.id, key, call, row.text) for key, call in calls if key not in known]
    return found


class SqlConsents(SqlStore):
    decided = reads(decided)
    standing = reads(standing)
    undecided = reads(undecided)

    async def decide(
        self, turn: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool = False
    ) -> ConsentOutcome:
        return await self.database.write(decide, turn, call, person, word, now, standing=standing)


_RUNS: Final = sa.and_(
    turn.c.id == open_question.c.turn, turn.c.epoch == open_question.c.epoch, turn.c.state == RUNNING
)
_HELD: Final = sa.and_(_RUNS, ~turn.c.stopping)
_RUNNING_ROWS: Final = sa.select(open_question).join_from(open_question, turn, _RUNS)
_HELD_ROWS: Final = sa.select(open_question).join_from(open_question, turn, _HELD)
_WAITING: Final = (
    sa.select(open_question, message.c.text)
    .join_from(open_question, turn, _HELD)
    .join(message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
    .where(open_question.c.action == "")
)


def _of(number: int, key: str) -> sa.ColumnElement[bool]:
    return sa.and_(open_question.c.turn == number, open_question.c.key == key)


def _in_time(now: datetime) -> sa.ColumnElement[bool]:
    """Also of the claim: a process that is gone renews it no more."""
    return sa.and_(open_question.c.until > now, turn.c.lease_until > now)


def open_(
    connection: sa.Connection, claim: Claim, key: str, asked: str, now: datetime, until: datetime, most: int
) -> bool:
    person = claim.incoming.person.id
    in_order(connection, f"questions {person}")
    connection.execute(sa.delete(open_question).where(open_question.c.until <= now))
    if len(waiting(connection, person, now)) >= most:
        return False
    row = {"turn": claim.turn, "key": key, "epoch": claim.epoch, "person": person, "asked": asked, "until": until}
    connection.execute(sa.insert(open_question).values(**row, filled="", action=""))
    return True


def answered(connection: sa.Connection, turn: int, key: str) -> tuple[ElicitAction, str] | None:
    found = connection.execute(_RUNNING_ROWS.where(_of(turn, key))).one_or_none()
    if found is None:  # forgotten, or claimed anew: nobody will answer; a turn that is stopped ends with its calls
        return ElicitAction.CANCEL, ""
    return (ElicitAction(found.action), found.filled) if found.action else None


def close(connection: sa.Connection, turn: int, key: str) -> None:
    connection.execute(sa.delete(open_question).where(_of(turn, key)))


def waiting(connection: sa.Connection, person: str, now: datetime) -> list[OpenQuestion]:
    theirs = _WAITING.where(open_question.c.person == person, _in_time(now))
    found = connection.execute(theirs.order_by(open_question.c.turn, open_question.c.key))
    return [OpenQuestion(row.turn, row.key, row.asked, row.filled, row.text) for row in found]


def answer(
    connection: sa.Connection,
    turn: int,
    key: str,
    person: str,
    filled: str,
    action: ElicitAction | None,
    now: datetime,
) -> AnswerOutcome:
    """The row is locked: of two presses at once the second one hears of the first."""
    this = sa.select(open_question).where(_of(turn, key)).with_for_update()
    found = connection.execute(this).one_or_none()
    if found is None:
        return AnswerOutcome.OVER
    if found.person != person:
        return AnswerOutcome.NOT_THEIRS
    if found.action:
        return AnswerOutcome.ANSWERED_BEFORE
    held = _HELD_ROWS.where(_of(turn, key), _in_time(now))
    if connection.execute(held).first() is None:
        return AnswerOutcome.OVER
    said = {"filled": filled, "action": "" if action is None else action.value}
    connection.execute(sa.update(open_question).where(_of(turn, key)).values(**said))
    return AnswerOutcome.KEPT


class SqlOpenQuestions(SqlStore):
    open = writes(open_)
    answered = reads(answered)
    close = writes(close)
    waiting = reads(waiting)
    answer = writes(answer)
