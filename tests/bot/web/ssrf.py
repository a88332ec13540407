"""Attempts to reach an internal network by an address: the address, its names and redirects, and what stops it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tests.fakes.web_world import PUBLIC


class Stop(StrEnum):
    ADDRESS = "the check of the IP address"
    FORM = "the check of how the address is written"
    SCHEME = "the check of the scheme"
    NAME = "the check of the host name"
    PORT = "the check of the port"
    PINNED = "the rule that the bot connects only to the IP address that it checked"
    INTO_OWN = "the rule that no public page can redirect into an allowed network"


@dataclass(frozen=True)
class Way:
    """`names`: their addresses, one answer after the other; `leads`: redirects, from a page to an address."""

    asked: str
    stopped_by: Stop
    names: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict[str, Sequence[Sequence[str]]])
    leads: Mapping[str, str] = field(default_factory=dict[str, str])
    opened: str = ""
    about: str = ""

    @property
    def told(self) -> str:
        leads = [f"`{page}` redirects to `{to}`" for page, to in self.leads.items()]
        names = [_means(name, answers) for name, answers in self.names.items() if answers != [[PUBLIC]]]
        opened = [f"{self.opened} is allowed"] if self.opened else []
        return "; ".join([*leads, *names, *opened]) or self.about


def _means(name: str, answers: Sequence[Sequence[str]]) -> str:
    first, *later = (", ".join(answer) for answer in answers)
    return f"{name} resolves to {first}{f', and at the next lookup {later[0]}' if later else ''}"


def _words(text: str) -> list[str]:
    return text.split()


ADDRESSES: Final = _words(
    """
    127.0.0.1 127.8.9.10 10.0.0.5 172.16.0.5 172.31.255.255 192.168.1.1 169.254.1.1 169.254.169.254 169.254.170.2
    100.64.0.1 100.100.100.200 192.0.0.192 168.63.129.16 0.0.0.0 0.1.2.3 224.0.0.1 239.255.255.250 240.0.0.1
    255.255.255.255 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1
    """
)
ADDRESSES_6: Final = _words(
    """
    ::1 :: fe80::1 fec0::1 fc00::1 fd12:3456::1 fd00:ec2::254 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.5
    ::ffff:169.254.169.254 ::127.0.0.1 ::ffff:0:10.0.0.5 64:ff9b::10.0.0.5 64:ff9b::169.254.169.254 64:ff9b:1::a00:5
    2002:a00:5:: 2002:7f00:1::1 2001:0:5ef5:79fd:0:59d:f5ff:fffa 2001:db8::1 3fff::1 100::1 5f00::1
    """
)
WRITTEN: Final = (
    ("http://2130706433/", "127.0.0.1 as one number"),
    ("http://0x7f000001/", "127.0.0.1 in hexadecimal"),
    ("http://017700000001/", "127.0.0.1 in octal"),
    ("http://0177.0.0.1/", "one part in octal"),
    ("http://0x7f.0.0.1/", "one part in hexadecimal"),
    ("http://127.1/", "parts left out"),
    ("http://10.5/", "parts left out"),
    ("http://0/", "0.0.0.0 as one number"),
    ("http://127.0.0.1./", "a dot at the end"),
    ("http://localhost./", "a dot at the end"),
    ("http://public.example@10.0.0.5/", "a user before the host"),
    ("http://public.example:80@10.0.0.5/", "a user with a password"),
    ("http://public.example%40@10.0.0.5/", "an encoded @"),
    ("http://public.example\\@10.0.0.5/", "a backslash"),
    ("http://10.0.0.5\\.public.example/", "a backslash"),
    ("http://%31%30.0.0.5/", "an encoded host"),
    ("http://[fe80::1%25eth0]/", "an address with a scope"),
    ("http://[::ffff:10.0.0.5%1]/", "an address with a scope"),
    ("http://10.0.0.5\t/", "a tab"),
)
LOOKALIKES: Final = (
    ("http://１２７.0.0.1/", "wide digits"),
    ("http://①②⑦.0.0.1/", "digits in circles"),
    ("http://127。0。0。1/", "other dots"),
)
R: Final = {"a.example": [[PUBLIC]]}

WAYS: Final = (
    *(Way(f"http://{one}/", Stop.ADDRESS) for one in ADDRESSES),
    *(Way(f"http://[{one}]/", Stop.ADDRESS) for one in ADDRESSES_6),
    *(Way(asked, Stop.FORM, about=about) for asked, about in WRITTEN),
    *(Way(asked, Stop.ADDRESS, about=about) for asked, about in LOOKALIKES),
    Way("http://localhost/", Stop.NAME, {"localhost": [["127.0.0.1"]]}),
    Way("http://any.localhost/", Stop.NAME, {"any.localhost": [["127.0.0.1"]]}),
    Way("http://LOCALHOST/", Stop.NAME, {"localhost": [["127.0.0.1"]]}),
    Way("http://localhost.localdomain/", Stop.NAME, {"localhost.localdomain": [["127.0.0.1"]]}),
    Way("http://wiki/", Stop.ADDRESS, {"wiki": [["10.0.0.5"]]}),
    Way("http://inner.example/", Stop.ADDRESS, {"inner.example": [["10.0.0.5"]]}),
    Way("http://keys.example/", Stop.ADDRESS, {"keys.example": [["169.254.169.254"]]}),
    Way("http://mapped.example/", Stop.ADDRESS, {"mapped.example": [["::ffff:10.0.0.5"]]}),
    Way("http://nat64.example/", Stop.ADDRESS, {"nat64.example": [["64:ff9b::a00:5"]]}),
    Way("http://alias.example/", Stop.ADDRESS, {"alias.example": [["in.example"]], "in.example": [["10.0.0.5"]]}),
    Way("http://both.example/", Stop.ADDRESS, {"both.example": [["10.0.0.5", PUBLIC]]}),
    Way("http://rebind.example/", Stop.PINNED, {"rebind.example": [[PUBLIC], ["10.0.0.5"]]}),
    Way("http://a.example:6379/", Stop.PORT, R),
    Way("http://a.example:25/", Stop.PORT, R),
    Way("http://a.example/", Stop.ADDRESS, R, {"a.example/": "http://10.0.0.5/"}),
    Way("http://a.example/", Stop.ADDRESS, R, {"a.example/": "//169.254.169.254/latest/meta-data/"}),
    Way("http://a.example/", Stop.ADDRESS, R, {"a.example/": "http://[::ffff:7f00:1]/"}),
    Way("http://a.example/", Stop.FORM, R, {"a.example/": "http://2130706433/"}),
    Way("http://a.example/", Stop.FORM, R, {"a.example/": "http://a.example@127.0.0.1/"}),
    Way("http://a.example/", Stop.NAME, R, {"a.example/": "http://localhost/"}),
    Way("http://a.example/", Stop.PORT, R, {"a.example/": "http://a.example:6379/"}),
    Way("http://a.example/", Stop.SCHEME, R, {"a.example/": "gopher://10.0.0.5:6379/_FLUSHALL"}),
    Way("http://a.example/", Stop.SCHEME, R, {"a.example/": "ftp://10.0.0.5/"}),
    Way(
        "http://a.example/",
        Stop.ADDRESS,
        {**R, "b.example": [[PUBLIC]], "c.example": [["192.168.1.1"]]},
        {"a.example/": "http://b.example/", "b.example/": "http://c.example/"},
    ),
    Way(
        "http://a.example/",
        Stop.ADDRESS,
        {"a.example": [[PUBLIC], ["10.0.0.5"]]},
        {"a.example/": "http://a.example/again"},
    ),
    Way("http://a.example/", Stop.INTO_OWN, R, {"a.example/": "http://10.0.0.5/"}, opened="10.0.0.0/8"),
    Way("http://10.0.0.6:9000/", Stop.PORT, opened="10.0.0.0/8"),
    Way("http://169.254.169.254/", Stop.ADDRESS, opened="169.254.0.0/16"),
    Way("http://[64:ff9b::a00:5]/", Stop.ADDRESS, opened="64:ff9b::/96"),
    Way("http://0.0.0.0/", Stop.ADDRESS, opened="0.0.0.0/0"),
    Way("http://wiki.example/", Stop.ADDRESS, {"wiki.example": [["169.254.169.254"]]}, opened="wiki.example"),
    Way("gopher://10.0.0.5:6379/_FLUSHALL", Stop.SCHEME),
    Way("ftp://10.0.0.5/", Stop.SCHEME),
    Way("dict://10.0.0.5:11211/stats", Stop.SCHEME),
    Way("file:///etc/passwd", Stop.SCHEME),
    Way("data:text/plain,inner%20heron4711", Stop.SCHEME),
)


SHOWN: Final = 12  # Attempts in a row: one more address of the same kind tells a reader nothing


def rows() -> tuple[str, ...]:
    """Return the rows of the documentation's table: one for each thing that stops attempts, with some of these."""
    by_stop: dict[Stop, list[str]] = {}
    for one in WAYS:
        told = f" ({one.told})" if one.told else ""
        by_stop.setdefault(one.stopped_by, []).append(f"`{one.asked}`{told}".replace("\t", "(tab)"))
    return tuple(f"| {stop} | {len(ways)} | {', '.join(_some(ways))} |" for stop, ways in by_stop.items())


def _some(ways: Sequence[str]) -> list[str]:
    """Return some that lie evenly apart, so that each kind is among them."""
    step = -(-len(ways) // SHOWN)
    return [*ways[::step]]
