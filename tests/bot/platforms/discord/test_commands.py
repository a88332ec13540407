"""The registration of commands, compared with Discord's OpenAPI description; and a proof that the comparison can
fail.
"""

import discord
import pytest

from bot.platforms.discord.commands import CommandHandler, CommandTree
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.members import Members, Servers
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.surroundings import Surroundings
from bot.settings.secret import Secret
from tests.fakes.clock import FakeClock
from tests.fakes.discord_spec import problems
from tests.fakes.recording_host import recording_host


@pytest.mark.slow
async def test_the_registration_of_every_command_is_as_discord_describes_it() -> None:
    client = discord.Client(intents=discord.Intents(guilds=True))
    tree, host, clock, settings = CommandTree(client), recording_host(), FakeClock(), DiscordOptions(Secret("t"))
    members, conversations = Members(Servers(settings, client), clock), DiscordConversations(host, settings)
    CommandHandler(tree, host, Connection(clock, 1.0), Surroundings(client), members, conversations)
    body = [command.to_dict(tree) for command in tree.get_commands()]
    assert body
    assert problems("PUT", "/applications/1/commands", body, {}) == []
    body[0]["name"] = "x" * 33
    assert len(problems("PUT", "/applications/1/commands", body, {})) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        ("POST", "/channels/1/messages", {"content": "x", "componets": []}, "componets"),
        ("POST", "/channels/1/messages", {"content": "x", "nonce": "n" * 26}, "nonce"),
        ("POST", "/channels/1/messages", {"attachments": [{"id": "x"}]}, "attachments"),
        ("PATCH", "/webhooks/1/t/messages/@original", {"content": "x" * 2_001}, "content"),
        ("POST", "/interactions/1/t/callback", {"type": 3}, "type"),
        ("POST", "/channels/1/messages/2/threads", {"auto_archive_duration": 60}, "name"),
        ("DELETE", "/channels/1/messages/2", {"content": "x"}, "a body where none belongs"),
        ("POST", "/channels/1/pins", {}, "no such request"),
    ],
)
def test_what_discord_does_not_describe_is_found(method: str, path: str, body: dict[str, object], says: str) -> None:
    (problem,) = problems(method, path, body, {})
    assert says in problem
