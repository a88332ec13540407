"""The model for embeddings that the settings name.

Above: `bot.app`. Below: `bot.models.chosen`, `agent.providers.embeddings`.

The HTTP client is imported only where a model is named.
"""

from typing import Final, Protocol

from agent.errors import SettingsError
from agent.ports import Embedder
from agent.providers.catalog import ANTHROPIC, GEMINI, LIVE, REALTIME
from bot.models.chosen import ModelSettings, named_choice

SETTING: Final = "COGENCY_EMBEDDINGS"
_WITHOUT: Final = frozenset({ANTHROPIC.name, GEMINI.name, LIVE.name, REALTIME.name})
"""They offer no embeddings in OpenAI's form at these addresses."""
_NO_EMBEDDINGS: Final = (
    f"{SETTING} names no service with OpenAI's /embeddings: write it as in openai:text-embedding-3-small or "
    "ollama:nomic-embed-text."
)


class OpenEmbedder(Embedder, Protocol):
    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


def open_embedder(spec: str, settings: ModelSettings) -> OpenEmbedder:
    """Connects when it is first used. Raises SettingsError."""
    if spec.partition(":")[0].strip().lower() in _WITHOUT:  # a key would not help
        raise SettingsError(_NO_EMBEDDINGS)
    choice = named_choice(spec, settings, SETTING)
    if choice.endpoint is None:
        raise SettingsError(_NO_EMBEDDINGS)
    from agent.providers.embeddings import HttpEmbedder  # noqa: PLC0415 -- see the module's docstring

    return HttpEmbedder(choice.endpoint, choice.model, choice.key.reveal() if choice.key else None)
