"""Messages to learn from are marked, and given a job, in the transaction that ends a turn, so that none is lost.

Rule: a partition (person and audience) has one job. A newer message postpones it, so that waiting messages are
learned from together; but a partition with ENOUGH messages waits no longer.
"""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.admission_terms import Authority
from agent.memory.audience import label
from agent.memory.profile import LEARNING, Partition
from agent.stored_messages import Author
from agent.turn_records import Claim
from store import job_queue
from store.databases.database import UtcDateTime
from store.message_tables import message

ENOUGH: Final = 20  # The number of messages that are worth a model call, even while the person is still writing
_THEIRS: Final = sa.and_(message.c.person == sa.bindparam("learner"), message.c.audience == sa.bindparam("there"))
_TO_LEARN: Final = sa.update(message).where(_THEIRS, ~message.c.passed_over).values(to_learn=True)
_TO_LEARN_OF_TURN: Final = _TO_LEARN.where(message.c.turn == sa.bindparam("of_turn"), message.c.author == Author.PERSON)
_LEARNS: Final = sa.select(sa.func.count()).select_from(message).where(_THEIRS, message.c.to_learn)
_WHEN: Final = sa.case(
    (_LEARNS.scalar_subquery() >= ENOUGH, sa.bindparam("at_once", type_=UtcDateTime)),
    else_=sa.bindparam("later", type_=UtcDateTime),
)
_SCHEDULING: Final = job_queue.scheduling_at(_WHEN)


def queue_for_learning(connection: sa.Connection, claim: Claim, at: datetime, now: datetime) -> None:
    """Schedule learning from the messages of the claimed turn, not before `at`, unless enough of them wait."""
    partition = Partition(claim.incoming.person.id, label(claim.incoming.place.audience))
    connection.execute(_TO_LEARN_OF_TURN, {**_of(partition), "of_turn": claim.turn})
    _schedule(connection, partition, at, now, claim.incoming.authority)


def exempt_from_learning(connection: sa.Connection, claim: Claim) -> None:
    """Exclude the messages of the claimed turn from learning."""
    asked = sa.and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    connection.execute(sa.update(message).where(asked).values(passed_over=True))


def schedule_learning(
    connection: sa.Connection,
    partition: Partition,
    condition: sa.ColumnElement[bool],
    at: datetime,
    now: datetime,
    authority: Authority = Authority.EMPLOYEE,
) -> None:
    """Schedule learning from messages of a partition that are not excluded. `authority`: of the person."""
    connection.execute(_TO_LEARN.where(condition), _of(partition))
    _schedule(connection, partition, at, now, authority)


def _of(partition: Partition) -> dict[str, object]:
    """The parameters of `_THEIRS`."""
    return {"learner": partition.person, "there": partition.audience}


def _schedule(
    connection: sa.Connection, partition: Partition, at: datetime, now: datetime, authority: Authority
) -> None:
    values = {"payload": str(int(authority)), "person": partition.person, "conversation": ""}
    times = {"at_once": now, "later": at}
    job_queue.schedule(connection, LEARNING, partition.key, _of(partition) | values | times, _SCHEDULING)
