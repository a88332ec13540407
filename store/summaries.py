"""The summary of a conversation, made in the background of what its model will soon no longer see.

It is one JSON object: its fields, and under `rows.COVERED` the id of the last message that it covers. Whatever takes
the summary away (forgetting, an edit, a place that becomes more public) leaves "{}", so the next one is made of what
still stands.

Rules
  It is made of messages of the conversation's own audience alone, and kept for that audience.
  It is kept only if the summary is still the one that it goes on from, and every message that it was made of still
  stands with the same words: what was forgotten meanwhile never comes back through it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, and_, select, update

from agent.records import Claim, StoredMessage
from agent.state import SituationSummary
from agent.summary import SUMMARY, Uncovered
from store import job_queue, rows
from store.databases.database import Database, in_order
from store.tables import conversation, message, person

LIMIT: Final = 200
"""The newest messages that one summary begins with: what lies before them in a thread that nobody had summarised is
found by recall.
"""


class SqlSummaries:
    """The port Summaries on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def uncovered(self, conversation: str, until: int) -> Uncovered | None:
        return await self._database.read(uncovered, conversation, until)

    async def keep(
        self, conversation: str, before: Uncovered, made_of: Sequence[StoredMessage], summary: SituationSummary
    ) -> bool:
        return await self._database.write(keep, conversation, before, made_of, summary)


def schedule(connection: Connection, claim: Claim, until: int, now: datetime) -> None:
    """Have the claimed turn's conversation summarised up to that message; what was put off stays put off."""
    asked = claim.incoming
    if not job_queue.replace(connection, SUMMARY, asked.conversation, payload=str(until), person=asked.person.id):
        values = {"payload": str(until), "run_at": now, "person": asked.person.id, "conversation": asked.conversation}
        job_queue.schedule(connection, SUMMARY, asked.conversation, values)


def uncovered(connection: Connection, conversation_id: str, until: int) -> Uncovered | None:
    place = select(conversation.c.summary, conversation.c.audience).where(conversation.c.id == conversation_id)
    found = connection.execute(place).one_or_none()
    if found is None:
        return None
    since = rows.covered(found.summary)
    wanted = (
        select(message, person.c.name)
        .join_from(message, person, person.c.id == message.c.person)
        .where(message.c.conversation == conversation_id, message.c.audience == found.audience)
        .where(message.c.id > since, message.c.id <= until)
        .order_by(message.c.id.desc())
        .limit(LIMIT)
    )
    newest = [rows.message(row) for row in connection.execute(wanted).mappings()]
    return Uncovered(rows.summary(found.summary), found.summary, since, tuple(reversed(newest)))


def keep(
    connection: Connection,
    conversation_id: str,
    before: Uncovered,
    made_of: Sequence[StoredMessage],
    summary: SituationSummary,
) -> bool:
    in_order(connection, conversation_id)
    ids = [one.id for one in made_of]
    stored = select(message.c.id, message.c.text, message.c.audience).where(message.c.id.in_(ids))
    standing = {id_: (text, audience) for id_, text, audience in connection.execute(stored)}
    if not made_of or any(standing.get(one.id) != (one.text, one.audience) for one in made_of):
        return False
    same = and_(
        conversation.c.id == conversation_id,
        conversation.c.summary == before.stored,
        conversation.c.audience == made_of[-1].audience,
    )
    text = rows.summary_text(summary, made_of[-1].id)
    return connection.execute(update(conversation).where(same).values(summary=text)).rowcount == 1
