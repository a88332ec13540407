"""Realtime over a real WebSocket on loopback: one conversation for a turn, whatever happens to its connections."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.events import Outcome
from agent.messages import Message, Role, Usage
from agent.ports.model import CallOptions, ModelSession, ProviderEvent, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.catalog import REALTIME, Mode
from agent.providers.factory import ProviderWorld, open_provider, open_realtime
from agent.providers.replay import ModelTimeouts
from agent.providers.socket_session import SocketProvider
from tests.contracts.model_world import PATIENT, Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.one_turn import CONTEXT, Echo, echo_call, run_turn
from tests.fakes.realtime_service import LIMIT, RealtimeVisit, expire, opened, realtime_world, watched
from tests.fakes.socket_service import SocketWorld, hang_up, socket_world
from tests.fakes.vendor_types import fits, knows
from tests.patience import PATIENCE_S

IMPATIENT = replace(PATIENT, tail_s=0.3)

CALL = f"<execute>[{echo_call('one')[1:-1]}]{STOP_SEQUENCE}"
RESULTS = Message(Role.USER, "<results>[]\n</results>")


@asynccontextmanager
async def serving(*turns: Turn) -> AsyncGenerator[tuple[SocketWorld, list[RealtimeVisit]], None]:
    visits, visit = watched()
    async with asyncio.timeout(PATIENCE_S), socket_world(visit, opened) as world:
        world.plan(*turns)
        yield world, visits


async def ask(session: ModelSession, messages: Sequence[Message] = CONTEXT) -> list[ProviderEvent]:
    return [event async for event in session.answer(messages)]


def text_of(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


def going_on(events: Sequence[ProviderEvent], *new: Message) -> tuple[Message, ...]:
    """The context of the next round."""
    return (*CONTEXT, Message(Role.ASSISTANT, text_of(events), native=end_of(events).native), *(new or (RESULTS,)))


async def test_the_handshake_carries_the_model_and_the_key_and_nothing_of_the_beta() -> None:
    async with serving(Says(("Hi",))) as (world, _):
        await ask(world.sockets.connect(CallOptions()))
        (request,) = world.service.handshakes
    assert request.path == "/v1/realtime?model=gpt-realtime-2.1-mini"
    assert request.headers["Authorization"] == "Bearer sk-1"
    assert "OpenAI-Beta" not in request.headers


async def test_the_model_is_stopped_where_its_calls_end_and_the_conversation_keeps_no_more() -> None:
    async with serving(Calls((echo_call("one"),), before="On it."), Says(("Done.",))) as (world, visits):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        assert (text_of(first), end_of(first).reason) == (f"On it.\n{CALL}", StopReason.HALTED)
        assert end_of(first).usage is not None
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
        (visit,) = visits
    assert visit.told == [CONTEXT[1].text, CONTEXT[2].text, f"On it.\n{CALL}", RESULTS.text, "Done."]
    assert world.asked[1].texts == (f"On it.\n{CALL}", RESULTS.text)


async def test_a_service_that_does_not_stop_costs_a_connection_and_nothing_else() -> None:
    tool = Echo()
    async with asyncio.timeout(PATIENCE_S), realtime_world(deaf=True, patience=IMPATIENT) as world:
        world.plan(Calls((echo_call("one"),)), Says(("Done.",)))
        ran = await run_turn(world.provider, tool)
        assert [asked.resumed for asked in world.asked] == [False, False]
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "Done.")
    assert tool.said == ["one"]


async def test_in_replay_mode_each_round_goes_whole_over_a_connection_of_its_own() -> None:
    visits, visit = watched()

    def replaying(url: str, clock: FakeClock) -> SocketProvider:
        line = ProviderWorld(clock, lambda: 0.0)
        provider = open_provider(REALTIME.at(f"{url}/v1"), "gpt-realtime-2.1-mini", "sk-1", line, Mode.REPLAY)
        assert isinstance(provider, SocketProvider)
        return provider

    async with asyncio.timeout(PATIENCE_S), socket_world(visit, replaying) as world:
        world.plan(Calls((echo_call("one"),)), Says(("Done.",)))
        ran = await run_turn(world.provider, Echo())
        assert [asked.resumed for asked in world.asked] == [False, False]
    assert ran.ended.text == "Done."
    assert len(visits) == 2


async def test_usage_comes_from_the_end_of_the_cancelled_response() -> None:
    async with serving(Calls((echo_call("one"),))) as (world, _):
        usage = end_of(await ask(world.sockets.connect(CallOptions()))).usage
        sent = world.asked[0].bytes_up
    assert usage is not None
    assert usage == Usage(input_uncached=90, input_cached=10, output=10, bytes_up=usage.bytes_up)
    assert usage.bytes_up > sent


async def test_an_hour_that_is_over_between_rounds_is_not_noticed() -> None:
    async with serving(Calls((echo_call("one"),)), Says(("Done.",))) as (world, visits):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        await expire(world.service)
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
    assert [asked.resumed for asked in world.asked] == [False, False]
    assert visits[1].told == [CONTEXT[1].text, CONTEXT[2].text, text_of(first), RESULTS.text, "Done."]


async def test_an_hour_that_is_over_in_the_moment_of_the_question_is_not_noticed_either() -> None:
    class Expiring(RealtimeVisit):
        async def read(self, frame: dict[str, object], size: int) -> None:
            if frame["type"] == "response.create" and len(world.service.guests) == 1:
                await world.service.guests[0].close(1001, LIMIT)
            else:
                await super().read(frame, size)

    async with asyncio.timeout(PATIENCE_S), socket_world(Expiring, opened) as world:
        world.plan(Says(("Hi",)))
        assert text_of(await ask(world.sockets.connect(CallOptions()))) == "Hi"
        assert len(world.service.guests) == 2


async def test_an_hour_that_is_over_in_the_middle_of_an_answer_breaks_it() -> None:
    until = asyncio.Event()
    async with serving(Waits(("Hi",), until)) as (world, _):
        session = world.sockets.connect(CallOptions())
        stream = session.answer(CONTEXT)
        assert await anext(stream) == TokensArrived("Hi")
        await expire(world.service)
        with pytest.raises(StreamBroken):
            await anext(stream)


async def test_a_connection_that_died_while_tools_ran_is_replaced() -> None:
    async with serving(Calls((echo_call("one"),)), Says(("Done.",))) as (world, _):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        hang_up(world.service.guests[0])
        assert text_of(await ask(session, going_on(first))) == "Done."
        await session.close()
        assert len(world.service.guests) == 2


async def test_a_context_that_does_not_go_on_begins_another_conversation() -> None:
    async with serving(Says(("Hi",)), Says(("Hi again",))) as (world, visits):
        session = world.sockets.connect(CallOptions())
        await ask(session)
        assert text_of(await ask(session)) == "Hi again"
        await session.close()
        assert len(visits) == 2
    assert visits[1].told == [CONTEXT[1].text, CONTEXT[2].text, "Hi again"]


async def test_an_answer_that_was_left_early_is_not_built_on() -> None:
    async with serving(Says(("One", " two")), Says(("Hi",))) as (world, visits):
        session = world.sockets.connect(CallOptions())
        stream = session.answer(CONTEXT)
        assert await anext(stream) == TokensArrived("One")
        await stream.aclose()
        assert text_of(await ask(session)) == "Hi"
        assert len(visits) == 2


async def test_a_question_that_no_connection_carries_is_told() -> None:
    clock = FakeClock()
    async with asyncio.timeout(PATIENCE_S):
        provider = open_realtime(
            REALTIME.at("http://127.0.0.1:9/v1"), "m", "k", ProviderWorld(clock, lambda: 0.0, ModelTimeouts())
        )
        with pytest.raises(ProviderUnavailable, match=r"OpenAI Realtime does not respond at http://127\.0\.0\.1:9"):
            await ask(provider.connect(CallOptions()))


async def test_no_error_and_no_repr_holds_the_key() -> None:
    async with serving(Refuses(401, "invalid_api_key", "Incorrect API key provided: sk-1")) as (world, _):
        with pytest.raises(ProviderRefused) as raised:
            await ask(world.sockets.connect(CallOptions()))
        assert "sk-1" not in f"{raised.value!r} {raised.value.__cause__!r} {world.provider!r}"
        assert world.sockets.warning == ""


@pytest.mark.parametrize("last", range(1, 10))
async def test_a_turn_survives_its_connection_at_every_frame_or_says_that_it_did_not(last: int) -> None:
    """The frames: session, two items, question, cancel; then item deleted and written again, results, question."""

    class Dying(RealtimeVisit):
        async def read(self, frame: dict[str, object], size: int) -> None:
            if len(world.service.received) == last and len(world.service.guests) == 1:
                hang_up(world.service.guests[0])
            else:
                await super().read(frame, size)

    tool = Echo()
    async with asyncio.timeout(PATIENCE_S), socket_world(Dying, opened) as world:
        world.plan(Calls((echo_call("one"),)), Says(("Done.",)))
        ran = await run_turn(world.provider, tool)
    assert tool.said in ([], ["one"])
    assert ran.ended.text == "Done." or "ask again" in ran.ended.text


@pytest.mark.slow
async def test_every_frame_of_a_turn_is_one_that_the_vendors_types_know() -> None:
    turns = (Calls((echo_call("one"),)), Refuses(500), Breaks(("Hi",)), Garbles(("Hi", "!")))
    async with serving(*turns) as (world, _):
        session = world.sockets.connect(CallOptions())
        first = await ask(session)
        with pytest.raises(StreamBroken):
            await ask(session, going_on(first))
        await ask(session)
        await session.close()
        service = world.service
    assert all(fits("openai.types.realtime:RealtimeClientEventParam", frame) for frame in service.received)
    known = [frame for frame in service.sent if frame["type"] != "weather.changed"]
    assert [frame for frame in known if not knows("openai.types.realtime:RealtimeServerEvent", frame)] == []


async def test_a_cut_before_the_answer_began_is_told() -> None:
    async with serving(Cuts()) as (world, _):
        with pytest.raises(ProviderUnavailable, match="may have processed"):
            await ask(world.sockets.connect(CallOptions()))
