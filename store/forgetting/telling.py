"""Whether what two texts share tells that one was made of the other, or is only how people and the bot talk.

Rules
  A passage is common once it stands in one message that was not made of what falls by any number of turns: it was said
  before all of that, or no context leads there. A word is common once it stands in more than RARE messages that were
  said before, or in turns that had none of it in their contexts: there are few messages to which nothing leads.
  So is what the bot says in many of its answers. A passage of small words and courtesy tells nothing, wherever it is.
  Only messages are asked that the person who was answered may find: what others were told shows in nobody's preview.
  Words of people, facts and profiles tell unless they are common. Those of the bot alone (a greeting, a footer) tell
  only where so many of its other answers are without them (ENOUGH) that they would have shown to be common; before
  that nobody knows.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from enum import IntEnum
from itertools import islice
from typing import Final

from sqlalchemy import Connection, select

from agent.records import Author
from store.forgetting.selection import rows_in
from store.memory import people
from store.search import index
from store.search.text import PIECE_CHARS, index_words, is_telling, plain_words, stem
from store.tables import message

RARE: Final = 3
"""In so many more of a person's messages a word may stand and still tell where it came from."""
ENOUGH: Final = 12
"""Of so many answers, one has what every fourth has, but for one case in thirty."""
LOOKUPS: Final = 200
"""Words and passages that are looked up for one plan, some milliseconds each. What comes then is not known."""
KEPT: Final = 200
"""The newest messages with a word, and the first answers, that are looked at: more would not say more."""
READ: Final = 50
"""Messages that are read to see whether one has a passage: where it is common, the first one has."""


class Clue(IntEnum):
    NONE = 0
    DOUBT = 1
    TELLS = 2


class Telling:
    """Judges for one plan. `first`: messages with a lower id were said before anything that falls."""

    def __init__(self, connection: Connection, first: int) -> None:
        self._connection = connection
        self._first = first
        self._gone = frozenset[int]()
        self._reached: AbstractSet[int] = frozenset()
        self._near = set[int]()
        self._theirs = set[str]()
        self._having: dict[tuple[str, str], list[int] | None] = {}
        self._read: dict[tuple[str, int], bool] = {}
        self._answers: dict[str, list[int]] = {}
        self._numbers: dict[str, int | None] = {}

    def falls(self, said: frozenset[int], reached: AbstractSet[int]) -> None:
        """The first fall; all that may be made of them by any number of turns is among the others."""
        self._gone, self._reached = said, reached

    def near(self, messages: Iterable[int]) -> None:
        """These stand in turns that had some of what falls in their contexts."""
        self._near.update(messages)

    def written(self, text: str) -> None:
        """A person wrote this, or it was kept of what one wrote."""
        self._theirs.update(telling_words(text))

    def passage(self, person: str, passage: str, *, bots: bool) -> Clue:
        """What it tells that an answer to this person has this passage. `bots`: the bot had worded it."""
        whole = passage.split()[1:-1] if len(passage) == PIECE_CHARS else []  # its ends may be cut words
        words = " ".join(whole) or passage
        telling = telling_words(words)
        if not telling:
            return Clue.NONE
        bots = bots and self._theirs.isdisjoint(telling)
        found = self._found(person, passage, index_words(words))
        if found is None:
            return Clue.DOUBT
        if self._any_has([id_ for id_ in found if self._is_apart(id_)], passage, 1):
            return Clue.NONE
        if bots and self._any_has([id_ for id_ in found if id_ not in self._gone], passage, RARE + 2):
            return Clue.NONE
        return self._of_wording(person, bots=bots)

    def word(self, person: str, word: str, *, bots: bool) -> Clue:
        """The same for a single word."""
        bots = bots and stem(word) not in self._theirs
        found = self._found(person, word, [word])
        if found is None or _more(filter(self._is_elsewhere, found), RARE):
            return Clue.NONE
        if bots and _more((id_ for id_ in found if id_ not in self._gone), RARE + 1):
            return Clue.NONE
        return self._of_wording(person, bots=bots)

    def _of_wording(self, person: str, *, bots: bool) -> Clue:
        return Clue.TELLS if not bots or self._knows(person) else Clue.DOUBT

    def _is_apart(self, id_: int) -> bool:
        return id_ not in self._gone and (id_ < self._first or id_ not in self._reached)

    def _is_elsewhere(self, id_: int) -> bool:
        return id_ not in self._gone and (id_ < self._first or id_ not in self._near)

    def _knows(self, person: str) -> bool:
        """Has the person got enough other answers to know how the bot talks?"""
        if person not in self._answers:
            theirs = select(message.c.id).where(message.c.person == person, message.c.author == Author.BOT)
            self._answers[person] = list(self._connection.execute(theirs.order_by(message.c.id).limit(KEPT)).scalars())
        return _more(filter(self._is_apart, self._answers[person]), ENOUGH - 1)

    def _found(self, person: str, key: str, words: list[str]) -> list[int] | None:
        """The messages with all these words that the person may find, the newest first; None if it is not known."""
        if (person, key) not in self._having:
            if len(self._having) >= LOOKUPS:
                return None
            if person not in self._numbers:
                self._numbers[person] = people.number_of(self._connection, person)
            number = self._numbers[person]
            ids = [] if number is None else index.having(self._connection, list(dict.fromkeys(words)), number)
            self._having[person, key] = sorted(ids, reverse=True)[:KEPT]
        return self._having[person, key]

    def _any_has(self, ids: list[int], passage: str, least: int) -> bool:
        """Do at least so many of these have the passage?"""
        some = ids[:READ]
        unread = [id_ for id_ in some if (passage, id_) not in self._read]
        for id_, text in rows_in(self._connection, select(message.c.id, message.c.text), message.c.id, unread):
            self._read[passage, id_] = passage in plain_words(text)
        return _more((id_ for id_ in some if self._read.get((passage, id_), False)), least - 1)


def _more(some: Iterable[int], than: int) -> bool:
    return next(islice(some, than, None), None) is not None


def telling_words(text: str) -> dict[str, str]:
    """The words that may tell where a text came from, by their stems."""
    return {stem(word): word for word in index_words(text) if is_telling(word)}
