"""Replies that repeat erased messages, in the same or in other words, in whatever conversation.

A turn stores the ids of the messages and facts in its context. How they came there decides how certain it is that its
reply was drawn from them:

    given      a tool returned it (recall), because the model asked for it    the reply is erased, whatever its words
    carried    memory added it unasked: past threads, facts, profile          the reply is erased if they share a
                                                                              telling passage or word; otherwise it is
                                                                              related
    history    it was earlier in the same conversation                        the reply is erased if they share a
                                                                              telling passage and it answers the same
                                                                              person; with telling words it is related

Rules
  `Telling` decides whether a shared passage or word proves anything. A greeting, a closing or a footer that other
  replies have as well proves nothing, nor do words of the reply's own question. In doubt, because there are too few
  messages to know what is common, the reply is related; if there is no person to ask, and for facts and scratch values,
  it is erased.
  Related messages may repeat erased ones. They are never erased without being asked for: a preview shows them, and the
  person decides. The person's own messages in such turns that share a rare word are related as well: they may repeat a
  reply.
  In other people's threads only the bot's replies are erased, never what those people wrote.
  Facts and schedules that such a turn made are erased like its reply, unless its own question says the same.
  A reply to another person in the same conversation that shares a telling passage or word is related.
  So is the next reply to the same person below an erased reply, whatever its words, if it had that in its history.
  Those further below are not, or one message would list every later answer of a long thread.
  In the same conversation one common word is shared by chance: only two words, or one that tells by itself (a name, a
  number, a long word), say that a text may repeat an erased one.
  What may repeat a message that only may repeat an erased one is not related: by such steps a thread about a boat leads
  to the capital of Peru. What was drawn from a related message for certain is listed with it.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, IntEnum, auto
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Final

from sqlalchemy import Column, Connection, Select, select

from agent.stored_messages import Author
from store.channels import asked_for_schedule
from store.forgetting.everyday import is_everyday, names_in
from store.forgetting.selection import ForgottenMessage, Watch, messages_in, rows_in, unwatched
from store.json_columns import NamedInProgress, read_ids
from store.memory import fact_store, participants
from store.memory_tables import fact, profile_entry, profile_source
from store.message_tables import message
from store.schedule_table import schedule
from store.search import index
from store.search.text import PIECE_CHARS, index_words, is_telling, passages, plain_words, stem
from store.turn_tables import RUNNING, WAITING, turn
from store.working_sets import working_item

# Whether words that two texts share prove that one was drawn from the other, or are only common phrases.
#
# Rules
#   A passage is common if one message has it that was not drawn from erased messages through any number of turns: it
#   was written before all of them, or no context leads to it. A word is common if more than RARE messages have it that
#   were written before, or in turns without any erased message in their contexts (few messages have no context leading
#   to them). So is a phrase that the bot uses in many of its replies. A passage of stop words and courtesy proves
#   nothing. Only messages that the answered person may find are checked, so that no preview shows what others were
#   told. Words of people, facts and profiles are telling unless they are common. Words of the bot alone (a greeting, a
#   footer) are telling only if there are enough of its other replies without them (ENOUGH) to show that they are not
#   common.

RARE: Final = 3  # A word in up to this many more of a person's messages still tells where it came from
ENOUGH: Final = 12  # Of this many replies, one has a phrase that every fourth reply has, except in one case in thirty
# Words and passages that are looked up for one plan, some milliseconds each; further ones are not looked up.
LOOKUPS: Final = 200
KEPT: Final = 200  # The newest messages with a word, and the first replies, that are checked: more change nothing
READ: Final = 50  # Messages that are read for a passage: if it is common, the first one has it


class Clue(IntEnum):
    NONE = 0
    DOUBT = 1
    CERTAIN = 2


class Telling:
    """Judges shared words for one plan. `first`: messages with a lower id are older than all erased ones."""

    def __init__(self, connection: Connection, first: int) -> None:
        self._connection = connection
        self._first = first
        self._erased = frozenset[int]()
        self._reached: AbstractSet[int] = frozenset()
        self._near = set[int]()
        self._people_words = set[str]()
        self._unread = list[str]()
        self._found_by_words: dict[tuple[str, str], list[int] | None] = {}
        self._read: dict[tuple[str, int], bool] = {}
        self._answers: dict[str, list[int]] = {}
        self._numbers: dict[str, int | None] = {}

    def set_erased(self, messages: frozenset[int], reached: AbstractSet[int]) -> None:
        """`messages` are erased; `reached`: those that may be drawn from them through any number of turns."""
        self._erased, self._reached = messages, reached

    def add_near(self, messages: Iterable[int]) -> None:
        """Add messages of turns that had erased messages in their contexts."""
        self._near.update(messages)

    def add_written(self, text: str) -> None:
        """Add a text that a person wrote, or a fact or entry from one. It is split into words only when needed."""
        self._unread.append(text)

    def _wrote_any(self, stems: Iterable[str]) -> bool:
        while self._unread:
            self._people_words.update(telling_words(self._unread.pop()))
        return not self._people_words.isdisjoint(stems)

    def passage(self, person: str, passage: str, *, bots: bool) -> Clue:
        """What it proves that a reply to this person has this passage. `bots`: the bot worded it."""
        whole = passage.split()[1:-1] if len(passage) == PIECE_CHARS else []  # the first and last may be cut words
        words = " ".join(whole) or passage
        telling = telling_words(words)
        if not telling:
            return Clue.NONE
        bots = bots and not self._wrote_any(telling)
        found = self._find(person, passage, index_words(words))
        if found is None:
            return Clue.DOUBT
        if self._have_passage([id_ for id_ in found if self._is_independent(id_)], passage, 1):
            return Clue.NONE
        if bots and self._have_passage([id_ for id_ in found if id_ not in self._erased], passage, RARE + 2):
            return Clue.NONE
        return self._of_wording(person, bots=bots)

    def word(self, person: str, word: str, *, bots: bool) -> Clue:
        """Return how surely a single word of a reply comes from what was erased."""
        bots = bots and not self._wrote_any([stem(word)])
        found = self._find(person, word, [word])
        if found is None or _has_more(filter(self._is_outside_contexts, found), RARE):
            return Clue.NONE
        if bots and _has_more((id_ for id_ in found if id_ not in self._erased), RARE + 1):
            return Clue.NONE
        return self._of_wording(person, bots=bots)

    def _of_wording(self, person: str, *, bots: bool) -> Clue:
        return Clue.CERTAIN if not bots or self._has_enough_replies(person) else Clue.DOUBT

    def _is_independent(self, id_: int) -> bool:
        return id_ not in self._erased and (id_ < self._first or id_ not in self._reached)

    def _is_outside_contexts(self, id_: int) -> bool:
        return id_ not in self._erased and (id_ < self._first or id_ not in self._near)

    def _has_enough_replies(self, person: str) -> bool:
        """Whether the person has enough other replies to know the bot's common phrases."""
        if person not in self._answers:
            replies = select(message.c.id).where(message.c.person == person, message.c.author == Author.BOT)
            self._answers[person] = list(self._connection.execute(replies.order_by(message.c.id).limit(KEPT)).scalars())
        return _has_more(filter(self._is_independent, self._answers[person]), ENOUGH - 1)

    def _find(self, person: str, key: str, words: list[str]) -> list[int] | None:
        """The messages with all these words that the person may find, the newest first; None after LOOKUPS lookups."""
        if (person, key) not in self._found_by_words:
            if len(self._found_by_words) >= LOOKUPS:
                return None
            if person not in self._numbers:
                self._numbers[person] = participants.number_of(self._connection, person)
            number = self._numbers[person]
            ids = [] if number is None else index.having(self._connection, list(dict.fromkeys(words)), number)
            self._found_by_words[person, key] = sorted(ids, reverse=True)[:KEPT]
        return self._found_by_words[person, key]

    def _have_passage(self, ids: list[int], passage: str, least: int) -> bool:
        """Whether at least `least` of these messages have the passage."""
        checked = ids[:READ]
        unread = [id_ for id_ in checked if (passage, id_) not in self._read]
        for id_, text in rows_in(self._connection, select(message.c.id, message.c.text), message.c.id, unread):
            self._read[passage, id_] = passage in plain_words(text)
        return _has_more((id_ for id_ in checked if self._read.get((passage, id_), False)), least - 1)


def _has_more(items: Iterable[int], than: int) -> bool:
    return next(islice(items, than, None), None) is not None


def telling_words(text: str) -> dict[str, str]:
    """The words of a text that may tell where it came from, by their stems."""
    return {stem(word): word for word in index_words(text) if is_telling(word)}


def words_that_tell(text: str) -> frozenset[str]:
    """The stems of its telling words, without those of everyday talk."""
    return frozenset(known for known, word in telling_words(text).items() if not is_everyday(word))


TOGETHER: Final = 2  # Words that a text shares with one that stood above it, for more than a coincidence
TEXTS: Final = 128  # Texts whose words are cached for the next turn, which mostly has the same ones in its context
TURNS: Final = 1_000  # Read at a time
CLOCKS: Final = timedelta(days=1)  # More than a platform's clock and ours ever differ


class _Origin(Enum):
    """How a text came into a turn's context."""

    GIVEN = auto()
    CARRIED = auto()
    HISTORY = auto()


class _Verdict(Enum):
    ERASED = auto()
    RELATED = auto()
    UNRELATED = auto()


@dataclass(frozen=True, slots=True)
class TurnGrounds:
    """A turn, and the ids in its context: messages, those of them that its tools returned (`given`), and facts."""

    turn: int
    conversation: str
    context: frozenset[int]
    given: frozenset[int]
    facts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownErasures:
    """What is known to be erased so far: messages, and the ids of facts and of profile entries."""

    messages: Mapping[int, ForgottenMessage]
    facts: frozenset[int]
    entries: frozenset[int]


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Replies that are erased with it (`erased`), messages that may repeat it (`related`), and the facts, items of
    working sets and schedules that turns have drawn from it.
    """

    erased: dict[int, ForgottenMessage]
    related: dict[int, ForgottenMessage]
    facts: frozenset[int]
    scratch: frozenset[int]
    schedules: frozenset[int]


NOTHING_REPEATED: Final = Repetitions({}, {}, frozenset(), frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A text in a turn's context. `person`: its writer, or its asker if it is a reply; `bots`: the bot worded it."""

    origin: _Origin
    text: str
    person: str
    bots: bool


@dataclass(frozen=True, slots=True)
class _ErasedTexts:
    """What is known to be erased: texts, by the ids of their messages or of their sources, facts, and messages."""

    texts: dict[int, list[ForgottenMessage]]
    facts: dict[int, tuple[str, str]]
    messages: dict[int, ForgottenMessage]

    def is_in_context_of(self, grounds: TurnGrounds) -> bool:
        return not (grounds.context.isdisjoint(self.texts) and grounds.facts.isdisjoint(self.facts))

    def drawn(self, grounds: TurnGrounds, *, keys: bool = True) -> list[_Drawn]:
        """The erased texts in a turn's context. Without `keys` only the facts' values: keys are often alike."""
        known = [self.facts[id_] for id_ in sorted(grounds.facts & self.facts.keys())]
        drawn = [_Drawn(_Origin.CARRIED, f"{key} {value}" if keys else value, "", bots=False) for key, value in known]
        for id_ in sorted(grounds.context & self.texts.keys()):
            for item in self.texts[id_]:
                same_conversation = item.conversation == grounds.conversation
                origin = _Origin.HISTORY if same_conversation else _Origin.CARRIED
                origin = _Origin.GIVEN if id_ in grounds.given and id_ in self.messages else origin
                drawn.append(_Drawn(origin, item.text, item.person, bots=item.author == Author.BOT))
        return drawn


def contexts(connection: Connection, since: datetime | None) -> Iterable[TurnGrounds]:
    """The turns that ended after `since`, with their contexts, in order of their end: none draws on a later one."""
    columns = (turn.c.id, turn.c.conversation, turn.c.context_messages, turn.c.given_messages, turn.c.context_facts)
    query = select(*columns).where((turn.c.context_messages != "[]") | (turn.c.context_facts != "[]"))
    if since is not None:
        query = query.where(turn.c.ended >= since - CLOCKS)
    for turn_id, conversation, *held in connection.execute(query.order_by(turn.c.ended, turn.c.id)):
        yield TurnGrounds(turn_id, conversation, *map(read_ids, held))


def running(connection: Connection) -> Iterable[TurnGrounds]:
    """The open turns, with the ids in their progress so far."""
    begun = select(turn.c.id, turn.c.conversation, turn.c.progress)
    open_ = begun.where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress != "")
    for turn_id, conversation, progress in connection.execute(open_).all():
        named = NamedInProgress.read(progress)
        yield TurnGrounds(turn_id, conversation, named.sources, named.given)


class RepetitionFinder:
    """Finds what repeats the erased messages of one plan. `asker`: the person whose plan it is, "" if it is no
    person's. `first`: messages with a lower id are older than all erased ones.
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
        self._names_in = lru_cache(TEXTS)(names_in)
        self._reached = set[int]()
        self._reached_facts = set[int]()
        self._reached_turns = list[TurnGrounds]()

    def of(self, fresh: KnownErasures, messages: Collection[int], *, loosely: bool = False) -> Repetitions:
        """What repeats the newly found `fresh`, besides `messages`, which are erased anyway.

        `loosely`: a reply to which memory carried an erased text is erased, whatever its words. Then nearly all
        messages are near, so none is marked as near.
        """
        erased = _ErasedTexts(self._texts(fresh), self._facts(fresh.facts), dict(fresh.messages))
        self._follow(erased.texts.keys(), fresh.facts)
        self._telling.set_erased(frozenset(messages), self._reached)
        affected, by_turn = list[TurnGrounds](), dict[int, dict[int, ForgottenMessage]]()
        for grounds in self._reached_turns:
            if not erased.is_in_context_of(grounds):
                continue
            affected.append(grounds)
            self._watch(len(messages))
            turn_messages = by_turn[grounds.turn] = messages_in(self._connection, message.c.turn, [grounds.turn])
            # A reply that is erased is followed at once, from each turn to later ones.
            drawn = erased.drawn(grounds)
            for id_, item in turn_messages.items():
                if item.author != Author.BOT or id_ in messages:
                    continue
                carried = loosely and any(text.origin is not _Origin.HISTORY for text in drawn)
                if carried or self._judge(item, drawn, turn_messages) is _Verdict.ERASED:
                    erased.messages[id_] = item
                    erased.texts.setdefault(id_, [item])
            drawn_facts = self._drawn_facts(dict.fromkeys(turn_messages, grounds), turn_messages, erased)
            erased.facts.update(self._facts(drawn_facts - erased.facts.keys()))
        if not loosely:
            self._telling.add_near(id_ for turn_messages in by_turn.values() for id_ in turn_messages)
        repeated, related = dict[int, ForgottenMessage](), dict[int, ForgottenMessage]()
        for grounds in affected:
            turn_messages, drawn = by_turn[grounds.turn], erased.drawn(grounds)
            for id_, item in turn_messages.items():
                if id_ in messages:
                    continue
                match _Verdict.ERASED if id_ in erased.messages else self._judge(item, drawn, turn_messages):
                    case _Verdict.ERASED:
                        repeated[id_] = item
                    case _Verdict.RELATED if self._asker:
                        related[id_] = item
                    case _:
                        pass
        return Repetitions(repeated, related, *self._remembered(affected, erased))

    def below(self, messages: Mapping[int, ForgottenMessage]) -> Repetitions:
        """The next replies below those of these messages, to the same people, that had them in their histories."""
        related = dict[int, ForgottenMessage]()
        if self._asker:
            above = self._replies_above(messages)
            contexts_of = rows_in(self._connection, select(turn.c.id, turn.c.context_messages), turn.c.id, above)
            drawn = {turn_id for turn_id, held in contexts_of if not above[turn_id].isdisjoint(read_ids(held))}
            found = messages_in(self._connection, message.c.turn, drawn, message.c.author == Author.BOT)
            related = {id_: item for id_, item in found.items() if id_ not in messages}
        return replace(NOTHING_REPEATED, related=related)

    def _replies_above(self, messages: Mapping[int, ForgottenMessage]) -> dict[int, set[int]]:
        """Those of these messages that are replies, by the turns that replied next, to the same people."""
        replied_in = {item.conversation for item in messages.values() if item.author == Author.BOT}
        replies = select(message.c.conversation, message.c.person, message.c.turn, message.c.id)
        ordered = replies.where(message.c.author == Author.BOT).order_by(message.c.id)
        threads: dict[tuple[str, str], dict[int, set[int]]] = {}
        for conversation, person, turn_id, id_ in rows_in(
            self._connection, ordered, message.c.conversation, replied_in
        ):
            threads.setdefault((conversation, person), {}).setdefault(turn_id, set()).add(id_)
        pairs = (pair for replies_by_turn in threads.values() for pair in pairwise(replies_by_turn.items()))
        return {after: erased for (_, above), (after, _) in pairs if (erased := above & messages.keys())}

    def remembered(self, messages: Mapping[int, ForgottenMessage]) -> tuple[frozenset[int], frozenset[int]]:
        """The facts and the scratch values that turns have drawn from these messages in their contexts."""
        self._follow(messages.keys(), ())
        self._telling.set_erased(frozenset(messages), self._reached)
        for item in messages.values():
            self._add_wording(item)
        erased = _ErasedTexts({id_: [item] for id_, item in messages.items()}, {}, dict(messages))
        return self._remembered(filter(erased.is_in_context_of, self._reached_turns), erased)[:2]

    def _follow(self, messages: Collection[int], facts: Collection[int]) -> None:
        """Find the turns that may be drawn from these through any number of turns. All turns are read once, in batches,
        because they do not fit into memory together; no other writer may run meanwhile.
        """
        if self._reached.issuperset(messages) and self._reached_facts.issuperset(facts):
            return
        self._reached.update(messages)
        self._reached_facts.update(facts)
        self._reached_turns.clear()
        all_grounds = iter(contexts(self._connection, self._since))
        while batch := list(islice(all_grounds, TURNS)):
            self._watch(len(messages))
            messages_by_turn, facts_by_turn = self._rows_of(batch)
            for grounds in batch:
                if grounds.context.isdisjoint(self._reached) and grounds.facts.isdisjoint(self._reached_facts):
                    continue
                context, known = grounds.context & self._reached, grounds.facts & self._reached_facts
                self._reached_turns.append(
                    replace(grounds, context=context, given=grounds.given & context, facts=known)
                )
                self._reached.update(messages_by_turn.get(grounds.turn, ()))
                self._reached_facts.update(facts_by_turn.get(grounds.turn, ()))

    def _rows_of(self, batch: Iterable[TurnGrounds]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        messages_by_turn, facts_by_turn = dict[int, list[int]](), dict[int, list[int]]()
        turns = [grounds.turn for grounds in batch]
        fact_columns = select(message.c.turn, fact.c.id).join_from(fact, message, message.c.id == fact.c.source_message)
        message_columns = select(message.c.turn, message.c.id)
        for columns, by_turn in ((message_columns, messages_by_turn), (fact_columns, facts_by_turn)):
            for turn_id, id_ in rows_in(self._connection, columns, message.c.turn, turns):
                by_turn.setdefault(turn_id, []).append(id_)
        return messages_by_turn, facts_by_turn

    def _remembered(
        self, affected: Iterable[TurnGrounds], erased: _ErasedTexts
    ) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        by_turn = {item.turn: item for item in (*affected, *filter(erased.is_in_context_of, running(self._connection)))}
        messages = messages_in(self._connection, message.c.turn, by_turn)
        by_message = {id_: by_turn[item.turn] for id_, item in messages.items()}
        scratch = select(working_item.c.id, working_item.c.message, working_item.c.key + " " + working_item.c.value)
        asked_for = select(schedule.c.id, message.c.id, schedule.c.words).join_from(
            schedule, message, asked_for_schedule(message)
        )
        return (
            self._drawn_facts(by_message, messages, erased),
            self._drawn_rows(scratch, working_item.c.message, by_message, messages, erased),
            self._drawn_rows(asked_for, message.c.id, by_message, messages, erased),
        )

    def _drawn_facts(
        self, by_message: Mapping[int, TurnGrounds], messages: Mapping[int, ForgottenMessage], erased: _ErasedTexts
    ) -> frozenset[int]:
        facts = select(fact.c.id, fact.c.source_message, fact.c.key + " " + fact.c.value)
        return self._drawn_rows(facts, fact.c.source_message, by_message, messages, erased)

    def _drawn_rows(
        self,
        columns: Select[Any, Any, str],
        source: Column[Any],
        by_message: Mapping[int, TurnGrounds],
        messages: Mapping[int, ForgottenMessage],
        erased: _ErasedTexts,
    ) -> frozenset[int]:
        """The ids of rows that these turns have drawn from erased texts and that say more than their questions.
        `columns`: the row's id, its question's and its text; `by_message` and `messages`: the turns and the questions,
        by the ids of the questions (`source`).
        """
        found = list(rows_in(self._connection, columns, source, by_message.keys()))
        ids = set[int]()
        for id_, message_id, text in found:
            question = messages[message_id]
            if not fact_store.is_covered_by(text, question.text):
                drawn = erased.drawn(by_message[message_id], keys=False)
                if self._judge_reply(text, question.person, drawn, [question.text], _Verdict.ERASED) is _Verdict.ERASED:
                    ids.add(id_)
        return frozenset(ids)

    def _judge(
        self, item: ForgottenMessage, drawn: list[_Drawn], turn_messages: Mapping[int, ForgottenMessage]
    ) -> _Verdict:
        if item.author == Author.BOT:
            return self._judge_reply(item.text, item.person, drawn, _asked(turn_messages), self._verdict_in_doubt)
        if item.person != self._asker:
            return _Verdict.UNRELATED
        return _Verdict.RELATED if self._may_repeat(item.text, item.person, drawn, ()) else _Verdict.UNRELATED

    @property
    def _verdict_in_doubt(self) -> _Verdict:
        """The verdict on a reply of which it is in doubt whether it repeats erased text."""
        return _Verdict.RELATED if self._asker else _Verdict.ERASED

    def _judge_reply(
        self, text: str, person: str, drawn: list[_Drawn], asked: Collection[str], doubt: _Verdict
    ) -> _Verdict:
        # From the surest sign to the weakest: what the bot was given it has used, what it has only seen must show in
        # the words.
        if any(item.origin is _Origin.GIVEN for item in drawn):
            return _Verdict.ERASED
        carried = [item for item in drawn if item.origin is _Origin.CARRIED]
        in_history = [item for item in drawn if item.origin is _Origin.HISTORY]
        history = [item for item in in_history if item.person == person]
        by_clue = {Clue.CERTAIN: _Verdict.ERASED, Clue.DOUBT: doubt}
        found = by_clue.get(self._passages(text, person, [*carried, *history], asked))
        if found is _Verdict.ERASED:
            return found
        if carried:
            return by_clue.get(self._words(text, person, carried, asked), _Verdict.RELATED)
        if found is None and person == self._asker:
            found = _Verdict.RELATED if self._may_repeat(text, person, history, asked) else None
        if found is None and self._asker and person != self._asker:
            says_again = self._passages(text, person, in_history, asked) is not Clue.NONE
            says_again = says_again or self._may_repeat(text, person, in_history, asked)
            found = _Verdict.RELATED if says_again else None
        return found or _Verdict.UNRELATED

    def _passages(self, text: str, person: str, drawn: Iterable[_Drawn], asked: Collection[str]) -> Clue:
        """What the passages prove that the text shares with these, without those of the questions."""
        best, questions = Clue.NONE, [self._plain(item) for item in asked]
        for item in drawn:
            for piece in passages(self._plain(text), self._plain(item.text)):
                if not any(piece in question for question in questions):
                    best = max(best, self._telling.passage(person, piece, bots=item.bots))
                if best is Clue.CERTAIN:
                    return best
        return best

    def _may_repeat(self, text: str, person: str, drawn: Iterable[_Drawn], asked: Collection[str]) -> bool:
        """Whether shared words say that the text may repeat one of these: one word of what memory or a tool gave, two
        of what only stood above it, or one that tells by itself.
        """
        own = {known: word for known, word in self._own_words(text, asked).items() if not is_everyday(word)}
        for item in drawn:
            shared = [known for known in self._words_of(item.text) if known in own]
            shared = [known for known in shared if self._telling.word(person, own[known], bots=item.bots)]
            least = TOGETHER if item.origin is _Origin.HISTORY else 1
            if len(shared) >= least or any(map(self._names_in(item.text).__contains__, shared)):
                return True
        return False

    def _own_words(self, text: str, asked: Collection[str]) -> dict[str, str]:
        """The telling words of a text, by their stems, without those of its questions."""
        words = dict(self._words_of(text))
        for item in asked:
            for known in self._words_of(item):
                words.pop(known, None)
        return words

    def _words(self, text: str, person: str, drawn: Iterable[_Drawn], asked: Collection[str]) -> Clue:
        """What the single words prove that the text shares with these, without those of the questions. An everyday word
        is never certain: before somebody has said much, it is as rare as any other.
        """
        words, best = self._own_words(text, asked), Clue.NONE
        for item in drawn:
            for shared in filter(words.__contains__, self._words_of(item.text)):
                clue = self._telling.word(person, words[shared], bots=item.bots)
                best = max(best, min(clue, Clue.DOUBT) if is_everyday(words[shared]) else clue)
                if best is Clue.CERTAIN:
                    return best
        return best

    def _add_wording(self, item: ForgottenMessage) -> None:
        if item.author == Author.PERSON:
            self._telling.add_written(item.text)

    def _texts(self, fresh: KnownErasures) -> dict[int, list[ForgottenMessage]]:
        """The erased texts by the ids of their messages; those of profile entries by the ids of their sources."""
        texts = {id_: [item] for id_, item in fresh.messages.items()}
        sources = select(profile_source.c.message, profile_entry.c.key, profile_entry.c.text).join_from(
            profile_source, profile_entry, profile_entry.c.id == profile_source.c.entry
        )
        learned = list(rows_in(self._connection, sources, profile_source.c.entry, fresh.entries))
        taught = dict(fresh.messages) | messages_in(self._connection, message.c.id, {row.message for row in learned})
        for source, key, text in learned:
            if source in taught:
                entry = taught[source]._replace(text=f"{key} {text}", author=Author.PERSON)
                texts.setdefault(source, []).append(entry)
        for group in texts.values():
            for item in group:
                self._add_wording(item)
        return texts

    def _facts(self, ids: Collection[int]) -> dict[int, tuple[str, str]]:
        columns = select(fact.c.id, fact.c.key, fact.c.value)
        known = {id_: (key, value) for id_, key, value in rows_in(self._connection, columns, fact.c.id, ids)}
        for key, value in known.values():
            self._telling.add_written(f"{key} {value}")
        return known


def _asked(turn_messages: Mapping[int, ForgottenMessage]) -> list[str]:
    return [item.text for item in turn_messages.values() if item.author == Author.PERSON]
