"""What all tables share: their metadata, the names of their constraints.

Above: the tables. Below: SQLModel.
"""

from typing import Final

from sqlmodel import SQLModel

NEVER_REUSED: Final = {"sqlite_autoincrement": True}

metadata: Final = SQLModel.metadata
# Named constraints: a later migration can only change what it can name.
metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}
