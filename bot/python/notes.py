"""The line below an answer that was computed with code or holds a chart, with the buttons that show how."""

from dataclasses import dataclass
from typing import ClassVar

from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.chat.reply.surface import ReplyAction
from bot.python import texts
from bot.python.chart_data import NAME as CHART
from bot.python.commands import PYTHON


@dataclass(frozen=True, slots=True)
class CodeNote:
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        called = {call.name for record in ended.closing.actions for call in record.calls if call.args}
        parts = [(PYTHON, texts.COMPUTED, ReplyAction.CODE), (CHART, texts.CHARTED, ReplyAction.NUMBERS)]
        used = [(text, action) for tool, text, action in parts if tool in called]
        if not used:
            return NO_LINE
        return NoteLine(" ".join(text for text, _ in used), frozenset(action for _, action in used))
