"""What people asked to be remembered becomes facts, which supersede one another and rest on one another.

Revision 0009, after 0008. A note becomes a fact without a key, under its own id. Nobody knows any more what they were
who asked for it, so it binds nobody else: authority 2 is an employee. On the way back, what holds everywhere and is
somebody's own becomes a note. Ids are still never used again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
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
        sa.PrimaryKeyConstraint("id", name="pk_fact"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_fact_person", "fact", ["person", "audience"])
    op.create_index("ix_fact_source_message", "fact", ["source_message"])
    op.create_table(
        "fact_ground",
        sa.Column("fact", sa.Integer(), nullable=False),
        sa.Column("ground", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["fact"], ["fact.id"], name="fk_fact_ground_fact"),
        sa.ForeignKeyConstraint(["ground"], ["fact.id"], name="fk_fact_ground_ground"),
        sa.PrimaryKeyConstraint("fact", "ground", name="pk_fact_ground"),
    )
    op.create_index("ix_fact_ground_ground", "fact_ground", ["ground"])
    op.execute(
        "INSERT INTO fact (id, key, value, source, time, audience, person, authority, is_valid, memory_type, scope, "
        "needs_review, is_constraint, source_message) "
        "SELECT id, '', text, 'user', time, audience, person, 2, TRUE, 'user', 'global', FALSE, FALSE, "
        "source_message FROM note"
    )
    _go_on_counting("note", "fact")
    op.drop_table("note")
    op.execute("ALTER TABLE turn RENAME COLUMN context_notes TO context_facts")


def downgrade() -> None:
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
    op.execute(
        "INSERT INTO note (id, person, text, audience, time, source_message) "
        "SELECT id, person, CASE WHEN key = '' THEN value ELSE key || ': ' || value END, audience, time, "
        "source_message FROM fact WHERE is_valid AND scope = 'global' AND person IN (SELECT id FROM person)"
    )
    _go_on_counting("fact", "note")
    op.drop_table("fact_ground")
    op.drop_table("fact")
    op.execute("ALTER TABLE turn RENAME COLUMN context_facts TO context_notes")


def _go_on_counting(before: str, after: str) -> None:
    """Let the ids of one table go on where those of the other end."""
    if op.get_bind().dialect.name == "postgresql":
        last = sa.table(f"{before}_id_seq", sa.column("last_value"), sa.column("is_called"))
        op.execute(sa.select(sa.func.setval(f"{after}_id_seq", last.c.last_value, last.c.is_called)))
        return
    sequence = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))
    op.execute(sa.delete(sequence).where(sequence.c.name == after))
    last = sa.select(sa.literal(after), sequence.c.seq).where(sequence.c.name == before)
    op.execute(sa.insert(sequence).from_select(["name", "seq"], last))
