"""What a platform's adapter is given of the bot.

Rules. `messages.submit` returns only after the message is stored: acknowledge the platform's event after it returns,
not before. Every method may raise CogencyError, whose one sentence may be shown to the person.
"""

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


@dataclass(frozen=True, slots=True)
class Host:
    messages: ReceivedMessages
    commands: BoundCommands
    platforms: PlatformConnections
    admission: AdmissionControl
    turns: TurnWorker
    conversations: Conversations
    preferences: Preferences
    direct_messages: RollingConversations
    deduplication: Deduplicator
    suggestions: Suggestions
    feedback: ReplyFeedback
    events: MessageEvents
