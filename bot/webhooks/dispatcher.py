"""Posts stored events, and asks their questions.

Rules
  Each replica looks for the events of those hooks whose platform is connected here. It asks the platform where the
  event may be posted now, and begins a turn of the ledger, in one transaction with the event's next state.
  An event with a key goes into the thread of the last one of this key, unless that closed it. It waits until that one
  is posted.
  A question is begun once the event is posted, in its thread.
  Of all hooks together at most `slots` events are posted at the same time, and as many questions asked: people find
  most slots for turns free, however many events come. The others wait here, and the hooks take turns. In each channel
  at most BURST events and questions begin at once, and then one every EVERY_S: half of what platforms allow, so that
  the rest is left to people. Questions come first: what has begun is completed before more begins.
  An event that cannot be posted for two days is dropped, and the log says so.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from agent import texts as agent_texts
from agent.errors import CogencyError, StoreError, Unexpected
from agent.incoming import Incoming, Quoted, platform_of
from agent.ports.clock import Clock
from agent.ports.spending import Spending
from agent.ports.webhooks import EventPlatform, EventState, EventTarget, NewEventTurn, WebhookEvent, WebhookEvents
from agent.schedules.definitions import NotAllowed
from agent.spending import By, SpendingPeriod
from agent.turn_kinds import TurnKind
from bot.chat.backoff import OncePerMinute
from bot.chat.kinds import TurnRule
from bot.chat.logs import severity
from bot.chat.unexpected import unexpected_logged
from bot.webhooks import texts
from bot.webhooks.config import Action, Hook

log = logging.getLogger(__name__)

LOOK_S: Final = 5.0  # The longest pause between two looks: an event of another process is noticed within it
CONNECTED_S: Final = 1.0  # Until a platform is connected
SOON_S: Final = 0.02
BETWEEN_S: Final = 0.1  # The shortest pause: not each delivery of a flood leads to a look
FULL_S: Final = 0.5  # While all slots, or the posts of a channel, are taken
BURST: Final = 5
EVERY_S: Final = 2.0
NEXT_LOOK: Final = timedelta(seconds=0.3)  # At an event that waits for a turn
FIRST_RETRY: Final = timedelta(seconds=5)
LONGEST_RETRY: Final = timedelta(minutes=10)
GIVE_UP: Final = timedelta(days=2)  # Longer than quiet hours; older news is none
KEPT: Final = timedelta(days=30)  # Ids of deliveries: longer than any sender repeats one
MAX_IGNORED: Final = 50_000  # Of them, those of a hook from which nothing follows
PRUNE_S: Final = 3_600.0
TITLE_CHARS: Final = 80
_MARKS: Final = re.compile(r"[*`\\]")
# What is done about events in each state, and with which kind of turns.
_STEPS: Final = ((EventState.POSTED, TurnKind.EVENT_QUESTION), (EventState.RECEIVED, TurnKind.EVENT))


class _Later(Exception):
    """The event has to wait for a turn."""


@dataclass(slots=True)
class ChannelPace:
    """Spaces what this process begins in each channel: see BURST and EVERY_S."""

    _paid_until: dict[str, float] = field(default_factory=dict[str, float])
    """By channel: what has begun there takes EVERY_S each, one after the other."""

    def is_reached(self, channel: str, now: float) -> bool:
        return self._paid_until.get(channel, now) > now + (BURST - 1) * EVERY_S

    def count(self, channel: str, now: float) -> None:
        self._paid_until[channel] = max(self._paid_until.get(channel, now), now) + EVERY_S


class NotPosted(CogencyError):
    """An event cannot be posted now. The text is the end of a sentence."""


@dataclass(slots=True, eq=False)
class EventDispatcher:
    """`platforms`: those connected now, by source. `wake`: called after a turn began. `slots`: see above."""

    hooks: Mapping[str, Hook]
    events: WebhookEvents
    platforms: Mapping[str, EventPlatform]
    spending: Spending
    clock: Clock
    wake: Callable[[], None]
    slots: int
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _logged: OncePerMinute = field(default_factory=OncePerMinute)
    _pace: ChannelPace = field(default_factory=ChannelPace)
    _pruned: float = float("-inf")

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Post what is due until the block ends. What is interrupted is posted by the next process that finds it."""
        self.events.on_change(self._changed.set)
        serving = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    async def _serve(self) -> None:
        while True:
            pause = LOOK_S
            try:
                with unexpected_logged("the dispatcher of webhooks"):
                    pause = await self.work()
            except (StoreError, Unexpected) as error:
                log.log(severity(error), "events of webhooks could not be read; retrying: %s", error)
            await asyncio.sleep(BETWEEN_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            self._changed.clear()

    async def work(self) -> float:
        """Begin what is due; return for how many seconds nothing else can begin. Raises StoreError."""
        await self._prune()
        served = frozenset(name for name, hook in self.hooks.items() if self._sources(hook))
        if not served:
            return CONNECTED_S
        now = self.clock.monotonic()
        can_begin = frozenset(name for name in served if not self._pace.is_reached(self.hooks[name].channel, now))
        is_full = can_begin != served
        for state, kind in _STEPS:
            free = self.slots - await self.events.open_turns(kind)
            is_full |= free <= 0
            for event in await self.events.due(can_begin, state, self.clock.now(), free) if free > 0 else ():
                await self._process(event)
        first = await self.events.first_due(served)
        if first is None:
            return LOOK_S
        return min(LOOK_S, max(FULL_S if is_full else SOON_S, (first - self.clock.now()).total_seconds()))

    async def _prune(self) -> None:
        """Now and then, delete what is over. Raises StoreError."""
        if self.clock.monotonic() - self._pruned < PRUNE_S:
            return
        now = self.clock.now()
        if dropped := await self.events.prune(now - KEPT, now - GIVE_UP, MAX_IGNORED):
            log.warning(texts.EVENTS_DROPPED, dropped)
        self._pruned = self.clock.monotonic()

    def _sources(self, hook: Hook) -> list[str]:
        """Return the connected sources where the hook's channel may be."""
        wanted, _ = _place(hook.channel)
        return [source for source in self.platforms if source == wanted or platform_of(source) == wanted]

    async def _process(self, event: WebhookEvent) -> None:
        """Begin the event's next turn. Raises StoreError."""
        hook = self.hooks[event.hook]
        if self._pace.is_reached(hook.channel, self.clock.monotonic()):
            await self.events.put_off(event, self.clock.now() + NEXT_LOOK)
            return
        try:
            if event.state is EventState.RECEIVED:
                await self._post(event, hook)
            else:
                await self._ask(event, hook)
            self.wake()
        except _Later:
            await self.events.put_off(event, self.clock.now() + NEXT_LOOK)
        except StoreError:
            raise
        except CogencyError as error:
            if (more := self._logged.due(f"{hook.name} {error}", self.clock.monotonic())) is not None:
                log.warning(texts.EVENT_DELAYED, hook.name, f"{error}{more}")
            await self._put_off(event)
        except Exception:  # one event, or one hook, must not stop the others
            log.exception(texts.EVENT_DELAYED, hook.name, texts.UNEXPECTED)
            await self._put_off(event)

    async def _put_off(self, event: WebhookEvent) -> None:
        """The longer an event has waited, the later it is examined again."""
        now = self.clock.now()
        await self.events.put_off(event, now + min(max(now - event.received, FIRST_RETRY), LONGEST_RETRY))

    async def _post(self, event: WebhookEvent, hook: Hook) -> None:
        page = await self.events.thread_of(event)
        if page is None:
            raise _Later
        incoming = await self._incoming(event, hook, event.name, page, () if event.closes else hook.mention)
        asks = hook.action is Action.ASK and not event.closes
        posted = replace(incoming, kind=TurnKind.EVENT, text=event.text)
        state = EventState.POSTED if asks else EventState.DONE
        await self._begin(event, hook, NewEventTurn(posted, state, event.text, page))

    async def _ask(self, event: WebhookEvent, hook: Hook) -> None:
        page = await self.events.page_of(event)
        if page is None:
            raise _Later
        if not page:  # it was not shown, or was forgotten
            await self.events.end(event, EventState.DONE)
            return
        incoming = await self._incoming(event, hook, f"{event.name}:ask", event.thread or page)
        now = self.clock.now()
        if await self._spent_today(incoming.person.id, now) < hook.dollars:
            source = texts.EVENT_SOURCE.format(name=hook.name)
            quoted = (Quoted(source, incoming.person.name, event.text, by_bot=True),)
            question = replace(incoming, kind=TurnKind.EVENT_QUESTION, text=hook.ask, quoted=quoted)
            await self._begin(event, hook, NewEventTurn(question, EventState.DONE))
            return
        log.info("the webhook %s has used up its budget for today", hook.name)
        words, name = texts.OVER_BUDGET.format(name=hook.name), f"hook:{hook.name}:budget:{now:%Y-%m-%d}"
        notice = replace(incoming, kind=TurnKind.EVENT, text=words, event_id=name, message_id=name)  # once a day
        await self._begin(event, hook, NewEventTurn(notice, EventState.DONE, words))

    async def _begin(self, event: WebhookEvent, hook: Hook, turn: NewEventTurn) -> None:
        await self.events.begin(event, turn, self.clock.now())
        self._pace.count(hook.channel, self.clock.monotonic())

    async def _spent_today(self, person: str, now: datetime) -> int:
        totals = await self.spending.totals(SpendingPeriod.days_until(now, 1), By.PERSON, person=person)
        return sum(total.spent.cost for total in totals)

    async def _incoming(
        self, event: WebhookEvent, hook: Hook, name: str, page: str, mention: tuple[str, ...] = ()
    ) -> Incoming:
        """Return the event as a message in its place. Raises CogencyError if it cannot be posted there now."""
        sources, (_, channel) = self._sources(hook), _place(hook.channel)
        if len(sources) != 1:
            raise NotPosted(texts.SEVERAL_WORKSPACES if sources else texts.NOT_CONNECTED)
        title = _MARKS.sub("", event.text.partition("\n")[0])[:TITLE_CHARS]
        found = await self.platforms[sources[0]].event(EventTarget(name, hook.name, channel, page, title, mention))
        if isinstance(found, NotAllowed):
            raise NotPosted(found.why)
        return replace(found, hook=hook.name)


def event_kinds(hooks: Mapping[str, Hook]) -> Mapping[TurnKind, TurnRule]:
    """Return how the turns that events begin are answered."""

    def tools_of(question: Incoming) -> Callable[[str], bool]:
        """Return which tools a question may use: those of its hook; none if the hook is no longer listed."""
        hook = hooks.get(question.hook)
        return (lambda _: False) if hook is None else hook.allows

    return {
        TurnKind.EVENT: TurnRule(posts_text=True, is_learned_from=False, offers_actions=False),
        TurnKind.EVENT_QUESTION: TurnRule(
            instruction=agent_texts.EVENT_QUESTION,
            is_unasked=True,
            shows_failures=True,
            tools=tools_of,
            is_learned_from=False,
            offers_actions=False,
        ),
    }


def _place(channel: str) -> tuple[str, str]:
    """Return the source, or the platform, of a hook's channel, and the platform's own id of the channel."""
    source, _, id_ = channel.rpartition(":")
    return source, id_
