"""The full-text index: one entry for each message and each person who may find it, on either engine.

Rules
  Who may find a message: everybody who wrote in its conversation. A search reads the person's own entries and nobody
  else's.
  The index keeps the words that it was given, so a removal is exact even after Python's Unicode tables have changed.
  Words arrive ready (see `store.search.text`); the engines only cut English endings, both in the same way.
"""

from collections.abc import Iterable
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, Connection, Select, delete, select, update

from store.databases.database import is_postgresql
from store.search import fts5, tsvector
from store.search.ranking import Match
from store.search.text import SearchQuery, index_words
from store.tables import embedding, message, participant, person

NAME: Final = "message_index"


class _Engine(Protocol):
    """What `fts5` and `tsvector` both are. `number` is a person's; a pair is (number, id of a message)."""

    def add(self, connection: Connection, message_id: int, words: list[str], numbers: list[int]) -> None: ...

    def remove(self, connection: Connection, pairs: Select[Any, Any]) -> None: ...

    def remove_all(self, connection: Connection, number: int) -> None: ...

    def has_entries(self, connection: Connection, number: int) -> bool: ...

    def matches(self, connection: Connection, sought: SearchQuery) -> list[list[Match]]: ...

    def having(self, connection: Connection, words: list[str], number: int) -> list[int]: ...

    def holding(
        self,
        connection: Connection,
        texts: list[list[str]],
        numbers: list[int],
        *,
        person: str,
        conversation: str | None,
    ) -> int: ...

    def optimize(self, connection: Connection) -> None: ...


def add(connection: Connection, message_id: int, words: list[str], numbers: Iterable[int]) -> None:
    """Let the people with these numbers find a message."""
    readers_ = list(numbers)
    if words and readers_:
        _engine(connection).add(connection, message_id, words, readers_)


def add_thread(connection: Connection, conversation: str, number: int) -> None:
    """Let a person who has just joined a conversation find what stands there already."""
    stored = select(message.c.id, message.c.text).where(message.c.conversation == conversation)
    for id_, said in connection.execute(stored).all():
        add(connection, id_, index_words(said), [number])


def readers(connection: Connection, *conversations: str) -> list[int]:
    """The numbers of everybody who wrote in one of these conversations."""
    joined = participant.join(person, person.c.id == participant.c.person)
    numbers = select(person.c.number).distinct().select_from(joined)
    return list(connection.execute(numbers.where(participant.c.conversation.in_(conversations))).scalars())


def remove(connection: Connection, messages: Iterable[int]) -> None:
    """Let nobody find these messages, by their words or by their meaning."""
    ids = list(messages)
    _remove(connection, message.c.id.in_(ids))
    connection.execute(delete(embedding).where(embedding.c.message.in_(ids)))


def change_text(connection: Connection, message_id: int, conversation: str, said: str, **values: object) -> None:
    """Put other words in place of a message's, to be found by them from now on; and these values of its row."""
    words = index_words(said)
    remove(connection, [message_id])
    changed = update(message).where(message.c.id == message_id)
    connection.execute(changed.values(text=said, length=len(words), **values))
    add(connection, message_id, words, readers(connection, conversation))


def remove_thread(connection: Connection, conversation: str, number: int) -> None:
    """Let this person find nothing of a conversation."""
    _remove(connection, message.c.conversation == conversation, person.c.number == number)


def remove_all(connection: Connection, number: int) -> None:
    """Let this person find nothing."""
    _engine(connection).remove_all(connection, number)


def matches(connection: Connection, sought: SearchQuery) -> list[list[Match]]:
    """For each keyword the person's messages with it that the query may see; of a common one the newest."""
    return _engine(connection).matches(connection, sought)


def having(connection: Connection, words: list[str], number: int) -> list[int]:
    """The ids of all messages that the person with this number may find by all of these words."""
    return _engine(connection).having(connection, words, number) if words else []


def holding(
    connection: Connection, texts: list[list[str]], numbers: list[int], *, person: str, conversation: str | None
) -> int:
    """How many entries of these people hold all the words of one of `texts`, though their message is gone or is what
    the person said, or was answered, in the conversation (None: anywhere).
    """
    engine = _engine(connection)
    asked = [number for number in numbers if engine.has_entries(connection, number)]
    wanted = [words for words in texts if words]
    if not asked or not wanted:
        return 0
    return engine.holding(connection, wanted, asked, person=person, conversation=conversation)


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, where it keeps them for a while."""
    _engine(connection).optimize(connection)


def _remove(connection: Connection, *where: ColumnElement[bool]) -> None:
    written = message.join(participant, participant.c.conversation == message.c.conversation)
    found = written.join(person, person.c.id == participant.c.person)
    _engine(connection).remove(connection, select(person.c.number, message.c.id).select_from(found).where(*where))


def _engine(connection: Connection) -> _Engine:
    return tsvector if is_postgresql(connection) else fts5
