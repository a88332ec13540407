"""Fallback: the next model answers if the first cannot, and only before the first event."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from agent.errors import ContextTooLong, ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.events import ModelSwitched
from agent.messages import Message, Role
from agent.ports.model import CallOptions, HandleKept, ModelChanged, ProviderEvent, ResponseEnded, TokensArrived
from agent.protocol.grammar import teach
from agent.providers.catalog import VLLM, ToolsForm
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.fallback import COOLDOWN_S, FallbackProvider
from agent.providers.scripted import ScriptedProvider
from tests.contracts.model_world import Says
from tests.fakes.anthropic_service import anthropic_world
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import DONE, ModelServer, Reply, head, whole
from tests.fakes.model_server import event as sent
from tests.fakes.one_turn import CONTEXT, Echo, run_turn
from tests.patience import PATIENCE_S

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


@pytest.mark.parametrize("error", [DOWN, ProviderRefused("The key was deleted.")])
async def test_a_model_that_fails_between_two_rounds_leaves_the_turn_to_the_next(error: ProviderError) -> None:
    first, second = model("first", "one", error), model("second", "two", "three")
    session = FallbackProvider([first, second], FakeClock()).connect(CallOptions())
    assert texts([event async for event in session.answer(QUESTION)]) == "one"
    events = [event async for event in session.answer(QUESTION)]
    assert events[0] == ModelChanged("second", error.reason)
    assert texts(events) == "two"
    assert texts([event async for event in session.answer(QUESTION)]) == "three"
    await session.close()
    assert first.open_streams == second.open_streams == 0


async def test_a_prompt_too_long_for_the_model_of_the_turn_is_not_sent_to_another() -> None:
    first, second = model("first", "one", ContextTooLong("Too long.")), model("second", "two")
    session = FallbackProvider([first, second], FakeClock()).connect(CallOptions())
    assert texts([event async for event in session.answer(QUESTION)]) == "one"
    with pytest.raises(ContextTooLong):
        _ = [event async for event in session.answer(QUESTION)]
    await session.close()
    assert second.requests == []


async def test_a_handle_belongs_to_the_model_that_was_named_before_it() -> None:
    second = ScriptedProvider([[HandleKept("h1"), DOWN]], name="second")
    events = await ask(FallbackProvider([model("first", DOWN), second, model("third", "three")], FakeClock()))
    assert events[:3] == [*(ModelChanged("second", DOWN.reason), HandleKept("h1"), ModelChanged("third", DOWN.reason))]
    assert texts(events) == "three"


def called(form: ToolsForm) -> Reply:
    """The first round of a server of Chat Completions: a call of the tool in this form."""
    args = '{"text": "one"}'
    if form is ToolsForm.NATIVE:
        calls = [{"index": 0, "id": "c1", "type": "function", "function": {"name": "echo", "arguments": args}}]
        delta: dict[str, object] = {"content": "I look.", "tool_calls": calls}
    else:
        delta = {"content": f'I look.\n<execute>[{{"name": "echo", "args": {args}}}]\n</execute>'}
    return [head(), sent({"choices": [{"delta": delta, "finish_reason": "tool_calls"}]}), DONE]


@pytest.mark.slow
@pytest.mark.parametrize("form", [ToolsForm.TEXT, ToolsForm.NATIVE])
async def test_another_vendor_goes_on_in_the_middle_of_a_turn_with_its_calls_and_results(form: ToolsForm) -> None:
    down = whole(503, {"error": {"message": "overloaded"}})
    context = (Message(Role.SYSTEM, f"{CONTEXT[0].text}\n\n{teach('echo')}"), *CONTEXT[1:])
    async with (
        asyncio.timeout(PATIENCE_S),
        anthropic_world() as claude,
        ModelServer([called(form), *[down] * 3]) as chat,
    ):
        claude.plan(Says(("It said one.",)))
        clock = FakeClock()
        first = open_chat(VLLM.at(chat.url), "m-1", None, ProviderWorld(clock, lambda: 0.0), form)
        tool = Echo()
        ran = await run_turn(FallbackProvider([first, claude.provider], clock), tool, context)
        await first.aclose()
        (request,) = claude.server.requests
    assert tool.said == ["one"], "no tool runs twice"
    assert ran.shown == "I look.\nIt said one."
    assert [event.name for event in ran.events if isinstance(event, ModelSwitched)] == [claude.provider.name]
    assert [call.model for call in ran.progress.calls] == ["vllm:m-1", claude.provider.name]
    assert [len(step.results) for step in ran.progress.steps] == [1, 0]
    said = json.dumps(request.json["messages"], ensure_ascii=False)
    assert [message["role"] for message in json.loads(said)] == ["user", "assistant", "user"]
    assert all(words in said for words in ("I look.", "echo", "Anna hears one")), said
    assert "<execute>" in json.dumps(request.json["system"]), "the other model is taught the form that it writes"
