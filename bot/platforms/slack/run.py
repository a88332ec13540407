"""Slack, from signing in to serving: connects, hands over what comes, and shows the answers.

Above: `bot.app` runs `serve` beside the other platforms. Below: every other module of this folder.

Rules: one workspace, one bot token. What is wrong at the start ends in one sentence that names the setting.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn, assert_never

from aiohttp import ClientSession, ClientTimeout
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import SettingsError
from agent.ports import Clock
from agent.records import Incoming, Shown, ShownPage
from bot.access.told import Told
from bot.host import Host, PlatformUnavailable
from bot.platforms.slack.agent_desk import AgentDesk
from bot.platforms.slack.api import TIMEOUT_S, SlackApi, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.asking import Asking
from bot.platforms.slack.control import Control
from bot.platforms.slack.delivery.http import Endpoint
from bot.platforms.slack.delivery.line import Delivery, Line
from bot.platforms.slack.delivery.missed import Missed
from bot.platforms.slack.delivery.owed import Owed
from bot.platforms.slack.delivery.sockets import Sockets
from bot.platforms.slack.desk import Desk
from bot.platforms.slack.intake import Intake
from bot.platforms.slack.listeners import bolt_app
from bot.platforms.slack.members.groups import Groups
from bot.platforms.slack.members.guests import Guests
from bot.platforms.slack.members.membership import SlackMembership
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import Places
from bot.platforms.slack.payload import text
from bot.platforms.slack.reading.files import Files
from bot.platforms.slack.reading.inbound import Me, root_of
from bot.platforms.slack.reading.looking import Looking
from bot.platforms.slack.reading.threads import Threads
from bot.platforms.slack.replies.ornaments import Ornaments
from bot.platforms.slack.replies.page_errors import page_errors
from bot.platforms.slack.replies.private import PrivateSurface
from bot.platforms.slack.replies.reply_to import decode
from bot.platforms.slack.replies.sessions import Sessions
from bot.platforms.slack.replies.surface import SlackSurface, Workspace, delete_page
from bot.platforms.slack.settings import HttpEvents, SlackSettings, SocketMode
from bot.platforms.slack.setup.features import scopes, wanted
from bot.platforms.slack.views.home import Home
from bot.platforms.slack.views.prompts import Prompts
from bot.platforms.slack.views.windows import Windows
from bot.platforms.slack.web import web_client
from bot.surface import Surface
from bot.turns.missed import Listening

log = logging.getLogger(__name__)


DELIVERY_CLOSE_S: Final = 0.8
CLOSE_S: Final = 1.2
"""Supervisors kill after ten seconds, and Slack may have frozen: what has not ended by then is left to its fate."""


class SlackUnreachable(PlatformUnavailable):
    """Slack could not be reached at the start."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What runs while a workspace is served. `closing`: what ends with it, after nothing more is delivered."""

    delivery: Delivery
    listening: Listening
    guests: Guests
    owed: Owed
    asking: Asking
    closing: tuple[Callable[[], Awaitable[None]], ...]


async def serve(host: Host, settings: SlackSettings, clock: Clock) -> None:
    """Serve one workspace until cancelled.

    Raises SettingsError when Slack does not take the tokens, also later, and SlackUnreachable when it cannot be reached
    at the start. Sockets that cannot be opened are tried again here, for ever.
    """
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        api = SlackApi(web_client(settings.api_base_url, session, settings.bot_token.reveal()), session)
        me = await _sign_in(api, settings)
        log.info("signed in to Slack as %s", me.name)
        parts = _put_together(host, settings, clock, session, api, me)
        keeping = [asyncio.create_task(parts.listening.keep()), asyncio.create_task(parts.guests.keep())]
        try:
            await host.back([me.source])
            await parts.listening.begin()
            await parts.owed.resume()
            await parts.asking.resume()
            await parts.delivery.open()
            await parts.delivery.failed
        except SlackError as error:
            _explain(error, settings, "SLACK_APP_TOKEN")
        finally:
            for task in keeping:
                task.cancel()
            await _close([parts.delivery.close], DELIVERY_CLOSE_S)
            await _close(parts.closing, CLOSE_S)
            host.hide(me.source)


async def _close(closing: Collection[Callable[[], Awaitable[None]]], patience_s: float) -> None:
    tasks = [asyncio.ensure_future(close()) for close in closing]
    done, hanging = await asyncio.wait(tasks, timeout=patience_s)
    for task in hanging:
        task.cancel()
    for task in done:
        if (failed := task.exception()) is not None:
            log.warning("something of Slack could not be closed: %r", failed)


def _put_together(
    host: Host, settings: SlackSettings, clock: Clock, session: ClientSession, api: SlackApi, me: Me
) -> _Parts:
    ornaments, membership = Ornaments(api, clock), SlackMembership(api, me)
    sessions = Sessions(ornaments, clock)
    workspace = Workspace(api, me, clock, settings.streaming)
    host.show_on(me.source, _Surfaces(host, workspace, sessions))
    host.ask_readers(me.source, membership)
    host.fetch_on(me.source, Files(api, settings.bot_token).fetch)

    guests = Guests(api, me, clock)
    groups = Groups(api, clock, settings.managers, settings.groups, settings.denied)
    people, places = People(api, me, clock, groups), Places(host, api, me, clock, guests)
    threads = Threads(api, me, people, places, membership)

    home = Home(host, api, me, people, clock)
    host.delete_on(me.source, partial(_clear, api, sessions, home))
    desk = Desk(host, api, me, people, places, membership, workspace.budgets, clock, home)
    control = Control(host, api, me, people, places, clock, Told(clock))
    windows = Windows(host, api, me, people, places, membership, home)
    looking = Looking(me, places, threads, clock)
    agent = AgentDesk(host, me, sessions, Prompts(host, me, people, ornaments, clock), looking)

    intake = Intake(host, me, settings.allowed_bots, people, places, threads, desk, control, agent)
    listening = Listening(host, me.source, clock)
    missed = Missed(api, me, listening, intake)
    owed = Owed(listening, api, intake, missed.see, control.keep_waiting)
    web = web_client(settings.api_base_url, session)
    app = bolt_app(web, settings.bot_token, me, owed, missed.gap, desk, control, windows)
    delivery = _delivery(app, api, web, settings, clock, missed)
    ending = (desk.underway, missed, owed, groups, agent, home)
    return _Parts(delivery, listening, guests, owed, desk.asking, tuple(part.close for part in ending))


async def _clear(api: SlackApi, sessions: Sessions, home: Home, shown: ShownPage) -> None:
    """Take away what Slack shows of forgotten words. Raises SurfaceError."""
    match shown.what:
        case Shown.PAGE:
            await delete_page(api, shown)
        case Shown.TITLE:
            if root := root_of(shown.page):
                with page_errors():
                    await sessions.untitle(shown.channel, root)
        case Shown.HOME:
            home.show_anew(shown.page.rpartition(":")[2])
        case _:
            assert_never(shown.what)


def _delivery(
    app: AsyncApp, api: SlackApi, web: AsyncWebClient, settings: SlackSettings, clock: Clock, line: Line
) -> Delivery:
    match settings.delivery:
        case SocketMode():
            return Sockets(app, api, web, settings.delivery, clock, line)
        case HttpEvents():
            return Endpoint(app, settings.delivery, clock, line)
        case _:
            assert_never(settings.delivery)


async def _sign_in(api: SlackApi, settings: SlackSettings) -> Me:
    try:
        who = await api.sign_in()
    except SlackError as error:
        _explain(error, settings, "SLACK_BOT_TOKEN")
    if api.granted and (missing := scopes(wanted(settings)) - api.granted):
        names = ", ".join(sorted(missing))
        if "chat:write" in missing:
            raise SettingsError(
                f"SLACK_BOT_TOKEN lacks scopes ({names}): take over manifests/slack.yaml and install the app again."
            )
        log.warning("SLACK_BOT_TOKEN lacks scopes; what needs them will not work: %s", names)
    return Me(
        team=text(who, "team_id"),
        user=text(who, "user_id"),
        bot=text(who, "bot_id"),
        address=text(who, "url"),
        name=text(who, "user") or "bot",
        prefix=settings.command_prefix,
        organization=text(who, "team"),
    )


def _explain(error: SlackError, settings: SlackSettings, setting: str) -> NoReturn:
    """One sentence that names the setting."""
    if isinstance(error, SlackRefused):
        raise SettingsError(
            f"{setting} is not accepted by Slack ({error.code}): copy it again from the app's page."
        ) from error
    raise SlackUnreachable(
        f"Slack does not answer at {settings.api_base_url} (SLACK_API_BASE_URL): check the network. {error}",
        retry_after_s=error.retry_after_s if isinstance(error, SlackLimited) else 0.0,
    ) from error


class _Surfaces:
    """Where an answer is shown, from what was stored with its question."""

    def __init__(self, host: Host, workspace: Workspace, sessions: Sessions) -> None:
        self._host = host
        self._workspace = workspace
        self._sessions = sessions

    def __call__(self, incoming: Incoming) -> Surface:
        to = decode(incoming.reply_to)
        if to.private:
            return PrivateSurface(self._workspace.api, to, incoming.conversation)
        session = self._sessions.of(to, incoming.text)
        stop = partial(self._host.stop, incoming.conversation)
        return SlackSurface(self._workspace, to, incoming.conversation, session, stop)
