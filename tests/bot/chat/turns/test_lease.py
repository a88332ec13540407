"""A process writes a reply to a platform only while its lease certainly holds."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from agent.errors import LeaseLost, StoreError
from agent.turn_records import Claim, Claiming
from bot.chat.reply.surface import PageUnsent
from bot.chat.turns.lease import Lease
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import WatchedLedger, store_in_memory

LENGTH = timedelta(seconds=30)


class AskedLedger(WatchedLedger):
    """Counts how often a claim is renewed; `away` while it cannot be reached."""

    renewals = 0
    away = False

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        self.renewals += 1
        if self.away:
            raise StoreError("The database cannot be reached.")
        await super().renew(claim, now, lease)


def asked_ledger() -> AskedLedger:
    ledger = store_in_memory(AskedLedger).ledger
    assert isinstance(ledger, AskedLedger)
    return ledger


async def claimed(ledger: AskedLedger, clock: FakeClock) -> tuple[Lease, Claim]:
    await ledger.accept(said("Hello?"))
    lease = Lease(ledger, clock, LENGTH)
    claim = await ledger.claim(Claiming("worker", clock.now(), LENGTH))
    assert claim is not None
    return lease, claim


async def test_a_fresh_claim_is_sure_without_asking() -> None:
    ledger, clock = asked_ledger(), FakeClock(auto=False)
    lease, claim = await claimed(ledger, clock)
    await clock.advance(14)
    await lease.ensure(claim)
    assert ledger.renewals == 0


async def test_a_claim_that_was_not_renewed_for_long_is_sure_only_after_asking() -> None:
    ledger, clock = asked_ledger(), FakeClock(auto=False)
    lease, claim = await claimed(ledger, clock)
    await clock.advance(25)
    await lease.ensure(claim)
    await lease.ensure(claim)
    assert ledger.renewals == 1


async def test_from_the_third_attempt_on_a_lease_is_longer_for_everyone() -> None:
    ledger, clock = asked_ledger(), FakeClock(auto=False)
    await claimed(ledger, clock)
    for held in (LENGTH, LENGTH, 2 * LENGTH, 4 * LENGTH, 4 * LENGTH):
        await clock.advance(held.total_seconds() - 1)
        assert await ledger.claim(Claiming("another", clock.now(), LENGTH)) is None
        lease = Lease(ledger, clock, LENGTH)
        await clock.advance(1)
        claim = await ledger.claim(Claiming("another", clock.now(), LENGTH))
        assert claim is not None
        lease.claimed(claim.attempts)
    assert claim.attempts == 6
    await clock.advance(58)
    await lease.ensure(claim)
    assert ledger.renewals == 0
    await clock.advance(2)
    await lease.ensure(claim)
    assert ledger.renewals == 1
    await clock.advance(119)
    assert await ledger.claim(Claiming("another", clock.now(), LENGTH)) is None


async def test_a_process_that_wakes_after_its_turn_was_taken_over_is_told_so() -> None:
    ledger, clock = asked_ledger(), FakeClock(auto=False)
    lease, claim = await claimed(ledger, clock)
    await clock.advance(31)
    assert await ledger.claim(Claiming("another", clock.now(), LENGTH)) is not None
    with pytest.raises(LeaseLost):
        await lease.ensure(claim)


class SleepingMachine(FakeClock):
    """The monotonic clock stopped while the machine slept."""

    slept = timedelta()

    def now(self) -> datetime:
        return super().now() + self.slept


async def test_a_machine_that_slept_asks_too() -> None:
    ledger, clock = asked_ledger(), SleepingMachine(auto=False)
    lease, claim = await claimed(ledger, clock)
    clock.slept = timedelta(minutes=5)
    await lease.ensure(claim)
    assert ledger.renewals == 1


async def test_when_the_ledger_cannot_be_asked_nobody_knows() -> None:
    ledger, clock = asked_ledger(), FakeClock(auto=False)
    lease, claim = await claimed(ledger, clock)
    ledger.away = True
    await clock.advance(25)
    with pytest.raises(PageUnsent, match="could not check whether this process still has the turn"):
        await lease.ensure(claim)
    ledger.away = False
    await lease.ensure(claim)


async def test_another_epoch_is_another_claim() -> None:
    ledger, clock = asked_ledger(), FakeClock(auto=False)
    lease, claim = await claimed(ledger, clock)
    with pytest.raises(LeaseLost):
        await lease.renew(replace(claim, epoch=claim.epoch + 1))
