"""What the bot told again of what falls, in its own words or in others', wherever it told it.

A turn keeps the ids of what stood in its context. How they came there says how sure it is that its reply was made of
them:

    given      a tool brought it (recall), because the model asked for it     the reply falls, whatever its words
    carried    memory put it there unasked: past threads, facts, profile      it falls if a passage or a word that they
                                                                              share tells; if not, it may have been
                                                                              made of it
    history    it stood above, in the same conversation                       it falls if a passage tells, and it
                                                                              answers the same person; with a word
                                                                              that tells, it may

Rules
  What a shared passage or word tells, `Telling` says: a greeting, a closing or a footer that other
  answers have, too, tells nothing, nor does what the question has. What is in doubt, because too little was said to
  know what is common, may have been made of it; where nobody can be asked, and for what was remembered, it falls.
  What only *may* have been made of it is never erased unasked: a preview shows it, and its person decides. So are the
  person's own messages in such turns that have a rare word of it: they may repeat what they were told.
  Of other people's threads only the bot's replies fall, never what those people wrote.
  What such a turn remembered falls as its reply does, unless its own question says as much.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, IntEnum, auto
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, select

from agent.records import Author
from store import rows
from store.forgetting.selection import ForgottenMessage, Watch, messages_in, rows_in, unwatched
from store.memory import fact_store, people
from store.search import index
from store.search.text import PIECE_CHARS, index_words, is_telling, passages, plain_words, stem
from store.tables import RUNNING, WAITING, fact, message, profile_entry, profile_source, turn, working_item

# Whether what two texts share tells that one was made of the other, or is only how people and the bot talk.
#
# Rules
#   A passage is common once it stands in one message that was not made of what falls by any number of turns: it was
#   said before all of that, or no context leads there. A word is common once it stands in more than RARE messages that
#   were said before, or in turns that had none of it in their contexts: there are few messages to which nothing leads.
#   So is what the bot says in many of its answers. A passage of small words and courtesy tells nothing, wherever it is.
#   Only messages are asked that the person who was answered may find: what others were told shows in nobody's preview.
#   Words of people, facts and profiles tell unless they are common. Those of the bot alone (a greeting, a footer) tell
#   only where so many of its other answers are without them (ENOUGH) that they would have shown to be common.

RARE: Final = 3  # In so many more of a person's messages a word may stand and still tell where it came from
ENOUGH: Final = 12  # Of so many answers, one has what every fourth has, but for one case in thirty
# Words and passages that are looked up for one plan, some milliseconds each. What comes then is not known.
LOOKUPS: Final = 200
KEPT: Final = 200  # The newest messages with a word, and the first answers, that are looked at: more would not say more
READ: Final = 50  # Messages that are read to see whether one has a passage: where it is common, the first one has


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
        self._unread = list[str]()
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
        """A person wrote this, or it was kept of what one wrote. It is read when something is judged by it."""
        self._unread.append(text)

    def _wrote_any(self, stems: Iterable[str]) -> bool:
        while self._unread:
            self._theirs.update(telling_words(self._unread.pop()))
        return not self._theirs.isdisjoint(stems)

    def passage(self, person: str, passage: str, *, bots: bool) -> Clue:
        """What it tells that an answer to this person has this passage. `bots`: the bot had worded it."""
        whole = passage.split()[1:-1] if len(passage) == PIECE_CHARS else []  # its ends may be cut words
        words = " ".join(whole) or passage
        telling = telling_words(words)
        if not telling:
            return Clue.NONE
        bots = bots and not self._wrote_any(telling)
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
        bots = bots and not self._wrote_any([stem(word)])
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


TEXTS: Final = 128  # That are taken apart and kept for the next turn, which mostly has the same ones in its context
TURNS: Final = 1_000  # Read at a time
CLOCKS: Final = timedelta(days=1)  # More than a platform's clock and ours ever differ


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
class TurnGrounds:
    """A turn, and the ids of what stood in its context: messages, those of them that its tools gave it, and facts."""

    turn: int
    conversation: str
    context: frozenset[int]
    given: frozenset[int]
    facts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownErasures:
    """What is known to fall so far: messages, and the ids of facts and of entries of the profile."""

    said: Mapping[int, ForgottenMessage]
    facts: frozenset[int]
    entries: frozenset[int]


@dataclass(frozen=True, slots=True)
class Retold:
    """The replies that fall with it, the messages that may have been made of it, and what the turns remembered of it:
    facts, and items of working sets.
    """

    falls: dict[int, ForgottenMessage]
    may: dict[int, ForgottenMessage]
    facts: frozenset[int]
    scratch: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A text that stood in a turn's context. `person`: who had said it, or was answered with it; `bots`: by the bot, in
    its own words.
    """

    came: _Came
    text: str
    person: str
    bots: bool


@dataclass(frozen=True, slots=True)
class _Fallen:
    """What is known to fall: texts, by the ids of the messages that led there, facts, and messages."""

    texts: dict[int, list[ForgottenMessage]]
    facts: dict[int, tuple[str, str]]
    said: dict[int, ForgottenMessage]

    def stood_in(self, one: TurnGrounds) -> bool:
        return not (one.context.isdisjoint(self.texts) and one.facts.isdisjoint(self.facts))

    def drawn(self, one: TurnGrounds, *, keys: bool = True) -> list[_Drawn]:
        """What of it stood in the context of a turn; of facts the values alone if not their `keys`: what is remembered
        of different things has keys alike.
        """
        known = [self.facts[id_] for id_ in sorted(one.facts & self.facts.keys())]
        drawn = [_Drawn(_Came.CARRIED, f"{key} {value}" if keys else value, "", bots=False) for key, value in known]
        for id_ in sorted(one.context & self.texts.keys()):
            for said in self.texts[id_]:
                above = said.conversation == one.conversation
                came = (
                    _Came.GIVEN if id_ in one.given and id_ in self.said else _Came.HISTORY if above else _Came.CARRIED
                )
                drawn.append(_Drawn(came, said.text, said.person, bots=said.author == Author.BOT))
        return drawn


def contexts(connection: Connection, since: datetime | None) -> Iterable[TurnGrounds]:
    """The turns that have said what stood in their contexts, if they ended after that, in the order in which they did:
    none drew on what a later one said.
    """
    columns = (turn.c.id, turn.c.conversation, turn.c.context_messages, turn.c.given_messages, turn.c.context_facts)
    told = select(*columns).where((turn.c.context_messages != "[]") | (turn.c.context_facts != "[]"))
    if since is not None:
        told = told.where(turn.c.ended >= since - CLOCKS)
    for turn_id, conversation, *held in connection.execute(told.order_by(turn.c.ended, turn.c.id)):
        yield TurnGrounds(turn_id, conversation, *map(rows.read_ids, held))


def running(connection: Connection) -> Iterable[TurnGrounds]:
    """The turns that are not over, with what they have drawn on so far."""
    begun = select(turn.c.id, turn.c.conversation, turn.c.progress)
    open_ = begun.where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress != "")
    for turn_id, conversation, progress in connection.execute(open_).all():
        yield TurnGrounds(turn_id, conversation, rows.progress_sources(progress), rows.progress_given(progress))


class Retellings:
    """Finds what was told again of what falls with one plan. `asker`: whose plan it is, "" if it is nobody's. `first`:
    messages with a lower id were said before anything that falls.
    """

    def __init__(
        self, connection: Connection, asker: str, since: datetime | None, first: int, watch: Watch = unwatched
    ) -> None:
        self._connection = connection
        self._watch = watch
        self._asker = asker
        self._since = since
        self._telling = Telling(connection, first)
        self._plain = lru_cache(TEXTS)(plain_words)
        self._words_of = lru_cache(TEXTS)(telling_words)
        self._reached = set[int]()
        self._reached_facts = set[int]()
        self._led_to = list[TurnGrounds]()

    def of(self, fresh: KnownErasures, said: Collection[int], *, loosely: bool = False) -> Retold:
        """What was told of what has just been found to fall, beside `said`, which falls anyway.

        `loosely`: a reply to which something was carried falls, whatever its words; so nearly all is near, and counts
        as elsewhere.
        """
        fallen = _Fallen(self._texts(fresh), self._facts(fresh.facts), dict(fresh.said))
        self._follow(fallen.texts.keys(), fresh.facts)
        self._telling.falls(frozenset(said), self._reached)
        near, spoken = list[TurnGrounds](), dict[int, dict[int, ForgottenMessage]]()
        for one in self._led_to:
            if not fallen.stood_in(one):
                continue
            near.append(one)
            self._watch(len(said))
            there = spoken[one.turn] = messages_in(self._connection, message.c.turn, [one.turn])
            # What surely falls is followed at once, from each turn to those after it.
            drawn = fallen.drawn(one)
            for id_, spoke in there.items():
                if spoke.author != Author.BOT or id_ in said:
                    continue
                led = loosely and any(one.came is not _Came.HISTORY for one in drawn)
                if led or self._sure(spoke, drawn, there) is _Sure.FALLS:
                    fallen.said[id_] = spoke
                    fallen.texts.setdefault(id_, [spoke])
            kept = self._facts_kept(dict.fromkeys(there, one), there, fallen) - fallen.facts.keys()
            fallen.facts.update(self._facts(kept))
        if not loosely:
            self._telling.near(id_ for there in spoken.values() for id_ in there)
        falls, may = dict[int, ForgottenMessage](), dict[int, ForgottenMessage]()
        for one in near:
            there, drawn = spoken[one.turn], fallen.drawn(one)
            for id_, spoke in there.items():
                if id_ in said:
                    continue
                match _Sure.FALLS if id_ in fallen.said else self._sure(spoke, drawn, there):
                    case _Sure.FALLS:
                        falls[id_] = spoke
                    case _Sure.MAY if self._asker:
                        may[id_] = spoke
                    case _:
                        pass
        return Retold(falls, may, *self._remembered(near, fallen))

    def remembered(self, said: Mapping[int, ForgottenMessage]) -> tuple[frozenset[int], frozenset[int]]:
        """The facts and the scratch values that turns kept of what stood in their contexts and falls."""
        self._follow(said.keys(), ())
        self._telling.falls(frozenset(said), self._reached)
        for one in said.values():
            self._learn_wording(one)
        fallen = _Fallen({id_: [one] for id_, one in said.items()}, {}, dict(said))
        return self._remembered(filter(fallen.stood_in, self._led_to), fallen)

    def _follow(self, said: Collection[int], facts_: Collection[int]) -> None:
        """Find the turns to which contexts lead from these, by any number of turns: all turns are read once, whatever
        is made of it, while nobody else may write. Those of all would not fit into memory.
        """
        if self._reached.issuperset(said) and self._reached_facts.issuperset(facts_):
            return
        self._reached.update(said)
        self._reached_facts.update(facts_)
        self._led_to.clear()
        told = iter(contexts(self._connection, self._since))
        while some := list(islice(told, TURNS)):
            self._watch(len(said))
            spoken, kept = self._left_by(some)
            for one in some:
                if one.context.isdisjoint(self._reached) and one.facts.isdisjoint(self._reached_facts):
                    continue
                here, known = one.context & self._reached, one.facts & self._reached_facts
                self._led_to.append(replace(one, context=here, given=one.given & here, facts=known))
                self._reached.update(spoken.get(one.turn, ()))
                self._reached_facts.update(kept.get(one.turn, ()))

    def _left_by(self, some: Iterable[TurnGrounds]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        spoken, kept = dict[int, list[int]](), dict[int, list[int]]()
        turns = [one.turn for one in some]
        of = select(message.c.turn, fact.c.id).join_from(fact, message, message.c.id == fact.c.source_message)
        for columns, by_turn in ((select(message.c.turn, message.c.id), spoken), (of, kept)):
            for turn_id, id_ in rows_in(self._connection, columns, message.c.turn, turns):
                by_turn.setdefault(turn_id, []).append(id_)
        return spoken, kept

    def _remembered(self, near: Iterable[TurnGrounds], fallen: _Fallen) -> tuple[frozenset[int], frozenset[int]]:
        held = {one.turn: one for one in (*near, *filter(fallen.stood_in, running(self._connection)))}
        asked = messages_in(self._connection, message.c.turn, held)
        told = {id_: held[one.turn] for id_, one in asked.items()}
        scratch = working_item.c.key + " " + working_item.c.value
        return (self._facts_kept(told, asked, fallen), self._kept(working_item.c.message, scratch, told, asked, fallen))

    def _facts_kept(
        self, told: Mapping[int, TurnGrounds], asked: Mapping[int, ForgottenMessage], fallen: _Fallen
    ) -> frozenset[int]:
        words = fact.c.key + " " + fact.c.value
        return self._kept(fact.c.source_message, words, told, asked, fallen)

    def _kept(
        self,
        source: Column[Any],
        words: ColumnElement[str],
        told: Mapping[int, TurnGrounds],
        asked: Mapping[int, ForgottenMessage],
        fallen: _Fallen,
    ) -> frozenset[int]:
        """What these turns remembered of what falls, if it says more than their questions; both by the ids of these."""
        columns = select(source.table.c.id, source, words)
        found = list(rows_in(self._connection, columns, source, told.keys()))
        kept = set[int]()
        for id_, of, text in found:
            question = asked[of]
            if not fact_store.is_covered_by(text, question.text):
                drawn = fallen.drawn(told[of], keys=False)
                if self._of_reply(text, question.person, drawn, [question.text], _Sure.FALLS) is _Sure.FALLS:
                    kept.add(id_)
        return frozenset(kept)

    def _sure(self, spoke: ForgottenMessage, drawn: list[_Drawn], there: Mapping[int, ForgottenMessage]) -> _Sure:
        if spoke.author == Author.BOT:
            return self._of_reply(spoke.text, spoke.person, drawn, _asked(there), self._doubt)
        if spoke.person != self._asker:
            return _Sure.NO
        return _Sure.MAY if self._words(spoke.text, spoke.person, drawn, ()) is not Clue.NONE else _Sure.NO

    @property
    def _doubt(self) -> _Sure:
        """What becomes of a reply of which it is in doubt whether it quotes what falls."""
        return _Sure.MAY if self._asker else _Sure.FALLS

    def _of_reply(self, text: str, person: str, drawn: list[_Drawn], asked: Collection[str], doubt: _Sure) -> _Sure:
        if any(one.came is _Came.GIVEN for one in drawn):
            return _Sure.FALLS
        carried = [one for one in drawn if one.came is _Came.CARRIED]
        above = [one for one in drawn if one.came is _Came.HISTORY and one.person == person]
        by_clue = {Clue.TELLS: _Sure.FALLS, Clue.DOUBT: doubt}
        found = by_clue.get(self._passages(text, person, [*carried, *above], asked))
        if found is _Sure.FALLS:
            return found
        if carried:
            return by_clue.get(self._words(text, person, carried, asked), _Sure.MAY)
        if found is None and person == self._asker:
            found = _Sure.MAY if self._words(text, person, above, asked) is not Clue.NONE else None
        return found or _Sure.NO

    def _passages(self, text: str, person: str, drawn: Iterable[_Drawn], asked: Collection[str]) -> Clue:
        """What it tells which passages of these the text has, beside those that were asked with."""
        best, questions = Clue.NONE, [self._plain(one) for one in asked]
        for one in drawn:
            for piece in passages(self._plain(text), self._plain(one.text)):
                if not any(piece in question for question in questions):
                    best = max(best, self._telling.passage(person, piece, bots=one.bots))
                if best is Clue.TELLS:
                    return best
        return best

    def _words(self, text: str, person: str, drawn: Iterable[_Drawn], asked: Collection[str]) -> Clue:
        """The same for single words."""
        words, best = dict(self._words_of(text)), Clue.NONE
        for one in asked:
            for known in self._words_of(one):
                words.pop(known, None)
        for one in drawn:
            for shared in filter(words.__contains__, self._words_of(one.text)):
                best = max(best, self._telling.word(person, words[shared], bots=one.bots))
                if best is Clue.TELLS:
                    return best
        return best

    def _learn_wording(self, one: ForgottenMessage) -> None:
        if one.author == Author.PERSON:
            self._telling.written(one.text)

    def _texts(self, fresh: KnownErasures) -> dict[int, list[ForgottenMessage]]:
        """By the ids of the messages that led there: what was said, and what the profile has made of it."""
        texts = {id_: [one] for id_, one in fresh.said.items()}
        sources = select(profile_source.c.message, profile_entry.c.key, profile_entry.c.text).join_from(
            profile_source, profile_entry, profile_entry.c.id == profile_source.c.entry
        )
        learned = list(rows_in(self._connection, sources, profile_source.c.entry, fresh.entries))
        taught = dict(fresh.said) | messages_in(self._connection, message.c.id, {row.message for row in learned})
        for source, key, text in learned:
            if source in taught:
                entry = taught[source]._replace(text=f"{key} {text}", author=Author.PERSON)
                texts.setdefault(source, []).append(entry)
        for one in (each for some in texts.values() for each in some):
            self._learn_wording(one)
        return texts

    def _facts(self, ids: Collection[int]) -> dict[int, tuple[str, str]]:
        columns = select(fact.c.id, fact.c.key, fact.c.value)
        known = {id_: (key, value) for id_, key, value in rows_in(self._connection, columns, fact.c.id, ids)}
        for key, value in known.values():
            self._telling.written(f"{key} {value}")
        return known


def _asked(there: Mapping[int, ForgottenMessage]) -> list[str]:
    return [one.text for one in there.values() if one.author == Author.PERSON]
