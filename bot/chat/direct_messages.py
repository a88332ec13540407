"""The current conversation of each person in direct messages, which have no threads."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent.memory.forgetting_plans import GOES_ON
from agent.ports.conversations import Conversations
from agent.ports.preferences import Preferences

# The conversations of a channel without threads: direct messages.
#
# Rules
#   The first conversation has the channel's own id. A new one begins on request, or after a long silence, because last
#   week's messages would only distract from today's question. Recall still finds older messages.


CURRENT: Final = "conversation"


@dataclass(frozen=True, slots=True)
class RollingConversations:
    """`channel`: the id of its first conversation, which is its own."""

    conversations: Conversations
    preferences: Preferences

    async def current(self, channel: str) -> str:
        """Return the conversation that is current there. Raises StoreError."""
        return (await self.preferences.all_of(_owner(channel))).get(CURRENT, channel)

    async def conversation_of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
        """Return the conversation of a message written at this time. After a silence of `idle` it is a new one, named
        after `message` (its id). Raises StoreError.
        """
        current = await self.current(channel)
        last = await self.conversations.last_said(current)
        if last is None or time - last <= idle:
            return current
        return await self.begin(channel, message)

    async def begin(self, channel: str, name: str) -> str:
        """Begin a new conversation, and return its id. `name`: unique, such as an interaction's id.

        Raises StoreError.
        """
        conversation = f"{channel}:{name}"
        await self.preferences.set(_owner(channel), CURRENT, conversation)
        return conversation


def _owner(channel: str) -> str:
    return f"{GOES_ON}{channel}"
