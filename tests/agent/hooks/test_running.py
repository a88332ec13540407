"""Hooks that fail in each way that an operator's code can: what they guard is refused, and an answer is shown."""

import asyncio
import logging
import threading
from typing import Any

import pytest

from agent import texts
from agent.hooks.running import MAX_SENTENCE_CHARS, MAX_TEXT_CHARS
from agent.hooks.thread import MAX_BLOCKED, MAX_CALLS
from agent.hooks.values import (
    Answer,
    Call,
    FileText,
    Hide,
    HookEnd,
    HookPoint,
    HookUse,
    ModelRequest,
    Question,
    Refuse,
)
from tests.agent.hooks.hook_modules import Function, hooks_with
from tests.patience import PATIENCE_S

ASKED = Question("Where is ann@example.com?", (FileText("attached file a.txt", "Ann"),), "slack:T1:U1", "C1", "c")
CALL = Call("send", {"to": "ann", "copies": [1, 2]}, "acts outward")
ANSWER = Answer("She is at home.")
CLOSED = Refuse(texts.HOOK_FAILED)


async def raises(_: object) -> object:
    raise ValueError("ann@example.com")


async def exits(_: object) -> object:
    raise SystemExit(3)


async def cancels_itself(_: object) -> object:
    raise asyncio.CancelledError


async def hangs(_: object) -> object:
    await asyncio.Event().wait()
    return None


async def returns_a_number(_: object) -> object:
    return 7


async def returns_nothing(_: object) -> object:
    return None


async def is_huge(given: object) -> object:
    huge = "x" * (MAX_TEXT_CHARS + 1)
    match given:
        case Question():
            return Question(huge, given.files)
        case Call():
            return Call(given.tool, {"to": huge})
        case ModelRequest():
            return Hide({"ann@example.com": huge})
        case _:
            return huge


async def says_nothing(_: object) -> object:
    return Refuse("  ")


FAILURES: list[Function] = [raises, exits, cancels_itself, hangs, returns_a_number, is_huge, says_nothing]


@pytest.mark.parametrize("function", [*FAILURES, returns_nothing])
async def test_before_fails_closed(function: Function, caplog: pytest.LogCaptureFixture) -> None:
    uses = list[HookUse]()
    with hooks_with(function, function, function, uses=uses, timeout_s=0.05) as hooks:
        results = [
            (await hooks.question(ASKED))[0],
            (await hooks.call(CALL))[0],
            (await hooks.model(ModelRequest(("a",))))[0],
        ]
    assert results == [CLOSED] * 3
    assert [(use.point, use.end) for use in uses] == [
        (point, HookEnd.FAILED) for point in (HookPoint.BEFORE_QUESTION, HookPoint.BEFORE_CALL, HookPoint.BEFORE_MODEL)
    ]
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 3


@pytest.mark.parametrize("function", FAILURES)
async def test_after_answer_fails_open(function: Function, caplog: pytest.LogCaptureFixture) -> None:
    with hooks_with(timeout_s=0.05, after_answer=function) as hooks:
        shown, use = await hooks.answer(ANSWER)
    assert (shown, use.end) == (None, HookEnd.FAILED)
    assert "the hook after_answer" in caplog.text


async def test_a_sentence_of_a_refusal_is_for_the_person_and_bounded() -> None:
    async def refuses(_: object) -> object:
        return Refuse(f" No. {'x' * 1_000}")

    with hooks_with(before_question=refuses, after_answer=refuses) as hooks:
        refused, use = await hooks.question(ASKED)
        answer, _ = await hooks.answer(ANSWER)
    assert isinstance(refused, Refuse)
    assert refused == answer
    assert refused.sentence.startswith("No. x")
    assert len(refused.sentence) == MAX_SENTENCE_CHARS + 1
    assert use.end is HookEnd.REFUSED


async def test_texts_are_replaced_and_nothing_else_of_a_question() -> None:
    async def changes(_: Question) -> Question:
        return Question("Where?", (FileText("another name", "A."),), person="somebody else")

    with hooks_with(before_question=changes) as hooks:
        changed, use = await hooks.question(ASKED)
    assert changed == Question("Where?", (FileText("attached file a.txt", "A."),), "slack:T1:U1", "C1", "c")
    assert use.end is HookEnd.CHANGED


async def test_a_question_keeps_its_files() -> None:
    async def drops(question: Question) -> Question:
        return Question(question.text)

    with hooks_with(before_question=drops) as hooks:
        assert (await hooks.question(ASKED))[0] == CLOSED


async def test_arguments_are_replaced_also_where_they_are_written_into() -> None:
    async def writes(call: Call) -> Call:
        call.arguments["to"] = "ben"  # type: ignore[index] -- as a function of the operator may
        return call

    with hooks_with(before_call=writes) as hooks:
        changed, use = await hooks.call(CALL)
    assert changed == Call("send", {"to": "ben", "copies": [1, 2]}, "acts outward")
    assert use.end is HookEnd.CHANGED
    assert CALL.arguments["to"] == "ann"


@pytest.mark.parametrize("arguments", [{"to": {1, 2}}, {"to": float("nan")}, ["ben"], None])
async def test_arguments_are_json(arguments: Any) -> None:
    async def changes(call: Call) -> Call:
        return Call(call.tool, arguments)

    with hooks_with(before_call=changes) as hooks:
        assert (await hooks.call(CALL))[0] == CLOSED


async def test_a_call_keeps_its_tool() -> None:
    async def changes(_: Call) -> Call:
        return Call("delete_all", {})

    with hooks_with(before_call=changes) as hooks:
        assert (await hooks.call(CALL))[0] == CLOSED


async def test_without_a_function_all_passes() -> None:
    with hooks_with(before_call=raises) as hooks:
        assert [(await hooks.question(ASKED))[0], (await hooks.answer(ANSWER))[0]] == [ASKED, None]
        assert (await hooks.model(ModelRequest(("a",))))[0] == Hide()


async def test_one_that_blocks_stalls_neither_the_event_loop_nor_the_next_hook() -> None:
    began, released = threading.Event(), threading.Event()

    async def blocks_once(question: Question) -> Question:
        if question.text == "block":
            began.set()
            released.wait(PATIENCE_S)
        return question

    with hooks_with(timeout_s=0.1, responds_s=0.02, before_question=blocks_once) as hooks:
        asking = asyncio.create_task(hooks.question(Question("block")))
        assert await asyncio.to_thread(began.wait, PATIENCE_S)
        assert not asking.done()  # this loop goes on while the function blocks
        blocked, _ = await asking
        passed, _ = await hooks.question(ASKED)
        assert not released.is_set()
        released.set()
    assert (blocked, passed) == (CLOSED, ASKED)


async def test_too_many_that_block_are_refused_at_once_until_one_returns() -> None:
    released, called = threading.Event(), list[str]()

    async def blocks(question: Question) -> Question:
        called.append(question.text)
        released.wait(PATIENCE_S)
        return question

    with hooks_with(timeout_s=0.005, responds_s=0.005, before_question=blocks) as hooks:
        results = [(await hooks.question(ASKED))[0] for _ in range(MAX_BLOCKED + 3)]
        assert (results, len(called)) == ([CLOSED] * (MAX_BLOCKED + 3), MAX_BLOCKED)
        released.set()

        async def passes() -> bool:
            return (await hooks.question(ASKED))[0] == ASKED

        async with asyncio.timeout(PATIENCE_S):
            while not await passes():
                pass


async def test_calls_that_wait_behind_one_that_blocks_leave_nothing_behind() -> None:
    began, released = threading.Event(), threading.Event()

    async def blocks_once(question: Question) -> Question:
        if question.text == "block":
            began.set()
            released.wait(PATIENCE_S)
        return question

    with hooks_with(blocks_once, timeout_s=0.05, responds_s=0.02) as hooks:
        blocking = asyncio.create_task(hooks.question(Question("block")))
        assert await asyncio.to_thread(began.wait, PATIENCE_S)
        waiting = [hooks.question(ASKED) for _ in range(MAX_CALLS + 10)]
        results = await asyncio.gather(blocking, *waiting)
        released.set()
        assert {result for result, _ in results} == {CLOSED}
        assert (await hooks.question(ASKED))[0] == ASKED


async def test_one_that_stops_its_own_loop_stops_no_other() -> None:
    async def stops(question: Question) -> Question:
        if question.text == "stop":
            asyncio.get_running_loop().stop()
            await asyncio.Event().wait()
        return question

    with hooks_with(stops, timeout_s=0.1, responds_s=0.05) as hooks:
        for _ in range(MAX_BLOCKED + 2):
            assert (await hooks.question(Question("stop")))[0] == CLOSED
        assert (await hooks.question(ASKED))[0] == ASKED


async def test_a_client_that_a_hook_keeps_works_in_each_call() -> None:
    lock = asyncio.Lock()

    async def uses_it(question: Question) -> Question:
        async with lock:
            await asyncio.sleep(0)
        return question

    with hooks_with(before_question=uses_it) as hooks:
        results = await asyncio.gather(*(hooks.question(ASKED) for _ in range(20)))
    assert [result for result, _ in results] == [ASKED] * 20


async def test_a_caller_that_is_cancelled_cancels_the_hook() -> None:
    began, ended = threading.Event(), threading.Event()

    async def waits(question: Question) -> Question:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return question

    with hooks_with(before_question=waits) as hooks:
        asking = asyncio.create_task(hooks.question(ASKED))
        assert await asyncio.to_thread(began.wait, PATIENCE_S)
        asking.cancel()
        assert await asyncio.to_thread(ended.wait, PATIENCE_S)
        with pytest.raises(asyncio.CancelledError):
            await asking
