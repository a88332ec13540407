"""Many values to and from the database as one JSON text. Pure.

Above: `store.search`, `store.memory.facts`. Below: SQLAlchemy.

Rule: each element of an expanding IN is a parameter, and each row a Python object that costs more than to find it; with
hundreds of either that is most of the time that a search takes.
"""

from sqlalchemy import JSON, Integer, Select, Text, bindparam, cast, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Items(FunctionElement[str]):
    """A table with the elements of a JSON array in its column `value`."""

    inherit_cache = True


class gathered(FunctionElement[str]):  # noqa: N801 -- used as a function, like those of `func`
    """A JSON array, as text, with an array of these columns for each row."""

    inherit_cache = True


@compiles(_Items)
def _items_of(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each({compiler.process(items.clauses, **options)})"


@compiles(_Items, "postgresql")
def _items_there(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements_text({compiler.process(items.clauses, **options)})"


@compiles(gathered)
def _gather(columns: gathered, compiler: SQLCompiler, **options: object) -> str:
    return f"json_group_array(json_array({compiler.process(columns.clauses, **options)}))"


@compiles(gathered, "postgresql")
def _gather_there(columns: gathered, compiler: SQLCompiler, **options: object) -> str:
    return f"coalesce(json_agg(json_build_array({compiler.process(columns.clauses, **options)})), '[]')::text"


def listed(name: str) -> Select[int]:
    """The ids in the parameter `name`, a list, for `in_`."""
    items = _Items(bindparam(name, type_=JSON)).table_valued("value")
    return select(cast(items.c.value, Integer))


def listed_texts(name: str) -> Select[str]:
    """The texts in the parameter `name`, a list, for `in_`."""
    items = _Items(bindparam(name, type_=JSON)).table_valued("value")
    return select(cast(items.c.value, Text))
