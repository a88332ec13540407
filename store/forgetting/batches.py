"""Ids in handfuls, as many as one statement takes. Pure.

Above: everything in `store.forgetting`. Below: SQLAlchemy's expressions.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement

T = TypeVar("T", int, str)

MOST: Final = 10_000
"""Both engines take some 32,000 values in one statement."""


def handfuls(values: Collection[T]) -> Iterator[list[T]]:
    """All of them, in their order."""
    ordered = sorted(values)
    return (ordered[start : start + MOST] for start in range(0, len(ordered), MOST))


def among(column: ColumnElement[Any], values: Collection[T]) -> Iterator[ColumnElement[bool]]:
    """Conditions that together say: the column holds one of these values. Each goes into a statement of its own."""
    return (column.in_(some) for some in handfuls(values))
