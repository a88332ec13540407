"""A slot is free while fewer turns run than allowed, and it is not reserved for a message that is being stored."""

from bot.chat.turns.worker import TurnSlots, TurnWorkerLimits
from tests.fakes.clock import FakeClock


def slots(*, are_open: bool = True) -> TurnSlots:
    return TurnSlots(TurnWorkerLimits(max_running=2), "worker", FakeClock(), lambda: None, are_open)


def test_a_slot_is_free_until_as_many_run_as_may() -> None:
    assert [slots().free(running) is not None for running in range(4)] == [True, True, False, False]


def test_nothing_is_claimed_where_nothing_is_answered() -> None:
    assert slots(are_open=False).free(0) is None


def test_a_promised_slot_is_not_given_twice_until_it_is_released() -> None:
    here = slots()
    claiming = here.promise(1)
    assert here.free(1) is None
    here.release(claiming)
    assert here.free(1) is not None


def test_no_slot_is_kept_for_what_was_promised_none() -> None:
    here = slots()
    here.release(here.promise(2))
    assert here.promised == 0


def test_a_turn_that_waits_for_a_person_takes_no_slot() -> None:
    waiting = {7: 1}
    here = TurnSlots(
        TurnWorkerLimits(max_running=2), "worker", FakeClock(), lambda: None, are_open=True, waiting=waiting
    )
    assert [here.free(running) is not None for running in (2, 3)] == [True, False]
    waiting.clear()
    assert here.free(2) is None


def test_work_is_claimed_beside_the_turns_as_long_as_little_enough_goes_on() -> None:
    here = TurnSlots(TurnWorkerLimits(max_running=2, max_working=1), "worker", FakeClock(), lambda: None, are_open=True)
    claimings = [here.free(1, working) for working in range(3)]
    assert [claiming is not None and claiming.works for claiming in claimings] == [True, False, False]
    assert here.free(2, 0) is None
    alone = TurnSlots(TurnWorkerLimits(max_running=1, max_working=None), "w", FakeClock(), lambda: None, are_open=True)
    claiming = alone.free(0, 0)
    assert claiming is not None
    assert claiming.works
