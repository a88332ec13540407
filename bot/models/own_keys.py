"""The keys that a channel has of its own for services of models, and models that are asked with them.

Rules
  A channel's key is used for that channel alone, and each channel has connections, sessions and handles of its own:
  nothing that one key has authenticated serves another place, even if both have the same key.
  The operator's keys do not take the place of a channel's key that is refused, is limited or cannot be opened.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from agent import texts
from agent.errors import KeyTrouble, ProviderRefused
from agent.messages import Message
from agent.model_sessions import open_session
from agent.ports.clock import Clock
from agent.ports.model import CallOptions, Capabilities, ModelSession, Provider, ProviderEvent
from agent.providers.catalog import ENDPOINTS, Endpoint
from bot.models.choice import KeyRings, ModelChoice
from bot.settings.secret import Secret

if TYPE_CHECKING:
    from agent.providers.key_pool import KeyRing


@dataclass(frozen=True, slots=True)
class OwnKey:
    """A channel's key for the service `vendor`; None if it cannot be opened. `mark`: as in `StoredPlaceKey`."""

    vendor: str
    key: Secret | None
    mark: str


def _unheard(_key: OwnKey, _trouble: KeyTrouble | None) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class KeysOfPlace:
    """A channel's keys, by the settings for the operator's keys of the same services. `place`: a name of the channel
    among all; "" outside of channels. `heard`: receives what is noticed of a key, and None when it works.
    """

    place: str = ""
    by_setting: Mapping[str, OwnKey] = field(default_factory=dict[str, OwnKey])
    heard: Callable[[OwnKey, KeyTrouble | None], None] = field(default=_unheard, compare=False, repr=False)

    def of(self, endpoint: Endpoint | None) -> OwnKey | None:
        """Return the key for a service; None if the operator's keys are used."""
        return None if endpoint is None else self.by_setting.get(endpoint.key_setting)


NO_KEYS: Final = KeysOfPlace()


async def no_keys_at(_source: str, _channel: str) -> KeysOfPlace:
    """Return the keys of a channel where none may have any."""
    return NO_KEYS


class OwnKeyRings(KeyRings):
    """What is known of one channel's own keys."""

    def __init__(self, clock: Clock, keys: KeysOfPlace) -> None:
        super().__init__(clock)
        self._keys = keys
        self._of_keys: dict[OwnKey, KeyRing] = {}

    def of(self, choice: ModelChoice) -> "KeyRing | None":
        """Return the key of a model that is asked with one of these; None for any other."""
        own = None if choice.endpoint is None else self._keys.of(ENDPOINTS[choice.endpoint.name])
        if own is None or own.key is None or choice.endpoint is None:
            return None
        from agent.providers.key_pool import OwnKeyRing  # noqa: PLC0415 -- see the docstring of `bot.models.choice`

        if own not in self._of_keys:
            heard = partial(self._keys.heard, own)
            self._of_keys[own] = OwnKeyRing(choice.endpoint, own.key.reveal(), own.mark, self._clock, heard)
        return self._of_keys[own]


class PaidByPlace:
    """A model with its fallbacks, of which a channel pays for `own_models`."""

    def __init__(self, provider: Provider, own_models: frozenset[str]) -> None:
        self.provider = provider
        self.own_models = own_models

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def capabilities(self) -> Capabilities:
        return self.provider.capabilities

    def connect(self, options: CallOptions) -> ModelSession:
        return open_session(self.provider, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        return self.provider.stream(messages, options)


def unreadable_key(label: str) -> ProviderRefused:
    person = texts.OWN_KEY_UNREADABLE_PERSON.format(label=label)
    return ProviderRefused(texts.OWN_KEY_UNREADABLE.format(label=label), person=person)


class UnreadableKey:
    """A model whose key cannot be opened: it refuses each question."""

    capabilities = Capabilities()

    def __init__(self, name: str, label: str) -> None:
        self.name = name
        self._label = label

    async def stream(
        self,
        messages: Sequence[Message],  # noqa: ARG002 -- no message is sent
        options: CallOptions = CallOptions(),  # noqa: ARG002, B008 -- as above; frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        raise unreadable_key(self._label)
        yield  # pyright: ignore[reportUnreachable] -- makes it a generator

    async def aclose(self) -> None:
        """There is nothing to close."""
