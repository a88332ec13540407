"""The app's manifest: Slack accepts it, and it asks for exactly what the code needs, for every choice of features."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bot.chat.commands.talking import SUMMARISE
from bot.platforms.slack.manifest import as_json, as_yaml, manifest
from bot.platforms.slack.options import (
    EVENT_SCOPES,
    EVERYTHING,
    USUAL,
    Method,
    SlackFeature,
    SlackOptions,
    events,
    needing,
    optional_scopes,
    required_features,
    scopes,
)
from bot.platforms.slack.slash_commands import SLASH_COMMANDS
from tests.fakes.slack_manifest import ACCEPTED

ROOT = Path(__file__).parents[4]
TABLES = {"options.py", "manifest.py"}
CODE = {
    path.name: ast.parse(path.read_text())
    for path in sorted((ROOT / "bot/platforms/slack").rglob("*.py"))
    if path.name not in TABLES
}
NODES = [node for tree in CODE.values() for node in ast.walk(tree)]
WORDS = {node.value for node in NODES if isinstance(node, ast.Constant) and isinstance(node.value, str)}
CHOICES = [*chain.from_iterable(combinations(SlackFeature, number) for number in range(len(SlackFeature) + 1))]

# As Slack documents them; of a direct message no more is asked than that there is one; members are asked for of public
# channels only.
DOCUMENTED_SCOPES = {
    "agents.sessions.rename": "chat:write",
    "pins.add": "pins:write",
    "pins.remove": "pins:write",
    "bookmarks.add": "bookmarks:write",
    "bookmarks.list": "bookmarks:read",
    "bookmarks.remove": "bookmarks:write",
    "canvases.create": "canvases:write",
    "canvases.delete": "canvases:write",
    "canvases.edit": "canvases:write",
    "canvases.sections.lookup": "canvases:read",
    "conversations.setPurpose": "channels:write.topic groups:write.topic",
    "conversations.setTopic": "channels:write.topic groups:write.topic",
    "team.preferences.list": "team.preferences:read",
    "agents.sessions.setStatus": "chat:write",
    "apps.connections.open": "",
    "assistant.search.context": "search:read.files search:read.public search:read.users",
    "assistant.threads.setStatus": "chat:write",
    "assistant.threads.setSuggestedPrompts": "assistant:write",
    "auth.revoke": "",
    "auth.test": "",
    "oauth.v2.access": "",
    "apps.manifest.export": "",
    "blocks.validate": "",
    "bots.info": "users:read",
    "chat.appendStream": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.startStream": "chat:write",
    "chat.stopStream": "chat:write",
    "chat.update": "chat:write",
    "conversations.history": "channels:history groups:history im:history mpim:history",
    "conversations.info": "channels:read groups:read mpim:read",
    "conversations.members": "channels:read groups:read mpim:read",
    "conversations.open": "im:write",
    "conversations.replies": "channels:history groups:history im:history mpim:history",
    "files.completeUploadExternal": "files:write",
    "files.delete": "files:write",
    "files.getUploadURLExternal": "files:write",
    "files.info": "files:read",
    "reactions.add": "reactions:write",
    "usergroups.list": "usergroups:read",
    "usergroups.users.list": "usergroups:read",
    "users.conversations": "channels:read groups:read im:read mpim:read",
    "reactions.remove": "reactions:write",
    "users.info": "users:read",
    "users.list": "users:read",
    "views.open": "",
    "views.publish": "",
    "views.update": "",
}
_EVENTS = """
agent_session_stopped agent_session_title_changed app_context_changed app_home_opened app_mention app_rate_limited
app_requested app_uninstalled assistant_thread_context_changed assistant_thread_started call_rejected channel_archive
channel_created channel_deleted channel_history_changed channel_id_changed channel_left channel_rename channel_shared
channel_unarchive channel_unshared dnd_updated dnd_updated_user email_domain_changed emoji_changed file_change
file_created file_deleted file_public file_shared file_unshared function_executed grid_migration_finished
grid_migration_started group_archive group_close group_deleted group_history_changed group_left group_open
group_rename group_unarchive im_close im_created im_history_changed im_open invite_requested link_shared
member_joined_channel member_left_channel message message.app_home message.channels message.groups message.im
message.mpim message_metadata_deleted message_metadata_posted message_metadata_updated pin_added pin_removed
reaction_added reaction_removed resources_added resources_removed shared_channel_invite_accepted
shared_channel_invite_approved shared_channel_invite_declined shared_channel_invite_received
shared_channel_invite_requested star_added star_removed subteam_created subteam_members_changed subteam_self_added
subteam_self_removed subteam_updated team_access_granted team_access_revoked team_domain_change team_join team_rename
tokens_revoked url_verification user_change user_huddle_changed workflow_step_execute
"""
DOCUMENTED_EVENTS = frozenset(_EVENTS.split())
ANSWERED_BY_BOLT = {"url_verification"}
# Words of Slack that are also a part of other things, and what it sends to everybody, unasked.
NO_EVENTS = {"message", "file_deleted", "message_deleted", "app_rate_limited"}


@pytest.mark.slow
@pytest.mark.parametrize("url", ["", "https://bot.example"])
def test_slack_accepts_every_choice_of_features(url: str) -> None:
    slack = jsonschema.Draft7Validator(ACCEPTED)
    for features in CHOICES:
        made: Any = manifest(features, name="C" * 35, prefix="p" * 20, url=url)
        slack.validate(made)  # pyright: ignore[reportUnknownMemberType] -- jsonschema's
        told = made["oauth_config"]["scopes"]
        assert told["bot"] == sorted(scopes(features))
        # "Optional scopes must also be listed in the corresponding bot or user fields."
        assert set(told.get("bot_optional", ())) == optional_scopes(features) <= set(told["bot"])


def test_the_file_is_what_the_command_prints_without_options() -> None:
    assert (ROOT / "manifests/slack.yaml").read_text() == as_yaml(manifest())


def test_yaml_and_json_say_the_same() -> None:
    made = manifest(url="https://bot.example")
    assert yaml.safe_load(as_yaml(made)) == json.loads(as_json(made)) == made


def test_each_method_is_listed_with_its_documented_scopes() -> None:
    listed = {str(method): " ".join(method.scopes) for method in Method}
    assert listed == {method: DOCUMENTED_SCOPES[method] for method in listed}


def test_the_listed_methods_are_exactly_those_that_the_code_calls() -> None:
    called = {
        node.attr
        for node in NODES
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Method"
    }
    assert called == set(Method.__members__)


def test_no_method_is_called_past_the_list() -> None:
    past = re.compile(r"(?:agents|apps|assistant|auth|chat|conversations|files|reactions|usergroups|users|views)_\w+")
    for name, tree in CODE.items():
        calls = {node.func.attr for node in _calls(tree) if isinstance(node.func, ast.Attribute)}
        assert not [call for call in calls if past.fullmatch(call)]
        assert "api_call" not in calls or name in {"api.py", "installed.py"}  # which names its methods, too
    assert not WORDS & set(DOCUMENTED_SCOPES)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_the_events_are_exactly_those_that_the_code_reads() -> None:
    read = WORDS & (DOCUMENTED_EVENTS - ANSWERED_BY_BOLT - NO_EVENTS)
    assert read == {event for event in EVENT_SCOPES if not event.startswith("message.")}
    assert "message" in WORDS
    assert set(EVENT_SCOPES) <= DOCUMENTED_EVENTS


def test_commands_and_shortcuts_are_those_that_the_code_handles() -> None:
    made: Any = manifest(prefix="bot-")
    assert [command["command"] for command in made["features"]["slash_commands"]] == [
        f"/bot-{command.name}" for command in SLASH_COMMANDS
    ]
    handled = {node.attr for node in ast.walk(CODE["interactions.py"]) if isinstance(node, ast.Attribute)}
    constants = {
        target.id: node.value.value
        for node in ast.walk(CODE["question_views.py"])
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id.endswith("_SHORTCUT")
    }
    entries = {SUMMARISE.id, *(command.entry.id for command in SLASH_COMMANDS if command.entry is not None)}
    assert {shortcut["callback_id"] for shortcut in made["features"]["shortcuts"]} == set(constants.values()) | entries
    assert set(constants) <= handled


def test_what_is_left_out_is_neither_asked_for_nor_shown() -> None:
    bare: Any = manifest(())
    everything: Any = manifest()
    assert scopes(()) < scopes(EVERYTHING)
    assert events(()) < events(EVERYTHING)
    assert set(bare["features"]) == {"app_home", "bot_user"}
    assert bare["features"]["app_home"]["home_tab_enabled"] is False
    assert everything["features"]["app_home"]["home_tab_enabled"] is True
    assert {"agent_view", "shortcuts", "slash_commands"} <= set(everything["features"])


@pytest.mark.parametrize(
    ("scope", "features"),
    [
        ("chat:write", set[SlackFeature]()),
        ("commands", {SlackFeature.COMMANDS, SlackFeature.SHORTCUTS}),
        ("usergroups:read", {SlackFeature.GROUPS}),
        ("search:read.public", {SlackFeature.SEARCH}),
        ("no:such", set[SlackFeature]()),
    ],
)
def test_a_missing_scope_is_known_by_the_features_that_need_it(scope: str, features: set[SlackFeature]) -> None:
    assert needing(scope) == features


@pytest.mark.parametrize("url", ["https://bot.example", "https://bot.example/", "https://bot.example/slack/events"])
def test_over_http_everything_goes_to_one_address_and_no_socket_is_asked_for(url: str) -> None:
    made: Any = manifest(url=url)
    assert made["settings"]["socket_mode_enabled"] is False
    addresses = {
        made["settings"]["event_subscriptions"]["request_url"],
        made["settings"]["interactivity"]["request_url"],
        *(command["url"] for command in made["features"]["slash_commands"]),
    }
    assert addresses == {"https://bot.example/slack/events"}


@pytest.mark.parametrize("url", ["http://bot.example", "bot.example", "https://", "https://bot.example?x=1"])
def test_an_address_that_slack_does_not_take_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="https://"):
        manifest(url=url)


@pytest.mark.parametrize("name", ["", " ", "C" * 36, "a\nb"])
def test_a_name_that_slack_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the name must have 1 to 35 printable characters"):
        manifest(name=name)


@pytest.mark.parametrize(
    ("name", "handle"), [("Cogency", "cogency"), ("Ada & Co.", "ada-co"), ("助手", "bot"), ("Max-2_x", "max-2_x")]
)
def test_the_bot_is_mentioned_by_a_handle_of_its_name(name: str, handle: str) -> None:
    made: Any = manifest(name=name)
    assert made["features"]["bot_user"]["display_name"] == handle


def test_the_app_can_be_written_to_and_connects_by_socket() -> None:
    made: Any = manifest()
    assert made["settings"]["socket_mode_enabled"] is True
    assert made["settings"]["interactivity"]["is_enabled"] is True
    assert made["settings"]["token_rotation_enabled"] is False
    assert made["features"]["app_home"]["messages_tab_enabled"] is True
    assert made["features"]["app_home"]["messages_tab_read_only_enabled"] is False


def test_what_acts_need_is_asked_for_only_where_an_operator_turned_them_on() -> None:
    needed = {"pins:write", "team.preferences:read", "reactions:write", "bookmarks:write", "canvases:write"}
    assert not needed & scopes(required_features(SlackOptions()))
    assert needed <= scopes(required_features(SlackOptions(acts=True)))
    assert not (needed - {"reactions:write"}) & scopes(USUAL)
