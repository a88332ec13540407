"""Who talks, where, and what was said.

Above: `store.tables`, which names the rules. Below: `store.tables.naming`, `store.columns`.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, text
from sqlmodel import Field, SQLModel

from store.columns import StorableText, UtcDateTime
from store.tables.naming import NEVER_REUSED, metadata


class Person(SQLModel, table=True):
    """`number` opens the person's own range of the search index. `served`: when a turn of theirs was last claimed."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=StorableText, unique=True)
    name: str = Field(sa_type=StorableText)
    time_zone: str = Field(sa_type=StorableText)
    served: datetime | None = Field(sa_type=UtcDateTime, default=None)


class Conversation(SQLModel, table=True):
    """`summary` belongs to readers of `audience` only, and starts anew when the place changes its kind."""

    id: str = Field(sa_type=StorableText, primary_key=True)
    audience: str = Field(sa_type=StorableText)
    summary: str = Field(sa_type=StorableText, default="{}")


class Participant(SQLModel, table=True):
    """Who wrote in which conversation: that makes it one of the person's threads."""

    conversation: str = Field(sa_type=StorableText, primary_key=True, foreign_key="conversation.id")
    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id", index=True)


class Message(SQLModel, table=True):
    """`person` wrote it or, for the bot's, was answered. `length` counts index words, for ranking.

    `to_learn`: it waits to be learned from. `passed_over`: its person wants nothing learned from it any more.
    """

    __table_args__: ClassVar[Any] = (
        CheckConstraint("author IN ('person', 'bot')", name="ck_message_author"),
        Index("ix_message_thread", "conversation", "turn", "id"),
        Index("ix_message_person", "person", "author"),
        Index("ix_message_channel", "channel", "audience"),
        Index(
            "ix_message_to_learn",
            "person",
            "audience",
            sqlite_where=text("to_learn"),
            postgresql_where=text("to_learn"),
        ),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    conversation: str = Field(sa_type=StorableText, foreign_key="conversation.id")
    turn: int = Field(foreign_key="turn.id", index=True)
    author: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText, foreign_key="person.id")
    text: str = Field(sa_type=StorableText)
    length: int
    time: datetime = Field(sa_type=UtcDateTime)
    audience: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    message_id: str | None = Field(sa_type=StorableText, default=None)
    permalink: str | None = Field(sa_type=StorableText, default=None)
    to_learn: bool = False
    passed_over: bool = False


class Embedding(SQLModel, table=True):
    """What a message means to a model for embeddings. It falls with its message, whoever deletes that.

    `vector` holds numbers of four bytes, `signs` a bit for each of them (see `store.search.meaning`).
    """

    __table_args__: ClassVar[Any] = (Index("ix_embedding_model", "model", "message", "signs"),)

    message: int = Field(primary_key=True, foreign_key="message.id", ondelete="CASCADE")
    model: str = Field(sa_type=StorableText)
    signs: bytes
    vector: bytes


person = metadata.tables["person"]
conversation = metadata.tables["conversation"]
participant = metadata.tables["participant"]
message = metadata.tables["message"]
embedding = metadata.tables["embedding"]
