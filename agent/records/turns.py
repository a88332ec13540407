"""What a worker takes on: turns and jobs, what a turn begins with, and what it leaves behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.events import Outcome
from agent.memory.facts import Fact
from agent.memory.layers import WorkingItem
from agent.memory.profile import UserProfile
from agent.messages import ModelCall, Usage
from agent.records.messages import Incoming, StoredMessage
from agent.state import ActionRecord, LastActions, SituationSummary


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that this worker runs. Every later write carries `epoch`, so a worker that lost its lease changes nothing.

    `progress` and `reply_ref` are what `Ledger.save` stored last ("" at first): the steps done so far, and the pages
    shown so far. `message` is the row id of the question. `attempts` counts claims since it last got further, this one
    included. `stopping`: somebody has asked to stop it while it waited. `withdrawn`: its question was deleted since.
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
    """A worker with a free place, and what it may be given. See `Ledger.claim`.

    `sources`: only what came from there, for a process that cannot show replies elsewhere; None: from anywhere.
    """

    owner: str
    now: datetime
    lease: timedelta
    per_person: int | None = None
    sources: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn that an incoming message began; `duplicate` when the message had been taken in before.

    `claim` is what was claimed along with it: this turn, or one that comes before it.
    """

    turn: int
    duplicate: bool
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How many turns run, and how many wait."""

    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Job:
    """Work outside of turns that this worker does: learning, a reminder, a clean-up. Later writes carry `epoch`.

    `payload` is whatever the kind of work needs. `person` and `conversation` say with whom it is forgotten ("" if with
    nobody); it names messages by their ids rather than repeat them. `attempts` counts claims, this one included.
    """

    id: int
    epoch: int
    owner: str
    kind: str
    key: str
    payload: str
    run_at: datetime
    person: str = ""
    conversation: str = ""
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for the turn before it to end: its own turn, its row id, its words."""

    turn: int
    message: int
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a turn begins with: what was said before it in its conversation, and what may be used of its person there.

    `said` is in its order, the oldest first. `actions`: what was done last, where nobody wrote a summary.
    """

    said: Sequence[StoredMessage]
    summary: SituationSummary
    actions: LastActions
    facts: Sequence[Fact]
    profile: UserProfile
    wrote_elsewhere: bool = False
    """The person has other threads, which the question may be about."""
    working_set: Sequence[WorkingItem] = ()
    covered: int = 0
    """The id of the last message that the summary covers."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything that a finished turn leaves behind, written in one transaction.

    `context_messages` and `context_facts` are the ids of what stood in the turn's context, so that forgetting one
    of them finds what came of it; of the profile they are the messages that its entries came from, because entries are
    merged. `reply` may be "" (stopped before a word was said): then no message is stored.
    """

    outcome: Outcome
    reply: str
    pages: tuple[str, ...] = ()
    summary: SituationSummary | None = None
    """What is new in the conversation's summary."""
    actions: tuple[ActionRecord, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    """Every model call of the turn."""
    footer: str = ""
    """Shown under the reply, and not stored: which model answered, what it took."""
    kept: str = ""
    """Shown as the footer is: what was kept of the asker as facts."""
    joined: tuple[Waiting, ...] = ()
    """Messages that waited and that this reply answers, too: their turns end with it, unless they were edited since."""
    context_messages: tuple[int, ...] = ()
    given_messages: tuple[int, ...] = ()
    """Those of them that tools brought into it: the model had asked for them."""
    context_facts: tuple[str, ...] = ()
    learn_at: datetime | None = None
    """When to learn from what the person asked; None: nothing is learned from it."""
    summarise_until: int | None = None
    """Up to which message (its id) the conversation is to be summarised in the background; None: it need not be."""
    passed_over: bool = False
    """Nothing ever is, also when it is edited: learning is paused."""

    @property
    def usage(self) -> Usage:
        """Of all calls together."""
        return sum((call.usage for call in self.calls), Usage())
