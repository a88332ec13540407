"""The campaign runs every step, whatever the others do, and its report says what came of each."""

import fcntl
import signal
import sys
from pathlib import Path

import pytest

from benchmarks.campaign import Outcome, Step, main, report, run_all, steps
from tests.patience import until

# A process whose child holds a lock as long as it lives.
CHILD = "import fcntl, time; file = open({0!r}, 'w'); fcntl.flock(file, fcntl.LOCK_EX); time.sleep(600)"
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', {0!r}])"


def step(name: str, program: str, limit_s: float = 60.0) -> Step:
    return Step(name, f"what {name} is", (sys.executable, "-c", program), limit_s)


def test_a_step_that_fails_does_not_end_the_others_and_is_explained(tmp_path: Path) -> None:
    chosen = [step("bad", "print('the cause'); raise SystemExit(3)"), step("good", "print('fine')")]
    done = run_all(chosen, tmp_path)
    assert [one.outcome for one in done] == [Outcome.FAILED, Outcome.PASSED]
    told = report(done)
    assert "1 of 2 steps passed" in told
    assert "| bad | what bad is | failed | 0:00:0" in told
    assert str(tmp_path / "bad.log") in told
    assert "the cause" in told
    assert (tmp_path / "good.log").read_text() == "fine\n"
    assert "fine" not in told  # only of those that failed


async def test_a_step_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    hanging = step("hanging", PARENT.format(CHILD.format(str(lock))), limit_s=3.0)
    done = run_all([hanging, step("next", "pass")], tmp_path)
    assert [one.outcome for one in done] == [Outcome.TOO_LONG, Outcome.PASSED]
    with lock.open() as held:
        await until(lambda: _is_free(held.fileno()))


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_what_an_interruption_left_out_is_listed_and_no_success(tmp_path: Path) -> None:
    interrupting = "import os, signal; os.kill(os.getppid(), signal.SIGINT); import time; time.sleep(60)"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    try:
        done = run_all([step("first", interrupting), step("second", "pass")], tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [one.outcome for one in done] == [Outcome.NOT_RUN, Outcome.NOT_RUN]
    assert "0 of 2 steps passed" in report(done)


def test_a_campaign_has_every_seed_once_and_keeps_what_each_leaves_apart(tmp_path: Path) -> None:
    names = [one.name for one in steps(tmp_path, 50, quick=False)]
    assert len(names) == len(set(names)) > 50
    kept = [one.command[-1] for one in steps(tmp_path, 50, quick=True) if "--logs" in one.command]
    assert len(kept) == len(set(kept)) == 53


def test_a_step_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "caos", "--folder", str(tmp_path)])
    assert "no step begins with caos; there are evals, chaos-sqlite" in capsys.readouterr().err
