"""How much of each text the model gets when not everything fits. Pure.

Above: `bot.attachments.reading`. Below: `agent.tokens`.
"""

from collections.abc import Sequence
from typing import Final

from agent.tokens import estimate_tokens

TEXT_TOKENS: Final = 12_000
"""What all texts of a message have, together, as the model gets them: some forty pages, a third of a 32k model."""


def shares(costs: Sequence[int], budget: int) -> list[int]:
    """What each may take of the budget, in the order of `costs`: the small ones all they want, the others equally."""
    given = [0] * len(costs)
    left = budget
    smallest_first = sorted(range(len(costs)), key=lambda at: costs[at])
    for done, at in enumerate(smallest_first):
        given[at] = min(costs[at], left // (len(costs) - done))
        left -= given[at]
    return given


def cut(text: str, tokens: int) -> str:
    """The beginning of a text that has about so many tokens, at most; with a note where it was cut."""
    kept = text
    while (cost := estimate_tokens(kept)) > tokens:
        kept = kept[: min(len(kept) - 1, len(kept) * tokens // cost)]
    return (
        text if kept == text else f"{kept}\n(cut here: these are the first {len(kept):,} of {len(text):,} characters)"
    )
