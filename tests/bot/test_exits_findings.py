"""A finding is one line that says how bad it is, where, and what to change."""

from dataclasses import replace

import pytest

from bot.exits import Finding, Level, finding_lines, healthy

GOOD = Finding(Level.GOOD, "Slack", "signed in as cogency")
WARNING = Finding(Level.WARNING, "Slack", "the bot is in no channel", "Invite it: /invite @cogency.")
PROBLEM = Finding(Level.PROBLEM, "Database", "it cannot be opened", "Check COGENCY_DATABASE_URL.")


def test_each_finding_is_one_line_with_its_remedy() -> None:
    assert finding_lines([GOOD, WARNING, PROBLEM]).splitlines() == [
        "ok       Slack: signed in as cogency.",
        "warning  Slack: the bot is in no channel. Invite it: /invite @cogency.",
        "problem  Database: it cannot be opened. Check COGENCY_DATABASE_URL.",
    ]


def test_what_mends_several_that_follow_each_other_is_said_once_behind_the_last() -> None:
    lacks = [Finding(Level.WARNING, "Slack", f"the bot token lacks {name}", "Take over.") for name in ("one", "two")]
    assert finding_lines([*lacks, PROBLEM, *lacks[:1]]).splitlines() == [
        "warning  Slack: the bot token lacks one.",
        "warning  Slack: the bot token lacks two. Take over.",
        "problem  Database: it cannot be opened. Check COGENCY_DATABASE_URL.",
        "warning  Slack: the bot token lacks one. Take over.",
    ]
    assert finding_lines([]) == ""
    assert finding_lines([replace(PROBLEM, where="Disk"), PROBLEM]).count("Check ") == 2


def test_what_was_said_elsewhere_never_makes_a_second_line() -> None:
    assert finding_lines([Finding(Level.WARNING, "Slack", "two\nlines", "to\nchange")]).count("\n") == 1


def test_what_was_said_elsewhere_does_nothing_to_the_terminal() -> None:
    assert (
        finding_lines([Finding(Level.GOOD, "Slack", "in #a\x1b[2Jb\u202ec\rd")]) == "ok       Slack: in #a [2Jb c d.\n"
    )


@pytest.mark.parametrize(("findings", "well"), [([GOOD, WARNING], True), ([GOOD, PROBLEM], False), ([], True)])
def test_only_a_problem_stands_in_the_way(findings: list[Finding], *, well: bool) -> None:
    assert healthy(findings) is well
