"""Odd arguments: each is a value or an error of usage, and never a traceback."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from bot.chat.exit_codes import Exit
from bot.setup.arguments import MAX_ERROR_CHARS, parser

ODD = (
    "--",
    "-",
    "",
    "--=",
    "=",
    "\udc80",
    "a" * 100_000,
    "9" * 5_000,
    "\u0661",
    "nan",
    "1e999",
    "a\n\x1b[2J",
    "%s",
    "-1",
)


def commands(root: argparse.ArgumentParser, path: Sequence[str] = ()) -> Iterator[tuple[Sequence[str], Any]]:
    yield path, root
    for action in root._actions:
        choices: Any = action.choices
        if isinstance(choices, dict):  # of subcommands; any other choices are a sequence
            for name, command in cast("dict[str, argparse.ArgumentParser]", choices).items():
                yield from commands(command, [*path, name])


def shapes(path: Sequence[str], options: Sequence[str], odd: str) -> Iterator[list[str]]:
    yield [*path, odd]
    yield [*path, "--", odd]
    for option in options:
        yield [*path, f"{option}={odd}"]
        yield [*path, "x", option, odd]


@pytest.mark.slow
def test_odd_arguments_are_read_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    reader = parser()
    for path, command in commands(reader):
        options: Sequence[str] = list(command._option_string_actions)
        for arguments in (each for odd in ODD for each in shapes(path, options, odd)):
            try:
                reader.parse_args(arguments)
            except SystemExit as left:
                assert left.code in {Exit.OK, Exit.ARGUMENTS}  # noqa: PT017 -- most arguments are read
            error = capsys.readouterr().err.partition(": error: ")[2]
            assert len(error) <= MAX_ERROR_CHARS + 2
            assert "\x1b" not in error


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["check-model", "--model=--"], "model", "--"),
        (["eval", "--model=--"], "models", ["--"]),
        (["eval", "--only=--"], "only", {"--"}),
        (["ask", "--", "--json"], "words", ["--json"]),
    ],
)
def test_two_hyphens_after_an_equals_sign_are_a_value(arguments: list[str], name: str, value: object) -> None:
    assert vars(parser().parse_args(arguments))[name] == value


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["usage", "--days=--"], "argument --days: "),
        (["usage", "--by=--"], "argument --by: must be one of "),
        (["person", "find", "\udc80"], "argument NAME: must be valid UTF-8"),
        (["backup", "\udc80"], "argument FILE: must be valid UTF-8"),
        (["migrate", "--back", "0.1.0", "--backup", "\udc80"], "argument --backup: must be valid UTF-8"),
    ],
)
def test_what_cannot_be_a_value_is_an_error_of_usage(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        parser().parse_args(arguments)
    assert left.value.code == Exit.ARGUMENTS
    assert error in capsys.readouterr().err
