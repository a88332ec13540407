"""The tables of requests for a human, and of what people are written about them."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import Index
from sqlmodel import Field

from store.databases.database import StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata


class HandoffRow(TableRow, table=True):
    """See `agent.handoffs.Handoff`. `conversation`: that of the turn, so that each message finds it at once. `note`:
    the only words, of `person`. The names are those that people had on their platform then.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_handoff_conversation", "conversation", "state"),
        Index("ix_handoff_turn", "turn"),
        Index("ix_handoff_person", "person"),
        Index("ix_handoff_taker", "taker"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id")
    conversation: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    asker_name: str = Field(sa_type=StorableText)
    note: str = Field(sa_type=StorableText)
    shared: str = Field(sa_type=StorableText)
    state: str = Field(sa_type=StorableText)
    taker: str = Field(sa_type=StorableText)
    taker_name: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime)
    changed: datetime = Field(sa_type=UtcDateTime)
    reminded: bool


class HandoffMessageRow(TableRow, table=True):
    """What a person is written about a request. `pages`: as JSON."""

    __table_args__: ClassVar[Any] = (Index("ix_handoff_message_person", "person"),)

    handoff: int = Field(primary_key=True, foreign_key="handoff.id")
    person: str = Field(sa_type=StorableText, primary_key=True)
    pages: str = Field(sa_type=StorableText)
    closed: bool


handoff: Final = metadata.tables["handoff"]
handoff_message: Final = metadata.tables["handoff_message"]
