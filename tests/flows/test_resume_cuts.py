"""A turn with two tools over a WebSocket that is killed at every frame boundary, in either direction.

However it is cut, the turn ends in the right answer, or says honestly that it did not come; and no tool runs twice.
"""

import asyncio
from collections.abc import Sequence

import pytest

from agent.events import NoticeArrived, Outcome
from agent.providers.replay import ModelTimeouts
from tests.contracts.model_world import Asked, Calls, Says
from tests.fakes.one_turn import Echo, Ran, echo_call, run_turn
from tests.fakes.openai_service import responses_world
from tests.patience import PATIENCE_S

TURNS = (
    Calls((echo_call("one"),), before="I ask.", reasoning="First one."),
    Calls((echo_call("two"),), reasoning="Then two."),
    Says(("Both ", "heard."), reasoning="Done."),
)
ANSWER = "I ask.\n\nBoth heard."
PATIENT = ModelTimeouts(first_token_s=10.0, between_tokens_s=10.0)


async def ran(cut_after: int | None) -> tuple[Ran, Echo, Sequence[Asked], int]:
    """The turn, its tool, what the model was asked, and the number of frames in both directions."""
    async with responses_world(patience=PATIENT) as world:
        world.plan(*TURNS)
        world.service.cut_after = cut_after
        tool = Echo()
        return await run_turn(world.provider, tool), tool, world.asked, world.service.frames


async def outcome(cut_after: int) -> Outcome:
    """Check what must hold for every cut, and tell how the turn ended."""
    done, tool, asked, _ = await ran(cut_after)
    notices = [event.text for event in done.events if isinstance(event, NoticeArrived)]
    assert tool.said == ["one", "two"][: len(tool.said)]
    if done.ended.outcome is Outcome.ANSWERED:
        assert (done.ended.text, notices, tool.said) == (ANSWER, [], ["one", "two"])
    else:
        (sentence,) = notices
        said = done.ended.text.removesuffix(sentence).rstrip()
        assert ANSWER.startswith(said)
        assert "may have processed the question" in sentence or "was cut off" in sentence
        assert len(asked) == len(tool.said) + 1
    return done.ended.outcome


async def test_a_socket_killed_at_any_frame_ends_the_turn_rightly_or_honestly_and_repeats_no_call() -> None:
    async with asyncio.timeout(PATIENCE_S):
        whole, tool, asked, frames = await ran(None)
        assert (whole.ended.text, tool.said) == (ANSWER, ["one", "two"])
        outcomes = [await outcome(number) for number in range(1, frames + 1)]
    between_rounds = [number for number, how in enumerate(outcomes, 1) if how is Outcome.ANSWERED]
    assert len(between_rounds) == len(asked)  # after the last frame of each answer, the chain is made good


@pytest.mark.parametrize("closes", [1, 2])
async def test_a_socket_that_dies_while_a_tool_runs_is_made_good_out_of_sight(closes: int) -> None:
    async with responses_world(patience=PATIENT) as world:
        world.plan(*TURNS)
        tool = Echo()

        async def die() -> None:
            if len(tool.said) <= closes:
                for socket in list(world.service.open):
                    await socket.close()

        tool.meet = die
        done = await run_turn(world.provider, tool)
        assert world.service.handshakes == closes + 1
    assert (done.ended.outcome, done.ended.text) == (Outcome.ANSWERED, ANSWER)
    assert tool.said == ["one", "two"]
