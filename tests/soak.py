"""Runs the whole suite several times in a row, in another order each time, under CPU load.

    python -m tests.soak --times 10 --load 8

A test that passes alone on an idle machine and fails here is a defect, mostly of the test: it waits too briefly,
measures wall-clock time, draws values that pass by luck, or depends on the state that an earlier test left behind. The
seed of a failed round is printed; `pytest -p pytest_randomly --randomly-seed=…` repeats its order.
"""

import argparse
import multiprocessing
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from tests.examples import THOROUGH

SUITE = ("-n", "4", "--dist", "worksteal", "-q", "-p", "pytest_randomly", f"--hypothesis-profile={THOROUGH}")


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(load: int) -> Generator[None, None, None]:
    """Keep the CPU busy with `load` processes meanwhile."""
    processes = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(load)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--load", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=1)
    options, pytest_arguments = parser.parse_known_args()
    failed: list[int] = []
    with busy(options.load):
        for seed in range(options.first_seed, options.first_seed + options.times):
            sys.stdout.write(f"round with seed {seed}\n")
            sys.stdout.flush()
            command = [sys.executable, "-m", "pytest", *SUITE, f"--randomly-seed={seed}", *pytest_arguments]
            if subprocess.run(command, check=False).returncode:  # noqa: S603 -- our own interpreter and suite
                failed.append(seed)
    sys.stdout.write(
        f"{options.times - len(failed)} of {options.times} rounds passed; failed seeds: {failed or 'none'}\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
