"""People for whom MCP clients act, on a store in memory, with the bot's own tools and commands."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.hooks.running import Hooks
from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place
from agent.tool_policy import PolicyRow
from agent.toolbox.registry import Toolbox
from agent.tools.recall import RecallTool
from agent.tools.remember import RememberTool
from bot.api.mcp_server.arguments import ToolName
from bot.api.mcp_server.server import Context
from bot.api.mcp_server.service import Answer, PersonalTools, ShowStatus
from bot.app.parts import memory_service
from bot.chat.commands.declaration import by_name
from bot.forgetting.commands import FORGET_COMMAND
from bot.forgetting.service import ForgetService
from bot.memory.commands import COMMAND as MEMORY_COMMAND
from store.engine import Store
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock

ANNA: Final = Person("slack:T1:U1", "Anna")
BEN: Final = Person("slack:T1:U2", "Ben")


@dataclass
class FakeMcpUser:
    """Implements `McpUser`. `refusal`: why they may not use the bot now. `asked`: their questions, which have no
    answer until `answered` is set. `stopped`: those that were cancelled.
    """

    clock: FakeClock
    person: Person = ANNA
    within_team: str | None = None
    authority: Authority = Authority.EMPLOYEE
    notes: str = "notes"
    refusal: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: list[str] = field(default_factory=list[str])
    changes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """Released with each question that is asked or stopped."""
    _numbers: "count[int]" = field(default_factory=count)

    async def message(self, text: str, conversation: str) -> Incoming:
        if self.refusal:
            raise Refused(self.refusal)
        id_ = f"{self.person.id} {next(self._numbers)}"
        place = Place(PersonAudience(self.person.id), self.within_team)
        now, authority = self.clock.now(), self.authority
        return Incoming("mcp", id_, "mcp", id_, conversation, self.person, place, text, now, authority=authority)

    async def caller(self, conversation: str) -> FakeCaller:
        if self.refusal:
            raise Refused(self.refusal)
        threads = frozenset({conversation}) if conversation else frozenset[str]()
        place = Place(PersonAudience(self.person.id))
        return FakeCaller(replace(self.person, time_zone="Europe/Madrid"), place=place, conversations=threads)

    def new_conversation(self) -> str:
        return f"{self.person.id} new {next(self._numbers)}"

    async def ask(self, question: str, conversation: str, status: ShowStatus) -> Answer:
        self.asked.append((question, conversation))
        self.changes.release()
        await status("Thinking…")
        try:
            await self.answered.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # as a turn that is stored
            self.stopped.append(question)
            self.changes.release()
            raise
        return Answer(f"You asked: {question}", conversation)


def personal_tools(
    store: Store, user: FakeMcpUser, rows: Sequence[PolicyRow] = (), hooks: Hooks | None = None
) -> PersonalTools:
    async def take_back(_: str, __: str | None) -> None:
        pass

    async def withdraw(_: str, __: str, ___: str) -> bool:
        return False

    secrets = count(1)
    forgetting = ForgetService(
        forgetting=store.forgetting,
        ledger=store.ledger,
        jobs=store.jobs,
        preferences=store.preferences,
        clock=user.clock,
        take_back=take_back,
        withdraw=withdraw,
        tell_after_s=(),
    )
    commands = (
        FORGET_COMMAND.bound(forgetting),
        MEMORY_COMMAND.bound(replace(memory_service(store), clock=user.clock)),
    )
    return PersonalTools(
        user=user,
        store=store,
        toolbox=Toolbox([RecallTool(store.memories), RememberTool(store.facts)]),
        rows=rows,
        commands=by_name(commands),
        clock=user.clock,
        hooks=hooks,
        new_secret=lambda: f"secret-{user.person.id}-{next(secrets)}",
    )


@dataclass(frozen=True)
class FakeClients:
    """Implements `Clients`: one client, of the person of these tools. `failing`: raised when they are opened."""

    tools: PersonalTools
    allowed: frozenset[ToolName] = frozenset(ToolName)
    failing: Exception | None = None

    def person_of(self, _: Context) -> str:
        return "person"

    def tools_of(self, _: Context) -> frozenset[ToolName]:
        return self.allowed

    @asynccontextmanager
    async def open(self, _: Context) -> AsyncGenerator[PersonalTools]:
        if self.failing is not None:
            raise self.failing
        yield self.tools
