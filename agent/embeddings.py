"""The values of search by meaning: embeddings of texts."""

from dataclasses import dataclass

from agent.messages import ModelCall


@dataclass(frozen=True, slots=True)
class Meaning:
    """The embedding of a text: a vector that can be compared only with vectors of the same model.

    `weight`: the score of the nearest message relative to the best match by words (`Embedder.weight`).
    """

    model: str
    vector: tuple[float, ...]
    weight: float = 0.8


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A message without a vector: its row id, the person whose conversation it is in (for the bill), its text."""

    id: int
    person: str
    text: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text, all of the same length, and the model call; None if no model was called."""

    vectors: tuple[tuple[float, ...], ...]
    call: ModelCall | None
