"""The button below an answer that was drawn from more than its own conversation."""

from dataclasses import dataclass
from typing import ClassVar

from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.chat.reply.surface import ReplyAction


@dataclass(frozen=True, slots=True)
class WhyNote:
    """It has no text: the button stands among the others."""

    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        closing = ended.closing
        has_sources = closing.context_facts or closing.given_messages or closing.given_documents or closing.used_tools
        shows = ended.kind.is_asked and (has_sources or ended.why_another)
        return NoteLine("", frozenset({ReplyAction.WHY})) if shows else NO_LINE
