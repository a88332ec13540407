"""Which parts of a finished reply are also handed over as files: long code, long tables, and a very long answer. Pure.

Rules. What is shown stays as it is: a file is there to be kept and opened, not instead of an answer. The content of a
code block is handed over as it stands between its fences, to the byte. A name is one plain word of ASCII.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agent.messages import MAX_FILES, SharedFile
from bot.reply.markdown import CodeFence, LineBlock, block_after
from bot.reply_surface import OutFile

LONG_LINES: Final = 60
"""Of code, or rows of a table: more than a screen shows, so that nobody wants to select it by hand."""
MAX_PAGES: Final = 6
"""An answer of more pages is read more easily as a document."""
MAX_BYTES: Final = 8_000_000
"""Of one file: below Discord's ten mebibytes, and far above what a model writes."""
MAX_NAME_CHARS: Final = 60
_LONGEST_LINE: Final = 1_000_000
"""No line is too long to open or close a fence here: nothing is repeated on another page."""

_ENDINGS: Final = {
    "": "txt",
    "bash": "sh",
    "c#": "cs",
    "c++": "cpp",
    "csharp": "cs",
    "dockerfile": "dockerfile",
    "golang": "go",
    "haskell": "hs",
    "javascript": "js",
    "kotlin": "kt",
    "latex": "tex",
    "makefile": "mk",
    "markdown": "md",
    "objective-c": "m",
    "perl": "pl",
    "plaintext": "txt",
    "powershell": "ps1",
    "py3": "py",
    "python": "py",
    "python3": "py",
    "ruby": "rb",
    "rust": "rs",
    "shell": "sh",
    "text": "txt",
    "typescript": "ts",
    "yml": "yaml",
    "zsh": "sh",
}
"""How files in a language end, where that is not its name."""
_NAMED: Final = re.compile(r"(?:^|[\s:={\"'])([\w-][\w./-]*\.[A-Za-z0-9]{1,10})(?=$|[\s}\"'])", re.ASCII)
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_CELLS: Final = re.compile(r"(?<!\\)\|")
_FORMULA: Final = re.compile(
    r"(?:^|(?<=[;\t]))(?=[\s\"]{0,9}(?:[=@\uff1d\uff20]|[+\-\uff0b\uff0d](?![\d.,]{1,99}%?\s?(?:$|[;\t]))))"
)
"""How a cell begins that a spreadsheet would run; in half of the world a semicolon begins one, and in Japan wide signs
count, too."""
_FOLDERS: Final = re.compile(r"[/\\]")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_AFTER_LANGUAGE: Final = re.compile(r"[\s:{]")


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the reply that may be a file. `named`: by its author, "" if by nobody."""

    stem: str
    ending: str
    content: str
    lines: int
    named: str = ""


def handed_over(text: str, *, pages: int, page_chars: int, shared: Sequence[SharedFile] = ()) -> tuple[OutFile, ...]:
    """The files that come with this answer, which was shown on so many pages of at most `page_chars` characters.

    `shared`: those that tools made or brought.
    """
    parts = [part for part in _parts(text) if part.lines > LONG_LINES or len(part.content) > page_chars]
    if pages > MAX_PAGES:
        parts = [_Part("answer", "md", text, 0, named="answer.md"), *parts]
    made = ((part.named or f"{part.stem}.{part.ending}", part.content.encode(errors="replace")) for part in parts)
    return named([*((file.name, file.data) for file in shared), *made])


def named(files: Sequence[tuple[str, bytes]]) -> tuple[OutFile, ...]:
    """Files of these names and contents: as many and as large as every platform takes, each with a name of its own."""
    taken: set[str] = set()
    made: list[OutFile] = []
    for name, data in files:
        if not data or len(data) > MAX_BYTES or len(made) == MAX_FILES:
            continue
        stem, _, ending = plain_name(name).rpartition(".")
        free = next(n for n in range(1, MAX_FILES + 2) if _numbered(stem, n, ending) not in taken)
        taken.add(_numbered(stem, free, ending))
        made.append(OutFile(_numbered(stem, free, ending), data))
    return tuple(made)


def plain_name(name: str) -> str:
    """The last part of a path as one word of plain characters with an ending."""
    last = _FOLDERS.split(name.strip())[-1]
    word = _NOT_PLAIN.sub("-", last).strip("-.")
    stem, dot, ending = word.rpartition(".")
    if not dot or not ending.isalnum():
        stem, ending = word, "txt"
    return f"{stem[: MAX_NAME_CHARS - len(ending[:10]) - 1] or 'file'}.{ending[:10]}"


def _numbered(stem: str, number: int, ending: str) -> str:
    return f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"


def _parts(text: str) -> Iterator[_Part]:
    block, inside = LineBlock(), list[str]()
    for line in [*_LINE.findall(text), ""]:
        then = block_after(block, line, _LONGEST_LINE) if line else LineBlock()
        if _same(block, then):
            inside.append(line)
            continue
        if block.fence is not None:
            yield _code(block.fence, inside)
        elif block.table:
            yield _table(block.table, inside)
        block, inside = then, []


def _same(block: LineBlock, then: LineBlock) -> bool:
    """Whether the line between belongs to what it stands in."""
    if block.fence is not None:
        return then.fence is block.fence
    return bool(block.table) and then.table == block.table


def _code(fence: CodeFence, lines: Sequence[str]) -> _Part:
    info = fence.info.strip()
    language = _AFTER_LANGUAGE.split(info.lower(), maxsplit=1)[0]
    said = _NAMED.search(info)
    ending = _ENDINGS.get(language) or (language if language.isalnum() and len(language) <= 10 else "txt")
    own = "".join(_without_margin(fence, line) for line in lines)
    return _Part("code", ending, own, len(lines), said[1] if said else "")


def _without_margin(fence: CodeFence, line: str) -> str:
    """A line of code without what stands before it because the fence is part of a list or a quote."""
    before, code = line[: len(fence.prefix)], line[len(fence.prefix) :]
    return before.lstrip(" \t>" if fence.quoted else " \t") + code


def _table(head: str, rows: Sequence[str]) -> _Part:
    """As CSV, without the line below the head."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(map(_cells, [head.splitlines()[0], *rows]))
    return _Part("table", "csv", written.getvalue(), len(rows))


def _cells(line: str) -> list[str]:
    row = line.strip(" \t\r\n>")
    row = row.removeprefix("|")
    row = row[:-1] if row.endswith("|") and not row.endswith("\\|") else row
    cells = (cell.strip().replace("\\|", "|") for cell in _CELLS.split(row))
    return [_FORMULA.sub("'", cell) for cell in cells]
