"""How the bot does, for its operators: what it works on, what it took, what people think of its answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from agent.ports import Clock, Ledger, OperatorSessions, Replies, Spending, ToolAudit
from agent.protocol.render import joined
from agent.records import Load, ReplyVerdict
from agent.spending import By, SpendingPeriod, Spent, Total
from bot.access.acl import CommandAnswer
from bot.access.budgets import cost_text
from bot.audit import SHOWN_IN_HOME, home_text
from bot.texts import reply_texts
from bot.texts.formatting import counted, literal, shortened

LINK_LASTS: Final = timedelta(minutes=10)
"""Long enough to change to another machine's browser."""

SESSION_IDLE: Final = timedelta(minutes=30)
"""A session on that page ends when nobody has looked for so long; it comes from a browser that may stand anywhere."""
SESSION_LASTS: Final = timedelta(hours=12)
"""A day at work; who goes on asks for another link."""


@dataclass(frozen=True, slots=True)
class OperatorLinks:
    """Links that each let one browser in on the operators' page. `address`: of the page; `secret` makes 256 bits."""

    sessions: OperatorSessions
    clock: Clock
    secret: Callable[[], str]
    address: str

    async def new(self) -> str:
        """Raises StoreError."""
        token, now = self.secret(), self.clock.now()
        await self.sessions.offer(sha256(token.encode()).hexdigest(), now, now + LINK_LASTS)
        return f"{self.address}/enter/{token}"


@dataclass(frozen=True, slots=True)
class OperatorDesk:
    """Implements `OperatorAnswers`. `links`: None where the page is off, or this is no process that serves it."""

    links: OperatorLinks | None
    operates: Callable[[str], bool]

    async def link(self, person: str) -> CommandAnswer:
        if not self.operates(person):
            return CommandAnswer(reply_texts.NO_OPERATOR, refused=True)
        if self.links is None:
            return CommandAnswer(reply_texts.NO_OPERATOR_PAGE, refused=True)
        minutes = LINK_LASTS.seconds // 60
        return CommandAnswer(reply_texts.OPERATOR_PAGE.format(link=await self.links.new(), minutes=minutes))


DAYS: Final = 30
"""Of spending and verdicts: as long as a bill."""
MOST: Final = 5
"""Who took the most: more would be a table, which `cogency usage` prints."""
NAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Health:
    """`describe`: lines about the models and the store, which know themselves best."""

    ledger: Ledger
    replies: Replies
    spending: Spending
    clock: Clock
    since: datetime
    describe: Callable[[], Sequence[str]]
    audit: ToolAudit

    async def text(self) -> str:
        """As Markdown. Raises StoreError."""
        now = self.clock.now()
        period = SpendingPeriod.days_until(now, DAYS)
        people, models = [await self.spending.totals(period, by) for by in (By.PERSON, By.MODEL)]
        verdicts = await self.replies.verdicts(now - timedelta(days=DAYS))
        told = report(await self.ledger.load(), people, models, verdicts, self.describe(), now - self.since)
        return joined([told, home_text(await self.audit.newest(SHOWN_IN_HOME))])


def report(
    load: Load,
    people: Sequence[Total],
    models: Sequence[Total],
    verdicts: Mapping[ReplyVerdict, int],
    described: Sequence[str],
    up: timedelta,
) -> str:
    """The text, of values. Pure."""
    good, bad = verdicts.get(ReplyVerdict.GOOD, 0), verdicts.get(ReplyVerdict.BAD, 0)
    everything = sum((total.spent for total in people), Spent())
    lines = [
        f"**Now**: {counted(load.running, 'answer grows', 'answers grow')}, {load.waiting:,} wait. Up for {_span(up)}.",
        *described,
        reply_texts.VERDICTS.format(days=DAYS, good=good, bad=bad),
        f"**Spent**, {DAYS} days: {cost_text(everything)}, {counted(everything.calls, 'model call', 'model calls')}.",
        *_most(reply_texts.BY_PERSON, people),
        *_most(reply_texts.BY_MODEL, models),
    ]
    return "\n\n".join(lines)


def _most(heading: str, totals: Sequence[Total]) -> list[str]:
    spent = [total for total in totals if total.spent.calls]
    if not spent:
        return []
    ordered = sorted(spent, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))
    named = (f"- {literal(shortened(one.name or one.key, NAME_CHARS))}: {cost_text(one.spent)}" for one in ordered)
    return ["\n".join([f"{heading}:", *[*named][:MOST]])]


def _span(up: timedelta) -> str:
    minutes = int(up.total_seconds()) // 60
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{counted(days, 'day', 'days')} and {counted(hours, 'hour', 'hours')}"
    return f"{counted(hours, 'hour', 'hours')} and {counted(minutes % 60, 'minute', 'minutes')}"
