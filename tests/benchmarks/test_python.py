"""Reading by code costs a fraction of the tokens, and a bot without code pays next to nothing for it."""

from benchmarks.python import BOUNDS, added_start_ms, tokens
from tests.fakes.cpython_engine import CPythonEngine


async def test_twenty_reads_by_code_take_far_fewer_tokens_than_by_calls() -> None:
    by_calls, by_code = await tokens(CPythonEngine())
    assert by_calls / by_code >= BOUNDS["tokens_ratio_code"]


def test_a_bot_without_code_starts_nearly_as_fast() -> None:
    assert added_start_ms(3) < 10 * BOUNDS["added_start_ms"]
