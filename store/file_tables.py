"""The tables of the files that code saved."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlmodel import Field

from agent.memory.audience import WIDE
from store.databases.database import StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata


class SavedFileRow(TableRow, table=True):
    """`person` asked for it. `sources`: how many rows of `saved_file_source` it has while all of its sources exist."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    conversation: str = Field(sa_type=StorableText, index=True)
    audience: str = Field(sa_type=StorableText)
    drawn_from: str = Field(sa_type=StorableText, default=WIDE)
    person: str = Field(sa_type=StorableText, index=True)
    message: int = Field(foreign_key="message.id", ondelete="CASCADE", index=True)
    name: str = Field(sa_type=StorableText)
    data: bytes
    size: int
    saved: datetime = Field(sa_type=UtcDateTime)
    used: datetime = Field(sa_type=UtcDateTime)
    sources: int
    documents: str = Field(sa_type=StorableText, default="[]")
    call: str = Field(sa_type=StorableText, default="")


class SavedFileSourceRow(TableRow, table=True):
    """A message that a file was made from: `asked`, `attached` as in `agent.ports.saved_files.FileSource`."""

    file: int = Field(primary_key=True, foreign_key="saved_file.id", ondelete="CASCADE")
    message: int = Field(primary_key=True, foreign_key="message.id", ondelete="CASCADE", index=True)
    asked: bool = False
    attached: str = Field(sa_type=StorableText, default="[]")


saved_file: Final = metadata.tables["saved_file"]
saved_file_source: Final = metadata.tables["saved_file_source"]
