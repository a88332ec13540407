"""The records of turns: accepting and claiming them, what they begin with, and what a finished one stores."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import WIDE
from agent.memory.facts import Fact
from agent.memory.layers import WorkingItem
from agent.memory.profile import UserProfile
from agent.messages import ModelCall, Provenance, SharedFile, Usage
from agent.presentations import Presentation
from agent.state import ActionRecord, LastActions, SituationSummary, SummaryWords
from agent.stored_messages import StoredMessage

LONGEST_LEASE: Final = 4  # Times the usual one


def lease_length(usual: timedelta, attempts: int) -> timedelta:
    """Return how long a claim holds, after which another worker may take the turn: from the third attempt on, longer.

    A machine that is too busy to renew a lease in time would lose all its attempts within a minute; and a question that
    ends each process that answers it ends fewer of them in the same time.
    """
    return usual * min(2 ** max(0, min(attempts, 10) - 2), LONGEST_LEASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that this worker runs. Every later write carries `epoch`, so a worker that lost its lease changes nothing.

    `progress` and `reply_ref` are the values that `Ledger.save` stored last ("" at first): the steps done and the pages
    shown so far. `message` is the row id of the question. `attempts` counts the claims since the turn last made
    progress, this one included. `stopping`: a stop was requested while it waited. `withdrawn`: its question was deleted
    since.
    """

    turn: int
    epoch: int
    owner: str
    incoming: Incoming
    message: int
    attempts: int = 1
    progress: str = ""
    reply_ref: str = ""
    stopping: bool = False
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Claiming:
    """A worker with a free slot, and the turns that it may be given. See `Ledger.claim`.

    `lease`: its usual length, see `lease_length`.
    `sources`: only turns from these sources, for a process that cannot show replies elsewhere; None: from any source.
    `works`: whether it may be given long work (`agent.schedules.long_work`).
    """

    owner: str
    now: datetime
    lease: timedelta
    per_person: int | None = None
    sources: frozenset[str] | None = None
    works: bool = True
    waits: bool = False
    """Whether the asker waits in this process: until the lease expires (see `hold_place`), no other process takes their
    question over."""
    settled: bool = False
    """Only while the database's timeline is settled (`agent.ports.recent_writes`)."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn that an incoming message began; `duplicate` if the message was accepted before. `claim`: the turn that
    was claimed along with it, which is this turn or one before it.
    """

    turn: int
    duplicate: bool
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """The number of turns that run and that wait."""

    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for the turn before it to end: its own turn, its row id, its text.

    `answers`: it answers the question of a call. `own`: its words are certainly the person's own; False for an option
    that they chose, which the model wrote.
    """

    turn: int
    message: int
    text: str
    answers: bool = False
    own: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """The input of a turn's context: the conversation before it, and what may be used of its person there.

    `said`: the earlier messages, oldest first. `actions`: the last actions, if there is no summary.
    """

    said: Sequence[StoredMessage]
    summary: SituationSummary
    actions: LastActions
    facts: Sequence[Fact]
    profile: UserProfile
    wrote_elsewhere: bool = False  # the question may be about that
    working_set: Sequence[WorkingItem] = ()
    covered: int = 0  # the id of the last message that the summary covers
    something_shared: bool = False
    reminded: Sequence[tuple[int, StoredMessage]] = ()  # recent messages of their schedules there, with the numbers
    summary_words: SummaryWords = field(default_factory=SummaryWords)


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything that a finished turn stores, written in one transaction.

    `context_messages` and `context_facts` are the ids of the contents of the turn's context, so that forgetting one of
    them finds what was derived from it; for the profile they are the messages behind its entries, because entries are
    merged. `reply` may be "" (stopped before the first word): then no message is stored.
    """

    outcome: Outcome
    reply: str
    pages: tuple[str, ...] = ()
    summary: SituationSummary | None = None
    """The changed fields of the conversation's summary."""
    actions: tuple[ActionRecord, ...] = ()
    files: tuple[SharedFile, ...] = ()
    """Attached below the reply, and not stored."""
    presentation: Presentation | None = None
    """What platforms may show in place of its Markdown, which the reply holds; not stored."""
    calls: tuple[ModelCall, ...] = ()
    """Every model call of the turn."""
    joined: tuple[Waiting, ...] = ()
    """Waiting messages that this reply answers as well: their turns end with it, unless they were edited since."""
    context_messages: tuple[int, ...] = ()
    given_messages: tuple[int, ...] = ()
    """Those of them that tools brought into the context: the model had asked for them."""
    context_facts: tuple[str, ...] = ()
    used_entries: tuple[int, ...] = ()
    """The ids of entries of the profile in its context, those whose last use is stored longer than a day ago."""
    given_documents: tuple[int, ...] = ()
    """The ids of the documents that tools quoted."""
    learn_at: datetime | None = None
    """When to learn from the question; None: nothing is learned from it."""
    summarise_until: int | None = None
    """Summarise the conversation in the background up to the message with this id; None: it is not needed."""
    excluded_from_learning: bool = False
    """Never learn from the question, also after an edit: learning is paused."""
    drawn_from: str = WIDE
    """The audience of the tools' results, if not all readers of the reply may read them (`agent.memory.audience`)."""
    invented: int = 0
    """The number of citations without a result, which were removed from the reply."""
    unknown: bool = False
    """The model said by its sign that it does not know the answer."""
    has_workspace: bool = True
    """False if the turn has certainly stored none."""
    asked_model: str = ""
    """The name of the model that should have answered; "" if none was asked."""
    words: Provenance = Provenance.FOREIGN
    """Whose text the turn held beside its asker's own."""

    @property
    def relayed(self) -> bool:
        """Whether the reply may relay text of people other than its asker."""
        return self.words >= Provenance.RELAYED

    @property
    def used_tools(self) -> bool:
        return any(record.calls for record in self.actions)

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.calls), Usage())
