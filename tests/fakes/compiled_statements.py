"""Statements are compiled once for all stores of a test process.

SQLAlchemy keeps what it has compiled for one engine. The product opens one store and keeps it; a test opens a store of
its own, and would spend most of its time in it on compiling what the test before compiled too. Here the dialects of one
kind are equal, so that their engines share what they compile. Nothing else about them changes.
"""

from collections.abc import MutableMapping
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

STATEMENTS: Final = 3_000  # Several times those of the product; what properties make up besides is not kept for long
_compiled: Final[MutableMapping[Any, Any]] = LRUCache(STATEMENTS)


def share_compiled_statements() -> None:
    """For every engine that is created from now on."""
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
    supports_statement_cache = True  # SQLAlchemy asks each class anew


class SharingPostgresql(_Sharing, PGDialect_asyncpg):
    supports_statement_cache = True  # as above
