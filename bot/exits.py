"""How commands end: exit codes, after sysexits.h and the shell's habits; what they write, and what `doctor` finds."""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Final, TextIO

from agent.errors import CogencyError, ProviderError, SettingsError, StoreError, StoreLocked, StoreMisnamed
from agent.messages import Json
from bot.texts import setup_texts


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    """Something went wrong that no setting and no second try would mend."""
    ARGUMENTS = 2
    """Words behind the command do not read as its arguments, or name nothing: argparse ends in the same way."""
    USAGE = 64
    """The command line does not read as a command (EX_USAGE)."""
    UNAVAILABLE = 69
    """The model or a platform cannot be reached, or the database cannot be used (EX_UNAVAILABLE)."""
    BUSY = 75
    """Another process holds the database: the same command may succeed later (EX_TEMPFAIL)."""
    SETTINGS = 78
    """A setting is unknown, missing or malformed (EX_CONFIG)."""
    TERMINATED = 143
    """SIGTERM: 128 + 15, as a shell reports it."""
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT, as a shell reports it."""


def exit_code(error: CogencyError) -> Exit:
    """What a failure that is told in a sentence means to a program."""
    match error:
        case SettingsError():
            return Exit.SETTINGS
        case StoreLocked():
            return Exit.BUSY
        case StoreMisnamed():
            return Exit.ARGUMENTS
        case ProviderError() | StoreError():
            return Exit.UNAVAILABLE
        case _:
            return Exit.FAILED


# Writing to a stream whose reader may leave, or whose disk may be full, and which may be a terminal.
#
# Rule: names, answers and what servers say come from others, so nothing is written that steers a terminal.


class OutputError(Exception):
    """What was to be said could not be written. No CogencyError: a chat would try to say it."""


# What moves the cursor, ends a line where none is seen, or turns the order of letters round.
STEERING: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNSAFE: Final = re.compile(f"[{STEERING}]")


def printable(text: str) -> str:
    """`text` with only "\\n" ending lines, and a sign in the place of each character that would steer the terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def printable_line(text: str) -> str:
    """The same on one line, with a blank for all that is not seen either: for names beside which others stand."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def printable_json(value: Json, indent: int | None = None) -> str:
    """`value` as JSON that reads as itself and steers no terminal."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


DISTRIBUTION: Final = "cogency-bot"
PACKAGES: Final = ("agent", "bot", "store")


def shared_modules(path: Iterable[str]) -> str:
    """What to say where another distribution has modules of our names, "" where none has. `path`: as `sys.path`.

    Looked for in the lists of files as they stand: `importlib.metadata` takes ten times as long to read all of them.
    """
    found: dict[str, set[str]] = {}
    for folder in map(Path, path):
        for other in _distributions(folder):
            name = other.name.partition("-")[0].replace("_", "-").lower()
            if name != DISTRIBUTION:
                files, listed = b"\n" + _read(other / "RECORD"), _read(other / "top_level.txt").split()
                found[name] = {
                    one for one in PACKAGES if one.encode() in listed or f"\n{one}/__init__.py,".encode() in files
                }
    others = sorted(name for name, modules in found.items() if modules)
    names = ", ".join(one for one in PACKAGES if any(one in modules for modules in found.values()))
    return setup_texts.MODULES_SHARED.format(others=", ".join(others), modules=names) if others else ""


def _distributions(folder: Path) -> list[Path]:
    try:
        return [*folder.glob("*.dist-info")]
    except OSError:  # a folder that this user may not see
        return []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def complain(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def write_out(stream: TextIO, text: str) -> None:
    """Write and flush. Raises BrokenPipeError when the reader has gone, OutputError for anything else."""
    try:
        stream.write(printable(text))
        stream.flush()
    except OSError as error:
        # Python flushes once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(setup_texts.OUTPUT_CLOSED.format(reason=error.strerror)) from error


@contextmanager
def progress() -> Generator[Callable[[str, int, int], None]]:
    """A bar on standard error for each step, where a person looks."""
    from rich.console import Console  # noqa: PLC0415 -- few commands take long
    from rich.progress import Progress, TaskID  # noqa: PLC0415 -- as above

    steps: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:

        def tell(what: str, done: int, of: int) -> None:
            if what not in steps:
                steps[what] = bar.add_task(what, total=of)
            bar.update(steps[what], completed=done, total=of)

        yield tell


@contextmanager
def waiting() -> Generator[Callable[[Sequence[str]], None]]:
    """A line on standard error that says what is looked at, where a person looks."""
    from rich.console import Console  # noqa: PLC0415 -- as above

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(setup_texts.LOOKING_AT.format(names="settings and files")) as line:
        yield lambda names: line.update(setup_texts.LOOKING_AT.format(names=", ".join(names)))


# What `cogency doctor` finds: one line each, with what to change. Pure.
#
# Rules
# - A check is a pure function from facts to findings; facts are gathered at the edge, by an adapter's `doctor` module:
#   its `async def examine(settings, clock) -> list[Finding]` raises nothing that its platform can cause.
# - A finding names settings, scopes and channels, never the value of a secret. Names come from elsewhere: what would
#   move a terminal's cursor or turn its writing round is left out.
# - What could not be found out is a warning that says so: not knowing is neither good nor bad.


class Level(StrEnum):
    """How bad it is."""

    FIXED = "fixed"
    """`cogency doctor --fix` has changed it."""
    GOOD = "ok"
    """As it should be."""
    NOTE = "note"
    """Nothing is wrong; somebody may like to know."""
    WARNING = "warning"
    """Something will not work, or could not be found out; the rest does."""
    PROBLEM = "problem"
    """The bot does not run, or nobody can talk to it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`where`: Settings, Database, Disk, Model, Tools, Web, Slack, Discord, …. `what`: a sentence without a stop.

    `remedy`: what exactly to change, as a sentence; "" where nothing is to be done.
    """

    level: Level
    where: str
    what: str
    remedy: str = ""


# Of this machine's clock and another's: an answer says the time to the second, and may take some to come.
SKEW: Final = timedelta(seconds=10)
SKEW_MOST: Final = timedelta(minutes=5)  # Requests of Slack that seem older are refused


def clock_finding(where: str, name: str, ours: datetime, theirs: datetime, *, refused: str = "") -> Finding:
    """How far this machine's clock is off, by what `name` says. `refused`: what goes wrong beyond five minutes."""
    skew = abs(ours - theirs)
    if skew <= SKEW:
        return Finding(Level.GOOD, where, setup_texts.CLOCK_RIGHT.format(name=name))
    matters = refused if skew > SKEW_MOST else ""
    what = setup_texts.CLOCK_OFF.format(seconds=f"{skew.total_seconds():.0f}", name=name, matters=matters)
    return Finding(Level.PROBLEM if matters else Level.WARNING, where, what, setup_texts.SET_CLOCK)


def one_clock(findings: Iterable[Finding]) -> list[Finding]:
    """With what is said of the clock once: the worst."""
    found = list(findings)
    clocks = [one for one in found if one.what.startswith(setup_texts.THIS_CLOCK)]
    worst = max(clocks, key=lambda one: list(Level).index(one.level), default=None)
    return [one for one in found if one is worst or one not in clocks]


def healthy(findings: Iterable[Finding]) -> bool:
    """Whether nothing stands in the way of running."""
    return all(finding.level is not Level.PROBLEM for finding in findings)


def finding_lines(findings: Sequence[Finding]) -> str:
    """One line a finding, in their order. What mends several that follow each other stands behind the last of them."""
    follows = [*findings[1:], None]
    return "".join(
        f"{_line(replace(one, remedy='') if then is not None and _same_remedy(one, then) else one)}\n"
        for one, then in zip(findings, follows, strict=False)
    )


def _same_remedy(one: Finding, then: Finding) -> bool:
    return (one.where, one.remedy) == (then.where, then.remedy)


def _line(finding: Finding) -> str:
    remedy = f" {finding.remedy}" if finding.remedy else ""
    line = f"{finding.level:7}  {finding.where}: {finding.what}.{remedy}"
    return printable_line(line)
