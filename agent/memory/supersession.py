"""Decides whether a newer statement supersedes an older one (seed 003, supersession rules 1 and 2). Pure.

It is worse to lose a true statement than to keep an outdated one, so in doubt both are kept. Two statements are
compared only if they have the same subject, word for word. The newer one supersedes the older one if one of these is
certain:

    they give different values of the same kind          "the rent is $900", "the rent is $950"
    they name different holders of a unique role         "my manager is Ann", "my manager is Ben"
    one denies the other                                 "I eat meat", "I no longer eat meat"
    the newer one names what it replaces                 "I use Vim", "I switched from Vim to Emacs"
    their states exclude each other                      "the shop is open", "the shop is closed now"

Single events ("we paid $80 on Monday"), repeated events and additions ("also …") contradict nothing. If a model has
read both statements and names the older one, it is enough that both can be about the same thing (`about_the_same`).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from agent.memory import lexicon
from agent.memory.facts import same_key
from agent.memory.statements import READ_CHARS, Statement, read_statement, sentences, states_in, stem

_REASON_BEFORE: Final = re.compile("(?:な)?ので|だから|ため(?:に|、)")  # In Japanese the reason precedes its marker
_DIGITS: Final = re.compile(r"\d[\d,]{0,20}(?:\.\d{1,9})?")
_CLAUSES: Final = re.compile("[,;，；、]")
MAX_CLAUSES: Final = 8  # A sentence with more is a list
_NUMBER: Final = frozenset({"number"})
_AGE: Final = frozenset({"age"})
_GENERIC: Final = frozenset(map(stem, lexicon.GENERIC_VERBS)) | lexicon.GENERIC_VERBS


def contradicts(older: str, newer: str, *, about: tuple[str, str] = ("", "")) -> bool:
    """Return whether the two certainly cannot both hold now. `about`: their keys.

    A text of several sentences says more than one thing, so it never contradicts another as a whole.
    """
    if max(len(older), len(newer)) > READ_CHARS or max(len(sentences(older)), len(sentences(newer))) != 1:
        return False
    return replaces(read_statement(older, about=about[0]), read_statement(newer, about=about[1]))


def replaces(older: Statement, newer: Statement) -> bool:
    if (older.values, older.content, older.negated) == (newer.values, newer.content, newer.negated):
        return False
    if newer.adds or different_identifiers(older, newer):
        return False
    # "X instead of Y" names what it replaces, so the subjects need not be compared.
    if _displaces(older, newer) or _switches(older, newer):
        return True
    # A denial removes only the same statement: "not on Monday" says nothing about Tuesday.
    if newer.ended or newer.negated != older.negated:
        return _denies(older, newer)
    if not same_subject(older, newer):
        return _corrects(older, newer)
    # What can be cancelled is an undertaking or a date, not a property of the thing.
    if newer.cancelled and not older.cancelled:
        return older.progress or bool(older.kinds() & lexicon.TIMES)
    return _other_state(older, newer) or _other_value(older, newer) or _other_name(older, newer)


def comparable(older: Statement, newer: Statement) -> bool:
    """Return whether one can replace or update the other at all: a quick check before the others."""
    return (
        older.subject == newer.subject
        or older.negated != newer.negated
        or newer.ended
        or bool(newer.displaced)
        or (newer.changes and (older.anaphoric or newer.subject <= older.content))
    )


def updates(older: Statement, newer: Statement) -> bool:
    """Return whether the newer statement, from the same conversation and with a word of change, updates the older.

    This asks for less than a certain contradiction: its subject may have fewer words, because the conversation has just
    named it.
    """
    if not newer.changes or newer.adds or older.past or different_identifiers(older, newer):
        return False
    if not newer.subject or (older.values and older.values == newer.values) or newer.negated != older.negated:
        return False
    # The newer one may leave out what the conversation has just named, but may not bring in another thing.
    if not newer.subject <= older.content and not _settled_by(older, newer):
        return False
    if not older.values and not newer.values:
        # Of two reports of progress on one thing the newer one holds, unless it says the same.
        if older.progress and newer.progress:
            return older.said != newer.said or states_in(older) != states_in(newer)
        # Without values, only what has one holder at a time can be updated by naming another.
        return newer.unique and newer.has_subject and not newer.said <= older.said
    return clash(older, newer) or other_day(older, newer) or (newer.cancelled and not newer.values)


def _settled_by(older: Statement, newer: Statement) -> bool:
    """Return whether "the final date is …" settles an earlier statement about that date ("then we moved it to …")."""
    if (
        not older.anaphoric
        or not older.subject
        or lexicon.FINAL.search(lexicon.folded(newer.text[:READ_CHARS])) is None
    ):
        return False
    return all(lexicon.ONCE.fullmatch(word) for word in older.subject - newer.subject)


def taken_back(value: str, successor: str, reading: Callable[[str], Statement] = read_statement) -> list[str]:
    """Return the sentences of a value that no longer hold after `successor` superseded it.

    A single sentence no longer holds as a whole. Of several sentences, only those with a subject of the successor no
    longer hold. `reading` may be a cache around `read_statement`.
    """
    old_sentences = sentences(value)
    if len(old_sentences) <= 1:
        return [value]
    new_statements = [*map(reading, sentences(successor))]
    older = ((part, reading(part)) for part in old_sentences)
    return [
        part
        for part, statement in older
        if any(same_subject(statement, new_statement) for new_statement in new_statements)
    ]


def about_the_same(older: str, newer: str, *, about: tuple[str, str] = ("", "")) -> bool:
    """Return whether the two can be about the same thing. A model or a user that read both decides whether they are.

    True if they have one key or share content words, and do not name two different things. `about`: their keys. Two
    prices alone share no such word, nor do sentences that share only their verb: "we pay $900 for the flat" and "we pay
    $300 for a bike".
    """
    if different_subjects(older, newer):
        return False
    if same_key(*about):
        return True
    old, new = read_statement(older, about=about[0]), read_statement(newer, about=about[1])
    if old.has_subject and new.has_subject:
        return bool(old.subject & new.content or new.subject & old.content)
    shared = old.content & new.content
    each_says_more = shared < old.content and shared < new.content
    if each_says_more and old.kinds() & new.kinds() and not (old.has_subject or new.has_subject):
        shared -= read_statement(older).subject & read_statement(newer).subject
    return bool(shared)


def different_subjects(older: str, newer: str) -> bool:
    """Return whether two sentences name different things: "Ann's phone is …" and "Ben's phone is …", two invoices."""
    old, new = read_statement(older), read_statement(newer)
    if not (old.has_subject and new.has_subject):
        return False
    if different_identifiers(old, new):
        return True
    if old.subject & new.subject:
        return bool(old.subject - new.subject) and bool(new.subject - old.subject)
    return bool(old.names) and bool(new.names)


def different_identifiers(older: Statement, newer: Statement) -> bool:
    """Return whether the two name different identifiers: invoices 1001 and 1002, unless one changed into the other."""
    if older.identifiers == newer.identifiers:
        return False
    named = bool(older.identifiers & older.subject) or bool(newer.identifiers & newer.subject)
    return named or not newer.changes


def gives_as_reason(text: str, ground: str) -> bool:
    """Return whether a sentence gives `ground` as its reason: the reason shares a value and content words with it."""
    text = text[:READ_CHARS]
    cue, reason_before = lexicon.REASON.search(lexicon.folded(text)), _REASON_BEFORE.search(text)
    if cue is None and reason_before is None:
        return False
    reason, ground_statement = (
        read_statement(text[cue.end() :] if cue else text[: reason_before.start() if reason_before else 0]),
        read_statement(ground),
    )
    return bool(ground_statement.values & reason.values) and bool(ground_statement.content & reason.content)


def overrules(binding: Statement, other: Statement, *, same_key: bool = False) -> bool:
    """Return whether a constraint ("at most 15 %") excludes another statement about the same subject ("25 %").

    A value within the limit is not overruled. `same_key`: whether both have one key, and so one subject.
    """
    about = (binding.subject and binding.subject <= other.content) or (
        other.subject and other.subject <= binding.content
    )
    if not (same_key or about) or binding.negated != other.negated:
        return False
    kinds = binding.kinds() & other.kinds()
    return any(_beyond(binding, other, kind) for kind in kinds)


def _beyond(binding: Statement, other: Statement, kind: str) -> bool:
    limit_values, other_values = binding.of_kind(kind), other.of_kind(kind)
    if limit_values & other_values:
        return False
    numbers = [
        [number for value in values if (number := _number(value)) is not None]
        for values in (limit_values, other_values)
    ]
    if kind in lexicon.TIMES - {"duration"} or not all(numbers):
        return True
    limit_text = lexicon.folded(binding.text[:READ_CHARS])
    if lexicon.AT_MOST.search(limit_text):
        return min(numbers[1]) > max(numbers[0])
    return max(numbers[1]) < min(numbers[0]) if lexicon.AT_LEAST.search(limit_text) else True


def _number(value: str) -> float | None:
    match = _DIGITS.search(value)
    if match is None:
        return None
    digits = match.group().rstrip(".,").replace(",", "")
    return float(digits) * {"k": 1e3, "m": 1e6, "b": 1e9}.get(value[match.end() : match.end() + 1], 1)


def clash(older: Statement, newer: Statement) -> bool:
    """Return whether both give values of one kind, and none in common.

    An older statement with more values of that kind says more than the newer one, so it does not clash.
    """
    if not older.values or not newer.values or older.values & newer.values:
        return False
    shared = older.kinds() & newer.kinds()
    return bool(shared) and all(len(older.of_kind(kind)) <= len(newer.of_kind(kind)) for kind in shared)


def same_subject(older: Statement, newer: Statement) -> bool:
    """Return whether the subjects are equal word for word, or, without a subject, the persons."""
    if older.subject or newer.subject:
        return older.subject == newer.subject
    return not older.about or not newer.about or older.about == newer.about


def _other_value(older: Statement, newer: Statement) -> bool:
    if older.past or (newer.past and not newer.changes):
        return False
    if (older.habit or newer.habit) and not (newer.moves and older.habit == newer.habit):
        return False
    if not (older.subject or older.verb in lexicon.HAVE or older.kinds() == _AGE):
        return False  # "I met them on Monday": an event at one time contradicts none at another
    if not older.subject and older.kinds() & lexicon.TIMES:
        return False
    same_predicate = newer.said <= older.said if newer.moves else newer.said == older.said
    if not same_predicate:
        return False
    if clash(older, newer):
        kinds = older.kinds() & newer.kinds()
        single = len(kinds) == 1 or (kinds <= lexicon.TIMES and (newer.changes or older.definite))
        return single and (newer.changes or older.kinds() == newer.kinds())
    return newer.changes and other_day(older, newer)


def other_day(older: Statement, newer: Statement) -> bool:
    """Return whether both give a day, and no value in common.

    A weekday and a date can be the same day, so this means a contradiction only if the newer one announces a change.
    """
    both = older.kinds() & lexicon.DAYLIKE and newer.kinds() & lexicon.DAYLIKE
    return bool(both) and not older.values & newer.values


def _other_name(older: Statement, newer: Statement) -> bool:
    """Return whether both name the holder of a unique role or place, and the names differ."""
    # Two decisions for one purpose exclude each other; a decision and a mere statement do not.
    if older.decides or newer.decides:
        return older.decides and newer.decides and bool(older.said) and bool(newer.said)
    # Whoever settles in a place left the former one, although the verbs differ.
    if older.resides and newer.settles and not newer.values:
        return True
    # Several people may share a duty: only a word of change says that one took over.
    if older.verb == newer.verb == "负责":
        return newer.changes and older.said != newer.said
    if older.past or (older.verb != newer.verb and not newer.moves):
        return False
    # Of values only numbers are names, of a unique thing ("my phone number is …"); times and amounts have rules of
    # their own.
    if older.values or newer.values:
        one_of = older.unique and older.kinds() == newer.kinds() == _NUMBER
        return one_of and not older.values & newer.values and older.said != newer.said
    only_old, only_new = older.said - newer.said, newer.said - older.said
    # A name has up to four words; longer differences are other statements, not other names.
    if not only_old or not only_new or len(only_old) > 4 or len(only_new) > 4:
        return False
    if older.placed and newer.moves and older.definite and older.subject:
        return True
    # A person lives in one place, and a definite thing stands in one.
    if (older.resides and newer.resides) or (older.placed and newer.placed and older.definite and older.subject):
        return True
    changed = newer.changes or newer.new
    if not older.subject:
        # Only the speaker is the subject ("I work at A", "I now work at B"): it takes a word of change and a verb like
        # "work", since people have and use several of most things.
        return (
            changed
            and bool(older.verb)
            and older.verb == newer.verb
            and older.verb not in lexicon.HAVE
            and older.about == newer.about
            and _WORKS.match(older.verb) is not None
        )
    # "is" alone joins anything: "the report is long" and "the report is now confidential" both hold
    becomes = lexicon.BECOMES.search(lexicon.folded(newer.text[:READ_CHARS])) is not None
    is_one_thing = (bool(older.verb) or becomes) and older.verb not in lexicon.HAVE
    return older.unique or newer.unique or (changed and is_one_thing and bool(newer.said))


_WORKS: Final = re.compile(r"(?:work|arbeite|trabaj|live|wohn|viv|host|prefer|bevorzug|prefier|工作)")


def _corrects(older: Statement, newer: Statement) -> bool:
    """Return whether the newer one repeats the sentence with another name, as a correction ("Change of plan: …")."""
    if not newer.changes or older.values != newer.values or older.about != newer.about or older.past:
        return False
    only_old, only_new, shared = (
        older.content - newer.content,
        newer.content - older.content,
        older.content & newer.content,
    )
    if not (0 < len(only_old) <= 2 and 0 < len(only_new) <= 2 and len(shared) > 1):
        return False
    return lexicon.CORRECTS.search(lexicon.folded(newer.text[:READ_CHARS])) is not None


def _denies(older: Statement, newer: Statement) -> bool:
    """Return whether one states and the other denies the same thing in the same words."""
    if older.values != newer.values or (older.negated and newer.negated and not newer.ended):
        return False
    # "He" and "she" are two people, also where all other words are the same.
    if older.about and newer.about and older.about != newer.about:
        return False
    # "We no longer use X" denies "we use X" also with fewer words, but never with more.
    if newer.ended and not older.negated:
        newer = _ended_clause(newer)
        return bool(newer.content) and newer.content <= older.content and newer.subject <= older.content
    return newer.content == older.content and bool(newer.content)


def _ended_clause(newer: Statement) -> Statement:
    """Return the clause that has ended: "I no longer go by bus" of "I no longer go by bus, I cycle"."""
    return _ended_in(newer.text) if _CLAUSES.search(newer.text[:READ_CHARS]) else newer


@lru_cache(maxsize=64)
def _ended_in(text: str) -> Statement:
    clauses = _CLAUSES.split(text[:READ_CHARS], maxsplit=MAX_CLAUSES)
    ended = next((clause for clause in clauses if lexicon.ENDED.search(lexicon.folded(clause))), text)
    return read_statement(ended)


def _displaces(older: Statement, newer: Statement) -> bool:
    """Return whether the newer one names what it replaces, and the older one says that."""
    if older.negated or newer.negated:
        return False
    for replaced in newer.displaced:
        if not replaced <= older.content:
            continue
        unmatched = older.content - replaced - _GENERIC - newer.content
        shares_rest = (older.content - replaced) & newer.content
        same_person = older.about and older.about == newer.about and not older.has_subject
        if len(unmatched) == 1 and same_person and shares_rest:
            unmatched = frozenset[str]()  # its verb: "we write our tests with …"
        other_person = older.about and newer.about and older.about != newer.about
        if other_person or unmatched or (older.has_subject and not older.subject - replaced <= newer.content):
            continue
        if not older.subject and newer.subject and not (newer.subject & older.content):
            continue  # about another person's
        return True
    return False


def _switches(older: Statement, newer: Statement) -> bool:
    """Return whether the newer one says in Chinese that a person switched ("我喝咖啡", "我改喝茶了").

    A person uses many things, so for "用" the kind or purpose must be the same ("我用Jira管理任务",
    "我改用Linear管理任务了").
    """
    switch = lexicon.SWITCHES.match(newer.text[:READ_CHARS]) if newer.changes and not older.past else None
    if switch is None or older.negated or newer.negated:
        return False
    # Chinese has no spaces to split at, so the old sentence has to begin with the same person and verb.
    old_text = older.text[:READ_CHARS].rstrip("。.!！了 ")
    verb = switch["verb"] or "用"
    if not old_text.startswith(switch["who"] + verb) or not switch["who"]:
        return False
    old_thing, new_thing = old_text[len(switch["who"]) + 1 :], switch["what"].rstrip("。.!！了 ")
    # One character is the verb: what is behind it is the thing.
    if not old_thing or old_thing == new_thing:
        return False
    # The last two characters of a Chinese noun phrase name its kind or purpose.
    return verb != "用" or (len(old_thing) > 2 and old_thing[-2:] == new_thing[-2:])


def _other_state(older: Statement, newer: Statement) -> bool:
    if older.past or not older.subject:
        return False
    new_text = lexicon.folded(newer.text[:READ_CHARS])
    if lexicon.ANY_STATE.search(new_text) is None:
        return False
    old_text = lexicon.folded(older.text[:READ_CHARS])
    for first, second in lexicon.STATES:
        pairs = ((first, second), (second, first))
        if any(
            after.search(new_text) and before.search(old_text) and not before.search(new_text)
            for before, after in pairs
        ):
            return True
    return False
