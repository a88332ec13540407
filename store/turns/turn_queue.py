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
from agent.records import SCHEDULED, Author, Claim, Claiming, ConsentOutcome, Incoming, Load, Undecided
from agent.schedules import WORK, asked_in
from store import rows
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, is_postgresql, reads, writes
from store.tables import DONE, RUNNING, WAITING, consent, message, open_question, person, turn

# Whose turn is next: fair between teams, between the people of a team, and in order within a conversation.
#
# Rules
#   A turn whose worker is gone comes first: somebody has been waiting for its end. Then the team (a workspace or
#   server) of which the fewest turns run; among those, which was served longest ago. So a team's flood delays another
#   team by what already runs, and no more. Within a team people take turns, in rounds: somebody's next question is two
#   rounds after their last open one, and at least one after what the team was last served; so who comes anew goes
#   before a flood, and whoever waits is reached however many come anew. Then the oldest. Of a conversation only the
#   first waiting turn can be next, and only while none of it runs. An earlier one is in the way even if another worker
#   is just claiming it, which cannot be seen yet. Long work counts beside the rest, and is claimed where there is room
#   for it. How many of a person or a team run is counted in all processes. Those that claim in the very same moment do
#   not see one another, and may each let one more of them run: to wait for each other would cost every claim more than
#   that is worth. The cost grows with the teams that wait, and not with their turns: an index holds these in their
#   order. No text is read until one is chosen.
#   States are written out: a parameter is not known when a statement is planned, and part of an index is used only for
#   what is known to be in it.


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
    statement = _next_turn(
        limited=per_person is not None, ours=sources is not None, works=works, shared=is_postgresql(connection)
    )
    values: dict[str, object] = {"now": now}
    if per_person is not None:
        values["per_person"] = per_person
    if sources is not None:
        values["sources"] = sorted(sources)
    return connection.execute(statement, values).scalar_one_or_none()


_WORK: Final = f"{{0}}.event_id LIKE '{SCHEDULED}%' AND {{0}}.event_id LIKE '%{WORK}'".replace(":", r"\:")
_AT_LIMIT: Final = "SELECT person FROM running GROUP BY person HAVING count(*) >= :per_person"
# Each team once: the index is asked for the next one behind it, which passes over all of its turns. SQLite has to be
# told which index that is.
_TEAMS: Final = """
WITH RECURSIVE team_waiting (id, source, team) AS (
  SELECT * FROM (SELECT id, source, team FROM turn {by} WHERE state = 'waiting' ORDER BY source, team LIMIT 1) AS first
  UNION ALL
  SELECT other.id, other.source, other.team FROM team_waiting AS one JOIN turn AS other ON other.id =
    coalesce(
      (SELECT behind.id FROM turn AS behind {by}
       WHERE behind.state = 'waiting' AND behind.source = one.source AND behind.team > one.team
       ORDER BY behind.team LIMIT 1),
      (SELECT behind.id FROM turn AS behind {by}
       WHERE behind.state = 'waiting' AND behind.source > one.source ORDER BY behind.source, behind.team LIMIT 1))
),
"""


@cache
def _next_turn(*, limited: bool, ours: bool, works: bool, shared: bool) -> sa.TextClause:
    """Made once for each of its forms: making it takes longer than running it."""
    lock = "FOR UPDATE OF {0} SKIP LOCKED" if shared else ""  # SQLite has one writer, and no such words
    here = "{0}.source IN :sources" if ours else "1 = 1"
    kind = "1 = 1" if works else f"NOT ({_WORK})"
    most = f"(mine.person NOT IN ({_AT_LIMIT}) OR {_WORK.format('mine')})" if limited else "1 = 1"
    sql = f"""
        {_TEAMS.format(by="" if shared else "INDEXED BY ix_turn_queue")}
        running AS (
          SELECT source, team, person FROM turn AS held WHERE held.state = 'running' AND NOT ({_WORK.format("held")})
        )
        SELECT id FROM (
          SELECT * FROM
            (SELECT lost.id FROM turn AS lost
             WHERE lost.state = 'running' AND lost.lease_until <= :now
               AND {here.format("lost")} AND {kind.format("lost")}
             ORDER BY lost.id LIMIT 1 {lock.format("lost")}) AS lost_first
          UNION ALL
          SELECT * FROM
            (SELECT
               (SELECT mine.id FROM turn AS mine
                WHERE mine.state = 'waiting' AND mine.source = fair.source AND mine.team = fair.team
                  AND (mine.run_at IS NULL OR mine.run_at <= :now)
                  AND mine.conversation NOT IN (SELECT busy.conversation FROM turn AS busy WHERE busy.state = 'running')
                  AND NOT EXISTS
                    (SELECT 1 FROM turn AS before
                     WHERE before.state = 'waiting' AND before.conversation = mine.conversation
                       AND before.id < mine.id AND (before.run_at IS NULL OR before.run_at <= :now))
                  AND {kind.format("mine")} AND {most}
                ORDER BY mine.round, mine.id LIMIT 1 {lock.format("mine")}) AS id
             FROM
               (SELECT source, team FROM team_waiting
                WHERE {here.format("team_waiting")}
                ORDER BY
                  (SELECT count(*) FROM running
                   WHERE running.source = team_waiting.source AND running.team = team_waiting.team),
                  (SELECT max(served.began) FROM turn AS served
                   WHERE served.source = team_waiting.source AND served.team = team_waiting.team
                     AND served.began IS NOT NULL) NULLS FIRST,
                  id
                LIMIT 1000000000 OFFSET 0) AS fair
             LIMIT 1000000000 OFFSET 0) AS heads
        ) AS candidates
        WHERE id IS NOT NULL LIMIT 1
        """  # noqa: S608 -- of constants
    bound: list[sa.BindParameter[Any]] = [sa.bindparam("now", type_=UtcDateTime)]
    if ours:
        bound.append(sa.bindparam("sources", type_=StorableText, expanding=True))
    return sa.text(sql).bindparams(*bound)


def of_team(incoming: Incoming) -> dict[str, str]:
    """The values of NEXT_ROUND."""
    return {"of_source": incoming.source, "of_team": incoming.team, "of_person": incoming.person.id}


def _next_round() -> sa.ScalarSelect[int]:
    """In which round a new turn comes, found as it is stored."""
    known = turn.alias("known")
    here = sa.and_(known.c.source == sa.bindparam("of_source"), known.c.team == sa.bindparam("of_team"))
    served = sa.select(known.c.round).where(here, known.c.began.is_not(None)).order_by(known.c.began.desc()).limit(1)
    theirs = sa.and_(known.c.person == sa.bindparam("of_person"), sa.text("known.state IN ('waiting', 'running')"))
    rounds = sa.union_all(
        sa.select((sa.func.coalesce(served.scalar_subquery(), 0) + 1).label("round")),
        sa.select((sa.func.max(known.c.round) + 2).label("round")).where(here, theirs),
    ).subquery("rounds")
    return sa.select(sa.func.max(rounds.c.round)).scalar_subquery()


NEXT_ROUND: Final = _next_round()
_ASKER: Final = (
    sa.select(person.c.number)
    .where(person.c.id == sa.bindparam("asker"))
    .with_for_update(key_share=True, skip_locked=True)
)
_SERVE: Final = sa.update(person).where(person.c.number.in_(_ASKER))


def mark_served(connection: sa.Connection, person_id: str, now: datetime) -> None:
    """Note that a turn of this person is claimed now, unless another worker is just noting the same."""
    connection.execute(_SERVE, {"asker": person_id, "served": now})


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

MOST_SHOWN: Final = 20  # Turns: more at once nobody decides about

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
