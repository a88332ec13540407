"""Keep with a message's turn which other turn's question it answers."""

import sqlalchemy as sa
from alembic import op

revision = "r0038"
down_revision = "r0037"
EXPANDS = True
_UNREAD = "SELECT count(*) FROM turn WHERE answers IS NOT NULL AND state = 'waiting'"
LOSES = (("which questions some waiting answers are for", _UNREAD),)


def upgrade() -> None:
    op.add_column("turn", sa.Column("answers", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("turn", "answers")
