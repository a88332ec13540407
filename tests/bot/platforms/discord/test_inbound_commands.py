"""Messages that are meant as a slash command."""

from dataclasses import replace

import pytest

from bot.platforms import texts as platforms_texts
from bot.platforms.discord.inbound import ChannelFactsForConversation, DiscordBot, DiscordPost, read_post
from bot.platforms.discord.settings import ReplyMode
from bot.platforms.discord.slash_commands import command_in
from tests.bot.platforms.discord.test_inbound import CHANNEL, DM, ME, POST


def meant(
    text: str, where: ChannelFactsForConversation = CHANNEL, post: DiscordPost = POST, me: DiscordBot = ME
) -> str:
    incoming = read_post(replace(post, content=f"<@900> {text}", where=where), me, ReplyMode.THREAD)
    assert incoming is not None
    return command_in(incoming, direct=where.direct)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("forget everything", "forget"),
        ("Forget about Apollo.", "forget"),
        ("/forget", "forget"),
        ("forgt everything", "forget"),
        ("delete the last 2 hours!", "forget"),
        ("delete the second line", ""),
        ("forget today!", "forget"),
        ("memory", "memory"),
        ("memory delete 3", "memory"),
        ("policy", "policy"),
        ("policy set budget: 5 EUR", "policy"),
        ("budget", "budget"),
        ("model", "model"),
        ("/model other:model", "model"),
        ("usage?", "usage"),
        ("/new", "new"),
        ("/settings", "settings"),
        ("/help", "help"),
        ("help", "help"),
        ("Help!", "help"),
        ("/forgt everything", "forget"),
        ("/sotp", "stop"),
    ],
)
def test_a_message_that_is_nothing_but_a_commands_words_means_it(text: str, command: str) -> None:
    assert meant(text) == command
    assert f"`/{command}`" in platforms_texts.use_command(command, direct=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "help me with boats",
        "/sotp it, please",
        "/usr/bin is what?",
        "new boats are expensive",
        "forget about it, what is the time?",
        "please forget what I said about boats",
        "memory leaks in C",
        "policy of the United Nations",
        "budget plans for next year",
        "model trains are fun",
        "usage of the subjunctive",
    ],
)
def test_other_messages_are_questions(text: str) -> None:
    assert meant(text) == ""


def test_there_are_no_policies_in_direct_messages() -> None:
    assert (meant("policy", DM), meant("memory", DM)) == ("", "memory")
