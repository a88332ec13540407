"""What a platform adapter can ask of the bot, as a Protocol.

Rules. `submit` returns only after the message is stored: acknowledge the platform's event after it returns, not before.
Every method may raise CogencyError, whose one sentence may be shown to the person.
"""

from datetime import datetime, timedelta
from typing import Protocol

from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.ports.preferences import Preferences
from agent.stored_messages import LastSeen
from bot.chat.access.admission import AdmissionControl
from bot.chat.commands.declaration import BoundCommands
from bot.chat.connections import PlatformConnections
from bot.chat.dedupe import Deduplicator
from bot.chat.feedback import Feedback
from bot.chat.message_events import MessageEvents
from bot.chat.ports import RunningTurns, Suggestions


class ReceivedConversations(Protocol):
    """What was received from a platform. Every method raises StoreError."""

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """Return the ids of the people who wrote in this conversation; None if the bot does not know it."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """Return a platform's conversations in which a message was written since then, the latest first."""
        ...

    async def watermark(self, source: str) -> datetime | None:
        """Return the time up to which every message of a platform was received; None if none was stored."""
        ...

    async def set_watermark(self, source: str, time: datetime) -> None:
        """Store that time."""
        ...


class DirectMessages(Protocol):
    """Conversations in a channel without threads. `channel`: the id of its first conversation, which is its own."""

    async def conversation_of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
        """Return the conversation of a message written at this time. After a silence of `idle` it is a new one, named
        after `message` (its id).
        """
        ...

    async def current(self, channel: str) -> str:
        """Return the current conversation there."""
        ...

    async def begin(self, channel: str, name: str) -> str:
        """Start a new conversation there, and return its id. `name`: unique, such as an interaction's id."""
        ...


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
    def conversations(self) -> ReceivedConversations: ...
    @property
    def preferences(self) -> Preferences: ...
    @property
    def direct_messages(self) -> DirectMessages: ...
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
