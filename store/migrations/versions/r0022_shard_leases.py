"""Divide the connections to Discord's gateway among processes."""

import sqlalchemy as sa
from alembic import op

revision = "r0022"
down_revision = "r0021"
EXPANDS = True
LOSES = (("connections to a gateway that processes share", "SELECT count(*) FROM shard_lease WHERE owner IS NOT NULL"),)


def upgrade() -> None:
    op.create_table(
        "shard_lease",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shards", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("resume_url", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("heard", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_shard_lease"),
    )
    op.create_table(
        "shard_process",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("owner", name="pk_shard_process"),
    )
    op.create_table(
        "shard_identify",
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("bucket", name="pk_shard_identify"),
    )


def downgrade() -> None:
    for name in ("shard_identify", "shard_process", "shard_lease"):
        op.drop_table(name)
