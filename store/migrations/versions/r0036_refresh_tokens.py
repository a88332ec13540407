"""Let apps that signed their person in get new secrets of their token."""

import sqlalchemy as sa
from alembic import op

revision = "r0036"
down_revision = "r0035"
EXPANDS = True
LOSES = (("refresh tokens of apps, whose people have to sign in again", "SELECT count(family) FROM api_token"),)

TEXTS = ("client", "family", "refresh", "refresh_before", "salt")
TIMES = ("rotated", "access_expires")


def upgrade() -> None:
    for name in TEXTS:
        op.add_column("api_token", sa.Column(name, sa.Text(), nullable=True))
    for name in TIMES:
        op.add_column("api_token", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_api_token_family", "api_token", ["family"], unique=True)


def downgrade() -> None:
    # The previous version would take an access token as valid for as long as its row is.
    op.execute(sa.text("DELETE FROM api_token WHERE family IS NOT NULL"))
    op.drop_index("ix_api_token_family", "api_token")
    for name in (*TEXTS, *TIMES):
        op.drop_column("api_token", name)
