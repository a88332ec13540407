"""`cogency doctor`: what is wrong with the settings, the database, the model and the platforms' side of things.

An adapter's `doctor` module has `async def examine(settings, clock) -> list[Finding]`, with its own settings: it
gathers facts, and hands them to pure checks. It raises nothing that its platform can cause.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.exits import printable_line

# What an examination finds: one line each, with what to change. Pure.
#
# Rules
# - A check is a pure function from facts to findings; facts are gathered at the edge, by an adapter's `examine`.
# - A finding names settings, scopes and channels, never the value of a secret. Names come from elsewhere: what would
#   move a terminal's cursor or turn its writing round is left out.
# - What could not be found out is a warning that says so: not knowing is neither good nor bad.


class Level(StrEnum):
    """How bad it is."""

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
    """`where`: Settings, Database, Model, Tools, Slack or Discord. `what`: a sentence without a stop.

    `remedy`: what exactly to change, as a sentence; "" where nothing is to be done.
    """

    level: Level
    where: str
    what: str
    remedy: str = ""


def healthy(findings: Iterable[Finding]) -> bool:
    """Whether nothing stands in the way of running."""
    return all(finding.level is not Level.PROBLEM for finding in findings)


def finding_lines(findings: Sequence[Finding]) -> str:
    """One line a finding, in their order."""
    return "".join(f"{_line(finding)}\n" for finding in findings)


def _line(finding: Finding) -> str:
    remedy = f" {finding.remedy}" if finding.remedy else ""
    line = f"{finding.level:7}  {finding.where}: {finding.what}.{remedy}"
    return printable_line(line)


__all__ = ["Finding", "Level", "finding_lines", "healthy"]
