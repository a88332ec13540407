"""Tool calls in the native formats that models were trained on: special tokens, and XML with a name for each call.

Rules
  A call counts if a tool of that name exists, as for all misplaced calls; with any other name it is an example, and
  text.
  Thoughts and calls in these formats are private. Single tokens carry no text, so they are not shown where a model
  writes them as tokens: at the end of a line, or before another token. Between words, in quotes and in code they are
  only mentioned, and are text.
  Each function returns what it found, None, or MAYBE within a limit, as in `agent.protocol.grammar`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import regex

from agent.events import CallsRejected, ProtocolEvent, ThoughtArrived, Violation, ViolationFound
from agent.messages import Json
from agent.protocol.blocks import FORM, read_calls_of
from agent.protocol.grammar import MAYBE, Maybe, ParserLimits
from agent.protocol.json_text import JsonReader, Unreadable

# From the first token of a call to its arguments. A longer text is no call; while it may still be one, it is held back.
OPENING_CHARS: Final = 160
_TOKEN_CHARS: Final = 48  # The longest token; a piece may end with a part of one
_BAR: Final = "[|｜]"


class Form(Enum):
    """The format of the text after an opening, which decides what ends it."""

    TOKENS = auto()
    """Only tokens, without content."""
    THOUGHTS = auto()
    HARMONY = auto()
    DEEPSEEK = auto()
    MISTRAL = auto()
    INVOKES = auto()
    INVOKE = auto()
    FUNCTION = auto()


@dataclass(frozen=True, slots=True)
class NativeOpening:
    """The beginning of native content. `name`: of the first called tool. The arguments begin at `end`."""

    form: Form
    end: int
    name: str = ""


_NAME: Final = r"(?:functions\.)?(?P<name>[\w.-]{1,128})"
_INVOKE: Final = r"<(?:antml:)?invoke\s+name\s*=\s*[\"']?(?P<name>[\w.-]{1,128})[\"']?[^<>\n]{0,40}>"
_OPENINGS: Final = {
    Form.HARMONY: regex.compile(
        rf"(?:<\|start\|>\s*\w{{0,12}}\s*)?+(?:<\|channel\|>\s*\w{{0,12}}\s*)?+\bto={_NAME}[ \w]{{0,30}}"
        r"(?:<\|channel\|>[ \w]{0,40})?+(?:<\|constrain\|>\s*\w{0,12}\s*)?+<\|message\|>"
    ),
    Form.THOUGHTS: regex.compile(r"(?:<\|start\|>\s*assistant\s*)?+<\|channel\|>\s*analysis\s*<\|message\|>"),
    Form.DEEPSEEK: regex.compile(
        rf"(?:<{_BAR}?tool[▁_]calls[▁_]begin[▁_]?{_BAR}?>\s{{0,4}})?+<{_BAR}?tool[▁_]call[▁_]begin[▁_]?{_BAR}?>\s{{0,4}}"
        rf"(?:function\s{{0,4}}<{_BAR}?tool[▁_]sep[▁_]?{_BAR}?>\s{{0,4}})?+(?P<name>[\w.-]{{1,128}})\s{{0,4}}"
        rf"(?:<{_BAR}?tool[▁_]sep[▁_]?{_BAR}?>|(?=```|\{{))"
    ),
    Form.MISTRAL: regex.compile(r"\[TOOL_CALLS\]\s{0,4}(?P<name>[\w.-]{1,128})\s{0,4}(?:\[ARGS\]\s{0,4})?+(?=\{)"),
    Form.INVOKES: regex.compile(rf"<(?:antml:)?function_calls>\s{{0,8}}{_INVOKE}"),
    Form.INVOKE: regex.compile(_INVOKE),
    Form.FUNCTION: regex.compile(r"<function=(?P<name>[\w.-]{1,128})>"),
}
# By the first characters.
_FORMS: Final[Sequence[tuple[str, Sequence[Form]]]] = (
    ("<|s", (Form.HARMONY, Form.THOUGHTS)),
    ("<|c", (Form.HARMONY, Form.THOUGHTS)),
    ("<|t", (Form.DEEPSEEK,)),
    ("<｜t", (Form.DEEPSEEK,)),
    ("<to", (Form.DEEPSEEK,)),
    ("<an", (Form.INVOKES, Form.INVOKE)),
    ("<in", (Form.INVOKE,)),
    ("<fu", (Form.INVOKES, Form.FUNCTION)),
    ("[TO", (Form.MISTRAL,)),
)
_BY_HEAD: Final[Mapping[str, Sequence[Form]]] = dict(_FORMS)
_HEAD_CHARS: Final = 3
_TOKEN: Final = regex.compile(
    r"<\|(?:im_start|start|im_end|end|return|call|message|endoftext|eot_id|eom_id|begin_of_text|end_of_text|python_tag)\|>"
    r"|<\|start_header_id\|>\w{0,12}<\|end_header_id\|>"
    r"|<\|channel\|>\s*+(?:final|commentary|analysis)\s*+<\|message\|>"
    rf"|<{_BAR}?(?:tool[▁_](?:calls?|outputs?)[▁_](?:begin|end)|tool[▁_]sep)[▁_]?{_BAR}?>"
    r"|<｜(?:begin▁of▁sentence|end▁of▁sentence|User|Assistant)｜>"
)
_ROLES: Final = ("assistant", "user", "system", "developer", "tool")
_BEFORE_ROLES: Final = ("<|im_start|>", "<|start|>")
# After these tokens a message begins on the same line.
_BEFORE_TEXT: Final = ("<|message|>", "<|end_header_id|>", "<｜Assistant｜>")
_HARMONY_END: Final = regex.compile(r"<\|(?:call|end|return|start|channel)\|>")
_ENDS: Final = {
    Form.THOUGHTS: _HARMONY_END,
    Form.HARMONY: _HARMONY_END,
    Form.DEEPSEEK: regex.compile(rf"<{_BAR}?tool[▁_]calls?[▁_]end[▁_]?{_BAR}?>"),
    Form.MISTRAL: regex.compile(r"\[/?TOOL_CALLS\]|</s>"),
    Form.INVOKES: regex.compile(r"</(?:antml:)?function_calls>"),
    Form.INVOKE: regex.compile(r"</(?:antml:)?invoke>"),
    Form.FUNCTION: regex.compile(r"</function>"),
}
_NEXT_INVOKE: Final = regex.compile(_INVOKE)
_PARAMETER: Final = regex.compile(
    r"<(?:antml:)?parameter(?:\s+name\s*=\s*[\"']?|=)(?P<key>[\w.-]{1,128})[\"']?[^<>\n]{0,40}>"
)
_PARAMETER_END: Final = regex.compile(r"</(?:antml:)?parameter>")
_FENCED: Final = regex.compile(r"\s*+(?:```\w*+\s*+)?+")
_LITERALS: Final = regex.compile(r"[\[{].*+|true|false|null|-?\d{1,18}", regex.DOTALL)


def read_native(
    text: str, start: int, before: str, quotes: str, is_tool: Callable[[str], bool]
) -> NativeOpening | Maybe | None:
    """Read the opening at `text[start]`, after the character `before` ("" at the start of a line)."""
    if text[start] not in "<[" or (before and before in quotes):
        return None
    end = start + OPENING_CHARS
    maybe = False
    for form in _forms_at(text, start):
        match = _OPENINGS[form].match(text, start, end, partial=True)
        if match is None:
            continue
        if match.partial:
            maybe = maybe or len(text) < end
        elif form is Form.THOUGHTS:
            if not before or not before.isspace():
                return NativeOpening(form, match.end())
        elif is_tool(match["name"]):
            return NativeOpening(form, match.end(), match["name"])
    return MAYBE if maybe else _token(text, start, end, before)


def _forms_at(text: str, start: int) -> Sequence[Form]:
    """The forms that may begin here by their first characters, at most positions none."""
    head = text[start : start + _HEAD_CHARS]
    if len(head) == _HEAD_CHARS:
        return _BY_HEAD.get(head, ())
    return next((forms for sign, forms in _FORMS if head.startswith(sign) or sign.startswith(head)), ())


def _token(text: str, start: int, end: int, before: str) -> NativeOpening | Maybe | None:
    """Read a token as a model writes it: at the end of its line or before another token, and not after a blank."""
    if before.isspace():
        return None
    token_end = _token_end(text, start, end)
    if not isinstance(token_end, int):
        return token_end
    token, position = text[start:token_end], token_end
    if token in _BEFORE_ROLES:
        rest = text[position : position + len("developer")]
        if any(role != rest and role.startswith(rest) for role in _ROLES) and position + len(rest) == len(text):
            return MAYBE
        position += next((len(role) for role in _ROLES if rest.startswith(role)), 0)
    if position == len(text):
        return MAYBE
    following = _token_end(text, position, position + OPENING_CHARS) if text[position] == "<" else None
    if following is MAYBE:
        return MAYBE
    is_meant = following is not None or text[position] == "\n" or token.endswith(_BEFORE_TEXT)
    return NativeOpening(Form.TOKENS, position) if is_meant else None


def _token_end(text: str, start: int, end: int) -> int | Maybe | None:
    """Return the position after the token that begins at `start`."""
    if not text.startswith(("<|", "<｜", "<t"), start) and text[start:] != "<":
        return None
    match = _TOKEN.match(text, start, end, partial=True)
    if match is None:
        return None
    return match.end() if not match.partial else MAYBE if len(text) < end else None


def is_token(held_back: str) -> bool:
    """Return whether `held_back`, the end of the stream, is a token or the first part of one."""
    token = held_back.strip()
    for role in _ROLES:
        token = token.removesuffix(role) if token.endswith(f">{role}") else token
    return len(token) > len("<|") and token[0] == "<" and _TOKEN.fullmatch(token, partial=True) is not None


class NativeBlock:
    """The content after an opening. Call `feed` until it `is_over`; then `events` returns its events."""

    def __init__(self, opening: NativeOpening, limits: ParserLimits) -> None:
        self.is_over = False
        self._opening = opening
        self._limits = limits
        self._end = _ENDS[opening.form]
        self._body: list[str] = []
        self._size = 0

    def feed(self, text: str, start: int) -> int:
        """Read from `text[start]`. The text after the returned position must be passed again, with more."""
        match = self._end.search(text, start)
        if match is not None:
            self._keep(text[start : match.start()])
            self.is_over = True
            is_harmony = self._opening.form in {Form.THOUGHTS, Form.HARMONY}
            begins_next = is_harmony and match[0] in {"<|start|>", "<|channel|>"}
            return match.start() if begins_next else match.end()
        scan_start = max(start, len(text) - _TOKEN_CHARS)
        token_starts = [at for sign in "<[\n" if (at := text.find(sign, scan_start)) >= 0]
        end = min(token_starts, default=len(text))
        self._keep(text[start:end])
        return end

    def _keep(self, piece: str) -> None:
        self._size += len(piece)
        if self._size <= self._limits.block:
            self._body.append(piece)

    def end_of_stream(self, held_back: str) -> list[ProtocolEvent]:
        self._keep(held_back)
        unclosed = ViolationFound(Violation.BLOCK_UNCLOSED, "think" if self._is_thoughts else "execute")
        return [unclosed, *([] if self._is_thoughts else self.events())]

    @property
    def _is_thoughts(self) -> bool:
        return self._opening.form is Form.THOUGHTS

    def events(self) -> list[ProtocolEvent]:
        body = "".join(self._body)
        if self._is_thoughts:
            return [ThoughtArrived(body.strip())] if body.strip() else []
        if self._size > self._limits.block:
            return [CallsRejected(f"The call is longer than {self._limits.block} characters. {FORM}")]
        misplaced = ViolationFound(Violation.TAG_MISPLACED, "execute")
        try:
            calls = self._calls(body)
        except Unreadable as error:
            return [misplaced, CallsRejected(f"The arguments of {self._opening.name} cannot be read: {error}. {FORM}")]
        return [misplaced, read_calls_of(calls, self._limits)]

    def _calls(self, body: str) -> list[Json]:
        """Read the calls, in the form of the list in `<execute>`. Raises Unreadable."""
        name = self._opening.name
        if self._opening.form not in {Form.INVOKES, Form.INVOKE, Form.FUNCTION}:
            fence = _FENCED.match(body)
            inside = body[fence.end() :] if fence else body
            inside = inside.rstrip().rstrip("`").strip()
            return [{"name": name, "args": JsonReader(self._limits).read(inside)[0] if inside else {}}]
        calls: list[Json] = []
        at = 0
        while True:
            following = _NEXT_INVOKE.search(body, at)
            calls.append({"name": name, "args": self._parameters(body[at : following.start() if following else None])})
            if following is None or len(calls) > self._limits.calls:
                return calls
            name, at = following["name"], following.end()

    def _parameters(self, body: str) -> Json:
        """Read the parameters from XML, or from JSON, which some models write there."""
        found: dict[str, Json] = {}
        at = 0
        while (key := _PARAMETER.search(body, at)) is not None:
            end = _PARAMETER_END.search(body, key.end())
            value = body[key.end() : end.start() if end else None].strip()
            found[key["key"]] = self._value(value)
            if end is None:
                break
            at = end.end()
        inside = body.strip()
        return JsonReader(self._limits).read(inside)[0] if not found and inside.startswith("{") else found

    def _value(self, text: str) -> Json:
        """Read a value that looks like JSON as JSON; any other value is the text itself."""
        if _LITERALS.fullmatch(text) is None:
            return text
        try:
            return JsonReader(self._limits).read(text)[0]
        except Unreadable:
            return text
