"""What a question costs is counted from the processes that answer it."""

import pytest

from benchmarks.question_cost import BOT, MINIMAL, cost, statements

pytestmark = pytest.mark.server


async def test_a_question_costs_the_bot_more_than_one_that_stores_nothing() -> None:
    ours, minimal = await cost(BOT, 1), await cost(MINIMAL, 1)
    assert ours.question.bot_ms > minimal.question.bot_ms > 0
    assert ours.question.bytes_written > minimal.question.bytes_written == 0


async def test_statements_are_counted_while_the_bot_answers() -> None:
    assert 10 < await statements() < 62  # 53 are measured; a few more run with the sweeps of a slow machine
