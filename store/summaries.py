"""The summary of a conversation, made in the background from the messages that will soon not fit into the context.

It is stored as one JSON object: its fields, under `COVERED` the id of the last message that it covers, and under
`WORDS_OF` whose words it holds. It is made only from messages of the conversation's own audience, and stored only if it
continues the summary that is still stored and all messages that it was made from still exist with the same text: so it
never restores what was forgotten meanwhile. Forgetting, an edit or a more public place set it to "{}".
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.incoming import Incoming
from agent.memory.audience import NOWHERE
from agent.state import SituationSummary, SummaryWords
from agent.stored_messages import StoredMessage
from agent.summary import SUMMARY, Uncovered, words_of_messages
from store import job_queue, row_mapping
from store.databases.database import SqlStore, in_order
from store.message_tables import conversation, message, person


def summary(stored: str | None) -> tuple[SituationSummary, int, SummaryWords]:
    """A conversation's summary, the id of the last message that it covers, and whose words it holds. `stored`: None for
    a conversation that is not known.
    """
    stored = stored or row_mapping.NO_SUMMARY
    return (*row_mapping.summary(stored), row_mapping.summary_words(stored))


def words_of_updated(stored: str, update: SummaryWords) -> SummaryWords:
    """Whose words a stored summary holds once something is added to it."""
    before, _ = row_mapping.summary(stored)
    return update if before.is_empty else row_mapping.summary_words(stored).joined(update)


# The newest messages that a first summary reads: older ones in a thread without a summary are found by recall.
UNCOVERED_LIMIT: Final = 200


def schedule_summary(connection: sa.Connection, asked: Incoming, until: int, now: datetime) -> None:
    """Schedule a summary of the question's conversation up to that message; a waiting job keeps its time."""
    if not job_queue.replace(connection, SUMMARY, asked.conversation, payload=str(until), person=asked.person.id):
        values = {"payload": str(until), "run_at": now, "person": asked.person.id, "conversation": asked.conversation}
        job_queue.schedule(connection, SUMMARY, asked.conversation, values)


def uncovered(connection: sa.Connection, conversation_id: str, until: int) -> Uncovered | None:
    place = sa.select(conversation.c.summary, conversation.c.audience).where(conversation.c.id == conversation_id)
    found = connection.execute(place).one_or_none()
    if found is None:
        return None
    known, since = row_mapping.summary(found.summary)
    messages = (
        sa.select(message, person.c.name)
        .join_from(message, person, person.c.id == message.c.person)
        .where(message.c.conversation == conversation_id, message.c.audience == found.audience)
        .where(message.c.id > since, message.c.id <= until, message.c.drawn_from != NOWHERE)
        .order_by(message.c.id.desc())
        .limit(UNCOVERED_LIMIT)
    )
    rows = connection.execute(messages).mappings().all()
    newest = [row_mapping.message(row) for row in rows]
    return Uncovered(known, found.summary, since, tuple(reversed(newest)), rows[0]["channel"] if rows else "")


def keep_summary(
    connection: sa.Connection,
    conversation_id: str,
    before: Uncovered,
    made_of: Sequence[StoredMessage],
    summary: SituationSummary,
) -> bool:
    in_order(connection, conversation_id)
    ids = [source.id for source in made_of]
    stored = sa.select(message.c.id, message.c.text, message.c.audience).where(message.c.id.in_(ids))
    current = {id_: (text, audience) for id_, text, audience in connection.execute(stored)}
    if not made_of or any(current.get(source.id) != (source.text, source.audience) for source in made_of):
        return False
    same = sa.and_(
        conversation.c.id == conversation_id,
        conversation.c.summary == before.stored,
        conversation.c.audience == made_of[-1].audience,
    )
    words = words_of_updated(before.stored, words_of_messages(made_of))
    text = row_mapping.summary_text(summary, made_of[-1].id, words)
    return connection.execute(sa.update(conversation).where(same).values(summary=text)).rowcount == 1


class SqlSummaries(SqlStore):
    async def uncovered(self, conversation: str, until: int) -> Uncovered | None:
        return await self.database.read(uncovered, conversation, until)

    async def save(
        self, conversation: str, before: Uncovered, made_of: Sequence[StoredMessage], summary: SituationSummary
    ) -> bool:
        return await self.database.write(keep_summary, conversation, before, made_of, summary)
