"""The part of Markdown that splitting into pages needs: fences, tables, and spans that break when they are cut. Pure.

Theory of operation. Blocks are read line by line: `block_after` takes the block that a line is in and returns the block
that the next line is in. Spans are found inside one block with one expression.

Where dialects of Markdown differ, we follow what models write and chat platforms show:
- A fence counts at any indentation and after list markers and quote marks. It closes with the same character, repeated
  at least as often, indented by at most three columns more than it opened. It also ends with its quote.
- A table is a line with "|", then a separator with "|", then lines with "|". Only the first ROW_CHARS of a line are
  searched for "|", so that a line's kind is known before its end.
- In a fence for a table (TABLE_INFO) the first two lines are its head, which is repeated like a table's.
- A fence's opening line, or a table's header and separator together, of more than `max_line` characters is ordinary
  text: it could not be repeated on the next page.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import regex

ROW_CHARS = 300
TABLE_INFO = "table"  # Of a fence with aligned columns, as `bot.chat.reply.tables` writes it; nobody highlights it
HEAD_LINES = 2

# A fence may stand in lists and quotations. The info of one of backticks holds none: that would be inline code
# (CommonMark 4.5).
_OPENING = regex.compile(
    r"(?P<prefix>(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*+)"
    r"(?:(?P<marker>`{3,}+)(?P<info>[^`]*+)|(?P<marker>~{3,}+)(?P<info>.*+))"
)
_NO_MARGIN = regex.compile(r"[^>\s]")
_CLOSING = regex.compile(r"(?P<prefix>[ \t>]*+)(?P<marker>`{3,}+|~{3,}+)[ \t]*+")
_SEPARATOR = regex.compile(r"[ \t>]*+\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+")
_CELL_END = regex.compile(r"(?<!\\)\|")
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
# What can still become an opening line: it is held back, or the page would show it as text for a moment.
_OPENING_BEGUN = regex.compile(
    r"(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*+"
    r"(?:`{3}|~{3}|(?:`{0,2}+|~{0,2}+|[-*+]|\d{1,9}[.)]?)\Z)"
)
_CLOSING_BEGUN = regex.compile(r"[ \t>]*+(?:`*+|~*+)[ \t]*+\r?")
_SEPARATOR_BEGUN = regex.compile(r"[ \t>|:-]*+\r?")


@dataclass(frozen=True, slots=True)
class CodeFence:
    """An open code fence. `prefix` comes before the code in each line: indentation, and quote marks in a quote."""

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
        match = _CLOSING.fullmatch(line.rstrip("\r\n"))
        return (
            match is not None
            and (self.quoted or ">" not in match["prefix"])
            and match["marker"].startswith(self.marker)
            and _indentation(match["prefix"]) <= _indentation(self.prefix) + 3
        )

    def left_by(self, line: str) -> bool:
        """Whether the fence is in a quote, and `line` is outside of it."""
        before, _, _ = line.partition(">")
        return self.quoted and (
            ">" not in line or bool(before.strip(" \t")) or len(before) > self.prefix.index(">") + 3
        )


def _indentation(prefix: str) -> int:
    return len(prefix.expandtabs(4).rpartition(">")[2])


def fence_opening(line: str) -> CodeFence | None:
    """Return the fence that this line opens, if it is not inside of one."""
    if "`" not in line and "~" not in line:
        return None
    match = _OPENING.fullmatch(line.rstrip("\r\n"))
    if match is None:
        return None
    return CodeFence(_NO_MARGIN.sub(" ", match["prefix"]), match["marker"], match["info"].rstrip("\r\n"))


def is_row(line: str) -> bool:
    """Whether the line can be a row of a table."""
    return "|" in line[:ROW_CHARS]


def may_separate(line: str) -> bool:
    """Whether an incomplete line can still become a table's separator."""
    return _SEPARATOR_BEGUN.fullmatch(line) is not None


def cells(line: str) -> list[str]:
    """Return the cells of a table's line, without their margins and without the escape of a "|"."""
    row = line.strip(" \t\r\n>")
    row = row.removeprefix("|")
    row = row[:-1] if row.endswith("|") and not row.endswith("\\|") else row
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(row)]


def is_separator(line: str) -> bool:
    return is_row(line) and _SEPARATOR.fullmatch(line.rstrip("\r\n")) is not None


def has_table(text: str) -> bool:
    """Whether the text may have a table: code can look like one."""
    return any(map(is_separator, text.split("\n")))


@dataclass(frozen=True, slots=True)
class LineBlock:
    """The block of a line. `table`: its header and separator, or the head of a fence for a table. `header`: the line
    before, if a table may follow it.
    """

    fence: CodeFence | None = None
    table: str = ""
    header: str = ""


_PLAIN = LineBlock()


def block_after(block: LineBlock, line: str, max_line: int) -> LineBlock:
    """Return the block that the line after `line` is in. `line` includes its newline, if any."""
    if block.fence is not None and not block.fence.left_by(line):
        # A line above the limit is written in pieces, none of which closes a fence.
        closed = len(line.rstrip("\r\n")) <= max_line and block.fence.closed_by(line)
        if closed:
            return LineBlock()
        # The head of a table is repeated on the next page.
        in_head = block.fence.info == TABLE_INFO and block.table.count("\n") < HEAD_LINES
        return replace(block, table=block.table + line) if in_head else block
    if len(line.rstrip("\r\n")) <= max_line and (fence := fence_opening(line)) is not None:
        return LineBlock(fence)
    if not is_row(line):
        return _PLAIN
    if block.table:
        return replace(block, header="")
    # A table is known only by its second line.
    if block.header and is_separator(line) and len(block.header) + len(line) <= max_line:
        return LineBlock(table=block.header + line)
    return LineBlock(header=line if len(line) <= max_line else "")


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each span that must not be cut, in one block of text without fences."""
    for match in _SPAN.finditer(text):
        yield match.span()


def spans_are_certain(text: str) -> bool:
    """Whether no text that may follow in the same block adds, changes or removes a span."""
    known = [*spans(text)]
    if known and known[-1][1] == len(text):
        return False
    starts = [start for start, _ in known]
    openings = (opening.start() for opening in _SPAN_BEGUN.finditer(text, overlapped=True))
    return all((last := bisect_right(starts, at)) > 0 and at < known[last - 1][1] for at in openings)


def kind_is_certain(block: LineBlock, line: str, max_line: int) -> bool:
    """Whether an incomplete line is certainly not part of a fence or a table, whatever follows in it."""
    if block.fence is not None:
        return not block.fence.quoted and _CLOSING_BEGUN.fullmatch(line) is None
    if _SEPARATOR_BEGUN.fullmatch(line) or (block.table and not is_row(line)):
        return False
    return len(line.rstrip("\r")) > max_line or _OPENING_BEGUN.match(line) is None


# Prepares an unfinished text for display: open Markdown is closed, and text that would flicker is held back. Pure.
#
# Rules.
# - The result is a prefix of the text, followed at most by what closes a fence, inline code, or emphasis.
# - Held back until more text comes: the line that opens a fence, and a fence without code; an incomplete link or
#   address; a table's header without its separator; a marker that may still become another one. Links and headers of
#   more than HELD_CHARS are shown before they are complete.
# - The result never has an open fence.

# The longest link or table header that is held back: longer than real ones, shorter than any page.
HELD_CHARS = 1_000

_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_BLOCK_START = regex.compile(r"[ \t]*+(?:[-*+>|]|#{1,6}[ \t]|\d{1,9}[.)][ \t])")
_FENCE_BEGUN = regex.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?:`{1,2}|~{1,2})")
_CLOSER_BEGUN = regex.compile(r"[ \t>]*+(?:`+|~+)?[ \t]*+\r?")
_MARKER = regex.compile(r"[ \t>]*+[-=*+#_]++[ \t]*+")
_ROW = regex.compile(r"[ \t>]*+\|")
_SEPARATOR_IN_PROGRESS = regex.compile(r"[ \t>]*+\|?[ \t:|-]*+\r?")
_INLINE = regex.compile(
    r"""
      (?P<held> \\\Z | <[^<>\s]*+\Z | \bhttps?+://\S*+\Z
              | !?+\[ (?:[^\[\]\\]|\\.|\[[^\[\]]*+\])*+                               # a link or an image, cut off
                (?: \[?+[^\[\]]*+\Z                                                   # in its text,
                  | \]\Z                                                              # behind it,
                  | \]\( [^()\s]*+ (?:\([^()\s]*+\)?+[^()\s]*+){0,9}+ (?:\s++"[^"]*+"?+)?+ \Z   # in its address,
                  | \]\[ [^\]]*+\Z ) )                                                # or in its reference
    | (?P<skip> \\. | (?<!`)(?P<ticks>`++)(?!`).+?(?<!`)(?P=ticks)(?!`) | <[^<>\s]++> | \bhttps?+://[^\s*~<>]*+
              | !?+\[ (?:[^\[\]\\]|\\.|\[[^\[\]]*+\])*+ \]\( (?:[^()\\\s]|\\.|\([^()\s]*+\))*+ )
    | (?P<code> `++ )
    | (?P<run> \*++ | _++ | ~++ )
    """,
    regex.VERBOSE | regex.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ClosedMarkdown:
    """Show the first `kept` characters of the text, then `added`."""

    kept: int
    added: str = ""


@dataclass(frozen=True, slots=True)
class _Run:
    """An open emphasis: the position of its marker, and what would close it."""

    start: int
    end: int
    marker: str


@dataclass(frozen=True, slots=True)
class _OpenTail:
    """The end of a text: its last line and the block that this line belongs to. All fields are positions."""

    line: int = 0
    """The start of the last line; the end of the text, if it ends with a newline."""
    block: int = 0
    """The start of the last block."""
    table: int | None = None
    """The start of the lines at the end that may be a table."""
    fence: CodeFence | None = None
    fence_start: int = 0
    code_start: int = 0


def close_markdown(text: str) -> ClosedMarkdown:
    """Return what to show of a text that is still growing."""
    tail = _tail(text)
    if tail.fence is not None:
        return _close_fence(text, tail, tail.fence)
    closed = _close_inline(text, tail.block, _held_line(text, tail))
    line = text.rfind("\n", 0, closed.kept) + 1
    if fence_opening(text[line : closed.kept] + closed.added) is not None:
        return close_markdown(text[:line])  # without its end, the line reads as a fence
    if closed.kept <= tail.block and closed.kept < len(text):
        return close_markdown(text[: closed.kept])  # the text held back had ended a fence
    return closed


CUT_ROOM: Final = 16  # For what closes open markup: a fence in a list or a quote is closed by about ten characters


def cut_markdown(text: str, max_chars: int) -> str:
    """Return the text, cut off to at most `max_chars`, at least 20, with "…" and what closes its open markup.

    It can be applied while the text grows: the result for a longer text begins with the result for a shorter one.
    Therefore a text is already cut if it is less than CUT_ROOM characters below `max_chars`.
    """
    kept = max_chars - CUT_ROOM - 2
    if len(text) <= kept:
        return text
    body = text[:kept]
    last_line = body.rpartition("\n")[2]
    # Behind the marker of a fence, "…" would be a part of that line.
    shown = f"{body}\n…" if "```" in last_line or "~~~" in last_line else f"{body}…"
    closed = close_markdown(f"{shown}\n")
    # Where a part is held back, such as a broken link, that part stays here, and only emphasis before it is closed.
    is_whole = closed.kept >= len(shown)
    if not closed.added or not (is_whole or {*closed.added} <= {*"*_~"}):
        return shown
    cut = f"{shown}\n"[: max(closed.kept, len(shown))] + closed.added
    return cut if len(cut) <= max_chars else shown


def _tail(text: str) -> _OpenTail:
    """Read the complete lines of `text`; an incomplete last one cannot open a fence."""
    line = block = fence_start = code_start = 0
    table: int | None = None
    fence: CodeFence | None = None
    for match in _LINE.finditer(text):
        start, end, content = match.start(), match.end(), match[0]
        whole = content.endswith("\n")
        line = end if whole else start
        # A fence in a quotation ends with it, also without a closing line.
        if fence is not None and not (fence.left_by(content) and content.strip(" \t")):
            if fence.closed_by(content):
                fence, line, block, table = None, end, end, None
            continue
        if fence is not None:
            block = start
        # An incomplete line may still become something else than a fence.
        fence = fence_opening(content) if whole else None
        if fence is not None:
            fence_start, code_start = start, end
        elif content.isspace():
            block, table = end, None
        else:
            is_row = _ROW.match(content) is not None
            table = (start if table is None else table) if is_row else None
            block = start if _BLOCK_START.match(content) else block
    return _OpenTail(line, block, table, fence, fence_start, code_start)


def _close_fence(text: str, tail: _OpenTail, fence: CodeFence) -> ClosedMarkdown:
    kept = tail.line if _CLOSER_BEGUN.fullmatch(text[tail.line :][: HELD_CHARS + 1]) else len(text)
    if not text[tail.code_start : kept].strip(" \t\r\n>"):
        return ClosedMarkdown(tail.fence_start)
    newline = "" if text.endswith("\n", 0, kept) else "\n"
    return ClosedMarkdown(kept, newline + fence.closer)


def _held_line(text: str, tail: _OpenTail) -> int:
    """Return where to stop because of what the last lines may still become."""
    last = text[tail.line :]
    if fence_opening(last) is not None or _FENCE_BEGUN.fullmatch(last) or _MARKER.fullmatch(last):
        return tail.line
    if tail.table is not None and len(text) - tail.table <= HELD_CHARS:
        _, _, following = text[tail.table :].partition("\n")
        if "\n" not in following and _SEPARATOR_IN_PROGRESS.fullmatch(following):
            return tail.table
    return len(text)


def _close_inline(text: str, block: int, kept: int) -> ClosedMarkdown:
    runs: list[_Run] = []
    for match in _INLINE.finditer(text[:kept], min(block, kept)):
        start, end = match.span()
        if match["held"] is not None and kept - start <= HELD_CHARS:
            return _close(text, start, runs)
        if match["code"] is not None:
            return _close_code(text, start, end, kept, runs)
        if match["run"] is not None and not _apply_marker(text, start, end, kept, runs):
            return _close(text, start, runs)
    return _close(text, kept, runs)


def _apply_marker(text: str, start: int, end: int, kept: int, runs: list[_Run]) -> bool:
    """Open or close emphasis with the marker at start:end. Return False if that depends on the text that follows."""
    marker = text[start:end]
    before = text[start - 1] if start else " "
    behind = text[end] if end < kept else " "
    # Only two tildes strike through; a single one may get its second with the next piece.
    if marker[0] == "~" and len(marker) != 2:
        return end < kept
    left = len(marker)
    # A marker behind a blank closes nothing, and an underscore within a word is a part of the word (CommonMark 6.2).
    if not before.isspace() and not (marker[0] == "_" and behind.isalnum()):
        while left and (open_ := [number for number, run in enumerate(runs) if run.marker[0] == marker[0]]):
            # What was opened inside of the emphasis that ends here stays text.
            del runs[open_[-1] + 1 :]
            run = runs.pop()
            used = min(left, len(run.marker))
            left -= used
            if used < len(run.marker):
                runs.append(replace(run, marker=run.marker[used:]))
    # A single asterisk between letters or digits is a multiplication more often than emphasis.
    opens = not behind.isspace() and not (before.isalnum() and (marker[0] == "_" or left == 1)) and left <= 3
    if left and opens:
        runs.append(_Run(start, end, marker[:left]))
    return not left or end < kept


def _close_code(text: str, start: int, end: int, kept: int, runs: list[_Run]) -> ClosedMarkdown:
    """Close inline code opened at start:end. Trailing backticks are held back: they may still become its marker."""
    marker = text[start:end]
    shown = len(text[:kept].rstrip("`").rstrip())
    if shown <= end:
        return _close(text, start, runs)
    return ClosedMarkdown(shown, marker + _markers(runs))


def _close(text: str, kept: int, runs: list[_Run]) -> ClosedMarkdown:
    """Close the emphasis that is open at `kept`; emphasis without text is held back."""
    while runs:
        kept = len(text[:kept].rstrip())
        if runs[-1].end < kept:
            return ClosedMarkdown(kept, _markers(runs))
        kept = min(kept, runs.pop().start)
    return ClosedMarkdown(kept)


def _markers(runs: list[_Run]) -> str:
    return "".join(run.marker for run in reversed(runs))
