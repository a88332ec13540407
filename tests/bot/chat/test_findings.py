"""A finding is one line that says how bad it is, where, and what to change."""

from dataclasses import replace

import pytest

from bot.chat.findings import Finding, Level, finding_lines, healthy

GOOD = Finding(Level.GOOD, "Slack", "signed in as cogency")
WARNING = Finding(Level.WARNING, "Slack", "the bot is not in any channel", "Invite it: /invite @cogency.")
PROBLEM = Finding(Level.PROBLEM, "Database", "it cannot be opened", "Check COGENCY_DATABASE_URL.")


def test_each_finding_is_one_line_with_its_remedy() -> None:
    assert finding_lines([GOOD, WARNING, PROBLEM]).splitlines() == [
        "ok       Slack: signed in as cogency.",
        "warning  Slack: the bot is not in any channel. Invite it: /invite @cogency.",
        "problem  Database: it cannot be opened. Check COGENCY_DATABASE_URL.",
    ]


def test_a_remedy_shared_by_consecutive_findings_is_shown_after_the_last() -> None:
    lacks = [Finding(Level.WARNING, "Slack", f"the bot token lacks {name}", "Take over.") for name in ("one", "two")]
    assert finding_lines([*lacks, PROBLEM, *lacks[:1]]).splitlines() == [
        "warning  Slack: the bot token lacks one.",
        "warning  Slack: the bot token lacks two. Take over.",
        "problem  Database: it cannot be opened. Check COGENCY_DATABASE_URL.",
        "warning  Slack: the bot token lacks one. Take over.",
    ]
    assert finding_lines([]) == ""
    assert finding_lines([replace(PROBLEM, where="Disk"), PROBLEM]).count("Check ") == 2


def test_foreign_text_never_makes_a_second_line() -> None:
    assert finding_lines([Finding(Level.WARNING, "Slack", "two\nlines", "to\nchange")]).count("\n") == 1


def test_foreign_text_does_not_steer_the_terminal() -> None:
    assert (
        finding_lines([Finding(Level.GOOD, "Slack", "in #a\x1b[2Jb\u202ec\rd")]) == "ok       Slack: in #a [2Jb c d.\n"
    )


@pytest.mark.parametrize(("findings", "well"), [([GOOD, WARNING], True), ([GOOD, PROBLEM], False), ([], True)])
def test_only_a_problem_prevents_running(findings: list[Finding], *, well: bool) -> None:
    assert healthy(findings) is well
