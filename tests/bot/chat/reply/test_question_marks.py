"""The marks of a question follow its turn, one after the other."""

import asyncio
from collections.abc import Coroutine

import pytest

from bot.chat.reply.question_marks import Mark, QuestionMark
from bot.chat.reply.surface import ReplyEnd

ENDINGS = {
    ReplyEnd.DONE: {Mark.DONE},
    ReplyEnd.FAILED: {Mark.FAILED},
    ReplyEnd.STOPPED: set[Mark](),
    ReplyEnd.SILENT: set[Mark](),
    ReplyEnd.TAKEN_BACK: set[Mark](),
    ReplyEnd.WAITS: {Mark.WORKING},
    ReplyEnd.CONTINUES: {Mark.WORKING},
}


@pytest.mark.parametrize("end", ReplyEnd)
@pytest.mark.parametrize("is_slow", [True, False])
async def test_each_end_leaves_its_mark_also_if_it_comes_before_the_first_call(end: ReplyEnd, *, is_slow: bool) -> None:
    shown, tasks, is_marked = set[Mark](), list[asyncio.Task[None]](), asyncio.Event()

    async def apply(mark: Mark, is_shown: bool) -> None:
        await asyncio.sleep(0)
        (shown.add if is_shown else shown.discard)(mark)
        is_marked.set()

    def start(work: Coroutine[object, object, None]) -> None:
        tasks.append(asyncio.create_task(work))

    mark = QuestionMark(apply, start)
    mark.begin()
    if is_slow:
        await is_marked.wait()
    mark.finish(end)
    await tasks[0]
    assert shown == ENDINGS[end]
