"""A process of its own that reads one PDF: bytes in, a line of JSON for each page out.

A PDF is a program that strangers wrote: it may nest endlessly, or unpack to gigabytes. Here that costs a process which
has nothing to lose: no secrets in its environment, no way to write a file, bounded memory and time.

The first line is the number of pages, or a fault; each further one a page's text.
"""

import io
import json
import os
import sys
from contextlib import suppress

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

LOCKED = "locked"
BROKEN = "broken"
_FAULTS = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""How pypdf fails on what is damaged or hostile."""


def limit(memory_bytes: int, cpu_s: int, niceness: int) -> None:
    """Bound what this process may take, where the system can."""
    with suppress(AttributeError, OSError):
        os.nice(niceness)
    try:
        import resource  # noqa: PLC0415 -- not on Windows
    except ImportError:
        return
    bounds = ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_FSIZE, 0))
    for what, most in bounds:
        with suppress(OSError, ValueError):  # the system's own limit is lower
            resource.setrlimit(what, (most, most))


def tell(said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def main(memory_bytes: int, cpu_s: int, max_pages: int, max_chars: int, niceness: int) -> None:
    data = sys.stdin.buffer.read()
    limit(memory_bytes, cpu_s, niceness)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            tell(LOCKED)
            return
        pages = len(reader.pages)
    except DependencyError:  # locked in a way that takes another library to open
        tell(LOCKED)
        return
    except _FAULTS:
        tell(BROKEN)
        return
    tell(pages)
    chars = 0
    for number in range(min(pages, max_pages)):
        try:
            text = reader.pages[number].extract_text()
        except _FAULTS:
            text = ""
        tell(text[: max_chars - chars])
        chars += len(text)
        if chars >= max_chars:
            return


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
