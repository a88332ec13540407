"""slack-sdk's client, as we use it.

Above: `run`, `doctor`. Below: slack-sdk, aiohttp's session.
"""

from typing import Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

LOCAL: Final = ("localhost", "127.0.0.1", "::1")


def web_client(base_url: str, session: ClientSession, token: str | None = None) -> AsyncWebClient:
    """Without retries: a repeated post would be a second message, and replies repeat what may be repeated."""
    client = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
    host = urlsplit(base_url).hostname or ""
    if host in LOCAL or proxy_bypass(host):
        client.proxy = None  # slack-sdk takes the environment's proxy for every host
    return client
