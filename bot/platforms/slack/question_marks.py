"""The bot's reactions on a question: one while it works, another once it is done, and another if it failed.

Best effort: answers are the same without it. A reaction that another process has left is taken over.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from bot.chat.reply.surface import ReplyEnd
from bot.platforms.slack.agent_view import BestEffortCalls
from bot.platforms.slack.options import Method
from bot.platforms.slack.sockets import BackgroundTasks

WORKING: Final = "eyes"
ENDED: Final[Mapping[ReplyEnd, str]] = {ReplyEnd.DONE: "white_check_mark", ReplyEnd.FAILED: "warning"}


@dataclass(slots=True, eq=False)
class QuestionMark:
    """`message`: the question's time stamp. `begin` and `finish` return at once."""

    calls: BestEffortCalls
    underway: BackgroundTasks
    channel: str
    message: str
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _end: ReplyEnd = ReplyEnd.CONTINUES

    def begin(self) -> None:
        self.underway.start(self._mark())

    def finish(self, end: ReplyEnd) -> None:
        self._end = end
        self._ended.set()

    async def _mark(self) -> None:
        # One task for both, so that the second call never overtakes the first.
        await self._call(Method.ADD_REACTION, WORKING)
        await self._ended.wait()
        if self._end in {ReplyEnd.CONTINUES, ReplyEnd.WAITS}:
            return
        await self._call(Method.REMOVE_REACTION, WORKING)
        if (name := ENDED.get(self._end)) is not None:
            await self._call(Method.ADD_REACTION, name)

    async def _call(self, method: Method, name: str) -> None:
        await self.calls.call(method, self.channel, channel_key="channel", timestamp=self.message, name=name)
