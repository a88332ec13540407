"""The buttons of requests for a human: below answers, and below the notice that somebody has taken over."""

from dataclasses import dataclass
from typing import ClassVar

from agent.handoffs import HandoffState
from agent.turn_kinds import TurnKind
from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.chat.reply.surface import ReplyAction
from bot.handoff import texts
from bot.handoff.ask_a_human import TOOL_NAME
from bot.handoff.service import HandoffService

HUMAN, HAND_BACK = frozenset({ReplyAction.HUMAN}), frozenset({ReplyAction.HAND_BACK})


@dataclass(frozen=True, slots=True)
class HandoffNote:
    """It has a text only if the model suggested to ask a human."""

    service: HandoffService
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        if ended.kind is TurnKind.HANDOFF:
            current = await self.service.handoffs.current(ended.question.conversation)
            return NoteLine("", HAND_BACK) if current and current.state is HandoffState.TAKEN else NO_LINE
        if not ended.kind.is_asked or not await self.service.offers(ended.question):
            return NO_LINE
        called = (call.name for record in ended.closing.actions for call in record.succeeded)
        return NoteLine(texts.SUGGESTION if TOOL_NAME in called else "", HUMAN)
