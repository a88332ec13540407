"""Posts that the bot made for a person by a tool: each is the reply of a turn that is over."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import NOWHERE, WIDE, label
from agent.ports.acts import ActLimit, ActLimits, Poll
from agent.schedules.long_work import asked_in
from agent.stored_messages import Author
from agent.turn_records import Closing
from store import act_counts, polls, row_mapping
from store.databases.database import Database, SqlStore, reads, row_id, writes
from store.erased_ids import ErasedIds
from store.json_columns import quoted_pages
from store.message_tables import message
from store.replies import page
from store.search import index
from store.search.text import IndexedText
from store.turn_tables import DONE, turn
from store.turns.drawn_from import sources_by_words, sources_of
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


MAX_CONVERSATIONS: Final = 10  # In which the person got restricted replies in one channel: the newest
_RUNNING: Final = sa.select(turn.c.source, turn.c.conversation, turn.c.channel, turn.c.person, turn.c.payload)
_LAST: Final = sa.func.max(message.c.id)


def sources(connection: sa.Connection, turn_id: int, text: str, given: Sequence[int]) -> set[str]:
    asked = connection.execute(_RUNNING.where(turn.c.id == turn_id)).one_or_none()
    if asked is None:
        return {NOWHERE}  # it was forgotten meanwhile
    restricted = (
        sa.select(message.c.conversation)
        .where(message.c.person == asked.person, message.c.channel == asked.channel, message.c.drawn_from != WIDE)
        .group_by(message.c.conversation)
        .order_by(_LAST.desc())
        .limit(MAX_CONVERSATIONS)
    )
    conversations = {asked_in(asked.conversation), *connection.execute(restricted).scalars()}
    found = set[str]().union(*(sources_by_words(connection, each, text) for each in sorted(conversations)))
    return found | sources_of(connection, asked.source, quoted_pages(asked.payload), given)


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

    async def sources(self, turn: int, text: str, given: Sequence[int]) -> Collection[str]:
        return await self.database.read(sources, turn, text, given)

    async def record(
        self, posted: Incoming, text: str, pages: Sequence[str], now: datetime, poll: Poll | None = None
    ) -> None:
        asked, post = [await index.indexed(self.database, each) for each in (posted.text, text)]
        await self.database.write(record, posted, asked, post, pages, self._erased_ids, now, poll)
