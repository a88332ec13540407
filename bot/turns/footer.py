"""The small line under a reply: which model answered, and what it took. Pure.

Above: `bot.turns.thinking` puts it into the closing of a turn. Below: `agent.spending`, `bot.amounts`, `bot.wording`.

Rules: it is shown and never stored as part of the reply. When another model answered than the one that was asked, the
line is there and says why, whatever the setting.
"""

from collections.abc import Sequence

from agent.messages import ModelCall
from agent.spending import Spent
from bot.amounts import counted
from bot.casts import FooterStyle
from bot.spending_text import cost_text
from bot.wording import literal, shortened

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
