"""The model for speech that the settings name.

Above: `bot.app`. Below: `bot.models.chosen`, `agent.providers.transcription`.

The HTTP client is imported only where a model is named.
"""

from typing import Final, Protocol

from agent.errors import SettingsError
from agent.ports import Transcriber
from agent.providers.catalog import ANTHROPIC, GEMINI, LIVE, REALTIME
from bot.models.chosen import ModelSettings, named_choice

SETTING: Final = "COGENCY_TRANSCRIPTION"
_WITHOUT: Final = frozenset({ANTHROPIC.name, GEMINI.name, LIVE.name, REALTIME.name})
"""They take no speech in OpenAI's form at these addresses."""
_NO_TRANSCRIPTION: Final = (
    f"{SETTING} names no service with OpenAI's /audio/transcriptions: write it as in openai:gpt-4o-mini-transcribe."
)


class OpenTranscriber(Transcriber, Protocol):
    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_transcriber(spec: str, settings: ModelSettings) -> OpenTranscriber:
    """Connects when it is first used. Raises SettingsError."""
    if spec.partition(":")[0].strip().lower() in _WITHOUT:  # a key would not help
        raise SettingsError(_NO_TRANSCRIPTION)
    choice = named_choice(spec, settings, SETTING)
    if choice.endpoint is None:
        raise SettingsError(_NO_TRANSCRIPTION)
    from agent.providers.transcription import HttpTranscriber  # noqa: PLC0415 -- see the module's docstring

    return HttpTranscriber(choice.endpoint, choice.model, choice.key.reveal() if choice.key else None)
