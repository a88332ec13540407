"""Serves one Slack workspace: signs in, builds the adapter's parts, and routes events to them.

Rules: one workspace, one bot token (`bot.platforms.slack.apps` serves several). A start-up failure is one sentence that
names the setting.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, NoReturn, assert_never

from aiohttp import ClientSession, ClientTimeout

from agent.errors import CogencyError, SettingsError
from agent.memory.forgetting_plans import Gone
from agent.ports.clock import Clock
from agent.shown_replies import ShownPage, ShownReply
from bot.chat.access.admission import NoticeThrottle
from bot.chat.host import Host
from bot.chat.logs import severity
from bot.chat.platform_errors import PlatformUnavailable
from bot.chat.telemetry import SILENT, Telemetry
from bot.chat.watermark import Watermark
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.acting import SlackHands
from bot.platforms.slack.agent_view import (
    BEGINS_PER_MINUTE,
    AgentEventHandler,
    AgentSessions,
    BestEffortCalls,
    Prompts,
    ViewedEntities,
)
from bot.platforms.slack.answer_commands import AnswerCommands
from bot.platforms.slack.api import (
    TIMEOUT_S,
    MethodRates,
    SlackApi,
    SlackError,
    SlackRefused,
    flag,
    sign_in_sentence,
    text,
    web_client,
)
from bot.platforms.slack.approving import SlackApprovers
from bot.platforms.slack.asking import SlackAsking
from bot.platforms.slack.attachments import SlackFiles
from bot.platforms.slack.caller import Direct, SlackCaller
from bot.platforms.slack.channel_history import SlackChannelReader
from bot.platforms.slack.channel_names import channel_names
from bot.platforms.slack.commands import PersonalCommands
from bot.platforms.slack.event_places import SlackEventPlaces
from bot.platforms.slack.event_retry_queue import EventRetryQueue
from bot.platforms.slack.home import Home
from bot.platforms.slack.http_events import EventsEndpoint, EventsListener, ServedWorkspace
from bot.platforms.slack.inbound import SlackBot, root_of
from bot.platforms.slack.intake import SlackIntake
from bot.platforms.slack.interactions import bolt_app
from bot.platforms.slack.members import Groups, Guests, OurBots, People
from bot.platforms.slack.message_pages import page_errors
from bot.platforms.slack.missed import SlackMissed
from bot.platforms.slack.occurrences import SlackSchedules
from bot.platforms.slack.options import (
    HttpEvents,
    Method,
    RotatingToken,
    SlackApp,
    SlackOptions,
    SocketMode,
    optional_scopes,
    required_features,
    scopes,
)
from bot.platforms.slack.places import Places, SlackMembership
from bot.platforms.slack.polls import SlackPolls
from bot.platforms.slack.revocation import is_revoked, wait_until_revoked
from bot.platforms.slack.search_slack import search_tools
from bot.platforms.slack.sockets import Delivery, Sockets
from bot.platforms.slack.surface import SlackSurfaces, SurfaceParts, delete_page, undo_kept
from bot.platforms.slack.surroundings import SlackNames, Threads

log = logging.getLogger(__name__)

SIGN_IN_SETTING: Final = "SLACK_BOT_TOKEN"
# The owner of the preferences that hold each app's workspace, by the app's name: Slack does not say to which workspace
# a revoked token belonged.
WORKSPACES: Final = "slack:workspaces"
# Slack's error codes for a token that was valid once; one that was copied wrongly is `invalid_auth`.
REVOKED_CODES: Final = frozenset({"account_inactive", "token_revoked"})
SERVED_LATELY: Final = timedelta(minutes=2)  # A process that serves an app notes it every half minute (`Watermark`)
DELIVERY_CLOSE_S: Final = 0.8
# Supervisors kill after ten seconds, and Slack may hang: what has not ended by then is cancelled.
CLOSE_S: Final = 1.2


class SlackUnreachable(PlatformUnavailable):
    """Slack could not be reached at the start."""


class AppRevoked(CogencyError):
    """The app was uninstalled, or its token revoked: it can no longer be served."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What runs while a workspace is served. `closers` are called at its end, after delivery is closed."""

    delivery: Delivery
    watermark: Watermark
    guests: Guests
    retries: EventRetryQueue
    asking: SlackAsking
    our_bots: OurBots
    uninstalled: asyncio.Event
    closers: tuple[Callable[[], Awaitable[None]], ...]


async def serve(
    host: Host,
    app: SlackApp,
    settings: SlackOptions,
    clock: Clock,
    telemetry: Telemetry = SILENT,
    listener: EventsListener | None = None,
) -> None:
    """Serve one app's workspace until cancelled. `listener`: receives requests over HTTP; None: its own.

    Raises SettingsError when Slack does not accept the tokens, AppRevoked when they are revoked, and SlackUnreachable
    when it cannot be reached at the start. Sockets that cannot be opened are retried without end.
    """
    settings = settings.of(app)
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        web = web_client(settings.api_base_url, session, app.bot_token.reveal())
        api = SlackApi(web, session, telemetry, app.known_as)
        api.rotating = app.bot_token if isinstance(app.bot_token, RotatingToken) else None
        me = await _sign_in(host, api, app, settings, clock)
        log.info("signed in to Slack as %s%s", me.name, f", for {app.name}" if app.name else "")
        listener = EventsListener(clock) if listener is None else listener
        parts = _build_parts(host, app, settings, clock, session, api, me, telemetry, listener)
        background: list[asyncio.Task[Any]] = [
            asyncio.create_task(parts.watermark.keep()),
            asyncio.create_task(parts.guests.keep()),
        ]
        try:
            await host.events.places_back([me.source])
            await parts.our_bots.announce("" if app.team else app.name)
            await _note_workspace(host, app, me.source)
            await parts.watermark.begin()
            await parts.retries.resume()
            await parts.asking.resume()
            await parts.delivery.open()
            ends = [
                asyncio.ensure_future(parts.uninstalled.wait()),
                asyncio.ensure_future(wait_until_revoked(api, clock)),
            ]
            background += ends
            await asyncio.wait({parts.delivery.failed, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if any(end.done() for end in ends):
                await _handle_revoked(host, app, me.source, parts)
                raise AppRevoked(platforms_texts.SLACK_APP_REVOKED)
            await parts.delivery.failed
        except SlackError as error:
            _raise_startup_error(error, settings, app.setting("SLACK_APP_TOKEN"))
        finally:
            for task in background:
                task.cancel()
            await _close([parts.delivery.close], DELIVERY_CLOSE_S)
            await _close(parts.closers, CLOSE_S)
            host.platforms.unregister(me.source)


async def _handle_revoked(host: Host, app: SlackApp, source: str, parts: _Parts) -> None:
    """Record that the app is gone: the workspace's content is erased later, unless the app is installed again."""
    await parts.watermark.retry(parts.our_bots.withdraw)
    await parts.watermark.retry(partial(host.preferences.set, WORKSPACES, app.known_as, None))
    if not parts.uninstalled.is_set():  # else the event has already recorded it
        gone = Gone(sources=frozenset({source}))
        await parts.watermark.retry(partial(host.events.place_gone, source, gone, at_once=False))


async def _close(closers: Collection[Callable[[], Awaitable[None]]], patience_s: float) -> None:
    tasks = [asyncio.ensure_future(close()) for close in closers]
    done, unfinished = await asyncio.wait(tasks, timeout=patience_s)
    for task in unfinished:
        task.cancel()
    for task in done:
        if (failed := task.exception()) is not None:
            log.warning("part of the Slack connection could not be closed: %r", failed)


def _build_parts(
    host: Host,
    app: SlackApp,
    settings: SlackOptions,
    clock: Clock,
    session: ClientSession,
    api: SlackApi,
    me: SlackBot,
    telemetry: Telemetry,
    listener: EventsListener,
) -> _Parts:
    best_effort, membership = BestEffortCalls(api, clock), SlackMembership(api, me)
    budgets = MethodRates(f"{me.source} {me.bot}", host.platforms.replicas)
    sessions = AgentSessions(best_effort, clock, budgets.rate(Method.SET_SESSION, BEGINS_PER_MINUTE))
    workspace = SurfaceParts(api, me, clock, settings.chosen, budgets)
    host.platforms.register_surface(me.source, SlackSurfaces(host, workspace, sessions))
    host.platforms.ask_readers(me.source, membership)
    guests = Guests(api, me, clock)
    groups = Groups(api, clock, settings.managers, settings.groups, settings.denied, serves_others=bool(app.name))
    people, places = People(api, me, clock, groups), Places(host, api, me, clock, guests)
    threads = Threads(api, me, people, places, membership)
    host.platforms.register_fetcher(me.source, SlackFiles(api, app.bot_token).fetch, threads.files_now)
    channels = SlackChannelReader(api, me, people, places, membership, clock, budgets)
    host.platforms.register_schedules(me.source, SlackSchedules(host, api, me, people, places, guests, clock))
    host.platforms.register_events(me.source, SlackEventPlaces(api, me, places, clock))
    approvers = SlackApprovers(host, api, me, people, SlackNames(people, places), groups, guests, membership)
    host.platforms.register_approvers(me.source, approvers)
    host.platforms.register_channel_reader(me.source, channels)
    hands = SlackHands(api, me, people, places, membership, channels, clock, budgets)
    host.platforms.register_hands(me.source, hands)
    host.platforms.register_names(me.source, partial(channel_names, api))
    host.platforms.register_tools(me.source, search_tools(api, me, clock))

    direct = Direct(host, me, clock)
    home = Home(host, api, me, people, clock, partial(SlackCaller, me, api, people, places, membership, direct))
    host.platforms.register_deletion(me.source, partial(_clear, api, sessions, home))
    personal_commands = PersonalCommands(host, api, me, people, places, membership, budgets, clock, home)
    answer_commands = AnswerCommands(host, api, me, clock, NoticeThrottle(clock))
    viewed = ViewedEntities(me, places, threads, clock)
    agent_events = AgentEventHandler(host, me, sessions, Prompts(host, me, people, best_effort, clock), viewed)

    our_bots, uninstalled = OurBots(host, me, clock), asyncio.Event()
    read = people, places, threads
    intake = SlackIntake(
        host, me, settings.allowed_bots, *read, personal_commands, answer_commands, agent_events, uninstalled, our_bots
    )
    watermark = Watermark(host, me.source, clock)
    missed = SlackMissed(api, me, watermark, intake, budgets)
    retries = EventRetryQueue(watermark, api, intake, missed.before, missed.gap, answer_commands.notify_waiting)
    web = web_client(settings.api_base_url, session)
    bolt = bolt_app(web, app.bot_token, me, personal_commands, SlackPolls(host.platforms.polls, api, me, clock))
    delivery: Delivery
    match app.delivery:
        case SocketMode():
            delivery = Sockets(retries.take, bolt, api, web, app.delivery, clock, missed, telemetry, app.known_as)
        case HttpEvents():
            serves = ServedWorkspace(me.team, me.user, me.enterprise, takes_others=not app.team)
            delivery = EventsEndpoint(
                retries.take, bolt, app, serves, app.delivery, clock, missed, listener, places.reads
            )
        case _:
            assert_never(app.delivery)
    host.platforms.register_silence(me.source, delivery.silence)
    host.platforms.register_history(me.source, missed.read_again)
    ending = (personal_commands.underway, missed, retries, groups, agent_events, home)
    return _Parts(
        delivery,
        watermark,
        guests,
        retries,
        personal_commands.asking,
        our_bots,
        uninstalled,
        tuple(part.close for part in ending),
    )


async def _clear(api: SlackApi, sessions: AgentSessions, home: Home, shown: ShownPage) -> None:
    """Delete or replace what Slack shows of forgotten content. Raises SurfaceError."""
    match shown.what:
        case ShownReply.PAGE:
            await delete_page(api, shown)
        case ShownReply.TITLE:
            if root := root_of(shown.page):
                with page_errors():
                    await sessions.untitle(shown.channel, root)
        case ShownReply.HOME:
            home.refresh(shown.page.rpartition(":")[2])
        case ShownReply.KEPT:
            await undo_kept(api, shown)
        case ShownReply.UNANSWERED | ShownReply.JOINED:
            pass  # Slack shows nothing until the answer begins
        case _:
            assert_never(shown.what)


async def _sign_in(host: Host, api: SlackApi, app: SlackApp, settings: SlackOptions, clock: Clock) -> SlackBot:
    try:
        identity = await api.sign_in()
    except SlackError as error:
        if (
            isinstance(error, SlackRefused)
            and error.code in REVOKED_CODES
            and await _handle_revoked_earlier(host, app, api, clock)
        ):
            raise AppRevoked(platforms_texts.SLACK_APP_REVOKED) from error
        _raise_startup_error(error, settings, app.setting(SIGN_IN_SETTING))
    if flag(identity, "is_enterprise_install"):  # all workspaces would be one, and share what was said in each
        raise SettingsError(platforms_texts.SLACK_WHOLE_ORGANIZATION.format(setting=app.setting(SIGN_IN_SETTING)))
    features = required_features(settings)
    if api.granted and (missing := scopes(features) - optional_scopes(features) - api.granted):
        names = ", ".join(sorted(missing))
        if "chat:write" in missing:
            raise SettingsError(
                platforms_texts.SCOPES_LACKING.format(setting=app.setting(SIGN_IN_SETTING), names=names)
            )
        log.warning("%s lacks scopes, so some features will not work: %s", app.setting(SIGN_IN_SETTING), names)
    return SlackBot(
        team=text(identity, "team_id"),
        user=text(identity, "user_id"),
        bot=text(identity, "bot_id"),
        address=text(identity, "url"),
        name=text(identity, "user") or "bot",
        prefix=app.command_prefix,
        organization=text(identity, "team"),
        app=app.known_as,
        enterprise=text(identity, "enterprise_id"),
    )


async def _note_workspace(host: Host, app: SlackApp, source: str) -> None:
    """Store the app's workspace for `_handle_revoked_earlier`. If that fails, the app is served all the same."""
    try:
        await host.preferences.set(WORKSPACES, app.known_as, source)
    except CogencyError as error:
        log.log(severity(error), "the workspace of %s could not be stored: %s", app.label, error)


async def _handle_revoked_earlier(host: Host, app: SlackApp, api: SlackApi, clock: Clock) -> bool:
    """Do as `_handle_revoked`, once, for an app that was revoked while no process served it; return whether it was.

    False if that is not known: the app was never served, or another process serves it, perhaps with a newer token.
    Raises StoreError, and SlackUnreachable if Slack accepts the token after all.
    """
    source = (await host.preferences.all_of(WORKSPACES)).get(app.known_as)
    last_served = await host.conversations.watermark(source) if source else None
    if source is None or last_served is None or clock.now() - last_served < SERVED_LATELY:
        return False
    if not await is_revoked(api, clock):
        raise SlackUnreachable(platforms_texts.SLACK_SIGN_IN_DOUBTED)
    await host.events.place_gone(source, Gone(sources=frozenset({source})), at_once=False)
    await host.preferences.set(WORKSPACES, app.known_as, None)
    return True


def _raise_startup_error(error: SlackError, settings: SlackOptions, setting: str) -> NoReturn:
    """Raise the error of a failed start: one sentence that names the setting."""
    if isinstance(error, SlackRefused):
        raise SettingsError(platforms_texts.SLACK_LOGIN_REFUSED.format(setting=setting, code=error.code)) from error
    raise SlackUnreachable(sign_in_sentence(error, settings.api_base_url), retry_after_s=error.retry_after_s) from error
