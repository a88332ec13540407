"""A past thread beside the facts: which of it still holds, and how it is quoted. Pure.

Rules
  What somebody said later in the thread takes the place of what they said before, and of a fact that is older than the
  message (seed 003, rules 1, 2 and 4), except a fact that binds or that a greater authority wrote (rule 3). A message
  from which facts were written has had its say in writing. It does so if it surely contradicts, or if a word of change
  stands in it and what it is about was spoken of: then the last that was said about it is meant. A message that begins
  with "Update:" or "Correction:" takes the place of the last message about the same.
  Quoted is what holds and is not said by the facts already. Superseded sentences are left out, superseded values
  in others are withheld. A hypothetical, a draft and another task are left out, unless the question is about them; so
  is what says of itself that it held before ("originally …"). A question states nothing. Of what one person said in
  nearly the same words the newest is quoted, with its date: a "not" or another day may be all that differs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from agent.admission_terms import Authority
from agent.memory.facts import Fact, Scope, is_hypothetical, scopes_of
from agent.memory.marking import Superseded, mostly_superseded, withhold
from agent.memory.statements import (
    QUESTION_CHARS,
    Statement,
    held_before,
    is_update,
    read_statement,
    restores,
    sentences,
    states_in,
    telling_part,
)
from agent.memory.supersession import clash, comparable, other_day, replaces, updates

Reading = Callable[[str], Statement]
# Of what was said before about the same, the newest that a sentence is compared with: a thread of hundreds of sentences
# about one thing takes no longer than one of as many things.
COMPARED: Final = 40
NOT_NEWS: Final = 0.3  # A sentence with no larger share of new words repeats what is known


REMARK_WORDS: Final = 2  # A longer sentence with "that" or "it" in it may say more than a remark does
_BACK: Final = frozenset({"back", "again", "after", "all"})  # Words that say that something holds again, and not what


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One message of a past thread, and who wrote it: the person who asks (`mine`), the bot, or somebody else, called
    `name`, with the id `person`. `id` is the stored message's. `own`: nobody but the asker's words stand in it, and
    what the bot told them of its own.
    """

    text: str
    time: datetime
    mine: bool = True
    id: int | None = None
    by_bot: bool = False
    name: str = ""
    person: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Outdated:
    """What a thread says about the facts: ids of those that no longer hold, superseded values that hold again (in small
    letters), sentences that were taken back, and the sentences that did it.
    """

    facts: frozenset[str] = frozenset()
    restored: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()
    current: tuple[str, ...] = ()


def outdated(
    thread: Sequence[PastMessage],
    facts: Sequence[Fact],
    history: Sequence[Fact],
    authority: Authority,
    reading: Reading = read_statement,
) -> Outdated:
    """Compare a thread, oldest message first, with the facts that are valid and with their superseded `history`.

    `authority` is that of the person who wrote. `reading` may know already what a sentence says.
    """
    listener = _Listener(facts, history, authority, reading)
    for said, scope in zip(thread, scopes_of([said.text for said in thread]), strict=True):
        if said.mine and scope is Scope.GLOBAL:
            listener.hear(said)
    return listener.outcome()


class _Listener:
    """Hears one message after the other, and keeps what still stands."""

    def __init__(self, facts: Sequence[Fact], history: Sequence[Fact], authority: Authority, reading: Reading) -> None:
        self._reading = reading
        self._facts = facts
        self._history = history
        self._open = {
            fact.id: (fact, fact.statement) for fact in facts if not fact.is_constraint and fact.authority <= authority
        }
        self._heard: list[Statement] = []
        self._messages: list[list[Statement]] = []
        self._current: list[str] = []
        self._taken_back: list[str] = []
        self._gone: set[str] = set()
        self._restored: set[str] = set()

    def hear(self, said: PastMessage) -> None:
        learned = any(_came_of(fact, said) for fact in (*self._facts, *self._history))
        heard = _statements(said.text, self._reading)
        replaced = self._last_about(heard) if is_update(said.text) else []
        for statement in heard:
            known = list(islice((one for one in reversed(self._heard) if comparable(one, statement)), COMPARED))
            back = [one for one in reversed(known) if replaces(one, statement)]
            back += [one for one in self._heard if one in replaced and one not in back] if replaced else []
            if not back and statement.changes and restores(statement.text):
                back = self._undone(statement)
            if not back:
                back = [one for one in known if updates(one, statement)][:1]
            again = _going_back(statement, self._history)
            gone = set[str]() if learned else self._contradicted(statement, back, again, said.time)
            self._heard = [one for one in self._heard if one not in back]
            self._heard.append(statement)
            self._taken_back += [one.text for one in back]
            self._restored |= again
            self._gone |= gone
            for id_ in gone:
                del self._open[id_]
            if gone or back:
                self._current.append(statement.text)
        self._messages.append(heard)

    def _last_about(self, update: Sequence[Statement]) -> list[Statement]:
        """The sentences of the last message that is about the same as this update."""
        for message in reversed(self._messages):
            if _one_subject(message, update):
                return list(message)
        return []

    def _undone(self, back: Statement) -> list[Statement]:
        """What "let's go back to A" ends: the last change that was announced after A was said, if it is one of it."""
        last = list(islice(reversed(self._heard), COMPARED))
        meant = back.content - _BACK
        at = next((at for at, one in enumerate(last) if meant and meant <= one.content), 0)
        own = last[at].subject if last else frozenset[str]()
        return [one for one in last[:at] if one.changes and (not one.has_subject or one.subject & own)][:1]

    def outcome(self) -> Outdated:
        current = tuple(text for text in self._current if text not in self._taken_back)
        return Outdated(frozenset(self._gone), frozenset(self._restored), tuple(self._taken_back), current)

    def _contradicted(
        self, statement: Statement, back: Sequence[Statement], again: set[str], time: datetime
    ) -> set[str]:
        """The facts, older than this, whose place a statement takes: directly, by taking back the sentence that said
        them, by going back to what they superseded, or by "make that …", which means the last of its kind.
        """
        older = [(fact, value) for fact, value in self._open.values() if fact.timestamp < time]
        former = {fact.superseded_by for fact in self._history if fact.value.lower() in again}
        direct = {fact.id for fact, value in older if fact.id in former or replaces(value, statement)}
        if not direct:
            last = next((fact.id for fact, value in reversed(older) if updates(value, statement)), None)
            direct = {last} if last is not None else set[str]()
        if not direct and statement.changes and statement.anaphoric:
            direct = {fact.id for fact, _ in [pair for pair in older if _one_kind(pair[1], statement)][-1:]}
        said_by = [one.text.lower() for one in back]
        own = statement.text.lower()
        return direct | {
            fact.id
            for fact, _ in older
            if fact.value.lower() not in own and any(fact.value.lower() in text for text in said_by)
        }


def quoted(
    thread: Sequence[PastMessage],
    known: Sequence[Statement],
    stale: Sequence[Superseded],
    gone: Sequence[str],
    question: str,
    reading: Reading = read_statement,
) -> list[tuple[PastMessage, str]]:
    """What of a thread stands in the context, oldest first: each message and what is left of it, on one line.

    `known` is said by the facts; `gone` was taken back. `reading` may know already what a sentence says.
    """
    taken_back = frozenset(gone)
    scopes = scopes_of([said.text for said in thread])
    wanted = _scopes_wanted(thread, scopes, question)
    asks_what_was = held_before(question)
    shown: dict[str, _Shown] = {}
    lines: dict[int, tuple[PastMessage, str]] = {}
    newest = sorted(enumerate(zip(thread, scopes, strict=True)), key=lambda one: (not one[1][0].by_bot, one[0]))
    for place, (said, scope) in reversed(newest):  # the bot last: it repeats people, and nobody repeats it
        own = shown.setdefault(said.person, _Shown(reading, known))
        said_already = shown.values() if said.by_bot else (own,)
        kept = [
            withhold(sentence, stale)
            for sentence in (_holding(said.text, stale, taken_back, reading) if scope in wanted else ())
            if (asks_what_was or not held_before(sentence))
            and all(one.is_news(sentence, by_bot=said.by_bot) for one in said_already)
        ]
        if kept:
            lines[place] = said, " ".join(" ".join(kept).split())
            own.add(map(reading, kept))
    return [line for _, line in sorted(lines.items())]


def _holding(text: str, stale: Sequence[Superseded], gone: Collection[str], reading: Reading) -> Iterator[str]:
    """The sentences that were not taken back, without what a message says of nothing else but the one before that
    was: "The order is approved. Proceed with the order."
    """
    ended: Statement | None = None
    for sentence in sentences(text):
        if sentence in gone or mostly_superseded(sentence, stale):
            ended = reading(sentence)
        elif ended is None or not _rests_on(reading(sentence), ended):
            ended = None
            yield sentence


def _rests_on(remark: Statement, before: Statement) -> bool:
    """Does a sentence without a subject, a value or a name of its own speak of "it", or repeat what was spoken of?"""
    if remark.has_subject or remark.about or remark.values or remark.identifiers:
        return False
    if remark.anaphoric:
        return len(remark.content) <= REMARK_WORDS
    return len(remark.content - before.content) <= 1 and bool(remark.content & before.content)


class _Shown:
    """What the context says already: what is known, and what one person said."""

    def __init__(self, reading: Reading, known: Iterable[Statement]) -> None:
        self._reading = reading
        self._known: set[str] = set()
        self._said: set[str] = set()
        self._values: set[tuple[str, str]] = set()
        self._states: set[str] = set()
        self._add(known, self._known)

    def add(self, statements: Iterable[Statement]) -> None:
        self._add(statements, self._said)

    def _add(self, statements: Iterable[Statement], words: set[str]) -> None:
        for statement in statements:
            words |= statement.content
            self._values |= statement.values
            if statement.progress:
                self._states |= states_in(statement)

    def is_news(self, sentence: str, *, by_bot: bool) -> bool:
        """A question states nothing, and a reply of the bot's without a new value acknowledges what was said."""
        if sentence.endswith("?"):
            return False
        statement = self._reading(sentence)
        few = NOT_NEWS * len(statement.content)
        said_since = len(statement.content - self._said) <= few
        new_values = {(kind, value) for kind, value in statement.values - self._values if "_" not in kind}
        new_state = statement.progress and not said_since and not states_in(statement) <= self._states
        new = new_state or len(statement.content - self._said - self._known) > few
        return bool(new_values) or (new and not by_bot)


def _statements(text: str, reading: Reading) -> list[Statement]:
    """The sentences of one message. A change that one announces holds for those after it; "it" is the last subject."""
    found: list[Statement] = []
    changes = False
    subject: frozenset[str] = frozenset()
    for sentence in sentences(text):
        statement = reading(sentence)
        changes = changes or statement.changes
        if statement.anaphoric and statement.values:
            statement = replace(statement, subject=statement.subject | subject, content=statement.content | subject)
        else:
            subject = statement.subject
        if not sentence.endswith("?"):
            found.append(replace(statement, changes=changes, anaphoric=statement.anaphoric and statement.changes))
    return found


def _one_subject(older: Sequence[Statement], newer: Sequence[Statement]) -> bool:
    """Do two messages share a name, a number or two words?"""

    def all_of(some: Sequence[Statement], part: Callable[[Statement], frozenset[str]]) -> frozenset[str]:
        return frozenset[str]().union(*map(part, some))

    numbers = [all_of(some, lambda one: one.identifiers & one.subject) for some in (older, newer)]
    if numbers[0] and numbers[1] and not numbers[0] & numbers[1]:
        return False
    shared = all_of(older, lambda one: one.content) & all_of(newer, lambda one: one.content)
    names = all_of(older, lambda one: one.names) & all_of(newer, lambda one: one.names)
    moved = any(one.moves for one in newer)
    return len(shared) > 1 or bool(shared & names) or (moved and bool(shared))


def _came_of(fact: Fact, said: PastMessage) -> bool:
    """Was the fact learned from this message, or does the message say the same?"""
    source = said.id is not None and fact.source_message == said.id
    return source or (fact.is_valid and _holds(said.text.lower(), fact.value.lower()))


def _holds(text: str, value: str) -> bool:
    """As whole words: "500" does not stand in "1500"."""
    at = text.find(value) if value else -1
    while at >= 0:
        end = at + len(value)
        inside = (at and text[at - 1].isalnum() and value[0].isalnum()) or (
            end < len(text) and text[end].isalnum() and value[-1].isalnum()
        )
        if not inside or not value.isascii():
            return True
        at = text.find(value, end)
    return False


def _going_back(statement: Statement, history: Sequence[Fact]) -> set[str]:
    """The superseded values, in small letters, that somebody goes back to."""
    text = statement.text.lower()
    return {fact.value.lower() for fact in history if fact.value.lower() in text} if restores(text) else set()


def _one_kind(fact: Statement, statement: Statement) -> bool:
    """May "make that …" mean this fact? Its value is of the same kind, or neither has one that can be told."""
    kinds = [{kind for kind in one.kinds() if "_" not in kind} for one in (fact, statement)]
    return clash(fact, statement) or other_day(fact, statement) or not (kinds[0] or kinds[1])


def _scopes_wanted(thread: Sequence[PastMessage], scopes: Sequence[Scope], question: str) -> frozenset[Scope]:
    wanted = {Scope.GLOBAL}
    if is_hypothetical(question):
        wanted |= {Scope.HYPOTHETICAL, Scope.DRAFT}
    if Scope.TASK not in scopes:
        return frozenset(wanted)
    asked = read_statement(telling_part(question, QUESTION_CHARS)).content
    about = {scope: _shared(asked, thread, scopes, scope) for scope in (Scope.GLOBAL, Scope.TASK)}
    if about[Scope.TASK] > about[Scope.GLOBAL]:
        wanted.add(Scope.TASK)
    return frozenset(wanted)


def _shared(asked: frozenset[str], thread: Sequence[PastMessage], scopes: Sequence[Scope], scope: Scope) -> int:
    """How many words of the question were said in this scope."""
    texts = (said.text for said, own in zip(thread, scopes, strict=True) if own is scope)
    return len({word for text in texts for word in read_statement(text).content} & asked)
