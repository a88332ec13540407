"""First tables, and the full-text index.

Revision 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# One entry for each message and each person who may find it. The words arrive ready, so the plainest splitter does;
# neither positions nor sizes are asked for. The index keeps its words, so that entries can be removed exactly.
INDEX = """
CREATE VIRTUAL TABLE message_index USING fts5(body, tokenize = 'porter ascii', detail = 'none', columnsize = 0)
"""


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.create_table(
        "person",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
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
    _create_turn()
    _create_message()
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
        "note",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source_message", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_note_person"),
        sa.PrimaryKeyConstraint("id", name="pk_note"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_note_person", "note", ["person", "audience"])
    op.create_index("ix_note_source_message", "note", ["source_message"])
    op.create_table(
        "task_workspaces",
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("objective", sa.Text(), nullable=False),
        sa.Column("understanding", sa.Text(), nullable=False),
        sa.Column("approach", sa.Text(), nullable=False),
        sa.Column("discoveries", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["turn.id"], name="fk_task_workspaces_task_id"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_task_workspaces_person"),
        sa.PrimaryKeyConstraint("task_id", name="pk_task_workspaces"),
    )
    op.create_index("ix_task_workspaces_person", "task_workspaces", ["person"])
    op.create_table(
        "erased",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_erased"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(INDEX)
    else:
        _create_index()


def _create_index() -> None:
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


def _create_turn() -> None:
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
        sa.Column("run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("reply_ref", sa.Text(), nullable=False),
        sa.Column("pages", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("usage", sa.Text(), nullable=False),
        sa.Column("context_messages", sa.Text(), nullable=False),
        sa.Column("context_notes", sa.Text(), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name="fk_turn_conversation"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_turn_person"),
        sa.PrimaryKeyConstraint("id", name="pk_turn"),
        sa.UniqueConstraint("source", "event_id", name="uq_turn_source_event_id"),
        sa.UniqueConstraint("channel", "message_id", name="uq_turn_channel_message_id"),
        sqlite_autoincrement=True,
    )
    running = sa.text("state = 'running'")
    op.create_index(
        "ix_turn_one_running", "turn", ["conversation"], unique=True, sqlite_where=running, postgresql_where=running
    )
    op.create_index("ix_turn_conversation", "turn", ["conversation"])
    op.create_index("ix_turn_person", "turn", ["person", "conversation"])
    op.create_index("ix_turn_state", "turn", ["state", "id"])


def _create_message() -> None:
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
        sa.CheckConstraint("author IN ('person', 'bot')", name="ck_message_author"),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name="fk_message_conversation"),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_message_turn"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name="fk_message_person"),
        sa.PrimaryKeyConstraint("id", name="pk_message"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_message_thread", "message", ["conversation", "turn", "id"])
    op.create_index("ix_message_turn", "message", ["turn"])
    op.create_index("ix_message_person", "message", ["person", "author"])


def downgrade() -> None:
    op.execute("DROP TABLE message_index")
    for name in (
        "erased",
        "task_workspaces",
        "note",
        "action_record",
        "message",
        "turn",
        "participant",
        "conversation",
        "person",
        "meta",
    ):
        op.drop_table(name)
