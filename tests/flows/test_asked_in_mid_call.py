"""What a server of tools asks in mid-call: a real server, in a real terminal, of a script, and of a service that is
killed while it waits.
"""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from bot.tools import texts as tool_texts
from tests.fakes.asking_tool import BOAT
from tests.fakes.mcp_world import FAKES
from tests.fakes.ready_process import ReadyService
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER, FakeEphemeral
from tests.fakes.terminal import CTRL_C, FakeTerminal
from tests.flows.test_service import on_slack, service
from tests.flows.test_terminal import CHAT, cogency, environment
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.server
USE = f"use raw.wonder {json.dumps({'about': 'Which boat?', 'schema': BOAT})}"


def settings(folder: Path, effect: str = "reads") -> dict[str, str]:
    args = ["-S", "-E", str(FAKES / "mcp_raw.py"), "plain"]
    servers = {"raw": {"command": sys.executable, "args": args, "effects": {"wonder": effect}}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return {"COGENCY_MCP": str(folder / "mcp.json"), "COGENCY_MODEL": "rehearsal"}


def test_a_person_is_asked_field_by_field_and_told_what_is_wrong(tmp_path: Path) -> None:
    with FakeTerminal(CHAT, 120, 50, **environment(tmp_path, **settings(tmp_path))) as terminal:
        terminal.until(">")
        terminal.type(f"{USE}\r")
        terminal.until("raw has a question for you")
        terminal.until("Which boat?")
        terminal.until("card numbers.")
        terminal.until("Name (at most 20 characters).")
        terminal.until(">")
        terminal.type("a name of far too many letters\r")
        terminal.until(tool_texts.TEXT_TOO_LONG.format(most="20 characters"))
        terminal.type("Mary\r")
        terminal.until("2 red")
        terminal.type("Red\r")
        terminal.until("Enter for 4")
        terminal.type("\r")
        terminal.until("3 anchor")
        terminal.type("1, 3\r")
        terminal.until("2 No")
        terminal.type("maybe\r")
        terminal.until(tool_texts.NOT_A_CHOICE)
        terminal.type("y\r")
        terminal.until("launch (a date like 2026-01-31). Press Enter to skip it.")
        terminal.type("2026-12-01\r")
        terminal.until("Write yes for “Send” or no for “Decline”. Anything else means “Cancel”.")
        terminal.type("yes\r")
        terminal.until("Your answer goes only to raw")
        answer = "".join(terminal.until("one.)").split())
        values = {"name": "Mary", "colour": "red", "seats": 4, "extras": ["oars", "anchor"], "mast": True}
        assert json.dumps(values | {"launch": "2026-12-01"}).replace(" ", "") in answer.replace("▌", "")
        terminal.type(f"{USE}\r")
        terminal.until("card numbers.")
        terminal.until("Name (at most 20 characters).")
        terminal.until(">")
        terminal.type("\r")
        terminal.until(tool_texts.FIELD_REQUIRED)
        terminal.type("Mary\r")
        terminal.until("2 red")
        terminal.until(">")
        terminal.type(CTRL_C)
        terminal.until("Canceled. I told raw that you closed the question without answering.")
        terminal.until('{"action": "cancel"}')
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


@pytest.mark.parametrize("words", [("ask",), ("ask", "--json")])
def test_nobody_is_asked_where_a_program_reads(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = cogency(tmp_path, *words, USE, **settings(tmp_path))
    assert ran.returncode == Exit.OK, ran.stderr
    assert "decline" in ran.stdout
    assert "Which boat" not in ran.stdout


async def its_server_is_there(process: ReadyService) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while b"raw: connected" not in await process.stderr.readline():
            pass


async def asked(slack: FakeSlack, user: str, but: int = 0) -> FakeEphemeral:
    """The question, as its asker alone is shown it."""
    await until(lambda: sum("Which boat?" in one.text for one in slack.state.ephemerals) > but)
    return [one for one in slack.state.ephemerals if "Which boat?" in one.text and one.user == user][but]


async def test_killed_while_it_waits_what_reads_asks_again_and_a_late_press_says_that_it_is_over(
    tmp_path: Path,
) -> None:
    async with FakeSlack(CLOCK) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        environ = on_slack(slack) | settings(tmp_path)
        async with service(tmp_path, **environ) as first:
            await slack.connected(2)
            await its_server_is_there(first)
            await slack.say(ann, general, f"<@{BOT_USER}> {USE}")
            late = await asked(slack, ann)
            first.kill()
            await first.wait()
        async with service(tmp_path, **environ):
            await slack.connected(2)
            again = await asked(slack, ann, 1)
            await slack.click(ann, late, tool_texts.DECLINE_BUTTON)
            await until(lambda: late.text == tool_texts.QUESTION_OVER)
            assert "answered" not in str(slack.state.answers(general))
            await slack.click(ann, again, tool_texts.DECLINE_BUTTON)
            await until(lambda: any('"decline' in one.text for one in slack.state.answers(general)))
            assert len(slack.state.answers(general)) == 1


async def test_killed_while_it_waits_what_acts_is_not_done_again_and_its_outcome_is_unknown(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        environ = on_slack(slack) | settings(tmp_path, "acts outward")
        async with service(tmp_path, **environ) as first:
            await slack.connected(2)
            await its_server_is_there(first)
            await slack.say(ann, general, f"<@{BOT_USER}> {USE}")
            await until(lambda: slack.state.ephemerals)
            await slack.click(ann, slack.state.ephemerals[-1], tool_texts.ALLOW_ONCE)
            late = await asked_in_earnest(slack)
            first.kill()
            await first.wait()
        before = len(slack.state.ephemerals)
        async with service(tmp_path, **environ):
            await slack.connected(2)
            await until(
                lambda: any("whether it took effect is unknown" in one.text for one in slack.state.answers(general))
            )
            await slack.click(ann, late, tool_texts.DECLINE_BUTTON)
            await until(lambda: late.text == tool_texts.QUESTION_OVER)
        assert len(slack.state.ephemerals) == before


async def asked_in_earnest(slack: FakeSlack) -> FakeEphemeral:
    """What the tool asks, once it was allowed to run."""
    await until(lambda: any("has a question for you" in one.text for one in slack.state.ephemerals))
    return next(one for one in slack.state.ephemerals if "has a question for you" in one.text)
