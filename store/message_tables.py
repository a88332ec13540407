"""The tables of people, conversations and messages, and of the places that share some of them."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import CheckConstraint, Index
from sqlmodel import Field

from store.databases.database import BitString, StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index


class PersonRow(TableRow, table=True):
    """`number` identifies the person's range of the search index. `served`: when a turn of theirs was last claimed, to
    the hour."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=StorableText, unique=True)
    name: str = Field(sa_type=StorableText)
    time_zone: str = Field(sa_type=StorableText)
    served: datetime | None = Field(sa_type=UtcDateTime, default=None)


person: Final = metadata.tables["person"]


class ConversationRow(TableRow, table=True):
    """`summary` is for readers of `audience` only, and is cleared when the place changes its kind."""

    id: str = Field(sa_type=StorableText, primary_key=True)
    audience: str = Field(sa_type=StorableText)
    summary: str = Field(sa_type=StorableText, default="{}")


conversation: Final = metadata.tables["conversation"]


class ParticipantRow(TableRow, table=True):
    """A person who wrote in a conversation: that makes it one of the person's threads."""

    conversation: str = Field(sa_type=StorableText, primary_key=True, foreign_key="conversation.id")
    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id", index=True)


participant: Final = metadata.tables["participant"]


class MessageRow(TableRow, table=True):
    """`person` wrote the message or, for one of the bot's, was answered. `length` counts index words, for ranking.

    `to_learn`: learning has yet to read it. `passed_over`: the person excluded it from learning. `taken_back`: the
    person deleted the memories made from it, so none are made again. `drawn_from`: see `agent.memory.audience`; a
    message drawn from NOWHERE has length 0, so that it is neither indexed nor embedded. `retold`: a message of the bot
    that may repeat words of others than its asker, or words of a schedule that a model may have written. `place`: the
    number of the place whose team it is shared with.
    """

    __table_args__: ClassVar[Any] = (
        CheckConstraint("author IN ('person', 'bot')", name="ck_message_author"),
        Index("ix_message_thread", "conversation", "turn", "id"),
        Index("ix_message_person", "person", "id"),
        Index("ix_message_channel", "channel", "audience"),
        partial_index("ix_message_to_learn", "person", "audience", where="to_learn"),
        partial_index("ix_message_drawn", "conversation", "id", where="drawn_from <> ''"),
        partial_index("ix_message_place", "place", "id", where="place IS NOT NULL"),
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
    drawn_from: str = Field(sa_type=StorableText, default="")
    retold: bool = False
    place: int | None = None
    channel: str = Field(sa_type=StorableText)
    message_id: str | None = Field(sa_type=StorableText, default=None)
    permalink: str | None = Field(sa_type=StorableText, default=None)
    to_learn: bool = False
    passed_over: bool = False
    taken_back: bool = False


message: Final = metadata.tables["message"]


class EmbeddingRow(TableRow, table=True):
    """The embedding of a message by one model (`store.search.vectors`); it is deleted with the message."""

    __table_args__: ClassVar[Any] = (Index("ix_embedding_model", "model", "message", "signs"),)

    message: int = Field(primary_key=True, foreign_key="message.id", ondelete="CASCADE")
    model: str = Field(sa_type=StorableText)
    signs: bytes = Field(sa_type=BitString)
    vector: bytes


embedding: Final = metadata.tables["embedding"]


class PlaceRow(TableRow, table=True):
    """An audience with documents or shared messages. `number` identifies its range of the indexes."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    number: int | None = Field(default=None, primary_key=True)
    audience: str = Field(sa_type=StorableText, unique=True)


place: Final = metadata.tables["place"]
