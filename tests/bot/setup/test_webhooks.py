"""What operators see and do about outgoing webhooks by command, and what doctor finds."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from agent.events import Outcome
from agent.machine import CLOCK
from agent.outgoing import OutgoingEvent
from agent.turn_records import Closing
from bot.app.settings import Settings, load_settings
from bot.chat.findings import Level
from bot.setup import texts as setup_texts
from bot.setup.file_rights import kept_files
from bot.setup.webhooks import failed_lines, failed_objects, retry, webhook_findings
from bot.webhooks.outgoing.settings import outgoing_rows
from store.engine import Store, open_store
from tests.contracts.steps import claimed
from tests.fakes.incoming import said
from tests.fakes.new_database import new_database
from tests.fakes.webhook_receiver import SECRET

FILE = """
[[webhook]]
name = "crm"
url = "http://127.0.0.1:8080/hooks"
events = ["turn.finished"]
secret_file = "secret.txt"
"""


async def settings_in(folder: Path, content: str = FILE, **more: str) -> Settings:
    for name, text in (("webhooks.toml", content), ("secret.txt", SECRET)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    url = await new_database(folder / "bot.db")
    return load_settings({"COGENCY_DATABASE_URL": url, "COGENCY_OUTGOING_WEBHOOKS": f"{folder}/webhooks.toml", **more})


async def failing(store: Store, settings: Settings) -> int:
    """An event that was given up; returns its number."""
    rows = outgoing_rows(settings.outgoing, settings.webhook_variables)
    await store.outbox.subscribe([row.subscription for row in rows], CLOCK.now())
    await store.ledger.accept(said("one"))
    claim = await claimed(store)
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "two"), CLOCK.now())
    delivery = await store.outbox.next("crm", "thread")
    assert delivery is not None
    await store.outbox.give_up(delivery.id, "no answer", CLOCK.now() + timedelta(days=1))
    return delivery.id


async def test_failed_events_are_listed_and_retried_while_the_bot_runs(tmp_path: Path) -> None:
    settings = await settings_in(tmp_path)
    store = await open_store(settings.storage.url)
    assert await failed_lines(settings) == [setup_texts.NO_FAILED_WEBHOOKS]
    number = await failing(store, settings)
    (line,) = await failed_lines(settings)
    assert line.startswith(f"{number}  crm  turn.finished")
    assert line.endswith("1 attempt: no answer")
    (listed,) = map(json.loads, await failed_objects(settings))
    assert (listed["number"], listed["webhook"], listed["reason"]) == (number, "crm", "no answer")
    assert await retry(settings, "crm", number + 1) == (
        False,
        setup_texts.WEBHOOK_NUMBER_UNKNOWN.format(name="crm", number=number + 1),
    )
    assert await retry(settings, "other", None) == (False, setup_texts.WEBHOOK_UNKNOWN.format(name="other"))
    assert await retry(settings, "crm", number) == (
        True,
        setup_texts.WEBHOOK_RETRIED.format(name="crm", events="1 event"),
    )
    waiting = await store.outbox.next("crm", "thread")
    assert waiting is not None
    assert waiting.event == OutgoingEvent.TURN_FINISHED
    await store.outbox.disable("crm", "gone", CLOCK.now())
    assert "crm has been disabled since" in (await failed_lines(settings))[0]
    assert await retry(settings, "crm", None) == (
        True,
        setup_texts.WEBHOOK_RETRIED.format(name="crm", events="1 event"),
    )
    assert await store.outbox.disabled() == {}
    assert await retry(settings, "crm", None) == (True, setup_texts.WEBHOOK_ENABLED.format(name="crm"))
    await store.close()


@pytest.mark.parametrize(
    ("allowed", "level", "remedy"),
    [
        ("127.0.0.1:8080", Level.GOOD, ""),
        ("", Level.WARNING, "It is not on the public web (the bot's own machine), and the operator has not allowed it"),
    ],
)
async def test_doctor_checks_whether_each_address_may_be_reached(
    tmp_path: Path, allowed: str, level: Level, remedy: str
) -> None:
    settings = await settings_in(tmp_path, COGENCY_NETWORKS_ALLOWED=allowed)
    (finding,) = await webhook_findings(settings)
    assert (finding.level, finding.where) == (level, "Webhooks")
    assert finding.remedy.startswith(remedy)
    assert "crm" in finding.what
    assert SECRET not in f"{finding}"


async def test_doctor_reports_a_file_that_cannot_be_used_and_who_can_read_its_secrets(tmp_path: Path) -> None:
    settings = await settings_in(tmp_path)
    assert tmp_path / "secret.txt" in [file.path for file in kept_files(settings, None)]
    broken = await settings_in(tmp_path, FILE.replace("turn.finished", "turn.ended"))
    (finding,) = await webhook_findings(broken)
    assert (finding.level, finding.what) == (Level.PROBLEM, setup_texts.WEBHOOKS_WRONG)
    assert "turn.ended is not an event" in finding.remedy
    assert await webhook_findings(load_settings({})) == []
