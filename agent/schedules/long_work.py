"""Long work: the ids of its conversations, and its limits.

Long work is a question that is asked at once, beside the conversation in which it was requested: a separate turn, with
higher limits of rounds, time and text than a normal one.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

WORK: Final = ":work"  # In the ids of long work's turn and conversation, which are made of those of others
_WORK_CONVERSATION: Final = re.compile(r"(?P<asked>.+):work:\d{1,19}", re.ASCII | re.DOTALL)
MAX_AT_WORK: Final = 2  # Of one person at the same time: each is watched, and uses a model that others wait for
WORK_ROUNDS: Final = 60  # Enough to read forty threads one after the other and to summarise them
WORK_TIME: Final = timedelta(minutes=30)  # Longer work is requested in parts; fruitless work ends
# Length of tool results: about 100,000 tokens, which are sent again in each round and which most models can read.
WORK_CHARS: Final = 400_000
# A longer time between two rounds does not count as work: it waited for consent, or for another process.
MAX_ROUND_TIME: Final = timedelta(minutes=2)


def work_conversation(asked_in: str, schedule: int) -> str:
    """The conversation of long work, beside the one of the request: "slack:T1:C1:1712345678.000100:work:7"."""
    return f"{asked_in}{WORK}:{schedule}"


def asked_in(conversation: str) -> str:
    """The conversation where this conversation's long work was requested; any other conversation itself."""
    match = _WORK_CONVERSATION.fullmatch(conversation)
    return conversation if match is None else match["asked"]


def worked_for(round_starts: Sequence[datetime], now: datetime) -> timedelta:
    """How long a turn has worked, given the times when its rounds began."""
    gaps = (min(later - earlier, MAX_ROUND_TIME) for earlier, later in pairwise([*round_starts, now]))
    return sum(gaps, timedelta())
