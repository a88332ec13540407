"""Keep documents that places know, with an index of their passages."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r0012"
down_revision = "r0011"
LOSES = (("documents of channels, workspaces and people", "SELECT count(*) FROM document"),)


def upgrade() -> None:
    op.create_table(
        "place",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.UniqueConstraint("audience", name="uq_place_audience"),
        sa.PrimaryKeyConstraint("number", name="pk_place"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "document",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_document"),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("audience", "source", "channel", "person", "name", "link", "state")
        ),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("passages", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_document_audience", "document", ["audience", "name"])
    op.create_index("ix_document_channel", "document", ["channel"])
    op.create_index("ix_document_person", "document", ["person"])
    op.create_table(
        "passage",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_passage"),
        sa.Column("document", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["document.id"], name="fk_passage_document"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_passage_document", "passage", ["document", "number"])
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE passage_index"
            " USING fts5(body, tokenize = 'porter ascii', detail = 'none', columnsize = 0, content = '')"
        )
        op.execute("CREATE TABLE passage_index_kept (entry INTEGER PRIMARY KEY, words TEXT NOT NULL)")
        return
    op.create_table(
        "passage_index",
        sa.Column("reader", sa.Integer(), nullable=False),
        sa.Column("passage", sa.Integer(), nullable=False),
        sa.Column("words", postgresql.TSVECTOR(), nullable=False),
        sa.PrimaryKeyConstraint("reader", "passage", name="pk_passage_index"),
    )
    op.create_index(
        "ix_passage_index_words",
        "passage_index",
        ["words"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )


def downgrade() -> None:
    op.execute("DELETE FROM job WHERE kind = 'indexing' AND key LIKE 'document %'")
    op.drop_table("passage_index")
    if op.get_bind().dialect.name == "sqlite":
        op.drop_table("passage_index_kept")
    for table in ("passage", "document", "place"):
        op.drop_table(table)
