"""A fact as it is compared with another: its key and value, and the sentence in which the person stated it. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agent.memory import lexicon
from agent.memory.alignment import content_of, count_in, has_any
from agent.memory.attribution import REQUESTS
from agent.memory.statements import content_tokens, read_statement, sentences

MAX_SENTENCES: Final = 40  # Of a message, in which the sentence of a fact is searched: more than a page has
REQUEST_CHARS: Final = 80  # Of a sentence, in which a request to remember it may stand
REQUEST_WORDS: Final = 3  # Before the request: "Please", "Could you"
BARE_TOKENS: Final = 8  # A value with more is a sentence
BARE_WORDS: Final = 5  # A value with more may name its subject


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as it is compared. `said`: what the person wrote in the message from which it comes, "" if unknown."""

    key: str
    value: str
    said: str = ""

    @property
    def sentence(self) -> str:
        """The sentence of the person that states it, else its key and value."""
        names_none = self.is_bare and len(self.value.split()) <= BARE_WORDS
        return self.stated or (f"{self.key}: {self.value}" if names_none else self.value)

    @property
    def stated(self) -> str:
        """The sentence of `said` that states it, or "" if none shares a word with it."""
        return _stating(self.said, self.key, self.value) if self.said else ""

    @property
    def is_bare(self) -> bool:
        """Whether only a value under a key is known: "Friday", "moved to York"."""
        is_answer = all(word.kind for word in content_of(self.stated))  # "Friday"
        return is_answer and bool(self.key) and _is_bare(self.value)


@lru_cache(maxsize=256)
def _stating(said: str, key: str, value: str) -> str:
    """Return the sentence of a message that shares the most with a fact, or "" if none shares anything. The only
    sentence states a bare value whose words it lacks, unless it is a single word: "Yes."

    It is returned without a request before it: "remember that …".
    """
    candidates = [*map(_without_request, sentences(said)[:MAX_SENTENCES])]
    about, stated = content_of(key), content_of(value)

    def shared(sentence: str) -> tuple[int, int]:
        words = content_of(sentence)
        return count_in(stated, words), count_in(about, words)

    best = max(candidates, key=shared, default="")
    is_only = len(candidates) == 1 and _is_bare(value) and len(content_of(best)) > 1
    return best if is_only or (best and shared(best) > (0, 0)) else ""


def _without_request(sentence: str) -> str:
    match = REQUESTS.search(lexicon.folded(sentence[:REQUEST_CHARS]))
    if match is None or len(sentence[: match.start()].split()) > REQUEST_WORDS:
        return sentence
    return sentence[match.end() :].lstrip(" ,:;，：") or sentence


def _is_bare(value: str) -> bool:
    return not read_statement(value).has_subject and len(content_tokens(value)) <= BARE_TOKENS


def has_cue(told: Told, patterns: Iterable[re.Pattern[str]]) -> bool:
    return any(has_any(text, patterns) for text in {told.value, told.sentence})
