"""What a platform adapter can ask of the bot, as a Protocol.

Rules. `submit` returns only after the message is stored: acknowledge the platform's event after it returns, not before.
Every method may raise CogencyError, whose one sentence may be shown to the person.
"""

from typing import Protocol

from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.ports.conversations import Conversations
from agent.ports.preferences import Preferences
from bot.chat.access.admission import AdmissionControl
from bot.chat.commands.declaration import BoundCommands
from bot.chat.connections import PlatformConnections
from bot.chat.dedupe import Deduplicator
from bot.chat.direct_messages import RollingConversations
from bot.chat.feedback import Feedback
from bot.chat.message_events import MessageEvents
from bot.chat.ports import RunningTurns, Suggestions


class Messages(Protocol):
    """What a platform hands in. Each raises StoreError."""

    async def submit(self, incoming: Incoming) -> bool:
        """Store the message durably; it will be answered. False if it was already stored.

        Raises Refused if this person may not ask that, or not now: its sentence is for them alone.
        """
        ...

    async def record_context_message(self, incoming: Incoming) -> None:
        """Store the message as context of its conversation, without an answer; nothing of people who may not ask."""
        ...

    async def restrict_place(self, channel: str, place: Place) -> None:
        """A channel now has fewer readers: what was said while it was open keeps its audience."""
        ...


class Host(Protocol):
    @property
    def commands(self) -> BoundCommands: ...
    @property
    def turns(self) -> RunningTurns: ...
    @property
    def platforms(self) -> PlatformConnections: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def preferences(self) -> Preferences: ...
    @property
    def direct_messages(self) -> RollingConversations: ...
    @property
    def deduplication(self) -> Deduplicator: ...
    @property
    def admission(self) -> AdmissionControl: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def events(self) -> MessageEvents: ...
    @property
    def suggestions(self) -> Suggestions: ...
