"""Opens the model that transcribes speech."""

from typing import Final, Protocol

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.ports.transcription import Transcriber
from bot.models import texts as models_texts
from bot.models.choice import WITHOUT_SERVICES, KeyRings, named_choice
from bot.models.settings import ModelSettings

# The model for speech. The HTTP client is imported only where the settings name one.

TRANSCRIPTION_SETTING: Final = "COGENCY_TRANSCRIPTION"


class OpenTranscriber(Transcriber, Protocol):
    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_transcriber(spec: str, settings: ModelSettings, rings: KeyRings | None = None) -> OpenTranscriber:
    """Return a transcriber that connects at its first use. `rings`: what is known of the keys; None: only the first key
    is used. Raises SettingsError.
    """
    if spec.partition(":")[0].strip().lower() in WITHOUT_SERVICES:  # a key would not help
        raise SettingsError(models_texts.NO_TRANSCRIPTION)
    choice = named_choice(spec, settings, TRANSCRIPTION_SETTING)
    if choice.endpoint is None:
        raise SettingsError(models_texts.NO_TRANSCRIPTION)
    from agent.providers.openai_services import HttpTranscriber  # noqa: PLC0415 -- see the module's docstring

    credentials = settings.credentials(choice.endpoint, choice.key, CLOCK)
    ring = None if rings is None else rings.of(choice)
    return HttpTranscriber(choice.endpoint, choice.model, credentials, ring=ring)
