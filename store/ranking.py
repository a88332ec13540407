"""Which found messages come first. Pure.

Above: `store.search`; the two engines of `store.index` find the matches. Below: nothing.

Rules (measured in conversations between people, and between people and a bot)
  A rare keyword weighs more than a common one; rarity is counted among the messages that this search may see, so
  nobody else's words move the order. A word counts once per message, however often it stands there.
  A long message needs more matches than a short one (BM25's length norm).
  The person's own words count more than the bot's, and a reply lifts the question that it answered, never the other
  way round: long replies repeat everything.
  Between equals the newest comes first; age itself takes nothing away.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

MOST: Final = 2_000
"""Matches of one keyword that are looked at, the newest. A word that common says little; all the rarer words count."""
K1: Final = 1.2
B: Final = 0.75
BOT_PRIOR: Final = 0.7
NEIGHBOUR: Final = 0.5


class Match(NamedTuple):
    """One message that holds one keyword. A tuple, because there are thousands in a search."""

    keyword: int
    message: int
    turn: int
    by_person: bool
    length: int


def ranked(matches: Sequence[Match], *, total: int) -> list[tuple[int, float]]:
    """(message, score), best first. `total`: about how many messages could have matched."""
    if not matches:
        return []
    weights = _weights(matches, total)
    mean = sum(match.length for match in matches) / len(matches)
    scores: defaultdict[int, float] = defaultdict(float)
    for match in matches:
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * match.length / max(mean, 1.0)))
        scores[match.message] += weights[match.keyword] * norm * (1.0 if match.by_person else BOT_PRIOR)
    _lift_questions(matches, scores)
    return sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)


def _weights(matches: Iterable[Match], total: int) -> dict[int, float]:
    frequency = Counter(match.keyword for match in matches)
    return {
        keyword: math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5)) for keyword, count in frequency.items()
    }


def _lift_questions(matches: Iterable[Match], scores: defaultdict[int, float]) -> None:
    replies = {match.turn: match.message for match in matches if not match.by_person}
    questions = {match.turn: match.message for match in matches if match.by_person}
    for turn, question in questions.items():
        if turn in replies:
            scores[question] += NEIGHBOUR * scores[replies[turn]]
