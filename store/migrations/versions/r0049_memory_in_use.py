"""Store when entries of profiles were last used, and which entries of the memory people decided to keep."""

import sqlalchemy as sa
from alembic import op

revision = "r0049"
down_revision = "r0047"
EXPANDS = True
LOSES = (
    ("which memory entries people decided to keep, among facts", "SELECT count(*) FROM fact WHERE kept IS NOT NULL"),
    ("the same, among profiles", "SELECT count(*) FROM profile_entry WHERE kept IS NOT NULL"),
)


def upgrade() -> None:
    op.add_column("fact", sa.Column("kept", sa.DateTime(timezone=True), nullable=True))
    op.add_column("profile_entry", sa.Column("used", sa.DateTime(timezone=True), nullable=True))
    op.add_column("profile_entry", sa.Column("kept", sa.DateTime(timezone=True), nullable=True))
    # Nobody knows when entries were used until now. Without this, those in daily use would count as unused.
    op.execute("UPDATE profile_entry SET used = CURRENT_TIMESTAMP")


def downgrade() -> None:
    op.drop_column("profile_entry", "kept")
    op.drop_column("profile_entry", "used")
    op.drop_column("fact", "kept")
