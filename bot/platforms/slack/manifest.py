"""The manifest of the Slack app: from the features that somebody wants to what Slack is given. Pure.

Rule: exactly what the features need, within Slack's limits (a test holds every combination to Slack's own schema).
"""

import json
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

import yaml

from agent.messages import Json, JsonObject
from bot.commands.declaration import Command
from bot.platforms.slack import modals
from bot.platforms.slack.features import EVERYTHING, SlackFeature, events, scopes
from bot.platforms.slack.http_events import EVENTS_PATH
from bot.platforms.slack.slash_commands import SLASH_COMMANDS

NAME: Final = "Cogency"
NAME_CHARS: Final = 35
"""Slack's limit for an app's name."""
DESCRIPTION: Final = "An agent that answers in threads, remembers with care, and forgets when asked."
AGENT_DESCRIPTION: Final = (
    "Ask me anything: I answer in the thread, use what you told me before where it may be used, and say where I have "
    "it from. What I remember about you, you can see, correct and erase at any time."
)
PROMPTS: Final = (
    ("What can you do?", "What can you do for me here?"),
    ("What do you remember?", "What do you remember about me, and where do you have it from?"),
    ("Plan my day", "Help me plan my day: ask me what is on it first."),
    ("Draft a message", "Help me draft a message: ask me to whom and about what."),
)
"""Shown until the bot knows the person."""
SHORTCUTS: Final = (
    ("Ask", "global", modals.ANYWHERE_SHORTCUT, "Ask something from anywhere in Slack."),
    (
        "Ask about this message",
        "message",
        modals.ASK_SHORTCUT,
        "Ask something about a message; only you see the answer.",
    ),
    (
        "Forget this thread",
        "message",
        modals.FORGET_SHORTCUT,
        "Erase what you wrote to the bot in this thread, and what came of it.",
    ),
    ("What you remember", "message", modals.MEMORY_SHORTCUT, "See what the bot remembers about you; nobody else does."),
)
HEADING: Final = """\
# The Slack app, made by `cogency slack manifest`: create it on https://api.slack.com/apps with "Create New App",
# "From a manifest"; for an app that exists, paste it under "App Manifest" and install the app again.
"""
_NOT_IN_HANDLES: Final = re.compile(r"[^a-z0-9_.-]+")


def manifest(
    features: Collection[SlackFeature] = EVERYTHING, *, name: str = NAME, prefix: str = "", url: str = ""
) -> dict[str, Json]:
    """What Slack is given; `url` is where it reaches the bot, "" for Socket Mode.

    Raises ValueError with the end of a sentence, for a name or an address that Slack does not take.
    """
    request = {"request_url": _request_url(url)} if url else {}
    if not 0 < len(name) <= NAME_CHARS or not name.isprintable() or name.isspace():
        raise ValueError(f"a name has 1 to {NAME_CHARS} characters")
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": name, "description": DESCRIPTION, "background_color": "#2f3e46"},
        "features": _features(features, name, prefix, request),
        "oauth_config": {"scopes": {"bot": [*sorted(scopes(features))]}},
        "settings": {
            "event_subscriptions": {**request, "bot_events": [*sorted(events(features))]},
            "interactivity": {"is_enabled": True, **request},
            "org_deploy_enabled": False,
            "socket_mode_enabled": not url,
            "token_rotation_enabled": False,
        },
    }


def as_yaml(value: JsonObject) -> str:
    """For people, with a heading that says what to do with it."""
    return HEADING + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def as_json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


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
        prompts: list[Json] = [{"title": title, "message": message} for title, message in PROMPTS]
        built["agent_view"] = {"agent_description": AGENT_DESCRIPTION, "suggested_prompts": prompts}
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


def _command(command: Command, prefix: str, request: dict[str, str]) -> Json:
    built: dict[str, Json] = {"command": f"/{prefix}{command.name}", "description": command.summary}
    if request:
        built["url"] = request["request_url"]
    if command.hint:
        built["usage_hint"] = command.hint
    if command.mentions:
        built["should_escape"] = True
    return built


def _handle(name: str) -> str:
    """How the bot is mentioned: lower-case letters, digits, and what else Slack takes."""
    return _NOT_IN_HANDLES.sub("-", name.lower()).strip("-.") or "bot"


def _request_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("Slack needs an address that begins with https://, without ? or #")
    base = url.rstrip("/")
    return base if base.endswith(EVENTS_PATH) else f"{base}{EVENTS_PATH}"
