"""The bot as platforms see it."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from agent.admission_terms import Authority, TermsNotMet
from agent.memory.audience import Place
from agent.memory.forgetting_plans import GOES_ON
from agent.ports import Asker, Clock, Conversations, Ledger, Preferences
from agent.records import Incoming
from bot.access.acl import CommandAnswer
from bot.access.admission import AdmissionControl
from bot.access.budgets import BudgetDesk
from bot.attachments.kinds import with_names
from bot.connections import PlatformConnections
from bot.deduplicator import Deduplicator
from bot.health import Health
from bot.host import MemoryAnswer, PlaceKnowledge, PolicyAsker, Suggestion, ToolsAnswer, Viewer
from bot.memory.desk import MemoryDesk, ReplyFeedback
from bot.memory.forget_desk import ForgetDesk
from bot.memory.learning import LearningPauses
from bot.memory.policies import PolicyDesk
from bot.models.choice import ModelDesk
from bot.tools.mcp_source import ToolSignIns
from bot.turns.approvals import ToolsDesk
from bot.turns.questions import QuestionDesk
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

    async def conversation_of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
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
class BotHost:
    """Implements `bot.host.Host`."""

    platforms: PlatformConnections
    admission: AdmissionControl
    turns: Turns
    ledger: Ledger
    conversations: Conversations
    preferences: Preferences
    forgetting: ForgetDesk
    sign_ins: ToolSignIns
    knowledge: PlaceKnowledge
    budgets: BudgetDesk
    models: ModelDesk
    direct_messages: RollingConversations
    claims: Deduplicator
    memories: MemoryDesk
    policies: PolicyDesk
    tool_desk: ToolsDesk
    questions: QuestionDesk
    feedback: ReplyFeedback
    health: Health
    clock: Clock

    async def restrict_place(self, channel: str, place: Place) -> None:
        await self.ledger.restrict_place(channel, place, self.clock.now())

    async def submit(self, incoming: Incoming) -> bool:
        incoming = with_names(incoming) if incoming.files else incoming
        admission = await self.admission.admission(incoming)
        claiming = self.turns.promise_slot()
        accepting = asyncio.ensure_future(self.ledger.accept(incoming, admission.terms, claiming))
        try:
            accepted = await self.turns.follow(accepting, claiming)
        except TermsNotMet as unmet:
            raise self.admission.refused(incoming, admission, unmet.obstacle) from None
        if not accepted.duplicate:
            self.admission.count(incoming, admission)
        return not accepted.duplicate

    async def record_context_message(self, incoming: Incoming) -> None:
        if self.admission.hears(incoming):
            await self.ledger.record_context_message(with_names(incoming))

    async def memory(self, viewer: Viewer, words: str = "") -> MemoryAnswer:
        manages = viewer.manages or self.operates(viewer.person.id)
        return await self.memories.answer(replace(viewer, manages=manages), words)

    async def policy(self, asker: PolicyAsker, words: str) -> CommandAnswer:
        authority = Authority.ADMIN if self.operates(asker.person.id) else asker.authority
        return await self.policies.answer(replace(asker, authority=authority), words)

    async def take_back(self, turn: int, person: str) -> str:
        return await self.memories.kept.take_back(turn, person)

    async def learn_nothing(self, people: Collection[str], channel: str) -> frozenset[str]:
        return await LearningPauses(self.preferences, None, self.clock).among(people, channel)

    async def suggestions(self, viewer: Viewer, limit: int) -> tuple[Suggestion, ...]:
        return await self.memories.suggestions(viewer, limit)

    async def tools(self, asker: Asker, words: str) -> ToolsAnswer:
        return await self.tool_desk.answer(asker, words, operates=self.operates(asker.person.id))

    def operates(self, person: str) -> bool:
        return self.admission.rules.access.is_operator(person)

    async def report(self, person: str) -> str | None:
        return await self.health.text() if self.operates(person) else None
