"""A host that answers and counts: real turns on a store in memory, with a model that the test scripts."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.ports.tools import Tool
from agent.ports.transcription import Transcriber
from agent.providers.scripted import ScriptedProvider
from agent.tool_policy import PolicyRow
from bot.budgets.budgets import UNLIMITED, Budget, Budgets
from bot.budgets.gate import NO_EXTENSIONS, ExtensionRules
from bot.chat.access.acl import Entries
from bot.chat.messages import ReceivedMessages
from bot.chat.turns.worker import TurnWorkerLimits
from bot.python.engine import PythonEngine
from bot.webhooks.config import Hook
from tests.fakes.hosts import ServedHost
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import AT_ONCE, NO_HOOKS, turns_host


@dataclass(frozen=True)
class RecordedMessages(ReceivedMessages):
    """`taken` holds every submitted message, repeated ones included."""

    taken: list[Incoming] = field(default_factory=list[Incoming])

    async def submit(self, incoming: Incoming) -> bool:
        self.taken.append(incoming)
        return await ReceivedMessages.submit(self, incoming)


@dataclass(frozen=True)
class AnsweringHost(ServedHost):
    """`taken` holds every received message, repeated ones included."""

    store: StoreInMemory
    taken: list[Incoming]

    @asynccontextmanager
    async def answering(self) -> AsyncGenerator[None, None]:
        """Answer received messages until the block ends; first those that an earlier host left unanswered."""
        await self.store.ledger.release_all()
        async with self.turns.serving():
            yield


def answering_host(
    model: ScriptedProvider,
    clock: Clock,
    store: StoreInMemory | None = None,
    transcriber: Transcriber | None = None,
    limits: TurnWorkerLimits = AT_ONCE,
    tools: Sequence[Tool] = (),
    operators: frozenset[str] = frozenset(),
    budgets: Budgets = Budgets(),  # noqa: B008 -- frozen
    code: PythonEngine | None = None,
    hooks: Mapping[str, Hook] = NO_HOOKS,
    rows: Sequence[PolicyRow] = (),
    extensions: ExtensionRules = NO_EXTENSIONS,
    run: Budget = UNLIMITED,
    alerts: str = "",
    *,
    explains: bool = False,
    handoff_people: Entries = frozenset(),
) -> AnsweringHost:
    """Return a host in a simulated process of its own, on a store that may be an earlier one's."""
    store = store or store_in_memory()
    host = turns_host(
        store,
        model,
        clock,
        transcriber,
        operators=operators,
        limits=limits,
        tools=tools,
        budgets=budgets,
        code=code,
        hooks=hooks,
        rows=rows,
        extensions=extensions,
        run=run,
        alerts=alerts,
        explains=explains,
        handoff_people=handoff_people,
    )
    received = host.messages
    messages = RecordedMessages(received.admission, received.turns, received.ledger, received.clock)
    services: dict[str, Any] = {each.name: getattr(host, each.name) for each in fields(host)}
    services["messages"] = messages
    return AnsweringHost(**services, store=store, taken=messages.taken)
