"""Places without documents, and without schedules: for tests of other parts."""

from collections.abc import Awaitable, Callable, Sequence

from agent.errors import Refused
from agent.records import Answered, Attachment
from bot.access.acl import ScheduleAnswer
from bot.host import KnowledgeAnswer, PlaceAsker
from bot.texts import memory_texts, schedule_texts


class NothingKnown:
    """Implements `PlaceKnowledge`."""

    async def answer(
        self,
        asker: PlaceAsker,  # noqa: ARG002 -- required by the port
        words: str,  # noqa: ARG002 -- as above
        say: Callable[[str], Awaitable[None]],  # noqa: ARG002 -- as above
    ) -> KnowledgeAnswer:
        return KnowledgeAnswer(memory_texts.NOTHING_KNOWN)

    def may_learn(self, asker: PlaceAsker) -> bool:
        return asker.manages

    async def learn(
        self,
        asker: PlaceAsker,  # noqa: ARG002 -- as above
        files: Sequence[Attachment],  # noqa: ARG002 -- as above
        link: str = "",  # noqa: ARG002 -- as above
        pages: Sequence[str] = (),  # noqa: ARG002 -- as above
    ) -> KnowledgeAnswer:
        return KnowledgeAnswer(memory_texts.NOTHING_TO_LEARN, refused=True)


class NothingScheduled:
    """Implements `ScheduleAnswers`."""

    async def remind(self, asker: PlaceAsker, words: str) -> ScheduleAnswer:  # noqa: ARG002 -- as above
        return ScheduleAnswer(schedule_texts.NO_TIME, refused=True)

    async def answer(self, asker: PlaceAsker, words: str) -> ScheduleAnswer:  # noqa: ARG002 -- as above
        return ScheduleAnswer(schedule_texts.NOTHING)

    async def change_words(self, answered: Answered, person: str) -> str:  # noqa: ARG002 -- as above
        raise Refused(schedule_texts.NOT_ANY_MORE)

    async def take_back(self, answered: Answered, person: str) -> str:  # noqa: ARG002 -- as above
        return schedule_texts.NOT_ANY_MORE
