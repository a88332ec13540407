"""Persistent facts, their history, and the scopes in which they hold (seed 003). Pure.

Rules
  A fact is never edited. It is created, superseded or marked for review, and the chain from old to new can be followed.
  Facts are linked by id. A key stands for the current fact under that key.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import Final, Protocol

from agent.admission_terms import Authority
from agent.memory.lexicon import DETERMINERS, OF
from agent.memory.statements import Statement, head_and_tail, read_statement
from agent.patterns import compile_later


class MemoryType(StrEnum):
    """The kind of knowledge: about a person, about how the bot does things, or about the organisation."""

    USER = "user"
    CAPABILITY = "capability"
    ORGANIZATIONAL = "organizational"


class Scope(StrEnum):
    """Where a fact holds. Each scope but GLOBAL is limited to one `scope_id`."""

    GLOBAL = "global"
    TASK = "task"
    HYPOTHETICAL = "hypothetical"
    DRAFT = "draft"
    SESSION = "session"


class ConstraintType(StrEnum):
    BUDGET = "budget"
    DEADLINE = "deadline"
    CAPACITY = "capacity"
    POLICY = "policy"


# Facts of one person in one place, including superseded ones: one a day for more than five years. Beyond this limit
# the oldest superseded facts are deleted first, then those that appeared in no context for the longest time.
# Constraints are never deleted.
FACTS_KEPT: Final = 2_000
FACTS_MADE_ROOM: Final = 100  # Deleted at once, because choosing them reads all facts
CORRECTION: Final = "correction"  # The source of a fact that its person corrected

_POSSESSIVE: Final = re.compile(r"['’]s\b")
_NO_KEY_WORD: Final = re.compile(r"[\s_]+")
_ORGANIZATIONAL_SOURCES: Final = frozenset({"policy", "finance_system", "hr_system", "system", "document"})
_CAPABILITY_SOURCES: Final = frozenset({"observation", "pattern", "heuristic"})


def memory_type_of(source: str) -> MemoryType:
    """Classify a fact by its source, as the seed does. Unknown sources count as the user's own."""
    kind = source.strip().lower()
    if kind in _ORGANIZATIONAL_SOURCES:
        return MemoryType.ORGANIZATIONAL
    return MemoryType.CAPABILITY if kind in _CAPABILITY_SOURCES else MemoryType.USER


class Reading(Protocol):
    """A cached analysis of a fact's value."""

    @property
    def content(self) -> frozenset[str]:
        """The content words of the statement. Most facts of a turn need nothing else."""
        ...

    @property
    def statement(self) -> Statement: ...


@dataclass(frozen=True, slots=True)
class Fact:
    """One persistent fact.

    `audience` is a label (see `agent.memory.audience.label`). `person` is the id of the person that the fact is about,
    or "" if it is about no single person. `authority` is that of its author. Links are ids of facts. `permalink` leads
    to the source message. A fact without a key is a sentence that a user asked to be remembered, in their own words.
    """

    id: str
    key: str
    value: str
    source: str
    timestamp: datetime
    audience: str
    person: str = ""
    authority: Authority = Authority.EMPLOYEE
    is_valid: bool = True
    superseded_by: str | None = None
    supersedes: str | None = None
    memory_type: MemoryType = MemoryType.USER
    scope: Scope = Scope.GLOBAL
    scope_id: str | None = None
    depends_on: tuple[str, ...] = ()
    derived_facts: tuple[str, ...] = ()
    needs_review: bool = False
    is_constraint: bool = False
    constraint_type: ConstraintType | None = None
    source_message: int | None = None
    permalink: str | None = None
    everywhere: bool = False
    """Whether its person allows it in all replies to them, whatever its audience."""
    doubted_by: str | None = None
    """The newer fact that may have replaced this one. Of a superseded one: it did, by the verdict of a model."""
    used: datetime | None = field(default=None, compare=False)
    """When it was last in the context of a turn."""
    kept: datetime | None = field(default=None, compare=False)
    """When it was last decided that it still holds (`agent.memory.review`)."""
    said: str = field(default="", compare=False, repr=False)
    """What the person wrote in its source message, where facts are compared; else ""."""
    reading: Reading | None = field(default=None, compare=False, repr=False)
    """The analysis of its value, if it was made already."""

    @property
    def is_outdated_by_verdict(self) -> bool:
        """Whether a model that was asked about it said so, and not what its person wrote."""
        return not self.is_valid and self.doubted_by is not None

    @property
    def statement(self) -> Statement:
        return self.reading.statement if self.reading else read_statement(self.value, about=self.key)

    @property
    def content(self) -> frozenset[str]:
        """The content words of its value."""
        return self.reading.content if self.reading else self.statement.content

    @property
    def text(self) -> str:
        """Key and value as one text: "deadline of Apollo: Friday"."""
        return f"{self.key}: {self.value}" if self.key else self.value


def resolve(facts: Iterable[Fact], name: str) -> Fact | None:
    """Return the fact with this id, else the current one under this key, else the last one under it, else None."""
    known = {fact.id: fact for fact in facts}
    if name in known:
        return known[name]
    under_key = [fact for fact in known.values() if same_key(fact.key, name)]
    return max(under_key, key=lambda fact: (fact.is_valid, *age(fact)), default=None)


def chain(facts: Iterable[Fact], id_: str) -> tuple[Fact, ...]:
    """Return the history of a fact, oldest first: all facts that it supersedes, itself, and all that superseded it.

    The chain ends at a broken link. A cycle is followed once.
    """
    known = {fact.id: fact for fact in facts}
    if id_ not in known:
        return ()
    earlier = _follow(known, id_, lambda fact: fact.supersedes)
    later = _follow(known, id_, lambda fact: fact.superseded_by)
    return (*reversed(earlier[1:]), *(fact for fact in later if fact not in earlier[1:]))


def with_superseded(facts: Iterable[Fact], id_: str) -> frozenset[str]:
    """Return the id of a fact and of all facts that it superseded, directly or not: a write may supersede several."""
    superseded: dict[str, list[str]] = {}
    for fact in facts:
        if fact.superseded_by is not None:
            superseded.setdefault(fact.superseded_by, []).append(fact.id)
    ids, pending = {id_}, [id_]
    while pending:
        new = [earlier for earlier in superseded.get(pending.pop(), ()) if earlier not in ids]
        ids.update(new)
        pending += new
    return frozenset(ids)


def current(facts: Iterable[Fact], name: str) -> Fact | None:
    """Return the fact that is valid now under a key or in place of a fact (seed 003, `get_current_value`), or None."""
    all_facts = list(facts)
    first = resolve(all_facts, name)
    if first is None:
        return None
    last = _follow({fact.id: fact for fact in all_facts}, first.id, lambda fact: fact.superseded_by)[-1]
    return last if last.is_valid else None


def plain_key(key: str) -> str:
    """Normalise a key for comparison, because models write one key in several ways.

    "the launch date", "launch_date" and "Date of launch" are the same key; "launch" is another. An empty key gives "".
    """
    words = _NO_KEY_WORD.sub(" ", _POSSESSIVE.sub("", key.casefold())).split()
    leading = sum(1 for _ in takewhile(DETERMINERS.__contains__, words[:-1]))
    plain = " ".join(words[leading:])
    parts = OF.split(plain)
    if len(parts) == 2:
        return " ".join(reversed(parts))
    return plain or key.strip().casefold()


def same_key(key: str, other: str) -> bool:
    """Return whether two keys are the same after normalisation. An empty key equals none."""
    return bool(key.strip()) and (key == other or plain_key(key) == plain_key(other))


def age(fact: Fact) -> tuple[datetime, str]:
    """A sort key that puts the oldest fact first; the id breaks ties."""
    return fact.timestamp, fact.id


def _follow(known: Mapping[str, Fact], id_: str, link: Callable[[Fact], str | None]) -> list[Fact]:
    path: list[Fact] = []
    seen: set[str] = set()
    current_id: str | None = id_
    while current_id is not None and current_id in known and current_id not in seen:
        seen.add(current_id)
        path.append(known[current_id])
        current_id = link(known[current_id])
    return path


# The scope of each message of a thread, found without a model.
#
# Rules
#   "What if …", "hypothetically", "let's brainstorm": the messages that follow are hypothetical until one ends it
#   ("enough of that", "for real"). A message that begins with such a word is hypothetical by itself.
#   "Draft: …", "tentatively …": a draft, by the same rules.
#   "Hold on, …" starts another task, if the first one is resumed later ("back to …", "continuing with …").
#   A sentence to be remembered names its own scope: "hypothetically, …", "draft: …", "only for this conversation".
#   "The draft is due Monday" is about a draft; it is not a draft itself.
#   Everything else, and every doubtful case, is global.

REMEMBERED: Final = 20  # How many messages back a hypothetical discussion may have started
READ_CHARS: Final = 1_200  # Of each message, from its beginning and its end, where such words stand

HEAD_CHARS: Final = 200  # Holds the first words of a message

_HYPOTHESIS: Final = (
    r"hypothe(?:tical(?:ly)?|sis|ses)|theoretical(?:ly)?|in theory|what if|what-if|suppos(?:e|ing)|imagin(?:e|ing)"
    r"|for the sake of argument|brainstorm(?:ing)?|explor(?:atory|ation|ing)|thought experiment|scenarios?|worst case"
    r"|best case|role-?play(?:ing)?|pretend|sandbox|simulat(?:e|ed|ion)|let's say"
)
_DRAFT: Final = (
    r"draft(?:s|ing|ed)?|tentative(?:ly)?|provisional(?:ly)?|working assumption|rough (?:estimate|idea|plan|draft)"
)
# A mention of a draft, which does not mark the message itself as one.
_A_DRAFT: Final = compile_later(r"\b(?:the|a|an|my|our|your|this|that) drafts?\b(?!:)", re.IGNORECASE)
_UNCERTAIN: Final = compile_later(r"\b(?:if|could|might|maybe|perhaps|would)\b", re.IGNORECASE)
_HYPOTHETICAL: Final = compile_later(rf"\b(?:{_HYPOTHESIS})\b", re.IGNORECASE)
_DRAFTED: Final = compile_later(rf"\b(?:{_DRAFT})\b", re.IGNORECASE)
# A supposition goes on through later messages only if its sentence opens it, as "let's imagine" does.
_OPENS: Final = compile_later(
    r"\b(?:let's|let us|we(?:'re| are) (?:just|only)|this is (?:just|only|purely)|just|start(?:ing)?)\b", re.IGNORECASE
)
_ASSUMES: Final = compile_later(rf"\b(?:{_HYPOTHESIS}|{_DRAFT})\b", re.IGNORECASE)
_SENTENCE: Final = compile_later(r"[^.!?]+")
# What is said after these is meant again: people seldom say that a supposition is over.
_ENDS: Final = compile_later(
    r"\b(?:enough|end of|done with|stop(?:ping)?|out of)\b|\b(?:for real|in reality|seriously|real (?:world|life|thing"
    r"|plans?|commitments?|decisions?)|final(?:ly|ised|ized)?|decided|agreed|official(?:ly)?)\b",
    re.IGNORECASE,
)
# Only at the beginning: "wait" within a sentence is a verb.
_INTERRUPTS: Final = compile_later(
    r"^\W*(?:hold on|hang on|wait|one (?:moment|second|sec)|sorry|excuse me|quick (?:question|detour|aside)|by the way"
    r"|btw|unrelated|off[- ]topic|something else|urgent|meanwhile|before (?:that|we go on)|interrupt\w*|brb)\b",
    re.IGNORECASE,
)
# Ends an interruption, so that what follows belongs to the scope from before.
_RESUMES: Final = compile_later(
    r"\b(?:back to|return(?:ing)? to|resum(?:e|ing)|continu(?:e|ing)|where were we|as i was saying|carry on)\b",
    re.IGNORECASE,
)


# Suppositions only at the beginning of a message: in its middle these words seldom concern the whole of it.
_SAYS_SCOPE: Final = (
    (
        Scope.HYPOTHETICAL,
        compile_later(
            r"^\W*(?:hypothetical(?:ly)?\b|theoretically\b|in theory\b|what if\b|suppos(?:e|ing)\b|assum(?:e|ing)\b"
            r"|imagine\b|let's (?:say|assume)\b|for the sake of argument\b"
            r"|(?:mal )?angenommen\b|hypothetisch\b|nehmen wir an\b|was wäre,? wenn\b"
            r"|supongamos\b|hipotéticamente\b|imagina\b|假设|假如|设想|仮に|仮定)",
            re.IGNORECASE,
        ),
    ),
    (
        Scope.DRAFT,
        compile_later(
            r"^\W*(?:(?:draft|entwurf|borrador|草稿|草案|下書き|仮案)\s*[:：]|tentatively\b|provisionally\b"
            r"|as a draft\b|vorläufig\b|provisionalmente\b|暂定|暫定)",
            re.IGNORECASE,
        ),
    ),
    (
        Scope.SESSION,
        compile_later(
            r"\b(?:just|only) for (?:now|today|the moment)\b"
            r"|\bfor (?:the rest of )?this (?:conversation|thread|chat|session|task)\b"
            r"|\bnur für (?:jetzt|heute|dieses gespräch|diesen chat)\b|\bnur in diesem (?:gespräch|chat)\b"
            r"|\bs[oó]lo (?:por ahora|por hoy|(?:para|en) esta conversación)\b|\bsolamente por ahora\b"
            r"|仅限?(?:本次|这次)(?:对话|会话)|只在(?:本次|这次)对话|この会話だけ|今回だけ",
            re.IGNORECASE,
        ),
    ),
)


def named_scope(text: str) -> Scope:
    """Return the scope that a sentence to be remembered names, or GLOBAL if it names none."""
    return next((scope for scope, pattern in _SAYS_SCOPE if pattern.search(text)), Scope.GLOBAL)


def assumed_in(messages: Sequence[str], question: str) -> Scope:
    """Return HYPOTHETICAL or DRAFT if the question opens or continues such a discussion, else GLOBAL.

    `messages`: the person's earlier messages in this conversation, oldest first.
    """
    scope = scopes_of([*messages[-REMEMBERED:], question])[-1]
    return scope if scope in {Scope.HYPOTHETICAL, Scope.DRAFT} else Scope.GLOBAL


def is_hypothetical(text: str) -> bool:
    """Return whether the text mentions a hypothesis or a draft."""
    return bool(_HYPOTHETICAL.search(text) or _DRAFTED.search(text))


def reading_scopes(assumed: Scope, question: str, conversation: str, task: str) -> frozenset[tuple[Scope, str | None]]:
    """Return the scopes in which a question is asked, each with its id. GLOBAL is not among them.

    These are the conversation and the task, and the hypotheses and drafts of this conversation if the question
    continues or mentions them. `assumed`: see `assumed_in`.
    """
    scopes: frozenset[tuple[Scope, str | None]] = frozenset({(Scope.SESSION, conversation), (Scope.TASK, task)})
    if assumed is Scope.GLOBAL and not is_hypothetical(question):
        return scopes
    return scopes | {(Scope.HYPOTHETICAL, conversation), (Scope.DRAFT, conversation)}


def scopes_of(texts: Sequence[str]) -> tuple[Scope, ...]:
    """Return the scope of each message of a thread, oldest first. TASK marks a task that interrupted the first one."""
    texts = [head_and_tail(text, READ_CHARS) for text in texts]
    scopes = [_own_scope(text) for text in texts]
    _spread_assumptions(texts, scopes)
    for start, end in _interruptions(texts):
        for index in range(start, end):
            if scopes[index] is Scope.GLOBAL:
                scopes[index] = Scope.TASK
    return tuple(scopes)


def _own_scope(text: str) -> Scope:
    head = _A_DRAFT.sub(" ", " ".join(text[:HEAD_CHARS].split()[:4]))
    if _DRAFTED.search(head):
        return Scope.DRAFT
    return Scope.HYPOTHETICAL if _HYPOTHETICAL.search(head) else Scope.GLOBAL


def _spread_assumptions(texts: Sequence[str], scopes: list[Scope]) -> None:
    """Mark the messages from one that opens a hypothetical discussion to the one that ends it or leaves the subject."""
    open_scope: Scope | None = None
    for index, text in enumerate(texts):
        if open_scope is not None and _ENDS.search(text):
            open_scope = None
            scopes[index] = Scope.GLOBAL
        elif open_scope is None and _begins(text):
            open_scope = Scope.DRAFT if _DRAFTED.search(text) and not _HYPOTHETICAL.search(text) else Scope.HYPOTHETICAL
            scopes[index] = open_scope
        elif open_scope is not None and (
            scopes[index] is not Scope.GLOBAL or _ends_later(texts, index) or _UNCERTAIN.search(text)
        ):
            scopes[index] = open_scope
        else:
            open_scope = None


def _begins(text: str) -> bool:
    """Return whether a sentence opens a hypothetical discussion.

    This takes two searches, because a single pattern takes seconds for a long text with many openings.
    """
    openings = ((match[0], _OPENS.search(match[0])) for match in _SENTENCE.finditer(text))
    return any(opening and _ASSUMES.search(sentence, opening.end()) for sentence, opening in openings)


def _ends_later(texts: Sequence[str], index: int) -> bool:
    return any(_ENDS.search(text) for text in texts[index + 1 :])


def _interruptions(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return [start, end) of each interruption after which the first task is resumed."""
    interruptions: list[tuple[int, int]] = []
    start: int | None = None
    for index, text in enumerate(texts):
        if start is not None and _RESUMES.search(text):
            interruptions.append((start, index))
            start = None
        elif start is None and index > 0 and _INTERRUPTS.search(text):
            start = index
    return interruptions
