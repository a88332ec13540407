"""An exam for the bot: questions, what comes before them, and what must hold for the answers. Pure.

Rules
  Each question is asked in a workspace of its own, as new as the file describes it: none sees another's messages.
  Names of people, places and tools are those of the file. "dm" is a person's direct messages with the bot.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.admission_terms import Authority
from agent.messages import Json, JsonObject
from agent.ports.tools import ToolEffect
from agent.spending import Money

DM: Final = "dm"
_MENTION: Final = re.compile(r" ?(?<![\w.@])@cogency\b[,:]?", re.IGNORECASE)


def mentions_bot(text: str) -> bool:
    return _MENTION.search(text) is not None


def without_mention(text: str) -> str:
    """Return the text without the bot's name; unchanged if it is nothing else."""
    return _MENTION.sub("", text, count=1).strip() or text


@dataclass(frozen=True, slots=True)
class ExamPerson:
    id: str
    name: str
    authority: Authority = Authority.EMPLOYEE
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class ExamPlace:
    """A channel. `members`: the ids of the people who read it; None: everyone, so it is public."""

    name: str
    members: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class CannedAnswer:
    """What a tool answers if a call has these arguments, among others; `failure`: why the call fails instead."""

    when: Mapping[str, Json]
    result: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ExamTool:
    """A tool with fixed answers. `arguments`: a JSON Schema of type object. The first answer that fits counts."""

    name: str
    description: str
    arguments: JsonObject
    effect: ToolEffect
    answers: tuple[CannedAnswer, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A message before the question. `thread`: the file's name of its thread, "" for one of its own."""

    person: str
    place: str
    text: str
    thread: str = ""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact that the person had the bot remember in this place."""

    person: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document that the place was given."""

    place: str
    name: str
    text: str


# What must hold. Texts are compared without regard to case and to white space.


@dataclass(frozen=True, slots=True)
class Contains:
    """The answer contains one of these texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContainsNot:
    text: str


@dataclass(frozen=True, slots=True)
class Matches:
    """A part of the answer matches this regular expression, of the module `regex`."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Cites:
    """The answer names a source that a tool returned, whose address or name contains this text; "": any."""

    source: str


@dataclass(frozen=True, slots=True)
class CallsTool:
    """A call of this tool ran. `arguments`: values that it had, texts compared like those of the answer."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class CallsNot:
    """No call of this tool was made, whether it ran or not; "": of no tool at all."""

    tool: str


@dataclass(frozen=True, slots=True)
class RunsNot:
    """No call of this tool ran: it was not called, or its call was denied or failed; "": of no tool at all."""

    tool: str


@dataclass(frozen=True, slots=True)
class Refuses:
    """Whether the answer says that the bot does not do it."""

    expected: bool


@dataclass(frozen=True, slots=True)
class CostsAtMost:
    limit: Money


@dataclass(frozen=True, slots=True)
class WithinSeconds:
    limit: float


@dataclass(frozen=True, slots=True)
class Remembers:
    """Afterward, a valid fact of the asker contains this text."""

    text: str


@dataclass(frozen=True, slots=True)
class RemembersNot:
    text: str


@dataclass(frozen=True, slots=True)
class RevealsNot:
    """Nothing that the bot showed or posted during the answer contains this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The judge model finds that the answer satisfies this rubric."""

    rubric: str


WordsCheck: TypeAlias = Contains | ContainsNot | Matches | Cites | Refuses | RevealsNot
EffectCheck: TypeAlias = CallsTool | CallsNot | RunsNot | CostsAtMost | WithinSeconds | Remembers | RemembersNot
PlainCheck: TypeAlias = WordsCheck | EffectCheck
Check: TypeAlias = PlainCheck | Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`group`: under which it is counted in the report, "" for none. `approves`: whether the asker approves calls that
    need it; if not, they deny them. `line`: in the file.
    """

    name: str
    text: str
    checks: tuple[Check, ...]
    people: Mapping[str, ExamPerson]
    places: Mapping[str, ExamPlace]
    tools: tuple[ExamTool, ...] = ()
    person: str
    place: str = DM
    thread: str = ""
    group: str = ""
    before: tuple[Said, ...] = ()
    memory: tuple[KnownFact, ...] = ()
    documents: tuple[KnownDocument, ...] = ()
    approves: bool = False
    line: int = 0

    @property
    def is_judged(self) -> bool:
        return any(isinstance(check, Judged) for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    """`judge`: the name of the model that judges, "" for none. `threshold`: the share of answers that must pass, from 0
    to 1.
    """

    name: str
    questions: tuple[Question, ...]
    judge: str = ""
    repeat: int = 1
    threshold: float = 1.0
