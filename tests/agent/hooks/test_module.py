from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.errors import SettingsError
from agent.hooks.module import hooks_of, load_hooks
from agent.hooks.values import HookPoint


async def one(value: object) -> object:
    return value


async def two(first: object, second: object) -> object:
    return first, second


async def none() -> object:
    return None


def blocks(value: object) -> object:
    return value


def loaded(**attributes: Any) -> object:
    return hooks_of(SimpleNamespace(**attributes), "my_hooks.py", "COGENCY_HOOKS")


def test_a_file_is_loaded_with_the_hooks_that_it_has(tmp_path: Path) -> None:
    file = tmp_path / "my_hooks.py"
    file.write_text("hold_answers = True\nasync def after_answer(answer): return None\n")
    hooks = load_hooks(str(file), "my_hooks.py", "COGENCY_HOOKS")
    assert [*hooks.functions] == [HookPoint.AFTER_ANSWER]
    assert hooks.holds_answers


@pytest.mark.parametrize("function", [blocks, two, none, 7, "text"])
def test_a_hook_is_an_async_function_with_one_parameter(function: object) -> None:
    with pytest.raises(SettingsError, match=r"COGENCY_HOOKS: before_call in my_hooks\.py must be an async function"):
        loaded(before_call=function)


def test_a_module_without_a_hook_is_a_mistake() -> None:
    with pytest.raises(SettingsError, match=r"does not contain any hooks.*before_question, before_call, before_model"):
        loaded(before_questions=one)


def test_answers_are_held_only_for_a_hook_that_sees_them() -> None:
    for holds in (True, "yes"):
        with pytest.raises(SettingsError, match=r"hold_answers in my_hooks\.py must be True or False"):
            loaded(before_question=one, hold_answers=holds)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "import nowhere_at_all",
            "cannot be imported. Fix it, .* ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ("raise SystemExit('bye')", "cannot be imported. Fix it, .* SystemExit: bye"),
        ("def broken(", "cannot be imported. Fix it, .* SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_imported_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "my_hooks.py"
    file.write_text(text)
    with pytest.raises(SettingsError, match=sentence) as raised:
        load_hooks(str(file), "my_hooks.py", "COGENCY_HOOKS")
    assert "\n" not in str(raised.value)


def test_a_module_that_is_not_installed_is_one_sentence() -> None:
    with pytest.raises(SettingsError, match="COGENCY_HOOKS: no_such_hooks was not found"):
        load_hooks("no_such_hooks", "no_such_hooks", "COGENCY_HOOKS")
