"""The bot's marks on a question: one while it works, another once it is done, and another if it failed.

Each platform shows them its own way, such as reactions, by the `apply` that it supplies.

Rules
  Best effort: answers are the same without marks.
  One task sets all marks of a question, so that no call overtakes an earlier one.
  A turn that waits for its asker, or that another process continues, keeps its mark; the other process takes it over.
  What ends without a word (it was stopped, or its question was deleted) only loses its mark.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from bot.chat.reply.surface import ReplyEnd


class Mark(StrEnum):
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"


ENDED: Final[Mapping[ReplyEnd, Mark]] = {ReplyEnd.DONE: Mark.DONE, ReplyEnd.FAILED: Mark.FAILED}
_STAYS: Final = frozenset({ReplyEnd.CONTINUES, ReplyEnd.WAITS})


@dataclass(slots=True, eq=False)
class QuestionMark:
    """`begin` and `finish` return at once.

    `apply` shows a mark on the question, or removes it (False). It raises nothing, also if there is nothing to change.
    `start` runs a task in the background.
    """

    apply: Callable[[Mark, bool], Awaitable[None]]
    start: Callable[[Coroutine[object, object, None]], object]
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _end: ReplyEnd = ReplyEnd.CONTINUES

    def begin(self) -> None:
        self.start(self._mark())

    def finish(self, end: ReplyEnd) -> None:
        self._end = end
        self._ended.set()

    async def _mark(self) -> None:
        await self.apply(Mark.WORKING, True)  # noqa: FBT003 -- a callable has no keywords
        await self._ended.wait()
        if self._end in _STAYS:
            return
        await self.apply(Mark.WORKING, False)  # noqa: FBT003 -- a callable has no keywords
        if (mark := ENDED.get(self._end)) is not None:
            await self.apply(mark, True)  # noqa: FBT003 -- a callable has no keywords
