"""The workspace of a task that runs, in a row of its own (seed 001).

Above: `store.turns.ledger`, which keeps it with the progress and lets it go with the turn. Below: tables;
`agent.progress`.

Rule: the row is what the model wrote last, checked against the schema when it was read, so that an operator sees what a
running task is about; the turn goes on from its progress, which holds the same.
"""

from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, update

from agent.progress import decode
from agent.records import Claim
from agent.state import Workspace
from store.tables import workspace


def keep(connection: Connection, claim: Claim, progress: str) -> None:
    """Keep the newest workspace of this progress, if it has one."""
    newest = _newest(progress)
    if newest is None:
        return
    values = asdict(newest)
    if not connection.execute(update(workspace).where(workspace.c.task_id == claim.turn).values(values)).rowcount:
        new = insert(workspace).values(task_id=claim.turn, person=claim.incoming.person.id, **values)
        connection.execute(new)


def drop(connection: Connection, turn: int) -> None:
    """The task is over, or begins anew."""
    connection.execute(delete(workspace).where(workspace.c.task_id == turn))


def _newest(progress: str) -> Workspace | None:
    try:
        steps = decode(progress).steps
    except ValueError:
        return None
    return next((step.workspace for step in reversed(steps) if step.workspace is not None), None)
