"""Opens the model that transcribes speech."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.ports.transcription import Transcriber, Transcript
from bot.models import texts as models_texts
from bot.models.choice import WITHOUT_SERVICES, KeyRings, ModelChoice, named_choice
from bot.models.own_keys import KeysOfPlace, unreadable_key
from bot.models.settings import ModelSettings

if TYPE_CHECKING:
    from agent.providers.key_pool import KeyRing

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


class OwnTranscribers:
    """A transcriber that is asked with the key that a channel has of its own for the service, if it has one. `usual`:
    with the operator's keys; `ring_of`: returns a channel's key; `keys_at`: returns the keys of a channel of a source.
    """

    def __init__(
        self,
        usual: Transcriber,
        spec: str,
        settings: ModelSettings,
        ring_of: Callable[[ModelChoice, KeysOfPlace], "KeyRing | None"],
        keys_at: Callable[[str, str], Awaitable[KeysOfPlace]],
    ) -> None:
        self._usual = usual
        self._choice = named_choice(spec, settings, TRANSCRIPTION_SETTING)
        self._ring_of = ring_of
        self._keys_at = keys_at
        self._own: dict[KeyRing, OpenTranscriber] = {}

    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        return await self._usual.transcribe(sound, name, media_type)

    async def at(self, source: str, channel: str) -> Transcriber:
        """Return the transcriber for a channel. Raises ProviderRefused if its key cannot be opened, and StoreError."""
        keys, endpoint = await self._keys_at(source, channel), self._choice.endpoint
        own = keys.of(endpoint)
        if own is None or endpoint is None:
            return self._usual
        if (ring := self._ring_of(self._choice, keys)) is None:
            raise unreadable_key(endpoint.label)
        from agent.providers.openai_services import HttpTranscriber  # noqa: PLC0415 -- see the module's docstring

        if ring not in self._own:
            self._own[ring] = HttpTranscriber(endpoint, self._choice.model, None, ring=ring)
        return self._own[ring]

    async def aclose(self) -> None:
        for transcriber in self._own.values():
            await transcriber.aclose()
