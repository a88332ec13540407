"""What goes between the agent, the model and the tools: frozen values; and what is true of any text of theirs."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, IntEnum, StrEnum, auto
from typing import Final, TypeAlias, TypeVar

import regex

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

_NESTING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{\]}]', re.DOTALL)

MAX_DEPTH: Final = 200  # Of arrays and objects in each other. No vendor's answer has twenty.


def is_too_deep(text: str, depth: int = MAX_DEPTH) -> bool:
    """Whether a JSON text has more than so many arrays and objects open at once.

    Asked before it is read: reading takes a level of the interpreter's stack for each, and whatever Python cleans up
    meanwhile fails for want of room.
    """
    if text.count("[") + text.count("{") <= depth:
        return False
    level = 0
    for found in _NESTING.finditer(text):
        match found[0]:
            case "[" | "{":
                level += 1
            case "]" | "}":
                level = max(0, level - 1)
            case _:
                pass
        if level > depth:
            return True
    return False


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a person shared. `data` holds the file's bytes."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NativeContent:
    """What a model wrote, in its vendor's own form: reasoning, signatures and calls that must come back unchanged.

    `dialect` names the wire protocol and model that can read it; to every other one the message's text stands for it.
    """

    dialect: str
    items: tuple[JsonObject, ...] = field(repr=False)

    @property
    def has_calls(self) -> bool:
        """Whether tools were called in a form of the vendor's, which has no room for a workspace."""
        return any("tool_calls" in item for item in self.items)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as a model reads it. Results of tools travel as USER text: the protocol is text."""

    role: Role
    text: str
    images: tuple[Image, ...] = ()
    native: NativeContent | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asked for, as written: not yet validated against the tool's schema."""

    name: str
    args: JsonObject


MAX_FILES: Final = 10  # With one answer: as many as Discord takes with one message


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file for the person, handed over below the answer. The model is told its name and size."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class StructuredData:
    """A value with fields, which the model reads as JSON."""

    value: Json


ResultPart: TypeAlias = str | Image | SharedFile | Link | StructuredData


class Keep(StrEnum):
    """How long what a tool brought may be kept."""

    STORED = "stored"
    """As what was said: with the turn's records, to be recalled and learned from by those who may read it."""
    TURN = "turn"
    """Until the answer is there: some services allow no longer. No record, recall or learning holds it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a vendor takes it that has a form of its own for tools. `schema` is its arguments' JSON Schema."""

    name: str
    description: str
    schema: JsonObject


class ResultStatus(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"
    """The call had started when the process died; nobody knows whether it took effect."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a result tells of, and an answer may cite by this number. `is_read`: as a whole; else it was only found."""

    number: int
    address: str
    title: str = ""
    is_read: bool = True


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`sources`: ids of the stored messages that the content quotes, so that forgetting one finds what came of it.
    `references`: what the content tells of, and an answer may cite.

    `audience`: the label of those who may read what the tool brought ("person:slack:T0123:U0123"); "" for words of
    ours, as why a call did not run.
    """

    name: str
    status: ResultStatus
    content: str
    sources: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()
    files: tuple[SharedFile, ...] = ()
    audience: str = ""
    keep: Keep = Keep.STORED
    references: tuple[Reference, ...] = ()
    own: bool = False
    """Nothing stands in it but what the asker has said, and the bot of its own."""


class Consent(StrEnum):
    """What the asker says of one call that may not run unasked."""

    NOT_NEEDED = ""
    AWAITED = "awaited"
    GIVEN = "given"
    BEGUN = "begun"
    """Given, and the call runs: saved before it does, so that after a crash it does not run twice."""
    REFUSED = "refused"
    EXPIRED = "expired"
    """Nobody answered in time."""
    EDITED = "edited"
    """They have edited their question meanwhile."""


class ElicitAction(StrEnum):
    """What somebody does about a question of a tool, in the words of MCP."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"
    """They did not decide: they put it off, or their time was over."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """What a tool asks its asker in the middle of a call: the words of whoever wrote it, to be trusted in nothing.

    `source`: who asks, by the operator's name for it. `schema`: of an object of plain values. `address`: a page to be
    opened by the asker themselves; then there are no values.
    """

    source: str
    text: str
    schema: JsonObject
    address: str = ""


@dataclass(frozen=True, slots=True)
class Elicited:
    """`values`: only with ACCEPT, and only those that were given."""

    action: ElicitAction
    values: JsonObject = field(default_factory=dict[str, Json])


class AnswerOutcome(Enum):
    """What became of what somebody said to a question of a tool."""

    KEPT = auto()
    NOT_THEIRS = auto()
    ANSWERED_BEFORE = auto()
    OVER = auto()
    """Nobody waits for it: its time is over, its call has ended, or the process that waited is gone."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """As in the port `OpenQuestions`. `question`: what its person had asked."""

    turn: int
    key: str
    asked: str
    filled: str
    question: str


class Provenance(IntEnum):
    """Whose words a turn holds beside its asker's own: what others wrote may want something of its own."""

    OWN = 0
    RETOLD = 1
    """What the bot said of what tools brought, and what those bring that the asker allowed in this thread."""
    FOREIGN = 2
    """Of other people, of files and pictures, of results of tools."""


class Depth(StrEnum):
    """How long the model may reason: the person's choice. ADAPT leaves it to the vendor."""

    FAST = "fast"
    DEEP = "deep"
    ADAPT = "adapt"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls. `estimated` is true as soon as one part was not reported by the vendor."""

    input_uncached: int = 0
    input_cached: int = 0
    input_written: int = 0
    output: int = 0
    reasoning: int = 0
    bytes_up: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_uncached + other.input_uncached,
            self.input_cached + other.input_cached,
            self.input_written + other.input_written,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.bytes_up + other.bytes_up,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class CallTiming:
    """When the model was asked, and how long its answer took; `first_ms`: until its first piece, None if none came."""

    began: datetime
    ms: int
    first_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One answer of a model, and what it took. `model` is the provider's name, "openai:gpt-6.1-terra".

    `timing`: None where nobody measured it. Two calls that took the same are equal, whenever they were.
    """

    model: str
    usage: Usage
    timing: CallTiming | None = field(default=None, compare=False)


ASCII_PER_TOKEN = 4  # English prose and code average 3.5 to 4.5 characters a token in the tokenizers of 2026

Item = TypeVar("Item")


def estimate_tokens(text: str) -> int:
    """ASCII at four characters a token; any other character as one (true of CJK, high for the rest)."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // ASCII_PER_TOKEN) + len(text) - ascii_characters


def estimate_usage(messages: Sequence[Message], text: str, reasoning: str = "", bytes_up: int | None = None) -> Usage:
    """What an answer took whose vendor does not say. `bytes_up`: what asking took, if that is known."""
    if bytes_up is None:
        bytes_up = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    return Usage(
        input_uncached=sum(estimate_tokens(message.text) for message in messages),
        output=estimate_tokens(text),
        reasoning=estimate_tokens(reasoning),
        bytes_up=bytes_up,
        estimated=True,
    )


def fit_newest(items: Iterable[tuple[Item, int]], budget: int) -> list[Item]:
    """The longest run of the newest items whose costs fit. Given newest first, returned oldest first."""
    kept: list[Item] = []
    for item, cost in items:
        if cost > budget:
            break
        budget -= cost
        kept.append(item)
    return kept[::-1]


# How texts look, whatever characters they are made of. Pure.

# Marks on one letter: as many as Unicode's own form for streams has (UAX 15), and more than any language writes.
STACKED: Final = 30
_STACKED: Final = regex.compile(rf"([\p{{M}}\uff9e\uff9f]{{{STACKED}}})[\p{{M}}\uff9e\uff9f]+")
# One sign each, which normalising writes out in eighteen and eight letters: their usual abbreviations.
_SENTENCE_SIGNS: Final = {0xFDFA: " ص ", 0xFDFB: " ج "}
# What Unicode has nobody see (Default_Ignorable_Code_Point), and the Braille pattern without a dot.
UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Small letters that nobody tells from Latin ones, in a text of small letters or of capitals.
LOOKS_LIKE: Final = str.maketrans(
    "авеѕіјкмнорстухԁԛԝһӏѵαβεζηικμνορτυχոօսցı",
    "abesijkmhopctyxdqwhlvabezhikmvoptuxnougi",
)  # fmt: skip
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")


def normalisable(text: str) -> str:
    """What may be normalised: that sorts the marks on a letter, in the square of their number, and makes some signs
    long. It is neither done for each other thread, nor for anything else of the process, meanwhile.
    """
    return text if text.isascii() else _STACKED.sub(r"\1", text.translate(_SENTENCE_SIGNS))


def as_it_looks(text: str) -> str:
    """The same for texts that look the same: without what nobody sees and without accents, in small letters."""
    if text.isascii():
        return text.lower()
    seen = normalisable(UNSEEN.sub("", text))
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", seen))
    return unicodedata.normalize("NFC", bare.casefold()).translate(LOOKS_LIKE)
