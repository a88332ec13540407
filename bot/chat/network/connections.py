"""Connects to addresses that others name, such as web pages and receivers of webhooks, and to nothing else.

Rules.
- A name is resolved here, once; every address that it resolves to is checked (`bot.chat.network.guard`), and the
  connection goes to one of these. TLS is verified against the name.
- A proxy is asked to connect to the address that was checked. Only if the operator says that the proxy resolves names
  and keeps its own network closed (`Route.resolves`), it is asked by name; a name that resolves here is checked all the
  same. Hosts of the operator's own network are reached directly.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, TypeAlias

from bot.chat.network.guard import NO_NAME, Guard, Target, WebRefused
from bot.chat.network.tunnel import ProxyRefused, dial_through

# Returns the addresses that a name resolves to. Raises OSError.
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# Connects to an IP address and a port, with TLS for a name. Raises OSError.
Dial: TypeAlias = Callable[[str, int, ssl.SSLContext | None, str | None], Awaitable[Streams]]

RESOLVERS: Final = 4  # Threads for name resolution, so that a slow or missing answer delays no other

UNREACHABLE: Final = "it could not be reached"
BY_THE_PROXY: Final = "this network's proxy could not connect to it ({status})"
NOT_TRUSTED: Final = "its certificate could not be verified for {host}"
LEADS_TO_UNPROVEN: Final = "it redirects to an address whose certificate could not be verified"


def _directly(_address: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Route:
    """`proxy`: returns the proxy for an address, None for none. `resolves`: whether proxies resolve names, and refuse
    to connect to the operator's own network.
    """

    proxy: Callable[[str], str | None] = _directly
    resolves: bool = False


DIRECT: Final = Route()


async def dial(address: str, port: int, tls: ssl.SSLContext | None, name: str | None) -> Streams:
    return await asyncio.open_connection(address, port, ssl=tls, server_hostname=name)


class SystemResolver:
    """Resolves names as the machine does, in threads of its own."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(RESOLVERS, "names")
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self._threads, _addresses, name, port)
        return list(dict.fromkeys(addresses))

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses(name: str, port: int) -> list[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]


@dataclass(frozen=True, slots=True)
class Admitted:
    """A target that may be reached. `hosts`: its addresses, or its name where a proxy resolves it; `proxy`: the one to
    go through; `is_own`: it is in the operator's own network.
    """

    target: Target
    hosts: Sequence[str]
    proxy: str | None
    is_own: bool


@dataclass(frozen=True, slots=True)
class ConnectLimits:
    connect_s: float = 4.0
    """For connecting to one address: a working host answers within a second."""
    addresses: int = 4
    """Addresses of one name that are tried, one after the other."""


class GuardedConnections:
    """`resolve` and `dial`: the network; `route`: whether a proxy is between; `trust`: creates the TLS context."""

    def __init__(
        self,
        guard: Guard,
        resolve: Resolve,
        dial: Dial = dial,
        *,
        route: Route = DIRECT,
        limits: ConnectLimits = ConnectLimits(),
        trust: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self._guard = guard
        self._resolve = resolve
        self._dial = dial
        self._route = route
        self._limits = limits
        self._trust = trust
        self._tls: ssl.SSLContext | None = None

    async def admit(self, address: str) -> Admitted:
        """Parse an address, resolve its name and check all that it resolves to. Raises WebRefused."""
        target = self._guard.read(address)
        proxy = self._route.proxy(target.origin)
        by_name = proxy is not None and self._route.resolves
        addresses = await self._resolve_name(target, may_fail=by_name)
        # A name that resolves otherwise a moment later changes nothing: the connection goes to what was checked.
        if addresses or not by_name:
            is_own = self._guard.admit(target, [ip_address(ip) for ip in addresses])
        else:
            self._guard.admit_unresolved(target)
            is_own = False
        hosts = [target.host] if by_name and not is_own else addresses
        return Admitted(target, hosts, None if is_own else proxy, is_own)

    async def open(self, admitted: Admitted, *, named: bool) -> Streams:
        """Connect to one of the checked addresses, and to no other. `named`: the host may stand in the reason of a
        refusal, because no site has chosen it. Raises WebRefused.
        """
        target = admitted.target
        tls, reason = self._context(target), UNREACHABLE
        name = target.host if tls else None
        for address in admitted.hosts[: self._limits.addresses]:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    if admitted.proxy is not None:
                        return await dial_through(admitted.proxy, address, target.port, tls, name)
                    return await self._dial(address, target.port, tls, name)
            except ProxyRefused as refused:
                reason = BY_THE_PROXY.format(status=refused.status or "no readable answer")
            except ssl.SSLCertVerificationError:
                reason = NOT_TRUSTED.format(host=target.host) if named else LEADS_TO_UNPROVEN
            except OSError:  # TimeoutError among them
                continue
        raise WebRefused(reason)

    def _context(self, target: Target) -> ssl.SSLContext | None:
        if target.scheme == "https" and self._tls is None:
            self._tls = self._trust()
        return self._tls if target.scheme == "https" else None

    async def _resolve_name(self, target: Target, *, may_fail: bool) -> list[str]:
        """`may_fail`: return no address for a name that only the proxy can resolve. Raises WebRefused."""
        if target.literal is not None:
            return [target.host]
        try:
            addresses = await self._resolve(target.host, target.port)
            for address in addresses:
                ip_address(address)
        except (OSError, UnicodeError, ValueError) as error:  # ValueError: also a link-local address with a scope
            if may_fail and isinstance(error, OSError):
                return []
            raise WebRefused(NO_NAME) from None
        return list(addresses)
