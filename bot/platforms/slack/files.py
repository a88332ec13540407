"""Attached files: pictures are shown, text is read, whatever else is named with the reason.

Above: `intake`. Below: `api`, which downloads, `bot.pictures`.

Rules: a file is read as a stream and cut at its limit, whatever its announced size. The bot's token goes to Slack's
own hosts only, and never along with a redirect.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from urllib.parse import urlsplit

from agent.messages import Image
from agent.records import Quoted
from bot import pictures
from bot.platforms.slack.api import SlackApi, SlackError
from bot.platforms.slack.inbound import File
from bot.secret import Secret

MAX_FILES = 5
"""More are named without being read; pictures count apart."""

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

    async def read(self, files: Sequence[File], author: str) -> AsyncGenerator[Quoted | Image, None]:
        """Each file as soon as it is there: a picture, its text, or its name with the reason why it was not read."""
        left = {True: pictures.MAX_IMAGES, False: MAX_FILES}
        for file in files:
            is_picture = pictures.is_picture(file.mime)
            left[is_picture] -= 1
            if left[is_picture] < 0:
                content = pictures.not_read(file.mime, file.size, pictures.TOO_MANY)
            else:
                content = await (self._picture(file) if is_picture else self._text(file))
            yield content if isinstance(content, Image) else Quoted(f"attached file {file.name}", author, content)

    async def _picture(self, file: File) -> Image | str:
        if file.size > pictures.MAX_IMAGE_BYTES:
            return pictures.not_read(file.mime, file.size, pictures.TOO_LARGE)
        data = await self._download(file, pictures.MAX_IMAGE_BYTES + 1)
        read = pictures.UNREACHABLE if data is None else pictures.picture(data)
        return read if isinstance(read, Image) else pictures.not_read(file.mime, file.size, read)

    async def _text(self, file: File) -> str:
        if not is_text(file):
            return pictures.not_read(file.mime, file.size, pictures.WRONG_KIND)
        content = await self._download(file, MAX_BYTES + 1)
        if content is None:
            return pictures.not_read(file.mime, file.size, pictures.UNREACHABLE)
        cut = "\n(cut here: the file is longer)" if len(content) > MAX_BYTES else ""
        return content[:MAX_BYTES].decode(errors="replace") + cut

    async def _download(self, file: File, most: int) -> bytes | None:
        """The first `most` bytes; None if Slack does not give them, or somebody else would have to."""
        if not self._is_slacks(file.url):
            return None
        try:
            return await self._api.download(file.url, self._token, most)
        except SlackError:
            return None

    def _is_slacks(self, url: str) -> bool:
        parts = urlsplit(url)
        host = parts.hostname or ""
        slack = parts.scheme == "https" and (host == "slack.com" or host.endswith((".slack.com", ".slack-files.com")))
        return slack or (bool(parts.netloc) and parts.netloc == self._api_host)
