"""A provider for each kind of service: which dialect it speaks, over which transport.

Above: `bot.models`. Below: the dialects, `replay` and the sessions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.ports import Clock
from agent.providers.catalog import Endpoint
from agent.providers.dialect import Dialect
from agent.providers.replay import Patience, ReplayProvider
from agent.providers.retry import RetryPolicy
from agent.providers.wire_chat import ChatDialect
from agent.providers.wire_messages import MessagesDialect


@dataclass(frozen=True, slots=True)
class Line:
    """What every provider needs of the world. `chance` gives numbers in [0, 1), for the jitter of retries."""

    clock: Clock
    chance: Callable[[], float]
    patience: Patience = field(default_factory=Patience)
    retry: RetryPolicy = field(default_factory=RetryPolicy)


def open_chat(endpoint: Endpoint, model: str, key: str | None, line: Line) -> ReplayProvider:
    """A model of a service that speaks Chat Completions."""
    return replaying(endpoint, model, ChatDialect(model, stop=endpoint.stops_at_sequences(model)), key, line)


def open_messages(endpoint: Endpoint, model: str, key: str | None, line: Line) -> ReplayProvider:
    """A model of Anthropic, or of a server that speaks its Messages. The address ends where "/messages" begins."""
    return replaying(endpoint, model, MessagesDialect(model), key, line)


def replaying(endpoint: Endpoint, model: str, dialect: Dialect, key: str | None, line: Line) -> ReplayProvider:
    """A model in replay mode, in whatever dialect."""
    return ReplayProvider(
        endpoint, model, dialect, key, clock=line.clock, chance=line.chance, patience=line.patience, retry=line.retry
    )
