"""A suite in several processes reports the same for each test as in one process."""

import re
import subprocess
import sys
from pathlib import Path

from tests.forks import PART_TESTS, WAITING_PART_TESTS, may_wait, parts_of
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
SUITE = """
import os, pathlib, pytest, threading

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

@pytest.mark.timeout(0.2)
def test_hangs():
    threading.Event().wait(10)

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
        "pytest_timeout",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        *options,
    ]
    environ = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_DEBUG_TEMPROOT": str(folder)}
    process = subprocess.run(  # noqa: S603 -- our own interpreter
        [*command, "--rootdir=.", "test_suite.py"],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return process.returncode, process.stdout + process.stderr


def processes(folder: Path, state: str) -> set[str]:
    return {file.name.partition("-")[2] for file in folder.glob(f"{state}-*")}


def test_each_test_is_reported_and_what_each_process_has_started_ends(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--forks=3")
    assert code == 1, output
    assert "3 failed, 31 passed, 1 skipped" in output
    assert "said before" in output
    assert re.findall(r"^FAILED \S+::(\w+) - (.*)$", output, re.MULTILINE) == [
        ("test_fails", "assert 1 == 2"),
        ("test_hangs", "Failed: Timeout (>0.2s) from pytest-timeout."),
        ("test_dies", "its process ended with 3"),
    ]
    assert processes(tmp_path, "ended") == processes(tmp_path, "begun") - processes(tmp_path, "died")
    assert processes(tmp_path, "ended")


def test_it_stops_after_the_first_failure_with_x(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--forks=2", "-x", "-k", "fails or passes")
    assert code == 1, output
    assert "stopping after 1 failures" in output


def test_each_test_is_in_one_part_and_what_waits_comes_first() -> None:
    names = [
        f"tests/{file}.py::test_{number}" for file in ("agent/a", "benchmarks/b", "flows/c") for number in range(25)
    ]
    parts = parts_of(names)
    assert sorted(at for part in parts for at in part) == [*range(75)]
    assert {len(part) for part in parts[:12]} == {WAITING_PART_TESTS}
    assert [names[part[0]].split("/")[1] for part in (parts[0], parts[13], parts[-1])] == [
        "flows",
        "agent",
        "benchmarks",
    ]
    assert len(parts[13]) == PART_TESTS
    assert len(parts[-1]) == 25


def test_tests_that_import_the_clients_of_vendors_stand_at_the_end_where_few_processes_begin() -> None:
    files = (
        "agent/providers/test_wire",
        "contracts/test_providers",
        "agent/test_a",
        "contracts/test_b",
        "flows/test_c",
    )
    names = [f"tests/{file}.py::test_it" for file in files]
    assert [part[0] for part in parts_of(names)] == [4, 2, 3, 0, 1]


def test_tests_of_minutes_are_parts_of_their_own_which_begin_before_other_benchmarks() -> None:
    names = [f"tests/benchmarks/{file}.py::test_{number}" for file in ("test_fact_pairs", "test_z") for number in "abc"]
    assert [list(part) for part in parts_of(names)] == [[3, 4, 5], [0], [1], [2]]  # the last parts begin first


def test_the_server_of_processes_starts_ahead_only_for_tests_that_may_wait() -> None:
    assert all(may_wait([one]) for one in ("tests", "tests/flows", "tests/flows/test_x.py::test_y", "tests/deploy/"))
    assert not may_wait(["tests/agent", "tests/bot", "tests/test_reference.py"])
    assert may_wait(["tests/agent", "tests/flows/test_x.py"])
