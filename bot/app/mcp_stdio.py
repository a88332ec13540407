"""`cogency mcp`: the MCP server for the person whose machine and database it is, as `cogency chat` is their chat.

With SQLite one process can use the database at a time. An editor keeps this server running for days, so the database is
open only during calls, and for a moment after them.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Final

from agent.errors import Refused, StoreLocked
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.machine import new_id, new_secret
from bot.api.mcp_server import texts
from bot.api.mcp_server.arguments import ToolName
from bot.api.mcp_server.server import Context, mcp_server
from bot.api.mcp_server.service import Answer, PersonalTools, ShowStatus
from bot.api.mcp_server.stdio import serve_stdio
from bot.app import parts
from bot.app.on_demand import OnDemand
from bot.app.platforms import OpenTerminal, open_terminal_parts
from bot.app.settings import Settings
from bot.chat.reply.surface import Limits
from bot.platforms.terminal.bot import TerminalBot
from bot.platforms.terminal.caller import Declining, TerminalCaller
from bot.platforms.terminal.panels import panel_text, typed_actions
from bot.platforms.terminal.pipe import PlainDisplay
from bot.platforms.terminal.surface import LIMITS, SOURCE, TerminalSurface
from bot.settings.installation import DISTRIBUTION, typed_command

IDLE_S: Final = 2.0  # Longer than a model takes between two calls; other commands find the database locked meanwhile
PATIENCE_S: Final = 20.0  # For another process that uses the database, such as the server of a second editor
STDIN: Final = 0
STDOUT: Final = 1


async def serve_mcp(settings: Settings, person: Person, tools_wait_s: float) -> None:
    """Serve one MCP client at standard input and output until it leaves. Raises Refused and SettingsError.

    `tools_wait_s`: see `open_terminal_parts`.
    """
    opening = partial(open_terminal_parts, settings, person, tools_wait_s=tools_wait_s, stays=False)
    terminal = OnDemand(opening, parts.CLOCK, IDLE_S, PATIENCE_S)
    may_rehearse = settings.models.model is not None
    try:
        clients = LocalClient(person.id, terminal, f"{SOURCE}:{new_id()}", may_rehearse=may_rehearse)
        await serve_stdio(mcp_server(clients, version(DISTRIBUTION)), STDIN, STDOUT)
    finally:
        await terminal.close()


@dataclass(frozen=True, slots=True)
class LocalClient:
    """Implements `Clients`: there is one. `notes`: the conversation of what it remembers. `may_rehearse`: whether the
    rehearsal model, which answers by fixed rules, was chosen.
    """

    person: str
    terminal: OnDemand[OpenTerminal]
    notes: str
    may_rehearse: bool
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def person_of(self, _: Context) -> str:
        return self.person

    def tools_of(self, _: Context) -> frozenset[ToolName]:
        return frozenset(ToolName)

    @asynccontextmanager
    async def open(self, _: Context) -> AsyncGenerator[PersonalTools]:
        try:
            async with self.terminal.using() as open_terminal:
                opened, every = open_terminal.opened, open_terminal.features
                answers = self.may_rehearse or opened.models.choice.endpoint is not None
                yield PersonalTools(
                    user=TerminalUser(open_terminal.bot, self.notes, self.asking, answers=answers),
                    store=opened.store,
                    toolbox=every.tools.service.toolbox,
                    rows=opened.policy.rows,
                    commands=every.commands,
                    clock=parts.CLOCK,
                    new_secret=new_secret,
                    hooks=opened.hooks,
                )
        except StoreLocked as locked:
            raise Refused(texts.DATABASE_BUSY) from locked


@dataclass(frozen=True, slots=True)
class TerminalUser:
    """Implements `McpUser` for the user of a terminal. `asking`: a terminal answers one question at a time. `answers`:
    whether there is a model.
    """

    bot: TerminalBot
    notes: str
    asking: asyncio.Lock
    answers: bool

    async def message(self, text: str, conversation: str) -> Incoming:
        return self.bot.message(text, conversation)

    async def caller(self, conversation: str) -> TerminalCaller:
        return TerminalCaller(self.bot, conversation)

    def new_conversation(self) -> str:
        return self.bot.new_conversation()

    async def ask(self, question: str, conversation: str, status: ShowStatus) -> Answer:
        if not self.answers:
            raise Refused(texts.NO_MODEL.format(init=typed_command("init")))
        async with self.asking:
            await self.bot.finish_pending(lambda unfinished: self._surface([], unfinished.conversation, status))
            pieces = list[str]()
            surface = self._surface(pieces, conversation, status)
            # A program wrote the question, and nobody knows from whose text.
            outcome = await self.bot.ask(question, conversation, surface, own=False)
            surface.close()
            caller = TerminalCaller(self.bot, conversation)
            waiting = (await caller.decision())[1] if outcome is None else None
        text = "".join(pieces)
        if waiting is not None and typed_actions(waiting):
            where = texts.WAITS.format(where=texts.WAITS_AT_TERMINAL)
            return Answer(f"{panel_text(waiting)}\n\n{where}", conversation, waits=True)
        if outcome is None:
            return Answer(text or texts.NOT_COMPLETE, conversation, complete=False)
        return Answer(text, conversation, complete=outcome is not Outcome.REFUSED)

    def _surface(self, pieces: list[str], conversation: str, status: ShowStatus) -> "ClientSurface":
        return ClientSurface(pieces, status, TerminalCaller(self.bot, conversation))


class ClientSurface(TerminalSurface):
    """The reply of a terminal as text for a client: without what is typed at a terminal, and with each new status."""

    def __init__(self, pieces: list[str], status: ShowStatus, caller: TerminalCaller) -> None:
        self._text = PlainDisplay(pieces.append)
        super().__init__(self._text, Declining(caller), caller.written_for)
        self._report = status

    @property
    def limits(self) -> Limits:
        return replace(LIMITS, offers=frozenset(), steps=False, traces=False)

    async def status(self, text: str) -> None:
        if text:
            await self._report(text)

    def close(self) -> None:
        """The reply is complete."""
        self._text.close()
