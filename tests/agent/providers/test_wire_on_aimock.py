"""What holds for every vendor's protocol, over real HTTP and WebSockets, against the npm double."""

import pytest

from agent.errors import ProviderError, StreamBroken
from agent.ports.model import StopReason
from tests.fakes import vendor_doubles as doubles
from tests.fakes.aimock import AiMock
from tests.fakes.clock import FakeClock
from tests.fakes.vendor_doubles import ANY, CUT, LONG, MESSAGES, Double, Opened, Refusal, end_of, read, texts


def _name(double: Double) -> str:
    return double.name


def _case(value: object) -> str:
    return value.name if isinstance(value, Double) else f"{value.status}" if isinstance(value, Refusal) else ""


everybody = pytest.mark.parametrize("double", doubles.ALL, ids=_name)
over_http = pytest.mark.parametrize("double", doubles.HTTP, ids=_name)


@everybody
async def test_an_answer_streams_in_pieces(aimock: AiMock, double: Double) -> None:
    async with double.talking(aimock, {**ANY, "response": {"content": LONG}, "chunkSize": 10}) as provider:
        events = await read(provider)
    assert len(texts(events)) == len(LONG) // 10
    assert "".join(texts(events)) == LONG
    assert end_of(events).reason is StopReason.END


@pytest.mark.parametrize("double", [double for double in doubles.ALL if double.meters], ids=_name)
async def test_what_it_took_is_as_the_vendor_reports_it(aimock: AiMock, double: Double) -> None:
    usage = {"input_tokens": 100, "output_tokens": 50}
    async with double.talking(aimock, {**ANY, "response": {"content": "Hi", "usage": usage}}) as provider:
        reported = end_of(await read(provider)).usage
    assert reported is not None
    assert (reported.input_uncached + reported.input_cached, reported.output) == (100, 50)
    assert not reported.estimated
    assert reported.bytes_up > 0


@everybody
async def test_a_rate_limit_is_waited_out(aimock: AiMock, double: Double) -> None:
    clock = FakeClock()
    limit = {"error": {"message": "slow down", "type": double.limit}, "status": 429, "retryAfter": 7}
    async with double.talking(
        aimock,
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": limit},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
        clock=clock,
    ) as provider:
        assert texts(await read(provider)) == ["Hi"]
    assert clock.monotonic() == 7 if double in doubles.HTTP else clock.monotonic() > 0


@everybody
async def test_a_failing_server_is_asked_again(aimock: AiMock, double: Double) -> None:
    failure = double.refusals[0].response
    async with double.talking(
        aimock,
        {"match": {"userMessage": "Hello", "sequenceIndex": 0}, "response": failure},
        {"match": {"userMessage": "Hello", "sequenceIndex": 1}, "response": {"content": "Hi"}},
    ) as provider:
        assert texts(await read(provider)) == ["Hi"]


@pytest.mark.parametrize(
    ("double", "refusal"), [(double, refusal) for double in doubles.ALL for refusal in double.refusals], ids=_case
)
async def test_a_lasting_refusal_ends_after_as_many_requests_as_make_sense(
    aimock: AiMock, double: Double, refusal: Refusal
) -> None:
    async with double.talking(aimock, {**ANY, "response": refusal.response}) as provider:
        with pytest.raises(ProviderError) as told:
            await read(provider)
    assert isinstance(told.value, refusal.kind)
    assert len(aimock.journal()) == refusal.requests


@everybody
async def test_a_connection_lost_in_the_middle_breaks_the_stream_and_what_came_stands(
    aimock: AiMock, double: Double
) -> None:
    said: list[str] = []

    async def listen(provider: Opened) -> None:
        async for event in provider.stream(MESSAGES):
            said.extend(texts([event]))

    async with double.talking(aimock, CUT) as provider:
        with pytest.raises(StreamBroken):
            await listen(provider)
    assert said
    assert LONG.startswith("".join(said))


@over_http
async def test_a_broken_stream_is_not_asked_again(aimock: AiMock, double: Double) -> None:
    async with double.talking(aimock, CUT) as provider:
        with pytest.raises(StreamBroken):
            await read(provider)
    assert len(aimock.journal()) == 1
