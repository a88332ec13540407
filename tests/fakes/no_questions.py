"""Tools that ask no questions: the port `ToolQuestions` of bots without turns."""

from agent.errors import Refused
from bot.tools import texts as tool_texts
from bot.tools.answers import AskedWindow, QuestionAnswer


class NoQuestions:
    async def answer(self, person: str, words: str) -> QuestionAnswer | None:  # noqa: ARG002 -- no tool asks
        return None

    async def window(self, person: str, words: str) -> AskedWindow:  # noqa: ARG002 -- no tool asks
        raise Refused(tool_texts.QUESTION_OVER)
