"""Connects through an HTTP proxy (CONNECT, RFC 9110 section 9.3.6), for pages on the web."""

import asyncio
import re
import ssl
from base64 import b64encode
from typing import Final
from urllib.parse import unquote, urlsplit

_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class ProxyRefused(OSError):
    """The proxy does not connect to the host. `status`: of its answer; 0 if that cannot be read."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


async def dial_through(
    proxy: str, host: str, port: int, tls: ssl.SSLContext | None, name: str | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a host (a name or an IP address) by a proxy, with TLS for `name`. Raises OSError, and ProxyRefused."""
    parts = urlsplit(proxy)
    encrypted = ssl.create_default_context() if parts.scheme == "https" else None
    to_proxy = parts.port or _DEFAULT_PORTS[parts.scheme]
    reader, writer = await asyncio.open_connection(parts.hostname, to_proxy, ssl=encrypted)
    try:
        writer.write(_connect(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", parts.username, parts.password))
        _require_success(await reader.readuntil(b"\r\n\r\n"))
        if tls is not None:
            await writer.start_tls(tls, server_hostname=name)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        writer.transport.abort()
        raise ProxyRefused(0) from None
    except BaseException:  # also when cancelled, a socket is not left open
        writer.transport.abort()
        raise
    return reader, writer


def _require_success(head: bytes) -> None:
    status = _STATUS.match(head)
    if status is None or not 200 <= int(status[1]) < 300:
        raise ProxyRefused(int(status[1]) if status else 0)


def _connect(authority: str, user: str | None, password: str | None) -> bytes:
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if user is not None:
        credentials = f"{unquote(user)}:{unquote(password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(credentials.encode()).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()
