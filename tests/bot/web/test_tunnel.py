"""Pages through a proxy: the address that was checked is the one that it connects to."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.chat.network.connections import Route
from bot.chat.network.guard import Networks, WebGuard, WebRefused
from bot.web.fetching import Fetcher, FetchLimits
from tests.fakes.clock import FakeClock
from tests.fakes.company_network import CompanyProxy, company_network
from tests.patience import PATIENCE_S

PUBLIC = "93.184.215.14"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nHello."
LIMITS = FetchLimits(PATIENCE_S, PATIENCE_S)


@asynccontextmanager
async def network(folder: Path, *names: str) -> AsyncGenerator[CompanyProxy]:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(PAGE)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(page, "127.0.0.1", 0)
    behind = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with company_network(folder, dict.fromkeys(("a.example", *names), behind), "ann:p@ss") as proxy:
        yield proxy
    server.close()


async def resolve(name: str, _port: int) -> Sequence[str]:
    known = {"a.example": PUBLIC, "inside.example": "10.1.2.3"}
    if name not in known:
        raise OSError(name)
    return [known[name]]


def fetcher(proxy: CompanyProxy, *, resolves: bool = False, user: str = "ann:p%40ss", allowed: str = "") -> Fetcher:
    route = Route(lambda _: f"http://{user}@{proxy.address}", resolves)
    networks = Networks(places=frozenset({(allowed, None)}) if allowed else frozenset())
    trust = partial(ssl.create_default_context, cafile=str(proxy.authority))
    return Fetcher(
        WebGuard(networks), "Test/1", FakeClock(), resolve, robots=False, route=route, limits=LIMITS, trust=trust
    )


def named(_host: str) -> bool:
    return True


async def test_the_proxy_is_asked_for_the_checked_address_and_the_certificate_proves_the_name(tmp_path: Path) -> None:
    async with network(tmp_path, PUBLIC) as proxy:
        fetched = await fetcher(proxy).fetch("https://a.example/", named)
        plain = await fetcher(proxy).fetch("http://a.example/", named)
    assert (fetched.data, plain.data) == (b"Hello.", b"Hello.")
    assert proxy.asked == [f"{PUBLIC}:443", f"{PUBLIC}:80"]


async def test_a_name_of_the_own_network_is_refused_before_the_proxy_is_asked(tmp_path: Path) -> None:
    async with network(tmp_path) as proxy:
        for resolves in (False, True):
            for address in (
                "https://inside.example/",
                "https://127.0.0.1/",
                "https://169.254.169.254/",
                "https://wiki/",
            ):
                with pytest.raises(WebRefused):
                    await fetcher(proxy, resolves=resolves).fetch(address, named)
    assert proxy.asked == []


async def test_a_name_that_only_the_proxy_knows_is_asked_for_where_the_operator_says_so(tmp_path: Path) -> None:
    async with network(tmp_path, "b.example") as proxy:
        with pytest.raises(WebRefused, match="its host name has no address"):
            await fetcher(proxy).fetch("https://b.example/", named)
        for address in ("https://b.example/", "https://a.example/"):
            assert (await fetcher(proxy, resolves=True).fetch(address, named)).data == b"Hello."
        for private in ("wiki", "wiki.corp", "metadata.google.internal", "printer.local"):
            with pytest.raises(WebRefused):
                await fetcher(proxy, resolves=True).fetch(f"https://{private}/", named)
        with pytest.raises(WebRefused, match="its port is not 80, 443, 8080 or 8443"):
            await fetcher(proxy, resolves=True).fetch("https://b.example:22/", named)
    assert proxy.asked == ["b.example:443", "a.example:443"]


@pytest.mark.parametrize(("user", "status"), [("ben:x", "407"), ("ann:p%40ss", "403")])
async def test_what_the_proxy_refuses_is_called_that(tmp_path: Path, user: str, status: str) -> None:
    async with network(tmp_path) as proxy:
        with pytest.raises(WebRefused, match=rf"this network's proxy could not connect to it \({status}\)"):
            await fetcher(proxy, user=user).fetch("https://a.example/", named)


async def test_a_proxy_that_is_away_or_speaks_no_http_is_no_crash(tmp_path: Path) -> None:
    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n" + b"x" * 100_000)
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    proxy = CompanyProxy(tmp_path, {}, address=address)
    who = Fetcher(WebGuard(), "Test/1", FakeClock(), resolve, robots=False, route=Route(lambda _: f"http://{address}"))
    with pytest.raises(WebRefused, match="no readable answer"):
        await who.fetch("http://a.example/", named)
    server.close()
    await server.wait_closed()
    with pytest.raises(WebRefused, match="it could not be reached"):
        await who.fetch("http://a.example/", named)
    assert proxy.asked == []
