"""How the bytes of an attached file are fetched from Slack.

Above: `run` hands it to the host. Below: `api`, `inbound`.

Rules. A file is read as a stream and cut at the caller's bound, whatever its announced size. The bot's token goes to
Slack's own hosts only, and never along with a redirect.
"""

from urllib.parse import urlsplit

from bot.platforms.slack.api import Method, SlackApi, SlackError
from bot.platforms.slack.payload import fields, first_text
from bot.platforms.slack.reading.inbound import FILE_URLS
from bot.secret import Secret


class Files:
    def __init__(self, api: SlackApi, token: Secret, api_base_url: str) -> None:
        self._api = api
        self._token = token
        self._api_at = urlsplit(api_base_url)[:2]

    async def fetch(self, address: str, most: int) -> bytes | None:
        """The first `most` bytes of the file at an address as `inbound` makes it: its id, and its URL if that was told.

        None if Slack does not give them, or somebody else would have to.
        """
        file, _, url = address.partition(" ")
        try:
            url = url or await self._ask(file)
            return await self._api.download(url, self._token, most) if self._is_slacks(url) else None
        except SlackError:
            return None

    async def _ask(self, file: str) -> str:
        """Of a file from another workspace an event tells no more than its id."""
        return first_text(fields(await self._api.call(Method.FILE, file=file), "file"), *FILE_URLS)

    def _is_slacks(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:  # whoever shares a file that lies elsewhere says where
            return False
        slack = parts.scheme == "https" and (host == "slack.com" or host.endswith((".slack.com", ".slack-files.com")))
        return slack or parts[:2] == self._api_at
