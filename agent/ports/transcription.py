"""Speech to text, as a port."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from agent.messages import ModelCall


@dataclass(frozen=True, slots=True)
class Transcript:
    """The text of a recording, and the model call that transcribed it."""

    text: str
    call: ModelCall


@runtime_checkable
class PlacedTranscriber(Protocol):
    """A transcriber that depends on the channel."""

    async def at(self, source: str, channel: str) -> "Transcriber":
        """Return the transcriber for a channel. Raises ProviderError and StoreError."""
        ...


class Transcriber(Protocol):
    """Speech to text."""

    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        """Transcribe a file. `name` and `media_type` are the file's. Raises ProviderError."""
        ...
