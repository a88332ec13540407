"""A list of ids as one parameter. Pure.

Above: `store.search.surroundings`, `store.search.search`. Below: SQLAlchemy.

Rule: each element of an expanding IN is a parameter of its own, with a statement composed anew for each number of them;
with hundreds of ids that costs more than what is asked.
"""

from sqlalchemy import JSON, Integer, Select, bindparam, cast, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Items(FunctionElement[str]):
    """A table with the elements of a JSON array in its column `value`."""

    inherit_cache = True


@compiles(_Items)
def _json_each(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each({compiler.process(items.clauses, **options)})"


@compiles(_Items, "postgresql")
def _json_array_elements(items: _Items, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements_text({compiler.process(items.clauses, **options)})"


def listed(name: str) -> Select[int]:
    """The ids in the parameter `name`, a list, for `in_`."""
    items = _Items(bindparam(name, type_=JSON)).table_valued("value")
    return select(cast(items.c.value, Integer))
