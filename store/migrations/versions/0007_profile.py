"""What was learned of people, and which messages wait to be learned from.

Revision 0007, after 0006. Older messages do not wait: nobody was told that they would be learned from.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
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
    op.add_column("message", sa.Column("to_learn", sa.Boolean(), nullable=False, server_default=sa.false()))
    where = sa.text("to_learn")
    op.create_index(
        "ix_message_to_learn", "message", ["person", "audience"], sqlite_where=where, postgresql_where=where
    )


def downgrade() -> None:
    op.drop_index("ix_message_to_learn", "message")
    op.drop_column("message", "to_learn")
    op.drop_table("profile_source")
    op.drop_table("profile_entry")
    op.drop_table("profile")
