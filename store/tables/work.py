"""The turns and the jobs, and what the turns leave behind.

Above: `store.tables`, which names the rules. Below: `store.tables.naming`, `store.columns`.
"""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from store.columns import StorableText, UtcDateTime
from store.tables.naming import NEVER_REUSED, metadata

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"


class Turn(SQLModel, table=True):
    """The ledger. `payload` is what only the running turn needs; it, `progress` and `reply_ref` go when it ends."""

    __table_args__: ClassVar[Any] = (
        UniqueConstraint("source", "event_id"),
        UniqueConstraint("channel", "message_id"),
        Index(
            "ix_turn_one_running",
            "conversation",
            unique=True,
            sqlite_where=text("state = 'running'"),
            postgresql_where=text("state = 'running'"),
        ),
        Index("ix_turn_state", "state", "id"),
        Index("ix_turn_person", "person", "conversation"),
        Index("ix_turn_person_taken", "person", "taken"),
        Index("ix_turn_channel_taken", "channel", "taken"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    kind: str = Field(sa_type=StorableText, default="turn")
    state: str = Field(sa_type=StorableText, default=WAITING)
    source: str = Field(sa_type=StorableText)
    event_id: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    message_id: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText, foreign_key="conversation.id", index=True)
    person: str = Field(sa_type=StorableText, foreign_key="person.id")
    taken: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When it was taken in, by our clock; None for what was only overheard, which no rate counts."""
    run_at: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """Not before; None means at once, whatever the platform's clock says."""
    owner: str | None = Field(sa_type=StorableText, default=None)
    lease_until: datetime | None = Field(sa_type=UtcDateTime, default=None)
    epoch: int = 0
    attempts: int = 0
    stopping: bool = False
    """Somebody has asked to stop it, in whatever process it runs."""
    payload: str = Field(sa_type=StorableText, default="{}")
    progress: str = Field(sa_type=StorableText, default="")
    reply_ref: str = Field(sa_type=StorableText, default="")
    pages: str = Field(sa_type=StorableText, default="[]")
    outcome: str | None = Field(sa_type=StorableText, default=None)
    usage: str = Field(sa_type=StorableText, default="{}")
    context_messages: str = Field(sa_type=StorableText, default="[]")
    given_messages: str = Field(sa_type=StorableText, default="[]")
    """Those of `context_messages` that tools brought into it, because the model asked for them."""
    context_facts: str = Field(sa_type=StorableText, default="[]")
    ended: datetime | None = Field(sa_type=UtcDateTime, default=None)


class Page(SQLModel, table=True):
    """A page of a finished reply, by the platform's own id; they go with what the reply said."""

    __table_args__: ClassVar[Any] = (Index("ix_page_page", "page", "source"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id", index=True)
    source: str = Field(sa_type=StorableText)
    page: str = Field(sa_type=StorableText)


class Verdict(SQLModel, table=True):
    """What somebody thinks of the reply of a turn."""

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, primary_key=True, index=True)
    verdict: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime, index=True)


class Job(SQLModel, table=True):
    """Work outside of turns. `person` and `conversation` say with whom it is forgotten; the person may be unknown."""

    __table_args__: ClassVar[Any] = (
        *(
            Index(
                f"ix_job_one_{state}",
                "kind",
                "key",
                unique=True,
                sqlite_where=text(f"state = '{state}'"),
                postgresql_where=text(f"state = '{state}'"),
            )
            for state in (WAITING, RUNNING)
        ),
        Index("ix_job_run_at", "kind", "run_at"),
        Index("ix_job_person", "person", "conversation"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    kind: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    state: str = Field(sa_type=StorableText, default=WAITING)
    payload: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText)
    run_at: datetime = Field(sa_type=UtcDateTime)
    owner: str | None = Field(sa_type=StorableText, default=None)
    lease_until: datetime | None = Field(sa_type=UtcDateTime, default=None)
    epoch: int = 0
    attempts: int = 0


class ActionRecord(SQLModel, table=True):
    __tablename__ = "action_record"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr
    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id", index=True)
    iteration: int
    time: datetime = Field(sa_type=UtcDateTime)
    thinking: str = Field(sa_type=StorableText)
    calls: str = Field(sa_type=StorableText)
    results: str = Field(sa_type=StorableText)


class TaskWorkspace(SQLModel, table=True):
    """What the model keeps in mind during one task (seed 001); the row goes when the task ends."""

    __tablename__ = "task_workspaces"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    task_id: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, foreign_key="person.id", index=True)
    objective: str = Field(sa_type=StorableText, default="")
    understanding: str = Field(sa_type=StorableText, default="")
    approach: str = Field(sa_type=StorableText, default="")
    discoveries: str = Field(sa_type=StorableText, default="")


turn = metadata.tables["turn"]
page = metadata.tables["page"]
verdict = metadata.tables["verdict"]
job = metadata.tables["job"]
action_record = metadata.tables["action_record"]
workspace = metadata.tables["task_workspaces"]
