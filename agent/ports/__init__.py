"""The ports of the agent, as protocols: models, time, transcription, embeddings, tools; and the store."""
# pyright: reportUnusedImport=false
# The ports of its other modules are exported here, too.

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol, TypeAlias, runtime_checkable

from agent.admission_terms import Authority
from agent.citations import ReferenceNumbers
from agent.consents import ConsentOutcome, Undecided
from agent.embeddings import Embedded, Unembedded
from agent.errors import FailureReason
from agent.incoming import Person
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
    Provenance,
    Reference,
    ResultPart,
    ToolSpec,
    Usage,
)
from agent.ports.installations import Installation, Installations
from agent.ports.operator_sessions import OperatorSession, OperatorSessions
from agent.ports.shard_leases import SHARD_LEASE, HeldShard, ListedShard, ShardLeases, ShardSession, ShardShare
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken, SharedRates
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
from agent.ports.tool_accounts import SealedSignIn
from agent.ports.tool_audit import AuditedCall, CallEnd, ToolAudit
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim


class Halt(StrEnum):
    """How a provider can stop at the delimiter. NONE: the consumer closes the stream."""

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
    """Tools are called in the vendor's form, which has no field for a workspace."""
    reasons: bool = False
    """The model reasons by itself before it writes: the prompt does not ask it to think aloud."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Options of every model call of one turn. `cache_key` is the same for requests with the same prefix, and reveals
    no user data.
    """

    depth: Depth = Depth.ADAPT
    cache_key: str = ""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the messages describe, for a dialect that passes tools in the vendor's form."""


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
    REPEATED = "repeated"
    """The model repeated itself, and was stopped here."""
    UNKNOWN = "unknown"
    """The service gave no reason, or one that is not known to be good: the answer may be incomplete."""


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    """The model finished. The last event of every stream that did not fail."""

    reason: StopReason
    usage: Usage | None = None
    native: NativeContent | None = None
    """The output in the vendor's own form, where a later request must send it back unchanged."""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers in place of the one that was called."""

    name: str
    why: FailureReason


@dataclass(frozen=True, slots=True)
class HandleKept:
    """The vendor keeps this conversation under `handle`, until it is deleted there."""

    handle: str


@dataclass(frozen=True, slots=True)
class PromptReduced:
    """The answer is to less than was asked, because the service refused the rest.

    `sentence` says to the person what is missing. The reply ends with it.
    """

    sentence: str


ProviderEvent: TypeAlias = TokensArrived | ReasoningArrived | ResponseEnded | ModelChanged | HandleKept | PromptReduced


class Provider(Protocol):
    """One model behind one wire protocol."""

    @property
    def name(self) -> str:
        """The name that people use, for example "ollama:llama3.2"."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that the adapter declares."""
        ...

    def stream(
        self, messages: Sequence[Message], options: CallOptions = CallOptions()
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` (replay mode: the whole context in each call).

        Raises ProviderUnavailable or ProviderRefused before the first event, StreamBroken after it. Closing the
        generator closes the connection, which stops the generation.
        """
        ...


class ModelSession(Protocol):
    """One turn's exchange with a model. Where the vendor keeps the context (resume), rounds send only what is new."""

    def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`, always the whole context; the session may leave out the part that the vendor keeps.

        Raises the errors of `Provider.stream`. Closing the generator early abandons the answer.
        """
        ...

    async def close(self) -> tuple[str, ...]:
        """Return the connection at the end of the turn, and delete what the vendor keeps.

        Returns the handles (see HandleKept) that may still exist there. Never raises.
        """
        ...


@runtime_checkable
class ResumingProvider(Protocol):
    """A provider whose vendor can keep the context behind a handle (capability `resume`)."""

    def connect(self, options: CallOptions) -> ModelSession:
        """Open a new session; it connects when the connection is first needed."""
        ...


@runtime_checkable
class WarningProvider(Protocol):
    """A provider with a warning about its use."""

    @property
    def warning(self) -> str:
        """A sentence for the person who chose it; "" if there is none."""
        ...


@runtime_checkable
class KeepingProvider(Protocol):
    """A provider whose vendor stores what it receives (see HandleKept)."""

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Delete these at the vendor. Returns the handles that may still exist there; never raises."""
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
        """Wait for `seconds`; do not wait for 0 or less."""
        ...


@dataclass(frozen=True, slots=True)
class Transcript:
    """The text of a recording, and the model call that transcribed it."""

    text: str
    call: ModelCall


class Transcriber(Protocol):
    """Speech to text."""

    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        """Transcribe a file. `name` and `media_type` are the file's. Raises ProviderError."""
        ...


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def name(self) -> str:
        """The model, as "provider:name". Vectors of different models cannot be compared."""
        ...

    @property
    def weight(self) -> float:
        """The score of the message nearest in meaning relative to the best match by words, measured for the model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text, in order. Raises ProviderError."""
        ...


class Embeddings(Protocol):
    """The stored vectors; `model` is an `Embedder.name`. Raises StoreError."""

    async def missing(self, model: str, limit: int) -> list[Unembedded]:
        """Return the oldest messages that have no vector of this model yet."""
        ...

    async def keep(self, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]) -> None:
        """Store a vector for each message, in place of one of another model; skip messages that changed meanwhile."""
        ...

    async def make_index(self, model: str) -> bool:
        """Create an index of the model's vectors if it pays and there is none. Returns whether there is one. It may
        take minutes, and blocks nothing else meanwhile.
        """
        ...

    async def without_names(self, person: str, text: str) -> str:
        """Return a question without the names of writers in the person's threads, which would dominate its vector."""
        ...


# Reports the progress of a call: done, total and the unit, as in "messages read"; "" for a share.
Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]


async def _report_nothing(done: float, total: float, unit: str) -> None:
    pass


# Asks only the asker and waits for the answer; the tool's timeout pauses meanwhile.
Ask: TypeAlias = Callable[[Elicitation], Awaitable[Elicited]]


async def decline_question(_: Elicitation) -> Elicited:
    """Decline; for calls for which no person waits."""
    return Elicited(ElicitAction.DECLINE)


# Asks the turn's model a separate question. Returns its whole answer. Raises ProviderError; ToolError beyond a budget.
Consult: TypeAlias = Callable[[Sequence[Message]], Awaitable[str]]


async def _consult_nothing(messages: Sequence[Message]) -> str:  # noqa: ARG001 -- there is no model
    return ""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf and for which readers a tool runs. It comes from the platform's event, never from the model."""

    person: Person
    place: Place
    conversation: str
    message: int
    now: datetime
    readable_groups: frozenset[str] = frozenset()
    authority: Authority = Authority.EMPLOYEE
    superseded: tuple[Superseded, ...] = ()
    """What to mark in quoted text because it no longer holds."""
    assumed: Scope = Scope.GLOBAL
    """HYPOTHETICAL or DRAFT while the question continues a hypothetical or a draft: its statements hold only there."""
    own_words: tuple[str, ...] = ()
    """What the person wrote in this conversation, with the question: only this may be stored as their statement."""
    others_words: tuple[str, ...] = ()
    """The other text that the model has read: files, quotes, results of tools, messages of others and of the bot."""
    visible_from: int = 0
    """The id of the oldest message of this conversation that the model sees; 0: it sees all."""
    report: Report = field(default=_report_nothing, compare=False)
    """For a slow call. It must not reveal what the call is about: others may read the reply."""
    ask: Ask = field(default=decline_question, compare=False)
    channel: str = ""
    message_id: str = ""  # the question's, on its platform
    reply_to: str = field(default="", repr=False, compare=False)  # it may hold a token to act for the asker
    consult: Consult = field(default=_consult_nothing, compare=False)
    read: TextsRead = field(default_factory=TextsRead, compare=False)
    """What tools have read of these texts in this turn."""
    kind: TurnKind = TurnKind.QUESTION
    words: Provenance = Provenance.OWN
    """Whose text the model has read."""
    numbers: ReferenceNumbers = field(default_factory=ReferenceNumbers, compare=False)
    """The numbers of the sources that an answer may cite."""


class ToolEffect(StrEnum):
    """The side effects of a tool call."""

    READS = "reads"
    """None. Only such a call may run again when it is unknown whether it ran."""
    WRITES_HERE = "writes here"
    """It changes data of this bot."""
    ACTS_OUTWARD = "acts outward"
    """It is visible to others: something is sent, created or changed elsewhere."""
    IRREVERSIBLE = "irreversible"
    """It cannot be undone: something is deleted, paid or published."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a tool: a text, and parts that follow it in order.

    `sources`: the ids of the stored messages that it quotes. `audience`: who may read it; None: only the asker.
    `read`: see `agent.addresses`.
    """

    text: str = ""
    sources: tuple[int, ...] = ()
    parts: tuple[ResultPart, ...] = ()
    audience: Audience | None = None
    keep: Keep = Keep.STORED
    references: tuple[Reference, ...] = ()  # with numbers of `ToolContext.numbers`, which the text uses for them
    own: bool = False  # it holds only what the asker said and what the bot said on its own
    read: tuple[str, ...] | None = None  # the texts in it that others than the bot wrote; None: all of it


class Membership(Protocol):
    """A platform's members. Each call asks the platform again; the caller caches the answers."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        """Return for each of these group places ("slack:T0123:C0123", as in GroupAudience) whether the person can read
        it now.

        A place is missing from the result if its readers are unknown. Never raises; the caller bounds the time.
        """
        ...


class Consents(Protocol):
    """The askers' decisions about calls that need consent."""

    async def decide(
        self, turn: int, call: str, person: str, word: Consent, now: datetime, *, standing: bool = False
    ) -> ConsentOutcome:
        """Store a decision about a call (its `consent_key`) of a turn that was put aside. `standing`: it applies to the
        call's tool from now on, in this conversation.
        """
        ...

    async def decided(self, turn: int) -> Mapping[str, Consent]:
        """Return the decisions about the turn's calls, by `consent_key`."""
        ...

    async def standing(self, conversation: str, person: str) -> frozenset[str]:
        """Return the tools that this person lets run without consent in this conversation."""
        ...

    async def standing_calls(self, conversation: str, person: str) -> frozenset[str]:
        """Return the `agent.progress.call_digest` of the very calls about which this person decided so there."""
        ...

    async def undecided(self, person: str) -> list[Undecided]:
        """Return every call that waits for this person's decision, the oldest first."""
        ...


class OpenQuestions(Protocol):
    """The questions of tools to their askers during a call, kept while the claim that waits for the answer holds.

    A question has a name in its turn, `key`. The caller encodes its text and the answer as JSON.
    """

    async def open(self, claim: Claim, key: str, asked: str, now: datetime, until: datetime, most: int) -> bool:
        """Store a question that its asker may answer until `until`; False if `most` questions already wait for them."""
        ...

    async def answered(self, turn: int, key: str) -> tuple[ElicitAction, str] | None:
        """Return the action and the filled-in values; None while there is no answer."""
        ...

    async def close(self, turn: int, key: str) -> None:
        """Erase the question and its answer."""
        ...

    async def waiting(self, person: str, now: datetime) -> list[OpenQuestion]:
        """Return the questions that wait for this person, the oldest first."""
        ...

    async def answer(
        self, turn: int, key: str, person: str, filled: str, action: ElicitAction | None, now: datetime
    ) -> AnswerOutcome:
        """Store the values that this person filled in; with an action they are the final answer."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """A person who asks or requests something, and the place; they decide which tools a turn has, and what a command
    shows and does. `authority`: the one they have there at this moment. `manages`: whether they may decide for everyone
    there. `thread`: the ids of the conversations that "this thread" means; empty outside of threads.
    """

    person: Person
    place: Place
    channel: str = ""
    """The platform's id of the channel of the question ("C0123"), "" in the terminal."""
    authority: Authority = Authority.EMPLOYEE
    manages: bool = False
    thread: frozenset[str] = frozenset()


class Tool(Protocol):
    """A tool that the model can call. Stateless; its dependencies are constructor arguments."""

    @property
    def name(self) -> str:
        """The name for calls: one ASCII word, "recall"; for a server's tool two with a dot, "files.read"."""
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
        """The most severe effect that a call may have."""
        ...

    @property
    def timeout_s(self) -> float:
        """A run that takes longer is cancelled, and its result for the model says so."""
        ...

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        """Run the tool with arguments that match the schema. A plain string is an output for the asker alone.

        Raises ToolError with a reason for the model.
        """
        ...


@runtime_checkable
class SituationalTool(Protocol):
    """A tool that is useful only in certain contexts."""

    @property
    def beside(self) -> str | frozenset[str]:
        """The condition for offering the tool: a text that must occur in what the model reads; or a set of lower-case
        words of which one must occur in the question or in one of the last messages.
        """
        ...


@runtime_checkable
class PlatformTool(Protocol):
    """A tool whose arguments reach only the platform on which the question was asked."""

    @property
    def on_platform(self) -> bool:
        """Always true: the attribute itself marks the tool."""
        ...


class ToolSource(Protocol):
    """A changing set of tools: of a server, a plug-in, an operator's package."""

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """Return the tools that this asker has now; unchanged tools are the same objects."""
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
    """People's accounts at tool servers, and their pending sign-ins. It sees no tokens: the caller seals the values.
    `person` is an id.
    """

    async def get(self, person: str, server: str) -> bytes | None:
        """Return the account; None if there is none."""
        ...

    async def all_of(self, person: str) -> Mapping[str, bytes]:
        """Return the person's accounts by server name."""
        ...

    async def swap(self, person: str, server: str, before: bytes, after: bytes | None) -> bool:
        """Replace exactly this account (None drops it) and end its renewal; False if another one is stored."""
        ...

    async def drop(self, person: str, server: str) -> bytes | None:
        """Drop the account and a pending sign-in. Returns the account."""
        ...

    async def renew(self, person: str, server: str, before: bytes, now: datetime, lease: timedelta) -> bool:
        """Return whether only the caller may renew exactly this account, until it swaps or the lease is over."""
        ...

    async def begin(self, handle: str, begun: SealedSignIn, now: datetime, expires: datetime) -> None:
        """Store a new sign-in in place of an earlier one of this person at this server. Drops expired ones."""
        ...

    async def find_begun(self, handle: str, now: datetime) -> SealedSignIn | None:
        """Return the sign-in with this handle; None if there is none, or it has expired."""
        ...

    async def advance(self, handle: str, then: str, sealed: bytes, expires: datetime) -> bool:
        """Store the next step of a sign-in, from now on under the handle `then` only. False, and nothing is stored, if
        the sign-in is gone: this step was already taken, or its person signed out or was forgotten."""
        ...

    async def expire(self, now: datetime) -> None:
        """Drop the expired sign-ins."""
        ...

    async def complete(self, handle: str, person: str, server: str, sealed: bytes) -> bool:
        """End a sign-in and store this account in place of an earlier one. False, and nothing is stored, if the sign-in
        is gone: its person signed out meanwhile, or was forgotten."""
        ...
