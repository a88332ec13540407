"""The bot as platforms see it, and all platforms as one service.

Above: `bot.app`. Below: `bot.connections`, `bot.access.gate`, `bot.turns.worker`, the desks that answer commands, the
ports of `agent.ports`; platforms come in as plain functions.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.authority import Authority
from agent.errors import CogencyError, StoreUnavailable
from agent.memory.audience import Place
from agent.memory.forgetting import Gone
from agent.ports import Clock, Conversations, Ledger, Membership, Preferences, Replies, Spending
from agent.records import Answered, Incoming, LastSeen, Verdict
from agent.spending import Account, By, Period, account
from bot.access import lists
from bot.access.budget_desk import BudgetDesk
from bot.access.gate import Gate
from bot.access.lists import Who
from bot.attachments.notes import with_names
from bot.attachments.reading import Fetch
from bot.backoff import Backoff
from bot.connections import Connections
from bot.health import Health
from bot.host import (
    Asker,
    ForgetAnswer,
    Forgetter,
    MemoryAnswer,
    ModelMenu,
    PlatformUnavailable,
    Suggestion,
    Viewer,
)
from bot.memory.answers import ReplyDesk
from bot.memory.desk import MemoryDesk
from bot.memory.forgetting import ForgetDesk
from bot.memory.policy import PolicyDesk
from bot.memory.replies import Delete
from bot.memory.rolling import Rolling
from bot.models.desk import ModelDesk
from bot.once import Once
from bot.surface import Surface
from bot.turns.worker import Turns

log = logging.getLogger(__name__)

AGAIN_S = 2.0
MOST_AGAIN_S = 120.0
"""Between attempts to serve a platform that cannot be reached: doubling, so that an outage of hours costs little, and
its end is met within two minutes."""

START_PATIENCE_S = 60.0
"""How long open turns of an earlier process wait for every platform to connect, so that they can be shown there."""


@dataclass(frozen=True, slots=True)
class Desks:
    """What answers people's commands."""

    models: ModelDesk
    memory: MemoryDesk
    forgetting: ForgetDesk
    budgets: BudgetDesk
    policies: PolicyDesk
    replies: ReplyDesk
    health: Health


@dataclass(frozen=True, slots=True)
class BotHost:
    """Implements `bot.host.Host`."""

    connections: Connections
    gate: Gate
    turns: Turns
    ledger: Ledger
    conversations: Conversations
    spending: Spending
    replies: Replies
    preferences: Preferences
    desks: Desks
    clock: Clock

    def show_on(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self.connections.show_on(source, surface_for)

    def hide(self, source: str) -> None:
        self.connections.hide(source)

    def connected(self, source: str, trouble: str = "") -> None:
        self.connections.note(source, trouble)

    def ask_readers(self, source: str, membership: Membership) -> None:
        self.connections.readers.platforms[source] = membership

    async def narrow(self, channel: str, place: Place) -> None:
        await self.ledger.narrow(channel, place, self.clock.now())

    def delete_on(self, source: str, delete: Delete) -> None:
        self.connections.deletions[source] = delete

    def fetch_on(self, source: str, fetch: Fetch) -> None:
        self.connections.fetchers[source] = fetch

    async def take(self, incoming: Incoming) -> bool:
        return not (await self.gate.admit(with_names(incoming), self.turns.submit)).duplicate

    async def overhear(self, incoming: Incoming) -> None:
        if self.gate.hears(incoming):
            await self.ledger.overhear(with_names(incoming))

    async def participants(self, conversation: str) -> frozenset[str] | None:
        return await self.conversations.participants(conversation)

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        return await self.conversations.last_seen(source, since=since, limit=limit)

    async def heard_until(self, source: str) -> datetime | None:
        return await self.conversations.heard_until(source)

    async def hear_until(self, source: str, time: datetime) -> None:
        await self.conversations.hear_until(source, time)

    async def memory(self, viewer: Viewer, words: str = "") -> MemoryAnswer:
        manages = viewer.manages or self.operates(viewer.person.id)
        return await self.desks.memory.answer(replace(viewer, manages=manages), words)

    async def ask_to_forget(self, who: Forgetter, words: str) -> ForgetAnswer:
        return await self.desks.forgetting.ask(who, words)

    async def forget(self, who: Forgetter, token: str, *, replies: bool = False) -> ForgetAnswer:
        return await self.desks.forgetting.forget(who, token, replies=replies)

    async def gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        await self.desks.forgetting.gone(name, gone, at_once=at_once)

    async def back(self, names: Collection[str]) -> None:
        await self.desks.forgetting.back(names)

    async def stop(self, conversation: str) -> bool:
        return await self.turns.stop_conversation(conversation)

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        return await self.desks.forgetting.amend(channel, message_id, text)

    async def withdraw(self, channel: str, messages: Collection[str]) -> None:
        await self.desks.forgetting.deleted(channel, messages)

    async def usage(self, person: str) -> Account:
        now = self.clock.now()
        return account(await self.spending.totals(Period.month_of(now), By.DAY, person=person), now)

    async def budget(self, person: str, channel: str, words: str) -> str:
        return await self.desks.budgets.answer(person, channel, words)

    async def policy(self, asker: Asker, words: str) -> str:
        authority = Authority.ADMIN if self.operates(asker.person.id) else asker.authority
        return await self.desks.policies.answer(replace(asker, authority=authority), words)

    async def models(self, person: str, channel: str, roles: frozenset[str] = frozenset(), team: str = "") -> ModelMenu:
        return await self.desks.models.menu(Who(person, channel, roles, team))

    async def choose_model(
        self, person: str, name: str, channel: str = "", roles: frozenset[str] = frozenset(), team: str = ""
    ) -> None:
        await self.desks.models.choose(Who(person, channel, roles, team), name)

    async def reply_at(self, source: str, page: str, channel: str = "") -> Answered | None:
        return await self.replies.at(source, page, channel)

    async def delete_growing(self, source: str, page: str, person: str, channel: str = "") -> bool:
        reply = await self.replies.growing(source, page, channel)
        if reply is None or reply.person != person:
            return False
        return await self.turns.withdraw(reply.channel, reply.message_id)

    async def reply_of(self, turn: int) -> Answered | None:
        return await self.desks.replies.of(turn)

    async def judge(self, turn: int, person: str, verdict: Verdict | None) -> bool:
        return await self.desks.replies.judge(turn, person, verdict)

    async def delete_reply(self, turn: int, person: str) -> bool:
        return await self.desks.replies.delete(turn, person, operates=self.operates(person))

    async def take_back(self, turn: int, person: str) -> str:
        return await self.desks.memory.kept.take_back(turn, person)

    async def conversation(self, channel: str, message: str, time: datetime, *, idle: timedelta) -> str:
        return await self._rolling.of(channel, message, time, idle)

    async def current_conversation(self, channel: str) -> str:
        return await self._rolling.current(channel)

    async def begin_conversation(self, channel: str, name: str) -> None:
        await self._rolling.begin(channel, name)

    async def suggestions(self, viewer: Viewer, limit: int) -> tuple[Suggestion, ...]:
        return await self.desks.memory.suggestions(viewer, limit)

    async def choices(self, owner: str) -> Mapping[str, str]:
        return await self.preferences.of(owner)

    async def choose(self, owner: str, name: str, value: str | None) -> None:
        await self.preferences.set(owner, name, value)

    async def first(self, source: str, what: str) -> bool:
        return await Once(self.preferences).first(source, what)

    async def undone(self, source: str, what: str) -> None:
        await Once(self.preferences).undone(source, what)

    def closed_to(self, who: Who, authority: Authority) -> str | None:
        return lists.closed_to(self.gate.rules.access, who, authority)

    def admit_order(self, who: Who, authority: Authority, time_zone: str = "UTC") -> None:
        self.gate.order(who, authority, time_zone)

    async def admit_posting(self, incoming: Incoming) -> None:
        await self.gate.admit_posting(incoming)

    def operates(self, person: str) -> bool:
        return self.gate.rules.access.is_operator(person)

    async def report(self, person: str) -> str | None:
        return await self.desks.health.text() if self.operates(person) else None

    @property
    def _rolling(self) -> Rolling:
        return Rolling(self.conversations, self.preferences)


async def serve_all(platforms: Mapping[str, Callable[[], Awaitable[None]]], host: BotHost, grace_s: float) -> None:
    """Serve every platform until cancelled; one that fails leaves the others alone. What may pass (PlatformUnavailable,
    StoreUnavailable) is tried again for ever.

    Open replies get `grace_s` seconds at the end. Raises the first other failure (CogencyError) once no platform is
    left.
    """
    failures: list[CogencyError] = []

    async def serve(name: str) -> None:
        try:
            await _insist(name, platforms[name], host.connections, host.clock)
        except CogencyError as error:
            log.error("%s: %s", name, error)  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
            host.connections.note(name, str(error))
            failures.append(error)

    serving = [asyncio.create_task(serve(name)) for name in platforms]
    try:
        await host.connections.all_shown(serving, host.clock, START_PATIENCE_S)
        if not all(task.done() for task in serving):
            async with host.turns.serving(grace_s=grace_s):
                await asyncio.wait(serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
    if failures:
        raise failures[0]


async def _insist(name: str, serve: Callable[[], Awaitable[None]], connections: Connections, clock: Clock) -> None:
    """Serve a platform; begin anew where that cannot be done now."""
    backoff = Backoff(AGAIN_S, MOST_AGAIN_S)
    while True:
        began = clock.monotonic()
        try:
            await serve()
        except (PlatformUnavailable, StoreUnavailable) as error:
            if clock.monotonic() - began > MOST_AGAIN_S:
                backoff.worked()  # it was served well for a while
            asked_s = error.retry_after_s if isinstance(error, PlatformUnavailable) else 0.0
            pause = max(backoff.failed(), asked_s)
            log.warning("%s: %s It is tried again in %.0f s.", name, error, pause)
            connections.note(name, str(error))
            await clock.sleep(pause)
        else:
            return
