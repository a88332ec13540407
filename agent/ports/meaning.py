"""The ports of meaning: who turns texts into vectors, and where those of messages are kept.

Above: `bot.memory.meanings`. Implemented by: `agent.providers.embeddings`, `store.memory.embeddings`.
"""

from collections.abc import Sequence
from typing import Protocol

from agent.records import Embedded, Unembedded


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """The model, as "provider:name". Vectors of different models cannot be compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """A vector for each text, in their order. Raises ProviderError."""
        ...


class Embeddings(Protocol):
    async def missing(self, model: str, limit: int) -> list[Unembedded]:
        """The oldest messages that have no vector of this model yet."""
        ...

    async def keep(self, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]) -> None:
        """Keep a vector for each message, in place of one of another model; none for what was changed meanwhile."""
        ...

    async def nameless(self, person: str, text: str) -> str:
        """A question without the names of those who wrote in the person's threads: they would stand for its meaning."""
        ...
