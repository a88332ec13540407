"""Hooks of a program's own agent."""

from types import SimpleNamespace

import pytest

from agent import (
    Agent,
    Answer,
    Call,
    Hide,
    ModelRequest,
    Outcome,
    ProviderRefused,
    Question,
    Refuse,
    SettingsError,
    TextArrived,
    ToolContext,
    TurnEnded,
    tool,
)
from agent.providers.scripted import ScriptedProvider

NO = Refuse("That name stays here.")


@tool(effect="reads")
async def weather(city: str, context: ToolContext) -> str:
    """The weather in a city."""
    return f"{city} is sunny for {context.person.name}"


async def before_question(question: Question) -> Question | Refuse:
    return NO if "Bluefin" in question.text else Question(question.text.replace("4111", "(a card)"))


async def before_call(call: Call) -> Call | Refuse:
    return NO if call.arguments["city"] == "Kiel" else call


async def before_model(request: ModelRequest) -> Hide:
    return Hide({"ann@example.com": "email"} if any("ann@" in text for text in request.texts) else {})


async def after_answer(answer: Answer) -> str | Refuse | None:
    return NO if "Marlin" in answer.text else answer.text.replace("rain", "sun") if "rain" in answer.text else None


HOOKS = SimpleNamespace(
    before_question=before_question,
    before_call=before_call,
    before_model=before_model,
    after_answer=after_answer,
    hold_answers=True,
)


async def test_the_hooks_of_an_agent_see_its_questions_calls_answers_and_requests() -> None:
    model = ScriptedProvider(
        [
            '<execute>[{"name": "weather", "args": {"city": "Kiel"}}]</execute>',
            "Ask [EMAIL-1]: rain.",
            "It was (a card).",
            "Marlin.",
        ]
    )
    async with Agent(model, tools=[weather], hooks=HOOKS) as agent:
        with pytest.raises(ProviderRefused, match=NO.sentence):
            await agent("What is Bluefin?", conversation="c")
        assert model.requests == []
        events = [event async for event in agent("4111 of ann@example.com, rain?", conversation="c")]
        assert await agent("And?", conversation="c") == "It was (a card)."
        with pytest.raises(ProviderRefused, match=NO.sentence):
            await agent("What?", conversation="c")
    assert isinstance(events[-1], TurnEnded)
    assert (events[-1].outcome, events[-1].text) == (
        Outcome.ANSWERED,
        f"Ask ann@example.com: sun.\n\n{NO.sentence}",
    )
    assert not any(isinstance(event, TextArrived) for event in events)
    sent = repr(model.requests)
    assert not any(word in sent for word in ("Bluefin", "4111", "ann@", "Marlin"))
    assert "sunny" not in sent
    assert "[EMAIL-1]: sun." in sent


async def test_hooks_that_cannot_be_used_are_refused_at_once() -> None:
    with pytest.raises(SettingsError, match=r"hooks: SimpleNamespace does not contain any hooks"):
        Agent("rehearsal", hooks=SimpleNamespace(before=before_call))
