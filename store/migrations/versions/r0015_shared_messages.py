"""Keep of each message with the team of which place it is shared, if it is."""

import sqlalchemy as sa
from alembic import op

revision = "r0015"
down_revision = "r0014"
LOSES = (("marks that a message is shared with its team", "SELECT count(*) FROM message WHERE place IS NOT NULL"),)


def upgrade() -> None:
    op.add_column("message", sa.Column("place", sa.Integer(), nullable=True))
    of_places = sa.text("place IS NOT NULL")
    op.create_index("ix_message_place", "message", ["place", "id"], sqlite_where=of_places, postgresql_where=of_places)


def downgrade() -> None:
    """What stands in the ranges of places nobody would take out any more. The next start makes the index anew."""
    if op.get_bind().execute(sa.text("SELECT count(*) FROM message WHERE place IS NOT NULL")).scalar_one():
        if op.get_bind().dialect.name == "sqlite":
            op.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
            op.execute("DELETE FROM message_index_kept")
        else:
            op.execute("TRUNCATE message_index")
        op.execute("DELETE FROM meta WHERE name = 'index_terms'")
    op.drop_index("ix_message_place", "message")
    op.drop_column("message", "place")
