"""Keep of which page of the web a document is, and what its server calls the version that is known."""

import sqlalchemy as sa
from alembic import op

revision = "r0014"
down_revision = "r0013"
LOSES = (
    (
        "addresses of learned web pages; the bot no longer checks these pages for changes",
        "SELECT count(*) FROM document WHERE address <> ''",
    ),
)


def upgrade() -> None:
    for name in ("address", "etag", "modified", "digest", "fault"):
        op.add_column("document", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    for name in ("seen", "since", "due"):
        op.add_column("document", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_document_due", "document", ["due"])


def downgrade() -> None:
    op.drop_index("ix_document_due", "document")
    for name in ("address", "etag", "modified", "digest", "fault", "seen", "since", "due"):
        op.drop_column("document", name)
