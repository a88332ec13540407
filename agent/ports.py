"""What the agent needs from the world, as Protocols.

Above: `agent.loop`, the tools and `bot` call them. Implemented by: `agent.providers` (Provider), `agent.tools` (Tool),
`store` (Ledger, Jobs, Conversations, Memories, Profiles, Preferences, Spending, Forgetting), `bot.app` (Clock), and by
small fakes in `tests/fakes`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from agent.admission import Terms
from agent.memory.audience import Place
from agent.memory.forgetting import ForgettingPlan
from agent.memory.profile import Partition, UserProfile, Utterance
from agent.messages import Depth, JsonObject, Message, ModelCall, Native, Usage
from agent.records import (
    Accepted,
    Claim,
    Closing,
    Hit,
    Incoming,
    Job,
    LastSeen,
    Note,
    Person,
    RecallQuery,
    Receipt,
    StoredMessage,
    Thread,
    Waiting,
)
from agent.spending import By, Period, Total
from agent.state import LastActions, SituationSummary


class Clock(Protocol):
    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Halt(StrEnum):
    """How a provider can stop at the delimiter. NONE: the reader closes the stream."""

    STOP_SEQUENCE = "stop_sequence"
    TOOL = "tool"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Declared by an adapter, never guessed."""

    halt: Halt = Halt.NONE
    resume: bool = False
    images: bool = False
    effort: bool = False


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What holds for every model call of one turn. `cache_key` names requests that begin alike, and nobody's data."""

    depth: Depth = Depth.ADAPT
    cache_key: str = ""


@dataclass(frozen=True, slots=True)
class TokensArrived:
    """A piece of the model's one text stream, protocol included."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningArrived:
    """A piece of the vendor's own reasoning channel. Private: never shown, never stored as text of the reply."""

    text: str


class StopReason(StrEnum):
    END = "end"
    HALTED = "halted"
    LENGTH = "length"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    """The model finished. The last event of every stream that did not fail."""

    reason: StopReason
    usage: Usage | None = None
    native: Native | None = None
    """What was written, in the vendor's own form, where a later request must give it back unchanged."""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers than the one that was asked; `why` is a sentence for the person."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class HandleKept:
    """The vendor keeps this conversation under `handle`, until it is deleted there."""

    handle: str


ProviderEvent: TypeAlias = TokensArrived | ReasoningArrived | ResponseEnded | ModelChanged | HandleKept


class Provider(Protocol):
    """One model behind one wire protocol."""

    @property
    def name(self) -> str:
        """What a person calls it, for example "ollama:llama3.2"."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` (replay mode: the whole context, each time).

        Raises ProviderUnavailable or ProviderRefused before the first event, StreamBroken after it. Closing the
        generator closes the connection, which stops the generation.
        """
        ...


class Session(Protocol):
    """One turn's exchange with a model. Its rounds send only what is new where the vendor keeps the rest (resume)."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Ask for the answer to `messages`: always the whole context, whose beginning may not be sent again.

        Raises ProviderUnavailable or ProviderRefused.
        """
        ...

    def receive(self) -> AsyncGenerator[ProviderEvent, None]:
        """The answer to what was sent last. Errors as `Provider.stream`; closing it early abandons the answer."""
        ...

    async def close(self) -> tuple[str, ...]:
        """The turn is over: give the connection back, and have the vendor drop what it keeps.

        Returns the handles (see HandleKept) of what may still be there. Never raises.
        """
        ...


@runtime_checkable
class ResumingProvider(Protocol):
    """A provider whose vendor can keep the context behind a handle (capability `resume`)."""

    def connect(self, options: CallOptions) -> Session:
        """A new session; the connection is made when it is first needed."""
        ...


@runtime_checkable
class WarningProvider(Protocol):
    """A provider with something to say before it is used."""

    @property
    def warning(self) -> str:
        """A sentence for whoever chose it; "" if there is none."""
        ...


@runtime_checkable
class KeepingProvider(Protocol):
    """A provider whose vendor stores what it is sent (see HandleKept)."""

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Have the vendor delete these. Returns those that may still be there; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf, and for which readers, a tool runs. It comes from the platform's event, never from the model."""

    person: Person
    place: Place
    conversation: str
    message: int
    now: datetime
    readable_groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool says, and the ids of the stored messages that it quotes."""

    text: str
    sources: tuple[int, ...] = ()


class Tool(Protocol):
    """Something that the model can do. Stateless; everything that it needs is a constructor argument."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str:
        """One line, written for the model."""
        ...

    @property
    def schema(self) -> JsonObject:
        """JSON Schema of the arguments (type object)."""
        ...

    @property
    def read_only(self) -> bool:
        """True if running it twice does no harm: such a call may be repeated after a crash."""
        ...

    @property
    def timeout_s(self) -> float: ...

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        """Do it, with arguments that match the schema. Raises ToolError with a reason for the model."""
        ...


class Ledger(Protocol):
    """The durable list of turns. Every write after `claim` is fenced by the claim's epoch and raises LeaseLost."""

    async def accept(self, incoming: Incoming, terms: Terms | None = None) -> Accepted:
        """Store the message and its turn in one transaction, once.

        Raises TermsNotMet, and stores nothing, if it is new and `terms` do not hold.
        """
        ...

    async def overhear(self, incoming: Incoming) -> Accepted:
        """Store the message, once, as context of its conversation: its turn is over before it begins."""
        ...

    async def claim(
        self,
        owner: str,
        now: datetime,
        lease: timedelta,
        *,
        per_person: int | None = None,
        sources: frozenset[str] | None = None,
    ) -> Claim | None:
        """Take a turn whose runner's lease ran out, else a waiting one whose conversation has none running.

        Of those the person's of whom the fewest run (and fewer than `per_person`), who was served longest ago; the
        oldest of theirs. `sources`: only what came from there, for a process that cannot show replies elsewhere.
        """
        ...

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None: ...

    async def save(self, claim: Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None:
        """Keep how far the turn got, or which pages show its reply. Progress makes its attempts count anew."""
        ...

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> None:
        """Store the reply and everything else of `closing`, clear progress and payload, and end the turn."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give an unfinished turn back, to be claimed by anybody at once. This claim does not count as an attempt."""
        ...

    async def stop(self, conversation: str) -> list[int]:
        """Mark the turns of a conversation that wait or run as to be stopped, whoever runs them; the oldest first."""
        ...

    async def stopping(self, owner: str) -> frozenset[int]:
        """The turns that this worker runs and that somebody, in any process, has marked as to be stopped."""
        ...

    async def waiting(self, claim: Claim) -> list[Waiting]:
        """What the same person wrote behind this turn in its conversation, in order: words alone, for the same readers.

        It ends where somebody else wrote, or where more than words came along.
        """
        ...

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        """Put an edited text in place of a question that still waits; False if it does not."""
        ...

    async def withdraw(self, channel: str, message_id: str, now: datetime) -> bool:
        """End the turn of a question that was deleted while it waited, unanswered; False if it does not wait."""
        ...

    async def release_all(self) -> int:
        """Embedded start-up: every lease belongs to a dead process. Frees those turns; returns how many.

        Does nothing where other processes work on the same database: their leases hold, and a dead one's run out.
        """
        ...


class Jobs(Protocol):
    """The durable list of work outside of turns. Of one kind and key at most one waits, until the one that runs ends.

    Every write after `claim` is fenced by the job's epoch and raises LeaseLost. Times are moments: whoever means "nine
    o'clock here" reckons it out.
    """

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        """Let this be done, not before `run_at`. One that waits already takes the new payload and time."""
        ...

    async def cancel(self, kind: str, key: str) -> bool:
        """Drop the one that waits. False if there is none."""
        ...

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
        """Take the due job of these kinds whose time came first, or one whose worker's lease ran out."""
        ...

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None: ...

    async def finish(self, job: Job) -> None:
        """It is done: nothing of it stays."""
        ...

    async def postpone(self, job: Job, run_at: datetime) -> None:
        """Try again later. If a newer one of its kind and key waits already, that one stands for both."""
        ...


class Bell(Protocol):
    """Wakes those who wait for something to do. It only hurries: what is due is also found by looking, so a ring may
    be lost, and one too many does no harm.
    """

    @property
    def rung(self) -> bool:
        """Has somebody rung since the last wait ended?"""
        ...

    def ring(self) -> None:
        """Wake whoever waits, in every process that works on the same ledger. Returns at once."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Until somebody rings or has rung since the last wait, or the time is over."""
        ...


class Conversations(Protocol):
    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        """The last `limit` messages of turns before this one, oldest first, each question followed by its answer."""
        ...

    async def summary(self, conversation: str) -> SituationSummary: ...

    async def last_actions(
        self, conversation: str, person: str, audiences: frozenset[str], *, before_turn: int, limit: int
    ) -> LastActions:
        """What was done last in the person's turns before this one that may be used for these audiences."""
        ...

    async def threads(self, person: str, *, limit: int) -> list[Thread]:
        """The conversations in which the person wrote, the latest first."""
        ...

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """The ids of the people who wrote in this conversation; None if it is not known."""
        ...

    async def questions(self, person: str, *, limit: int) -> list[str]:
        """What the person wrote last, in all conversations, oldest first."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """A platform's conversations in which somebody wrote since then, the latest first."""
        ...

    async def heard_until(self, source: str) -> datetime | None:
        """Everything that was said on a platform up to this time has come in; None if it was never kept."""
        ...

    async def hear_until(self, source: str, time: datetime) -> None:
        """Keep that time."""
        ...


class Memories(Protocol):
    async def remember(
        self, person: str, text: str, audience: str, now: datetime, source_message: int | None = None
    ) -> Note:
        """Keep a note; the same text for the same audience is kept once."""
        ...

    async def notes(self, person: str, audiences: frozenset[str]) -> list[Note]:
        """The person's notes that may be used for these audiences, oldest first."""
        ...

    async def search(self, query: RecallQuery) -> list[Hit]:
        """The person's past threads, best hit first. Any text is a valid query; none raises."""
        ...


class Profiles(Protocol):
    """What is known of people, and which of their messages wait to be learned from (`Closing.learn_at`)."""

    async def of(self, partition: Partition) -> UserProfile:
        """The profile of one partition, for learning."""
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> UserProfile:
        """What may be used for these audiences, each entry with the link to its newest source."""
        ...

    async def unlearned(self, partition: Partition, limit: int) -> list[Utterance]:
        """The messages that wait, oldest first."""
        ...

    async def save(self, partition: Partition, profile: UserProfile, learned: Sequence[int] = ()) -> bool:
        """Keep the profile as it became, and that these messages were learned from, in one transaction.

        False, and nothing is kept, if anything of it was forgotten, changed or learned by somebody else meanwhile.
        """
        ...


class Preferences(Protocol):
    """What was chosen, by name. `owner` is a person's id, "channel:" and a channel's id, or "everyone"."""

    async def of(self, owner: str) -> dict[str, str]:
        """Every choice that stands."""
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Keep a choice in place of an earlier one; None takes it back."""
        ...


class Spending(Protocol):
    async def totals(self, period: Period, by: By, *, person: str | None = None) -> list[Total]:
        """What model calls took in these days, of everybody or of one person: a total for each key, in their order."""
        ...

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime) -> None:
        """Keep what calls outside of turns took; `kind` says what they were for."""
        ...


class Forgetting(Protocol):
    async def forget(self, plan: ForgettingPlan, now: datetime) -> Receipt:
        """Erase what the plan names in one transaction, then search for proof."""
        ...

    async def sweep(self) -> bool:
        """Wipe the bytes that an earlier `forget` could not yet (its receipt said so); True when none are left."""
        ...
