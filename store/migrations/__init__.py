"""How the tables came to be, one revision at a time (Alembic). Forward at every start that finds an older database.

Rules
  A revision that was released is never changed: the next change is a new one.
  A revision has its way back (`downgrade`), and says what the version before cannot hold (`LOSES`: what it is, and the
  query that counts it); or it says why there is none (`NO_WAY_BACK`). Without a way back there is the backup.
  Whoever merges two branches with a revision each numbers the later one anew: one line, no branches.

A new revision:
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db upgrade head
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db revision --autogenerate --rev-id r0002 -m "…"
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

RELEASES: Final[Mapping[str, str]] = {"0.1.0": "r0020"}
"""The version of the database that each release of the program has."""


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

    def named(self, name: str) -> str | None:
        """The version that is meant by its own number, or by that of a release; None if there is none."""
        version = RELEASES.get(name.removeprefix("v"), name)
        return version if version in self.versions else None


MIGRATIONS: Final = Migrations(Path(__file__).parent)
HEAD: Final = MIGRATIONS.head
