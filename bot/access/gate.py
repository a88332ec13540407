"""Whether a message is taken in: who writes it, how many they write, how many wait, what is spent.

Above: `bot.hosting` asks before a message is stored, and before a model is called. Below: `bot.access.lists`,
`bot.access.allowances`, `bot.access.surges`; the ledger counts what it stores (`agent.admission`).

Rules
- A refusal is one sentence for the person alone. Told once a minute for one reason: a flood must not be echoed.
- What was taken in before is never refused, whatever holds by now: platforms deliver events again.
- Operators are exempt from every limit. Others by `/budget`, from the budgets only.
- What is no question obeys the same lists and rates: orders such as "stop", and talk that is overheard. Each of the two
  is counted for itself, so that whoever asked much can still stop an answer.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol

from agent.admission import Terms, TermsNotMet, Whose
from agent.authority import Authority
from agent.errors import Refused
from agent.ports import Clock
from agent.records import Accepted, Incoming
from bot.access import lists, surges
from bot.access.allowances import Account, Allowances
from bot.access.lists import AccessRules, Who
from bot.access.surges import Surges, Tally
from bot.access.told import Told


@dataclass(frozen=True, slots=True)
class GateRules:
    """Without any, every member may write as much as they like."""

    access: AccessRules = field(default_factory=AccessRules)
    surges: Surges = field(default_factory=Surges)


class Admit(Protocol):
    """Stores the message if the terms hold: the ledger's `accept`, or what calls it."""

    def __call__(self, incoming: Incoming, terms: Terms) -> Awaitable[Accepted]: ...


@dataclass(slots=True)
class Gate:
    rules: GateRules
    allowances: Allowances
    clock: Clock
    _told: Told = field(init=False)
    _asked: Tally = field(init=False)
    _orders: Tally = field(init=False)
    _overheard: Tally = field(init=False)

    def __post_init__(self) -> None:
        self._told = Told(self.clock)
        self._asked = Tally(self.rules.surges.rates)
        self._orders = Tally(self.rules.surges.rates)
        self._overheard = Tally(self.rules.surges.rates)

    async def admit(self, incoming: Incoming, accept: Admit) -> Accepted:
        """Have the message stored, or raise Refused with the reason; nothing is stored then."""
        why = lists.refusal(self.rules.access, incoming)
        if why is not None:
            raise self._refused(incoming, "access", why)
        if self.is_exempt(incoming):
            return await accept(incoming, Terms(self.clock.now()))
        spent, now = await self.budget_left(incoming), self.clock.now()
        limits, who = self.rules.surges, (incoming.person.id, incoming.channel)
        reached = self._asked.reached(*who, now)
        terms = Terms(now, limits.rates, limits.backlog, closed=spent is not None or reached is not None)
        try:
            accepted = await accept(incoming, terms)
        except TermsNotMet as unmet:
            reason, sentence = surges.sentence(reached or unmet.obstacle, incoming.person.time_zone)
            raise self._refused(incoming, "budget" if spent else reason, spent or sentence) from None
        if not accepted.duplicate:
            self._asked.count(*who, now)
        return accepted

    def hears(self, incoming: Incoming) -> bool:
        """Whether a message to others may be kept as context; it is then counted. Nobody is told that it may not."""
        if lists.refusal(self.rules.access, incoming) is not None:
            return False
        if self.is_exempt(incoming):
            return True
        return self._overheard.obstacle(incoming.person.id, incoming.channel, self.clock.now()) is None

    def order(self, who: Who, authority: Authority, time_zone: str) -> None:
        """Let somebody say what is to be done there, and count it. Raises Refused."""
        why = lists.closed_to(self.rules.access, who, authority)
        if why is not None:
            raise Refused(why, told=self._told.just_now(who.person, "access"))
        if self.rules.access.is_operator(who.person):
            return
        reached = self._orders.obstacle(who.person, who.channel, self.clock.now())
        if reached is not None:
            reason, sentence = surges.sentence(reached, time_zone)
            raise Refused(sentence, told=self._told.just_now(who.person, f"order {reason}"))

    async def admit_posting(self, incoming: Incoming) -> None:
        """Before a question that somebody asks by a command is posted for everybody, and then taken in. Raises Refused
        for what `admit` would refuse, as far as that can be told without storing it.
        """
        self.order(Who.wrote(incoming), incoming.authority, incoming.person.time_zone)
        spent = await self.budget_left(incoming)
        if spent is not None:
            raise self._refused(incoming, "budget", spent)

    def is_exempt(self, incoming: Incoming) -> bool:
        return self.rules.access.is_operator(incoming.person.id)

    async def budget_left(self, incoming: Incoming) -> str | None:
        """None while there is something left of every budget that this message draws on; else why there is not."""
        if self.is_exempt(incoming):
            return None
        person, now = incoming.person, self.clock.now()
        accounts = (
            Account(Whose.PERSON, person.id),
            Account(Whose.CHANNEL, incoming.channel),
            Account(Whose.EVERYONE),
        )
        for account in accounts:
            sentence = await self.allowances.used_up(account, now, person.time_zone)
            if sentence is not None:
                return sentence
        return None

    def _refused(self, incoming: Incoming, reason: str, sentence: str) -> Refused:
        return Refused(sentence, told=self._told.just_now(incoming.person.id, reason))
