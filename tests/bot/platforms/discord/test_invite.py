"""`manifests/discord.md` asks for exactly what the code needs."""

import re
from pathlib import Path

import discord

from bot.platforms.discord.client import intents
from bot.platforms.discord.invite import EVERYTHING, PERMISSIONS, needed, person_link, server_link

PAGE = (Path(__file__).parents[4] / "manifests" / "discord.md").read_text(encoding="utf-8")


def test_the_page_names_the_intents_that_the_client_asks_for() -> None:
    asked = {name for name, wanted in intents(message_content=True) if wanted}
    named = set(
        re.findall(r"^\| `(\w+)` \|", PAGE.partition("gateway for these intents")[2].partition("##")[0], re.MULTILINE)
    )
    assert named == asked


def test_the_page_and_its_link_name_the_permissions_that_the_bot_needs() -> None:
    rows = re.findall(r"^\| ([\w ]+) \| (\d+) \|", PAGE, re.MULTILINE)
    assert [title for title, _ in rows] == [permission.title for permission in PERMISSIONS.values()]
    wanted = discord.Permissions(**dict.fromkeys(PERMISSIONS, True))
    assert [int(bit) for _, bit in rows] == [permission.bit for permission in PERMISSIONS.values()]
    assert needed(EVERYTHING) == wanted.value, "these are discord.py's bits"
    assert server_link("APPLICATION_ID") in PAGE
    assert person_link("APPLICATION_ID") in PAGE


def test_without_the_privileged_intent_nothing_else_is_lost() -> None:
    both = intents(message_content=True), intents(message_content=False)
    assert {name for name, wanted in both[0] if wanted} - {name for name, wanted in both[1] if wanted} == {
        "message_content"
    }
