"""How tables are declared, for both engines: text, integers, aware times; states are text; JSON is stored as text.

Rules
  Each table is declared once, by a class, beside the statements that own it; tables that the statements of several
  rooms join are declared below them, in `store.message_tables`, `store.memory_tables`, `store.turn_tables` and
  `store.schedule_table`. `store.all_tables` imports every module that declares one.
  Statements name the columns of the table (`message.c.text`). Rows are not read or written as objects of these classes:
  reading 30 rows took 1.2 times as long through the classes' columns and 1.35 times through a session, an insert 3.4
  times.
  Row ids are never reused (AUTOINCREMENT): contexts, claims and the search index refer to them long after the row is
  deleted. Ids of people, conversations and platform messages are the platform's own texts.
  Every table that holds people's words has a column for the person, the turn or the conversation by which
  `store.forgetting.erase` finds them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from inspect import get_annotations
from types import NoneType
from typing import Any, ClassVar, Final, cast, get_args

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    text,
)
from sqlalchemy.types import TypeEngine

from store.databases.database import StorableText

NEVER_REUSED: Final = {"sqlite_autoincrement": True}
_WORDS: Final = re.compile("[A-Z][a-z]*")
# Constraints have names: a later migration can only change what it can name.
metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
# The types of columns that name none. Text names its own.
_TYPES: Final[Mapping[type, type[TypeEngine[Any]]]] = {
    bool: Boolean,
    bytes: LargeBinary,
    date: Date,
    float: Float,
    int: Integer,
}


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """A partial index of the rows for which `where` is true."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


@dataclass(frozen=True, slots=True)
class _Field:
    default: object
    sa_type: type[TypeEngine[Any]] | None
    of_table: Mapping[str, Any]
    foreign: tuple[ForeignKey, ...]

    def column(self, name: str, annotation: Any) -> Column[Any]:  # noqa: ANN401 -- a type, or a union with None
        types = get_args(annotation) or (annotation,)
        (kind,) = (one for one in types if one is not NoneType)
        nullable = NoneType in types and not self.of_table.get("primary_key", False)
        of_type = self.sa_type or _TYPES[kind]
        return Column(name, of_type, *self.foreign, default=self.default, nullable=nullable, **self.of_table)


def Field(  # noqa: N802 -- it stands where a value of the column would
    *,
    default: object = None,
    sa_type: type[TypeEngine[Any]] | None = None,
    primary_key: bool = False,
    index: bool = False,
    unique: bool = False,
    foreign_key: str = "",
    ondelete: str | None = None,
    sa_column_kwargs: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 -- the type of the annotation
    """Say what a column's annotation does not. `default` is for rows that are inserted without a value."""
    of_table = {"primary_key": primary_key, "index": index, "unique": unique, **(sa_column_kwargs or {})}
    return _Field(default, sa_type, of_table, (ForeignKey(foreign_key, ondelete=ondelete),) if foreign_key else ())


class TableRow:
    """Declares a table: each annotation of a subclass is a column, which may be NULL where the annotation has None.

    The table's name is `__tablename__`, or the class's in snake case, without "Row". `__table_args__` are
    SQLAlchemy's: constraints and indexes, and options at the end. Classes with more than that, those of SQLModel or of
    SQLAlchemy's mapper, took a seventh of the CPU time of each start.
    """

    __tablename__: ClassVar[str] = ""
    __table_args__: ClassVar[Any] = ()

    def __init_subclass__(cls) -> None:
        columns = [
            (value if isinstance(value, _Field) else cast("_Field", Field(default=value))).column(name, annotation)
            for name, annotation in get_annotations(cls).items()
            if not name.startswith("__")
            for value in (cls.__dict__.get(name),)
        ]
        args: Any = cls.__table_args__
        parts = cast("tuple[Any, ...]", args if isinstance(args, tuple) else (args,))
        options = cast("dict[str, Any]", parts[-1] if parts and isinstance(parts[-1], dict) else {})
        name = "_".join(_WORDS.findall(cls.__name__.removesuffix("Row"))).lower()
        Table(
            cls.__tablename__ or name, metadata, *columns, *(part for part in parts if part is not options), **options
        )


class MetaRow(TableRow):
    """Metadata of the database: the key of the erased ids, whether a sweep is due."""

    name: str = Field(sa_type=StorableText, primary_key=True)
    value: bytes


meta: Final = metadata.tables["meta"]
