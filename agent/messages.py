"""The frozen values that the agent, the model and the tools exchange, and functions for any text in them."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, IntEnum, StrEnum, auto
from html import unescape  # noqa: TID251 -- the one place that bounds it
from typing import Final, TypeAlias, TypeVar

import regex

from agent.charts import Chart

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

# Possessive, so that a long string takes no memory for ways back.
_NESTING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)

MAX_DEPTH: Final = 200  # Levels of nested arrays and objects. No vendor's answer has twenty.


def is_too_deep(text: str, depth: int = MAX_DEPTH) -> bool:
    """Return whether a JSON text nests arrays and objects deeper than `depth`.

    Call this before parsing: the parser uses one level of the interpreter's stack for each, and finalizers that run
    meanwhile fail if the stack is used up.
    """
    if text.count("[") + text.count("{") <= depth:
        return False
    level = 0
    for token in _NESTING.finditer(text):
        match token[0]:
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
    """A model's output in its vendor's own form: reasoning, signatures and calls that must be sent back unchanged.

    `dialect` names the wire protocol and model that can read it; any other model gets the message's text instead.
    """

    dialect: str
    items: tuple[JsonObject, ...] = field(repr=False)

    @property
    def has_calls(self) -> bool:
        """Whether tools were called in the vendor's own form, which has no field for a workspace."""
        return any("tool_calls" in item or "toolUse" in item for item in self.items)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as a model reads it. Results of tools are sent as USER text: the protocol is text."""

    role: Role
    text: str
    images: tuple[Image, ...] = ()
    native: NativeContent | None = None
    said: str = ""
    calls: "tuple[ToolCall, ...]" = ()
    """The calls that a model of a vendor's form wrote into its text, and the words before them: they are sent back in
    that form. `text` renders both."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model wrote it: not yet validated against the tool's schema."""

    name: str
    args: JsonObject


MAX_FILES: Final = 10  # Files with one answer: Discord's limit for one message


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file for the person, attached below the answer. The model sees its name and size."""

    name: str
    media_type: str
    data: bytes = field(repr=False)
    alt: str = ""
    """A picture in words, for people who cannot see it."""
    chart: Chart | None = field(default=None, repr=False)
    """The chart that it is a picture of, for platforms that draw charts themselves."""


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class StructuredData:
    """Structured data, which the model reads as JSON."""

    value: Json


ResultPart: TypeAlias = str | Image | SharedFile | Link | StructuredData


class Keep(StrEnum):
    """How long the result of a tool may be kept."""

    STORED = "stored"
    """Like messages: with the turn's records, for recall and learning by those who may read it."""
    TURN = "turn"
    """Until the answer is complete, because some services allow no longer. No record, recall or learning uses it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool for a vendor that takes tools in its own form. `schema` is the JSON Schema of the arguments."""

    name: str
    description: str
    schema: JsonObject


class ResultStatus(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"
    """The call had started when the process died; whether it took effect is unknown."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A source in a result, which an answer may cite by this number. `is_read`: read in full; else only found."""

    number: int
    address: str
    title: str = ""
    is_read: bool = True


class Provenance(IntEnum):
    """Whose text a turn holds beside its asker's own: text of others may hold instructions of theirs. The order is that
    of how much they may say; the rules are in `agent.tool_policy`.
    """

    OWN = 0
    NAMED = 1
    """A name of a person or place that the asker mentions, and that others chose."""
    RELAYED = 2
    """Messages of the bot that may relay text of others, and summaries of such."""
    FOREIGN = 3
    """Text of other people, of files and pictures, of tools' results; words of a schedule that a model wrote."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call.

    `sources`: ids of the stored messages that the content quotes, so that forgetting one finds what was derived from
    it; `documents`: likewise of stored documents. `references`: the sources that the content names and an answer may
    cite. `audience`: the label of those who may read the content ("person:slack:T0123:U0123"); "" for text of the
    program, such as why a call did not run.
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
    words: Provenance = Provenance.FOREIGN
    """Whose words the content holds; OWN: what the asker said, and what the bot said on its own."""
    read: tuple[str, ...] | None = None
    """The texts in the content that others than the bot wrote; None: all of it (see `agent.addresses`)."""
    documents: tuple[int, ...] = ()

    @property
    def read_texts(self) -> tuple[str, ...]:
        return (self.content,) if self.read is None else self.read


class Consent(StrEnum):
    """The decision about one call that needs consent: the asker's, or that of whom the tool policy names."""

    NOT_NEEDED = ""
    AWAITED = "awaited"
    GIVEN = "given"
    BEGUN = "begun"
    """Given, and the call runs: saved before the call starts, so that it does not run twice after a crash."""
    REFUSED = "refused"
    EXPIRED = "expired"
    """The asker did not answer in time."""
    EDITED = "edited"
    """The asker edited the question meanwhile."""
    ASKED = "asked"
    """No consent: the call is a question to the asker (`agent.asking`). It stays so when they have answered."""
    UNASKED = "unasked"
    """Nobody who may approve the call could be asked."""
    OUTDATED = "outdated"
    """The tool policy names somebody else now than those who decided."""


class ElicitAction(StrEnum):
    """The asker's reaction to a question of a tool, in the terms of MCP."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"
    """The asker did not decide: they dismissed the question, or the time was over."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question of a tool to its asker during a call. Its text comes from the tool's author and is untrusted.

    `source`: the asking server, by the operator's name for it. `schema`: of an object of plain values. `address`: a
    page for the asker to open; then there are no values.
    """

    source: str
    text: str
    schema: JsonObject
    address: str = ""


@dataclass(frozen=True, slots=True)
class Elicited:
    """The answer to an `Elicitation`. `values`: only with ACCEPT, and only those that the asker filled in."""

    action: ElicitAction
    values: JsonObject = field(default_factory=dict[str, Json])


class AnswerOutcome(Enum):
    """The result of answering a question of a tool."""

    KEPT = auto()
    NOT_THEIRS = auto()
    ANSWERED_BEFORE = auto()
    OVER = auto()
    """No call waits for the answer: its time is over, its call has ended, or the process that waited is gone."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A tool's question that waits for its answer (see the port `OpenQuestions`). `question`: the turn's question."""

    turn: int
    key: str
    asked: str
    filled: str
    question: str


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
    """When a model call began, and how long it took; `first_ms`: until the first piece, None if none came."""

    began: datetime
    ms: int
    first_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model call and its usage. `model` is the provider's name, "openai:gpt-6.1-terra".

    `timing`: None where it was not measured; it does not count for equality. `own_key`: it was made with the key that
    its channel has for the service, and not with the operator's.
    """

    model: str
    usage: Usage
    timing: CallTiming | None = field(default=None, compare=False)
    own_key: bool = False


ASCII_PER_TOKEN = 4  # English prose and code average 3.5 to 4.5 characters a token in the tokenizers of 2026

Item = TypeVar("Item")


def estimate_tokens(text: str) -> int:
    """Four ASCII characters count as one token, any other character as one (right for CJK, high for the rest)."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // ASCII_PER_TOKEN) + len(text) - ascii_characters


def estimate_usage(messages: Sequence[Message], text: str, reasoning: str = "", bytes_up: int | None = None) -> Usage:
    """Estimate the usage of a call whose vendor reports none. `bytes_up`: the bytes of the request, if known."""
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
    """The longest run of the newest items whose costs fit. Takes the newest first, returns the oldest first."""
    fitting: list[Item] = []
    for item, cost in items:
        if cost > budget:
            break
        budget -= cost
        fitting.append(item)
    return fitting[::-1]


# Reading a text as a program would that takes it for HTML. Pure.

_LONG_REFERENCE: Final = re.compile("&#(?:[0-9]{9,}|[xX][0-9A-Fa-f]{9,});?")
MAX_REFERENCE_DIGITS: Final = 8  # Without zeros before them; the last character of Unicode has seven


def read_references(text: str) -> str:
    """Return the text with HTML's references to characters ("&amp;", "&#65;") read.

    `html.unescape` alone raises ValueError for a number of some thousand digits.
    """
    return unescape(_LONG_REFERENCE.sub(_short_reference, text)) if "&" in text else text


def _short_reference(reference: "re.Match[str]") -> str:
    number = reference[0].strip("&#;")
    base, digits = ("x" if number[0] in "xX" else ""), number.lstrip("xX").lstrip("0")
    return f"&#{base}{digits or '0'};" if len(digits) <= MAX_REFERENCE_DIGITS else "\ufffd"


# Comparing texts by their appearance, whatever characters they are made of. Pure.

# Marks on one letter: the limit of Unicode's stream-safe format (UAX 15), and more than any language uses.
MAX_STACKED_MARKS: Final = 30
_STACKED: Final = regex.compile(rf"([\p{{M}}\uff9e\uff9f]{{{MAX_STACKED_MARKS}}})[\p{{M}}\uff9e\uff9f]+")
# Two single characters that normalisation expands to eighteen and eight letters: their usual abbreviations.
_SENTENCE_SIGNS: Final = {0xFDFA: " ص ", 0xFDFB: " ج "}
# Invisible characters (Unicode's Default_Ignorable_Code_Point), and the Braille pattern without a dot.
UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Small letters that look like Latin ones, as small letters or as capitals.
CONFUSABLES: Final = str.maketrans(
    "авеѕіјкмнорстухԁԛԝһӏѵαβεζηικμνορτυχոօսցı",
    "abesijkmhopctyxdqwhlvabezhikmvoptuxnougi",
)  # fmt: skip
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")


def normalisable(text: str) -> str:
    """Bound the text so that Unicode normalisation stays cheap: normalisation sorts the marks on a letter in quadratic
    time and expands some characters, and it holds the interpreter lock meanwhile.
    """
    return text if text.isascii() else _STACKED.sub(r"\1", text.translate(_SENTENCE_SIGNS))


def confusable_skeleton(text: str) -> str:
    """A form that is equal for texts that look alike: lower case, without invisible characters and accents."""
    if text.isascii():
        return text.lower()
    visible = normalisable(UNSEEN.sub("", text))
    unaccented = _ACCENTS.sub("", unicodedata.normalize("NFKD", visible))
    return unicodedata.normalize("NFC", unaccented.casefold()).translate(CONFUSABLES)
