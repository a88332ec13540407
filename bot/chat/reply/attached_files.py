"""The files that come with a finished reply: long code, long tables, and a very long answer. Pure.

Rules. The reply itself does not change: a file does not replace a part of it. What a platform cannot show as it is, a
wide table or code with a sign that would end it, comes as a file, too. A code block's file has exactly the bytes
between its fences. A file name is one plain word of ASCII.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import MAX_FILES, SharedFile
from bot.chat.reply.markdown import CodeFence, LineBlock, block_after, cells
from bot.chat.reply.split import LINE
from bot.chat.reply.surface import Limits, OutFile
from bot.chat.reply.tables import is_wide

# Of code, or rows of a table: more than fits a screen, which is hard to select by hand.
LONG_LINES: Final = 60
MAX_PAGES: Final = 6  # A longer answer is easier to read as a document
MAX_BYTES: Final = 8_000_000  # Of one file: below Discord's limit of ten mebibytes, far above what a model writes
MAX_NAME_CHARS: Final = 60
# Here a line of any length may open or close a fence, as nothing is repeated on another page.
_MAX_LINE: Final = 1_000_000

# File name extensions of languages, where they differ from the language's name.
_EXTENSIONS: Final = {
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
_FILE_NAME: Final = re.compile(r"(?:^|[\s:={\"'])([\w-][\w./-]*\.[A-Za-z0-9]{1,10})(?=$|[\s}\"'])", re.ASCII)
# The start of a cell that a spreadsheet would run as a formula. In many locales a semicolon separates cells, so that
# quotes behind a comma are none, and a line in them is a row; in Japan full-width signs count, too.
_FORMULA: Final = re.compile(
    r"(?:^|(?<=[;\t\r\n]))(?=[\s\"]{0,9}(?:[=@\uff1d\uff20]|[+\-\uff0b\uff0d](?![\d.,]{1,99}%?\s?(?:$|[;\t]))))"
)
# A workbook with formulas as text (SYLK), which Excel knows by its beginning, whatever the file is called.
_SYMBOLIC_LINK: Final = re.compile(r"ID;P.*?^\"?C;[^\n]*;E", re.DOTALL | re.MULTILINE)
_FOLDERS: Final = re.compile(r"[/\\]")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_AFTER_LANGUAGE: Final = re.compile(r"[\s:{]")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the reply that may become a file. `file_name` is the model's own name for it, "" if there is none."""

    stem: str
    extension: str
    content: str
    lines: int
    file_name: str = ""
    is_inexact: bool = False
    """Whether the platform does not show it as it is."""

    def is_long(self, page_chars: int) -> bool:
        return self.lines > LONG_LINES or len(self.content) > page_chars


def _as_it_is(file: OutFile) -> OutFile:
    return file


def attached_files(
    text: str,
    *,
    pages: int,
    limits: Limits,
    shared: Sequence[SharedFile] = (),
    named: Callable[[OutFile], OutFile] = _as_it_is,
) -> tuple[OutFile, ...]:
    """Return the files that come with this answer, which takes `pages` pages. `shared`: files from tools. `named` may
    give the others another ending.
    """
    taken = _parts(text, limits) if limits.attaches_text else ()
    parts = [part for part in taken if part.is_long(limits.page_chars) or part.is_inexact]
    if pages > MAX_PAGES and limits.attaches_text:
        parts = [_Part("answer", "md", text, 0, file_name="answer.md"), *parts]
    own = (
        named(OutFile(part.file_name or f"{part.stem}.{part.extension}", part.content.encode(errors="replace")))
        for part in parts
    )
    return name_files([*(OutFile(file.name, file.data, file.alt, file.chart) for file in shared), *own])


def name_files(files: Sequence[OutFile]) -> tuple[OutFile, ...]:
    """Return these files, of any names: as many and as large as every platform accepts, with unique plain names."""
    taken: set[str] = set()
    named: list[OutFile] = []
    for file in files:
        if not file.content or len(file.content) > MAX_BYTES or len(named) == MAX_FILES:
            continue
        stem, _, extension = plain_name(file.name).rpartition(".")
        candidates = (_numbered(stem, number, extension) for number in range(1, MAX_FILES + 2))
        free = next(candidate for candidate in candidates if candidate not in taken)
        taken.add(free)
        named.append(replace(file, name=free))
    return tuple(named)


def plain_name(name: str) -> str:
    """Return the last part of a path as one word of plain characters with an extension."""
    last = _FOLDERS.split(name.strip())[-1]
    word = _NOT_PLAIN.sub("-", last).strip("-.")
    stem, dot, extension = word.rpartition(".")
    if not dot or not extension.isalnum():
        stem, extension = word, "txt"
    return f"{stem[: MAX_NAME_CHARS - len(extension[:10]) - 1] or 'file'}.{extension[:10]}"


def _numbered(stem: str, number: int, extension: str) -> str:
    return f"{stem}.{extension}" if number == 1 else f"{stem}-{number}.{extension}"


def _parts(text: str, limits: Limits) -> Iterator[_Part]:
    block, lines = LineBlock(), list[str]()
    for line in [*LINE.findall(text), ""]:
        following = block_after(block, line, _MAX_LINE) if line else LineBlock()
        if _is_same_block(block, following):
            lines.append(line)
            continue
        if block.fence is not None:
            part = _code_part(block.fence, lines)
            inexact = limits.inexact_code is not None and limits.inexact_code.search(part.content) is not None
            yield replace(part, is_inexact=inexact)
        elif block.table:
            wide = limits.table_width is not None and is_wide(block.table, lines, limits.table_width)
            yield replace(_table_part(block.table, lines), is_inexact=wide)
        block, lines = following, []


def _is_same_block(block: LineBlock, following: LineBlock) -> bool:
    if block.fence is not None:
        return following.fence is block.fence
    return bool(block.table) and following.table == block.table


def _code_part(fence: CodeFence, lines: Sequence[str]) -> _Part:
    info = fence.info.strip()
    language = _AFTER_LANGUAGE.split(info.lower(), maxsplit=1)[0]
    file_name = _FILE_NAME.search(info)
    extension = _EXTENSIONS.get(language) or (language if language.isalnum() and len(language) <= 10 else "txt")
    code = "".join(_without_margin(fence, line) for line in lines)
    return _Part("code", extension, code, len(lines), file_name[1] if file_name else "")


def _without_margin(fence: CodeFence, line: str) -> str:
    """Return a line of code without the margin that it has because the fence is part of a list or a quote."""
    before, code = line[: len(fence.prefix)], line[len(fence.prefix) :]
    return before.lstrip(" \t>" if fence.quoted else " \t") + code


def _table_part(head: str, rows: Sequence[str]) -> _Part:
    """Return a table as CSV, without its separator line."""
    output = io.StringIO()
    csv.writer(output, lineterminator="\n").writerows(map(_cells, [head.splitlines()[0], *rows]))
    return _Part("table", "csv", mark_symbolic_link(output.getvalue()), len(rows))


def _cells(line: str) -> list[str]:
    return [mark_formula(cell) for cell in cells(line)]


def mark_formula(cell: str) -> str:
    """Return a cell of a table with an apostrophe before what a spreadsheet would run as a formula."""
    return _FORMULA.sub("'", cell)


def mark_symbolic_link(table: str) -> str:
    """Return a table with an apostrophe at its beginning if Excel would read it as a workbook."""
    return f"'{table}" if _SYMBOLIC_LINK.match(table) else table
