"""A tool that acts outward, by the real command and the real service: nothing is done before somebody has allowed it,
and whatever happens to processes meanwhile, it is done once.
"""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.discord_bot import by_the_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, Payload
from tests.fakes.discord_world import labels as below
from tests.fakes.postgresql import PostgresServer
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_things import BOT_USER, TEAM, FakeMessage
from tests.flows.test_python_tools import named
from tests.flows.test_service import on_discord, on_slack, service
from tests.flows.test_terminal import cogency
from tests.patience import until

USE = 'use send {"text": "hello"}'
TOOLS = '''
from pathlib import Path
from agent import tool

@tool
def send(text: str) -> str:
    """Send it."""
    with Path({sent!r}).open("a") as file:
        file.write(text + "\\n")
    return "it is on its way"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loud_tools.py").write_text(TOOLS.format(sent=str(tmp_path / "sent")))
    return tmp_path


def sent(folder: Path) -> str:
    return (folder / "sent").read_text() if (folder / "sent").exists() else ""


def waiting(slack: FakeSlack, channel: str) -> list[FakeMessage]:
    """The replies below which somebody may decide."""
    return [
        one for one in slack.state.answers(channel) if platforms_texts.DECIDE_BUTTON in labels(one.blocks, one.user)
    ]


async def allow(slack: FakeSlack, user: str, page: FakeMessage) -> None:
    """Press the button below the reply, and what it shows."""
    before = len(slack.state.ephemerals)
    await slack.click(user, page, platforms_texts.DECIDE_BUTTON)
    await until(lambda: len(slack.state.ephemerals) > before)
    await slack.click(user, slack.state.ephemerals[-1], tool_texts.ALLOW_ONCE)


async def test_killed_while_it_waits_the_next_start_does_it_once_it_is_allowed(folder: Path) -> None:
    async with FakeSlack(CLOCK) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings = on_slack(slack) | named(folder, "loud_tools")
        async with service(folder, **settings) as first:
            await slack.connected(2)
            await slack.say(ann, general, f"<@{BOT_USER}> {USE}")
            await until(lambda: slack.state.ephemerals)
            first.kill()
            await first.wait()
        assert sent(folder) == ""
        (page,), (shown,) = waiting(slack, general), slack.state.ephemerals
        async with service(folder, **settings):
            await slack.connected(2)
            await slack.click(ann, shown, tool_texts.ALLOW_ONCE)
            await until(lambda: "it is on its way" in page.text)
        assert slack.state.answers(general) == [page]
    assert sent(folder) == "hello\n"


async def test_a_press_reaches_another_replica_than_the_one_that_asked_and_was_killed(
    folder: Path, postgres: PostgresServer
) -> None:
    async with FakeSlack(CLOCK) as slack, postgres.migrated() as url:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings = on_slack(slack) | named(folder, "loud_tools") | {"COGENCY_DATABASE_URL": url}
        async with service(folder, **settings) as first:
            await slack.connected(2)
            await slack.say(ann, general, f"<@{BOT_USER}> {USE}")
            await until(lambda: slack.state.ephemerals)
            (page,) = waiting(slack, general)
            async with service(folder, **settings):
                await slack.connected(4)
                first.kill()
                await first.wait()
                await slack.connected(2)
                await allow(slack, ann, page)
                await until(lambda: "it is on its way" in page.text)
    assert sent(folder) == "hello\n"


async def test_killed_in_mid_call_the_audit_says_that_nobody_knows_how_it_ended(folder: Path) -> None:
    tools = (folder / "loud_tools.py").read_text()
    (folder / "loud_tools.py").write_text(
        f"import time\n{tools}".replace("    return", "    time.sleep(600)\n    return")
    )
    (folder / "policy.txt").write_text("send * * yes\n")
    async with FakeSlack(CLOCK) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings = on_slack(slack) | named(folder, "loud_tools") | {"COGENCY_TOOL_POLICY": "policy.txt"}
        async with service(folder, **settings) as first:
            await slack.connected(2)
            await slack.say(ann, general, f"<@{BOT_USER}> {USE}")
            await until(lambda: sent(folder))
            first.kill()
            await first.wait()
        async with service(folder, **settings):
            await slack.connected(2)
            await until(lambda: any("unknown" in one.text for one in slack.state.answers(general)))
            told = await asyncio.to_thread(cogency, folder, "audit", "--json")
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert [(row["tool"], row["decided_by"], row["outcome"]) for row in rows] == [
        ("", "file", "success"),
        ("send", "table", "begun"),
    ]
    assert sent(folder) == "hello\n"


def page_of(discord: FakeDiscord) -> Payload | None:
    """The reply below which somebody may decide."""
    return next((one for one in by_the_bot(discord) if platforms_texts.DECIDE_BUTTON in below(one)), None)


async def asked_on(discord: FakeDiscord) -> Payload:
    await discord.until(lambda: discord.identified and discord.rest.commands)
    await discord.say(ANN, f"<@{BOT}> {USE}")
    await until(lambda: page_of(discord))
    page = page_of(discord)
    assert page is not None
    return page


async def allow_on(discord: FakeDiscord, page: Payload) -> None:
    """As `allow`, and wait for the answer."""
    await until(lambda: page_of(discord) is page)  # a process that takes it over may draw it anew
    await discord.press(ANN, page, platforms_texts.DECIDE_BUTTON)
    await until(lambda: any(tool_texts.ALLOW_ONCE in below(one) for one in by_the_bot(discord)))
    panel = next(one for one in by_the_bot(discord) if tool_texts.ALLOW_ONCE in below(one))
    await discord.press(ANN, panel, tool_texts.ALLOW_ONCE)
    await until(lambda: "it is on its way" in page["content"])


async def test_killed_while_it_waits_on_discord_the_next_start_does_it_once_it_is_allowed(folder: Path) -> None:
    async with running_discord(CLOCK) as discord:
        settings = on_discord(discord) | named(folder, "loud_tools")
        async with service(folder, **settings) as first:
            page = await asked_on(discord)
            first.kill()
            await first.wait()
        assert sent(folder) == ""
        async with service(folder, **settings):
            await discord.until(lambda: discord.identified == 2)
            await allow_on(discord, page)
        assert not any("it is on its way" in one["content"] for one in by_the_bot(discord) if one["id"] != page["id"])
    assert sent(folder) == "hello\n"


async def test_a_press_on_discord_reaches_another_replica_than_the_one_that_asked_and_was_killed(
    folder: Path, postgres: PostgresServer
) -> None:
    async with running_discord(CLOCK) as discord, postgres.migrated() as url:
        settings = on_discord(discord) | named(folder, "loud_tools") | {"COGENCY_DATABASE_URL": url}
        async with service(folder, **settings) as first:
            page = await asked_on(discord)
            async with service(folder, **settings):
                first.kill()
                await first.wait()
                await discord.until(lambda: discord.identified + discord.resumed == 2)
                await allow_on(discord, page)
    assert sent(folder) == "hello\n"


def test_in_the_terminal_it_is_asked_for_and_done_when_it_is_allowed(folder: Path) -> None:
    settings = named(folder, "loud_tools")
    ran = cogency(folder, "chat", typed=f"{USE}\nno\n{USE}\nyes\n", **settings)
    assert ran.returncode == Exit.OK, ran.stderr
    assert ran.stdout.count("It would receive exactly this") == 2
    assert "**text**: `hello`" in ran.stdout
    assert tool_texts.DECIDED["refuse"] in ran.stdout
    assert "it is on its way" in ran.stdout
    assert sent(folder) == "hello\n"


def test_whoever_does_not_decide_in_the_terminal_may_decide_later(folder: Path) -> None:
    settings = named(folder, "loud_tools")
    asked = cogency(folder, "chat", typed=f"{USE}\nlater\n", **settings)
    assert platforms_texts.STILL_WAITS.replace("`", "") in asked.stdout.replace("`", "")
    assert sent(folder) == ""
    ran = cogency(folder, "chat", typed="/tools\nyes\n", **settings)
    assert "it is on its way" in ran.stdout, ran.stdout + ran.stderr
    assert sent(folder) == "hello\n"


def test_a_question_that_waits_is_no_answer_for_a_program(folder: Path) -> None:
    ran = cogency(folder, "ask", "--json", USE, **named(folder, "loud_tools"))
    assert ran.returncode == Exit.FAILED
    assert '"outcome": "waiting"' in ran.stdout
    assert sent(folder) == ""


async def test_what_an_operator_refuses_by_command_another_replica_and_the_next_start_refuse_too(
    folder: Path, postgres: PostgresServer
) -> None:
    async with FakeSlack(CLOCK) as slack, postgres.migrated() as url:
        ann, bob, general = slack.state.user("ann"), slack.state.user("bob"), slack.state.channel("general")
        (folder / "policy.txt").write_text("other * * no\n")
        settings = on_slack(slack) | named(folder, "loud_tools")
        settings |= {"COGENCY_DATABASE_URL": url, "COGENCY_TOOL_POLICY": "policy.txt"}
        settings |= {"COGENCY_OPERATORS": f"slack:{TEAM}:{ann}"}
        async with service(folder, **settings):
            await slack.connected(2)
            assert await ephemeral_answer(slack, bob, "policy set send * * no") == tool_texts.POLICY_NOT_YOURS
            assert "`send * * no`" in await ephemeral_answer(slack, ann, "policy set send * * no")
        async with service(folder, **settings) as first:
            await slack.connected(2)
            question = await slack.say(bob, general, f"<@{BOT_USER}> {USE}")
            await until(lambda: any("unknown tool" in one.text for one in slack.state.answers(general, question.ts)))
            said = await ephemeral_answer(slack, bob, "")
            assert tool_texts.TOOLS_REFUSED in said
            assert "send" in said.partition(tool_texts.TOOLS_REFUSED)[2]
            async with service(folder, **settings):
                await slack.connected(4)
                assert "`other * * no`" in await ephemeral_answer(slack, ann, "policy")
                await ephemeral_answer(slack, ann, "policy remove 1")
                first.kill()
                await first.wait()
                await slack.connected(2)
                async with asyncio.timeout(60):  # whichever of them was told, the one that is left has read of it
                    while not waiting(slack, general):
                        question = await slack.say(bob, general, f"<@{BOT_USER}> {USE}")
                        await until(partial(is_answered, slack, general, question.ts))
    assert sent(folder) == ""


def is_answered(slack: FakeSlack, channel: str, thread: str) -> bool:
    """Whether the answer is whole, or waits."""
    said = slack.state.answers(channel, thread)
    return bool(waiting(slack, channel)) or any("unknown tool" in one.text for one in said)


async def ephemeral_answer(slack: FakeSlack, user: str, words: str) -> str:
    """What `/tools` answers to its user."""
    before = len(slack.state.ephemerals)
    await slack.command(user, slack.state.channel("general"), "/tools", words)
    await until(lambda: len(slack.state.ephemerals) > before)
    return slack.state.ephemerals[-1].text


def test_in_the_terminal_its_person_changes_the_table_and_the_file_stands_first(folder: Path) -> None:
    (folder / "policy.txt").write_text("recall * * no\n")
    settings = named(folder, "loud_tools") | {"COGENCY_TOOL_POLICY": "policy.txt"}
    typed = f"/tools policy set send * person yes\n/tools policy\n{USE}\n/tools policy set recall * * yes\n/tools\n"
    ran = cogency(folder, "chat", typed=typed, **settings)
    assert ran.returncode == Exit.OK, ran.stderr
    assert "it is on its way" in ran.stdout
    assert "recall * * no (from the file)" in ran.stdout.replace("`", "")
    assert "(row recall * * no)" in ran.stdout.replace("`", "")
    assert sent(folder) == "hello\n"
