"""Asks Slack how the app is set up, without changing anything or saying a word in a channel."""

from collections.abc import Awaitable
from typing import Final, TypeVar

from aiohttp import ClientSession, ClientTimeout

from agent.messages import JsonObject
from agent.ports import Clock
from bot.findings import Finding
from bot.platforms.slack.api import TIMEOUT_S, SlackApi, SlackError, first_text, items, text, web_client
from bot.platforms.slack.checks import SlackFacts, Told, findings
from bot.platforms.slack.features import Method
from bot.platforms.slack.options import SlackSettings, SocketMode
from bot.setting_parsers import Secret

T = TypeVar("T")

MOST_CHANNELS: Final = 200
"""One page, as large as Slack recommends: whoever is in more channels than that knows it."""


async def examine(settings: SlackSettings, clock: Clock, config_token: Secret | None = None) -> list[Finding]:
    """`config_token`: with it the app is compared with its manifest. Raises nothing that Slack can cause."""
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        client = web_client(settings.api_base_url, session, settings.bot_token.reveal())
        return findings(await _ask(SlackApi(client, session), settings, clock, config_token))


async def _ask(api: SlackApi, settings: SlackSettings, clock: Clock, config_token: Secret | None) -> SlackFacts:
    who = await _told(api.sign_in())
    if isinstance(who, SlackError):
        return SlackFacts(settings, who)
    return SlackFacts(
        settings=settings,
        signed_in=who,
        granted=api.granted,
        ours=clock.now(),
        theirs=api.said_at,
        socket=await _socket(api, settings),
        channels=await _told(_channels(api)),
        groups={group: await _told(_group(api, group)) for group in sorted(settings.named_groups)},
        app=await _app(api, text(who, "bot_id"), config_token),
    )


async def _told(asking: Awaitable[T]) -> Told[T]:
    try:
        return await asking
    except SlackError as error:
        return error


async def _socket(api: SlackApi, settings: SlackSettings) -> Told[bool] | None:
    """An address for one is fetched, and none is opened: a running bot keeps its own."""
    if not isinstance(settings.delivery, SocketMode):
        return None
    return await _told(_can_open(api, settings.delivery.app_token))


async def _can_open(api: SlackApi, app_token: Secret) -> bool:
    return bool(await api.open_connection(app_token))


async def _channels(api: SlackApi) -> tuple[str, ...]:
    page = await api.call(
        Method.CONVERSATIONS, types="public_channel,private_channel", exclude_archived=True, limit=MOST_CHANNELS
    )
    return tuple(first_text(channel, "name", "id") for channel in items(page, "channels"))


async def _group(api: SlackApi, group: str) -> bool:
    return bool(await api.call(Method.GROUP_MEMBERS, usergroup=group))


async def _app(api: SlackApi, bot: str, config_token: Secret | None) -> Told[JsonObject] | None:
    if config_token is None:
        return None
    return await _told(_manifest(api, bot, config_token))


async def _manifest(api: SlackApi, bot: str, config_token: Secret) -> JsonObject:
    app = text(await api.call(Method.BOT, bot=bot), "bot", "app_id")
    return await api.export_manifest(app, config_token)
