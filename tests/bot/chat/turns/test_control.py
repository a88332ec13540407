import pytest

from bot.chat.turns.control import RegisteredTurns
from tests.bot.chat.turns.test_worker import World
from tests.fakes.incoming import said


async def test_features_stop_and_withdraw_turns_of_the_worker_that_registers_later() -> None:
    world, turns = World([]), RegisteredTurns()
    worker, withdrawn = world.turns(), said("And now?", conversation="b")
    turns.register(worker)
    await worker.submit(said("Hello?", conversation="a"))
    await worker.submit(withdrawn)
    assert await turns.withdraw(withdrawn.source, withdrawn.channel, withdrawn.message_id)
    assert await turns.stop_conversation("a")
    assert not await turns.stop_conversation("c")


async def test_before_a_worker_has_registered_no_turn_of_it_is_lost() -> None:
    await RegisteredTurns().end_lost()


async def test_turns_are_not_used_before_a_worker_has_registered() -> None:
    turns = RegisteredTurns()
    with pytest.raises(RuntimeError, match="registered"):
        await turns.take_back("ann", None)
    with pytest.raises(RuntimeError, match="registered"):
        turns.wake()
