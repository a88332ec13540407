"""Keep who approves calls in place of their askers, and what they decided."""

import sqlalchemy as sa
from alembic import op

revision = "r0039"
down_revision = "r0038"
EXPANDS = True
LOSES = (("calls that wait for an approver", "SELECT count(*) FROM approval WHERE word = ''"),)


def upgrade() -> None:
    op.create_table(
        "approval",
        sa.Column("turn", sa.Integer(), sa.ForeignKey("turn.id"), primary_key=True),
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("call", "person")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("tool", "rule", "pages", "word", "reason")),
        *(sa.Column(name, sa.Boolean(), nullable=False) for name in ("closed", "reminded")),
        sa.Column("decided", sa.DateTime(timezone=True), nullable=True),
    )
    op.create_index("ix_approval_person", "approval", ["person"])


def downgrade() -> None:
    op.drop_table("approval")
