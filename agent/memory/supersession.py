"""Does a newer statement take the place of an older one? (Seed 003, supersession rules 1 and 2.) Pure.

A superseded truth is worse than two truths side by side, so in doubt both stand. Two statements are compared only if
they have the same subject, word for word. Then the newer one takes the older one's place if one of these is sure:

    both give a value of one kind, and not the same      "the rent is $900", "the rent is $950"
    both name what there is one of                       "my manager is Ann", "my manager is Ben"
    one denies what the other says                       "I eat meat", "I no longer eat meat"
    it says what it takes the place of                   "I use Vim", "I switched from Vim to Emacs"
    their states exclude each other                      "the shop is open", "the shop is closed now"

What merely happened ("we paid $80 on Monday"), what recurs, and what is said "also" contradicts nothing. Where a model
has read both and names the older one, it is enough that they may be about the same (`about_the_same`).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from agent.memory import lexicon
from agent.memory.facts import same_key
from agent.memory.statements import READ_CHARS, Statement, read_statement, sentences, states_in, stem

_REASON_BEFORE: Final = re.compile("(?:な)?ので|だから|ため(?:に|、)")  # In Japanese the reason stands before its word
_DIGITS: Final = re.compile(r"\d[\d,]{0,20}(?:\.\d{1,9})?")
_CLAUSES: Final = re.compile("[,;，；、]")
MAX_CLAUSES: Final = 8  # A sentence with more is a list
_NUMBER: Final = frozenset({"number"})
_AGE: Final = frozenset({"age"})
_GENERIC: Final = frozenset(map(stem, lexicon.GENERIC_VERBS)) | lexicon.GENERIC_VERBS


def contradicts(older: str, newer: str, *, about: tuple[str, str] = ("", "")) -> bool:
    """Can the two surely not both hold now? `about`: the keys that they stand under. What is more than one sentence
    says too much to be taken back by another.
    """
    if max(len(older), len(newer)) > READ_CHARS or max(len(sentences(older)), len(sentences(newer))) != 1:
        return False
    return replaces(read_statement(older, about=about[0]), read_statement(newer, about=about[1]))


def replaces(older: Statement, newer: Statement) -> bool:
    if (older.values, older.content, older.negated) == (newer.values, newer.content, newer.negated):
        return False
    if newer.adds or different_identifiers(older, newer):
        return False
    if _displaces(older, newer) or _switches(older, newer):
        return True
    if newer.ended or newer.negated != older.negated:
        return _denies(older, newer)
    if not same_subject(older, newer):
        return _corrects(older, newer)
    if newer.cancelled and not older.cancelled:
        return older.progress or bool(older.kinds() & lexicon.TIMES)
    return _other_state(older, newer) or _other_value(older, newer) or _other_name(older, newer)


def comparable(older: Statement, newer: Statement) -> bool:
    """May one replace or update the other at all? A quick answer for most."""
    return (
        older.subject == newer.subject
        or older.negated != newer.negated
        or newer.ended
        or bool(newer.displaced)
        or (newer.changes and (older.anaphoric or newer.subject <= older.content))
    )


def updates(older: Statement, newer: Statement) -> bool:
    """Does the newer one, said later in one conversation with a word of change, mean the older one? Less is asked than
    of what surely contradicts: what it is about may be said in fewer words, as people do who have just spoken of it.
    """
    if not newer.changes or newer.adds or older.past or different_identifiers(older, newer):
        return False
    if not newer.subject or (older.values and older.values == newer.values) or newer.negated != older.negated:
        return False
    if not newer.subject <= older.content and not _settled_by(older, newer):
        return False
    if not older.values and not newer.values:
        if older.progress and newer.progress:
            return older.said != newer.said or states_in(older) != states_in(newer)
        return newer.unique and newer.has_subject and not newer.said <= older.said
    return clash(older, newer) or other_day(older, newer) or (newer.cancelled and not newer.values)


def _settled_by(older: Statement, newer: Statement) -> bool:
    """Does "the final date is …" end what was told of the same date before it ("then we moved it to …")?"""
    if (
        not older.anaphoric
        or not older.subject
        or lexicon.FINAL.search(lexicon.folded(newer.text[:READ_CHARS])) is None
    ):
        return False
    return all(lexicon.ONCE.fullmatch(word) for word in older.subject - newer.subject)


def taken_back(value: str, successor: str, reading: Callable[[str], Statement] = read_statement) -> list[str]:
    """What of a value no longer holds, now that another has superseded it: all of a single sentence; of several, which
    say more than one thing, those that the successor speaks about. `reading` may know already what a sentence says.
    """
    parts = sentences(value)
    if len(parts) <= 1:
        return [value]
    newer = [*map(reading, sentences(successor))]
    older = ((part, reading(part)) for part in parts)
    return [part for part, said in older if any(same_subject(said, one) for one in newer)]


def about_the_same(older: str, newer: str, *, about: tuple[str, str] = ("", "")) -> bool:
    """May one take the place of the other, if somebody who read both says so? They stand under one key, or share words
    of what they are about, and do not speak of two different things. `about`: the keys that they stand under.

    Two prices share no such word, nor do two sentences that share only their verb: "we pay $900 for the flat" says
    nothing of "we pay $300 for a bike".
    """
    if different_subjects(older, newer):
        return False
    if same_key(*about):
        return True
    one, other = read_statement(older, about=about[0]), read_statement(newer, about=about[1])
    if one.has_subject and other.has_subject:
        return bool(one.subject & other.content or other.subject & one.content)
    shared = one.content & other.content
    each_says_more = shared < one.content and shared < other.content
    if each_says_more and one.kinds() & other.kinds() and not (one.has_subject or other.has_subject):
        shared -= read_statement(older).subject & read_statement(newer).subject
    return bool(shared)


def different_subjects(older: str, newer: str) -> bool:
    """Do two sentences speak of two things: "Ann's phone is …" and "Ben's phone is …", invoices 1001 and 1002?"""
    one, other = read_statement(older), read_statement(newer)
    if not (one.has_subject and other.has_subject):
        return False
    if different_identifiers(one, other):
        return True
    if one.subject & other.subject:
        return bool(one.subject - other.subject) and bool(other.subject - one.subject)
    return bool(one.names) and bool(other.names)


def different_identifiers(older: Statement, newer: Statement) -> bool:
    """Invoice 1001 and invoice 1002 are two things, unless it is said that one changed into the other."""
    if older.identifiers == newer.identifiers:
        return False
    named = bool(older.identifiers & older.subject) or bool(newer.identifiers & newer.subject)
    return named or not newer.changes


def gives_as_reason(text: str, ground: str) -> bool:
    """Does a sentence say that something holds because of this: a value of it, about the same?"""
    text = text[:READ_CHARS]
    cue, before = lexicon.REASON.search(lexicon.folded(text)), _REASON_BEFORE.search(text)
    if cue is None and before is None:
        return False
    reason, known = (
        read_statement(text[cue.end() :] if cue else text[: before.start() if before else 0]),
        read_statement(ground),
    )
    return bool(known.values & reason.values) and bool(known.content & reason.content)


def overrules(binding: Statement, other: Statement, *, same_key: bool = False) -> bool:
    """Does what binds say otherwise about the same: "at most 15 %", and there "25 %"? What keeps within a limit is not
    overruled. `same_key`: they stand under one key.
    """
    about = (binding.subject and binding.subject <= other.content) or (
        other.subject and other.subject <= binding.content
    )
    if not (same_key or about) or binding.negated != other.negated:
        return False
    kinds = binding.kinds() & other.kinds()
    return any(_beyond(binding, other, kind) for kind in kinds)


def _beyond(binding: Statement, other: Statement, kind: str) -> bool:
    limits, given = binding.of_kind(kind), other.of_kind(kind)
    if limits & given:
        return False
    numbers = [[number for one in some if (number := _number(one)) is not None] for some in (limits, given)]
    if kind in lexicon.TIMES - {"duration"} or not all(numbers):
        return True
    limit = lexicon.folded(binding.text[:READ_CHARS])
    if lexicon.AT_MOST.search(limit):
        return min(numbers[1]) > max(numbers[0])
    return max(numbers[1]) < min(numbers[0]) if lexicon.AT_LEAST.search(limit) else True


def _number(value: str) -> float | None:
    found = _DIGITS.search(value)
    if found is None:
        return None
    plain = found.group().rstrip(".,").replace(",", "")
    return float(plain) * {"k": 1e3, "m": 1e6, "b": 1e9}.get(value[found.end() : found.end() + 1], 1)


def clash(older: Statement, newer: Statement) -> bool:
    """Do they give values of one kind, and no common one? An older one with more values says more than this one."""
    if not older.values or not newer.values or older.values & newer.values:
        return False
    shared = older.kinds() & newer.kinds()
    return bool(shared) and all(len(older.of_kind(kind)) <= len(newer.of_kind(kind)) for kind in shared)


def same_subject(older: Statement, newer: Statement) -> bool:
    """Word for word; without a word, the same person."""
    if older.subject or newer.subject:
        return older.subject == newer.subject
    return not older.about or not newer.about or older.about == newer.about


def _other_value(older: Statement, newer: Statement) -> bool:
    if older.past or (newer.past and not newer.changes):
        return False
    if (older.habit or newer.habit) and not (newer.moves and older.habit == newer.habit):
        return False
    if not (older.subject or older.verb in lexicon.HAVE or older.kinds() == _AGE):
        return False  # "I met them on Monday": what somebody does at one time contradicts nothing at another
    if not older.subject and older.kinds() & lexicon.TIMES:
        return False
    said = newer.said <= older.said if newer.moves else newer.said == older.said
    if not said:
        return False
    if clash(older, newer):
        kinds = older.kinds() & newer.kinds()
        single = len(kinds) == 1 or (kinds <= lexicon.TIMES and (newer.changes or older.definite))
        return single and (newer.changes or older.kinds() == newer.kinds())
    return newer.changes and other_day(older, newer)


def other_day(older: Statement, newer: Statement) -> bool:
    """A weekday and a date may be one day, unless one is said to have changed into the other."""
    both = older.kinds() & lexicon.DAYLIKE and newer.kinds() & lexicon.DAYLIKE
    return bool(both) and not older.values & newer.values


def _other_name(older: Statement, newer: Statement) -> bool:
    """Is there one of what both name, and are the names not the same?"""
    if older.decides or newer.decides:
        return older.decides and newer.decides and bool(older.said) and bool(newer.said)
    if older.resides and newer.settles and not newer.values:
        return True
    if older.verb == newer.verb == "负责":
        return newer.changes and older.said != newer.said
    if older.past or (older.verb != newer.verb and not newer.moves):
        return False
    if older.values or newer.values:
        one_of = older.unique and older.kinds() == newer.kinds() == _NUMBER
        return one_of and not older.values & newer.values and older.said != newer.said
    old, new = older.said - newer.said, newer.said - older.said
    if not old or not new or len(old) > 4 or len(new) > 4:
        return False
    if (older.resides and newer.resides) or (older.placed and newer.placed and older.definite and older.subject):
        return True
    changed = newer.changes or newer.new
    if not older.subject:
        return (
            changed
            and bool(older.verb)
            and older.verb == newer.verb
            and older.verb not in lexicon.HAVE
            and older.about == newer.about
            and _WORKS.match(older.verb) is not None
        )
    return older.unique or newer.unique or (changed and older.verb not in lexicon.HAVE and bool(newer.said))


_WORKS: Final = re.compile(r"(?:work|arbeite|trabaj|live|wohn|viv|host|prefer|bevorzug|prefier|工作)")


def _corrects(older: Statement, newer: Statement) -> bool:
    """Is it the same sentence with another name in it, said to be how it really is ("Change of plan: …")?"""
    if not newer.changes or older.values != newer.values or older.about != newer.about or older.past:
        return False
    old, new, same = older.content - newer.content, newer.content - older.content, older.content & newer.content
    if not (0 < len(old) <= 2 and 0 < len(new) <= 2 and len(same) > 1):
        return False
    return lexicon.CORRECTS.search(lexicon.folded(newer.text[:READ_CHARS])) is not None


def _denies(older: Statement, newer: Statement) -> bool:
    """One says that it is, the other that it is not, and both say it of the same in the same words."""
    if older.values != newer.values or (older.negated and newer.negated and not newer.ended):
        return False
    if older.about and newer.about and older.about != newer.about:
        return False
    if newer.ended and not older.negated:
        newer = _ended_clause(newer)
        return bool(newer.content) and newer.content <= older.content and newer.subject <= older.content
    return newer.content == older.content and bool(newer.content)


def _ended_clause(newer: Statement) -> Statement:
    """Of "I no longer go by bus, I cycle" what has ended."""
    return _ended_in(newer.text) if _CLAUSES.search(newer.text[:READ_CHARS]) else newer


@lru_cache(maxsize=64)
def _ended_in(text: str) -> Statement:
    clauses = _CLAUSES.split(text[:READ_CHARS], maxsplit=MAX_CLAUSES)
    found = next((one for one in clauses if lexicon.ENDED.search(lexicon.folded(one))), text)
    return read_statement(found)


def _displaces(older: Statement, newer: Statement) -> bool:
    """It names what it takes the place of, and that is what the older one says."""
    if older.negated or newer.negated:
        return False
    for gone in newer.displaced:
        if not gone <= older.content:
            continue
        left = older.content - gone - _GENERIC - newer.content
        told = (older.content - gone) & newer.content
        spoken = older.about and older.about == newer.about and not older.has_subject
        if len(left) == 1 and spoken and told:
            left = frozenset[str]()  # its verb: "we write our tests with …"
        whose = older.about and newer.about and older.about != newer.about
        if whose or left or (older.has_subject and not older.subject - gone <= newer.content):
            continue
        if not older.subject and newer.subject and not (newer.subject & older.content):
            continue  # somebody else's
        return True
    return False


def _switches(older: Statement, newer: Statement) -> bool:
    """Does it say in Chinese that one does the same with something else ("我喝咖啡", "我改喝茶了")? One uses many
    things: of those the kind must be the same, or what for ("我用Jira管理任务", "我改用Linear管理任务了").
    """
    now = lexicon.SWITCHES.match(newer.text[:READ_CHARS]) if newer.changes and not older.past else None
    if now is None or older.negated or newer.negated:
        return False
    was = older.text[:READ_CHARS].rstrip("。.!！了 ")
    verb = now["verb"] or "用"
    if not was.startswith(now["who"] + verb) or not now["who"]:
        return False
    had, has = was[len(now["who"]) + 1 :], now["what"].rstrip("。.!！了 ")
    if not had or had == has:
        return False
    return verb != "用" or (len(had) > 2 and had[-2:] == has[-2:])


def _other_state(older: Statement, newer: Statement) -> bool:
    if older.past or not older.subject:
        return False
    new = lexicon.folded(newer.text[:READ_CHARS])
    if lexicon.ANY_STATE.search(new) is None:
        return False
    old = lexicon.folded(older.text[:READ_CHARS])
    for one, other in lexicon.STATES:
        pairs = ((one, other), (other, one))
        if any(now.search(new) and was.search(old) and not was.search(new) for was, now in pairs):
            return True
    return False
