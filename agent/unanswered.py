"""Questions that were not answered well, and which of them are about the same subject. Pure.

Rules
  Why a question counts as unanswered is read from what its turn stored: a search that found nothing, a tool that failed
  and did not work later, a rating, the model's sign (`agent.protocol.unknown_sign`). Many models write no sign. So what
  the answer says at its beginning counts, too, and in doubt it does not say that it does not know.
  Two questions are about the same subject if they share two content words, or the only one of the shorter question, or
  if their embeddings are near.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from agent.memory.statements import content_tokens

READ_CHARS: Final = 240  # Of an answer: one that does not know says so first
WORDS_CHARS: Final = 500  # Of a question, for its subject
NEAR: Final = 0.75  # The cosine from which two questions mean the same, estimated from the signs of their embeddings


class Unanswered(StrEnum):
    """Why a question counts as unanswered."""

    NOT_FOUND = "not found"
    """The model searched what is known there, and found nothing."""
    NOT_KNOWN = "not known"
    """The model says that it does not know, by its sign or in words."""
    TOOL_FAILED = "tool failed"
    DISLIKED = "disliked"
    """Somebody rated the answer 👎."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was answered, as a view contains it. `link`: "" if the platform has none.

    `searched`: the model searched past messages and documents; `found`: a tool brought something into the turn, or it
    cannot be known any more. `failed`: the tools that failed and did not work in the same turn. `unknown`: the model
    said by its sign that it does not know. `model` and `signs`: of the question's embedding, "" and b"" without one.
    """

    turn: int
    question: str
    answer: str
    time: datetime
    link: str = ""
    searched: bool = False
    found: bool = False
    failed: frozenset[str] = frozenset()
    disliked: bool = False
    unknown: bool = False
    model: str = ""
    signs: bytes = b""

    @property
    def reasons(self) -> frozenset[Unanswered]:
        """Return why it counts as unanswered; none if it does not."""
        signs = {
            Unanswered.NOT_FOUND: self.searched and not self.found,
            Unanswered.NOT_KNOWN: self.unknown or says_unknown(self.answer),
            Unanswered.TOOL_FAILED: bool(self.failed),
            Unanswered.DISLIKED: self.disliked,
        }
        return frozenset(sign for sign, holds in signs.items() if holds)


@dataclass(frozen=True, slots=True)
class AskedChannel:
    """A channel in which people asked. `audience`: the label of its readers, no single person; `people`: some of those
    who asked there, by their ids.
    """

    source: str
    channel: str
    audience: str
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions about one subject, the newest first."""

    questions: tuple[AskedQuestion, ...]

    def count(self, reason: Unanswered) -> int:
        return sum(reason in question.reasons for question in self.questions)


def grouped(questions: Sequence[AskedQuestion]) -> list[QuestionGroup]:
    """Return the unanswered ones of these questions by subject: the largest groups first, then the newest."""
    groups = list[list[tuple[AskedQuestion, frozenset[str]]]]()
    for question in sorted(questions, key=lambda one: one.turn, reverse=True):
        if not question.reasons:
            continue
        words = subject_words(question.question)
        same = next((group for group in groups if any(_is_same(question, words, *other) for other in group)), None)
        if same is None:
            groups.append([(question, words)])
        else:
            same.append((question, words))
    ordered = sorted(groups, key=len, reverse=True)  # stable: among equals, the newest stays first
    return [QuestionGroup(tuple(question for question, _ in group)) for group in ordered]


def _is_same(one: AskedQuestion, words: frozenset[str], other: AskedQuestion, other_words: frozenset[str]) -> bool:
    shorter = min(len(words), len(other_words))
    if shorter and len(words & other_words) >= min(2, shorter):
        return True
    return one.model == other.model and nearness(one.signs, other.signs) >= NEAR


def nearness(signs: bytes, other: bytes) -> float:
    """Estimate the cosine of two embeddings from their signs; 0 if they cannot be compared."""
    if not signs or len(signs) != len(other):
        return 0.0
    differing = (int.from_bytes(signs, "big") ^ int.from_bytes(other, "big")).bit_count()
    return math.cos(math.pi * differing / (8 * len(signs)))


def subject_words(question: str) -> frozenset[str]:
    """Return the stems of the content words of a question, without those that only ask."""
    tokens = content_tokens(question[:WORDS_CHARS])
    return frozenset(token.word for token in tokens if token.word not in _ASKING)


# Stems of words that ask and say nothing about a subject, beside the function words that are left out anyway.
_ASKING: Final = frozenset(
    {
        *(
            "find",
            "know",
            "tell",
            "explain",
            "show",
            "mean",
            "question",
            "answer",
            "help",
            "need",
            "want",
            "please",
            "anybody",
            "anyone",
            "somebody",
        ),
        *("wissen", "weiß", "finden", "finde", "jemand", "bitte", "kennt", "kennst"),
        *("comment", "pourquoi", "quel", "quell", "où", "savoir", "trouver"),
        *("cuál", "cuáles", "cómo", "dónde", "qué", "quién", "saber", "encontrar"),
        *("come", "dove", "qual", "qualcuno", "sapere", "trovare"),
        *("onde", "como", "quem", "alguém", "achar"),
        *("waar", "wie", "hoe", "wanneer", "iemand", "weet", "vinden"),
        *("何", "どこ", "いつ", "誰", "すか", "ですか"),
    }
)

# What an answer begins with that does not know, in the eight languages in which times are read. Each begins a sentence,
# perhaps after a word of regret.
_UNKNOWN: Final = re.compile(
    r"(?:\A|(?<=[.!?。！？\n]))[\s*_>]*"
    r"(?:[^\s,.!?]{1,16}(?: [^\s,.!?]{1,16}){0,2}, (?:but |aber |mais |pero |ma |maar )?)?"
    r"(?:"
    r"i (?:do not|don['’]t) know\b(?! about you)"
    r"|i (?:have no|do not have (?:any|enough)|don['’]t have (?:any|enough)) info"
    r"|i (?:could not|couldn['’]t|cannot|can['’]t|was unable to|was not able to|wasn['’]t able to) find"
    r" (?:any|an? |that|this|it\b)"
    r"|i (?:found nothing|did not find any|didn['’]t find any)"
    r"|(?:das |leider )?wei(?:ß|ss) ich (?:es |das )?(?:leider )?nicht"
    r"|ich wei(?:ß|ss) (?:es |das )?(?:leider )?nicht"
    r"|(?:dazu |darüber |leider )?habe ich (?:dazu |darüber )?(?:leider )?(?:nichts gefunden|keine inform)"
    r"|ich habe (?:dazu |darüber )?(?:leider )?(?:nichts gefunden|keine inform)"
    r"|ich konnte (?:dazu |darüber )?(?:leider )?(?:nichts finden|keine inform)"
    r"|je ne (?:le )?sais pas"
    r"|je n['’]ai (?:malheureusement )?(?:rien trouvé|aucune inform|pas trouvé|pas d['’]inform)"
    r"|no lo sé\b|no sé\b|no (?:he encontrado|encontré) (?:nada|inform|ningun)|no tengo (?:inform|datos)"
    r"|non (?:lo )?so\b|non ho (?:trovato (?:nulla|niente|inform|alcun)|inform)"
    r"|não sei\b|não (?:encontrei|achei) (?:nada|inform|nenhum)|não tenho inform"
    r"|ik weet (?:het|dat) (?:helaas )?niet|dat weet ik (?:helaas )?niet"
    r"|ik heb (?:hierover |daarover )?(?:helaas )?(?:niets gevonden|geen inform)"
    r"|ik kon (?:hierover |daarover )?(?:helaas )?(?:niets vinden|geen inform)"
    r"|[^。！？\n]{0,40}(?:わかりません|分かりません|見つかりませんでした|情報がありません)"
    r")",
    re.IGNORECASE,
)


def says_unknown(answer: str) -> bool:
    """Return whether an answer says at its beginning that it does not know."""
    return _UNKNOWN.search(answer[:READ_CHARS]) is not None
