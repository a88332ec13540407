"""A folder of migrations with one more than ours: what the next release brings."""

import shutil
from pathlib import Path
from typing import Final

from store.migrations import HEAD, MIGRATIONS, Migrations

NEXT: Final = "r9999"
ADD_A_COLUMN: Final = 'op.add_column("person", sa.Column("shoe_size", sa.Text(), server_default="", nullable=False))'
ADD_A_TABLE: Final = 'op.create_table("shoe", sa.Column("size", sa.Integer(), nullable=False))'

_REVISION: Final = f'''
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
'''


def with_one_more(folder: Path, *steps: str) -> Migrations:
    """Ours and, after them, one that takes these steps, in `folder`."""
    shutil.copytree(MIGRATIONS.folder, folder / "migrations")
    body = "".join(f"    {step}\n" for step in steps)
    (folder / "migrations" / "versions" / f"{NEXT}_next.py").write_text(_REVISION + body)
    return Migrations(folder / "migrations")


def up_to(version: str, folder: Path) -> Migrations:
    """Ours up to this version, in `folder`."""
    shutil.copytree(MIGRATIONS.folder, folder / "migrations")
    for path in (folder / "migrations" / "versions").glob("r[0-9]*_*.py"):
        if path.name.partition("_")[0] > version:
            path.unlink()
    return Migrations(folder / "migrations")
