"""How the tables came to be, one revision at a time (Alembic). Forward at every start that finds an older database.

Rules
  A revision that was released is never changed: the next change is a new one. There is no way back but a backup.
  Whoever merges two branches with a revision each numbers the later one anew: one line, no branches.

A new revision:
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db upgrade head
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db revision --autogenerate --rev-id r0002 -m "…"
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Migrations:
    """The revisions in a folder with Alembic's `env.py`; their files begin with their numbers ("r0001_first.py")."""

    folder: Path

    @cached_property
    def versions(self) -> list[str]:
        """Every version that a database can be brought on from, in their order."""
        return sorted(path.name.partition("_")[0] for path in self.folder.glob("versions/r[0-9]*_*.py"))

    @property
    def head(self) -> str:
        return self.versions[-1]


MIGRATIONS: Final = Migrations(Path(__file__).parent)
HEAD: Final = MIGRATIONS.head
