"""Column types that mean the same on SQLite and on PostgreSQL. Pure.

Above: `store.tables`, and whoever compares values of its types. Below: SQLAlchemy's types.
"""

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    """`text` without what a database refuses: NUL (PostgreSQL) and lone surrogates (no UTF-8) become U+FFFD."""
    if text.isascii():
        return text.replace("\0", REPLACEMENT)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", REPLACEMENT)


class StorableText(TypeDecorator[str]):
    """Text of any length and any content; also applied to the values that a column is compared with."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  (SQLAlchemy's signature)
        return None if value is None else storable(value)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time. SQLite keeps no offset, so times go in as UTC and come back as UTC; a naive one raises."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  (as above)
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  (as above)
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value
