"""Answers to questions of turns that were put aside (`agent.asking`).

Rules
  An answer is a message of the asker, whose turn names the one that asked (`turn.answers`). No worker claims it while
  that one is open: it joins that one and ends with it, as any message that joined. If that one ends without it, it is
  answered by itself; if that one was stopped, it ends, too.
  The asker's next message in the conversation is the answer, if it is text alone; so is what they press or fill in,
  which is stored as a message of the same place. The first one counts. If it is deleted before the turn goes on, the
  turn waits again.
  An option that they chose was written by the model. It counts as words of others, and nothing is learned from it,
  until its turn ends without having held any.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import label
from agent.messages import Consent
from agent.progress import Progress, decode
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing, Waiting
from store import row_mapping
from store.message_tables import message
from store.turn_tables import turn

_ASKED: Final = f'"{Consent.ASKED}"'
_THEIRS: Final = sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON)
_WAITS: Final = sa.text("turn.state = 'waiting'")  # a literal: a partial index finds them
_THERE: Final = turn.c.conversation == sa.bindparam("there")
_ASIDE: Final = (
    sa.select(turn.c.id, turn.c.progress)
    .join_from(turn, message, _THEIRS)
    .where(_THERE, _WAITS, turn.c.person == sa.bindparam("asker"), turn.c.run_at.is_not(None), ~turn.c.stopping)
    .where(turn.c.progress != "", message.c.audience == sa.bindparam("readers"))
    .order_by(turn.c.id.desc())
    .with_for_update(of=turn)
)
_ANSWERS: Final = (
    sa.select(turn.c.id, message.c.id.label("message"), message.c.text, message.c.retold)
    .join_from(turn, message, _THEIRS)
    .where(_THERE, _WAITS, turn.c.answers == sa.bindparam("asking"), ~turn.c.stopping)
    .order_by(turn.c.id)
)


def question_answered_by(connection: sa.Connection, incoming: Incoming) -> int | None:
    """The turn whose question this new message answers; None if none waits for it. Its row is locked."""
    is_question = incoming.kind is TurnKind.QUESTION and incoming.own
    # The bot's own message may be quoted: on Discord people answer it by replying to it.
    if not is_question or incoming.images or incoming.files or not all(one.by_bot for one in incoming.quoted):
        return None
    values = {
        "there": incoming.conversation,
        "asker": incoming.person.id,
        "readers": label(incoming.place.audience),
    }
    for row in connection.execute(_ASIDE, values):
        if _ASKED not in row.progress:  # reading it takes longer
            continue
        progress = decode(row.progress)
        if progress.asked and pending_answer(connection, row.id, incoming.conversation, progress) is None:
            return row.id
    return None


def pending_answer(connection: sa.Connection, asking: int, conversation: str, progress: Progress) -> Waiting | None:
    """The answer that has not joined the turn `asking` yet."""
    joined = {one.message for one in progress.joined}
    found = connection.execute(_ANSWERS, {"there": conversation, "asking": asking})
    answers = (Waiting(row.id, row.message, row.text, answers=True, own=not row.retold) for row in found)
    return next((answer for answer in answers if answer.message not in joined), None)


def answer_of(connection: sa.Connection, asking: int) -> Waiting | None:
    """The answer with which this turn can go on; None if there is none yet."""
    found = connection.execute(sa.select(turn.c.conversation, turn.c.progress).where(turn.c.id == asking)).one_or_none()
    return None if found is None else pending_answer(connection, asking, found.conversation, decode(found.progress))


def release_chosen(connection: sa.Connection, joined: Collection[Waiting], closing: Closing) -> None:
    """Count what the asker chose as their own words, if the turn that ended held no words of others."""
    chosen = [one.message for one in joined if not one.own]
    if chosen and not closing.relayed:
        own = sa.update(message).where(message.c.id.in_(chosen)).values(retold=False, passed_over=False)
        connection.execute(own)


def stop_answers(connection: sa.Connection, asking: int, conversation: str, now: datetime) -> None:
    """End the answers to a turn that was stopped."""
    bound = sa.update(turn).where(turn.c.conversation == conversation, _WAITS, turn.c.answers == asking)
    connection.execute(bound.values(**row_mapping.ended_columns(now, Outcome.STOPPED)))
