"""Our marks in other characters: `＜execute＞`, `<𝐭𝐡𝐢𝐧𝐤>`, `[execute]`. Text in, text with our own tags out. Pure.

Models that are short of letters, or that were trained on other marks, write our tags in full-width or mathematical
letters, in the brackets of another format, or in doubled ones. Code that looks for `<execute>` finds none of them, and
a person would read the calls.

Rules
- A tag is replaced where it is meant: at the start of a line, right before JSON or behind it. Every other character
  passes as it is, so a sentence about such a tag keeps its letters.
- In a code fence nothing is replaced.
- Thoughts have no JSON. The tag that closes them is meant anywhere, as it touches their last word.
- Letters count as ours if Unicode's compatibility (NFKC) says so. Those of other alphabets that look alike do not: a
  call in a tag of any name is read in `agent.protocol.openings`.
- Text is held back only while it may be such a tag, at most `_MAX_TAG` characters and the blanks before JSON.
"""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final

import regex

from agent.messages import CONFUSABLES, UNSEEN, normalisable
from agent.protocol.grammar import BLANKS, MAYBE, TAG_NAMES, BlockKind, Maybe

# Where Unicode keeps letters, digits and signs that are compatible with those of ASCII.
_COMPATIBLE: Final = (
    *((0xAA, 0x2FF), (0x1D2C, 0x1D6A), (0x2000, 0x24FF), (0x2C7C, 0x2C7D), (0x3000, 0x3000), (0xA770, 0xA7F4)),
    *((0xFE30, 0xFFEF), (0x10780, 0x107BA), (0x1D400, 0x1D7FF), (0x1F100, 0x1F1FF), (0x1FBF0, 0x1FBF9)),
)


@cache
def _compatible() -> dict[str, str]:
    """Return for each ASCII character, in small letters, those that look like it."""
    found: dict[str, str] = {}
    for first, last in _COMPATIBLE:
        for char in map(chr, range(first, last + 1)):
            plain = unicodedata.normalize("NFKC", char).lower()
            if len(plain) == 1 and plain.isascii():
                found[plain] = found.get(plain, "") + char
    for char, plain in CONFUSABLES.items():
        found[chr(plain)] = found.get(chr(plain), "") + chr(char)
    return found


def forms(chars: str) -> str:
    """Return these ASCII characters and all that look like them, for the brackets of a pattern."""
    return regex.escape("".join(char + _compatible().get(char.lower(), "") for char in chars))


def any_form(chars: str) -> str:
    """Return a pattern for one of these ASCII characters, or for any that looks like it."""
    return f"[{forms(chars)}]"


# Letters in circles and squares, which Unicode counts as signs.
FRAMED_LETTERS: Final = "\u24b6-\u24e9\U0001f130-\U0001f149"


_MAX_TAG: Final = 80
_BEFORE: Final = 40  # Characters that are kept of the text before, to see whether a tag begins its line
_BRACKETS: Final = "[【［{"
_GAP: Final = rf"[{BLANKS}]{{0,4}}"
_SLASH: Final = rf"(?P<slash>{any_form('/')}?)"
_NAME: Final = rf"(?P<name>(?:[^\W\d]|[{FRAMED_LETTERS}]|{UNSEEN.pattern}){{2,32}}+)"
_OPEN: Final = rf"{any_form('<')}|[\[【［{{]"
_SHUT: Final = rf"{any_form('>')}|[\]】］}}]"
_TAG: Final = regex.compile(
    rf"(?:{_OPEN}){{1,2}}{_GAP}{_SLASH}{_GAP}{_NAME}{_GAP}{any_form('/')}?{_GAP}(?:{_SHUT}){{1,2}}+"
)
_JSON: Final = regex.compile(r"\s{0,16}(?:`{3}\w{0,8}\s{0,8})?[\[{]")
_FIRST_LETTERS: Final = "".join(sorted({name[0] for name in TAG_NAMES}))
_OPENERS: Final = regex.compile(
    rf"(?!<[a-zA-Z/!?]{{2}}){any_form('<')}"
    rf"|[\[【［{{](?=[\[{{]?[{BLANKS}/／]{{0,4}}(?:[{_FIRST_LETTERS}{_FIRST_LETTERS.upper()}]|[^\x00-\x7f]|\Z))"
)
_SIGNS: Final = regex.compile(rf"\n|{_OPENERS.pattern}")
_FENCE: Final = regex.compile(rf"(?:(?:[-*+]|\d{{1,9}}[.)])[{BLANKS}]++)*+(?P<marker>`{{3,}}+|~{{3,}}+)(?P<rest>.*+)")
_MAX_FENCE: Final = 200  # Characters of a line that may open or close one
_ENDS: Final = regex.compile(_SHUT)
_LINE_START: Final = regex.compile(rf"\n[{BLANKS}>*_#]{{0,{_BEFORE}}}\Z")
_AFTER_JSON: Final = regex.compile(rf"[\]}}][{BLANKS}\n`]{{0,{_BEFORE}}}\Z")


def _letters(text: str) -> str:
    """Return the letters of the text as those of ASCII that they are compatible with, in small ones."""
    plain = unicodedata.normalize("NFKC", normalisable(UNSEEN.sub("", text)))
    return "".join(char for char in plain if char.isalpha() or char == "_").lower()


def replace_openers(text: str, replacement: Callable[[str], str]) -> str:
    """Return somebody else's text with another opener of each tag that `LookAlikes` could read, whole or cut off at the
    end: a model may repeat the text, and other text may follow it then.
    """
    pieces, end = list[str](), 0
    for opener in _OPENERS.finditer(text):
        if _may_become_tag(text, opener.start()):
            pieces += (text[end : opener.start()], replacement(opener[0]))
            end = opener.end()
    return "".join([*pieces, text[end:]])


def _may_become_tag(text: str, start: int) -> bool:
    tag = _TAG.match(text, start, start + _MAX_TAG, partial=True)
    if tag is None:
        return False
    if tag.partial:
        return len(text) - start < _MAX_TAG and _is_beginning(text, start)
    if _kind_of(tag) is None:
        return False
    is_bracketed = tag[0][0] in _BRACKETS
    return not is_bracketed or bool(tag["slash"]) or _JSON.match(text, tag.end(), partial=True) is not None


def _kind_of(tag: "regex.Match[str]") -> BlockKind | None:
    """Return the block that a tag in other characters names; None for any other text."""
    kind, is_bracketed = TAG_NAMES.get(_letters(tag["name"])), tag[0][0] in _BRACKETS
    is_plain = tag[0].isascii() and not is_bracketed and not tag[0].startswith("<<")
    is_other = is_plain or (is_bracketed and kind is BlockKind.THINK)
    return None if is_other else kind


def _is_beginning(text: str, start: int) -> bool:
    """Return whether the rest of the text begins the name of a tag."""
    letters = _letters(_ENDS.split(text[start + 1 :])[0])
    return any(name.startswith(letters) for name in TAG_NAMES)


class LookAlikes:
    """Writes tags in other characters as our own. Pass the pieces to `feed`, then call `flush`."""

    def __init__(self) -> None:
        self._before = "\n"
        self._skipped: list[str] = []  # Behind that; joined only where a tag may begin
        self._held = ""
        self._line = ""  # The beginning of the last line
        self._fence = ""  # The marker of the open code fence

    def may_begin(self, piece: str) -> bool:
        """Return whether such a tag may be in a piece without an ASCII `<` or `[`, or goes on there."""
        return bool(self._held) or (not piece.isascii() and _OPENERS.search(piece) is not None)

    @property
    def held(self) -> str:
        """The end of the text, which may begin a tag."""
        return self._held

    def skip(self, piece: str) -> None:
        """Take note of text that passed elsewhere."""
        self._skipped.append(piece)

    def feed(self, piece: str) -> str:
        """Return the text that is certain now."""
        if not self._held and _SIGNS.search(piece) is None:
            self._skipped.append(piece)
            return piece
        return self._read(self._held + piece, is_whole=False)

    def flush(self) -> str:
        """Return what was held back at the end of the stream."""
        return self._read(self._held, is_whole=True)

    def _read(self, text: str, *, is_whole: bool) -> str:
        if self._skipped:
            skipped = "".join(self._skipped)
            self._skipped.clear()
            self._before = (self._before + skipped)[-_BEFORE:]
            self._line = (self._line + skipped)[:_MAX_FENCE]
        read: list[str] = []
        position, certain, line = 0, len(text), 0
        for sign in _SIGNS.finditer(text):
            start = sign.start()
            if sign[0] == "\n":
                self._end_line(self._line + text[line:start])
                line = start + 1
            if start < position or sign[0] == "\n" or self._fence:
                continue
            tag = _TAG.match(text, start, start + _MAX_TAG, partial=not is_whole)
            if tag is None or (tag.partial and start + _MAX_TAG <= len(text)):
                continue
            if tag.partial:
                meant = MAYBE if _is_beginning(text, start) else False
            else:
                meant = self._is_meant(text, tag, is_whole=is_whole)
            if meant is MAYBE:
                certain = start
                break
            if meant:
                read += (text[position:start], f"<{'/' if tag['slash'] else ''}{_letters(tag['name'])}>")
                position = tag.end()
        self._line = (self._line + text[line:certain])[:_MAX_FENCE]
        self._before = (self._before + text[:certain])[-_BEFORE:]
        self._held = text[certain:]
        return "".join([*read, text[position:certain]])

    def _end_line(self, line: str) -> None:
        """Take note of a whole line, which may open or close a code fence. In one, tags are shown as they are."""
        self._line, fence = "", _FENCE.fullmatch(line.strip(BLANKS)) if len(line) <= _MAX_FENCE else None
        if fence is None:
            return
        if not self._fence:
            self._fence = fence["marker"] if fence["marker"][0] not in fence["rest"] else ""
        elif fence["marker"].startswith(self._fence) and not fence["rest"]:
            self._fence = ""

    def _is_meant(self, text: str, tag: "regex.Match[str]", *, is_whole: bool) -> bool | Maybe:
        if (kind := _kind_of(tag)) is None:
            return False
        if tag["slash"] and kind is BlockKind.THINK:
            return True
        before = (self._before + text[max(0, tag.start() - _BEFORE) : tag.start()])[-_BEFORE:]
        if _LINE_START.search(before) is None and _AFTER_JSON.search(before) is None:
            return False
        if tag["slash"] or kind is BlockKind.THINK:
            return True
        json = _JSON.match(text, tag.end(), partial=not is_whole)
        return False if json is None else MAYBE if json.partial else True
