"""docs/security-tests.md: the attacks that are tested.

Rule: the tables of attempts, sequences and addresses are made from the data that their tests play. The rows of the other
tables stand in `security_tests.toml`, and each row names at least one test.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bot.web import ssrf
from tests.injection import attempts, sequences

ROWS: Final = Path(__file__).with_suffix(".toml")

_PAGE: Final = """\
# Security tests

This page lists the attacks that our tests try, and the guarantees that they check. [Security](security.md) explains the rules. From
[Untrusted text](#untrusted-text) on, [security_tests.toml](site/security_tests.toml) names the tests of each row. {made}

The tests in `tests/injection/` run the real bot with a scripted model, the *puppet*, which does whatever a text says. Each attack runs
twice: the complete bot must stop it, and it must succeed when the mechanism that stops it is switched off. The name of a test contains the
platform, the place of the text, and what the text tries to do, as in `1-slack-page-tell`.

## Mechanisms

| Mechanism | When it is switched off | First test |
|---|---|---|
{mechanisms}

## Prompt injection

The tests put the [hostile texts](../tests/injection/attempts.py) in these places:

{sources}

| Name | The text tries to | Stopped by | Places |
|---|---|---|---|
{attempts}

## Sequences of calls

Calls that look harmless one by one can leak data together, and a place may be safe only because of the people in it. So these tests put
each kind of text into each kind of place. The puppet then calls the tools in the table ([with these
arguments](../tests/injection/sequences.py)). The operator allows the tool `act` without approval. A test fails if anything that the asker
said leaks. Each sequence succeeds if the bot does not check tool calls.

| The text is | Places, with the tools that the puppet calls |
|---|---|
{sequences}

## Blocked network addresses

`tests/bot/web/test_guard.py` runs each attempt ([the list](../tests/bot/web/ssrf.py)) twice. The bot must connect only to the public web. The
same attempt must succeed against a program without the bot's checks. `public.example` and `a.example` are sites on the public web.

| Stopped by | Attempts | Such as |
|---|---|---|
{addresses}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """`tests`: files of tests, each with a function ("tests/a.py::test_b") and a remark in brackets, or without."""

    what: str
    how: str
    tests: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """`about`: a sentence or two before it, or nothing."""

    title: str
    about: str
    heads: Sequence[str]
    rows: Sequence[Row]


def tables() -> tuple[Table, ...]:
    """The tables of `security_tests.toml`."""
    read = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    return tuple(
        Table(
            table["title"],
            table.get("about", ""),
            table["heads"],
            tuple(Row(row["what"], row.get("how", ""), row["tests"]) for row in table["row"]),
        )
        for table in read["table"]
    )


def security_tests_page(made: str) -> str:
    """`made`: the sentence that says that the page is generated."""
    head = _PAGE.format(
        made=made,
        mechanisms="\n".join(attempts.mechanisms()),
        sources="\n".join(attempts.sources()),
        attempts="\n".join(attempts.rows()),
        sequences="\n".join(sequences.rows()),
        addresses="\n".join(ssrf.rows()),
    )
    return "\n".join([head, *(line for table in tables() for line in _lines(table))])


def _lines(table: Table) -> Iterator[str]:
    """Yield the table's lines, without the names of tests: these would leave no room for sentences."""
    yield from (f"## {table.title}", "")
    if table.about:
        yield from (table.about, "")
    yield from (f"| {' | '.join(table.heads)} |", f"|{'---|' * len(table.heads)}")
    for row in table.rows:
        cells = [row.what, row.how] if len(table.heads) > 1 else [row.what]
        yield f"| {' | '.join(cells)} |"
    yield ""
