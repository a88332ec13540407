"""The registration of commands: within Discord's limits, and only after a change."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import discord
import pytest
from discord import app_commands

from bot.platforms.discord.commands import CommandHandler
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.interactions import Tree
from bot.platforms.discord.members import Members, Servers
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.slash_commands import same
from bot.platforms.discord.surroundings import Surroundings
from bot.settings.secret import Secret
from tests.fakes.clock import FakeClock
from tests.fakes.recording_host import recording_host

SLASH, MENU = 1, 3
MAX_TEXT, MAX_MENU, MAX_COMMANDS, MAX_MENUS, MAX_OPTIONS, MAX_CHOICES = 100, 32, 100, 15, 25, 25  # Discord's limits


@pytest.fixture
async def payload() -> list[dict[str, Any]]:
    """All commands, as they are registered."""
    client = discord.Client(intents=discord.Intents(guilds=True))
    tree: Tree = app_commands.CommandTree(client)
    host, clock = recording_host(), FakeClock()
    members = Members(Servers(DiscordOptions(Secret("t")), client), clock)
    CommandHandler(
        tree,
        host,
        Connection(clock, 1.0),
        Surroundings(client),
        members,
        DiscordConversations(host, DiscordOptions(Secret("t"))),
    )
    return [command.to_dict(tree) for command in tree.get_commands()]


def shown(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text of a command that Discord's menus show."""
    if part.get("description"):
        yield part["description"]
    if part.get("type") == MENU and "options" not in part:
        yield part["name"]
    for option in part.get("options", ()):
        yield option["description"]
        yield from (choice["name"] for choice in option.get("choices", ()))


async def test_every_text_is_within_discords_limits(payload: list[dict[str, Any]]) -> None:
    for command in payload:
        limit = MAX_MENU if command["type"] == MENU else MAX_TEXT
        assert all(1 <= len(text) <= limit for text in shown(command))


async def test_names_and_numbers_are_within_discords_limits(payload: list[dict[str, Any]]) -> None:
    slash = [command for command in payload if command["type"] == SLASH]
    assert len(slash) <= MAX_COMMANDS
    assert len(payload) - len(slash) <= MAX_MENUS
    for command in slash:
        assert len(command["options"]) <= MAX_OPTIONS
        for named in (command, *command["options"]):
            assert re.fullmatch(r"[a-z_]{1,32}", named["name"])
            assert not named.get("name_localizations"), "documentation and messages name it so"
            assert len(named.get("choices", ())) <= MAX_CHOICES


async def test_each_command_is_offered_where_it_can_be_answered(payload: list[dict[str, Any]]) -> None:
    offered = {command["name"]: (command["integration_types"], command["contexts"]) for command in payload}
    assert {str(offered.pop(name)) for name in ("policy", "channel", "keys", "solved", "unanswered")} == {"([0], [0])"}
    assert offered.pop("new") == ([0, 1], [1])
    assert set(map(str, offered.values())) == {"([0, 1], [0, 1, 2])"}


async def test_what_discord_adds_is_no_change(payload: list[dict[str, Any]]) -> None:
    kept = [as_discord_keeps_it({**command, "id": "1", "version": "2", "dm_permission": True}) for command in payload]
    assert same(payload, kept[::-1])


async def test_any_change_is_one(payload: list[dict[str, Any]]) -> None:
    first = payload[0]
    other_words = {**first, "description": "Something else"}
    other_language = {**first, "description_localizations": {"de": "Anders"}}
    other_places = {**first, "contexts": [0]}
    fewer_options = {**first, "options": first["options"][1:]}
    optional = {**first, "options": [{**first["options"][0], "required": False}, *first["options"][1:]]}
    for changed in (other_words, other_language, other_places, fewer_options, optional):
        assert not same(payload, [changed, *payload[1:]])
    assert not same(payload, payload[1:])


def as_discord_keeps_it(part: object) -> Any:
    """Return the payload without default values."""
    if isinstance(part, list):
        return [as_discord_keeps_it(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    fields = cast("dict[str, object]", part)
    return {key: as_discord_keeps_it(value) for key, value in fields.items() if value not in (False, None, [])}
