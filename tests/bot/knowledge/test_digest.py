"""The weekly message about what was not answered: to whom, with which counts, once, and without any words."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.admission_terms import Authority, Terms
from agent.events import Outcome
from agent.jobs import Job
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.memory.forgetting_plans import Everything
from agent.turn_records import Claiming, Closing
from bot.knowledge.digest import FIND, SEND, UnansweredDigest, next_time
from bot.knowledge.unanswered import DIGEST, DIGEST_OFF
from tests.fakes.approver_platform import FakeApproverPlatform, NoAnswer
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, said
from tests.fakes.store import StoreInMemory, store_in_memory

MONDAY = datetime(2026, 11, 30, 8, tzinfo=UTC)
TEAM, GROUP, ALONE = Place(TeamAudience("test")), Place(GroupAudience("test:C2")), Place(PersonAudience("test:ann"))
MAX, BOB = "test:max", "test:bob"


@dataclass
class Weekly:
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=lambda: FakeClock(MONDAY))
    platform: FakeApproverPlatform = field(
        default_factory=lambda: FakeApproverPlatform({MAX: Authority.MANAGER, BOB: Authority.EMPLOYEE}, {MAX, BOB})
    )

    @property
    def digest(self) -> UnansweredDigest:
        store = self.store
        return UnansweredDigest(store.unanswered, store.jobs, store.preferences, self.clock, {"test": self.platform})

    async def ask(self, *questions: str, place: Place = TEAM, answer: str = "I don't know.", days: int = 1) -> None:
        for question in questions:
            asked = said(question, person="test:ann", conversation=f"{place.audience}", place=place)
            asked = replace(asked, time=MONDAY - timedelta(days=days))
            await self.store.ledger.accept(asked, Terms(asked.time))
            claim = await self.store.ledger.claim(Claiming("worker", MONDAY, LEASE))
            assert claim is not None
            await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, answer, pages=("page",)), asked.time)

    async def run(self) -> Sequence[str]:
        """Run the jobs that are due; return all that was sent, with its person."""
        kinds = frozenset(self.digest.handlers)
        while (job := await self.store.jobs.claim(kinds, "worker", self.clock.now(), LEASE)) is not None:
            await self.digest.handlers[job.kind](job)
            await self.store.jobs.finish(job)
        return [f"{person}: {panel.text}" for person, panel in self.platform.shown.values()]


async def begun(*questions: str) -> Weekly:
    weekly = Weekly(clock=FakeClock(MONDAY - timedelta(days=1)))
    await weekly.digest.begin()
    weekly.clock = FakeClock(MONDAY)
    await weekly.ask(*questions)
    return weekly


WIFI = ("What is the wifi password?", "Which password has the wifi?", "How do I request zanzibar?")


async def test_a_manager_who_reads_a_channel_is_told_how_much_was_not_answered_there_and_no_word_of_it() -> None:
    weekly = await begun(*WIFI)
    (told,) = await weekly.run()
    assert told.startswith(f"{MAX}: ")
    assert "- 3 questions about 2 subjects in [this channel](https://example.test/" in told
    assert "I did not know (3)" in told
    assert ("zanzibar" in told, "wifi" in told) == (False, False)
    assert "/knowledge digest off" in told


async def test_nothing_is_told_of_direct_messages_of_few_or_of_old_questions_or_of_good_answers() -> None:
    weekly = await begun()
    await weekly.ask(*WIFI, place=ALONE)
    await weekly.ask(*WIFI[:2])
    await weekly.ask(*WIFI, days=9)
    await weekly.ask(*WIFI, answer="It is Heron.")
    assert await weekly.run() == []


async def test_who_does_not_read_the_channel_any_more_or_switched_it_off_is_told_nothing() -> None:
    weekly = await begun()
    await weekly.ask(*WIFI, place=GROUP)
    weekly.platform.readers = {BOB}
    assert await weekly.run() == []
    weekly = await begun(*WIFI)
    await weekly.store.preferences.set(MAX, DIGEST, DIGEST_OFF)
    assert await weekly.run() == []
    assert (await weekly.store.preferences.all_of(MAX))[DIGEST] == DIGEST_OFF


async def test_it_comes_once_a_week_also_after_a_restart_and_late_if_nothing_ran() -> None:
    weekly = await begun(*WIFI)
    await weekly.digest.begin()
    assert len(await weekly.run()) == 1
    await weekly.digest.begin()
    await weekly.store.jobs.schedule(FIND, "", "", MONDAY)  # as after a kill
    assert len(await weekly.run()) == 1
    weekly.clock = FakeClock(MONDAY + timedelta(days=8))
    await weekly.ask(*WIFI, days=-6)
    await weekly.digest.begin()
    assert len(await weekly.run()) == 2


async def test_a_platform_that_does_not_answer_is_asked_again_and_a_closed_door_is_not() -> None:
    weekly = await begun(*WIFI)
    weekly.platform.is_down = True
    with pytest.raises(NoAnswer):
        await weekly.run()
    weekly.platform.is_down = False
    weekly.platform.closed = {MAX}
    weekly.clock = FakeClock(MONDAY + LEASE * 2)
    assert await weekly.run() == []
    assert DIGEST not in await weekly.store.preferences.all_of(MAX)


async def test_a_message_that_waits_is_forgotten_with_its_person() -> None:
    weekly = await begun(*WIFI)
    job = await weekly.store.jobs.claim(frozenset({FIND}), "worker", MONDAY, LEASE)
    assert isinstance(job, Job)
    await weekly.digest.find_people(job)
    await weekly.store.forgetting.forget(Everything(MAX), MONDAY)
    waiting = [one for one in weekly.store.waiting_jobs.values() if one.kind == SEND]
    assert MAX not in [one.key for one in waiting]


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (MONDAY - timedelta(hours=1), MONDAY),
        (MONDAY, MONDAY + timedelta(days=7)),
        (MONDAY + timedelta(days=6, hours=5), MONDAY + timedelta(days=7)),
    ],
)
def test_it_is_due_on_mondays(now: datetime, due: datetime) -> None:
    assert next_time(now) == due
