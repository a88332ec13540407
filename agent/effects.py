"""What goes into a turn, and what it asks to be done: frozen values. Inputs in the past tense, effects as commands.

Above: `agent.turn`, `agent.loop`. Below: `agent.events`, `agent.progress`, `agent.ports`,
`agent.records`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from agent.events import Outcome, ProtocolEvent
from agent.messages import Message, ModelCall, Native, ToolCall, ToolResult
from agent.ports import ReasoningArrived, StopReason
from agent.progress import Progress
from agent.records import Waiting


@dataclass(frozen=True, slots=True)
class CallPlaced:
    """A call with its id, unique in the turn: "<iteration>.<position>", both from 1."""

    id: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ResponseBegun:
    """The model was asked, at this time."""

    time: datetime


@dataclass(frozen=True, slots=True)
class ResponseCounted:
    """The model call is over, and took this. Comes before whatever ends the call."""

    call: ModelCall
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class ResponseCompleted:
    reason: StopReason


@dataclass(frozen=True, slots=True)
class ResponseFailed:
    """The model call failed; `sentence` tells the person what to do."""

    sentence: str


@dataclass(frozen=True, slots=True)
class CallAnswered:
    id: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class MessagesJoined:
    """What the person wrote meanwhile, in order; some of it may have joined before. Comes when a call is due."""

    messages: tuple[Waiting, ...]


TurnInput: TypeAlias = (
    ProtocolEvent
    | ReasoningArrived
    | ResponseBegun
    | ResponseCounted
    | ResponseCompleted
    | ResponseFailed
    | CallAnswered
    | MessagesJoined
)


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model: the turn's context, then `appended`."""

    number: int
    appended: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class SaveProgress:
    """Make `progress` durable before the next effect."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls in parallel; answer each with CallAnswered."""

    calls: tuple[CallPlaced, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Show a sentence of ours as a paragraph of its own."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: Outcome
    text: str


Effect: TypeAlias = CallModel | SaveProgress | RunTools | Say | Finish
