"""Name the call that saved a file, so that a call which runs again after a kill does not save twice."""

import sqlalchemy as sa
from alembic import op

revision = "r0031"
down_revision = "r0030"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.add_column("saved_file", sa.Column("call", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("saved_file", "call")
