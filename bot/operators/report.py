"""The operators' report: what the bot works on, what it spent, and what people think of its answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent.ports.clock import Clock
from agent.ports.ledger import Ledger
from agent.ports.replies import Replies
from agent.ports.spending import Spending
from agent.ports.tool_audit import ToolAudit
from agent.protocol.render import joined
from agent.shown_replies import ReplyVerdict
from agent.spending import By, SpendingPeriod, Spent, Total
from agent.turn_records import Load
from bot.budgets.report import cost_text
from bot.chat.audit import SHOWN_IN_HOME, home_text
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal, shortened
from bot.operators import texts as operator_texts

DAYS: Final = 30  # For spending and verdicts: a billing period
TOP: Final = 5  # Entries of a ranking; `cogency usage` prints the whole table
NAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Health:
    """Builds the health report. `describe`: returns lines about the models and the store."""

    ledger: Ledger
    replies: Replies
    spending: Spending
    clock: Clock
    since: datetime
    describe: Callable[[], Sequence[str]]
    audit: ToolAudit

    async def text(self) -> str:
        """Return the report as Markdown. Raises StoreError."""
        now = self.clock.now()
        period = SpendingPeriod.days_until(now, DAYS)
        people, models = [await self.spending.totals(period, by) for by in (By.PERSON, By.MODEL)]
        verdicts = await self.replies.verdicts(now - timedelta(days=DAYS))
        text = report(await self.ledger.load(), people, models, verdicts, self.describe(), now - self.since)
        return joined([text, home_text(await self.audit.newest(SHOWN_IN_HOME))])


def report(
    load: Load,
    people: Sequence[Total],
    models: Sequence[Total],
    verdicts: Mapping[ReplyVerdict, int],
    described: Sequence[str],
    up: timedelta,
) -> str:
    """Return the report for these values. Pure."""
    good, bad = verdicts.get(ReplyVerdict.GOOD, 0), verdicts.get(ReplyVerdict.BAD, 0)
    overall = sum((total.spent for total in people), Spent())
    lines = [
        (
            f"**Now**: {counted(load.running, 'answer', 'answers')} in progress, {load.waiting:,} waiting. "
            f"Up for {_span(up)}."
        ),
        *described,
        operator_texts.VERDICTS.format(days=DAYS, good=good, bad=bad),
        f"**Spent**, last {DAYS} days: {cost_text(overall)}, {counted(overall.calls, 'model call', 'model calls')}.",
        *_top(reply_texts.BY_PERSON, people),
        *_top(reply_texts.BY_MODEL, models),
    ]
    return "\n\n".join(lines)


def _top(heading: str, totals: Sequence[Total]) -> list[str]:
    spent = [total for total in totals if total.spent.calls]
    if not spent:
        return []
    ordered = sorted(spent, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))
    lines = (f"- {literal(shortened(item.name or item.key, NAME_CHARS))}: {cost_text(item.spent)}" for item in ordered)
    return ["\n".join([f"{heading}:", *[*lines][:TOP]])]


def _span(up: timedelta) -> str:
    minutes = int(up.total_seconds()) // 60
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{counted(days, 'day', 'days')} and {counted(hours, 'hour', 'hours')}"
    return f"{counted(hours, 'hour', 'hours')} and {counted(minutes % 60, 'minute', 'minutes')}"
