"""The doctor's findings from Discord's responses, one sentence for finding problem."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.chat.findings import Level, healthy
from bot.platforms.discord.checks import MAX_GUILDS, NEAR_REVIEW, REVIEWED_FROM, DiscordFacts, findings
from bot.platforms.discord.options import (
    EVERYTHING,
    DiscordFeature,
    DiscordOptions,
    invite_text,
    permission_bits,
    person_link,
    required_features,
    server_link,
)
from bot.platforms.discord.settings import DiscordSettings, OtherServers
from bot.settings.secret import Secret

SETTINGS = DiscordOptions(Secret("any"), servers=frozenset({"10"}))
APPLICATION: dict[str, object] = {
    "id": "900",
    "name": "cogency",
    "flags": 1 << 19,
    "bot_public": False,
    "bot_require_code_grant": False,
    "interactions_endpoint_url": None,
    "integration_types_config": {"0": {}, "1": {}},
}
HARBOUR = {"id": "10", "name": "harbour", "permissions": str(permission_bits(EVERYTHING))}
DAY_MS = int(timedelta(days=1).total_seconds() * 1000)
STARTS = {"total": 1000, "remaining": 990, "reset_after": DAY_MS}
GATEWAY: dict[str, object] = {"shards": 1, "session_start_limit": STARTS}
WELL = DiscordFacts(SETTINGS, APPLICATION, (HARBOUR,), GATEWAY)


def wrong(facts: DiscordFacts) -> list[tuple[Level, str]]:
    return [(found.level, found.what) for found in findings(facts) if found.level is not Level.GOOD]


def test_nothing_is_wrong_with_an_application_that_is_set_up() -> None:
    assert wrong(WELL) == []


@pytest.mark.parametrize(
    ("change", "level", "says"),
    [
        ({"flags": 0}, Level.WARNING, "sees only messages that mention it"),
        ({"interactions_endpoint_url": "https://bot.example"}, Level.PROBLEM, "go to a URL"),
        ({"bot_require_code_grant": True}, Level.PROBLEM, "cannot be added to a server with an install link"),
        ({"bot_public": True}, Level.WARNING, "anyone can add the bot"),
        ({"integration_types_config": {"1": {}}}, Level.WARNING, "cannot be added to servers"),
        ({"integration_types_config": {"0": {}}}, Level.NOTE, "outside its servers"),
    ],
)
def test_what_is_wrong_with_the_application_is_one_finding(change: dict[str, object], level: Level, says: str) -> None:
    ((found, what),) = wrong(replace(WELL, application=APPLICATION | change))
    assert found is level
    assert says in what


def test_a_bot_that_was_told_to_do_without_the_texts_of_messages_is_only_reminded_of_it() -> None:
    settings = replace(SETTINGS, chosen=DiscordSettings(message_content=False))
    ((level, what),) = wrong(replace(WELL, settings=settings, application=APPLICATION | {"flags": 0}))
    assert (level, what[:38]) == (Level.NOTE, "COGENCY_DISCORD_MESSAGE_CONTENT is off")


def test_permissions_that_are_missing_are_named_with_their_server() -> None:
    granted = permission_bits(EVERYTHING) & ~permission_bits([DiscordFeature.FILES])
    ((_, what),) = wrong(replace(WELL, guilds=({**HARBOUR, "permissions": str(granted)},)))
    assert what == "in “harbour”, the bot lacks Attach Files"
    assert wrong(replace(WELL, guilds=({**HARBOUR, "permissions": str(1 << 3)},))) == [], "administrators may all"


def test_the_permission_for_reactions_is_missed_only_with_marks_on() -> None:
    guilds = ({**HARBOUR, "permissions": str(permission_bits(required_features(DiscordSettings())))},)
    assert wrong(replace(WELL, guilds=guilds)) == []
    marked = DiscordSettings(marks=True)
    (finding,) = (
        one
        for one in findings(replace(WELL, guilds=guilds, settings=replace(SETTINGS, chosen=marked)))
        if one.level is Level.WARNING
    )
    assert finding.what == "in “harbour”, the bot lacks Add Reactions"
    assert server_link("900", required_features(marked)) in finding.remedy


def test_a_bot_without_a_server_is_shown_the_link_to_one() -> None:
    (found,) = (
        finding
        for finding in findings(replace(WELL, settings=replace(SETTINGS, servers=frozenset[str]()), guilds=()))
        if finding.level is Level.WARNING
    )
    assert found.remedy == f"Open {server_link('900')}"


def test_a_server_that_the_settings_name_must_be_one_of_the_bots() -> None:
    settings = replace(SETTINGS, servers=frozenset({"10", "11"}))
    assert wrong(replace(WELL, settings=settings)) == [
        (Level.WARNING, "the settings list the server 11, but the bot is not in it")
    ]


LAIR = {**HARBOUR, "id": "77", "name": "lair"}


@pytest.mark.parametrize(
    ("others", "level", "becomes"),
    [
        (OtherServers.REFUSE, Level.WARNING, "the bot does not answer anyone there"),
        (OtherServers.LEAVE, Level.NOTE, "the bot leaves it"),
        (OtherServers.SERVE, Level.NOTE, "the bot answers its members there, but not elsewhere"),
    ],
)
def test_a_server_that_nobody_named_is_told_of_with_what_becomes_of_it(
    others: OtherServers, level: Level, becomes: str
) -> None:
    facts = replace(
        WELL, settings=replace(SETTINGS, chosen=DiscordSettings(other_servers=others)), guilds=(HARBOUR, LAIR)
    )
    assert wrong(facts) == [(level, f"the server “lair” (77) is not listed in the settings, so {becomes}")]


def test_without_names_the_servers_of_the_applications_owner_are_the_operators() -> None:
    unnamed = replace(SETTINGS, servers=frozenset[str]())
    assert wrong(replace(WELL, settings=unnamed, owned=frozenset({"10"}))) == []
    assert len(wrong(replace(WELL, settings=unnamed))) == 1


def test_a_public_bot_is_told_to_be_switched_to_a_private_one() -> None:
    found = findings(replace(WELL, application=APPLICATION | {"bot_public": True}))
    assert any("turn off “Public Bot”" in finding.remedy for finding in found)


@pytest.mark.parametrize(("remaining", "level"), [(990, Level.GOOD), (50, Level.WARNING), (0, Level.PROBLEM)])
def test_sessions_that_run_out_are_told_before_they_have(remaining: int, level: Level) -> None:
    starts = {**STARTS, "remaining": remaining}
    found = findings(replace(WELL, gateway={**GATEWAY, "session_start_limit": starts}))
    (sessions,) = (finding for finding in found if "allowed in the next 24.0 h" in finding.what)
    assert sessions.level is level
    assert healthy(found) is (remaining > 0)


def test_before_the_first_connection_no_hours_are_told() -> None:
    starts = {**STARTS, "remaining": 1000, "reset_after": 0}
    found = findings(replace(WELL, gateway={**GATEWAY, "session_start_limit": starts}))
    assert "1,000 more connections are allowed" in [finding.what for finding in found]


def test_fewer_connections_than_discord_recommends_are_a_warning_unless_it_decides() -> None:
    more = replace(WELL, gateway={**GATEWAY, "shards": 3})
    assert wrong(more) == [(Level.WARNING, "Discord recommends 3 connections; COGENCY_DISCORD_SHARDS is set to 1")]
    for chosen in (None, 3):
        assert wrong(replace(more, settings=replace(SETTINGS, chosen=DiscordSettings(shards=chosen)))) == []


def reached(members: int, servers: int = 2, **change: object) -> list[tuple[Level, str]]:
    """Return the findings about reach for servers with so many members together, most of which report no count."""
    guilds = ({**HARBOUR, "approximate_member_count": members}, *[HARBOUR] * (servers - 1))
    found = findings(replace(WELL, application=APPLICATION | change, guilds=guilds))
    return [(finding.level, finding.what) for finding in found if "can see the bot" in finding.what]


def test_users_who_can_see_the_bot_are_counted_against_the_review_of_its_intent() -> None:
    ((level, under),) = reached(1_234)
    assert (level, under.partition(" With ")[0]) == (Level.GOOD, "up to 1,234 users can see the bot.")
    assert [level for level, _ in reached(NEAR_REVIEW)] == [Level.NOTE]
    ((level, over),) = reached(REVIEWED_FROM)
    assert level is Level.WARNING
    assert over.endswith("only after a review")
    ((level, granted),) = reached(REVIEWED_FROM, flags=1 << 18)
    assert level is Level.NOTE
    assert "has granted the message content intent after a review" in granted
    assert "in its first 200 servers" in reached(1_234, MAX_GUILDS)[0][1]


def test_without_the_intent_and_without_counts_nobody_is_counted() -> None:
    guilds = ({**HARBOUR, "approximate_member_count": REVIEWED_FROM},)
    without = findings(
        replace(WELL, settings=replace(SETTINGS, chosen=DiscordSettings(message_content=False)), guilds=guilds)
    )
    assert not any("can see the bot" in finding.what for finding in [*without, *findings(WELL)])


def test_discords_clock_is_compared_with_ours() -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    assert wrong(replace(WELL, ours=now, theirs=now + timedelta(seconds=2))) == []
    assert wrong(replace(WELL, ours=now, theirs=now + timedelta(hours=1))) == [
        (Level.WARNING, "this machine's clock differs from Discord's by 3600 seconds")
    ]


def test_what_discord_did_not_say_is_a_warning_and_no_verdict() -> None:
    assert [level for level, _ in wrong(DiscordFacts(SETTINGS))] == [Level.WARNING] * 3


def test_a_link_asks_for_what_its_features_need_and_for_nothing_else() -> None:
    assert server_link("1", [DiscordFeature.MENTIONS]).endswith("&scope=bot&permissions=68608&integration_type=0")
    assert "applications.commands" in server_link("1", [DiscordFeature.COMMANDS])
    assert "permissions=0&" in server_link("1", [DiscordFeature.COMMANDS])
    assert person_link("1") in invite_text("1")
    assert person_link("1") not in invite_text("1", [DiscordFeature.MENTIONS])
