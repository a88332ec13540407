"""Give programs tokens with which they ask the bot."""

import sqlalchemy as sa
from alembic import op

revision = "r0033"
down_revision = "r0032"
EXPANDS = True
LOSES = (("tokens of programs; they have to be created again", "SELECT count(*) FROM api_token"),)


def upgrade() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tokens_per_day", sa.BigInteger(), nullable=True),
        sa.Column("money_per_day", sa.BigInteger(), nullable=True),
        sa.Column("by_person", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
        sa.UniqueConstraint("hash", name="uq_api_token_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_api_token_person", "api_token", ["person"])


def downgrade() -> None:
    op.drop_table("api_token")
