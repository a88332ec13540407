"""Setting a bot up as an operator does: the commands that print and look, as real processes."""

import asyncio
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.machine import CLOCK
from agent.providers.catalog import ENDPOINTS, ToolsForm
from bot.chat.exit_codes import Exit
from bot.models.check import comparison
from bot.models.checked import page, read_checks
from bot.models.forms import read_checked_forms
from bot.platforms.discord.options import DiscordFeature, invite_text, required_features, server_link
from bot.platforms.discord.settings import DiscordSettings
from bot.platforms.slack.options import EVERYTHING, scopes
from bot.setup.shared_modules import shared_modules
from bot.setup.texts import CHECK_NOT_STORED, CHECK_STOPPED, CHECK_UNASKED
from store.engine import open_store
from tests.examples import thorough
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import BOT
from tests.fakes.fast_clock import FastClock
from tests.fakes.model_server import CUT, DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.ready_process import command
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN
from tests.fakes.terminal import CTRL_C, FakeTerminal
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


async def cogency(folder: Path, *arguments: str, **settings: str) -> tuple[int, str, str]:
    """One command: how it ended, what it printed, what it complained of."""
    environment = {
        "PATH": os.environ["PATH"],  # noqa: TID251 -- a process needs one
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
        "COGENCY_MODEL": "rehearsal",
        **settings,
    }
    ran = await asyncio.to_thread(command, folder, environment, *arguments, typed="")
    return ran.returncode, ran.stdout, ran.stderr


async def test_the_manifest_is_printed_as_it_lies_in_the_folder(tmp_path: Path) -> None:
    code, said, complained = await cogency(tmp_path, "slack", "manifest")
    assert (code, complained) == (Exit.OK, "")
    assert said == (ROOT / "manifests/slack.yaml").read_text()


async def test_the_manifest_has_the_prefix_of_the_settings_and_what_else_is_asked_for(tmp_path: Path) -> None:
    options = ("--features", "commands", "--http", "https://bot.example", "--name", "Ada", "--json")
    code, said, _ = await cogency(tmp_path, "slack", "manifest", *options, COGENCY_SLACK_COMMAND_PREFIX="ada-")
    assert code == Exit.OK
    assert '"/ada-ask"' in said
    assert '"https://bot.example/slack/events"' in said
    assert '"display_name": "ada"' in said
    assert "agent_view" not in said


def always_42(request: Request) -> Reply:
    if request.path.endswith("/models"):
        return whole(200, {"data": [{"id": "m-1", "context_length": 131_072}]})
    return [head(), text("42"), DONE]


async def test_checking_a_model_says_first_what_it_takes_and_is_counted_also_while_a_bot_runs(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/bot.db")
    try:
        async with ModelServer(always_42) as model:
            settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
            refused, announced, unasked = await cogency(tmp_path, "check-model", **settings)
            assert (refused, unasked) == (Exit.ARGUMENTS, f"cogency check-model: {CHECK_UNASKED}\n")
            assert [request.method for request in model.requests] == ["GET"], "no question before it is confirmed"
            code, said, complained = await cogency(tmp_path, "check-model", "--yes", **settings)
        assert (code, complained) == (Exit.FAILED, ""), "such a model uses no tools"
        assert said.startswith(announced)
        _, context, cost, *_ = announced.splitlines()
        assert context == "The model's context window is 131,072 tokens."
        assert cost.startswith("This check of openai:m-1 asks up to 46 questions and uses about ")
        assert "no list price" in cost
        assert "With text tool calls:\nyes " in said
        assert "With native tool calls:" in said
        (stored,) = await read_checks(store.preferences)
        _, counted, _ = await cogency(tmp_path, "usage", "--by", "model", "--json")
        checked = await read_checked_forms(store.preferences)
    finally:
        await store.close()
    (total,) = json.loads(counted)["totals"]
    assert (total["key"], total["calls"]) == ("openai:m-1", 46) == (stored.model, stored.calls)
    passed = checked.passed(ENDPOINTS["openai"].at(model.url), "m-1")
    assert said.endswith(f"\n{page(stored)}\n{comparison(passed, ToolsForm.AUTO)}\n")
    assert stored.passed == passed


@pytest.mark.parametrize(("answers", "stored"), [(30, {ToolsForm.TEXT}), (10, set[ToolsForm]())])
async def test_a_check_whose_server_goes_away_keeps_the_form_that_was_finished(
    tmp_path: Path, answers: int, stored: set[ToolsForm]
) -> None:
    def mortal(request: Request) -> Reply:
        asked = sum(earlier.method == "POST" for earlier in model.requests)
        return always_42(request) if asked <= answers else [CUT]

    store = await open_store(f"sqlite:///{tmp_path}/bot.db")
    try:
        async with ModelServer(mortal) as model:
            settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url, "COGENCY_PROVIDER_RETRIES": "0"}
            code, said, complained = await cogency(tmp_path, "check-model", "--yes", **settings)
        checked = await read_checked_forms(store.preferences)
    finally:
        await store.close()
    assert code not in (Exit.OK, None)
    assert complained.count("\n") == 1
    assert said.splitlines()[-1] == (CHECK_STOPPED.format(stored="text") if stored else CHECK_NOT_STORED)
    assert set(checked.passed(ENDPOINTS["openai"].at(model.url), "m-1")) == stored


async def test_options_that_make_no_manifest_are_one_sentence(tmp_path: Path) -> None:
    code, said, complained = await cogency(tmp_path, "slack", "manifest", "--http", "http://bot.example")
    assert (code, said) == (Exit.SETTINGS, "")
    assert complained.count("\n") == 1
    code, _, complained = await cogency(tmp_path, "slack", "manifest", "--features", "magic")
    assert code not in (Exit.OK, None)
    assert "must be one or more of agent, home, commands, shortcuts, files, reactions, marks, groups" in complained


async def test_the_doctor_is_content_with_an_app_that_is_set_up_and_not_with_one_that_is_not(tmp_path: Path) -> None:
    async with FakeSlack(FastClock(CLOCK.now(), speed=1), scopes=",".join(scopes(EVERYTHING))) as slack:
        slack.state.channel("general")
        tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE_URL": slack.url}
        code, said, complained = await cogency(tmp_path, "doctor", **tokens)
        assert (code, complained) == (Exit.OK, "")
        assert "ok       Slack: Socket Mode works, with 2 connections at once.\n" in said
        slack.faults["auth.test"].append(Fault(error="invalid_auth"))
        code, said, _ = await cogency(tmp_path, "doctor", **tokens)
    assert code == Exit.FAILED
    assert "problem  Slack: SLACK_BOT_TOKEN is not accepted (invalid_auth)." in said
    assert BOT_TOKEN not in said


async def test_the_links_that_invite_the_bot_are_those_of_its_token_or_of_a_named_application(tmp_path: Path) -> None:
    async with running_discord(FastClock(CLOCK.now(), speed=1)) as discord:
        own = {"DISCORD_TOKEN": TOKEN, "DISCORD_API_BASE_URL": discord.api_base_url}
        code, said, complained = await cogency(tmp_path, "discord", "invite", **own)
        marked = await cogency(tmp_path, "discord", "invite", **own, COGENCY_DISCORD_MARKS="on")
    assert (code, complained) == (Exit.OK, "")
    assert said == invite_text(BOT)
    assert marked[1] == invite_text(BOT, required_features(DiscordSettings(marks=True)))
    code, said, _ = await cogency(tmp_path, "discord", "invite", "--application", "123", "--features", "threads")
    assert (code, said) == (Exit.OK, f"For a server: {server_link('123', [DiscordFeature.THREADS])}\n")
    code, _, complained = await cogency(tmp_path, "discord", "invite")
    assert code == Exit.SETTINGS
    assert complained == "cogency: DISCORD_TOKEN is missing. Set it, or add --application ID.\n"


async def test_the_doctor_says_what_is_missing_on_discord(tmp_path: Path) -> None:
    async with running_discord(FastClock(CLOCK.now(), speed=1)) as discord:
        own = {"DISCORD_TOKEN": TOKEN, "DISCORD_API_BASE_URL": discord.api_base_url}
        code, said, complained = await cogency(tmp_path, "doctor", **own)
        assert (code, complained) == (Exit.OK, "")
        assert "warning  Discord: the message content intent is off: in threads, the bot sees only" in said
        assert "ok       Discord: in “harbour”, the bot has all the permissions that it needs.\n" in said
        assert "ok       Discord: up to 12 users can see the bot. With 10,000 or more users, Discord reviews" in said
        assert "ok       Discord: this machine's clock agrees with Discord's.\n" in said
        code, said, _ = await cogency(tmp_path, "doctor", **{**own, "DISCORD_TOKEN": "not-the-token"})
    assert code == Exit.FAILED
    assert "problem  Discord: Discord does not accept the token. Reset DISCORD_TOKEN on" in said
    assert TOKEN not in said


INSTALL = ROOT / "requirements/install.py"
PIP = """#!/bin/sh
for number in 1 2 3 4 5 6 7 8 9 10; do echo "Collecting thing$number==1 (from there)"; done
echo "Installing collected packages: thing1, thing2"
for number in 1 2 3 4 5 6 7 8 9 10; do mkdir "$(dirname "$0")/../lib/python3.11/site-packages/t$number.dist-info"; done
exit $1CODE
"""


@pytest.mark.parametrize("code", [0, 3])
def test_setting_up_ends_as_pip_does(tmp_path: Path, code: int) -> None:
    (tmp_path / "lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text(PIP.replace("$1CODE", str(code)))
    python.chmod(0o755)
    named = tmp_path / "run.txt"
    named.write_text("".join(f"thing{number}==1 \\\n    --hash=sha256:0\n" for number in range(12)))
    ran = subprocess.run(  # noqa: S603 -- our own script
        [sys.executable, str(INSTALL), str(named), str(python)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ran.returncode, ran.stdout) == (code, "")
    assert ("Installed 10 packages." in ran.stderr) == (code == 0)
    assert ("Collecting thing1==1" in ran.stderr) == (code != 0), "pip's own words are shown if it fails"


def test_setting_up_shows_how_far_it_is() -> None:
    progress = runpy.run_path(str(INSTALL))["progress"]
    collecting = [f"Collecting thing{number}==1 (from there)\n" for number in range(7)]
    said = ["Looking in links\n", *collecting, "  Downloading thing6.whl\n"]
    assert progress(said, 0, 12) == "Downloading: 7 of 12 packages"
    assert progress([*said, "Installing collected packages: thing1\n"], 3, 12) == "Installing: 3 of 12 packages"


def test_setting_up_that_is_interrupted_says_what_to_do_and_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    named = tmp_path / "run.txt"
    named.write_text("thing==1 \\\n    --hash=sha256:0\n")
    command = [sys.executable, str(INSTALL), str(named), str(python)]
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins without
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:  # noqa: S603 -- ours
        signal.signal(signal.SIGINT, heeded)
        assert running.stderr is not None
        assert running.stderr.readline() == "Downloading: 0 of 1 packages\n"
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        said = running.stderr.read()
        assert running.wait(PATIENCE_S) == Exit.INTERRUPTED
    assert said == "\nStopped: the same command begins again.\n"


async def test_doctor_says_who_else_can_read_the_keys_also_to_programs(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("COGENCY_LANGUAGE=Irish\n")
    for mode, told in [(0o644, True), (0o600, False)]:
        dotenv.chmod(mode)
        _, said, _ = await cogency(tmp_path, "doctor", "--no-model", "--json")
        remedies = [one["remedy"] for one in json.loads(said) if one["where"] == "Settings"]
        assert ("Run `chmod 600 .env`." in remedies) is told


async def test_doctor_mends_the_rights_of_files_when_it_is_asked_to_and_says_so_to_programs(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("COGENCY_LANGUAGE=Irish\n")
    dotenv.chmod(0o644)
    code, said, complained = await cogency(tmp_path, "doctor", "--fix", "--no-model", "--json")
    assert (code, complained) == (Exit.OK, "")
    fixed, *others = json.loads(said)
    assert fixed == {
        "level": "fixed",
        "where": "Settings",
        "what": "the permissions of .env are now restricted (mode 600, was 644)",
        "remedy": "",
    }
    assert {frozenset(one) for one in others} == {frozenset(fixed)}, "each finding has the same fields"
    assert {one["level"] for one in others} <= {"ok", "note", "warning", "problem"}
    assert dotenv.stat().st_mode & 0o777 == 0o600
    _, again, _ = await cogency(tmp_path, "doctor", "--fix", "--no-model", "--json")
    assert '"fixed"' not in again


def test_a_terminal_shows_what_doctor_looks_at_until_it_has_found_out(tmp_path: Path) -> None:
    program = f"import os; os.chdir({str(tmp_path)!r}); from bot.__main__ import run; raise SystemExit(run(['doctor']))"
    with FakeTerminal(program, HOME=str(tmp_path), COGENCY_MODEL="rehearsal") as terminal:
        terminal.until("checking ")
        terminal.until("ok       Settings: all settings are valid.")
        assert terminal.ended() == Exit.OK


async def test_a_check_in_a_terminal_asks_before_it_sends_anything_to_the_model(tmp_path: Path) -> None:
    program = (
        f"import os; os.chdir({str(tmp_path)!r}); from bot.__main__ import run; raise SystemExit(run(['check-model']))"
    )

    def refuse(settings: dict[str, str]) -> None:
        with FakeTerminal(program, **settings) as terminal:
            terminal.until("Start the check? [y/N] ")
            terminal.type("\r")
            terminal.until("Nothing was checked.")
            assert terminal.ended() == Exit.ARGUMENTS

    async with ModelServer(always_42) as model:
        settings = {"HOME": str(tmp_path), "COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
        await asyncio.to_thread(refuse, settings)
        assert [request.method for request in model.requests] == ["GET"]


@pytest.mark.parametrize("key", [CTRL_C, "\x04"])
def test_setting_up_by_questions_ends_at_once_with_ctrl_c_and_ctrl_d_and_writes_nothing(
    tmp_path: Path, key: str
) -> None:
    program = f"import os; os.chdir({str(tmp_path)!r}); from bot.__main__ import run; raise SystemExit(run(['init']))"
    with FakeTerminal(program, HOME=str(tmp_path), OLLAMA_BASE_URL="http://127.0.0.1:1") as terminal:
        for question in (
            "provider:name",
            "2. Slack: do you want",
            "Press Enter to open the page:",
            "Print the manifest here",
        ):
            terminal.until(question)
            terminal.type("y\r" if "Slack" in question else "n\r" if "manifest" in question else "\r")
        terminal.until("SLACK_APP_TOKEN: ")
        assert [line for line in terminal.shown.splitlines() if len(line) > 80 and "/" not in line] == [], "lines fit"
        terminal.type(key)
        assert terminal.ended() == Exit.INTERRUPTED
    assert "Canceled. Nothing was written." in terminal.shown
    assert "Traceback" not in terminal.shown
    assert not (tmp_path / ".env").exists()


def test_a_webhook_is_set_up_by_questions_and_ctrl_c_before_the_last_one_writes_nothing(tmp_path: Path) -> None:
    program = f"import os; os.chdir({str(tmp_path)!r}); from bot.__main__ import run; raise SystemExit(run(['init']))"
    away = "http://127.0.0.1:1"
    environment = {
        "HOME": str(tmp_path),
        "OLLAMA_BASE_URL": away,
        "COGENCY_MODEL": "rehearsal",
        "SLACK_API_BASE_URL": away,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_BOT_TOKEN": BOT_TOKEN,
    }
    answers = {
        "provider:name": "", "2. Slack": "y", "already set up": "y", "Try again (y)": "n", "3. Discord": "n",
        "4. Storage": "", "5. Access": "", "Your own user ID": "", "6. Webhooks": "y", "Which program": "github",
        "ID of the channel": "C0123456789", "receives events": "", "Public address": "https://bot.example.com",
    }  # fmt: skip
    folder = tmp_path / ".config" / "cogency"
    for stops in (True, False):
        with FakeTerminal(program, **environment) as terminal:
            for question, answer in answers.items():
                terminal.until(question)
                if stops and question == "Public address":
                    terminal.type(CTRL_C)
                    assert terminal.ended() == Exit.INTERRUPTED
                    assert not folder.exists()
                    break
                terminal.type(f"{answer}\r")
            else:
                terminal.until("Its address is https://bot.example.com/hooks/github.")
                terminal.until("y or n)?")
                terminal.type(CTRL_C)
                assert terminal.ended() == Exit.INTERRUPTED
                assert "Canceled. The settings in" in terminal.shown
                assert "Nothing was written" not in terminal.shown
    secret = (folder / "hooks.secrets" / "github").read_text().strip()
    assert len(secret) == 48
    assert secret not in terminal.shown
    assert "COGENCY_HTTP=127.0.0.1:8070" in (folder / ".env").read_text()
    assert 'preset = "github"' in (folder / "hooks.toml").read_text()


async def test_with_nothing_set_in_the_environment_nothing_is_written_and_the_reason_is_told(tmp_path: Path) -> None:
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    ran = await asyncio.to_thread(command, tmp_path, environment, "init", "--yes", typed="")
    assert (ran.returncode, (tmp_path / ".env").exists()) == (Exit.SETTINGS, False)
    assert "the environment does not contain any setting from `cogency settings`" in ran.stderr


@pytest.mark.parametrize(
    ("file", "listed", "told"),
    [
        ("top_level.txt", "agent\n", True),
        ("RECORD", "agent/__init__.py,sha256=x,1\nx.py,,\n", True),
        ("RECORD", "agents/__init__.py,,\nx/agent/__init__.py,,\n", False),
    ],
)
def test_whose_modules_have_the_same_names_is_seen_in_its_lists_of_files(
    tmp_path: Path, file: str, listed: str, told: bool
) -> None:
    other = another_package(tmp_path)
    (other / file).write_text(listed)
    assert ("have modules with the same names (agent)" in shared_modules([str(tmp_path)])) is told


def test_a_folder_of_modules_that_cannot_be_looked_at_is_left_out() -> None:
    assert shared_modules(["x" * 5_000]) == ""


def another_package(folder: Path) -> Path:
    other = folder / "cogency-0.4.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: cogency\nVersion: 0.4\n")
    return other


@pytest.mark.parametrize("command", [pytest.param("doctor --no-model", marks=thorough), "--version", "run"])
async def test_it_is_said_whose_modules_have_the_same_names(tmp_path: Path, command: str) -> None:
    (another_package(tmp_path) / "top_level.txt").write_text("agent\n")
    program = f"import sys; from bot.__main__ import run; sys.exit(run({command.split()}))"
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    ran = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    shown = ran.stdout if command.startswith("doctor") else ran.stderr
    assert "Cogency and other installed packages (cogency) have modules with the same names (agent)" in shown, (
        ran.stdout + ran.stderr
    )
