"""The bot as platforms see it, and all platforms as one service.

Above: `bot.app`. Below: `bot.turns.worker`, `bot.access.gate`, the ports of `agent.ports`; platforms come in as plain
functions.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent.authority import Authority
from agent.errors import CogencyError
from agent.memory.forgetting import Gone
from agent.ports import Clock, Conversations, Facts, Forgetting, Ledger, Membership, Profiles, Spending
from agent.records import Incoming, LastSeen, ShownPage
from agent.spending import Account, By, Period, account
from bot.access.budget_desk import BudgetDesk
from bot.access.gate import Gate
from bot.access.lists import Who
from bot.access.readers import Readers
from bot.host import Asker, ForgetAnswer, Forgetter, MemoryAnswer, ModelMenu, Viewer
from bot.memory.desk import MemoryDesk
from bot.memory.forgetting import ForgetDesk
from bot.memory.policy import PolicyDesk
from bot.memory.replies import Delete
from bot.memory.view import NOTHING
from bot.models.desk import ModelDesk
from bot.surface import PageUnsent, Surface
from bot.turns.worker import Turns

log = logging.getLogger(__name__)

START_PATIENCE_S = 60.0
"""How long open turns of an earlier process wait for every platform to connect, so that they can be shown there."""


@dataclass(slots=True)
class BotHost:
    """Implements `bot.host.Host`. `turns` and both desks are set once they exist: turns and host need each other."""

    ledger: Ledger
    conversations: Conversations
    facts: Facts
    forgetting: Forgetting
    spending: Spending
    clock: Clock
    gate: Gate
    profiles: Profiles | None = None
    """What was learned about people; None: nothing."""
    turns: Turns = field(init=False)
    desk: ModelDesk = field(init=False)
    forget_desk: ForgetDesk = field(init=False)
    delete_pages: dict[str, Delete] = field(default_factory=dict[str, Delete])
    """How to delete a page of a reply, by the source of its question."""
    surfaces: dict[str, Callable[[Incoming], Surface]] = field(default_factory=dict[str, Callable[[Incoming], Surface]])
    registered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by each `show_on`; whoever waits for one clears it."""
    readers: Readers = field(init=False)

    def __post_init__(self) -> None:
        self.readers = Readers(self.conversations.groups, self.clock)

    def surface_for(self, incoming: Incoming) -> Surface:
        """Raises PageUnsent for a platform that is not connected; the turn is then put off."""
        if incoming.source not in self.surfaces:
            raise PageUnsent(f"{incoming.source} is not connected")
        return self.surfaces[incoming.source](incoming)

    def show_on(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self.surfaces[source] = surface_for
        self.registered.set()

    def ask_readers(self, source: str, membership: Membership) -> None:
        self.readers.platforms[source] = membership

    async def take(self, incoming: Incoming) -> bool:
        return not (await self.gate.admit(incoming, self.turns.submit)).duplicate

    async def overhear(self, incoming: Incoming) -> None:
        if self.gate.hears(incoming):
            await self.ledger.overhear(incoming)

    async def participants(self, conversation: str) -> frozenset[str] | None:
        return await self.conversations.participants(conversation)

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        return await self.conversations.last_seen(source, since=since, limit=limit)

    async def heard_until(self, source: str) -> datetime | None:
        return await self.conversations.heard_until(source)

    async def hear_until(self, source: str, time: datetime) -> None:
        await self.conversations.hear_until(source, time)

    async def memory(self, viewer: Viewer, words: str = "") -> MemoryAnswer:
        if self.profiles is None:
            return MemoryAnswer(NOTHING)
        manages = viewer.manages or self.gate.rules.access.is_operator(viewer.person.id)
        desk = MemoryDesk(
            facts=self.facts,
            profiles=self.profiles,
            conversations=self.conversations,
            spending=self.spending,
            preferences=self.gate.allowances.preferences,
            forgetting=self.forgetting,
            audiences=self.readers.audiences,
            clock=self.clock,
        )
        return await desk.answer(replace(viewer, manages=manages), words)

    async def ask_to_forget(self, who: Forgetter, words: str) -> ForgetAnswer:
        return await self.forget_desk.ask(who, words)

    async def forget(self, who: Forgetter, token: str, *, replies: bool = False) -> ForgetAnswer:
        return await self.forget_desk.forget(who, token, replies=replies)

    async def gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        await self.forget_desk.gone(name, gone, at_once=at_once)

    async def back(self, names: Collection[str]) -> None:
        await self.forget_desk.back(names)

    def delete_on(self, source: str, delete: Callable[[ShownPage], Awaitable[None]]) -> None:
        self.delete_pages[source] = delete

    async def stop(self, conversation: str) -> bool:
        return await self.turns.stop_conversation(conversation)

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        return await self.forget_desk.amend(channel, message_id, text)

    async def withdraw(self, channel: str, messages: Collection[str]) -> None:
        await self.forget_desk.deleted(channel, messages)

    async def usage(self, person: str) -> Account:
        now = self.clock.now()
        return account(await self.spending.totals(Period.month_of(now), By.DAY, person=person), now)

    async def budget(self, person: str, channel: str, words: str) -> str:
        desk = BudgetDesk(self.gate.rules.access, self.gate.allowances, self.clock)
        return await desk.answer(person, channel, words)

    async def policy(self, asker: Asker, words: str) -> str:
        operates = self.gate.rules.access.is_operator(asker.person.id)
        authority = Authority.ADMIN if operates else asker.authority
        desk = PolicyDesk(self.facts, self.clock, self.readers.audiences)
        return await desk.answer(replace(asker, authority=authority), words)

    async def models(self, person: str, channel: str, roles: frozenset[str] = frozenset()) -> ModelMenu:
        return await self.desk.menu(Who(person, channel, roles))

    async def choose_model(
        self, person: str, name: str, channel: str = "", roles: frozenset[str] = frozenset()
    ) -> None:
        await self.desk.choose(Who(person, channel, roles), name)


async def serve_all(platforms: Mapping[str, Callable[[], Awaitable[None]]], host: BotHost, grace_s: float) -> None:
    """Serve every platform until cancelled; one that fails leaves the others alone.

    Open replies get `grace_s` seconds at the end. Raises the first failure (CogencyError) once no platform is left.
    """
    failures: list[CogencyError] = []

    async def serve(name: str) -> None:
        try:
            await platforms[name]()
        except CogencyError as error:
            log.error("%s: %s", name, error)  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
            failures.append(error)

    serving = [asyncio.create_task(serve(name)) for name in platforms]
    try:
        await _until_shown(serving, host)
        if not all(task.done() for task in serving):
            async with host.turns.serving(grace_s=grace_s):
                await asyncio.wait(serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
    if failures:
        raise failures[0]


async def _until_shown(serving: list[asyncio.Task[None]], host: BotHost) -> None:
    """Until every platform has said where its answers are shown, or failed, or took too long."""
    deadline = host.clock.monotonic() + START_PATIENCE_S
    while len(host.surfaces) + sum(task.done() for task in serving) < len(serving):
        host.registered.clear()
        registered = asyncio.create_task(host.registered.wait())
        left = deadline - host.clock.monotonic()
        done, _ = await asyncio.wait(
            [registered, *(task for task in serving if not task.done())],
            timeout=max(0.0, left),
            return_when=asyncio.FIRST_COMPLETED,
        )
        registered.cancel()
        if not done:
            return
