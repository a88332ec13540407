"""`cogency doctor` for Slack: reads how the app is set up, and says what to change. It posts no message.

What Slack did not answer is a finding, too. The remedy for the app's own configuration is always its whole manifest.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, TypeVar

from aiohttp import ClientSession, ClientTimeout

from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from bot.chat.findings import Finding, Level, clock_finding, platform_away
from bot.chat.texts.formatting import counted, enumerated
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api
from bot.platforms.slack.api import TIMEOUT_S, SlackApi, SlackError, SlackRefused, sign_in_sentence, web_client
from bot.platforms.slack.block_check import refused_kinds, sample_blocks
from bot.platforms.slack.feature_support import EVERYWHERE
from bot.platforms.slack.http_events import EVENTS_PATH, events_path
from bot.platforms.slack.options import (
    EVERYTHING,
    HttpEvents,
    Method,
    SlackApp,
    SlackFeature,
    SlackOptions,
    SocketMode,
    events,
    needing,
    optional_scopes,
    required_features,
    scopes,
)
from bot.platforms.slack.slash_commands import SLASH_COMMANDS
from bot.settings.secret import Secret

T = TypeVar("T")
Answer: TypeAlias = T | SlackError

WHERE: Final = "Slack"
problem = partial(Finding, Level.PROBLEM, WHERE)
warning = partial(Finding, Level.WARNING, WHERE)
note = partial(Finding, Level.NOTE, WHERE)
good = partial(Finding, Level.GOOD, WHERE)
# Slack's errors for an app, a workspace or a plan without agent sessions. `missing_scope` is reported with the scopes.
WITHOUT_SESSIONS: Final = EVERYWHERE - {"missing_scope"}
NO_CHANNEL: Final = "C0000000000"  # No channel has this id, so that a request about it changes nothing
MAX_NAMED: Final = 10  # Channels whose names are listed; of more only the number is


@dataclass(frozen=True, slots=True)
class SlackFacts:
    """What Slack answered. `our_time` and `slack_time`: the clocks at the same moment. `socket`: whether Socket Mode
    works; None over HTTP. `manifest`: the app's, if it was read.
    """

    app: SlackApp
    settings: SlackOptions
    signed_in: Answer[JsonObject]
    granted: frozenset[str] = frozenset()
    our_time: datetime | None = None
    slack_time: datetime | None = None
    socket: Answer[bool] | None = None
    channels: Answer[tuple[str, ...]] = ()
    sessions: Answer[JsonObject] = field(default_factory=dict[str, Json])
    blocks: Answer[JsonObject] = field(default_factory=dict[str, Json])
    groups: Mapping[str, Answer[JsonObject]] = field(default_factory=dict[str, "Answer[JsonObject]"])
    manifest: Answer[JsonObject] | None = None


def findings(facts: SlackFacts) -> list[Finding]:
    """Return all findings, in the order in which an operator would fix them."""
    if isinstance(facts.signed_in, SlackError):
        found = [_not_signed_in(facts.signed_in, facts)]
    else:
        found = [finding for check in CHECKS for finding in check(facts)]
    return [replace(finding, where=facts.app.label) for finding in found]


def signed_in(facts: SlackFacts) -> list[Finding]:
    identity: JsonObject = {} if isinstance(facts.signed_in, SlackError) else facts.signed_in
    if api.flag(identity, "is_enterprise_install"):
        setting = facts.app.setting("SLACK_BOT_TOKEN")
        return [problem(platforms_texts.SLACK_WHOLE_ORGANIZATION.format(setting=setting), "")]
    return [
        good(f"signed in as {api.text(identity, 'user')} in {api.text(identity, 'team')} ({api.text(identity, 'url')})")
    ]


def clock(facts: SlackFacts) -> list[Finding]:
    if facts.our_time is None or facts.slack_time is None:
        return []
    refused = platforms_texts.CLOCK_REFUSED if isinstance(facts.app.delivery, HttpEvents) else ""
    return [clock_finding(WHERE, WHERE, facts.our_time, facts.slack_time, refused=refused)]


def granted_scopes(facts: SlackFacts) -> list[Finding]:
    if not facts.granted:
        return [warning("Slack did not report the token's scopes, so they were not checked", "")]
    missing = scopes(required_features(facts.settings)) - facts.granted
    found: list[Finding] = []
    if required := sorted(scope for scope in missing if not needing(scope)):
        found.append(
            problem(
                f"the bot token lacks {enumerated(required)}, which the bot needs",
                platforms_texts.TAKE_OVER_MANIFEST,
            )
        )
    for feature in SlackFeature:
        if lacking := sorted(scope for scope in missing if feature in needing(scope)):
            sentence = f"the bot token lacks {enumerated(lacking)}, so the feature “{feature}” does not work"
            severity = note if missing & optional_scopes({feature}) else warning
            found.append(severity(sentence, platforms_texts.TAKE_OVER_MANIFEST))
    if unused := sorted(facts.granted - scopes(EVERYTHING)):
        sentence = f"the bot token has {enumerated(unused)}, which the bot does not need"
        found.append(warning(sentence, platforms_texts.TAKE_OVER_MANIFEST))
    return found or [good("the bot token has exactly the scopes it needs")]


def delivery(facts: SlackFacts) -> list[Finding]:
    transport = facts.app.delivery
    if isinstance(transport, HttpEvents):
        where = f"{transport.host}:{transport.port}{events_path(facts.app.name)}"
        return [good(f"the bot receives Slack's events over HTTP at {where}")]
    match facts.socket:
        case SlackRefused(code=code):
            sentence = f"Socket Mode does not work with {facts.app.setting('SLACK_APP_TOKEN')} ({code})"
            remedy = platforms_texts.SOCKET_MODE_ON
            return [problem(sentence, remedy)]
        case SlackError():
            return [warning("Socket Mode could not be tested", str(facts.socket))]
        case _:
            return [
                good(f"Socket Mode works, with {counted(transport.connections, 'connection', 'connections')} at once")
            ]


def channels(facts: SlackFacts) -> list[Finding]:
    match facts.channels:
        case SlackError():
            return [warning("the bot's channels could not be listed", str(facts.channels))]
        case ():
            remedy = platforms_texts.INVITE_BOT
            return [note("the bot is not in any channel", remedy)]
        case names:
            listed = f": {', '.join(f'#{name}' for name in names)}" if len(names) <= MAX_NAMED else ""
            return [good(f"the bot is in {counted(len(names), 'channel', 'channels')}{listed}")]


def sessions(facts: SlackFacts) -> list[Finding]:
    """Report only that Slack has no sessions for this app: it may refuse the channel that was asked for in any case."""
    if not isinstance(facts.sessions, SlackRefused) or facts.sessions.code not in WITHOUT_SESSIONS:
        return []
    return [note(platforms_texts.NO_SESSIONS.format(code=facts.sessions.code), platforms_texts.SESSIONS_NEED)]


def blocks(facts: SlackFacts) -> list[Finding]:
    match facts.blocks:
        case SlackRefused(code="invalid_blocks", answer=answer):
            kinds = refused_kinds(_samples(facts.settings, facts.signed_in), answer)
            refused = platforms_texts.BLOCKS_REFUSED if kinds else platforms_texts.SOME_BLOCKS_REFUSED
            return [note(refused.format(kinds=", ".join(kinds)), platforms_texts.SIMPLER_BLOCKS)]
        case SlackError():
            return [note(platforms_texts.BLOCKS_UNCHECKED.format(why=_why(facts.blocks)), "")]
        case _:
            return [good(platforms_texts.BLOCKS_ACCEPTED)]


def groups(facts: SlackFacts) -> list[Finding]:
    remedy = platforms_texts.CHECK_GROUPS
    return [
        warning(f"Slack did not list the members of the user group {group} ({_why(answer)})", remedy)
        for group, answer in facts.groups.items()
        if isinstance(answer, SlackError)
    ]


def app(facts: SlackFacts) -> list[Finding]:
    """Compare the app's configuration with its own manifest."""
    match facts.manifest:
        case None:
            return [
                note(
                    "the app's events and commands were not checked, because the check needs a configuration token",
                    platforms_texts.COMPARE_CONFIG,
                )
            ]
        case SlackError():
            remedy = platforms_texts.RENEW_CONFIG
            return [warning(f"Slack did not return the app's manifest ({_why(facts.manifest)})", remedy)]
        case manifest:
            found = [finding for compare in COMPARED for finding in compare(manifest, facts.app)]
            return found or [good("the app matches its manifest")]


def app_events(manifest: JsonObject, app: SlackApp) -> list[Finding]:  # noqa: ARG001 -- all in COMPARED are called in one way
    subscribed = frozenset(api.texts(api.fields(manifest, "settings", "event_subscriptions"), "bot_events"))
    found: list[Finding] = []
    if required := sorted(events(()) - subscribed):
        sentence = f"the app does not subscribe to {enumerated(required)}, which the bot needs"
        found.append(problem(sentence, platforms_texts.TAKE_OVER_MANIFEST))
    for feature in SlackFeature:
        if lacking := sorted(events({feature}) - events(()) - subscribed):
            sentence = f"the app does not subscribe to {enumerated(lacking)}, so the feature “{feature}” does not work"
            found.append(warning(sentence, platforms_texts.TAKE_OVER_MANIFEST))
    return found


def app_commands(manifest: JsonObject, app: SlackApp) -> list[Finding]:
    known = {api.text(command, "command") for command in api.items(api.fields(manifest, "features"), "slash_commands")}
    missing = [name for command in SLASH_COMMANDS if (name := f"/{app.command_prefix}{command.name}") not in known]
    if not missing:
        return []
    which = "command" if len(missing) == 1 else "commands"
    return [warning(f"the app has no {which} {enumerated(missing)}", platforms_texts.TAKE_OVER_MANIFEST)]


def app_delivery(manifest: JsonObject, app: SlackApp) -> list[Finding]:
    over_http = isinstance(app.delivery, HttpEvents)
    by_socket = api.flag(api.fields(manifest, "settings"), "socket_mode_enabled")
    if by_socket and over_http:
        remedy = platforms_texts.HTTP_OR_SOCKETS
        return [problem("the app sends events over Socket Mode instead of HTTP", remedy)]
    if not (by_socket or over_http):
        return [problem("Socket Mode is turned off in the app", platforms_texts.TAKE_OVER_MANIFEST)]
    return [] if by_socket else _request_urls(manifest, app)


def app_surfaces(manifest: JsonObject, app: SlackApp) -> list[Finding]:  # noqa: ARG001 -- all in COMPARED are called in one way
    features, home = api.fields(manifest, "features"), api.fields(manifest, "features", "app_home")
    found: list[Finding] = []
    if not api.flag(home, "messages_tab_enabled") or api.flag(home, "messages_tab_read_only_enabled"):
        found.append(problem("people cannot send direct messages to the app", platforms_texts.TAKE_OVER_MANIFEST))
    if not api.flag(api.fields(manifest, "settings", "interactivity"), "is_enabled"):
        found.append(problem("the app's buttons and dialogs do not work", platforms_texts.TAKE_OVER_MANIFEST))
    if not api.flag(home, "home_tab_enabled"):
        found.append(
            warning(
                f"the app has no Home tab, so the feature “{SlackFeature.HOME}” does not work",
                platforms_texts.TAKE_OVER_MANIFEST,
            )
        )
    if "agent_view" not in features:
        found.append(
            warning(
                f"the app is not set up as an agent, so the feature “{SlackFeature.AGENT}” does not work",
                platforms_texts.TAKE_OVER_MANIFEST,
            )
        )
    return found


CHECKS: Final[tuple[Callable[[SlackFacts], list[Finding]], ...]] = (
    signed_in,
    clock,
    granted_scopes,
    delivery,
    app,
    sessions,
    blocks,
    groups,
    channels,
)
COMPARED: Final[tuple[Callable[[JsonObject, SlackApp], list[Finding]], ...]] = (
    app_delivery,
    app_events,
    app_commands,
    app_surfaces,
)


def _not_signed_in(error: SlackError, facts: SlackFacts) -> Finding:
    if isinstance(error, SlackRefused):
        remedy = platforms_texts.COPY_SLACK_AGAIN
        return problem(f"{facts.app.setting('SLACK_BOT_TOKEN')} is not accepted ({error.code})", remedy)
    sentence = sign_in_sentence(error, facts.settings.api_base_url)
    return platform_away(WHERE, platforms_texts.SLACK_AWAY_NOW, sentence)


def _request_urls(manifest: JsonObject, app: SlackApp) -> list[Finding]:
    urls = (
        api.text(api.fields(manifest, "settings", "event_subscriptions"), "request_url"),
        api.text(api.fields(manifest, "settings", "interactivity"), "request_url"),
    )
    shared = (EVENTS_PATH,) if app.app_id or not app.name else ()
    if all(url.endswith((events_path(app.name), *shared)) for url in urls):
        return []
    sentence = f"some of the app's request URLs do not end in {events_path(app.name)}"
    return [problem(sentence, platforms_texts.HTTP_MANIFEST)]


def _why(error: object) -> str:
    return error.code if isinstance(error, SlackRefused) else str(error)


MAX_CHANNELS: Final = 200  # One page, as large as Slack recommends


async def examine(
    app: SlackApp, settings: SlackOptions, clock: Clock, config_token: Secret | None = None
) -> list[Finding]:
    """Return the findings about an app. `config_token`: if given, the app is compared with its manifest. Errors of
    Slack become findings.
    """
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session:
        client = web_client(settings.api_base_url, session, app.bot_token.reveal())
        return findings(await _read_facts(SlackApi(client, session), app, settings.of(app), clock, config_token))


async def _read_facts(
    client: SlackApi, app: SlackApp, settings: SlackOptions, clock: Clock, config_token: Secret | None
) -> SlackFacts:
    identity = await _answer_or_error(client.sign_in())
    if isinstance(identity, SlackError):
        return SlackFacts(app, settings, identity)
    transport = app.delivery
    return SlackFacts(
        app=app,
        settings=settings,
        signed_in=identity,
        granted=client.granted,
        our_time=clock.now(),
        slack_time=client.server_time,
        socket=await _answer_or_error(_socket(client, transport.app_token))
        if isinstance(transport, SocketMode)
        else None,
        channels=await _answer_or_error(_channels(client)),
        sessions=await _answer_or_error(_sessions(client)),
        blocks=await _answer_or_error(_check_blocks(client, _samples(settings, identity))),
        groups={
            group: await _answer_or_error(client.call(Method.GROUP_MEMBERS, usergroup=group))
            for group in sorted(settings.named_groups)
        },
        manifest=None
        if config_token is None
        else await _answer_or_error(_app(client, api.text(identity, "bot_id"), config_token)),
    )


async def _answer_or_error(request: Awaitable[T]) -> Answer[T]:
    try:
        return await request
    except SlackError as error:
        return error


async def _socket(client: SlackApi, app_token: Secret) -> bool:
    """Fetch the address of a socket, without opening one: a running bot's sockets stay open."""
    return bool(await client.open_connection(app_token))


async def _channels(client: SlackApi) -> tuple[str, ...]:
    page = await client.call(
        Method.CONVERSATIONS, types="public_channel,private_channel", exclude_archived=True, limit=MAX_CHANNELS
    )
    return tuple(api.first_text(channel, "name", "id") for channel in api.items(page, "channels"))


async def _sessions(client: SlackApi) -> JsonObject:
    """Ask about a session in no channel: only the reason of the refusal counts."""
    return await client.call(Method.SET_SESSION, channel_id=NO_CHANNEL, thread_ts="1.000000", status="active")


def _samples(settings: SlackOptions, identity: Answer[JsonObject]) -> list[dict[str, Json]]:
    user = "" if isinstance(identity, SlackError) else api.text(identity, "user_id")
    return sample_blocks(user, tables=settings.chosen.tables)


async def _check_blocks(client: SlackApi, samples: list[dict[str, Json]]) -> JsonObject:
    return await client.call(Method.VALIDATE_BLOCKS, blocks=json.dumps(samples))  # Slack takes them as a text


async def _app(client: SlackApi, bot: str, config_token: Secret) -> JsonObject:
    app = api.text(await client.call(Method.BOT, bot=bot), "bot", "app_id")
    return await client.export_manifest(app, config_token)
