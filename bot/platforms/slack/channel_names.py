"""The names of the channels that the bot is in, in one or a few calls."""

from collections.abc import Mapping
from contextlib import aclosing

from aiohttp import ClientSession, ClientTimeout

from bot.platforms.slack.api import TIMEOUT_S, SlackApi, SlackRefused, items, text, web_client
from bot.platforms.slack.options import Method, SlackApp, SlackOptions
from bot.platforms.slack.places import MAX_PAGES, PAGE

# A group of people has no name that anybody chose. Without its scope Slack refuses a kind, and with it the call.
_KINDS = ("public_channel,private_channel", "public_channel")


async def names_at(app: SlackApp, settings: SlackOptions) -> Mapping[str, str]:
    """Return the names, without a bot that serves the app. Raises SlackError."""
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        client = web_client(settings.api_base_url, session, app.bot_token.reveal())
        return await channel_names(SlackApi(client, session))


async def channel_names(api: SlackApi) -> Mapping[str, str]:
    """Return the names by channel id, as "#general"; also of archived channels. Raises SlackError."""
    *wider, last = _KINDS
    for kinds in wider:
        try:
            return await _names(api, kinds)
        except SlackRefused as refused:
            if refused.code != "missing_scope":
                raise
    return await _names(api, last)


async def _names(api: SlackApi, kinds: str) -> dict[str, str]:
    names = dict[str, str]()
    listed = api.pages(Method.CONVERSATIONS, MAX_PAGES, types=kinds, limit=PAGE)
    async with aclosing(listed) as pages:
        async for page in pages:
            names |= {text(one, "id"): f"#{text(one, 'name')}" for one in items(page, "channels") if text(one, "name")}
    return names
