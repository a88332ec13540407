"""Code as models write it in their calls."""

import pytest

from agent.messages import JsonObject
from bot.python.code_argument import code_of


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("```python\nprint(1)\n```", "print(1)"),
        ("```\nx = 1\nx\n```\n", "x = 1\nx"),
        ("print('```')", "print('```')"),
        ("x = '\n```\na\n```\n'", "x = '\n```\na\n```\n'"),
        ("```python\n```", "```python\n```"),
    ],
)
def test_a_fence_around_the_code_is_left_out(written: str, code: str) -> None:
    assert code_of({"code": written}) == code


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"code": ["x = 1", "print(x)"]}, "x = 1\nprint(x)"),
        ({"code": ["```python", "print(1)", "```"]}, "print(1)"),
        ({"python_code": "print(1)"}, "print(1)"),
        ({"code": "print(1)", "language": "python"}, "print(1)"),
        ({"code": 3}, ""),
        ({"code": [None, 3]}, "\n"),
        ({}, ""),
    ],
)
def test_lines_and_other_names_of_the_argument_are_read_as_code(args: JsonObject, code: str) -> None:
    assert code_of(args) == code
