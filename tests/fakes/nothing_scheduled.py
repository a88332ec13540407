"""Replies that created no schedules."""

from agent.errors import Refused
from agent.shown_replies import Answered
from bot.schedules import texts as schedule_texts


class NothingScheduled:
    """Implements `ScheduleNotes`."""

    async def change_words(self, answered: Answered, person: str) -> str:  # noqa: ARG002 -- required by the port
        raise Refused(schedule_texts.NOT_ANY_MORE)

    async def take_back(self, answered: Answered, person: str) -> str:  # noqa: ARG002 -- required by the port
        return schedule_texts.NOT_ANY_MORE
