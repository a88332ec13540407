"""Keep what askers say of calls that may not run unasked."""

import sqlalchemy as sa
from alembic import op

revision = "r0008"
down_revision = "r0007"
LOSES = (("people's decisions about tool calls", "SELECT count(*) FROM consent"),)


def upgrade() -> None:
    op.create_table(
        "consent",
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), primary_key=True),
        sa.Column("call", sa.Text(), primary_key=True),
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("standing", sa.Boolean(), nullable=False),
        sa.Column("decided", sa.DateTime(timezone=True), nullable=False),
    )
    standing = sa.text("standing")
    op.create_index(
        "ix_consent_standing",
        "consent",
        ["conversation", "person"],
        sqlite_where=standing,
        postgresql_where=standing,
    )


def downgrade() -> None:
    op.drop_table("consent")
