"""These tests run code in the real sandbox: `make test-python` installs it. The first one compiles it, for minutes."""

from collections.abc import AsyncGenerator
from importlib.util import find_spec

import pytest

from bot.python.feature import open_sandbox
from bot.python.sandbox import PACKAGE, Sandbox

if find_spec(PACKAGE) is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
async def sandbox() -> AsyncGenerator[Sandbox]:
    """The sandbox as the bot opens it, with the compiled interpreter in the user's cache."""
    opened = open_sandbox()
    async with opened.serving():
        await opened.compiled()
        yield opened
