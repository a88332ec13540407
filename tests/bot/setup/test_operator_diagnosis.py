"""What the doctor finds about settings, the database and the model, and that it changes nothing."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from agent.machine import CLOCK
from agent.memory.forgetting_plans import Deleted
from bot.app.settings import Settings, load_settings
from bot.chat.access.place_rules import name_at, place_owner
from bot.chat.attachments.reader import missing
from bot.chat.findings import SKEW, Finding, Level, clock_finding, finding_lines, healthy, one_clock
from bot.settings.installation import command_for
from bot.setup.diagnosis import Check, run_checks
from bot.setup.operator_databases import migrate
from bot.setup.operator_doctor import SERVERS_S, checks, examine, file_findings
from store.engine import open_store
from store.forget_again import with_forgetting_log
from store.migrations import HEAD
from store.schema import meta
from tests.contracts.steps import answered
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN
from tests.patience import PATIENCE_S

REHEARSAL = {"COGENCY_MODEL": "rehearsal"}


def read(folder: Path, **environ: str) -> Settings:
    return load_settings(REHEARSAL | environ, data_folder=folder)


async def about(where: str, settings: Settings, *, ask_model: bool = False) -> list[Finding]:
    return [finding for finding in await examine(settings, ask_model=ask_model) if finding.where == where]


async def test_a_database_that_is_not_there_yet_is_a_note_and_stays_away(tmp_path: Path) -> None:
    (found,) = await about("Database", read(tmp_path))
    assert (found.level, found.what) == (Level.NOTE, f"the database is not set up yet: {tmp_path}/cogency.db")
    assert not (tmp_path / "cogency.db").exists()


@pytest.mark.slow
async def test_a_database_is_named_with_its_version(tmp_path: Path) -> None:
    settings = read(tmp_path)
    await migrate(settings)
    (found,) = await about("Database", settings)
    assert found.level is Level.GOOD
    assert found.what.endswith(f"is at the newest version, {HEAD}")


@pytest.mark.slow
async def test_the_forgetting_log_is_compared_with_the_database(tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = read(tmp_path, COGENCY_FORGETTING_LOG=str(log))
    await migrate(settings)

    async def forget(number: int, path: Path | None) -> None:
        store = await open_store(settings.storage.url)
        logging = await with_forgetting_log(store, path, CLOCK.now())
        await answered(logging, said("a boat", number=number), "noted")
        await logging.forgetting.forget(Deleted("test", "channel", frozenset({f"post-{number}"})), CLOCK.now())
        await store.close()

    async def found() -> tuple[Level, str]:
        _, finding = await about("Database", settings)
        return finding.level, finding.what

    assert await found() == (Level.NOTE, f"there is no forgetting log yet: {log}")
    await forget(1, log)
    assert await found() == (Level.GOOD, f"the forgetting log {log} is complete")
    written = log.read_bytes()
    await forget(2, None)
    assert await found() == (Level.PROBLEM, f"the forgetting log {log} lacks 2 entries")
    log.write_bytes(written + written.splitlines(keepends=True)[-1].replace(b"message:", b"page:"))
    assert await found() == (Level.PROBLEM, f"the database is older than the forgetting log {log}")
    log.write_bytes(b"another file")
    assert await found() == (Level.PROBLEM, "the forgetting log cannot be used")
    settings = read(tmp_path, COGENCY_FORGETTING_LOG=str(log / "log"))
    assert await found() == (Level.PROBLEM, "the forgetting log cannot be used")


@pytest.mark.slow
async def test_what_the_next_start_makes_anew_is_a_note(tmp_path: Path) -> None:
    settings = read(tmp_path)
    store = await open_store(settings.storage.url)
    await answered(store, said("a boat"), "noted")
    await store.database.write(lambda c: c.execute(update(meta).values(value=b"1").where(meta.c.name == "index_terms")))
    await store.close()
    renewed, version = await about("Database", settings)
    assert (renewed.level, version.level) == (Level.NOTE, Level.GOOD)
    assert renewed.what == "the search index: 2 messages were indexed by another version of Cogency"
    assert "The bot rebuilds the index when it next starts" in renewed.remedy
    await migrate(settings)
    assert len(await about("Database", settings)) == 1


async def test_a_database_that_cannot_be_read_is_a_problem_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "cogency.db").write_text("I am a letter. " * 1_000)
    *_, found = await about("Database", read(tmp_path))
    assert found.level is Level.PROBLEM
    assert found.remedy


async def test_rehearsal_is_a_warning(tmp_path: Path) -> None:
    (found,) = await about("Model", read(tmp_path))
    what = "no real model is configured, so the bot uses the offline rehearsal model, which follows fixed rules"
    assert (found.level, found.what) == (Level.WARNING, what)


async def test_a_model_without_its_key_is_a_problem_that_names_the_setting(tmp_path: Path) -> None:
    (found,) = await about("Model", read(tmp_path, COGENCY_MODEL="openai:m-1"))
    assert found.level is Level.PROBLEM
    assert "OPENAI_API_KEY" in found.remedy


async def test_a_model_is_asked_for_one_word_only_if_somebody_wants_it(tmp_path: Path) -> None:
    async with ModelServer([[head(), text("yes"), DONE]]) as model:
        settings = read(tmp_path, COGENCY_MODEL="openai:m-1", OPENAI_BASE_URL=model.url)
        assert [found.level for found in await about("Model", settings)] == [Level.GOOD, Level.NOTE, Level.NOTE]
        assert not model.requests
        chosen, asked, form = await about("Model", settings, ask_model=True)
    assert "check-model" in form.remedy
    assert (chosen.level, asked.level) == (Level.GOOD, Level.GOOD)
    assert chosen.what == "openai:m-1 — it is set in COGENCY_MODEL"
    assert asked.what.startswith("openai:m-1 answered (first token after ")


async def test_a_model_that_says_no_is_a_problem(tmp_path: Path) -> None:
    async with ModelServer([[head(401, "application/json"), b'{"error": {"message": "no such key"}}']]) as model:
        settings = read(tmp_path, COGENCY_MODEL="openai:m-1", OPENAI_BASE_URL=model.url)
        _, asked, _ = await about("Model", settings, ask_model=True)
    assert (asked.level, asked.what) == (Level.PROBLEM, "the request to openai:m-1 failed")


async def test_each_of_several_keys_is_tried_and_named_by_its_end(tmp_path: Path) -> None:
    bad, good = "sk-organization-one-1111", "sk-organization-two-2222"

    def reply(request: Request) -> Reply:
        if request.headers["authorization"] == f"Bearer {bad}":
            return whole(401, {"error": {"message": "no such key"}})
        return [head(), text("yes"), DONE]

    async with ModelServer(reply) as model:
        keys = {"OPENAI_API_KEY": f"{bad},{good}", "OPENAI_BASE_URL": model.url}
        found = await about("Model", read(tmp_path, COGENCY_MODEL="openai:m-1", **keys), ask_model=True)
    said = [(one.level, one.what) for one in found if "API key" in one.what]
    assert said == [
        (Level.WARNING, "API key 1 of 2 (…1111) does not work right now, so the bot uses the other keys"),
        (Level.GOOD, "API key 2 of 2 (…2222) works"),
    ]
    assert found[1].level is Level.GOOD, "the model answers with the other key"
    assert bad not in f"{found}"


async def test_tokens_that_are_not_enough_are_one_problem(tmp_path: Path) -> None:
    *_, found = await examine(read(tmp_path, SLACK_BOT_TOKEN=BOT_TOKEN), ask_model=False)
    assert (found.level, found.where) == (Level.PROBLEM, "Settings")
    assert found.remedy.startswith("SLACK_APP_TOKEN is missing")


async def test_without_any_platform_one_can_still_chat(tmp_path: Path) -> None:
    found = await examine(read(tmp_path), ask_model=False)
    assert found[-1].what == "no platform has a token"
    assert healthy(found)


async def test_slack_is_looked_at_where_it_has_tokens_and_none_of_them_is_shown(tmp_path: Path) -> None:
    async with FakeSlack(FastClock(CLOCK.now(), speed=1)) as slack:
        tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE_URL": slack.url}
        found = await examine(read(tmp_path, **tokens), ask_model=False)
    assert "signed in as cogency in Fake (https://fake.slack.com/)" in [one.what for one in found]
    assert BOT_TOKEN not in finding_lines(found)
    assert APP_TOKEN not in finding_lines(found)


async def test_checks_run_side_by_side_and_are_told_in_their_order() -> None:
    there, heard = asyncio.Event(), list[Sequence[str]]()

    async def first() -> list[Finding]:
        await there.wait()
        return [Finding(Level.GOOD, "One", "it waited for the other")]

    async def second() -> list[Finding]:
        there.set()
        return [Finding(Level.GOOD, "Two", "it went ahead")]

    both = [Check("One", first, PATIENCE_S), Check("Two", second, PATIENCE_S)]
    assert [one.where for one in await run_checks(both, heard.append)] == ["One", "Two"]
    assert heard[0] == ["One", "Two"]


@pytest.mark.parametrize("late", [Level.WARNING, Level.PROBLEM])
async def test_a_check_that_is_not_done_in_time_is_a_finding_and_stops_no_other(late: Level) -> None:
    async def well() -> list[Finding]:
        return [Finding(Level.GOOD, "Well", "it is there")]

    stuck = Check("Stuck", asyncio.Event().wait, 0.01, late)  # type: ignore[arg-type] -- it never answers
    found = await run_checks([stuck, Check("Well", well, PATIENCE_S)])
    assert [(one.level, one.what) for one in found] == [
        (late, "the check did not finish within 0.01 s"),
        (Level.GOOD, "it is there"),
    ]


async def test_every_check_has_a_bound_and_a_model_as_long_as_the_settings_give_it(tmp_path: Path) -> None:
    tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "DISCORD_TOKEN": "x"}
    bounds = {one.where: one.seconds for one in checks(read(tmp_path, **tokens), ask_model=False)}
    assert bounds.pop("Model") == 240
    assert bounds.keys() == {"Proxy", "Web", "Webhooks", "Database", "Tools", "Slack", "Discord"}
    assert max(bounds.values()) == SERVERS_S


async def test_the_clock_is_told_of_once_by_whoever_sees_it_worst(tmp_path: Path) -> None:
    async with FakeSlack(FastClock(CLOCK.now() - timedelta(hours=1), speed=1)) as slack:
        tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE_URL": slack.url}
        found = await examine(read(tmp_path, **tokens), ask_model=False)
    clocks = [clock_finding("Model", "Gemini", CLOCK.now(), CLOCK.now() + off) for off in (timedelta(), SKEW * 2)]
    told = one_clock([*clocks, *found])
    assert [one.what.split(" by ")[1] for one in told if one.what.startswith("this machine's clock")] == ["20 seconds"]


async def test_mending_comes_first_and_what_is_mended_is_not_wrong_any_more(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("COGENCY_LANGUAGE=Irish\n")
    dotenv.chmod(0o644)
    fixed, *found = await examine(read(tmp_path), ask_model=False, dotenv=dotenv, fix=True)
    assert (fixed.level, fixed.where) == (Level.FIXED, "Settings")
    assert fixed.what == f"the permissions of {dotenv} are now restricted (mode 600, was 644)"
    assert "chmod" not in finding_lines(found)


def test_what_to_install_for_office_files_is_said_where_it_is_not_there() -> None:
    assert file_findings(office=not missing("office")) == []  # for the tests it is
    (found,) = file_findings(office=False)
    assert found.level is Level.NOTE
    assert found.remedy == f"Run {command_for('office')}"


@pytest.mark.slow
async def test_channels_whose_models_are_all_gone_are_named_with_the_remedy(tmp_path: Path) -> None:
    settings = read(tmp_path, COGENCY_ALLOWED_MODELS="ollama:small")
    store = await open_store(settings.storage.url)
    rules = {"C1 slack:T1": "openai:gone", "C2 slack:T1": "openai:gone ollama:small", "C3": "rehearsal", "C4": ""}
    for where, models in rules.items():
        channel, _, source = where.partition(" ")
        await store.preferences.set(place_owner(channel), name_at(source), f'{{"models": "{models}"}}\nhistory')
    await store.close()
    (found,) = [one for one in await about("Model", settings) if "these channels" in one.what]
    assert (found.level, found.what.rpartition(": ")[2]) == (Level.WARNING, "C1")
    assert "COGENCY_ALLOWED_MODELS" in found.remedy
    without = read(tmp_path)  # the choice was removed as a whole
    (found,) = [one for one in await about("Model", without) if "these channels" in one.what]
    assert found.what.endswith(": C1, C2")


async def test_a_doctor_without_a_network_ends_with_what_does_not_answer(tmp_path: Path) -> None:
    """The service tries again for ever; who asks the doctor waits, so it ends."""
    nobody = "http://127.0.0.1:9/api/v10"  # the port of "discard", where no machine answers
    settings = read(tmp_path, DISCORD_TOKEN="a.b.c" * 12, DISCORD_API_BASE_URL=nobody)
    async with asyncio.timeout(PATIENCE_S):
        findings = await examine(settings, ask_model=False)
    found = [one for one in findings if one.where == "Discord" and one.level is Level.PROBLEM]
    assert any("DISCORD_API_BASE_URL" in f"{one.what} {one.remedy}" for one in found)
    assert not healthy(findings)
