"""Gemini's Interactions over real HTTP on loopback: rounds of one turn, what stays at the vendor, and what is lost."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Depth, Message, Role
from agent.ports.model import CallOptions, HandleKept, ProviderEvent, ResponseEnded, TokensArrived
from agent.providers.replay import ModelTimeouts
from agent.providers.wire_interactions import PREFIX, InteractionsProvider, InteractionsSession
from tests.contracts.model_world import PATIENT, Breaks, Calls, Cuts, Refuses, Says, Turn, Waits
from tests.fakes.http_world import USAGE, HttpWorld
from tests.fakes.interactions_service import InteractionsWire, interactions_service
from tests.fakes.model_server import DONE
from tests.fakes.one_turn import Echo, echo_call, run_turn
from tests.fakes.vendor_types import knows
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow  # importing the vendor's client takes a second
SENT, RECEIVED = (
    f"google.genai._gaos.types.interactions:{name}" for name in ("CreateModelInteraction", "InteractionSSEEvent")
)

MESSAGES = (Message(Role.SYSTEM, "Be brief. " * 50), Message(Role.USER, "Hello"))
CALL = '[{"name": "recall", "args": {"query": "boat"}}]'
HI = Says(("Hi",))


class Serving(NamedTuple):
    world: HttpWorld
    provider: InteractionsProvider


class Talk:
    """One session: each `ask` appends the answer and its results to the context, as a turn does."""

    def __init__(self, session: InteractionsSession) -> None:
        self.session = session
        self.messages = list(MESSAGES)

    async def ask(self) -> list[ProviderEvent]:
        events = [event async for event in self.session.answer(self.messages)]
        ended = events[-1]
        assert isinstance(ended, ResponseEnded)
        self.go_on(said(events), ended)
        return events

    def go_on(self, text: str, ended: ResponseEnded | None = None) -> None:
        answer = Message(Role.ASSISTANT, text, native=ended.native if ended else None)
        self.messages += [answer, Message(Role.USER, f"<results>{len(self.messages)}</results>")]


def said(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


@asynccontextmanager
async def serving(
    *turns: Turn, wire: InteractionsWire | None = None, patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[Serving, None]:
    async with (
        asyncio.timeout(PATIENCE_S),
        interactions_service(wire or InteractionsWire(), patience) as (world, provider),
    ):
        world.plan(*turns)
        yield Serving(world, provider)


async def test_each_round_brings_only_what_is_new() -> None:
    async with serving(Calls((CALL,)), Calls((CALL,)), HI) as (world, provider):
        talk = Talk(provider.connect(CallOptions()))
        for _ in range(3):
            await talk.ask()
        assert [asked.resumed for asked in world.asked] == [False, True, True]
        assert [asked.texts for asked in world.asked[1:]] == [("<results>2</results>",), ("<results>4</results>",)]
        assert all(knows(SENT, request.json) for request in world.server.requests)


async def test_every_interaction_is_told_of_and_deleted_when_the_turn_is_over() -> None:
    wire = InteractionsWire()
    async with serving(Calls((CALL,)), HI, wire=wire) as (_, provider):
        session = provider.connect(CallOptions())
        talk = Talk(session)
        events = [*await talk.ask(), *await talk.ask()]
        handles = tuple(event.handle for event in events if isinstance(event, HandleKept))
        assert handles == session.kept == (f"{PREFIX}v1_1", f"{PREFIX}v1_2")
        assert wire.stored == ["v1_1", "v1_2"]
        await session.close()
        assert sorted(wire.deleted) == ["v1_1", "v1_2"]
        assert session.kept == ()


async def test_what_could_not_be_deleted_stays_known_and_can_be_forgotten_later() -> None:
    wire = InteractionsWire(stubborn={"v1_2"})
    async with serving(Calls((CALL,)), HI, wire=wire) as (_, provider):
        session = provider.connect(CallOptions())
        talk = Talk(session)
        await talk.ask()
        await talk.ask()
        await session.close()
        assert session.kept == (f"{PREFIX}v1_2",)
        assert await provider.forget_handles(session.kept) == session.kept
        wire.stubborn.clear()
        assert await provider.forget_handles([f"{PREFIX}v1_1", f"{PREFIX}v1_2", "another-vendor:v1_3"]) == ()
        assert wire.stored == []


async def test_a_service_that_is_gone_keeps_what_it_has() -> None:
    async with serving(HI) as (world, provider):
        session = provider.connect(CallOptions())
        await Talk(session).ask()
        await world.server.__aexit__(None, None, None)
        await session.close()
        assert session.kept == (f"{PREFIX}v1_1",)


async def test_an_answer_that_is_abandoned_is_deleted_too() -> None:
    wire = InteractionsWire()
    async with serving(Waits(("Hi",), asyncio.Event()), wire=wire) as (world, provider):
        session = provider.connect(CallOptions())
        async with aclosing(session.answer(MESSAGES)) as events:
            async for event in events:
                if isinstance(event, TokensArrived):
                    break
        await world.left.wait()
        await session.close()
        assert wire.deleted == ["v1_1"]


async def test_after_an_answer_that_was_abandoned_the_last_completed_one_is_built_on() -> None:
    async with serving(Calls((CALL,)), Waits(("Hm",), asyncio.Event()), HI) as (world, provider):
        talk = Talk(provider.connect(CallOptions()))
        await talk.ask()
        async with aclosing(talk.session.answer(talk.messages)) as events:
            async for event in events:
                if isinstance(event, TokensArrived):
                    break
        talk.go_on("Hm")
        await talk.ask()
        assert world.server.requests[2].json["previous_interaction_id"] == "v1_1"
        assert world.asked[2].texts == ("<results>2</results>", "Hm", "<results>4</results>")


@pytest.mark.parametrize("status", [403, 404])
async def test_a_lost_interaction_costs_one_full_replay_and_the_chain_goes_on(status: int) -> None:
    wire = InteractionsWire(lost_status=status)
    async with serving(Calls((CALL,)), Calls((CALL,)), HI, wire=wire) as (world, provider):
        talk = Talk(provider.connect(CallOptions()))
        await talk.ask()
        wire.stored.clear()
        await talk.ask()
        await talk.ask()
        assert wire.refused == 1
        assert [asked.resumed for asked in world.asked] == [False, False, True]
        assert world.asked[1].texts[:2] == (MESSAGES[0].text, "Hello")
        assert world.clock.monotonic() == 0


async def test_a_refusal_of_the_vendors_own_form_costs_one_full_replay() -> None:
    refusal = Refuses(400, message="previous_interaction_id is invalid")
    async with serving(Calls((CALL,)), refusal, HI) as (world, provider):
        talk = Talk(provider.connect(CallOptions()))
        await talk.ask()
        assert said(await talk.ask()) == "Hi"
        assert [asked.resumed for asked in world.asked] == [False, True, False]


async def test_what_is_wrong_with_the_request_itself_is_told() -> None:
    refusal = Refuses(400, message="the picture is too large")
    async with serving(Calls((CALL,)), refusal, refusal) as (_, provider):
        talk = Talk(provider.connect(CallOptions()))
        await talk.ask()
        with pytest.raises(ProviderRefused) as refused:
            await talk.ask()
    assert "the picture is too large" in refused.value.reason.quoted


async def test_an_error_before_the_first_word_is_waited_out_and_both_interactions_are_deleted() -> None:
    wire = InteractionsWire()
    async with serving(Breaks(()), HI, wire=wire) as (world, provider):
        session = provider.connect(CallOptions())
        assert said(await Talk(session).ask()) == "Hi"
        assert world.clock.monotonic() > 0
        await session.close()
        assert sorted(wire.deleted) == ["v1_1", "v1_2"]


async def test_a_cut_is_told_and_never_repeated() -> None:
    async with serving(Cuts(), HI) as (world, provider):
        with pytest.raises(ProviderUnavailable, match="may have processed the question"):
            await Talk(provider.connect(CallOptions())).ask()
        assert len(world.asked) == 1


async def test_a_cut_in_the_middle_breaks_the_stream_and_what_is_stored_is_deleted() -> None:
    wire = InteractionsWire()
    async with serving(Cuts(("Hi",)), wire=wire) as (_, provider):
        session = provider.connect(CallOptions())
        with pytest.raises(StreamBroken):
            await Talk(session).ask()
        await session.close()
        assert wire.deleted == ["v1_1"]


async def test_the_vendors_first_sign_of_life_is_not_the_models() -> None:
    """The model may think for long after its interaction was made: the patience for a first token holds."""
    patience = replace(PATIENT, first_token_s=3.0)  # time enough for a busy machine to have made the interaction
    async with serving(Waits((), asyncio.Event()), patience=patience) as (_, provider):
        with pytest.raises(ProviderUnavailable, match=r"did not start to answer within 3 s"):
            await Talk(provider.connect(CallOptions())).ask()


async def test_what_is_asked_outside_a_session_is_not_stored() -> None:
    wire = InteractionsWire()
    async with serving(HI, wire=wire) as (world, provider):
        events = [event async for event in provider.stream(MESSAGES)]
        assert world.server.requests[0].json["store"] is False
    assert said(events) == "Hi"
    assert wire.stored == []
    assert not any(isinstance(event, HandleKept) for event in events)


async def test_a_level_of_thinking_that_the_model_refuses_is_never_sent_again() -> None:
    refusal = Refuses(400, message="Thinking level is not supported for this model.")
    async with serving(refusal, HI, HI) as (world, provider):
        for _ in range(2):
            await Talk(provider.connect(CallOptions(Depth.DEEP))).ask()
        assert len(world.asked) == 3
        assert not provider.capabilities.effort


async def test_a_turn_with_tools_runs_through_and_leaves_nothing() -> None:
    wire = InteractionsWire()
    async with serving(Calls((echo_call("one"),)), Says(("Done.",)), wire=wire) as (_, provider):
        ran = await run_turn(provider, Echo())
    assert ran.ended.text == "Done."
    assert wire.stored == []


@pytest.mark.parametrize("reasoning", ["", "Hm."])
def test_the_fake_speaks_as_the_vendor_does(reasoning: str) -> None:
    wire = InteractionsWire()
    events = [*wire.begin(reasoning), wire.text("Hi"), *wire.end(USAGE, halted=True), wire.error_event(503)]
    assert all(knows(RECEIVED, event) for event in events if event != DONE)
