"""Attached files: what is text is read, whatever else is named.

Above: `intake`. Below: `api`, which downloads.

Rules: a file is read as a stream and cut at its limit, whatever its announced size. The bot's token goes to Slack's
own hosts only, and never along with a redirect.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from agent.records import Quoted
from bot.platforms.slack.api import SlackApi, SlackError
from bot.platforms.slack.inbound import File
from bot.secret import Secret

MAX_FILES = 5
"""More are named without being read."""

MAX_BYTES = 60_000
"""About a dozen pages: a longer file would crowd out the thread."""

_TEXT_MIME = re.compile(r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|csv)")
_TEXT_NAME = re.compile(
    r".*\.(?:txt|md|csv|tsv|log|json|ya?ml|toml|ini|cfg|xml|html?|sql|sh|diff|patch|py|js|ts|rs|go|c|h)", re.IGNORECASE
)


def is_text(file: File) -> bool:
    """Whether a file says that it is text. Pure."""
    return bool(_TEXT_MIME.fullmatch(file.mime) or (not file.mime and _TEXT_NAME.fullmatch(file.name)))


class Files:
    def __init__(self, api: SlackApi, token: Secret, api_base_url: str) -> None:
        self._api = api
        self._token = token
        self._api_host = urlsplit(api_base_url).netloc

    async def quoted(self, files: Sequence[File], author: str) -> tuple[Quoted, ...]:
        """Each file as context: its text, or its name and kind. Never raises for a file that cannot be read."""
        return tuple([await self._quoted(file, author, read=at < MAX_FILES) for at, file in enumerate(files)])

    async def _quoted(self, file: File, author: str, *, read: bool) -> Quoted:
        source = f"attached file {file.name}"
        if not (read and is_text(file) and self._is_slacks(file.url)):
            return Quoted(source, author, f"({file.mime or 'unknown kind'}, {file.size:,} bytes; it was not read)")
        try:
            content = await self._api.download(file.url, self._token, MAX_BYTES + 1)
        except SlackError:
            return Quoted(source, author, "(it could not be read)")
        cut = "\n(cut here: the file is longer)" if len(content) > MAX_BYTES else ""
        return Quoted(source, author, content[:MAX_BYTES].decode(errors="replace") + cut)

    def _is_slacks(self, url: str) -> bool:
        parts = urlsplit(url)
        host = parts.hostname or ""
        slack = parts.scheme == "https" and (host == "slack.com" or host.endswith((".slack.com", ".slack-files.com")))
        return slack or (bool(parts.netloc) and parts.netloc == self._api_host)
