"""Keep whether a page that a place knows lies in the operator's own network: of earlier ones it is not known to."""

import sqlalchemy as sa
from alembic import op

revision = "r0016"
down_revision = "r0015"
LOSES = (("marks that a learned page is in your own network", "SELECT count(*) FROM document WHERE is_own"),)


def upgrade() -> None:
    op.add_column("document", sa.Column("is_own", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("document", "is_own")
