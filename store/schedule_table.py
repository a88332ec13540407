"""The table of schedules."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import Index
from sqlmodel import Field

from store.databases.database import StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata


class ScheduleRow(TableRow, table=True):
    """A schedule. `made` is JSON; for it and for `run_at` see `store.schedule_store`."""

    __table_args__: ClassVar[Any] = (
        Index("ix_schedule_run_at", "state", "run_at"),
        Index("ix_schedule_next", "state", "next"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    person: str = Field(sa_type=StorableText, index=True)
    source: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    audience: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText)
    message: str = Field(sa_type=StorableText)
    words: str = Field(sa_type=StorableText)
    made: str = Field(sa_type=StorableText)
    state: str = Field(sa_type=StorableText)
    next: datetime | None = Field(sa_type=UtcDateTime, default=None)
    last: datetime | None = Field(sa_type=UtcDateTime, default=None)
    run_at: datetime | None = Field(sa_type=UtcDateTime, default=None)
    epoch: int = 0


schedule: Final = metadata.tables["schedule"]
