"""What people decided about what is known of them: entries for all replies to them, messages that teach no more.

Revision 0008, after 0007.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("profile_entry", sa.Column("everywhere", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("message", sa.Column("passed_over", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("message", "passed_over")
    op.drop_column("profile_entry", "everywhere")
