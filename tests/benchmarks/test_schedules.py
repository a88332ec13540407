"""The simulated year of schedules: no occurrence is lost or doubled, and the judge detects it if one is."""

import logging

import pytest

from agent.schedules.ids import occurrence_id
from benchmarks.schedules import BEGIN, DAYS, Year, a_year, judged
from tests.examples import is_thorough
from tests.fakes.store import store_in_memory


@pytest.mark.slow
async def test_in_a_year_with_kills_and_wrong_clocks_each_occurrence_comes_once_at_its_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR, "bot.schedules.scheduler")
    count, days = (40, DAYS) if is_thorough() else (20, DAYS // 2)
    year = await a_year(store_in_memory(), seed=3, count=count, days=days, one_in=30)
    result = judged(year)
    assert (result.duplicates, result.lost, result.wrong_times) == (0, 0, 0)
    assert result.occurrences > 50
    assert year.world.kills > 20
    assert year.world.down
    _the_judge_sees_what_is_wrong(year)


def _the_judge_sees_what_is_wrong(year: Year) -> None:
    shown, right = year.world.shown, judged(year)
    some = sorted(shown)[len(shown) // 2]
    turns = shown.pop(some)
    year.world.down.clear()
    assert judged(year).lost == right.lost + right.missed + 1
    shown[some] = {*turns, 0}
    assert judged(year).duplicates == 1
    shown[occurrence_id(year.kept[0].id, BEGIN)] = {1}
    assert judged(year).wrong_times == 1
