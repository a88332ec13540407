"""What a check sees of a model besides its tools: against servers that can, refuse, or ignore it."""

import asyncio
import json
from collections.abc import Callable, Sequence
from io import BytesIO

import pytest
from PIL import Image

from agent.errors import ProviderRefused, ProviderSilent
from agent.messages import ModelCall
from agent.providers.catalog import VLLM, Endpoint, Mode
from agent.providers.factory import ProviderWorld, open_provider
from agent.providers.faults import RetryPolicy
from agent.providers.rehearsal import RehearsalProvider
from agent.providers.replay import ModelTimeouts
from agent.texts import ANSWER_STOPPED
from bot.models.abilities import OWN_LINES, Ability, AbilityCheck, Seen, Verdict, two_colors
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, Wait, event, head, whole
from tests.patience import PATIENCE_S

Answering = Callable[[Request], Reply]
SIZE = 32_768


async def seen(
    answering: Answering, endpoint: Endpoint = VLLM, *, first_token_s: float = PATIENCE_S
) -> tuple[dict[Ability, Seen], list[ModelCall], list[Request]]:
    """Check a server of Chat Completions. Returns what was seen, the counted calls, and the requests."""
    calls, clock = list[ModelCall](), FakeClock()

    async def count(call: ModelCall) -> None:
        calls.append(call)

    async def size() -> int | None:
        return SIZE

    async with asyncio.timeout(PATIENCE_S), ModelServer(answering) as server:
        world = ProviderWorld(clock, lambda: 0.0, ModelTimeouts(first_token_s, PATIENCE_S, 0.1), RetryPolicy(0))
        provider = open_provider(endpoint.at(server.url), "m-1", "sk-organization-1111", world, Mode.AUTO)
        try:
            check = AbilityCheck(provider, clock, count, size, OWN_LINES)
            return {ability: one async for ability, one in check.run()}, calls, server.requests
        finally:
            await provider.aclose()


def said(*pieces: str, usage: object = None) -> Reply:
    chunks = [event({"choices": [{"delta": {"content": piece}}]}) for piece in pieces]
    reported = [event({"choices": [], "usage": usage})] if usage else []
    return [head(), *chunks, event({"choices": [{"finish_reason": "stop"}]}), *reported, DONE]


def usage(prompt: int, *, cached: int = 0, reasoning: int = 0) -> dict[str, object]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reasoning + 5,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def able(request: Request) -> Reply:
    """A service that can do everything."""
    body = request.json
    text = json.dumps(body["messages"])
    if "image_url" in text:
        return said("Yellow", " and violet.", usage=usage(100))
    if "reasoning_effort" in body:
        return said("9", "", usage=usage(30, reasoning=400 if body["reasoning_effort"] == "high" else 20))
    return said("one, ", "two", usage=usage(1_300, cached=1_280 if "box 42" in text else 0))


async def test_a_service_that_can_do_everything_is_seen_to_do_it_and_each_call_is_counted() -> None:
    found, calls, requests = await seen(able)
    assert {ability: one.verdict for ability, one in found.items()} == dict.fromkeys(Ability, Verdict.YES)
    assert found[Ability.STREAMING].numbers["pieces"] == 2
    assert found[Ability.EFFORT].numbers == {"low": 20, "high": 400}
    assert found[Ability.CACHING].numbers == {"cached": 1_280, "prompt": 1_300}
    assert found[Ability.CONTEXT].numbers == {"tokens": SIZE}
    assert len(calls) == len(requests) == 6


def dull(request: Request) -> Reply:
    """A server that does not stream, ignores pictures and efforts, and reports no tokens."""
    del request
    return whole(200, {"choices": [{"message": {"content": "Here is my answer."}, "finish_reason": "stop"}]})


async def test_a_server_that_does_not_stream_and_ignores_the_rest_is_seen_so() -> None:
    found, _, _ = await seen(dull)
    assert [found[ability].verdict for ability in Ability] == [
        *(Verdict.NO, Verdict.NO, Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.YES)
    ]
    assert found[Ability.STREAMING].numbers["pieces"] == 1
    assert found[Ability.PICTURES].numbers == {}


def rambling(request: Request) -> Reply:
    """A service whose model does not find an end."""
    body = request.json
    if "reasoning_effort" in body:
        lines = "".join(f"Then I count letter number {number} of the words. " for number in range(2_000))
        return said(*[lines[start : start + 500] for start in range(0, len(lines), 500)], usage=usage(30))
    return said(*["I do not know that. "] * 5_000, usage=usage(30))


async def test_an_answer_without_an_end_is_stopped_and_nothing_is_concluded_from_its_tokens() -> None:
    found, calls, _ = await seen(rambling)
    assert found[Ability.STREAMING].verdict is Verdict.YES
    assert found[Ability.EFFORT] == found[Ability.CACHING] == Seen(Verdict.FAILED, why=ANSWER_STOPPED)
    assert found[Ability.CONTEXT].verdict is Verdict.YES
    assert max(call.usage.output for call in calls) < 4_000


def refusing(request: Request) -> Reply:
    """A service that refuses what it cannot do, and caches nothing."""
    body = request.json
    if "image_url" in json.dumps(body["messages"]):
        return whole(400, {"error": {"message": "This model does not support image input."}})
    if "reasoning_effort" in body:
        return whole(
            400, {"error": {"message": "Unsupported parameter: reasoning_effort", "param": "reasoning_effort"}}
        )
    return said("one, ", "two", usage=usage(1_300))


async def test_what_a_service_refuses_is_no_ability_and_is_asked_without() -> None:
    found, _, requests = await seen(refusing)
    assert found[Ability.PICTURES] == Seen(Verdict.NO, {"refused": 1})
    assert found[Ability.EFFORT] == Seen(Verdict.NO)
    assert found[Ability.CACHING] == Seen(Verdict.NO, {"cached": 0, "prompt": 1_300})
    assert sum("reasoning_effort" in request.json for request in requests) == 1


def crashing(request: Request) -> Reply:
    if "image_url" in json.dumps(request.json["messages"]):
        return whole(500, {"error": {"message": "CUDA error"}})
    return able(request)


async def test_one_question_that_fails_leaves_the_others_to_be_tried() -> None:
    found, _, _ = await seen(crashing)
    assert found[Ability.PICTURES].verdict is Verdict.FAILED
    assert "server error (500)" in found[Ability.PICTURES].why
    assert found[Ability.EFFORT].verdict is found[Ability.CACHING].verdict is Verdict.YES


async def test_a_wrong_key_ends_the_check_at_its_first_question() -> None:
    with pytest.raises(ProviderRefused, match="refused the API key"):
        await seen(lambda _: whole(401, {"error": {"message": "Incorrect API key provided: sk-organization-1111"}}))


async def test_a_server_that_hangs_ends_the_check_after_the_time_for_a_first_word() -> None:
    with pytest.raises(ProviderSilent, match=r"did not start to answer within 0\.1 s"):
        await seen(lambda _: [head(), Wait(asyncio.Event().wait)], first_token_s=0.1)


async def test_an_effort_is_not_tried_where_the_bot_sends_none() -> None:
    clock, calls = FakeClock(), list[ModelCall]()

    async def count(call: ModelCall) -> None:
        calls.append(call)

    async def unknown() -> int | None:
        return None

    check = AbilityCheck(RehearsalProvider(sleep=clock.sleep), clock, count, unknown)
    found = {ability: one.verdict async for ability, one in check.run()}
    assert found[Ability.EFFORT] is found[Ability.PICTURES] is Verdict.NOT_SENT
    assert found[Ability.CONTEXT] is Verdict.UNKNOWN
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("times", "verdict"),
    [((0.2, 3.0), Verdict.YES), ((2.97, 3.0), Verdict.NO), ((0.2, 0.201), Verdict.YES), ((3.0,), Verdict.NO)],
)
async def test_pieces_that_all_come_at_the_end_are_no_stream(times: Sequence[float], verdict: Verdict) -> None:
    from agent.providers.scripted import Part, ScriptedProvider, ScriptPause  # noqa: PLC0415 -- for this test only

    clock, script, now = FakeClock(), list[Part](), 0.0
    for time in times:
        script += [ScriptPause(time - now), "piece"]
        now = time
    model = ScriptedProvider([script], sleep=clock.sleep)

    async def count(_: ModelCall) -> None:
        pass

    async def size() -> int | None:
        return None

    run = AbilityCheck(model, clock, count, size).run()
    ability, streaming = await anext(run)
    await run.aclose()
    assert (ability, streaming.verdict) == (Ability.STREAMING, verdict)
    assert streaming.numbers["last_ms"] == round(times[-1] * 1000)


def test_the_picture_has_two_colors_in_two_halves() -> None:
    picture = Image.open(BytesIO(two_colors()))
    assert picture.size == (64, 64)
    assert {picture.getpixel((x, y)) for x in range(64) for y in range(32)} == {(255, 221, 0)}
    assert {picture.getpixel((x, y)) for x in range(64) for y in range(32, 64)} == {(128, 0, 160)}
