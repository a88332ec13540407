"""The tables of the first release, and the full-text index of each engine.

Revision r0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None
NO_WAY_BACK = "there is no earlier version"

# One entry for each message and each person who may find it. The words arrive ready, so the plainest splitter does;
# neither positions nor sizes are asked for. The index keeps its words, so that entries can be removed exactly.
FTS5_INDEX = """
CREATE VIRTUAL TABLE message_index USING fts5(body, tokenize = 'porter ascii', detail = 'none', columnsize = 0)
"""


def upgrade() -> None:
    _create_people()
    _create_turns()
    _create_messages()
    _create_facts()
    _create_profiles()
    _create_the_database()
    if op.get_bind().dialect.name == "sqlite":
        op.execute(FTS5_INDEX)
    else:
        _create_tsvector_index()


def _create_people() -> None:
    op.create_table(
        "person",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
        sa.Column("served", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_person"),
        sa.UniqueConstraint("id", name="uq_person_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "conversation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_conversation"),
    )
    op.create_table(
        "participant",
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name="fk_participant_conversation"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_participant_person"),
        sa.PrimaryKeyConstraint("conversation", "person", name="pk_participant"),
    )
    op.create_index("ix_participant_person", "participant", ["person"])
    op.create_table(
        "preference",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "name", name="pk_preference"),
    )


def _create_turns() -> None:
    op.create_table(
        "turn",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("taken", sa.DateTime(timezone=True), nullable=True),
        sa.Column("run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("stopping", sa.Boolean(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("reply_ref", sa.Text(), nullable=False),
        sa.Column("pages", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("usage", sa.Text(), nullable=False),
        sa.Column("context_messages", sa.Text(), nullable=False),
        sa.Column("given_messages", sa.Text(), nullable=False),
        sa.Column("context_facts", sa.Text(), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name="fk_turn_conversation"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_turn_person"),
        sa.PrimaryKeyConstraint("id", name="pk_turn"),
        sa.UniqueConstraint("channel", "message_id", name="uq_turn_channel_message_id"),
        sa.UniqueConstraint("source", "event_id", name="uq_turn_source_event_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_turn_channel_taken", "turn", ["channel", "taken"])
    op.create_index("ix_turn_conversation", "turn", ["conversation"])
    op.create_index(
        "ix_turn_one_running",
        "turn",
        ["conversation"],
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index("ix_turn_person", "turn", ["person", "conversation"])
    op.create_index("ix_turn_person_taken", "turn", ["person", "taken"])
    op.create_index("ix_turn_state", "turn", ["state", "id"])
    op.create_table(
        "action_record",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("iteration", sa.Integer(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("thinking", sa.Text(), nullable=False),
        sa.Column("calls", sa.Text(), nullable=False),
        sa.Column("results", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_action_record_turn"),
        sa.PrimaryKeyConstraint("id", name="pk_action_record"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_action_record_turn", "action_record", ["turn"])
    op.create_table(
        "page",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("page", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_page_turn"),
        sa.PrimaryKeyConstraint("id", name="pk_page"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_page_page", "page", ["page", "source"])
    op.create_index("ix_page_turn", "page", ["turn"])
    op.create_table(
        "verdict",
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_verdict_turn"),
        sa.PrimaryKeyConstraint("turn", "person", name="pk_verdict"),
    )
    op.create_index("ix_verdict_person", "verdict", ["person"])
    op.create_index("ix_verdict_time", "verdict", ["time"])
    op.create_table(
        "task_workspaces",
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("objective", sa.Text(), nullable=False),
        sa.Column("understanding", sa.Text(), nullable=False),
        sa.Column("approach", sa.Text(), nullable=False),
        sa.Column("discoveries", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_task_workspaces_person"),
        sa.ForeignKeyConstraint(["task_id"], ["turn.id"], name="fk_task_workspaces_task_id"),
        sa.PrimaryKeyConstraint("task_id", name="pk_task_workspaces"),
    )
    op.create_index("ix_task_workspaces_person", "task_workspaces", ["person"])
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("run_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_job_one_running",
        "job",
        ["kind", "key"],
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "ix_job_one_waiting",
        "job",
        ["kind", "key"],
        unique=True,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index("ix_job_person", "job", ["person", "conversation"])
    op.create_index("ix_job_run_at", "job", ["kind", "run_at"])


def _create_messages() -> None:
    op.create_table(
        "message",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("permalink", sa.Text(), nullable=True),
        sa.Column("to_learn", sa.Boolean(), nullable=False),
        sa.Column("passed_over", sa.Boolean(), nullable=False),
        sa.Column("taken_back", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.CheckConstraint("author IN ('person', 'bot')", name="ck_message_author"),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name="fk_message_conversation"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_message_person"),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_message_turn"),
        sa.PrimaryKeyConstraint("id", name="pk_message"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_message_channel", "message", ["channel", "audience"])
    op.create_index("ix_message_person", "message", ["person", "author"])
    op.create_index("ix_message_thread", "message", ["conversation", "turn", "id"])
    op.create_index(
        "ix_message_to_learn",
        "message",
        ["person", "audience"],
        sqlite_where=sa.text("to_learn"),
        postgresql_where=sa.text("to_learn"),
    )
    op.create_index("ix_message_turn", "message", ["turn"])
    op.create_table(
        "embedding",
        sa.Column("message", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("signs", sa.LargeBinary(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["message"], ["message.id"], name="fk_embedding_message", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("message", name="pk_embedding"),
    )
    op.create_index("ix_embedding_model", "embedding", ["model", "message", "signs"])
    op.create_table(
        "model_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("input_uncached", sa.Integer(), nullable=False),
        sa.Column("input_cached", sa.Integer(), nullable=False),
        sa.Column("input_written", sa.Integer(), nullable=False),
        sa.Column("output", sa.Integer(), nullable=False),
        sa.Column("reasoning", sa.Integer(), nullable=False),
        sa.Column("bytes_up", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_model_call_turn"),
        sa.PrimaryKeyConstraint("id", name="pk_model_call"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_model_call_day", "model_call", ["day"])
    detached = sa.text("turn IS NULL AND channel != ''")
    op.create_index("ix_model_call_detached", "model_call", ["day"], sqlite_where=detached, postgresql_where=detached)
    op.create_index("ix_model_call_person", "model_call", ["person", "day"])
    op.create_index("ix_model_call_turn", "model_call", ["turn"])


def _create_facts() -> None:
    op.create_table(
        "fact",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("authority", sa.Integer(), nullable=False),
        sa.Column("is_valid", sa.Boolean(), nullable=False),
        sa.Column("superseded_by", sa.Integer(), nullable=True),
        sa.Column("supersedes", sa.Integer(), nullable=True),
        sa.Column("memory_type", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("scope_id", sa.Text(), nullable=True),
        sa.Column("needs_review", sa.Boolean(), nullable=False),
        sa.Column("is_constraint", sa.Boolean(), nullable=False),
        sa.Column("constraint_type", sa.Text(), nullable=True),
        sa.Column("source_message", sa.Integer(), nullable=True),
        sa.Column("everywhere", sa.Boolean(), nullable=False),
        sa.Column("used", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("reader", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_fact"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_fact_binding", "fact", ["person", "is_constraint", "id"])
    op.create_index("ix_fact_person", "fact", ["person", "audience"])
    op.create_index("ix_fact_source_message", "fact", ["source_message"])
    op.create_index("ix_fact_valid", "fact", ["person", "is_valid", "id"])
    op.create_table(
        "fact_term",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("fact", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["fact"], ["fact.id"], name="fk_fact_term_fact"),
        sa.PrimaryKeyConstraint("person", "term", "fact", name="pk_fact_term"),
    )
    op.create_index("ix_fact_term_fact", "fact_term", ["fact"])
    op.create_table(
        "fact_ground",
        sa.Column("fact", sa.Integer(), nullable=False),
        sa.Column("ground", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["fact"], ["fact.id"], name="fk_fact_ground_fact"),
        sa.ForeignKeyConstraint(["ground"], ["fact.id"], name="fk_fact_ground_ground"),
        sa.PrimaryKeyConstraint("fact", "ground", name="pk_fact_ground"),
    )
    op.create_index("ix_fact_ground_ground", "fact_ground", ["ground"])
    op.create_table(
        "working_item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("message", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_working_item"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_working_item_conversation", "working_item", ["conversation"])
    op.create_index("ix_working_item_expires", "working_item", ["expires"])
    op.create_index("ix_working_item_message", "working_item", ["message"])


def _create_profiles() -> None:
    op.create_table(
        "profile",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interaction_count", sa.Integer(), nullable=False),
        sa.Column("synthesised_count", sa.Integer(), nullable=False),
        sa.Column("synthesis_version", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_profile_person"),
        sa.PrimaryKeyConstraint("person", "audience", name="pk_profile"),
    )
    op.create_table(
        "profile_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("everywhere", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_profile_entry_person"),
        sa.PrimaryKeyConstraint("id", name="pk_profile_entry"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_profile_entry_person", "profile_entry", ["person", "audience"])
    op.create_table(
        "profile_source",
        sa.Column("entry", sa.Integer(), nullable=False),
        sa.Column("message", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["entry"], ["profile_entry.id"], name="fk_profile_source_entry"),
        sa.PrimaryKeyConstraint("entry", "message", name="pk_profile_source"),
    )
    op.create_index("ix_profile_source_message", "profile_source", ["message"])


def _create_the_database() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.create_table(
        "erased",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_erased"),
    )


def _create_tsvector_index() -> None:
    """The same on PostgreSQL. Its index is kept current with each entry: a list of pending ones would be everybody's,
    and each search would read it.
    """
    op.create_table(
        "message_index",
        sa.Column("reader", sa.Integer(), nullable=False),
        sa.Column("message", sa.Integer(), nullable=False),
        sa.Column("words", postgresql.TSVECTOR(), nullable=False),
        sa.PrimaryKeyConstraint("reader", "message", name="pk_message_index"),
    )
    op.create_index(
        "ix_message_index_words",
        "message_index",
        ["words"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
