"""Which messages a turn's tools brought into it: what it said of those falls with them.

Revision 0015, after 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("given_messages", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("turn", "given_messages")
