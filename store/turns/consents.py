"""What an asker says of calls that may not run unasked: a turn is put aside for it, and goes on with the last word.

Rules
  A turn that is put aside waits like any other, but not before its time is over; so it holds up nobody in its
  conversation, and any process goes on with it. With the last word about it that time is now.
  One word counts for each call, the first; only its asker's. A turn that starts anew has lost them all. A word that
  stands for the conversation lets further calls of that tool run, of the same person there.
"""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.messages import Consent
from agent.progress import decode
from agent.records import Author, ConsentOutcome, Undecided
from store.databases.database import SqlStore, reads
from store.tables import DONE, RUNNING, WAITING, consent, message, turn

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
    row = {"turn": number, "call": call, "word": word, "person": person, "conversation": found.conversation}
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
