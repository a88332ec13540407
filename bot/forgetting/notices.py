"""The line below an answer whose question was edited after the answer had begun."""

from dataclasses import dataclass
from typing import ClassVar

from agent.ports.forgetting import Forgetting
from bot.chat.notes import NO_LINE, EndedTurn, NoteLine
from bot.forgetting import texts as forgetting_texts


@dataclass(frozen=True, slots=True)
class EditedNotice:
    forgetting: Forgetting
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:
        question = ended.question
        # The text of spoken words is stored later.
        if question.files or not (question.kind.is_asked or ended.closing.used_tools):
            return NO_LINE
        text = await self.forgetting.text(question.source, question.channel, question.message_id)
        return NO_LINE if text in (None, question.text) else NoteLine(forgetting_texts.EDITED_MEANWHILE)
