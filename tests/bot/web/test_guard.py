"""No address of the table reaches the network, and each would without the guard."""

import socket
import ssl
import unicodedata
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import SettingsError
from bot.app.settings import load_settings
from bot.chat.network import connections, guard
from bot.chat.network.guard import (
    IPAddress,
    Networks,
    Target,
    WebGuard,
    WebRefused,
    parse_networks,
    parse_target,
    special_kind,
)
from bot.web import fetching
from bot.web.fetching import Fetcher
from tests.bot.web.ssrf import WAYS, Stop, Way
from tests.examples import examples
from tests.fakes.clock import FakeClock
from tests.fakes.web_world import OTHER_PUBLIC, PUBLIC, SECRET, WebWorld, redirect, web_world
from tests.patience import PATIENCE_S


def named(_host: str) -> bool:
    return True


LIMITS: Final = fetching.FetchLimits(PATIENCE_S, PATIENCE_S)
NOT_OF_THE_WEB: Final = guard.NOT_OF_THE_WEB.partition("(")[0]
SENTENCES: Final = {
    Stop.ADDRESS: (NOT_OF_THE_WEB,),
    Stop.NAME: (NOT_OF_THE_WEB,),
    Stop.FORM: (guard.AMBIGUOUS,),
    Stop.SCHEME: (guard.OTHER_SCHEME,),
    Stop.PORT: (guard.OTHER_PORT,),
    Stop.INTO_OWN: (fetching.INTO_OWN,),
}


@dataclass(frozen=True)
class OpenGuard:
    """A naive program: it parses addresses as leniently as any, and checks nothing."""

    def read(self, text: str) -> Target:
        text = text.replace("\t", "")
        parts = urlsplit(text if "@" in text else text.replace("\\", "/"))
        host = unicodedata.normalize("NFKC", unquote(parts.hostname or "")).replace("。", ".")
        with suppress(OSError):
            host = socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
        return Target("http", host, parts.port or 80, parts.path or "/")

    def admit(self, target: Target, addresses: list[IPAddress]) -> bool:  # noqa: ARG002 -- whatever they are
        return False

    def admit_unresolved(self, target: Target) -> None:
        """It does not ask where a name leads."""


@dataclass
class ByName:
    """Resolves the name again to connect, as a program does that checks a name and then uses it."""

    world: WebWorld
    name: str = ""

    async def resolve(self, name: str, port: int) -> Sequence[str]:
        self.name = name
        return await self.world.resolve(name, port)

    async def dial(self, _address: str, port: int, tls: ssl.SSLContext | None, name: str | None) -> connections.Streams:
        (address, *_) = await self.world.resolve(self.name, port)
        return await self.world.dial(address, port, tls, name)


async def tried(way: Way, *, guarded: bool) -> tuple[str, str, WebWorld]:
    """The outcome: what was read, why it was refused, and its world."""
    pages = {page: redirect(to) for page, to in way.leads.items()}
    zone = {"localhost": [["127.0.0.1"]], "public.example": [[PUBLIC]], **way.names}
    async with web_world(pages, zone) as world:
        resolve, dial = world.resolve, world.dial
        if not guarded and way.stopped_by is Stop.PINNED:
            by_name = ByName(world)
            resolve, dial = by_name.resolve, by_name.dial
        who = WebGuard(parse_networks(way.opened)) if guarded else OpenGuard()
        fetcher = Fetcher(who, "Test/1", FakeClock(), resolve, dial, robots=False, limits=LIMITS)
        try:
            return (await fetcher.fetch(way.asked, named)).data.decode(), "", world
        except WebRefused as refused:
            return "", str(refused), world


@pytest.mark.parametrize("way", WAYS, ids=[f"W{number}" for number in range(1, len(WAYS) + 1)])
async def test_no_way_leads_in_and_each_would_without_the_guard(way: Way) -> None:
    read, why, world = await tried(way, guarded=True)
    assert not world.inner
    assert SECRET.decode() not in read
    assert {address for address, _ in world.dialled} <= {PUBLIC, OTHER_PUBLIC}
    if way.stopped_by is not Stop.PINNED:
        assert why.startswith(SENTENCES[way.stopped_by])
    if way.asked.startswith(("file:", "data:")):
        with urllib.request.urlopen(way.asked) as page:  # noqa: S310, ASYNC210 -- the very attempt
            assert page.read(20)
    elif way.stopped_by is Stop.PORT and not way.opened:
        _, _, world = await tried(way, guarded=False)
        assert [port for _, port in world.dialled if port not in guard.WEB_PORTS]
    else:
        read, _, world = await tried(way, guarded=False)
        assert world.inner
        assert read.encode() == SECRET


def test_there_are_enough_attempts() -> None:
    assert len(WAYS) >= 60


addresses = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.integers(0, 2**128 - 1).map(IPv6Address),
    st.integers(0, 2**32 - 1).map(lambda low: IPv6Address(0x64FF9B << 96 | low)),
    st.integers(0, 2**32 - 1).map(lambda low: IPv6Address(0xFFFF << 32 | low)),
)


@pytest.mark.slow
@settings(max_examples=examples(500))
@given(addresses)
def test_what_python_calls_private_is_never_of_the_public_web(address: IPAddress) -> None:
    is_odd = address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified
    assert not (is_odd and special_kind(address) is None)
    literal = f"[{address}]" if address.version == 6 else str(address)
    if special_kind(address) is not None:
        with pytest.raises(WebRefused):
            WebGuard().read(f"http://{literal}/")


HOSTS = st.text("0123456789abcdefx.:[]%@\\/#?٠１。-_ \t", max_size=24)


@settings(max_examples=examples(500))
@given(HOSTS)
def test_whatever_is_read_reads_the_same_again_and_is_plain(host: str) -> None:
    try:
        target = parse_target(f"http://{host}")
    except WebRefused:
        return
    assert parse_target(target.address) == target
    assert urlsplit(target.address).hostname == target.host.strip("[]")
    assert target.address.isascii()
    assert target.literal is not None or not target.host.rpartition(".")[2].isdigit()


@pytest.mark.parametrize(
    ("opened", "address", "is_own"),
    [
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("wiki.example", "http://wiki.example/x", True),
        ("wiki.example:9000", "http://wiki.example:9000/x", True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/", True),
        ("[::1]:8000", "http://[::1]:8000/", True),
        ("169.254.169.254", "http://169.254.169.254/", True),
        ("64:ff9b::/96", "http://[64:ff9b::5db8:d70e]/", False),
        ("64:ff9b::/96, 10.0.0.0/8", "http://[64:ff9b::a00:5]/", True),
        ("localhost:8000", "http://localhost:8000/", True),
        ("10.0.0.0/8", "https://example.com/", False),
    ],
)
def test_what_the_operator_opens_can_be_read_and_is_known_as_their_own(opened: str, address: str, is_own: bool) -> None:
    who = WebGuard(parse_networks(opened))
    target = who.read(address)
    leads_to = {"wiki.example": "10.0.0.5", "localhost": "127.0.0.1", "example.com": PUBLIC}
    assert who.admit(target, [ip_address(leads_to.get(target.host, target.host))]) is is_own


@pytest.mark.parametrize(
    "value", ["10.0.0.1/8", "10.0.0.0/33", "wiki example", "http://wiki.example", "a:0", "a:b", "1.2.3"]
)
def test_a_mistyped_network_stops_the_start_with_a_sentence(value: str) -> None:
    with pytest.raises(SettingsError, match=r"^COGENCY_NETWORKS_ALLOWED must be ranges of addresses, hosts,"):
        load_settings({"COGENCY_NETWORKS_ALLOWED": value})


def test_networks_are_read_as_they_are_written() -> None:
    assert load_settings({}).web.networks == Networks()
    assert str(parse_networks("10.0.0.0/8, wiki.example,b.example:90")) == "10.0.0.0/8, b.example:90, wiki.example"


def test_an_address_is_taken_as_people_write_it() -> None:
    assert parse_target("example.com/a b".replace(" ", "")).address == "https://example.com/ab"
    assert parse_target(" HTTPS://Example.COM:443/wiki/Riga_(town)?q=ä#top ").address == (
        "https://example.com/wiki/Riga_%28town%29?q=%C3%A4"
    )
    assert parse_target("http://bücher.example").host == "xn--bcher-kva.example"
