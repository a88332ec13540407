"""What is kept of people: facts and profiles.

Above: `store.tables`, which names the rules. Below: `store.tables.naming`, `store.columns`.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from store.columns import StorableText, UtcDateTime
from store.tables.naming import NEVER_REUSED, metadata


class Fact(SQLModel, table=True):
    """See `agent.memory.facts`. `person` is "" for what is nobody's in particular, so it is no foreign key.

    `source_message` outlives its row as a number; forgetting the message takes the fact along.
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
    """When it last stood in the context of a turn."""
    reading: str = Field(sa_type=StorableText, default="")
    """What the value says, as `store.memory.fact_index` keeps it."""
    reader: int = 0
    """The version of whoever read it."""


class FactTerm(SQLModel, table=True):
    """A word that leads to a fact; it goes with it."""

    __tablename__ = "fact_term"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    person: str = Field(sa_type=StorableText, primary_key=True)
    term: str = Field(sa_type=StorableText, primary_key=True)
    fact: int = Field(primary_key=True, foreign_key="fact.id", index=True)


class FactGround(SQLModel, table=True):
    """A fact, and one that it depends on."""

    __tablename__ = "fact_ground"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    fact: int = Field(primary_key=True, foreign_key="fact.id")
    ground: int = Field(primary_key=True, foreign_key="fact.id", index=True)


class WorkingItem(SQLModel, table=True):
    """A scratch value of a conversation; it goes when it expires, and with the question in whose turn it was kept."""

    __tablename__ = "working_item"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr
    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    conversation: str = Field(sa_type=StorableText, index=True)
    audience: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    value: str = Field(sa_type=StorableText)
    created: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime, index=True)
    message: int = Field(index=True)


class Profile(SQLModel, table=True):
    """What was learned of a person in one audience. `revision` grows with every change, by whomever."""

    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id")
    audience: str = Field(sa_type=StorableText, primary_key=True)
    created: datetime = Field(sa_type=UtcDateTime)
    updated: datetime = Field(sa_type=UtcDateTime)
    interaction_count: int
    synthesised_count: int
    synthesis_version: int
    revision: int


class ProfileEntry(SQLModel, table=True):
    """One thing that is known; it falls with any of its sources. `everywhere`: for all replies to its person."""

    __tablename__ = "profile_entry"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr
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


class ProfileSource(SQLModel, table=True):
    """A message that an entry came from. It outlives its row as a number, as a fact's source does."""

    __tablename__ = "profile_source"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    entry: int = Field(primary_key=True, foreign_key="profile_entry.id")
    message: int = Field(primary_key=True, index=True)


fact = metadata.tables["fact"]
fact_term = metadata.tables["fact_term"]
fact_ground = metadata.tables["fact_ground"]
working_item = metadata.tables["working_item"]
profile = metadata.tables["profile"]
profile_entry = metadata.tables["profile_entry"]
profile_source = metadata.tables["profile_source"]
