"""Whether a message is taken in: who writes it, how many they write, how many wait, what is spent.

Above: `bot.hosting` asks before a message is stored, and before a model is called. Below: `bot.access.lists`,
`bot.access.allowances`, `bot.access.surges`; the ledger counts what it stores (`agent.admission`).

Rules
- A refusal is one sentence for the person alone. Told once a minute for one reason: a flood must not be echoed.
- What was taken in before is never refused, whatever holds by now: platforms deliver events again.
- Operators are exempt from every limit. Others by `/budget`, from the budgets only.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol

from agent.admission import Terms, TermsNotMet, Whose
from agent.errors import Refused
from agent.ports import Clock
from agent.records import Accepted, Incoming
from bot.access import lists, surges
from bot.access.allowances import Account, Allowances
from bot.access.lists import AccessRules
from bot.access.surges import Surges
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

    def __post_init__(self) -> None:
        self._told = Told(self.clock)

    async def admit(self, incoming: Incoming, accept: Admit) -> Accepted:
        """Have the message stored, or raise Refused with the reason; nothing is stored then."""
        why = lists.refusal(self.rules.access, incoming)
        if why is not None:
            raise self._refused(incoming, "access", why)
        if self.is_exempt(incoming):
            return await accept(incoming, Terms(self.clock.now()))
        spent = await self.budget_left(incoming)
        limits = self.rules.surges
        terms = Terms(self.clock.now(), limits.rates, limits.backlog, closed=spent is not None)
        try:
            return await accept(incoming, terms)
        except TermsNotMet as unmet:
            reason, sentence = surges.sentence(unmet.obstacle, incoming.person.time_zone)
            raise self._refused(incoming, reason, spent or sentence) from None

    def hears(self, incoming: Incoming) -> bool:
        """Whether a message to others may be kept as context. Nobody is told that it may not."""
        return lists.refusal(self.rules.access, incoming) is None

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
