"""The button below an answer in a forum post, with which the post's author marks it as solved."""

from dataclasses import dataclass
from typing import ClassVar

from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.chat.reply.surface import ReplyAction
from bot.forums.service import ForumService


@dataclass(frozen=True, slots=True)
class SolvedNote:
    """It has no text: the button stands among the others."""

    service: ForumService
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        offers = ended.kind.is_asked and await self.service.offers(ended.question)
        return NoteLine("", frozenset({ReplyAction.SOLVED})) if offers else NO_LINE
