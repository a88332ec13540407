"""The names of slash commands, and texts that name them."""

import pytest

from agent.errors import Refused
from bot.explanations import texts as explanations_texts
from bot.memory import requests as memory_words
from bot.memory import texts as memory_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.interactions import unknown_commands
from bot.platforms.slack.slash_commands import SLASH_COMMANDS, help_text, named, notice


def test_every_name_fits_behind_the_longest_prefix() -> None:
    assert all(len(f"/{'a' * 20}{command.name}") <= 32 for command in SLASH_COMMANDS)


@pytest.mark.parametrize("prefix", ["", "my-", "x.y-"])
def test_a_command_of_ours_is_never_taken_for_an_unknown_one(prefix: str) -> None:
    unknown = unknown_commands(prefix)
    assert not [one.name for one in SLASH_COMMANDS if unknown.search(f"/{prefix}{one.name}")]
    assert all(unknown.search(f"/{prefix}{name}") for name in ("longerthananyname", "asks", "as", "ask ", "x-ask"))


def test_texts_of_the_core_name_commands_as_they_are_called_here() -> None:
    assert named("write `/forget` or `/memory delete 3`", "my-") == "write `/my-forget` or `/my-memory delete 3`"
    assert named("write `/forget`", "") == "write `/forget`"


def test_an_error_names_commands_as_they_are_called_here() -> None:
    shown = named(platforms_texts.failure(Refused(explanations_texts.WHICH_ANSWER)), "my-")
    assert shown == "Use `/my-why` for my last answer to you here, or press *Why this answer?* below an answer."


@pytest.mark.parametrize("words", ["`/etc/hosts`", r"\`/forget\`", "a/forget", "`/forgetful`", "read /forget"])
def test_other_words_stay_as_they_are(words: str) -> None:
    assert named(words, "my-") == words


def test_the_help_names_every_command_with_the_prefix() -> None:
    shown = help_text("my-", "cogency")
    assert all(f"`/my-{command.name}`" in shown for command in SLASH_COMMANDS)
    assert len(shown) < 2_000


def test_the_help_about_memory_is_named_in_the_same_way() -> None:
    answer = memory_words.read_memory_request("nonsense")
    assert isinstance(answer, memory_words.UnclearMemory)
    assert "`/my-memory`" in named(answer.sentence, "my-")


@pytest.mark.parametrize("prefix", ["", "my-"])
@pytest.mark.parametrize("line", [memory_texts.LEARNS, memory_texts.KEEPS])
def test_a_notice_below_a_reply_says_that_its_command_has_no_slash_in_a_thread(line: str, prefix: str) -> None:
    """Slack refuses slash commands in threads, and most replies are in one."""
    shown = notice(line, prefix)
    assert f"`/{prefix}memory" in shown
    assert shown.endswith(" (In a thread, write the command to me without the slash.)*")
    assert shown.count("*") == 2, "it is emphasised as a whole"
