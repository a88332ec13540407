"""The double of the sandbox does what `tests/sandbox/test_contract.py` shows of the sandbox."""

import pytest

from tests.fakes.cpython_engine import CPythonEngine
from tests.fakes.engine_contract import CASES, Case, check

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_double_keeps_the_contract(case: Case) -> None:
    await check(CPythonEngine(), case)
