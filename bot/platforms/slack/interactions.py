"""Commands, shortcuts, windows and buttons of Slack: which handler each goes to, by Bolt, and when it is acknowledged.

A question is acknowledged after it is stored, or after ACK_S if that takes longer; everything else is acknowledged at
once.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, cast

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import CogencyError, Refused, SettingsError
from bot.chat.commands.talking import SUMMARISE
from bot.chat.logs import severity
from bot.chat.patience import if_slow
from bot.chat.reply.surface import ReplyAction
from bot.chat.unexpected import unexpected_logged
from bot.platforms.slack import home, panels, question_views
from bot.platforms.slack.api import SlackError
from bot.platforms.slack.commands import PersonalCommands
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.polls import VOTE, SlackPolls
from bot.platforms.slack.presentations import FOLLOW_UP
from bot.platforms.slack.reply_buttons import ACTION
from bot.platforms.slack.reply_to import of_command
from bot.platforms.slack.slash_commands import COMMANDS, ENTRIES, SLASH_COMMANDS
from bot.settings.secret import Secret

log = logging.getLogger(__name__)

# How long the acknowledgement of a command or a click waits for its question to be stored: Slack waits three seconds.
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
    personal_commands: PersonalCommands,
    polls: SlackPolls,
) -> AsyncApp:
    """Return the Bolt app with its listeners. `web` must have no token: Bolt would ask Slack whose it is."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot, bot_token=token.reveal()
        )

    quiet = logging.getLogger("slack_bolt")
    quiet.setLevel(logging.ERROR)  # it warns at every start of a token in the environment that it does not use
    app = AsyncApp(
        name=quiet.name,  # without a name Bolt reads the source of every caller, which takes a second
        logger=quiet,
        client=web,
        authorize=authorize,
        request_verification_enabled=False,
    )
    registry = cast("_Registry", app)

    _listen(registry, personal_commands)
    _listen_at_home(registry, personal_commands)
    registry.action(re.compile(f"^{VOTE}:.*$"))(_ack_click(personal_commands, polls.handle_click))
    return app


def _listen(registry: _Registry, personal_commands: PersonalCommands) -> None:
    """Register the listeners for commands, shortcuts, windows and buttons."""
    shortcuts = {
        question_views.ANYWHERE_SHORTCUT: personal_commands.asking.open_anywhere,
        question_views.ASK_SHORTCUT: personal_commands.asking.open_about,
    }
    for command in SLASH_COMMANDS:
        is_question = command.name == "ask"
        handle = (
            _ack_when_stored(personal_commands, personal_commands.asking.ask, tells_if_slow=False)
            if is_question
            else _ack_first(personal_commands, partial(personal_commands.slash, command))
        )
        registry.command(f"/{personal_commands.me.prefix}{command.name}")(handle)
    for name, handle in shortcuts.items():
        registry.shortcut(name)(_ack_first(personal_commands, _admitted(personal_commands, handle)))
    for entry, command in ENTRIES:
        run_entry = partial(personal_commands.run_entry, command, entry)
        registry.shortcut(entry.id)(_ack_first(personal_commands, run_entry))
    registry.shortcut(SUMMARISE.id)(
        _ack_when_stored(personal_commands, partial(personal_commands.asking.ask_by_entry, SUMMARISE))
    )
    registry.command(unknown_commands(personal_commands.me.prefix))(_unknown_command(personal_commands))
    registry.view(question_views.ANYWHERE_VIEW)(
        _ack_when_stored(personal_commands, personal_commands.asking.submit_anywhere, tells_if_slow=False)
    )
    registry.view(question_views.ASK_VIEW)(_ack_when_stored(personal_commands, personal_commands.asking.submit_about))
    registry.action(re.compile(f"^{panels.PRESS}:.*$"))(_ack_click(personal_commands, personal_commands.handle_press))
    registry.action(re.compile(f"^{panels.TICK}:.*$"))(_ack_tick)
    question_actions = f"(?:{ReplyAction.CONTINUE}|{ReplyAction.REGENERATE})"
    registry.action(re.compile(f"^{ACTION}:{question_actions}$"))(
        _ack_click_when_stored(personal_commands, personal_commands.replies.handle_click)
    )
    registry.action(re.compile(f"^{FOLLOW_UP}:.*$"))(
        _ack_click_when_stored(personal_commands, personal_commands.replies.ask_follow_up)
    )
    registry.action(re.compile(f"^{ACTION}:(?!{question_actions}$).*$"))(
        _ack_click(personal_commands, personal_commands.replies.handle_click)
    )


def unknown_commands(prefix: str) -> re.Pattern[str]:
    """Return a pattern for every command that the bot does not know.

    It must not match known ones: Bolt calls the next listener that matches when one has not acknowledged in three
    seconds, and the asker of a slow question would read that there is no such command.
    """
    known = "|".join(re.escape(command.name) for command in SLASH_COMMANDS)
    return re.compile(rf"^(?!/{re.escape(prefix)}(?:{known})$)")


def _listen_at_home(registry: _Registry, personal_commands: PersonalCommands) -> None:
    """Register the listeners for the Home tab's own buttons, and for the forms of commands."""
    registry.action(re.compile(f"^{home.HOME_ACTION}:.*$"))(
        _ack_click(personal_commands, personal_commands.home.handle_click)
    )
    for command in COMMANDS:
        for form in command.forms:
            registry.view(panels.view_id(form))(_ack_form(personal_commands))


def _ack_form(personal_commands: PersonalCommands) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """Handle a submitted form: one with mistakes stays open, another is acknowledged at once."""

    async def run(ack: AsyncAck, body: Body) -> None:
        sent = None
        try:
            with unexpected_logged("a form of Slack"):
                sent = await personal_commands.read_form(body)
                mistakes: Mapping[str, str] = {} if sent is None else sent.form.mistakes(sent.filled)
            if mistakes:
                await ack(response_action="errors", errors=dict(mistakes))
                return
        except CogencyError as error:
            await ack()
            await personal_commands.report_failure(body, error)
            return
        await ack()
        if sent is not None:
            await _run(personal_commands, body, personal_commands.submit_form(sent))

    return run


async def _ack_tick(ack: AsyncAck) -> None:
    """Only acknowledge the click on a box: it is read when the button beside it is pressed."""
    await ack()


def _ack_click(
    personal_commands: PersonalCommands, handle: ClickHandler
) -> Callable[[AsyncAck, Body, Body], Awaitable[None]]:
    """Like `_ack_first`, for clicks."""

    async def run(ack: AsyncAck, body: Body, action: Body) -> None:
        await ack()
        await _run(personal_commands, body, handle(body, action))

    return run


def _ack_click_when_stored(
    personal_commands: PersonalCommands, handle: ClickHandler
) -> Callable[[AsyncAck, Body, Body], Awaitable[None]]:
    """Like `_ack_when_stored`, for clicks."""

    async def run(ack: AsyncAck, body: Body, action: Body) -> None:
        await asyncio.wait(
            {personal_commands.underway.start(_carry_out(personal_commands, body, handle(body, action)))}, timeout=ACK_S
        )
        await ack()

    return run


def _ack_when_stored(
    personal_commands: PersonalCommands, handle: Handler, *, tells_if_slow: bool = True
) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """Acknowledge after `handle` has stored a question, or after ACK_S."""

    async def run(ack: AsyncAck, body: Body) -> None:
        work = _carry_out(personal_commands, body, handle(body), tells_if_slow=tells_if_slow)
        await asyncio.wait({personal_commands.underway.start(work)}, timeout=ACK_S)
        await ack()

    return run


def _ack_first(personal_commands: PersonalCommands, handle: Handler) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """Acknowledge at once: if the process dies before `handle` ends, the user can repeat the request."""

    async def run(ack: AsyncAck, body: Body) -> None:
        await ack()
        await _run(personal_commands, body, handle(body))

    return run


def _admitted(personal_commands: PersonalCommands, handle: Handler) -> Handler:
    """Handle only requests of users who may give orders there, and are within their rates."""

    async def run(body: Body) -> None:
        await personal_commands.admit(body)
        await handle(body)

    return run


def _unknown_command(personal_commands: PersonalCommands) -> Callable[[AsyncAck, Body], Awaitable[None]]:
    """Handle a command that is configured in Slack, and that this version does not know."""

    async def run(ack: AsyncAck, body: Body) -> None:
        await ack()
        name = str(body.get("command", ""))
        prefix = f"/{personal_commands.me.prefix}"
        log.warning("Slack sent the unknown command %s; the bot's commands start with %s: %s", name, prefix, REMEDY)
        await _run(
            personal_commands,
            body,
            personal_commands.suggest_command(
                of_command(body), name.removeprefix("/"), f"{personal_commands.me.prefix}ask"
            ),
        )

    return run


async def _run(personal_commands: PersonalCommands, body: Body, work: Awaitable[None]) -> None:
    """Carry a request out in the background tasks, so that it can end while the bot closes."""
    await personal_commands.underway.start(_carry_out(personal_commands, body, work))


async def _carry_out(
    personal_commands: PersonalCommands, body: Body, work: Awaitable[None], *, tells_if_slow: bool = True
) -> None:
    """`tells_if_slow`: whether its user is told here if it takes longer than usual."""
    try:
        slow = if_slow(partial(personal_commands.notify_slow, body)) if tells_if_slow else nullcontext()
        with slow, unexpected_logged("a command of Slack"):
            await work
    except CogencyError as error:
        # A mistyped or refused request is no failure of the bot.
        level = logging.INFO if isinstance(error, SettingsError | Refused) else severity(error)
        log.log(level, "a command failed: %s", error)
        try:
            await personal_commands.report_failure(body, error)
        except SlackError as unsent:
            log.warning("the error could not be posted either: %s", unsent)
