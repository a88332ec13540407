"""Counts and money in words. Pure.

Above: `bot.wording`, `bot.spending_text`, `bot.turns.footer`. Below: `agent.prices`.
"""

from agent.prices import NANO, Money


def counted(count: int, one: str, more: str) -> str:
    """ "1 thread", "1,200 threads"."""
    return f"{count:,} {one if count == 1 else more}"


def money(cost: Money) -> str:
    """In dollars, with the digits that matter for a sum of this size; what is not nothing is never shown as nothing."""
    if cost == 0:
        return "$0"
    if cost < NANO // 10_000:
        return "under $0.0001"
    digits = 2 if cost >= NANO else 4
    return f"${cost / NANO:,.{digits}f}"
