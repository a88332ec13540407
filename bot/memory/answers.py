"""What `/memory` shows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One remembered entry as its person sees it. Each text is one line of Markdown.

    `key` names the entry in commands and buttons. `number` never changes while the entry exists.
    """

    key: str
    number: int
    text: str
    source: str
    may_go_everywhere: bool = False
    everywhere: bool = False
    plain: str = ""
    """The entry's text without formatting, to be edited in a form."""
    may_undo: bool = False
    """Whether it replaced another one, which holds again if this one is undone."""
    may_settle: bool = False
    """Whether it is marked as possibly outdated by another entry, and its person can decide."""
    may_keep: bool = False
    """Whether it is offered for review (`agent.memory.review`)."""


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """The answer of `/memory`: Markdown, then one page of the list (counted from 1) if there is one, and a file to
    upload if there is one.
    """

    text: str
    entries: tuple[ShownEntry, ...] = ()
    page: int = 1
    pages: int = 1
    file: str | None = None
    undo: str = ""
    """The argument of "undo" that restores what was just deleted; "" if nothing was deleted."""
    opened: bool = False
    """Whether the answer is one whole entry; `page` is then the page of the list that holds it."""
    refused: bool = False
    """Whether nothing was done; `text` gives the reason."""
