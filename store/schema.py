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
from typing import Final

from sqlalchemy import Index, text
from sqlalchemy.orm import declared_attr
from sqlmodel import Field, SQLModel

from store.databases.database import StorableText

NEVER_REUSED: Final = {"sqlite_autoincrement": True}
_WORDS: Final = re.compile("[A-Z][a-z]*")
metadata: Final = SQLModel.metadata
# Constraints have names: a later migration can only change what it can name.
metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """A partial index of the rows for which `where` is true."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


class TableRow(SQLModel):
    """The table's name is the class's in snake case, without "Row": `FactTermRow` is fact_term."""

    @declared_attr.directive
    def __tablename__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: N805 -- of the class
        return "_".join(_WORDS.findall(cls.__name__.removesuffix("Row"))).lower()


class MetaRow(TableRow, table=True):
    """Metadata of the database: the key of the erased ids, whether a sweep is due."""

    name: str = Field(sa_type=StorableText, primary_key=True)
    value: bytes


meta: Final = metadata.tables["meta"]
