"""Fallback: the next model answers if the first cannot, and only before the first event."""

from collections.abc import Sequence

import pytest

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, Role
from agent.ports.model import CallOptions, ModelChanged, ProviderEvent, ResponseEnded, TokensArrived
from agent.providers.fallback import COOLDOWN_S, FallbackProvider
from agent.providers.scripted import ScriptedProvider
from tests.fakes.clock import FakeClock

QUESTION = (Message(Role.USER, "Hello?"),)
DOWN = ProviderUnavailable("The first does not answer.")


def texts(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


async def ask(row: FallbackProvider) -> list[ProviderEvent]:
    return [event async for event in row.stream(QUESTION)]


def model(name: str, *script: str | ProviderError) -> ScriptedProvider:
    return ScriptedProvider([[answer] for answer in script], name=name)


async def test_the_first_answers_as_long_as_it_can() -> None:
    first, second = model("first", "one"), model("second", "two")
    events = await ask(FallbackProvider([first, second], FakeClock()))
    assert texts(events) == "one"
    assert not any(isinstance(event, ModelChanged) for event in events)
    assert second.requests == []


@pytest.mark.parametrize("error", [DOWN, ProviderRefused("The first refused the key.")])
async def test_the_next_answers_when_the_first_cannot_and_says_why(error: ProviderError) -> None:
    events = await ask(FallbackProvider([model("first", error), model("second", "two")], FakeClock()))
    assert events[0] == ModelChanged("second", error.reason)
    assert texts(events) == "two"


async def test_an_answer_that_has_begun_is_not_begun_anew() -> None:
    broken = ScriptedProvider([["half", StreamBroken("It broke off.")]], name="first")
    second = model("second", "two")
    with pytest.raises(StreamBroken):
        await ask(FallbackProvider([broken, second], FakeClock()))
    assert len(broken.requests) == 1
    assert second.requests == []


async def test_when_all_fail_the_last_error_is_told() -> None:
    row = FallbackProvider([model("first", DOWN), model("second", ProviderRefused("No key."))], FakeClock())
    with pytest.raises(ProviderRefused, match="No key"):
        await ask(row)


async def test_a_model_that_failed_rests_for_a_while() -> None:
    clock = FakeClock()
    first, second = model("first", DOWN, "back"), model("second", "two", "three")
    row = FallbackProvider([first, second], clock)
    await ask(row)
    rested = await ask(row)
    assert rested[0] == ModelChanged("second", DOWN.reason)
    assert len(first.requests) == 1
    await clock.sleep(COOLDOWN_S)
    assert texts(await ask(row)) == "back"


async def test_a_question_that_was_refused_does_not_keep_the_others_from_the_model() -> None:
    refused = ProviderRefused("This conversation is too long for the model.")
    first, second = model("first", refused, "back"), model("second", "two")
    row = FallbackProvider([first, second], FakeClock())
    assert texts(await ask(row)) == "two"
    events = await ask(row)
    assert texts(events) == "back"
    assert not any(isinstance(event, ModelChanged) for event in events)


async def test_within_a_turn_the_model_that_answered_goes_on() -> None:
    clock = FakeClock()
    first, second = model("first", DOWN, "back"), model("second", "two", "three")
    session = FallbackProvider([first, second], clock).connect(CallOptions())
    assert texts([event async for event in session.answer(QUESTION)]) == "two"
    await clock.sleep(COOLDOWN_S)
    later = [event async for event in session.answer(QUESTION)]
    await session.close()
    assert texts(later) == "three"
    assert isinstance(later[-1], ResponseEnded)
    assert first.open_streams == second.open_streams == 0
