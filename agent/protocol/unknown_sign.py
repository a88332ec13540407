"""The sign with which a model says that it does not know an answer: taken out of its text, however that is cut. Pure.

    I do not know who owns Apollo.
    <i_do_not_know/>

Nobody reads the sign: code does, so that the question counts as unanswered (`agent.unanswered`) without another call of
a model. It works with tools in either form, because it is no call.

Rules
  It is read everywhere in the text of an answer, in code too: its name stands nowhere else. Models write it in other
  brackets, without any, as a pair of tags or in Markdown, and it is never shown in these forms either.
  A sign that the end of the stream cuts off is not shown, and counts.
  With a sign on its own line, its line break goes. All other text is the model's, character for character.
  A sign says nothing beside calls of tools: the model answers after them.
"""

import re
from collections.abc import Iterable
from typing import Final

import regex

from agent.events import CallsArrived, CallsRejected, ProtocolEvent, ReplyEnded, TextArrived, UnknownSaid

SIGN: Final = "<i_do_not_know/>"

# Taught where others read the answer, too: only there its managers see what was not answered.
UNKNOWN_LESSON: Final = (
    f"If you do not know the answer, say so in words, and write {SIGN} on a line after it. Never write it otherwise."
)

_OPENS_TAG: Final = "(?:<|&lt;)"
_CLOSES_TAG: Final = "(?:>|&gt;)"
_MARKUP: Final = r"[`*~]{0,3}"
_SLASH: Final = r"[ \t]{0,3}[/\\]?[ \t]{0,3}"
_ENDS: Final = rf"(?:[ \t]{{1,3}}[\w-]{{1,20}}=[^<>\n]{{0,60}})?{_SLASH}"
_NEARLY: Final = r"(?:i[_ -]?)?do[_ -]?n(?:o|['’])?t[_ -]?know(?:[_-]\w{1,20}){0,3}"
# A tag of nearly the same name, the name in any brackets, or the name alone. Each part is bounded, so that little is
# held back.
_SIGN: Final = regex.compile(
    rf"{_MARKUP}(?:"
    rf"{_OPENS_TAG}{{1,2}}{_SLASH}{_NEARLY}{_ENDS}{_CLOSES_TAG}{{1,2}}"
    rf"|(?:(?:{_OPENS_TAG}|[\[({{‹«【]){{1,2}}{_SLASH}i_do_not_know(?!\w)|(?<![\w.-])i_do_not_know(?![/.-]?\w))"
    rf"{_ENDS}(?:{_CLOSES_TAG}|[\])}}›»】]){{0,2}}"
    rf"){_MARKUP}(?P<after>[ \t]{{0,3}}\n{{0,2}})",
    regex.IGNORECASE,
)
_DECIDES: Final = 80  # Characters behind a sign: with so many it is certain where it ends
# Without one of these there is no sign, and none begins: most pieces of a stream are such words.
_MAY_BEGIN: Final = re.compile(r"[<&\[({‹«【]|[iI](?:_|\Z)|[`*~]\Z")
_LINE_CHARS: Final = 80  # Of a line, to see whether it is blank
_BEFORE: Final = 3  # Characters of markup that may stand before such a character
# In what is left at the end, if it was to be a sign.
_CUT: Final = regex.compile(rf"i_do_n|{_OPENS_TAG}[/\\]?(?:i_|(?:i[ -]?)?do[_ -]?n)", regex.IGNORECASE)


class UnknownSign:
    """Takes the sign out of the events of one model call. Pass them to `filter` in order, then call `close`."""

    def __init__(self) -> None:
        self._held: str = ""
        self._last: str = ""  # The character before what is held back
        self._line = ""  # The last line of what was shown, or its end
        self._has_text = False  # Text that is not blank was shown
        self._blanks = ""  # Behind a sign, to be shown before further text
        self._is_said = False

    def filter(self, events: Iterable[ProtocolEvent]) -> list[ProtocolEvent]:
        filtered: list[ProtocolEvent] = []
        for event in events:
            if isinstance(event, TextArrived):
                filtered += self._read(event.text, is_whole=False)
                continue
            if isinstance(event, ReplyEnded | CallsArrived | CallsRejected):
                filtered += self.close()
            filtered.append(event)
        return filtered

    def close(self) -> list[ProtocolEvent]:
        """Return what was held back."""
        return self._read("", is_whole=True)

    def _read(self, text: str, *, is_whole: bool) -> list[ProtocolEvent]:
        text, position = self._last + self._held + text, len(self._last)
        shown, was_said = list[str](), self._is_said
        while (found := _next_sign(text, position, is_whole=is_whole)) is not None:
            # At the end of a piece, what follows may belong to the sign, or make one of it.
            if not is_whole and (found.partial or len(text) - found.end() < _DECIDES):
                break
            self._add(shown, text[position : found.start()])
            self._remove(found)
            position = found.end()
        end = len(text) if found is None else found.start()
        self._last, self._held = text[max(0, end - 1) : end], text[end:]
        if is_whole:
            end = self._cut_sign(text, position)
        self._add(shown, text[position:end])
        events: list[ProtocolEvent] = [TextArrived("".join(shown))] if any(shown) else []
        return events if was_said or not self._is_said else [*events, UnknownSaid()]

    def _add(self, shown: list[str], text: str) -> None:
        if text:
            shown += [self._blanks, text]
            self._line = f"{self._line}{self._blanks}{text}"[-_LINE_CHARS:].rpartition("\n")[2]
            self._blanks, self._has_text = "", self._has_text or not text.isspace()

    def _remove(self, found: "regex.Match[str]") -> None:
        self._is_said = True
        if self._has_text and self._line.strip():
            # Between two words a blank keeps what is left from being read as another sign.
            is_apart = self._line[-1].isspace() and "\n" not in found["after"]
            self._blanks = "" if is_apart else found["after"] or " "

    def _cut_sign(self, text: str, position: int) -> int:
        """Return where a sign begins that the end of the stream cuts off; the end of the text if there is none."""
        found = _SIGN.search(text, position, partial=True)
        if found is None or not _CUT.search(found[0]):
            return len(text)
        self._is_said = True
        return found.start()


def _next_sign(text: str, position: int, *, is_whole: bool) -> "regex.Match[str] | None":
    """Return the next sign, or, where more text follows, what may become one."""
    first = _MAY_BEGIN.search(text, position)
    if first is None:
        return None
    return _SIGN.search(text, max(position, first.start() - _BEFORE), partial=not is_whole)
