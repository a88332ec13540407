"""The seconds of code of a person: one row for a day, which outlives forgetting. On both engines."""

from datetime import date, timedelta

from agent.memory.forgetting_plans import Everything
from agent.spending import SpendingPeriod
from store.data_subjects import PersonSubject
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.contracts.steps import answered
from tests.fakes.incoming import START, said

MONTH = SpendingPeriod(date(2026, 1, 1), date(2026, 1, 31))


async def test_seconds_add_up_by_person_and_day(either: Store) -> None:
    for person, seconds, days in (("ann", 1.25, 0), ("ann", 2.0, 0), ("ann", 3.0, 1), ("ben", 9.0, 0)):
        await either.code_time.charge_seconds(person, seconds, START + timedelta(days=days))
    assert await either.code_time.seconds_by_day("ann", MONTH) == {date(2026, 1, 5): 3.25, date(2026, 1, 6): 3.0}
    assert await either.code_time.seconds_by_day("ann", SpendingPeriod(date(2026, 1, 6), date(2026, 1, 6))) == {
        date(2026, 1, 6): 3.0
    }
    assert await either.code_time.seconds_by_day("carol", MONTH) == {}


async def test_forgetting_resets_no_budget_and_an_export_shows_it(either: Store) -> None:
    await answered(either, said("my boat is blue"), "Noted.")
    await either.code_time.charge_seconds("ann", 4.5, START)
    await either.forgetting.forget(Everything("ann"), START)
    assert await either.code_time.seconds_by_day("ann", MONTH) == {date(2026, 1, 5): 4.5}
    subjects = await data_subjects_in(either)
    assert (await subjects.page(PersonSubject("ann"), "code_time")).rows == [{"day": "2026-01-05", "seconds": 4.5}]
