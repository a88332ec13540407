"""Everything that takes longer than `make test`, one after the other, with one report at the end: `make campaign`.

    python -m benchmarks.campaign [--only NAME…] [--seeds 50] [--quick] [--folder build/campaign]

A step that fails or takes too long does not end the others. Each writes its output to a file in the folder, and what it
keeps for finding the cause into a folder of its own there. report.md says what ran, how long it took, what failed and
where its output is. The exit code is 1 if a step failed or was not reached.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

HOUR_S: Final = 3_600.0
SEEDS: Final = 50
QUICK_SEEDS: Final = 2
FOLDER: Final = Path("build/campaign")
TAIL_LINES: Final = 15  # Of the output of a step that failed, in the report
# What the rehearsal model, which understands nothing, answers correctly of the starter questions, in percent.
REHEARSED: Final = "75"


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    TOO_LONG = "took too long"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Step:
    """`what`: for the report. `limit_s`: it is killed after that. `settings`: environment variables."""

    name: str
    what: str
    command: Sequence[str]
    limit_s: float
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Done:
    step: Step
    outcome: Outcome
    seconds: float = 0.0
    log: Path | None = None


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def steps(folder: Path, seeds: int, *, quick: bool) -> list[Step]:
    """`folder`: what they keep goes there."""
    small = ["--quick"] if quick else []

    def chaos(name: str, what: str, *options: str) -> Step:
        command = _python("benchmarks.chaos", *options, *small, "--logs", str(folder / name))
        return Step(name, what, command, HOUR_S)

    soak = ["--times", "1", "tests/agent"] if quick else ["--times", "10"]
    database = {"COGENCY_MODEL": "rehearsal", "COGENCY_DATABASE_URL": f"sqlite:///{folder.resolve() / 'evals.db'}"}
    return [
        Step(
            "evals",
            "the starter questions of `cogency eval`, with the rehearsal model",
            _python("bot", "eval", "--starter", "--threshold", REHEARSED),
            HOUR_S,
            database,
        ),
        chaos("chaos-sqlite", "one process that is killed and restarted", "--engine", "sqlite"),
        chaos("chaos-postgresql", "three processes that are killed, suspended and disconnected"),
        chaos("chaos-versions", "an upgrade while processes of both versions run", "--versions"),
        *(
            chaos(f"chaos-scale-{seed}", "two Slack apps and eight shards", "--scale", "--seed", str(seed))
            for seed in range(1, seeds + 1)
        ),
        Step("failover", "a PostgreSQL whose primary fails", _python("benchmarks.failover", *small), HOUR_S),
        Step("scale", "several processes and ten million messages", _python("benchmarks.scale", *small), 4 * HOUR_S),
        Step("soak", "the tests in shuffled orders, under load", _python("tests.soak", *soak), 12 * HOUR_S),
    ]


def run(step: Step, folder: Path) -> Done:
    """Run a step to its end, with all processes that it starts."""
    log, began = folder / f"{step.name}.log", time.monotonic()  # noqa: TID251 -- how long it took
    with log.open("wb") as output:
        process = subprocess.Popen(
            step.command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | step.settings,  # noqa: TID251 -- they run as from the same shell
            start_new_session=True,
        )
        try:
            outcome = Outcome.FAILED if process.wait(step.limit_s) else Outcome.PASSED
        except subprocess.TimeoutExpired:
            outcome = Outcome.TOO_LONG
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return Done(step, outcome, time.monotonic() - began, log)  # noqa: TID251 -- how long it took


def run_all(chosen: Iterable[Step], folder: Path) -> list[Done]:
    """Run the steps one after the other. An interruption ends them; the others are then listed as not run."""
    done, waiting = list[Done](), [*chosen]
    try:
        while waiting:
            print(f"{waiting[0].name}: {waiting[0].what}", flush=True)
            done.append(run(waiting[0], folder))
            print(f"  {done[-1].outcome} after {duration(done[-1].seconds)}", flush=True)
            waiting.pop(0)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    return [*done, *(Done(step, Outcome.NOT_RUN) for step in waiting)]


def report(done: Sequence[Done]) -> str:
    """What ran, how long it took, what failed and where its output is, as Markdown."""
    failed = [one for one in done if one.outcome is not Outcome.PASSED]
    whole = duration(sum(one.seconds for one in done))
    lines = [
        "# Campaign",
        "",
        f"{len(done) - len(failed)} of {len(done)} steps passed, in {whole}.",
        "",
        "| Step | What | Result | Time | Output |",
        "|---|---|---|---|---|",
        *(
            f"| {one.step.name} | {one.step.what} | {one.outcome} | {duration(one.seconds)} | {one.log or ''} |"
            for one in done
        ),
    ]
    for one in failed:
        if one.log is not None:
            tail = one.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            lines += ["", f"## {one.step.name}", "", "```text", *tail, "```"]
    return "\n".join([*lines, ""])


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What takes longer than `make test`, with one report.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="steps, or beginnings of their names")
    parser.add_argument("--seeds", type=int, default=None, help=f"of chaos at scale ({SEEDS}; quick: {QUICK_SEEDS})")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a look")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"for the output ({FOLDER})")
    read = parser.parse_args(arguments)
    seeds = read.seeds if read.seeds is not None else QUICK_SEEDS if read.quick else SEEDS
    known = steps(read.folder, seeds, quick=read.quick)
    if unknown := [name for name in read.only if not any(step.name.startswith(name) for step in known)]:
        parser.error(f"no step begins with {', '.join(unknown)}; there are {', '.join(step.name for step in known)}")
    chosen = [step for step in known if not read.only or step.name.startswith(tuple(read.only))]
    read.folder.mkdir(parents=True, exist_ok=True)
    done = run_all(chosen, read.folder)
    told = report(done)
    (read.folder / "report.md").write_text(told, encoding="utf-8")
    print(f"\n{told}\nThis report is in {read.folder / 'report.md'}.")
    return 0 if all(one.outcome is Outcome.PASSED for one in done) else 1


if __name__ == "__main__":
    sys.exit(main())
