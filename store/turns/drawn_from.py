"""Which earlier replies a reply repeats, of those that were drawn from messages which not all readers here may see.

Rules
  A reply counts as drawn from every such message that a tool found or that came with the question. Of the restricted
  replies above it in its conversation it counts as drawn from each with which it shares a word that occurs in no other
  message there; if there are more than MAX_REPLIES, one such word counts for all the older ones. In doubt it counts as
  drawn from it: little is lost, because what people wrote themselves is still found.
"""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from agent.incoming import Incoming
from agent.memory.audience import WIDE
from agent.stored_messages import Author
from store.message_tables import message
from store.replies import page
from store.search.text import index_words, is_telling, stem

MAX_REPLIES: Final = 30  # The newest of those replies: a conversation has changed its topic after that
BESIDE: Final = 100  # The newest other messages: words that occur in them prove nothing
_NARROW: Final = sa.select(message.c.id, message.c.text, message.c.drawn_from).where(
    message.c.conversation == sa.bindparam("here"), message.c.drawn_from != sa.literal_column("''")
)
HAS_NARROW: Final = sa.exists(_NARROW.with_only_columns(message.c.id))
"""Whether the conversation `here` has restricted replies at all."""
_NEWEST_NARROW: Final = _NARROW.order_by(message.c.id.desc()).limit(MAX_REPLIES)
_BESIDE: Final = (
    sa.select(message.c.text)
    .where(message.c.conversation == sa.bindparam("here"), message.c.drawn_from == WIDE)
    .order_by(message.c.id.desc())
    .limit(BESIDE)
)


def sources_by_words(connection: sa.Connection, conversation: str, reply_text: str) -> set[str]:
    """The `drawn_from` labels of the restricted replies in a conversation that share a telling word with the text."""
    newest = connection.execute(_NEWEST_NARROW, {"here": conversation}).all()
    words = _telling_stems(reply_text) if newest else set[str]()
    if not words:
        return set()
    for text in connection.execute(_BESIDE, {"here": conversation}).scalars():
        words -= _telling_stems(text)
    sources = {row.drawn_from for row in newest if not words.isdisjoint(_telling_stems(row.text))}
    if words and len(newest) == MAX_REPLIES:
        older = _NARROW.where(message.c.id < newest[-1].id).with_only_columns(message.c.drawn_from).distinct()
        sources.update(connection.execute(older, {"here": conversation}).scalars())
    return sources


def sources_by_ids(connection: sa.Connection, asked: Incoming, given: Sequence[int]) -> set[str]:
    """The `drawn_from` labels of the replies that tools found (`given`) and of those that the question quotes."""
    return sources_of(connection, asked.source, [page_ for quote in asked.quoted for page_ in quote.pages], given)


def sources_of(connection: sa.Connection, source: str, quoted: Sequence[str], given: Sequence[int]) -> set[str]:
    """The same for a question from this source that quotes these pages."""
    queries = list[sa.Select[*tuple[Any, ...]]]()
    if given:
        queries.append(sa.select(message.c.drawn_from).where(message.c.id.in_(given)))
    if quoted:
        on_page = sa.and_(page.c.turn == message.c.turn, page.c.source == source, page.c.page.in_(quoted))
        quoted_replies = sa.and_(message.c.author == Author.BOT, sa.exists().where(on_page))
        queries.append(sa.select(message.c.drawn_from).where(quoted_replies))
    return {drawn for query in queries for drawn in connection.execute(query.distinct()).scalars()}


def _telling_stems(text: str) -> set[str]:
    return {stem(word) for word in index_words(text) if is_telling(word)}
