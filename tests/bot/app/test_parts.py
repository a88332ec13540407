"""The parts of the bot."""

import json
from pathlib import Path
from pkgutil import iter_modules

import pytest

import agent.toolbox
import agent.tools
from agent.errors import SettingsError
from agent.toolbox.tool_search import RESERVED
from bot.app.parts import BUILT_IN, people_settings, tool_servers
from bot.app.settings import load_settings
from bot.chat.attachments import read_again
from bot.handoff import ask_a_human
from bot.platforms.slack import search_slack

FOLDER = Path(agent.tools.__path__[0])
TOOLBOX = Path(agent.toolbox.__path__[0])  # what calls and finds tools has names of its own
# Tools outside of the tools' folder, because they need the file reader, Slack or people.
ELSEWHERE = (Path(read_again.__file__), Path(search_slack.__file__), Path(ask_a_human.__file__))


def test_the_names_that_no_tool_may_have_are_those_of_the_built_in_ones() -> None:
    modules = {one.name for one in iter_modules([str(FOLDER)])} - {"functions", "registry"}
    modules |= {one.stem for one in ELSEWHERE} | {"schedules", "background"}  # in one module with `schedule`
    assert modules == BUILT_IN - RESERVED, "a tool's module has its name, which goes into bot.app.parts.BUILT_IN"
    assert RESERVED < BUILT_IN
    written = "".join(
        path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.py"), *TOOLBOX.glob("*.py"), *ELSEWHERE)
    )
    assert [name for name in BUILT_IN if f'"{name}"' not in written] == []


def test_without_a_key_the_servers_where_people_sign_in_are_named_even_if_a_plugin_brings_them(tmp_path: Path) -> None:
    root = tmp_path / "office"
    root.mkdir(mode=0o755)
    server = {"url": "https://calendar.example/mcp", "account": "person"}
    (root / "mcp.json").write_text(json.dumps({"mcpServers": {"calendar": server}}), "utf-8")
    settings = load_settings({"COGENCY_PLUGINS": str(root), "DATABASE_URL": f"sqlite:///{tmp_path / 'bot.db'}"})
    configs, problems = tool_servers(settings)
    assert problems == ()
    with pytest.raises(SettingsError, match=r"^People sign in to .*: office-calendar\. .*COGENCY_ACCOUNT_KEY"):
        people_settings(settings, configs, None)
