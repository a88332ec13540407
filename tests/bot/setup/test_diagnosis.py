"""Who can read a bot's files, repairs, the disk, the clock, vendors' terms, and traces."""

import os
import stat
import struct
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from agent.ports.shard_leases import ListedShard
from agent.providers.catalog import ENDPOINTS, GEMINI, OLLAMA, Endpoint
from bot.app.settings import Settings, load_settings
from bot.chat.findings import Finding, Level
from bot.chat.http_routes import PublicSite
from bot.chat.web_server import serving
from bot.setup import diagnosis
from bot.setup.diagnosis import (
    SPARE_BYTES,
    DiskFacts,
    asks_who_signs_in,
    disk_facts,
    disk_findings,
    http_findings,
    migrate_after_backup,
    shard_findings,
    trace_findings,
    training_findings,
    vendors_clock,
)
from bot.setup.file_rights import (
    AccountNames,
    KeptFile,
    Rights,
    close_files,
    file_findings_of,
    kept_files,
    readers,
    with_acl,
    writers,
)
from bot.tools.mcp.config import HttpReach
from store.backup import look_into, restore
from store.database_state import look_at
from store.databases.database import migrating
from store.engine import database_of, prepare
from store.migrations import HEAD
from tests.fakes.fast_clock import FastClock
from tests.fakes.postgresql import PostgresServer
from tests.fakes.test_clock import FakeClock
from tests.store.migrating import up_to

US, THEM, OURS, STAFF = 1_000, 1_001, 1_000, 50
NAMES = AccountNames(
    {US: "ann", THEM: "bob"}.__getitem__, {OURS: "ann", STAFF: "staff"}.__getitem__, lambda g, u: g == u
)
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
OPEN = Rights(0o755, 0, 0)


def rights(mode: int, group: int = STAFF) -> Rights:
    return Rights(mode, US, group)


@pytest.mark.parametrize(
    ("file", "above", "who"),
    [
        (rights(0o600), [OPEN], []),
        (rights(0o604), [OPEN], ["everyone on this machine"]),
        (rights(0o640), [OPEN], ["the group staff"]),
        (rights(0o640, OURS), [OPEN], []),
        (rights(0o640, 0), [OPEN], []),
        (rights(0o644), [rights(0o700), OPEN], []),
        (rights(0o644), [rights(0o750, OURS), OPEN], []),
        (rights(0o644), [rights(0o750), OPEN], ["the group staff"]),
        (rights(0o644, OURS), [rights(0o710), OPEN], ["the group staff"]),
        (rights(0o604), [rights(0o705), OPEN], ["everyone on this machine"]),
        (rights(0o604), [replace(rights(0o700), has_acl=True), OPEN], ["users on the folder's access list"]),
        (replace(rights(0o600), acl_readers=("bob",)), [OPEN], ["bob"]),
        (replace(rights(0o600), acl_readers=("bob",)), [rights(0o700), OPEN], []),
    ],
)
def test_who_can_read_a_file_is_whom_it_and_every_folder_above_it_let(
    file: Rights, above: list[Rights], who: list[str]
) -> None:
    assert readers(file, above, NAMES) == who


@pytest.mark.parametrize(
    ("folder", "who"),
    [
        (rights(0o755), []),
        (rights(0o777), ["everyone on this machine"]),
        (rights(0o1777), []),
        (rights(0o775), ["the group staff"]),
        (rights(0o775, OURS), []),
    ],
)
def test_who_can_put_another_file_in_the_place_of_one(folder: Rights, who: list[str]) -> None:
    assert writers(folder, NAMES) == who


def acl(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 2**32 - 1


def test_an_access_list_names_readers_as_far_as_its_mask_lets_them() -> None:
    lists = [(0x01, 6, NOBODY), (0x02, 4, THEM), (0x04, 0, NOBODY), (0x08, 6, STAFF), (0x20, 0, NOBODY)]
    told = with_acl(rights(0o660), acl(*lists, (0x10, 6, NOBODY)), NAMES)
    assert (told.acl_readers, told.mode & 0o070) == (("bob", "the group staff"), 0)
    assert with_acl(rights(0o600), acl(*lists, (0x10, 0, NOBODY)), NAMES).acl_readers == ()
    assert with_acl(rights(0o640), b"", NAMES) == rights(0o640)


# The bot's files, and their repair.


def settings_of(folder: Path, **environ: str) -> Settings:
    return load_settings({"COGENCY_MODEL": "rehearsal"} | environ, data_folder=folder / "data")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that everybody may enter, as far as the folders of the tests allow."""
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "data").mkdir(mode=0o755)
    for name in (".env", "key", "data/cogency.db", "data/cogency.db-wal", "data/old.backup", "data/notes.txt"):
        (tmp_path / name).write_text("secret")
        (tmp_path / name).chmod(0o644)
    return tmp_path


def modes(folder: Path) -> dict[str, int]:
    return {str(one.relative_to(folder)): stat.S_IMODE(one.stat().st_mode) for one in folder.rglob("*")}


def test_every_file_that_holds_secrets_or_words_is_looked_at(world: Path) -> None:
    settings = settings_of(world, OPENAI_API_KEY_FILE="key")
    kept = [
        str(one.path.relative_to(world) if one.path.is_absolute() else one.path)
        for one in kept_files(settings, Path(".env"))
    ]
    assert kept == [".env", "key", "data/cogency.db", "data/cogency.db-wal", "data/old.backup"]
    told = file_findings_of(kept_files(settings, Path(".env")))
    assert {one.remedy for one in told} >= {"Run `chmod 600 .env`.", "Run `chmod 600 key`."}


def test_a_pipe_in_place_of_the_file_of_tool_servers_holds_nothing_up(world: Path) -> None:
    os.mkfifo(world / "mcp.json")
    kept = kept_files(settings_of(world, COGENCY_MCP=str(world / "mcp.json")), None)
    assert world / "mcp.json" not in {one.path for one in kept}


def test_mending_closes_what_is_ours_and_touches_nothing_else(world: Path) -> None:
    settings = settings_of(world, OPENAI_API_KEY_FILE="key")
    before = modes(world)
    mended = close_files(settings, kept_files(settings, Path(".env")))
    assert {one.level for one in mended} == {Level.FIXED}
    assert mended[0].what == "the permissions of .env are now restricted (mode 600, was 644)"
    after = modes(world)
    changed = {name for name, mode in after.items() if mode != before[name]}
    assert changed == {".env", "key", "data/cogency.db", "data/cogency.db-wal", "data/old.backup"}
    assert {after[name] for name in changed} == {0o600}
    assert close_files(settings, kept_files(settings, Path(".env"))) == []
    assert [one.level for one in file_findings_of(kept_files(settings, Path(".env")))] == [Level.GOOD]


def test_a_folder_in_which_others_may_write_is_told_and_closed_where_the_database_lies(world: Path) -> None:
    (world / "data").chmod(0o777)
    settings = settings_of(world)
    told = [one.what for one in file_findings_of(kept_files(settings, None))]
    assert f"everyone on this machine can write to {world}/data and replace" in "\n".join(told)
    close_files(settings, kept_files(settings, None))
    assert modes(world)["data"] == 0o755


def test_a_link_is_not_followed_when_something_is_mended(world: Path) -> None:
    (world / "linked").symlink_to(world / "key")
    settings = settings_of(world, OPENAI_API_KEY_FILE="linked")
    mended = {one.what for one in close_files(settings, kept_files(settings, None))}
    assert "linked is a link, so the permissions of its target were not changed" in mended
    assert modes(world)["key"] == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_somebody_else_or_is_a_services_by_its_group_is_left_as_it_is(world: Path) -> None:
    os.chown(world / "key", 12_345, 12_345)
    os.chown(world / ".env", 0, 54_321)
    (world / ".env").chmod(0o640)
    kept = [KeptFile(world / name, "Settings", "it stands") for name in (".env", "key")]
    mended = close_files(settings_of(world), kept)
    assert [one.level for one in mended] == [Level.NOTE, Level.NOTE]
    assert "the group 54321 still has access to" in mended[0].what
    assert "belongs to 12345, so its permissions were not changed" in mended[1].what
    assert (modes(world)[".env"], modes(world)["key"]) == (0o640, 0o644)


def test_what_only_a_folder_keeps_from_others_is_a_note_that_names_it(world: Path) -> None:
    (world / "data").chmod(0o700)
    found = [one for one in file_findings_of(kept_files(settings_of(world), None)) if one.level is Level.NOTE]
    assert f"only the permissions of {world}/data keep others from reading {world}/data/cogency.db," in found[0].what


async def older(folder: Path, url: str = "") -> Settings:
    """A database of an earlier version, without later tables."""
    settings = load_settings({"COGENCY_MODEL": "rehearsal", "COGENCY_DATABASE_URL": url}, data_folder=folder)
    database = database_of(settings.storage.url)
    try:
        async with migrating():
            await database.write(prepare, database.where, lambda: b"key", up_to("r0009", folder))
    finally:
        await database.close()
    return settings


@pytest.mark.slow
async def test_a_database_is_brought_to_the_newest_version_after_a_backup_of_it(tmp_path: Path) -> None:
    settings = await older(tmp_path)
    (fixed,) = await migrate_after_backup(settings, NOW)
    assert fixed.level is Level.FIXED
    file = tmp_path / "cogency-r0009-20261123-120000.backup"
    assert fixed.what.endswith(
        f"was upgraded from version r0009 to {HEAD}; the backup from before the upgrade is in {file}"
    )
    assert look_into(file).version == "r0009"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (await look_at(settings.storage.url)).version == HEAD
    assert await migrate_after_backup(settings, NOW) == []
    again = f"sqlite:///{tmp_path / 'again.db'}"
    await restore(file, again, NOW)
    assert (await look_at(again)).version == HEAD


@pytest.mark.slow
async def test_a_database_on_a_server_is_left_to_who_can_save_it(tmp_path: Path, postgres: PostgresServer) -> None:
    async with postgres.database() as url:
        settings = await older(tmp_path, url)
        (left,) = await migrate_after_backup(settings, NOW)
        assert (await look_at(url)).version == "r0009"
    assert left.level is Level.NOTE
    assert left.what.endswith("Make a backup with PostgreSQL's own tools, then run `cogency migrate`")


@pytest.mark.slow
async def test_a_database_that_serves_a_bot_or_cannot_be_saved_stays_at_its_version(tmp_path: Path) -> None:
    settings = await older(tmp_path)
    (tmp_path / "cogency-r0009-20261123-120000.backup").write_text("of somebody else")
    (refused,) = await migrate_after_backup(settings, NOW)
    assert (refused.level, refused.what) == (Level.PROBLEM, "the database was not upgraded to the newest version")
    assert "exists. Choose another name" in refused.remedy
    holder = database_of(settings.storage.url)
    try:
        (held,) = await migrate_after_backup(settings, NOW + timedelta(hours=1))
    finally:
        await holder.close()
    assert held.what.endswith("so the database was not upgraded; stop the bot first")
    assert (await look_at(settings.storage.url)).version == "r0009"


async def test_nothing_is_made_where_no_database_is_yet(tmp_path: Path) -> None:
    assert await migrate_after_backup(load_settings({}, data_folder=tmp_path), NOW) == []
    assert list(modes(tmp_path)) == []


# The disk.

ROOMY = DiskFacts(Path("/data"), free=80_000_000_000, taken=1_400_000_000, files=5_000)


@pytest.mark.parametrize(
    ("facts", "level", "says"),
    [
        (ROOMY, Level.GOOD, "80.0 GB free in /data; the database uses 1.4 GB"),
        (replace(ROOMY, taken=0), Level.GOOD, "80.0 GB free in /data"),
        (replace(ROOMY, free=1_400_000_000 + SPARE_BYTES - 1), Level.WARNING, "1.6 GB free in /data;"),
        (replace(ROOMY, files=999), Level.WARNING, "only 999 more files can be created in /data"),
        (replace(ROOMY, files=None), Level.GOOD, "80.0 GB free"),
        (replace(ROOMY, read_only=True), Level.WARNING, "the file system of /data is read-only"),
        (replace(ROOMY, read_only=True, free=0), Level.WARNING, "the file system of /data is read-only"),
    ],
)
def test_the_disk_is_compared_with_what_the_database_takes(facts: DiskFacts, level: Level, says: str) -> None:
    (found,) = disk_findings(facts)
    assert found.level is level
    assert found.what.startswith(says)
    assert bool(found.remedy) is (level is Level.WARNING)


def test_a_file_system_without_a_size_is_not_full() -> None:
    assert disk_findings(replace(ROOMY, free=0, sized=False)) == []


def test_the_disk_is_that_of_the_database_also_before_there_is_one(world: Path) -> None:
    there = disk_facts(settings_of(world))
    assert there is not None
    assert (there.folder, there.taken) == (world / "data", 2 * len("secret"))
    yet = disk_facts(load_settings({}, data_folder=world / "a" / "b"))
    assert yet is not None
    assert (yet.folder, yet.taken) == (world, 0)
    assert disk_facts(load_settings({"COGENCY_DATABASE_URL": "postgresql://bot@db/bot"})) is None


# The clock and tool servers, by their answers.


@asynccontextmanager
async def answering(status: int) -> AsyncGenerator[str]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(("seconds", "level"), [(0, Level.GOOD), (60, Level.WARNING), (3_600, Level.WARNING)])
async def test_the_clock_is_compared_with_that_of_a_models_vendor(seconds: int, level: Level) -> None:
    clock = FastClock(datetime.now(UTC) + timedelta(seconds=seconds), speed=0)  # noqa: TID251 -- as the server has it
    async with answering(404) as address:
        (found,) = await vendors_clock(GEMINI.at(address), clock)
    assert (found.level, found.where) == (level, "Model")
    assert found.what.startswith("this machine's clock ")


async def test_a_vendor_that_is_away_says_nothing_of_the_clock() -> None:
    assert await vendors_clock(GEMINI.at("http://127.0.0.1:9"), FakeClock()) == []


@pytest.mark.parametrize(
    ("status", "level", "says"),
    [
        (401, Level.GOOD, "notes correctly asks for a sign-in (after"),
        (200, Level.NOTE, "without a sign-in"),
        (404, Level.WARNING, "notes answered with status 404 instead of asking for a sign-in"),
    ],
)
async def test_a_server_at_which_people_sign_in_is_asked_whether_it_wants_that(
    status: int, level: Level, says: str
) -> None:
    async with answering(status) as address:
        (found,) = await asks_who_signs_in("notes", HttpReach(f"{address}/mcp"), FakeClock())
    assert found.level is level
    assert says in found.what


async def test_a_server_that_is_away_is_a_warning() -> None:
    (found,) = await asks_who_signs_in("notes", HttpReach("http://127.0.0.1:9/mcp"), FakeClock())
    assert (found.level, found.what) == (Level.WARNING, "notes could not be reached")


# The server for other programs.


async def test_the_server_for_other_programs_is_told_apart_from_others() -> None:
    async with serving(PublicSite([]), "127.0.0.1", 0) as address:
        (found,) = await http_findings(address)
        assert (found.level, found.what) == (Level.GOOD, f"other programs can reach the bot at {address}")
    for status in (404, 502):
        async with answering(status) as address:
            (found,) = await http_findings(address)
            assert found.level is Level.WARNING
            assert f"(status {status})" in found.what
    (found,) = await http_findings("http://127.0.0.1:9")
    assert (found.level, found.what) == (Level.NOTE, "the bot could not be reached at http://127.0.0.1:9")


# Vendors' terms, and traces.


def told(*models: str, on_discord: bool = False) -> list[Finding]:
    return training_findings(models, ENDPOINTS.__getitem__, on_discord=on_discord)


def test_free_models_are_a_warning_and_a_key_that_does_not_show_its_plan_a_note() -> None:
    assert told("openai:gpt-5", "anthropic:claude-sonnet-5-5", "ollama:x:free", "openrouter:a/b") == []
    (free,) = told("openrouter:a/b:free", "openrouter:openrouter/free")
    assert free.level is Level.WARNING
    assert free.what.startswith(
        "openrouter:a/b:free and openrouter:openrouter/free: providers of free models may train"
    )
    notes = told("gemini:gemini-3.8-flash", "gemini-live:x", "mistral:small", on_discord=True)
    assert [one.level for one in notes] == [Level.NOTE] * 3
    assert [one.what.split(" belongs to ")[0] for one in notes[:2]] == [
        "Cogency cannot tell whether GEMINI_API_KEY",
        "Cogency cannot tell whether MISTRAL_API_KEY",
    ]
    assert "https://ai.google.dev/gemini-api/terms" in notes[0].remedy
    assert "requires Discord's permission" in notes[2].what


def test_a_gateway_under_a_vendors_name_is_not_that_vendor() -> None:
    def elsewhere(name: str) -> Endpoint:
        return ENDPOINTS[name].at("https://gateway.example")

    assert training_findings({"gemini:x"}, elsewhere, on_discord=True) == []
    assert not OLLAMA.key_required


def traces(variables: Mapping[str, str], *, found: bool = True) -> list[tuple[Level, str]]:
    settings = load_settings(variables)
    return [(one.level, one.what) for one in trace_findings(settings, lambda _: found or None)]


def test_traces_are_told_of_where_variables_ask_for_them() -> None:
    endpoint, content = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    assert traces({}) == []
    assert traces({content: "true"}) == []
    assert traces({endpoint: "http://127.0.0.1:4318"}) == [(Level.GOOD, "traces go to 127.0.0.1")]
    assert traces({endpoint: "https://otel.example"}) == [(Level.GOOD, "traces go to otel.example")]
    plain = (Level.WARNING, "traces go to otel.example unencrypted")
    assert traces({endpoint: "http://otel.example"}) == [plain]
    wordless = (Level.NOTE, f"{content} has no effect, because traces never contain messages")
    assert traces({endpoint: "http://otel.example", content: "true"}) == [plain, wordless]
    ((level, what),) = traces({endpoint: "https://otel.example"}, found=False)
    assert (level, what) == (Level.WARNING, "OpenTelemetry's environment variables request traces, but none are sent")
    assert traces({endpoint: "https://otel.example", "OTEL_SDK_DISABLED": "true"}) == []


def test_sizes_read_as_people_write_them() -> None:
    assert [diagnosis.size(count) for count in (0, 999, 1_000, 1_499_000, 2_000_000_000)] == [
        *("0 bytes", "999 bytes", "1.0 kB", "1.5 MB", "2.0 GB")
    ]


def test_shards_are_told_of_by_the_process_that_holds_each_and_those_that_nobody_holds() -> None:
    shards = [ListedShard(number, 4, owner, None) for number, owner in enumerate(("a:1:x", "b:1:y", "a:1:x", ""))]
    assert [(one.level, one.what) for one in shard_findings(shards)] == [
        (Level.GOOD, "4 shards: a:1:x holds 0, 2; b:1:y holds 1"),
        (Level.WARNING, "no process holds 1 shard: 3"),
    ]
    assert shard_findings(shards[3:]) == [], "no process runs"
