"""How many tokens a text has, estimated without a tokenizer. Pure.

Above: `agent.context`, `agent.providers` (when a vendor reports no usage). Below: nothing.
Rule: estimates err on the high side, because budgets are kept with them.
"""

from collections.abc import Iterable
from typing import TypeVar

ASCII_PER_TOKEN = 4
"""English prose and code average 3.5 to 4.5 characters a token in the tokenizers of 2026."""

Item = TypeVar("Item")


def estimate_tokens(text: str) -> int:
    """ASCII at four characters a token; any other character as one (true of CJK, high for the rest)."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // ASCII_PER_TOKEN) + len(text) - ascii_characters


def fit_newest(items: Iterable[tuple[Item, int]], budget: int) -> list[Item]:
    """The longest run of the newest items whose costs fit. Given newest first, returned oldest first."""
    kept: list[Item] = []
    for item, cost in items:
        if cost > budget:
            break
        budget -= cost
        kept.append(item)
    return kept[::-1]
