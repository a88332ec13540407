"""The store: implements the ports of `agent.ports` on SQLite and PostgreSQL. `open_store` opens it for a program."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.engine import open_store as open_store

__all__ = ("open_store",)


def __getattr__(name: str) -> object:
    if name != "open_store":
        raise AttributeError(f"module 'store' has no attribute {name!r}")
    from store.engine import open_store  # noqa: PLC0415 -- keeps the import of the package cheap

    return open_store
