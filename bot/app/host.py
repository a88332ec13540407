"""The bot as platforms see it."""

from dataclasses import dataclass

from agent.ports.conversations import Conversations
from agent.ports.preferences import Preferences
from bot.chat.access.admission import AdmissionControl
from bot.chat.commands.declaration import BoundCommands
from bot.chat.connections import PlatformConnections
from bot.chat.dedupe import Deduplicator
from bot.chat.direct_messages import RollingConversations
from bot.chat.feedback import ReplyFeedback
from bot.chat.message_events import MessageEvents
from bot.chat.messages import ReceivedMessages
from bot.chat.ports import Suggestions
from bot.chat.turns.worker import TurnWorker
from bot.forgetting.service import ForgetService
from bot.knowledge.service import KnowledgeService
from bot.memory.service import MemoryService
from bot.schedules.service import ScheduleService
from bot.tools.commands import ToolsService


@dataclass(frozen=True, slots=True)
class BotHost:
    """Implements `bot.chat.host.Host`; the services of features beside it are not for platforms."""

    messages: ReceivedMessages
    commands: BoundCommands
    platforms: PlatformConnections
    admission: AdmissionControl
    turns: TurnWorker
    conversations: Conversations
    preferences: Preferences
    tools: ToolsService
    knowledge: KnowledgeService
    forgetting: ForgetService
    direct_messages: RollingConversations
    deduplication: Deduplicator
    suggestions: Suggestions
    memories: MemoryService
    schedules: ScheduleService
    feedback: ReplyFeedback
    events: MessageEvents
