"""Regular expressions that are compiled when they are first used.

For what reads sentences in many languages: to compile all of that takes a tenth of a second, which each start of each
command would wait for, and most of them read nothing. Elsewhere `re.compile` is right. What answers questions
calls `compile_all` before somebody waits.

Theory of operation. A `LazyPattern` has the methods of its expression among its own attributes from the first use on,
so that what is looked up then is what `re` made.
"""

import re
from typing import Final, cast

_METHODS: Final = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")

WAITING: "list[LazyPattern]" = []  # Those that nobody has used, and some that somebody has


class LazyPattern:
    """Stands for a `re.Pattern`, which it makes when it is first asked for a method of it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.asked = flags
        self._made: re.Pattern[str] | None = None
        WAITING.append(self)

    def __getattr__(self, name: str) -> object:
        """What is not here is asked of the expression; the methods are here from then on."""
        if name.startswith("__"):  # what copies and inspects objects asks for these
            raise AttributeError(name)
        return getattr(self.compiled(), name)

    def compiled(self) -> re.Pattern[str]:
        if self._made is None:
            self._made = made = re.compile(self.pattern, self.asked)
            self.__dict__.update((name, getattr(made, name)) for name in _METHODS)
        return self._made


def compile_later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but what is wrong with the expression is found when it is first used."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))


def compile_all() -> None:
    """Compile what is still to be compiled: for who will answer, before the first question."""
    while WAITING:
        WAITING.pop().compiled()
