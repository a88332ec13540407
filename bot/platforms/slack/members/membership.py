"""Who can read which private channel, group DM or shared channel of the workspace now: its members.

Above: `run` hands it to the host. Below: `api`, `inbound`, `payload`.

Rule: Slack lists a person's channels, of the private ones those in which the bot is, too. What is not among them is a
no; what Slack does not tell, or tells behind too many pages, is unknown.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from bot.platforms.slack.api import Method, SlackApi, SlackError
from bot.platforms.slack.payload import items, text
from bot.platforms.slack.reading.inbound import Me

KINDS = "public_channel,private_channel,mpim"
"""Public ones, too: a channel that is shared with another workspace is a group place."""
PAGE = 200
"""As many as Slack recommends."""
MAX_PAGES = 5
"""A thousand channels: somebody waits, and hardly anybody is in more."""


class SlackMembership:
    """The port Membership."""

    def __init__(self, api: SlackApi, me: Me) -> None:
        self._api = api
        self._me = me

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        prefix = f"{self._me.source}:"
        channels = {place.removeprefix(prefix): place for place in places if place.startswith(prefix)}
        found: dict[str, bool] = {}
        try:
            async with aclosing(self._channels(person.removeprefix(prefix))) as pages:
                async for listed in pages:
                    found |= {channels[channel]: True for channel in listed & channels.keys()}
                    if len(found) == len(channels):
                        return found
        except SlackError:
            return found
        return {place: place in found for place in channels.values()}

    async def _channels(self, user: str) -> AsyncGenerator[frozenset[str], None]:
        """Page by page. Raises SlackError, also when there is no end to them."""
        cursor = ""
        for _ in range(MAX_PAGES):
            page = await self._api.call(Method.CONVERSATIONS, user=user, types=KINDS, limit=PAGE, cursor=cursor or None)
            yield frozenset(text(channel, "id") for channel in items(page, "channels"))
            cursor = text(page, "response_metadata", "next_cursor")
            if not cursor:
                return
        raise SlackError(f"{user} is in more channels than are read.")
