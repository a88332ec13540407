"""What was spent, in words and tables: for a person, for the operator, for a program. Pure.

Rules: counts that a model did not report are marked as estimated; a sum that leaves calls without a price out says so.
"""

from collections.abc import Sequence

from agent.messages import Json, ModelCall
from agent.spending import NANO, PRICES_AS_OF, By, SpendingAccount, SpendingPeriod, Spent, Total
from bot.exits import printable_json, printable_line
from bot.setting_parsers import FooterStyle
from bot.texts import formatting, reply_texts
from bot.texts.formatting import counted, literal, money, shortened

_HEADINGS = ("calls", "input", "cached", "written", "output", "reasoning", "cost")


def account_text(account: SpendingAccount) -> str:
    """What one person's questions took, today and this month, as Markdown."""
    if not account.month.calls:
        return reply_texts.NOTHING_SPENT
    parts = [
        reply_texts.SPENT,
        *_block(reply_texts.TODAY, account.today),
        *_block(reply_texts.THIS_MONTH, account.month),
    ]
    if account.month.usage.estimated:
        parts.append(f"{reply_texts.ESTIMATED}.")
    return "\n\n".join([*parts, reply_texts.LIST_PRICES])


def cost_text(spent: Spent) -> str:
    """The money: "$0.0123", "at least $0.0123" where some calls have no price, "no price" where none has."""
    if spent.calls == spent.unpriced:
        return "no price" if spent.calls else money(spent.cost)
    return f"at least {money(spent.cost)}" if spent.unpriced else money(spent.cost)


def report_text(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """A table for a terminal, the most expensive first (days in their order), with the sum of all below."""
    heading = f"{period.first} to {period.last}, by {by}. {reply_texts.LIST_PRICES}"
    if not totals:
        return f"{heading}\n\nNothing was spent.\n"
    everything = sum((total.spent for total in totals), Spent())
    rows = [(by.value, *_HEADINGS)]
    rows += [(_who(total, by), *_cells(total.spent)) for total in _ordered(totals, by)]
    rows.append(("all", *_cells(everything)))
    note = f"\n{reply_texts.ESTIMATED}\n" if everything.usage.estimated else ""
    return f"{heading}\n\n{_table(rows)}\n{note}"


def report_json(totals: Sequence[Total], period: SpendingPeriod, by: By) -> str:
    """The same for a program, on one line. `cost_usd` is null if no call has a price."""
    listed: list[Json] = [_as_json(total) for total in _ordered(totals, by)]
    report: Json = {
        "first_day": period.first.isoformat(),
        "last_day": period.last.isoformat(),
        "by": by.value,
        "prices_as_of": PRICES_AS_OF.isoformat(),
        "totals": listed,
    }
    return printable_json(report)


def _block(when: str, spent: Spent) -> list[str]:
    if not spent.calls:
        return [f"**{when}**: nothing"]
    used = spent.usage
    about = "~" if used.estimated else ""
    read = f", {about}{used.input_cached:,} read from the vendor's cache" if used.input_cached else ""
    written = f", {about}{used.input_written:,} written to the vendor's cache" if used.input_written else ""
    reasoning = f", and {about}{used.reasoning:,} of reasoning" if used.reasoning else ""
    asked = f"- Input: {about}{counted(used.input_uncached, 'new token', 'new tokens')}{read}{written}"
    answered = f"- Output: {about}{counted(used.output, 'token', 'tokens')}{reasoning}"
    total = f"**{when}**: {cost_text(spent)}, {counted(spent.calls, 'model call', 'model calls')}"
    return ["\n".join([total, "", asked, answered])]


def _ordered(totals: Sequence[Total], by: By) -> list[Total]:
    if by is By.DAY:
        return sorted(totals, key=lambda total: total.key)
    return sorted(totals, key=lambda total: (-total.spent.cost, -total.spent.calls, total.key))


def _who(total: Total, by: By) -> str:
    if by is By.CHANNEL and not total.key:
        return "(forgotten)"
    key, name = (
        formatting.shortened(printable_line(words), reply_texts.TITLE_CHARS) for words in (total.key, total.name)
    )
    return f"{name} ({key})" if name else key


def _cells(spent: Spent) -> tuple[str, ...]:
    used = spent.usage
    about = "~" if used.estimated else ""
    counts = (used.input_uncached, used.input_cached, used.input_written, used.output, used.reasoning)
    return (f"{spent.calls:,}", *(f"{about}{count:,}" for count in counts), cost_text(spent))


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


# The small line under a reply: which model answered, and what it took. Pure.
#
# Rules: it is shown and never stored as part of the reply. When another model answered than the one that was asked, the
# line is there and says why, whatever the setting.

WHY_CHARS = 200
"""A reason stays on two lines of a phone; the log has the whole of it."""
SEPARATOR = " · "


def footer(calls: Sequence[ModelCall], asked_model: str, switched_why: str, style: FooterStyle) -> str:
    """One line of Markdown in italics, "" for none.

    `calls` are all of the turn, the last one is the answer's. `asked_model` is the name of the model that should have
    answered; `switched_why` is a sentence, "" if it did.
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
    read = used.input_uncached + used.input_cached + used.input_written
    cached = f" ({used.input_cached:,} cached)" if used.input_cached else ""
    tokens = f"{about}{counted(read, 'token', 'tokens')} in{cached}, {used.output + used.reasoning:,} out"
    return [tokens] if spent.unpriced == spent.calls else [tokens, cost_text(spent)]
