"""The search of a person's past threads: a query, and what it finds."""

from dataclasses import dataclass

from agent.embeddings import Meaning
from agent.memory.audience import by_account, may_be_used
from agent.memory.periods import TimeSpan
from agent.stored_messages import Author, StoredMessage


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A search of one person's past threads, for a reply in one place.

    `audiences` holds the labels that may flow into that reply (`may_flow_from`); the store filters inside its query.
    `periods` are the times that the text mentions: messages of these times come first. Three fields are filters:
    `within` by time, `author` by the kind of writer, `by` by the name or id of a person. With a `meaning`, messages of
    a similar meaning are found too, if they have vectors of its model. `wordings` express the text in other words: each
    is searched separately, and messages that rank high in most of the searches come first.
    """

    person: str
    text: str
    audiences: frozenset[str]
    exclude_conversation: str
    """The current conversation: only its messages before `visible_from` (an id) are found; the model sees the rest."""
    limit: int = 10
    periods: tuple[TimeSpan, ...] = ()
    within: TimeSpan | None = None
    author: Author | None = None
    by: str = ""
    meaning: Meaning | None = None
    visible_from: int = 0
    wordings: tuple[str, ...] = ()
    shared: bool = False
    """Also search what other people share with their team (`agent.memory.documents.SHARING`)."""

    def admits(self, message: StoredMessage) -> bool:
        """Return whether the message may flow into the reply. Of a connected account only what its person wrote may:
        the bot's answers there may hold what belongs to places that stay apart.
        """
        is_current = message.conversation == self.exclude_conversation
        is_answer_elsewhere = message.author is Author.BOT and message.audience in self.of_connected
        flows = may_be_used(message.audience, message.drawn_from, self.audiences, here=is_current)
        return flows and not is_answer_elsewhere

    @property
    def of_connected(self) -> frozenset[str]:
        """The labels of the direct messages of the person's connected accounts."""
        accounts = by_account(self.person, self.audiences)
        return frozenset[str]().union(*(labels for account, labels in accounts.items() if account != self.person))


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message; a neighbouring message that helps is a separate hit. `shared`: by others, in a thread."""

    message: StoredMessage
    score: float
    shared: bool = False
