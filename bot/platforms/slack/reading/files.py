"""How the bytes of an attached file are fetched from Slack.

Rules. A file is read as a stream and cut at the caller's bound, whatever its announced size. The bot's token goes to
Slack's own files only (`api.file_url` says which addresses these are), and never along with a redirect. What lies
elsewhere, and is only linked in Slack as a remote file, is not fetched.
"""

from bot.platforms.slack.api import Method, SlackApi, SlackError
from bot.platforms.slack.payload import fields
from bot.platforms.slack.reading.inbound import url_of_file
from bot.secret import Secret


class Files:
    def __init__(self, api: SlackApi, token: Secret) -> None:
        self._api = api
        self._token = token

    async def fetch(self, address: str, most: int) -> bytes | None:
        """The first `most` bytes of the file at an address as `inbound` makes it: its id, and its URL if that was told.

        None if Slack does not give them, or somebody else would have to.
        """
        file, _, url = address.partition(" ")
        try:
            url = url or await self._ask(file)
            return await self._api.download(url, self._token, most) if url else None
        except SlackError:
            return None

    async def _ask(self, file: str) -> str:
        """Of a file from another workspace an event tells no more than its id."""
        return url_of_file(fields(await self._api.call(Method.FILE, file=file), "file"))
