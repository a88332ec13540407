"""Opens the model for embeddings."""

from collections.abc import Callable
from typing import Final, Protocol

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.ports.embeddings import Embedder
from agent.providers import static_embeddings
from bot.models import texts as models_texts
from bot.models.choice import WITHOUT_SERVICES, KeyRings, named_choice
from bot.models.settings import ModelSettings
from bot.settings.installation import command_for

# The model for embeddings. The HTTP client is imported only where the settings name one.

EMBEDDINGS_SETTING: Final = "COGENCY_EMBEDDINGS"


class OpenEmbedder(Embedder, Protocol):
    @property
    def is_local(self) -> bool:
        """Whether the model runs on this machine."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_embedder(
    spec: str,
    settings: ModelSettings,
    has_static: Callable[[], bool] = static_embeddings.is_installed,
    rings: KeyRings | None = None,
) -> OpenEmbedder:
    """Return an embedder that connects, or reads its weights, at its first use. `rings`: what is known of the keys;
    None: only the first key is used. Raises SettingsError.
    """
    provider, _, model = (part.strip().lower() for part in spec.partition(":"))
    if provider == static_embeddings.PROVIDER:
        if model != static_embeddings.MODEL:
            raise SettingsError(models_texts.NO_STATIC_EMBEDDINGS)
        if not has_static():
            raise SettingsError(models_texts.STATIC_EMBEDDINGS_MISSING.format(command=command_for("meaning")))
        return static_embeddings.StaticEmbedder()
    if provider in WITHOUT_SERVICES:  # a key would not help
        raise SettingsError(models_texts.NO_EMBEDDINGS)
    choice = named_choice(spec, settings, EMBEDDINGS_SETTING)
    if choice.endpoint is None:
        raise SettingsError(models_texts.NO_EMBEDDINGS)
    from agent.providers.openai_services import HttpEmbedder  # noqa: PLC0415 -- see the module's docstring

    credentials = settings.credentials(choice.endpoint, choice.key, CLOCK)
    ring = None if rings is None else rings.of(choice)
    return HttpEmbedder(choice.endpoint, choice.model, credentials, ring=ring)
