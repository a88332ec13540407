"""Every declared command is within the platforms' limits, documented, and found by its file alone."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.providers.scripted import ScriptedProvider
from bot.chat.commands.declaration import AnyCommand, Command, command_meant, command_named, nearest
from bot.chat.logs import FORM_OF_SECRETS
from bot.chat.panels import FieldKind
from bot.commands import COMMANDS, form_named
from bot.platforms.discord.slash_commands import COMMANDS as DISCORD
from bot.platforms.slack.slash_commands import COMMANDS as SLACK
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host

ROOT = Path(__file__).parents[4]
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_every_declared_command_is_bound_to_its_service() -> None:
    bound = turns_host(store_in_memory(), ScriptedProvider(["Hello."]), FakeClock()).commands
    assert {name: command.declared for name, command in bound.items()} == {one.name: one for one in COMMANDS}


def test_every_command_that_a_part_of_the_bot_declares_is_listed_once_and_every_such_file_declares_some() -> None:
    chat = [ROOT / "bot/chat/commands" / name for name in ("talking.py", "whoami.py")]
    files = [*(ROOT / "bot").glob("*/*commands.py"), *chat]
    declared = {
        path: re.findall(r"(?m)^\w*COMMAND = (?:declaration\.)?Command\(\s*name=\"(\w+)\"", path.read_text())
        for path in files
    }
    assert all(declared.values())
    assert [command.name for command in COMMANDS] == sorted(name for names in declared.values() for name in names)


def test_what_is_entered_in_a_form_with_a_secret_is_not_logged() -> None:
    forms = [form for command in COMMANDS for form in command.forms]
    secret = [form.name for form in forms if any(one.kind is FieldKind.SECRET for one in form.fields)]
    assert secret
    assert all(name.startswith(FORM_OF_SECRETS) for name in secret)


def test_every_command_is_offered_on_every_platform_with_conversations_of_its_kind() -> None:
    assert all(command in DISCORD for command in COMMANDS)
    assert [command for command in COMMANDS if not (command.rolling or command.forums)] == [*SLACK]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_names_and_summaries_fit_every_platform(command: AnyCommand) -> None:
    assert re.fullmatch(r"[a-z]{1,12}", command.name)
    assert 1 <= len(command.summary) <= 100
    assert all(1 <= len(argument.summary) <= 100 for argument in command.arguments)
    assert "`" not in command.summary
    assert "|" not in command.summary


def test_every_form_is_found_by_its_name_and_names_its_fields_once() -> None:
    for command in COMMANDS:
        for form in command.forms:
            assert form_named(form.name) == (command, form)
            assert len({field.name for field in form.fields}) == len(form.fields)
            assert sum(field.kind is FieldKind.ELSEWHERE for field in form.fields) <= 1


def test_a_name_means_its_command_and_a_name_within_talk_does_not() -> None:
    joke: AnyCommand = Command(name="joke", summary="Tell a joke")
    for said in ("joke", "Joke!", " joke. "):
        meant = command_meant(said, (joke,), NOW, str)
        assert meant is not None
        assert meant.command is joke
    assert command_meant("joke about boats", (joke,), NOW, str) is None
    assert command_named("JOKE", (joke,)) is joke
    assert (nearest("jok", "", (joke,)), nearest("etc/jok", "", (joke,)), nearest("boat", "", (joke,))) == (
        "joke",
        "",
        "",
    )


def test_only_a_command_that_is_no_question_takes_the_files_of_a_message() -> None:
    assert [command.name for command in COMMANDS if command.takes_files] == ["learn"]
