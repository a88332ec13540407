"""The queue of turns: fair between teams, between the people of a team, and in order within a conversation.

Rules
  A turn whose worker is gone comes first: its asker has waited longest. Then the team (a workspace or server) with
  the fewest running turns; among equals, the team that was served longest ago. So a team's flood delays another team
  only by the turns that already run. Within a team there are rounds: a person's next question is two rounds after
  their last open one, and at least one after the round that the team was served last. So a new asker goes before a
  flood, and a waiting asker is reached however many new ones arrive. Within a round the oldest turn is first. Of a
  conversation only the first waiting turn can be next, and only while none of its turns runs. An earlier turn blocks
  a later one even if another worker is just claiming it, which is not visible yet.
  Long work is counted apart from other turns, and claimed where there is room for it.
  Running turns of a person or a team are counted across all processes. Workers that claim in the same moment do not
  see one another, and may each let one more run: waiting for each other would cost every claim more than that.
  The cost grows with the number of waiting teams, not of waiting turns, which an index holds in order. No text is
  read until a turn is chosen.
  States are literals in the SQL: a partial index is used only if its condition is known when the statement is
  planned.
  A claim raises the epoch, which every later write names.
  A turn that cannot be read ends as refused, so that it never blocks the others.
  An answer to an open turn's question is not claimed, and blocks nothing (`store.turns.answers`).
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import NoResultFound

from agent.events import Outcome
from agent.incoming import Incoming
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Claiming, Load, lease_length
from store import row_mapping
from store.databases.database import StorableText, UtcDateTime, is_postgresql
from store.message_tables import message, person
from store.timelines import IS_SETTLED
from store.turn_tables import RUNNING, WAITING, turn
from store.turns import earlier_ids


def next_turn(
    connection: sa.Connection,
    now: datetime,
    per_person: int | None,
    sources: frozenset[str] | None,
    *,
    works: bool = True,
    settled: bool = False,
) -> int | None:
    """The id of the turn to claim, locked against other workers until the transaction ends; None if there is none.

    `per_person`: limit of one person's running turns (None: no limit). `sources`: only turns from these (None: all).
    `works`: whether the turn may be long work. `settled`: none while the database's timeline is not settled.
    """
    limited, shared = per_person is not None, is_postgresql(connection)
    ours = None if sources is None else len(sources)
    statement = _next_turn(limited=limited, ours=ours, works=works, shared=shared, settled=settled and shared)
    values: dict[str, object] = {"now": now}
    if per_person is not None:
        values["per_person"] = per_person
    for number, source in enumerate(sorted(sources or ())):
        values[f"source{number}"] = source
    return connection.execute(statement, values).scalar_one_or_none()


_WORK: Final = f"{{0}}.kind = '{TurnKind.WORK}'"
_BOUND: Final = """({0}.answers IS NOT NULL AND EXISTS
  (SELECT 1 FROM turn AS asking WHERE asking.id = {0}.answers AND asking.state IN ('waiting', 'running')))"""
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
def _next_turn(*, limited: bool, ours: int | None, works: bool, shared: bool, settled: bool) -> sa.TextClause:
    """The statement, built once for each combination of arguments: building it takes longer than running it. `ours`:
    the number of sources, None for all.
    """
    lock = "FOR UPDATE OF {0} SKIP LOCKED" if shared else ""  # SQLite has one writer and no such clause
    names = [f"source{number}" for number in range(ours or 0)]
    source = "1 = 1" if ours is None else f"{{0}}.source IN ({', '.join(f':{name}' for name in names) or 'NULL'})"
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
                  AND NOT {_BOUND.format("mine")}
                  AND mine.conversation NOT IN (SELECT busy.conversation FROM turn AS busy WHERE busy.state = 'running')
                  AND NOT EXISTS
                    (SELECT 1 FROM turn AS before
                     WHERE before.state = 'waiting' AND before.conversation = mine.conversation
                       AND before.id < mine.id AND (before.run_at IS NULL OR before.run_at <= :now)
                       AND NOT {_BOUND.format("before")})
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
        WHERE id IS NOT NULL AND {IS_SETTLED if settled else "1 = 1"} LIMIT 1
        """  # noqa: S608 -- of constants
    of_sources = (sa.bindparam(name, type_=StorableText) for name in names)
    return sa.text(sql).bindparams(sa.bindparam("now", type_=UtcDateTime), *of_sources)


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


SERVED_AGAIN: Final = timedelta(hours=1)
"""How exactly it is known when a person was served last, by which lists of people are sorted."""


def mark_served(connection: sa.Connection, person_id: str, last: datetime | None, now: datetime) -> None:
    """Record that a turn of this person is claimed now, unless that was recorded lately, or another worker is just
    recording the same. `last`: what is recorded.
    """
    if last is None or now - last >= SERVED_AGAIN:
        connection.execute(_SERVE, {"asker": person_id, "served": now})


log = logging.getLogger(__name__)
_QUESTION: Final = ("text", "time", "audience", "permalink")


def claim_turn(connection: sa.Connection, claiming: Claiming) -> Claim | None:
    owner, now = claiming.owner, claiming.now
    options = {"works": claiming.works, "settled": claiming.settled}
    while (chosen := next_turn(connection, now, claiming.per_person, claiming.sources, **options)) is not None:
        try:
            values = {"owner": owner, "lease_until": now + claiming.lease, "now": now}
            row = connection.execute(_take(), {"chosen": chosen, **values}).mappings().one()
            stored = row_mapping.claim(row, owner)
            claimed = _kind_of_earlier_program(stored)
        except (ValueError, KeyError, TypeError, AttributeError, NoResultFound) as error:
            log.error("turn %d could not be read and was set aside (%s)", chosen, type(error).__name__)  # noqa: TRY400  (the traceback holds the row)
            connection.execute(
                sa.update(turn).where(turn.c.id == chosen).values(**row_mapping.ended_columns(now, Outcome.REFUSED))
            )
            continue
        changes: dict[str, object] = {}
        if claimed is not stored:
            changes |= {"kind": claimed.incoming.kind, "schedule": claimed.incoming.schedule}
        if (length := lease_length(claiming.lease, claimed.attempts)) != claiming.lease:
            changes["lease_until"] = now + length
        if changes:
            connection.execute(sa.update(turn).where(turn.c.id == chosen).values(changes))
        mark_served(connection, claimed.incoming.person.id, row["served"], now)
        return claimed
    return None


def _kind_of_earlier_program(claimed: Claim) -> Claim:
    """The claim with the kind that a program of before r0026 put into the ids of a turn (`store.turns.earlier_ids`)."""
    asked = claimed.incoming
    if asked.kind is not TurnKind.QUESTION:
        return claimed
    kind = earlier_ids.kind_of(asked.event_id, asked.message_id, claimed.progress)
    if kind is TurnKind.QUESTION:
        return claimed
    return replace(claimed, incoming=replace(asked, kind=kind, schedule=earlier_ids.schedule_of(asked.event_id)))


def _claimed() -> list[sa.ColumnElement[Any]]:
    """The columns of a claim: of a turn, its question and its person."""
    # Literals: SQLAlchemy leaves the tables out of conditions in SQLite's RETURNING.
    asker = sa.text("person.id = turn.person")
    asked = sa.text(f"message.turn = turn.id AND message.author = '{Author.PERSON}'")
    beside = {
        **{name: sa.select(person.c[name]).where(asker) for name in ("name", "time_zone", "served")},
        "question": sa.select(message.c.id).where(asked),
        **{name: sa.select(message.c[name]).where(asked) for name in _QUESTION},
    }
    columns = (turn.c[name] for name in row_mapping.CLAIMED)
    return [*columns, *(found.scalar_subquery().label(name) for name, found in beside.items())]


@cache
def claim_query() -> sa.Select[*tuple[Any, ...]]:
    return sa.select(*_claimed()).where(turn.c.id == sa.bindparam("chosen"))


@cache
def _take() -> sa.UpdateBase:
    """Take the chosen turn and return its claim, of the moment after it was chosen and locked: it may just have been
    amended, so this is no part of the query that chooses.
    """
    taken = sa.update(turn).where(turn.c.id == sa.bindparam("chosen"))
    values = {
        "state": RUNNING,
        "epoch": turn.c.epoch + 1,
        "attempts": turn.c.attempts + 1,
        "began": sa.func.coalesce(turn.c.began, sa.bindparam("now", type_=UtcDateTime)),
    }
    return taken.values(values).returning(*_claimed())


def current_load(connection: sa.Connection) -> Load:
    counted = (
        sa.select(turn.c.state, sa.func.count()).where(turn.c.state.in_((WAITING, RUNNING))).group_by(turn.c.state)
    )
    found = {row[0]: row[1] for row in connection.execute(counted)}
    return Load(running=found.get(RUNNING, 0), waiting=found.get(WAITING, 0))
