"""What Bolt calls when somebody uses a command, a shortcut, a window or a button. Events do not come this way.

Theory of operation. All of it is acknowledged by us, after what it asks is stored. What Slack has to be asked about it
is not waited for longer than Slack waits for us.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, cast

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import CogencyError, Refused, SettingsError
from bot.logs import severity
from bot.platforms.slack import buttons, home, modals, panels
from bot.platforms.slack.api import SlackError
from bot.platforms.slack.commands import PersonalCommands
from bot.platforms.slack.inbound import SlackBot, of_command
from bot.platforms.slack.slash_commands import COMMANDS, SLASH_COMMANDS
from bot.reply_surface import ReplyAction
from bot.setting_parsers import Secret

log = logging.getLogger(__name__)

ACK_S: Final = 2.0
"""How long a question that was asked by a command or a press may take to be taken in before it is acknowledged: it is
stored by then, and Slack waits for three seconds."""
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
        modals.ANYWHERE_SHORTCUT: desk.asking.open_anywhere,
        modals.ASK_SHORTCUT: desk.asking.open_about,
        modals.MEMORY_SHORTCUT: desk.memory_shortcut,
        modals.FORGET_SHORTCUT: desk.forget_shortcut,
    }
    for command in SLASH_COMMANDS:
        asks = command.name == "ask"
        handle = _storing(desk, desk.asking.ask) if asks else _acting(desk, partial(desk.slash, command))
        on.command(f"/{desk.me.prefix}{command.name}")(handle)
    for name, handle in shortcuts.items():
        forgets = name == modals.FORGET_SHORTCUT
        on.shortcut(name)(_acting(desk, handle if forgets else _admitted(desk, handle)))
    on.command(unknown_commands(desk.me.prefix))(_unknown_command(desk))
    on.view(modals.ANYWHERE_VIEW)(_storing(desk, desk.asking.asked_anywhere))
    on.view(modals.ASK_VIEW)(_storing(desk, desk.asking.asked_about))
    on.action(re.compile(f"^{panels.PRESS}:.*$"))(_clicked(desk, desk.pressed))
    on.action(re.compile(f"^{panels.TICK}:.*$"))(_ticked)
    asking = f"(?:{ReplyAction.CONTINUE}|{ReplyAction.REGENERATE})"
    on.action(re.compile(f"^{buttons.ACTION}:{asking}$"))(_asked_by_click(desk, desk.replies.clicked))
    on.action(re.compile(f"^{buttons.ACTION}:(?!{asking}$).*$"))(_clicked(desk, desk.replies.clicked))


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
        mistakes = panels.mistakes(body["view"], desk.me)
        if mistakes:
            await ack(response_action="errors", errors=dict(mistakes))
            return
        await ack()
        await _told(desk, body, desk.form_sent(body))

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
