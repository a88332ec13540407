"""The bot as platforms see it, and all platforms as one service."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, TypeVar

from agent.admission_terms import Authority, TermsNotMet
from agent.errors import CogencyError, StoreError, StoreUnavailable
from agent.memory.audience import Place
from agent.memory.forgetting_plans import GOES_ON
from agent.ports import Clock, Conversations, Ledger, Membership, Preferences, Replies, Spending
from agent.records import Answered, Incoming, ReplyVerdict, platform_of
from agent.spending import By, SpendingAccount, SpendingPeriod, account
from bot.access import acl
from bot.access.acl import Requester
from bot.access.admission import AdmissionControl
from bot.access.budgets import BudgetDesk
from bot.access.readers import Readers
from bot.attachments.kinds import with_names
from bot.attachments.reading import Fetch
from bot.caches import Backoff
from bot.health import Health
from bot.host import (
    MemoryAnswer,
    ModelMenu,
    PlatformUnavailable,
    PolicyAsker,
    Suggestion,
    Viewer,
)
from bot.memory.desk import MemoryDesk, ReplyFeedback
from bot.memory.forget_desk import ForgetDesk
from bot.memory.policies import PolicyDesk
from bot.memory.retention import Delete
from bot.models.choice import ModelDesk
from bot.reply_surface import PageUnsent, Surface
from bot.texts import reply_texts
from bot.turns.worker import Turns

# What happens once, whichever process is told of it how often, and leaves nothing behind that would tell.
#
# Rule: the latest of each source are kept, as hashes: platforms deliver an event twice within minutes, and nobody reads
# out of them who asked for what.


T = TypeVar("T")

DONE: Final = "done"
MOST: Final = 300
"""As many as people of one source order within minutes."""
MARK_CHARS: Final = 16
TRIES: Final = 9
"""How often a mark is set anew because another process set one at that moment."""


@dataclass(frozen=True, slots=True)
class Deduplicator:
    preferences: Preferences

    async def first(self, source: str, what: str) -> bool:
        """Whether it comes for the first time. Raises StoreError."""
        mark = _mark(what)
        return await self._change(source, lambda marks: None if mark in marks else [*marks, mark][-MOST:])

    async def once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        """Do it if it comes for the first time, else None. If it fails the next time counts as the first."""
        if not await self.first(source, what):
            return None
        try:
            return await do()
        except CogencyError:
            mark = _mark(what)
            await self._change(source, lambda marks: [one for one in marks if one != mark])
            raise

    async def _change(self, source: str, change: Callable[[list[str]], list[str] | None]) -> bool:
        """Whether there was something to change, whoever else changes it at the same moment."""
        owner = f"source:{source}"
        for _ in range(TRIES):
            before = (await self.preferences.of(owner)).get(DONE)
            after = change((before or "").split())
            if after is None:
                return False
            if await self.preferences.swap(owner, DONE, before, " ".join(after)):
                return True
        raise StoreError(reply_texts.TOO_MUCH_AT_ONCE)


def _mark(what: str) -> str:
    return sha256(what.encode()).hexdigest()[:MARK_CHARS]


# What the platforms can do for the bot, from the moment at which each of them says so.


@dataclass(frozen=True, slots=True)
class PlatformConnections:
    """By the source of the messages that a platform hands in."""

    readers: Readers
    surfaces: dict[str, Callable[[Incoming], Surface]] = field(default_factory=dict[str, Callable[[Incoming], Surface]])
    deletions: dict[str, Delete] = field(default_factory=dict[str, Delete])
    """How to delete a page of a reply."""
    fetchers: dict[str, Fetch] = field(default_factory=dict[str, Fetch])
    """How to fetch an attachment."""
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    """Why a platform is not connected now, in a sentence, by the first word of the source of its messages."""
    _shown: asyncio.Event = field(default_factory=asyncio.Event)

    def sources(self) -> frozenset[str]:
        """Where replies can be shown now."""
        return frozenset(self.surfaces)

    def surface_for(self, incoming: Incoming) -> Surface:
        """Raises PageUnsent for a platform that is not connected; the turn is then put off."""
        if incoming.source not in self.surfaces:
            raise PageUnsent(f"{incoming.source} is not connected")
        return self.surfaces[incoming.source](incoming)

    def show_on(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        self.surfaces[source] = surface_for
        self.connected(source, "")

    def hide(self, source: str) -> None:
        """The platform is not served any more."""
        for known in (self.surfaces, self.deletions, self.fetchers, self.readers.platforms):
            known.pop(source, None)

    def ask_readers(self, source: str, membership: Membership) -> None:
        self.readers.platforms[source] = membership

    def delete_on(self, source: str, delete: Delete) -> None:
        self.deletions[source] = delete

    def fetch_on(self, source: str, fetch: Fetch) -> None:
        self.fetchers[source] = fetch

    def connected(self, source: str, trouble: str = "") -> None:
        """Why a platform is not connected, by its name or by a source; "" if it is."""
        self.troubles.pop(platform_of(source), None)
        if trouble:
            self.troubles[platform_of(source)] = trouble
        self._shown.set()

    async def all_shown(self, serving: Collection[asyncio.Task[None]], clock: Clock, patience_s: float) -> None:
        """Until each of these tasks has said where its answers are shown, or that it cannot be served now, or ended, or
        took `patience_s` seconds.
        """
        deadline = clock.monotonic() + patience_s
        while len({*map(platform_of, self.surfaces), *self.troubles}) + sum(task.done() for task in serving) < len(
            serving
        ):
            self._shown.clear()
            shown = asyncio.create_task(self._shown.wait())
            left = deadline - clock.monotonic()
            done, _ = await asyncio.wait(
                [shown, *(task for task in serving if not task.done())],
                timeout=max(0.0, left),
                return_when=asyncio.FIRST_COMPLETED,
            )
            shown.cancel()
            if not done:
                return


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


async def serve_all(platforms: Mapping[str, Callable[[], Awaitable[None]]], host: BotHost, grace_s: float) -> None:
    """Serve every platform until cancelled; one that fails leaves the others alone. What may pass (PlatformUnavailable,
    StoreUnavailable) is tried again for ever.

    Open replies get `grace_s` seconds at the end. Raises the first other failure (CogencyError) once no platform is
    left.
    """
    failures: list[CogencyError] = []

    async def serve(name: str) -> None:
        try:
            await _insist(name, platforms[name], host.platforms, host.clock)
        except CogencyError as error:
            log.error("%s: %s", name, error)  # noqa: TRY400 -- a sentence for the operator, not a bug to trace
            host.platforms.connected(name, str(error))
            failures.append(error)

    serving = [asyncio.create_task(serve(name)) for name in platforms]
    try:
        await host.platforms.all_shown(serving, host.clock, START_PATIENCE_S)
        if not all(task.done() for task in serving):
            async with host.turns.serving(grace_s=grace_s):
                await asyncio.wait(serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
    if failures:
        raise failures[0]


async def _insist(
    name: str, serve: Callable[[], Awaitable[None]], connections: PlatformConnections, clock: Clock
) -> None:
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
            connections.connected(name, str(error))
            await clock.sleep(pause)
        else:
            return
