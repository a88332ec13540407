"""Revision r0049 on a database that a bot has used: entries whose use nobody knows do not count as unused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from agent.memory.review import UNUSED, due_reviews
from store.engine import open_store
from tests.store.migrating import up_to

PERSON = "INSERT INTO person (id, name, time_zone) VALUES ('ann', 'Ann', '')"
ENTRY = """\
INSERT INTO profile_entry (person, audience, field, key, text, time, confidence, everywhere)
VALUES ('ann', 'person:ann', 'goals', '', 'learn Rust', '2024-01-01 12:00:00.000000', 0.5, false)"""


@pytest.fixture
def url(empty_on_either: str) -> str:
    return empty_on_either


def known_before(connection: Connection) -> None:
    connection.execute(text(PERSON))
    connection.execute(text(ENTRY))


async def test_entries_from_before_count_as_used_at_the_upgrade(url: str, tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 -- the database's own clock is compared with it
    earlier = await open_store(url, migrations=up_to("r0047", tmp_path))
    await earlier.database.write(known_before)
    await earlier.close()
    store = await open_store(url)
    (entry,) = await store.profiles.all_entries("ann", frozenset({"person:ann"}))
    await store.close()
    assert entry.used is not None
    assert entry.used >= before
    assert due_reviews([entry], [], before) == []
    assert len(due_reviews([entry], [], entry.used + UNUSED)) == 1
