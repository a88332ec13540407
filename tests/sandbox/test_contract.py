"""The sandbox does what its double shows in `tests/bot/python/test_engine.py`."""

import pytest

from bot.python.sandbox import Sandbox
from tests.fakes.engine_contract import CASES, Case, check


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_sandbox_keeps_the_contract(sandbox: Sandbox, case: Case) -> None:
    await check(sandbox, case)
