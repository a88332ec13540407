"""Whether a message is taken in: who writes it, how many they write, how many wait, what is spent; and what its writer
can read elsewhere at that moment.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, assert_never

from cachetools import LRUCache, TLRUCache, TTLCache

from agent.admission_terms import Authority, BacklogFull, Closed, Obstacle, Rate, RateReached, Terms, Whose
from agent.errors import Refused
from agent.memory.audience import PersonAudience, Place, may_flow_from
from agent.messages import ModelCall
from agent.ports import Clock, Membership
from agent.records import Incoming
from agent.spending import Spent, workspace_of
from bot.access import acl
from bot.access.acl import AccessRules, Requester
from bot.access.budgets import BudgetAccount, BudgetAllowances
from bot.caches import Replicas, until_too_old
from bot.texts import reply_texts
from bot.texts.formatting import counted, local_moment

# What somebody was told a moment ago, and need not read again.

# Somebody who goes on writing learns it again; somebody whose program writes does not fill a channel with it.
TOLD_AGAIN: Final = timedelta(minutes=1)
# People and reasons of one minute that are remembered; beyond that the oldest may be told again.
MAX_TOLD: Final = 2_000


class NoticeThrottle:
    def __init__(self, clock: Clock) -> None:
        self._told = TTLCache[tuple[str, str], None](MAX_TOLD, TOLD_AGAIN.total_seconds(), clock.monotonic)

    def just_now(self, person: str, reason: str) -> bool:
        """Whether they were told of this reason within TOLD_AGAIN; if not, they are now."""
        if (person, reason) in self._told:
            return True
        self._told[person, reason] = None
        return False


# How many messages are taken in, and what is said to whoever writes more. Pure.
#
# Questions are counted by the ledger, in the transaction that stores them. What is not stored as a question (orders,
# and talk that is overheard) is counted here, by each process in its memory; so are questions, as those that are
# forgotten are in no ledger any more. Where several processes share a database, orders and talk are counted there, too.

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

# People and channels that are counted at once; of more, those that were met longest ago begin anew.
MAX_COUNTED: Final = 2_000


@dataclass(frozen=True, slots=True)
class RateLimits:
    """No limits, unless they are given."""

    rates: tuple[Rate, ...] = ()
    backlog: int | None = None

    @classmethod
    def of(
        cls, *, person_minute: int | None, person_hour: int | None, channel_minute: int | None, backlog: int | None
    ) -> "RateLimits":
        """From the settings; None is no limit."""
        wanted = (
            (Whose.PERSON, person_minute, MINUTE),
            (Whose.PERSON, person_hour, HOUR),
            (Whose.CHANNEL, channel_minute, MINUTE),
        )
        return cls(tuple(Rate(whose, most, within) for whose, most, within in wanted if most is not None), backlog)


@dataclass(slots=True)
class RateCounter:
    """Counts in memory what people do, against the same rates as their questions; with other processes, as `what`."""

    rates: tuple[Rate, ...] = ()
    what: str = ""
    replicas: Replicas | None = None
    _counted: LRUCache[tuple[Rate, str], deque[datetime]] = field(default_factory=lambda: LRUCache(MAX_COUNTED))

    async def obstacle(self, person: str, channel: str, now: datetime) -> RateReached | None:
        """None if it is within all rates; it is then counted. Else the rate that is reached."""
        reached = self.reached(person, channel, now)
        if reached is None and self.rates and self.replicas is not None:
            reached = await self.replicas.count(self.what, self.rates, person, channel)
        if reached is None:
            self.count(person, channel, now)
        return reached

    def reached(self, person: str, channel: str, now: datetime) -> RateReached | None:
        """The rate that stands in the way of one more; None if there is none."""
        for rate in self.rates:
            times = self._times(rate, person, channel)
            if len(times) == rate.limit and times[0] > now - rate.within:
                return RateReached(rate, times[0] + rate.within)
        return None

    def count(self, person: str, channel: str, now: datetime) -> None:
        for rate in self.rates:
            self._times(rate, person, channel).append(now)

    def book(self, person: str, channel: str, now: datetime) -> datetime:
        """When the next is within all rates, behind what was booked before; it is counted for then."""
        at = now
        for rate in self.rates:
            times = self._times(rate, person, channel)
            free = max(now, times[0] + rate.within) if len(times) == rate.limit else now
            times.append(free)
            at = max(at, free)
        return at

    def _times(self, rate: Rate, person: str, channel: str) -> "deque[datetime]":
        """When what counts was done, as many as the rate allows."""
        key = (rate, {Whose.PERSON: person, Whose.CHANNEL: channel}.get(rate.whose, ""))
        return self._counted.setdefault(key, deque(maxlen=rate.limit))


def limit_sentence(obstacle: Obstacle, zone: str) -> tuple[str, str]:
    """A word for the reason, and the sentence: what is too much, and until when, in the person's time zone."""
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
    """Without any, every member may write as much as they like."""

    access: AccessRules = field(default_factory=AccessRules)
    surges: RateLimits = field(default_factory=RateLimits)


@dataclass(frozen=True, slots=True)
class Admission:
    """The terms under which a message is taken in, and what closes them. `spent`: a sentence."""

    terms: Terms
    spent: str | None = None
    reached: RateReached | None = None


@dataclass(slots=True)
class AdmissionControl:
    """Rules
    - A refusal is one sentence for the person alone. Told once a minute for one reason: a flood must not be echoed.
    - What was taken in before is never refused, whatever holds by now: platforms deliver events again.
    - Operators are exempt from every limit. Others by `/budget`, from the budgets only.
    - What is no question obeys the same lists and rates: orders such as "stop", and talk that is overheard. Each of the
      two is counted for itself, so that whoever asked much can still stop an answer.
    """

    rules: AdmissionRules
    allowances: BudgetAllowances
    clock: Clock
    replicas: Replicas | None = None
    _told: NoticeThrottle = field(init=False)
    _asked: RateCounter = field(init=False)
    _orders: RateCounter = field(init=False)
    _overheard: RateCounter = field(init=False)

    def __post_init__(self) -> None:
        self._told = NoticeThrottle(self.clock)
        self._asked = RateCounter(self.rules.surges.rates)
        self._orders = RateCounter(self.rules.surges.rates, "orders", self.replicas)
        self._overheard = RateCounter(self.rules.surges.rates, "talk", self.replicas)

    async def admission(self, incoming: Incoming) -> Admission:
        """For the ledger, which counts as it stores. Raises Refused for somebody to whom the bot is closed."""
        why = await self.refusal(incoming)
        if why is not None:
            raise self._refused(incoming, "access", why)
        if self.is_exempt(incoming):
            return Admission(Terms(self.clock.now()))
        spent, now = await self.budget_left(incoming), self.clock.now()
        limits, reached = self.rules.surges, self._asked.reached(incoming.person.id, incoming.channel, now)
        terms = Terms(now, limits.rates, limits.backlog, closed=spent is not None or reached is not None)
        return Admission(terms, spent, reached)

    def refused(self, incoming: Incoming, admission: Admission, obstacle: Obstacle) -> Refused:
        """What the person is told: the terms were not met, and nothing was stored."""
        reason, sentence = limit_sentence(admission.reached or obstacle, incoming.person.time_zone)
        return self._refused(incoming, "budget" if admission.spent else reason, admission.spent or sentence)

    def count(self, incoming: Incoming, admission: Admission) -> None:
        """It was stored."""
        if not self.is_exempt(incoming):
            self._asked.count(incoming.person.id, incoming.channel, admission.terms.now)

    async def refusal(self, incoming: Incoming) -> str | None:
        """Why somebody may not ask there, by the operator's lists and by what was chosen for the channel. Raises
        StoreError.
        """
        why = acl.refusal(self.rules.access, incoming)
        if why is not None or self.is_exempt(incoming):
            return why
        rules = await acl.rules_at(self.allowances.preferences, incoming.channel)
        return None if rules.admits(Requester.wrote(incoming), incoming.authority) else reply_texts.CLOSED_HERE

    async def hears(self, incoming: Incoming) -> bool:
        """Whether a message to others may be kept as context; it is then counted. Nobody is told that it may not."""
        if await self.refusal(incoming) is not None:
            return False
        if self.is_exempt(incoming):
            return True
        return await self._overheard.obstacle(incoming.person.id, incoming.channel, self.clock.now()) is None

    def closed_to(self, who: Requester, authority: Authority) -> str | None:
        return acl.closed_to(self.rules.access, who, authority)

    async def admit_order(self, who: Requester, authority: Authority, time_zone: str = "") -> None:
        """Let somebody say what is to be done there, and count it. Raises Refused."""
        why = self.closed_to(who, authority)
        if why is not None:
            raise Refused(why, told=self._told.just_now(who.person, "access"))
        if self.rules.access.is_operator(who.person):
            return
        reached = await self._orders.obstacle(who.person, who.channel, self.clock.now())
        if reached is not None:
            reason, sentence = limit_sentence(reached, time_zone)
            raise Refused(sentence, told=self._told.just_now(who.person, f"order {reason}"))

    async def admit_posting(self, incoming: Incoming) -> None:
        """Before a question that somebody asks by a command is posted for everybody, and then taken in. Raises Refused
        for what would be refused, as far as that can be told without storing it.
        """
        await self.admit_order(Requester.wrote(incoming), incoming.authority, incoming.person.time_zone)
        if (why := await self.refusal(incoming)) is not None:
            raise self._refused(incoming, "access", why)
        spent = await self.budget_left(incoming)
        if spent is not None:
            raise self._refused(incoming, "budget", spent)

    def is_exempt(self, incoming: Incoming) -> bool:
        return self.rules.access.is_operator(incoming.person.id)

    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:
        """None while there is something left of every budget that this message draws on; else why there is not.

        `calls`: what its turn took so far, which is counted nowhere yet.
        """
        if self.is_exempt(incoming):
            return None
        person, now = incoming.person, self.clock.now()
        accounts = (
            BudgetAccount(Whose.PERSON, person.id),
            BudgetAccount(Whose.CHANNEL, incoming.channel),
            BudgetAccount(Whose.WORKSPACE, workspace_of(person.id)),
            BudgetAccount(Whose.EVERYONE),
        )
        uncounted = Spent.on(calls)
        for account in accounts:
            sentence = await self.allowances.used_up(account, now, person.time_zone, uncounted)
            if sentence is not None:
                return sentence
        return None

    def _refused(self, incoming: Incoming, reason: str, sentence: str) -> Refused:
        return Refused(sentence, told=self._told.just_now(incoming.person.id, reason))


# Which group places a person can read now: what was said there may be used where only they read.

# The places in which the person wrote last; nobody follows more of them at once, and each may cost a request.
MAX_GROUPS: Final = 20
PATIENCE_S: Final = 1.0  # For all of them together, once in a minute: the reply waits for it
# Pairs of person and place: as many people as write to one bot within a minute, in ten places each.
MAX_KNOWN: Final = 20_000

# The group places in which a person wrote, the latest first, at most so many.
WrittenIn = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class Readers:
    """`platforms`: what can be asked, by the source of its messages.

    Rules
      Only the places in which the person wrote are asked about: nothing else of them is found or told anyway.
      An answer counts for MAX_AGE_S from when it was asked for. What a platform does not know, or not in time, is a no,
      and is asked again. A platform is asked about its own people and places only.
    """

    written_in: WrittenIn
    clock: Clock
    platforms: dict[str, Membership] = field(default_factory=dict[str, Membership])
    _known: TLRUCache[tuple[str, str], tuple[float, bool], float] = field(init=False)

    def __post_init__(self) -> None:
        self._known = TLRUCache(MAX_KNOWN, until_too_old, self.clock.monotonic)

    async def groups_of(self, place: Place) -> frozenset[str]:
        """The group places whose readers include the person of this place; none where others read, too.

        Raises StoreError.
        """
        if not isinstance(place.audience, PersonAudience):
            return frozenset()
        person = place.audience.person
        membership = self._platform(person)
        if membership is None:
            return frozenset()
        return await self._readable(membership, person, await self.written_in(person, MAX_GROUPS))

    async def audiences(self, place: Place) -> frozenset[str]:
        """The labels of everything that may be used at this place now. Raises StoreError."""
        return may_flow_from(place, await self.groups_of(place))

    async def _readable(self, membership: Membership, person: str, places: Sequence[str]) -> frozenset[str]:
        now = self.clock.monotonic()
        asked = [place for place in places if self._platform(place) is membership]
        known = {place: answer[1] for place in asked if (answer := self._known.get((person, place))) is not None}
        unknown = [place for place in asked if place not in known]
        if unknown:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    answered = await membership.readable(person, unknown)
            except TimeoutError:
                answered = dict[str, bool]()
            for place in set(unknown) & answered.keys():
                known[place] = answered[place]
                self._known[person, place] = now, answered[place]
        return frozenset(place for place, reads in known.items() if reads)

    def _platform(self, name: str) -> Membership | None:
        """Whose person or place this is: names begin with their source."""
        return next((one for source, one in self.platforms.items() if name.startswith(f"{source}:")), None)
