"""A tool of an operator's own, as docs/tools.md shows it: by the real command, in the terminal and through Slack."""

import os
from pathlib import Path

import pytest

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from bot.setup import texts as setup_texts
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_service import ROOT, on_slack, service
from tests.flows.test_terminal import cogency
from tests.patience import until

PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
USE = 'use ferry {"harbor": "Kiel"}'
SAID = "From Kiel today at 7:15 and 19:15."
OUTWARD = '''
from agent import tool

@tool
def send(text: str) -> str:
    """Send it."""
    raise AssertionError("nobody was asked")
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds the page's own module, and one that acts outward."""
    (tmp_path / "my_tools.py").write_text(PAGE.split("```python\n")[1].partition("```")[0])
    (tmp_path / "loud_tools.py").write_text(OUTWARD)
    return tmp_path


def named(folder: Path, *modules: str) -> dict[str, str]:
    path = os.pathsep.join([str(folder), str(ROOT)])
    return {"PYTHONPATH": path, "COGENCY_TOOLS": ",".join(modules), "COGENCY_MODEL": "rehearsal"}


def test_the_page_shows_what_a_new_user_can_do_in_the_terminal(folder: Path) -> None:
    assert f"cogency ask '{USE}'" in PAGE
    ran = cogency(folder, "ask", USE, **named(folder, "my_tools"))
    assert (ran.returncode, SAID in ran.stdout) == (Exit.OK, True), ran.stderr


def test_a_file_is_named_in_the_folders_own_settings_if_nobody_else_can_write_it(folder: Path) -> None:
    (folder / ".env").write_text("COGENCY_TOOLS=my_tools.py\nCOGENCY_MODEL=rehearsal\n")
    (folder / ".env").chmod(0o600)
    (folder / "my_tools.py").chmod(0o600)
    ran = cogency(folder, "ask", USE)
    assert (ran.returncode, SAID in ran.stdout) == (Exit.OK, True), ran.stderr
    ran = cogency(folder, "ask", USE, OPENAI_API_KEY="sk-of-the-environment")
    assert ran.returncode == Exit.SETTINGS
    assert "COGENCY_TOOLS is set in" in ran.stderr
    (folder / "my_tools.py").chmod(0o666)
    ran = cogency(folder, "ask", USE)
    assert ran.returncode == Exit.SETTINGS
    assert "my_tools.py can be written by other users" in ran.stderr
    (folder / "my_tools.py").unlink()
    assert "COGENCY_TOOLS points to my_tools.py, which does not exist" in cogency(folder, "ask", USE).stderr


def test_without_its_name_it_is_not_there(folder: Path) -> None:
    ran = cogency(folder, "ask", USE, PYTHONPATH=str(folder), COGENCY_MODEL="rehearsal")
    assert SAID not in ran.stdout
    assert "unknown tool 'ferry'" in ran.stdout


def test_doctor_says_of_each_tool_whether_somebody_is_asked_first(folder: Path) -> None:
    looked = cogency(folder, "doctor", **named(folder, "my_tools", "loud_tools"))
    assert looked.returncode == Exit.OK
    assert "ferry can be used" in looked.stdout
    assert setup_texts.TOOLS_ASKED_FIRST.format(names="send") in looked.stdout


def test_a_module_that_cannot_be_imported_stops_the_start_and_doctor_says_why(folder: Path) -> None:
    (folder / "broken_tools.py").write_text("import nowhere_at_all")
    settings = named(folder, "broken_tools")
    asked, looked = cogency(folder, "ask", "hello", **settings), cogency(folder, "doctor", **settings)
    assert (asked.returncode, looked.returncode) == (Exit.SETTINGS, Exit.FAILED)
    assert "COGENCY_TOOLS: broken_tools cannot be imported" in asked.stderr
    assert "COGENCY_TOOLS: broken_tools cannot be imported" in looked.stdout


async def test_somebody_in_slack_has_it_called(folder: Path) -> None:
    async with FakeSlack(CLOCK) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(folder, **on_slack(slack), **named(folder, "my_tools")):
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> {USE}")
            await until(lambda: any(SAID in one.text for one in slack.state.answers(general, asked.ts)))
