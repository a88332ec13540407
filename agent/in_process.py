"""The store of an agent without a database: everything is kept in this process and lost with it.

Rules
  It follows the same rules as the database store (`agent.memory`), for small amounts: a search reads every message.
  It is bounded: the oldest messages and facts are dropped.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Self

from agent.admission_terms import Terms
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory import writing
from agent.memory.audience import WIDE, drawn_from, label
from agent.memory.facts import FACTS_KEPT, Fact
from agent.memory.layers import WorkingItem
from agent.memory.profile import UserProfile
from agent.memory.writing import NewFact, WriteRefused, Written
from agent.messages import ModelCall, confusable_skeleton
from agent.recall_query import Hit, RecallQuery
from agent.state import LastActions, SituationSummary
from agent.stored_messages import Author, StoredMessage
from agent.turn_records import Accepted, Claim, Claiming, Closing, Known

MAX_MESSAGES: Final = 10_000  # With a thousand letters each: some 20 MB, and some 60 ms for a search
MAX_READ_CHARS: Final = 4_000  # Searched characters of one message: as many as are quoted of it
SHORT_CHARS: Final = 2  # Words up to this length say little about the topic of a text
_WORD: Final = re.compile(r"\w+")
MAX_ITEMS: Final = 1_000  # Scratch values: a day of a busy conversation


@dataclass(slots=True, eq=False)
class InProcessStore:
    """Implements `AgentStore`; this one object is also each of its parts."""

    _messages: deque[tuple[int, StoredMessage]] = field(default_factory=lambda: deque(maxlen=MAX_MESSAGES))
    """Each message with its turn, in order."""
    _search_texts: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_MESSAGES))
    """The text of each message as a search reads it (`confusable_skeleton`)."""
    _facts: tuple[Fact, ...] = ()
    _items: deque[tuple[str, str, WorkingItem]] = field(default_factory=lambda: deque(maxlen=MAX_ITEMS))
    _summaries: dict[str, SituationSummary] = field(default_factory=dict[str, SituationSummary])
    _number: Callable[[], int] = field(default_factory=lambda: count(1).__next__)

    @property
    def ledger(self) -> Self:
        return self

    @property
    def knowledge(self) -> Self:
        return self

    @property
    def memories(self) -> Self:
        return self

    @property
    def conversations(self) -> Self:
        return self

    @property
    def facts(self) -> Self:
        return self

    @property
    def working_set(self) -> Self:
        return self

    # Turns: there is only one process, so a question is claimed when it is accepted.

    async def accept(
        self,
        incoming: Incoming,
        terms: Terms | None = None,  # noqa: ARG002 -- there is only one asker
        claiming: Claiming | None = None,
    ) -> Accepted:
        turn, message = self._number(), self._number()
        self._add(turn, message, incoming, Author.PERSON, incoming.text, incoming.time)
        claim = None if claiming is None else Claim(turn, 1, claiming.owner, incoming, message)
        return Accepted(turn, duplicate=False, claim=claim)

    async def claim(self, claiming: Claiming) -> Claim | None:  # noqa: ARG002 -- nothing ever waits
        return None

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None: ...

    async def save(
        self,
        claim: Claim,
        *,
        progress: str | None = None,
        reply_ref: str | None = None,
        calls: Sequence[ModelCall] = (),
    ) -> None: ...

    async def release(self, claim: Claim) -> None: ...

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:  # noqa: ARG002 -- there is no other process
        return 0

    async def hold_place(self, source: str, until: datetime) -> bool:  # noqa: ARG002 -- nothing ever waits
        return True

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        incoming, conversation = claim.incoming, claim.incoming.conversation
        if closing.reply:
            given = {message.drawn_from for _, message in self._messages if message.id in closing.given_messages}
            reused = self._drawn_from_earlier(conversation, closing.reply)
            drawn = drawn_from({closing.drawn_from, *given, *reused}, incoming.place)
            self._add(claim.turn, self._number(), incoming, Author.BOT, closing.reply, now, drawn)
        if closing.summary is not None:
            before = self._summaries.get(conversation, SituationSummary())
            update = {name: text for name in closing.summary.__slots__ if (text := getattr(closing.summary, name))}
            self._summaries[conversation] = before.merged(update)
        return False

    def _drawn_from_earlier(self, conversation: str, reply: str) -> set[str]:
        """The `drawn_from` of narrow messages of the conversation that share with the reply a word found in no wide
        message.
        """
        earlier = [message for _, message in self._messages if message.conversation == conversation]
        narrow = [message for message in earlier if message.drawn_from != WIDE]
        if not narrow:
            return set()
        words = _words(reply).difference(*(_words(message.text) for message in earlier if message.drawn_from == WIDE))
        return {message.drawn_from for message in narrow if not words.isdisjoint(_words(message.text))}

    def _add(
        self, turn: int, id_: int, incoming: Incoming, author: Author, text: str, time: datetime, drawn: str = WIDE
    ) -> None:
        message = StoredMessage(
            id_,
            incoming.conversation,
            author,
            incoming.person.id,
            incoming.person.name,
            text,
            time,
            label(incoming.place.audience),
            drawn_from=drawn,
            own=incoming.own or author is Author.BOT,
        )
        self._messages.append((turn, message))
        self._search_texts.append(confusable_skeleton(text[:MAX_READ_CHARS]))
        if len(self._summaries) > len(self._messages):  # some are of conversations that are gone
            remaining = {message.conversation for _, message in self._messages}
            self._summaries = {id_: summary for id_, summary in self._summaries.items() if id_ in remaining}

    # Messages.

    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        messages = [
            message for turn, message in self._messages if message.conversation == conversation and turn < before_turn
        ]
        return messages[-limit:]

    async def newest_of(self, conversations: Sequence[str], *, limit: int) -> dict[str, list[StoredMessage]]:
        return {
            conversation: [message for _, message in self._messages if message.conversation == conversation][-limit:]
            for conversation in conversations
        }

    async def latest_elsewhere(self, person: str, conversation: str) -> str | None:
        latest = (message.conversation for _, message in reversed(self._messages) if message.person == person)
        return next((id_ for id_ in latest if id_ != conversation), None)

    async def for_turn(
        self,
        incoming: Incoming,
        audiences: frozenset[str],
        *,
        before_turn: int,
        messages: int,
        actions: int,  # noqa: ARG002 -- a summary or the beginnings of messages take their place
    ) -> Known:
        current, person = incoming.conversation, incoming.person.id
        usable = [fact for fact in self._facts if fact.person in {"", person} and fact.audience in audiences]
        items = [
            item
            for conversation, audience, item in self._items
            if conversation == current and audience in audiences and (item.expires_at or incoming.time) >= incoming.time
        ]
        return Known(
            await self.history(current, before_turn=before_turn, limit=messages),
            self._summaries.get(current, SituationSummary()),
            LastActions(),
            usable,
            UserProfile(person),
            wrote_elsewhere=await self.latest_elsewhere(person, current) is not None,
            working_set=items,
        )

    async def search(self, query: RecallQuery) -> list[Hit]:
        """The messages of the person's threads with the rarest words of the question; newest first at equal scores."""
        conversations = {message.conversation for _, message in self._messages if message.person == query.person}
        wordings = [_words(text) for text in (query.text, *query.wordings)]
        query_words = frozenset[str]().union(*wordings)
        matches = {
            message: _matching_words(search_text, query_words)
            for (_, message), search_text in zip(self._messages, self._search_texts, strict=True)
            if message.conversation in conversations and _passes_filters(message, query)
        }
        frequency = Counter(word for words in matches.values() for word in words)
        hits = [
            Hit(message, score)
            for message, words in reversed(matches.items())
            if (score := max(sum(1 / frequency[word] for word in wording & words) for wording in wordings)) > 0
        ]
        return sorted(hits, key=lambda hit: hit.score, reverse=True)[: query.limit]

    async def index_more(self, job: Job) -> bool:  # noqa: ARG002 -- there is no index: a search reads the messages
        return False

    # Facts and scratch values.

    async def write(self, new: NewFact) -> Written | WriteRefused:
        new = replace(new, id=str(self._number()))
        facts, changes = writing.write(self._facts, new)
        self._facts, dropped = facts[-FACTS_KEPT:], max(0, len(facts) - FACTS_KEPT)
        outcome = writing.outcome(facts, changes, new)
        return replace(outcome, dropped=dropped) if isinstance(outcome, Written) else outcome

    async def store_item(self, conversation: str, audience: str, item: WorkingItem) -> None:
        others = [entry for entry in self._items if (entry[0], entry[2].key) != (conversation, item.key)]
        self._items = deque([*others, (conversation, audience, item)], MAX_ITEMS)


def _passes_filters(message: StoredMessage, query: RecallQuery) -> bool:
    is_current = message.conversation == query.exclude_conversation
    by = query.by.casefold()
    return (
        query.admits(message)
        and not (is_current and message.id >= query.visible_from)
        and (query.author is None or message.author is query.author)
        and (not by or (message.author is Author.PERSON and by in {message.person.casefold(), message.name.casefold()}))
        and (query.within is None or query.within.since <= message.time < query.within.until)
    )


def _matching_words(search_text: str, words: frozenset[str]) -> frozenset[str]:
    """The words that the text contains. A substring test first rules out most texts without splitting them."""
    if not any(word in search_text for word in words):
        return frozenset()
    return words.intersection(_WORD.findall(search_text))


def _words(text: str) -> frozenset[str]:
    words = _WORD.findall(confusable_skeleton(text[:MAX_READ_CHARS]))
    return frozenset(word for word in words if len(word) > SHORT_CHARS or not word.isascii())
