"""Calls, thoughts and tokens in the forms that vendors train their models on: special tokens, and tags of XML. Pure.

There are dozens of these forms, and each new model brings one. So this is no list of them but a reader of what they
have in common: a *marker*, then the name of a tool, then its arguments, then perhaps a marker that ends it.

    marker      <|python_tag|>  <｜tool▁calls▁begin｜>  <minimax:tool_call>  <invoke name="…">  [TOOL_CALLS]  to=  …
    name        in the marker, in the JSON behind it, or as a word: functions.recall:0, recall(, recall\\n{
    arguments   an object of JSON, elements of XML, or the arguments of a call in Python

Rules
  Text behind a marker is a call if it names an existing tool within OPENING_CHARS; with any other name it is an
  example, and text. It is held until the marker's counterpart or the end of the stream, and never shown: it runs if it
  can be read, and else the model is corrected.
  Thoughts are private. Single tokens carry no text, so they are not shown where a model writes them as tokens: at the
  end of a line, before another token, or right before the first word of a line. Between words, in quotes and in code
  they are only mentioned, and are text.
  Each function returns what it found, None, or MAYBE within a limit, as in `agent.protocol.grammar`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import regex

from agent.events import ProtocolEvent, ThoughtArrived, Violation, ViolationFound
from agent.protocol.blocks import Corrections, read_calls_of
from agent.protocol.foreign_calls import BARS as _BARS
from agent.protocol.foreign_calls import closing_parenthesis, read_foreign_calls
from agent.protocol.grammar import (
    MAYBE,
    NAMESPACES,
    TAG_NAMES,
    BlockKind,
    BlockPlace,
    Maybe,
    OpenElement,
    ParserLimits,
    bare_name,
    read_json_start,
    skip_blanks,
)
from agent.protocol.json_text import Unreadable

# From the first marker of a call to the name of its tool. A longer text is no call; while it may still be one, it is
# held back.
OPENING_CHARS: Final = 400
# Templates put up to three markers before a channel or a name ("<|start|>assistant<|channel|>"). A model that repeats
# one of them writes thousands.
_MAX_MARKERS: Final = 8
MARKER_CHARS: Final = 160
_NAME_CHARS: Final = 64  # Of a tag: with longer names it is none
MARKER_BEGIN: Final = "<[◁"
_SIBLING_BLANKS: Final = 256  # Between two calls of one answer

# Words before the name of a tool: "commentary", "function", "id". In a sentence there are more, with blanks between.
_MAX_WORDS: Final = 12
_MAX_PROSE: Final = 2


class Form(Enum):
    """The format of the text after an opening, which decides what ends it."""

    TOKENS = auto()
    """Only tokens, without content."""
    THOUGHTS = auto()
    CALLS = auto()


@dataclass(frozen=True, slots=True)
class Marker:
    """A special token or a tag. `core`: its words without those that say whether it begins or ends something."""

    text: str
    end: int
    name: str
    core: str
    closes: bool
    is_token: bool


@dataclass(frozen=True, slots=True)
class NativeOpening:
    """The beginning of native content, which begins at `end`. `core`: of the marker whose counterpart ends it."""

    form: Form
    end: int
    core: str = ""
    is_read: bool = False
    """Whether `end` is behind the first marker: the next one may be its counterpart."""
    is_token: bool = False
    where: BlockPlace = BlockPlace.IN_PLACE
    ends_text: bool = False
    """Whether another document begins behind it."""


# Tokens without bars.
_BARE_NAMES: Final = r"(?:unused\d{1,3}|SPECIAL_\d{1,3}|(?:start|end)_of_turn|(?:\w{1,12}:)?eos|bos|pad|unk)"
_BARE_TOKEN: Final = re.compile(_BARE_NAMES)
_BARE_TOKENS: Final = re.compile(rf"(?:(?:<{_BARE_NAMES}>|\[\|\w{{1,24}}\|\])\s{{0,4}})+")
_NAME_END: Final = re.compile(r"[\s=/]")
_TAG_NAME: Final = re.compile(rf"[^\W\d][\w.:▁-]{{0,{_NAME_CHARS - 1}}}")
# Capitals in brackets are common in prose ("[TODO]"): only with a word that names calls or thoughts they are a marker.
_BRACKETS: Final = regex.compile(
    r"\[/?(?:[A-Z]{3,12}_)?(?:TOOL|CALL|ARGS|THINK|FUNCTION)[A-Z]{0,12}(?:_[A-Z]{2,12}){0,2}\]|\[\|\w{1,24}\|\]"
    r"|\[(?:BEGIN|END) FINAL RESPONSE\]"
)
_TRIANGLES: Final = regex.compile(r"◁/?\w{1,20}▷")
_WORD: Final = re.compile(r"[^\W_](?:[\w.-]{0,126}\w)?")
_LETTERS: Final = re.compile(r"[a-z]+")
_EDGES: Final = frozenset({"begin", "start", "open", "prefix", "end", "stop", "close", "suffix"})
_CLOSING_EDGES: Final = frozenset({"end", "stop", "close", "suffix"})
# Part of the name of a tag that holds calls, or of one that holds thoughts.
_CALLISH: Final = re.compile(r"tool|func|invoke|call|plugin|action|skill", re.IGNORECASE | re.ASCII)
# Part of the name of a tag that holds thoughts: models invent such names freely.
_THOUGHTFUL: Final = re.compile(
    r"think|thought|reason|reflection|monologue|scratch_?pad|analysis", re.IGNORECASE | re.ASCII
)
_CHANNEL: Final = re.compile(rf"\s{{0,4}}([a-z_]{{1,16}})[ \t]{{0,4}}(?=<[{_BARS}]|\n)", re.IGNORECASE)
_CHANNEL_PREFIX: Final = re.compile(rf"\s{{0,4}}[a-z_]{{0,16}}\s{{0,4}}(?:<[{_BARS}]?)?\Z", re.IGNORECASE)
_ROLES: Final = ("assistant", "user", "system", "developer", "tool", "model")
_BEFORE_ROLES: Final = ("<|im_start|>", "<|start|>", "<start_of_turn>")
# After these tokens a message begins on the same line.
_BEFORE_TEXT: Final = ("message", "end header id", "assistant")
# Tokens that end a message, and so whatever is open in it.
_STOPS: Final = frozenset(
    {"call", "end", "return", "eot_id", "eom_id", "im_end", "endoftext", "end_of_text", "end_of_turn", "eos"}
)
# Behind these a model without a stop goes on with any other text that it was trained on.
_TEXT_ENDS: Final = frozenset({"endoftext", "end_of_text"})
# Cores of the tokens before a message, which are only dropped.
_BEFORE_MESSAGE: Final = frozenset({"im", "header id", "of text", "bos", "s"})
_BEGINS_MESSAGE: Final = frozenset({"start", "channel", "im_start"})
_JSON_BEGINS: Final = regex.compile(r"[\[{]\s{0,8}(?:[\[{]\s{0,8}){0,3}[\"'“]")
# A tool is named as the value of a key, or is itself the key of its arguments.
_JSON_NAME: Final = re.compile(
    r"""["'“](?:name|tool|tool_name|function|recipient_name|action)["'”]\s{0,4}:\s{0,4}["'“]([^"'“”\n]{1,128})["'”]"""
    r"""|["'“]([\w.-]{1,128})["'”]\s{0,4}:\s{0,4}\{"""
)
_ATTRIBUTE: Final = re.compile(r"""(?:\b(?:name|tool|function|to)\s{0,4}=\s{0,4}|=)["'“]?([\w.-]{1,128})""")
# What stands behind the name of a called tool.
_CALL_FOLLOWS: Final = regex.compile(
    r"""["'”]|[#:]\d|\s{0,4}[({<\[]|\.call\(|[ \t]{0,4}\n|[ ]{1,4}(?:json|code|\.\.\.|…|\{)"""
)
# Words at the start of a line that begin a call like a marker, each followed by the name of a tool.
_SPOKEN: Final = regex.compile(
    r"(?:assistant)?(?:(?:commentary|analysis)[ ]?)?to=(?:functions\.)?(?P<name>[\w.-]{1,128})(?![\w.-])"
    r"|functools\s?(?=\[\s{0,8}\{)"
    r"|>>>[ ]?(?P<name>[\w.-]{1,128})\s{0,4}(?=[({\n])"
    r"|(?:Action|Tool|Function)[ ]?:[ ]?(?P<name>[\w.-]{1,128})\s{0,4}\n\s{0,4}"
    r"(?:(?:Action|Tool|Function)[ ])?(?:Input|Arguments|Args|Parameters)[ ]?:"
    r"|Action[ ]?:[ ]?(?P<name>[\w.-]{1,128})[ ]?(?=[\[({])"
    r"|Action[ ]?:\s{0,4}```(?:json)?\s{0,4}(?=[\[{])"
    r"|✿FUNCTION✿\s{0,4}:\s{0,4}(?P<name>[\w.-]{1,128})\s{0,4}\n"
    r"|(?:tool|function|TOOL|FUNCTION)[ _](?:call|CALL)[sS]?[ ]?[:\n]\s{0,4}(?=[\[{])"
    r"|(?:tool|function|TOOL|FUNCTION)[ _](?:call|CALL)[sS]?[ ]?:\s{0,4}(?P<name>[\w.-]{1,128})\s{0,4}(?=[({])"
    r"|call:(?P<name>[\w.-]{1,128})(?=[({])"
)
# A tag that is left open in front of the arguments, or opened in another way: <function=recall{"query": "boat"}.
_OPEN_TAG: Final = regex.compile(r"<function[=/(][\"']?(?P<name>[\w.-]{1,128})[\"']?[)>\[\], ]{0,4}\(?[ ]?\{")
SPOKEN_BEGIN: Final = frozenset("tTcfFa>A✿")  # The first characters of these words
# A call without any marker: `print(recall(query="boat"))`, or recall and an object, perhaps on the next line.
_PLAIN: Final = regex.compile(
    r"(?P<print>print\()?+(?P<name>[^\W\d][\w.-]{0,127})(?:\.call)?"
    r"(?:(?P<code>\()|[ ]{0,4}\n?\s{0,4}(?P<json>\{)\s{0,8}[\"'}])"
)
PLAIN_CALL_CHARS: Final = 2_000  # Of such a call; while it may be one, it is held back
_NO_MARKER: Final = re.compile(r"[<\n]")
_MARKER_SIGNS: Final = re.compile(r"[<\[◁]")
# Tokens with words between them, the last one perhaps cut. Possessive: blanks without a word between them could be
# divided in any way, in exponential time.
_TOKENS: Final = re.compile(
    rf"(?:<[{_BARS}][^<>\n]{{1,{MARKER_CHARS}}}>\s*+\w{{0,16}}+\s*+)*+(?:<[{_BARS}][^<>\n]{{0,{MARKER_CHARS}}})?"
)


def read_native(
    text: str,
    start: int,
    before: str,
    quotes: str,
    is_tool: Callable[[str], bool],
    limits: ParserLimits,
    *,
    is_whole: bool = False,
) -> NativeOpening | Maybe | None:
    """Read the opening at `text[start]`, after the character `before` ("" at the start of a line). `is_whole`: no more
    text follows.
    """
    if text[start] not in MARKER_BEGIN or (before and before in quotes):
        return None
    tag = _OPEN_TAG.match(text, start, start + OPENING_CHARS, partial=True)
    if tag is not None and tag.partial and not is_whole:
        return MAYBE
    if tag is not None and not tag.partial and is_tool(bare_name(tag["name"])):
        return NativeOpening(Form.CALLS, tag.start("name"), "function", is_read=True)
    marker = read_marker(text, start, is_tool)
    if not isinstance(marker, Marker):
        return marker
    kind = None if marker.is_token else TAG_NAMES.get(marker.name)
    if kind is not None:
        # A tag of the protocol, or one that is read like it: only calls without JSON are foreign.
        if kind is not BlockKind.EXECUTE or marker.closes or marker.name == "execute":
            return None
        begin = read_json_start(text, marker.end, kind, limits) if before else None
        if begin is not None:
            return MAYBE if begin is MAYBE else None
    if not marker.closes and marker.core not in _BEFORE_MESSAGE:
        if (thoughts := _thoughts(text, marker, before)) is not None:
            return thoughts
        named = _names_tool(text, marker, is_tool, 0 if before.isspace() else _MAX_PROSE)
        if named is True:
            return NativeOpening(Form.CALLS, start, marker.core, is_token=marker.is_token)
        if named is MAYBE and not is_whole:
            return MAYBE
    if not marker.is_token:
        return _orphan(text, marker, before)
    return _token(text, marker, before, is_tool, is_whole=is_whole)


def read_spoken(text: str, start: int, is_tool: Callable[[str], bool]) -> NativeOpening | Maybe | None:
    """Read a call that words begin at the start of a line, such as `to=recall`."""
    match = _SPOKEN.match(text, start, start + OPENING_CHARS, partial=True)
    if match is None:
        return None
    if match.partial or (match["name"] and match.end() == len(text)):
        return MAYBE if len(text) - start < OPENING_CHARS else None
    if match["name"]:
        return NativeOpening(Form.CALLS, start) if is_tool(bare_name(match["name"])) else None
    named = _names_in_json(text, match.end(), is_tool)
    return MAYBE if named is MAYBE else NativeOpening(Form.CALLS, start) if named else None


def read_plain_call(
    text: str, start: int, is_tool: Callable[[str], bool], may_be_tool: Callable[[str], bool]
) -> int | Maybe | None:
    """Return where a call without any marker ends: `recall(query="boat")`, or `recall` and an object.

    `may_be_tool`: whether the name of a tool begins so.
    """
    is_list = text[start] == "["  # of calls in Python
    word = _WORD.match(text, start + is_list)
    if word is None:
        return MAYBE if is_list and start + 1 == len(text) else None
    name = bare_name(word[0])
    if word.end() == len(text):
        return MAYBE if may_be_tool(name) or any(one.startswith(word[0]) for one in ("print", *NAMESPACES)) else None
    if not (word[0] == "print" or is_tool(name.removesuffix(".call"))):
        return None
    match = _PLAIN.match(text, start + is_list, start + OPENING_CHARS, partial=True)
    if match is None:
        return None
    if match.partial:
        return MAYBE if len(text) - start < OPENING_CHARS else None
    if is_list:
        match_end = closing_parenthesis(text, start, PLAIN_CALL_CHARS) if match["code"] else None
        is_open = match["code"] and len(text) - start < PLAIN_CALL_CHARS
        return match_end or (MAYBE if is_open and is_tool(bare_name(match["name"])) else None)
    if not is_tool(bare_name(match["name"]).removesuffix(".call")):
        return None
    opening = match.end("print") - 1 if match["print"] else match.start("code" if match["code"] else "json")
    end = closing_parenthesis(text, opening, PLAIN_CALL_CHARS)
    return end or (MAYBE if len(text) - opening < PLAIN_CALL_CHARS else None)


def read_marker(text: str, start: int, is_tool: Callable[[str], bool]) -> Marker | Maybe | None:
    """Read the special token or the tag at `text[start]`; None for a tag that holds neither calls nor thoughts."""
    match text[start]:
        case "[":
            found = _BRACKETS.match(text, start, partial=True)
            return None if found is None else MAYBE if found.partial else _marker_of(found[0], found.end(), token=True)
        case "◁":
            found = _TRIANGLES.match(text, start, partial=True)
            return None if found is None else MAYBE if found.partial else _marker_of(found[0], found.end(), token=True)
        case _:
            pass
    inside = start + 2 if text.startswith("/", start + 1) else start + 1
    if inside >= len(text):
        return MAYBE
    is_token = text[inside] in _BARS
    if not is_token:
        name = _TAG_NAME.match(text, inside)
        if name is None or name[0].startswith("exec"):  # that is a tag of the protocol, or none
            return None
        if name.end() == len(text):
            return MAYBE if len(name[0]) < _NAME_CHARS else None
        is_token = text[name.end()] in _BARS or "▁" in name[0] or _BARE_TOKEN.fullmatch(name[0]) is not None
        if not (is_token or text[name.end()] in " \t\r=/>\n"):
            return None
        local = name[0].rpartition(":")[2]
        if not (is_token or _CALLISH.search(name[0]) or _THOUGHTFUL.search(local) or is_tool(local)):
            return None
    end = text.find(">", inside, start + MARKER_CHARS)
    stop = _NO_MARKER.search(text, inside, end if end >= 0 else start + MARKER_CHARS)
    if stop is not None:
        return None
    if end < 0:
        return MAYBE if len(text) - start < MARKER_CHARS else None
    return _marker_of(text[start : end + 1], end + 1, token=is_token)


def _marker_of(marker: str, end: int, *, token: bool) -> Marker:
    inside = marker.strip("<>[]◁▷")
    name = (inside if token else _NAME_END.split(inside.removeprefix("/"), maxsplit=1)[0]).lower()
    words = _LETTERS.findall(name)
    # <x|> is the counterpart of <|x>.
    is_mirrored = inside[:1] not in _BARS and inside[-1:] in _BARS
    closes = "/" in inside[:3] or is_mirrored or not _CLOSING_EDGES.isdisjoint(words)
    core = " ".join(word for word in words if word not in _EDGES)
    return Marker(marker, end, name, core, closes, token)


def _thoughts(text: str, marker: Marker, before: str, markers: int = _MAX_MARKERS) -> NativeOpening | Maybe | None:
    """Read the beginning of thoughts: <|START_THINKING|>, <antThinking>, <|channel|>analysis<|message|>. `markers`: how
    many are read at most.
    """
    if before and before.isspace():
        return None
    if _THOUGHTFUL.search(marker.core.replace(" ", "")):
        return NativeOpening(Form.THOUGHTS, marker.end, marker.core)
    if not marker.is_token:
        return None
    channel = _CHANNEL.match(text, marker.end)
    if channel is None:
        return MAYBE if _CHANNEL_PREFIX.match(text, marker.end) else None
    if not _THOUGHTFUL.search(channel[1]):
        # "<|start|>assistant<|channel|>analysis": the second token decides.
        if channel[1].lower() not in _ROLES or text[channel.end()] == "\n":
            return None
        following = read_marker(text, channel.end(), _no_tool)
        if not isinstance(following, Marker):
            return following
        return None if following.closes or markers == 1 else _thoughts(text, following, "", markers - 1)
    if text[channel.end()] == "\n":
        return NativeOpening(Form.THOUGHTS, channel.end(), marker.core)
    following = read_marker(text, channel.end(), _no_tool)
    if following is MAYBE:
        return MAYBE
    end = following.end if following else channel.end()
    return NativeOpening(Form.THOUGHTS, end, marker.core)


def _no_tool(name: str) -> bool:  # noqa: ARG001 -- no tag is the name of a tool
    return False


def _names_tool(text: str, marker: Marker, is_tool: Callable[[str], bool], max_prose: int) -> bool | Maybe:
    """Return whether the marker, or what stands behind it, names a tool as a call does. `max_prose`: how many words may
    stand before the name as in a sentence.
    """
    start = marker.end - len(marker.text)
    end = start + OPENING_CHARS
    if _named_by(marker, is_tool):
        return True
    position, words, prose, last, markers = marker.end, 0, 0, -1, 1
    while position < min(len(text), end):
        char = text[position]
        if char in MARKER_BEGIN and (following := read_marker(text, position, is_tool)) is not None:
            if following is MAYBE:
                return MAYBE
            if _named_by(following, is_tool):
                return True
            markers += 1
            if markers > _MAX_MARKERS:
                return False
            position = following.end
        elif char in "{[" and (json := _JSON_BEGINS.match(text, position, partial=True)) is not None:
            return MAYBE if json.partial else _names_in_json(text, position, is_tool)
        elif word := _WORD.match(text, position):
            # The word may go on in the next piece of text.
            if word.end() == len(text):
                return MAYBE if len(text) < end else False
            follows = _CALL_FOLLOWS.match(text, word.end(), partial=True)
            if is_tool(bare_name(word[0]).removesuffix(".call")) and follows is not None:
                return MAYBE if follows.partial else True
            # Prose about a marker also names tools, so few words may precede the name, and none of another script.
            words += 1
            prose += last == position - 1 and text[last] == " "
            if words > _MAX_WORDS or prose > max_prose or not word[0].isascii():
                return False
            position = last = word.end()
        else:
            position += 1
    return MAYBE if len(text) < end else False


def _named_by(marker: Marker, is_tool: Callable[[str], bool]) -> bool:
    if is_tool(bare_name(marker.name.rpartition(":")[2])):
        return True
    return "=" in marker.text and any(is_tool(bare_name(name)) for name in _ATTRIBUTE.findall(marker.text))


def _names_in_json(text: str, start: int, is_tool: Callable[[str], bool]) -> bool | Maybe:
    end = start + OPENING_CHARS
    for name in _JSON_NAME.finditer(text, start, end):
        if name[1] or is_tool(bare_name(name[2])):
            return is_tool(bare_name((name[1] or name[2]).strip()))
    return MAYBE if len(text) < end else False


def _orphan(text: str, marker: Marker, before: str) -> NativeOpening | Maybe | None:
    """A closing tag of a call alone on its line is no text."""
    if before or not marker.closes or not _CALLISH.search(marker.name) or ":" not in marker.name:
        return None
    rest = skip_blanks(text, marker.end)
    if rest == len(text):
        return MAYBE
    return NativeOpening(Form.TOKENS, marker.end) if text[rest] == "\n" else None


def _token(
    text: str, marker: Marker, before: str, is_tool: Callable[[str], bool], *, is_whole: bool
) -> NativeOpening | Maybe | None:
    """Read a token as a model writes it: at the end of its line, before another token, or right before a word that
    begins a line; and not after a blank.
    """
    around_answer = marker.text.endswith(" RESPONSE]")
    if not around_answer and (before.isspace() or (marker.text[0] == "[" and marker.text[1] != "|")):
        return None
    position = marker.end
    # "<|open|>response<|sep|>", "<|start|>assistant<|channel|>final<|message|>"
    markers = 1
    while (
        (channel := _CHANNEL.match(text, position)) is not None
        and text[channel.end()] == "<"
        and markers < _MAX_MARKERS
    ):
        markers += 1
        following = read_marker(text, channel.end(), is_tool)
        if following is MAYBE:
            return MAYBE
        if following is None or not following.is_token:
            break
        position = following.end
    if channel is None and position < len(text) and not is_whole and _CHANNEL_PREFIX.match(text, position):
        return MAYBE
    if position > marker.end:
        return NativeOpening(Form.TOKENS, position) if position < len(text) or is_whole else MAYBE
    if marker.text in _BEFORE_ROLES:
        rest = text[position : position + len("developer")]
        is_cut = position + len(rest) == len(text) and not is_whole
        if is_cut and any(role != rest and role.startswith(rest) for role in _ROLES):
            return MAYBE
        role = next((role for role in _ROLES if rest.startswith(role)), "")
        position += len(role) if text[position + len(role) : position + len(role) + 1] != "_" else 0
    if position == len(text):
        return NativeOpening(Form.TOKENS, position) if is_whole else MAYBE
    following = read_marker(text, position, is_tool) if text[position] in MARKER_BEGIN else None
    if following is MAYBE:
        return MAYBE
    begins_line = not before and (text[position].isalnum() or text[position] in "*#`_")
    ends_text = marker.is_token and marker.text.strip("<>" + _BARS) in _TEXT_ENDS
    is_meant = following is not None or text[position] == "\n" or marker.core.endswith(_BEFORE_TEXT) or begins_line
    return NativeOpening(Form.TOKENS, position, ends_text=ends_text) if is_meant or ends_text else None


# Tags that some models write around their answer, behind their thoughts.
_FRAME: Final = regex.compile(r"<(answer|response|final_answer|final|output|solution|reply)>")
# Around words instead of JSON, behind results that the program gave, this is the answer of a model that goes on in the
# form of its results.
_ANSWER_AS_RESULT: Final = regex.compile(r"<(tool_response)>(?=\s{0,16}[^\s\[{<])")
# Tags that only end a message, alone on their line.
_STRAY: Final = regex.compile(
    r"(?:</?(?:stop|end|done|eos|eot|eom|finish(?:ed)?|complete|turn|assistant|answer|response|none|null|empty)\s?/>"
    r"|</(?:stop|end|s|eos|turn|assistant)>|<(?P<pair>stop|end|done|eos)>\s{0,4}</(?P=pair)>)[ \t]{0,16}(?P<end>\n|\Z)"
    r"|<(?:stop|end|done|eos|eot|eom)>\s{0,16}\Z"  # Without its slash, only where nothing follows
)


def read_frame(text: str, start: int, frame: str, *, results: bool = False) -> tuple[str, int] | Maybe | None:
    """Read a tag around the answer, or (`frame`: its name) the one that closes it. Returns its name and its end.

    `results`: whether the program gave results before, in whose form a model may go on.
    """
    if frame:
        closing = f"</{frame}>"
        piece = text[start : start + len(closing)]
        return ("", start + len(closing)) if piece == closing else MAYBE if closing.startswith(piece) else None
    match = (_ANSWER_AS_RESULT if results else _FRAME).match(text, start, partial=True)
    return None if match is None else MAYBE if match.partial else (match[1], match.end())


# An element that holds code or a quotation, if its content touches it or begins on the next line: before a word or a
# stop ("<pre> keeps blanks") it is only mentioned.
_CODE_ELEMENTS: Final = ("pre", "xmp", "listing", "textarea", "blockquote", "code", "samp", "kbd", "q")
_CODE_ELEMENT: Final = regex.compile(
    rf"(?P<tag><(?P<name>{'|'.join(_CODE_ELEMENTS)})(?:\s[^<>\n]{{0,160}})?>)"
    r"(?:[ \t]{0,16}\n|[^\s.,;:!?)\"'`])",
    regex.IGNORECASE | regex.ASCII,
)
_ENDS_WITH_PARAGRAPH: Final = frozenset({"code", "samp", "kbd", "q"})
_CODE_ELEMENT_BEGINS: Final = tuple(f"<{name[:2]}" for name in _CODE_ELEMENTS)  # Most tags begin otherwise


def read_code_element(text: str, start: int, *, is_whole: bool) -> tuple[OpenElement, int] | Maybe | None:
    """Read the opening tag of an element whose content is text. Returns the element and the end of the tag."""
    begin = text[start : start + 3].lower()
    if len(begin) == 3 and not begin.startswith(_CODE_ELEMENT_BEGINS):
        return None
    match = _CODE_ELEMENT.match(text, start, partial=True)
    if match is None or match.partial:
        return None if match is None or is_whole else MAYBE
    name = match["name"].lower()
    return OpenElement(name, in_line=name in _ENDS_WITH_PARAGRAPH), match.end("tag")


_END_OF_MESSAGE: Final = regex.compile(r"</s>[ ]{0,16}")


def read_end(text: str, start: int, *, is_whole: bool) -> int | Maybe | None:
    """Return the end of the answer if nothing but the tag that ends a message stands before it."""
    match = _END_OF_MESSAGE.match(text, start, partial=True)
    if match is None or (match.end() < len(text) and not match.partial):
        return None
    return match.end() if is_whole and not match.partial else None if is_whole else MAYBE


def read_stray(text: str, start: int, *, is_whole: bool) -> int | Maybe | None:
    """Return where a tag ends that stands alone on its line and means nothing but an end."""
    match = _STRAY.match(text, start, partial=True)
    if match is None:
        return None
    if match.partial or not match["end"]:
        return match.end() if is_whole and not match.partial else None if is_whole else MAYBE
    return match.start("end")


def is_token(held_back: str) -> bool:
    """Return whether `held_back`, the end of the stream, is a token or the first part of one."""
    token = held_back.strip()
    is_bare = _BARE_TOKENS.fullmatch(token) is not None
    return is_bare or (len(token) > len("<|") and _TOKENS.fullmatch(token) is not None)


# A message of somebody else, which a model without the template of its server makes up: <|im_start|>user, [INST].
_OTHERS_TURN: Final = regex.compile(
    rf"(?:<\|(?:im_start|start)\|>|<start_of_turn>|<\|start_header_id\|>)\s{{0,2}}(?:user|system|human)\b"
    rf"|<[{_BARS}](?:user|system|human|USER_TOKEN|SYSTEM_TOKEN)[{_BARS}]>|(?:<s>\s?)?\[INST\]",
    regex.IGNORECASE,
)
_OWN_TURN: Final = regex.compile(
    rf"(?:<\|(?:im_start|start)\|>|<start_of_turn>)\s{{0,2}}(?:assistant|model)\b"
    rf"|<\|start_header_id\|>\s{{0,2}}assistant\s{{0,2}}<\|end_header_id\|>"
    rf"|<[{_BARS}](?:assistant|model|bot|CHATBOT_TOKEN)[{_BARS}]>|\[/INST\]",
    regex.IGNORECASE,
)


def read_others_turn(text: str, start: int, *, is_whole: bool) -> int | Maybe | None:
    """Return where the token ends that begins a message of the person or of the system."""
    match = _OTHERS_TURN.match(text, start, partial=True)
    if match is None or not match.partial:
        return None if match is None else match.end()
    return None if is_whole else MAYBE


class OthersTurn:
    """A message that the model wrote in the place of somebody else: nobody reads it.

    Before the answer it is an echo of the prompt, which ends where the model's own message begins. Behind the answer
    (`to_end`) the model talks to itself, and nothing that follows counts.
    """

    def __init__(self, *, to_end: bool) -> None:
        self.is_over = False
        self._to_end = to_end

    def feed(self, text: str, start: int) -> int:
        """Read from `text[start]`. The text after the returned position must be passed again, with more."""
        own = None if self._to_end else _OWN_TURN.search(text, start, partial=True)
        if own is None:
            return len(text)
        self.is_over = not own.partial
        return own.end() if self.is_over else own.start()

    def end_of_stream(self, _: str) -> list[ProtocolEvent]:
        return self.events()

    def events(self) -> list[ProtocolEvent]:
        return [ViolationFound(Violation.TAG_ORPHANED, "turn")]


class NativeBlock:
    """The content after an opening. Call `feed` until it `is_over`; then `events` returns its events."""

    def __init__(
        self, opening: NativeOpening, limits: ParserLimits, is_tool: Callable[[str], bool], corrections: Corrections
    ) -> None:
        self.is_over = False
        self._opening = opening
        self._limits = limits
        self._is_tool = is_tool
        self._corrections = corrections
        self._body: list[str] = []
        self._size = 0
        self._begun = opening.is_read  # The first marker was read: only a later one may be its counterpart
        self._between = 0  # Blanks since the counterpart, where another call may follow; 0 inside of a call
        self._closed = False

    def feed(self, text: str, start: int) -> int:
        """Read from `text[start]`. The text after the returned position must be passed again, with more."""
        position = start
        while position < len(text) and not self.is_over:
            used = self._after_call(text, position) if self._closed else self._in_content(text, position)
            if used is None:
                break
            position = used
        return position

    def _in_content(self, text: str, position: int) -> int | None:
        sign = _MARKER_SIGNS.search(text, position)
        if sign is None or sign.start() > position:
            end = sign.start() if sign else len(text)
            self._keep(text[position:end])
            return end
        marker = read_marker(text, position, self._is_tool)
        if marker is MAYBE:
            return None
        if marker is None:
            self._keep(text[position])
            return position + 1
        is_first, self._begun = not self._begun and not self._is_thoughts, True
        if not is_first and self._ends_at(marker):
            return self._close(text, position, marker)
        self._keep(text[position : marker.end])
        return marker.end

    def _ends_at(self, marker: Marker) -> bool:
        if self._is_thoughts and marker.is_token and (marker.core in _BEGINS_MESSAGE or marker.closes):
            return True
        if marker.is_token and marker.text.strip("<>" + _BARS) in _STOPS:
            return True
        is_counterpart = marker.closes or marker.core == "unused"  # <unused94>thought … <unused95>
        return is_counterpart and bool(self._opening.core) and marker.core == self._opening.core

    def _close(self, text: str, position: int, marker: Marker) -> int | None:
        # Of a call everything is kept, also its last marker: it is read as a whole at the end.
        if not self._is_thoughts:
            self._keep(marker.text)
            self._closed = True
            return marker.end
        # The next message ends the thoughts without a mark of their own. It is not used up here.
        if marker.core in _BEGINS_MESSAGE and not marker.closes:
            self.is_over = True
            return position
        channel = _CHANNEL.match(text, marker.end)
        if (
            channel is None
            and _CHANNEL_PREFIX.match(text, marker.end)
            and marker.is_token
            and marker.core in {"", "close"}
        ):
            return None
        if marker.is_token and not marker.core and channel is not None and text[channel.end()] == "<":
            # "<|channel|>final<|message|>" is one transition in three pieces; its last marker ends the thoughts.
            following = read_marker(text, channel.end(), self._is_tool)
            if following is MAYBE:
                return None
            if following is not None:
                self.is_over = True
                return following.end
        self.is_over = True
        return marker.end

    def _after_call(self, text: str, position: int) -> int | None:
        """Another call may follow, which begins with the same marker."""
        if text[position].isspace() and self._between < _SIBLING_BLANKS:
            self._between += 1
            self._keep(text[position])
            return position + 1
        marker = read_marker(text, position, self._is_tool) if text[position] in MARKER_BEGIN else None
        if marker is MAYBE:
            return None
        if marker is not None and not marker.closes and marker.core == self._opening.core:
            self._closed, self._between = False, 0
            self._keep(marker.text)
            return marker.end
        self.is_over = True
        return position

    def _keep(self, piece: str) -> None:
        self._size += len(piece)
        if self._size <= self._limits.block:
            self._body.append(piece)

    def end_of_stream(self, held_back: str) -> list[ProtocolEvent]:
        if self._closed:
            return self.events()
        self._keep(held_back)
        if self._is_thoughts:
            return [ViolationFound(Violation.BLOCK_UNCLOSED, "think")]
        return [ViolationFound(Violation.BLOCK_UNCLOSED, "execute"), *self.events()]

    @property
    def _is_thoughts(self) -> bool:
        return self._opening.form is Form.THOUGHTS

    def events(self) -> list[ProtocolEvent]:
        body = "".join(self._body)
        if self._is_thoughts:
            return [ThoughtArrived(body.strip())] if body.strip() else []
        return [ViolationFound(Violation.TAG_MISPLACED, "execute"), *self._calls(body)]

    def _calls(self, body: str) -> list[ProtocolEvent]:
        if self._size > self._limits.block:
            return [self._corrections.too_long(self._limits)]
        try:
            calls = read_foreign_calls(body, self._is_tool, self._limits)
        except Unreadable as error:
            return [self._corrections.unreadable(str(error))]
        return [read_calls_of(calls, self._limits, self._corrections)]
