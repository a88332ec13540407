"""Compares past threads with the facts: which sentences are still valid, and what is quoted. Pure.

Rules
  A sentence supersedes the person's earlier sentences of the thread, and facts that are older than its message (seed
  003, rules 1, 2 and 4), except constraints and facts of a greater authority (rule 3). It does so if it certainly
  contradicts them, or if it has a word of change and its subject was mentioned before: then it changes the last such
  sentence or fact. A message that begins with "Update:" or "Correction:" supersedes the last message about the same
  subject. A message from which facts were already learned does not affect facts again.
  Sentences that are valid and not known from the facts are quoted. Superseded sentences are left out, and superseded
  values in other sentences are withheld. Hypotheses, drafts and other tasks are left out unless the question is about
  them, and sentences about an earlier state ("originally …") unless the question asks for it. Questions are left out.
  Of one person's nearly identical sentences the newest is quoted, with its date: they may differ in a "not" or a day.
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
    describes_past_state,
    head_and_tail,
    is_update,
    read_statement,
    restores,
    sentences,
    states_in,
)
from agent.memory.supersession import clash, comparable, other_day, replaces, updates

Reading = Callable[[str], Statement]
# The newest comparable sentences with which a sentence is compared. The limit keeps the time of a thread about a single
# subject linear.
COMPARED: Final = 40
NOT_NEWS: Final = 0.3  # Up to this share of new words a sentence repeats what is known


REMARK_WORDS: Final = 2  # A longer sentence with "that" or "it" is more than a remark
_BACK: Final = frozenset({"back", "again", "after", "all"})  # Say that something is valid again, but not what


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One message of a past thread, by the asker (`mine`), the bot (`by_bot`), or another person.

    `name` and `person` are the name and the id of its author; `id` is that of the stored message. `own`: it contains
    only the asker's own words, or the bot's own words to them.
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
    """What a thread changes.

    `facts`: ids of facts that are no longer valid; `restored`: superseded values that are valid again, in lower case;
    `sentences`: superseded sentences; `current`: the sentences that superseded facts or other sentences.
    """

    facts: frozenset[str] = frozenset()
    restored: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()
    current: tuple[str, ...] = ()


def find_outdated(
    thread: Sequence[PastMessage],
    facts: Sequence[Fact],
    history: Sequence[Fact],
    authority: Authority,
    reading: Reading = read_statement,
) -> Outdated:
    """Compare a thread, oldest message first, with the valid facts and their superseded `history`.

    `authority` is that of the asker. `reading` may be a cache around `read_statement`.
    """
    tracker = _ThreadTracker(facts, history, authority, reading)
    for message, scope in zip(thread, scopes_of([message.text for message in thread]), strict=True):
        if message.mine and scope is Scope.GLOBAL:
            tracker.receive(message)
    return tracker.outcome()


class _ThreadTracker:
    """Receives the messages of a thread in order, and keeps the statements that are still valid."""

    def __init__(self, facts: Sequence[Fact], history: Sequence[Fact], authority: Authority, reading: Reading) -> None:
        self._reading = reading
        self._facts = facts
        self._history = history
        self._open_facts = {
            fact.id: (fact, fact.statement) for fact in facts if not fact.is_constraint and fact.authority <= authority
        }
        self._valid: list[Statement] = []
        self._messages: list[list[Statement]] = []
        self._current: list[str] = []
        self._superseded: list[str] = []
        self._outdated: set[str] = set()
        self._restored: set[str] = set()

    def receive(self, message: PastMessage) -> None:
        learned = any(_is_source_of(fact, message) for fact in (*self._facts, *self._history))
        statements = _statements(message.text, self._reading)
        replaced = self._last_about(statements) if is_update(message.text) else []
        for statement in statements:
            comparable_before = list(
                islice((earlier for earlier in reversed(self._valid) if comparable(earlier, statement)), COMPARED)
            )
            # From the surest sign to the weakest: a contradiction, "make that …", a return to something earlier, a word
            # of change.
            taken_back = [earlier for earlier in reversed(comparable_before) if replaces(earlier, statement)]
            taken_back += [earlier for earlier in self._valid if earlier in replaced and earlier not in taken_back]
            if not taken_back and statement.changes and restores(statement.text):
                taken_back = self._undone(statement)
            if not taken_back:
                taken_back = [earlier for earlier in comparable_before if updates(earlier, statement)][:1]
            restored = _restored_values(statement, self._history)
            # A message that became a fact already had its effect on the other facts when it was learned.
            outdated_facts = (
                set[str]() if learned else self._contradicted(statement, taken_back, restored, message.time)
            )
            self._valid = [earlier for earlier in self._valid if earlier not in taken_back]
            self._valid.append(statement)
            self._superseded += [earlier.text for earlier in taken_back]
            self._restored |= restored
            self._outdated |= outdated_facts
            for id_ in outdated_facts:
                del self._open_facts[id_]
            if outdated_facts or taken_back:
                self._current.append(statement.text)
        self._messages.append(statements)

    def _last_about(self, update: Sequence[Statement]) -> list[Statement]:
        """Return the sentences of the last message with the subject of this update."""
        for message in reversed(self._messages):
            if _share_subject(message, update):
                return list(message)
        return []

    def _undone(self, statement: Statement) -> list[Statement]:
        """Return what "let's go back to A" ends: the last change of A since A was stated."""
        newest_first = list(islice(reversed(self._valid), COMPARED))
        target = statement.content - _BACK
        index = next((index for index, each in enumerate(newest_first) if target and target <= each.content), 0)
        subject = newest_first[index].subject if newest_first else frozenset[str]()
        return [
            each for each in newest_first[:index] if each.changes and (not each.has_subject or each.subject & subject)
        ][:1]

    def outcome(self) -> Outdated:
        current = tuple(text for text in self._current if text not in self._superseded)
        return Outdated(frozenset(self._outdated), frozenset(self._restored), tuple(self._superseded), current)

    def _contradicted(
        self, statement: Statement, taken_back: Sequence[Statement], restored: set[str], time: datetime
    ) -> set[str]:
        """Return the ids of the older facts that a statement supersedes.

        It does so directly, with the sentence that stated the fact, by a return to what the fact superseded, or by
        "make that …", which changes the last fact of its kind.
        """
        older = [(fact, value) for fact, value in self._open_facts.values() if fact.timestamp < time]
        # "Back to X": the fact that had replaced X is the one that does not hold any more.
        superseding = {fact.superseded_by for fact in self._history if fact.value.lower() in restored}
        direct = {fact.id for fact, value in older if fact.id in superseding or replaces(value, statement)}
        if not direct:
            last = next((fact.id for fact, value in reversed(older) if updates(value, statement)), None)
            direct = {last} if last is not None else set[str]()
        if not direct and statement.changes and statement.anaphoric:
            # "Make that Friday" names nothing: it means the last fact of a kind that it fits.
            direct = {fact.id for fact, _ in [pair for pair in older if _may_be_same_kind(pair[1], statement)][-1:]}
        # A fact quotes the sentence that stated it, so it falls with the sentence.
        taken_back_texts = [each.text.lower() for each in taken_back]
        text = statement.text.lower()
        return direct | {
            fact.id
            for fact, _ in older
            if fact.value.lower() not in text and any(fact.value.lower() in sentence for sentence in taken_back_texts)
        }


def quote_thread(
    thread: Sequence[PastMessage],
    known: Sequence[Statement],
    stale: Sequence[Superseded],
    superseded: Sequence[str],
    question: str,
    reading: Reading = read_statement,
) -> list[tuple[PastMessage, str]]:
    """Return what the context quotes of a thread, oldest first: each message, and the rest of its text on one line.

    `known`: statements that the context shows already; `gone`: superseded sentences. `reading` may be a cache around
    `read_statement`.
    """
    taken_back = frozenset(superseded)
    scopes = scopes_of([message.text for message in thread])
    relevant = _relevant_scopes(thread, scopes, question)
    asks_for_past = describes_past_state(question)
    shown: dict[str, _Shown] = {}
    lines: dict[int, tuple[PastMessage, str]] = {}
    newest_last = sorted(enumerate(zip(thread, scopes, strict=True)), key=lambda each: (not each[1][0].by_bot, each[0]))
    for place, (message, scope) in reversed(newest_last):  # the bot last, because it repeats people
        shown_of_author = shown.setdefault(message.person, _Shown(reading, known))
        shown_before = shown.values() if message.by_bot else (shown_of_author,)
        parts = [
            withhold(sentence, stale)
            for sentence in (_valid_sentences(message.text, stale, taken_back, reading) if scope in relevant else ())
            if (asks_for_past or not describes_past_state(sentence))
            and all(each.is_news(sentence, by_bot=message.by_bot) for each in shown_before)
        ]
        if parts:
            lines[place] = message, " ".join(" ".join(parts).split())
            shown_of_author.add(map(reading, parts))
    return [line for _, line in sorted(lines.items())]


def _valid_sentences(
    text: str, stale: Sequence[Superseded], superseded: Collection[str], reading: Reading
) -> Iterator[str]:
    """Yield the sentences that are still valid.

    A remark on a superseded sentence is left out with it: "The order is approved. Proceed with the order."
    """
    ended: Statement | None = None
    for sentence in sentences(text):
        if sentence in superseded or mostly_superseded(sentence, stale):
            ended = reading(sentence)
        elif ended is None or not _adds_nothing_to(reading(sentence), ended):
            ended = None
            yield sentence


def _adds_nothing_to(remark: Statement, before: Statement) -> bool:
    """Return whether `remark` adds nothing to `before`: it has no subject or value, and says "it" or repeats words."""
    if remark.has_subject or remark.about or remark.values or remark.identifiers:
        return False
    if remark.anaphoric:
        return len(remark.content) <= REMARK_WORDS
    return len(remark.content - before.content) <= 1 and bool(remark.content & before.content)


class _Shown:
    """The words of the context so far: those that are known, and those of one person."""

    def __init__(self, reading: Reading, known: Iterable[Statement]) -> None:
        self._reading = reading
        self._known: set[str] = set()
        self._stated: set[str] = set()
        self._values: set[tuple[str, str]] = set()
        self._states: set[str] = set()
        self._add(known, self._known)

    def add(self, statements: Iterable[Statement]) -> None:
        self._add(statements, self._stated)

    def _add(self, statements: Iterable[Statement], words: set[str]) -> None:
        for statement in statements:
            words |= statement.content
            self._values |= statement.values
            if statement.progress:
                self._states |= states_in(statement)

    def is_news(self, sentence: str, *, by_bot: bool) -> bool:
        """Return whether a sentence is new. A question never is, nor is a reply of the bot without a new value."""
        if sentence.endswith("?"):
            return False
        statement = self._reading(sentence)
        limit = NOT_NEWS * len(statement.content)
        is_repeated = len(statement.content - self._stated) <= limit
        new_values = {(kind, value) for kind, value in statement.values - self._values if "_" not in kind}
        new_state = statement.progress and not is_repeated and not states_in(statement) <= self._states
        new = new_state or len(statement.content - self._stated - self._known) > limit
        return bool(new_values) or (new and not by_bot)


def _statements(text: str, reading: Reading) -> list[Statement]:
    """Return the statements of one message. A word of change applies to those after it; "it" is the last subject."""
    statements: list[Statement] = []
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
            statements.append(replace(statement, changes=changes, anaphoric=statement.anaphoric and statement.changes))
    return statements


def _share_subject(older: Sequence[Statement], newer: Sequence[Statement]) -> bool:
    """Return whether two messages share a name or two words, and no differing identifiers."""

    def all_of(statements: Sequence[Statement], part: Callable[[Statement], frozenset[str]]) -> frozenset[str]:
        return frozenset[str]().union(*map(part, statements))

    numbers = [
        all_of(statements, lambda statement: statement.identifiers & statement.subject) for statements in (older, newer)
    ]
    if numbers[0] and numbers[1] and not numbers[0] & numbers[1]:
        return False
    shared = all_of(older, lambda statement: statement.content) & all_of(newer, lambda statement: statement.content)
    names = all_of(older, lambda statement: statement.names) & all_of(newer, lambda statement: statement.names)
    moved = any(statement.moves for statement in newer)
    return len(shared) > 1 or bool(shared & names) or (moved and bool(shared))


def _is_source_of(fact: Fact, message: PastMessage) -> bool:
    """Return whether the fact was learned from this message, or the message contains its value."""
    source = message.id is not None and fact.source_message == message.id
    return source or (fact.is_valid and _contains_words(message.text.lower(), fact.value.lower()))


def _contains_words(text: str, value: str) -> bool:
    """Return whether a text contains a value as whole words: "1500" does not contain "500"."""
    start = text.find(value) if value else -1
    while start >= 0:
        end = start + len(value)
        inside = (start and text[start - 1].isalnum() and value[0].isalnum()) or (
            end < len(text) and text[end].isalnum() and value[-1].isalnum()
        )
        if not inside or not value.isascii():
            return True
        start = text.find(value, end)
    return False


def _restored_values(statement: Statement, history: Sequence[Fact]) -> set[str]:
    """Return the superseded values, in lower case, that the statement makes valid again."""
    text = statement.text.lower()
    return {fact.value.lower() for fact in history if fact.value.lower() in text} if restores(text) else set()


def _may_be_same_kind(fact: Statement, statement: Statement) -> bool:
    """Return whether "make that …" may refer to this fact: the values have one kind, or neither has a known kind."""
    kinds = [{kind for kind in each.kinds() if "_" not in kind} for each in (fact, statement)]
    return clash(fact, statement) or other_day(fact, statement) or not (kinds[0] or kinds[1])


def _relevant_scopes(thread: Sequence[PastMessage], scopes: Sequence[Scope], question: str) -> frozenset[Scope]:
    selected = {Scope.GLOBAL}
    if is_hypothetical(question):
        selected |= {Scope.HYPOTHETICAL, Scope.DRAFT}
    if Scope.TASK not in scopes:
        return frozenset(selected)
    question_words = read_statement(head_and_tail(question, QUESTION_CHARS)).content
    shared_words = {scope: _count_shared(question_words, thread, scopes, scope) for scope in (Scope.GLOBAL, Scope.TASK)}
    if shared_words[Scope.TASK] > shared_words[Scope.GLOBAL]:
        selected.add(Scope.TASK)
    return frozenset(selected)


def _count_shared(
    question_words: frozenset[str], thread: Sequence[PastMessage], scopes: Sequence[Scope], scope: Scope
) -> int:
    """Count the words of the question that occur in messages of this scope."""
    texts = (message.text for message, message_scope in zip(thread, scopes, strict=True) if message_scope is scope)
    return len({word for text in texts for word in read_statement(text).content} & question_words)
