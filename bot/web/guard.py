"""Which addresses of the web may be reached, and which pages read. Pure: what a name leads to is an argument.

Rules.
- An address is read once, here, and what was read is what is connected to. What two programs may read in two ways is
  refused: numbers that are no plain IPv4 address, users before the host, backslashes, blanks, dots at the end.
- Each address that a name leads to is judged, and one that is refused refuses all of them.
- What is not of the public web is refused unless the operator has opened it (`Networks`): a range opens all that lies
  in it, a host's name what is private, shared or of this machine. What gives keys to machines (metadata) opens only
  its own address; what stands for other addresses, and what is nobody's, opens nothing.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote, unquote

from agent.errors import CogencyError

IPAddress: TypeAlias = IPv4Address | IPv6Address
IPNetwork: TypeAlias = IPv4Network | IPv6Network


class WebRefused(CogencyError):
    """Something of the web cannot be had: why, for the model and the person. It names no address that a name led to.

    `is_fault`: of a server, which may be better later.
    """

    def __init__(self, sentence: str, *, is_fault: bool = False) -> None:
        super().__init__(sentence)
        self.is_fault = is_fault


# Longer ones hold data rather than a place; search engines and browsers cut them there, too.
MAX_ADDRESS_CHARS: Final = 2_000
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# Of the public web and of opened ranges: elsewhere other programs listen, which could take a request for theirs.
WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})

NO_ADDRESS: Final = "that is no address of a page, as in https://example.com/page"
OTHER_SCHEME: Final = "only pages whose address begins with https:// or http:// can be read"
AMBIGUOUS: Final = (
    "its address can be read in more than one way; it has to be written plainly, as in https://a.example/b"
)
TOO_LONG: Final = f"its address has more than {MAX_ADDRESS_CHARS} characters"
NO_NAME: Final = "its name leads nowhere"
NOT_OF_THE_WEB: Final = (
    "it is not on the public web ({kind}), and the operator has not opened it (COGENCY_NETWORKS_ALLOWED)"
)
OTHER_PORT: Final = (
    "pages are read at ports 80, 443, 8080 and 8443 alone; the operator can open host:port (COGENCY_NETWORKS_ALLOWED)"
)

_ADDRESS: Final = re.compile(r"(?i:(?P<scheme>https?)://)(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_BARE: Final = re.compile(r"[^\s/?#:@]+\.[^\s/?#:@.]{2,}(?::\d+)?(?:[/?#].*)?")
_AMBIGUOUS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff<>\"]")
_BRACKETED: Final = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?")
_NAMED: Final = re.compile(r"([^:\[\]]+)(?::(\d{0,5}))?")
_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
_LOCAL_NAME: Final = re.compile(r"(?:.+\.)?(?:localhost|localdomain)")
_KEPT: Final = "!$%&'*+,-./:;=?@_~"  # What stands in a path or query as it is; brackets would end a link of Markdown


@dataclass(frozen=True, slots=True)
class Target:
    """An address as it is asked for. `host`: a name in small ASCII letters, or a plain IP address."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, percent-encoded; it begins with a slash."""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def address(self) -> str:
        return f"{self.origin}{self.path}"

    @property
    def literal(self) -> IPAddress | None:
        """The address that the host is; None for a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None


def parse_target(text: str) -> Target:
    """What an address says. Raises WebRefused."""
    text = text.strip()
    if len(text) > MAX_ADDRESS_CHARS:
        raise WebRefused(TOO_LONG)
    if _AMBIGUOUS.search(text):
        raise WebRefused(AMBIGUOUS)
    if _BARE.fullmatch(text):
        text = f"https://{text}"
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise WebRefused(OTHER_SCHEME if _SCHEME.match(text) else NO_ADDRESS)
    scheme = found["scheme"].lower()
    place = _BRACKETED.fullmatch(found["host"]) or _NAMED.fullmatch(found["host"])
    if place is None or "@" in found["host"] or "%" in found["host"]:
        raise WebRefused(AMBIGUOUS if found["host"] else NO_ADDRESS)
    port = int(place[2] or DEFAULT_PORTS[scheme])
    if not 0 < port < 65_536:
        raise WebRefused(NO_ADDRESS)
    path = quote((found["path"] or "/") + (found["query"] or ""), safe=_KEPT)
    return Target(scheme, _host(place[1], is_bracketed=found["host"].startswith("[")), port, path)


def _host(text: str, *, is_bracketed: bool) -> str:
    if is_bracketed:
        try:
            return str(IPv6Address(text))
        except ValueError:
            raise WebRefused(NO_ADDRESS) from None
    name = text.lower() if text.isascii() else _in_ascii(text)
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        try:
            return str(IPv4Address(name))
        except ValueError:  # 127.1, 0x7f000001, 2130706433, 0177.0.0.1: some read these as addresses
            raise WebRefused(AMBIGUOUS) from None
    if _NAME.fullmatch(name) is None:
        raise WebRefused(AMBIGUOUS)
    return name


def _in_ascii(name: str) -> str:
    import idna  # noqa: PLC0415 -- its tables are large, and few names need them

    try:
        return idna.encode(name, uts46=True).decode("ascii").lower()
    except idna.IDNAError:
        raise WebRefused(NO_ADDRESS) from None


class NetworkKind(StrEnum):
    """What an address is that is not of the public web."""

    PRIVATE = "a private network"
    SHARED = "a network that a provider shares"
    LOOPBACK = "the bot's own machine"
    LINK_LOCAL = "addresses of one cable"
    METADATA = "a service that gives keys to machines"
    MULTICAST = "addresses of many"
    UNSPECIFIED = "no address of a machine"
    EMBEDDING = "addresses that stand for others"
    RESERVED = "reserved addresses"


def _networks(text: str) -> tuple[IPNetwork, ...]:
    return tuple(map(ip_network, text.split()))


_BY_NAME: Final = frozenset({NetworkKind.PRIVATE, NetworkKind.SHARED, NetworkKind.LOOPBACK})  # What a host's name opens
_NEVER: Final = frozenset({NetworkKind.MULTICAST, NetworkKind.UNSPECIFIED})
# By which a network that has only IPv6 reaches IPv4: if it is opened, the address in it is judged.
NAT64: Final = IPv6Network("64:ff9b::/96")
_SPECIAL: Final = tuple(
    (kind, network)
    for kind, networks in (
        # AWS, Google, Azure and most others; ECS; AWS by IPv6; Alibaba; Oracle; Azure's host
        (NetworkKind.METADATA, "169.254.169.254 169.254.170.2 fd00:ec2::254 100.100.100.200 192.0.0.192 168.63.129.16"),
        (NetworkKind.UNSPECIFIED, "0.0.0.0/8 ::/128 255.255.255.255/32"),
        (NetworkKind.LOOPBACK, "127.0.0.0/8 ::1/128"),
        (NetworkKind.PRIVATE, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"),
        (NetworkKind.SHARED, "100.64.0.0/10"),
        (NetworkKind.LINK_LOCAL, "169.254.0.0/16 fe80::/10"),
        (NetworkKind.MULTICAST, "224.0.0.0/4 ff00::/8"),
        # Mapped, compatible and translated IPv4; NAT64; Teredo; 6to4 and its relays
        (
            NetworkKind.EMBEDDING,
            "::ffff:0:0/96 ::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16 192.88.99.0/24",
        ),
        # Protocols, documentation, measurements, and what is not given out (IANA's registries of special purposes)
        (
            NetworkKind.RESERVED,
            (
                "192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24 198.18.0.0/15 "
                "198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 2001::/23 2001:db8::/32 2620:4f:8000::/48 3fff::/20"
            ),
        ),
    )
    for network in _networks(networks)
)
_PUBLIC_V6: Final = IPv6Network("2000::/3")


def special_kind(address: IPAddress) -> NetworkKind | None:
    """What it is; None for an address of the public web."""
    known = next((kind for kind, network in _SPECIAL if address in network), None)
    if known is None and address.version == 6 and address not in _PUBLIC_V6:
        return NetworkKind.RESERVED
    return known


def _embedded(address: IPAddress) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Networks:
    """What the operator has opened. `places`: hosts, by names or addresses, each with the port that is meant, None for
    the web's ports.
    """

    ranges: tuple[IPNetwork, ...] = ()
    places: frozenset[tuple[str, int | None]] = frozenset()

    def names(self, target: Target) -> bool:
        """Whether this very host was opened, at this port."""
        return self._place(target.host, target.port)

    def opens(self, target: Target, address: IPAddress, kind: NetworkKind) -> bool:
        """Whether what the target leads to is open, which is of this kind."""
        if kind in _NEVER:
            return False
        if self.names(target) and (
            kind in _BY_NAME or (target.literal == address and kind is not NetworkKind.EMBEDDING)
        ):
            return True
        if kind is NetworkKind.EMBEDDING:
            inner = _embedded(address)
            inner_kind = special_kind(inner)
            may = address in NAT64 and any(NAT64.subnet_of(one) for one in self.ranges if one.version == 6)
            return may and (inner_kind is None or self.opens(target, inner, inner_kind))
        is_whole = kind is not NetworkKind.METADATA
        return any(address in one and (is_whole or one.prefixlen == one.max_prefixlen) for one in self.ranges)

    def _place(self, host: str, port: int) -> bool:
        return (host, port) in self.places or (port in WEB_PORTS and (host, None) in self.places)

    def __str__(self) -> str:
        named = [host if port is None else f"{host}:{port}" for host, port in sorted(self.places, key=str)]
        return ", ".join([*map(str, self.ranges), *named])


class Guard(Protocol):
    """Who decides what is reached."""

    def read(self, text: str) -> Target:
        """Raises WebRefused."""
        ...

    def admit(self, target: Target, addresses: list[IPAddress]) -> bool:
        """Whether what the target leads to is the operator's own network. Raises WebRefused."""
        ...


@dataclass(frozen=True, slots=True)
class WebGuard:
    networks: Networks = Networks()

    def read(self, text: str) -> Target:
        target = parse_target(text)
        if _LOCAL_NAME.fullmatch(target.host) and not self.networks.names(target):
            raise WebRefused(NOT_OF_THE_WEB.format(kind=NetworkKind.LOOPBACK))
        if target.literal is not None:
            self.admit(target, [target.literal])
        return target

    def admit(self, target: Target, addresses: list[IPAddress]) -> bool:
        if not addresses:
            raise WebRefused(NO_NAME)
        is_own = self.networks.names(target)
        for address in addresses:
            kind = special_kind(address)
            if kind is not None and not self.networks.opens(target, address, kind):
                raise WebRefused(NOT_OF_THE_WEB.format(kind=kind))
            is_own |= kind is not None and not (address in NAT64 and special_kind(_embedded(address)) is None)
        if target.port not in WEB_PORTS and not self.networks.names(target):
            raise WebRefused(OTHER_PORT)
        return is_own


def parse_networks(value: str) -> Networks:
    """Of "10.0.0.0/8, wiki.example, 127.0.0.1:8000". Raises ValueError that goes on with the name of the setting."""
    ranges, places = list[IPNetwork](), set[tuple[str, int | None]]()
    for entry in filter(None, (part.strip() for part in value.split(","))):
        try:
            ranges.append(ip_network(entry))
        except ValueError:
            places.add(_parse_place(entry))
    return Networks(tuple(ranges), frozenset(places))


def _parse_place(entry: str) -> tuple[str, int | None]:
    place = _BRACKETED.fullmatch(entry) or _NAMED.fullmatch(entry)
    port = place[2] if place else ""
    if place is None or port == "" or (port and not 0 < int(port) < 65_536):
        raise ValueError(NO_NETWORK)
    try:
        return _host(place[1], is_bracketed=entry.startswith("[")), int(port) if port else None
    except WebRefused:
        raise ValueError(NO_NETWORK) from None


NO_NETWORK: Final = (
    "must be ranges of addresses, hosts, or hosts with ports, with commas between them, as in 10.0.0.0/8, "
    "wiki.example.com, 192.168.1.7:3000"
)


# What a site's robots.txt lets a program read (RFC 9309), in linear time.
#
# Rules. The groups that name the program count together, else those for everybody. Of the rules that match a path the
# longest counts, and of two of a length the one that allows. `*` stands for anything, `$` at the end for the end.

MAX_RULES: Final = 2_000  # More are read by nobody; each is compared with each path
MAX_PATTERN_CHARS: Final = 500
EVERYBODY: Final = "*"


@dataclass(frozen=True, slots=True)
class Robots:
    """`rules`: patterns of paths, and whether they allow."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allows(self, path: str) -> bool:
        asked = _normal(path)
        fitting = [(len(pattern), allows) for pattern, allows in self.rules if _fits(pattern, asked)]
        return max(fitting, default=(0, True))[1]


NOTHING_ALLOWED: Final = Robots((("/", False),))


def product(agent: str) -> str:
    """The name in a user agent: "cogency" of "Cogency/1.0 (…)"."""
    return agent.partition("/")[0].split(" ", 1)[0].lower()


def parse_robots(text: str, name: str) -> Robots:
    """The rules for a program of this name."""
    named: dict[str, list[tuple[str, bool]]] = {}
    agents, reads_agents = list[str](), False
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        match key.lower() if colon else "":
            case "user-agent":
                agents = [*(agents if reads_agents else ()), product(value)]
                named.setdefault(agents[-1], [])
                reads_agents = True
            case "allow" | "disallow" as word:
                reads_agents = False
                if value and len(value) <= MAX_PATTERN_CHARS:
                    for agent in agents:
                        named[agent].append((_normal(value), word == "allow"))
            case _:
                pass
    return Robots(tuple(named.get(name, named.get(EVERYBODY, []))[:MAX_RULES]))


def _normal(path: str) -> str:
    """Encoded in one way, so that what is the same compares as the same."""
    return quote(unquote(path, errors="replace"), safe="/*$?=&:;,+!@~()'-._")


def _fits(pattern: str, path: str) -> bool:
    body, ends = pattern.removesuffix("$"), pattern.endswith("$")
    first, *rest = body.split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    last = rest.pop() if ends and rest else None
    for piece in rest:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if not ends:
        return True
    return at == len(path) if last is None else path.endswith(last) and len(path) - len(last) >= at
