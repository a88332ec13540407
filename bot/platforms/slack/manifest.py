"""The manifest of the Slack app for a set of features. Pure.

Rule: it asks for exactly what the features need, within Slack's limits (a test checks every combination against Slack's
own schema).
"""

import json
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

import yaml

from agent.messages import Json, JsonObject
from bot.chat.commands.declaration import AnyCommand
from bot.chat.commands.talking import SUMMARISE
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.http_events import EVENTS_PATH, events_path
from bot.platforms.slack.options import USUAL, SlackFeature, events, optional_scopes, scopes
from bot.platforms.slack.question_views import ANYWHERE_SHORTCUT, ASK_SHORTCUT
from bot.platforms.slack.slash_commands import ENTRIES, SLASH_COMMANDS

NAME: Final = "Cogency"
NAME_CHARS: Final = 35  # Slack's limit for an app's name
SHORTCUTS: Final = (
    ("Ask", "global", ANYWHERE_SHORTCUT, platforms_texts.ASK_ANYWHERE_WHAT),
    (
        platforms_texts.ASK_ABOUT_MESSAGE,
        "message",
        ASK_SHORTCUT,
        platforms_texts.ASK_ABOUT_MESSAGE_WHAT,
    ),
    *((entry.label, "message", entry.id, entry.summary) for entry, _ in ENTRIES),
    (SUMMARISE.thread.label, "message", SUMMARISE.id, SUMMARISE.summary),
)
HEADING: Final = """\
# The manifest of the Slack app, created by `cogency slack manifest`. For a new app, choose "Create New App" and "From a
# manifest" on https://api.slack.com/apps. For an existing app, paste it under "App Manifest" and install the app again.
"""
_NOT_IN_HANDLES: Final = re.compile(r"[^a-z0-9_.-]+")


def manifest(
    features: Collection[SlackFeature] = USUAL, *, name: str = NAME, prefix: str = "", url: str = "", app: str = ""
) -> dict[str, Json]:
    """Return the manifest. `url`: where Slack reaches the bot; "" for Socket Mode. `app`: the app's name among several;
    "" for the only one.

    Raises ValueError, with the end of a sentence, for a name or an address that Slack does not accept.
    """
    request = {"request_url": _request_url(url, app)} if url else {}
    if not 0 < len(name) <= NAME_CHARS or not name.isprintable() or name.isspace():
        raise ValueError(f"the name must have 1 to {NAME_CHARS} printable characters")
    return {
        "_metadata": {"major_version": 2},
        "display_information": {
            "name": name,
            "description": platforms_texts.APP_DESCRIPTION,
            "background_color": "#2f3e46",
        },
        "features": _features(features, name, prefix, request),
        "oauth_config": {"scopes": _scopes(features)},
        "settings": {
            "event_subscriptions": {**request, "bot_events": [*sorted(events(features))]},
            "interactivity": {"is_enabled": True, **request},
            "org_deploy_enabled": False,
            "socket_mode_enabled": not url,
            "token_rotation_enabled": False,
        },
    }


def as_yaml(value: JsonObject) -> str:
    """Return the manifest as YAML for people, with a heading that says what to do with it."""
    return HEADING + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def as_json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _scopes(features: Collection[SlackFeature]) -> dict[str, Json]:
    """Return the scopes; optional ones are in both lists."""
    lists: dict[str, Json] = {"bot": [*sorted(scopes(features))]}
    if refusable := optional_scopes(features):
        lists["bot_optional"] = [*sorted(refusable)]
    return lists


def _features(features: Collection[SlackFeature], name: str, prefix: str, request: dict[str, str]) -> dict[str, Json]:
    built: dict[str, Json] = {
        "app_home": {
            "home_tab_enabled": SlackFeature.HOME in features,
            "messages_tab_enabled": True,
            "messages_tab_read_only_enabled": False,
        },
        "bot_user": {"display_name": _handle(name), "always_online": True},
    }
    if SlackFeature.AGENT in features:
        prompts: list[Json] = [{"title": title, "message": message} for title, message in platforms_texts.PROMPTS]
        built["agent_view"] = {"agent_description": platforms_texts.AGENT_DESCRIPTION, "suggested_prompts": prompts}
    if SlackFeature.SHORTCUTS in features:
        shortcuts: list[Json] = [
            {"name": title, "type": kind, "callback_id": callback, "description": what}
            for title, kind, callback, what in SHORTCUTS
        ]
        built["shortcuts"] = shortcuts
    if SlackFeature.COMMANDS in features:
        commands: list[Json] = [_command(command, prefix, request) for command in SLASH_COMMANDS]
        built["slash_commands"] = commands
    return built


def _command(command: AnyCommand, prefix: str, request: dict[str, str]) -> Json:
    built: dict[str, Json] = {"command": f"/{prefix}{command.name}", "description": command.summary}
    if request:
        built["url"] = request["request_url"]
    if command.hint:
        built["usage_hint"] = command.hint
    if command.mentions:
        built["should_escape"] = True
    return built


def _handle(name: str) -> str:
    """Return the name by which the bot is mentioned, of the characters that Slack allows."""
    return _NOT_IN_HANDLES.sub("-", name.lower()).strip("-.") or "bot"


def _request_url(url: str, app: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(platforms_texts.HTTPS_ADDRESS)
    base = url.rstrip("/")
    path = events_path(app)
    return base if base.endswith(path) else f"{base.removesuffix(EVENTS_PATH)}{path}"
