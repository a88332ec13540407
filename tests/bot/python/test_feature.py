"""Running code as a feature: what is loaded and offered, and what an operator reads where something is missing."""

import subprocess
import sys

import pytest

from agent.errors import SettingsError
from benchmarks.house_code import ROOT
from bot.app.settings import load_settings
from bot.python.feature import open_sandbox


def test_without_the_extra_an_operator_learns_how_to_add_it() -> None:
    with pytest.raises(SettingsError, match=r"COGENCY_PYTHON=on needs the 'python' extra, .* Run .*\[python\]"):
        open_sandbox(lambda _: None)


@pytest.mark.slow
def test_where_it_is_switched_off_nothing_of_it_is_loaded_or_offered() -> None:
    code = """
import sys
from types import SimpleNamespace
from bot.app import features, platforms
from bot.python.feature import feature
from bot.python.settings import PythonSettings
off = feature(SimpleNamespace(store=SimpleNamespace(replies=None)), PythonSettings(), None, None, None, None)
assert ([command.declared.name for command in off.commands], off.tools, off.notes) == (["code"], (), ())
print(sorted(name for name in sys.modules if name.startswith(("wasi", "wasmtime", "bot.python"))))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 -- our own interpreter
    names = ["chart_data", "code_argument", "commands", "feature", "settings", "texts"]
    assert ran.stdout == f"{['bot.python', *(f'bot.python.{name}' for name in names)]}\n"


def test_it_is_off_unless_an_operator_switches_it_on() -> None:
    assert not load_settings({}).python.runs_code
    assert load_settings({"COGENCY_PYTHON": "on"}).python.runs_code
