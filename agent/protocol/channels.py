"""Thoughts and answers that a model names by words: the channels of gpt-oss without their tokens, ReAct, code agents.

Servers without a model's template leave words in the text that others turn into fields. They are read only where nobody
would begin an answer so; everything else passes unchanged. Pure.

    analysisThe user asks …assistantfinalIt is blue.        channels: `analysis` is thought
    Thought: I search.\\nFinal Answer: It is blue.           ReAct: thought up to the answer or the action
    Thought: I search.\\n<code>\\nrecall("boat")\\n</code>      code agents: the code is a call of an existing tool
    Here is my thought process: …Here is my response: …     Granite: the same
    Objective: …\\nUnderstanding: …\\nApproach: …           our workspace, written as lines
    Here are my reasoning steps: …[BEGIN FINAL RESPONSE]    thought up to the marker, a token of `agent.protocol.native`

Theory of operation. `feed` holds text back only while it may be such a beginning, and a ReAct answer until its label
comes, up to HELD_CHARS: without one it is text. The pieces are the same however the stream is cut.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import regex

from agent.protocol.grammar import WORKSPACE_FIELDS, bare_name

# Of an answer that begins with "Thought:". Longer thoughts are rare, and an essay is not held back for long.
HELD_CHARS: Final = 8_000

_REASONING: Final = "Here are my reasoning steps:"
_RESPONSE: Final = "[BEGIN FINAL RESPONSE]"
_BEGINS: Final = regex.compile(
    r"(?:[ ]{0,3}\n){0,8}[ ]{0,3}"  # A line that is indented by more is code
    r"(?:(?P<channel>analysis|(?:assistant)?(?:analysis|commentary|final))(?=\n|[A-Z])"
    r"|(?P<channel>assistant(?:analysis|commentary|final))(?![a-z])"
    rf"|(?P<reasoning>{regex.escape(_REASONING)})"
    r"|(?P<notes>(?:[*_#]{0,6}[ ]?[*_]{0,3}[Ww]orkspace[*_]{0,3}:?[*_]{0,3}[ ]{0,3}\n{1,2})?(?:`{3}\w{0,8}\n)?"
    r"[*_#>-]{0,6}[ ]?[*_]{0,3}[Oo]bjective[*_]{0,3}[ ]?:)"
    r"|(?P<label>(?:Thoughts?|Question)[ ]?:|Here is my thought process:|<code>\s{0,8}(?:\n|final_answer\()))"
)
_NEXT: Final = regex.compile(r"assistant(?P<channel>analysis|commentary|final)(?P<call>[ ]to=)?")
_NEXT_CHARS: Final = len("assistantcommentary to=")
# Labels of ReAct and of agents that write code, known at the beginning of a line only: prose has these words, too.
_LABEL: Final = regex.compile(
    r"^(?:(?P<answer>(?:Final Answer|AI)[ ]?:[ ]?|Here is my response:\s{0,4})|(?P<action>Action[ ]?:)"
    r"|(?P<code><code>|(?:Code[ ]?:\s{0,4})?```(?:py|python)?[ ]{0,4}\n))",
    regex.MULTILINE,
)
# The workspace as lines, each a whole one.
NOTES_CHARS: Final = 2_000
MIN_NOTES: Final = 3  # Of the four fields: nobody else begins a text with these lines
_LINE: Final = regex.compile(r"[^\n]*+\n|[^\n]++")
_NOTE: Final = regex.compile(
    rf"[ \t]{{0,3}}[*_#>-]{{0,6}}[ ]?[*_]{{0,3}}({'|'.join(WORKSPACE_FIELDS)})[*_]{{0,3}}[ ]?:", regex.IGNORECASE
)
_AROUND_NOTES: Final = regex.compile(
    r"\s*+(?:`{3}\w{0,8}|[*_#]{0,6}[ ]?[*_]{0,3}workspace[*_]{0,3}:?[*_]{0,3})\s*+", regex.IGNORECASE
)
_CODE_ENDS: Final = regex.compile(r"</code>|\n```(?:[ ]{0,4}<end_code>)?|<end_code>")
# The answer of an agent that writes code is an argument: what is shown is the text in the quotation marks.
_FINAL_ANSWER: Final = regex.compile(
    r"^\s*final_answer\(\s*f?(?P<quote>\"\"\"|'''|\"|')(?P<text>.*?)(?P=quote)\s*\)\s*$", regex.S
)
# Of code, what decides which calls it makes. A call in a comment or in a string is what somebody else may have written:
# the whole of either is one piece, to the end of the code if nothing closes it. Each piece is possessive, so that the
# time is linear.
_CODE_PIECE: Final = regex.compile(
    r"#[^\n]*+"
    r"|(?P<triple>\"{3}|'{3})(?:[^\\\"']++|\\.|(?!(?P=triple))[\"'])*+(?:(?P=triple)|\\?\Z)"
    r"|(?P<quote>[\"'])(?:[^\\\"']++|\\.|(?!(?P=quote))[\"'])*+(?:(?P=quote)|\\?\Z)"
    r"|(?P<name>[^\W\d][\w.-]*+)(?P<call>\()?+"
    r"|(?P<opens>[\[({])|(?P<closes>[\])}])",
    regex.S,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """`begins`: a message begins here, so that it stands by itself."""

    text: str
    is_thought: bool = False
    begins: bool = False


class _Mode(Enum):
    UNDECIDED = auto()
    CHANNELS = auto()
    LABELLED = auto()
    REASONING = auto()
    NOTES = auto()
    PASSING = auto()


class Channels:
    """Separates thoughts from the text of one model call. `is_tool`: whether a tool of this name exists."""

    def __init__(self, is_tool: Callable[[str], bool]) -> None:
        self._is_tool = is_tool
        self._mode = _Mode.UNDECIDED
        self._held = ""
        self._in_thought = False
        self._begins = False
        self.passes = False  # Whether all further text is passed on as it is

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain now."""
        self._held += text
        pieces = list(self._read(is_whole=False)) if text else []
        self.passes = self._mode is _Mode.PASSING
        return pieces

    def flush(self) -> list[Piece]:
        """Return what was held back at the end of the stream."""
        pieces = list(self._read(is_whole=True))
        rest, self._held, self._mode, self.passes = self._held, "", _Mode.PASSING, True
        return [*pieces, Piece(rest, self._in_thought)] if rest else pieces

    def _read(self, *, is_whole: bool) -> Iterator[Piece]:
        if self._mode is _Mode.UNDECIDED:
            self._decide(is_whole=is_whole)
        match self._mode:
            case _Mode.CHANNELS:
                yield from self._read_channels(is_whole=is_whole)
            case _Mode.REASONING:
                yield from self._read_reasoning(is_whole=is_whole)
            case _Mode.LABELLED:
                yield from self._read_labelled(is_whole=is_whole)
            case _Mode.NOTES:
                yield from self._read_notes(is_whole=is_whole)
            case _Mode.PASSING:
                yield from self._take(len(self._held))
            case _Mode.UNDECIDED:
                pass

    def _take(self, end: int) -> Iterator[Piece]:
        text, self._held = self._held[:end], self._held[end:]
        if text:
            yield Piece(text, self._in_thought, self._begins)
            self._begins = False

    def _decide(self, *, is_whole: bool) -> None:
        found = _BEGINS.match(self._held, partial=not is_whole)
        if found is None:
            self._mode = _Mode.PASSING
        elif found.partial or (found.end() == len(self._held) and found["channel"] and not is_whole):
            return
        elif found["channel"]:
            self._mode = _Mode.CHANNELS
            self._in_thought = found["channel"].endswith("analysis")
            self._held, self._begins = self._held[found.end() :], True
        elif found["notes"]:
            self._mode = _Mode.NOTES
        elif found["reasoning"]:
            self._mode, self._in_thought = _Mode.REASONING, True
        else:
            self._mode = _Mode.LABELLED

    def _read_channels(self, *, is_whole: bool) -> Iterator[Piece]:
        while found := _NEXT.search(self._held):
            if not is_whole and found.start() + _NEXT_CHARS >= len(self._held):  # " to=" may follow
                yield from self._take(found.start())
                return
            yield from self._take(found.start())
            begin = found.end() - found.start()
            self._in_thought = found["channel"] == "analysis"
            if found["call"]:
                self._held = f"\n{self._held}"
                yield from self._take(1 + begin)
            else:
                self._held, self._begins = self._held[begin:], True
        kept = 0 if is_whole else _overlap(self._held)
        yield from self._take(len(self._held) - kept)

    def _read_reasoning(self, *, is_whole: bool) -> Iterator[Piece]:
        start = self._held.find(_RESPONSE)
        if start >= 0:
            yield from self._take(start)
            self._mode, self._in_thought = _Mode.PASSING, False
            yield from self._take(len(self._held))
        elif not is_whole:
            yield from self._take(max(len(self._held) - len(_RESPONSE), 0))

    def _read_notes(self, *, is_whole: bool) -> Iterator[Piece]:
        """Wait for the first line that is no note: at least three of the four notes before it are private."""
        end, labels = 0, set[str]()
        for line in _LINE.finditer(self._held, 0, NOTES_CHARS):
            is_cut = not (is_whole or line[0].endswith("\n"))
            note = _NOTE.match(line[0], partial=is_cut)
            if note is None and line[0].strip() and not _AROUND_NOTES.fullmatch(line[0], partial=is_cut):
                break
            labels |= {note[1].lower()} if note and not note.partial else set()
            end = end if is_cut else line.end()
        else:
            if not is_whole and len(self._held) < NOTES_CHARS:
                return
        if len(labels) >= MIN_NOTES:
            yield Piece(self._held[:end].strip(), is_thought=True)
            self._held = self._held[end:]
        self._mode = _Mode.PASSING
        yield from self._take(len(self._held))

    def _read_labelled(self, *, is_whole: bool) -> Iterator[Piece]:
        """Wait for the label of the answer, of an action, or for the end of the code."""
        found = _LABEL.search(self._held, 0, HELD_CHARS)
        if found is not None and found["answer"] and (is_whole or found.end() < len(self._held)):
            yield from self._after_thought(found.start(), found.end())
        elif found is not None and found["action"]:
            yield from self._after_thought(found.start(), found.start())
        elif found is not None and found["code"]:
            # Behind closing backticks "<end_code>" may follow in the next piece of text, and would be shown if the end
            # was taken too early.
            end = _CODE_ENDS.search(self._held, found.end(), HELD_CHARS)
            if end is not None and (is_whole or end.end() + len("<end_code>") < len(self._held) or end[0] == "</code>"):
                yield from self._code(found.start(), found.end(), end.start(), end.end())
            elif is_whole and end is None and len(self._held) <= HELD_CHARS:
                yield from self._code(found.start(), found.end(), len(self._held), len(self._held))
        if self._mode is _Mode.LABELLED and (is_whole or len(self._held) > HELD_CHARS):
            self._mode = _Mode.PASSING
            yield from self._take(len(self._held))

    def _after_thought(self, end: int, begin: int) -> Iterator[Piece]:
        if thought := self._held[:end].strip():
            yield Piece(thought, is_thought=True)
        self._held, self._mode = self._held[begin:], _Mode.PASSING
        yield from self._take(len(self._held))

    def _code(self, start: int, begin: int, end: int, after: int) -> Iterator[Piece]:
        body = self._held[begin:end]
        answer = _FINAL_ANSWER.match(body)
        calls = "" if answer else "\n".join(self._calls(body))
        if not (answer or calls):  # It stays so, whatever follows
            self._mode = _Mode.PASSING
            yield from self._take(len(self._held))
            return
        thought, rest = self._held[:start].strip(), self._held[after:]
        if thought:
            yield Piece(thought, is_thought=True)
        self._held, self._mode = (
            f"{answer['text']}{rest}" if answer else f"<tool_call>{calls}</tool_call>\n",
            _Mode.PASSING,
        )
        yield from self._take(len(self._held))

    def _calls(self, code: str) -> Iterator[str]:
        """Yield the outermost calls of existing tools, without what the code does with their results."""
        opened, calls = list[int | None](), list[tuple[int, int]]()
        for piece in _CODE_PIECE.finditer(code):
            if piece["call"]:
                opened.append(piece.start() if self._is_tool(bare_name(piece["name"])) else None)
            elif piece["opens"]:
                opened.append(None)
            elif piece["closes"] and opened and (start := opened.pop()) is not None:
                while calls and calls[-1][0] > start:
                    calls.pop()
                calls.append((start, piece.end()))
        return (code[start:end] for start, end in calls)


def _overlap(text: str) -> int:
    """Return how many of the last characters may begin a marker of a channel."""
    found = _NEXT.search(text, max(len(text) - _NEXT_CHARS, 0), partial=True)
    return len(text) - found.start() if found is not None else 0
