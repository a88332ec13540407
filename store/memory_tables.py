"""The tables of facts and profiles."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import Index
from sqlmodel import Field

from store.databases.database import StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata


class FactRow(TableRow, table=True):
    """See `agent.memory.facts`. `person` is "" for a fact about no particular person, so it is no foreign key.

    `source_message` remains as a number after the message's row is deleted; forgetting the message deletes the fact.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_fact_person", "person", "audience"),
        Index("ix_fact_valid", "person", "is_valid", "id"),
        Index("ix_fact_binding", "person", "is_constraint", "id"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(sa_type=StorableText, default="")
    value: str = Field(sa_type=StorableText)
    source: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime)
    audience: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    authority: int
    is_valid: bool = True
    superseded_by: int | None = None
    supersedes: int | None = None
    memory_type: str = Field(sa_type=StorableText)
    scope: str = Field(sa_type=StorableText)
    scope_id: str | None = Field(sa_type=StorableText, default=None)
    needs_review: bool = False
    is_constraint: bool = False
    constraint_type: str | None = Field(sa_type=StorableText, default=None)
    source_message: int | None = Field(default=None, index=True)
    everywhere: bool = False
    used: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When it was last in the context of a turn."""
    reading: str = Field(sa_type=StorableText, default="")
    """The statements read from the value, as `store.memory.fact_index` stores them; `reader`: that reader's version."""
    reader: int = 0
    doubted_by: int | None = None
    """The newer fact that may have replaced it; of a superseded one, the one that replaced it by a model's verdict."""
    doubt_asked: int = 0
    """How often a model was asked about this doubt."""
    announced: int | None = None
    """The turn whose answer told its person of it; 0: it is older than these announcements."""
    kept: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When it was last decided that it still holds."""


fact: Final = metadata.tables["fact"]


class ProfileRow(TableRow, table=True):
    """What was learned of a person in one audience. `revision` grows with every change."""

    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id")
    audience: str = Field(sa_type=StorableText, primary_key=True)
    created: datetime = Field(sa_type=UtcDateTime)
    updated: datetime = Field(sa_type=UtcDateTime)
    interaction_count: int
    synthesised_count: int
    synthesis_version: int
    revision: int


profile: Final = metadata.tables["profile"]


class ProfileEntryRow(TableRow, table=True):
    """One entry of a profile; deleted with any of its sources. `everywhere`: used in all replies to its person."""

    __table_args__: ClassVar[Any] = (Index("ix_profile_entry_person", "person", "audience"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    person: str = Field(sa_type=StorableText, foreign_key="person.id")
    audience: str = Field(sa_type=StorableText)
    field: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    text: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime)
    confidence: float
    everywhere: bool = False
    used: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When it was last in the context of a turn, to a day. Of an entry from before r0049: no later than its upgrade."""
    kept: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When its person last decided that it still holds."""


profile_entry: Final = metadata.tables["profile_entry"]


class ProfileSourceRow(TableRow, table=True):
    """A message that an entry came from. Its id remains after the message's row is deleted, as with a fact's source."""

    entry: int = Field(primary_key=True, foreign_key="profile_entry.id")
    message: int = Field(primary_key=True, index=True)


profile_source: Final = metadata.tables["profile_source"]
