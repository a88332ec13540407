"""The tables. Portable to PostgreSQL: text, integers, aware times; states are text; JSON is stored as text.

Rules
  Each table is declared once, by a class; statements name the columns of the table (`message.c.text`). Rows are not
  read or written as objects of these classes: reading 30 rows took 1.2 times as long through the classes' columns and
  1.35 times through a session, an insert 3.4 times.
  Row ids are never reused (AUTOINCREMENT): contexts, claims and the search index refer to them long after the row is
  deleted. Ids of people, conversations and platform messages are the platform's own texts.
  Every table that holds people's words has a column for the person, the turn or the conversation by which
  `store.forgetting.erase` finds them.
"""

import re
from datetime import date, datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, CheckConstraint, Index, UniqueConstraint, text
from sqlalchemy.orm import declared_attr
from sqlmodel import Field, SQLModel

from store.databases.database import BitString, StorableText, UtcDateTime

NEVER_REUSED: Final = {"sqlite_autoincrement": True}
_WORDS: Final = re.compile("[A-Z][a-z]*")

metadata: Final = SQLModel.metadata
_table: Final = metadata.tables.__getitem__
# Constraints have names: a later migration can only change what it can name.
metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


def _index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """A partial index of the rows for which `where` is true."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


class Row(SQLModel):
    """The table's name is the class's in snake case, without "Row": `FactTermRow` is fact_term."""

    @declared_attr.directive
    def __tablename__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: N805 -- of the class
        return "_".join(_WORDS.findall(cls.__name__.removesuffix("Row"))).lower()


# People, conversations and messages.


class PersonRow(Row, table=True):
    """`number` identifies the person's range of the search index. `served`: when a turn of theirs was last claimed."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=StorableText, unique=True)
    name: str = Field(sa_type=StorableText)
    time_zone: str = Field(sa_type=StorableText)
    served: datetime | None = Field(sa_type=UtcDateTime, default=None)


class ConversationRow(Row, table=True):
    """`summary` is for readers of `audience` only, and is cleared when the place changes its kind."""

    id: str = Field(sa_type=StorableText, primary_key=True)
    audience: str = Field(sa_type=StorableText)
    summary: str = Field(sa_type=StorableText, default="{}")


class ParticipantRow(Row, table=True):
    """A person who wrote in a conversation: that makes it one of the person's threads."""

    conversation: str = Field(sa_type=StorableText, primary_key=True, foreign_key="conversation.id")
    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id", index=True)


class MessageRow(Row, table=True):
    """`person` wrote the message or, for one of the bot's, was answered. `length` counts index words, for ranking.

    `to_learn`: learning has yet to read it. `passed_over`: the person excluded it from learning. `taken_back`: the
    person deleted the memories made from it, so none are made again. `drawn_from`: see `agent.memory.audience`; a
    message drawn from NOWHERE has length 0, so that it is neither indexed nor embedded. `retold`: a message of the bot
    that may repeat words of others than its asker, or words of a schedule that a model may have written. `place`: the
    number of the place whose team it is shared with.
    """

    __table_args__: ClassVar[Any] = (
        CheckConstraint("author IN ('person', 'bot')", name="ck_message_author"),
        Index("ix_message_thread", "conversation", "turn", "id"),
        Index("ix_message_person", "person", "id"),
        Index("ix_message_channel", "channel", "audience"),
        _index("ix_message_to_learn", "person", "audience", where="to_learn"),
        _index("ix_message_drawn", "conversation", "id", where="drawn_from <> ''"),
        _index("ix_message_place", "place", "id", where="place IS NOT NULL"),
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
    drawn_from: str = Field(sa_type=StorableText, default="")
    retold: bool = False
    place: int | None = None
    channel: str = Field(sa_type=StorableText)
    message_id: str | None = Field(sa_type=StorableText, default=None)
    permalink: str | None = Field(sa_type=StorableText, default=None)
    to_learn: bool = False
    passed_over: bool = False
    taken_back: bool = False


class EmbeddingRow(Row, table=True):
    """The embedding of a message by one model (`store.search.matching`); it is deleted with the message."""

    __table_args__: ClassVar[Any] = (Index("ix_embedding_model", "model", "message", "signs"),)

    message: int = Field(primary_key=True, foreign_key="message.id", ondelete="CASCADE")
    model: str = Field(sa_type=StorableText)
    signs: bytes = Field(sa_type=BitString)
    vector: bytes


person, conversation, participant, message, embedding = map(
    _table, ("person", "conversation", "participant", "message", "embedding")
)


# Memory: facts and profiles.


class FactRow(Row, table=True):
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
    """The newer fact that may have replaced it."""
    announced: int | None = None
    """The turn whose answer told its person of it; 0: it is older than these announcements."""


class FactTermRow(Row, table=True):
    """A word by which a fact is found; deleted with the fact."""

    person: str = Field(sa_type=StorableText, primary_key=True)
    term: str = Field(sa_type=StorableText, primary_key=True)
    fact: int = Field(primary_key=True, foreign_key="fact.id", index=True)


class FactGroundRow(Row, table=True):
    """A fact, and another fact that it depends on."""

    fact: int = Field(primary_key=True, foreign_key="fact.id")
    ground: int = Field(primary_key=True, foreign_key="fact.id", index=True)


class WorkingItemRow(Row, table=True):
    """A scratch value of a conversation; deleted when it expires, and with the question in whose turn it was kept."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    conversation: str = Field(sa_type=StorableText, index=True)
    audience: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    value: str = Field(sa_type=StorableText)
    created: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime, index=True)
    message: int = Field(index=True)


class ProfileRow(Row, table=True):
    """What was learned of a person in one audience. `revision` grows with every change."""

    person: str = Field(sa_type=StorableText, primary_key=True, foreign_key="person.id")
    audience: str = Field(sa_type=StorableText, primary_key=True)
    created: datetime = Field(sa_type=UtcDateTime)
    updated: datetime = Field(sa_type=UtcDateTime)
    interaction_count: int
    synthesised_count: int
    synthesis_version: int
    revision: int


class ProfileEntryRow(Row, table=True):
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


class ProfileSourceRow(Row, table=True):
    """A message that an entry came from. Its id remains after the message's row is deleted, as with a fact's source."""

    entry: int = Field(primary_key=True, foreign_key="profile_entry.id")
    message: int = Field(primary_key=True, index=True)


fact, fact_term, fact_ground, working_item, profile, profile_entry, profile_source = map(
    _table,
    ("fact", "fact_term", "fact_ground", "working_item", "profile", "profile_entry", "profile_source"),
)


# Turns and jobs, and the records of turns.

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"


class TurnRow(Row, table=True):
    """The ledger. `payload` holds what only the running turn needs; it, `progress` and `reply_ref` are cleared when the
    turn ends.

    `team`, `round`: for fair queueing between teams and people (`store.turns.turn_queue`).
    """

    __table_args__: ClassVar[Any] = (
        UniqueConstraint("source", "event_id"),
        UniqueConstraint("channel", "message_id"),
        _index("ix_turn_one_running", "conversation", where="state = 'running'", unique=True),
        Index("ix_turn_state", "state", "id"),
        Index("ix_turn_person", "person", "conversation"),
        Index("ix_turn_person_taken", "person", "taken"),
        Index("ix_turn_channel_taken", "channel", "taken"),
        _index("ix_turn_queue", "source", "team", "round", "id", where="state = 'waiting'"),
        _index("ix_turn_waiting", "conversation", "id", where="state = 'waiting'"),
        _index("ix_turn_open", "person", "round", where="state IN ('waiting', 'running')"),
        _index("ix_turn_served", "source", "team", "began", where="began IS NOT NULL"),
        _index("ix_turn_ended", "ended", "taken", where="taken IS NOT NULL AND ended IS NOT NULL"),
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
    ended: datetime | None = Field(sa_type=UtcDateTime, default=None)


class PageRow(Row, table=True):
    """A page of a finished reply, by the platform's own id; deleted with the reply's text."""

    __table_args__: ClassVar[Any] = (Index("ix_page_page", "page", "source"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id", index=True)
    source: str = Field(sa_type=StorableText)
    page: str = Field(sa_type=StorableText)


class VerdictRow(Row, table=True):
    """A reader's verdict on the reply of a turn."""

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, primary_key=True, index=True)
    verdict: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime, index=True)


class ConsentRow(Row, table=True):
    """The asker's decision about a tool call that needs consent. `standing`: for all calls of the tool there."""

    __table_args__: ClassVar[Any] = (_index("ix_consent_standing", "conversation", "person", where="standing"),)

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    call: str = Field(sa_type=StorableText, primary_key=True)
    word: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText)
    tool: str = Field(sa_type=StorableText)
    standing: bool = Field(default=False)
    decided: datetime = Field(sa_type=UtcDateTime)


class OpenQuestionRow(Row, table=True):
    """A question of a tool to the asker while its call waits, and the answer; deleted with the call. It is valid as
    long as the claim of that `epoch` holds. `action`: "" until the asker has decided.
    """

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    key: str = Field(sa_type=StorableText, primary_key=True)
    epoch: int
    person: str = Field(sa_type=StorableText, index=True)
    asked: str = Field(sa_type=StorableText)
    filled: str = Field(sa_type=StorableText, default="")
    action: str = Field(sa_type=StorableText, default="")
    until: datetime = Field(sa_type=UtcDateTime)


class JobRow(Row, table=True):
    """Work outside of turns. It is forgotten with `person` and `conversation`; the person may have no row."""

    __table_args__: ClassVar[Any] = (
        _index("ix_job_one_waiting", "kind", "key", where="state = 'waiting'", unique=True),
        _index("ix_job_one_running", "kind", "key", where="state = 'running'", unique=True),
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


class ScheduleRow(Row, table=True):
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


class ActionRecordRow(Row, table=True):
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


class TaskWorkspaceRow(Row, table=True):
    """The model's workspace during one task (seed 001); the row is deleted when the task ends."""

    __tablename__ = "task_workspaces"  # pyright: ignore[reportAssignmentType]  # SQLModel types it as a declared_attr

    task_id: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, foreign_key="person.id", index=True)
    objective: str = Field(sa_type=StorableText, default="")
    understanding: str = Field(sa_type=StorableText, default="")
    approach: str = Field(sa_type=StorableText, default="")
    discoveries: str = Field(sa_type=StorableText, default="")


turn, page, verdict, consent, open_question, job, schedule, action_record, workspace = map(
    _table,
    ("turn", "page", "verdict", "consent", "open_question", "job", "schedule", "action_record", "task_workspaces"),
)


# Preferences, spending, erased ids, and metadata of the database.

TOKENS: Final = ("input_uncached", "input_cached", "input_written", "output", "reasoning")
# The columns that sums over many days read: one index holds them all, in the order in which they are summed.
SPENT: Final = ("day", "model", "person", "channel", "cost", *TOKENS, "estimated")


class MetaRow(Row, table=True):
    """Metadata of the database: the key of the erased ids, whether a sweep is due."""

    name: str = Field(sa_type=StorableText, primary_key=True)
    value: bytes


class PreferenceRow(Row, table=True):
    """A preference. `owner` is a person, who may not have written yet, or "channel:" and a channel's id."""

    owner: str = Field(sa_type=StorableText, primary_key=True)
    name: str = Field(sa_type=StorableText, primary_key=True)
    value: str = Field(sa_type=StorableText)


class ModelCallRow(Row, table=True):
    """Usage and cost of one model call. It holds no one's words, and remains after its turn is deleted: then without
    turn, and after its day without channel.

    `number` counts the calls of one turn, `kind` is the purpose, `day` is in UTC, `cost` is in nano-dollars, None for a
    model without a price. `began`, `ms` and `first_ms`: see `agent.messages.CallTiming`; None if not measured. The
    person is no foreign key: their spending still counts after they are forgotten.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_model_call_person", "person", "day"),
        Index("ix_model_call_spent", *SPENT),
        _index("ix_model_call_detached", "day", where="turn IS NULL AND channel != ''"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    turn: int | None = Field(default=None, foreign_key="turn.id", index=True)
    number: int
    kind: str = Field(sa_type=StorableText)
    model: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText, default="")
    day: date
    input_uncached: int
    input_cached: int
    input_written: int
    output: int
    reasoning: int
    bytes_up: int = Field(sa_type=BigInteger)
    estimated: bool
    cost: int | None = Field(sa_type=BigInteger, default=None)
    began: datetime | None = Field(sa_type=UtcDateTime, default=None)
    ms: int | None = Field(sa_type=BigInteger, default=None)
    first_ms: int | None = Field(sa_type=BigInteger, default=None)


class ToolCallRow(Row, table=True):
    """A tool call, or a change of the tool policy (`tool` is ""). It remains after its turn, then without people's
    words.

    The person is no foreign key: an operator may never have written. `ms` and `size`: None until the call has ended.
    """

    __table_args__: ClassVar[Any] = (_index("ix_tool_call_policy", "id", where="tool = ''"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    turn: int | None = Field(default=None, foreign_key="turn.id", index=True)
    time: datetime = Field(sa_type=UtcDateTime, index=True)
    call: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText, index=True)
    channel: str = Field(sa_type=StorableText)
    audience: str = Field(sa_type=StorableText)
    tool: str = Field(sa_type=StorableText)
    arguments: str = Field(sa_type=StorableText)
    effect: str = Field(sa_type=StorableText)
    decision: str = Field(sa_type=StorableText)
    decided_by: str = Field(sa_type=StorableText)
    outcome: str = Field(sa_type=StorableText)
    ms: int | None = Field(sa_type=BigInteger, default=None)
    size: int | None = Field(sa_type=BigInteger, default=None)


class ToolAccountRow(Row, table=True):
    """A person's account at a tool server.

    `sealed` is encrypted and holds no one's words. `renewing`: a process renews its tokens, at the latest until then.
    The person may never have written, so it is no foreign key.
    """

    person: str = Field(sa_type=StorableText, primary_key=True)
    server: str = Field(sa_type=StorableText, primary_key=True)
    sealed: bytes
    renewing: datetime | None = Field(sa_type=UtcDateTime, default=None)


class SignInRow(Row, table=True):
    """A sign-in in progress: one for each person and server. `handle`: a hash of the state that identifies it."""

    person: str = Field(sa_type=StorableText, primary_key=True)
    server: str = Field(sa_type=StorableText, primary_key=True)
    handle: str = Field(sa_type=StorableText, unique=True)
    sealed: bytes
    expires: datetime = Field(sa_type=UtcDateTime, index=True)


class OperatorSessionRow(Row, table=True):
    """A session of the operators' page. `hash`: of the browser's cookie, or of a link; `opened`: None for a link."""

    hash: str = Field(sa_type=StorableText, primary_key=True)
    opened: datetime | None = Field(sa_type=UtcDateTime, default=None)
    seen: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime)


class InstallationRow(Row, table=True):
    """An app installed in a workspace through the install page, by the source of its messages. `sealed`: its tokens.

    `epoch` and `renewing`: the claim to renew them, and until when it holds; `removed`: when the app was uninstalled.
    """

    source: str = Field(sa_type=StorableText, primary_key=True)
    app: str = Field(sa_type=StorableText)
    organization: str = Field(sa_type=StorableText, default="")
    bot: str = Field(sa_type=StorableText)
    scopes: str = Field(sa_type=StorableText)
    installer: str = Field(sa_type=StorableText, default="")
    installed: datetime = Field(sa_type=UtcDateTime)
    expires: datetime | None = Field(sa_type=UtcDateTime, default=None)
    sealed: bytes
    epoch: int = 0
    renewing: datetime | None = Field(sa_type=UtcDateTime, default=None)
    removed: datetime | None = Field(sa_type=UtcDateTime, default=None)


class ErasedRow(Row, table=True):
    """A keyed hash of an erased platform id, so that a redelivery or a catch-up never restores the message."""

    hash: str = Field(sa_type=StorableText, primary_key=True)
    time: datetime = Field(sa_type=UtcDateTime)


meta, preference, model_call, tool_call, erased = map(
    _table, ("meta", "preference", "model_call", "tool_call", "erased")
)
tool_account, sign_in, operator_session, installation = map(
    _table, ("tool_account", "sign_in", "operator_session", "installation")
)
