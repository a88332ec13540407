"""Decides which web addresses may be reached (SSRF protection). Pure: the addresses that a name resolves to are
arguments.

Rules.
- An address is parsed once, here, and the connection uses the parsed form. What two programs may parse in two ways is
  refused: numbers that are no plain IPv4 address, users before the host, backslashes, blanks, a dot at the end.
- Each IP address that a name resolves to is checked; if one is refused, all are.
- An address outside of the public web is refused unless the operator has opened it (`Networks`): a range opens all
  addresses in it, a host's name those that are private, shared or of this machine. A metadata service, which gives
  credentials to machines, is opened only by its own address. Addresses that embed other addresses cannot be opened,
  except for those of NAT64, and neither can those that belong to no host.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote

from agent.errors import CogencyError

IPAddress: TypeAlias = IPv4Address | IPv6Address
IPNetwork: TypeAlias = IPv4Network | IPv6Network


class WebRefused(CogencyError):
    """A web page is not available. The sentence is for the model and the person, and names no address that a name
    resolved to.

    `is_fault`: a server failed, and may work later.
    """

    def __init__(self, sentence: str, *, is_fault: bool = False) -> None:
        super().__init__(sentence)
        self.is_fault = is_fault


# Longer addresses carry data; search engines and browsers limit them to this length, too.
MAX_ADDRESS_CHARS: Final = 2_000
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# For the public web and opened ranges: at other ports other protocols listen, which could misread a request.
WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})

NO_ADDRESS: Final = "that is not the address of a web page, such as https://example.com/page"
OTHER_SCHEME: Final = "only addresses that begin with https:// or http:// can be read"
AMBIGUOUS: Final = "its address is ambiguous; write it plainly, such as https://a.example/b"
TOO_LONG: Final = f"its address has more than {MAX_ADDRESS_CHARS} characters"
NO_NAME: Final = "its host name has no address"
NOT_OF_THE_WEB: Final = (
    "it is not on the public web ({kind}), and the operator has not allowed it (COGENCY_NETWORKS_ALLOWED)"
)
OTHER_PORT: Final = (
    "its port is not 80, 443, 8080 or 8443; the operator can allow it by adding host:port to COGENCY_NETWORKS_ALLOWED"
)

_ADDRESS: Final = re.compile(r"(?i:(?P<scheme>https?)://)(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_BARE: Final = re.compile(r"[^\s/?#:@]+\.[^\s/?#:@.]{2,}(?::\d+)?(?:[/?#].*)?")
_AMBIGUOUS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff<>\"]")
_BRACKETED: Final = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?")
_NAMED: Final = re.compile(r"([^:\[\]]+)(?::(\d{0,5}))?")
# Lengths of RFC 1035; the underscore is not allowed there, but in use.
_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
_LOCAL_NAME: Final = re.compile(r"(?:.+\.)?(?:localhost|localdomain)")
# Endings that no public name has (RFC 6761, RFC 8375, ICANN's "internal", and what companies use): a proxy could
# resolve them within its own network.
_PRIVATE_NAME: Final = re.compile(
    r"\.(?:internal|intranet|private|corp|local|lan|home|home\.arpa|localhost|localdomain|invalid|onion)\Z"
)
# Characters that stay unencoded in a path or query. Brackets are encoded, as they would end a link in Markdown.
_UNENCODED: Final = "!$%&'*+,-./:;=?@_~"


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed address. `host`: a name in lower-case ASCII, or a plain IP address."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, percent-encoded; starts with a slash."""

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
        """The host as an IP address; None for a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None


def parse_target(text: str) -> Target:
    """Parse an address; https:// is added to a bare host. Raises WebRefused."""
    text = text.strip()
    if len(text) > MAX_ADDRESS_CHARS:
        raise WebRefused(TOO_LONG)
    # What two parsers would read as two hosts is refused rather than repaired: the one that checks and the one that
    # connects must not differ.
    if _AMBIGUOUS.search(text):
        raise WebRefused(AMBIGUOUS)
    if _BARE.fullmatch(text):
        text = f"https://{text}"
    match_ = _ADDRESS.fullmatch(text)
    if match_ is None:
        raise WebRefused(OTHER_SCHEME if _SCHEME.match(text) else NO_ADDRESS)
    scheme = match_["scheme"].lower()
    host_port = _BRACKETED.fullmatch(match_["host"]) or _NAMED.fullmatch(match_["host"])
    if host_port is None or "@" in match_["host"] or "%" in match_["host"]:
        raise WebRefused(AMBIGUOUS if match_["host"] else NO_ADDRESS)
    port = int(host_port[2] or DEFAULT_PORTS[scheme])
    if not 0 < port < 65_536:
        raise WebRefused(NO_ADDRESS)
    # The host is checked as written; only path and query are encoded.
    path = quote((match_["path"] or "/") + (match_["query"] or ""), safe=_UNENCODED)
    return Target(scheme, _host(host_port[1], is_bracketed=match_["host"].startswith("[")), port, path)


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
        except ValueError:  # 127.1, 0x7f000001, 2130706433, 0177.0.0.1: some programs accept these as addresses
            raise WebRefused(AMBIGUOUS) from None
    if _NAME.fullmatch(name) is None:
        raise WebRefused(AMBIGUOUS)
    return name


def _in_ascii(name: str) -> str:
    import idna  # noqa: PLC0415 -- its tables are large, and few names need it

    try:
        return idna.encode(name, uts46=True).decode("ascii").lower()
    except idna.IDNAError:
        raise WebRefused(NO_ADDRESS) from None


class NetworkKind(StrEnum):
    """The kinds of addresses outside of the public web."""

    PRIVATE = "a private network"
    SHARED = "a provider's shared network"
    LOOPBACK = "the bot's own machine"
    LINK_LOCAL = "a link-local address"
    METADATA = "a cloud metadata service"
    MULTICAST = "a multicast address"
    UNSPECIFIED = "an unspecified address"
    EMBEDDING = "an address that embeds another"
    RESERVED = "a reserved address"


def _networks(text: str) -> tuple[IPNetwork, ...]:
    return tuple(map(ip_network, text.split()))


_BY_NAME: Final = frozenset({NetworkKind.PRIVATE, NetworkKind.SHARED, NetworkKind.LOOPBACK})  # Opened by a host's name
_NEVER: Final = frozenset({NetworkKind.MULTICAST, NetworkKind.UNSPECIFIED})
# The prefix by which IPv6-only networks reach IPv4: if it is opened, the embedded address is checked.
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
    """Return an address's kind; None for an address of the public web."""
    kind = next((kind for kind, network in _SPECIAL if address in network), None)
    if kind is None and address.version == 6 and address not in _PUBLIC_V6:
        return NetworkKind.RESERVED
    return kind


def _embedded(address: IPAddress) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Networks:
    """The networks and hosts that the operator has opened. `places`: hosts, by name or address, each with a port, None
    for the web's ports.
    """

    ranges: tuple[IPNetwork, ...] = ()
    places: frozenset[tuple[str, int | None]] = frozenset()

    def includes_host(self, target: Target) -> bool:
        """Return whether the operator has opened this host by name, at this port."""
        return self._place(target.host, target.port)

    def opens(self, target: Target, address: IPAddress, kind: NetworkKind) -> bool:
        """Return whether an address of this kind, which the target resolves to, is open."""
        # First, so that no setting can open them.
        if kind in _NEVER:
            return False
        if self.includes_host(target) and (
            kind in _BY_NAME or (target.literal == address and kind is not NetworkKind.EMBEDDING)
        ):
            return True
        if kind is NetworkKind.EMBEDDING:
            # An IPv6 address that holds an IPv4 address leads to that one, so both have to be open.
            inner = _embedded(address)
            inner_kind = special_kind(inner)
            is_open = address in NAT64 and any(NAT64.subnet_of(range_) for range_ in self.ranges if range_.version == 6)
            return is_open and (inner_kind is None or self.opens(target, inner, inner_kind))
        # The cloud's metadata service hands out credentials: it is opened by its own address only, never by a range
        # around it.
        by_range = kind is not NetworkKind.METADATA
        return any(
            address in range_ and (by_range or range_.prefixlen == range_.max_prefixlen) for range_ in self.ranges
        )

    def _place(self, host: str, port: int) -> bool:
        return (host, port) in self.places or (port in WEB_PORTS and (host, None) in self.places)

    def __str__(self) -> str:
        places = [host if port is None else f"{host}:{port}" for host, port in sorted(self.places, key=str)]
        return ", ".join([*map(str, self.ranges), *places])


class Guard(Protocol):
    """Decides which addresses are reached."""

    def read(self, text: str) -> Target:
        """Parse an address. Raises WebRefused, also for an IP address or name that may not be reached."""
        ...

    def admit(self, target: Target, addresses: list[IPAddress]) -> bool:
        """Check the addresses that a target resolves to; return whether they are in the operator's own network.

        Raises WebRefused.
        """
        ...

    def admit_unresolved(self, target: Target) -> None:
        """Check a name that only a proxy can resolve. Raises WebRefused."""
        ...


@dataclass(frozen=True, slots=True)
class WebGuard:
    networks: Networks = Networks()

    def read(self, text: str) -> Target:
        target = parse_target(text)
        if _LOCAL_NAME.fullmatch(target.host) and not self.networks.includes_host(target):
            raise WebRefused(NOT_OF_THE_WEB.format(kind=NetworkKind.LOOPBACK))
        if target.literal is not None:
            self.admit(target, [target.literal])
        return target

    def admit(self, target: Target, addresses: list[IPAddress]) -> bool:
        if not addresses:
            raise WebRefused(NO_NAME)
        is_own = self.networks.includes_host(target)
        for address in addresses:
            kind = special_kind(address)
            if kind is not None and not self.networks.opens(target, address, kind):
                raise WebRefused(NOT_OF_THE_WEB.format(kind=kind))
            is_own |= kind is not None and not (address in NAT64 and special_kind(_embedded(address)) is None)
        if target.port not in WEB_PORTS and not self.networks.includes_host(target):
            raise WebRefused(OTHER_PORT)
        return is_own

    def admit_unresolved(self, target: Target) -> None:
        if self.networks.includes_host(target) or "." not in target.host or _PRIVATE_NAME.search(target.host):
            raise WebRefused(NO_NAME)
        if target.port not in WEB_PORTS:
            raise WebRefused(OTHER_PORT)


def parse_networks(value: str) -> Networks:
    """Parse "10.0.0.0/8, wiki.example, 127.0.0.1:8000". Raises ValueError, whose text follows the setting's name."""
    ranges, places = list[IPNetwork](), set[tuple[str, int | None]]()
    for entry in filter(None, (part.strip() for part in value.split(","))):
        try:
            ranges.append(ip_network(entry))
        except ValueError:
            places.add(_parse_place(entry))
    return Networks(tuple(ranges), frozenset(places))


def _parse_place(entry: str) -> tuple[str, int | None]:
    host_port = _BRACKETED.fullmatch(entry) or _NAMED.fullmatch(entry)
    port = host_port[2] if host_port else ""
    if host_port is None or port == "" or (port and not 0 < int(port) < 65_536):
        raise ValueError(NO_NETWORK)
    try:
        return _host(host_port[1], is_bracketed=entry.startswith("[")), int(port) if port else None
    except WebRefused:
        raise ValueError(NO_NETWORK) from None


NO_NETWORK: Final = (
    "must be ranges of addresses, hosts, or hosts with ports, separated by commas, as in 10.0.0.0/8, "
    "wiki.example.com, 192.168.1.7:3000"
)
