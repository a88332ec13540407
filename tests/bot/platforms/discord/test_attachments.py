"""Files are only fetched from Discord's file servers: a forged address leads nowhere else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.http_client import Http
from bot.platforms.discord.attachments import Downloads, file_addresses

DISCORD = "https://discord.com/api/v10"


@pytest.mark.parametrize(
    "address",
    [
        "https://cdn.discordapp.com/attachments/1/2/plan.txt?ex=1&is=2&hm=3&",
        "https://media.discordapp.net/attachments/1/2/boat.png?width=1",
        "https://cdn.discordapp.com/ephemeral-attachments/1/2/v1..2.txt",
        "HTTPS://CDN.DiscordApp.COM:443/attachments/1/2/plan.txt",
    ],
)
def test_where_discord_keeps_files_they_are_fetched(address: str) -> None:
    assert file_addresses(DISCORD).fullmatch(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://cdn.discordapp.com/attachments/1/2/plan.txt",
        "https://discord.com/api/v10/users/@me",
        "https://cdn.discordapp.com.evil.example/plan.txt",
        "https://evil.example/cdn.discordapp.com/plan.txt",
        "https://cdn.discordapp.com@evil.example/plan.txt",
        "https://cdn.discordapp.com:443@evil.example/plan.txt",
        "https://evil.example\\@cdn.discordapp.com/plan.txt",
        "https://cdn.discordapp.com\\@evil.example/plan.txt",
        "https://cdn.discordapp.com:8443/plan.txt",
        "https://cdn.discordapp.com./plan.txt",
        "https://xcdn.discordapp.com/plan.txt",
        "https://cdn.dıscordapp.com/plan.txt",
        "https://169.254.169.254/latest/meta-data",
        "https://cdn.discordapp.com/plan.txt\r\nHost: evil.example",
        " https://cdn.discordapp.com/plan.txt",
        "file:///etc/passwd",
        "//cdn.discordapp.com/plan.txt",
        "",
    ],
)
def test_no_other_address_is_fetched_however_it_is_written(address: str) -> None:
    assert not file_addresses(DISCORD).fullmatch(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8080/api/v10/users/@me",
        "http://127.0.0.1:8080//api/v10/users/@me",
        "http://127.0.0.1:8080/cdn/../api/v10/users/@me",
        "http://127.0.0.1:8080/cdn/%2E%2e/api/v10/users/@me",
        "http://127.0.0.1:8080/./api/v10/users/@me",
        "http://127.0.0.1:80801/cdn/plan.txt",
        "http://127.0.0.1/cdn/plan.txt",
        "http://me@127.0.0.1:8080/cdn/plan.txt",
        "https://cdn.discordapp.com/attachments/1/2/plan.txt",
    ],
)
def test_beside_an_api_of_ones_own_files_are_fetched_and_the_api_is_not(address: str) -> None:
    allowed = file_addresses("http://127.0.0.1:8080/api/v10")
    assert allowed.fullmatch("http://127.0.0.1:8080/cdn/plan.txt?ex=1")
    assert not allowed.fullmatch(address)


@given(st.text(), st.sampled_from(["https://", "https://cdn.discordapp.com", "https://media.discordapp.net:443"]))
def test_whatever_is_fetched_begins_with_the_address_of_one_of_discords_hosts(rest: str, start: str) -> None:
    if file_addresses(DISCORD).fullmatch(start + rest):
        assert (start + rest).lower().startswith(("https://cdn.discordapp.com", "https://media.discordapp.net"))
        assert rest.removeprefix(":443").startswith("/")


@asynccontextmanager
async def two_servers() -> AsyncGenerator[tuple[str, list[web.Request]]]:
    """A server with files and redirects, and the requests that a second one beside it received."""
    received: list[web.Request] = []

    async def record(request: web.Request) -> web.Response:
        received.append(request)
        return web.Response(text="secret")

    async def redirects(request: web.Request) -> web.Response:
        raise web.HTTPFound(f"http://127.0.0.1:{request.url.port}/api/v10/secret")

    app = web.Application()
    app.router.add_get("/cdn/moved.txt", redirects)
    app.router.add_get("/{path:.*}", record)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", received
    finally:
        await runner.cleanup()


async def test_a_download_carries_no_token_and_follows_no_redirect() -> None:
    async with two_servers() as (address, asked):
        http = Http(proxies=False)
        downloads = Downloads(http, f"{address}/api/v10")
        try:
            assert await downloads.fetch(f"{address}/cdn/plan.txt", 100) == b"secret"
            assert await downloads.fetch(f"{address}/cdn/moved.txt", 100) is None
            assert await downloads.fetch(f"{address}/api/v10/channels/21/messages", 100) is None
            assert await Downloads(http, DISCORD).fetch(f"{address}/cdn/plan.txt", 100) is None
        finally:
            await http.aclose()
    (request,) = asked
    assert request.path == "/cdn/plan.txt"
    assert not {"authorization", "cookie"} & {name.lower() for name in request.headers}
