"""Keep of each turn which documents its tools quoted, so that its records go with them."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "r0027"
down_revision = "r0026"
EXPANDS = True
LOSES = ()


# The beginning of what `recall` found in documents. Which ones an earlier turn quoted is not known.
_QUOTING: Final = "%Found in documents that this place keeps%"


def upgrade() -> None:
    op.add_column("turn", sa.Column("given_documents", sa.Text(), nullable=False, server_default="[]"))
    quoting = sa.text("given_documents <> '[]'")  # no row yet, so the index is made at once
    op.create_index("ix_turn_documents", "turn", ["id"], sqlite_where=quoting, postgresql_where=quoting)
    op.execute(sa.text("DELETE FROM action_record WHERE results LIKE :quoting").bindparams(quoting=_QUOTING))


def downgrade() -> None:
    op.drop_index("ix_turn_documents", "turn")
    op.drop_column("turn", "given_documents")
