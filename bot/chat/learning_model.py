"""The model that work in the background uses."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.ports.model import Provider


@dataclass(frozen=True, slots=True)
class LearningModel:
    """`is_local`: it runs on this machine, and answers may need it, too. `can_learn`: False for a rehearsal. `there`:
    returns the same model with the keys that a channel of a source has of its own; None if no channel has any.
    """

    provider: Provider
    is_local: bool = False
    can_learn: bool = True
    there: "Callable[[str, str], Awaitable[LearningModel]] | None" = None

    async def at(self, source: str, channel: str) -> "LearningModel":
        """Return the model for what is about this channel only. `channel`: "" for what is not. Raises StoreError."""
        return self if self.there is None or not channel else await self.there(source, channel)
