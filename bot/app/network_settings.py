"""How connections leave this machine: through a proxy, and which certificate authorities are trusted.

The names are those that other programs read in the environment, so that a machine that is set up for them needs nothing
else. Libraries read them there, too: the command line writes into the environment what `.env` sets (`variables`),
before anything opens a connection.
"""

import re
import ssl
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agent.errors import SettingsError
from bot.settings import texts as settings_texts
from bot.settings.declaration import ROUTE, Secrecy, Section, Sensitivity, setting
from bot.settings.parsers import text

HTTPS_PROXY: Final = "HTTPS_PROXY"
HTTP_PROXY: Final = "HTTP_PROXY"
NO_PROXY: Final = "NO_PROXY"
SSL_CERT_FILE: Final = "SSL_CERT_FILE"
# In the environment these are common in small letters, too, which libraries prefer.
_IN_SMALL_LETTERS: Final = (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)
# A proxy cannot reach what is on this machine.
HERE: Final = ("localhost", "127.0.0.1", "::1")
PROXY: Final = Sensitivity(secrecy=Secrecy.PASSWORD, is_route=True)
MAX_BYTES: Final = 20_000_000  # Of the file with authorities: the common ones have less than a hundredth of that
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+", re.ASCII)
_HAS_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://", re.ASCII)


def proxy(value: str) -> str:
    """Parse the address of a proxy; without a scheme, http:// is meant, as for other programs."""
    address = value if _HAS_SCHEME.match(value) else f"http://{value}"
    try:
        parts = urlsplit(address)
        _ = parts.port  # an invalid port is only noticed when it is read
    except ValueError:
        raise ValueError(settings_texts.PROXY_FORM) from None
    if parts.scheme.lower() not in {"http", "https"}:
        raise ValueError(settings_texts.PROXY_SCHEME)
    is_more = parts.path.strip("/") or parts.query or parts.fragment
    if is_more or not _HOST.fullmatch(parts.hostname or "") or not address.isascii() or not address.isprintable():
        raise ValueError(settings_texts.PROXY_FORM)
    return address.rstrip("/")


def _check(certificates: Path) -> None:
    """Raise SettingsError if a file has no authorities: each client would notice it in its own way, some not at all."""
    unreadable = SettingsError(settings_texts.CERTIFICATES_UNREADABLE.format(file=certificates))
    try:
        status = certificates.stat()
        # A pipe or a device would never end.
        is_read = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
        if is_read:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=certificates)
    except FileNotFoundError:
        raise SettingsError(settings_texts.CERTIFICATES_MISSING.format(file=certificates)) from None
    except ssl.SSLError:
        raise SettingsError(settings_texts.CERTIFICATES_NONE.format(file=certificates)) from None
    except OSError:
        raise unreadable from None
    if not is_read:
        raise unreadable


def certificate_file(value: str) -> Path:
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:  # "~name" of an unknown user
        raise ValueError(settings_texts.UNKNOWN_HOME) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """The proxy, and the certificate authorities."""

    https_proxy: str | None = setting(
        HTTPS_PROXY,
        proxy,
        None,
        section=Section.NETWORK,
        description=(
            "The address of the proxy for https:// and wss:// connections, with a username and password before the "
            "host if the proxy requires them (docs/proxy.md). Default: none."
        ),
        example="http://proxy.example.com:3128",
        sensitivity=PROXY,
    )
    http_proxy: str | None = setting(
        HTTP_PROXY,
        proxy,
        None,
        section=Section.NETWORK,
        description="The address of the proxy for http:// and ws:// connections. Default: none.",
        example="http://proxy.example.com:3128",
        sensitivity=PROXY,
    )
    no_proxy: str = setting(
        NO_PROXY,
        text,
        "",
        section=Section.NETWORK,
        description=(
            "Hosts to reach without the proxy, separated by commas: host names, domain suffixes, or IP addresses. The "
            "bot always reaches this machine directly."
        ),
        example="example.com,10.1.2.3",
        sensitivity=ROUTE,
    )
    certificates: Path | None = setting(
        SSL_CERT_FILE,
        certificate_file,
        None,
        section=Section.NETWORK,
        description=(
            "A PEM file with the certificate authorities to trust, instead of the system's (docs/proxy.md). Default: "
            "the system's."
        ),
        example="/etc/cogency/authorities.pem",
        sensitivity=ROUTE,
    )

    def variables(self) -> dict[str, str]:
        """Return the environment variables by which libraries, and programs that the bot starts, go the same way.

        Raises SettingsError if the file with the authorities cannot be used.
        """
        if self.certificates is not None:
            _check(self.certificates)
        proxies = {name: address for name, address in self._proxies().items() if address}
        hosts = [host for host in self.no_proxy.replace(" ", "").split(",") if host]
        written = {**proxies, NO_PROXY: ",".join(dict.fromkeys([*hosts, *HERE]))} if proxies else {}
        both_ways = {spelt: value for name, value in written.items() for spelt in (name, name.lower())}
        return {**both_ways, **({SSL_CERT_FILE: str(self.certificates)} if self.certificates else {})}

    def _proxies(self) -> dict[str, str | None]:
        return {HTTPS_PROXY: self.https_proxy, HTTP_PROXY: self.http_proxy}


def in_capitals(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the variables of proxies by the names of the settings."""
    small = {name: environ[name.lower()] for name in _IN_SMALL_LETTERS if environ.get(name.lower(), "").strip()}
    return {**environ, **small}
