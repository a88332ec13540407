"""Which found messages come first. Pure.

Rules (measured in conversations between people, and between people and a bot)
  A rare keyword weighs more than a common one; rarity is counted among the messages that this search may see, so
  nobody else's words move the order. A word counts once per message, however often it stands there, and less in a long
  message than in a short one (BM25's length norm).
  A keyword counts in full where it stands and less in the messages beside it (NEAR): people answer one another in few
  words. Each keyword counts once for a message, at the nearest place where it stands.
  What the bot says is not lifted by others, and parts what stands before and after it: long replies repeat everything.
  It lifts the question that it answers, never the other way round; its own rows weigh less than people's.
  A thread with more than one good message is about the keywords; that lifts all its messages a little.
  Names of people who wrote are no keywords: whoever is named, or asks about themselves, comes first with what they
  wrote themselves. Asked about itself, the bot is heard like a person.
  Where vectors are kept, the nearest in meaning gets MEANING of what the best words are worth, the farthest that was
  compared nothing, and the others their share: words that are there still say more than what resembles them.
  Times in the question lift what was said then, and somewhat what was said soon after.
  Between equals the newest comes first; age itself takes nothing away.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from agent.memory.periods import TimeSpan

MOST: Final = 500
"""Matches of one keyword that are looked at, the newest. A word that common says little; all the rarer words count."""
CANDIDATES: Final = 64
"""The best matches by their own words, whose surroundings are looked at: so many find as much as all."""
NOTHING: Final[Mapping[int, float]] = {}
TINY: Final = 1e-9
K1: Final = 1.2
B: Final = 0.4
NEAR: Final = (1.0, 0.5, 0.3)
"""What a keyword is worth here, in the next message, in the one after it."""
COMPANY: Final = 3
"""The best message of a thread is lifted by so many others of it."""
COMPANY_SHARE: Final = 0.2
BOT_PRIOR: Final = 0.7
NAMED: Final = 1.8
DATED: Final = 2.0
SOON_DATED: Final = 1.5
MEANING: Final = 0.6
"""What the nearest meaning is worth, beside the best words."""
SOON: Final = timedelta(days=7)
"""People tell of what happened within days."""


Match: TypeAlias = tuple[int, bool, int]
"""A message that holds a keyword: its id, whether a person wrote it, its length. There are thousands in a search."""


class Range(NamedTuple):
    """About how many messages could match, and the ids of the first and the last. It need not be exact."""

    total: int
    first: int = 0
    last: int = 0


class FoundLine(NamedTuple):
    """Where a message stands: `before` and `after` are the next two in its thread, nearest first."""

    conversation: str
    by_person: bool
    person: str
    time: datetime
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


Candidates: TypeAlias = Mapping[int, Mapping[int, float]]
"""The best matches by their own words: for each message what each of its keywords is worth."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the question says besides its keywords: `names` are the keywords that name people who wrote, `people` the
    ids of those it speaks of, `bot` whether it speaks of the bot, `periods` the times that it speaks of.
    """

    names: frozenset[int] = frozenset()
    people: frozenset[str] = frozenset()
    bot: bool = False
    periods: tuple[TimeSpan, ...] = ()


def candidates(matches: Sequence[Sequence[Match]], among: Range) -> Candidates:
    """The best of `matches`, which hold for each keyword the newest, MOST at most."""
    lengths = [length for found in matches for _, _, length in found]
    norm = K1 * B * len(lengths) / max(sum(lengths), 1)
    weights = {word: _weight(found, among) for word, found in enumerate(matches) if found}
    sums: defaultdict[int, float] = defaultdict(float)
    for word, weight in weights.items():
        for message, by_person, length in matches[word]:
            sums[message] += weight / (1 + K1 * (1 - B) + norm * length) * (1.0 if by_person else BOT_PRIOR)
    best = heapq.nlargest(CANDIDATES, sums, key=lambda message: (sums[message], message))
    strengths: dict[int, dict[int, float]] = {message: {} for message in best}
    for word, weight in weights.items():
        for message, _, length in matches[word]:
            if message in strengths:
                strengths[message][word] = weight * (K1 + 1) / (1 + K1 * (1 - B) + norm * length)
    return strengths


def _weight(found: Sequence[Match], among: Range) -> float:
    """How much a keyword says: the fewer messages hold it, the more."""
    n = float(len(found))
    if n >= MOST:  # the older ones were not looked at: as many again in each stretch of that length
        oldest = min(message for message, _, _ in found)
        n *= max(1.0, (among.last - among.first) / max(among.last - oldest, 1))
    return math.log(1 + (max(among.total, n) - n + 0.5) / (n + 0.5))


def ranked(
    found: Candidates, lines: Mapping[int, FoundLine], hints: Hints = Hints(), nearness: Mapping[int, float] = NOTHING
) -> list[tuple[int, float]]:
    """(message, score), best first: the candidates, what stands beside them, and what is near in meaning.

    `lines` holds the candidates and, of their neighbours, those that this search may see. `nearness`: of each message
    whose meaning was compared, the more the nearer.
    """
    around = _spread(_without(hints.names, found), lines)
    words = {message: sum(near.values()) for message, near in around.items()}
    sums = _mixed(words, {message: near for message, near in nearness.items() if message in lines})
    alone = {message: score * _factor(lines[message], hints) for message, score in sums.items()}
    company = _company(alone, lines)
    scores = {message: score + COMPANY_SHARE * company[lines[message].conversation] for message, score in alone.items()}
    return sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)


def _without(names: frozenset[int], strengths: Candidates) -> Candidates:
    """The names left out, unless nothing else was found."""
    rest = {
        message: kept
        for message, held in strengths.items()
        if (kept := {word: strength for word, strength in held.items() if word not in names})
    }
    return rest or strengths


def _spread(
    strengths: Mapping[int, Mapping[int, float]], lines: Mapping[int, FoundLine]
) -> defaultdict[int, dict[int, float]]:
    """For each message what each keyword is worth there, standing in it or near it."""
    around: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for message, held in strengths.items():
        for near, share in _reach(message, lines):
            there = around[near]
            for word, strength in held.items():
                there[word] = max(there.get(word, 0.0), share * strength)
    return around


def _reach(message: int, lines: Mapping[int, FoundLine]) -> Iterable[tuple[int, float]]:
    yield message, NEAR[0]
    line = lines[message]
    sides = (line.before, line.after) if line.by_person else (line.before[:1],)
    for side in sides:
        for near, share in zip(side, NEAR[1:], strict=False):
            if near not in lines or not lines[near].by_person:
                break
            yield near, share


def _mixed(words: Mapping[int, float], nearness: Mapping[int, float]) -> Mapping[int, float]:
    if not nearness:
        return words
    least, most = min(nearness.values()), max(nearness.values())
    worth = MEANING * max(words.values(), default=1.0) / max(most - least, TINY)
    return {
        message: words.get(message, 0.0) + worth * max(nearness.get(message, least) - least, TINY)
        for message in {*words, *nearness}
    }


def _company(scores: Mapping[int, float], lines: Mapping[int, FoundLine]) -> dict[str, float]:
    """For each thread what its best messages after the first are worth together."""
    threads: defaultdict[str, list[float]] = defaultdict(list)
    for message, score in scores.items():
        threads[lines[message].conversation].append(score)
    return {thread: sum(heapq.nlargest(COMPANY + 1, held)[1:]) for thread, held in threads.items()}


def _factor(line: FoundLine, hints: Hints) -> float:
    factor = 1.0 if line.by_person or hints.bot else BOT_PRIOR
    if line.by_person and line.person in hints.people:
        factor *= NAMED
    return factor * max((_dated(line.time, period) for period in hints.periods), default=1.0)


def _dated(time: datetime, period: TimeSpan) -> float:
    if period.since <= time < period.until:
        return DATED
    return SOON_DATED if period.until <= time < period.until + SOON else 1.0
