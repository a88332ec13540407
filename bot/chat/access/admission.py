"""Admission control: decides whether a message is accepted, by its author, rates, backlog and budgets."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from cachetools import LRUCache, TTLCache

from agent.admission_terms import Authority, BacklogFull, Closed, Obstacle, Rate, RateReached, Terms, Whose
from agent.errors import Refused
from agent.incoming import Incoming, person_source
from agent.messages import ModelCall
from agent.ports.clock import Clock
from agent.turn_events import EndDue, PauseDue
from bot.chat.access import acl
from bot.chat.access.acl import AccessRules
from bot.chat.askers import Requester
from bot.chat.ports import BudgetChecks, ChannelRules
from bot.chat.replicas import Replicas
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, local_moment

# Notices that a person was shown a moment ago.

# Long enough that a program's messages do not fill a channel with notices; short enough that a person sees one again.
SHOWN_AGAIN: Final = timedelta(minutes=1)
# More pairs of person and reason than a minute brings; the oldest beyond that may be shown again.
MAX_SHOWN: Final = 2_000


class NoticeThrottle:
    def __init__(self, clock: Clock) -> None:
        self._shown = TTLCache[tuple[str, str], None](MAX_SHOWN, SHOWN_AGAIN.total_seconds(), clock.monotonic)

    def was_shown(self, person: str, reason: str) -> bool:
        """Return whether this reason was shown to the person within SHOWN_AGAIN; if not, record it."""
        if (person, reason) in self._shown:
            return True
        self._shown[person, reason] = None
        return False


# How many messages are accepted, and the sentence for those that are refused. Pure.
#
# The ledger counts questions in the transaction that stores them. Other messages (orders, and those stored as context)
# are counted here, in the memory of each process. So are questions, because the ledger no longer holds forgotten ones.
# If several processes share a database, it counts orders and context messages, too.

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

# People and channels that are counted at the same time; of more, the least recently seen start again at zero.
MAX_COUNTED: Final = 2_000


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Without arguments, no limits."""

    rates: tuple[Rate, ...] = ()
    backlog: int | None = None

    @classmethod
    def of(
        cls, *, person_minute: int | None, person_hour: int | None, channel_minute: int | None, backlog: int | None
    ) -> "RateLimits":
        """From the settings; None for no limit."""
        limits = (
            (Whose.PERSON, person_minute, MINUTE),
            (Whose.PERSON, person_hour, HOUR),
            (Whose.CHANNEL, channel_minute, MINUTE),
        )
        return cls(tuple(Rate(whose, limit, within) for whose, limit, within in limits if limit is not None), backlog)


@dataclass(slots=True)
class RateCounter:
    """Counts actions in memory, against the rates of questions; with other processes, under the name `what`. A channel
    counts for each workspace that shares it by itself.
    """

    rates: tuple[Rate, ...] = ()
    what: str = ""
    replicas: Replicas | None = None
    _counted: LRUCache[tuple[Rate, str], deque[datetime]] = field(default_factory=lambda: LRUCache(MAX_COUNTED))

    async def obstacle(self, person: str, channel: str, now: datetime) -> RateReached | None:
        """Count one more action and return None; or return the rate that it would exceed, and do not count it."""
        reached = self.reached(person, channel, now)
        if reached is None and self.rates and self.replicas is not None:
            reached = await self.replicas.count(self.what, self.rates, person, _channel_of(person, channel))
        if reached is None:
            self.count(person, channel, now)
        return reached

    def reached(self, person: str, channel: str, now: datetime) -> RateReached | None:
        """Return the rate that one more action would exceed; None if there is none."""
        for rate in self.rates:
            times = self._times(rate, person, channel)
            if len(times) == rate.limit and times[0] > now - rate.within:
                return RateReached(rate, times[0] + rate.within)
        return None

    def count(self, person: str, channel: str, now: datetime) -> None:
        for rate in self.rates:
            self._times(rate, person, channel).append(now)

    def book(self, person: str, channel: str, now: datetime) -> datetime:
        """Return when one more action is within all rates, after those booked before; count it for that time."""
        at = now
        for rate in self.rates:
            times = self._times(rate, person, channel)
            free_at = max(now, times[0] + rate.within) if len(times) == rate.limit else now
            times.append(free_at)
            at = max(at, free_at)
        return at

    def _times(self, rate: Rate, person: str, channel: str) -> "deque[datetime]":
        """The times of the actions that count, up to the rate's limit."""
        key = (rate, {Whose.PERSON: person, Whose.CHANNEL: _channel_of(person, channel)}.get(rate.whose, ""))
        return self._counted.setdefault(key, deque(maxlen=rate.limit))


def _channel_of(person: str, channel: str) -> str:
    """Return the channel as the person's workspace knows it, "slack:T0123:C0123"."""
    return f"{person_source(person)}:{channel}"


def limit_sentence(obstacle: Obstacle, zone: str) -> tuple[str, str]:
    """Return a word for the reason, and the sentence: which limit, and until when, in the person's time zone."""
    match obstacle:
        case RateReached(rate, free_at):
            return rate.whose, reply_texts.TOO_MANY.format(
                messages=counted(rate.limit, "message", "messages"),
                within=reply_texts.WITHIN_MINUTE if rate.within == MINUTE else reply_texts.WITHIN_HOUR,
                whose=reply_texts.WHOSE_RATE[rate.whose],
                moment=local_moment(free_at, zone),
            )
        case BacklogFull(waiting):
            return "backlog", reply_texts.BACKLOG_FULL.format(questions=counted(waiting, "question", "questions"))
        case Closed():
            return "budget", reply_texts.CLOSED
        case _:
            assert_never(obstacle)


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """By default every member may write without limits."""

    access: AccessRules = field(default_factory=AccessRules)
    surges: RateLimits = field(default_factory=RateLimits)


@dataclass(frozen=True, slots=True)
class Admission:
    """The terms on which a message is accepted, and why they are closed. `spent`: a sentence."""

    terms: Terms
    spent: str | None = None
    reached: RateReached | None = None


@dataclass(slots=True)
class AdmissionControl:
    """Rules
    - A refusal is one sentence for the person alone, shown once a minute per reason: a flood must not be echoed.
    - A message that was accepted before is never refused, whatever holds now: platforms redeliver events.
    - Operators are exempt from every limit. `/budget` can exempt others, but only from budgets.
    - Other messages obey the same lists and rates: orders such as "stop", and messages stored as context. Each of the
      two is counted separately, so that a person who asked much can still stop an answer. Orders count for their person
      alone, so that nobody can use up a channel's rate and keep others from stopping an answer there.
    """

    rules: AdmissionRules
    channel_rules: ChannelRules
    budgets: BudgetChecks
    clock: Clock
    replicas: Replicas | None = None
    _throttle: NoticeThrottle = field(init=False)
    _asked: RateCounter = field(init=False)
    _orders: RateCounter = field(init=False)
    _overheard: RateCounter = field(init=False)

    def __post_init__(self) -> None:
        self._throttle = NoticeThrottle(self.clock)
        self._asked = RateCounter(self.rules.surges.rates)
        of_person = tuple(replace(rate, whose=Whose.PERSON) for rate in self.rules.surges.rates)
        self._orders = RateCounter(of_person, "orders", self.replicas)
        self._overheard = RateCounter(self.rules.surges.rates, "talk", self.replicas)

    async def admission(self, incoming: Incoming) -> Admission:
        """Return the terms for the ledger, which counts as it stores. Raises Refused if the person may not ask."""
        why = await self.refusal(incoming)
        if why is not None:
            raise self._refused(incoming, "access", why)
        if self.is_exempt(incoming):
            return Admission(Terms(self.clock.now()))
        spent, now = await self.budgets.budget_refusal(incoming), self.clock.now()
        limits, reached = self.rules.surges, self._asked.reached(incoming.person.id, incoming.channel, now)
        terms = Terms(now, limits.rates, limits.backlog, closed=spent is not None or reached is not None)
        return Admission(terms, spent, reached)

    def refused(self, incoming: Incoming, admission: Admission, obstacle: Obstacle) -> Refused:
        """Return the refusal to raise when the terms were not met, and nothing was stored."""
        reason, sentence = limit_sentence(admission.reached or obstacle, incoming.person.time_zone)
        return self._refused(incoming, "budget" if admission.spent else reason, admission.spent or sentence)

    def count(self, incoming: Incoming, admission: Admission) -> None:
        """Count a message that was stored."""
        if not self.is_exempt(incoming):
            self._asked.count(incoming.person.id, incoming.channel, admission.terms.now)

    async def refusal(self, incoming: Incoming) -> str | None:
        """Return why the author may not ask there, by the operator's lists and the channel's rules; None if they may.
        Raises StoreError.
        """
        why = acl.closed_to(self.rules.access, Requester.wrote(incoming), incoming.authority)
        if why is not None or self.is_exempt(incoming):
            return why
        # Those who could change the rules are not bound by them, so that they cannot be locked out.
        return None if incoming.authority >= Authority.MANAGER else await self.channel_rules.refusal(incoming)

    async def admit_context(self, incoming: Incoming) -> bool:
        """Count a message that is only context; return whether it may be stored. A refusal is not shown."""
        if await self.refusal(incoming) is not None:
            return False
        if self.is_exempt(incoming):
            return True
        return await self._overheard.obstacle(incoming.person.id, incoming.channel, self.clock.now()) is None

    def operates(self, person: str) -> bool:
        """Return whether this person is one of the bot's operators."""
        return self.rules.access.is_operator(person)

    def closed_to(self, who: Requester, authority: Authority) -> str | None:
        """Return why none of their messages there are accepted, in a sentence for them; None if they are."""
        return acl.closed_to(self.rules.access, who, authority)

    def check_access(self, who: Requester, authority: Authority) -> None:
        """Check a press of a button, which does not count. Raises Refused if its presser may not use the bot there now,
        whatever held when the button was shown.
        """
        if (why := self.closed_to(who, authority)) is not None:
            raise Refused(why)

    async def admit_order(self, who: Requester, authority: Authority, time_zone: str = "") -> None:
        """Check and count an order such as "stop" before it is carried out. Raises Refused if they may not give orders
        there, or gave too many.
        """
        why = self.closed_to(who, authority)
        if why is not None:
            raise Refused(why, was_shown=self._throttle.was_shown(who.person, "access"))
        if self.rules.access.is_operator(who.person):
            return
        reached = await self._orders.obstacle(who.person, who.channel, self.clock.now())
        if reached is not None:
            reason, sentence = limit_sentence(reached, time_zone)
            raise Refused(sentence, was_shown=self._throttle.was_shown(who.person, f"order {reason}"))

    async def admit_posting(self, incoming: Incoming) -> None:
        """Check a question that was asked by a command before it is posted for everyone and submitted. Raises Refused
        for every reason that is known without storing it.
        """
        await self.admit_order(Requester.wrote(incoming), incoming.authority, incoming.person.time_zone)
        if (why := await self.refusal(incoming)) is not None:
            raise self._refused(incoming, "access", why)
        spent = await self.budget_refusal(incoming)
        if spent is not None:
            raise self._refused(incoming, "budget", spent)

    def is_exempt(self, incoming: Incoming) -> bool:
        return self.rules.access.is_operator(incoming.person.id)

    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:
        """See `BudgetChecks`. Operators may exceed every budget."""
        return None if self.is_exempt(incoming) else await self.budgets.budget_left(incoming, calls)

    async def budget_refusal(self, incoming: Incoming) -> str | None:
        """See `BudgetChecks`."""
        return None if self.is_exempt(incoming) else await self.budgets.budget_refusal(incoming)

    async def held(
        self, question: Incoming, turn: int, calls: Sequence[ModelCall], *, waits: bool
    ) -> PauseDue | EndDue | None:
        """See `BudgetChecks`, which knows that operators may exceed all but the limit of one turn."""
        return await self.budgets.held(question, turn, calls, waits=waits)

    async def ended(self, question: Incoming, turn: int, calls: Sequence[ModelCall]) -> None:
        if not self.is_exempt(question):
            await self.budgets.ended(question, turn, calls)

    def _refused(self, incoming: Incoming, reason: str, sentence: str) -> Refused:
        return Refused(sentence, was_shown=self._throttle.was_shown(incoming.person.id, reason))
