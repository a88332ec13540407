"""How commands end: exit codes, after sysexits.h and shell conventions; safe output; and the findings of `doctor`."""

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
    """An error that neither a setting nor another attempt would fix."""
    ARGUMENTS = 2
    """The arguments of the command cannot be parsed, or name nothing: argparse exits with the same code."""
    USAGE = 64
    """The command line does not name a command (EX_USAGE)."""
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
    """Return the exit code for an error that is reported as a sentence."""
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


# Writing to a stream whose reader may have gone, whose disk may be full, and which may be a terminal.
#
# Rule: names, answers and servers' messages come from others, so control characters are never written.


class OutputError(Exception):
    """Output could not be written. It is no CogencyError, because a chat would try to show it."""


# Characters that move the cursor, end a line invisibly, or reverse the direction of text.
STEERING: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNSAFE: Final = re.compile(f"[{STEERING}]")


def printable(text: str) -> str:
    """Return `text` with "\\n" as its only line ends, and a replacement for each character that steers a terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def printable_line(text: str) -> str:
    """Return the text on one line, with a blank for each invisible character: for names in a line with others."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def printable_json(value: Json, indent: int | None = None) -> str:
    """Return `value` as JSON that parses to the same value and steers no terminal."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


DISTRIBUTION: Final = "cogency-bot"
PACKAGES: Final = ("agent", "bot", "store")


def shared_modules(path: Iterable[str]) -> str:
    """Return a warning if another distribution has modules with our names, "" if none has. `path`: as `sys.path`.

    It reads the distributions' lists of files directly: `importlib.metadata` takes ten times as long for all of them.
    """
    modules_of: dict[str, set[str]] = {}
    for folder in map(Path, path):
        for entry in _distributions(folder):
            distribution = entry.name.partition("-")[0].replace("_", "-").lower()
            if distribution != DISTRIBUTION:
                files, listed = b"\n" + _read(entry / "RECORD"), _read(entry / "top_level.txt").split()
                modules_of[distribution] = {
                    name for name in PACKAGES if name.encode() in listed or f"\n{name}/__init__.py,".encode() in files
                }
    others = sorted(name for name, modules in modules_of.items() if modules)
    names = ", ".join(package for package in PACKAGES if any(package in modules for modules in modules_of.values()))
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
    """Write a line to standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def write_out(stream: TextIO, text: str) -> None:
    """Write and flush. Raises BrokenPipeError if the reader has gone, OutputError for any other failure."""
    try:
        stream.write(printable(text))
        stream.flush()
    except OSError as error:
        # Python flushes again when it exits, and would report the failure then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(setup_texts.OUTPUT_CLOSED.format(reason=error.strerror)) from error


@contextmanager
def progress() -> Generator[Callable[[str, int, int], None]]:
    """Show a progress bar for each step on standard error, if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415 -- few commands take long
    from rich.progress import Progress, TaskID  # noqa: PLC0415 -- few commands take long

    steps: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:

        def tell(what: str, done: int, of: int) -> None:
            if what not in steps:
                steps[what] = bar.add_task(what, total=of)
            bar.update(steps[what], completed=done, total=of)

        yield tell


@contextmanager
def waiting() -> Generator[Callable[[Sequence[str]], None]]:
    """Show a status line with what is being examined on standard error, if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415 -- few commands take long

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(setup_texts.LOOKING_AT.format(names="settings and files")) as line:
        yield lambda names: line.update(setup_texts.LOOKING_AT.format(names=", ".join(names)))


# What `cogency doctor` finds: one line each, with what to change. Pure.
#
# Rules
# - A check is a pure function from facts to findings. Facts are gathered by an adapter's `doctor` module: its
#   `async def examine(settings, clock) -> list[Finding]` raises nothing that its platform can cause.
# - A finding names settings, scopes and channels, never the value of a secret. Names come from others, so characters
#   that steer a terminal are replaced.
# - A fact that could not be determined is a warning that says so: it is neither good nor bad.


class Level(StrEnum):
    """The severity of a finding."""

    FIXED = "fixed"
    """`cogency doctor --fix` has changed it."""
    GOOD = "ok"
    """As it should be."""
    NOTE = "note"
    """Nothing is wrong; for information."""
    WARNING = "warning"
    """Something will not work, or could not be determined; the rest works."""
    PROBLEM = "problem"
    """The bot does not run, or no one can talk to it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`where`: Settings, Database, Disk, Model, Tools, Web, Slack, Discord, …. `what`: a sentence without a full stop.

    `remedy`: what exactly to change, as a sentence; "" if there is nothing to do.
    """

    level: Level
    where: str
    what: str
    remedy: str = ""


# Between this machine's clock and another's: a response gives the time in seconds, and may take some to arrive.
SKEW: Final = timedelta(seconds=10)
MAX_SKEW: Final = timedelta(minutes=5)  # Requests of Slack that seem older than this are refused


def clock_finding(where: str, name: str, ours: datetime, theirs: datetime, *, refused: str = "") -> Finding:
    """Return a finding about this machine's clock, compared with that of `name`. `refused`: what else fails then."""
    skew = abs(ours - theirs)
    if skew <= SKEW:
        return Finding(Level.GOOD, where, setup_texts.CLOCK_RIGHT.format(name=name))
    consequence = refused if skew > MAX_SKEW else ""
    what = setup_texts.CLOCK_OFF.format(seconds=f"{skew.total_seconds():.0f}", name=name, matters=consequence)
    return Finding(Level.PROBLEM if consequence else Level.WARNING, where, what, setup_texts.SET_CLOCK)


def one_clock(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with only the worst one about the clock."""
    all_findings = list(findings)
    clocks = [finding for finding in all_findings if finding.what.startswith(setup_texts.THIS_CLOCK)]
    worst = max(clocks, key=lambda finding: list(Level).index(finding.level), default=None)
    return [finding for finding in all_findings if finding is worst or finding not in clocks]


def healthy(findings: Iterable[Finding]) -> bool:
    """Return whether no finding prevents the bot from running."""
    return all(finding.level is not Level.PROBLEM for finding in findings)


def finding_lines(findings: Sequence[Finding]) -> str:
    """Return one line per finding, in order. A remedy that several in a row share is shown after the last of them."""
    lines: list[str] = []
    for finding, following in zip(findings, [*findings[1:], None], strict=False):
        is_shared = following is not None and (finding.where, finding.remedy) == (following.where, following.remedy)
        lines.append(f"{_line(replace(finding, remedy='') if is_shared else finding)}\n")
    return "".join(lines)


def _line(finding: Finding) -> str:
    remedy = f" {finding.remedy}" if finding.remedy else ""
    line = f"{finding.level:7}  {finding.where}: {finding.what}.{remedy}"
    return printable_line(line)
