"""Persistent facts: what they are, how their history is followed, and in which scope they were said (seed 003). Pure.

Rules
  A fact is never edited: it is created, superseded and marked for review. The chain old → new can be followed.
  Links are by id. A key means the fact that is current under it.
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
from agent.memory.statements import Statement, read_statement, telling_part
from agent.patterns import compile_later


class MemoryType(StrEnum):
    """Whose knowledge a fact is: a person's, the bot's about how to do things, or the organisation's."""

    USER = "user"
    CAPABILITY = "capability"
    ORGANIZATIONAL = "organizational"


class Scope(StrEnum):
    """Where a fact holds. All but GLOBAL hold within one `scope_id` only."""

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


# Facts of one person in one place, superseded ones among them: one a day for more than five years. When there are more,
# the oldest superseded ones go, then those that stood in no context for longest; what binds stays.
FACTS_KEPT: Final = 2_000
FACTS_MADE_ROOM: Final = 100  # So many go at once, because choosing them reads them all
CORRECTION: Final = "correction"  # The source of what its person set right, in words of their own

_POSSESSIVE: Final = re.compile(r"['’]s\b")
_NO_KEY_WORD: Final = re.compile(r"[\s_]+")
_ORGANIZATIONAL_SOURCES: Final = frozenset({"policy", "finance_system", "hr_system", "system", "document"})
_CAPABILITY_SOURCES: Final = frozenset({"observation", "pattern", "heuristic"})


def memory_type_of(source: str) -> MemoryType:
    """The seed's classification by source; what is neither policy nor observation is the person's own."""
    kind = source.strip().lower()
    if kind in _ORGANIZATIONAL_SOURCES:
        return MemoryType.ORGANIZATIONAL
    return MemoryType.CAPABILITY if kind in _CAPABILITY_SOURCES else MemoryType.USER


class Reading(Protocol):
    """What a value says, as somebody has read it before."""

    @property
    def content(self) -> frozenset[str]:
        """That of the statement: all that most facts of a turn are asked for."""
        ...

    @property
    def statement(self) -> Statement: ...


@dataclass(frozen=True, slots=True)
class Fact:
    """One persistent fact. `audience` is a label (see `agent.memory.audience.label`); `person` is whom it is about, or
    "" for what is nobody's in particular. `authority` is what its writer was. Links are ids of facts. `permalink` leads
    to the message that it came from. Without a key it is what somebody asked to be remembered, in their words.
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
    """Its person lets it be used in all replies to them, wherever it was said."""
    reading: Reading | None = field(default=None, compare=False, repr=False)
    """What its value says, if somebody has read it already."""

    @property
    def statement(self) -> Statement:
        return self.reading.statement if self.reading else read_statement(self.value, about=self.key)

    @property
    def content(self) -> frozenset[str]:
        """The words that its value tells something by."""
        return self.reading.content if self.reading else self.statement.content

    @property
    def said(self) -> str:
        """As it reads by itself: "deadline of Apollo: Friday"."""
        return f"{self.key}: {self.value}" if self.key else self.value


def resolve(facts: Iterable[Fact], name: str) -> Fact | None:
    """The fact with this id, or else the one that is current under this key, or else the last that was."""
    known = {fact.id: fact for fact in facts}
    if name in known:
        return known[name]
    under_key = [fact for fact in known.values() if same_key(fact.key, name)]
    return max(under_key, key=lambda fact: (fact.is_valid, *age(fact)), default=None)


def chain(facts: Iterable[Fact], id_: str) -> tuple[Fact, ...]:
    """The history of a fact, oldest first: everything that it supersedes and everything that superseded it.

    Broken links end it, and a cycle ends where it began.
    """
    known = {fact.id: fact for fact in facts}
    if id_ not in known:
        return ()
    before = _followed(known, id_, lambda fact: fact.supersedes)
    after = _followed(known, id_, lambda fact: fact.superseded_by)
    return (*reversed(before[1:]), *(fact for fact in after if fact not in before[1:]))


def led_to(facts: Iterable[Fact], id_: str) -> frozenset[str]:
    """The ids of a fact and of all whose place it has taken, one after another: a write may supersede several."""
    before: dict[str, list[str]] = {}
    for fact in facts:
        if fact.superseded_by is not None:
            before.setdefault(fact.superseded_by, []).append(fact.id)
    found, waiting = {id_}, [id_]
    while waiting:
        new = [earlier for earlier in before.get(waiting.pop(), ()) if earlier not in found]
        found.update(new)
        waiting += new
    return frozenset(found)


def current(facts: Iterable[Fact], name: str) -> Fact | None:
    """What holds today under a key, or in the place of a fact (seed 003, `get_current_value`). None if nothing does."""
    known = list(facts)
    start = resolve(known, name)
    if start is None:
        return None
    last = _followed({fact.id: fact for fact in known}, start.id, lambda fact: fact.superseded_by)[-1]
    return last if last.is_valid else None


def plain_key(key: str) -> str:
    """A key as it is compared, since models say one in more than one way: "the launch date", "launch_date" and "Date of
    launch" are one key, "launch" is another. "" if it names nothing.
    """
    words = _NO_KEY_WORD.sub(" ", _POSSESSIVE.sub("", key.casefold())).split()
    leading = sum(1 for _ in takewhile(DETERMINERS.__contains__, words[:-1]))
    plain = " ".join(words[leading:])
    parts = OF.split(plain)
    if len(parts) == 2:
        return " ".join(reversed(parts))
    return plain or key.strip().casefold()


def same_key(one: str, other: str) -> bool:
    """Is there a key, and is it one?"""
    return bool(one.strip()) and (one == other or plain_key(one) == plain_key(other))


def age(fact: Fact) -> tuple[datetime, str]:
    """Sorts facts from the oldest to the newest; between equals the id decides."""
    return fact.timestamp, fact.id


def _followed(known: Mapping[str, Fact], id_: str, link: Callable[[Fact], str | None]) -> list[Fact]:
    path: list[Fact] = []
    seen: set[str] = set()
    next_: str | None = id_
    while next_ is not None and next_ in known and next_ not in seen:
        seen.add(next_)
        path.append(known[next_])
        next_ = link(known[next_])
    return path


# In which scope the messages of a thread were said, without a model.
#
# The rules. "What if …", "hypothetically", "let's brainstorm": what follows is hypothetical until somebody ends it
# ("enough of that", "for real"); a message that begins with such a word is hypothetical by itself. "Draft: …",
# "tentatively …": a draft, in the same way. "Hold on, …" begins another task, if the first one is taken up again later
# ("back to …", "continuing with …"). What is to be remembered says by itself where it holds: "hypothetically, …",
# "draft: …", "only for this conversation"; "the draft is due Monday" is about a draft, and no draft. Everything else is
# global. In doubt it is.

REMEMBERED: Final = 20  # Messages back that a game of thought may have begun
READ_CHARS: Final = 1_200  # Of each of them, its beginning and its end: who opens or ends such a game says so there

HEAD_CHARS: Final = 200  # Its first words stand there

_HYPOTHESIS: Final = (
    r"hypothe(?:tical(?:ly)?|sis|ses)|theoretical(?:ly)?|in theory|what if|what-if|suppos(?:e|ing)|imagin(?:e|ing)"
    r"|for the sake of argument|brainstorm(?:ing)?|explor(?:atory|ation|ing)|thought experiment|scenarios?|worst case"
    r"|best case|role-?play(?:ing)?|pretend|sandbox|simulat(?:e|ed|ion)|let's say"
)
_DRAFT: Final = (
    r"draft(?:s|ing|ed)?|tentative(?:ly)?|provisional(?:ly)?|working assumption|rough (?:estimate|idea|plan|draft)"
)
# A draft that is spoken about, and no word that what follows is one.
_A_DRAFT: Final = compile_later(r"\b(?:the|a|an|my|our|your|this|that) drafts?\b(?!:)", re.IGNORECASE)
_UNCERTAIN: Final = compile_later(r"\b(?:if|could|might|maybe|perhaps|would)\b", re.IGNORECASE)
_HYPOTHETICAL: Final = compile_later(rf"\b(?:{_HYPOTHESIS})\b", re.IGNORECASE)
_DRAFTED: Final = compile_later(rf"\b(?:{_DRAFT})\b", re.IGNORECASE)
_OPENS: Final = compile_later(
    r"\b(?:let's|let us|we(?:'re| are) (?:just|only)|this is (?:just|only|purely)|just|start(?:ing)?)\b", re.IGNORECASE
)
_ASSUMES: Final = compile_later(rf"\b(?:{_HYPOTHESIS}|{_DRAFT})\b", re.IGNORECASE)
_SENTENCE: Final = compile_later(r"[^.!?]+")
_ENDS: Final = compile_later(
    r"\b(?:enough|end of|done with|stop(?:ping)?|out of)\b|\b(?:for real|in reality|seriously|real (?:world|life|thing"
    r"|plans?|commitments?|decisions?)|final(?:ly|ised|ized)?|decided|agreed|official(?:ly)?)\b",
    re.IGNORECASE,
)
_INTERRUPTS: Final = compile_later(
    r"^\W*(?:hold on|hang on|wait|one (?:moment|second|sec)|sorry|excuse me|quick (?:question|detour|aside)|by the way"
    r"|btw|unrelated|off[- ]topic|something else|urgent|meanwhile|before (?:that|we go on)|interrupt\w*|brb)\b",
    re.IGNORECASE,
)
_RESUMES: Final = compile_later(
    r"\b(?:back to|return(?:ing)? to|resum(?:e|ing)|continu(?:e|ing)|where were we|as i was saying|carry on)\b",
    re.IGNORECASE,
)


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


def scope_said(text: str) -> Scope:
    """The scope that one sentence to be remembered names itself; GLOBAL if it names none."""
    return next((scope for scope, pattern in _SAYS_SCOPE if pattern.search(text)), Scope.GLOBAL)


def assumed_in(said: Sequence[str], question: str) -> Scope:
    """HYPOTHETICAL or DRAFT if the question opens a game of thought or goes on with one, else GLOBAL.
    `said`: what the person wrote here before.
    """
    scope = scopes_of([*said[-REMEMBERED:], question])[-1]
    return scope if scope in {Scope.HYPOTHETICAL, Scope.DRAFT} else Scope.GLOBAL


def is_hypothetical(text: str) -> bool:
    """Does a question ask about what was assumed or drafted?"""
    return bool(_HYPOTHETICAL.search(text) or _DRAFTED.search(text))


def reading_scopes(
    said: Sequence[str], question: str, conversation: str, task: str
) -> frozenset[tuple[Scope, str | None]]:
    """The scopes beside GLOBAL, each with its id, that a question is asked in: this conversation, its own task, and
    what was assumed or drafted here if the question goes on with that. `said`: what the person wrote here before.
    """
    here: frozenset[tuple[Scope, str | None]] = frozenset({(Scope.SESSION, conversation), (Scope.TASK, task)})
    goes_on = scopes_of([*said[-REMEMBERED:], question])[-1] in {Scope.HYPOTHETICAL, Scope.DRAFT}
    if not (goes_on or is_hypothetical(question)):
        return here
    return here | {(Scope.HYPOTHETICAL, conversation), (Scope.DRAFT, conversation)}


def scopes_of(texts: Sequence[str]) -> tuple[Scope, ...]:
    """The scope of each message of a thread, oldest first. TASK is the other task, the one that interrupted."""
    texts = [telling_part(text, READ_CHARS) for text in texts]
    scopes = [_own_scope(text) for text in texts]
    _spread_assumptions(texts, scopes)
    for start, end in _interruptions(texts):
        for at in range(start, end):
            if scopes[at] is Scope.GLOBAL:
                scopes[at] = Scope.TASK
    return tuple(scopes)


def _own_scope(text: str) -> Scope:
    head = _A_DRAFT.sub(" ", " ".join(text[:HEAD_CHARS].split()[:4]))
    if _DRAFTED.search(head):
        return Scope.DRAFT
    return Scope.HYPOTHETICAL if _HYPOTHETICAL.search(head) else Scope.GLOBAL


def _spread_assumptions(texts: Sequence[str], scopes: list[Scope]) -> None:
    """From the message that opens a game of thought to the one that ends it; without an end, as long as it lasts."""
    opened: Scope | None = None
    for at, text in enumerate(texts):
        if opened is not None and _ENDS.search(text):
            opened = None
            scopes[at] = Scope.GLOBAL
        elif opened is None and _begins(text):
            opened = Scope.DRAFT if _DRAFTED.search(text) and not _HYPOTHETICAL.search(text) else Scope.HYPOTHETICAL
            scopes[at] = opened
        elif opened is not None and (
            scopes[at] is not Scope.GLOBAL or _ends_later(texts, at) or _UNCERTAIN.search(text)
        ):
            scopes[at] = opened
        else:
            opened = None


def _begins(text: str) -> bool:
    """Does a sentence open a game of thought? Two searches one after the other: a single pattern of both takes seconds
    for a long text that opens many and assumes nothing.
    """
    opened = ((one[0], _OPENS.search(one[0])) for one in _SENTENCE.finditer(text))
    return any(opens and _ASSUMES.search(sentence, opens.end()) for sentence, opens in opened)


def _ends_later(texts: Sequence[str], at: int) -> bool:
    return any(_ENDS.search(text) for text in texts[at + 1 :])


def _interruptions(texts: Sequence[str]) -> list[tuple[int, int]]:
    """[start, end) of each detour that is followed by a return."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for at, text in enumerate(texts):
        if start is not None and _RESUMES.search(text):
            found.append((start, at))
            start = None
        elif start is None and at > 0 and _INTERRUPTS.search(text):
            start = at
    return found
