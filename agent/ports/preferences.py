"""Stored choices of people and channels."""

from contextlib import AbstractContextManager
from typing import Protocol


class ReadTogether(Protocol):
    """What a block has read (`Preferences.together`)."""

    def end(self) -> None:
        """Read each owner anew from now on."""
        ...


class Preferences(Protocol):
    """Stored choices, by name. `owner` is a person's id, "everyone", "channel:", "team:", "thread:", "direct:" (what
    goes on there) or "source:" (what was done there) and an id; or "bot", for what operators decide.
    """

    async def all_of(self, owner: str) -> dict[str, str]:
        """Return all choices of the owner."""
        ...

    def together(self, *owners: str) -> AbstractContextManager[ReadTogether]:
        """Within the block, `all_of` reads these owners by one statement, at its first call for one of them, and then
        returns what that has read. Only for blocks that end at once: what others change meanwhile is not seen.
        """
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
