"""The past threads that a question is about, whole: what recall finds, read as threads rather than as single hits.

Above: `bot.turns.thinking`. Below: the ports Memories and Conversations, `agent.memory.earlier`.

Rules: only threads in which the person wrote, of the current one only what its model no longer sees, and of all of them
only what may flow into this reply. If no word of the question was ever said, the person's latest thread is what they
most likely mean.
"""

from datetime import datetime
from typing import Final

from agent.memory.earlier import Said
from agent.memory.periods import periods_in
from agent.memory.statements import sentences, telling_part
from agent.ports import Conversations, Memories
from agent.records import Author, Person, RecallQuery, StoredMessage
from agent.tokens import fit_newest

THREADS: Final = 2
"""Of the best hits: more are another subject more often than not."""
MESSAGES: Final = 40
"""Of one thread, the newest: about as many as fit the budget, and read in milliseconds."""
HERE: Final = 10
"""Of what the model no longer sees of this conversation: the best hits alone, as the thread itself goes on in sight."""
CHARS: Final = 12_000
"""Of all of it, the newest, with SENTENCE_CHARS for each sentence: as much as all layers of a context together, read in
milliseconds."""
SENTENCE_CHARS: Final = 60
"""What reading a sentence costs besides its characters: ten thousand of one word are not cheaper than a book."""
_EVERY_TURN: Final = 2**31 - 1
"""The greatest number that both engines take for a turn."""


def query_about(
    question: str, person: Person, audiences: frozenset[str], conversation: str, now: datetime
) -> RecallQuery:
    """What to look for when a person asks this: of a pasted book, what its beginning and its end are about."""
    question = telling_part(question)
    periods = periods_in(question, now, person.time_zone)
    return RecallQuery(person.id, question, audiences, conversation, periods=periods)


async def recollect(memories: Memories, conversations: Conversations, query: RecallQuery) -> list[Said]:
    """What was said in the threads that `query` is about, the oldest message first."""
    hits = await memories.search(query)
    here = [hit.message for hit in hits if hit.message.conversation == query.exclude_conversation][:HERE]
    found = dict.fromkeys(hit.message.conversation for hit in hits)
    elsewhere = [one for one in found if one != query.exclude_conversation][:THREADS]
    if not hits:
        elsewhere = await _latest(conversations, query)
    said = [*here, *[message for one in elsewhere for message in await _thread(conversations, one)]]
    usable = [message for message in said if message.audience in query.audiences]
    newest = sorted(usable, key=lambda message: (message.time, message.id), reverse=True)
    kept = fit_newest(((message, reading_cost(message.text)) for message in newest), CHARS)
    return [_said(message, query.person) for message in kept]


async def _latest(conversations: Conversations, query: RecallQuery) -> list[str]:
    latest = await conversations.latest_elsewhere(query.person, query.exclude_conversation)
    return [] if latest is None else [latest]


async def _thread(conversations: Conversations, conversation: str) -> list[StoredMessage]:
    return await conversations.history(conversation, before_turn=_EVERY_TURN, limit=MESSAGES)


def reading_cost(text: str) -> int:
    """What of CHARS a message takes."""
    return len(text) + SENTENCE_CHARS * len(sentences(text))


def _said(message: StoredMessage, person: str) -> Said:
    by_bot = message.author is Author.BOT
    return Said(
        message.text,
        message.time,
        not by_bot and message.person == person,
        message.id,
        by_bot,
        message.name,
        message.person,
    )
