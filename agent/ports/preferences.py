"""Stored choices of people and channels."""

from typing import Protocol


class Preferences(Protocol):
    """Stored choices, by name. `owner` is a person's id, "everyone", "channel:", "team:", "thread:", "direct:" (what
    goes on there) or "source:" (what was done there) and an id; or "bot", for what operators decide.
    """

    async def all_of(self, owner: str) -> dict[str, str]:
        """Return all choices of the owner."""
        ...

    async def all_named(self, name: str) -> list[tuple[str, str]]:
        """Return the owners and values of all choices with this name, or with this name and more words, in the order of
        the owners.
        """
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Store a choice in place of an earlier one; None deletes it."""
        ...

    async def swap(self, owner: str, name: str, before: str | None, after: str) -> bool:
        """Atomically replace exactly the choice `before` (None: no choice).

        False, and nothing is changed, if another one is stored.
        """
        ...
