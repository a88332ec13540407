"""The tables. Portable to PostgreSQL: text, integers, aware times; states are text; JSON is kept as text.

Above: everything in `store`. Below: `store.columns`. `store/migrations` follows this file (a test compares them).

Rules
  Ids of rows are never used again (AUTOINCREMENT): they stand in contexts, claims and the search index long after
  their row is gone. Ids of people, conversations and platform messages are the platform's own texts.
  Whatever holds somebody's words names the person, the turn or the conversation by which `store.forgetting.erase` finds
  it.
"""

from datetime import date, datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from store.columns import StorableText, UtcDateTime

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"

NEVER_REUSED: Final = {"sqlite_autoincrement": True}

# Named constraints: a later migration can only change what it can name.
SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Meta(SQLModel, table=True):
    """What the database knows of itself: the key of the erased ids, whether a sweep is owed."""

    name: str = Field(sa_type=StorableText, primary_key=True)
    value: bytes


class Person(SQLModel, table=True):
    """`number` opens the person's own range of the search index. `served`: when a turn of theirs was last claimed."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=StorableText, unique=True)
    name: str = Field(sa_type=StorableText)
    time_zone: str = Field(sa_type=StorableText)
    served: datetime | None = Field(sa_type=UtcDateTime, default=None)


class Conversation(SQLModel, table=True):
    """`summary` belongs to readers of `audience` only, and starts anew when the place changes its kind."""

    id: str = Field(sa_type=StorableText, primary_key=True)
    audience: str = Field(sa_type=StorableText)
    summary: str = Field(sa_type=StorableText, default="{}")


class Participant(SQLModel, table=True):
    """Who wrote in which conversation: that makes it one of the person's threads."""

    conversation: str = Field(sa_type=StorableText, primary_key=True, foreign_key="conversation.id")
    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id", index=True)


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
    context_notes: str = Field(sa_type=StorableText, default="[]")
    ended: datetime | None = Field(sa_type=UtcDateTime, default=None)


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


class Message(SQLModel, table=True):
    """`person` wrote it or, for the bot's, was answered. `length` counts index words, for ranking.

    `to_learn`: it waits to be learned from.
    """

    __table_args__: ClassVar[Any] = (
        CheckConstraint("author IN ('person', 'bot')", name="ck_message_author"),
        Index("ix_message_thread", "conversation", "turn", "id"),
        Index("ix_message_person", "person", "author"),
        Index(
            "ix_message_to_learn",
            "person",
            "audience",
            sqlite_where=text("to_learn"),
            postgresql_where=text("to_learn"),
        ),
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
    channel: str = Field(sa_type=StorableText)
    message_id: str | None = Field(sa_type=StorableText, default=None)
    permalink: str | None = Field(sa_type=StorableText, default=None)
    to_learn: bool = False


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


class Note(SQLModel, table=True):
    """`source_message` outlives its row as a number, so no foreign key; forgetting the message takes the note along."""

    __table_args__: ClassVar[Any] = (Index("ix_note_person", "person", "audience"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    person: str = Field(sa_type=StorableText, foreign_key="person.id")
    text: str = Field(sa_type=StorableText)
    audience: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime)
    source_message: int | None = Field(default=None, index=True)


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
    """One thing that is known; it falls with any of its sources."""

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


class ProfileSource(SQLModel, table=True):
    """A message that an entry came from. It outlives its row as a number, as a note's source does."""

    __tablename__ = "profile_source"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    entry: int = Field(primary_key=True, foreign_key="profile_entry.id")
    message: int = Field(primary_key=True, index=True)


class TaskWorkspace(SQLModel, table=True):
    """What the model keeps in mind during one task (seed 001); the row goes when the task ends."""

    __tablename__ = "task_workspaces"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    task_id: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, foreign_key="person.id", index=True)
    objective: str = Field(sa_type=StorableText, default="")
    understanding: str = Field(sa_type=StorableText, default="")
    approach: str = Field(sa_type=StorableText, default="")
    discoveries: str = Field(sa_type=StorableText, default="")


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


_tables = SQLModel.metadata.tables
meta = _tables["meta"]
person = _tables["person"]
conversation = _tables["conversation"]
participant = _tables["participant"]
turn = _tables["turn"]
job = _tables["job"]
message = _tables["message"]
action_record = _tables["action_record"]
note = _tables["note"]
profile = _tables["profile"]
profile_entry = _tables["profile_entry"]
profile_source = _tables["profile_source"]
workspace = _tables["task_workspaces"]
preference = _tables["preference"]
model_call = _tables["model_call"]
erased = _tables["erased"]
