"""The port of hearing: who turns speech into text.

Above: `bot.attachments.reading`. Implemented by: `agent.providers.transcription`.
"""

from dataclasses import dataclass
from typing import Protocol

from agent.messages import ModelCall


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said, and what it took to write it down."""

    text: str
    call: ModelCall


class Transcriber(Protocol):
    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        """`name` and `media_type` are the file's. Raises ProviderError."""
        ...
