"""Keep the files that code saved, for its next runs in their conversation."""

import sqlalchemy as sa
from alembic import op

revision = "r0028"
down_revision = "r0027"
EXPANDS = True
LOSES = (("files that code saved", "SELECT count(*) FROM saved_file"),)


def upgrade() -> None:
    op.create_table(
        "saved_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("drawn_from", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("message", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("saved", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sources", sa.Integer(), nullable=False),
        sa.Column("documents", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["message"], ["message.id"], name="fk_saved_file_message", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_saved_file"),
        sqlite_autoincrement=True,
    )
    for column in ("conversation", "person", "message"):
        op.create_index(f"ix_saved_file_{column}", "saved_file", [column])
    op.create_table(
        "saved_file_source",
        sa.Column("file", sa.Integer(), nullable=False),
        sa.Column("message", sa.Integer(), nullable=False),
        sa.Column("asked", sa.Boolean(), nullable=False),
        sa.Column("attached", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["file"], ["saved_file.id"], name="fk_saved_file_source_file", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["message"], ["message.id"], name="fk_saved_file_source_message", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("file", "message", name="pk_saved_file_source"),
    )
    op.create_index("ix_saved_file_source_message", "saved_file_source", ["message"])


def downgrade() -> None:
    op.drop_table("saved_file_source")
    op.drop_table("saved_file")
