"""What a turn begins with, read at once.

Above: `store.engine` bundles it. Below: `store.databases.database`, conversations, facts, profiles, working.

Rule: one transaction for all of it. It is one state of the database, so nothing that is just forgotten stands in one
part and is missing in another; and somebody waits, for whom each transaction more takes longer than a statement.
"""

from sqlalchemy import Connection

from agent.records import Incoming, Known
from agent.state import LastActions
from store import conversations
from store.databases.database import Database
from store.memory import facts, profiles, working


class SqlKnowledge:
    """The port Knowledge on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(
        self, incoming: Incoming, audiences: frozenset[str], *, before_turn: int, messages: int, actions: int
    ) -> Known:
        return await self._database.read(known, incoming, audiences, before_turn, messages, actions)


def known(
    connection: Connection, incoming: Incoming, audiences: frozenset[str], before_turn: int, messages: int, actions: int
) -> Known:
    here, person = incoming.conversation, incoming.person.id
    said = conversations.history(connection, here, before_turn, messages)
    summary, covered = conversations.summary(connection, here)
    done = LastActions()
    if said and summary.is_empty:
        done = conversations.last_actions(connection, here, person, audiences, before_turn, actions)
    return Known(
        said,
        summary,
        done,
        facts.relevant(connection, person, audiences, incoming.text, here, [one.id for one in said]),
        profiles.readable(connection, person, audiences),
        conversations.wrote_elsewhere(connection, person, here),
        working.items(connection, here, audiences, incoming.time),
        covered,
    )
