"""What an agent keeps when nobody gives it a database: all of it in this process, and gone with it.

Rules
  It answers as the store does, by the same rules (`agent.memory`), over what is little: a search looks at the words of
  every message.
  It is bounded: of messages and of facts the oldest go.
"""

import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Self

from agent.admission_terms import Terms
from agent.memory import writing
from agent.memory.audience import WIDE, drawn_from, label
from agent.memory.facts import FACTS_KEPT, Fact
from agent.memory.layers import WorkingItem
from agent.memory.profile import UserProfile
from agent.memory.writing import NewFact, WriteRefused, Written
from agent.messages import as_it_looks
from agent.records import (
    Accepted,
    Author,
    Claim,
    Claiming,
    Closing,
    Hit,
    Incoming,
    Job,
    Known,
    RecallQuery,
    StoredMessage,
)
from agent.state import LastActions, SituationSummary

MAX_MESSAGES: Final = 10_000  # Of a thousand letters each: some twenty megabytes, and some sixty milliseconds to search
MAX_READ_CHARS: Final = 4_000  # Of one message, for a search: as much as is quoted of it
SHORT_CHARS: Final = 2  # Words of so few letters say little of what a text is about
_WORD: Final = re.compile(r"\w+")
MAX_ITEMS: Final = 1_000  # Scratch values: a day of a busy conversation


@dataclass(slots=True, eq=False)
class InProcessStore:
    """Implements `AgentStore`: each of its parts is the whole."""

    _said: deque[tuple[int, StoredMessage]] = field(default_factory=lambda: deque(maxlen=MAX_MESSAGES))
    """Each message with its turn, in order."""
    _looks: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_MESSAGES))
    """How each of them looks, for a search."""
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

    # Turns: whoever asks is the only one, so a question is claimed as it is asked.

    async def accept(
        self,
        incoming: Incoming,
        terms: Terms | None = None,  # noqa: ARG002 -- nobody else asks
        claiming: Claiming | None = None,
    ) -> Accepted:
        turn, message = self._number(), self._number()
        self._keep(turn, message, incoming, Author.PERSON, incoming.text, incoming.time)
        claim = None if claiming is None else Claim(turn, 1, claiming.owner, incoming, message)
        return Accepted(turn, duplicate=False, claim=claim)

    async def claim(self, claiming: Claiming) -> Claim | None:  # noqa: ARG002 -- nothing ever waits
        return None

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None: ...

    async def save(self, claim: Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None: ...

    async def release(self, claim: Claim) -> None: ...

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:  # noqa: ARG002 -- nobody has left any
        return 0

    async def hold_place(self, source: str, until: datetime) -> bool:  # noqa: ARG002 -- nothing ever waits
        return True

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        here = claim.incoming.conversation
        if closing.reply:
            asked = claim.incoming
            given = {one.drawn_from for _, one in self._said if one.id in closing.given_messages}
            again = self._drawn_again(here, closing.reply)
            drawn = drawn_from({closing.drawn_from, *given, *again}, asked.place)
            self._keep(claim.turn, self._number(), asked, Author.BOT, closing.reply, now, drawn)
        if closing.summary is not None:
            before = self._summaries.get(here, SituationSummary())
            told = {name: text for name in closing.summary.__slots__ if (text := getattr(closing.summary, name))}
            self._summaries[here] = before.merged(told)
        return False

    def _drawn_again(self, here: str, reply: str) -> set[str]:
        """What the replies above it were drawn from of which it has a word that is in nothing else there."""
        above = [one for _, one in self._said if one.conversation == here]
        narrow = [one for one in above if one.drawn_from != WIDE]
        if not narrow:
            return set()
        words = _words(reply).difference(*(_words(one.text) for one in above if one.drawn_from == WIDE))
        return {one.drawn_from for one in narrow if not words.isdisjoint(_words(one.text))}

    def _keep(
        self, turn: int, id_: int, incoming: Incoming, author: Author, text: str, time: datetime, drawn: str = WIDE
    ) -> None:
        said = StoredMessage(
            id_,
            incoming.conversation,
            author,
            incoming.person.id,
            incoming.person.name,
            text,
            time,
            label(incoming.place.audience),
            drawn_from=drawn,
        )
        self._said.append((turn, said))
        self._looks.append(as_it_looks(text[:MAX_READ_CHARS]))
        if len(self._summaries) > len(self._said):  # of conversations that are gone
            here = {message.conversation for _, message in self._said}
            self._summaries = {name: one for name, one in self._summaries.items() if name in here}

    # What was said.

    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        said = [one for turn, one in self._said if one.conversation == conversation and turn < before_turn]
        return said[-limit:]

    async def latest_elsewhere(self, person: str, conversation: str) -> str | None:
        theirs = (one.conversation for _, one in reversed(self._said) if one.person == person)
        return next((one for one in theirs if one != conversation), None)

    async def known(
        self,
        incoming: Incoming,
        audiences: frozenset[str],
        *,
        before_turn: int,
        messages: int,
        actions: int,  # noqa: ARG002 -- a summary or the beginnings of messages stand for them
    ) -> Known:
        here, person = incoming.conversation, incoming.person.id
        usable = [fact for fact in self._facts if fact.person in {"", person} and fact.audience in audiences]
        items = [
            item
            for conversation, audience, item in self._items
            if conversation == here and audience in audiences and (item.expires_at or incoming.time) >= incoming.time
        ]
        return Known(
            await self.history(here, before_turn=before_turn, limit=messages),
            self._summaries.get(here, SituationSummary()),
            LastActions(),
            usable,
            UserProfile(person),
            wrote_elsewhere=await self.latest_elsewhere(person, here) is not None,
            working_set=items,
        )

    async def search(self, query: RecallQuery) -> list[Hit]:
        """The messages of the person's threads with the rarest words of the question; of equals the newest first."""
        theirs = {one.conversation for _, one in self._said if one.person == query.person}
        wanted = [_words(one) for one in (query.text, *query.wordings)]
        sought = frozenset[str]().union(*wanted)
        words = {
            one: _words_in(looks, sought)
            for (_, one), looks in zip(self._said, self._looks, strict=True)
            if one.conversation in theirs and _is_asked_for(one, query)
        }
        known = Counter(word for each in words.values() for word in each)
        found = [
            Hit(one, score)
            for one, here in reversed(words.items())
            if (score := max(sum(1 / known[word] for word in each & here) for each in wanted)) > 0
        ]
        return sorted(found, key=lambda hit: hit.score, reverse=True)[: query.limit]

    async def index_more(self, job: Job) -> bool:  # noqa: ARG002 -- a search looks at the messages themselves
        return False

    # Facts and scratch values.

    async def write(self, new: NewFact) -> Written | WriteRefused:
        new = replace(new, id=str(self._number()))
        facts, changes = writing.write(self._facts, new)
        self._facts, dropped = facts[-FACTS_KEPT:], max(0, len(facts) - FACTS_KEPT)
        outcome = writing.outcome(facts, changes, new)
        return replace(outcome, dropped=dropped) if isinstance(outcome, Written) else outcome

    async def keep(self, conversation: str, audience: str, item: WorkingItem) -> None:
        others = [one for one in self._items if (one[0], one[2].key) != (conversation, item.key)]
        self._items = deque([*others, (conversation, audience, item)], MAX_ITEMS)


def _is_asked_for(one: StoredMessage, query: RecallQuery) -> bool:
    here = one.conversation == query.exclude_conversation
    by = query.by.casefold()
    return (
        query.admits(one)
        and not (here and one.id >= query.visible_from)
        and (query.author is None or one.author is query.author)
        and (not by or (one.author is Author.PERSON and by in {one.person.casefold(), one.name.casefold()}))
        and (query.within is None or query.within.since <= one.time < query.within.until)
    )


def _words_in(looks: str, sought: frozenset[str]) -> frozenset[str]:
    """Those that are sought; most texts hold none of them, which shows before they are taken apart."""
    return sought.intersection(_WORD.findall(looks)) if any(word in looks for word in sought) else frozenset()


def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(as_it_looks(text[:MAX_READ_CHARS]))
    return frozenset(word for word in found if len(word) > SHORT_CHARS or not word.isascii())
