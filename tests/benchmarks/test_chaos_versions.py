"""Which two versions `benchmarks.chaos --versions` runs together. (The run itself takes minutes: no test does it.)"""

import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.chaos_model import Model
from benchmarks.chaos_versions import NoSuchVersion, TakeOver, Version, Versions, versions
from store.migrations import HEAD, MIGRATIONS, Migrations
from tests.patience import PATIENCE_S
from tests.store.migrating import ADD_A_TABLE, NEXT, add_one

HAS_GIT = shutil.which("git") is not None


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A product that consists of migrations alone."""
    folder = tmp_path / "tree"
    for package in ("agent", "bot"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(MIGRATIONS.folder, folder / "store" / "migrations", ignore=skipped)
    return folder


def commit(tree: Path) -> None:
    settings = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
    for words in (["init", "--quiet"], ["add", "."], [*settings, "commit", "--quiet", "--message", "A version"]):
        subprocess.run(["git", "-C", str(tree), *words], check=True, timeout=PATIENCE_S)  # noqa: S603, S607 -- our own


def test_without_history_this_tree_is_the_older_one_of_a_copy_that_has_but_grown(tree: Path, tmp_path: Path) -> None:
    both = versions(tmp_path / "made", root=tree)
    assert (both.old.folder, both.old.database, both.new.database) == (tree, HEAD, NEXT)
    assert Migrations(both.new.folder / "store" / "migrations").versions == [*MIGRATIONS.versions, NEXT]
    with pytest.raises(NoSuchVersion, match="no commit v1 here"):
        versions(tmp_path / "named", "v1", root=tree)


@pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
@pytest.mark.parametrize("expands", [True, False])
def test_a_commit_is_the_older_one_if_what_came_since_only_adds(tree: Path, tmp_path: Path, expands: bool) -> None:
    commit(tree)
    add_one(tree / "store" / "migrations", ADD_A_TABLE, expands=expands)
    commit(tree)
    chosen = versions(tmp_path / "made", root=tree)
    if expands:
        assert (chosen.old.database, chosen.new) == (HEAD, Version("this tree", tree, NEXT))
        assert Migrations(chosen.old.folder / "store" / "migrations").head == HEAD
    else:
        with pytest.raises(NoSuchVersion, match=f"{HEAD} of the database, and what came since does more than add"):
            versions(tmp_path / "named", "HEAD^", root=tree)


def test_what_never_happened_in_an_upgrade_is_a_fault(tmp_path: Path) -> None:
    old, new = Version("older", tmp_path, "r0001"), Version("newer", tmp_path, "r0002")
    upgrade = TakeOver(Versions(old, new), "", Model({}))
    assert len(upgrade.faults()) == len(upgrade.figures()) + 1
    upgrade.before, upgrade.old_before, upgrade.done = 7, 7, True
    upgrade.model.asked_by.update({"r0001": 8, "r0001-again": 1, "r0002": 1})
    assert upgrade.faults() == ()
