"""What was spent, as text, as a table and as JSON."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from agent.messages import Json, ModelCall
from agent.spending import NANO, PRICES_AS_OF, By, Forecast, Money, SpendingAccount, SpendingPeriod, Spent, Total
from bot.budgets import texts as budgets_texts
from bot.chat.output import printable_json, printable_line
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal, money, shortened


class FooterStyle(StrEnum):
    """The footer of a reply."""

    OFF = "off"
    """None, unless another model answered than the requested one."""
    MODEL = "model"
    """Which model answered."""
    COST = "cost"
    """The model, its tokens, and their price."""


# What was spent, as text: for a person, for the operator, for a program.
#
# Rules. Counts that a model did not report are marked as estimated. A sum without some calls' prices says so.

NO_FORECAST: Final = Forecast()
_HEADINGS = ("calls", "input", "cached", "written", "output", "reasoning", "cost")


def account_text(account: SpendingAccount, code_line: str = "", ahead: Forecast = NO_FORECAST) -> str:
    """Return what one person's questions used, today and this month, as Markdown. `code_line`: of Python code; `ahead`:
    for the sentence about the rest of the day and the month.
    """
    if not account.month.calls:
        return budgets_texts.NOTHING_SPENT
    parts = [
        budgets_texts.SPENT,
        *_block(budgets_texts.TODAY, account.today),
        *_block(budgets_texts.THIS_MONTH, account.month),
        _forecast_text(account, ahead),
        *([code_line] if code_line else []),
    ]
    if account.month.usage.estimated:
        parts.append(f"{budgets_texts.ESTIMATED}.")
    return "\n\n".join([*parts, budgets_texts.LIST_PRICES])


def _forecast_text(account: SpendingAccount, ahead: Forecast) -> str:
    """Return what the day and the month will have cost, in money, or in tokens where no call has a price."""
    day, month = _times(account.today, ahead.day), _times(account.month, ahead.month)
    if day and month:
        return budgets_texts.FORECAST.format(day=day, month=month)
    if day:
        return budgets_texts.FORECAST_DAY.format(day=day)
    return budgets_texts.FORECAST_MONTH.format(month=month) if month else budgets_texts.NO_FORECAST


def _times(spent: Spent, factor: float | None) -> str:
    if factor is None:
        return ""
    if spent.unpriced == spent.calls:
        used = spent.usage
        tokens = used.input_uncached + used.input_cached + used.input_written + used.output + used.reasoning
        return budgets_texts.ABOUT.format(amount=counted(round(tokens * factor), "token", "tokens"))
    words = budgets_texts.AT_LEAST if spent.unpriced else budgets_texts.ABOUT
    return words.format(amount=money(Money(round(spent.cost * factor))))


def cost_text(spent: Spent) -> str:
    """Return the money: "$0.0123", "at least $0.0123" if some calls have no price, "no price" if none has."""
    if spent.calls == spent.unpriced:
        return "no price" if spent.calls else money(spent.cost)
    return f"at least {money(spent.cost)}" if spent.unpriced else money(spent.cost)


def report_text(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """Return a table for a terminal, the most expensive first (days in order), with the total in the last row."""
    heading = f"{period.first} to {period.last}, by {by}. {budgets_texts.LIST_PRICES}"
    if not totals:
        return f"{heading}\n\nNothing was spent.\n"
    overall = sum((total.spent for total in totals), Spent())
    rows = [(by.value, *_HEADINGS)]
    rows += [(_label(total, by), *_cells(total.spent)) for total in _ordered(totals, by)]
    rows.append(("all", *_cells(overall)))
    note = f"\n{budgets_texts.ESTIMATED}\n" if overall.usage.estimated else ""
    return f"{heading}\n\n{_table(rows)}\n{note}"


def report_json(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """Return the same for a program, on one line. `cost_usd` is null if no call has a price."""
    rows: list[Json] = [_as_json(total) for total in _ordered(totals, by)]
    report: Json = {
        "first_day": period.first.isoformat(),
        "last_day": period.last.isoformat(),
        "by": by.value,
        "prices_as_of": PRICES_AS_OF.isoformat(),
        "totals": rows,
    }
    return printable_json(report)


def _block(when: str, spent: Spent) -> list[str]:
    if not spent.calls:
        return [f"**{when}**: nothing"]
    used = spent.usage
    prefix = "~" if used.estimated else ""
    cached = f", {prefix}{used.input_cached:,} read from the vendor's cache" if used.input_cached else ""
    written = f", {prefix}{used.input_written:,} written to the vendor's cache" if used.input_written else ""
    reasoning = f", and {prefix}{used.reasoning:,} of reasoning" if used.reasoning else ""
    input_line = f"- Input: {prefix}{counted(used.input_uncached, 'new token', 'new tokens')}{cached}{written}"
    output_line = f"- Output: {prefix}{counted(used.output, 'token', 'tokens')}{reasoning}"
    total = f"**{when}**: {cost_text(spent)}, {counted(spent.calls, 'model call', 'model calls')}"
    return ["\n".join([total, "", input_line, output_line])]


def _ordered(totals: Sequence[Total], by: By) -> list[Total]:
    if by is By.DAY:
        return sorted(totals, key=lambda total: total.key)
    return sorted(totals, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))


def _label(total: Total, by: By) -> str:
    if by is By.CHANNEL and not total.key:
        return "(forgotten)"
    key, name = (
        formatting.shortened(printable_line(words), reply_texts.TITLE_CHARS) for words in (total.key, total.name)
    )
    return f"{name} ({key})" if name else key


def _cells(spent: Spent) -> tuple[str, ...]:
    used = spent.usage
    prefix = "~" if used.estimated else ""
    counts = (used.input_uncached, used.input_cached, used.input_written, used.output, used.reasoning)
    return (f"{spent.calls:,}", *(f"{prefix}{count:,}" for count in counts), cost_text(spent))


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _as_json(total: Total) -> Json:
    spent, used = total.spent, total.spent.usage
    return {
        "key": total.key,
        "name": total.name,
        "calls": spent.calls,
        "input_uncached": used.input_uncached,
        "input_cached": used.input_cached,
        "input_written": used.input_written,
        "output": used.output,
        "reasoning": used.reasoning,
        "bytes_up": used.bytes_up,
        "estimated": used.estimated,
        "cost_usd": None if spent.calls == spent.unpriced else spent.cost / NANO,
        "calls_without_price": spent.unpriced,
    }


# The footer of a reply: which model answered, and what it used.
#
# Rules: it is shown, and never stored as part of the reply. If another model answered than the requested one, the
# footer is shown and says why, whatever the setting.

WHY_CHARS = 200  # Two lines on a phone; the log has the whole reason
SEPARATOR = " · "


def footer(calls: Sequence[ModelCall], asked_model: str, switched_why: str, style: FooterStyle) -> str:
    """Return one line of Markdown in italics, "" for none.

    `calls` are all of the turn's; the last one produced the answer. `asked_model` is the name of the model that should
    have answered; `switched_why` is a sentence, "" if it did.
    """
    if not calls:
        return ""
    parts: list[str] = []
    if style is not FooterStyle.OFF or switched_why:
        parts.append(_model(calls[-1].model, asked_model, switched_why))
    if style is FooterStyle.COST:
        parts += _cost(calls)
    return f"*{SEPARATOR.join(parts)}*" if parts else ""


def _model(answered: str, asked: str, why: str) -> str:
    if not why:
        return literal(answered)
    return f"{literal(answered)} answered instead of {literal(asked)}: {literal(shortened(why, WHY_CHARS))}"


def _cost(calls: Sequence[ModelCall]) -> list[str]:
    spent = Spent.on(calls)
    used = spent.usage
    about = "about " if used.estimated else ""
    input_tokens = used.input_uncached + used.input_cached + used.input_written
    cached = f" ({used.input_cached:,} cached)" if used.input_cached else ""
    tokens = f"{about}{counted(input_tokens, 'token', 'tokens')} in{cached}, {used.output + used.reasoning:,} out"
    return [tokens] if spent.unpriced == spent.calls else [tokens, cost_text(spent)]
