"""Many questions on both platforms while processes are killed, stopped and cut off: each is answered once.

Those of the longer one, which is a command, start from nothing: `make chaos`, or
`python -m benchmarks.chaos --events 2000 --seed 7`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from benchmarks.chaos import PATIENCE_S, Chaos, Result, run
from tests.examples import is_thorough
from tests.fakes.postgresql import PostgresServer
from tests.fakes.ready_process import ReadyService

SIZE: Final[Mapping[str, int]] = (
    {"events": 60, "conversations": 10, "kills": 2, "stops": 1, "cuts": 2}
    if is_thorough()
    else {"events": 30, "conversations": 6, "kills": 1, "stops": 1, "cuts": 1}
)
TIMEOUT_S = 6 * PATIENCE_S  # Above what starting, ending and standing still may take; while replies come, it goes on


def assert_each_is_answered_once(result: Result, chaos: Chaos) -> None:
    assert result.verdict.strange == (), "\n".join(result.logs)
    assert result.metrics == {
        "replies": chaos.events,
        "duplicates": 0,
        "lost": 0,
        "out_of_order": 0,
        "tool_reruns": 0,
    }
    assert result.starts == chaos.replicas + chaos.kills


@pytest.mark.timeout(TIMEOUT_S)
async def test_three_replicas_on_postgresql_answer_each_question_once_and_in_order(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    chaos = Chaos("postgresql", replicas=3, **SIZE)
    async with postgres.database() as url:
        assert_each_is_answered_once(await run(chaos, tmp_path, url, ReadyService.logging), chaos)


@pytest.mark.timeout(TIMEOUT_S)
async def test_one_process_on_sqlite_that_is_started_anew_answers_each_question_once_and_in_order(
    tmp_path: Path,
) -> None:
    chaos = Chaos("sqlite", replicas=1, **SIZE)
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    assert_each_is_answered_once(await run(chaos, tmp_path, url, ReadyService.logging), chaos)
