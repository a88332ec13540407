"""Places that know nothing: for what is tested beside them."""

from collections.abc import Sequence

from agent.records import Attachment
from bot.host import KnowledgeAnswer, KnowledgeAsker
from bot.texts import memory_texts


class NothingKnown:
    """Implements `PlaceKnowledge`."""

    async def answer(self, asker: KnowledgeAsker, words: str) -> KnowledgeAnswer:  # noqa: ARG002 -- as the port says
        return KnowledgeAnswer(memory_texts.NOTHING_KNOWN)

    async def learn(
        self,
        asker: KnowledgeAsker,  # noqa: ARG002 -- as above
        files: Sequence[Attachment],  # noqa: ARG002 -- as above
        link: str = "",  # noqa: ARG002 -- as above
        pages: Sequence[str] = (),  # noqa: ARG002 -- as above
    ) -> KnowledgeAnswer:
        return KnowledgeAnswer(memory_texts.NOTHING_TO_LEARN, refused=True)
