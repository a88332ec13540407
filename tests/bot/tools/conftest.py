"""The servers at which people sign in, and the store of their accounts."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from store.engine import Store, open_store
from tests.fakes.new_database import new_database
from tests.fakes.oauth_server import ToolService, tool_service


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    opened = await open_store(await new_database(tmp_path / "bot.db"))
    yield opened
    await opened.close()


@pytest.fixture
async def service() -> AsyncGenerator[ToolService]:
    async with tool_service() as running:
        running.notes = {"ann": ["buy bread"], "bob": ["sell boat"], "mallory": ["nothing good"]}
        yield running
