"""The search of people's past threads.

Above: `store.engine` bundles it. Below: `store.databases.database`, search.
"""

from agent.records import Hit, RecallQuery
from store.databases.database import Database
from store.search.search import search


class SqlMemories:
    """The port Memories on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(self, query: RecallQuery) -> list[Hit]:
        return await self._database.read(search, query)
