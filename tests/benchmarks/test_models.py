"""The questions to real models, and what is counted of their answers. No model is asked here."""

import asyncio
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web

from agent import Outcome, TurnEnded
from agent.messages import ToolCall, Usage
from benchmarks.models import LEAK, QUESTIONS, Counts, Question, TurnTrace, logging_proxy
from tests.patience import PATIENCE_S


def trace(shown: str, *calls: ToolCall, rounds: int = 1, outcome: Outcome = Outcome.ANSWERED) -> TurnTrace:
    return TurnTrace(shown, list(calls), rounds, TurnEnded(outcome, shown, Usage(input_uncached=600, input_cached=50)))


def test_sixty_different_questions_are_asked() -> None:
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS) == 60


def test_what_a_turn_came_to_is_counted() -> None:
    counts = Counts()
    counts.add(Question("hi"), trace("Hello!"))
    counts.add(Question("Rope?", "stock", ["rope"]), trace("12", ToolCall("stock", {"item": "Rope"}), rounds=2))
    counts.add(Question("Sails?", "stock", ["sail"]), trace("3", rounds=2))
    counts.add(Question("Oslo?", says=["oslo"]), trace("", outcome=Outcome.REFUSED))
    metrics = counts.metrics()
    assert metrics["calls_right"] == 0.5
    assert metrics["answers_right"] == 0
    assert metrics["answers_lost"] == 1
    assert (metrics["corrections"], metrics["corrections_helped"]) == (1, 1)
    assert metrics["tokens_hi"] == 650


def test_a_question_is_right_whose_answer_the_prompt_already_held() -> None:
    counts, question = Counts(), Question("Boat?", "recall", ["boat"], ["turquoise"])
    counts.add(question, trace("It is Turquoise."))
    counts.add(question, trace("Let me see.", ToolCall("recall", {"query": "boat"})))
    counts.add(question, trace("It is red."))
    assert counts.calls == [True, True, False]


@pytest.mark.parametrize(
    ("shown", "leaks"),
    [
        ("<execute>[]", True),
        ("[system 81f93c]", True),
        ("EXECUTION: round 1 of 10.", True),
        ('{"name": "recall", "arguments": {}}', True),
        ("It is blue.", False),
        ("Use `<summary>` in HTML.", False),
    ],
)
def test_protocol_that_a_person_saw_is_a_leak(shown: str, *, leaks: bool) -> None:
    counts = Counts()
    counts.add(Question("x"), trace(shown))
    assert bool(counts.leaks) is leaks
    assert bool(LEAK.search(shown)) is leaks


async def test_who_reads_no_further_ends_the_servers_answer_without_an_error(caplog: pytest.LogCaptureFixture) -> None:
    ended = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"data: {}\n\n" * 100)
        ended.set()
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", endless)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        async with logging_proxy(f"http://{host}:{port}/v1", None) as url, aiohttp.ClientSession() as session:
            async with session.post(f"{url}/chat/completions", json={}) as answer:
                await answer.content.readany()
            async with asyncio.timeout(PATIENCE_S):
                await ended.wait()
    finally:
        await runner.cleanup()
    assert "Error handling request" not in caplog.text
