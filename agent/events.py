"""Frozen events, named in the past tense, and their closed unions.

`agent.protocol.parser` reads a `ProtocolEvent` out of a model's text stream. `agent.loop` emits an `AgentEvent` while a
turn runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from agent.budget_days import BudgetPause
from agent.errors import FailureReason
from agent.messages import ToolCall, ToolResult, Usage
from agent.state import Workspace


@dataclass(frozen=True, slots=True)
class TextArrived:
    """A piece of the visible answer. The only event whose boundaries depend on how the stream is cut."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtArrived:
    """A whole `<think>` block. Private: never shown."""

    text: str


@dataclass(frozen=True, slots=True)
class WorkspaceArrived:
    """A `<workspace>` block. `missing`: the fields that it leaves out, which keep their values. `secure=False` refuses
    the calls of this iteration.
    """

    workspace: Workspace
    secure: bool = True
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CallsArrived:
    """A whole `<execute>` block that is a list of calls. The parser reads no further.

    `note`: what the model wrote beside them that has no effect, for the model.
    """

    calls: tuple[ToolCall, ...]
    note: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CallsRejected:
    """A whole `<execute>` block that is no list of calls; `reason` is written for the model."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """A `<summary>` block opened: the visible reply is complete."""


@dataclass(frozen=True, slots=True)
class SummaryArrived:
    """A whole `<summary>` block: only known keys with non-empty text."""

    update: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class UnknownSaid:
    """The model said by its sign that it does not know the answer (`agent.protocol.unknown_sign`)."""


class Violation(StrEnum):
    """A way in which a model broke the protocol. Counted and logged; never shown."""

    RESULTS_FORGED = "results_forged"
    WORKSPACE_INVALID = "workspace_invalid"
    SUMMARY_INVALID = "summary_invalid"
    BLOCK_UNCLOSED = "block_unclosed"
    BLOCK_TOO_LONG = "block_too_long"
    TAG_ORPHANED = "tag_orphaned"
    TAG_MISPLACED = "tag_misplaced"
    CALLS_FENCED = "calls_fenced"
    PROMPT_ECHOED = "prompt_echoed"
    CALLS_UNREAD = "calls_unread"


@dataclass(frozen=True, slots=True)
class ViolationFound:
    kind: Violation
    detail: str = ""


ProtocolEvent: TypeAlias = (
    TextArrived
    | ThoughtArrived
    | WorkspaceArrived
    | CallsArrived
    | CallsRejected
    | ReplyEnded
    | SummaryArrived
    | UnknownSaid
    | ViolationFound
)


@dataclass(frozen=True, slots=True)
class IterationStarted:
    """A model call begins. From the second call on, its text is a new paragraph of the same reply."""

    number: int


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A model call is over. `usage`: None if the model did not start on it; `failure`: the name of the error's class,
    "" for none.
    """

    model: str
    usage: Usage | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class NoticeArrived:
    """A sentence of the program for the person (the answer broke off, the model is down), as a separate paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelSwitched:
    """Another model answers in place of the one that was called."""

    name: str
    why: FailureReason


@dataclass(frozen=True, slots=True)
class HandleOpened:
    """The vendor of `model` keeps data of this turn under this handle."""

    model: str
    handle: str


@dataclass(frozen=True, slots=True)
class HandleClosed:
    """The vendor has dropped the data under this handle."""

    handle: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call began to run. `id` is unique in the turn: "<iteration>.<position>"; for a call that code made, a
    number follows, and `within` is the id of the call with this code.
    """

    id: str
    call: ToolCall
    within: str = ""


SECONDS: Final = "s"


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """The progress of a call: `done` of `total`, both above 0. `unit`: "messages read", for example; "" for a share;
    SECONDS for how long it has run, of its limit.
    """

    id: str
    done: float
    total: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class CallAsks:
    """A call waits for an answer of the asker, or (`waits` is False) no longer waits."""

    id: str
    waits: bool


@dataclass(frozen=True, slots=True)
class CallFinished:
    id: str
    result: ToolResult
    within: str = ""


@dataclass(frozen=True, slots=True)
class TurnPutAside:
    """The turn waits for consent to these calls, or for its asker's answer; nothing of the turn runs meanwhile.

    `calls`: by their ids. `question`: what is to be shown of a question to them; "" if it is shown already. `asked`:
    the names of the people who are asked about a call that its asker does not decide about, by its id; () if nobody can
    be asked.
    """

    calls: Mapping[str, ToolCall]
    question: str = ""
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    pause: BudgetPause | None = None
    """If it waits for a decision about a budget, and for no call; `question` then says so."""


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    STOPPED = "stopped"
    """The person stopped it."""
    CUT = "cut"
    """The stream broke after text had arrived; the text stays in the reply."""
    EXHAUSTED = "exhausted"
    """All rounds were used without an answer; the reply ends with a sentence that says so."""
    REFUSED = "refused"
    """The model was down or misconfigured, kept breaking the protocol, or repeated itself; the reply ends with a
    sentence that says so.
    """


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The last event of every turn that was not cancelled or put aside.

    `text` is the whole visible reply, byte for byte the sum of the TextArrived events with paragraph breaks between
    iterations.
    """

    outcome: Outcome
    text: str
    usage: Usage = field(default_factory=Usage)


AgentEvent: TypeAlias = (
    IterationStarted
    | TextArrived
    | ReplyEnded
    | ModelAnswered
    | NoticeArrived
    | ModelSwitched
    | HandleOpened
    | HandleClosed
    | CallStarted
    | CallProgressed
    | CallAsks
    | CallFinished
    | TurnPutAside
    | TurnEnded
)
