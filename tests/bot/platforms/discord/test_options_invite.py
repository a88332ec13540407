"""The links for Discord request exactly what the code needs. `tests/test_reference.py` checks the documentation."""

import discord

from bot.platforms.discord.client import intents
from bot.platforms.discord.options import EVERYTHING, PERMISSIONS, permission_bits


def test_the_permissions_are_those_of_discord() -> None:
    wanted = discord.Permissions(**dict.fromkeys(PERMISSIONS, True))
    assert permission_bits(EVERYTHING) == wanted.value == sum(permission.bit for permission in PERMISSIONS.values())


def test_without_the_privileged_intent_nothing_else_is_lost() -> None:
    both = intents(message_content=True), intents(message_content=False)
    assert {name for name, wanted in both[0] if wanted} - {name for name, wanted in both[1] if wanted} == {
        "message_content"
    }
