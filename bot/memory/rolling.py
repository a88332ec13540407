"""The conversations of a channel that goes on and on: a direct message without threads.

Above: `bot.hosting`. Below: the ports Conversations and Preferences.

Rules
  The first conversation is the channel's own; a new one begins at a word, or after a long silence, because what was
  said last week would only weigh on today's question. What was said before is still found by recall.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent.memory.forgetting import GOES_ON
from agent.ports import Conversations, Preferences

CURRENT: Final = "conversation"


@dataclass(frozen=True, slots=True)
class Rolling:
    conversations: Conversations
    preferences: Preferences

    async def current(self, channel: str) -> str:
        """The conversation that goes on there. Raises StoreError."""
        return (await self.preferences.of(_owner(channel))).get(CURRENT, channel)

    async def of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
        """The conversation of a message that was written at this time. Raises StoreError."""
        current = await self.current(channel)
        last = await self.conversations.last_said(current)
        if last is None or time - last <= idle:
            return current
        return await self.begin(channel, message)

    async def begin(self, channel: str, name: str) -> str:
        """Begin another one; its id. Raises StoreError."""
        begun = f"{channel}:{name}"
        await self.preferences.set(_owner(channel), CURRENT, begun)
        return begun


def _owner(channel: str) -> str:
    return f"{GOES_ON}{channel}"
