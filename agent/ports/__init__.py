"""What the agent needs from the world, as Protocols, one module for each part of it.

Above: `agent.loop`, the tools and `bot` call them. Implemented by: `agent.providers`, `agent.tools`, `store`, `bot.app`
(Clock), and by small fakes in `tests/fakes`. Every name is imported from here.
"""

from agent.ports.clock import Clock
from agent.ports.hearing import Transcriber, Transcript
from agent.ports.meaning import Embedder, Embeddings
from agent.ports.membership import Membership
from agent.ports.memory import (
    Conversations,
    Facts,
    Forgetting,
    Knowledge,
    Memories,
    Preferences,
    Profiles,
    Spending,
    Summaries,
    WorkingSet,
)
from agent.ports.models import (
    CallOptions,
    Capabilities,
    Halt,
    HandleKept,
    KeepingProvider,
    ModelChanged,
    Provider,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    ResumingProvider,
    Session,
    StopReason,
    TokensArrived,
    ToolSpec,
    WarningProvider,
)
from agent.ports.tools import Tool, ToolContext, ToolOutput
from agent.ports.work import Bell, Jobs, Ledger, Replies

__all__ = [
    "Bell",
    "CallOptions",
    "Capabilities",
    "Clock",
    "Conversations",
    "Embedder",
    "Embeddings",
    "Facts",
    "Forgetting",
    "Halt",
    "HandleKept",
    "Jobs",
    "KeepingProvider",
    "Knowledge",
    "Ledger",
    "Membership",
    "Memories",
    "ModelChanged",
    "Preferences",
    "Profiles",
    "Provider",
    "ProviderEvent",
    "ReasoningArrived",
    "Replies",
    "ResponseEnded",
    "ResumingProvider",
    "Session",
    "Spending",
    "StopReason",
    "Summaries",
    "TokensArrived",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "ToolSpec",
    "Transcriber",
    "Transcript",
    "WarningProvider",
    "WorkingSet",
]
