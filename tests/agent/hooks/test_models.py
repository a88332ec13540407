"""A model behind `before_model`: what it receives, and what comes of it."""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from agent import texts
from agent.embeddings import Embedded
from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.hooks.models import WITHHELD, HookedEmbedder, HookedProvider
from agent.hooks.values import Hide, ModelRequest, Refuse
from agent.loop import complete
from agent.messages import JsonObject, Message, ModelCall, NativeContent, Role, ToolCall, ToolSpec
from agent.model_sessions import open_session
from agent.ports.model import (
    CallOptions,
    Capabilities,
    HandleKept,
    ModelSession,
    ProviderEvent,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.providers.catalog import OPENAI, ToolsForm
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.scripted import ScriptedProvider
from tests.agent.hooks.hook_modules import hooks_with
from tests.agent.providers.test_wire_chat_native_calls import SYSTEM, chunk, piece
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import DONE, ModelServer, event, head, text
from tests.fakes.one_turn import Echo, echo_call, run_turn

ANN, BEN = "ann@example.com", "ben@example.com"
EMAIL = re.compile(r"[\w.]+@[\w.]+\w")


async def hides_emails(request: ModelRequest) -> Hide | Refuse:
    if any("Bluefin" in text for text in request.texts):
        return Refuse("The name of that project stays here.")
    return Hide({found: "email" for text in request.texts for found in EMAIL.findall(text)})


def user(text: str) -> Message:
    return Message(Role.USER, text)


async def until_broken(stream: AsyncGenerator[ProviderEvent]) -> AsyncGenerator[ProviderEvent]:
    """Yield its events; it has to break off."""
    try:
        async for event in stream:
            yield event
    except StreamBroken:
        return
    raise AssertionError("the stream ended")


async def answers(session: ModelSession, *messages: Message) -> tuple[str, list[ProviderEvent]]:
    async with aclosing(session.answer(messages)) as stream:
        events = [event async for event in stream]
    return "".join(event.text for event in events if isinstance(event, TokensArrived)), events


@pytest.mark.parametrize("cut", [1, 2, 5, 100])
async def test_the_model_reads_placeholders_and_the_values_come_back_however_its_stream_is_cut(cut: int) -> None:
    said = "Write to [EMAIL-1] or [email-2], [not EMAIL-3]."
    model = ScriptedProvider([[said[at : at + cut] for at in range(0, len(said), cut)]])
    with hooks_with(before_model=hides_emails) as hooks:
        session = HookedProvider(model, hooks).connect(CallOptions())
        text, _ = await answers(session, user(f"{BEN}, {ANN}, {BEN}?"))
    assert model.requests == [(user("[EMAIL-1], [EMAIL-2], [EMAIL-1]?"),)]
    assert text == f"Write to {BEN} or {ANN}, [not EMAIL-3]."


async def test_in_a_turn_calls_have_the_values_and_later_rounds_the_same_placeholders() -> None:
    echo = Echo()
    model = ScriptedProvider(
        [f"<execute>{echo_call('to [EMAIL-1]')}</execute>", "Done: [EMAIL-1]."],
        capabilities=Capabilities(native_calls=False),
    )
    with hooks_with(before_model=hides_emails) as hooks:
        ran = await run_turn(HookedProvider(model, hooks), echo, [user("system"), user(f"Tell {ANN}.")])
    assert echo.said == [f"to {ANN}"]
    assert ran.ended.text == f"Done: {ANN}."
    assert ran.shown == f"Done: {ANN}."
    assert not EMAIL.search(repr(model.requests) + repr(model.options))
    assert model.requests[1][:2] == model.requests[0]
    assert "hears to [EMAIL-1]" in model.requests[1][-1].text


async def test_the_texts_of_tools_are_hidden_too() -> None:
    model = ScriptedProvider(["Hi."])
    schema: JsonObject = {"type": "object", "properties": {"to": {"type": "string", "description": f"as in {ANN}"}}}
    options = CallOptions(tools=(ToolSpec("mail", f"From {BEN}.", schema),))
    with hooks_with(before_model=hides_emails) as hooks:
        await answers(HookedProvider(model, hooks).connect(options), user("Hello?"))
    (tool,) = model.options[0].tools
    assert (tool.name, tool.description) == ("mail", "From [EMAIL-2].")
    assert "as in [EMAIL-1]" in repr(tool.schema)


async def test_the_names_in_the_arguments_of_a_call_are_hidden() -> None:
    model = ScriptedProvider(["Hi."])
    call = ToolCall("echo", {"shares": {ANN: 1, "deep": [{BEN: 2}]}})
    with hooks_with(before_model=hides_emails) as hooks:
        session = HookedProvider(model, hooks).connect(CallOptions())
        await answers(session, user("Hello?"), Message(Role.ASSISTANT, "", calls=(call,)))
    (sent,) = model.requests[0][1].calls
    assert sent.args == {"shares": {"[EMAIL-1]": 1, "deep": [{"[EMAIL-2]": 2}]}}


@pytest.mark.parametrize("name", [ANN, f"{ANN}:share"])
async def test_a_value_in_a_name_of_a_tools_schema_lets_nothing_go(name: str) -> None:
    model = ScriptedProvider(["Hi."])
    schema: JsonObject = {"type": "object", "properties": {"to": {"anyOf": [{"properties": {name: {}}}]}}}
    options = CallOptions(tools=(ToolSpec("share", "Shares.", schema),))
    with hooks_with(before_model=hides_emails) as hooks, pytest.raises(ProviderUnavailable, match="tool share") as got:
        await answers(HookedProvider(model, hooks).connect(options), user("Hello?"))
    assert model.requests == []
    assert got.value.reason.to_person == texts.HOOK_FAILED
    assert ANN not in str(got.value)


async def test_a_value_that_is_a_word_of_every_schema_stops_no_request() -> None:
    async def hides_words(_: ModelRequest) -> Hide:
        return Hide({"type": "name", "prop": "name"})

    model = ScriptedProvider(["Hi."])
    options = CallOptions(tools=(ToolSpec("mail", "Any type.", {"type": "object", "properties": {}}),))
    with hooks_with(before_model=hides_words) as hooks:
        await answers(HookedProvider(model, hooks).connect(options), user("My name is type."))
    assert model.options[0].tools == (ToolSpec("mail", "Any [NAME-1].", {"type": "object", "properties": {}}),)
    assert model.requests == [(user("My name is [NAME-1]."),)]


async def test_calls_in_the_vendors_own_form_have_the_values_and_go_back_with_placeholders() -> None:
    """All bytes that a server of Chat Completions received, with the tools in its form."""
    first = [chunk(piece(0, "c1", "echo", '{"text": "to [EM')), chunk(piece(0, arguments='AIL-1]"}'))]
    replies = [
        [head(), *map(event, first), event(chunk(finish_reason="tool_calls")), DONE],
        [head(), text("Told [EMAIL"), text("-1]."), DONE],
    ]
    echo, world = Echo(), ProviderWorld(FakeClock(), lambda: 0.0)
    async with ModelServer(replies) as server:
        provider = open_chat(OPENAI.at(server.url), "m-1", "sk-1", world, ToolsForm.NATIVE)
        with hooks_with(before_model=hides_emails) as hooks:
            ran = await run_turn(HookedProvider(provider, hooks), echo, [SYSTEM, user(f"Tell {ANN}.")])
        await provider.aclose()
    assert (echo.said, ran.ended.text) == ([f"to {ANN}"], f"Told {ANN}.")
    assert [b"@example" in request.body for request in server.requests] == [False, False]
    sent = json.loads(server.requests[1].body)["messages"]
    *_, step, result = sent
    assert json.loads(step["tool_calls"][0]["function"]["arguments"]) == {"text": "to [EMAIL-1]"}
    assert (result["role"], result["content"]) == ("tool", "Anna hears to [EMAIL-1]")


async def test_what_a_model_wrote_in_its_vendors_form_goes_back_only_in_the_session_that_got_it() -> None:
    ours = NativeContent("chat", ({"tool_calls": "[EMAIL-1]"},))
    theirs = NativeContent("chat", ({"tool_calls": "[EMAIL-2]"},))
    model = ScriptedProvider([["Hi.", ResponseEnded(StopReason.END, None, ours)], "Bye."])
    call = ToolCall("echo", {"text": ANN})
    earlier = Message(Role.ASSISTANT, f"I asked {ANN}.", native=theirs, said=f"Ask {ANN}", calls=(call,))
    with hooks_with(before_model=hides_emails) as hooks:
        session = HookedProvider(model, hooks).connect(CallOptions())
        _, events = await answers(session, user("Hello?"), earlier)
        assert isinstance(events[-1], ResponseEnded)
        later = Message(Role.ASSISTANT, "Hi.", native=events[-1].native)
        await answers(session, user("Hello?"), earlier, later, user("And?"))
    hidden = Message(
        Role.ASSISTANT, "I asked [EMAIL-1].", said="Ask [EMAIL-1]", calls=(ToolCall("echo", {"text": "[EMAIL-1]"}),)
    )
    assert model.requests[0][1] == hidden
    assert [message.native for message in model.requests[1]] == [None, None, ours, None]


async def test_a_request_that_is_refused_goes_nowhere_and_the_person_reads_why() -> None:
    model = ScriptedProvider(["Hi."])
    with hooks_with(before_model=hides_emails) as hooks:
        ran = await run_turn(HookedProvider(model, hooks), Echo(), [user("How is Bluefin?")])
        with pytest.raises(ProviderRefused, match="before_model refused the request"):
            await answers(HookedProvider(model, hooks).connect(CallOptions()), user("How is Bluefin?"))
    assert ran.ended.text == "The name of that project stays here."
    assert model.requests == []


async def test_a_hook_that_fails_lets_nothing_go() -> None:
    async def fails(_: ModelRequest) -> Hide:
        raise ValueError

    model = ScriptedProvider(["Hi."])
    with hooks_with(before_model=fails) as hooks, pytest.raises(ProviderUnavailable, match="before_model failed"):
        await answers(HookedProvider(model, hooks).connect(CallOptions()), user("Hello?"))
    assert model.requests == []


async def test_a_stream_that_breaks_shows_all_that_came() -> None:
    model = ScriptedProvider([["Ask [EMAIL-", StreamBroken("broken")]])
    with hooks_with(before_model=hides_emails) as hooks:
        session = HookedProvider(model, hooks).connect(CallOptions())
        stream = session.answer([user(ANN)])
        got = [event.text async for event in until_broken(stream) if isinstance(event, TokensArrived)]
    assert "".join(got) == "Ask [EMAIL-"


async def test_a_question_outside_of_turns_is_hidden_too() -> None:
    calls = list[ModelCall]()

    async def count(call: ModelCall) -> None:
        calls.append(call)

    model = ScriptedProvider(['{"email": "[EMAIL-1]"}'])
    with hooks_with(before_model=hides_emails) as hooks:
        learned = await complete(HookedProvider(model, hooks), [user(f"I am {ANN}.")], count)
    assert learned == f'{{"email": "{ANN}"}}'
    assert model.requests == [(user("I am [EMAIL-1]."),)]
    assert len(calls) == 1


class Resuming(ScriptedProvider):
    """Its vendor keeps a conversation until it is closed."""

    def connect(self, options: CallOptions) -> "Resuming":
        self.options.append(options)
        return self

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent]:
        yield HandleKept("h1")
        async for each in self.stream(messages):
            yield each

    async def close(self) -> tuple[str, ...]:
        return ("h1",)


async def test_a_session_of_a_vendor_that_keeps_the_context_stays_one() -> None:
    model = Resuming(["One.", "Two."], capabilities=Capabilities(resume=True))
    with hooks_with(before_model=hides_emails) as hooks:
        session = open_session(HookedProvider(model, hooks), CallOptions(cache_key="k"))
        first, events = await answers(session, user(ANN))
        second, _ = await answers(session, user(ANN), user(BEN))
        assert (first, second, events[0]) == ("One.", "Two.", HandleKept("h1"))
        assert await session.close() == ("h1",)
    assert model.options[0] == CallOptions(cache_key="k")
    assert model.requests == [(user("[EMAIL-1]"),), (user("[EMAIL-1]"), user("[EMAIL-2]"))]


class Vectors:
    name, weight = "openai:small", 0.8

    def __init__(self) -> None:
        self.texts = list[str]()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts += texts
        return Embedded(tuple((0.0,) for _ in texts), None)


async def test_texts_for_embeddings_are_hidden_and_one_that_is_refused_delays_no_other() -> None:
    model = Vectors()
    with hooks_with(before_model=hides_emails) as hooks:
        embedder = HookedEmbedder(model, hooks)
        embedded = await embedder.embed([f"Mail {ANN}", "Bluefin is late", BEN])
    assert model.texts == ["Mail [EMAIL-1]", WITHHELD, "[EMAIL-1]"]
    assert len(embedded.vectors) == 3
    assert (embedder.name, embedder.weight) == ("openai:small", 0.8)
