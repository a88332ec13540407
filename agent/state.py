"""The agent's state, in the shapes of seed 001 (state v5.0) and seed 002 (semantic summary), reconciled.

Conversation    in the store: its messages, read for each turn, and its summary (`SituationSummary`)
Workspace       of one task; part of the turn's progress
Execution       never persisted
State           not a type here: a turn is a state machine (`agent.turn`), its results so far are a `Progress`, and the
                input of its context is `ContextParts`
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Final

from agent.messages import Provenance, ResultStatus, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Workspace:
    """What the model keeps in mind during one task: exactly four fields (seed 001)."""

    objective: str = ""
    understanding: str = ""
    approach: str = ""
    discoveries: str = ""


@dataclass(frozen=True, slots=True)
class SituationSummary:
    """Stands in for the messages of a conversation that are older than the history window (seed 002)."""

    goal: str = ""
    progress: str = ""
    current_approach: str = ""
    key_findings: str = ""
    next_focus: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, field_.name).strip() for field_ in fields(self))

    def merged(self, update: Mapping[str, object]) -> "SituationSummary":
        """Return a copy with each known, non-empty text of `update`, cut to the limit of its field; ignore everything
        else (seed 002, "State Update Logic").

        Names and numbers of the former text that the new one lacks are kept behind it, as many as fit: one bad summary
        must not lose what a person said once.
        """
        known = {field_.name for field_ in fields(self)}
        texts = {
            name: _with_earlier(name, getattr(self, name), text)
            for name, text in update.items()
            if name in known and isinstance(text, str) and text.strip()
        }
        return replace(self, **texts)


@dataclass(frozen=True, slots=True)
class SummaryWords:
    """Whose words a summary holds. `person`: the id of the only one, whose messages and whose answers by the bot were
    summarised; "" if it may hold words of several or of others, or if that is unknown.
    """

    person: str = ""
    words: Provenance = Provenance.RELAYED

    def joined(self, other: "SummaryWords") -> "SummaryWords":
        """Return whose words a summary holds that is made from both."""
        words = max(self.words, other.words)
        same = self.person == other.person and words < Provenance.RELAYED
        return SummaryWords(self.person, words) if same else SummaryWords()

    def for_person(self, person: str) -> Provenance:
        """Return what the summary is in a turn of this person."""
        return self.words if person == self.person else Provenance.RELAYED


FIELD_CHARS: Final = 350
FINDINGS_CHARS: Final = 1_000  # Together some 600 tokens in every later context of the conversation


EARLIER_CHARS: Final = 200  # Of a field, for names and numbers that its former text had: some twenty of them
_EARLIER: Final = re.compile(r"\s?\(earlier: (?P<terms>[^()]*)\)$")
# What an agreed word is, in whatever letters: "the code word is marzipan", "合言葉はモモタロウ".
_AGREED: Final = (
    r"(?:(?:(?i:code ?words?|code ?names?|safe ?words?|pass ?phrase|Codew[oö]rt(?:er)?|Losung(?:swort)?|Kennwort"
    r"|mots? de passe|mots? de code|nom de code|palabras? clave|contraseña|palavras?[ -](?:chave|passe)|senha"
    r"|parol[ae] d['’]ordine|кодов(?:ое|ого) слов[оа]|пароль)\b[^.!?:\n]{0,30}?"
    r"(?::|\b(?i:is|was|ist|lautet|est|es|é|è)\b)|(?:暗号|口令|合言葉|暗語)(?:[^。!?\n]{0,15}?[是为はが：:])?)"
    r"[\s“„\"«「『]{0,3}(?P<agreed>\w[\w'’-]{1,30}(?: [A-ZÀ-ÖØ-ÞА-Я]\w{1,30})?))"
)
# An agreed word, what stands in quotation marks, an address, a number with the word before it, a code, or a word with a
# capital letter inside a sentence.
_TERM: Final = re.compile(
    _AGREED + r"|[\"“„«「『](?P<quoted>[^\"”“„«»「」『』\n]{2,40})[\"”“»」』]"
    r"|https?://[^\s|()]{1,60}|\b[\w.+-]{1,40}@[\w-]{1,40}(?:\.[\w-]{1,30}){1,4}"
    r"|(?:[^\W\d_]{1,30} )?(?<![\w.,])\d[\w.,:/%-]{0,30}|\b[^\W\d_]{1,20}[-_]?\d\w{0,20}(?:-\w{1,20}){0,3}"
    r"|(?<=[^\s.!?:;(] )[A-ZÀ-ÖØ-ÞА-Я]\w{1,40}(?:[- ][A-ZÀ-ÖØ-ÞА-Я]\w{1,40}){0,3}|\b[A-Z]{2,20}\b"
)


def telling_terms(text: str) -> list[str]:
    """Return the names, codes and numbers of a text, each once, in order."""
    found = ((match["agreed"] or match["quoted"] or match.group()).rstrip(".,:-") for match in _TERM.finditer(text))
    return list(dict.fromkeys(found))


def _with_earlier(name: str, former: str, text: str) -> str:
    """Return the new text of a field, with the names and numbers of the former one that it lacks behind it."""
    old_list = _EARLIER.search(former)
    old_terms = old_list["terms"].split(" | ") if old_list else []
    text = _EARLIER.sub("", text)
    body = former[: old_list.start()] if old_list else former
    folded = text.casefold()
    missing = [term for term in dict.fromkeys([*old_terms, *telling_terms(body)]) if term.casefold() not in folded]
    kept: list[str] = []
    room = EARLIER_CHARS
    for term in missing:
        room -= len(term) + len(" | ")
        if room < 0:
            break
        kept.append(term.translate(_NO_LIST))
    if not kept:
        return bounded(name, text)
    suffix = f" (earlier: {' | '.join(kept)})"
    return bounded(name, text, less=len(suffix)) + suffix


_NO_LIST: Final = str.maketrans("()|", "   ")


def without_earlier(text: str) -> str:
    """Return the text of a field without the names and numbers that were kept behind it."""
    return _EARLIER.sub("", text)


def bounded(name: str, text: str, *, less: int = 0) -> str:
    """The text of a summary's field, cut to the limit of that field, and to `less` characters fewer."""
    limit = (FINDINGS_CHARS if name == "key_findings" else FIELD_CHARS) - less
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """The actions of one iteration, for debugging and for the summary's fallback only (seed 002).

    Each result holds up to 1,000 characters.
    """

    iteration: int
    time: datetime
    thinking: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()

    @property
    def succeeded(self) -> tuple[ToolCall, ...]:
        """The calls that are known to have succeeded."""
        if len(self.calls) != len(self.results):  # it ended before all had: which result is whose is not known
            return ()
        ended = zip(self.calls, self.results, strict=True)
        return tuple(call for call, result in ended if result.status is ResultStatus.SUCCESS)


@dataclass(frozen=True, slots=True)
class LastActions:
    """The last actions, oldest first, used where there is no summary (seed 002).

    `sources`: the ids of the messages in the contexts of those turns. `words`: whose text their results may hold.
    """

    records: tuple[ActionRecord, ...] = ()
    sources: tuple[int, ...] = ()
    words: Provenance = Provenance.RELAYED


@dataclass(frozen=True, slots=True)
class Execution:
    """The position of a running turn. Iterations count from 1."""

    iteration: int = 1
    max_iterations: int = 10
