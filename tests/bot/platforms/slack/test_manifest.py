"""The app's manifest: what Slack accepts, and exactly what the code needs."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bot.platforms.slack import forms
from bot.platforms.slack.api import EVENT_SCOPES, METHOD_SCOPES, SCOPES, Method
from tests.fakes.yaml_subset import read_yaml

ROOT = Path(__file__).parents[4]
CODE = {path: path.read_text() for path in (ROOT / "bot/platforms/slack").glob("*.py")}


@pytest.fixture
def manifest() -> Any:
    return read_yaml((ROOT / "manifests/slack.yaml").read_text())


DOCUMENTED_SCOPES = {
    "auth.test": "",
    "apps.connections.open": "",
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "assistant.threads.setStatus": "chat:write",
    "users.info": "users:read",
    "users.list": "users:read",
    "conversations.members": "channels:read",
    "conversations.info": "channels:read groups:read mpim:read",
    "users.conversations": "channels:read groups:read mpim:read",
    "conversations.replies": "channels:history groups:history im:history mpim:history",
    "conversations.history": "channels:history groups:history im:history mpim:history",
    "views.open": "",
    "files.info": "files:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}
"""As Slack documents them, without im:read, as nothing is asked about direct messages; members are asked for of public
channels only.
"""


def text(most: int, least: int = 1, **more: str) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": most, **more}


def closed(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


def several(item: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": most, "uniqueItems": True}


YES_OR_NO = {"type": "boolean"}
ACCEPTED = closed(
    "display_information",
    _metadata=closed(major_version={"enum": [1, 2]}),
    display_information=closed(
        "name",
        name=text(35),
        description=text(140),
        long_description=text(4_000, 175),
        background_color=text(7, pattern="^#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?$"),
    ),
    features=closed(
        app_home=closed(
            home_tab_enabled=YES_OR_NO, messages_tab_enabled=YES_OR_NO, messages_tab_read_only_enabled=YES_OR_NO
        ),
        bot_user=closed("display_name", display_name=text(80), always_online=YES_OR_NO),
        shortcuts=several(
            closed(
                "name type callback_id description",
                name=text(24),
                type={"enum": ["message", "global"]},
                callback_id=text(255),
                description=text(150),
            ),
            10,
        ),
        slash_commands=several(
            closed(
                "command description",
                command=text(32, 2, pattern="^/"),
                description=text(2_000),
                usage_hint=text(1_000),
                should_escape=YES_OR_NO,
            ),
            50,
        ),
    ),
    oauth_config=closed(scopes=closed(bot=several(text(50), 255))),
    settings=closed(
        event_subscriptions=closed(bot_events=several(text(50), 100)),
        interactivity=closed("is_enabled", is_enabled=YES_OR_NO),
        org_deploy_enabled=YES_OR_NO,
        socket_mode_enabled=YES_OR_NO,
        token_rotation_enabled=YES_OR_NO,
    ),
)
"""The part of Slack's manifest that we use, with Slack's own limits; everything else would be an error there too."""


def test_slack_accepts_the_manifest(manifest: Any) -> None:
    jsonschema.validate(manifest, ACCEPTED)


def test_the_manifest_asks_for_exactly_the_scopes_that_the_code_needs(manifest: Any) -> None:
    assert sorted(SCOPES) == manifest["oauth_config"]["scopes"]["bot"]


def test_each_method_is_listed_with_its_documented_scopes() -> None:
    assert {str(method): " ".join(scopes) for method, scopes in METHOD_SCOPES.items()} == DOCUMENTED_SCOPES


@pytest.mark.parametrize("method", Method)
def test_each_listed_method_is_called(method: Method) -> None:
    assert any(re.search(rf"Method\.{method.name}\b(?!:)", code) for code in CODE.values())


def test_no_method_is_called_past_the_list() -> None:
    past = re.compile(r"\.(?:chat|users|conversations|views|files|auth|apps|reactions|assistant)_\w+\(|api_call\(")
    found = {path.name for path, code in CODE.items() if past.search(code)}
    assert found == {"api.py"}
    written = {word for path, code in CODE.items() if path.name != "api.py" for word in re.findall(r'"([\w.]+)"', code)}
    assert not written & set(DOCUMENTED_SCOPES)


def test_the_manifest_subscribes_to_exactly_the_events_that_are_read(manifest: Any) -> None:
    assert manifest["settings"]["event_subscriptions"]["bot_events"] == sorted(EVENT_SCOPES)


def test_commands_and_shortcuts_of_the_manifest_are_those_that_the_code_handles(manifest: Any) -> None:
    handled = set(re.findall(r'"(/\w+)"', CODE[ROOT / "bot/platforms/slack/listeners.py"]))
    assert {command["command"] for command in manifest["features"]["slash_commands"]} == handled
    shortcuts = {shortcut["callback_id"] for shortcut in manifest["features"]["shortcuts"]}
    assert shortcuts == {forms.ASK_SHORTCUT, forms.FORGET_SHORTCUT, forms.MEMORY_SHORTCUT}


def test_the_app_can_be_written_to_and_connects_by_socket(manifest: Any) -> None:
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert manifest["settings"]["interactivity"]["is_enabled"] is True
    assert manifest["features"]["app_home"]["messages_tab_enabled"] is True
    assert manifest["features"]["app_home"]["messages_tab_read_only_enabled"] is False
