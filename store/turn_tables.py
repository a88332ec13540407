"""The tables of turns, of their actions, and of the workspaces of running tasks."""

from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, Index, UniqueConstraint
from sqlmodel import Field

from agent.turn_kinds import TurnKind
from store.databases.database import StorableText, UtcDateTime
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"


class TurnRow(TableRow, table=True):
    """The ledger. `payload` holds what only the running turn needs; it, `progress` and `reply_ref` are cleared when the
    turn ends.

    `team`, `round`: for fair queueing between teams and people (`store.turns.turn_queue`).
    """

    __table_args__: ClassVar[Any] = (
        UniqueConstraint("source", "event_id"),
        UniqueConstraint("source", "channel", "message_id"),
        partial_index("ix_turn_one_running", "conversation", where="state = 'running'", unique=True),
        Index("ix_turn_state", "state", "id"),
        Index("ix_turn_person", "person", "conversation"),
        Index("ix_turn_person_taken", "person", "taken"),
        Index("ix_turn_channel_taken", "channel", "taken"),
        partial_index("ix_turn_queue", "source", "team", "round", "id", where="state = 'waiting'"),
        partial_index("ix_turn_waiting", "conversation", "id", where="state = 'waiting'"),
        partial_index("ix_turn_open", "person", "round", where="state IN ('waiting', 'running')"),
        partial_index("ix_turn_served", "source", "team", "began", where="began IS NOT NULL"),
        partial_index("ix_turn_ended", "ended", "taken", where="taken IS NOT NULL AND ended IS NOT NULL"),
        partial_index("ix_turn_schedule", "schedule", where="schedule IS NOT NULL"),
        partial_index("ix_turn_documents", "id", where="given_documents <> '[]'"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    kind: str = Field(sa_type=StorableText, default=TurnKind.QUESTION)
    schedule: int | None = Field(sa_type=BigInteger, default=None)
    """The number of the schedule that began it; the schedule may be gone."""
    answers: int | None = Field(sa_type=BigInteger, default=None)
    """The number of the turn whose question its message answers; that turn may be gone (`store.turns.answers`)."""
    state: str = Field(sa_type=StorableText, default=WAITING)
    source: str = Field(sa_type=StorableText)
    event_id: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    message_id: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText, foreign_key="conversation.id", index=True)
    person: str = Field(sa_type=StorableText, foreign_key="person.id")
    team: str = Field(sa_type=StorableText, default="", sa_column_kwargs={"server_default": ""})
    round: int = Field(sa_type=BigInteger, default=0, sa_column_kwargs={"server_default": "0"})
    taken: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When it was accepted, by our clock; None for a message stored only as context, which no rate counts."""
    began: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """When it was first claimed."""
    run_at: datetime | None = Field(sa_type=UtcDateTime, default=None)
    """The earliest time to run; None means at once, whatever the platform's clock says."""
    owner: str | None = Field(sa_type=StorableText, default=None)
    lease_until: datetime | None = Field(sa_type=UtcDateTime, default=None)
    epoch: int = 0
    attempts: int = 0
    stopping: bool = False
    """A user has asked to stop it, in whichever process it runs."""
    payload: str = Field(sa_type=StorableText, default="{}")
    progress: str = Field(sa_type=StorableText, default="")
    reply_ref: str = Field(sa_type=StorableText, default="")
    pages: str = Field(sa_type=StorableText, default="[]")
    outcome: str | None = Field(sa_type=StorableText, default=None)
    usage: str = Field(sa_type=StorableText, default="{}")
    context_messages: str = Field(sa_type=StorableText, default="[]")
    given_messages: str = Field(sa_type=StorableText, default="[]")
    """The `context_messages` that tools returned, because the model asked for them."""
    context_facts: str = Field(sa_type=StorableText, default="[]")
    given_documents: str = Field(sa_type=StorableText, default="[]", sa_column_kwargs={"server_default": "[]"})
    erased_sources: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """How many messages and facts of its context were erased since; their ids are no longer in the lists above."""
    charged: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """How many model calls of its progress are stored as calls already."""
    ended: datetime | None = Field(sa_type=UtcDateTime, default=None)


turn: Final = metadata.tables["turn"]


class ActionRecordRow(TableRow, table=True):
    """`drawn_from`: that of the reply of its turn."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id", index=True)
    iteration: int
    time: datetime = Field(sa_type=UtcDateTime)
    thinking: str = Field(sa_type=StorableText)
    calls: str = Field(sa_type=StorableText)
    results: str = Field(sa_type=StorableText)
    drawn_from: str = Field(sa_type=StorableText, default="")


action_record: Final = metadata.tables["action_record"]


class TaskWorkspaceRow(TableRow, table=True):
    """The model's workspace during one task (seed 001); the row is deleted when the task ends."""

    __tablename__ = "task_workspaces"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    task_id: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, foreign_key="person.id", index=True)
    objective: str = Field(sa_type=StorableText, default="")
    understanding: str = Field(sa_type=StorableText, default="")
    approach: str = Field(sa_type=StorableText, default="")
    discoveries: str = Field(sa_type=StorableText, default="")


workspace: Final = metadata.tables["task_workspaces"]
