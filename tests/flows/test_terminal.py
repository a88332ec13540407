"""`cogency` as a person starts it: real processes, real pipes, a real terminal, the offline model, a real database."""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from agent.machine import CLOCK
from agent.memory.audience import PersonAudience, Place
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.schedules.ids import source_of
from bot.budgets import texts as budgets_texts
from bot.chat.attachments.read_again import NO_FILE
from bot.chat.exit_codes import Exit
from bot.chat.texts import commands as command_texts
from bot.memory import texts as memory_texts
from bot.models import texts as models_texts
from bot.platforms import texts as platforms_texts
from store.engine import open_store
from store.migrations import HEAD
from tests.examples import thorough
from tests.fakes import documents
from tests.fakes.new_database import lay_database
from tests.fakes.postgresql import PostgresServer
from tests.fakes.ready_process import command
from tests.fakes.terminal import CTRL_C, FakeTerminal
from tests.patience import PATIENCE_S


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Nothing of the person who runs the tests gets in: neither settings nor a local Ollama."""
    return {
        "PATH": os.environ["PATH"],  # noqa: TID251 -- a process needs one
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "USER": "anna",
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
        "OLLAMA_BASE_URL": "http://127.0.0.1:1",
        **settings,
    }


def cogency(folder: Path, *arguments: str, typed: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run one command. `ask` needs a model that is named; it and `chat` answer, so their database is there already."""
    if arguments[:1] in {("ask",), ("chat",)}:
        lay_database(folder / "bot.db")
    named = {"COGENCY_MODEL": "rehearsal", **settings} if arguments[:1] == ("ask",) else settings
    return command(folder, environment(folder, **named), *arguments, typed=typed)


def from_nothing(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """As `cogency`, in an interpreter that has imported nothing yet."""
    return subprocess.run(  # noqa: S603 -- our own command
        [sys.executable, "-m", "bot", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={**environment(folder, **settings), "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )


def test_an_answer_at_the_terminal_asks_before_it_goes_beyond_its_limit(tmp_path: Path) -> None:
    typed = "use schedules {}\nyes\nuse schedules {}\nno\n"
    said = cogency(tmp_path, "chat", typed=typed, COGENCY_RUN_TOKENS="100").stdout
    assert said.count("exceed the limit of $2.00 or 100 tokens for one answer") == 2
    assert said.count("I stopped early.") == 1


def test_the_terminal_says_who_its_user_is(tmp_path: Path) -> None:
    said = cogency(tmp_path, "chat", typed="/whoami\n").stdout
    assert "person:anna" in said
    assert command_texts.OPEN_TO_OPERATORS in said


@pytest.mark.parametrize(
    ("arguments", "ends"),
    [
        ("ask hello", Exit.OK),
        ("doctor", Exit.OK),
        pytest.param("migrate", Exit.OK, marks=thorough),
        pytest.param("budget me", Exit.OK, marks=thorough),
        pytest.param("usage", Exit.UNAVAILABLE, marks=thorough),
        pytest.param("audit", Exit.UNAVAILABLE, marks=thorough),
        pytest.param("feedback counts", Exit.UNAVAILABLE, marks=thorough),
        pytest.param("check-model", Exit.SETTINGS, marks=thorough),
        pytest.param("settings", Exit.OK, marks=thorough),
        ("slack manifest", Exit.OK),
        pytest.param("discord invite --application 1", Exit.OK, marks=thorough),
        ("run", Exit.SETTINGS),
    ],
)
def test_each_command_imports_what_it_needs(tmp_path: Path, arguments: str, ends: Exit) -> None:
    ran = from_nothing(tmp_path, *arguments.split(), COGENCY_MODEL="rehearsal")
    assert (ran.returncode, "Traceback" in ran.stderr) == (ends, False), ran.stderr


def test_the_settings_are_listed_also_where_one_of_them_is_wrong(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("COGENCY_MODLE=rehearsal\n", encoding="utf-8")
    assert "`cogency settings` lists" in " ".join(cogency(tmp_path, "settings", "--help").stdout.split())
    ran = cogency(tmp_path, "settings", COGENCY_BACKLOG="many")
    assert (ran.returncode, ran.stderr) == (Exit.OK, "")
    assert ran.stdout == (Path(__file__).parents[2] / ".env.example").read_text(encoding="utf-8")


def test_a_piped_chat_remembers_recalls_and_ends_well(tmp_path: Path) -> None:
    typed = "remember that my boat is blue\n/new\nwhat did I say about my boat?\n"
    ran = cogency(tmp_path, "chat", typed=typed)
    assert ran.returncode == Exit.OK
    remembered, _, recalled = ran.stdout.partition("Started a new thread.")
    assert "my boat is blue" in remembered
    assert "remember that my boat is blue" in recalled
    assert "\x1b" not in ran.stdout
    assert "<execute" not in ran.stdout


def test_long_work_follows_its_answer_before_the_next_line_is_read(tmp_path: Path) -> None:
    begin = json.dumps({"what": "count the ferries"})
    ran = cogency(tmp_path, "chat", typed=f"use background {begin}\nhello\n")
    answered, _, rest = ran.stdout.partition(platforms_texts.AT_IT.partition(".")[0])
    worked, _, after = rest.partition("> hello")
    assert "It begins now, as number 1" in answered
    assert "count the ferries" in worked
    assert after
    alone = cogency(tmp_path, "ask", f"use background {begin}")
    assert "unknown tool 'background'" in alone.stdout


def test_what_was_said_a_minute_ago_is_found_and_small_talk_is_not(tmp_path: Path) -> None:
    typed = "hello\nmy boat is blue\nwhat did I say about my boat?\n/new\nsearch for hello\n"
    ran = cogency(tmp_path, "chat", typed=typed)
    here, _, later = ran.stdout.partition("Started a new thread.")
    assert "This thread contains:\n\n> my boat is blue" in here
    assert "I found nothing about “hello”" in later


def test_what_has_left_the_models_sight_in_this_conversation_is_found_and_the_last_is_said_again(
    tmp_path: Path,
) -> None:
    pages = "".join(
        f"Page {number} of the log. {'The ferry left the harbour at seven. ' * 30}\n" for number in range(5)
    )
    typed = (
        f"I parked the car on level 4.\n{pages}My dentist is in Elm Road.\nwhere did I park?\nwhat did I just say?\n"
    )
    answers = cogency(tmp_path, "chat", typed=typed, COGENCY_HISTORY_TOKENS="1000").stdout
    found, _, last = answers.partition("This is what I found about “park”:")[2].partition("This thread contains:")
    assert ", earlier here:" in found
    assert "> > I parked the car on level 4." in found
    assert "> My dentist is in Elm Road." in last


def test_usage_counts_the_tokens_of_a_rehearsal_as_estimated_and_without_a_price(tmp_path: Path) -> None:
    cogency(tmp_path, "chat", typed="hello\n")
    ran = cogency(tmp_path, "chat", typed="/usage\n/forget everything\nyes\n/usage\n")
    before, _, after = ran.stdout.partition("Forgotten")
    assert before.count("no price, 1 model call") == 2
    assert re.search(r"Input: ~[\d,]+ new tokens", before)
    assert after.count("no price, 1 model call") == 2


def test_what_was_forgotten_is_not_found_by_the_next_process(tmp_path: Path) -> None:
    cogency(tmp_path, "chat", typed="remember that my boat is turquoise\n")
    kept = cogency(tmp_path, "chat", typed="what did I say about my boat?\n/forget everything\nno\n/memory\n")
    assert kept.stdout.count("turquoise") >= 2
    forgotten = cogency(tmp_path, "chat", typed="/forget everything\nyes\n")
    assert "A search confirmed that these texts are no longer where they were stored" in forgotten.stdout
    assert "deleting" not in forgotten.stdout, "nobody can delete what a terminal has shown"
    after = cogency(tmp_path, "chat", typed="what did I say about my boat?\n/memory\n/threads\n")
    assert "turquoise" not in after.stdout
    files = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    assert not any(b"turquoise" in content for content in files)


def test_forgetting_one_thread_leaves_the_others(tmp_path: Path) -> None:
    typed = (
        "my car is green\n/new\nmy boat is turquoise\n/forget thread\nyes\n"
        "what did I say about my boat?\nwhat did I say about my car?\n"
    )
    ran = cogency(tmp_path, "chat", typed=typed)
    _, _, after = ran.stdout.partition("Forgotten")
    assert "turquoise" not in after
    assert "car is green" in after


async def test_a_second_process_is_refused_with_a_sentence(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path / 'bot.db'}")
    ran = cogency(tmp_path, "chat", typed="hello\n")
    await store.close()
    assert ran.returncode == Exit.BUSY
    assert ran.stderr.startswith("cogency: Another process is using ")
    assert ran.stderr.endswith(". Stop it, or choose another database in COGENCY_DATABASE_URL.\n")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"COGENCY_MODLE": "rehearsal"}, "Did you mean COGENCY_MODE or COGENCY_MODEL?"),
        ({"COGENCY_MODEL": "nobody:x"}, "COGENCY_MODEL must be"),
        ({"COGENCY_MODEL": "openai:gpt-6.1-terra"}, "OPENAI_API_KEY is missing"),
        ({"COGENCY_MAX_ITERATIONS": "many"}, "COGENCY_MAX_ITERATIONS"),
        ({"SLACK_BOT_TOKEN": "xoxp-1234567890"}, "SLACK_BOT_TOKEN"),
    ],
)
def test_a_wrong_setting_is_one_sentence_and_exit_code_78(
    tmp_path: Path, settings: Mapping[str, str], named: str
) -> None:
    ran = cogency(tmp_path, "chat", **settings)
    assert ran.returncode == Exit.SETTINGS
    assert named in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "xoxp-1234567890" not in ran.stderr


def test_a_file_that_comes_with_the_folder_gets_no_key_of_the_environment(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as catcher:
        catcher.setblocking(False)
        port = catcher.getsockname()[1]
        (tmp_path / ".env").write_text(f"OPENAI_BASE_URL=http://[::ffff:127.0.0.1]:{port}/v1\n")
        ran = cogency(tmp_path, "chat", typed="hello\n", OPENAI_API_KEY="sk-of-the-environment")
        assert (ran.returncode, ran.stdout) == (Exit.SETTINGS, "")
        assert "OPENAI_BASE_URL is set in .env, but the environment or another file sets OPENAI_API_KEY" in ran.stderr
        assert "sk-of-the-environment" not in ran.stderr
        with pytest.raises(BlockingIOError):
            catcher.accept()


def test_a_start_says_where_questions_and_keys_go_if_not_to_the_vendor(tmp_path: Path) -> None:
    moved = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "sk-1234567890"}
    ran = cogency(tmp_path, "chat", typed="hello\n", COGENCY_MODEL="rehearsal", **moved)
    assert ran.stderr.splitlines()[0] == (
        "cogency: OPENAI_BASE_URL is set to http://127.0.0.1:1/v1. Messages go there, and so does OPENAI_API_KEY."
    )


def test_a_model_that_does_not_answer_is_told_in_the_reply_and_the_chat_goes_on(tmp_path: Path) -> None:
    settings = {"COGENCY_MODEL": "ollama:llama3.2"}
    ran = cogency(tmp_path, "chat", typed="hello\n/model rehearsal\nhello\n", **settings)
    assert ran.returncode == Exit.UNAVAILABLE
    assert "Ollama does not respond at http://127.0.0.1:1/v1" in ran.stderr
    assert "Ollama" not in ran.stdout
    assert "offline rehearsal model" in ran.stdout


def test_one_question_is_asked_in_words_or_from_standard_input_as_one(tmp_path: Path) -> None:
    asked = cogency(tmp_path, "ask", "remember", "that my boat is blue")
    assert (asked.returncode, asked.stderr) == (Exit.OK, "")
    assert "I will remember that:\n\n> my boat is blue" in asked.stdout
    piped = cogency(tmp_path, "ask", typed="hello\n/quit\nyou\n")
    assert (piped.returncode, piped.stderr) == (Exit.OK, "")
    assert "> hello /quit you" in piped.stdout
    read = json.loads(cogency(tmp_path, "ask", "--json", "what did I say about my boat?").stdout)
    assert (read["version"], read["outcome"], read["model"]) == (1, "answered", "rehearsal")
    assert "my boat is blue" in read["answer"]
    nothing = cogency(tmp_path, "ask", typed=" \n")
    assert (nothing.returncode, nothing.stdout) == (Exit.ARGUMENTS, "")
    assert (
        nothing.stderr
        == "cogency ask: There is no question. Write one after `cogency ask`, or send it to standard input.\n"
    )


def test_a_pause_of_learning_says_that_what_one_asks_to_be_remembered_is_kept(tmp_path: Path) -> None:
    said = cogency(tmp_path, "chat", typed="/memory pause\nremember that my cat is Tom\n/memory\n").stdout
    assert "I will never learn what is said during the pause unless you ask me to remember it." in said
    assert "- **1** my cat is Tom" in said


def test_what_is_refused_says_so_on_the_error_stream_and_in_the_exit_code(tmp_path: Path) -> None:
    unknown = cogency(tmp_path, "chat", typed="/memroy\nhello\n")
    assert unknown.returncode == Exit.USAGE
    assert "Did you mean `/memory`?" in unknown.stderr
    assert "You wrote:" in unknown.stdout
    budget = cogency(tmp_path, "budget", "much", "money")
    assert (budget.returncode, budget.stdout) == (Exit.ARGUMENTS, "")
    assert budget.stderr.startswith("cogency budget: For your own budget, use `/budget`")
    assert cogency(tmp_path, "budget", "me").returncode == Exit.OK


NO_ENTRY = memory_texts.NO_NUMBER.format(number=99)
NO_POLICY = memory_texts.NO_POLICY_NUMBER.format(number=99)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/memory show 99", NO_ENTRY),
        pytest.param("/memory delete 99", NO_ENTRY, marks=thorough),
        pytest.param("/memory correct 99 I sail", NO_ENTRY, marks=thorough),
        ("/memory correct 1 my key is AKIAIOSFODNN7EXAMPLE", memory_texts.NO_SECRETS),
        pytest.param("/memory everywhere 99", NO_ENTRY, marks=thorough),
        ("/memory undo", memory_texts.NOT_BACK),
        ("/memory pause here for everybody", memory_texts.PAUSE_NOT_THE_MANAGER),
        ("/memory nonsense", memory_texts.MEMORY_USAGE),
        ("/forget about it", "a word of at least"),
        ("/forget nonsense", "I did not understand"),
        pytest.param("/policy nonsense", memory_texts.POLICY_USAGE, marks=thorough),
        ("/policy remove 99", NO_POLICY),
        ("/budget nonsense", budgets_texts.BUDGET_USAGE),
        ("/model nonsense", "must be rehearsal or one of"),
    ],
)
def test_a_command_that_says_no_says_so_on_the_error_stream_and_in_the_exit_code(
    typed: str, told: str, tmp_path: Path
) -> None:
    refused = cogency(tmp_path, "chat", typed=f"remember that my boat is blue\n/memory\n{typed}\n")
    assert refused.returncode in (Exit.FAILED, Exit.SETTINGS)
    assert told in refused.stderr
    assert told not in refused.stdout


@pytest.mark.parametrize("typed", ["/memory", "/policy", "/budget", "/usage", "/model", "/forget about boats", "/stop"])
def test_a_command_that_has_nothing_to_do_is_none_that_failed(typed: str, tmp_path: Path) -> None:
    done = cogency(tmp_path, "chat", typed=f"{typed}\n")
    assert done.returncode == Exit.OK
    assert done.stdout


@pytest.mark.parametrize("command", [("ask", "hi"), ("chat",), ("check-model",)])
def test_a_server_that_does_not_answer_is_no_fault_of_a_setting(command: Sequence[str], tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    ran = cogency(tmp_path, *command, OPENAI_BASE_URL=address, COGENCY_MODEL="")
    assert ran.returncode == Exit.UNAVAILABLE
    assert ran.stderr == f"cogency: {models_texts.MODELS_AWAY.format(address=address, setting='OPENAI_BASE_URL')}\n"
    doctor = cogency(tmp_path, "doctor", OPENAI_BASE_URL=address)
    assert (doctor.returncode, doctor.stderr) == (Exit.FAILED, "")
    assert "is not available" in doctor.stdout


def test_a_database_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bot.db").write_text("no database " * 100)
    ran = cogency(tmp_path, "chat")
    assert ran.returncode == Exit.UNAVAILABLE
    assert "is not a database" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_the_chat_imports_neither_slack_nor_discord_and_looks_for_its_garbage_once_it_runs(tmp_path: Path) -> None:
    code = (
        "import gc, sys; from bot.__main__ import run; gc.disable(); run(['chat']); print(gc.isenabled()); "
        "print({'slack_bolt', 'slack_sdk', 'discord', 'aiohttp'} & {name.split('.')[0] for name in sys.modules})"
    )
    ran = subprocess.run(  # noqa: S603 -- our own command
        [sys.executable, "-c", code],
        input="hello\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**environment(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        check=True,
    )
    assert ran.stdout.splitlines()[-2:] == ["True", "set()"]


def test_check_model_says_so_when_there_is_no_model_to_check(tmp_path: Path) -> None:
    ran = cogency(tmp_path, "check-model", COGENCY_MODEL="rehearsal")
    assert (ran.returncode, ran.stdout) == (Exit.SETTINGS, "")
    assert ran.stderr.startswith(
        "cogency: There is no model to check, because the rehearsal model only follows rules. Set COGENCY_MODEL"
    )


def test_a_backup_is_written_once_and_restored_where_that_is_said(tmp_path: Path) -> None:
    assert cogency(tmp_path, "ask", "remember that my boat is blue").returncode == Exit.OK
    assert cogency(tmp_path, "backup", "monday").stdout.startswith(
        "monday: 2 messages, 1 person, 1 conversation, 1 fact"
    )
    assert "exists. Choose another name" in cogency(tmp_path, "backup", "monday").stderr
    assert "already contains 2 messages, 1 person" in cogency(tmp_path, "restore", "monday").stderr
    restored = cogency(tmp_path, "restore", "monday", "--replace")
    assert (restored.returncode, "now contains the backup" in restored.stdout) == (Exit.OK, True)
    mistyped = cogency(tmp_path, "restore", "mnoday", "--replace")
    assert (mistyped.returncode, mistyped.stderr) == (
        Exit.ARGUMENTS,
        "cogency: The file mnoday does not exist. Correct the name.\n",
    )
    database = cogency(tmp_path, "backup", "postgresql://ann:geheim@db.example.org/bot")
    assert (database.returncode, "must be a file" in database.stderr) == (Exit.ARGUMENTS, True)
    assert "geheim" not in database.stderr
    copied = cogency(tmp_path, "copy", "--to", f"sqlite:///{tmp_path / 'moved.db'}")
    assert "The copy matches the source" in copied.stdout
    assert cogency(tmp_path, "forget-again").returncode == Exit.ARGUMENTS
    logging = cogency(tmp_path, "ask", "what do you know?", COGENCY_FORGETTING_LOG=str(tmp_path / "log"))
    assert (logging.returncode, (tmp_path / "log").exists()) == (Exit.OK, True)
    again = cogency(tmp_path, "forget-again", "log")
    assert (again.returncode, "erased 0 messages again" in again.stdout) == (Exit.OK, True)
    assert "log of this database" in cogency(tmp_path, "forget-again", "monday").stderr


def test_migrate_brings_a_database_to_the_newest_version_and_says_so(tmp_path: Path) -> None:
    said = [cogency(tmp_path, "migrate").stdout for _ in range(2)]
    assert said == [
        f"{tmp_path}/bot.db: created at version {HEAD}.\n",
        f"{tmp_path}/bot.db: already at the newest version, {HEAD}.\n",
    ]


def test_migrate_goes_back_to_an_earlier_version_after_a_backup_and_says_what_is_lost(tmp_path: Path) -> None:
    assert cogency(tmp_path, "ask", "remember that my boat is blue").returncode == Exit.OK
    there = cogency(tmp_path, "migrate", "--back", HEAD)
    assert (there.returncode, there.stdout) == (Exit.OK, f"{tmp_path}/bot.db: already at version {HEAD}.\n")
    mistyped = cogency(tmp_path, "migrate", "--back", "r009")
    assert (mistyped.returncode, "r009" in mistyped.stderr) == (Exit.ARGUMENTS, True)
    refused = cogency(tmp_path, "migrate", "--back", "r0009")
    assert refused.returncode == Exit.FAILED
    assert "version r0009 cannot store this data:\n" in refused.stdout
    assert "\n        1  audit entries about tool calls" in refused.stdout
    assert "add --yes" in refused.stdout
    done = cogency(tmp_path, "migrate", "--back", "r0009", "--backup", "before", "--yes")
    assert done.returncode == Exit.OK
    assert done.stdout.startswith(
        f"before: 2 messages, 1 person, 1 conversation, 1 fact, 0 documents, at version {HEAD}"
    )
    assert f"back from version {HEAD} to r0009. Start the earlier release now" in done.stdout
    assert "r0009" in cogency(tmp_path, "migrate").stdout
    stray = cogency(tmp_path, "migrate", "--yes")
    assert (stray.returncode, "work only with --back VERSION" in stray.stderr) == (Exit.ARGUMENTS, True)


def test_usage_shows_the_operator_what_was_spent_also_while_the_bot_runs(tmp_path: Path) -> None:
    cogency(tmp_path, "chat", typed="hello\n")
    with FileLock(tmp_path / "bot.db.lock"):  # as a running bot holds it
        table = cogency(tmp_path, "usage")
        read = cogency(tmp_path, "usage", "--days", "1", "--by", "model", "--json")
    assert (table.returncode, read.returncode) == (Exit.OK, Exit.OK)
    assert "anna (terminal:anna)" in table.stdout
    assert "no price" in table.stdout
    [total] = json.loads(read.stdout)["totals"]
    assert (total["key"], total["calls"], total["estimated"], total["cost_usd"]) == ("rehearsal", 1, True, None)


def test_audit_shows_the_operator_each_call_of_a_tool_also_while_the_bot_runs(tmp_path: Path) -> None:
    cogency(tmp_path, "chat", typed="remember that my boat is blue\n")
    with FileLock(tmp_path / "bot.db.lock"):
        shown = cogency(tmp_path, "audit")
        read = cogency(tmp_path, "audit", "--json")
        none = cogency(tmp_path, "audit", "--since", "2999-01-01T00:00+02:00")
        wrong = cogency(tmp_path, "audit", "--since", "yesterday")
    assert "terminal:anna" in shown.stdout
    assert "remember  writes here  no approval needed (effect)  success" in shown.stdout
    told = json.loads(read.stdout)
    assert (told["tool"], told["outcome"], told["person"]) == ("remember", "success", "terminal:anna")
    assert none.stdout == "No tools were called in that period.\n"
    assert wrong.returncode == Exit.ARGUMENTS
    assert "must be a date" in wrong.stderr


def test_usage_without_a_database_or_with_an_old_one_is_one_sentence(tmp_path: Path) -> None:
    ran = cogency(tmp_path, "usage")
    assert (ran.returncode, ran.stdout) == (Exit.UNAVAILABLE, "")
    assert (
        ran.stderr
        == f"cogency: The database {tmp_path}/bot.db does not exist yet. The bot creates it when it first starts.\n"
    )
    (tmp_path / "bot.db").touch()
    ran = cogency(tmp_path, "usage")
    assert "Run `cogency migrate` first" in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        ("--days", "0", "must be a whole number from 1 to 3650"),
        ("--days", "many", "must be a whole number from 1 to 3650"),
        ("--by", "star sign", "must be one of person, channel, workspace, day, model"),
    ],
)
def test_usage_names_what_it_cannot_read(tmp_path: Path, option: str, value: str, remedy: str) -> None:
    ran = cogency(tmp_path, "usage", option, value)
    assert ran.returncode == Exit.ARGUMENTS
    assert f"argument {option}: {remedy}" in ran.stderr


def test_a_database_server_that_is_away_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    ran = cogency(tmp_path, "migrate", COGENCY_DATABASE_URL="postgresql://bot:sesame@127.0.0.1:1/bot")
    assert (ran.returncode, ran.stdout) == (Exit.UNAVAILABLE, "")
    assert ran.stderr == (
        "cogency: PostgreSQL database bot on 127.0.0.1 could not be reached. Check that the server is running and that "
        "COGENCY_DATABASE_URL is correct.\n"
    )


async def test_a_chat_on_a_database_server_remembers_recalls_and_forgets(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = await postgres.empty()
    typed = "remember that my boat is turquoise\n/new\nwhat did I say about my boat?\n"
    _, _, recalled = cogency(tmp_path, "chat", typed=typed, COGENCY_DATABASE_URL=url).stdout.partition(
        "Started a new thread."
    )
    assert "remember that my boat is turquoise" in recalled
    forgotten = cogency(tmp_path, "chat", typed="/forget everything\nyes\n", COGENCY_DATABASE_URL=url).stdout
    assert "where they were stored. Traces may remain in the database server's files" in forgotten
    again = cogency(tmp_path, "chat", typed="what did I say about my boat?\n/memory\n", COGENCY_DATABASE_URL=url)
    assert again.returncode == Exit.OK
    assert "Memory: PostgreSQL database shared on" in again.stderr
    assert "turquoise" not in again.stdout


def test_a_start_and_the_doctor_say_which_name_in_the_file_is_nearly_a_setting(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KY=sk-1234567890\n")
    told = ".env sets OPENAI_API_KY, which is not a setting"
    ran = cogency(tmp_path, "chat")
    assert ran.stderr.splitlines()[0] == f"cogency: {told}. Did you mean OPENAI_API_KEY?"
    assert f"warning  Settings: {told}. Did you mean OPENAI_API_KEY?" in cogency(tmp_path, "doctor").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_completes_every_command(shell: str, tmp_path: Path) -> None:
    ran = cogency(tmp_path, "completion", shell, COGENCY_BACKLOG="many")  # a wrong setting is no reason to fail
    assert (ran.returncode, ran.stderr) == (Exit.OK, "")
    assert {"backup", "doctor", "plugins", "manifest", "--config"} <= {*re.findall(r"[\w-]+", ran.stdout)}


@pytest.mark.skipif(shutil.which("bash") is None, reason="this machine has no bash")
def test_bash_completes_a_command_of_which_the_first_letters_are_written(tmp_path: Path) -> None:
    script = cogency(tmp_path, "completion", "bash").stdout
    asked = f"{script}\nCOMP_WORDS=(cogency bac); COMP_CWORD=1; _shtab_cogency; echo ${{COMPREPLY[@]}}"
    done = subprocess.run([shutil.which("bash") or "", "-c", asked], capture_output=True, text=True, check=True)  # noqa: S603 -- ours
    assert done.stdout == "backup\n"


def test_without_a_command_it_chats(tmp_path: Path) -> None:
    ran = cogency(tmp_path, typed="remember that my boat is blue\n")
    assert (ran.returncode, "my boat is blue" in ran.stdout) == (Exit.OK, True)


def test_a_question_without_a_model_gets_no_answer_that_a_script_could_take_for_one(tmp_path: Path) -> None:
    ran = command(tmp_path, environment(tmp_path), "ask", "why?", typed="")
    assert (ran.returncode, ran.stdout) == (Exit.SETTINGS, "")
    assert ran.stderr.startswith(
        "cogency ask: No model is configured. Set COGENCY_MODEL or a vendor's API key, or run `"
    )
    as_json = command(tmp_path, environment(tmp_path), "ask", "--json", "why?", typed="")
    assert (as_json.returncode, as_json.stdout) == (Exit.SETTINGS, "")


def test_settings_at_home_are_found_from_every_folder_and_a_named_file_goes_before_them(tmp_path: Path) -> None:
    home, folder = tmp_path / "home" / ".config" / "cogency", tmp_path / "elsewhere"
    for each in (home, folder):
        each.mkdir(parents=True)
    (home / ".env").write_text("COGENCY_MODEL=rehearsal\n")
    (home / ".env").chmod(0o600)
    settings = {**environment(folder), "HOME": str(tmp_path / "home")}
    assert "You wrote" in command(folder, settings, "ask", "hello", typed="").stdout
    named = tmp_path / "env"
    for arguments in (("--config", str(named), "ask", "hello"), ("ask", "--config", str(named), "hello")):
        missing = command(folder, settings, *arguments, typed="")
        assert (missing.returncode, "--config points to " in missing.stderr) == (Exit.SETTINGS, True)
    named.write_text("COGENCY_BACKLOG=many\n")
    named.chmod(0o600)
    for arguments in (("--config", str(named), "ask", "hello"), ("backup", "--config", str(named), "file")):
        wrong = command(folder, settings, *arguments, typed="")
        assert (wrong.returncode, "COGENCY_BACKLOG" in wrong.stderr) == (Exit.SETTINGS, True)


def test_at_a_terminal_the_file_with_the_settings_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("COGENCY_MODEL=rehearsal\n")
    (tmp_path / "env").chmod(0o600)
    program = f"from bot.__main__ import run; raise SystemExit(run(['ask', '--config', '{tmp_path}/env', 'hello']))"
    with FakeTerminal(program, 200, 24, **environment(tmp_path)) as terminal:
        terminal.until("You wrote")
        assert terminal.ended() == Exit.OK
        assert terminal.shown.count(f"cogency: Settings: {tmp_path}/env") == 1
    piped = cogency(tmp_path, "ask", "--config", str(tmp_path / "env"), "hello")
    assert (piped.returncode, piped.stderr) == (Exit.OK, "")


def test_the_version_and_the_help_need_no_settings(tmp_path: Path) -> None:
    assert cogency(tmp_path, "--version").stdout.startswith("cogency 0.")
    described = " ".join(cogency(tmp_path, "--help").stdout.split())
    assert "check-model" in described
    assert (
        "If that .env does not exist or sets none of Cogency's settings, Cogency reads .env in your configuration"
        in described
    )
    assert "--config FILE" in described
    assert "Chat in the terminal, or through pipes. Type /help" in cogency(tmp_path, "chat", "--help").stdout


CHAT = "from bot.__main__ import run; raise SystemExit(run(['chat']))"


def test_a_person_at_a_terminal_asks_recalls_in_another_thread_and_forgets(tmp_path: Path) -> None:
    with FakeTerminal(CHAT, 80, 24, **environment(tmp_path)) as terminal:
        terminal.until(">")
        terminal.type("remember that my boat is blue\r")
        terminal.until("I will remember that")
        terminal.until("one.)")
        terminal.type("/new\r")
        terminal.until("Started a new thread.")
        terminal.type("what did I say about my boat?\r")
        assert "searched past threads: boat, " in terminal.until("found")
        assert "blue" in terminal.until("one.)")
        terminal.type("/forget everything\r")
        terminal.until("yes for “Forget”")
        terminal.type("yes\r")
        terminal.until("Forgotten: ")
        terminal.type("what did I say about my boat?\r")
        terminal.until("I found nothing about")
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


def test_what_is_typed_at_once_is_answered_once_everything_is_loaded(tmp_path: Path) -> None:
    with FakeTerminal(
        CHAT, 80, 24, True, **environment(tmp_path), PYTHONPATH=str(Path(__file__).parents[2])
    ) as terminal:
        terminal.until(">")
        terminal.type("hello\r")
        terminal.until("You wrote:")
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


def test_at_a_terminal_too_a_database_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bot.db").write_text("no database " * 100)
    with FakeTerminal(CHAT, 200, 24, **environment(tmp_path)) as terminal:
        assert terminal.ended() == Exit.UNAVAILABLE
        assert terminal.shown.count("cogency: ") == 1
        assert "is not a database" in terminal.shown


def test_at_a_terminal_too_a_database_that_another_process_holds_is_said_to_be_busy(tmp_path: Path) -> None:
    with FakeTerminal(CHAT, 200, 24, **environment(tmp_path)) as first:
        first.type("hello\r")
        first.until("You wrote:")
        with FakeTerminal(CHAT, 200, 24, **environment(tmp_path)) as second:
            assert second.ended() == Exit.BUSY
            assert second.shown.count("cogency: ") == 1


async def _keep_reminders(folder: Path) -> None:
    """Anna's, and one of somebody else who uses the same database."""
    store, now = await open_store(f"sqlite:///{folder / 'bot.db'}"), CLOCK.now()
    for name, words in (("anna", "Water the plants."), ("ben", "Feed the cat.")):
        person = f"terminal:{name}"
        at, place = Timing("UTC", now + timedelta(seconds=8)), Place(PersonAudience(person))
        kind, channel = ScheduleKind.REMINDER, "terminal"
        new = NewSchedule(person, source_of(person), channel, place, kind, words, at, now, direct=True)
        assert isinstance(await store.schedules.add(new), Schedule)
    await store.close()


def test_what_it_is_time_for_is_shown_while_its_person_types_and_to_nobody_else(tmp_path: Path) -> None:
    asyncio.run(_keep_reminders(tmp_path))
    with FakeTerminal(CHAT, 80, 24, **environment(tmp_path)) as terminal:
        shown = terminal.until("\n>")
        terminal.type("/he")
        shown += "" if "Water the plants." in shown else terminal.until("Water the plants.")
        assert "It is time:" in shown
        terminal.type("lp\r")
        shown += terminal.until("/schedules") + terminal.until("\n>")
        assert "cat" not in shown
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


@pytest.mark.parametrize("width", [36, pytest.param(80, marks=thorough), 200])
def test_the_number_on_the_screen_is_the_entry_that_goes(tmp_path: Path, width: int) -> None:
    things = {"boat": "blue", "car": "green", "tent": "red", "bike": "black", "kite": "pink"}

    def shown(terminal: FakeTerminal, asked: str) -> dict[str, str]:
        """What stands on the screen below this: number and thing."""
        terminal.type(f"{asked}\r")
        terminal.until("about you:" if things else "anything about you")
        seen = terminal.until("\n>").replace("\r", "")
        lines = re.findall(r"^\s*•?\s*(\d+) my (\w+) is", seen, re.MULTILINE)
        assert {thing for _, thing in lines} == set(things), seen
        return dict(lines)

    with FakeTerminal(CHAT, width, 40, **environment(tmp_path)) as terminal:
        terminal.until(">")
        for thing, colour in things.items():
            terminal.type(f"remember that my {thing} is {colour}\r")
            terminal.until("one.)")
            terminal.until("\n>")
        listed = shown(terminal, "/memory")
        for number in sorted(listed, key=lambda number: (int(number) % 2, int(number))):  # from the middle first
            terminal.type(f"/memory delete {number}\r")
            said = " ".join(terminal.until("/forget.").split())
            assert f"entry {number}, “my {listed[number]} is" in said
            terminal.until("\n>")
            del things[listed[number]]
            left = shown(terminal, "/memory")
            assert left == {kept: thing for kept, thing in listed.items() if thing in things}
        last = listed[max((number for number in listed if int(number) % 2), key=int)]
        terminal.type("/memory undo\r")
        assert f"Restored: “my {last} is" in " ".join(terminal.until("about you:").split())
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


LOGGING = """
import logging, os, threading
def falling():
    open(os.environ["HOME"] + "/now").read()
    logging.getLogger("bot").warning("the sky is falling")
threading.Thread(target=falling, daemon=True).start()
"""


def test_a_log_line_stands_above_what_is_being_typed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "now")
    with FakeTerminal(LOGGING + CHAT, 80, 24, **environment(tmp_path)) as terminal:
        terminal.until("\n>")
        terminal.type("half a ques")
        terminal.until("half a ques")
        (tmp_path / "now").write_text("")
        terminal.until("the sky is falling")
        assert "half a ques" in terminal.until("> half a ques"), "the prompt is drawn again below it"
        terminal.type("tion\r")
        terminal.until("half a question")
        terminal.until("one.)")
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


# As a shell does with `fg` at once.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
chat = os.fork()
if not chat:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    from bot.__main__ import run
    code = run(["chat"])
    sys.stdout.flush()
    os._exit(code)
while True:
    _, status = os.waitpid(chat, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    print("[1]+ Stopped", flush=True)
    os.tcsetpgrp(0, chat)
    os.kill(chat, signal.SIGCONT)
"""


def test_ctrl_z_suspends_the_chat_and_it_goes_on_afterwards(tmp_path: Path) -> None:
    with FakeTerminal(SHELL, 80, 24, **environment(tmp_path)) as terminal:
        terminal.until("\n>")
        terminal.type("hel\x1a")
        terminal.until("[1]+ Stopped")
        terminal.type("lo\r")
        terminal.until("You wrote:")
        assert "hello" in terminal.until("one.)")
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


# A tool that takes as long as a test lets it.
SLOW = '''
import asyncio, os
from agent import tool

@tool(effect="reads", timeout_s=60)
async def ferry() -> str:
    """Wait for the ferry."""
    while not os.path.exists(os.environ["HOME"] + "/ferry"):
        await asyncio.sleep(0.02)
    return "It has come."
'''


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    settings = environment(tmp_path, COGENCY_TOOLS=str(tmp_path / "slow.py"), COGENCY_MODEL="rehearsal")
    with FakeTerminal(CHAT, 80, 24, **settings) as terminal:
        terminal.until(">")
        terminal.type("use ferry {}\r")
        terminal.until("Using ferry")
        terminal.type(CTRL_C)
        terminal.until("Stopped.")
        terminal.until("\n>")
        terminal.type("hello\r")
        terminal.until("one.)")
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


def test_long_work_is_stopped_by_ctrl_c_and_goes_on_in_the_next_chat_if_its_window_is_closed(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    settings = environment(tmp_path, COGENCY_TOOLS=str(tmp_path / "slow.py"), COGENCY_MODEL="rehearsal")
    begin, at_it = 'use background {"what": "use ferry {}"}\r', platforms_texts.AT_IT.strip("*").partition(".")[0]
    with FakeTerminal(CHAT, 100, 24, **settings) as terminal:
        terminal.until(">")
        terminal.type(begin)
        terminal.until(at_it)
        terminal.until("Using ferry")
        terminal.type(CTRL_C)
        terminal.until("Stopped.")
        terminal.until("\n>")
        terminal.type(begin)
        terminal.until(at_it)
        terminal.until("Using ferry")  # and the window is closed
    (tmp_path / "ferry").touch()
    with FakeTerminal(CHAT, 100, 24, **settings) as terminal:
        terminal.until(at_it)
        terminal.until("It has come.")
        terminal.until("\n>")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


def test_output_that_cannot_be_written_is_one_sentence_and_a_reader_who_leaves_is_none(tmp_path: Path) -> None:
    for arguments, exit_code, said in [
        ("chat > /dev/full", Exit.FAILED, "cogency: The output cannot be written"),
        ("chat | true", Exit.OK, ""),
        ("chat <&-", Exit.USAGE, "cogency: Standard input and output must be open."),
    ]:
        ran = subprocess.run(  # noqa: S603 -- our own command
            ["/bin/bash", "-o", "pipefail", "-c", f"{sys.executable} -m bot {arguments}"],
            input="hello\n",
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=tmp_path,
            env={**environment(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
            check=False,
        )
        assert ran.returncode == exit_code
        assert said in ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("command", ["doctor --no-model", "chat", "usage --by day"])
def test_a_folder_that_was_deleted_meanwhile_is_one_sentence(command: str, tmp_path: Path) -> None:
    ran = subprocess.run(  # noqa: S603 -- our own command
        ["/bin/bash", "-c", f'mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -m bot {command}'],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**environment(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert ran.returncode == Exit.SETTINGS
    assert ran.stderr.startswith("cogency: The current folder cannot be used")
    assert ran.stderr.count("\n") == 1


def test_a_locale_without_a_character_gets_another_in_its_place(tmp_path: Path) -> None:
    name = "\udcff \N{CYRILLIC SMALL LETTER ZHE}"  # as Python reads a file name that is not in UTF-8
    ran = from_nothing(tmp_path, "plugins", "check", name, PYTHONIOENCODING="ascii:strict")
    assert ran.returncode == Exit.FAILED
    assert "? ?: the folder does not exist" in ran.stdout
    assert "Traceback" not in ran.stderr


def test_a_terminal_in_a_locale_without_a_character_chats(tmp_path: Path) -> None:
    lay_database(tmp_path / "bot.db")
    own = environment(tmp_path, PYTHONIOENCODING="ascii:strict", PYTHONPATH=str(Path(__file__).parents[2]))
    with FakeTerminal("from bot.__main__ import main; main()", 80, 24, True, **own) as terminal:
        terminal.until("rehearsal")
        terminal.until("\n>")
        terminal.type("hello\r")
        terminal.until("only understand")
        terminal.type("\x04")
        assert terminal.ended() == Exit.OK


def test_a_sigterm_in_the_middle_of_an_answer_gives_the_terminal_back(tmp_path: Path) -> None:
    with FakeTerminal(CHAT, 80, 24, **environment(tmp_path)) as terminal:
        terminal.until(">")
        terminal.type("tell me a long story with code\r")
        terminal.until("rehearsal")
        terminal.terminate()
        assert terminal.ended() == Exit.TERMINATED


def test_a_file_that_is_named_at_the_terminal_is_read_and_read_again_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "my plan.odt").write_bytes(documents.open_document("text", "<x:p>The boat is blue.</x:p>"))
    (tmp_path / "secret").write_text("The merger is on Friday.")
    again = 'use read_again {"file": "~/my plan.odt"}\n'
    pasted = 'see this\\n(attached: ~/secret)\nuse read_again {"file": "~/secret"}\n'
    typed = f'/file "{tmp_path}/my plan.odt" what is it?\n{again}/forget this thread\nyes\n/new\n{again}{pasted}'
    ran = cogency(tmp_path, "chat", typed=typed)
    here, _, later = ran.stdout.partition("Forgotten")
    assert here.count("The boat is blue.") == 1
    assert "From ~/my plan.odt, which anna attached on" in here
    assert NO_FILE in later
    assert "merger" not in ran.stdout
    assert cogency(tmp_path, "chat", typed="/file nowhere.pdf what?\n").returncode != Exit.OK
