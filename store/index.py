"""The full-text index: FTS5 on SQLite, one entry for each message and each person who may find it.

Above: ledger (adds), erase (removes), search and proof (ask). Below: `store.text`, `store.tables`.

Rules
  The row id of an entry is the person's number and the message's id, so a person's entries are one range and a
  search reads nobody else's. Who may find a message: everybody who wrote in its conversation.
  The index keeps the words that it was given, so a removal is exact even after Python's Unicode tables have changed.
  Words arrive ready (see `store.text`); FTS5 only splits at blanks and cuts English endings.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from store.columns import StorableText
from store.tables import message, participant, person
from store.text import index_words

NAME: Final = "message_index"
SHIFT: Final = 32
MESSAGE_BITS: Final = (1 << SHIFT) - 1

_ADD: Final = text("INSERT INTO message_index (rowid, body) VALUES (:entry, :body)")
_OPTIMIZE: Final = text("INSERT INTO message_index (message_index) VALUES ('optimize')")
_HAS_ANY: Final = text("SELECT EXISTS (SELECT 1 FROM message_index WHERE rowid BETWEEN :first AND :last)")
_REMOVE_RANGE: Final = text("DELETE FROM message_index WHERE rowid BETWEEN :first AND :last")
_REMOVE_THREAD: Final = text(
    "DELETE FROM message_index WHERE rowid IN (SELECT :first | id FROM message WHERE conversation = :conversation)"
)
_REMOVE: Final = text(
    """
    DELETE FROM message_index WHERE rowid IN (
      SELECT (person.number << 32) | message.id
      FROM message
      JOIN participant ON participant.conversation = message.conversation
      JOIN person ON person.id = participant.person
      WHERE message.id IN :messages)
    """
).bindparams(bindparam("messages", expanding=True))
_REMOVE_MESSAGES: Final = text(
    """
    DELETE FROM message_index WHERE rowid IN (
      SELECT (person.number << 32) | message.id
      FROM message
      JOIN participant ON participant.conversation = message.conversation
      JOIN person ON person.id = participant.person
      WHERE message.person = :person AND message.conversation IN :conversations)
    """
).bindparams(bindparam("person", type_=StorableText), bindparam("conversations", type_=StorableText, expanding=True))


def entries_of(number: int) -> tuple[int, int]:
    """The first and the last row id that a person's entries may have."""
    return number << SHIFT, number << SHIFT | MESSAGE_BITS


def matching(words: Iterable[str]) -> str:
    """A query of FTS5 for entries with all `words`, which are plain text."""
    return " ".join('"' + word.replace('"', '""') + '"' for word in words)


def add(connection: Connection, message_id: int, words: list[str], numbers: Iterable[int]) -> None:
    """Let the people with these numbers find a message."""
    body = " ".join(words)
    entries = [{"entry": number << SHIFT | message_id, "body": body} for number in numbers]
    if words and entries:
        connection.execute(_ADD, entries)


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


def remove_messages(connection: Connection, person_id: str, conversations: list[str]) -> None:
    """Let nobody find what this person wrote, or was answered, in these conversations."""
    connection.execute(_REMOVE_MESSAGES, {"person": person_id, "conversations": conversations})


def remove(connection: Connection, messages: Iterable[int]) -> None:
    """Let nobody find these messages."""
    connection.execute(_REMOVE, {"messages": list(messages)})


def remove_thread(connection: Connection, conversation: str, number: int) -> None:
    """Let this person find nothing of a conversation."""
    connection.execute(_REMOVE_THREAD, {"first": number << SHIFT, "conversation": conversation})


def remove_all(connection: Connection, number: int) -> None:
    """Let this person find nothing."""
    first, last = entries_of(number)
    connection.execute(_REMOVE_RANGE, {"first": first, "last": last})


def has_entries(connection: Connection, number: int) -> bool:
    """Can this person find anything at all?"""
    first, last = entries_of(number)
    return bool(connection.execute(_HAS_ANY, {"first": first, "last": last}).scalar_one())


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, which FTS5 otherwise keeps for a while."""
    connection.execute(_OPTIMIZE)
