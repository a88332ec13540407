"""The one client of `cogency mcp`, whose database other commands may hold."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from agent.errors import Refused, StoreLocked
from bot.api.mcp_server import texts
from bot.api.mcp_server.server import Context
from bot.app.mcp_stdio import LocalClient
from bot.app.on_demand import OnDemand
from bot.app.platforms import OpenTerminal
from tests.fakes.clock import FakeClock


@asynccontextmanager
async def held_elsewhere() -> AsyncGenerator[OpenTerminal]:
    raise StoreLocked("held")
    yield


async def test_a_database_that_another_command_holds_is_a_sentence() -> None:
    client = LocalClient("terminal:anna", OnDemand(held_elsewhere, FakeClock(), 1, 20), "notes", may_rehearse=True)
    with pytest.raises(Refused) as refused:
        async with client.open(cast("Context", None)):
            pass
    assert str(refused.value) == texts.DATABASE_BUSY
