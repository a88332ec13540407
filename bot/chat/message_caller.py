"""The author of a message as the user of a command that runs because of it: "learn this", or what a turn waits for."""

from dataclasses import dataclass, replace

from agent.errors import Refused
from agent.incoming import Incoming, Person
from agent.ports.tools import Asker
from agent.turn_setup import asker_of
from bot.chat.askers import Requester
from bot.chat.commands.declaration import Stoppable
from bot.chat.panels import PanelPart
from bot.chat.texts import replies as reply_texts


@dataclass(frozen=True, slots=True)
class MessageCaller:
    """Implements `Caller` for a message: its author pressed nothing, so no form opens and no choice is asked for.

    `window_fields`: as in `Caller`. `manages`: whether the author manages the channel.
    """

    incoming: Incoming
    window_fields: int
    manages: bool = False

    @property
    def person(self) -> Person:
        return self.incoming.person

    @property
    def channel(self) -> str:
        return self.incoming.channel

    @property
    def entry_chars(self) -> int | None:
        return None

    @property
    def not_receiving(self) -> str:
        return ""

    async def requester(self) -> Requester:
        return Requester.wrote(self.incoming)

    async def asker(self) -> Asker:
        return replace(asker_of(self.incoming), manages=self.manages)

    async def private_asker(self) -> Asker:
        return await self.asker()

    async def policy_asker(self) -> Asker:
        return await self.asker()

    async def ask_zone(self, words: str) -> PanelPart | None:  # noqa: ARG002 -- required by the port
        return None

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- required by the port
        raise Refused(reply_texts.COMMAND_ONLY)

    async def stoppable(self) -> Stoppable:
        return Stoppable((self.incoming.conversation,))

    async def begin_conversation(self) -> str:
        raise Refused(reply_texts.COMMAND_ONLY)

    async def announce(self, markdown: str) -> None:  # noqa: ARG002 -- required by the port
        raise Refused(reply_texts.COMMAND_ONLY)

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return ""
