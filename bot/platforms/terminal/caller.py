"""The user of a terminal's commands, and what a command answers there unasked."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused
from agent.incoming import Person
from agent.ports.tools import Asker
from bot.chat.askers import Requester
from bot.chat.commands.declaration import BoundCommand, CommandCall, PressedReply, Stoppable, command_below
from bot.chat.panels import Panel, PanelAction
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal import inbound
from bot.platforms.terminal.chat_bot import ChatBot
from bot.platforms.terminal.panels import typed_actions
from bot.platforms.terminal.surface import SOURCE

WINDOW_FIELDS: Final = 25  # They are filled in one after the other; more are too many to fill in at once
DECLINE: Final = "no"  # What is typed for the button that declines


@dataclass(slots=True)
class TerminalCaller:
    """Implements `Caller`: the terminal belongs to one user, and every place in it is theirs."""

    bot: ChatBot
    conversation: str

    @property
    def person(self) -> Person:
        return self.bot.person

    @property
    def channel(self) -> str:
        return SOURCE

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel)

    async def policy_asker(self) -> Asker:
        return Asker(self.person, self.bot.place, authority=Authority.ADMIN)

    async def asker(self) -> Asker:
        return Asker(self.person, self.bot.place, self.conversation)

    async def private_asker(self) -> Asker:
        return Asker(self.person, self.bot.place, thread=frozenset({self.conversation}))

    async def ask_zone(self, words: str) -> None:
        """The time zone is the machine's."""

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- the machine has a zone of its own
        return platforms_texts.ZONE_OF_MACHINE

    @property
    def entry_chars(self) -> None:
        """Entries are not shortened: there are no buttons."""

    @property
    def not_receiving(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def stoppable(self) -> Stoppable:
        """No turn runs while a line is read."""
        return Stoppable(())

    async def begin_conversation(self) -> str:
        self.conversation = self.bot.new_conversation()
        return platforms_texts.NEW_THREAD

    async def announce(self, markdown: str) -> None:  # noqa: ARG002 -- there are no other readers
        raise Refused(reply_texts.NOT_SAID_THERE)

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return formatting.help_text(inbound.help_text())

    # What the buttons of a turn's reply lead to.

    async def press_below(self, action: ReplyAction, turn: int) -> tuple[BoundCommand, PanelAction]:
        """Return the command to which this button below a turn's reply leads, and the button that is pressed there.
        Raises CogencyError.
        """
        command = command_below(self.bot.commands, action)
        return command, await command.presses[action](PressedReply(turn, self.person.id))

    async def question_of(self, turn: int) -> tuple[BoundCommand, Panel]:
        """Return what a tool asks in this turn; the panel asks nothing if no tool does. Raises CogencyError."""
        command, press = await self.press_below(ReplyAction.ANSWER, turn)
        return command, await self.run(command, press)

    async def decision(self) -> tuple[BoundCommand, Panel]:
        """Return the oldest decision that the user has to make; the panel asks nothing if there is none. Raises
        CogencyError.
        """
        command = command_below(self.bot.commands, ReplyAction.DECIDE)
        return command, await self.run(command, PanelAction(""))

    async def run(self, command: BoundCommand, action: PanelAction) -> Panel:
        """Press a button of one of the command's panels. Raises CogencyError."""
        return await command.run(CommandCall(words=action.words, caller=self, pressed=True))

    async def written_for(self, action: ReplyAction, turn: int) -> str:
        """Return what the user writes in place of this button below a turn's reply. Raises CogencyError."""
        command, press = await self.press_below(action, turn)
        return f"/{command.declared.name} {press.words}"


@dataclass(slots=True)
class Declining:
    """Declines questions of tools during a call, where no person reads."""

    caller: TerminalCaller
    declining: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])

    def __call__(self, turn: int) -> None:
        task = asyncio.ensure_future(self._decline(turn))
        self.declining.add(task)
        task.add_done_callback(self.declining.discard)

    async def _decline(self, turn: int) -> None:
        with suppress(CogencyError):  # the question then times out
            command, panel = await self.caller.question_of(turn)
            while (action := typed_actions(panel).get(DECLINE)) is not None:
                await self.caller.run(command, action)
                command, panel = await self.caller.question_of(turn)
