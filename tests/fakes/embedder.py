"""An embedding model that knows a few words, and which of them are synonyms."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.embeddings import Embedded
from agent.errors import ProviderUnavailable
from agent.messages import ModelCall, Usage
from store.search.text import index_words

CONCEPTS = (("boat", "vessel", "ship"), ("train", "railway"), ("blue", "azure"), ("house", "home"))


def meaning_of(text: str) -> tuple[float, ...]:
    """Return one number for each concept, negative where the text does not mention it."""
    words = set(index_words(text))
    return tuple(1.0 if words.intersection(concept) else -0.1 for concept in CONCEPTS)


@dataclass
class FakeEmbedder:
    """Implements the port Embedder. `asked`: the texts of each call; `down`: every call fails."""

    name: str = "fake:meanings"
    asked: list[list[str]] = field(default_factory=list[list[str]])
    down: bool = False
    weight: float = 0.6

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked.append(list(texts))
        if self.down:
            raise ProviderUnavailable("The service for meanings is away.")
        return Embedded(tuple(map(meaning_of, texts)), ModelCall(self.name, Usage(input_uncached=len(texts))))
