"""In which scope the messages of a thread were said (seed 003, scope tracking), without a model. Pure.

Rules
  "What if …", "hypothetically", "let's brainstorm": what follows is hypothetical until somebody ends it ("enough of
  that", "for real"); a message that begins with such a word is hypothetical by itself.
  "Draft: …", "tentatively …": a draft, in the same way.
  "Hold on, …" begins another task, if the first one is taken up again later ("back to …", "continuing with …").
  What is to be remembered says by itself where it holds: "hypothetically, …", "draft: …", "only for this conversation";
  "the draft is due Monday" is about a draft, and no draft.
  Everything else is global. In doubt it is.
"""

import re
from collections.abc import Sequence
from typing import Final

from agent.memory.facts import Scope
from agent.memory.statements import telling_part
from agent.patterns import compile_later

REMEMBERED: Final = 20
"""Messages back that a game of thought may have begun."""
READ_CHARS: Final = 1_200
"""Of each of them, its beginning and its end: who opens or ends such a game says so there."""

HEAD_CHARS: Final = 200
"""Its first words stand there."""

_HYPOTHESIS: Final = (
    r"hypothe(?:tical(?:ly)?|sis|ses)|theoretical(?:ly)?|in theory|what if|what-if|suppos(?:e|ing)|imagin(?:e|ing)"
    r"|for the sake of argument|brainstorm(?:ing)?|explor(?:atory|ation|ing)|thought experiment|scenarios?|worst case"
    r"|best case|role-?play(?:ing)?|pretend|sandbox|simulat(?:e|ed|ion)|let's say"
)
_DRAFT: Final = (
    r"draft(?:s|ing|ed)?|tentative(?:ly)?|provisional(?:ly)?|working assumption|rough (?:estimate|idea|plan|draft)"
)
_A_DRAFT: Final = compile_later(r"\b(?:the|a|an|my|our|your|this|that) drafts?\b(?!:)", re.IGNORECASE)
"""A draft that is spoken about, and no word that what follows is one."""
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
