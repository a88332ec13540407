"""The links for Discord request exactly what the code needs. `tests/test_reference.py` checks the documentation."""

import discord

from bot.platforms.discord.client import intents
from bot.platforms.discord.options import EVERYTHING, PERMISSIONS, permission_bits, required_features, server_link
from bot.platforms.discord.settings import DiscordSettings


def test_the_permissions_are_those_of_discord() -> None:
    wanted = discord.Permissions(**dict.fromkeys(PERMISSIONS, True))
    assert permission_bits(EVERYTHING) == wanted.value == sum(permission.bit for permission in PERMISSIONS.values())


def test_the_permission_for_reactions_is_asked_for_only_with_marks_on() -> None:
    without, marked = (permission_bits(required_features(DiscordSettings(marks=marks))) for marks in (False, True))
    assert marked - without == PERMISSIONS["add_reactions"].bit
    assert f"permissions={without}&" in server_link("1")


def test_without_the_privileged_intent_nothing_else_is_lost() -> None:
    both = intents(message_content=True), intents(message_content=False)
    assert {name for name, wanted in both[0] if wanted} - {name for name, wanted in both[1] if wanted} == {
        "message_content"
    }


def test_what_acts_need_is_requested_only_where_an_operator_turned_them_on() -> None:
    without, acting = (permission_bits(required_features(DiscordSettings(), acts=acts)) for acts in (False, True))
    names = ("add_reactions", "pin_messages", "send_polls", "create_events")
    assert acting & ~without == sum(PERMISSIONS[name].bit for name in names)
