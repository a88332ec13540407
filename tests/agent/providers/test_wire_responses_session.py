"""Sessions over WebSocket: what is sent again, what is lost and made good, and the sockets between turns.

The service checks every frame as the vendor does; see `tests.fakes.openai_service`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable
from agent.events import Outcome
from agent.messages import Message, NativeContent, Role
from agent.model_sessions import open_session
from agent.ports.model import CallOptions, ProviderEvent, ResponseEnded, TokensArrived
from agent.protocol.grammar import teach
from agent.providers.catalog import OPENAI
from agent.providers.factory import ProviderWorld, open_responses
from agent.providers.replay import ModelTimeouts
from agent.providers.socket_session import SocketLimits
from tests.contracts.model_world import Breaks, Calls, Refuses, Says, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.one_turn import CONTEXT, Echo, echo_call, run_turn
from tests.fakes.openai_service import OpenAiWorld, responses_world
from tests.patience import PATIENCE_S

PATIENT = ModelTimeouts(first_token_s=10.0, between_tokens_s=10.0)
HI = Says(("Hi",))
ONE, TWO = Calls((echo_call("one"),)), Calls((echo_call("two"),))
RESULT = "Anna hears {}"
LIMIT = "websocket_connection_limit_reached"
NOT_FOUND = "previous_response_not_found"


@asynccontextmanager
async def talking(*turns: Turn, limits: SocketLimits | None = None) -> AsyncGenerator[OpenAiWorld, None]:
    async with asyncio.timeout(PATIENCE_S), responses_world(limits=limits, patience=PATIENT) as world:
        world.plan(*turns)
        yield world


async def read(world: OpenAiWorld) -> list[ProviderEvent]:
    return [event async for event in world.provider.stream(CONTEXT)]


def text_of(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def resumed(world: OpenAiWorld) -> list[bool]:
    return [asked.resumed for asked in world.asked]


def over_http(world: OpenAiWorld) -> list[bool]:
    return ["stream" in body for body in world.service.bodies]


def losing(world: OpenAiWorld, *codes: str) -> Echo:
    """A tool in whose first run the service loses something."""
    echo = Echo()

    async def lose() -> None:
        if len(echo.said) == 1:
            world.service.loses.extend(codes)

    echo.meet = lose
    return echo


# Rounds


@pytest.mark.slow
async def test_the_rounds_of_a_turn_send_only_what_is_new() -> None:
    async with talking(ONE, TWO, HI) as world:
        ran = await run_turn(world.provider, Echo())
        first, second, third = world.asked
    assert ran.ended.text == "Hi"
    assert [message.text for message in CONTEXT] == list(first.texts)
    assert [RESULT.format("one") in text for text in second.texts] == [True]
    assert [RESULT.format("two") in text for text in third.texts] == [True]


@pytest.mark.slow
async def test_the_tool_is_offered_in_every_round_and_several_calls_are_answered_by_one_text() -> None:
    context = (Message(Role.SYSTEM, teach("echo")), *CONTEXT[1:])
    async with talking(Calls((echo_call("one"), echo_call("two"))), HI) as world:
        tool = Echo()
        ran = await run_turn(world.provider, tool, context)
        bodies = world.service.bodies
    assert sorted(tool.said) == ["one", "two"]
    assert ran.ended.text == "Hi"
    assert ["tools" in body for body in bodies] == [True, True]
    assert len(world.asked[1].texts) == 2


async def test_what_the_frames_took_is_counted() -> None:
    async with talking(ONE, HI) as world:
        ran = await run_turn(world.provider, Echo())
        sent = [asked.bytes_up for asked in world.asked]
    assert [call.usage.bytes_up for call in ran.progress.calls] == sent


async def test_a_context_that_does_not_go_on_begins_a_new_chain_on_the_same_socket() -> None:
    async with talking(HI, HI) as world:
        session = open_session(world.provider, CallOptions())
        for _ in range(2):
            _ = [event async for event in session.answer(CONTEXT)]
        await session.close()
        assert resumed(world) == [False, False]
        assert world.service.handshakes == 1


# What is lost


async def test_a_parent_that_is_gone_costs_one_replay_and_the_chain_goes_on() -> None:
    async with talking(ONE, TWO, HI) as world:
        ran = await run_turn(world.provider, tool := losing(world, NOT_FOUND))
        assert resumed(world) == [False, True, False, True]
        assert world.service.handshakes == 1
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "Hi")
    assert tool.said == ["one", "two"]


async def test_a_socket_at_its_limit_of_time_is_replaced_in_the_middle_of_a_turn() -> None:
    async with talking(ONE, TWO, HI) as world:
        ran = await run_turn(world.provider, losing(world, LIMIT))
        assert resumed(world) == [False, True, False, True]
        assert world.service.handshakes == 2
    assert ran.ended.text == "Hi"


async def test_what_is_lost_twice_in_a_row_is_told() -> None:
    async with talking(HI) as world:
        world.service.loses.extend([NOT_FOUND, NOT_FOUND])
        with pytest.raises(ProviderRefused):
            await read(world)
        assert len(world.asked) == 2


async def test_a_socket_that_closes_while_tools_run_costs_one_replay() -> None:
    async with talking(ONE, TWO, HI) as world:

        async def close() -> None:
            for socket in list(world.service.open):
                await socket.close()

        tool = Echo(meet=close)
        ran = await run_turn(world.provider, tool)
        assert resumed(world) == [False, False, False]
        assert world.service.handshakes == 3
    assert ran.ended.text == "Hi"
    assert tool.said == ["one", "two"]


@pytest.mark.slow
async def test_where_sockets_are_opened_and_then_closed_the_next_question_goes_over_http() -> None:
    async with talking(HI) as world:
        world.service.closes_with = 1008
        with pytest.raises(ProviderUnavailable, match="may have processed"):
            await read(world)
        assert text_of(await read(world)) == "Hi"
        assert over_http(world) == [True]
        assert world.service.handshakes == 1


async def test_an_error_forgets_the_parent_and_is_made_good_by_a_replay() -> None:
    async with talking(ONE, Refuses(503), TWO, HI) as world:
        ran = await run_turn(world.provider, tool := Echo())
        assert resumed(world) == [False, True, False, True]
        assert world.clock.monotonic() >= 0.5
    assert ran.ended.text == "Hi"
    assert tool.said == ["one", "two"]


@pytest.mark.slow
async def test_a_field_that_the_service_refuses_is_left_out_from_then_on() -> None:
    refusal = Refuses(400, "unsupported_parameter", "Unsupported parameter: 'include'")
    async with talking(refusal, HI, HI) as world:
        assert text_of(await read(world)) == "Hi"
        assert text_of(await read(world)) == "Hi"
        assert ["include" in body for body in world.service.bodies] == [True, False, False]


async def test_what_the_vendor_does_not_take_back_is_told_in_words() -> None:
    call = {"type": "custom_tool_call", "call_id": "c", "name": "execute", "input": "[]"}
    native = NativeContent("openai-responses:gpt-6.1-terra", (call,))
    messages = (*CONTEXT, Message(Role.ASSISTANT, "words", native=native), Message(Role.USER, "So?"))
    async with talking(HI) as world:
        world.service.loses.append("invalid_encrypted_content")
        events = [event async for event in world.provider.stream(messages)]
        assert "words" in world.asked[1].texts
    assert text_of(events) == "Hi"


@pytest.mark.slow
async def test_an_answer_that_broke_is_not_built_on() -> None:
    async with talking(Breaks(("Hel",)), HI) as world:
        await run_turn(world.provider, Echo())
        await run_turn(world.provider, Echo())
        assert resumed(world) == [False, False]
        assert world.service.handshakes == 1


# Without a socket


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 403, 404, 426, 429, 503])
async def test_a_handshake_that_is_refused_is_answered_over_http_and_nobody_notices(status: int) -> None:
    async with talking(ONE, HI, HI) as world:
        world.service.refuses = status
        ran = await run_turn(world.provider, Echo())
        assert text_of(await read(world)) == "Hi"
        assert over_http(world) == [True, True, True]
        assert world.service.handshakes == 1
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "Hi")


async def test_after_a_while_a_socket_is_tried_again() -> None:
    async with talking(HI, HI, limits=SocketLimits(refused_s=60)) as world:
        world.service.refuses = 503
        await read(world)
        world.service.refuses = 0
        await world.clock.advance(61)
        await read(world)
        assert over_http(world) == [True, False]


async def test_where_nobody_listens_the_sentence_is_the_same_as_over_http() -> None:
    async with talking() as world:
        port_of_nobody = replace(OPENAI, base_url="http://127.0.0.1:9/v1")
        provider = open_responses(port_of_nobody, "m", None, ProviderWorld(world.clock, lambda: 0.0, PATIENT))
        with pytest.raises(ProviderUnavailable, match=r"does not respond at http://127\.0\.0\.1:9"):
            _ = [event async for event in provider.stream(CONTEXT)]
        await provider.aclose()


async def test_turns_beyond_the_number_of_sockets_are_answered_over_http() -> None:
    until = asyncio.Event()
    async with talking(Waits(("a",), until), HI, HI, limits=SocketLimits(max_sockets=1)) as world:
        stream = world.provider.stream(CONTEXT)
        await anext(stream)
        await read(world)
        until.set()
        _ = [event async for event in stream]
        await read(world)
        assert over_http(world) == [False, True, False]
        assert world.service.handshakes == 1


async def test_bytes_that_went_over_the_socket_in_vain_are_counted_too() -> None:
    async with talking(HI) as world:
        world.service.loses.append(LIMIT)
        world.service.refuses, world.service.refuse_after = 503, 1
        end = (await read(world))[-1]
        assert over_http(world) == [False, True]
        assert isinstance(end, ResponseEnded)
        assert end.usage is not None
        assert end.usage.bytes_up == sum(asked.bytes_up for asked in world.asked)


# Between turns


async def test_a_socket_is_kept_between_turns_and_each_turn_begins_with_the_whole_context() -> None:
    async with talking(ONE, HI, HI) as world:
        await run_turn(world.provider, Echo())
        await run_turn(world.provider, Echo())
        assert world.service.handshakes == 1
        assert resumed(world) == [False, True, False]


async def test_turns_that_run_together_have_a_socket_each() -> None:
    until = asyncio.Event()
    async with talking(Waits(("a",), until, ("b",)), HI) as world:
        stream = world.provider.stream(CONTEXT)
        first = [await anext(stream)]
        assert text_of(await read(world)) == "Hi"
        until.set()
        first += [event async for event in stream]
        assert text_of(first) == "ab"
        assert world.service.handshakes == 2


async def test_a_socket_that_the_service_closed_between_turns_is_not_used_again() -> None:
    async with talking(HI, HI) as world:
        await read(world)
        for socket in list(world.service.open):
            await socket.close()
        assert text_of(await read(world)) == "Hi"
        assert world.service.handshakes == 2


async def test_a_socket_that_speaks_unasked_is_put_away() -> None:
    async with talking(HI, HI) as world:
        await read(world)
        for socket in world.service.open:
            await socket.send_str('{"type": "response.created"}')
        await world.service.closed.wait()
        assert text_of(await read(world)) == "Hi"
        assert world.service.handshakes == 2


async def test_a_socket_that_idles_is_closed() -> None:
    async with talking(HI, limits=SocketLimits(idle_s=0.01)) as world:
        await read(world)
        await world.service.closed.wait()
        assert not world.service.open


async def test_an_old_socket_is_replaced_when_a_turn_begins_and_not_before() -> None:
    async with talking(ONE, HI, HI, limits=SocketLimits(rotate_s=3_000)) as world:

        async def an_hour() -> None:
            await world.clock.advance(3_600)

        await run_turn(world.provider, Echo(meet=an_hour))
        assert resumed(world) == [False, True]
        assert world.service.handshakes == 1
        await run_turn(world.provider, Echo())
        assert world.service.handshakes == 2


async def test_closing_the_provider_closes_every_socket() -> None:
    async with talking(HI) as world:
        session = open_session(world.provider, CallOptions())
        _ = [event async for event in session.answer(CONTEXT)]
        await world.aclose()
        assert len(world.service.open) == 1
        await session.close()
        await world.service.closed.wait()


async def test_the_key_stays_out_of_what_is_shown() -> None:
    provider = open_responses(OPENAI, "m", "sk-secret", ProviderWorld(FakeClock(), lambda: 0.0))
    assert repr(provider) == "ResponsesProvider('openai:m' at 'https://api.openai.com/v1')"
    await provider.aclose()
