"""What hooks get and return. Public: `from cogency_bot import Question, Refuse`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from agent.messages import Json


@dataclass(frozen=True, slots=True)
class Refuse:
    """Returned by a hook: this must not happen. `sentence` is shown to the person, as Markdown."""

    sentence: str


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file that came with a question. `name`: how it is described to the model."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question before anything of its turn goes to a model. A hook can return it with another `text`, and with other
    texts in `files`, in the same order.

    `text` is what the model will read as the person's question: for a voice message, its transcript. `person` and
    `conversation` are ids ("slack:T0123:U0123"), `channel` is the platform's own id, "C0123". `kind`: what began the
    turn, "question" for a person's message.
    """

    text: str
    files: tuple[FileText, ...] = ()
    person: str = ""
    channel: str = ""
    conversation: str = ""
    kind: str = "question"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, with valid arguments, before anybody is asked to approve it. A hook can return it with other
    `arguments`.

    `effect`: of the tool, "reads", "writes here", "acts outward" or "irreversible". `by_code`: code that the model
    wrote makes the call. For the ids see `Question`.
    """

    tool: str
    arguments: Mapping[str, Json]
    effect: str = ""
    by_code: bool = False
    person: str = ""
    channel: str = ""
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is complete. `text`: as it is about to be shown, with its sources. `question`: what the model read
    as the question. For the ids see `Question`.
    """

    text: str
    question: str = ""
    person: str = ""
    channel: str = ""
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """All texts that are about to go to a model: instructions, history, memory, the question, results of tools."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hide:
    """Returned by `before_model`: the values that the model must not read, each with a word for its kind.

    With `Hide({"ann@example.com": "email"})`, the model reads "[EMAIL-1]". Where it writes that, the value is put back.
    These are hidden but not put back: a value of other than 2 to 200 characters, or with line breaks, quotation marks
    ("), apostrophes ('), backslashes, < or >, with spaces at its ends, with a comma and a colon or =, or with a ) that
    closes nothing.
    A kind has up to 20 letters, digits and underscores (ASCII), and begins with a letter.
    """

    values: Mapping[str, str] = field(default_factory=dict[str, str])


class HookPoint(StrEnum):
    BEFORE_QUESTION = "before_question"
    BEFORE_CALL = "before_call"
    BEFORE_MODEL = "before_model"
    AFTER_ANSWER = "after_answer"


class HookEnd(StrEnum):
    PASSED = "passed"
    CHANGED = "changed"
    REFUSED = "refused"
    FAILED = "failed"
    """The hook raised, took too long, or returned something else than it may."""


@dataclass(frozen=True, slots=True)
class HookUse:
    """One use of a hook. It holds no words."""

    point: HookPoint
    end: HookEnd
    took_s: float
