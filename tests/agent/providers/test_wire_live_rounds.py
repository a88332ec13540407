"""Gemini Live over a real WebSocket on loopback: one conversation for a turn, whatever happens to its connections."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from time import sleep
from typing import cast

import pytest
from websockets.asyncio.server import ServerConnection

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.events import Outcome
from agent.messages import Message, Role
from agent.ports.model import CallOptions, ModelSession, ProviderEvent, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import teach
from agent.providers.catalog import LIVE, Mode
from agent.providers.factory import ProviderWorld, open_provider
from agent.providers.socket_session import CATCH_UP_S, SocketProvider
from tests.contracts.model_world import Breaks, Calls, Garbles, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.live_service import SPEAKER, WRITER, Kept, LiveVisit, opened, say_go_away
from tests.fakes.one_turn import CONTEXT, Echo, echo_call, run_turn
from tests.fakes.socket_service import Frame, SocketService, SocketWorld, hang_up, socket_world
from tests.fakes.vendor_types import knows, parses
from tests.patience import PATIENCE_S

RESULTS = Message(Role.USER, "<results>[]\n</results>")
CALL = '\n<execute>[{"name": "echo", "args": "{\\"text\\": \\"one\\"}"}]\n</execute>'
TWO_ROUNDS = (Calls((echo_call("one"),), before="On it."), Says(("Done.",)))
MakeVisit = Callable[..., LiveVisit]


@asynccontextmanager
async def serving(*turns: Turn, visit: MakeVisit = LiveVisit) -> AsyncGenerator[tuple[SocketWorld, dict[str, Kept]]]:
    """The service, and what it keeps by handle."""
    kept: dict[str, Kept] = {}
    async with asyncio.timeout(PATIENCE_S), socket_world(partial(visit, kept=kept), opened) as world:
        world.plan(*turns)
        yield world, kept


async def ask(session: ModelSession, messages: Sequence[Message] = CONTEXT) -> list[ProviderEvent]:
    return [event async for event in session.answer(messages)]


def text_of(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


def going_on(events: Sequence[ProviderEvent]) -> tuple[Message, ...]:
    """The context of the next round."""
    return (*CONTEXT, Message(Role.ASSISTANT, "our words", native=end_of(events).native), RESULTS)


async def test_the_handshake_carries_the_key_in_a_header_and_not_in_the_address() -> None:
    async with serving(Says(("Hi",))) as (world, _):
        await ask(world.sockets.connect(CallOptions()))
        (request,) = world.service.handshakes
    assert request.path == "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    assert request.headers["x-goog-api-key"] == "AIza-1"


async def test_in_replay_mode_each_round_goes_whole_over_a_connection_of_its_own() -> None:
    def replaying(url: str, clock: FakeClock) -> SocketProvider:
        provider = open_provider(LIVE.at(url), SPEAKER, "AIza-1", ProviderWorld(clock, lambda: 0.0), Mode.REPLAY)
        assert isinstance(provider, SocketProvider)
        return provider

    kept: dict[str, Kept] = {}
    async with asyncio.timeout(PATIENCE_S), socket_world(partial(LiveVisit, kept=kept), replaying) as world:
        world.plan(*TWO_ROUNDS)
        ran = await run_turn(world.provider, Echo())
        assert [asked.resumed for asked in world.asked] == [False, False]
        assert len(world.service.handshakes) == 2
    assert ran.ended.outcome is Outcome.ANSWERED


async def test_a_call_is_answered_over_the_same_connection_with_nothing_but_its_result() -> None:
    async with serving(*TWO_ROUNDS) as (world, _):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        assert (text_of(first), end_of(first).reason) == (f"On it.{CALL}", StopReason.HALTED)
        assert end_of(first).usage is not None
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
        assert len(world.service.guests) == 1
    assert world.asked[1].texts == (RESULTS.text,)


async def test_what_a_round_costs_that_ends_with_a_call_is_reported() -> None:
    async with serving(*TWO_ROUNDS) as (world, _):
        usage = end_of(await ask(world.sockets.connect(CallOptions()))).usage
    assert usage is not None
    assert not usage.estimated


async def test_a_turn_that_is_taught_the_protocol_is_offered_the_function() -> None:
    async with serving(Says(("Hi",))) as (world, _):
        await ask(world.sockets.connect(CallOptions()), (Message(Role.SYSTEM, teach("echo")), CONTEXT[1]))
        (setup,) = [cast("Frame", frame["setup"]) for frame in world.service.received if "setup" in frame]
    assert "tools" in setup


# Connections


async def test_a_connection_that_is_about_to_close_is_left_by_its_handle_and_nothing_is_sent_twice() -> None:
    async with serving(*TWO_ROUNDS) as (world, _):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        await world.service.rested.wait()
        await say_go_away(world.service)
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
        assert len(world.service.guests) == 2
    assert [asked.resumed for asked in world.asked] == [False, True]
    assert world.asked[1].texts == (CONTEXT[0].text, RESULTS.text)


async def test_a_leave_taking_that_came_before_the_question_counts_on_a_busy_machine_too() -> None:
    async with serving(*TWO_ROUNDS) as (world, _):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        await world.service.rested.wait()
        asking = asyncio.create_task(ask(session, going_on(first)))
        leaving = asyncio.create_task(say_go_away(world.service))
        asyncio.get_running_loop().call_soon(sleep, 10 * CATCH_UP_S)  # others have the machine
        assert text_of(await asking) == "Done."
        await leaving
        await session.close()
        assert len(world.service.guests) == 2


async def test_a_handle_that_is_no_longer_known_costs_a_connection_and_a_replay() -> None:
    async with serving(*TWO_ROUNDS) as (world, kept):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        await world.service.rested.wait()
        kept.clear()
        await say_go_away(world.service)
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
        assert len(world.service.guests) == 3
    assert not world.asked[1].resumed
    assert "our words" in world.asked[1].texts


async def test_a_connection_that_died_while_tools_ran_is_replaced() -> None:
    async with serving(*TWO_ROUNDS) as (world, _):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        await world.service.rested.wait()
        hang_up(world.service.guests[0])
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
        assert len(world.service.guests) == 2


async def test_a_handle_does_not_outlive_its_turn() -> None:
    async with serving(*TWO_ROUNDS, *TWO_ROUNDS) as (world, _):
        await run_turn(world.provider, Echo())
        await run_turn(world.provider, Echo())
        setups = [cast("Frame", frame["setup"]) for frame in world.service.received if "setup" in frame]
    assert [setup["sessionResumption"] for setup in setups] == [{}, {}]


async def test_a_connection_that_closes_in_the_middle_of_an_answer_breaks_it() -> None:
    until = asyncio.Event()
    async with serving(Waits(("Hi",), until)) as (world, _):
        session = world.sockets.connect(CallOptions())
        stream = session.answer(CONTEXT)
        assert await anext(stream) == TokensArrived("Hi")
        await say_go_away(world.service)
        await world.service.guests[0].close(1008, "The operation was aborted.")
        with pytest.raises(StreamBroken):
            _ = [event async for event in stream]


@pytest.mark.parametrize("last", range(1, 4))
async def test_a_turn_survives_its_connection_at_every_frame_or_says_that_it_did_not(last: int) -> None:
    """The frames: setup, question, results."""

    class Dying(LiveVisit):
        async def read(self, frame: Frame, size: int) -> None:
            if len(world.service.received) == last and len(world.service.guests) == 1:
                hang_up(world.service.guests[0])
            else:
                await super().read(frame, size)

    tool = Echo()
    async with serving(*TWO_ROUNDS, visit=Dying) as (world, _):
        ran = await run_turn(world.provider, tool)
    assert tool.said in ([], ["one"])
    assert ran.ended.text.endswith("Done.") or "ask again" in ran.ended.text or "cannot answer" in ran.ended.text


# What it says no to


async def test_a_service_that_wants_no_text_says_so_in_its_own_words() -> None:
    speaker = partial(LiveVisit, kept={}, spoken=True)
    async with asyncio.timeout(PATIENCE_S), socket_world(speaker, partial(opened, model=WRITER)) as world:
        with pytest.raises(ProviderRefused) as refused:
            await ask(world.sockets.connect(CallOptions()))
    assert "response modalities" in refused.value.reason.quoted


async def test_a_key_that_is_refused_when_the_connection_stands_is_told() -> None:
    class Refusing(LiveVisit):
        async def read(self, frame: Frame, size: int) -> None:
            del frame, size
            await world.service.guests[0].close(1007, "API key not valid. Please pass a valid API key.")

    async with serving(visit=Refusing) as (world, _):
        with pytest.raises(ProviderRefused, match=r"Gemini Live refused the API key \(401\)\. Check GEMINI_API_KEY\."):
            await ask(world.sockets.connect(CallOptions()))


async def test_a_quota_that_is_used_up_is_asked_for_again_and_then_told() -> None:
    async def closing(connection: ServerConnection) -> None:
        await connection.close(1011, "You exceeded your current quota.")

    class Limited(LiveVisit):
        async def greet(self) -> None:
            await closing(world.service.guests[-1])

    async with serving(visit=Limited) as (world, _):
        with pytest.raises(ProviderUnavailable, match=r"is limiting requests \(429\)"):
            await ask(world.sockets.connect(CallOptions()))
        assert len(world.service.guests) == 3
        assert world.clock.monotonic() >= 1


async def test_the_price_of_speech_is_said_and_that_of_text_is_not() -> None:
    async with serving() as (world, _):
        assert "billed as audio" in world.sockets.warning
    assert opened("http://127.0.0.1:9", world.clock, WRITER).warning == ""


# The vendor's types


@pytest.mark.slow
@pytest.mark.parametrize("spoken", [True, False])
async def test_every_frame_of_a_turn_is_one_that_the_vendors_types_know(spoken: bool) -> None:
    turns = (
        Calls((echo_call("one"), echo_call("two")), before="On it.", reasoning="hm"),
        Refuses(500),
        Garbles(("Hi", "!")),
        Breaks(("Hi",)),
    )
    model = partial(opened) if spoken else partial(opened, model=WRITER)

    def visit(service: SocketService, connection: ServerConnection) -> LiveVisit:
        return LiveVisit(service, connection, kept={}, spoken=spoken)

    async with asyncio.timeout(PATIENCE_S), socket_world(visit, model) as world:
        world.plan(*turns)
        ran = await run_turn(world.provider, Echo())
        assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "On it.\n\nHi!")
        with pytest.raises(StreamBroken):
            await ask(world.sockets.connect(CallOptions()))
    assert all(parses("google.genai.types:LiveClientMessage", frame) for frame in world.service.received)
    known = [frame for frame in world.service.sent if "weather" not in frame]
    assert [frame for frame in known if not knows("google.genai.types:LiveServerMessage", frame)] == []
