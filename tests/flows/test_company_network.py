"""The bot in a company's network, where a proxy with its own certificates is the only way out. All is set in `.env`.

As real processes. Those that are to trust an authority start cold: some clients read the certificate authorities when
they are imported. The others, which no authority helps, are forked from one that has imported everything.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from tests.fakes import mcp_raw
from tests.fakes.company_network import CompanyProxy, company_network
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.ready_process import command
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
USER = "ann:p@ss"
ANSWER = "It lies in the harbour."


def answered(request: Request) -> Reply:
    if request.path.endswith("/models"):
        return whole(200, {"object": "list", "data": [{"id": "m-1", "object": "model"}]})
    return [head(), text(ANSWER), DONE]


@dataclass
class Company:
    """`folder`: where the bot is started, with its `.env`."""

    folder: Path
    proxy: CompanyProxy
    slack: FakeSlack
    discord: FakeDiscord

    def write(self, **settings: str) -> None:
        """Write `.env`: all services by their names, and these settings."""
        values = {
            "COGENCY_MODEL": "openai:m-1",
            "COGENCY_DATABASE_URL": f"sqlite:///{self.folder / 'bot.db'}",
            "OPENAI_API_KEY": "sk-1",
            "OPENAI_BASE_URL": "https://model.test",
            "SLACK_APP_TOKEN": APP_TOKEN,
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_API_BASE_URL": "https://slack.test/api",
            "DISCORD_TOKEN": TOKEN,
            "DISCORD_API_BASE_URL": self.discord.api_base_url.replace(f"http://{self.discord.address}", "https://discord.test"),
            "DISCORD_GATEWAY_URL": "wss://gateway.test/gateway",
            "HTTPS_PROXY": f"http://ann:p%40ss@{self.proxy.address}",
            **settings,
        }  # fmt: skip
        dotenv = self.folder / ".env"
        dotenv.write_text("".join(f"{name}={value}\n" for name, value in values.items()), encoding="utf-8")
        dotenv.chmod(0o600)

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, "HOME": str(self.folder), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}

    async def start_cold(self, *arguments: str) -> Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", *arguments),
            cwd=self.folder, stdout=PIPE, stderr=PIPE, env=self.environment,
        )  # fmt: skip

    async def ran_cold(self, *arguments: str) -> tuple[int | None, str, str]:
        """One command: how it ended, what it printed, what it complained of."""
        process = await self.start_cold(*arguments)
        async with asyncio.timeout(PATIENCE_S):
            said, complained = await process.communicate()
        return process.returncode, said.decode(), complained.decode()

    async def ran(self, *arguments: str, **environ: str) -> tuple[int, str, str]:
        """The same in a forked process."""
        environment = {**self.environment, **environ}
        ended = await asyncio.to_thread(command, self.folder, environment, *arguments, typed="")
        return ended.returncode, ended.stdout, ended.stderr

    @property
    def asked(self) -> set[str]:
        return {authority.partition(":")[0] for authority in self.proxy.asked}


@asynccontextmanager
async def company(folder: Path, **more: str) -> AsyncGenerator[Company]:
    """`more`: further names, each with where it leads."""
    async with FakeSlack(CLOCK) as slack, running_discord(CLOCK) as discord, ModelServer(answered) as model:
        slack_host = slack.url.removeprefix("http://").removesuffix("/api")
        hosts = {
            "slack.test": slack_host,
            "socket.test": slack_host,
            "discord.test": discord.address,
            "gateway.test": discord.address,
            "model.test": model.url.removeprefix("http://").partition("/")[0],
            **more,
        }
        slack.socket_url, discord.rest.gateway_url = "wss://socket.test/link", "wss://gateway.test/gateway"
        async with company_network(folder, hosts, USER) as proxy:
            (folder / "bot").mkdir()
            yield Company(folder / "bot", proxy, slack, discord)


async def test_it_answers_in_slack_and_on_discord_through_the_proxy_that_only_env_names(tmp_path: Path) -> None:
    async with company(tmp_path) as here, AsyncExitStack() as stack:
        here.write(SSL_CERT_FILE=str(here.proxy.authority))
        process = await here.start_cold("run")
        stack.push_async_callback(ended, process)
        await here.slack.connected(2)
        await here.discord.until(lambda: here.discord.identified and here.discord.rest.commands)
        ann, general = here.slack.state.user("ann"), here.slack.state.channel("general")
        asked = await here.slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
        await here.slack.until(lambda: any(ANSWER in one.text for one in here.slack.state.answers(general, asked.ts)))
        said = await here.discord.say(ANN, f"<@{BOT}> where is my boat?")
        await here.discord.until(lambda: any(ANSWER in one for one in here.discord.world.shown(said["id"])))
    assert here.asked == {"slack.test", "socket.test", "discord.test", "gateway.test", "model.test"}


async def ended(process: Process) -> None:
    process.terminate()
    async with asyncio.timeout(PATIENCE_S):
        await process.communicate()


async def test_doctor_finds_a_certificate_that_is_not_trusted_in_each_place_and_none_with_its_authority(
    tmp_path: Path,
) -> None:
    async with company(tmp_path) as here:
        here.write()
        code, said, _ = await here.ran("doctor")
        assert code == Exit.FAILED
        untrusted = [line for line in said.splitlines() if "not trusted here" in line]
        assert {line.split()[1] for line in untrusted} == {"Model:", "Slack:", "Discord:"}, said
        assert "p@ss" not in said
        assert "p%40ss" not in said
        here.write(SSL_CERT_FILE=str(here.proxy.authority))
        code, said, complained = await here.ran_cold("doctor")
    assert "not trusted" not in said
    assert (
        f"ok       Proxy: the proxy at {here.proxy.address} connects to discord.test:443, model.test:443, and" in said
    )
    assert "openai:m-1 answered" in said, said + complained
    assert "signed in as" in said


async def test_doctor_says_what_the_proxy_refuses(tmp_path: Path) -> None:
    async with company(tmp_path) as here:
        authority, address = str(here.proxy.authority), here.proxy.address
        here.write(SSL_CERT_FILE=authority, HTTPS_PROXY=f"http://ann:wrong@{address}")
        code, said, _ = await here.ran("doctor", "--no-model")
        assert code == Exit.FAILED
        assert f"problem  Proxy: the proxy at {address} requires a valid username and password in HTTPS_PROXY" in said
        assert "wrong" not in said
        here.write(SSL_CERT_FILE=authority, OPENAI_BASE_URL="https://elsewhere.test")
        _, said, _ = await here.ran("doctor", "--no-model")
        assert f"problem  Proxy: the proxy at {address} does not connect to elsewhere.test:443 (403)." in said
    here.write(SSL_CERT_FILE=authority)
    _, said, _ = await here.ran("doctor", "--no-model")
    assert f"problem  Proxy: the proxy at {address} cannot be reached." in said


async def test_a_server_of_tools_is_reached_through_the_proxy(tmp_path: Path) -> None:
    async with mcp_service() as service, company(tmp_path, **{"tools.test": service}) as here:
        (here.folder / "mcp.json").write_text('{"mcpServers": {"raw": {"url": "https://tools.test/mcp"}}}')
        here.write(SSL_CERT_FILE=str(here.proxy.authority), COGENCY_MCP=str(here.folder / "mcp.json"))
        _, said, complained = await here.ran_cold("doctor", "--no-model")
        assert "tools.test" in here.asked
        assert [line for line in said.splitlines() if line.startswith("ok       Tools: raw")], said + complained
        here.write(COGENCY_MCP=str(here.folder / "mcp.json"))
        _, said, _ = await here.ran("doctor", "--no-model")
    assert [line for line in said.splitlines() if "Tools: raw" in line and "not trusted here" in line], said


async def test_a_host_of_no_proxy_is_reached_without_it(tmp_path: Path) -> None:
    async with company(tmp_path) as here:
        here.write(SSL_CERT_FILE=str(here.proxy.authority), NO_PROXY="slack.test, .discord.test,model.test")
        _, said, _ = await here.ran("doctor")
    assert here.asked == set(), said


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "HTTPS_PROXY"])
@pytest.mark.parametrize("in_environment", [True, False])
async def test_a_wrong_value_is_one_sentence_at_the_start(tmp_path: Path, name: str, in_environment: bool) -> None:
    async with company(tmp_path) as here:
        wrong = {name: "/nowhere/authorities.pem" if name == "SSL_CERT_FILE" else "socks5://127.0.0.1:1080"}
        here.write(**({} if in_environment else wrong))
        code, said, complained = await here.ran("run", **(wrong if in_environment else {}))
    assert (code, said, complained.count("\n")) == (Exit.SETTINGS, "", 1)
    assert f'"event": "{name} ' in complained, complained


@asynccontextmanager
async def mcp_service() -> AsyncGenerator[str]:
    """Yield where `tests.fakes.mcp_raw` listens for HTTP."""

    async def post(request: web.Request) -> web.Response:
        message: dict[str, Any] = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        answer = mcp_raw.answer("plain", message["method"], message.get("params", {}), message["id"])
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": answer or {}})

    app = web.Application()
    app.router.add_post("/mcp", post)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
