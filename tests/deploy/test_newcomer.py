"""The parts of the newcomer's walk. All of it, with the registries, is `make newcomer`."""

import shutil
import sys
from itertools import count
from pathlib import Path

import pytest

from deploy.newcomer import (
    PYTHON,
    QUESTIONS,
    REACH,
    ROOT,
    Step,
    Stumbled,
    Walk,
    bare,
    pythons,
    run,
    set_up,
    set_up_service,
    table,
)

INIT = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bot.__main__ import run; raise SystemExit(run(['init']))"


async def test_a_newcomer_goes_from_nothing_to_answers_that_grow_on_both_platforms(tmp_path: Path) -> None:
    walk = Walk("init")
    await set_up(walk, tmp_path, [sys.executable, "-c", INIT], bare(tmp_path))
    assert [step.what for step in walk.steps][: len(QUESTIONS)] == [*QUESTIONS]
    assert sum(step.done for step in walk.steps) == 16


async def test_in_a_companys_network_it_ends_in_a_service_that_answers_with_nothing_but_its_file(
    tmp_path: Path,
) -> None:
    walk = Walk("init")
    environ = bare(tmp_path, VIRTUAL_ENV=sys.prefix)
    await set_up_service(walk, tmp_path, [Path(sys.executable).with_name("cogency"), "init"], environ)
    assert [step.what for step in walk.steps][-1] == "the service is stopped"


def test_each_python_of_the_machine_that_starts_is_found(tmp_path: Path) -> None:
    programs = {
        "bin/python3.10": "echo 3.10",
        "bin/python3.12": "echo 3.12",
        "bin/python3.13": "echo 'pyenv: command not found' >&2; exit 127",
        "home/.pyenv/versions/3.13.0/bin/python3.13": "echo 3.13",
        "home/.local/share/uv/python/x/bin/python3.14": "echo 3.14",
        "home/.local/bin/python3.11": "echo 3.9",
    }
    for name, says in programs.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{says}\n")
        program.chmod(0o755)
    assert pythons(f"/nowhere:{tmp_path / 'bin'}", tmp_path / "home") == {
        "3.12": tmp_path / "bin/python3.12",
        "3.13": tmp_path / "home/.pyenv/versions/3.13.0/bin/python3.13",
        "3.14": tmp_path / "home/.local/share/uv/python/x/bin/python3.14",
    }


def test_a_step_is_measured_and_one_that_fails_says_where_a_newcomer_is_stuck(tmp_path: Path) -> None:
    clock = count(10)
    walk = Walk("clone", clock=lambda: float(next(clock)))
    with walk.step("something to remember", done=2):
        pass
    assert walk.steps == [Step("clone", "something to remember", 2, 1.0)]
    shout = "import sys; print('half'); sys.exit('no such thing')"
    with pytest.raises(Stumbled, match=r"(?s)clone: asking.*half.*no such thing.*ended with 1"), walk.step("asking"):
        run(sys.executable, "-c", shout, cwd=tmp_path, env=bare(tmp_path))
    assert len(walk.steps) == 1


def test_the_table_adds_up_what_each_way_takes() -> None:
    told = table([Step("clone", "a", 1, 1.5), Step("clone", "b", 2, 2.0), Step("uvx", "c", 1, 0.25)])
    rows = [line.split() for line in told.splitlines() if "together" in line]
    assert rows == [["clone", "together", "3", "3.5"], ["uvx", "together", "1", "0.2"]]


def test_a_newcomer_has_nothing_of_this_machine_but_programs_and_the_way_to_the_registries(tmp_path: Path) -> None:
    environ = bare(tmp_path, COGENCY_MODEL="rehearsal")
    assert {*environ} - {*REACH} == {"PATH", "HOME", "LANG", "COGENCY_MODEL"}
    assert environ["HOME"] == str(tmp_path)
    assert all(shutil.which(name, path=environ["PATH"]) for name in ("git", "make", PYTHON.name))
