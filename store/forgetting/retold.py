"""What the bot told again of what falls, in its own words or in others', wherever it told it.

A turn keeps the ids of what stood in its context. How they came there says how sure it is that its reply was made of
them:

    given      a tool brought it (recall), because the model asked for it     the reply falls, whatever its words
    carried    memory put it there unasked: past threads, facts, profile      it falls if it quotes it, or has a rare
                                                                              word of it that its question has not;
                                                                              if not, it may have been made of it
    history    it stood above, in the same conversation                       it falls if it quotes it and answers the
                                                                              same person; with a rare word, it may

Rules
  What only *may* have been made of it is never erased unasked: a preview shows it, and its person decides. So are the
  person's own messages in such turns that have a rare word of it: they may repeat what they were told.
  Of other people's threads only the bot's replies fall, never what those people wrote.
  What such a turn remembered falls as its reply does, unless its own question says as much.
"""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, select

from agent.records import Author
from store import json_columns
from store.forgetting.batches import among
from store.forgetting.chosen import Said, messages
from store.memory import facts, people
from store.search import index
from store.search.stem import stem
from store.search.text import index_words, is_telling, quotes
from store.tables import RUNNING, WAITING, fact, message, profile_entry, profile_source, turn, working_item

CLOCKS: Final = timedelta(days=1)
"""More than a platform's clock and ours ever differ."""
RARE: Final = 3
"""In so many more of a person's messages a word may stand and still tell where it came from."""
LOOKUPS: Final = 100
"""Words whose rarity is looked up for one plan, some milliseconds each. Of those that come then it is not known."""


class _Came(Enum):
    """How something came into a turn's context."""

    GIVEN = auto()
    CARRIED = auto()
    HISTORY = auto()


class _Sure(Enum):
    FALLS = auto()
    MAY = auto()
    NO = auto()


@dataclass(frozen=True, slots=True)
class Told:
    """A turn, and the ids of what stood in its context: messages, those of them that its tools gave it, and facts."""

    turn: int
    conversation: str
    context: frozenset[int]
    given: frozenset[int]
    facts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Falling:
    """What is known to fall so far: messages, and the ids of facts and of entries of the profile."""

    said: Mapping[int, Said]
    facts: frozenset[int]
    entries: frozenset[int]


@dataclass(frozen=True, slots=True)
class Retold:
    """The replies that fall with it, the messages that may have been made of it, and what the turns remembered of it:
    facts, and items of working sets.
    """

    falls: dict[int, Said]
    may: dict[int, Said]
    facts: frozenset[int]
    scratch: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A text that stood in a turn's context. `person`: who had said it, or was answered with it."""

    came: _Came
    text: str
    person: str


def contexts(connection: Connection, since: datetime | None) -> Iterable[Told]:
    """The turns that have said what stood in their contexts, if they ended after that, in the order in which they did:
    none drew on what a later one said.
    """
    columns = (turn.c.id, turn.c.conversation, turn.c.context_messages, turn.c.given_messages, turn.c.context_facts)
    told = select(*columns).where((turn.c.context_messages != "[]") | (turn.c.context_facts != "[]"))
    if since is not None:
        told = told.where(turn.c.ended >= since - CLOCKS)
    for turn_id, conversation, *held in connection.execute(told.order_by(turn.c.ended, turn.c.id)):
        yield Told(turn_id, conversation, *map(json_columns.ids, held))


def running(connection: Connection) -> Iterable[Told]:
    """The turns that are not over, with what they have drawn on so far."""
    begun = select(turn.c.id, turn.c.conversation, turn.c.progress)
    open_ = begun.where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress != "")
    for turn_id, conversation, progress in connection.execute(open_).all():
        yield Told(turn_id, conversation, json_columns.sources(progress), json_columns.given(progress))


class Retellings:
    """Finds what was told again of what falls with one plan. `asker`: whose plan it is, "" if it is nobody's."""

    def __init__(self, connection: Connection, asker: str, since: datetime | None) -> None:
        self._connection = connection
        self._asker = asker
        self._since = since
        self._rarity: dict[tuple[str, str], bool] = {}
        self._numbers: dict[str, int | None] = {}
        self._near: set[int] = set()

    def of(self, fresh: Falling, said: Collection[int]) -> Retold:
        """What was told of what has just been found to fall, beside `said`, which falls anyway."""
        texts, known = self._texts(fresh), self._facts(fresh.facts)
        near, spoken, gone = list[Told](), dict[int, dict[int, Said]](), dict(fresh.said)
        for one in self._contexts():
            if one.context.isdisjoint(texts) and one.facts.isdisjoint(known):
                continue
            near.append(one)
            spoken |= _by_turn(self._connection, [one.turn])
            # What surely falls is followed within this one pass, from each turn to those after it: else a chain of a
            # thousand retellings would read all turns a thousand times, while nobody else may write.
            drawn = _drawn(one, texts, known, gone)
            for id_, spoke in spoken.get(one.turn, {}).items():
                if spoke.author == Author.BOT and id_ not in said and _repeats(spoke.text, spoke.person, drawn):
                    gone[id_] = spoke
                    texts.setdefault(id_, [spoke])
        self._near |= {*said, *(id_ for turns in spoken.values() for id_ in turns)}
        falls, may = dict[int, Said](), dict[int, Said]()
        for one in near:
            there = spoken.get(one.turn, {})
            drawn = _drawn(one, texts, known, gone)
            asked = [spoke.text for spoke in there.values() if spoke.author == Author.PERSON]
            for id_, spoke in there.items():
                if id_ in said:
                    continue
                match self._sure(spoke, drawn, asked):
                    case _Sure.FALLS:
                        falls[id_] = spoke
                    case _Sure.MAY if self._asker:
                        may[id_] = spoke
                    case _:
                        pass
        return Retold(falls, may, *self._remembered(near, fresh.said))

    def remembered(self, said: Mapping[int, Said]) -> tuple[frozenset[int], frozenset[int]]:
        """The facts and the scratch values that turns kept of what stood in their contexts and falls."""
        return self._remembered((one for one in self._contexts() if not one.context.isdisjoint(said)), said)

    def _contexts(self) -> Iterable[Told]:
        """Read anew each time: those of all turns would not fit into memory."""
        return contexts(self._connection, self._since)

    def _remembered(self, told: Iterable[Told], said: Mapping[int, Said]) -> tuple[frozenset[int], frozenset[int]]:
        held = [one for one in (*told, *running(self._connection)) if not one.context.isdisjoint(said)]
        drawn = {
            one.turn: _drawn(one, {id_: [said[id_]] for id_ in one.context & said.keys()}, {}, said) for one in held
        }
        asked = _messages(self._connection, among(message.c.turn, drawn))

        def kept(source: Column[Any], words: ColumnElement[str]) -> frozenset[int]:
            columns = select(source.table.c.id, source, words)
            found = (row for where in among(source, asked) for row in self._connection.execute(columns.where(where)))
            return frozenset(id_ for id_, of, text in found if self._keeps(text, asked[of], drawn[asked[of].turn]))

        facts_ = kept(fact.c.source_message, fact.c.key + " " + fact.c.value)
        return facts_, kept(working_item.c.message, working_item.c.key + " " + working_item.c.value)

    def _keeps(self, kept: str, asked: Said, drawn: list[_Drawn]) -> bool:
        if facts.says_no_more(kept, asked.text):
            return False
        return self._of_reply(kept, asked.person, drawn, [asked.text]) is _Sure.FALLS

    def _sure(self, spoke: Said, drawn: list[_Drawn], asked: list[str]) -> _Sure:
        if spoke.author == Author.BOT:
            return self._of_reply(spoke.text, spoke.person, drawn, asked)
        if spoke.person != self._asker:
            return _Sure.NO
        return _Sure.MAY if self._shares(spoke.text, spoke.person, (one.text for one in drawn), ()) else _Sure.NO

    def _of_reply(self, text: str, person: str, drawn: list[_Drawn], asked: Collection[str]) -> _Sure:
        if _repeats(text, person, drawn):
            return _Sure.FALLS
        carried = [one.text for one in drawn if one.came is _Came.CARRIED]
        above = [one.text for one in drawn if one.came is _Came.HISTORY and one.person == person]
        if carried:
            return _Sure.FALLS if self._shares(text, person, carried, asked) else _Sure.MAY
        return _Sure.MAY if person == self._asker and self._shares(text, person, above, asked) else _Sure.NO

    def _shares(self, text: str, person: str, drawn: Iterable[str], asked: Collection[str]) -> bool:
        """Does the text have a rare word of one of these that was not asked with?"""
        words = _telling(text)
        for one in asked:
            for known in _telling(one):
                words.pop(known, None)
        return any(self._is_rare(person, words[one]) for each in drawn for one in _telling(each) if one in words)

    def _is_rare(self, person: str, word: str) -> bool:
        if (known := self._rarity.get((person, word))) is not None:
            return known
        if len(self._rarity) >= LOOKUPS:
            return False
        if person not in self._numbers:
            self._numbers[person] = people.number_of(self._connection, person)
        number = self._numbers[person]
        found = [] if number is None else index.having(self._connection, [word], number)
        rare = sum(id_ not in self._near for id_ in found) <= RARE
        self._rarity[person, word] = rare
        return rare

    def _texts(self, fresh: Falling) -> dict[int, list[Said]]:
        """By the ids of the messages that led there: what was said, and what the profile has made of it."""
        texts = {id_: [one] for id_, one in fresh.said.items()}
        sources = select(profile_source.c.message, profile_entry.c.key, profile_entry.c.text).join_from(
            profile_source, profile_entry, profile_entry.c.id == profile_source.c.entry
        )
        places = among(profile_source.c.entry, fresh.entries)
        learned = [row for where in places for row in self._connection.execute(sources.where(where)).all()]
        taught = dict(fresh.said) | _messages(self._connection, among(message.c.id, {row.message for row in learned}))
        for source, key, text in learned:
            if source in taught:
                texts.setdefault(source, []).append(replace(taught[source], text=f"{key} {text}"))
        return texts

    def _facts(self, ids: frozenset[int]) -> dict[int, str]:
        columns = select(fact.c.id, fact.c.key, fact.c.value)
        rows = (row for where in among(fact.c.id, ids) for row in self._connection.execute(columns.where(where)))
        return {id_: f"{key} {value}" for id_, key, value in rows}


def _drawn(
    one: Told, texts: Mapping[int, list[Said]], known: Mapping[int, str], fallen: Container[int]
) -> list[_Drawn]:
    """What of this stood in the context of a turn; `fallen`: the messages that fall themselves."""
    drawn = [_Drawn(_Came.CARRIED, known[id_], "") for id_ in one.facts & known.keys()]
    for id_ in one.context & texts.keys():
        for said in texts[id_]:
            above = said.conversation == one.conversation
            came = _Came.GIVEN if id_ in one.given and id_ in fallen else _Came.HISTORY if above else _Came.CARRIED
            drawn.append(_Drawn(came, said.text, said.person))
    return drawn


def _repeats(text: str, person: str, drawn: Iterable[_Drawn]) -> bool:
    """Whether a reply to this person surely tells it again: it was given to it, or is quoted in it."""
    return any(
        one.came is _Came.GIVEN or ((one.came is _Came.CARRIED or one.person == person) and quotes(text, one.text))
        for one in drawn
    )


def _telling(text: str) -> dict[str, str]:
    """The words that may tell where a text came from, by their stems."""
    return {stem(word): word for word in index_words(text) if is_telling(word)}


def _by_turn(connection: Connection, turns: Collection[int]) -> dict[int, dict[int, Said]]:
    found: dict[int, dict[int, Said]] = {}
    for id_, one in _messages(connection, among(message.c.turn, turns)).items():
        found.setdefault(one.turn, {})[id_] = one
    return found


def _messages(connection: Connection, places: Iterable[ColumnElement[bool]]) -> dict[int, Said]:
    return {id_: one for where in places for id_, one in messages(connection, where).items()}
