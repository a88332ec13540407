"""Keep the apps that workspaces were given by their install page."""

import sqlalchemy as sa
from alembic import op

revision = "r0020"
down_revision = "r0019"
LOSES = (("installations of the app; workspaces have to install it again", "SELECT count(*) FROM installation"),)


def upgrade() -> None:
    op.create_table(
        "installation",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("source", "app", "organization", "bot", "scopes")),
        sa.Column("installer", sa.Text(), nullable=False),
        sa.Column("installed", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("renewing", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("source", name="pk_installation"),
    )


def downgrade() -> None:
    op.drop_table("installation")
