"""Let PostgreSQL keep the signs of vectors as bits, of which it counts those that differ. The vectors stay."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r0002"
down_revision = "r0001"
NO_WAY_BACK = "r0005 has none"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column(
            "embedding",
            "signs",
            existing_type=sa.LargeBinary(),
            type_=postgresql.BIT(varying=True),
            existing_nullable=False,
            postgresql_using="('x' || encode(signs, 'hex'))::bit varying",
        )
