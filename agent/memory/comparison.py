"""Two statements beside each other: the words of each, and what the two have in common. Pure.

`compared` analyses a pair once; `agent.memory.attributes` decides what the newer statement does to the older one.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from agent.memory import cues, grammar, lexicon, when_cues, whose_cues
from agent.memory.alignment import (
    UNSPACED,
    aligned_after,
    all_in,
    by_kind,
    clauses_of,
    content_of,
    count_in,
    has_any,
    is_in,
    letter_behind,
    negates,
    owners_in,
    root,
    tells,
    topic_of,
    values_clash,
)
from agent.memory.facts import plain_key, same_key
from agent.memory.restating import VERB_OF_CHANGE, restate
from agent.memory.statements import (
    READ_CHARS,
    WORD,
    Statement,
    Token,
    begins_definite,
    is_function,
    is_noun_at,
    read_statement,
    stem,
    without,
)
from agent.memory.told import Told

_PART: Final = 4  # Letters of a word that is part of a compound: "port" of "Serverport"
_OF_CHANGE: Final = (lexicon.MOVES, VERB_OF_CHANGE)
_NOT_THE_STATE: Final = (lexicon.CUE, lexicon.NEW, lexicon.FILLERS, when_cues.WHEN, cues.TURNED)


@dataclass(frozen=True, slots=True)
class Side:
    """One statement. `said`: its sentence; `text`: the clause that states the value, without the frame of a change;
    `words`: of the sentence without that frame; `subject`: words of the subject, () for the speaker; `key`: of its key.
    """

    said: str
    text: str
    key_text: str
    statement: Statement
    words: tuple[Token, ...]
    clause: tuple[Token, ...]
    subject: tuple[Token, ...]
    key: tuple[Token, ...]

    @classmethod
    def of(cls, said: str, key: str, text: str, clause: str) -> "Side":
        statement = read_statement(clause)
        return cls(
            said=said,
            text=clause,
            key_text=key,
            statement=statement,
            words=content_of(text),
            clause=content_of(clause),
            subject=_subject(clause, statement, _key_words(key)),
            key=_key_words(key),
        )

    @property
    def predicate(self) -> list[Token]:
        return [word for word in self.clause if word not in self.subject]

    def mentions(self, word: Token) -> bool:
        return is_among(word, self.words) or word.raw in map(str.lower, WORD.findall(self.said))

    @property
    def is_unspaced(self) -> bool:
        """Whether it is written without blanks between words: Chinese, Japanese."""
        return UNSPACED.search(self.text) is not None

    @property
    def is_about_it(self) -> bool:
        """Whether it names nothing but a value, and so is about what was spoken of: "it is Ben now", "on Monday"."""
        return _begins_with_it(self.text) or all(word.kind for word in self.clause)

    @property
    def is_at_home(self) -> bool:
        """Whether it says where somebody lives, something is, or one of them went."""
        statement, patterns = self.statement, (whose_cues.HOME, cues.RELOCATED)
        return (
            statement.placed
            or statement.resides
            or statement.settles
            or any(has_any(text, patterns) for text in (self.key_text, self.said))
        )

    @property
    def is_of_speaker(self) -> bool:
        """Whether it speaks of the speaker: "I live …", "they gave me …", "our office …"."""
        whole = self.said if not self.subject else self.text
        if has_any(whole, (whose_cues.SPEAKER, whose_cues.OURS)) or begins_with_speaker(whole):
            return True
        return not self.subject and begins_with_speaker(self.text)  # "Since Easter sono …"


@dataclass(frozen=True, slots=True)
class Pair:
    """`changed`: the newer one says that something changed, or happened; `is_told`: it says the former; `clash`: they
    have different values of one kind.
    """

    older: Side
    newer: Side
    one_key: bool
    related_keys: bool
    changed: bool
    is_told: bool
    clash: bool

    @classmethod
    def of(cls, older: Told, newer: Told) -> "Pair":
        old_text = restate(older.sentence, older.sentence).text
        opened = without(newer.sentence, cues.OPENER, "") or newer.sentence
        said = without(opened, cues.ANSWER, "")
        restated = restate(said, older.sentence)
        old = Side.of(older.sentence, older.key, old_text, old_text)
        keys = (*_key_words(older.key), *_key_words(newer.key))
        # "Ann retired, so I report to Ben": the old value says nothing about which clause states the new one
        about = [word for word in old.words if word in old.subject or not word.is_name or is_among(word, keys)]
        is_whole = newer.value.strip() == newer.sentence.strip() or same_key(older.key, newer.key)
        stated = "" if is_whole else newer.value
        stating = _stating(restated.text, stated, (*about, *keys), old.words)
        new = Side.of(said, newer.key, restated.text, stating)
        is_told = (
            restated.changed or said != opened or has_any(newer.sentence, (*cues.CHANGES, cues.GIVEN, when_cues.JUST))
        )
        return cls(
            older=old,
            newer=new,
            one_key=same_key(older.key, newer.key),
            related_keys=_are_related(old, new),
            changed=is_told or has_any(newer.sentence, (when_cues.PERFECT,)),
            is_told=is_told,
            clash=values_clash(old.words, new.clause) or values_clash(old.words, new.words) or _are_hours(old, new),
        )

    @property
    def keys(self) -> tuple[Token, ...]:
        """The words of both keys, () where they are not about one thing."""
        return (*self.older.key, *self.newer.key) if self.one_key or self.related_keys else ()

    @property
    def is_unique(self) -> bool:
        """Whether there is one at a time: a role, an address, a favorite."""
        keys = f"{self.older.key_text} {self.newer.key_text}"
        return self.older.statement.unique or has_any(keys, (lexicon.UNIQUE,))

    @property
    def has_one_value(self) -> bool:
        """Whether what the older one states has one value at a time, in whatever words: a thing is in one place."""
        older, newer = self.older.statement, self.newer.statement
        return self.is_unique or (older.placed and newer.placed) or (older.resides and newer.resides)

    @property
    def names_attribute(self) -> bool:
        """Whether the key says more than who or what it is about. Of the speaker it always does."""
        keys, subject = self.keys, self.older.subject
        return bool(keys) and not (subject and all(is_among(word, subject) for word in keys))

    @property
    def has_telling_key(self) -> bool:
        """Whether one key names an attribute that has one value at a time: "office rent", not "car" or "languages"."""
        key = lexicon.folded(self.older.key_text)
        is_plural = grammar.PLURAL_KEY.fullmatch(key) is not None
        return self.one_key and self.names_attribute and not (self.has_many_values or is_plural)

    @property
    def has_many_values(self) -> bool:
        """Whether the key names something of which one has several at a time: "pets", "spoken languages"."""
        key = lexicon.folded(self.older.key_text)
        if UNSPACED.search(key) is None:  # What it names stands at its end or, in Romance languages, at its beginning
            key = " ".join([*WORD.findall(key)[:1], *WORD.findall(key)[-1:]])
        return has_any(key, (grammar.MANY_VALUES,))

    @property
    def ends_older(self) -> bool:
        """Whether the newer one says that what the older one says of the key's attribute is no longer so: "I no longer
        eat meat", "the trip is cancelled", "I have quit smoking".
        """
        if not (self.names_attribute and not self.older.statement.negated):
            return False
        older, clauses = self.older, clauses_of(self.newer.said)
        ending = [clause for clause in clauses if has_any(clause, (*cues.ENDS, cues.LEFT, lexicon.CANCELLED))]
        if not ending or any(values_clash(older.words, content_of(clause)) for clause in ending):
            return False  # "I am free on Thursday", "I am not free on Friday any more"
        names = [
            [word for word in side if word.is_name and not word.kind and not is_among(word, self.keys)]
            for side in (older.words, self.newer.words)
        ]
        if all(names) and not any(is_in(word, names[0]) for word in names[1]) and not self.tells_what_became_of_it:
            return False  # "My daughter Noa wears glasses", "my daughter Eva no longer wears glasses"
        predicate = [word for word in older.predicate if word.raw != older.statement.verb and tells(word)]
        # Behind the verb: "I like my work" is not ended by "I do not like the way there any more"
        objects = predicate[1:] if not (older.subject or older.statement.verb) else predicate
        objects = [word for word in objects if not word.kind]
        known = (*older.words, *self.keys)

        def ends(clause: str) -> bool:
            words = [word for word in content_of(clause) if tells(word)]
            # "I quit in March": when it ended
            words = [word for word in words if word.kind not in lexicon.DAYLIKE or word.kind in by_kind(older.words)]
            if not all(is_in(owner, older.subject) for owner in owners_in(clause)):
                return False
            return any(is_in(word, objects) or _is_head(word, objects) for word in words) or (
                bool(words) and all(_is_known(word, known) or _is_head(word, known) for word in words)
            )

        return any(map(ends, [*ending, *filter(negates, clauses)]))

    @property
    def is_pending(self) -> bool:
        """Whether the older one says that something is not so yet."""
        older = self.older.said
        is_open = has_any(older, (whose_cues.NOBODY,)) or (negates(older) and has_any(older, (when_cues.NOT_YET,)))
        return bool(self.keys) and is_open and not (negates(self.newer.said) or self.contrasts)

    @property
    def is_of_another_of_ours(self) -> bool:
        """Whether the newer one begins with another one of ours: "I have no dog yet", "my neighbor has a dog"."""
        said = self.newer.said
        for pattern in _NOT_THE_STATE:  # "These days my son …"
            said = without(said, pattern)
        ours = whose_cues.BEGINS_WITH_OURS.match(lexicon.folded(said[:READ_CHARS]))
        if ours is None:
            return False
        noun = WORD.match(said, ours.end())  # English "son" is a verb in Spanish and a possessive in French
        is_noun = noun is not None and is_function(noun.group().lower()) and is_noun_at(said, ours.end())
        whose = (
            (Token(stem(noun.group()), raw=noun.group().lower()),)
            if noun and is_noun
            else content_of(said[ours.end() :])[:1]
        )
        return not all(self.older.mentions(word) or is_among(word, self.keys) for word in whose)

    @property
    def is_of_relative(self) -> bool:
        """Whether the newer one begins with somebody of the speaker's whom the older one does not name: "我姐夫"."""
        found = whose_cues.BEGINS_WITH_RELATIVE.match(self.newer.said[:READ_CHARS])
        whose = (found["of"] or found["whose"]) if found is not None else ""
        return bool(whose) and whose not in f"{self.older.said} {self.older.key_text}"

    @property
    def contrasts(self) -> bool:
        """Whether they name two things in one place: "the invoice of May", "the invoice of April"."""
        older, newer = self.older, self.newer
        if self.is_of_another_of_ours:
            return True
        said = [
            word for word in newer.words if not has_any(older.said, (whose_cues.NOBODY,)) or word not in newer.subject
        ]
        names = [[word for word in words if word.is_name or word.kind] for words in (older.words, said)]
        new = [word for word in names[1] if not (older.mentions(word) or is_among(word, self.keys))]
        if new and any(not newer.mentions(word) for word in names[0] if not is_among(word, self.keys)):
            return True
        return any(
            is_behind and any(map(tells, was)) and any(map(tells, instead))
            for is_behind, was, instead in aligned_after(older.words, said)
        )

    @property
    def is_about_key(self) -> bool:
        """Whether the newer one says that what the key names, with all its words, has changed."""
        key = self.older.key
        names = self.one_key and self.names_attribute and self.changed
        names = names and (
            len(key) > 1 or not any(word.is_name for word in key)
        )  # "Eve" is not all that is said of her
        names = names and not self.is_of_another_of_ours
        owners = all(map(self.newer.mentions, owners_in(self.older.said)))  # "Grandpa's house", "our house"
        return names and owners and all(self.newer.mentions(word) for word in self.older.key)

    @property
    def shares_name(self) -> bool:
        """Whether both and the key name somebody or something: "Rosa's surprise party", "the party of Rosa"."""
        named = [word for word in self.older.subject if word.is_name and not word.kind and is_in(word, self.older.key)]
        return self.one_key and self.names_attribute and any(map(self.newer.mentions, named))

    @property
    def tells_what_became_of_it(self) -> bool:
        """Whether the newer one first names the old value, and then another: "Ann left, Ben runs it", "sold the Golf, I
        drive a Polo".
        """
        values = [word for word in self.older.words if word not in self.older.subject and not is_among(word, self.keys)]
        values = [word for word in values if word.is_name or word.kind]
        *before, last = [content_of(clause) for clause in clauses_of(self.newer.said)] or [()]
        return any(is_in(value, clause) for value in values for clause in before) and not any(
            is_in(value, last) for value in values
        )

    @property
    def displaces(self) -> bool:
        """Whether the newer one names the old value, or its holder, as what was left behind: "from A to B", "B instead
        of A", "Ann retired, Ben leads it". What is left behind is no second thing.
        """
        older, newer = self.older, self.newer
        values = [word for word in older.words if not word.kind and tells(word) and not is_among(word, self.keys)]
        stems = {word.word for word in values if word.is_name or word in older.predicate}
        displaced = read_statement(newer.said).displaced
        if any(words <= stems for words in displaced) and self.changed:
            return True
        names = [word for word in values if word.is_name]
        clauses = [(content_of(clause), clause) for clause in clauses_of(newer.said)]
        left = [words for words, clause in clauses if any(is_in(name, words) for name in names) and _is_over(clause)]
        others = [word for words, _ in clauses if words not in left for word in words]
        is_other_named = any((word.is_name or word.kind) and not older.mentions(word) for word in others)
        known = (*self.keys, *older.words)
        is_about = any(is_among(word, known) or has_any(newer.said, (lexicon.CUE,)) for word in others)
        return bool(left) and is_other_named and is_about

    @property
    def exchanges(self) -> bool:
        """Whether the newer one says that what the key names was exchanged for another one, and names that: "I switched
        dentists, it is B these days".
        """
        about = (*self.older.subject, *self.keys)
        folded = lexicon.folded(self.newer.said[:READ_CHARS])
        found = [match for pattern in cues.EXCHANGED if (match := pattern.search(folded)) is not None]
        known = (*self.older.words, *self.keys)
        # Who did it is the speaker, or somebody of whom the older one speaks: not "my aunt switched dentists"
        whose = [word for match in found for word in content_of(self.newer.said[: match.start()])]
        if self.is_of_relative or not all(word.kind or is_among(word, known) for word in whose):
            return False
        what = [word for match in found for word in content_of(match["what"])[:2]]
        last = content_of((clauses_of(self.newer.said) or [""])[-1])
        is_named = any((word.is_name or word.kind) and not self.older.mentions(word) for word in last)
        is_named = is_named or (UNSPACED.search(self.newer.said) is not None and len(clauses_of(self.newer.said)) > 1)
        return is_named and any(is_among(word, about) for word in what)


def _is_over(clause: str) -> bool:
    return has_any(clause, (*cues.ENDS, *cues.CHANGES, cues.LEFT, lexicon.CANCELLED, when_cues.PERFECT, lexicon.PAST))


def _stating(text: str, value: str, about: Sequence[Token], older: Sequence[Token]) -> str:
    """Return the clause that states the value. One that gives a value of the older one's kind, or that speaks of the
    speaker or of a change, does so rather than a reason: "we moved to York, boxes everywhere".
    """
    clauses = clauses_of(text)
    if len(clauses) < 2:
        return text
    stated, named = content_of(value), {clause: _named_in(clause) for clause in clauses}
    is_certain = not has_any(text, (cues.SUPPOSES,))
    brings_new = is_certain and any(not is_in(word, older) for words in named.values() for word in words)

    def shared(clause: str) -> tuple[int, int, bool, bool]:
        words = content_of(clause)
        is_news = has_any(clause, (*cues.CHANGES, whose_cues.SPEAKER)) or begins_with_speaker(clause)
        # "Ann retired, so I report to Ben"
        about_older = brings_new and all_in(named[clause], older) and _is_over(clause)
        closeness = count_in(about, words) + 2 * values_clash(older, words)
        return count_in(stated, words), closeness, not about_older, is_news

    return max(reversed(clauses), key=shared).strip()


def _named_in(text: str) -> list[Token]:
    return [word for word in content_of(text) if word.is_name or word.kind]


def is_title(word: Token, side: Side, other: Side) -> bool:
    """Return whether it only says what somebody or something is whom both name: "my son Paul", "the project Falke"."""
    names = re.findall(
        rf"(?<!\w){re.escape(word.raw)} {whose_cues.IS_CALLED}(\w{{2,30}})", side.said[:READ_CHARS], re.IGNORECASE
    )
    return bool(word.raw) and any(
        name[0].isupper() and any(is_in(named, other.words) for named in content_of(name)) for name in names
    )


def _are_hours(older: Side, newer: Side) -> bool:
    """Return whether one gives an hour in full, and the other its number: "at six", "at 6:30"."""
    kinds = by_kind(older.words).keys(), by_kind(newer.words).keys()
    return any("clock" in kinds[at] and "number" in kinds[1 - at] and "number" not in kinds[at] for at in (0, 1))


@lru_cache(maxsize=64)
def compared(older: Told, newer: Told) -> Pair:
    return Pair.of(older, newer)


def may_be_about_the_same(older: Told, newer: Told) -> bool:
    """Return whether both speak of one thing, by a word of the sentences or keys that says more than that something is
    the case, or of where somebody lives or something is.
    """
    pair = compared(older, newer)
    sides = ((*side.words, *side.key) for side in (pair.older, pair.newer))
    old, new = ([word for word in side if tells(word) and not word.kind] for side in sides)
    is_shared = any(is_among(word, new) for word in old) or any(is_among(word, old) for word in new)
    return is_shared or (pair.older.is_at_home and pair.newer.is_at_home)


def _subject(text: str, statement: Statement, key: Sequence[Token]) -> tuple[Token, ...]:
    """Return the words of the grammatical subject, () if it is the speaker or a pronoun, or if there is none."""
    words = content_of(text)
    if UNSPACED.search(text) is not None:
        return topic_of(words, statement)
    if begins_with_speaker(text) or _begins_with_it(text):
        return ()
    subject = tuple(word for word in words if word.word in statement.subject)
    if statement.has_subject and subject:
        return (*subject, *letter_behind(words, words.index(subject[-1]), text))
    if statement.about == "they" or (statement.about and has_any(text, (whose_cues.SPEAKS,))):
        return ()
    # All that stands before a verb of change: "the internal deadline moved", "the deadline of phase two has changed"
    lowered = lexicon.folded(text[:READ_CHARS])
    verb = min((found.start() for pattern in _OF_CHANGE if (found := pattern.search(lowered))), default=0)
    if begins_definite(text) and (before := [word for word in content_of(text[:verb]) if not word.kind]):
        return tuple(before)
    # Of an unknown verb only the first word can be told apart: a noun has an article or a capital. Romance sentences
    # without an article begin with a verb.
    if begins_definite(text):
        noun = next(islice(WORD.finditer(text), 1, None), None)  # Also "son", which is "his" in French
        return (
            () if noun is None else content_of(noun.group()) or (Token(stem(noun.group()), raw=noun.group().lower()),)
        )
    is_romance = has_any(text, (grammar.ROMANCE,))
    words = tuple(word for word in words[:2] if is_in(word, key) or not is_ours(word.raw))
    return tuple(word for word in words[:1] if word.is_name and not word.kind and (not is_romance or is_in(word, key)))


def is_ours(word: str) -> bool:
    return whose_cues.OURS.fullmatch(lexicon.folded(word)) is not None


def _begins_with_it(text: str) -> bool:
    return grammar.BEGINS_WITH_IT.match(lexicon.folded(text[:READ_CHARS])) is not None


def begins_with_speaker(text: str) -> bool:
    """Return whether it begins with "I", "we", "me", or a Romance verb that implies it: "Trabajo en …"."""
    state = text
    for pattern in _NOT_THE_STATE:
        state = without(state, pattern)
    return any(_is_speakers(lexicon.folded(start.lstrip(" ,¡¿")[:READ_CHARS])) for start in (text, state))


def _is_speakers(text: str) -> bool:
    if whose_cues.BEGINS_WITH_SPEAKER.match(text) is not None:
        return True
    verb = whose_cues.SPEAKERS_ENDING.match(text)
    if verb is None:
        return False
    # A name has such an ending, too ("Marco", "Paulo"), but is followed by a verb.
    following = text[verb.end() :].split(maxsplit=1)[:1]
    return verb.group().strip() in lexicon.SPEAKERS_VERBS or any(
        word[0].isdigit() or is_function(word.strip(".,")) or word in whose_cues.OFTEN for word in following
    )


# Keys.


def _key_words(key: str) -> tuple[Token, ...]:
    """Return the content words of a key with its abbreviations ("CI" is an Italian pronoun, too), else all words."""
    content = content_of(key)
    others = [Token(stem(word), raw=word.lower()) for word in WORD.findall(key) if word.isupper() or not content]
    return (*content, *(word for word in others if not is_in(word, content)))


def _are_related(older: Side, newer: Side) -> bool:
    """Return whether two keys may name one attribute: they share a word, and neither tells apart what the other does
    not mean: "gym" and "gym sauna" are two if the newer sentence speaks of the sauna, and the older does not.
    """
    old_key, new_key = (plain_key(side.key_text).replace(" ", "") for side in (older, newer))
    if UNSPACED.search(old_key + new_key) is not None:  # The head is at the end: "会議の曜日" is of a "会議"
        return bool(old_key) and bool(new_key) and (old_key.startswith(new_key) or new_key.startswith(old_key))
    only_old = [word for word in older.key if not _is_of_key(word, newer.key, new_key)]
    only_new = [word for word in newer.key if not _is_of_key(word, older.key, old_key)]
    only_old = [word for word in only_old if not is_title(word, older, newer)]
    only_new = [word for word in only_new if not (is_title(word, newer, older) or is_in(word, new_in(newer.said)))]
    if len(only_old) == len(older.key) or len(only_new) == len(newer.key):
        return False
    tells_apart = any(is_in(word, newer.words) and not is_in(word, older.words) for word in only_new) or any(
        is_in(word, older.words) and not is_in(word, newer.words) for word in only_old
    )
    return not tells_apart and not any(word.kind for word in (*only_old, *only_new))


def _is_of_key(word: Token, words: Collection[Token], key: str) -> bool:
    """Return whether a word is one of a key's, or part of one of its compounds, or a compound of one of its words."""
    return is_in(word, words) or _is_part(word, key) or any(_is_part(other, word.word) for other in words)


def _is_part(word: Token, compound: str) -> bool:
    """Return whether a word is part of a compound: "Passwort" and "Kasse" of "Kassenpasswort"."""
    return len(word.word) >= _PART and word.word[: max(_PART, len(word.word) - 1)] in compound


def is_among(word: Token, words: Collection[Token]) -> bool:
    """Return whether a word is one of those of a key or of a subject: "professora" is "professor" there."""
    if is_in(word, words):
        return True
    others = [other for other in words if not other.kind]
    if word.kind:
        return False
    is_compound = sum(_is_part(other, word.word) for other in others) > 1  # "Marketingbudget"
    return is_compound or any(root(other.word) == root(word.word) or _is_part(word, other.word) for other in others)


def _is_known(word: Token, known: Collection[Token]) -> bool:
    """Return whether it is one of these words, or the infinitive of one: "fumer" of "fume", "fumar" of "fumo"."""
    infinitive = grammar.INFINITIVE.fullmatch(word.raw)
    stems = (root(other.raw) for other in known)
    return is_in(word, known) or (infinitive is not None and infinitive["stem"] in stems)


def _is_head(word: Token, others: Iterable[Token]) -> bool:
    """Return whether a word is the last part of a compound: "pot" of "flowerpot"."""
    return len(word.word) > 2 and any(other.word.endswith(word.word) for other in others)


def new_in(text: str) -> list[Token]:
    """Return of what there is a new one: "number" of "Ann got a new number"."""
    starts = (text[match.end() :] for match in lexicon.NEW.finditer(lexicon.folded(text[:READ_CHARS])))
    return [word for rest in starts for word in content_of(rest)[:2]]
