"""What the log says when a platform cannot be reached, for each cause: the thing once, and what to check."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import discord
import pytest
from aiohttp import ClientError, ClientSession, ClientTimeout

from agent.errors import CogencyError
from bot.chat.logs import labelled
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.run import login_failed
from bot.platforms.failed_requests import failure_reason
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, sign_in_sentence, web_client
from bot.settings.secret import Secret
from tests.fakes.tls_server import self_signed, tls_server
from tests.patience import PATIENCE_S

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(answer: Answer, end: bytes = b"\r\n\r\n") -> AsyncGenerator[str]:
    """A server that answers each connection once, when it has read `end`; and its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(end)
        await answer(writer)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield "{}:{}".format(*listening.sockets[0].getsockname())
    finally:
        listening.close()


def status(line: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 " + line + b"\r\nContent-Length: 0\r\n\r\n")

    return answer


async def nothing(_: asyncio.StreamWriter) -> None:
    pass


async def reason_at(url: str, proxy: str | None = None) -> str:
    async with asyncio.timeout(PATIENCE_S), ClientSession() as session:
        with pytest.raises((ClientError, OSError)) as failed:
            await session.get(url, proxy=proxy)
    return failure_reason(failed.value)


async def test_each_cause_has_its_own_words(tmp_path: Path) -> None:
    assert await reason_at("http://127.0.0.1:9/") == "the connection was refused"
    assert await reason_at("http://nowhere.invalid/") == "the host name nowhere.invalid could not be resolved"
    async with server(nothing) as closing:
        assert await reason_at(f"http://{closing}/") == "the connection was closed without a response"
    async with server(status(b"200 OK"), end=b"\x16") as plain:  # the first byte of a handshake
        assert await reason_at(f"https://{plain}/") == "the TLS connection failed"
    async with server(status(b"407 Who are you")) as proxy:
        assert await reason_at("https://slack.com/", f"http://{proxy}") == "the proxy answered with status 407"
    away = await reason_at("https://slack.com/", "http://127.0.0.1:9")
    assert away == "the proxy 127.0.0.1:9 could not be reached"
    async with tls_server(self_signed(tmp_path, "127.0.0.1")) as address:
        assert (await reason_at(f"https://{address}/")).startswith("its certificate is not trusted here: ")
    assert failure_reason(TimeoutError()) == "no response in time"
    assert failure_reason(OSError(101, "Network is unreachable")) == "there is no route to the host"
    assert failure_reason(ValueError("no JSON")) == "the response could not be read"


async def slack_line(url: str) -> str:
    async with asyncio.timeout(PATIENCE_S), ClientSession(timeout=ClientTimeout(5)) as session:
        with pytest.raises(SlackError) as failed:
            await SlackApi(web_client(url, session, "xoxb-1"), session).sign_in()
    return labelled("Slack", CogencyError(sign_in_sentence(failed.value, url)))


async def test_slack_is_named_once(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/api"
    assert await slack_line(url) == (
        f"Slack could not be reached at {url} (the connection was refused). Check the network, the proxy, and "
        "SLACK_API_BASE_URL."
    )
    async with server(status(b"503 Away")) as down:
        url = f"http://{down}/api"
        assert await slack_line(url) == (
            f"Slack at {url} returned an error (status 503). Check https://slack-status.com and SLACK_API_BASE_URL."
        )
    async with server(status(b"429 Slowly\r\nRetry-After: 7")) as limiting:
        line = await slack_line(f"http://{limiting}/api")
        assert line == "Slack is limiting auth.test. The bot can call it again in 7 s."
    async with tls_server(self_signed(tmp_path, "127.0.0.1")) as address:
        line = await slack_line(f"https://{address}/api")
        assert line.startswith(f"The certificate of Slack at https://{address}/api is not trusted here (")


async def test_what_the_log_says_later_names_the_cause_once() -> None:
    async with ClientSession() as session:
        with pytest.raises(SlackDown) as failed:
            await SlackApi(web_client("http://127.0.0.1:9/api", session, "xoxb-1"), session).sign_in()
    assert str(failed.value) == "Slack could not be reached (auth.test: the connection was refused)."


def test_discord_is_named_once() -> None:
    options = DiscordOptions(Secret("t"), api_base_url="http://127.0.0.1:9/api")
    refused = labelled("Discord", login_failed(ConnectionRefusedError(111, "refused"), options))
    assert refused == (
        "Discord could not be reached at http://127.0.0.1:9/api (the connection was refused). Check the network, the "
        "proxy, and DISCORD_API_BASE_URL."
    )
    limited = labelled("Discord", login_failed(discord.RateLimited(7.0), options))
    assert limited == "Discord is limiting logins. The bot can log in again in 7 s."
    unknown = discord.GatewayNotFound()
    unknown.__cause__ = TimeoutError()
    assert "(no response in time)" in str(login_failed(unknown, options))


def test_an_error_of_something_else_keeps_the_name_of_the_platform() -> None:
    assert labelled("Slack", CogencyError("Port 1 is in use.")) == "Slack: Port 1 is in use."
    assert labelled("Slack acme", CogencyError("Slack is away.")) == "Slack acme: Slack is away."
