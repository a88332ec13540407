"""The queue of turns: which turn a worker claims next, and which turns wait for a decision of their asker.

Rules
  A claim raises the epoch, which every later write names.
  A turn that cannot be read ends as refused, so that it never blocks the others.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import NoResultFound

from agent.events import Outcome
from agent.messages import AnswerOutcome, Consent, ElicitAction, OpenQuestion
from agent.progress import decode
from agent.records import Author, Claim, Claiming, ConsentOutcome, Incoming, Load, Undecided
from agent.schedules import asked_in
from agent.turn_kinds import TurnKind
from store import rows
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, is_postgresql, reads, writes
from store.message_tables import message, person
from store.turn_tables import DONE, RUNNING, WAITING, consent, open_question, turn
from store.turns import earlier_ids

# Which turn is next: fair between teams, between the people of a team, and in order within a conversation.
#
# Rules
#   A turn whose worker is gone comes first: its asker has waited longest. Then the team (a workspace or server) with
#   the fewest running turns; among equals, the team that was served longest ago. So a team's flood delays another team
#   only by the turns that already run. Within a team there are rounds: a person's next question is two rounds after
#   their last open one, and at least one after the round that the team was served last. So a new asker goes before a
#   flood, and a waiting asker is reached however many new ones arrive. Within a round the oldest turn is first. Of a
#   conversation only the first waiting turn can be next, and only while none of its turns runs. An earlier turn blocks
#   a later one even if another worker is just claiming it, which is not visible yet.
#   Long work is counted apart from other turns, and claimed where there is room for it.
#   Running turns of a person or a team are counted across all processes. Workers that claim in the same moment do not
#   see one another, and may each let one more run: waiting for each other would cost every claim more than that.
#   The cost grows with the number of waiting teams, not of waiting turns, which an index holds in order. No text is
#   read until a turn is chosen.
#   States are literals in the SQL: a partial index is used only if its condition is known when the statement is
#   planned.


def next_turn(
    connection: sa.Connection,
    now: datetime,
    per_person: int | None,
    sources: frozenset[str] | None,
    *,
    works: bool = True,
) -> int | None:
    """The id of the turn to claim, locked against other workers until the transaction ends; None if there is none.

    `per_person`: limit of one person's running turns (None: no limit). `sources`: only turns from these (None: all).
    `works`: whether the turn may be long work.
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


_WORK: Final = f"{{0}}.kind = '{TurnKind.WORK}'"
_AT_LIMIT: Final = "SELECT person FROM running GROUP BY person HAVING count(*) >= :per_person"
# Each team once, with its first turn: the index gives the next team after the last, which skips all of its turns.
# SQLite needs the index named.
_TEAMS: Final = """
WITH RECURSIVE team_waiting (id, source, team) AS (
  SELECT * FROM (SELECT id, source, team FROM turn {by} WHERE state = 'waiting'
                 ORDER BY source, team, round, id LIMIT 1) AS first
  UNION ALL
  SELECT other.id, other.source, other.team FROM team_waiting AS one JOIN turn AS other ON other.id =
    coalesce(
      (SELECT behind.id FROM turn AS behind {by}
       WHERE behind.state = 'waiting' AND behind.source = one.source AND behind.team > one.team
       ORDER BY behind.team, behind.round, behind.id LIMIT 1),
      (SELECT behind.id FROM turn AS behind {by}
       WHERE behind.state = 'waiting' AND behind.source > one.source
       ORDER BY behind.source, behind.team, behind.round, behind.id LIMIT 1))
),
"""


@cache
def _next_turn(*, limited: bool, ours: bool, works: bool, shared: bool) -> sa.TextClause:
    """The statement, built once for each combination of arguments: building it takes longer than running it."""
    lock = "FOR UPDATE OF {0} SKIP LOCKED" if shared else ""  # SQLite has one writer and no such clause
    source = "{0}.source IN :sources" if ours else "1 = 1"
    kind = "1 = 1" if works else f"NOT ({_WORK})"
    limit = f"(mine.person NOT IN ({_AT_LIMIT}) OR {_WORK.format('mine')})" if limited else "1 = 1"
    sql = f"""
        {_TEAMS.format(by="" if shared else "INDEXED BY ix_turn_queue")}
        running AS (
          SELECT source, team, person FROM turn AS held WHERE held.state = 'running' AND NOT ({_WORK.format("held")})
        )
        SELECT id FROM (
          SELECT * FROM
            (SELECT lost.id FROM turn AS lost
             WHERE lost.state = 'running' AND lost.lease_until <= :now
               AND {source.format("lost")} AND {kind.format("lost")}
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
                  AND {kind.format("mine")} AND {limit}
                ORDER BY mine.round, mine.id LIMIT 1 {lock.format("mine")}) AS id
             FROM
               (SELECT source, team FROM team_waiting
                WHERE {source.format("team_waiting")}
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
    parameters: list[sa.BindParameter[Any]] = [sa.bindparam("now", type_=UtcDateTime)]
    if ours:
        parameters.append(sa.bindparam("sources", type_=StorableText, expanding=True))
    return sa.text(sql).bindparams(*parameters)


def round_parameters(incoming: Incoming) -> dict[str, str]:
    """The parameters of NEXT_ROUND."""
    return {"of_source": incoming.source, "of_team": incoming.team, "of_person": incoming.person.id}


def _next_round() -> sa.ScalarSelect[int]:
    """The round of a new turn, as a subquery of the insert."""
    known = turn.alias("known")
    same_team = sa.and_(known.c.source == sa.bindparam("of_source"), known.c.team == sa.bindparam("of_team"))
    served = (
        sa.select(known.c.round).where(same_team, known.c.began.is_not(None)).order_by(known.c.began.desc()).limit(1)
    )
    open_turns = sa.and_(known.c.person == sa.bindparam("of_person"), sa.text("known.state IN ('waiting', 'running')"))
    rounds = sa.union_all(
        sa.select((sa.func.coalesce(served.scalar_subquery(), 0) + 1).label("round")),
        sa.select((sa.func.max(known.c.round) + 2).label("round")).where(same_team, open_turns),
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
    """Record that a turn of this person is claimed now, unless another worker is just recording the same."""
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
            row = connection.execute(_claim_query(), {"chosen": chosen}).mappings().one()
            claimed = _kind_of_earlier_program(rows.claim(row, owner))
        except (ValueError, KeyError, TypeError, AttributeError, NoResultFound) as error:
            log.error("turn %d cannot be read and is put aside (%s)", chosen, type(error).__name__)  # noqa: TRY400  (the traceback holds the row)
            connection.execute(
                sa.update(turn).where(turn.c.id == chosen).values(**rows.ended_columns(now, Outcome.REFUSED))
            )
            continue
        values = {
            "owner": owner,
            "lease_until": now + claiming.lease,
            "epoch": claimed.epoch,
            "attempts": claimed.attempts,
            "began": row["began"] or now,
            "kind": claimed.incoming.kind,
            "schedule": claimed.incoming.schedule,
        }
        connection.execute(_TAKE, {"chosen": chosen, "state": RUNNING, **values})
        mark_served(connection, claimed.incoming.person.id, now)
        return claimed
    return None


def _kind_of_earlier_program(claimed: Claim) -> Claim:
    """The claim with the kind that a program of before r0026 put into the ids of a turn (`store.turns.earlier_ids`)."""
    asked = claimed.incoming
    if asked.kind is not TurnKind.QUESTION:
        return claimed
    kind = earlier_ids.kind_of(asked.event_id, asked.message_id, claimed.progress)
    return replace(claimed, incoming=replace(asked, kind=kind, schedule=earlier_ids.schedule_of(asked.event_id)))


@cache
def _claim_query() -> sa.Select[*tuple[Any, ...]]:
    """A turn with its question and its person."""
    question = message.c.id.label("question")
    columns = (turn, person.c.name, person.c.time_zone, question, *(message.c[name] for name in _QUESTION))
    joined = turn.join(person, person.c.id == turn.c.person).join(
        message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    )
    return sa.select(*columns).select_from(joined).where(turn.c.id == sa.bindparam("chosen"))


# Turns of other processes: taking over the turns of a process that is gone, and learning how a turn ended.
#
# Rule: a process is gone if its lease ran out, if it released a turn, or if it did not claim within a lease what it had
# accepted. If no other process can use the database, all others are gone.


def take_over_turns(
    connection: sa.Connection, person: str, family: str, source: str, now: datetime, lease: timedelta, *, alone: bool
) -> int:
    """Move this person's open turns that other sources of the family have left to `source`; returns how many."""
    related = sa.or_(turn.c.source == family, turn.c.source.startswith(f"{family}:", autoescape=True))
    lost = sa.and_(turn.c.state == RUNNING, turn.c.lease_until <= now)
    held = turn.c.lease_until.is_not(None)
    unheld = sa.and_(~held, sa.true() if alone else sa.or_(turn.c.epoch > 0, _asked_before(now - lease)))
    unclaimed = sa.and_(turn.c.state == WAITING, sa.or_(unheld, sa.and_(held, turn.c.lease_until <= now)))
    open_ = turn.c.state.in_((WAITING, RUNNING))
    taken = sa.update(turn).where(
        turn.c.person == person, open_, related, turn.c.source != source, sa.or_(lost, unclaimed)
    )
    return connection.execute(taken.values(source=source)).rowcount


def hold_place(connection: sa.Connection, source: str, until: datetime) -> bool:
    open_ = sa.and_(turn.c.source == source, turn.c.state.in_((WAITING, RUNNING)))
    return connection.execute(sa.update(turn).where(open_).values(lease_until=until)).rowcount > 0


def _asked_before(time: datetime) -> sa.ColumnElement[bool]:
    asked = sa.select(message.c.id).where(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
    return sa.exists(asked.where(message.c.time <= time))


def ended_turns(connection: sa.Connection, turns: Iterable[int]) -> dict[int, Outcome | None]:
    """The outcomes of those of these turns that have ended; None for a turn that was forgotten."""
    found = sa.select(turn.c.id, turn.c.state, turn.c.outcome).where(turn.c.id.in_(turns))
    known = {row.id: row for row in connection.execute(found)}
    over = (id_ for id_ in turns if id_ not in known or known[id_].state not in {WAITING, RUNNING})
    return {id_: Outcome(known[id_].outcome) if id_ in known and known[id_].outcome else None for id_ in over}


def pages_of_ended(connection: sa.Connection, number: int) -> tuple[str, ...] | None:
    """The pages of the reply of an ended turn, () if it was forgotten; None while it is open."""
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


# What a turn waits for from its asker: whether a tool call may run, and the answer to a tool's question during a call.
#
# Rules of consents, for which a turn is put aside until the last decision
#   A turn that is put aside waits like any other, but not before its time; so it blocks no other turn of its
#   conversation, and any process can resume it. With the last decision that time becomes now.
#   The first decision about each call counts, and only the asker's. A turn that restarts loses all decisions. A
#   standing consent lets further calls of that tool run for the same person in the same conversation.
#
# Rules of open questions, each a row while its call waits
#   A question belongs to the claim that waits for its answer. A later claim of the turn knows nothing of the call, so
#   questions of an earlier epoch are over, and answers to them are refused. Only the turn's asker answers, once.
#   The waiting call deletes the row. A row left by a killed process is deleted when its turn ends, or with the next
#   question of any person once its time has passed.

MOST_SHOWN: Final = 20  # Turns: no person decides about more at once

_ASIDE: Final = sa.select(turn.c.id, turn.c.person, turn.c.conversation, turn.c.progress, message.c.text).join_from(
    turn, message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
)


def decide(
    connection: sa.Connection, number: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool
) -> ConsentOutcome:
    """Store the asker's decision about a call of a turn that waits for it."""
    found = connection.execute(sa.select(turn).where(turn.c.id == number).with_for_update()).one_or_none()
    if found is None:
        return ConsentOutcome.OVER
    if found.person != person:
        return ConsentOutcome.NOT_THEIRS
    known = decided(connection, number)
    if call in known and known[call] is not Consent.EDITED:
        given = known[call] is Consent.GIVEN
        return ConsentOutcome.ALLOWED_BEFORE if given else ConsentOutcome.REFUSED_BEFORE
    # A running turn is just being put aside, or its time has passed, which `run_at` then tells.
    over = found.state == DONE or found.stopping or (found.run_at is not None and found.run_at <= now)
    awaited = decode(found.progress).awaited
    if over or call in known or call not in awaited:
        return ConsentOutcome.OVER
    conversation = asked_in(found.conversation)
    values = {"turn": number, "call": call, "word": word, "person": person, "conversation": conversation}
    decision = {"tool": awaited[call].name, "standing": standing and word is Consent.GIVEN, "decided": now}
    connection.execute(sa.insert(consent).values(**values, **decision))
    return ConsentOutcome.GOES_ON if resume_if_decided(connection, number) else ConsentOutcome.KEPT


def resume_if_decided(connection: sa.Connection, number: int) -> bool:
    """Let a turn resume now if all of its calls are decided or it was stopped; returns whether it does."""
    found = connection.execute(sa.select(turn.c.progress, turn.c.stopping).where(turn.c.id == number)).one()
    if not found.stopping and decode(found.progress).awaited.keys() - decided(connection, number).keys():
        return False
    connection.execute(sa.update(turn).where(turn.c.id == number).values(run_at=None))
    return True


def decided(connection: sa.Connection, turn: int) -> dict[str, Consent]:
    """The decisions about the turn's calls, by call."""
    words = sa.select(consent.c.call, consent.c.word).where(consent.c.turn == turn)
    return {row.call: Consent(row.word) for row in connection.execute(words)}


def standing(connection: sa.Connection, conversation: str, person: str) -> frozenset[str]:
    """The tools for which this person has given a standing consent in this conversation."""
    found = sa.select(consent.c.tool).where(_stands(conversation, person))
    return frozenset(connection.execute(found).scalars())


def standing_calls(connection: sa.Connection, conversation: str, person: str) -> frozenset[str]:
    """The digests of the calls with which this person gave a standing consent in this conversation."""
    keys = connection.execute(sa.select(consent.c.call).where(_stands(conversation, person))).scalars()
    return frozenset(key.partition("-")[2] for key in keys)


def _stands(conversation: str, person: str) -> sa.ColumnElement[bool]:
    return sa.and_(consent.c.conversation == conversation, consent.c.person == person, consent.c.standing)


def undecided(connection: sa.Connection, person: str) -> list[Undecided]:
    """The calls that wait for this person's decision, the oldest first."""
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
    standing_calls = reads(standing_calls)
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
    """Neither the question nor the claim has expired: a process that is gone no longer renews its claim."""
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
    if found is None:  # forgotten or claimed again: no answer will come; a stopped turn ends with its calls
        return ElicitAction.CANCEL, ""
    return (ElicitAction(found.action), found.filled) if found.action else None


def close(connection: sa.Connection, turn: int, key: str) -> None:
    connection.execute(sa.delete(open_question).where(_of(turn, key)))


def waiting(connection: sa.Connection, person: str, now: datetime) -> list[OpenQuestion]:
    query = _WAITING.where(open_question.c.person == person, _in_time(now))
    found = connection.execute(query.order_by(open_question.c.turn, open_question.c.key))
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
    """The row is locked: of two simultaneous answers the second one finds the first."""
    query = sa.select(open_question).where(_of(turn, key)).with_for_update()
    found = connection.execute(query).one_or_none()
    if found is None:
        return AnswerOutcome.OVER
    if found.person != person:
        return AnswerOutcome.NOT_THEIRS
    if found.action:
        return AnswerOutcome.ANSWERED_BEFORE
    held = _HELD_ROWS.where(_of(turn, key), _in_time(now))
    if connection.execute(held).first() is None:
        return AnswerOutcome.OVER
    values = {"filled": filled, "action": "" if action is None else action.value}
    connection.execute(sa.update(open_question).where(_of(turn, key)).values(**values))
    return AnswerOutcome.KEPT


class SqlOpenQuestions(SqlStore):
    open = writes(open_)
    answered = reads(answered)
    close = writes(close)
    waiting = reads(waiting)
    answer = writes(answer)
