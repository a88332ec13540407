"""Two versions of the program for `benchmarks.chaos`: where each comes from, and how the newer one takes over.

The older one is a commit, from `git archive`; the newer one is this tree. If no commit has an older database from which
this one has only grown, or there is no history, then this tree is the older one, and the newer one is a copy of it with
a migration that adds a column, a table and an index. Both run with the libraries of this interpreter.
"""

import asyncio
import io
import re
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.chaos_model import Model
from benchmarks.chaos_processes import ROOT, Replicas
from store.engine import database_beside
from store.migrations import Migrations, version
from tests.store.migrating import ADD_A_COLUMN, ADD_A_TABLE, ADD_AN_INDEX, add_one

PRODUCT: Final = ("agent", "bot", "store")
VERSIONS: Final = "store/migrations/versions"
_EXPANDS: Final = re.compile(r"^EXPANDS = True$", re.MULTILINE)
GIT_S: Final = 60.0
LOOK_S: Final = 0.1
EARLY: Final = 0.1  # The part of the time of asking after which the first newer process starts
SOME: Final = 3  # Requests to the model that prove that a process answers
STEP_S: Final = 60.0  # For a process to start and to answer, which takes some ten seconds on a busy machine


class NoSuchVersion(Exception):
    """The older version cannot run together with this one. The message says why."""


@dataclass(frozen=True, slots=True)
class Version:
    """A tree of the product, and the version of its database."""

    name: str
    folder: Path
    database: str

    def __str__(self) -> str:
        return f"{self.name}, database {self.database}"

    def environment(self) -> Mapping[str, str]:
        """Variables of its processes. The model recognises the version by the key."""
        return {"PYTHONPATH": str(self.folder), "OPENAI_API_KEY": self.database}


@dataclass(frozen=True, slots=True)
class Versions:
    old: Version
    new: Version


def versions(folder: Path, commit: str = "", *, root: Path = ROOT) -> Versions:
    """Return both versions, created in `folder`. Without a commit, the older is the newest with an older database.

    Raises NoSuchVersion.
    """
    ours = Migrations(root / "store" / "migrations")
    this = Version("this tree", root, ours.head)
    named = commit or _commit_before(ours, root)
    old = _unpacked(named, folder / "old", root) if named else this
    if old.database == this.database:
        return Versions(old, _with_one_more(folder / "new", root))
    since = [one for one in ours.versions if one > old.database]
    if old.database not in ours.versions or not all(_expands(ours, one) for one in since):
        raise NoSuchVersion(
            f"{old.name} has version {old.database} of the database, and what came since does more than add to it: "
            "such an upgrade begins with all processes stopped"
        )
    return Versions(old, this)


def _commit_before(ours: Migrations, root: Path) -> str:
    """Return the commit before the newest version of the database; "" if it does not run here, or is not known."""
    (file,) = ours.folder.glob(f"versions/{ours.head}_*.py")
    if not _expands(ours, ours.head):
        return ""
    commit = _git(root, "log", "-1", "--diff-filter=A", "--format=%H", "--", f"{VERSIONS}/{file.name}")
    before = _git(root, "rev-parse", "--verify", "--quiet", f"{commit.decode().strip()}^") if commit else b""
    return before.decode().strip()


def _expands(migrations: Migrations, revision: str) -> bool:
    (file,) = migrations.folder.glob(f"versions/{revision}_*.py")
    return _EXPANDS.search(file.read_text()) is not None


def _unpacked(commit: str, folder: Path, root: Path) -> Version:
    packed = _git(root, "archive", "--format=tar", commit, *PRODUCT)
    if not packed:
        raise NoSuchVersion(f"there is no commit {commit} here")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return Version(f"commit {commit[:12]}", folder, Migrations(folder / "store" / "migrations").head)


def _with_one_more(folder: Path, root: Path) -> Version:
    for package in PRODUCT:
        shutil.copytree(root / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    add_one(folder / "store" / "migrations", ADD_A_COLUMN, ADD_A_TABLE, ADD_AN_INDEX, expands=True)
    head = Migrations(folder / "store" / "migrations").head
    return Version("this tree and a migration that adds to it", folder, head)


def _git(root: Path, *arguments: str) -> bytes:
    """Return git's output; "" if it fails or is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],  # noqa: S607 -- the one that is installed
            capture_output=True, check=False, timeout=GIT_S,
        )  # fmt: skip
    except OSError:
        return b""
    return b"" if done.returncode else done.stdout


@dataclass(slots=True)
class TakeOver:
    """Start with two old processes. Start new ones, kill and restart an old one, then replace both.

    Each step waits until the processes of the one before answer, so a busy machine only takes longer.
    """

    versions: Versions
    url: str
    model: Model
    before: int = -1
    """Return the number of requests to the model before the database was migrated; negative if it never was."""
    old_before: int = 0
    done: bool = False

    async def through(self, processes: Replicas, span_s: float) -> None:
        old, new = self.versions.old.environment(), self.versions.new.environment()
        await asyncio.sleep(span_s * EARLY)
        await processes.join(new)
        await self._migrated()
        await self._until("asked_by_older_after_it")
        await self._until("asked_by_newer")
        await processes.join(new)
        processes.own[0] = {**old, "OPENAI_API_KEY": self._again}
        await processes.kill(0)
        await self._until("asked_by_older_started_after_it")
        for number, how in ((1, signal.SIGTERM), (0, signal.SIGKILL)):
            processes.own[number] = new
            await processes.kill(number, how)
        self.done = True

    async def _migrated(self) -> None:
        database = database_beside(self.url)
        try:
            async with asyncio.timeout(STEP_S):
                while await database.read(version) != self.versions.new.database:  # noqa: ASYNC110 -- in others' processes
                    await asyncio.sleep(LOOK_S)
        finally:
            await database.close()
        self.before, self.old_before = self.model.requests, self.model.asked_by[self.versions.old.database]

    async def _until(self, figure: str) -> None:
        """Wait until there were some more such requests. If there are none, `faults` reports it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STEP_S):
                while self.figures()[figure] < SOME:  # noqa: ASYNC110 -- in others' processes
                    await asyncio.sleep(LOOK_S)

    @property
    def _again(self) -> str:
        return f"{self.versions.old.database}-again"

    def figures(self) -> dict[str, float]:
        """Return the requests to the model before the database was migrated, and after it by program."""
        asked = self.model.asked_by
        return {
            "asked_before_migration": self.before,
            "asked_by_older_after_it": asked[self.versions.old.database] - self.old_before if self.before >= 0 else 0,
            "asked_by_older_started_after_it": asked[self._again],
            "asked_by_newer": asked[self.versions.new.database],
        }

    def faults(self) -> tuple[str, ...]:
        """Return the steps of the upgrade that did not happen."""
        never = tuple(f"{name}: {figure:.0f}" for name, figure in self.figures().items() if figure <= 0)
        return never if self.done else (*never, "the newer program did not replace the older one")
