"""What a search looks for, in the form in which both engines are asked.

Above: `store.search.search` makes it; `store.search.index`, fts5, tsvector. Below: `store.columns`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import BindParameter, Boolean, ColumnElement, Integer, bindparam, or_

from store.columns import StorableText, UtcDateTime
from store.tables import message

EVER: Final = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))
"""A day away from what a datetime can hold, so that no time zone leads beyond it."""

PARAMETERS: Final[tuple[BindParameter[Any], ...]] = (
    bindparam("audiences", type_=StorableText, expanding=True),
    bindparam("exclude", type_=StorableText),
    bindparam("visible", type_=Integer),
    bindparam("since", type_=UtcDateTime),
    bindparam("until", type_=UtcDateTime),
    bindparam("any_author", type_=Boolean),
    bindparam("author", type_=StorableText),
    bindparam("anybody", type_=Boolean),
    bindparam("people", type_=StorableText, expanding=True),
)
"""By which both engines say which messages a search may find; `Sought.bound` gives the values."""


@dataclass(frozen=True, slots=True)
class Sought:
    """`words`: for each keyword its forms, any of which counts. `number` is the person's; `people` None: anybody's."""

    words: tuple[tuple[str, ...], ...]
    number: int
    audiences: tuple[str, ...]
    exclude: str
    since: datetime = EVER[0]
    until: datetime = EVER[1]
    author: str = ""
    people: tuple[str, ...] | None = None
    visible_from: int = 0
    """Of the excluded conversation what stands before this message is looked for, too."""

    @property
    def is_elsewhere(self) -> ColumnElement[bool]:
        """Of a message: it is none that the model sees already."""
        return or_(message.c.conversation != self.exclude, message.c.id < self.visible_from)

    @property
    def bound(self) -> dict[str, Any]:
        """The values of PARAMETERS."""
        return {
            "audiences": self.audiences,
            "exclude": self.exclude,
            "visible": self.visible_from,
            "since": max(self.since, EVER[0]),
            "until": min(self.until, EVER[1]),
            "any_author": not self.author,
            "author": self.author,
            "anybody": self.people is None,
            "people": self.people or (),
        }
