"""The delimiter protocol: its tags and limits, the prompt that teaches a model to use them, and the tag readers. Pure.

A function that reads a tag, a fence or the beginning of JSON looks at one position of a stream that may be incomplete.
It returns what it found, None (it cannot be one, whatever follows), or MAYBE (the text ends too early to decide). It
returns MAYBE only within a limit, so that little is ever held back.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final, Literal

import regex

from agent.patterns import compile_later


class BlockKind(StrEnum):
    """A kind of block, by the name of its tag."""

    THINK = "think"
    WORKSPACE = "workspace"
    EXECUTE = "execute"
    RESULTS = "results"
    SUMMARY = "summary"


class BlockPlace(Enum):
    """Where a block opened. Only IN_PLACE is correct; elsewhere the following text decides whether it counts."""

    IN_PLACE = auto()
    IN_LINE = auto()
    IN_FENCE = auto()
    WITHOUT_TAG = auto()
    QUOTED = auto()
    """In a foreign form and where a text shows a call: its calls never run."""


# Every name that is read as a tag. Names other than those of the kinds come from other formats that models know.
TAG_NAMES = {kind.value: kind for kind in BlockKind} | {
    "thinking": BlockKind.THINK,
    "thought": BlockKind.THINK,
    "tool_call": BlockKind.EXECUTE,
    "tool_calls": BlockKind.EXECUTE,
    "function_call": BlockKind.EXECUTE,
    "tool_response": BlockKind.RESULTS,
    "tool_result": BlockKind.RESULTS,
    "tool_results": BlockKind.RESULTS,
    "function_result": BlockKind.RESULTS,
    "function_results": BlockKind.RESULTS,
}

WORKSPACE_FIELDS = ("objective", "understanding", "approach", "discoveries")
SUMMARY_FIELDS = ("goal", "progress", "current_approach", "key_findings", "next_focus")

# One line, in the form that a model should write.
WORKSPACE_SCHEMA = (
    '<workspace>{"objective": "…", "understanding": "…", "approach": "…", "discoveries": "…"}</workspace>'
)

SUMMARY_SCHEMA = (
    '<summary>{"goal": "…", "progress": "…", "current_approach": "…", "key_findings": "…", "next_focus": "…"}</summary>'
)

# The stop sequence for vendors. No valid JSON string contains it, because a string holds no bare line break.
STOP_SEQUENCE = "\n</execute>"


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """In characters, unless the limit says otherwise."""

    block: int = 262_144
    """256 KB. More than any model writes into one block on purpose, little enough to hold for every running turn."""
    tag: int = 160
    """From `<` to `>`. A longer text is no tag; while it may still be one, it is held back."""
    gap: int = 256
    """Blanks between an opening tag and its JSON, which are held back, too."""
    head: int = 256
    """The beginning of a misplaced block's JSON, which must contain the name of a tool."""
    indent: int = 64
    """Blanks before a tag or a fence. Deeper than any list is nested."""
    fence: int = 200
    """A fence's opening line. A longer one can only be prose."""
    notes: int = 2_000
    """From `<workspace>` to its end, if it holds no JSON. Longer notes are prose about the tag."""
    depth: int = 64
    """Levels of JSON. Deeper than any tool's arguments, far from Python's recursion limit."""
    number: int = 400
    """Digits of one number. Longer than any float; Python itself rejects 4,300."""
    calls: int = 32
    """Number of calls in one block. They run at the same time, so their number is bounded."""


THINK_FIRST = "- You may reason first in <think>…</think>.\n"

# Begins the protocol's part, the last one of the system prompt (`agent.context`).
LESSON = "# How you write\n"

# The examples show an answer, and calls of two tools, because small models do as the only example does: one with
# `recall` made them search for what they were asked to remember. They copy the values of the workspace, too, so it has
# none. The tag of the results is not shown: they write it themselves.
_PROTOCOL = f"""\
{LESSON}
People read your text as you write it. Blocks are private: they begin on a new line, outside code fences, and hold
strict JSON. If a tool fits, do not announce it: write two blocks and end your message. For "Note that I live in Lyon.
And what did I say about the picnic?":

{WORKSPACE_SCHEMA}
<execute>[{{"name": "remember", "args": {{"text": "I live in Lyon."}}}},
{{"name": "recall", "args": {{"query": "picnic", "wordings": ["lunch outside", "barbecue"]}}}}]
</execute>

The system then answers with the results. Call again, or answer in plain words.

If no tool fits, answer without a block. For "What is the capital of Peru?":

Lima.

- workspace: short notes on this task. execute: calls that run at the same time.
- </execute> stands on its own line, with nothing after it.
{THINK_FIRST}- Explain blocks in words, without writing one.
"""

# Taught only where messages leave the history: elsewhere small models wrote it in place of a call or of an answer.
SUMMARY_LESSON = f"After the text of an answer, you may sum up the conversation in one more block:\n{SUMMARY_SCHEMA}"

LAST_ROUND = "This is the last round: answer the person now, without calling a tool."

# No summary and no thoughts: small models wrote them in place of a call. Summaries are made in the background.
_NATIVE = f"""\
{LESSON}
People read your text as you write it. To use a tool, call it at once, without announcing it; several calls may run at
the same time. Never write calls or results as text. From the results, answer in plain text.
"""

_NO_TOOLS = "You have no tools now, so write no <execute>."


def teach(tools_text: str, *, reasons: bool = False) -> str:
    """The prompt that explains the protocol. `tools_text` holds the tools' schemas; "" if there are none.

    A model that reasons by itself (`reasons`) is not asked to reason in a block: it would do it twice.
    """
    protocol = _PROTOCOL.replace(THINK_FIRST, "") if reasons else _PROTOCOL
    return f"{protocol}\n{f'# Your tools{chr(10)}{chr(10)}{tools_text}' if tools_text else _NO_TOOLS}"


def teach_native() -> str:
    """As `teach`, for a model that gets its tools in its vendor's form."""
    return _NATIVE


# Characters that may precede a tag on its line, or occur inside it: spaces, zero-width characters, a byte order mark.
BLANKS: Final = " \t\r\f\v\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"


class _Undecided(Enum):
    MAYBE = "maybe"


Maybe = Literal[_Undecided.MAYBE]
MAYBE: Final = _Undecided.MAYBE


@dataclass(frozen=True, slots=True)
class Tag:
    """`end` is the position after its `>`. `empty` is how XML writes a block without content: `<execute/>`."""

    kind: BlockKind
    closing: bool
    empty: bool
    end: int


# Without ASCII, `ſ`, `ı` and `İ` would match letters of the names, and `lower()` does not turn them into these.
_ANY_CASE = re.IGNORECASE | re.ASCII
_NAME = "|".join(sorted(TAG_NAMES, key=len, reverse=True))
_NAME_PREFIX = "|".join(
    sorted({name[:length] for name in TAG_NAMES for length in range(1, len(name) + 1)}, key=len, reverse=True)
)
_FIRST_LETTERS = "".join(sorted({name[0] for name in TAG_NAMES}))
_TAG_MAY_BEGIN = compile_later(rf"<[{BLANKS}]*+/?[{BLANKS}]*+(?:[{_FIRST_LETTERS}]|\Z)", _ANY_CASE)
_TAG = compile_later(rf"<[{BLANKS}]*+(/?)[{BLANKS}]*+({_NAME})(?=[{BLANKS}/>])([^<>\n]*)>", _ANY_CASE)
# What can still become a tag of ours when more text arrives; only this much is held back.
_TAG_PREFIX = compile_later(
    rf"<[{BLANKS}]*+/?[{BLANKS}]*+(?:(?:{_NAME})[{BLANKS}/][^<>\n]*|{_NAME_PREFIX})?\Z", _ANY_CASE
)
_JSON = compile_later(rf"[{BLANKS}\n]*(?:(?:`{{3,}}|~{{3,}})\w*[{BLANKS}\n]*)?([\[{{])")
_JSON_PREFIX = compile_later(rf"[{BLANKS}\n]*(?:`{{1,2}}|~{{1,2}}|(?:`{{3,}}|~{{3,}})\w*[{BLANKS}\n]*)?\Z")
_PROSE = compile_later(r"(?:[^<\[{\n]|\n(?!\n))*(?=[\[{])")
_PROSE_PREFIX = compile_later(r"(?:[^<\[{\n]|\n(?!\n))*\Z")
_REST_OF_LINE = compile_later(rf"[{BLANKS}]*(\n|\Z)")

# A call as the first thing in code, after an assignment, print or await at most: later ones may be examples.
_CALL_IN_CODE = compile_later(
    rf"[{BLANKS}\n]*+(?:(?:`{{3,}}|~{{3,}})\w*+[{BLANKS}\n]*+)?+(?:\w{{1,64}}\s?=\s?|(?:print|await)[\s(])?([\w-]{{1,128}})\("
)
# What can still become such a call.
_CALL_IN_CODE_PREFIX = compile_later(
    rf"[{BLANKS}\n]*+[`~]*+\w{{0,64}}[{BLANKS}\n]*+(?:\w{{1,64}}\s?[=(]?\s?)?[\w-]{{0,128}}\Z"
)
# A tag in the middle of a sentence is spoken about: small letters follow, or a mark of punctuation.
_GOES_ON = compile_later(
    rf"[{BLANKS}]+(?!(?:{'|'.join(WORKSPACE_FIELDS)}|secure)\b)[a-z]+(?:[{BLANKS}]+[^{BLANKS}\n:=]|[.,;!?)\n])|[.,;:!?)'\"`]"
)
_NOTES_END = compile_later(rf"<[{BLANKS}]*+/[{BLANKS}]*+workspace[{BLANKS}]*+>", _ANY_CASE)
_WORDS_END = compile_later(rf"<[{BLANKS}]*+/[{BLANKS}]*+execute[{BLANKS}]*+>", _ANY_CASE)
_SUMMARY_END = compile_later(rf"<[{BLANKS}]*+/[{BLANKS}]*+summary[{BLANKS}]*+>\s*+", _ANY_CASE)
# What models write into a block to say that they call nothing.
SAYS_NOTHING: Final = compile_later(
    r"\W*+(?:none|null|nothing|empty|n/a|no (?:tools?|calls?|actions?)\b[^\n]*+)?+\W*+", _ANY_CASE
)
_FIRST_KEY = compile_later(r"""([\[{\s]*["'“]?)(\w*)""")
_COLON = compile_later(r"""["'”]?\s*(:|\Z)""")
# Typographic quotation marks, too: models that write prose write them in JSON.
_FIRST_NAME = compile_later(
    r"""\b(?:name|tool|tool_name|function|action|recipient_name)["'”]?\s*:\s*["'“]([^"'“”\n]{1,128})["'”]"""
)
# An object with a name and an object of arguments, and nothing else before them: few other documents begin so.
_CALL_SHAPE = regex.compile(
    r"""\[?\s{0,16}\{\s{0,16}(?:["']type["']\s{0,4}:\s{0,4}["']function["'],\s{0,16})?"""
    r"""["'“](?:name|tool|tool_name|function|action)["'”]\s{0,4}:\s{0,4}["'“](?P<name>[\w.-]{1,128})["'”]\s{0,4},\s{0,16}"""
    r"""["'“](?:args|arguments|parameters|tool_input|action_input)["'”]\s{0,4}:\s{0,4}\{"""
    r"""|\{\s{0,16}["'“](?P<key>[\w.-]{1,128})["'”]\s{0,4}:\s{0,4}\{\s{0,16}["'“}]"""
)
# Beside a call, what agents were trained to think; around it, the keys under which they write it.
NOTE_KEYS: Final = frozenset({"thought", "thoughts", "reasoning", "reason", "plan", "explanation"})
WRAPPING_KEYS: Final = frozenset({"function", "function_call", "tool_call", "call", "action", "command", "tool"})
# A result as the program writes it: with its tool's name, and with what the tool returned.
_RESULT_SHAPE = regex.compile(
    r"""\[?\s{0,16}\{\s{0,16}["'“](?:name|tool)["'”]\s{0,4}:\s{0,4}["'“](?P<name>[\w.-]{1,128})["'”]\s{0,4},\s{0,16}"""
    r"""["'“](?:status|content|result)["'”]\s{0,4}:"""
)
_FIRST_KEYS = {
    BlockKind.EXECUTE: (
        *("name", "tool", "tool_name", "function", "action", "recipient_name"),
        *("type", "id", "args", "arguments", "parameters", "tool_calls", "tool_uses", "calls", "actions"),
        *sorted(NOTE_KEYS | WRAPPING_KEYS),
    ),
    BlockKind.RESULTS: ("name", "status", "content", "tool"),
    BlockKind.WORKSPACE: (*WORKSPACE_FIELDS, "secure"),
    BlockKind.SUMMARY: SUMMARY_FIELDS,
}
_CUT_LETTERS = 2  # Letters of a cut tag's name: a single letter is as likely the end of "a <b"

_ANY_FIRST = _FIRST_LETTERS + _FIRST_LETTERS.upper()
# A `<` that begins no tag of this protocol and none of `agent.protocol.native`, and can be skipped at once.
NO_TAG_BEGINS: Final = (
    rf"<(?![|｜]|a(?:n|\Z)|i(?:n|\Z)|[{BLANKS}]{{0,9}}+/?[{BLANKS}]{{0,9}}+(?:[{BLANKS}{_ANY_FIRST}]|\Z))"
)
# A `<` that begins no tag of any name and no token, and can be skipped at once.
NO_MARKER_BEGINS: Final = rf"<(?![/{BLANKS}]{{0,9}}+(?:[A-Za-z_|｜‖❘∣￨]|\Z))"
_NATIVE_NAME = (
    r"[|｜]|tool[▁_]|/?(?:antml:|invoke\b|function_calls|function=|parameter\b)"
    r"|/?(?:s|bos|eos|[be]os_token|pad|unk|mask|sop|eop)>|\w{1,40}[|｜]>|</?sys>"
    r"|(?:start|end)_of_\w|unused\d|extra_id_\d|special_\d|image_soft_token>|seed:"
)
# Every `<` that could begin a tag of this protocol or a model's native token, also when more text follows. (A server of
# open models may read a person's `<|im_start|>` as the beginning of another message.)
TAG_LIKE: Final = compile_later(rf"<(?=[{BLANKS}/]*(?:{_NAME}|(?:{_NAME_PREFIX})?\Z)|{_NATIVE_NAME})", _ANY_CASE)
# Every `<` that could begin a model's native token.
TOKEN_LIKE: Final = compile_later(rf"<(?={_NATIVE_NAME})", _ANY_CASE)
# The bracket that begins a native token in square brackets: those of Mistral, GLM and MiniMax.
BRACKETED: Final = compile_later(
    r"\[(?=(?:/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|BEGIN_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK"
    r"|MODEL_SETTINGS|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE|SUFFIX|[gs]?MASK)\]|e~\[))|\](?=~!?b[\[\]])"
)


# Vendors' namespaces, which models write before the name of a tool.
NAMESPACES: Final = ("functions.", "default_api.", "tools.")


def bare_name(name: str) -> str:
    """Return the name of a tool without the prefix of a vendor's namespace."""
    return next((name.removeprefix(prefix) for prefix in NAMESPACES if name.startswith(prefix)), name)


def skip_blanks(text: str, start: int, blanks: str = BLANKS) -> int:
    """Return the position of the first character that is not blank."""
    while start < len(text) and text[start] in blanks:
        start += 1
    return start


def read_tag(text: str, start: int, limits: ParserLimits) -> Tag | Maybe | None:
    """Read the tag that begins at `text[start]`."""
    if not _TAG_MAY_BEGIN.match(text, start, start + limits.tag):
        return None
    match = _TAG.match(text, start, start + limits.tag)
    if match:
        slash, name, attributes = match.groups()
        kind = TAG_NAMES[name.lower()]
        return Tag(kind, closing=bool(slash), empty=attributes.rstrip(BLANKS).endswith("/"), end=match.end())
    if len(text) - start < limits.tag and _TAG_PREFIX.match(text, start):
        return MAYBE
    return None


def read_json_start(text: str, start: int, kind: BlockKind, limits: ParserLimits) -> int | Maybe | None:
    """Return where the JSON of a block begins, after an opening tag that ends at `start` and perhaps a fence."""
    match = _JSON.match(text, start, start + limits.gap)
    if match:
        return match.start(1) if match[1] == "{" or kind in (BlockKind.EXECUTE, BlockKind.RESULTS) else None
    if len(text) - start < limits.gap and _JSON_PREFIX.match(text, start):
        return MAYBE
    return None


def read_typical_json(
    text: str, start: int, kind: BlockKind, limits: ParserLimits, is_tool: Callable[[str], bool]
) -> int | Maybe | None:
    """As `read_json_start`, but only for JSON with a first key of this kind; calls must name an existing tool."""
    begin = read_json_start(text, start, kind, limits)
    if begin is None or begin is MAYBE:
        return begin
    end = begin + limits.head
    key = _FIRST_KEY.match(text, begin, end)
    # MAYBE only while the text ends before the limit: beyond it nothing more is waited for, or text would be held back
    # for ever.
    if not key or "{" not in key[1]:
        return MAYBE if key and key.end() == len(text) < end else None
    if key.end() == len(text) < end:
        return MAYBE if any(known.startswith(key[2]) for known in _FIRST_KEYS[kind]) else None
    colon = _COLON.match(text, key.end(), end)
    if not colon or key[2] not in _FIRST_KEYS[kind]:
        return None
    if not colon[1]:
        return MAYBE if len(text) < end else None
    # Other blocks are known by their first key; "name" is common in any JSON, so a call must name a tool besides.
    if kind is not BlockKind.EXECUTE:
        return begin
    name = _FIRST_NAME.search(text, begin, end)
    if name:
        return begin if is_tool(bare_name(name[1].strip())) else None
    return MAYBE if len(text) < end else None


def read_called_name(text: str, start: int, limits: ParserLimits, is_tool: Callable[[str], bool]) -> str | Maybe | None:
    """Return the name of the tool that JSON in the form of a call names, whether it exists or not; or that of an
    existing tool that is itself the key of its arguments. None for any other JSON.
    """
    match = _CALL_SHAPE.match(text, start, start + limits.head, partial=True)
    if match is None:
        return None
    if match.partial:
        return MAYBE if len(text) < start + limits.head else None
    name = bare_name(match["name"] or match["key"])
    return name if match["name"] or is_tool(name) else None


def read_result_of(text: str, start: int, limits: ParserLimits) -> str | Maybe | None:
    """Return the name of the tool whose result JSON says it is; None for any other JSON."""
    match = _RESULT_SHAPE.match(text, start, start + limits.head, partial=True)
    if match is None or not match.partial:
        return None if match is None else bare_name(match["name"])
    return MAYBE if len(text) < start + limits.head else None


def read_json_after_prose(
    text: str, start: int, limits: ParserLimits, is_tool: Callable[[str], bool]
) -> int | Maybe | None:
    """As `read_typical_json` for calls, after a few words between the tag and the JSON."""
    match = _PROSE.match(text, start, start + limits.gap)
    if match:
        return read_typical_json(text, match.end(), BlockKind.EXECUTE, limits, is_tool)
    return MAYBE if len(text) - start < limits.gap and _PROSE_PREFIX.match(text, start) else None


def read_call_in_code(text: str, start: int, limits: ParserLimits, is_tool: Callable[[str], bool]) -> bool | Maybe:
    """Return whether `<execute>` is followed by a call of an existing tool in code, such as `recall("boat")`."""
    match = _CALL_IN_CODE.match(text, start, start + limits.gap)
    if match:
        return is_tool(match[1])
    return MAYBE if len(text) - start < limits.gap and _CALL_IN_CODE_PREFIX.match(text, start) else False


def read_last_summary(text: str, start: int, limits: ParserLimits) -> bool | Maybe:
    """Return whether a `<summary>` without JSON ends the text, as far as it has come; HTML goes on behind it."""
    if _GOES_ON.match(text, start, start + limits.gap):
        return False
    if (end := _SUMMARY_END.search(text, start, start + limits.notes)) is not None:
        return end.end() == len(text)
    return MAYBE if len(text) - start < limits.notes else False


def read_words(text: str, start: int, limits: ParserLimits) -> tuple[str, int] | Maybe | None:
    """Return what stands between `<execute>` and its closing tag where it holds no JSON, and the end of that tag. None
    if the tag is spoken about, or never closed.
    """
    if _GOES_ON.match(text, start, start + limits.gap):
        return None
    if (end := _WORDS_END.search(text, start, start + limits.notes)) is not None:
        return text[start : end.start()], end.end()
    return MAYBE if len(text) - start < limits.notes else None


def read_notes(text: str, start: int, limits: ParserLimits) -> bool | Maybe:
    """Return whether `<workspace>` is followed by notes without JSON and its closing tag. A sentence that continues in
    small letters is about the tag.
    """
    if _GOES_ON.match(text, start, start + limits.gap):
        return False
    if _NOTES_END.search(text, start, start + limits.notes):
        return True
    return MAYBE if len(text) - start < limits.notes else False


def ends_line(text: str, start: int, limits: ParserLimits) -> bool | Maybe:
    """Return whether only blanks follow on this line."""
    match = _REST_OF_LINE.match(text, start, start + limits.gap)
    if not match or (not match[1] and len(text) - start >= limits.gap):
        return False
    return True if match[1] else MAYBE


def is_cut_tag(held_back: str, limits: ParserLimits, *, at_line_start: bool) -> bool:
    """Return whether `held_back`, the end of the stream, is a tag that was cut off from its block."""
    cut = held_back.strip(BLANKS + "\n")
    tag = read_tag(cut, 0, limits)
    if isinstance(tag, Tag):
        rest = cut[tag.end :].lstrip(BLANKS + "\n`~")
        return rest.startswith(("[", "{")) or (at_line_start and not rest and tag.kind is not BlockKind.SUMMARY)
    return tag is MAYBE and at_line_start and len(cut.lstrip("</" + BLANKS)) >= _CUT_LETTERS


# --------------------------------------------------------------------------------------------------
# Code fences: in them, tags are text. Pure.
#
# As in CommonMark, a fence is three or more backticks or tildes at the start of a line; it ends with a line of at least
# as many of them. Unlike there, it may be indented to any depth: models write fences inside lists.


_OPENING = compile_later(r"(?:(`{3,}+)[^`\n]*+|(~{3,}+)[^\n]*+)\n")
_OPENING_PREFIX = compile_later(r"(?:`{1,2}|~{1,2}|`{3,}+[^`\n]*+|~{3,}+[^\n]*+)\Z")
_CLOSING_PREFIX = compile_later(rf"[{BLANKS}]*+(?:`++|~++|)[{BLANKS}]*+")
_ITEM = rf"(?:[-*+]|\d{{1,9}}[.)])[{BLANKS}]++"
_ITEMS = compile_later(rf"(?:{_ITEM})+(?=[`~])")
_ITEMS_PREFIX = compile_later(rf"(?:{_ITEM})*(?:[-*+]|\d{{1,9}}[.)]?)?[{BLANKS}]*\Z")


def read_item_fence(text: str, start: int, limits: ParserLimits) -> tuple[str, int] | Maybe | None:
    """As `read_fence`, for a fence that opens a list item ("- ```sh") at `start`."""
    match = _ITEMS.match(text, start, start + limits.indent)
    if match:
        return read_fence(text, match.end(), limits)
    return MAYBE if len(text) - start < limits.indent and _ITEMS_PREFIX.match(text, start) else None


def read_fence(text: str, start: int, limits: ParserLimits) -> tuple[str, int] | Maybe | None:
    """Read the fence whose line begins at `start`. Returns its marker and the position after its line break."""
    match = _OPENING.match(text, start, start + limits.fence)
    if match:
        return match[1] or match[2], match.end()
    if len(text) - start < limits.fence and _OPENING_PREFIX.match(text, start):
        return MAYBE
    return None


def read_fence_end(text: str, start: int, marker: str, limits: ParserLimits) -> int | Maybe | None:
    """Return the position after the line that ends the fence, if its backticks or tildes begin at `start`."""
    end = start
    while text[end : end + 1] == marker[0]:
        end += 1
    end = skip_blanks(text, end)
    if end - start >= limits.fence:
        return None
    if end == len(text):
        return MAYBE
    return end + 1 if text[end] == "\n" and text.startswith(marker, start) else None


def unclosed_fence(text: str) -> str | None:
    """Return the marker of the fence that is open at the end of this text; None if there is none."""
    limits = ParserLimits()
    fence: OpenFence | None = None
    for line in text.rstrip("\n").split("\n"):
        if fence is None:
            start = skip_blanks(line, 0)
            opening = read_item_fence(f"{line}\n", start, limits) or read_fence(f"{line}\n", start, limits)
            fence = OpenFence(opening[0], limits) if isinstance(opening, tuple) else None
        else:
            fence.feed(f"{line}\n", 0)
            fence = None if fence.closed else fence
    return fence.marker if fence else None


class OpenFence:
    """An open code fence. Its content is text, so it only looks for the end of the fence.

    `line` in the constructor: the text that is already in its last line.
    """

    def __init__(self, marker: str, limits: ParserLimits, line: str = "") -> None:
        self.marker = marker
        self.closed = False
        self._limits = limits
        self.line: str | None = ""  # The text of the last line, while that may still end the fence
        self._add_to_line(line)

    def feed(self, text: str, start: int) -> int:
        """Read one line, or the rest of the text. Returns the position after it."""
        line_break = text.find("\n", start)
        end = line_break if line_break >= 0 else len(text)
        self._add_to_line(text[start:end])
        if line_break < 0:
            return end
        self.closed = self.line is not None and self.line.strip(BLANKS).startswith(self.marker)
        self.line = ""
        return line_break + 1

    def _add_to_line(self, piece: str) -> None:
        if self.line is not None and piece:
            line = self.line + piece
            self.line = line if len(line) <= self._limits.fence and _CLOSING_PREFIX.fullmatch(line) else None


class OpenElement:
    """An open element of HTML whose content is text, such as `<pre>`, up to its closing tag. `in_line`: it ends with
    its paragraph, too, like all that stands in a line.
    """

    def __init__(self, name: str, *, in_line: bool) -> None:
        self.closed = False
        self._ends = (f"</{name}", *(("\n\n",) if in_line else ()))
        self._recent = ""  # The last characters, which may be the first ones of an end

    def feed(self, text: str, start: int) -> int:
        """Read the text up to the end of the element. Returns the position after it."""
        before = len(self._recent)
        searched = (self._recent + text[start:]).lower()
        found = [place + len(end) for end in self._ends if (place := searched.find(end)) >= 0]
        if found:
            self.closed = True
            return start + min(found) - before
        self._recent = searched[1 - max(map(len, self._ends)) :]
        return len(text)
