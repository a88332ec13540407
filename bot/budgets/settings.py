"""The settings of budgets: what may be spent in a day, and whether replies say what they cost."""

import re
from typing import Final

from agent.spending import NANO, Money

_DOLLARS: Final = re.compile(r"\d{1,7}(\.\d{1,2})?", re.ASCII)


def dollars(value: str) -> Money | None:
    """Parse US dollars, with cents if needed; None for 0, which is no limit."""
    if _DOLLARS.fullmatch(value) is None:
        raise ValueError("must be a sum in US dollars without a sign, as in 5 or 2.50; 0 for no limit")
    whole_, _, cents = value.partition(".")
    return Money((int(whole_) * 100 + int(cents.ljust(2, "0"))) * (NANO // 100)) or None
