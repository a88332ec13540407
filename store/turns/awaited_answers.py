"""What a turn waits for its asker to say: whether a call may run, and what a tool asks in the middle of a call.

Rules of consents, for which a turn is put aside; it goes on with the last word
  A turn that is put aside waits like any other, but not before its time is over; so it holds up nobody in its
  conversation, and any process goes on with it. With the last word about it that time is now.
  One word counts for each call, the first; only its asker's. A turn that starts anew has lost them all. A word that
  stands for the conversation lets further calls of that tool run, of the same person there.

Rules of open questions, each a row as long as its call waits
  A question belongs to the claim that waits for its answer. Whoever claims the turn anew knows nothing of the call, so
  what an earlier epoch has asked is over, and says so. Only the turn's asker answers, once.
  Whoever waits erases the row. What a process left that was killed goes with its turn's end, or with the next question
  of anybody once its time is over.
"""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.messages import AnswerOutcome, Consent, ElicitAction, OpenQuestion
from agent.progress import decode
from agent.records import Author, Claim, ConsentOutcome, Undecided
from agent.schedules import asked_in
from store.databases.database import SqlStore, in_order, reads, writes
from store.tables import DONE, RUNNING, WAITING, consent, message, open_question, turn

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
