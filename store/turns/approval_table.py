"""The table of those who approve calls in place of their askers."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import Index
from sqlmodel import Field

from store.databases.database import StorableText, UtcDateTime
from store.schema import TableRow, metadata


class ApprovalRow(TableRow, table=True):
    """A person who is asked to approve a call of somebody else's turn. `rule`: the `Approvers` of the row of the tool
    policy. `pages`: what shows it to them, as JSON. `word`: their decision; "" before it.
    """

    __table_args__: ClassVar[Any] = (Index("ix_approval_person", "person"),)

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    call: str = Field(sa_type=StorableText, primary_key=True)
    person: str = Field(sa_type=StorableText, primary_key=True)
    tool: str = Field(sa_type=StorableText)
    rule: str = Field(sa_type=StorableText)
    pages: str = Field(sa_type=StorableText, default="[]")
    word: str = Field(sa_type=StorableText, default="")
    reason: str = Field(sa_type=StorableText, default="")
    closed: bool = Field(default=False)
    reminded: bool = Field(default=False)
    decided: datetime | None = Field(sa_type=UtcDateTime, default=None)


approval: Final = metadata.tables["approval"]
