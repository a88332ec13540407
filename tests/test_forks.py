"""A suite in several processes says of each test what one process says."""

import re
import subprocess
import sys
from pathlib import Path

from tests.forks import FEW, MOST, parts_of
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
SUITE = """
import os, pathlib, pytest

@pytest.fixture(scope="session")
def server():
    pathlib.Path(f"begun-{os.getpid()}").touch()
    yield
    pathlib.Path(f"ended-{os.getpid()}").touch()

@pytest.mark.parametrize("number", range(30))
def test_passes(number, server, capfd, tmp_path):
    os.system(f"echo {number}")
    assert capfd.readouterr().out == f"{number}\\n"

def test_fails():
    print("said before")
    assert 1 == 2

def test_dies():
    pathlib.Path(f"died-{os.getpid()}").touch()
    os._exit(3)

def test_after_it(server):
    pass

@pytest.mark.skip(reason="not here")
def test_skipped():
    pass
"""


def run(folder: Path, *options: str) -> tuple[int, str]:
    (folder / "test_suite.py").write_text(SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.forks",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        *options,
    ]
    environ = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_DEBUG_TEMPROOT": str(folder)}
    ended = subprocess.run(  # noqa: S603 -- our own interpreter
        [*command, "--rootdir=.", "test_suite.py"],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


def processes(folder: Path, what: str) -> set[str]:
    return {found.name.partition("-")[2] for found in folder.glob(f"{what}-*")}


def test_each_test_is_told_of_and_what_each_process_has_started_ends(tmp_path: Path) -> None:
    code, said = run(tmp_path, "--forks=3")
    assert code == 1, said
    assert "2 failed, 31 passed, 1 skipped" in said
    assert "said before" in said
    assert re.findall(r"^FAILED \S+::(\w+) - (.*)$", said, re.MULTILINE) == [
        ("test_fails", "assert 1 == 2"),
        ("test_dies", "its process ended with 3"),
    ]
    assert processes(tmp_path, "ended") == processes(tmp_path, "begun") - processes(tmp_path, "died")
    assert processes(tmp_path, "ended")


def test_it_stops_where_it_is_told_to(tmp_path: Path) -> None:
    code, said = run(tmp_path, "--forks=2", "-x", "-k", "fails or passes")
    assert code == 1, said
    assert "stopping after 1 failures" in said


def test_each_test_is_in_one_part_and_what_waits_comes_first() -> None:
    names = [
        f"tests/{file}.py::test_{number}" for file in ("agent/a", "benchmarks/b", "flows/c") for number in range(25)
    ]
    parts = parts_of(names)
    assert sorted(at for part in parts for at in part) == [*range(75)]
    assert {len(part) for part in parts[:12]} == {FEW}
    assert [names[part[0]].split("/")[1] for part in (parts[0], parts[13], parts[-1])] == [
        "flows",
        "agent",
        "benchmarks",
    ]
    assert len(parts[13]) == MOST
    assert len(parts[-1]) == 25
