"""Posts that the bot made for a person by a tool: each is the reply of a turn that is over."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import label
from agent.ports.acts import ActLimit, ActLimits, Poll
from agent.stored_messages import Author
from agent.turn_records import Closing
from store import act_counts, polls, row_mapping
from store.databases.database import Database, SqlStore, reads, row_id, writes
from store.erased_ids import ErasedIds
from store.message_tables import message
from store.replies import page
from store.search import index
from store.search.text import IndexedText
from store.turn_tables import DONE, turn
from store.turns.drawn_from import sources_by_words
from store.turns.ledger import accept

_NEW_MESSAGE: Final = sa.insert(message)
_NEW_PAGE: Final = sa.insert(page)


def record(
    connection: sa.Connection,
    posted: Incoming,
    asked: IndexedText,
    post: IndexedText,
    pages: Sequence[str],
    erased_ids: ErasedIds,
    now: datetime,
    asked_poll: Poll | None = None,
) -> None:
    accepted = accept(connection, posted, asked, erased_ids, DONE)
    if accepted.duplicate:
        return
    closing = Closing(Outcome.ANSWERED, post.text, tuple(pages))
    connection.execute(sa.update(turn).where(turn.c.id == accepted.turn).values(row_mapping.ending(closing, now)))
    connection.execute(_NEW_PAGE, [{"turn": accepted.turn, "source": posted.source, "page": each} for each in pages])
    values = {
        "conversation": posted.conversation,
        "person": posted.person.id,
        "channel": posted.channel,
        "audience": label(posted.place.audience),
        "text": post.text,
        "length": post.length,
        "turn": accepted.turn,
        "author": Author.BOT,
        "retold": True,
        "time": now,
        "message_id": pages[0],
    }
    number = row_id(connection.execute(_NEW_MESSAGE, values))
    if asked_poll is not None:
        polls.open_poll(connection, accepted.turn, asked_poll)
    index.add(connection, number, posted.conversation, post, index.readers_of(connection, number))


class SqlActs(SqlStore):
    """The port Acts."""

    poll = reads(polls.poll_at)
    vote = writes(polls.vote)
    close_poll = writes(polls.close_poll)

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids

    async def charge(self, person: str, place: str, limits: ActLimits, now: datetime) -> ActLimit | None:
        return await self.database.write(act_counts.charge, person, place, limits, now)

    async def sources(self, conversation: str, text: str) -> Collection[str]:
        return await self.database.read(sources_by_words, conversation, text)

    async def record(
        self, posted: Incoming, text: str, pages: Sequence[str], now: datetime, poll: Poll | None = None
    ) -> None:
        asked, post = [await index.indexed(self.database, each) for each in (posted.text, text)]
        await self.database.write(record, posted, asked, post, pages, self._erased_ids, now, poll)
