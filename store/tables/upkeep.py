"""What was chosen, spent and erased, and what the database knows of itself.

Above: `store.tables`, which names the rules. Below: `store.tables.naming`, `store.columns`.
"""

from datetime import date, datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from store.columns import StorableText, UtcDateTime
from store.tables.naming import NEVER_REUSED, metadata


class Meta(SQLModel, table=True):
    """What the database knows of itself: the key of the erased ids, whether a sweep is owed."""

    name: str = Field(sa_type=StorableText, primary_key=True)
    value: bytes


class Preference(SQLModel, table=True):
    """What somebody chose. `owner` is a person, who may not have written yet, or "channel:" and a channel's id."""

    owner: str = Field(sa_type=StorableText, primary_key=True)
    name: str = Field(sa_type=StorableText, primary_key=True)
    value: str = Field(sa_type=StorableText)


class ModelCall(SQLModel, table=True):
    """What one model call took. It holds nobody's words, and outlives what was asked: then without turn and channel.

    `number` counts the calls of one turn, `kind` says what it was for, `day` is of UTC, `cost` is in nano-dollars, None
    for a model without a price. The person is no foreign key: what they spent still counts after they are forgotten.
    """

    __tablename__ = "model_call"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr
    __table_args__: ClassVar[Any] = (
        Index("ix_model_call_person", "person", "day"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    turn: int | None = Field(default=None, foreign_key="turn.id", index=True)
    number: int
    kind: str = Field(sa_type=StorableText)
    model: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText, default="")
    day: date = Field(index=True)
    input_uncached: int
    input_cached: int
    input_written: int
    output: int
    reasoning: int
    bytes_up: int = Field(sa_type=BigInteger)
    estimated: bool
    cost: int | None = Field(sa_type=BigInteger, default=None)


class Erased(SQLModel, table=True):
    """A keyed hash of an erased platform id, so that a redelivery or a catch-up never brings it back."""

    hash: str = Field(sa_type=StorableText, primary_key=True)
    time: datetime = Field(sa_type=UtcDateTime)


meta = metadata.tables["meta"]
preference = metadata.tables["preference"]
model_call = metadata.tables["model_call"]
erased = metadata.tables["erased"]
