"""As much Markdown as a page's edge must know: fences, tables, and spans that fall apart when they are cut. Pure.

Above: `bot.reply.split`, `bot.reply.heal`. Below: nothing.

Theory of operation. Blocks are read line by line: `after` takes what the line stands in and gives what the next one
stands in. Spans are found inside one block with one expression.

Where Markdowns differ, we read what models write and what chat platforms show:
- A fence counts at any indentation and after list markers and quote marks. It closes with the same character, at
  least as many of them, indented by at most three columns more than it opened. Outside its quote it is over.
- A table is a line with "|", then a separator with "|", then lines with "|". Only the first ROW_CHARS of a line are
  asked for their "|", so that a line's kind is known before its end.
- A fence's opening line, or a table's header and separator together, longer than `longest` characters is ordinary
  text: it could not be repeated on the next page.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

import regex

ROW_CHARS = 300

_OPENING = regex.compile(
    r"(?P<prefix>(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*+)"
    r"(?:(?P<marker>`{3,}+)(?P<info>[^`]*+)|(?P<marker>~{3,}+)(?P<info>.*+))"
)
_NO_MARGIN = regex.compile(r"[^>\s]")
_CLOSING = regex.compile(r"(?P<prefix>[ \t>]*+)(?P<marker>`{3,}+|~{3,}+)[ \t]*+")
_SEPARATOR = regex.compile(r"[ \t>]*+\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+")
_SPAN = regex.compile(
    r"""
      \\.                                                               # an escape
    | (?<!`)(`++)(?!`).+?(?<!`)\1(?!`)                                  # inline code
    | !?+\[ (?:[^\[\]\\]|\\.|\[[^\[\]]*+\])*+ \]                        # a link or an image: its text,
      (?: \( (?:[^()\\\s]|\\.|\([^()\s]*+\))*+ (?:\s++"[^"]*+"\s*+)?+ (?:\)|\Z)   # then its address (perhaps cut off)
        | \[ [^\[\]]*+ \] )                                             # or its reference
    | <[^<>\s]++>                                                       # a mention, an address
    | \bhttps?+://[^\s<>、。」』）]*+                                    # a bare address
    | (?<![\w*_~|])(\*{1,3}+|_{1,2}+|~~|\|\|)(?=\S)(?!\2)[^\n]{1,200}?(?<=\S)\2(?![\w*_~|])   # short emphasis
    """,
    regex.VERBOSE | regex.DOTALL,
)

_SPAN_BEGUN = regex.compile(
    r"""
      `                                                                 # inline code without an end,
    | \[ (?! [^\[\]\\]*+ \] [^(\[] )                                   # a link, unless it is seen to be none,
    | <[^<>\s]*+\Z                                                     # a mention,
    | (?<!\w) (?:[*_]|~~|\|\||[~|]\Z) (?!\s) [^\n]{0,210}+\Z          # or emphasis that still is short
    """,
    regex.VERBOSE | regex.DOTALL,
)
_OPENING_BEGUN = regex.compile(
    r"(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*+"
    r"(?:`{3}|~{3}|(?:`{0,2}+|~{0,2}+|[-*+]|\d{1,9}[.)]?)\Z)"
)
_CLOSING_BEGUN = regex.compile(r"[ \t>]*+(?:`*+|~*+)[ \t]*+\r?")
_SEPARATOR_BEGUN = regex.compile(r"[ \t>|:-]*+\r?")


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence. `prefix` is what its lines have before the code: indentation, and quote marks in a quote."""

    prefix: str
    marker: str
    info: str

    @property
    def opener(self) -> str:
        return f"{self.prefix}{self.marker}{self.info}"

    @property
    def closer(self) -> str:
        return f"{self.prefix}{self.marker}"

    @property
    def quoted(self) -> bool:
        return ">" in self.prefix

    def closed_by(self, line: str) -> bool:
        found = _CLOSING.fullmatch(line.rstrip("\r\n"))
        return (
            found is not None
            and (self.quoted or ">" not in found["prefix"])
            and found["marker"].startswith(self.marker)
            and _indentation(found["prefix"]) <= _indentation(self.prefix) + 3
        )

    def left_by(self, line: str) -> bool:
        """Whether it is no line of the quote that the fence stands in."""
        before, _, _ = line.partition(">")
        return self.quoted and (
            ">" not in line or bool(before.strip(" \t")) or len(before) > self.prefix.index(">") + 3
        )


def _indentation(prefix: str) -> int:
    return len(prefix.expandtabs(4).rpartition(">")[2])


def opening(line: str) -> Fence | None:
    """The fence that this line opens, when it stands outside of any."""
    if "`" not in line and "~" not in line:
        return None
    found = _OPENING.fullmatch(line.rstrip("\r\n"))
    if found is None:
        return None
    return Fence(_NO_MARGIN.sub(" ", found["prefix"]), found["marker"], found["info"].rstrip("\r\n"))


def is_row(line: str) -> bool:
    """Whether it can be a line of a table."""
    return "|" in line[:ROW_CHARS]


def is_separator(line: str) -> bool:
    return is_row(line) and _SEPARATOR.fullmatch(line.rstrip("\r\n")) is not None


@dataclass(frozen=True, slots=True)
class Block:
    """What a line stands in. `table` holds header and separator; `header`, the line before, if it may become one."""

    fence: Fence | None = None
    table: str = ""
    header: str = ""


_PLAIN = Block()


def after(block: Block, line: str, longest: int) -> Block:
    """What the line after `line` stands in. `line` has its newline, if any."""
    if block.fence is not None and not block.fence.left_by(line):
        closed = len(line.rstrip("\r\n")) <= longest and block.fence.closed_by(line)
        return Block() if closed else block
    if len(line.rstrip("\r\n")) <= longest and (fence := opening(line)) is not None:
        return Block(fence)
    if not is_row(line):
        return _PLAIN
    if block.table:
        return replace(block, header="")
    if block.header and is_separator(line) and len(block.header) + len(line) <= longest:
        return Block(table=block.header + line)
    return Block(header=line if len(line) <= longest else "")


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where, in one block of text without fences, something stands that must not be cut: (start, end)."""
    for found in _SPAN.finditer(text):
        yield found.span()


def spans_are_certain(text: str) -> bool:
    """Whether nothing that may follow in the same block makes another span, or unmakes one."""
    found = [*spans(text)]
    if found and found[-1][1] == len(text):
        return False
    starts = [start for start, _ in found]
    begun = (each.start() for each in _SPAN_BEGUN.finditer(text, overlapped=True))
    return all((last := bisect_right(starts, at)) > 0 and at < found[last - 1][1] for at in begun)


def kind_is_certain(block: Block, line: str, longest: int) -> bool:
    """Whether a line that is not yet whole is surely neither a fence's nor a table's line, whatever follows in it."""
    if block.fence is not None:
        return not block.fence.quoted and _CLOSING_BEGUN.fullmatch(line) is None
    if _SEPARATOR_BEGUN.fullmatch(line) or (block.table and not is_row(line)):
        return False
    return len(line.rstrip("\r")) > longest or _OPENING_BEGUN.match(line) is None
