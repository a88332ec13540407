"""Where the bot serves other programs over HTTP."""

from dataclasses import dataclass
from typing import Final

from bot.settings import parsers
from bot.settings.declaration import Section, setting

HTTP: Final = "COGENCY_HTTP"
HTTP_ADDRESS: Final = "COGENCY_HTTP_ADDRESS"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """One server for everything that other programs call."""

    listen: tuple[str, int] | None = setting(
        HTTP,
        parsers.listen_address,
        None,
        section=Section.HTTP,
        description=("Where to serve requests from other programs, as host:port, behind a TLS proxy. Default: off."),
        example="127.0.0.1:8070",
    )
    """None: nowhere."""
    address: str = setting(
        HTTP_ADDRESS,
        parsers.url("https", "http"),
        "",
        section=Section.HTTP,
        description=(
            "The public address of the proxy that forwards to COGENCY_HTTP. If this is not set, only this machine can "
            "send requests."
        ),
        example="https://bot.example.com",
    )
    """"": the server is for this machine only."""
