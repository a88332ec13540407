"""The bot as platforms see it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from agent.admission_terms import Authority, TermsNotMet
from agent.memory.audience import Place
from agent.memory.forgetting_plans import GOES_ON
from agent.ports import Clock, Conversations, Ledger, Preferences, Replies, Spending
from agent.records import Answered, Incoming, ReplyVerdict
from agent.spending import By, SpendingAccount, SpendingPeriod, account
from bot.access import acl
from bot.access.acl import Requester
from bot.access.admission import AdmissionControl
from bot.access.budgets import BudgetDesk
from bot.attachments.kinds import with_names
from bot.connections import PlatformConnections
from bot.deduplicator import Deduplicator
from bot.health import Health
from bot.host import (
    MemoryAnswer,
    ModelMenu,
    PolicyAsker,
    Suggestion,
    Viewer,
)
from bot.memory.desk import MemoryDesk, ReplyFeedback
from bot.memory.forget_desk import ForgetDesk
from bot.memory.policies import PolicyDesk
from bot.models.choice import ModelDesk
from bot.turns.worker import Turns

T = TypeVar("T")

# The conversations of a channel that goes on and on: a direct message without threads.
#
# Rules
#   The first conversation is the channel's own; a new one begins at a word, or after a long silence, because what was
#   said last week would only weigh on today's question. What was said before is still found by recall.


CURRENT: Final = "conversation"


@dataclass(frozen=True, slots=True)
class RollingConversations:
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


@dataclass(frozen=True, slots=True)
class Desks:
    """What answers people's commands."""

    models: ModelDesk
    memory: MemoryDesk
    budgets: BudgetDesk
    policies: PolicyDesk
    replies: ReplyFeedback
    health: Health


@dataclass(frozen=True, slots=True)
class BotHost:
    """Implements `bot.host.Host`."""

    platforms: PlatformConnections
    gate: AdmissionControl
    turns: Turns
    ledger: Ledger
    conversations: Conversations
    spending: Spending
    replies: Replies
    preferences: Preferences
    forgetting: ForgetDesk
    desks: Desks
    clock: Clock

    async def narrow(self, channel: str, place: Place) -> None:
        await self.ledger.restrict_place(channel, place, self.clock.now())

    async def take(self, incoming: Incoming) -> bool:
        incoming = with_names(incoming) if incoming.files else incoming
        admission = await self.gate.admission(incoming)
        claiming = self.turns.promise_slot()
        accepting = asyncio.ensure_future(self.ledger.accept(incoming, admission.terms, claiming))
        try:
            accepted = await self.turns.follow(accepting, claiming)
        except TermsNotMet as unmet:
            raise self.gate.refused(incoming, admission, unmet.obstacle) from None
        if not accepted.duplicate:
            self.gate.count(incoming, admission)
        return not accepted.duplicate

    async def overhear(self, incoming: Incoming) -> None:
        if self.gate.hears(incoming):
            await self.ledger.record_context_message(with_names(incoming))

    async def memory(self, viewer: Viewer, words: str = "") -> MemoryAnswer:
        manages = viewer.manages or self.operates(viewer.person.id)
        return await self.desks.memory.answer(replace(viewer, manages=manages), words)

    async def stop(self, conversation: str) -> bool:
        return await self.turns.stop_conversation(conversation)

    async def usage(self, person: str) -> SpendingAccount:
        now = self.clock.now()
        return account(await self.spending.totals(SpendingPeriod.month_of(now), By.DAY, person=person), now)

    async def budget(self, person: str, channel: str, words: str) -> str:
        return await self.desks.budgets.answer(person, channel, words)

    async def policy(self, asker: PolicyAsker, words: str) -> str:
        authority = Authority.ADMIN if self.operates(asker.person.id) else asker.authority
        return await self.desks.policies.answer(replace(asker, authority=authority), words)

    async def models(self, who: Requester) -> ModelMenu:
        return await self.desks.models.menu(who)

    async def choose_model(self, who: Requester, name: str) -> None:
        await self.desks.models.choose(who, name)

    async def reply_at(self, source: str, page: str, channel: str = "") -> Answered | None:
        return await self.replies.by_page(source, page, channel)

    async def delete_growing(self, source: str, page: str, person: str, channel: str = "") -> bool:
        reply = await self.replies.running_by_page(source, page, channel)
        if reply is None or reply.person != person:
            return False
        return await self.turns.withdraw(reply.channel, reply.message_id)

    async def reply_of(self, turn: int) -> Answered | None:
        return await self.desks.replies.of(turn)

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None) -> bool:
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

    async def first(self, source: str, what: str) -> bool:
        return await Deduplicator(self.preferences).first(source, what)

    async def once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        return await Deduplicator(self.preferences).once(source, what, do)

    def closed_to(self, who: Requester, authority: Authority) -> str | None:
        return acl.closed_to(self.gate.rules.access, who, authority)

    def admit_order(self, who: Requester, authority: Authority, time_zone: str = "UTC") -> None:
        self.gate.order(who, authority, time_zone)

    async def admit_posting(self, incoming: Incoming) -> None:
        await self.gate.admit_posting(incoming)

    def operates(self, person: str) -> bool:
        return self.gate.rules.access.is_operator(person)

    async def report(self, person: str) -> str | None:
        return await self.desks.health.text() if self.operates(person) else None

    @property
    def _rolling(self) -> RollingConversations:
        return RollingConversations(self.conversations, self.preferences)
