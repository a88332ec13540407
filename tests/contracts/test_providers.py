"""What every provider does, whatever its vendor's protocol: each test runs on each fake service."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from agent.errors import ProviderRefused, ProviderUnavailable, StreamBroken
from agent.events import NoticeArrived, Outcome
from agent.messages import Image, Message, Role
from agent.model_sessions import open_session
from agent.ports.model import CallOptions, ModelSession, ProviderEvent, ReasoningArrived, ResponseEnded, TokensArrived
from agent.providers.replay import ModelTimeouts
from tests.agent.protocol.deviations import DEVIATIONS
from tests.contracts.model_world import PATIENT, Breaks, Calls, Cuts, Garbles, Refuses, Says, Turn, Waits, World
from tests.contracts.worlds import WORLDS
from tests.examples import is_thorough
from tests.fakes.one_turn import CONTEXT, Echo, echo_call, run_turn
from tests.patience import PATIENCE_S

PIXEL = b"\x89PNG\r\n\x1a\n not much of a picture"
HI = Says(("Hi", " there"))
RESULT = "Anna hears {}"
# The setting is that of the model, or of the region of a cloud.
NO_MODEL = r"(?:does not (?:know|offer) the model|has no deployment) .*(?:COGENCY_MODEL|GOOGLE_CLOUD_LOCATION)"

Opened = AbstractAsyncContextManager[World]


@pytest.fixture(params=WORLDS)
def opened(request: pytest.FixtureRequest) -> Callable[..., Opened]:
    """`async with opened(turn, …) as world`: a service that does these things, one for each request."""

    @asynccontextmanager
    async def opened(*turns: Turn, patience: ModelTimeouts = PATIENT) -> AsyncGenerator[World, None]:
        async with asyncio.timeout(PATIENCE_S), WORLDS[request.param](patience=patience) as world:
            world.plan(*turns)
            yield world

    return opened


async def read(world: World, messages: Sequence[Message] = CONTEXT) -> list[ProviderEvent]:
    return [event async for event in world.provider.stream(messages)]


def text_of(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


def end_of(events: Sequence[ProviderEvent]) -> ResponseEnded:
    assert isinstance(events[-1], ResponseEnded)
    return events[-1]


def waits(*pieces: str, then: Sequence[str] = ()) -> tuple[Waits, asyncio.Event]:
    until = asyncio.Event()
    return Waits(pieces, until, tuple(then)), until


def seen(world: World, number: int) -> str:
    """Everything that the model read in that request."""
    return "\n".join(world.asked[number].texts)


# The answer


async def test_an_answer_arrives_whole_and_in_order(opened: Callable[..., Opened]) -> None:
    async with opened(Says(("The boat", " is", " blue \U0001f6f6."))) as world:
        events = await read(world)
    assert text_of(events) == "The boat is blue \U0001f6f6."
    assert sum(isinstance(event, ResponseEnded) for event in events) == 1
    assert end_of(events)


async def test_everything_that_is_asked_reaches_the_model_in_order(opened: Callable[..., Opened]) -> None:
    async with opened(HI) as world:
        await read(world)
        told = seen(world, 0)
    assert [told.find(message.text) for message in CONTEXT] == sorted(told.find(message.text) for message in CONTEXT)
    assert all(message.text in told for message in CONTEXT)


async def test_reasoning_never_stands_in_the_answer(opened: Callable[..., Opened]) -> None:
    async with opened(Says(("Hi",), reasoning="They greet me.")) as world:
        events = await read(world)
    assert text_of(events) == "Hi"
    assert "".join(e.text for e in events if isinstance(e, ReasoningArrived)) in {"", "They greet me."}


async def test_usage_is_reported_in_parts_that_do_not_overlap(opened: Callable[..., Opened]) -> None:
    async with opened(HI) as world:
        usage = end_of(await read(world)).usage
        sent = world.asked[0].bytes_up
    told = HI.usage
    assert usage is not None
    assert not usage.estimated
    assert usage.input_uncached + usage.input_cached + usage.input_written == told.input_uncached + told.input_cached
    assert usage.output + usage.reasoning == told.output + told.reasoning
    assert usage.bytes_up >= sent > 0


async def test_text_that_no_encoding_can_hold_is_sent_all_the_same(opened: Callable[..., Opened]) -> None:
    async with opened(HI) as world:
        odd = Message(Role.USER, "half \ud83d, nul \x00, </execute>, \u2028 and \U0001f6f6")
        assert text_of(await read(world, (*CONTEXT, odd))) == "Hi there"
        assert "\U0001f6f6" in seen(world, 0)


def in_pieces(stream: str) -> tuple[str, ...]:
    """Return the text in pieces that cut every tag somewhere."""
    return tuple(stream[start : start + 7] for start in range(0, len(stream), 7))


@pytest.mark.parametrize("cloud", ["azure", "vertex-claude", "vertex-gemini"])
async def test_what_weak_models_write_instead_of_the_protocol_arrives_as_they_wrote_it(cloud: str) -> None:
    streams = [deviation.stream for deviation in DEVIATIONS[:: 1 if is_thorough() else 4]]
    async with asyncio.timeout(PATIENCE_S), WORLDS[cloud](patience=PATIENT) as world:
        world.plan(*(Says(in_pieces(stream)) for stream in streams))
        for stream in streams:
            assert text_of(await read(world)) == stream


async def test_two_answers_do_not_disturb_each_other(opened: Callable[..., Opened]) -> None:
    slow, until = waits("slow", then=["!"])
    async with opened(slow, HI) as world:
        stream = world.provider.stream(CONTEXT)
        first = [await anext(stream)]
        assert text_of(await read(world)) == "Hi there"
        until.set()
        first += [event async for event in stream]
    assert text_of(first) == "slow!"


async def test_a_picture_arrives_or_the_model_is_told_of_it(opened: Callable[..., Opened]) -> None:
    async with opened(HI) as world:
        await read(world, (CONTEXT[0], Message(Role.USER, "What is this?", (Image("image/png", PIXEL),))))
        images = world.asked[0].images
        if world.provider.capabilities.images:
            assert images == (PIXEL,)
        else:
            assert images == ()
            assert "With this came a picture" in seen(world, 0)
        assert "What is this?" in seen(world, 0)


async def test_a_picture_that_is_refused_is_told_of_instead_and_the_next_one_is_tried(
    opened: Callable[..., Opened],
) -> None:
    refused = Refuses(400, "invalid_request_error", "The image could not be processed.")
    question = (CONTEXT[0], Message(Role.USER, "What is this?", (Image("image/png", PIXEL),)))
    async with opened(refused, HI, HI) as world:
        if not world.provider.capabilities.images:
            return
        assert text_of(await read(world, question)) == "Hi there"
        assert world.asked[1].images == ()
        assert "With this came a picture" in seen(world, 1)
        await read(world, question)
        assert world.asked[2].images == (PIXEL,)


# Tools


async def test_two_rounds_of_tools_end_in_the_answer(opened: Callable[..., Opened]) -> None:
    tool = Echo()
    turns = (Calls((echo_call("one"),), before="On it."), Calls((echo_call("two"),)), Says(("Both ", "heard.")))
    async with opened(*turns) as world:
        ran = await run_turn(world.provider, tool)
        assert len(world.asked) == 3
        assert RESULT.format("one") in seen(world, 1)
        assert RESULT.format("two") in seen(world, 2)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "On it.\n\nBoth heard.")
    assert tool.said == ["one", "two"]


async def test_the_reasoning_of_a_round_does_not_disturb_the_next(opened: Callable[..., Opened]) -> None:
    tool = Echo()
    async with opened(Calls((echo_call("one"),), reasoning="An echo will do."), Says(("Done.",))) as world:
        ran = await run_turn(world.provider, tool)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "Done.")
    assert tool.said == ["one"]


async def test_parallel_calls_run_together_and_all_results_come_back(opened: Callable[..., Opened]) -> None:
    both = asyncio.Barrier(2)
    tool = Echo(meet=both.wait)
    async with opened(Calls((echo_call("one"), echo_call("two"))), Says(("Both heard.",))) as world:
        ran = await run_turn(world.provider, tool)
        told = seen(world, 1)
    assert ran.ended.text == "Both heard."
    assert sorted(tool.said) == ["one", "two"]
    assert RESULT.format("one") in told
    assert RESULT.format("two") in told


async def test_every_call_of_a_turn_is_counted(opened: Callable[..., Opened]) -> None:
    async with opened(Calls((echo_call("one"),)), HI) as world:
        ran = await run_turn(world.provider, Echo())
        sent = sum(asked.bytes_up for asked in world.asked)
    assert [call.model for call in ran.progress.calls] == [world.provider.name] * 2
    assert ran.ended.usage.bytes_up >= sent
    assert not ran.ended.usage.estimated


async def test_what_is_sent_again_in_a_round_is_what_the_capability_says(opened: Callable[..., Opened]) -> None:
    async with opened(Calls((echo_call("one"),)), Calls((echo_call("two"),)), HI) as world:
        await run_turn(world.provider, Echo())
        resumes = world.provider.capabilities.resume
        first, second, third = world.asked
    assert [asked.resumed for asked in (first, second, third)] == [False, resumes, resumes]
    if resumes:
        assert max(second.bytes_up, third.bytes_up) < first.bytes_up / 2
        assert RESULT.format("one") not in "".join(third.texts)
    else:
        assert first.bytes_up < second.bytes_up < third.bytes_up


async def test_a_turn_begins_with_the_whole_context_even_after_another(opened: Callable[..., Opened]) -> None:
    async with opened(Calls((echo_call("one"),)), HI, HI) as world:
        await run_turn(world.provider, Echo())
        await run_turn(world.provider, Echo())
        assert not world.asked[2].resumed
        assert CONTEXT[0].text in seen(world, 2)
        assert RESULT.format("one") not in seen(world, 2)


# A connection that dies


async def test_a_cut_in_the_middle_breaks_the_stream_and_is_never_repeated(opened: Callable[..., Opened]) -> None:
    async with opened(Cuts(("Hi", " the")), HI) as world:
        stream = world.provider.stream(CONTEXT)
        assert await anext(stream) == TokensArrived("Hi")
        with pytest.raises(StreamBroken):
            _ = [event async for event in stream]
        assert len(world.asked) == 1


async def test_after_a_cut_what_was_said_stands(opened: Callable[..., Opened]) -> None:
    async with opened(Cuts(("Hi the",))) as world:
        ran = await run_turn(world.provider, Echo())
    assert ran.ended.outcome is Outcome.CUT
    assert ran.shown == "Hi the"


async def test_a_cut_before_the_answer_is_told_as_ambiguous_and_never_repeated(opened: Callable[..., Opened]) -> None:
    async with opened(Cuts(), HI) as world:
        with pytest.raises(ProviderUnavailable, match="may have processed"):
            await read(world)
        assert len(world.asked) == 1


async def test_a_cut_after_the_results_ends_the_turn_and_repeats_no_call(opened: Callable[..., Opened]) -> None:
    tool = Echo()
    async with opened(Calls((echo_call("one"),)), Cuts(), HI) as world:
        ran = await run_turn(world.provider, tool)
        assert len(world.asked) == 2
    assert ran.ended.outcome is Outcome.REFUSED
    assert [event.text for event in ran.events if isinstance(event, NoticeArrived)] == [ran.ended.text]
    assert "may have processed" in ran.ended.text
    assert tool.said == ["one"]


async def test_the_next_answer_comes_after_a_cut_as_if_nothing_had_been(opened: Callable[..., Opened]) -> None:
    async with opened(Cuts(("Hi",)), Cuts(), HI) as world:
        with pytest.raises(StreamBroken):
            await read(world)
        with pytest.raises(ProviderUnavailable):
            await read(world)
        assert text_of(await read(world)) == "Hi there"


# A service that refuses


async def test_a_rate_limit_is_waited_out_as_long_as_the_service_asks(opened: Callable[..., Opened]) -> None:
    async with opened(Refuses(429, "rate_limit_exceeded", retry_after_s=7), HI) as world:
        assert text_of(await read(world)) == "Hi there"
        assert 7 <= world.clock.monotonic() < 8


async def test_a_wait_that_is_too_long_is_told_instead(opened: Callable[..., Opened]) -> None:
    async with opened(Refuses(429, "rate_limit_exceeded", retry_after_s=120), HI) as world:
        with pytest.raises(ProviderUnavailable, match=r"\(429\)\. Please ask again in 120 s"):
            await read(world)
        assert len(world.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_what_may_pass_is_tried_again(opened: Callable[..., Opened], status: int) -> None:
    async with opened(Refuses(status), Refuses(status), HI) as world:
        assert text_of(await read(world)) == "Hi there"
        assert world.clock.monotonic() >= 1


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_trying_again_has_an_end(opened: Callable[..., Opened], status: int) -> None:
    async with opened(*[Refuses(status)] * 3, HI) as world:
        with pytest.raises(ProviderUnavailable, match=rf"\({status}\). Please ask again in a moment"):
            await read(world)
        assert len(world.asked) == 3


async def test_a_bad_key_is_one_sentence_that_names_the_setting(opened: Callable[..., Opened]) -> None:
    async with opened(Refuses(401, "invalid_api_key", "Incorrect API key provided")) as world:
        with pytest.raises(ProviderRefused) as raised:
            await read(world)
    assert re.fullmatch(
        r"[^.;\n]+ refused the (?:API key|credentials) \(401\)\. Check [A-Z]+_[A-Z_]+[^.;\n]*\.", str(raised.value)
    )


async def test_a_model_that_is_not_known_is_one_sentence_that_names_the_setting(
    opened: Callable[..., Opened],
) -> None:
    async with opened(Refuses(404, "model_not_found", "The model does not exist")) as world:
        with pytest.raises(ProviderRefused, match=NO_MODEL):
            await read(world)


async def test_a_refusal_between_rounds_is_waited_out_and_repeats_no_call(opened: Callable[..., Opened]) -> None:
    tool = Echo()
    async with opened(Calls((echo_call("one"),)), Refuses(500), HI) as world:
        ran = await run_turn(world.provider, tool)
        assert RESULT.format("one") in "\n".join(text for asked in world.asked[2:] for text in asked.texts)
    assert (ran.ended.outcome, ran.ended.text) == (Outcome.ANSWERED, "Hi there")
    assert tool.said == ["one"]


# A service that stumbles


async def test_an_overload_in_the_middle_breaks_the_stream_and_is_never_repeated(
    opened: Callable[..., Opened],
) -> None:
    async with opened(Breaks(("Hi",)), HI) as world:
        stream = world.provider.stream(CONTEXT)
        assert await anext(stream) == TokensArrived("Hi")
        with pytest.raises(StreamBroken):
            _ = [event async for event in stream]
        assert len(world.asked) == 1


async def test_a_frame_that_cannot_be_read_is_passed_over(opened: Callable[..., Opened]) -> None:
    async with opened(Garbles(("The", " boat", " is blue."))) as world:
        events = await read(world)
    assert text_of(events) == "The boat is blue."
    assert end_of(events)


async def test_a_stream_that_pauses_is_only_slow(opened: Callable[..., Opened]) -> None:
    slow, until = waits("Hi", then=[" there"])
    async with opened(slow) as world:
        stream = world.provider.stream(CONTEXT)
        events = [await anext(stream)]
        until.set()
        events += [event async for event in stream]
    assert text_of(events) == "Hi there"


async def test_a_model_that_does_not_begin_is_given_up_and_left(opened: Callable[..., Opened]) -> None:
    silent, _ = waits()
    for first_token_s in (0.3, 3.0, 30.0):  # the first in which a busy machine gets to ask
        async with opened(silent, patience=replace(PATIENT, first_token_s=first_token_s)) as world:
            with pytest.raises(ProviderUnavailable, match="did not start to answer"):
                await read(world)
            if world.asked:
                await world.left.wait()
                assert len(world.asked) == 1
                return
    raise AssertionError("it was not even asked")


async def test_a_model_that_falls_silent_breaks_the_stream_and_is_left(opened: Callable[..., Opened]) -> None:
    silent, _ = waits("Hi")
    async with opened(silent, patience=replace(PATIENT, between_tokens_s=0.2)) as world:
        with pytest.raises(StreamBroken, match="nothing more came"):
            await read(world)
        await world.left.wait()


# A person who stops it


async def test_an_answer_that_is_closed_is_left(opened: Callable[..., Opened]) -> None:
    long, _ = waits("Hi")
    async with opened(long, HI) as world:
        stream = world.provider.stream(CONTEXT)
        assert await anext(stream) == TokensArrived("Hi")
        await stream.aclose()
        await world.left.wait()
        assert text_of(await read(world)) == "Hi there"


async def test_a_turn_that_is_cancelled_leaves_the_service(opened: Callable[..., Opened]) -> None:
    long, _ = waits("Hi")
    async with opened(long, HI) as world:
        session = open_session(world.provider, CallOptions())
        arrived = asyncio.Event()
        task = asyncio.create_task(_listen(session, arrived))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await session.close()
        await world.left.wait()
        ran = await run_turn(world.provider, Echo())
    assert ran.ended.text == "Hi there"


async def _listen(session: ModelSession, arrived: asyncio.Event) -> None:
    async for event in session.answer(CONTEXT):
        if isinstance(event, TokensArrived):
            arrived.set()
