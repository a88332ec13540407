"""The newest writes of this process, in memory: what it has taken in, begun, answered and forgotten.

Rules
  Only ids are kept, no words, and only of a database that several processes share: a file has no failover.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import nlargest
from typing import Final, TypeAlias

from agent.incoming import Incoming
from agent.memory.forgetting_plans import ForgettingPlan, OneReply
from agent.turn_records import Claim, Closing
from store.erased_ids import MARK
from store.json_columns import read_pages

MESSAGES: Final = 2_000  # More than a process takes in or answers while replication lags
FORGETTINGS: Final = 100
NEWEST: Final = 20  # More than are stored at the same moment, so that all may be numbered before the one that stays

Event: TypeAlias = tuple[str, str]
"""The source and the event id of a message."""
Post: TypeAlias = tuple[str, str, str]
"""The source, the channel and the message id of a message."""


@dataclass(frozen=True, slots=True)
class MessageIds:
    """The ids by which a message and its turn are found. `time`: of what is noted about it."""

    source: str
    event_id: str
    channel: str
    message_id: str
    conversation: str
    time: datetime

    @property
    def event(self) -> Event:
        return self.source, self.event_id

    @property
    def post(self) -> Post:
        return self.source, self.channel, self.message_id


@dataclass(frozen=True, slots=True)
class RecentMessage(MessageIds):
    """A message that this process has taken in or answered."""

    turn: int
    answered: bool


@dataclass(frozen=True, slots=True)
class BegunTurn(MessageIds):
    """A turn that this process has claimed. `pages`: where its reply can be continued. `shown`: its whole reply is
    shown, on the `final_pages`. `ended`: its end was stored.
    """

    owner: str = ""
    epoch: int = 0
    pages: tuple[str, ...] = ()
    final_pages: tuple[str, ...] = ()
    shown: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True)
class StoredForgetting:
    mark: str
    plan: ForgettingPlan
    time: datetime
    replies: bool
    related: bool


@dataclass(slots=True)
class WriteMemory:
    """The newest writes of this process. `process`: a name that no other process has."""

    process: str
    messages: deque[RecentMessage] = field(default_factory=lambda: deque[RecentMessage](maxlen=MESSAGES))
    forgettings: deque[StoredForgetting] = field(default_factory=lambda: deque[StoredForgetting](maxlen=FORGETTINGS))
    begun: dict[Event, BegunTurn] = field(default_factory=dict[Event, BegunTurn])
    """The turns that it has claimed, by their messages; the latest last."""
    abandoned: deque[BegunTurn] = field(default_factory=lambda: deque[BegunTurn](maxlen=MESSAGES))
    """Claims of turns that a failover lost, and that began anew before their pages were deleted: nobody continues
    these pages.
    """
    asks_for_settled: bool = False
    """Whether turns are claimed only while the timeline is settled: someone has to settle it."""
    _unseen: int = 0
    """How many of the newest messages no look has found yet."""
    _marks: int = 0

    def new_mark(self) -> str:
        self._marks += 1
        return f"{MARK}{self.process}:{self._marks}"

    def note_message(self, turn: int, incoming: Incoming, *, answered: bool) -> None:
        self._note(RecentMessage(*_ids(incoming), incoming.time, turn, answered))

    def _note(self, message: RecentMessage) -> None:
        self.messages.append(message)
        self._unseen = min(self._unseen + 1, MESSAGES)

    def has_answered(self, incoming: Incoming) -> bool:
        same_id = (each for each in self.messages if each.message_id == incoming.message_id)  # few, if any
        posted = incoming.source, incoming.channel, incoming.message_id
        return any(each.answered and each.post == posted for each in same_id)

    def note_claim(self, claim: Claim, now: datetime) -> None:
        pages = tuple(read_pages(claim.reply_ref or "[]"))
        before = self.begun.get((claim.incoming.source, claim.incoming.event_id))
        if before is not None and before.pages and not before.shown and claim.epoch <= before.epoch:
            self.abandoned.append(before)
        self._note_begun(BegunTurn(*_ids(claim.incoming), now, claim.owner, claim.epoch, pages))

    def note_pages(self, claim: Claim, pages: Sequence[str]) -> None:
        """Before the pages are stored: they are shown already."""
        if (begun := self._held(claim)) is not None:
            self._note_begun(replace(begun, pages=tuple(pages)))

    def note_shown(self, claim: Claim, closing: Closing) -> None:
        """Before the end is stored: the reply is shown, even if its turn is gone."""
        self.note_message(claim.turn, claim.incoming, answered=True)
        if (begun := self._held(claim)) is not None:
            self._note_begun(replace(begun, final_pages=closing.pages, shown=True))

    def note_ended(self, claim: Claim, joined: Iterable[RecentMessage]) -> None:
        """After the end was stored, also of the messages that the reply answers as well."""
        if (begun := self._held(claim)) is not None:
            self._note_begun(replace(begun, ended=True))
        for one in joined:
            self._note_begun(BegunTurn(*_ids(one), one.time, shown=True, ended=True))
            self._note(one)

    def _held(self, claim: Claim) -> BegunTurn | None:
        begun = self.begun.get((claim.incoming.source, claim.incoming.event_id))
        return begun if begun is not None and begun.epoch == claim.epoch else None

    def _note_begun(self, begun: BegunTurn) -> None:
        self.begun.pop(begun.event, None)
        self.begun[begun.event] = begun
        if len(self.begun) > MESSAGES:
            del self.begun[next(iter(self.begun))]

    def note_forgetting(self, done: StoredForgetting) -> None:
        if not isinstance(done.plan, OneReply):
            self.forgettings.append(done)

    def to_look_for(self) -> list[RecentMessage]:
        """Return the NEWEST turns of the messages that were found, then the messages that no look has found yet."""
        noted = [*self.messages]
        seen = len(noted) - self._unseen
        newest = nlargest(NEWEST, noted[:seen], key=lambda message: message.turn)
        return [*newest, *noted[seen:]]

    def found(self, messages: Sequence[RecentMessage]) -> None:
        """All of these, which `to_look_for` returned, are there."""
        later = [*self.messages]
        if messages and messages[-1] in later:
            later = later[later.index(messages[-1]) + 1 :]
        self._unseen = min(self._unseen, len(later))

    def drop(self, messages: Collection[RecentMessage], forgettings: Collection[StoredForgetting]) -> None:
        for message in messages:
            if message in self.messages:
                self.messages.remove(message)
        for forgetting in forgettings:
            if forgetting in self.forgettings:
                self.forgettings.remove(forgetting)
        self._unseen = min(self._unseen, len(self.messages))


def _ids(message: Incoming | MessageIds) -> tuple[str, str, str, str, str]:
    return message.source, message.event_id, message.channel, message.message_id, message.conversation
