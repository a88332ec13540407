"""Speech to text, as a port."""

from dataclasses import dataclass
from typing import Protocol

from agent.messages import ModelCall


@dataclass(frozen=True, slots=True)
class Transcript:
    """The text of a recording, and the model call that transcribed it."""

    text: str
    call: ModelCall


class Transcriber(Protocol):
    """Speech to text."""

    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        """Transcribe a file. `name` and `media_type` are the file's. Raises ProviderError."""
        ...
