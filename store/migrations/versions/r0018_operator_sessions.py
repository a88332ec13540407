"""Keep who is signed in on the operators' page."""

import sqlalchemy as sa
from alembic import op

revision = "r0018"
down_revision = "r0017"
LOSES = (("sessions on the operators' page; operators have to sign in again", "SELECT count(*) FROM operator_session"),)


def upgrade() -> None:
    op.create_table(
        "operator_session",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("opened", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_operator_session"),
    )


def downgrade() -> None:
    op.drop_table("operator_session")
