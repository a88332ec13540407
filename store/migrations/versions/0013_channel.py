"""What a channel holds, by who may see it: for a channel that changes its kind.

Revision 0013, after 0012.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_message_channel", "message", ["channel", "audience"])


def downgrade() -> None:
    op.drop_index("ix_message_channel", "message")
