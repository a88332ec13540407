"""What happens to a turn, and what it wants done: the events that `agent.turn.Turn` receives, and its effects."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from agent import events
from agent.budget_days import BudgetPause
from agent.messages import Consent, Message, ModelCall, NativeContent, ToolCall, ToolResult
from agent.ports.model import ReasoningArrived, StopReason
from agent.progress import Progress
from agent.turn_records import Waiting


@dataclass(frozen=True, slots=True)
class CallPlaced:
    """A tool call with its id, unique in the turn: "<iteration>.<position>", both from 1."""

    id: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ResponseBegun:
    """The model call started at this time. `in_functions`: it gets its tools in its vendor's form, without blocks."""

    time: datetime
    in_functions: bool = False


@dataclass(frozen=True, slots=True)
class ResponseCounted:
    """The usage of a model call that is over. Comes before the event that ends the call."""

    call: ModelCall
    native: NativeContent | None = None


@dataclass(frozen=True, slots=True)
class ResponseCompleted:
    reason: StopReason


@dataclass(frozen=True, slots=True)
class ResponseFailed:
    """The model call failed; `sentence` says to the person what to do."""

    sentence: str


@dataclass(frozen=True, slots=True)
class CallAnswered:
    id: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class MessagesJoined:
    """Messages that the person wrote meanwhile, in order; some may have joined before. Comes before a model call."""

    messages: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class ConsentDecided:
    """Somebody decided about the call with this id, or the time to decide is over. Comes before `start`.

    `reason`: why somebody else than the asker denied it, in their words, for the readers of `audience` (a label).
    """

    id: str
    consent: Consent
    reason: str = ""
    audience: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """The asker answered the question of the call with this id by a message. Comes before `start`."""

    id: str
    message: Waiting


@dataclass(frozen=True, slots=True)
class EndDue:
    """The turn must end: the next model call is the last, or (`at_once`) no further call is made. `why` is a sentence
    for the person.
    """

    why: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class PauseDue:
    """The turn must wait before it calls a model again. `why` says to its readers for what, and what follows."""

    why: str
    pause: BudgetPause


TurnInput: TypeAlias = (
    events.ProtocolEvent
    | ReasoningArrived
    | ResponseBegun
    | ResponseCounted
    | ResponseCompleted
    | ResponseFailed
    | CallAnswered
    | MessagesJoined
    | ConsentDecided
    | QuestionAnswered
)


@dataclass(frozen=True, slots=True)
class CallModel:
    """Call the model with the turn's context, then `appended`."""

    number: int
    appended: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class SaveProgress:
    """Make `progress` durable before the next effect."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls in parallel; pass each result back as CallAnswered."""

    calls: tuple[CallPlaced, ...]


@dataclass(frozen=True, slots=True)
class AwaitConsent:
    """Put the turn aside until the asker has decided about these calls, or answered; nothing of the turn runs until
    then. `question`: see `agent.events.TurnPutAside`.
    """

    calls: tuple[CallPlaced, ...]
    question: str = ""


@dataclass(frozen=True, slots=True)
class ShowNotice:
    """Show a sentence of the program as a separate paragraph."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: events.Outcome
    text: str


Effect: TypeAlias = CallModel | SaveProgress | RunTools | AwaitConsent | ShowNotice | Finish
