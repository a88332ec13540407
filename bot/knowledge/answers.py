"""What `/knowledge` shows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document in a list. `may_go`: whether the person who looks at the list may remove it."""

    id: int
    text: str
    may_go: bool = False


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """The answer of `/knowledge`: Markdown, and a page of the list (from 1). `shares`: None if they may not set it."""

    text: str
    documents: tuple[ShownDocument, ...] = ()
    page: int = 1
    pages: int = 1
    refused: bool = False
    shares: bool | None = None
