"""Messages that wait behind a running turn of their person, and that its reply answers, too.

Above: `store.turns.ledger`. Below: rows, tables.

Rules
  Their turns stay as they are until the running one ends, and then end with it: a turn that starts anew, or fails,
  leaves them to be answered by themselves. So is one that was edited while it was just being read.
  Only words can join. A message that brings a picture or a thread along waits, and so does all that comes after it.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, and_, exists, select, update

from agent.memory.audience import label
from agent.records import Author, Claim, Closing, Waiting
from store import json_columns, rows
from store.tables import DONE, WAITING, message, turn

MOST: Final = 50
"""More than join one turn."""


def waiting(connection: Connection, claim: Claim) -> list[Waiting]:
    """What may join the turn of this claim, in order."""
    asked = claim.incoming
    behind = (
        select(turn, message.c.id.label("question"), message.c.text, message.c.audience)
        .join_from(turn, message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
        .where(turn.c.conversation == asked.conversation, turn.c.state == WAITING, turn.c.id > claim.turn)
        .order_by(turn.c.id)
        .limit(MOST)
    )
    audience = label(asked.place.audience)
    found: list[Waiting] = []
    for row in connection.execute(behind).mappings():
        theirs = row["person"] == asked.person.id and row["audience"] == audience and not row["stopping"]
        fresh = row["run_at"] is None and row["progress"] == "" and row["reply_ref"] == ""
        if not (theirs and fresh and json_columns.words_alone(row["payload"])):
            break
        found.append(Waiting(row["id"], row["question"], row["text"]))
    return found


def end(connection: Connection, ended: int, closing: Closing, now: datetime) -> None:
    """End the turns of what joined with the turn `ended`, and put their messages before its reply."""
    for one in closing.joined:
        as_read = and_(message.c.id == one.message, message.c.turn == one.turn, message.c.text == one.text)
        stands = and_(turn.c.id == one.turn, turn.c.state == WAITING, exists().where(as_read))
        if connection.execute(update(turn).where(stands).values(**rows.over(now, closing.outcome))).rowcount:
            connection.execute(update(message).where(message.c.id == one.message).values(turn=ended))


def quoted(connection: Connection, progress: str) -> frozenset[int]:
    """The messages that have to stand for this progress to be kept.

    All that it names, but for those that joined and were then deleted: their turns are over.
    """
    joined = json_columns.joined(progress)
    if not joined:
        return json_columns.sources(progress)
    over = select(turn.c.id).where(turn.c.id.in_(joined.values()), turn.c.state == DONE)
    deleted = set(connection.execute(over).scalars())
    return json_columns.sources(progress) - {asked for asked, its in joined.items() if its in deleted}
