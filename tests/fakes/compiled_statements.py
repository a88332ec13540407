"""Shares compiled statements among all stores of a test process.

SQLAlchemy caches compiled statements for each engine. The product opens one store and keeps it. A test opens its own
store, and would spend most of its time there on compiling the statements that the test before had compiled. Here the
dialects of one kind are equal, so that their engines share the cache. Nothing else about them changes.
"""

from collections.abc import MutableMapping
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

STATEMENTS: Final = 3_000  # Several times those of the product; those of property tests are evicted soon
_compiled: Final[MutableMapping[Any, Any]] = LRUCache(STATEMENTS)


def share_compiled_statements() -> None:
    """Share the cache among all engines that are created from now on."""
    registry.register("sqlite", __name__, SharingSqlite.__name__)
    registry.register("postgresql.asyncpg", __name__, SharingPostgresql.__name__)


class _Sharing:
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_compiled)


class SharingSqlite(_Sharing, SQLiteDialect_pysqlite):
    supports_statement_cache = True  # SQLAlchemy looks the attribute up in each class


class SharingPostgresql(_Sharing, PGDialect_asyncpg):
    supports_statement_cache = True  # as above
