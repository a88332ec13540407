"""The askers' decisions about tool calls that need consent; those of others are in `store.turns.approvals`.

Rules of consents, for which a turn is put aside until the last decision
  A turn that is put aside waits like any other, but not before its time; so it blocks no other turn of its
  conversation, and any process can resume it. With the last decision that time becomes now.
  The first decision about each call counts, and only the asker's. A turn that restarts loses all decisions. A
  standing consent lets further calls of that tool run for the same person in the same conversation.
"""

from datetime import datetime
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlmodel import Field

from agent.consents import ConsentOutcome, Undecided
from agent.messages import Consent
from agent.progress import decode
from agent.schedules.long_work import asked_in
from agent.stored_messages import Author
from store import budget_days
from store.databases.database import SqlStore, StorableText, UtcDateTime, reads, reads_few
from store.message_tables import message
from store.schema import TableRow, metadata, partial_index
from store.turn_tables import DONE, RUNNING, WAITING, turn
from store.turns.answers import pending_answer
from store.turns.approval_table import approval


class ConsentRow(TableRow, table=True):
    """The decision about a tool call that needs consent: its asker's, or the last that was needed of others.
    `standing`: for all calls of the tool there.
    """

    __table_args__: ClassVar[Any] = (partial_index("ix_consent_standing", "conversation", "person", where="standing"),)

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    call: str = Field(sa_type=StorableText, primary_key=True)
    word: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText)
    tool: str = Field(sa_type=StorableText)
    standing: bool = Field(default=False)
    decided: datetime = Field(sa_type=UtcDateTime)


consent: Final = metadata.tables["consent"]


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
    if found.person != person or call in _of_others(connection, number):
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
    """Let a turn resume now if all of its calls are decided, and its question is answered, or if it was stopped;
    returns whether it does. One that waits for a budget does not.
    """
    columns = (turn.c.progress, turn.c.stopping, turn.c.conversation)
    found = connection.execute(sa.select(*columns).where(turn.c.id == number)).one()
    if not found.stopping:
        if budget_days.is_paused(connection, number):
            return False
        progress, known = decode(found.progress), decided(connection, number).keys()
        if progress.awaited.keys() - known:
            return False
        if progress.asked.keys() - known and pending_answer(connection, number, found.conversation, progress) is None:
            return False
    connection.execute(sa.update(turn).where(turn.c.id == number).values(run_at=None))
    return True


def _of_others(connection: sa.Connection, number: int) -> frozenset[str]:
    """The calls of the turn that others than its asker decide about."""
    return frozenset(connection.execute(sa.select(approval.c.call).where(approval.c.turn == number)).scalars())


def awaited_tools(connection: sa.Connection, number: int) -> list[str]:
    """The tools whose calls wait for a decision, one for each call."""
    progress = connection.execute(sa.select(turn.c.progress).where(turn.c.id == number)).scalar_one()
    known = decided(connection, number)
    return [call.name for key, call in decode(progress).awaited.items() if key not in known]


_DECIDED: Final = sa.select(consent.c.call, consent.c.word).where(consent.c.turn == sa.bindparam("of_turn"))


def decided(connection: sa.Connection, turn: int) -> dict[str, Consent]:
    """The decisions about the turn's calls, by call."""
    return {row.call: Consent(row.word) for row in connection.execute(_DECIDED, {"of_turn": turn})}


_STANDING: Final = sa.select(consent.c.tool, consent.c.call).where(
    consent.c.conversation == sa.bindparam("here"), consent.c.person == sa.bindparam("whose"), consent.c.standing
)


def standing(connection: sa.Connection, conversation: str, person: str) -> frozenset[str]:
    """The tools for which this person has given a standing consent in this conversation."""
    return frozenset(row.tool for row in connection.execute(_STANDING, {"here": conversation, "whose": person}))


def standing_calls(connection: sa.Connection, conversation: str, person: str) -> frozenset[str]:
    """The digests of the calls with which this person gave a standing consent in this conversation."""
    found = connection.execute(_STANDING, {"here": conversation, "whose": person})
    return frozenset(row.call.partition("-")[2] for row in found)


def undecided(connection: sa.Connection, person: str) -> list[Undecided]:
    """The calls that wait for this person's decision, the oldest first."""
    asks = turn.c.progress.contains(f'"{Consent.AWAITED}"')
    aside = sa.and_(turn.c.person == person, turn.c.state.in_((WAITING, RUNNING)), asks, ~turn.c.stopping)
    found: list[Undecided] = []
    for row in connection.execute(_ASIDE.where(aside).order_by(turn.c.id).limit(MOST_SHOWN)):
        known = decided(connection, row.id).keys() | _of_others(connection, row.id)
        calls = decode(row.progress).awaited.items()
        found += [Undecided(row.id, key, call, row.text) for key, call in calls if key not in known]
    return found


class SqlConsents(SqlStore):
    decided = reads_few(decided)
    standing = reads_few(standing)
    standing_calls = reads_few(standing_calls)
    undecided = reads(undecided)

    async def decide(
        self, turn: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool = False
    ) -> ConsentOutcome:
        return await self.database.write(decide, turn, call, person, word, now, standing=standing)
