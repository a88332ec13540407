"""Direct messages as conversations: each of their threads is one."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from agent.ports import Clock
from bot.host import Host
from bot.platforms.slack import inbound
from bot.platforms.slack.inbound import SlackBot, SlackMessage

RECENT: Final = timedelta(hours=1)
"""A question that is still being answered, or waits for it, came within this time."""

MOST_RECENT: Final = 1_000
"""Conversations of the whole workspace among which those of one person are looked for."""

MOST_OWN: Final = 50
"""Conversations of one channel of which it is asked who takes part."""


@dataclass(frozen=True, slots=True)
class Direct:
    """Rules
    - A message outside of threads begins a thread, in which it is answered.
    - Words that mean a conversation ("stop") mean, outside of threads, all that goes on in the direct messages. The
      command does so, too; in a channel, it means all that goes on there with this person alone.
    - A whole direct channel was one conversation before its threads were. What is stored so keeps its name: it is found
      by recall, stopped and forgotten like any other, as the thread that is meant outside of threads.
    """

    host: Host
    me: SlackBot
    clock: Clock

    async def going_on(self, channel: str) -> tuple[str, ...]:
        """The conversations of a channel in which something may be answered now, the latest first."""
        since = self.clock.now() - RECENT
        seen = await self.host.conversations.last_seen(self.me.source, since=since, limit=MOST_RECENT)
        return tuple(one.conversation for one in seen if one.channel == channel)

    async def going_on_for(self, channel: str, person: str) -> list[str]:
        """Those of them in which nobody else takes part."""
        latest, alone = (await self.going_on(channel))[:MOST_OWN], frozenset({person})
        return [one for one in latest if await self.host.conversations.participants(one) == alone]

    async def thread_of(self, heard: SlackMessage) -> tuple[str, ...]:
        """What "this thread" means in a message."""
        if heard.direct and not heard.in_thread:
            return await self.outside_threads(heard.channel)
        return (inbound.conversation(self.me, heard),)

    async def thread_at(self, channel: str, ts: str, root: str) -> tuple[str, ...]:
        """What "this thread" means at a message that was pointed at; `root` is "" outside of threads."""
        thread = inbound.thread_conversation(self.me, channel, root or ts)
        if root or await self.host.conversations.participants(thread) is not None:
            return (thread,)
        return await self.outside_threads(channel) or (thread,)

    async def outside_threads(self, channel: str) -> tuple[str, ...]:
        """What "this thread" means where no thread is: () if nothing."""
        whole = inbound.whole_channel(self.me, channel)
        known = inbound.is_direct(channel) and await self.host.conversations.participants(whole) is not None
        return (whole,) if known else ()
