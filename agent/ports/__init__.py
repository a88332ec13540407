"""The ports of the agent, as protocols, from the modules that own them."""
# pyright: reportUnusedImport=false

from agent.messages import ToolSpec
from agent.ports.agent_store import AgentStore
from agent.ports.clock import Clock
from agent.ports.consents import Consents, OpenQuestions
from agent.ports.conversations import Conversations, Knowledge, Summaries, ThreadHistory, WorkingSet
from agent.ports.embeddings import Embedder, Embeddings
from agent.ports.forgetting import Forgetting
from agent.ports.installations import Installation, Installations
from agent.ports.jobs import Jobs
from agent.ports.ledger import Ledger, TurnLedger
from agent.ports.membership import Membership
from agent.ports.memory import Facts, FactWriter, Memories, Profiles
from agent.ports.model import (
    CallOptions,
    Capabilities,
    Halt,
    HandleKept,
    KeepingProvider,
    ModelChanged,
    ModelSession,
    PromptReduced,
    Provider,
    ProviderEvent,
    ReasoningArrived,
    ResponseEnded,
    ResumingProvider,
    StopReason,
    TokensArrived,
    WarningProvider,
)
from agent.ports.notifier import Notifier
from agent.ports.operator_sessions import OperatorSession, OperatorSessions
from agent.ports.preferences import Preferences
from agent.ports.replies import Replies
from agent.ports.shard_leases import SHARD_LEASE, HeldShard, ListedShard, ShardLeases, ShardSession, ShardShare
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken, SharedRates
from agent.ports.spending import Spending
from agent.ports.tool_accounts import ToolAccounts
from agent.ports.tool_audit import AuditedCall, CallEnd, ToolAudit
from agent.ports.tools import (
    NO_SERVERS,
    Ask,
    Asker,
    Consult,
    PlatformTool,
    Report,
    SituationalTool,
    Tool,
    ToolContext,
    ToolEffect,
    ToolOutput,
    ToolServers,
    ToolSource,
    decline_question,
)
from agent.ports.transcription import Transcriber, Transcript
