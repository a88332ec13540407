"""Store who asked for a human, who was written about it, and who took over."""

import sqlalchemy as sa
from alembic import op

revision = "r0050"
down_revision = "r0049"
EXPANDS = True
LOSES = (("requests for a human", "SELECT count(*) FROM handoff"),)


def upgrade() -> None:
    op.create_table(
        "handoff",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("turn", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("conversation", "person", "asker_name", "note", "shared", "state", "taker", "taker_name")
        ),
        *(sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in ("time", "changed")),
        sa.Column("reminded", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name="fk_handoff_turn"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_handoff_conversation", "handoff", ["conversation", "state"])
    op.create_index("ix_handoff_turn", "handoff", ["turn"])
    op.create_index("ix_handoff_person", "handoff", ["person"])
    op.create_index("ix_handoff_taker", "handoff", ["taker"])
    op.create_table(
        "handoff_message",
        sa.Column("handoff", sa.Integer(), sa.ForeignKey("handoff.id"), primary_key=True),
        sa.Column("person", sa.Text(), primary_key=True),
        sa.Column("pages", sa.Text(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_handoff_message_person", "handoff_message", ["person"])


def downgrade() -> None:
    op.drop_table("handoff_message")
    op.drop_table("handoff")
