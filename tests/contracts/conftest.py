"""Every contract runs on the store in memory that other tests use, and on SQLite, in a file and in memory."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from store.engine import Store, open_store
from tests.fakes.store import FakeStore


@pytest.fixture(params=["fake", "sqlite file", "sqlite memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FakeStore | Store]:
    kind: Any = request.param
    if kind == "fake":
        opened = FakeStore()
    else:
        opened = await open_store("sqlite://" if kind == "sqlite memory" else f"sqlite:///{tmp_path}/store.db")
    yield opened
    await opened.close()
