"""How the parts of a reply become its one text. Pure.

A reply is said in parts: what the model writes in each iteration, and our own notices. The turn stores the whole and
`bot.reply.draft` shows it while it grows; both take it from here, so that what is stored is what was shown.

Rules.
- A part of only whitespace is no part.
- Between two parts stands exactly one blank line: whitespace at the end of the earlier one and blank lines at the
  start of the later one are given up there. Indentation of the later one's first line stays.
- A part that ends inside a code fence is closed before the next one: a notice is never read as code.
- Nowhere else is anything changed: a reply in one part is that part, byte for byte.
"""

from collections.abc import Iterable

from agent.protocol.fences import unclosed_fence

BREAK = "\n\n"
_INVISIBLE = str.maketrans("", "", "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
"""Characters without width, which `str.isspace` does not count."""


def is_blank(text: str) -> bool:
    """Whether a person sees nothing of it."""
    return not text.translate(_INVISIBLE).strip()


def joined(parts: Iterable[str]) -> str:
    """The whole text. Joining is associative: a joined text may be joined with what follows."""
    *earlier, last = [part for part in parts if part and not part.isspace()] or [""]
    text = [_ended(part) for part in earlier] + [last]
    return BREAK.join([text[0], *map(_without_blank_lines_before, text[1:])])


def _ended(part: str) -> str:
    """A part behind which another one follows."""
    ended = part.rstrip()
    marker = unclosed_fence(ended)
    return ended if marker is None else f"{ended}\n{marker}"


def _without_blank_lines_before(part: str) -> str:
    blank = len(part) - len(part.lstrip())
    return part[part.rfind("\n", 0, blank) + 1 :]


class ReplyText:
    """Feed it pieces as they arrive; `text` is `joined` of all parts so far."""

    def __init__(self) -> None:
        self._earlier = self._earlier_ended = ""
        self._part: list[str] = []

    def begin_part(self) -> None:
        self._earlier = self.text
        self._earlier_ended = _ended(self._earlier)
        self._part = []

    def add(self, piece: str) -> None:
        self._part.append(piece)

    @property
    def text(self) -> str:
        part = "".join(self._part)
        self._part = [part]
        if not part.strip():
            return self._earlier
        if not self._earlier:
            return part
        return f"{self._earlier_ended}{BREAK}{_without_blank_lines_before(part)}"

    @property
    def settled(self) -> str:
        """The text without whitespace at its end: whatever comes, it only ever grows."""
        return self.text.rstrip()
