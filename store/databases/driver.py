"""asyncpg, as far as we use it ourselves, with types. It has none of its own.

Above: `store.databases.postgresql`, `store.databases.notify`. Below: asyncpg.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # that is why this module is here

ERRORS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""What a connection may raise: the server's errors, the driver's own, the network's (time-outs are among them)."""
UNREADABLE: Final = (asyncpg.ClientConfigurationError, ValueError)
"""What a URL may raise."""


class DriverConnection(Protocol):
    """One connection of asyncpg."""

    def get_server_pid(self) -> int: ...

    async def execute(self, query: str) -> str: ...

    async def add_listener(self, channel: str, callback: Callable[[object, int, str, str], None]) -> None: ...

    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...

    async def close(self) -> None: ...

    def terminate(self) -> None: ...


async def connect(
    url: str, *, timeout_s: float, command_timeout_s: float, settings: Mapping[str, str]
) -> DriverConnection:
    """Connect to `url` within `timeout_s`; each command has `command_timeout_s`. `settings` are the server's."""
    untyped: Any = asyncpg
    connection: DriverConnection = await untyped.connect(
        url, timeout=timeout_s, command_timeout=command_timeout_s, server_settings=dict(settings)
    )
    return connection
