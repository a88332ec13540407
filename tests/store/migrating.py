"""A folder of migrations with one more than ours: what the next release brings."""

import shutil
from pathlib import Path
from typing import Final

from store.migrations import HEAD, MIGRATIONS, Migrations

NEXT: Final = "r9999"
ADD_A_COLUMN: Final = 'op.add_column("person", sa.Column("shoe_size", sa.Text(), server_default="", nullable=False))'
ADD_A_TABLE: Final = 'op.create_table("shoe", sa.Column("size", sa.Integer(), nullable=False))'

ADD_AN_INDEX: Final = 'index_later(op.get_bind(), "ix_shoe", "message (author, id)")'
_REVISION: Final = f'''
import sqlalchemy as sa
from alembic import op
from store.migrations import index_later

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
'''


def with_one_more(folder: Path, *steps: str, expands: bool = False) -> Migrations:
    """Ours and, after them, one that takes these steps, in `folder`. `expands`: it says that it only adds."""
    shutil.copytree(MIGRATIONS.folder, folder / "migrations")
    add_one(folder / "migrations", *steps, expands=expands)
    return Migrations(folder / "migrations")


def add_one(migrations: Path, *steps: str, expands: bool) -> None:
    """One more, in this folder of migrations."""
    body = "".join(f"    {step}\n" for step in steps)
    said = "EXPANDS = True\n" if expands else ""
    (migrations / "versions" / f"{NEXT}_next.py").write_text(said + _REVISION + body)


def up_to(version: str, folder: Path) -> Migrations:
    """Ours up to this version, in `folder`."""
    shutil.copytree(MIGRATIONS.folder, folder / "migrations")
    for path in (folder / "migrations" / "versions").glob("r[0-9]*_*.py"):
        if path.name.partition("_")[0] > version:
            path.unlink()
    return Migrations(folder / "migrations")
