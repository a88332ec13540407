"""What doctor finds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from bot.chat.output import printable_line
from bot.chat.texts import operating as operating_texts

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
    """Something else will not work, or could not be determined."""
    PROBLEM = "problem"
    """The bot does not run, cannot answer, or lacks something important; doctor then ends with exit code 1."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`where`: Settings, Database, Disk, Model, Tools, Web, Slack, Discord, …. `what`: a sentence without a full stop.

    `remedy`: what exactly to change, as a sentence; "" if there is nothing to do. `is_silent`: nobody answered, so the
    same may work later.
    """

    level: Level
    where: str
    what: str
    remedy: str = ""
    is_silent: bool = False


def platform_away(where: str, summary: str, sentences: str) -> Finding:
    """Return the finding that a platform cannot be reached, from the sentences that `cogency run` logs about it: what
    happened, and what to do. `summary`: what happened, if the sentences are a single one.
    """
    what, _, remedy = sentences.partition(". ")
    what, remedy = (what, remedy) if remedy else (summary, sentences)
    return Finding(Level.PROBLEM, where, what, remedy, is_silent=True)


# Between this machine's clock and another's: a response gives the time in seconds, and may take some to arrive.
SKEW: Final = timedelta(seconds=10)
MAX_SKEW: Final = timedelta(minutes=5)  # Requests of Slack that seem older than this are refused


def clock_finding(where: str, name: str, ours: datetime, theirs: datetime, *, refused: str = "") -> Finding:
    """Return a finding about this machine's clock, compared with that of `name`. `refused`: what else fails then."""
    skew = abs(ours - theirs)
    if skew <= SKEW:
        return Finding(Level.GOOD, where, operating_texts.CLOCK_RIGHT.format(name=name))
    consequence = refused if skew > MAX_SKEW else ""
    what = operating_texts.CLOCK_OFF.format(seconds=f"{skew.total_seconds():.0f}", name=name, matters=consequence)
    return Finding(Level.PROBLEM if consequence else Level.WARNING, where, what, operating_texts.SET_CLOCK)


def one_clock(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with only the worst one about the clock."""
    all_findings = list(findings)
    clocks = [finding for finding in all_findings if finding.what.startswith(operating_texts.THIS_CLOCK)]
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
