"""Regular expressions that are compiled when they are first used.

They are for modules that read sentences in many languages: to compile all of those takes a tenth of a second at each
start of each command, and most commands read no sentences. Elsewhere use `re.compile`. A process that answers questions
calls `compile_all` before the first one.

Theory of operation. At the first use, a `LazyPattern` copies the methods of its compiled expression to its own
attributes, so that later look-ups find the methods of `re` directly.
"""

import re
from collections.abc import Callable
from typing import Final, cast

_METHODS: Final = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")

WAITING: "list[LazyPattern]" = []  # All that are not compiled yet, and some that are
PREPARING: list[Callable[[], object]] = []  # Compile what else the first question would wait for, once


class LazyPattern:
    """A stand-in for a `re.Pattern` that compiles it at the first access to one of its methods."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.requested_flags = flags
        self._compiled: re.Pattern[str] | None = None
        WAITING.append(self)

    def __getattr__(self, name: str) -> object:
        """Called for attributes that are not set: compiles the expression, which sets its methods."""
        if name.startswith("__"):  # code that copies or inspects objects looks these up
            raise AttributeError(name)
        return getattr(self.compiled(), name)

    def compiled(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = compiled = re.compile(self.pattern, self.requested_flags)
            self.__dict__.update((name, getattr(compiled, name)) for name in _METHODS)
        return self._compiled


def compile_later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but raises the errors of the expression at its first use."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))


def compile_all() -> None:
    """Compile all waiting expressions. A process that answers questions calls this before the first one."""
    while WAITING:
        WAITING.pop().compiled()
    while PREPARING:
        PREPARING.pop()()
