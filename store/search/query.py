"""The query of a search, in the form that both engines take.

It holds the conditions which messages may be found, as SQL that each engine puts into its statements, and their values.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Boolean, ColumnElement, Integer, TextClause, and_, bindparam, or_, text

from agent.memory.audience import NOWHERE, WIDE
from agent.memory.documents import ON, SHARING
from agent.memory.forgetting_plans import PAUSED
from store.databases.database import StorableText, UtcDateTime
from store.message_tables import message

# A day within the range of datetime, so that no time zone leads beyond it.
EVER: Final = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))

# The parameters of the conditions which messages a search may find; `SearchQuery.bound` gives the values.
PARAMETERS: Final[tuple[BindParameter[Any], ...]] = (
    bindparam("audiences", type_=StorableText, expanding=True),
    bindparam("drawn", type_=StorableText, expanding=True),
    bindparam("exclude", type_=StorableText),
    bindparam("visible", type_=Integer),
    bindparam("since", type_=UtcDateTime),
    bindparam("until", type_=UtcDateTime),
    bindparam("any_author", type_=Boolean),
    bindparam("author", type_=StorableText),
    bindparam("anybody", type_=Boolean),
    bindparam("people", type_=StorableText, expanding=True),
)


# The condition that a message is shared with the asker at this moment, and that the asker did not write in its thread.
SHARED: Final = """
    message.place = :place
    AND EXISTS (SELECT 1 FROM preference AS channel
        WHERE channel.owner = 'channel:' || message.channel AND channel.name = :sharing AND channel.value = :on)
    AND NOT EXISTS (SELECT 1 FROM preference AS writer
        WHERE writer.owner = message.person AND writer.name = :sharing AND writer.value = :paused)
    AND NOT EXISTS (SELECT 1 FROM participant AS wrote
        WHERE wrote.conversation = message.conversation AND wrote.person = :asker)
"""
OF_SHARED: Final[tuple[BindParameter[Any], ...]] = (
    bindparam("place", type_=Integer),
    *(bindparam(name, type_=StorableText) for name in ("asker", "sharing", "on", "paused")),
)


def shared_with(place: int, asker: str) -> dict[str, object]:
    """The parameters of OF_SHARED."""
    return {"place": place, "asker": asker, "sharing": SHARING, "on": ON, "paused": PAUSED}


class Range(NamedTuple):
    """About how many messages could match, and the ids of the first and the last: these are estimates. But no message
    that the person can find is newer than `newest`, on the engine that needs it.
    """

    total: int
    first: int = 0
    last: int = 0
    newest: int = 0


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """`words`: for each keyword its forms, any of which matches. `number`: that of the reader, in whose threads it
    searches; `person`: their id. `people` None: of all people.

    `place`: search the messages shared there with the person, in place of their own threads.
    """

    words: tuple[tuple[str, ...], ...]
    number: int
    person: str
    audiences: tuple[str, ...]
    exclude: str
    since: datetime = EVER[0]
    until: datetime = EVER[1]
    author: str = ""
    people: tuple[str, ...] | None = None
    visible_from: int = 0
    """Messages of the excluded conversation before this id are searched as well."""
    place: int | None = None

    @property
    def is_elsewhere(self) -> ColumnElement[bool]:
        """The condition that the model does not see the message already."""
        return or_(message.c.conversation != self.exclude, message.c.id < self.visible_from)

    @property
    def is_usable(self) -> ColumnElement[bool]:
        """The condition that the message may flow into the reply (`agent.memory.audience.may_be_used`)."""
        here = and_(message.c.conversation == self.exclude, message.c.drawn_from != NOWHERE)
        flows = or_(message.c.drawn_from.in_((WIDE, *self.audiences)), here)
        return and_(message.c.audience.in_(self.audiences), flows)

    @property
    def is_shared(self) -> TextClause:
        """The condition SHARED, for a query with `place`."""
        return text(SHARED).bindparams(*OF_SHARED).bindparams(**shared_with(self.place or 0, self.person))

    @property
    def bound(self) -> dict[str, Any]:
        shared = {} if self.place is None else shared_with(self.place, self.person)
        return shared | {
            "audiences": self.audiences,
            "drawn": (WIDE, *self.audiences),
            "exclude": self.exclude,
            "visible": self.visible_from,
            "since": max(self.since, EVER[0]),
            "until": min(self.until, EVER[1]),
            "any_author": not self.author,
            "author": self.author,
            "anybody": self.people is None,
            "people": self.people or ("",),  # nobody; an empty list would be made into a query each time
        }
