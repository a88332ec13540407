"""What the agent needs from the world, as protocols: models, time, ears, vectors, tools; and of the store."""
# pyright: reportUnusedImport=false
# The ports of the store, and of those who operate the bot, are offered here, too.

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol, TypeAlias, runtime_checkable

from agent.admission_terms import Authority
from agent.citations import ReferenceNumbers
from agent.errors import FailureReason
from agent.memory.audience import Audience, Place
from agent.memory.facts import Scope
from agent.memory.marking import Superseded
from agent.memory.own_words import TextsRead
from agent.messages import (
    AnswerOutcome,
    Consent,
    Depth,
    ElicitAction,
    Elicitation,
    Elicited,
    JsonObject,
    Keep,
    Message,
    ModelCall,
    NativeContent,
    OpenQuestion,
    Reference,
    ResultPart,
    ToolSpec,
    Usage,
)
from agent.ports.operating import (
    SHARD_LEASE,
    AuditedCall,
    CallEnd,
    CallRate,
    CallsAsked,
    CallsTaken,
    HeldShard,
    Installation,
    Installations,
    ListedShard,
    OperatorSession,
    OperatorSessions,
    ShardLeases,
    ShardSession,
    ShardShare,
    SharedRates,
    ToolAudit,
)
from agent.ports.storage import (
    AgentStore,
    Conversations,
    Facts,
    FactWriter,
    Forgetting,
    Jobs,
    Knowledge,
    Ledger,
    Memories,
    Notifier,
    Preferences,
    Profiles,
    Replies,
    Spending,
    Summaries,
    ThreadHistory,
    TurnLedger,
    WorkingSet,
)
from agent.records import Claim, ConsentOutcome, Embedded, Person, SealedSignIn, Undecided, Unembedded


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
    native_calls: bool = False
    """Tools are called in the vendor's form, which has no room for a workspace."""
    reasons: bool = False
    """The model reasons by itself before it writes: it is not told to think aloud."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What holds for every model call of one turn. `cache_key` names requests that begin alike, and nobody's data."""

    depth: Depth = Depth.ADAPT
    cache_key: str = ""
    tools: tuple[ToolSpec, ...] = ()
    """What the messages teach already, for a dialect that hands tools over in the vendor's form."""


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
    native: NativeContent | None = None
    """What was written, in the vendor's own form, where a later request must give it back unchanged."""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers than the one that was asked."""

    name: str
    why: FailureReason


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
    def capabilities(self) -> Capabilities:
        """What it can do, as its adapter declares it."""
        ...

    def stream(
        self, messages: Sequence[Message], options: CallOptions = CallOptions()
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` (replay mode: the whole context, each time).

        Raises ProviderUnavailable or ProviderRefused before the first event, StreamBroken after it. Closing the
        generator closes the connection, which stops the generation.
        """
        ...


class ModelSession(Protocol):
    """One turn's exchange with a model. Its rounds send only what is new where the vendor keeps the rest (resume)."""

    def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        """The answer to `messages`: always the whole context, whose beginning may not be sent again.

        Errors as `Provider.stream`; closing it early abandons the answer.
        """
        ...

    async def close(self) -> tuple[str, ...]:
        """The turn is over: give the connection back, and have the vendor drop what it keeps.

        Returns the handles (see HandleKept) of what may still be there. Never raises.
        """
        ...


@runtime_checkable
class ResumingProvider(Protocol):
    """A provider whose vendor can keep the context behind a handle (capability `resume`)."""

    def connect(self, options: CallOptions) -> ModelSession:
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


class Clock(Protocol):
    """Time, and waiting."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait so long; not at all for 0 or less."""
        ...


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said, and what it took to write it down."""

    text: str
    call: ModelCall


class Transcriber(Protocol):
    """Speech to text."""

    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        """`name` and `media_type` are the file's. Raises ProviderError."""
        ...


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def name(self) -> str:
        """The model, as "provider:name". Vectors of different models cannot be compared."""
        ...

    @property
    def weight(self) -> float:
        """What the message that is nearest in meaning is worth beside the best words, as measured for such a model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """A vector for each text, in their order. Raises ProviderError."""
        ...


class Embeddings(Protocol):
    """The vectors that are kept; `model` is an `Embedder.name`. Raises StoreError."""

    async def missing(self, model: str, limit: int) -> list[Unembedded]:
        """The oldest messages that have no vector of this model yet."""
        ...

    async def keep(self, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]) -> None:
        """Keep a vector for each message, in place of one of another model; none for what was changed meanwhile."""
        ...

    async def make_index(self, model: str) -> bool:
        """Make an index of the model's vectors where it pays and there is none; whether there is one. It may take
        minutes, in which everything else goes on.
        """
        ...

    async def without_names(self, person: str, text: str) -> str:
        """A question without the names of those who wrote in the person's threads: they would stand for its meaning."""
        ...


# Tells how much of a call is done, of how much, and of what, as in "messages read"; "" for a share.
Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]


async def _nobody_hears(done: float, total: float, unit: str) -> None:
    pass


# Asks the asker alone, and waits for what they say; a tool's own time stands still meanwhile.
Ask: TypeAlias = Callable[[Elicitation], Awaitable[Elicited]]


async def nobody_answers(_: Elicitation) -> Elicited:
    """Where no person waits for the call."""
    return Elicited(ElicitAction.DECLINE)


# Asks the turn's model something by the way: its whole answer. Raises ProviderError; ToolError beyond a budget.
Consult: TypeAlias = Callable[[Sequence[Message]], Awaitable[str]]


async def _no_model_answers(messages: Sequence[Message]) -> str:  # noqa: ARG001 -- there is no model
    return ""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf, and for which readers, a tool runs. It comes from the platform's event, never from the model."""

    person: Person
    place: Place
    conversation: str
    message: int
    now: datetime
    readable_groups: frozenset[str] = frozenset()
    authority: Authority = Authority.EMPLOYEE
    superseded: tuple[Superseded, ...] = ()
    """What to mark in what is quoted: it holds no longer."""
    assumed: Scope = Scope.GLOBAL
    """HYPOTHETICAL or DRAFT while the question goes on with a game of thought: what it says holds only there."""
    own_words: tuple[str, ...] = ()
    """What the person wrote in this conversation, the question among it: nothing else is kept as theirs."""
    others_words: tuple[str, ...] = ()
    """What the model has read beside that: files, quotes, results of tools, what others and the bot itself wrote."""
    visible_from: int = 0
    """The id of the oldest message of this conversation that the model sees; 0: it sees all."""
    report: Report = field(default=_nobody_hears, compare=False)
    """For a call that takes a while. What it is about is not told: the reply may be read by others."""
    ask: Ask = field(default=nobody_answers, compare=False)
    channel: str = ""
    message_id: str = ""  # the question's, on its platform
    reply_to: str = field(default="", repr=False, compare=False)  # it may hold a right to act for the asker
    consult: Consult = field(default=_no_model_answers, compare=False)
    read: TextsRead = field(default_factory=TextsRead, compare=False)
    """What tools have read of the words above in this turn."""
    numbers: ReferenceNumbers = field(default_factory=ReferenceNumbers, compare=False)
    """Of what an answer may cite."""


class ToolEffect(StrEnum):
    """What a call of a tool does to the world."""

    READS = "reads"
    """Nothing. Only such a call may run again when nobody knows whether it ran."""
    WRITES_HERE = "writes here"
    """It changes what this bot keeps."""
    ACTS_OUTWARD = "acts outward"
    """Others notice it: something is sent, created or changed elsewhere."""
    IRREVERSIBLE = "irreversible"
    """It cannot be taken back: something is deleted, paid or published."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool brings: a text, and parts that follow it in order.

    `sources`: the ids of the stored messages that it quotes. `audience`: those who may read it; None: the asker alone.
    """

    text: str = ""
    sources: tuple[int, ...] = ()
    parts: tuple[ResultPart, ...] = ()
    audience: Audience | None = None
    keep: Keep = Keep.STORED
    references: tuple[Reference, ...] = ()  # with numbers of `ToolContext.numbers`, by which the text names them
    own: bool = False  # nothing stands in it but what the asker has said, and the bot of its own


class Membership(Protocol):
    """One platform's answer. It is asked anew each time: whoever asks remembers what was said, and for how long."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        """For each of these group places ("slack:T0123:C0123", as in GroupAudience): can this person read it now?

        A place that is missing in the answer is one of which nothing is known. Never raises; whoever asks bounds the
        time.
        """
        ...


class Consents(Protocol):
    """What askers say of calls that may not run unasked."""

    async def decide(
        self, turn: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool = False
    ) -> ConsentOutcome:
        """Keep a word about a call (its `consent_key`) of a turn that was put aside. `standing`: it holds for its tool
        from now on, in this conversation.
        """
        ...

    async def decided(self, turn: int) -> Mapping[str, Consent]:
        """What was said of the turn's calls, by `consent_key`."""
        ...

    async def standing(self, conversation: str, person: str) -> frozenset[str]:
        """The tools that this person lets run unasked in this conversation."""
        ...

    async def undecided(self, person: str) -> list[Undecided]:
        """Every call that waits for this person's word, the oldest first."""
        ...


class OpenQuestions(Protocol):
    """What tools ask their askers in the middle of a call: kept as long as the claim that waits for it holds.

    A question has a name in its turn, `key`; its words and those of an answer are JSON of whoever keeps them.
    """

    async def open(self, claim: Claim, key: str, asked: str, now: datetime, until: datetime, most: int) -> bool:
        """Keep a question, which its asker may answer until then; False if so many (`most`) wait for them already."""
        ...

    async def answered(self, turn: int, key: str) -> tuple[ElicitAction, str] | None:
        """What was said, and filled in; None while nothing was said."""
        ...

    async def close(self, turn: int, key: str) -> None:
        """Erase it, with what was said."""
        ...

    async def waiting(self, person: str, now: datetime) -> list[OpenQuestion]:
        """What waits for this person, the oldest first."""
        ...

    async def answer(
        self, turn: int, key: str, person: str, filled: str, action: ElicitAction | None, now: datetime
    ) -> AnswerOutcome:
        """Keep what this person has filled in; with an action that is their answer, and nothing changes it."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """For whom a turn runs, and where: what decides which tools it has."""

    person: Person
    place: Place
    channel: str = ""
    """The platform's name of where it was asked ("C0123"), "" in the terminal."""
    authority: Authority = Authority.EMPLOYEE


class Tool(Protocol):
    """Something that the model can do. Stateless; everything that it needs is a constructor argument."""

    @property
    def name(self) -> str:
        """One word of ASCII, which the model calls: "recall"; of a server's tool two with a dot: "files.read"."""
        ...

    @property
    def description(self) -> str:
        """One line, written for the model."""
        ...

    @property
    def schema(self) -> JsonObject:
        """JSON Schema of the arguments (type object)."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """The worst that a call may do."""
        ...

    @property
    def timeout_s(self) -> float:
        """A run that takes longer is cancelled, and the model told."""
        ...

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        """Do it, with arguments that match the schema; a text alone is an output for the asker alone.

        Raises ToolError with a reason for the model.
        """
        ...


@runtime_checkable
class SituationalTool(Protocol):
    """A tool that is of use only beside something."""

    @property
    def beside(self) -> str | frozenset[str]:
        """What must stand in what the model reads for the tool to be offered; or one of these, in small letters, in the
        question or in one of the last messages.
        """
        ...


class ToolSource(Protocol):
    """Tools that come and go: of a server, a plug-in, an operator's package."""

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """Those that are there now for this person here; the same objects as long as they stay the same."""
        ...


class ToolServers(Protocol):
    """The servers behind tools that come and go."""

    async def prepare(self, asker: Asker) -> None:
        """Look up the tools of this person's own accounts, before their tools are collected."""
        ...

    async def settle(self, seconds: float) -> None:
        """Wait, up to this long, until each server was tried once: after a start they still connect."""
        ...

    def away(self) -> Mapping[str, str]:
        """The servers that are not connected, by name, with a sentence why that everybody may read."""
        ...


class _NoServers:
    async def prepare(self, asker: Asker) -> None: ...
    async def settle(self, seconds: float) -> None: ...

    def away(self) -> Mapping[str, str]:
        return {}


NO_SERVERS: Final[ToolServers] = _NoServers()


class ToolAccounts(Protocol):
    """People's accounts at servers of tools, and the sign-ins that are under way. It knows no token: what it keeps is
    sealed by whoever asks. `person` is an id.
    """

    async def get(self, person: str, server: str) -> bytes | None:
        """None if there is none."""
        ...

    async def all_of(self, person: str) -> Mapping[str, bytes]:
        """By the servers' names."""
        ...

    async def swap(self, person: str, server: str, before: bytes, after: bytes | None) -> bool:
        """Keep this in place of exactly that account (None drops it), to be renewed again; False if another stands."""
        ...

    async def drop(self, person: str, server: str) -> bytes | None:
        """Drop it, with the sign-in that is under way: what it was."""
        ...

    async def renew(self, person: str, server: str, before: bytes, now: datetime, lease: timedelta) -> bool:
        """Whether the caller, and nobody else, is to renew exactly this: until it swaps, or the lease is over."""
        ...

    async def begin(self, handle: str, begun: SealedSignIn, now: datetime, expires: datetime) -> None:
        """A sign-in begins, in place of an earlier one of this person there. Those that have expired go."""
        ...

    async def begun(self, handle: str, now: datetime) -> SealedSignIn | None:
        """The sign-in that this leads to; None if there is none, or it has expired."""
        ...

    async def go_on(self, handle: str, then: str, sealed: bytes, expires: datetime) -> bool:
        """The next step of a sign-in, which nothing but this leads to from now on. False, and nothing is kept, if it is
        no more: somebody went on with it already, or its person signed out or was forgotten."""
        ...

    async def expire(self, now: datetime) -> None:
        """The sign-ins that have expired go."""
        ...

    async def complete(self, handle: str, person: str, server: str, sealed: bytes) -> bool:
        """Take a sign-in, and keep this account in place of an earlier one. False, and nothing is kept, if it is no
        more: its person signed out meanwhile, or was forgotten."""
        ...
