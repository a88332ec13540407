"""What is to be learned from: marked, and given a job, in the transaction that ends a turn, so that nothing is lost.

Above: `store.turns.ledger`, `store.forgetting.reword`. Below: `store.jobs`, tables; `agent.memory.profile`.

Rule: a partition (person and audience) has one job. A newer message puts it off again, so that waiting ones are learned
from together; but a partition in which enough has gathered waits no longer.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, func, select, update

from agent.authority import Authority
from agent.memory.audience import label
from agent.memory.profile import LEARNING, Partition
from agent.records import Author, Claim
from store import jobs
from store.tables import message

ENOUGH: Final = 20
"""So many messages make one model call worth it, even while the person goes on writing."""


def gather(connection: Connection, claim: Claim, at: datetime, now: datetime) -> None:
    """Let what the claimed turn answered be learned from, not before `at`, unless enough waits."""
    partition = Partition(claim.incoming.person.id, label(claim.incoming.place.audience))
    asked = and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    learn_from(connection, partition, asked, at, now, claim.incoming.authority)


def pass_over(connection: Connection, claim: Claim) -> None:
    """Let what the claimed turn answered never be learned from."""
    asked = and_(message.c.turn == claim.turn, message.c.author == Author.PERSON)
    connection.execute(update(message).where(asked).values(passed_over=True))


def learn_from(
    connection: Connection,
    partition: Partition,
    which: ColumnElement[bool],
    at: datetime,
    now: datetime,
    authority: Authority = Authority.EMPLOYEE,
) -> None:
    """The same for any messages of a partition, of somebody with this authority."""
    theirs = and_(message.c.person == partition.person, message.c.audience == partition.audience)
    connection.execute(update(message).where(theirs, which).values(to_learn=True))
    waiting = select(func.count()).select_from(message).where(theirs, message.c.to_learn)
    run_at = now if connection.execute(waiting).scalar_one() >= ENOUGH else at
    values = {"payload": str(int(authority)), "run_at": run_at, "person": partition.person, "conversation": ""}
    jobs.schedule(connection, LEARNING, partition.key, values)
