"""In which group places a person wrote: what may be theirs to read again where only they read.

Above: `store.conversations`. Below: tables, `agent.memory.audience`.
"""

from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, func, select, union_all

from agent.memory.audience import AudienceKind, GroupAudience, audience_of
from store.tables import conversation, fact, message, participant, profile

_GROUPS: Final = f"{AudienceKind.GROUP}:%"


def groups(connection: Connection, person_id: str, limit: int) -> list[str]:
    """See the port Conversations."""
    found = connection.execute(_latest(), {"person": person_id, "most": max(limit, 0)}).scalars()
    audiences = map(audience_of, found)
    return [audience.place for audience in audiences if isinstance(audience, GroupAudience)]


@cache
def _latest() -> Select[Any]:
    """The labels of the person's threads, facts and profiles, by when something was last said there. Made once."""
    last: Select[tuple[datetime]] = (
        select(message.c.time)
        .where(message.c.conversation == participant.c.conversation)
        .order_by(message.c.turn.desc(), message.c.id.desc())
        .limit(1)
    )
    threads = (
        select(conversation.c.audience, last.scalar_subquery().label("last"))
        .join_from(participant, conversation, conversation.c.id == participant.c.conversation)
        .where(participant.c.person == bindparam("person"), conversation.c.audience.like(_GROUPS))
    )
    kept = [
        select(table.c.audience, time).where(table.c.person == bindparam("person"), table.c.audience.like(_GROUPS))
        for table, time in ((fact, fact.c.time), (profile, profile.c.updated))
    ]
    every = union_all(threads, *kept).subquery()
    return (
        select(every.c.audience)
        .group_by(every.c.audience)
        .order_by(func.max(every.c.last).desc(), every.c.audience)
        .limit(bindparam("most"))
    )
