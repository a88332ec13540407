"""The questions of the model that wait for their askers, and their answers by a press (`store.turns.answers`)."""

from dataclasses import replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.asking import AskedQuestion, question_of
from agent.incoming import Incoming
from agent.messages import AnswerOutcome, Consent
from agent.progress import decode
from agent.schedules.long_work import asked_in
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.turn_records import Waiting
from store import row_mapping
from store.databases.database import Database, SqlStore, reads
from store.erased_ids import ErasedIds
from store.message_tables import message
from store.search import index
from store.search.text import IndexedText
from store.turn_tables import DONE, RUNNING, WAITING, turn
from store.turns import ledger
from store.turns.answers import answer_of, pending_answer
from store.turns.consents import MOST_SHOWN, consent, decided, resume_if_decided
from store.turns.turn_queue import claim_query

_QUESTIONS: Final = sa.select(turn.c.id, turn.c.conversation, turn.c.progress, message.c.text).join_from(
    turn, message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
)


def open_to(connection: sa.Connection, person: str) -> list[AskedQuestion]:
    """The questions that wait for this person's answer, the oldest first."""
    asks = turn.c.progress.contains(f'"{Consent.ASKED}"')
    aside = sa.and_(turn.c.person == person, turn.c.state.in_((WAITING, RUNNING)), asks, ~turn.c.stopping)
    found: list[AskedQuestion] = []
    for row in connection.execute(_QUESTIONS.where(aside).order_by(turn.c.id).limit(MOST_SHOWN)):
        progress, known = decode(row.progress), decided(connection, row.id)
        if progress.asked and pending_answer(connection, row.id, row.conversation, progress) is not None:
            continue
        calls = progress.asked.items()
        found += [AskedQuestion(row.id, key, question_of(call), row.text) for key, call in calls if key not in known]
    return found


def _problem(connection: sa.Connection, number: int, key: str, person: str, now: datetime) -> AnswerOutcome | None:
    """Why this person cannot answer the question now; None if they can. The turn's row is locked."""
    found = connection.execute(sa.select(turn).where(turn.c.id == number).with_for_update()).one_or_none()
    if found is None:
        return AnswerOutcome.OVER
    if found.person != person:
        return AnswerOutcome.NOT_THEIRS
    if found.state == DONE or found.stopping or (found.run_at is not None and found.run_at <= now):
        return AnswerOutcome.OVER
    progress = decode(found.progress)
    if key not in progress.asked:
        return AnswerOutcome.OVER
    is_answered = pending_answer(connection, number, found.conversation, progress) is not None
    return AnswerOutcome.ANSWERED_BEFORE if is_answered or key in decided(connection, number) else None


def decline(connection: sa.Connection, number: int, key: str, person: str, now: datetime) -> AnswerOutcome:
    """Store that the asker does not answer; the turn goes on."""
    if (problem := _problem(connection, number, key, person, now)) is not None:
        return problem
    there = connection.execute(sa.select(turn.c.conversation).where(turn.c.id == number)).scalar_one()
    values = {"turn": number, "call": key, "word": Consent.REFUSED, "person": person, "conversation": asked_in(there)}
    connection.execute(sa.insert(consent).values(**values, tool="", standing=False, decided=now))
    resume_if_decided(connection, number)
    return AnswerOutcome.KEPT


def answer(
    connection: sa.Connection,
    number: int,
    key: str,
    person: str,
    indexed: IndexedText,
    erased_ids: ErasedIds,
    now: datetime,
    *,
    chosen: bool,
) -> AnswerOutcome:
    """Store an answer as a message of the asker, with which the turn goes on."""
    if (problem := _problem(connection, number, key, person, now)) is not None:
        return problem
    row = connection.execute(claim_query(), {"chosen": number}).mappings().one()
    asked = row_mapping.claim(row, "").incoming
    incoming = _answer_to(asked, number, key, indexed.text, now, own=not chosen)
    accepted = ledger.accept(connection, incoming, indexed, erased_ids, answers=number)
    return AnswerOutcome.OVER if accepted.duplicate else AnswerOutcome.KEPT


def _answer_to(asked: Incoming, number: int, key: str, text: str, now: datetime, *, own: bool) -> Incoming:
    once = f"answer:{number}:{key}"
    return replace(
        asked,
        event_id=once,
        message_id=once,
        text=text,
        time=now,
        permalink=None,
        quoted=(),
        images=(),
        files=(),
        own=own,
        kind=TurnKind.QUESTION,
        schedule=None,
    )


class SqlAskedQuestions(SqlStore):
    open_to = reads(open_to)

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids

    async def answer_of(self, turn: int) -> Waiting | None:
        return await self.database.read(answer_of, turn)

    async def decline(self, turn: int, key: str, person: str, now: datetime) -> AnswerOutcome:
        return await self.database.write(decline, turn, key, person, now)

    async def answer(
        self, turn: int, key: str, person: str, text: str, now: datetime, *, chosen: bool = False
    ) -> AnswerOutcome:
        indexed = await index.indexed(self.database, text)
        arguments = turn, key, person, indexed, self._erased_ids, now
        return await self.database.write(answer, *arguments, chosen=chosen)
