"""Texts to vectors, and the stored vectors, as ports."""

from collections.abc import Sequence
from typing import Protocol

from agent.embeddings import Embedded, Unembedded


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def name(self) -> str:
        """The model, as "provider:name". Vectors of different models cannot be compared."""
        ...

    @property
    def weight(self) -> float:
        """The score of the message nearest in meaning relative to the best match by words, measured for the model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text, in order. Raises ProviderError."""
        ...


class Embeddings(Protocol):
    """The stored vectors; `model` is an `Embedder.name`. Raises StoreError."""

    async def missing(self, model: str, limit: int) -> list[Unembedded]:
        """Return the oldest messages that have no vector of this model yet."""
        ...

    async def keep(self, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]) -> None:
        """Store a vector for each message, in place of one of another model; skip messages that changed meanwhile."""
        ...

    async def make_index(self, model: str) -> bool:
        """Create an index of the model's vectors if it pays and there is none. Returns whether there is one. It may
        take minutes, and blocks nothing else meanwhile.
        """
        ...

    async def without_names(self, person: str, text: str) -> str:
        """Return a question without the names of writers in the person's threads, which would dominate its vector."""
        ...
