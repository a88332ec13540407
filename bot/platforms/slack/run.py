"""Slack, from signing in to serving: connects, hands over what comes, and shows the answers.

Rules: one workspace, one bot token (`bot.platforms.slack.apps` serves several). What is wrong at the start ends in one
sentence that names the setting.

Commands, shortcuts, windows and buttons come through Bolt. All of it is acknowledged by us, after what it asks is
stored. What Slack has to be asked about it is not waited for longer than Slack waits for us.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, NoReturn, Protocol, TypeAlias, assert_never, cast

from aiohttp import ClientSession, ClientTimeout
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import CogencyError, Refused, SettingsError
from agent.memory.forgetting_plans import Gone
from agent.ports import Clock
from agent.records import ShownPage, ShownReply
from agent.tools.read_channel import ReadChannelTool
from bot.access.admission import NoticeThrottle
from bot.commands.talking import SUMMARISE
from bot.host import Host, PlatformUnavailable
from bot.logs import severity
from bot.platforms.slack import block_kit, home, panels
from bot.platforms.slack.agent_view import (
    BEGINS_PER_MINUTE,
    AgentDesk,
    AgentSessions,
    BestEffortCalls,
    Prompts,
    ViewedEntities,
)
from bot.platforms.slack.api import (
    TIMEOUT_S,
    Method,
    MethodRates,
    SlackApi,
    SlackError,
    SlackLimited,
    SlackRefused,
    text,
    web_client,
)
from bot.platforms.slack.asking import SlackAsking
from bot.platforms.slack.attachments import SlackFiles
from bot.platforms.slack.channel_history import SlackChannelReader
from bot.platforms.slack.commands import AnswerCommands, PersonalCommands
from bot.platforms.slack.home import Home
from bot.platforms.slack.http_events import EventsEndpoint, EventsListener
from bot.platforms.slack.inbound import SlackBot, of_command, root_of
from bot.platforms.slack.intake import SlackIntake
from bot.platforms.slack.members import Groups, Guests, OurBots, People
from bot.platforms.slack.message_pages import page_errors
from bot.platforms.slack.missed import EventRetryQueue, SlackMissed
from bot.platforms.slack.occurrences import SlackSchedules
from bot.platforms.slack.options import (
    HttpEvents,
    RotatingToken,
    SlackApp,
    SlackSettings,
    SocketMode,
    optional_scopes,
    scopes,
    wanted,
)
from bot.platforms.slack.places import Places, SlackMembership
from bot.platforms.slack.search_slack import search_tools
from bot.platforms.slack.slash_commands import COMMANDS, SLASH_COMMANDS
from bot.platforms.slack.sockets import Delivery, Sockets
from bot.platforms.slack.surface import SlackSurfaces, SurfaceParts, delete_page, undo_kept
from bot.platforms.slack.surroundings import Threads
from bot.reply_surface import ReplyAction
from bot.setting_parsers import Secret
from bot.telemetry import SILENT, Telemetry
from bot.texts import setup_texts
from bot.turns.watermark import Watermark

log = logging.getLogger(__name__)

SIGNS_IN: Final = "SLACK_BOT_TOKEN"
# Whose preferences say of which workspace each app was, by its name: a token that was taken back does not tell.
SIGNED_IN: Final = "slack:workspaces"
# What Slack says of a token that was good once; what was copied wrongly is `invalid_auth`.
TAKEN_BACK: Final = frozenset({"account_inactive", "token_revoked"})
SERVED_LATELY: Final = timedelta(minutes=2)  # Whoever serves an app says so every half minute (`bot.turns.watermark`)
DELIVERY_CLOSE_S: Final = 0.8
# Supervisors kill after ten seconds, and Slack may have frozen: what has not ended by then is left to its fate.
CLOSE_S: Final = 1.2


class SlackUnreachable(PlatformUnavailable):
    """Slack could not be reached at the start."""


class AppRevoked(CogencyError):
    """The app was uninstalled, or its token revoked: it cannot be served any more."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What runs while a workspace is served. `closing`: what ends with it, after nothing more is delivered."""

    delivery: Delivery
    listening: Watermark
    guests: Guests
    owed: EventRetryQueue
    asking: SlackAsking
    ours: OurBots
    uninstalled: asyncio.Event
    closing: tuple[Callable[[], Awaitable[None]], ...]


async def serve(
    host: Host,
    app: SlackApp,
    settings: SlackSettings,
    clock: Clock,
    telemetry: Telemetry = SILENT,
    listener: EventsListener | None = None,
) -> None:
    """Serve one app's workspace until cancelled. `listener`: which brings requests over HTTP; None: one of its own.

    Raises SettingsError when Slack does not take the tokens, AppRevoked when it takes them back, and SlackUnreachable
    when it cannot be reached at the start. Sockets that cannot be opened are tried again here, for ever.
    """
    settings = settings.of(app)
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        web = web_client(settings.api_base_url, session, app.bot_token.reveal())
        api = SlackApi(web, session, telemetry, app.known_as)
        api.rotating = app.bot_token if isinstance(app.bot_token, RotatingToken) else None
        me = await _sign_in(host, api, app, settings, clock)
        log.info("signed in to Slack as %s%s", me.name, f", for {app.name}" if app.name else "")
        listener = EventsListener(clock) if listener is None else listener
        parts = _put_together(host, app, settings, clock, session, api, me, telemetry, listener)
        keeping: list[asyncio.Task[Any]] = [
            asyncio.create_task(parts.listening.keep()),
            asyncio.create_task(parts.guests.keep()),
        ]
        try:
            await host.forgetting.back([me.source])
            await parts.ours.announce("" if app.team else app.name)
            await _note_workspace(host, app, me.source)
            await parts.listening.begin()
            await parts.owed.resume()
            await parts.asking.resume()
            await parts.delivery.open()
            ends = [asyncio.create_task(event.wait()) for event in (parts.uninstalled, api.revoked)]
            keeping += ends
            await asyncio.wait({parts.delivery.failed, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if any(end.done() for end in ends):
                await _leave(host, app, me.source, parts)
                raise AppRevoked(setup_texts.SLACK_APP_REVOKED)
            await parts.delivery.failed
        except SlackError as error:
            _explain(error, settings, app.setting("SLACK_APP_TOKEN"))
        finally:
            for task in keeping:
                task.cancel()
            await _close([parts.delivery.close], DELIVERY_CLOSE_S)
            await _close(parts.closing, CLOSE_S)
            host.platforms.unregister(me.source)


async def _leave(host: Host, app: SlackApp, source: str, parts: _Parts) -> None:
    """The app is gone: what was said in this workspace goes, too, unless it is back in time."""
    await parts.listening.insist(parts.ours.withdraw)
    await parts.listening.insist(partial(host.preferences.set, SIGNED_IN, app.known_as, None))
    if not parts.uninstalled.is_set():  # Slack's answers alone told
        gone = Gone(sources=frozenset({source}))
        await parts.listening.insist(partial(host.forgetting.gone, source, gone, at_once=False))


async def _close(closing: Collection[Callable[[], Awaitable[None]]], patience_s: float) -> None:
    tasks = [asyncio.ensure_future(close()) for close in closing]
    done, hanging = await asyncio.wait(tasks, timeout=patience_s)
    for task in hanging:
        task.cancel()
    for task in done:
        if (failed := task.exception()) is not None:
            log.warning("something of Slack could not be closed: %r", failed)


def _put_together(
    host: Host,
    app: SlackApp,
    settings: SlackSettings,
    clock: Clock,
    session: ClientSession,
    api: SlackApi,
    me: SlackBot,
    telemetry: Telemetry,
    listener: EventsListener,
) -> _Parts:
    best_effort, membership = BestEffortCalls(api, clock), SlackMembership(api, me)
    budgets = MethodRates(f"{me.source} {me.bot}", host.replicas)
    sessions = AgentSessions(best_effort, clock, budgets.rate(Method.SET_SESSION, BEGINS_PER_MINUTE))
    workspace = SurfaceParts(api, me, clock, settings.streaming, budgets)
    host.platforms.register_surface(me.source, SlackSurfaces(host, workspace, sessions))
    host.platforms.ask_readers(me.source, membership)
    guests = Guests(api, me, clock)
    groups = Groups(api, clock, settings.managers, settings.groups, settings.denied, elsewhere=bool(app.name))
    people, places = People(api, me, clock, groups), Places(host, api, me, clock, guests)
    threads = Threads(api, me, people, places, membership)
    host.platforms.register_fetcher(me.source, SlackFiles(api, app.bot_token).fetch, threads.files_now)
    channels = SlackChannelReader(api, me, people, places, membership, clock, budgets)
    reading = ReadChannelTool(channels, host.learn_nothing)
    host.platforms.register_schedules(me.source, SlackSchedules(host, api, me, people, places, guests, clock))
    host.platforms.register_tools(me.source, [reading, *search_tools(api, me, clock)])

    home = Home(host, api, me, people, clock)
    host.platforms.register_deletion(me.source, partial(_clear, api, sessions, home))
    desk = PersonalCommands(host, api, me, people, places, membership, budgets, clock, home)
    control = AnswerCommands(host, api, me, clock, NoticeThrottle(clock))
    viewed = ViewedEntities(me, places, threads, clock)
    agent = AgentDesk(host, me, sessions, Prompts(host, me, people, best_effort, clock), viewed)

    ours, uninstalled = OurBots(host, me, clock), asyncio.Event()
    read = people, places, threads
    intake = SlackIntake(host, me, settings.allowed_bots, *read, desk, control, agent, uninstalled, ours)
    listening = Watermark(host, me.source, clock)
    missed = SlackMissed(api, me, listening, intake, budgets)
    owed = EventRetryQueue(listening, api, intake, missed.before, missed.gap, control.notify_waiting)
    web = web_client(settings.api_base_url, session)
    bolt = bolt_app(web, app.bot_token, me, desk)
    delivery: Delivery
    match app.delivery:
        case SocketMode():
            delivery = Sockets(owed.take, bolt, api, web, app.delivery, clock, missed, telemetry, app.known_as)
        case HttpEvents():
            delivery = EventsEndpoint(owed.take, bolt, app, me.team, me.user, app.delivery, clock, missed, listener)
        case _:
            assert_never(app.delivery)
    host.platforms.register_silence(me.source, delivery.silence)
    ending = (desk.underway, missed, owed, groups, agent, home)
    return _Parts(
        delivery, listening, guests, owed, desk.asking, ours, uninstalled, tuple(part.close for part in ending)
    )


async def _clear(api: SlackApi, sessions: AgentSessions, home: Home, shown: ShownPage) -> None:
    """Take away what Slack shows of forgotten words. Raises SurfaceError."""
    match shown.what:
        case ShownReply.PAGE:
            await delete_page(api, shown)
        case ShownReply.TITLE:
            if root := root_of(shown.page):
                with page_errors():
                    await sessions.untitle(shown.channel, root)
        case ShownReply.HOME:
            home.show_anew(shown.page.rpartition(":")[2])
        case ShownReply.KEPT:
            await undo_kept(api, shown)
        case _:
            assert_never(shown.what)


async def _sign_in(host: Host, api: SlackApi, app: SlackApp, settings: SlackSettings, clock: Clock) -> SlackBot:
    try:
        who = await api.sign_in()
    except SlackError as error:
        if isinstance(error, SlackRefused) and error.code in TAKEN_BACK and await _left(host, app, clock):
            raise AppRevoked(setup_texts.SLACK_APP_REVOKED) from error
        _explain(error, settings, app.setting(SIGNS_IN))
    features = wanted(settings)
    if api.granted and (missing := scopes(features) - optional_scopes(features) - api.granted):
        names = ", ".join(sorted(missing))
        if "chat:write" in missing:
            raise SettingsError(setup_texts.SCOPES_LACKING.format(setting=app.setting(SIGNS_IN), names=names))
        log.warning("%s lacks scopes; what needs them will not work: %s", app.setting(SIGNS_IN), names)
    return SlackBot(
        team=text(who, "team_id"),
        user=text(who, "user_id"),
        bot=text(who, "bot_id"),
        address=text(who, "url"),
        name=text(who, "user") or "bot",
        prefix=app.command_prefix,
        organization=text(who, "team"),
        app=app.known_as,
        enterprise=text(who, "enterprise_id"),
    )


async def _note_workspace(host: Host, app: SlackApp, source: str) -> None:
    """For `_left`. It is served all the same if that cannot be kept."""
    try:
        await host.preferences.set(SIGNED_IN, app.known_as, source)
    except CogencyError as error:
        log.log(severity(error), "the workspace of %s could not be kept: %s", app.label, error)


async def _left(host: Host, app: SlackApp, clock: Clock) -> bool:
    """An app that was served before went while nobody listened: as `_leave`, once. False if that cannot be said: it was
    never served, or another process serves it, whose token may be a newer one. Raises StoreError.
    """
    source = (await host.preferences.of(SIGNED_IN)).get(app.known_as)
    heard = await host.conversations.watermark(source) if source else None
    if source is None or heard is None or clock.now() - heard < SERVED_LATELY:
        return False
    await host.forgetting.gone(source, Gone(sources=frozenset({source})), at_once=False)
    await host.preferences.set(SIGNED_IN, app.known_as, None)
    return True


def _explain(error: SlackError, settings: SlackSettings, setting: str) -> NoReturn:
    """One sentence that names the setting."""
    if isinstance(error, SlackRefused):
        raise SettingsError(setup_texts.SLACK_LOGIN_REFUSED.format(setting=setting, code=error.code)) from error
    raise SlackUnreachable(
        setup_texts.SLACK_SILENT.format(address=settings.api_base_url, error=error),
        retry_after_s=error.retry_after_s if isinstance(error, SlackLimited) else 0.0,
    ) from error


# How long a question that was asked by a command or a press may take to be taken in before it is acknowledged: it is
# stored by then, and Slack waits for three seconds.
ACK_S: Final = 2.0
REMEDY: Final = "compare the app's commands with `cogency slack manifest`"

Body: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Body], Awaitable[None]]
ClickHandler: TypeAlias = Callable[[Body, Body], Awaitable[None]]
Register: TypeAlias = Callable[[Callable[..., Awaitable[object]]], object]


class _Registry(Protocol):
    """AsyncApp's own types are incomplete."""

    def command(self, command: str | re.Pattern[str]) -> Register: ...
    def shortcut(self, constraints: str) -> Register: ...
    def view(self, constraints: str) -> Register: ...
    def action(self, constraints: re.Pattern[str]) -> Register: ...


def bolt_app(
    web: AsyncWebClient,
    token: Secret,
    me: SlackBot,
    desk: PersonalCommands,
) -> AsyncApp:
    """The Bolt app, with all that it listens to.

    `web` has no token of its own: Bolt would then ask whose it is."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot, bot_token=token.reveal()
        )

    quiet = logging.getLogger("slack_bolt")
    quiet.setLevel(logging.ERROR)  # it warns of a token in the environment that it does not use, at every start
    app = AsyncApp(
        name=quiet.name,  # to find a name by itself it reads the source of every caller, for a second
        logger=quiet,
        client=web,
        authorize=authorize,
        request_verification_enabled=False,
    )
    on = cast("_Registry", app)

    _listen(on, desk)
    _listen_at_home(on, desk)
    return app


def _listen(on: _Registry, desk: PersonalCommands) -> None:
    """To commands, shortcuts, windows and buttons."""
    shortcuts = {
        panels.ANYWHERE_SHORTCUT: desk.asking.open_anywhere,
        panels.ASK_SHORTCUT: desk.asking.open_about,
        panels.MEMORY_SHORTCUT: desk.memory_shortcut,
        panels.FORGET_SHORTCUT: desk.forget_shortcut,
    }
    for command in SLASH_COMMANDS:
        asks = command.name == "ask"
        handle = _storing(desk, desk.asking.ask) if asks else _acting(desk, partial(desk.slash, command))
        on.command(f"/{desk.me.prefix}{command.name}")(handle)
    for name, handle in shortcuts.items():
        forgets = name == panels.FORGET_SHORTCUT
        on.shortcut(name)(_acting(desk, handle if forgets else _admitted(desk, handle)))
    on.shortcut(SUMMARISE.id)(_storing(desk, partial(desk.asking.ask_by_entry, SUMMARISE)))
    on.command(unknown_commands(desk.me.prefix))(_unknown_command(desk))
    on.view(panels.ANYWHERE_VIEW)(_storing(desk, desk.asking.asked_anywhere))
    on.view(panels.ASK_VIEW)(_storing(desk, desk.asking.asked_about))
    on.action(re.compile(f"^{panels.PRESS}:.*$"))(_clicked(desk, desk.pressed))
    on.action(re.compile(f"^{panels.TICK}:.*$"))(_ticked)
    asking = f"(?:{ReplyAction.CONTINUE}|{ReplyAction.REGENERATE})"
    on.action(re.compile(f"^{block_kit.ACTION}:{asking}$"))(_asked_by_click(desk, desk.replies.clicked))
    on.action(re.compile(f"^{block_kit.ACTION}:(?!{asking}$).*$"))(_clicked(desk, desk.replies.clicked))


def unknown_commands(prefix: str) -> re.Pattern[str]:
    """Every command but ours. Bolt asks the next listener that matches when one has not acknowledged in three seconds,
    so a pattern that took in ours would tell a slow question that there is no such command."""
    ours = "|".join(re.escape(command.name) for command in SLASH_COMMANDS)
    return re.compile(rf"^(?!/{re.escape(prefix)}(?:{ours})$)")


def _listen_at_home(on: _Registry, desk: PersonalCommands) -> None:
    """To what only the Home tab has, and to the forms of commands."""
    on.action(re.compile(f"^{home.HOME_ACTION}:.*$"))(_clicked(desk, desk.home.clicked))
    for command in COMMANDS:
        for form in command.forms:
            on.view(panels.view_id(form))(_filled_in(desk))


def _filled_in(desk: PersonalCommands) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """A window with mistakes stays; else as `_acting`."""

    async def run(ack: AsyncAck, body: Body) -> None:
        sent = None
        try:
            sent = await desk.read_form(body)
            if sent is not None and (mistakes := sent.form.mistakes(sent.filled)):
                await ack(response_action="errors", errors=dict(mistakes))
                return
        except CogencyError as error:
            await ack()
            await desk.failed(body, error)
            return
        await ack()
        if sent is not None:
            await _told(desk, body, desk.form_sent(sent))

    return run


async def _ticked(ack: AsyncAck) -> None:
    """A box beside a button: it is read when the button is pressed."""
    await ack()


def _clicked(desk: PersonalCommands, handle: ClickHandler) -> Callable[[AsyncAck, Body, Body], Awaitable[None]]:
    """Acknowledge at once, as `_acting`."""

    async def run(ack: AsyncAck, body: Body, action: Body) -> None:
        await ack()
        await _told(desk, body, handle(body, action))

    return run


def _asked_by_click(desk: PersonalCommands, handle: ClickHandler) -> Callable[[AsyncAck, Body, Body], Awaitable[None]]:
    """Acknowledge after it is stored, as `_storing`."""

    async def run(ack: AsyncAck, body: Body, action: Body) -> None:
        await asyncio.wait({desk.underway.begin(_do(desk, body, handle(body, action)))}, timeout=ACK_S)
        await ack()

    return run


def _storing(desk: PersonalCommands, handle: Handler) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """Acknowledge after it is stored, which it does first."""

    async def run(ack: AsyncAck, body: Body) -> None:
        await asyncio.wait({desk.underway.begin(_do(desk, body, handle(body)))}, timeout=ACK_S)
        await ack()

    return run


def _acting(desk: PersonalCommands, handle: Handler) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """Acknowledge at once: what it does can be asked for again."""

    async def run(ack: AsyncAck, body: Body) -> None:
        await ack()
        await _told(desk, body, handle(body))

    return run


def _admitted(desk: PersonalCommands, handle: Handler) -> Handler:
    """Only for those who may give orders there, and not too often."""

    async def run(body: Body) -> None:
        await desk.admit(body)
        await handle(body)

    return run


def _unknown_command(desk: PersonalCommands) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """One that the app has in Slack, and this program does not know."""

    async def run(ack: AsyncAck, body: Body) -> None:
        await ack()
        name = str(body.get("command", ""))
        prefix = f"/{desk.me.prefix}"
        log.warning("Slack sent the command %s, which is none of mine; mine begin with %s: %s", name, prefix, REMEDY)
        await _told(desk, body, desk.mistyped(of_command(body), name.removeprefix("/"), f"{desk.me.prefix}ask"))

    return run


async def _told(desk: PersonalCommands, body: Body, doing: Awaitable[None]) -> None:
    """Do it, also while the bot ends; what goes wrong is told to the person."""
    await desk.underway.begin(_do(desk, body, doing))


async def _do(desk: PersonalCommands, body: Body, doing: Awaitable[None]) -> None:
    try:
        await doing
    except CogencyError as error:
        # What somebody mistyped or may not do is nobody's failure.
        level = logging.INFO if isinstance(error, SettingsError | Refused) else severity(error)
        log.log(level, "a command was not carried out: %s", error)
        try:
            await desk.failed(body, error)
        except SlackError as silence:
            log.warning("nor could that be said: %s", silence)
