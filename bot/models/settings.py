"""The settings of models: which answer, and the keys and addresses of their services."""

import re
from collections.abc import Callable
from typing import Final

from bot.settings.parsers import texts_by_id

_MODEL_OR_REHEARSAL: Final = re.compile(r"[a-z0-9-]+:.|rehearsal$", re.IGNORECASE | re.ASCII)

_MODEL: Final = re.compile(r"[a-z0-9-]+:.", re.IGNORECASE | re.ASCII)


def models(value: str) -> tuple[str, ...]:
    """Parse comma-separated names of models, in order."""
    names = tuple(piece.strip() for piece in value.split(",") if piece.strip())
    if not names or not all(_MODEL_OR_REHEARSAL.match(name) for name in names):
        raise ValueError("must be models with commas between them, as in anthropic:claude-sonnet-5-5,ollama:llama3.2")
    return names


def model_or_off(example: str) -> Callable[[str], str | None]:
    def read(value: str) -> str | None:
        if value.lower() == "off":
            return None
        if not _MODEL.match(value):
            raise ValueError(f"must be off, or a model as in {example}")
        return value

    return read


embeddings = model_or_off("openai:text-embedding-3-small")

transcription = model_or_off("openai:gpt-4o-mini-transcribe")

models_by_channel = texts_by_id("channel ids and models", '{"C0123": "ollama:llama3.2"}')

models_by_person = texts_by_id("user ids and models", '{"U0123": "ollama:llama3.2"}')
