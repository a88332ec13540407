"""Messages that wait behind a running turn of the same person, and that its reply answers as well.

Rules
  Their turns stay as they are until the running turn ends, and then end with it. If that turn restarts or fails, they
  are answered by themselves; so is a message that was edited while the turn read it.
  Only plain text of the person can join. A message with a picture or a quoted thread waits, and so do all messages
  after it, the questions of schedules, and those that a model wrote: in the turn they would be the person's own words.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select, update

from agent.memory.audience import label
from agent.shown_replies import DELETE_REPLY, ShownPage, ShownReply
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Closing, Waiting
from store import job_queue, row_mapping
from store.json_columns import NamedInProgress, is_text_only, read_address
from store.message_tables import message
from store.turn_tables import DONE, RUNNING, WAITING, turn
from store.turns.write_memory import RecentMessage


def begun() -> ColumnElement[bool]:
    """The condition for turns that run, or that were put aside after they had begun."""
    return or_(turn.c.state == RUNNING, and_(turn.c.state == WAITING, turn.c.progress != ""))


def has_joined(connection: Connection, conversation: str, asked: int) -> bool:
    """Whether an open turn of the conversation that has begun has read the question, and answers it."""
    running = select(turn.c.progress).where(turn.c.conversation == conversation, begun())
    progress_texts = connection.execute(running).scalars()
    return any(asked in NamedInProgress.read(progress).joined for progress in progress_texts)


JOIN_LIMIT: Final = 50


def waiting_to_join(connection: Connection, claim: Claim) -> list[Waiting]:
    """The messages that may join the turn of this claim, in order."""
    asked = claim.incoming
    behind = (
        select(turn, message.c.id.label("question"), message.c.text, message.c.audience, message.c.retold)
        .join_from(turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
        .where(turn.c.conversation == asked.conversation, turn.c.state == WAITING, turn.c.id > claim.turn)
        .where(or_(turn.c.answers.is_(None), turn.c.answers == claim.turn))
        .order_by(turn.c.id)
        .limit(JOIN_LIMIT)
    )
    audience = label(asked.place.audience)
    found: list[Waiting] = []
    for row in connection.execute(behind).mappings():
        same_asker = row["person"] == asked.person.id and row["audience"] == audience and not row["stopping"]
        fresh = row["run_at"] is None and row["progress"] == "" and row["reply_ref"] == ""
        chosen = row["answers"] == claim.turn  # an option that this turn itself offered
        asked_by_them = (chosen or not row["retold"]) and not TurnKind(row["kind"]).in_words_of_schedule
        if not (same_asker and fresh and asked_by_them and is_text_only(row["payload"])):
            break
        found.append(Waiting(row["id"], row["question"], row["text"], own=not row["retold"]))
    return found


_POSTED: Final = (turn.c.source, turn.c.event_id, turn.c.channel, turn.c.message_id, turn.c.conversation)


def end_joined(connection: Connection, ended: int, closing: Closing, now: datetime) -> list[RecentMessage]:
    """End the turns of the messages that joined the turn `ended`, and move these messages before its reply. Return
    those whose turns have ended. Where a platform shows that they will be answered, it says that they are.
    """
    answered = list[RecentMessage]()
    for joined in closing.joined:
        payload = connection.execute(select(turn.c.payload).where(turn.c.id == joined.turn)).scalar()
        unchanged = and_(message.c.id == joined.message, message.c.turn == joined.turn, message.c.text == joined.text)
        still_waiting = and_(turn.c.id == joined.turn, turn.c.state == WAITING, exists().where(unchanged))
        end = update(turn).where(still_waiting).values(**row_mapping.ended_columns(now, closing.outcome))
        if (row := connection.execute(end.returning(*_POSTED)).one_or_none()) is not None:
            connection.execute(update(message).where(message.c.id == joined.message).values(turn=ended))
            if address := read_address(payload or ""):
                shown = ShownPage(row.source, row.channel, address, ShownReply.JOINED)
                values = {"payload": shown.encode(), "run_at": now, "person": "", "conversation": ""}
                job_queue.schedule(connection, DELETE_REPLY, shown.key, values)
            posted = row.source, row.event_id, row.channel, row.message_id, row.conversation
            answered.append(RecentMessage(*posted, now, joined.turn, answered=True))
    return answered


def quoted_messages(connection: Connection, named: NamedInProgress) -> frozenset[int]:
    """The messages that must still exist for this progress to be stored: all that it names, except those that joined
    and were then deleted, whose turns are over.
    """
    if not named.joined:
        return named.sources
    over = select(turn.c.id).where(turn.c.id.in_(named.joined.values()), turn.c.state == DONE)
    deleted = set(connection.execute(over).scalars())
    return named.sources - {asked for asked, turn_id in named.joined.items() if turn_id in deleted}
