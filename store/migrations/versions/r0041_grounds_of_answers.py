"""Keep with a turn how much of what it drew on was erased, and with a tool call whose account it used."""

import sqlalchemy as sa
from alembic import op

revision = "r0041"
down_revision = "r0040"
EXPANDS = True
LOSES = ()


def upgrade() -> None:
    op.add_column("turn", sa.Column("erased_sources", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("tool_call", sa.Column("account", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("tool_call", "account")
    op.drop_column("turn", "erased_sources")
