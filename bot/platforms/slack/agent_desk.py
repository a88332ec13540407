"""What people do with the agent that Slack shows: opening it, looking beside it, stopping it, naming its sessions.

Above: `intake`. Below: `agent_view` (what is told), `sessions`, `prompts`, `looking`, `bot.host`.
"""

from dataclasses import dataclass
from typing import assert_never

from bot.host import Host
from bot.platforms.slack.reading import inbound
from bot.platforms.slack.reading.agent_view import AgentEvent, LookedAt, Opened, SessionRenamed, SessionStopped
from bot.platforms.slack.reading.inbound import Me
from bot.platforms.slack.reading.looking import Looking
from bot.platforms.slack.replies.sessions import Sessions
from bot.platforms.slack.views.prompts import Prompts

MESSAGES = "messages"
"""The tab in which people write to the agent."""


@dataclass(frozen=True, slots=True)
class AgentDesk:
    host: Host
    me: Me
    sessions: Sessions
    prompts: Prompts
    looking: Looking

    async def see(self, event: AgentEvent) -> None:
        """Raises CogencyError when a stop could not be stored; Slack then sends it again."""
        match event:
            case Opened(user, _, tab, things):
                if things is not None:
                    self.looking.sees(user, things)
                if tab == MESSAGES:
                    self.prompts.offer(event)
            case LookedAt(user, things):
                self.looking.sees(user, things)
            case SessionStopped():
                await self._stop(event)
            case SessionRenamed(channel, thread):
                self.sessions.renamed(channel, thread)
            case _:
                assert_never(event)

    async def _stop(self, stopped: SessionStopped) -> None:
        """What runs in that thread, and nothing else. Slack leaves the status to the app."""
        channel, thread = stopped.channel, stopped.thread
        whole, one = inbound.whole_channel(self.me, channel), inbound.thread_conversation(self.me, channel, thread)
        await self.host.stop(one if thread else whole)
        self.sessions.rest_soon(channel, thread)

    async def close(self) -> None:
        await self.prompts.close()
        await self.sessions.close()
