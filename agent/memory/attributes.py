"""Decides whether a newer statement gives an attribute another value, under the key that names the attribute. Pure.

A key names one attribute of one subject ("office rent", "team"), and an attribute has one value at a time. But a key
comes from a model, which may give one key to two things. So it takes evidence in the two sentences:

    an anchor    the newer one speaks of something that the older one or the key names
    one gap      of what the older one names, the newer one leaves out its value alone. "The budget of May is 300", "the
                 budget of June is 400" leave out two things: the month and the value
    news         it is told that something changed or was wrong ("now", "moved", "my new dentist"), and besides, the
                 old value is named as over or left behind, another value of its kind is given ("at 9", "at 10"), the
                 sentence is the same but for one word, or both say where one lives

One of the two is too little, as `benchmarks.fact_pairs` shows on pairs that no rule was written for: a model is asked
about these.

Of these, the anchor or the one gap may lack under a key that names an attribute with one value ("job title", not "car"
or "pets"), since it says itself what both are about: "I'm in sales", "I moved to marketing in October".

And nothing may speak against it. One sign is enough, because in doubt both statements are kept:

    it denies                               "there is no class this Tuesday"
    one of them is about another time       "I used to …", "I paid …", "On Saturdays …", "In bad weather …"
    it is about another subject             "my brother …", "Leo's …", "the demo …", "room B …", where the key has none
    it differs in a second place            "we meet clients on Mondays", "we meet vendors on Tuesdays"
    its value is of another kind            "at 9:00", "for two hours"
    there are many values at a time         languages, hobbies, "I read …"
    the key names only the subject          "car: is red", "car: is in the garage"

What is added, reported or supposed is refused before (`agent.memory.judging`), which also decides where the key names
only the subject, or no key is known.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Final

from agent.memory import cues, grammar, lexicon, when_cues, whose_cues
from agent.memory.alignment import (
    UNSPACED,
    align,
    aligned_after,
    all_in,
    are_apart,
    by_kind,
    clauses_of,
    content_of,
    differing_places,
    has_any,
    is_in,
    is_theirs,
    leaves_out,
    limits,
    negates,
    owns,
    qualifies,
    tells,
    values_clash,
)
from agent.memory.comparison import Pair, Side, begins_with_speaker, compared, is_among, is_ours, is_title, new_in
from agent.memory.distinct import (
    begins_with_another_of_ours,
    holds_for_a_time,
    is_agent,
    is_of_an_earlier_state,
    is_of_another_owner,
    is_of_one_of_several,
    names_another,
)
from agent.memory.restating import tells_when_first
from agent.memory.statements import (
    READ_CHARS,
    WORD,
    Token,
    describes_past_state,
    is_function,
    is_noun_at,
    stem,
    without,
)
from agent.memory.succession import is_of_another_end, names_successor
from agent.memory.told import Told

# Kinds of values that stand for one: a date for a weekday, a code for a number
_KIND_GROUPS: Final = dict.fromkeys(lexicon.TIMES, "time") | {"code": "number"}
_UNTYPED: Final = frozenset({"colour", "address", "code"})  # Kinds of values in whose place a name may stand
PASSIVE_WORDS: Final = 3  # Behind "was", in which a participle makes a passive: "was just recently moved"
MAX_PLACES: Final = 8  # Of a word in a sentence, that are looked at
WORD_CHARS: Final = 60  # Of the text before a place, in which the last word is looked for


def differs_in_one_place(older: Told, newer: Told) -> bool:
    """Return whether the two are about one thing, and differ in one place."""
    pair = compared(older, newer)
    if not _is_about_one_thing(pair) or _is_told_apart(pair) or _differs_in_a_second_place(pair):
        return False
    if is_of_an_earlier_state(pair) or holds_at_another_time(pair) or is_of_one_of_several(pair):
        return False
    return differing_places(pair.older.words, pair.newer.clause, (pair.older.text, pair.newer.text)) < 2


def gives_another_value(older: Told, newer: Told, *, named: bool = False) -> bool:
    """Return whether the newer one gives another value to what the older one states. `named`: a model that has read
    both says so, and the keys need not be alike.
    """
    pair = compared(older, newer)
    if not (pair.one_key or pair.related_keys or named):
        return False
    if _is_reversed(pair) or has_any(pair.newer.said, (cues.SUPPOSES, when_cues.AWAY)):
        return False
    if any(speaks_against(pair) for speaks_against in _SIGNS if speaks_against not in _DOUBTS):
        return False
    doubts = sum(is_doubtful(pair) for is_doubtful in _DOUBTS)
    return is_news(pair) and doubts <= pair.has_telling_key


def succeeds(older: Told, newer: Told) -> bool:
    """Return whether the newer one names the old value as over and another in its place, and is not about somebody
    else's, nor of the past.
    """
    if not names_successor(older, newer):
        return False
    pair = compared(older, newer)
    return not (begins_with_another_of_ours(pair) or _is_reversed(pair))


# What has to speak for it. A key comes from a model: it is a hint, and no evidence.


def _is_about_one_thing(pair: Pair) -> bool:
    return _is_anchored(pair) and _left_out(pair) <= 1 and not _is_reversed(pair)


def _lacks_anchor(pair: Pair) -> bool:
    return not _is_anchored(pair)


def _is_about_another_thing(pair: Pair) -> bool:
    """Return whether the two share no word, and only the speaker could be what both are about, who has and does many
    things: "I lead the team", "I became a member of the choir".
    """
    older, newer = pair.older, pair.newer
    are_of_speaker = begins_with_speaker(older.text) and newer.is_of_speaker and not newer.subject
    is_one_of_many = has_any(newer.said, (whose_cues.MEMBER, grammar.MANY_AT_A_TIME))
    return not _is_anchored(pair) and (is_one_of_many or not are_of_speaker)


def leaves_out_two(pair: Pair) -> bool:
    return _left_out(pair) > 1


def _exchanges_two(pair: Pair) -> bool:
    """Return whether each names two things that the other one does not: "send receipts to A", "send contracts to B"."""
    return _left_out(pair) > 1 and _left_out(replace(pair, older=pair.newer, newer=pair.older)) > 1


def _is_anchored(pair: Pair) -> bool:
    """Return whether the newer sentence itself is about what the older one or the key names."""
    older, newer = pair.older, pair.newer
    if pair.is_pending or pair.ends_older or newer.is_about_it or (older.is_at_home and newer.is_at_home):
        return True
    if older.subject and not (newer.subject or newer.statement.has_subject or newer.is_of_speaker):
        subject = (*older.subject, *pair.keys)
        if not newer.is_unspaced and not any(is_in(word, newer.words) for word in subject):
            return False
    if pair.clash:
        return True
    named = any(newer.mentions(word) or is_among(word, newer.words) for word in (*older.words, *older.key, *newer.key))
    return named or older.statement.verb in map(str.lower, WORD.findall(newer.said))  # "I work at A", "at B"


def _left_out(pair: Pair) -> int:
    """Return how many things the older one names that the newer one does not: its value is one of them. Two mean that
    the two speak of different things: "the budget of May is 300", "the budget of June is 400".
    """
    older, newer = pair.older, pair.newer
    values, keys, left_out, kinds = by_kind(newer.words), (*older.key, *newer.key), 0, set[str]()

    def is_told(word: Token) -> bool:
        # Who did it before is only told in another clause: "Dana left, Yusuf leads the team"
        of_other = word in older.subject and bool(newer.subject) and not is_in(word, newer.clause)
        is_it = word in older.subject and newer.is_about_it
        return is_it or is_among(word, keys) or (newer.mentions(word) and not of_other)

    @cache  # A word that is repeated a hundred times would be looked for in the whole text a hundred times.
    def names_thing(word: Token) -> bool:
        return _names_thing(word, pair)

    for side in (older.subject, tuple(older.predicate)):
        is_beside = False  # The words of one thing stand side by side
        for word in side:
            if word.kind and word.word not in values.get(word.kind, ()):
                kinds.add(_KIND_GROUPS.get(word.kind, word.kind))
            if word.kind or is_told(word):
                is_beside = bool(word.kind)
            elif tells(word) and names_thing(word) and not is_title(word, older, newer):
                left_out += not is_beside or _is_exchanged(word, pair)
                is_beside = True
    # A bare number beside a day is an hour: "on Monday at nine"
    return left_out + len(kinds - {"number"} if "time" in kinds else kinds)


def _names_thing(word: Token, pair: Pair) -> bool:
    """Return whether a word of the older one is a noun: it is a name, or stands behind an article, a possessive or a
    preposition ("in the garage"), or right behind a word that both have, which is the verb then ("send receipts"). Not
    how often, nor what a number counts: "every week", "the end of 2026".
    """
    text, is_german = pair.older.text, grammar.GERMAN.search(lexicon.folded(pair.older.text[:READ_CHARS])) is not None
    if UNSPACED.search(text) is not None or when_cues.PERIOD.fullmatch(word.raw) is not None:
        return False
    for match in re.finditer(rf"(?<!\w){re.escape(word.raw)}(?!\w| \d)", lexicon.folded(text[:READ_CHARS])):
        start = match.start()
        # Only the end of what stands before: reading all of it for each place takes quadratic time.
        before, has_capital = WORD.findall(text[max(0, start - WORD_CHARS) : start])[-1:], text[start].isupper()
        if before and (has_capital or (not is_german and _precedes_noun(before[0].lower(), pair.newer))):
            return True
    return False


def _is_exchanged(word: Token, pair: Pair) -> bool:
    """Return whether another word stands behind the same preposition in the newer one: "until May", "until July"."""
    older, newer = (lexicon.folded(side.text[:READ_CHARS]) for side in (pair.older, pair.newer))
    before = re.search(rf"(?<!\w)(\w{{1,20}}) {re.escape(word.raw)}(?!\w)", older)
    if before is None or not is_function(before[1]):
        return False
    instead = re.findall(rf"(?<!\w){re.escape(before[1])} (\w{{1,40}})", newer)
    return any(not pair.older.mentions(Token(stem(other), raw=other)) for other in instead)


def _precedes_noun(word: str, newer: Side) -> bool:
    if not is_function(word):
        return newer.mentions(Token(stem(word), raw=word))
    is_other = word in lexicon.PRONOUNS or word in lexicon.STATE_VERBS or word in grammar.NO_DETERMINERS
    return not is_other and lexicon.COPULAS.fullmatch(word) is None


def _is_reversed(pair: Pair) -> bool:
    """Return whether the newer one begins with whom the speaker speaks of: "I owe Tim 40 euros", "Tim owes me 15"."""
    older, newer = pair.older, pair.newer
    if older.subject or not older.is_of_speaker or pair.ends_older or pair.tells_what_became_of_it:
        return False
    named = [word for word in older.predicate if word.is_name]
    is_object = has_any(newer.text, (whose_cues.SPEAKER,)) and not has_any(newer.text, (whose_cues.SPEAKS,))
    return any(is_in(word, named) for word in newer.subject) and is_object


def is_news(pair: Pair) -> bool:
    """Return whether the newer one tells of a change, and something else shows that it is one of the older value: that
    is named as over or left behind, another one of its kind is given, or both say where one lives.

    Where no rule tells words apart, what is left behind may be another thing's.
    """
    newer = pair.newer
    says_it_is_over = pair.ends_older or pair.is_pending or has_any(newer.said, (cues.MISTAKEN,))
    is_told = pair.is_told or says_it_is_over or pair.displaces or _renews(pair) or _denies_old_value(pair)
    names_old_value = pair.displaces or pair.tells_what_became_of_it or _tells_of_old_value(pair)
    is_over = says_it_is_over or pair.exchanges or (names_old_value and not newer.is_unspaced)
    is_of_its_kind = pair.clash or _is_held_by_another(pair) or _exchanges_one_word(pair) or _moved(pair)
    return is_told and (is_over or is_of_its_kind or (pair.older.is_at_home and newer.is_at_home))


def _moved(pair: Pair) -> bool:
    """Return whether it says of what the older one is about that it became or moved to something else."""
    newer, about = pair.newer, (*pair.older.subject, *pair.keys)
    is_of_it = bool(newer.subject) and all(is_among(word, about) for word in newer.subject)
    return is_of_it and has_any(newer.text, (lexicon.MOVES, cues.RELOCATED, lexicon.BECOMES))


def _exchanges_one_word(pair: Pair) -> bool:
    """Return whether the clause of the new value says the same as the older one but for one word: "our office is in A",
    "our office is in B now".
    """
    older, newer = pair.older, pair.newer
    known = (*older.words, *pair.keys)
    missing = [word for word in older.words if tells(word) and not is_in(word, newer.clause)]
    extra = [word for word in newer.clause if tells(word) and not is_among(word, known)]
    extra = [word for word in extra if word.kind not in lexicon.DAYLIKE]  # Since when it is so
    is_one = len(extra) == 1 or (bool(extra) and all(word.is_name for word in extra))  # "GitHub Actions"
    return len(missing) == 1 and is_one and any(is_in(word, newer.clause) for word in older.words)


def _speaks_of_another_matter(pair: Pair) -> bool:
    """Return whether the newer one names something besides its value of which neither the older one nor a key speaks,
    and nothing says that anything changed: "our CTO is A", "at the client's, the CTO is B". A model that names the
    older one under other keys has to be right about what both are about: there, a word of change is not enough.
    """
    older, newer = pair.older, pair.newer
    if pair.ends_older or pair.is_pending or pair.displaces or pair.tells_what_became_of_it:
        return False
    is_one = pair.one_key or pair.related_keys
    if is_one and (pair.changed or pair.clash):
        return False
    known = (*older.words, *pair.keys)
    before = newer.said[: max(0, newer.said.find(newer.text))] if is_one else newer.said
    words = [*content_of(before), *(word for word in newer.clause if not word.is_name)]
    return any(tells(word) and not word.kind and not is_among(word, known) for word in words)


def _repeats_the_value(pair: Pair) -> bool:
    """Return whether the newer one names the value of the older one, and no other of its kind: "I have judo on
    Wednesdays", "last Wednesday I missed judo". What is named as over or left behind is no such value.
    """
    if pair.clash or pair.ends_older or pair.displaces:
        return False
    values = [word for word in pair.older.words if word.kind and not is_among(word, pair.keys)]
    return bool(values) and all(is_in(word, pair.newer.words) for word in values)


def _tells_of_old_value(pair: Pair) -> bool:
    """Return whether a clause beside that of the new value names the old one: "we meet at A, the Fox is closed"."""
    older, newer = pair.older, pair.newer
    values = [word for word in older.predicate if (word.is_name or word.kind) and not is_among(word, pair.keys)]
    return any(newer.mentions(value) and not is_in(value, newer.clause) for value in values)


# The signs that both stand.


def denies(pair: Pair) -> bool:
    """Return whether it denies something, and not only that the older state, or one that it names, still holds."""
    if pair.ends_older or pair.displaces or _denies_old_value(pair) or _denies_beside(pair):
        return False
    return any(negates(_without_reason(text)) for text in (pair.newer.said, pair.newer.text))


def _without_reason(text: str) -> str:
    """Return what stands before the reason: "on May 16, because the set is not ready" denies nothing."""
    reason = lexicon.REASON.search(lexicon.folded(text[:READ_CHARS]))
    return text[: reason.start()] if reason is not None and reason.start() > 0 else text


def _denies_old_value(pair: Pair) -> bool:
    """Return whether all that it denies is the older value: "it is 24 degrees, not 26"."""
    denying = [content_of(clause) for clause in clauses_of(pair.newer.said) if negates(clause)]
    is_value = [any(word.kind or word.is_name for word in words) for words in denying]
    return (
        pair.one_key and bool(denying) and all(is_value) and all(all_in(words, pair.older.words) for words in denying)
    )


def _denies_beside(pair: Pair) -> bool:
    """Return whether only a clause beside that of the new value denies something: "at four, Ann cannot come before".
    "At four, but not on Sundays" limits what it says: nothing stands before its negation.
    """
    newer = pair.newer
    if not pair.one_key or negates(newer.text) or not values_clash(pair.older.words, newer.clause):
        return False
    denying = [clause for clause in clauses_of(newer.said) if negates(clause)]
    return bool(denying) and all(content_of(_before_negation(clause)) for clause in denying)


def _before_negation(clause: str) -> str:
    folded = lexicon.folded(clause[:READ_CHARS])
    found = (pattern.search(folded) for pattern in (*cues.ENDS, lexicon.NEGATED))
    return clause[: min((match.start() for match in found if match is not None), default=0)]


def _is_of_the_past(pair: Pair) -> bool:
    """Return whether the older one tells what happened once, or one of them what was so once."""
    sentences = (pair.older.said, pair.newer.said)
    if any(describes_past_state(text) or has_any(text, (when_cues.ONCE,)) for text in sentences):
        return True
    if is_of_an_earlier_state(pair):
        return True
    if pair.is_pending:
        return False
    older = without(pair.older.said, when_cues.IN_A_STATE)
    return pair.older.statement.past or (
        has_any(older, (when_cues.HAPPENED, when_cues.PERFECT)) and not has_any(older, cues.CHANGES)
    )


def was_an_event(pair: Pair) -> bool:
    """Return whether the newer one tells of something past without a sign of change: "I spent the summer in Bergen"."""
    older, newer = pair.older.statement, pair.newer.statement
    return newer.past and not (older.past or pair.changed or pair.clash or pair.ends_older)


def holds_at_another_time(pair: Pair) -> bool:
    """Return whether the newer one gives a day, a season or a condition that the older one does not."""
    older, newer = pair.older, pair.newer
    dated = has_any(newer.said, (when_cues.WHEN,))  # When it changed: "I moved last week"
    extra = by_kind(newer.words).keys() - by_kind(older.words).keys()
    is_date_of_change = pair.changed and (dated or not extra & {"weekday", "relative"})
    times = [_parts_of_time(side.said) for side in (older, newer)]
    if times[1] - times[0] and not (by_kind(older.words).keys() & lexicon.DAYLIKE or _tells_when_made(pair)):
        return True
    if holds_for_a_time(pair):
        return True
    is_date_of_change = is_date_of_change or pair.displaces  # "Lena quit on Tuesday, Bo stepped in"
    if limits(older.words, newer.words, newer.said) and not is_date_of_change:
        return True
    if older.statement.habit and dated and not pair.changed:
        return True
    return _begins_with_condition(pair)


def _tells_when_made(pair: Pair) -> bool:
    """Return whether the newer one begins with when the change was made: "am Wochenende haben wir … umgestellt"."""
    return pair.changed and tells_when_first(pair.newer.said)


def _begins_with_condition(pair: Pair) -> bool:
    """Return whether it begins with when or for what it holds, and the older one does not name that."""
    older, newer = pair.older, pair.newer
    if _tells_when_made(pair):
        return False
    known, text = (*older.words, *older.key), lexicon.folded(newer.said[:READ_CHARS])
    if begins_with_speaker(older.text) and _is_place(_before_speaker(newer.text), known):
        return True
    patterns = (when_cues.BEGINS_WITH_CONDITION, when_cues.BEGINS_WITH_CLAUSE_OF_TIME)
    conditions = [content_of(match["what"])[:2] for pattern in patterns if (match := pattern.match(text)) is not None]
    return any(not word.kind and not is_in(word, known) for words in conditions for word in words)


def _before_speaker(text: str) -> str:
    found = whose_cues.SPEAKS.search(lexicon.folded(text[:READ_CHARS]))
    return text[: found.start()] if found is not None else ""


def _is_place(text: str, known: Collection[Token]) -> bool:
    """Return whether a text is a preposition with one thing of which nothing was said: "in the van"."""
    *before, last = WORD.findall(text) or [""]
    words = [word for word in content_of(text) if tells(word) and not (word.kind or is_among(word, known))]
    return (
        bool(before)
        and len(words) == 1
        and words[0].raw == last.lower()
        and all(map(is_function, map(str.lower, before)))
    )


def _parts_of_time(text: str) -> set[str]:
    text = without(text[:READ_CHARS], when_cues.WHEN)
    return {match.group() for match in when_cues.PART_OF_TIME.finditer(lexicon.folded(text))}


def is_of_another(pair: Pair) -> bool:
    """Return whether the newer one is about somebody or something else."""
    if is_of_another_owner(pair) or _is_told_apart(pair) or names_another(pair) or _has_other_subject(pair):
        return True
    older, newer = pair.older, pair.newer
    of_key = [word for word in older.key if is_in(word, newer.key)]
    of_key = of_key if (pair.one_key or pair.clash) and pair.names_attribute else []
    if any(owns(word, newer.text) and not owns(word, older.text) for word in older.subject if not is_in(word, of_key)):
        return True
    # "The north trail is …": without a known verb only its first word counts as its subject
    return bool(older.subject) and not older.statement.has_subject and leaves_out(older.words, newer.clause)


def came_out(pair: Pair) -> bool:
    """Return whether the newer one only tells of a release: "we run Lumen 3", "Lumen 4 is out"."""
    older, newer = pair.older, pair.newer
    return has_any(newer.said, (cues.CAME_OUT,)) and not (newer.is_of_speaker or has_any(older.said, (cues.CAME_OUT,)))


def _is_told_apart(pair: Pair) -> bool:
    """Return whether one sentence is about what is ours, and the other about what is theirs, or the newer one about one
    of several: "the ticket", "the reduced ticket".
    """
    texts = (pair.older.text, pair.newer.said)
    if has_any(texts[1], (cues.ATTRIBUTE,)) and not has_any(texts[0], (cues.ATTRIBUTE,)):
        return True
    if has_any(texts[0], (whose_cues.OURS,)) and is_theirs(texts[1]):
        return True
    ours, theirs = (
        [has_any(text, (cue,)) for text in texts]
        for cue in (whose_cues.BEGINS_WITH_OURS, whose_cues.BEGINS_WITH_THEIRS)
    )
    return (ours[0] and theirs[1] and not ours[1]) or (ours[1] and theirs[0] and not ours[0])


def _has_other_subject(pair: Pair) -> bool:
    older, newer = pair.older, pair.newer
    if pair.displaces or pair.exchanges:
        return False
    keys = pair.keys
    if _is_subject_the_value(pair):
        return False
    if pair.tells_what_became_of_it and older.statement.unique and newer.statement.unique and newer.is_of_speaker:
        return False  # "Ann retired, my boss is Ben" after "my manager is Ann"
    missing = [word for word in older.subject if _names(word) and not (is_among(word, keys) or newer.mentions(word))]
    missing = [] if newer.is_about_it else missing
    is_nobody = pair.is_pending and has_any(older.said, (whose_cues.NOBODY,))
    is_one = (pair.is_about_key and not pair.is_pending) or is_nobody or pair.shares_name
    if not (is_one or all(is_title(word, older, newer) for word in missing)):
        return True
    known = older.key if keys else ()
    if pair.is_pending and has_any(older.said, (whose_cues.NOBODY,)):
        return not any(map(newer.mentions, keys))  # "Lucy has taken on what nobody had yet"
    extra = [word for word in newer.subject if _is_noun_of(word, newer)]
    extra = [word for word in extra if not (older.mentions(word) or is_among(word, known))]
    if len(newer.subject) > 1:  # "La mia nuova capa", where "os meus pais" begins with all that is read of it
        extra = [word for word in extra if not is_ours(word.raw)]
    if extra:
        return not is_agent(pair)
    if older.subject or newer.is_about_it:
        return False
    # "I sit on floor 4": the newer one is about the speaker, too, or about what the key names
    of_key = bool(newer.subject) and all_in(newer.subject, keys)
    without_subject = newer.is_unspaced and not newer.subject
    return older.is_of_speaker and not (newer.is_of_speaker or of_key or without_subject)


def _is_subject_the_value(pair: Pair) -> bool:
    """Return whether the newer one begins with its value, and says for the rest what the older one says: "my favorite
    is A", "B is my favorite".
    """
    older, newer = pair.older, pair.newer
    values, rest = newer.subject, newer.predicate
    is_value = bool(values) and all((word.is_name or word.kind) and not older.mentions(word) for word in values)
    known = (*older.subject, *pair.keys)
    # "I am on nights", "Aurélien went on nights": a name stands in the place of none
    is_value = is_value and any((word.is_name or word.kind) and not newer.mentions(word) for word in older.words)
    return is_value and pair.one_key and bool(rest) and all(is_among(word, known) for word in rest)


def _names(word: Token) -> bool:
    """Return whether a word of a subject tells which thing is meant: no day."""
    return tells(word) and word.kind not in lexicon.DAYLIKE


def _is_noun_of(word: Token, side: Side) -> bool:
    """Return whether a word of a subject tells which thing is meant, also one that may be a verb: "my work phone"."""
    if tells(word):
        return True
    places = re.finditer(rf"(?<!\w){re.escape(word.raw)}(?!\w)", lexicon.folded(side.text[:READ_CHARS]))
    return any(is_noun_at(side.text, place.start()) for place in islice(places, MAX_PLACES))


def _has_another_kind_of_value(pair: Pair) -> bool:
    if pair.clash or pair.ends_older or pair.is_pending:
        return False
    old, new = by_kind(pair.older.words), by_kind(pair.newer.words)
    if (
        pair.is_about_key
        and not new
        and any(word.is_name for word in pair.newer.words if not pair.older.mentions(word))
    ):
        return False  # "Ella is in year 4 at A", "Ella changed schools, she goes to B"
    if old.keys() & new.keys() & lexicon.DAYLIKE or (old.keys() & lexicon.DAYLIKE and new.keys() & lexicon.DAYLIKE):
        return False  # "on March 3" may have become "on Friday"
    untyped = _UNTYPED if old.keys() & lexicon.DAYLIKE else _UNTYPED | lexicon.DAYLIKE
    return any(
        kind not in untyped and values - others.get(kind, set())
        for values_of, others in ((old, new), (new, old))
        for kind, values in values_of.items()
    )


def _is_one_of_many(pair: Pair) -> bool:
    """Return whether the attribute has many values at a time, by its key, by a verb or by a plural."""
    if pair.is_unique or pair.ends_older or pair.is_pending or pair.displaces:
        return False
    older, key = pair.older, lexicon.folded(pair.older.key_text)
    if pair.has_many_values:
        return True
    # One has many things, and does many on some days; their number is one
    is_counted = pair.clash and not by_kind(older.words).keys() & lexicon.DAYLIKE
    if older.statement.verb in lexicon.HAVE and not older.subject and not is_counted and not _renews(pair):
        return True
    if pair.clash:
        return has_any(older.text, (grammar.MANY_AT_A_TIME,)) and begins_with_speaker(older.text)
    if lexicon.MANY.fullmatch(key) is not None and not pair.changed:
        return True
    if not pair.changed and _does_it_with_another(pair):
        return True
    is_plural = grammar.PLURAL_KEY.fullmatch(key) is not None and not older.subject and older.is_of_speaker
    return is_plural or has_any(older.text, (grammar.MANY_AT_A_TIME,))


def _does_it_with_another(pair: Pair) -> bool:
    """Return whether the speaker does the same with something else: "I run a club", "I run a shop". Where somebody is
    or does it is no such thing: "I work at A", "I work at B".
    """
    older, newer = pair.older, pair.newer
    if not (begins_with_speaker(older.text) and begins_with_speaker(newer.text)):
        return False
    texts = [lexicon.folded(side.text[:READ_CHARS]) for side in (older, newer)]
    words = [WORD.findall(text) for text in texts]
    same = next((at for at, (said, instead) in enumerate(zip(*words, strict=False)) if said != instead), 0)
    return (
        same > 1
        and words[0][same - 1] not in grammar.PLACING
        and not any(word in grammar.PLACING for word in words[0][1:same])
    )


def _is_of_another_attribute(pair: Pair) -> bool:
    """Return whether the key names only the subject, and nothing else tells that both are about one attribute."""
    if not (pair.one_key or pair.changed or pair.clash or pair.is_pending):
        return True  # The keys differ: it takes a second sign that they mean the same
    if pair.tells_what_became_of_it or pair.is_pending or pair.displaces or pair.exchanges:
        return False
    older, newer = pair.older, pair.newer
    # "家里的保姆换成了孙阿姨": the same thing has become another
    if newer.is_unspaced and has_any(newer.said, (lexicon.BECOMES,)) and all_in(older.subject, newer.words):
        return False
    if pair.names_attribute:
        # "I believe in the plan", "I doubt the dates": a key may be wider than what two sentences are about
        common = any(is_among(word, newer.clause) for word in older.words)
        return not (older.subject or newer.subject or pair.changed or pair.clash or common)
    if not (pair.clash or pair.has_one_value or _renews(pair) or _is_held_by_another(pair) or _says_it_otherwise(pair)):
        return True
    said, instead = ([word for word in side if not is_among(word, pair.keys)] for side in (older.words, newer.clause))
    return differing_places(said, instead, (older.text, newer.text)) > 1


def _says_it_otherwise(pair: Pair) -> bool:
    """Return whether it changed where something is, with what the same verb joins it, or only a name: "the coach is A",
    "the coach is B now".
    """
    older, newer = pair.older, pair.newer
    if older.is_at_home and newer.is_at_home:
        return True
    verb = older.statement.verb
    if not pair.changed or verb != newer.statement.verb or verb in lexicon.HAVE:
        return False
    aligned = align(older.words, newer.clause)
    places = [([*filter(tells, said)], [*filter(tells, instead)]) for said, instead in aligned]
    differing = [place for place in places if any(place)]
    names = len(differing) == 1 and all(differing[0])
    return bool(verb) or (names and all(word.is_name or word.kind for side in differing[0] for word in side))


def _is_held_by_another(pair: Pair) -> bool:
    """Return whether the older one says who or what is in a place, and the newer one names another: "our host is A",
    "our host is B", "we moved to B".
    """
    older, newer = pair.older, pair.newer
    if not _names_holder(older):
        return False
    if newer.subject and all(is_among(word, (*older.subject, *pair.keys)) for word in newer.subject):
        return _names_holder(newer)
    return pair.changed and any(word.is_name and not is_in(word, older.words) for word in newer.predicate)


def _names_holder(side: Side) -> bool:
    """Return whether it has the form "X is NAME"."""
    statement, predicate = side.statement, side.predicate
    is_identity = statement.has_subject and not (statement.placed or statement.past or statement.negated)
    is_identity = is_identity and (not statement.verb or statement.verb in whose_cues.CALLED)
    if side.is_unspaced:
        return is_identity and has_any(side.text, (whose_cues.TITLED,))
    return is_identity and bool(side.subject) and bool(predicate) and all(word.is_name for word in predicate)


def _renews(pair: Pair) -> bool:
    """Return whether the newer one has a new one of what the key names: "I have a new dentist, …"."""
    about = (*pair.older.subject, *pair.keys)
    return any(is_among(word, about) for word in new_in(pair.newer.said))


def _differs_in_a_second_place(pair: Pair) -> bool:
    older, newer = pair.older, pair.newer
    own = [word for word in newer.clause if not (word.kind or word.is_name or is_in(word, (*older.words, *older.key)))]
    if not has_any(older.text, (grammar.QUALIFIES,)) and qualifies(newer.text, own):
        return True
    if pair.tells_what_became_of_it or pair.ends_older:
        return False
    of_speaker = begins_with_speaker(older.text) and begins_with_speaker(newer.text)
    return sum(_contrasts(pair, of_speaker=of_speaker)) > 1


def _contrasts(pair: Pair, *, of_speaker: bool) -> Iterator[int]:
    """Yield, for each place in which the two differ, in how many things they do.

    A value and a name are two ("3 euros at Joe's", "4 euros at Lily's"), and so are a value and what stands behind it
    ("12 euros on weekdays"). Words before a value may be two verbs for one thing ("runs on port 1", "listens on 2"),
    unless both stand behind the same verb ("meet clients on Monday"). What precedes all common words of two sentences
    about the speaker is a verb.
    """
    older, newer = pair.older, pair.newer
    for is_behind, said, instead in aligned_after(older.words, newer.clause):
        words = [_telling(side, pair.keys) for side in (said, instead)]
        if of_speaker and not is_behind:
            if all(_has_behind_value(side) for side in words):
                yield 1
            words = [
                [word for word in side if word.kind or (word.is_name and not text.casefold().startswith(word.raw))]
                for side, text in zip(words, (older.text, newer.text), strict=True)
            ]
        if not all(words):
            continue
        values = all(any(word.kind not in {"", "colour"} for word in side) for side in words)
        named = all(_has_name_beside(side, any_word=of_speaker and is_behind) for side in words)
        # Without blanks no word stands between the topic and the value: "渡轮七点开", "货船现在九点开"
        named = named or (newer.is_unspaced and not is_behind and all(map(_has_before_value, words)))
        yield 2 if values and named else 1
        is_object = of_speaker and is_behind and not any(word.kind for side in words for word in side)
        if is_object and are_apart(words[0], older.text) and are_apart(words[1], newer.text):
            yield 1


def _telling(words: Sequence[Token], keys: Collection[Token]) -> list[Token]:
    return [word for word in words if not is_among(word, keys) and (word.kind or tells(word))]


def _has_behind_value(words: Sequence[Token]) -> bool:
    first = next((at for at, word in enumerate(words) if word.kind), len(words))
    return any(not word.kind for word in words[first + 1 :])


def _has_before_value(words: Sequence[Token]) -> bool:
    return any(not word.kind for word in words[:1])


def _has_name_beside(words: Sequence[Token], *, any_word: bool) -> bool:
    return _has_behind_value(words) or any(not word.kind and (word.is_name or any_word) for word in words)


# A key that names an attribute with one value outweighs one of these
_DOUBTS: Final[tuple[Callable[[Pair], bool], ...]] = (
    _lacks_anchor,
    leaves_out_two,
    _has_another_kind_of_value,
)
_SIGNS: Final[tuple[Callable[[Pair], bool], ...]] = (
    denies,
    _is_of_the_past,
    holds_at_another_time,
    is_of_another,
    _has_another_kind_of_value,
    _is_one_of_many,
    _is_of_another_attribute,
    _differs_in_a_second_place,
    _exchanges_two,
    _is_about_another_thing,
    was_an_event,
    is_of_one_of_several,
    came_out,
    _speaks_of_another_matter,
    _repeats_the_value,
    is_of_another_end,
)
