"""Makes an unfinished text fit to be shown: what is open is closed, what would flicker is held back. Pure.

Above: `bot.reply.live`, for intermediate frames only; the final text is shown raw. Below: `bot.reply.markdown`.

Rules.
- The result is a beginning of the text, and behind it at most what closes a fence, inline code, or emphasis.
- Held back until more has come: the line that opens a fence and a fence without code; half a link or address; a
  table's header without its separator; a marker that may still become another one. Links and headers that are longer
  than HELD_CHARS are not waited for.
- Whatever the text is, the result has no open fence.
"""

from dataclasses import dataclass, replace

import regex

from bot.reply.markdown import Fence, opening

HELD_CHARS = 1_000
"""The longest link or table header that is waited for: longer than either ever is, shorter than any page."""

_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_BLOCK_START = regex.compile(r"[ \t]*+(?:[-*+>|]|#{1,6}[ \t]|\d{1,9}[.)][ \t])")
_FENCE_BEGUN = regex.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?:`{1,2}|~{1,2})")
_CLOSER_BEGUN = regex.compile(r"[ \t>]*+(?:`+|~+)?[ \t]*+\r?")
_MARKER = regex.compile(r"[ \t>]*+[-=*+#_]++[ \t]*+")
_ROW = regex.compile(r"[ \t>]*+\|")
_SEPARATOR_BEGUN = regex.compile(r"[ \t>]*+\|?[ \t:|-]*+\r?")
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
class Healed:
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
class _Tail:
    """The end of a text: its last line and the block that this line belongs to."""

    line: int = 0
    """Where the last line begins; the text's end, if it ended with a newline."""
    block: int = 0
    """Where the last block begins."""
    table: int | None = None
    """Where the lines began that may be a table and reach to the end."""
    fence: Fence | None = None
    fence_start: int = 0
    code_start: int = 0


def heal(text: str) -> Healed:
    """What to show of a text that is still growing."""
    tail = _tail(text)
    if tail.fence is not None:
        return _heal_fence(text, tail, tail.fence)
    healing = _heal_inline(text, tail.block, _held_line(text, tail))
    line = text.rfind("\n", 0, healing.kept) + 1
    if opening(text[line : healing.kept] + healing.added) is not None:
        return heal(text[:line])  # without its end, the line reads as a fence
    if healing.kept <= tail.block and healing.kept < len(text):
        return heal(text[: healing.kept])  # what was held back had ended a fence
    return healing


def _tail(text: str) -> _Tail:
    """Reads the whole lines of `text`; its last one, if unfinished, only as far as it is certain."""
    line = block = fence_start = code_start = 0
    table: int | None = None
    fence: Fence | None = None
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
        fence = opening(content) if whole else None
        if fence is not None:
            fence_start, code_start = start, end
        elif content.isspace():
            block, table = end, None
        else:
            is_row = _ROW.match(content) is not None
            table = (start if table is None else table) if is_row else None
            block = start if _BLOCK_START.match(content) else block
    return _Tail(line, block, table, fence, fence_start, code_start)


def _heal_fence(text: str, tail: _Tail, fence: Fence) -> Healed:
    kept = tail.line if _CLOSER_BEGUN.fullmatch(text[tail.line :][: HELD_CHARS + 1]) else len(text)
    if not text[tail.code_start : kept].strip(" \t\r\n>"):
        return Healed(tail.fence_start)
    newline = "" if text.endswith("\n", 0, kept) else "\n"
    return Healed(kept, newline + fence.closer)


def _held_line(text: str, tail: _Tail) -> int:
    """Where to stop because of what the last lines may still become."""
    last = text[tail.line :]
    if opening(last) is not None or _FENCE_BEGUN.fullmatch(last) or _MARKER.fullmatch(last):
        return tail.line
    if tail.table is not None and len(text) - tail.table <= HELD_CHARS:
        _, _, following = text[tail.table :].partition("\n")
        if "\n" not in following and _SEPARATOR_BEGUN.fullmatch(following):
            return tail.table
    return len(text)


def _heal_inline(text: str, block: int, kept: int) -> Healed:
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


def _close_code(text: str, start: int, end: int, kept: int, runs: list[_Run]) -> Healed:
    """Close inline code that began at start:end; a marker behind it that is too short may still grow."""
    marker = text[start:end]
    shown = len(text[:kept].rstrip("`").rstrip())
    if shown <= end:
        return _close(text, start, runs)
    return Healed(shown, marker + _markers(runs))


def _close(text: str, kept: int, runs: list[_Run]) -> Healed:
    """Close the emphasis that is open where the text is cut off; one that holds nothing yet is held back."""
    while runs:
        kept = len(text[:kept].rstrip())
        if runs[-1].end < kept:
            return Healed(kept, _markers(runs))
        kept = min(kept, runs.pop().start)
    return Healed(kept)


def _markers(runs: list[_Run]) -> str:
    return "".join(run.marker for run in reversed(runs))
