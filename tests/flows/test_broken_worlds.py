"""Doctor and a start agree: each broken world is tried by both, the start as a real process."""

import asyncio
import os
import sqlite3
import stat
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, chdir
from pathlib import Path

import pytest

from agent.errors import SettingsError
from bot.app.settings import load_settings
from bot.chat.exit_codes import Exit
from bot.chat.findings import finding_lines, healthy
from bot.setup.operator_doctor import examine
from tests.fakes.model_server import DONE, ModelServer, Reply, head, text
from tests.fakes.tls_server import self_signed, tls_server
from tests.flows.test_setup import cogency
from tests.patience import PATIENCE_S

KEY = "sk-broken-world"


def fine(_: Path) -> dict[str, str]:
    return {}


def no_folder_yet(folder: Path) -> dict[str, str]:
    return {"COGENCY_DATABASE_URL": f"sqlite:///{folder}/a/b/bot.db"}


def newer_database(folder: Path) -> dict[str, str]:
    with sqlite3.connect(folder / "bot.db") as database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES ('r9999')")
    return {}


def anothers_tables(folder: Path) -> dict[str, str]:
    with sqlite3.connect(folder / "bot.db") as database:
        database.execute("CREATE TABLE recipe (title TEXT)")
    return {}


def no_database(folder: Path) -> dict[str, str]:
    (folder / "bot.db").write_text("I am a letter. " * 1_000)
    return {}


def folder_in_its_place(folder: Path) -> dict[str, str]:
    (folder / "bot.db").mkdir()
    return {}


def file_in_place_of_the_folder(folder: Path) -> dict[str, str]:
    (folder / "data").write_text("")
    return {"COGENCY_DATABASE_URL": f"sqlite:///{folder}/data/bot.db"}


def server_that_is_away(_: Path) -> dict[str, str]:
    return {"COGENCY_DATABASE_URL": "postgresql://bot:sesame@127.0.0.1:1/bot"}


def unknown_setting(_: Path) -> dict[str, str]:
    return {"COGENCY_MODLE": "rehearsal"}


def file_that_others_may_write(folder: Path) -> dict[str, str]:
    (folder / ".env").write_text("COGENCY_LANGUAGE=Irish\n")
    (folder / ".env").chmod(0o666)
    return {}


def key_that_would_go_elsewhere(folder: Path) -> dict[str, str]:
    (folder / ".env").write_text("OPENAI_BASE_URL=https://catcher.example/v1\n")
    return {"OPENAI_API_KEY": KEY}


def no_key(_: Path) -> dict[str, str]:
    return {"COGENCY_MODEL": "anthropic:claude-sonnet-5-5"}


def fallback_without_a_key(_: Path) -> dict[str, str]:
    return {"COGENCY_FALLBACK_MODELS": "anthropic:claude-sonnet-5-5"}


def embeddings_without_a_service(_: Path) -> dict[str, str]:
    return {"COGENCY_EMBEDDINGS": "anthropic:none"}


def dead_model(_: Path) -> dict[str, str]:
    return {"COGENCY_MODEL": "ollama:llama3.2", "OLLAMA_BASE_URL": "http://127.0.0.1:1"}


def dead_server_without_a_name(_: Path) -> dict[str, str]:
    return {"COGENCY_MODEL": "", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}


def policy_of_tools(folder: Path) -> dict[str, str]:
    (folder / "policy.txt").write_text("# tools who where answer\n* manager team ask\n")
    return {"COGENCY_TOOL_POLICY": "policy.txt"}


def policy_with_a_row_that_is_none(folder: Path) -> dict[str, str]:
    (folder / "policy.txt").write_text("* * * ask\ngithub.delete * teams no\n")
    return {"COGENCY_TOOL_POLICY": str(folder / "policy.txt")}


def policy_that_is_away(folder: Path) -> dict[str, str]:
    return {"COGENCY_TOOL_POLICY": str(folder / "policy.txt")}


def policy_that_others_may_write(folder: Path) -> dict[str, str]:
    (folder / "policy.txt").write_text("* * * ask\n")
    (folder / "policy.txt").chmod(0o666)
    return {"COGENCY_TOOL_POLICY": str(folder / "policy.txt")}


WORLDS: list[tuple[Callable[[Path], dict[str, str]], Exit]] = [
    (fine, Exit.OK),
    (no_folder_yet, Exit.OK),
    (newer_database, Exit.UNAVAILABLE),
    (anothers_tables, Exit.UNAVAILABLE),
    (no_database, Exit.UNAVAILABLE),
    (folder_in_its_place, Exit.UNAVAILABLE),
    (file_in_place_of_the_folder, Exit.UNAVAILABLE),
    (server_that_is_away, Exit.UNAVAILABLE),
    (unknown_setting, Exit.SETTINGS),
    (file_that_others_may_write, Exit.SETTINGS),
    (key_that_would_go_elsewhere, Exit.SETTINGS),
    (no_key, Exit.SETTINGS),
    (policy_of_tools, Exit.OK),
    (policy_with_a_row_that_is_none, Exit.SETTINGS),
    (policy_that_is_away, Exit.SETTINGS),
    (policy_that_others_may_write, Exit.SETTINGS),
    (fallback_without_a_key, Exit.SETTINGS),
    (embeddings_without_a_service, Exit.SETTINGS),
    (dead_model, Exit.UNAVAILABLE),
    (dead_server_without_a_name, Exit.UNAVAILABLE),
]


def held(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def doctor(folder: Path, **settings: str) -> tuple[bool, str]:
    """As the command does it in that folder: whether it is content, and what it says."""
    environment = {"COGENCY_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}", "COGENCY_MODEL": "rehearsal", **settings}
    try:
        with chdir(folder):
            found = await examine(load_settings(environment, Path(".env")), ask_model=True, dotenv=Path(".env"))
    except SettingsError as error:
        return False, str(error)
    return healthy(found), finding_lines(found)


@pytest.mark.parametrize(("world", "ends"), WORLDS, ids=[world.__name__ for world, _ in WORLDS])
async def test_doctor_and_a_start_say_the_same_of(
    tmp_path: Path, world: Callable[[Path], dict[str, str]], ends: Exit
) -> None:
    settings = world(tmp_path)
    before = held(tmp_path)
    content, found = await doctor(tmp_path, **settings)
    assert held(tmp_path) == before, "doctor leaves everything as it is"
    started, _, refused = await cogency(tmp_path, "ask", "hello", **settings)
    assert started == ends, refused
    assert content is (ends is Exit.OK), found
    assert "Traceback" not in refused
    if ends is not Exit.OK:
        (sentence,) = [line for line in refused.splitlines() if line and not line.endswith(" there.")]
        assert sentence.removeprefix("cogency: ")[:30] in found


@pytest.mark.parametrize("command", ["migrate", "usage", "budget"])
@pytest.mark.parametrize("world", [anothers_tables, folder_in_its_place], ids=lambda world: world.__name__)
async def test_every_command_ends_in_one_way_on_a_database_that_cannot_be_used(
    tmp_path: Path, world: Callable[[Path], dict[str, str]], command: str
) -> None:
    ended, _, refused = await cogency(tmp_path, command, **world(tmp_path))
    assert ended == Exit.UNAVAILABLE, refused


@asynccontextmanager
async def asking(reply: Reply) -> AsyncGenerator[dict[str, str]]:
    """A world with a model that answers everything so."""
    async with ModelServer([reply] * 9) as model:
        yield {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(
    ("reply", "ends"),
    [
        ([head(), text("yes"), DONE], Exit.OK),
        ([head(401, "application/json"), b'{"error": {"message": "no such key"}}'], Exit.UNAVAILABLE),
        ([head(404, "application/json"), b'{"error": {"message": "no such model"}}'], Exit.UNAVAILABLE),
    ],
)
async def test_doctor_and_a_start_say_the_same_of_a_model_that(tmp_path: Path, reply: Reply, ends: Exit) -> None:
    async with asking(reply) as settings:
        content, found = await doctor(tmp_path, **settings)
        started, said, refused = await cogency(tmp_path, "ask", "hello", **settings)
    assert started == ends, refused
    assert content is (ends is Exit.OK), found
    assert ("yes" in said) == (ends is Exit.OK)


async def test_a_database_that_serves_a_bot_is_a_note_and_a_second_start_is_asked_to_wait(tmp_path: Path) -> None:
    await cogency(tmp_path, "migrate")
    with sqlite3.connect(tmp_path / "bot.db") as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (0,)
    holder = await asyncio.create_subprocess_exec(
        "/usr/bin/env", "flock", "--exclusive", "--no-fork", str(tmp_path / "bot.db.lock"), "sleep", "60"
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (await cogency(tmp_path, "migrate"))[0] != Exit.BUSY:
                pass
        content, found = await doctor(tmp_path)
    finally:
        holder.kill()
        await holder.wait()
    assert content
    assert "note     Database: another process is using" in found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_doctor_and_a_start_say_the_same_of_a_folder_without_rights(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(stat.S_IRUSR | stat.S_IXUSR)
    settings = {"COGENCY_DATABASE_URL": f"sqlite:///{tmp_path}/data/bot.db"}
    content, _ = await doctor(tmp_path, **settings)
    started, _, _ = await cogency(tmp_path, "ask", "hello", **settings)
    assert (content, started) == (False, Exit.UNAVAILABLE)


@pytest.mark.slow
async def test_a_model_behind_a_companys_proxy_is_reached_with_the_authority_that_doctor_asks_for(
    tmp_path: Path,
) -> None:
    """As real processes: a certificate is looked up when the process starts."""
    cert = self_signed(tmp_path, "127.0.0.1")
    reply = b"".join([head(), text("yes", finish_reason="stop"), DONE])
    async with tls_server(cert, reply) as address:
        world = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": f"https://{address}/v1", "OPENAI_API_KEY": KEY}
        _, found, _ = await cogency(tmp_path, "doctor", "--model", **world)
        assert "is not trusted here (self-signed certificate)" in found
        assert "SSL_CERT_FILE" in found
        started, _, refused = await cogency(tmp_path, "ask", "hello", **world)
        assert started == Exit.UNAVAILABLE
        assert "SSL_CERT_FILE" in refused
        # A cold start: the authorities are read with the imports.
        environment = {**world, "PATH": os.environ["PATH"], "HOME": str(tmp_path), "SSL_CERT_FILE": str(cert)}  # noqa: TID251 -- a process needs one
        asking = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "ask", "hello", cwd=tmp_path, stdout=PIPE, env=environment
        )
        async with asyncio.timeout(PATIENCE_S):
            answer, _ = await asking.communicate()
        assert answer.startswith(b"yes")
