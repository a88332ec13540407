"""The doctor compares what Slack gives with what the bot needs, and says what to change."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.machine import CLOCK
from bot.chat.findings import Finding, Level, finding_lines, healthy
from bot.platforms.slack.doctor import examine
from bot.platforms.slack.manifest import manifest
from bot.platforms.slack.options import EVERYTHING, SlackApp, SlackOptions, SocketMode, optional_scopes, scopes
from bot.platforms.slack.settings import SlackSettings
from bot.settings.secret import Secret
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import app_of, http_events, settings
from tests.fakes.slack_faults import DOWN, Fault, limited
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, CONFIG_TOKEN, SIGNING_SECRET

NEEDED = ",".join(sorted(scopes(EVERYTHING)))
CONFIG = Secret(CONFIG_TOKEN)


@pytest.fixture
async def slack() -> AsyncGenerator[FakeSlack, None]:
    """An app that is set up as its manifest says, in two channels."""
    async with FakeSlack(FastClock(CLOCK.now(), speed=1), scopes=NEEDED) as fake:
        fake.state.channel("general")
        fake.state.channel("secret", "private")
        fake.state.channel("elsewhere", bot=False)
        fake.state.manifest = dict(manifest())
        yield fake


async def examined(slack: FakeSlack, config: Secret | None = CONFIG, **more: Any) -> list[Finding]:
    own = {name: more.pop(name) for name in ("delivery", "command_prefix", "bot_token") if name in more}
    return await examine(app_of(slack, **own), replace(settings(slack), **more), slack.clock, config)


def wrong(found: list[Finding]) -> list[str]:
    """Return the level and text of every finding that is no praise."""
    return [f"{finding.level}: {finding.what}" for finding in found if finding.level is not Level.GOOD]


async def test_the_token_of_a_whole_organization_is_no_token_of_a_workspace(slack: FakeSlack) -> None:
    slack.state.who = replace(slack.state.who, enterprise="E0ORG", is_of_whole_organization=True)
    found = await examined(slack)
    assert not healthy(found)
    assert found[0].what.startswith("SLACK_BOT_TOKEN belongs to an app that is installed in a whole organization")


async def test_a_whole_app_is_only_praised_and_nothing_is_changed_or_said(slack: FakeSlack) -> None:
    found = await examined(slack)
    assert [finding.what for finding in found] == [
        "signed in as cogency in Fake (https://fake.slack.com/)",
        "this machine's clock agrees with Slack's",
        "the bot token has exactly the scopes it needs",
        "Socket Mode works, with 1 connection at once",
        "the app matches its manifest",
        "Slack accepts every kind of block that replies use",
        "the bot is in 2 channels: #general, #secret",
    ]
    assert healthy(found)
    assert not wrong(found)
    (probe,) = slack.state.called("agents.sessions.setStatus")
    assert probe.args["channel_id"] not in slack.state.channels
    assert not slack.state.agents.sessions
    reading = {
        "agents.sessions.setStatus",
        "blocks.validate",
        "auth.test",
        "apps.connections.open",
        "users.conversations",
        "bots.info",
        "apps.manifest.export",
    }
    assert {call.method for call in slack.state.calls} == reading
    assert slack.opened == 0


async def test_no_secret_is_in_the_output(slack: FakeSlack) -> None:
    slack.faults["apps.connections.open"].append(Fault(error="invalid_auth"))
    said = finding_lines(await examined(slack) + await examined(slack, delivery=http_events()))
    assert not [secret for secret in (BOT_TOKEN, APP_TOKEN, CONFIG_TOKEN, SIGNING_SECRET) if secret in said]


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked"])
async def test_a_token_that_slack_does_not_take_is_the_only_finding(slack: FakeSlack, code: str) -> None:
    slack.faults["auth.test"].append(Fault(error=code))
    (found,) = await examined(slack)
    assert (found.level, found.what) == (Level.PROBLEM, f"SLACK_BOT_TOKEN is not accepted ({code})")
    assert "OAuth & Permissions" in found.remedy


async def test_a_slack_that_does_not_answer_is_the_only_finding() -> None:
    app, away = SlackApp(Secret("xoxb-x"), SocketMode(Secret("xapp-x"))), SlackOptions("http://127.0.0.1:9/api")
    (found,) = await examine(app, away, CLOCK)
    what = "Slack could not be reached at http://127.0.0.1:9/api (the connection was refused)"
    assert (found.level, found.what) == (Level.PROBLEM, what)
    assert "SLACK_API_BASE_URL" in found.remedy


@pytest.mark.parametrize(
    ("granted", "said"),
    [
        (scopes(EVERYTHING) - {"chat:write"}, "problem: the bot token lacks chat:write, which the bot needs"),
        (
            scopes(EVERYTHING) - {"files:read", "files:write"},
            "warning: the bot token lacks files:read and files:write, so the feature “files” does not work",
        ),
        (scopes(EVERYTHING) | {"admin"}, "warning: the bot token has admin, which the bot does not need"),
    ],
)
async def test_scopes_are_compared_with_what_is_needed(slack: FakeSlack, granted: frozenset[str], said: str) -> None:
    slack.scopes = ",".join(sorted(granted))
    found = await examined(slack)
    assert wrong(found) == [said]
    assert "cogency slack manifest" in next(one.remedy for one in found if one.level is not Level.GOOD)


async def test_optional_scopes_that_an_admin_refused_are_no_more_than_noted(slack: FakeSlack) -> None:
    slack.scopes = ",".join(sorted(scopes(EVERYTHING) - optional_scopes(EVERYTHING)))
    said = "lacks search:read.files, search:read.public, and search:read.users, so the feature “search” does not work"
    assert wrong(await examined(slack)) == [f"note: the bot token {said}"]


async def test_the_scope_for_user_groups_is_missed_only_where_the_settings_name_one(slack: FakeSlack) -> None:
    slack.scopes = ",".join(sorted(scopes(EVERYTHING) - {"usergroups:read"}))
    slack.state.groups = {"S0LEADS": set()}
    assert not wrong(await examined(slack))
    found = await examined(slack, managers=frozenset({"S0LEADS"}))
    assert wrong(found) == ["warning: the bot token lacks usergroups:read, so the feature “groups” does not work"]


async def test_scopes_that_are_not_told_are_said_to_be_unknown(slack: FakeSlack) -> None:
    slack.scopes = ""
    assert wrong(await examined(slack)) == [
        "warning: Slack did not report the token's scopes, so they were not checked"
    ]


@pytest.mark.parametrize("code", ["invalid_auth", "missing_scope", "not_allowed_token_type"])
async def test_an_app_token_that_slack_does_not_take_is_a_problem(slack: FakeSlack, code: str) -> None:
    slack.faults["apps.connections.open"].append(Fault(error=code))
    found = await examined(slack)
    assert wrong(found) == [f"problem: Socket Mode does not work with SLACK_APP_TOKEN ({code})"]
    assert not healthy(found)


async def test_what_could_not_be_found_out_is_a_warning(slack: FakeSlack) -> None:
    for method in ("apps.connections.open", "users.conversations", "apps.manifest.export"):
        slack.faults[method].append(DOWN)
    found = await examined(slack)
    assert [one.split(":")[0] for one in wrong(found)] == ["warning"] * 3
    assert healthy(found)


async def test_over_http_no_socket_is_asked_for_and_the_request_urls_are_compared(slack: FakeSlack) -> None:
    slack.state.manifest = dict(manifest(url="https://bot.example"))
    found = await examined(slack, delivery=http_events())
    assert not wrong(found)
    assert not slack.state.called("apps.connections.open")


@pytest.mark.parametrize(
    ("seconds", "over_http", "said"),
    [
        (5, True, []),
        (30, True, ["warning: this machine's clock differs from Slack's by 30 seconds"]),
        (
            400,
            True,
            [
                (
                    "problem: this machine's clock differs from Slack's by 400 seconds, "
                    "so the bot refuses every request from Slack"
                )
            ],
        ),
        (400, False, ["warning: this machine's clock differs from Slack's by 400 seconds"]),
    ],
)
async def test_a_clock_that_is_off_is_told_with_what_it_harms(
    slack: FakeSlack, seconds: int, said: list[str], *, over_http: bool
) -> None:
    slack.state.manifest = dict(manifest(url="https://bot.example" if over_http else ""))
    clock = FastClock(CLOCK.now() + timedelta(seconds=seconds + 0.2), speed=0)
    way = {"delivery": http_events()} if over_http else {}
    found = await examine(app_of(slack, **way), settings(slack), clock, CONFIG)
    assert [one.replace(f"{seconds + 1} seconds", f"{seconds} seconds") for one in wrong(found)] == said


def changed(**settings: Any) -> dict[str, Any]:
    """The manifest with other settings."""
    made: Any = manifest()
    return {**made, "settings": {**made["settings"], **settings}}


def without_features(*names: str) -> dict[str, Any]:
    made: Any = manifest()
    return {**made, "features": {name: value for name, value in made["features"].items() if name not in names}}


NO_MENTIONS = [event for event in changed()["settings"]["event_subscriptions"]["bot_events"] if event != "app_mention"]
NO_THUMBS = [
    event for event in changed()["settings"]["event_subscriptions"]["bot_events"] if not event.startswith("reaction_")
]
APPS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "without mentions": (
        changed(event_subscriptions={"bot_events": NO_MENTIONS}),
        ["problem: the app does not subscribe to app_mention, which the bot needs"],
    ),
    "without reactions": (
        changed(event_subscriptions={"bot_events": NO_THUMBS}),
        [
            (
                "warning: the app does not subscribe to reaction_added and reaction_removed, so the feature "
                "“reactions” does not work"
            )
        ],
    ),
    "without sockets": (changed(socket_mode_enabled=False), ["problem: Socket Mode is turned off in the app"]),
    "without buttons": (
        changed(interactivity={"is_enabled": False}),
        ["problem: the app's buttons and dialogs do not work"],
    ),
    "without an agent": (
        without_features("agent_view"),
        ["warning: the app is not set up as an agent, so the feature “agent” does not work"],
    ),
    "without its tabs": (
        without_features("app_home"),
        [
            "problem: people cannot send direct messages to the app",
            "warning: the app has no Home tab, so the feature “home” does not work",
        ],
    ),
}


@pytest.mark.parametrize("how", APPS)
async def test_an_app_that_is_set_up_otherwise_is_told_what_it_lacks(slack: FakeSlack, how: str) -> None:
    slack.state.manifest, said = APPS[how]
    assert wrong(await examined(slack)) == said


async def test_commands_are_compared_with_their_prefix(slack: FakeSlack) -> None:
    slack.state.manifest = dict(manifest(prefix="bot-"))
    assert not wrong(await examined(slack, command_prefix="bot-"))
    (said,) = wrong(await examined(slack))
    assert said.startswith("warning: the app has no commands /ask, /budget, ")


async def test_without_a_configuration_token_the_app_itself_is_only_a_note(slack: FakeSlack) -> None:
    found = await examined(slack, config=None)
    assert [one.level for one in found if one.level is not Level.GOOD] == [Level.NOTE]
    assert not slack.state.called("apps.manifest.export")


async def test_an_app_that_listens_elsewhere_than_events_are_sent_is_a_problem(slack: FakeSlack) -> None:
    found = await examined(slack, delivery=http_events())
    assert wrong(found) == ["problem: the app sends events over Socket Mode instead of HTTP"]
    slack.state.manifest = changed(socket_mode_enabled=False)
    found = await examined(slack, delivery=http_events())
    assert wrong(found) == ["problem: some of the app's request URLs do not end in /slack/events"]


async def test_a_user_group_that_does_not_exist_is_named(slack: FakeSlack) -> None:
    slack.state.groups = {"S0LEADS": set()}
    found = await examined(slack, managers=frozenset({"S0LEADS", "S0GONE"}))
    assert wrong(found) == ["warning: Slack did not list the members of the user group S0GONE (no_such_subteam)"]


async def test_a_bot_that_is_in_no_channel_is_told_how_to_come_into_one(slack: FakeSlack) -> None:
    slack.state.channels.clear()
    found = await examined(slack)
    assert wrong(found) == ["note: the bot is not in any channel"]
    assert "/invite" in found[-1].remedy


@pytest.mark.parametrize("code", ["unknown_method", "feature_disabled", "paid_teams_only"])
async def test_a_workspace_without_sessions_is_noted_and_the_rest_works(slack: FakeSlack, code: str) -> None:
    slack.faults["agents.sessions.setStatus"].append(Fault(error=code))
    found = await examined(slack)
    assert healthy(found)
    assert len(wrong(found)) == 1
    assert f"does not support agent sessions for this app ({code})" in wrong(found)[0]


@pytest.mark.parametrize("fault", [Fault(error="channel_not_found"), Fault(error="something_new"), DOWN])
async def test_what_says_nothing_about_sessions_is_no_finding(slack: FakeSlack, fault: Fault) -> None:
    slack.faults["agents.sessions.setStatus"].append(fault)
    assert not wrong(await examined(slack))


@pytest.mark.parametrize("kind", ["data_table", "data_visualization", "context_actions"])
async def test_a_kind_of_block_that_slack_does_not_know_is_named_and_replies_work_without_it(
    slack: FakeSlack, kind: str
) -> None:
    slack.state.unknown_blocks.add(kind)
    found = await examined(slack)
    assert healthy(found)
    assert wrong(found) == [f"note: Slack does not accept some blocks that replies use: {kind}"]


async def test_a_kind_that_replies_do_not_have_is_not_checked(slack: FakeSlack) -> None:
    slack.state.unknown_blocks.add("data_table")
    assert not wrong(await examined(slack, chosen=SlackSettings(tables=False)))


@pytest.mark.parametrize(
    ("fault", "why"), [(Fault(error="unknown_method"), "(unknown_method)"), (DOWN, "blocks.validate"), (limited(5), "")]
)
async def test_blocks_that_slack_did_not_check_are_a_note(slack: FakeSlack, fault: Fault, why: str) -> None:
    slack.faults["blocks.validate"].append(fault)
    found = await examined(slack)
    assert healthy(found)
    (finding,) = wrong(found)
    assert finding.startswith("note: Slack did not check the blocks that replies use")
    assert why in finding


async def test_a_refusal_that_names_no_block_is_not_taken_for_a_good_answer(slack: FakeSlack) -> None:
    slack.faults["blocks.validate"].append(Fault(error="invalid_blocks"))
    assert wrong(await examined(slack)) == [
        "note: Slack does not accept some blocks that replies use, and did not say which"
    ]
