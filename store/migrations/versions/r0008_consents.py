"""Keep what askers say of calls that may not run unasked."""

import sqlalchemy as sa
from alembic import op

from store.databases.database import StorableText, UtcDateTime

revision = "r0008"
down_revision = "r0007"
LOSES = (("answers of people whether a tool may run", "SELECT count(*) FROM consent"),)


def upgrade() -> None:
    op.create_table(
        "consent",
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), primary_key=True),
        sa.Column("call", StorableText(), primary_key=True),
        sa.Column("word", StorableText(), nullable=False),
        sa.Column("person", StorableText(), nullable=False),
        sa.Column("conversation", StorableText(), nullable=False),
        sa.Column("tool", StorableText(), nullable=False),
        sa.Column("standing", sa.Boolean(), nullable=False),
        sa.Column("decided", UtcDateTime(), nullable=False),
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
