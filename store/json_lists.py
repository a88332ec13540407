"""Many values to and from the database as one JSON text. Pure.

Why: each element of an expanding IN is a parameter, and each row a Python object that costs more than finding it; with
hundreds of either that is most of the time of a search.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, BindParameter, ColumnElement, Integer, Select, Text, bindparam, cast, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from store.databases.database import storable


class _Items(FunctionElement[str]):
    """A table with the elements of a JSON array in its column `value`."""

    inherit_cache = True


class json_rows(FunctionElement[str]):  # noqa: N801 -- used as a function, like those of `func`
    """A JSON array, as text, with an array of these columns for each row."""

    inherit_cache = True


@compiles(_Items)
def _items_of(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each({compiler.process(items.clauses, **options)})"


@compiles(_Items, "postgresql")
def _items_on_postgresql(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements_text({compiler.process(items.clauses, **options)})"


@compiles(json_rows)
def _gather(columns: json_rows, compiler: SQLCompiler, **options: object) -> str:
    return f"json_group_array(json_array({compiler.process(columns.clauses, **options)}))"


@compiles(json_rows, "postgresql")
def _gather_on_postgresql(columns: json_rows, compiler: SQLCompiler, **options: object) -> str:
    return f"coalesce(json_agg(json_build_array({compiler.process(columns.clauses, **options)})), '[]')::text"


def ids_in_parameter(name: str) -> Select[int]:
    """The ids in the list parameter `name`, for `in_`."""
    return select(cast(_elements(bindparam(name, type_=JSON)), Integer))


def texts_in_parameter(name: str) -> Select[str]:
    """The texts in the list parameter `name`, for `in_`."""
    return select(cast(_elements(bindparam(name, type_=JSON)), Text))


def ids_in(values: Sequence[int]) -> Select[int]:
    """These ids, for `in_`."""
    return select(cast(_elements(bindparam(None, list(values), type_=JSON)), Integer))


def texts_in(values: Sequence[str]) -> Select[str]:
    """These texts, for `in_`."""
    return select(cast(_elements(bindparam(None, list(map(storable, values)), type_=JSON)), Text))


def _elements(listed: BindParameter[Any]) -> ColumnElement[Any]:
    return _Items(listed).table_valued("value").c.value
