"""Say since when a process holds a shard, what its session still lacks, and how many shards a process wants."""

import sqlalchemy as sa
from alembic import op

revision = "r0024"
down_revision = "r0023"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.add_column("shard_lease", sa.Column("since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("shard_lease", sa.Column("behind", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("shard_process", sa.Column("wanted", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.execute("UPDATE shard_lease SET session = '' WHERE behind")
    for table, column in (("shard_process", "wanted"), ("shard_lease", "behind"), ("shard_lease", "since")):
        op.drop_column(table, column)
